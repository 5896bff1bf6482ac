"""Links that are dead before a symbol is decided, and channels that are not linear: what each engine says, and from where it starts."""

import numpy as np
import pytest
from optical_links import bench, lane, loud
from simple_links import Nyquist, simple_link

from channels.channel import Cascade
from channels.fiber import SingleModeFiber
from channels.host import HostLoss
from channels.lasers import Laser
from channels.modulators import Mzm
from dsp.edge_jitter import Sinusoid
from dsp.equalizer import Mmse
from dsp.units import km
from serdes.dead_links import FAINTEST_DB, overload
from serdes.jitter import passes
from serdes.modules import ARCHITECTURES, Lane, optical_link
from serdes.noise_free import is_nonlinear
from serdes.operating_point import operating_point
from serdes.semi_analytic import SemiAnalytic
from serdes.setups import setup
from serdes.simulate import simulate
from serdes.stages import Adaptation
from serdes.statistical import SMALL_SIGNAL, Statistical
from serdes.time_domain import TimeDomain

ENGINES = (SemiAnalytic(n_symbols=1024), Statistical(), TimeDomain(n_symbols=20_000, eye_symbols=0))


def run(link, engine):
    return simulate(link, engine, np.random.default_rng(1) if isinstance(engine, TimeDomain) else None)


def bright(power=50e-3):
    return lane(source=Mzm(laser=Laser(power=power), extinction_db=100.0)).vary({"channel.loss_db": 0.0})


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: type(e).__name__)
def test_every_engine_sees_too_much_light(engine):
    result = run(bright(), engine)
    assert (result.outcome, result.ber, result.lock.locked) == ("overload", 0.5, False)
    assert "limit of 5 mW" in result.reason


def test_too_much_light_is_that_of_the_upper_level():
    """Extinction of 5 dB about 4 mW: 4 (1 + 0.5195) = 6.08 mW at the top and 4 in the mean, limit 5."""
    optics = bright(8e-3).channel
    assert optics.received_power(np.zeros(1)) == pytest.approx(4e-3, rel=1e-4)
    assert optics.received_power(np.array([1.0])) == pytest.approx(4e-3 * (1 + (10**0.5 - 1) / (10**0.5 + 1)), rel=1e-4)
    assert "6.08 mW" in overload(bright(8e-3))
    assert overload(bright(6.5e-3)) == ""


def test_too_much_light_behind_a_host_and_in_a_module():
    """What drives the light is what the host's way leaves of it; the modules' paths ask the same question."""
    assert overload(setup("112G").link(1.0)) == ""
    way = HostLoss(loss_db=4.0, frequency=26.6e9)
    link = bright().vary({"channel": Cascade(parts=(way, bright().channel))})
    assert "limit" in overload(link)
    made = optical_link(ARCHITECTURES["retimed"], Lane(symbol_rate=53.125e9), way, bright().channel)
    assert "limit" in overload(made)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("length", [60.0, 80.0, 150.0])
def test_every_engine_sees_that_no_light_arrives(engine, length):
    link = lane().vary({"channel.fiber": SingleModeFiber(length=length * km)})
    assert operating_point(link).snr_db < FAINTEST_DB
    result = run(link, engine)
    assert (result.outcome, result.ber, result.lock.locked) == ("no signal", 0.5, False)
    assert "below noise" in result.reason
    assert result.eyes == {}


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("gain", [1e-150, 1e-300])
@pytest.mark.parametrize("equalizer", [None, Mmse(), Mmse(n_taps=7, n_precursors=2, n_feedback=2)])
def test_amplitudes_beyond_all_numbers_are_no_signal(engine, gain, equalizer):
    link = simple_link(Nyquist(gain=gain))
    assert run(link if equalizer is None else link.vary({"rx.equalizer": equalizer}), engine).outcome == "no signal"


def test_a_dead_link_bears_no_jitter():
    dead = lane().vary({"channel.fiber": SingleModeFiber(length=80 * km)})
    found = passes(dead, Sinusoid(frequency=1e9, amplitude_ui=0.01), 1e-3, TimeDomain(n_symbols=1000), np.random.default_rng(1))
    assert found == (False, "no signal")


@pytest.mark.parametrize(
    "link",
    [loud(), loud(chirp=1.0, length=0.3, oma_dbm=-6.0), bench(106.25e9, -5.0, SingleModeFiber(length=1 * km, dispersion=17e-6), 1550e-9)],
    ids=["compression", "chirp", "dispersion"],
)  # fmt: skip
def test_counting_starts_from_the_point_of_the_nonlinear_channel(link):
    """Without being told where: the taps of the linear face alone cost 1.4 dB of the first link."""
    semi = run(link, SemiAnalytic())
    counted = simulate(link, TimeDomain(n_symbols=100_000, eye_symbols=0), np.random.default_rng(1))
    assert counted.snr_db == pytest.approx(semi.snr_db, abs=0.15)
    assert counted.operating_point.taps == semi.operating_point.taps


def test_the_linear_face_says_what_it_leaves_out():
    assert run(lane(), Statistical(eye=False)).reason == SMALL_SIGNAL
    assert "SemiAnalytic" in SMALL_SIGNAL
    copper = setup("112G").link(1.0)
    assert run(copper, Statistical(eye=False)).reason == ""
    assert is_nonlinear(Cascade(parts=(copper.channel, lane().channel)))
    assert not is_nonlinear(copper.channel)


@pytest.mark.parametrize(
    "adaptation",
    [
        1.0,
        (Adaptation(rule="sign-lms", step=5.0),),
        (Adaptation(step=1.0, n_symbols=5000), Adaptation(rule="frozen", step=0.0)),
    ],
    ids=["lms", "sign-lms", "frozen too late"],
)
def test_a_step_that_overflows_is_named(adaptation):
    """The taps stay finite, the decisions are lost: the step is to blame, for without it the eye is open."""
    link = setup("112G").link(1.5)
    engine = TimeDomain(n_symbols=20_000, eye_symbols=0, adaptation=adaptation)
    result = simulate(link, engine, np.random.default_rng(1))
    assert result.outcome == "unstable adaptation"
    assert "step of the adaptation is too large" in result.reason
    assert not result.lock.locked


def test_a_step_is_not_blamed_for_a_closed_eye_or_where_it_works():
    closed = simulate(
        setup("112G").link(8.0), TimeDomain(n_symbols=20_000, eye_symbols=0, adaptation=1.0), np.random.default_rng(1)
    )
    assert closed.outcome in ("closed eye", "no lock", "not aligned")
    fine = simulate(
        setup("112G").link(1.5), TimeDomain(n_symbols=20_000, eye_symbols=0, adaptation=0.3), np.random.default_rng(1)
    )
    assert fine.outcome == "ok"
