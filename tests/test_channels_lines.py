"""Plating and stop bands of twinaxial cable."""

from dataclasses import replace

import numpy as np
import pytest

from channels.causality import passivity
from channels.lines import StopBand, Twinax, wrap_frequency
from channels.surface import Plating
from dsp.units import GHz, db, mm, um

F = np.concatenate([[0.0], np.geomspace(1e3, 100 * GHz, 300)])
BAND = StopBand(frequency=20 * GHz, peak_db=3.0)
CABLE = Twinax(length=2.0, gauge=30)


def test_silver_takes_4_percent_off_the_conductor_loss_and_nothing_off_dc():
    silver = replace(CABLE, loss_tangent=0.0, plating=Plating(thickness=2 * um))
    f = np.array([26.56, 53.125]) * GHz
    ratio = silver.attenuation_db(f) / replace(CABLE, loss_tangent=0.0).attenuation_db(f)
    np.testing.assert_allclose(ratio, 0.9615, atol=3e-3)
    np.testing.assert_allclose(silver.s(np.zeros(1), 100.0), CABLE.s(np.zeros(1), 100.0), rtol=1e-13)


def test_nickel_under_the_dielectric_is_a_bad_idea():
    nickel = replace(CABLE, plating=Plating(thickness=1 * um, resistivity=7e-8, permeability=20.0))
    assert nickel.attenuation_db(53 * GHz) > 3 * CABLE.attenuation_db(53 * GHz)


def test_stop_band_has_its_peak_and_leaves_dc_alone():
    wrapped = replace(CABLE, stop_bands=(BAND,))
    f = np.array([0.0, 1e6, 20 * GHz, 21 * GHz, 60 * GHz])
    surplus = wrapped.attenuation_db(f) - CABLE.attenuation_db(f)
    np.testing.assert_allclose(surplus[[0, 2]], [0, 3], atol=1e-5)
    assert surplus[1] < 1e-6
    assert surplus[3] < 1.5
    assert surplus[4] < 0.01
    loss = db(CABLE.s(f, 100.0)[1, 0]) - db(wrapped.s(f, 100.0)[1, 0])
    np.testing.assert_allclose(loss, 2 * surplus, atol=0.02)


def test_stop_band_is_the_pair_of_poles_within_its_bandwidth():
    f = np.linspace(0, 60, 601) * GHz
    b = BAND.frequency / BAND.q
    poles = 1 / (1 + 1j * (f - BAND.frequency) / b) + 1 / (1 + 1j * (f + BAND.frequency) / b)
    np.testing.assert_allclose(BAND.propagation(f), BAND.peak_db / db(np.e) * poles, atol=BAND.peak_db / db(np.e) / BAND.q)


def test_wrapped_shields_of_5_to_10_mm_block_first_between_11_and_23_ghz():
    np.testing.assert_allclose([wrap_frequency(p * mm) / GHz for p in (5, 10)], [23.0, 11.5], atol=0.05)
    np.testing.assert_allclose(wrap_frequency(5 * mm, order=2), 2 * wrap_frequency(5 * mm), rtol=1e-14)


@pytest.mark.parametrize(
    "cable",
    [
        replace(CABLE, stop_bands=(BAND, StopBand(frequency=40 * GHz, peak_db=30, q=5))),
        replace(CABLE, plating=Plating(thickness=0.2 * um)),
    ],
    ids=["wrapped", "plated"],
)
def test_options_leave_the_cable_passive(cable):
    assert passivity(cable.s(F, 85.0)) < 1 + 1e-12
    assert hash(cable) == hash(replace(cable))


@pytest.mark.parametrize(
    ("good", "field", "value"),
    [
        (BAND, "frequency", 20.0),
        (BAND, "peak_db", -1.0),
        (BAND, "q", 0.0),
        (CABLE, "plating", 1e-6),
        (CABLE, "stop_bands", [BAND]),
        (CABLE, "stop_bands", (20e9,)),
    ],
)
def test_wrong_values_name_the_field(good, field, value):
    with pytest.raises(ValueError, match=field):
        replace(good, **{field: value})


@pytest.mark.parametrize("change", [{"pitch": 0.0}, {"permittivity": 0.5}, {"order": 0}], ids=lambda change: next(iter(change)))
def test_wrap_frequency_rejects(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        wrap_frequency(**{"pitch": 5 * mm, **change})
