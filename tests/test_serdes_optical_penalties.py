"""What impairments of light cost, and the closure of a simulated transmitter beside the receiver's sensitivity."""

from dataclasses import replace

import numpy as np
import pytest
from optical_links import FIVE, LONG, lane

from channels.fiber import MultimodeFiber, SingleModeFiber
from channels.imdd import ImddChannel
from channels.lasers import Laser
from channels.modulators import Mzm
from channels.multipath import Multipath, of_connectors, penalty_bound_db
from channels.stages import Amplifier
from channels.vcsel import Vcsel
from dsp.units import GHz, km, mW, nm, ps
from serdes.optical_penalties import EFFECTS, light, penalties, stressed_sensitivity, transmitter_closure, without
from serdes.semi_analytic import SemiAnalytic
from serdes.sensitivity import sensitivity
from serdes.setups import setup

FAST = SemiAnalytic(n_symbols=2048, taps_per_symbol=2)


def impaired(rin_db=-145.0, length=1.0, multipath=None):
    """106.25 GBd at 1304.5 nm with all that can be taken out of it."""
    source = Mzm(laser=Laser(power=1 * mW, wavelength=1304.5 * nm, rin_db=rin_db), extinction_db=100.0)
    fiber = SingleModeFiber(length=length * km, zero_dispersion=1324 * nm, dgd=2 * ps)
    return lane(106.25, 58, 64, LONG, -6.0, source, fiber).vary(
        {"channel.photodiode.shot": True, "channel.multipath": multipath}
    )


def test_each_effect_costs_something_and_more_of_it_more():
    paths = of_connectors((-35.0, -35.0, -35.0), (0.3, 0.3))
    near = penalties(impaired(length=2, multipath=paths), 2.4e-4, FAST)
    far = penalties(impaired(length=8), 2.4e-4, FAST, ("dispersion", "multipath"))
    assert set(near) == set(EFFECTS) - {"mode partition"}
    assert set(far) == {"dispersion"}
    assert all(value > 0 for value in near.values())
    assert far["dispersion"] > 4 * near["dispersion"] > 0
    assert penalties(impaired(rin_db=-141.0), 2.4e-4, FAST, ("RIN",))["RIN"] > 2 * near["RIN"]


def test_echoes_cost_less_as_noise_than_at_their_bound():
    paths = Multipath(levels_db=(-46.0, -46.0), delays=(5e-9, 9e-9))
    cost = penalties(impaired(multipath=paths), 2.4e-4, FAST, ("multipath",))["multipath"]
    assert 0.02 < cost < penalty_bound_db(paths, 5.0)


def test_an_effect_that_alone_ends_the_link_costs_everything():
    assert penalties(impaired(rin_db=-132.0), 2.4e-4, FAST, ("RIN",)) == {"RIN": np.inf}
    hopeless = penalties(impaired(rin_db=-132.0), 2.4e-4, FAST, ("shot",))
    assert np.isnan(hopeless["shot"])


def test_what_multimode_fibre_has():
    optics = ImddChannel(source=Vcsel(), fiber=MultimodeFiber(length=100.0, partition=0.3))
    assert without(optics, "mode partition").fiber.partition == 0
    flat = without(optics, "dispersion").fiber.power_transfer(np.array([40 * GHz]), 850 * nm)
    assert abs(flat[0]) == pytest.approx(1, abs=2e-3)
    assert without(optics, "group delay") == optics


@pytest.mark.parametrize(("tx", "closure"), [(60, 0.54), (22, 1.78)])
def test_closure_of_a_simulated_transmitter(tx, closure):
    """The published series at 53.125 GBd, by the light of a link with nothing but a Bessel transmitter."""
    assert transmitter_closure(lane(53.125, tx, 35, FIVE)).tdecq_db == pytest.approx(closure, abs=0.15)


def test_closure_and_sensitivity_say_the_same():
    """In the reference receiver a decibel of TECQ is a decibel of sensitivity: what SECQ rules of the standards rest on."""
    receiver = Amplifier(gain=1e3, bandwidth=53.125e9 / 2, shape="bessel4", noise_density=3.24e-22)
    ends = []
    for tx in (60, 24):
        link = lane(53.125, tx, 35, FIVE, -6.0).vary({"channel.tia": receiver})
        ends.append(sensitivity(link, 2.4e-4, SemiAnalytic(n_symbols=4096)).oma_dbm - transmitter_closure(link).tdecq_db)
    assert np.ptp(ends) < 0.25


def test_stressed_sensitivity():
    link = lane(53.125, 35, 35, LONG)
    hard = stressed_sensitivity(link, 3.4, 2.4e-4, FAST)
    assert hard.outcome == "found"
    assert hard.bandwidth < 20 * GHz
    plain = sensitivity(link, 2.4e-4, FAST).oma_dbm
    assert 1 < hard.sensitivity.oma_dbm - plain < 3.4 - 0.86 + 0.3
    slowed = replace(link.channel, driver=replace(link.channel.driver, bandwidth=hard.bandwidth))
    assert transmitter_closure(link.vary({"channel": slowed})).tdecq_db == pytest.approx(3.4, abs=0.15)
    ideal = stressed_sensitivity(link, 0.1, 2.4e-4, FAST)
    assert (ideal.outcome, ideal.sensitivity) == ("cannot be stressed", None)
    assert "TECQ" in ideal.reason


def test_light_is_aligned_with_its_symbols():
    link = lane(53.125, 35, 35, LONG, -8.0)
    waveform = light(link, np.tile(np.array([0, 3, 1, 2, 3, 3, 0, 2]), 128))
    low, high = waveform.levels()[[0, 3]]
    assert high > low > 0
    assert waveform.average == pytest.approx(float(link.channel.received_power(np.zeros(()))), rel=0.2)


def test_wrong_questions_are_refused():
    copper = setup("112G").link(1.0)
    for call in (lambda: penalties(copper, 1e-4), lambda: light(copper), lambda: stressed_sensitivity(copper, 2.0, 1e-4)):
        with pytest.raises(ValueError, match="without"):
            call()
    with pytest.raises(ValueError, match="effect"):
        without(lane().channel, "weather")
    with pytest.raises(ValueError, match="secq_db"):
        stressed_sensitivity(lane(), -1.0, 2.4e-4)
    with pytest.raises(ValueError, match="4 levels"):
        light(lane().vary({"tx.constellation": setup("25G").tx.constellation}))
