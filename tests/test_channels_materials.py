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


def test_proximity_of_wires_spaced_by_two_and_a_half_diameters():
    np.testing.assert_allclose(mat.proximity_factor(1 * mm, 2.5 * mm), 1.09, atol=0.005)
    with pytest.raises(ValueError, match="spacing"):
        mat.proximity_factor(1 * mm, 1 * mm)
    with pytest.raises(ValueError, match="diameter"):
        mat.proximity_factor(0.0, 1 * mm)


def test_thick_silver_gains_4_percent_and_a_layer_of_the_base_nothing():
    smooth = (1 + 1j) * mat.surface_resistance(ANCHORS)
    silver = mat.layered_surface(ANCHORS, ((5 * um, mat.SILVER, 1.0),))
    np.testing.assert_allclose(silver.real / smooth.real, 0.961, atol=1e-3)
    np.testing.assert_allclose(mat.layered_surface(ANCHORS, ((0.3 * um, mat.COPPER, 1.0),) * 3), smooth, rtol=1e-12)
    # a layer far thinner than the skin depth is not there
    thin = mat.layered_surface(np.array([0.0, 1e3]), ((1 * um, 7e-8, 20.0),))
    assert thin[0] == 0
    np.testing.assert_allclose(thin[1].real, mat.surface_resistance(np.array([1e3]))[0], rtol=1e-5)


def test_two_skin_depths_of_silver_are_as_good_as_thick():
    f = np.array([53 * GHz])
    thick = np.sqrt(mat.SILVER / mat.COPPER)
    loss = mat.layered_surface(f, ((0.57 * um, mat.SILVER, 1.0),)).real / mat.surface_resistance(f)
    np.testing.assert_allclose(loss, thick, atol=2e-3)


def test_nickel_costs_a_multiple():
    nickel = mat.layered_surface(ANCHORS, ((3 * um, 7e-8, 10.0),)).real / mat.surface_resistance(ANCHORS)
    np.testing.assert_allclose(nickel, np.sqrt(7e-8 * 10 / mat.COPPER), rtol=1e-3)


def test_reactance_of_a_known_causal_surface_is_found_from_its_loss():
    """Spheres have both parts in closed form."""
    x = np.geomspace(3e-3, 300, 40)
    c = 7.33
    whole = (1 + 1j) * (1 + c / (1 + (0.5 - 0.5j) / x))
    found = mat.reactance_factor(x, lambda y: 1 + c / (1 + 1 / y + 1 / (2 * y**2)), 1 + c)
    np.testing.assert_allclose(found, whole.imag, rtol=1e-6)


@pytest.mark.parametrize(("model", "real"), [("hammerstad", mat.hammerstad), ("groiss", mat.groiss)])
def test_causal_roughness_keeps_the_loss_and_adds_inductance(model, real):
    surface = (1 + 1j) * mat.rough_surface(ANCHORS, 0.4 * um, model)
    np.testing.assert_allclose(surface.real, real(ANCHORS, 0.4 * um), rtol=1e-4)
    assert np.all(surface.imag > surface.real)
    np.testing.assert_allclose(mat.rough_surface(np.array([0.0, 1.0]), 0.4 * um, model), 1, atol=2e-5)


@pytest.mark.parametrize(
    ("rms", "real", "imag"),
    [
        (50, (-1.6644e-25, 5.1199e-13, 6.1107e-02), (-3.4813e-25, 2.2603e-12, 7.2291e-02)),
        (75, (-1.5186e-25, 6.0379e-13, 5.8012e-02), (-4.5447e-25, 3.0960e-12, 7.9819e-02)),
        (100, (-1.4427e-25, 7.0489e-13, 5.5407e-02), (-5.6445e-25, 3.8871e-12, 8.8834e-02)),
    ],
)
def test_gradient_model_against_published_surface_impedances(rms, real, imag):
    """Gold of 4.1e7 S/m, 280 to 360 GHz: the quadratic fits printed by the GradientModel package 0.0.2 (README)."""
    f = np.linspace(280, 360, 5) * GHz
    rho = 1 / 4.1e7
    z = (1 + 1j) * mat.surface_resistance(f, rho) * mat.rough_surface(f, rms * 1e-9, "gradient", rho)
    np.testing.assert_allclose(z.real, np.polyval(real, f), rtol=0.03)
    np.testing.assert_allclose(z.imag, np.polyval(imag, f), rtol=0.005)


def test_gradient_model_against_its_differential_equation():
    """dZ/dp = (sigma(p) Z^2 - 2 j) x in skin depths, from deep inside to the tips."""
    from scipy.integrate import solve_ivp
    from scipy.special import ndtr

    for f, x in ((ANCHORS[1], 0.5), (ANCHORS[2], 2.0)):
        rms = x * mat.skin_depth(np.array([f]))[0]

        def slope(p, y, x=x):
            z = y[0] + 1j * y[1]
            d = (ndtr(p) * z * z - 2j) * x
            return [d.real, d.imag]

        end = solve_ivp(slope, (5, -5), [1.0, 1.0], method="LSODA", rtol=1e-9, atol=1e-12).y[:, -1]
        found = (1 + 1j) * mat.rough_surface(np.array([f]), rms, "gradient")[0]
        np.testing.assert_allclose([found.real, found.imag], end, rtol=1e-3)


def test_rough_surface_knows_its_models():
    with pytest.raises(ValueError, match="model"):
        mat.rough_surface(ANCHORS, 0.4 * um, "sandpaper")
