"""Conductors and dielectrics against published anchors and their own limits."""

import numpy as np
import pytest

from channels import materials as mat
from dsp.units import GHz, MHz, mm, um

ANCHORS = np.array([12.89, 26.56, 53.125, 106.25]) * GHz


def test_skin_depth_of_copper():
    np.testing.assert_allclose(mat.skin_depth(ANCHORS) / um, [0.581, 0.405, 0.286, 0.202], atol=6e-4)
    assert mat.skin_depth(np.array([0.0]))[0] == np.inf
    np.testing.assert_allclose(mat.surface_resistance(ANCHORS) * mat.skin_depth(ANCHORS), mat.COPPER, rtol=1e-12)


def test_resistivity_rises_with_temperature():
    assert mat.resistivity_at(20) == mat.COPPER
    np.testing.assert_allclose(mat.resistivity_at(75) / mat.COPPER, 1.2145, rtol=1e-12)


@pytest.mark.parametrize(("gauge", "diameter"), [(24, 0.511), (26, 0.405), (28, 0.321), (30, 0.255), (34, 0.160)])
def test_wire_gauge(gauge, diameter):
    np.testing.assert_allclose(mat.wire_diameter(gauge) / mm, diameter, atol=6e-4)
    with pytest.raises(ValueError, match="gauge"):
        mat.wire_diameter(-1)


def test_round_wire_is_resistive_at_dc_and_skin_deep_above():
    d = 0.4 * mm
    f = np.array([0.0, 1.0, 50 * GHz])
    z = mat.round_wire(f, d)
    np.testing.assert_allclose(z[:2].real, mat.COPPER / (np.pi * d**2 / 4), rtol=1e-6)
    # internal inductance of a uniform current: mu0 / 8 pi
    np.testing.assert_allclose(z[1].imag / (2 * np.pi), 1e-7 / 2, rtol=1e-6)
    np.testing.assert_allclose(z[2], (1 + 1j) * mat.surface_resistance(f[2:])[0] / (np.pi * d), rtol=2e-3)


def test_round_wire_series_joins_the_bessel_functions():
    d = 0.4 * mm
    join = (mat.BESSEL_LIMIT / np.sqrt(2) / (d / 2)) ** 2 * mat.COPPER / (np.pi * mat.MU0)
    low, high = mat.round_wire(np.array([join * (1 - 1e-10), join * (1 + 1e-10)]), d)
    assert abs(low / high - 1) < 1e-8


def test_wideband_debye_anchors():
    eps = mat.wideband_debye(np.array([53.12 * GHz, 53.1 * GHz, 1 * MHz]), 3.3, 0.002, 10 * GHz)
    np.testing.assert_allclose(eps[0], 3.29297 - 0.00654j, atol=6e-6)  # as scikit-rf's djordjevicsvensson
    np.testing.assert_allclose(eps[1].real, 3.2930, rtol=1e-4)
    np.testing.assert_allclose(-eps[1].imag / eps[1].real, 0.00199, rtol=3e-3)
    np.testing.assert_allclose(eps[2].real, 3.339, rtol=1e-4)


def test_wideband_debye_holds_at_its_reference_and_is_static_at_dc():
    eps = mat.wideband_debye(np.array([0.0, 5 * GHz]), 1.7, 3e-4, 5 * GHz)
    np.testing.assert_allclose(eps[1], 1.7 * (1 - 3e-4j), rtol=1e-14)
    assert eps[0].imag == 0
    assert eps[0].real > 1.7


def test_roughness_anchors():
    np.testing.assert_allclose(mat.hammerstad(ANCHORS, 0.4 * um), [1.373, 1.598, 1.777, 1.885], rtol=1e-3)
    np.testing.assert_allclose(mat.groiss(ANCHORS, 0.4 * um), [1.549, 1.714, 1.824, 1.895], rtol=1e-3)
    for rz, loss in (
        (1, [1.126, 1.239, 1.424, 1.724]),
        (2, [1.414, 1.724, 2.170, 2.775]),
        (5, [2.515, 3.239, 4.032, 4.844]),
    ):
        np.testing.assert_allclose(((1 + 1j) * mat.cannonball(ANCHORS, rz * um)).real, loss, rtol=1e-3)


def test_roughness_adds_inductance_and_vanishes_at_dc():
    surface = (1 + 1j) * mat.cannonball(ANCHORS, 2 * um)
    assert np.all(surface.imag > surface.real)
    np.testing.assert_allclose(mat.cannonball(np.array([0.0]), 2 * um), 1, atol=1e-12)
