"""Roughness and plating as records: they select the functions of `materials`, and refuse what they cannot mean."""

from dataclasses import replace

import numpy as np
import pytest

from channels import materials
from channels.surface import Plating, Roughness, surface_impedance
from dsp.units import GHz, um

F = np.array([0.0, 1e6, 10 * GHz, 53.125 * GHz])
ROUGH = Roughness(height=2 * um)
HURAY = Roughness(height=0.1 * um, model="huray", area_ratio=7.33)
SILVER = Plating(thickness=2 * um)


def test_each_model_is_its_function():
    np.testing.assert_array_equal(ROUGH.factor(F), materials.cannonball(F, 2 * um))
    np.testing.assert_array_equal(HURAY.factor(F), materials.huray(F, 0.1 * um, 7.33))
    for model in ("gradient", "hammerstad", "groiss"):
        rough = Roughness(height=0.4 * um, model=model)
        np.testing.assert_array_equal(rough.factor(F), materials.rough_surface(F, 0.4 * um, model))
        np.testing.assert_allclose(rough.factor(F)[0], 1, atol=1e-12)
    np.testing.assert_array_equal(Roughness(height=0.0).factor(F), 1)


def test_surface_impedance_limits():
    smooth = (1 + 1j) * materials.surface_resistance(F)
    np.testing.assert_allclose(surface_impedance(F), smooth, rtol=1e-14)
    np.testing.assert_allclose(surface_impedance(F, plating=Plating(thickness=0.0)), smooth, rtol=1e-14)
    np.testing.assert_allclose(surface_impedance(F, roughness=ROUGH), smooth * ROUGH.factor(F), rtol=1e-14)
    assert surface_impedance(F, roughness=ROUGH, plating=SILVER)[0] == 0


def test_heat_raises_base_and_plating_alike():
    cold, hot = (surface_impedance(F[1:], plating=SILVER, temperature=t).real for t in (20, 75))
    np.testing.assert_allclose(hot / cold, np.sqrt(1.2145), rtol=0.01)


def test_records_are_hashable():
    assert len({ROUGH, replace(ROUGH), HURAY, SILVER, replace(SILVER)}) == 3


@pytest.mark.parametrize(
    ("good", "field", "value"),
    [
        (ROUGH, "height", -1e-6),
        (ROUGH, "height", 2.0),
        (ROUGH, "model", "sandpaper"),
        (ROUGH, "area_ratio", 7.33),
        (HURAY, "area_ratio", None),
        (HURAY, "area_ratio", -1.0),
        (SILVER, "thickness", -1e-6),
        (SILVER, "thickness", 2.0),
        (SILVER, "resistivity", 0.0),
        (SILVER, "permeability", 0.5),
    ],
)
def test_wrong_values_name_the_field(good, field, value):
    with pytest.raises(ValueError, match=field):
        replace(good, **{field: value})
