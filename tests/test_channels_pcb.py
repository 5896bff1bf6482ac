"""Board lines from their cross-section: published impedances, limits, and every field against a wrong value."""

from dataclasses import replace

import numpy as np
import pytest

from channels import materials
from channels.causality import passivity, reciprocity
from channels.pcb import ETA0, BoardLine
from channels.surface import Plating, Roughness
from dsp.units import GHz, inch, mil, mm, um

F = np.concatenate([[0.0], np.geomspace(1e3, 100 * GHz, 300)])
STRIP = BoardLine(
    length=0.2, width=6 * mil, spacing=8 * mil, height=14 * mil, permittivity=3.5, loss_tangent=0.0037,
    roughness=Roughness(height=2.5 * um),
)  # fmt: skip
MICRO = replace(STRIP, layout="microstrip", height=4 * mil)
FAR = {"spacing": 10 * mm}  # the traces no longer feel each other


def test_isolated_thin_stripline_has_the_impedance_of_the_conformal_map():
    """Half of the pair, w / b = 1: exact is 30 pi K(k')/K(k) with k = tanh(pi w / 2 b) (Cohn 1954)."""
    from scipy.special import ellipk

    line = replace(STRIP, width=1 * mm, height=1 * mm, thickness=1 * um, permittivity=1.01, **FAR)
    k = np.tanh(np.pi / 2)
    exact = ETA0 / 4 * ellipk(1 - k**2) / ellipk(k**2) / np.sqrt(1.01)
    np.testing.assert_allclose(line.impedance / 2, exact, rtol=5e-3)


def test_very_wide_trace_is_a_parallel_plate_line_in_impedance_and_loss():
    """Impedance to eta b / 4 w for each trace; loss to that of two pairs of plates."""
    line = replace(
        STRIP, width=8 * mm, height=0.1 * mm, thickness=5 * um, permittivity=4.0, loss_tangent=0.0, roughness=None, **FAR
    )
    np.testing.assert_allclose(line.impedance / 2, ETA0 / 2 * (0.1 * mm - 5 * um) / (4 * 8 * mm), rtol=0.03)
    resistance = 2 * materials.surface_resistance(np.array([20 * GHz])) / (2 * 8 * mm)  # trace and planes, two sides each
    z, _ = line.immittances(np.array([20 * GHz]))
    np.testing.assert_allclose(z.real / 2, resistance, rtol=0.03)


def test_alumina_microstrip_of_50_ohm():
    """w / h = 1 on alumina of 9.9: about 49 ohm and 6.6 by the closed form and by full-wave tables at low frequency."""
    line = replace(MICRO, width=1 * mm, height=1 * mm, thickness=1 * um, permittivity=9.9, **FAR)
    np.testing.assert_allclose(line.impedance / 2, 49.2, rtol=0.01)
    np.testing.assert_allclose(line.effective_permittivity, 6.63, rtol=0.01)


def test_microstrip_single_ended_equals_scikit_rf():
    import skrf

    f = skrf.Frequency.from_f(np.array([1e9]), unit="Hz")
    peer = skrf.media.MLine(
        frequency=f, w=0.3 * mm, h=0.2 * mm, t=20 * um, ep_r=3.5, tand=0, rho=1e-12, disp="none", diel="frequencyinvariant"
    )
    line = replace(MICRO, width=0.3 * mm, height=0.2 * mm, thickness=20 * um, **FAR)
    np.testing.assert_allclose(line.impedance / 2, peer.z0_characteristic.real[0], rtol=0.01)
    np.testing.assert_allclose(line.effective_permittivity, np.real(peer.ep_reff), rtol=0.01)


@pytest.mark.parametrize(
    ("line", "impedance", "permittivity"),
    [
        (replace(STRIP, height=14.6 * mil, thickness=0.6 * mil), 99.96, 3.5),
        (
            replace(STRIP, width=5.6 * mil, spacing=5.6 * mil, height=12.6 * mil, thickness=0.6 * mil, permittivity=3.0),
            99.48,
            3.0,
        ),
        (replace(MICRO, thickness=0.6 * mil), 111.5, 2.41),
    ],
    ids=["stripline", "tight stripline", "microstrip"],
)
def test_coupled_pairs_against_finite_differences(line, impedance, permittivity):
    """Laplace's equation on grids of 0.2, 0.1 and 0.067 mil, extrapolated; a separate script."""
    np.testing.assert_allclose(line.impedance, impedance, rtol=0.01)
    # the microstrip's share of the field is that of a single strip
    np.testing.assert_allclose(line.effective_permittivity, permittivity, rtol=0.08)


@pytest.mark.parametrize("line", [STRIP, MICRO], ids=["stripline", "microstrip"])
def test_geometry_moves_the_impedance_the_right_way(line):
    assert replace(line, width=7 * mil).impedance < line.impedance
    assert replace(line, spacing=12 * mil).impedance > line.impedance
    assert replace(line, height=line.height * 1.2).impedance > line.impedance
    assert replace(line, permittivity=4.0).impedance < line.impedance
    assert replace(line, thickness=30 * um).impedance < line.impedance
    assert 1 < replace(line, layout="microstrip").effective_permittivity < 3.5


@pytest.mark.parametrize("line", [STRIP, MICRO], ids=["stripline", "microstrip"])
def test_board_is_passive_reciprocal_and_exact_at_dc(line):
    s = line.s(F, 85.0)
    assert passivity(s) < 1 + 1e-12
    assert reciprocity(s) < 1e-13
    x = 2 * materials.COPPER / (line.width * line.thickness) * line.length / 85.0
    np.testing.assert_allclose(s[:, 0, 0], [x / (2 + x), 2 / (2 + x)], rtol=1e-12)
    np.testing.assert_allclose(s[..., 1], s[..., 0], atol=1e-4)
    assert hash(line) == hash(replace(line))
    half = replace(line, length=0.1)
    np.testing.assert_allclose((half @ half).s(F, 85.0), s, atol=1e-11)


def test_dielectric_loss_is_that_of_the_plane_wave():
    """2.32 f sqrt(Dk) Df dB/inch, f in GHz."""
    f = np.array([10 * GHz])
    lossless = replace(STRIP, loss_tangent=0.0)
    np.testing.assert_allclose(
        (STRIP.attenuation_db(f) - lossless.attenuation_db(f)) * inch, 2.32 * 10 * np.sqrt(3.5) * 0.0037, rtol=0.03
    )


def test_roughness_plating_and_heat_cost():
    f = np.array([53 * GHz])
    smooth = replace(STRIP, roughness=None, loss_tangent=0.0)
    loss = smooth.attenuation_db(f)
    rough = replace(smooth, roughness=Roughness(height=2 * um)).attenuation_db(f)
    np.testing.assert_allclose(
        rough / loss, 2.170, rtol=0.05
    )  # the factor of the surface, less what the added inductance eases
    assert replace(smooth, plating=Plating(thickness=2 * um)).attenuation_db(f) < loss
    np.testing.assert_allclose(replace(smooth, temperature=75.0).attenuation_db(f) / loss, np.sqrt(1.2145), rtol=5e-3)
    assert replace(STRIP, temperature=75.0).attenuation_db(f) > STRIP.attenuation_db(f)
    assert replace(smooth, resistivity=2e-8).attenuation_db(f) > loss


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("length", -1.0),
        ("length", 200.0),
        ("width", 0.0),
        ("width", 152.0),
        ("spacing", 0.0),
        ("height", 0.0),
        ("thickness", 0.0),
        ("thickness", 0.3 * mm),
        ("permittivity", 1.0),
        ("loss_tangent", -0.1),
        ("layout", "coplanar"),
        ("roughness", 2e-6),
        ("plating", 2e-6),
        ("resistivity", 0.0),
        ("temperature", -300.0),
    ],
)
def test_wrong_values_name_the_field(field, value):
    with pytest.raises(ValueError, match=field):
        replace(STRIP, **{field: value})
