"""Two engines, one link: where both are valid they agree, and where they part the difference has a name."""

from dataclasses import replace

import numpy as np
import pytest

from channels.catalog import CABLES
from channels.copper import CopperChannel
from dsp.clock import IdealClock, MuellerMuller
from dsp.equalizer import Mmse
from dsp.noise import Jitter
from dsp.units import db
from serdes.link import Link, Receiver, Transmitter
from serdes.reach import reach
from serdes.setups import setup
from serdes.simulate import simulate
from serdes.statistical import Statistical
from serdes.time_domain import TimeDomain

RATE = 53.125e9
CABLE = replace(CABLES[26].value, length=3.44)
"""16 dB at the Nyquist frequency."""


def cable_link(noise_density, **receiver):
    rx = Receiver(
        noise_density=noise_density, bandwidth=0.75 * RATE, equalizer=Mmse(n_feedback=0), clock=IdealClock(), **receiver
    )
    return Link(
        symbol_rate=RATE, tx=Transmitter(amplitude=0.4, rise_time=7.5e-12), channel=CopperChannel(parts=(CABLE,)), rx=rx
    )


def counted(link, n=400_000, seed=1, **engine):
    return simulate(link, TimeDomain(n_symbols=n, eye_symbols=0, **engine), np.random.default_rng(seed))


def agrees(result, ser):
    low, high = result.symbols.interval(0.999)
    assert low <= ser <= high, f"counted {result.symbols}, statistical {ser:.4g}"


def test_the_cable_has_16_db():
    loss = -db(CopperChannel(parts=(CABLE,)).transfer(np.array([RATE / 2])))[0]
    assert loss == pytest.approx(16, abs=0.1)


@pytest.mark.parametrize("noise_density", [1.5e-15, 2.5e-15])
def test_ideal_clock_frozen_taps_thermal_noise(noise_density):
    link = cable_link(noise_density)
    statistical = simulate(link, Statistical(eye=False))
    assert 1e-4 < statistical.ser < 3e-2
    result = counted(link)
    agrees(result, statistical.ser)
    assert result.snr_db == pytest.approx(statistical.snr_db, abs=0.03)


def test_transmitter_noise():
    link = cable_link(1e-16).vary({"tx.snr_db": 19.0})
    statistical = simulate(link, Statistical(eye=False))
    result = counted(link)
    agrees(result, statistical.ser)
    assert result.snr_db == pytest.approx(statistical.snr_db, abs=0.03)


@pytest.mark.parametrize("correlation", [0.0, 0.95])
@pytest.mark.parametrize("where", ["tx.jitter", "rx.jitter"])
def test_jitter_of_edges_and_of_sampling_instants(where, correlation):
    """Amplitude noise of jitter is first order in its size, so the agreement is that of the SNR."""
    link = cable_link(5e-17).vary({where: Jitter(random_ui=0.025, correlation=correlation)})
    statistical = simulate(link, Statistical(eye=False))
    assert statistical.operating_point.shares()["Tx jitter" if where == "tx.jitter" else "Rx jitter"] > 0.3
    assert counted(link).snr_db == pytest.approx(statistical.snr_db, abs=0.12)


def test_crosstalk_at_a_given_phase():
    s = setup("112G")
    link = s.link(2.0).vary({"tx.jitter": Jitter(), "rx.converter": None, "rx.equalizer.n_feedback": 0})
    loud = tuple(
        replace(a, phase_ui=0.3, tx=replace(a.tx, amplitude=4 * a.tx.amplitude, jitter=Jitter())) for a in link.aggressors
    )
    link = replace(link, aggressors=loud)
    statistical = simulate(link, Statistical(eye=False))
    assert statistical.operating_point.shares()["crosstalk"] > 0.3
    result = counted(link)
    assert result.snr_db == pytest.approx(statistical.snr_db, abs=0.05)
    if result.symbols.errors:
        agrees(result, statistical.ser)


def test_converter_noise_is_uniform_and_white():
    link = cable_link(1e-16).vary({"rx.converter": setup("112G").rx.converter}).vary({"rx.converter.n_bits": 4})
    statistical = simulate(link, Statistical(eye=False))
    assert statistical.operating_point.shares()["converter"] > 0.5
    assert counted(link).snr_db == pytest.approx(statistical.snr_db, abs=0.15)


def test_error_propagation_is_what_parts_them():
    """With feedback the counted ratio exceeds the statistical one, which takes every fed-back decision as right.

    A wrong decision next to the true level, times a tap near 1, throws the next symbol over a threshold in 3 of 4 cases: a
    burst has about 1 / (1 - 3/4) = 4 errors, fewer for a smaller tap.
    """
    s = setup("112G")
    hot = s.link(3.0, crosstalk=False).vary({"rx.noise_density": 2e-16, "tx.jitter": Jitter(), "rx.converter": None})
    statistical = simulate(hot, Statistical(eye=False))
    assert statistical.operating_point.taps.feedback[0] > 0.4
    assert 1e-3 < statistical.ser < 5e-2
    ratio = counted(hot).ser / statistical.ser
    assert 2 < ratio < 5
    without = hot.vary({"rx.equalizer.n_feedback": 0})
    agrees(counted(without), simulate(without, Statistical(eye=False)).ser)


def test_closed_loop_locks_where_the_linear_face_says():
    s = setup("112G")
    link = s.link(1.0).vary({"rx.clock": MuellerMuller(bandwidth=5e-4)})
    statistical = simulate(link, Statistical(eye=False))
    result = counted(link, 200_000, phase_error_ui=0.2, settle=30_000)
    assert result.lock.locked, result.lock.reason
    assert result.lock.phase_ui == pytest.approx(statistical.lock.phase_ui, abs=0.03)
    assert result.snr_db == pytest.approx(statistical.snr_db, abs=0.4)


def test_the_reach_is_where_errors_appear():
    """A tenth beyond the reach without margin, errors are counted at about the target ratio."""
    s = setup("224G")
    found = reach(lambda x: s.link(x, 26, ("HN", "HH")), s.target(0.0), (0.05, 20))
    link = s.link(found.length, 26, ("HN", "HH"))
    result = counted(link, 600_000)
    assert s.error_ratio / 4 < result.ser < 4 * s.error_ratio
