"""Estimated coupling channels and the sums over aggressors."""

from dataclasses import replace

import numpy as np
import pytest

from channels.causality import energy_before_zero
from channels.copper import CopperChannel, ShuntCapacitor, StandardLine, Twinax
from channels.crosstalk import FarEndCrosstalk, NearEndCrosstalk, crosstalk_ratio_db, integrated_noise, power_sum
from channels.network import Chain, MultiPort
from dsp.units import GBd, GHz, db, fF, mV, ps

NYQUIST = 26.5625 * GHz
F = np.arange(8001) * 10e6
THROUGH = CopperChannel(parts=(ShuntCapacitor(capacitance=50 * fF), Twinax(length=1.0), ShuntCapacitor(capacitance=50 * fF)))
FAR = FarEndCrosstalk(through=THROUGH, reference_frequency=NYQUIST)
NEAR = NearEndCrosstalk(tx_side=(Twinax(length=0.1),), rx_side=(Twinax(length=0.2),), reference_frequency=NYQUIST)


def test_far_end_level_and_slope():
    f = NYQUIST * np.array([0.1, 0.5, 1.0, 2.0])
    relative = FAR.transfer(f) / THROUGH.transfer(f)
    np.testing.assert_allclose(db(relative), -42 + db([0.1, 0.5, 1, 2]), atol=1e-9)
    np.testing.assert_allclose(np.angle(relative, deg=True), 90, atol=1e-9)


def test_near_end_level_slope_and_plateau():
    bare = replace(NEAR, tx_side=(), rx_side=())
    np.testing.assert_allclose(db(bare.transfer(np.array([NYQUIST]))), -46, atol=1e-9)
    low = bare.transfer(NYQUIST * np.array([1e-3, 2e-3]))
    np.testing.assert_allclose(np.abs(low[1] / low[0]), 2, rtol=1e-5)
    high = bare.transfer(NYQUIST * np.array([1e3, 2e3]))
    np.testing.assert_allclose(np.abs(high[1] / high[0]), 1, rtol=1e-5)


def test_near_end_passes_both_sides():
    f = np.array([NYQUIST])
    bare = replace(NEAR, tx_side=(), rx_side=())
    sides = [Twinax(length=x).s(f, 100.0)[1, 0] for x in (0.1, 0.2)]
    np.testing.assert_allclose(NEAR.transfer(f), bare.transfer(f) * sides[0] * sides[1], rtol=1e-12)
    assert replace(NEAR, tx_side=(Chain((Twinax(length=0.1),)),)).transfer(f) == NEAR.transfer(f)
    assert replace(NEAR, source_resistance=40.0).transfer(f) != NEAR.transfer(f)
    assert replace(NEAR, load_resistance=40.0).transfer(f) != NEAR.transfer(f)


@pytest.mark.parametrize("channel", [FAR, NEAR], ids=["far", "near"])
def test_coupling_is_causal_blocks_dc_and_adds_no_noise(channel):
    assert energy_before_zero(F, channel.transfer(F)) < 1e-9
    assert channel.transfer(np.zeros(1)) == 0
    np.testing.assert_array_equal(channel.noise_psd(F), 0)
    assert hash(channel) == hash(replace(channel))


def test_power_sum_adds_powers():
    a, b = FAR.transfer(F), NEAR.transfer(F)
    np.testing.assert_allclose(power_sum([a, b]), np.abs(a) ** 2 + np.abs(b) ** 2, rtol=1e-14)
    np.testing.assert_allclose(power_sum(iter([a] * 4)), 4 * np.abs(a) ** 2, rtol=1e-14)
    with pytest.raises(ValueError, match="transfers"):
        power_sum([])


def test_crosstalk_ratio_of_one_far_end_aggressor_is_its_level():
    f = NYQUIST * np.array([0.5, 1.0])
    through = THROUGH.transfer(f)
    np.testing.assert_allclose(crosstalk_ratio_db(through, [FAR.transfer(f)]), 42 - db([0.5, 1.0]), atol=1e-9)
    np.testing.assert_allclose(crosstalk_ratio_db(through, [FAR.transfer(f)] * 4)[1], 42 - 10 * np.log10(4), atol=1e-9)
    assert crosstalk_ratio_db(through, [np.zeros(2)])[0] == np.inf
    with pytest.raises(ValueError, match="transfers"):
        crosstalk_ratio_db(through, [np.ones(3)])
    with pytest.raises(ValueError, match="transfers"):
        crosstalk_ratio_db(through, [])


def test_integrated_noise_of_an_unfiltered_unit_coupling_is_half_of_the_amplitude():
    """sinc^2 alone integrates to f_b / 2: the variance is A^2 / 4 where both filters are wide."""
    f = np.arange(200001) * 20e6
    noise = integrated_noise(f, np.ones(f.size), symbol_rate=26.5625 * GBd, amplitude=0.6, rise_time=1e-16, bandwidth=1e14)
    np.testing.assert_allclose(noise, 0.3, rtol=5e-3)


def test_integrated_noise_scales_and_falls_with_filters():
    kwargs = {"symbol_rate": 53.125 * GBd, "amplitude": 600 * mV, "rise_time": 7.5 * ps, "bandwidth": 40 * GHz}
    power = power_sum([FAR.transfer(F), NEAR.transfer(F)])
    base = integrated_noise(F, power, **kwargs)
    np.testing.assert_allclose(integrated_noise(F, 4 * power, **kwargs), 2 * base, rtol=1e-12)
    assert integrated_noise(F, power, **{**kwargs, "bandwidth": 20 * GHz}) < base
    assert integrated_noise(F, power, **{**kwargs, "rise_time": 15 * ps}) < base


@pytest.mark.parametrize(
    "change",
    [
        {"f": F[:1]},
        {"f": F**2},
        {"symbol_rate": 53.125},
        {"amplitude": -1.0},
        {"rise_time": 0.0},
        {"bandwidth": 0.0},
    ],
    ids=lambda change: next(iter(change)),
)
def test_integrated_noise_rejects(change):
    good = {"f": F, "symbol_rate": 53.125 * GBd, "amplitude": 0.6, "rise_time": 7.5 * ps, "bandwidth": 40 * GHz}
    with pytest.raises(ValueError, match=next(iter(change))):
        integrated_noise(power=np.ones(1), **{**good, **change})


class FourPort(MultiPort):
    n_ports = 4

    def _s(self, f, z0):
        return np.zeros((4, 4, f.size), complex)


@pytest.mark.parametrize(
    ("good", "field", "value"),
    [
        (FAR, "through", None),
        (FAR, "reference_frequency", 26.56),
        (FAR, "loss_db", -1.0),
        (NEAR, "tx_side", [Twinax(length=0.1)]),
        (NEAR, "tx_side", (1,)),
        (NEAR, "rx_side", (FourPort(),)),
        (NEAR, "rx_side", StandardLine(length=0.1, impedance=100.0)),
        (NEAR, "reference_frequency", 0.0),
        (NEAR, "loss_db", float("nan")),
        (NEAR, "source_resistance", 0.0),
        (NEAR, "load_resistance", -1.0),
    ],
)
def test_wrong_values_name_the_field(good, field, value):
    with pytest.raises(ValueError, match=field):
        replace(good, **{field: value})
