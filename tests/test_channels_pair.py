"""Four-ports of a pair: skew, mode conversion, coupling, and the differential view."""

from dataclasses import replace

import numpy as np
import pytest

from channels import port_map
from channels.catalog import CONNECTORS, LAMINATES, PACKAGES, VIAS
from channels.causality import passivity, reciprocity
from channels.copper import CopperChannel, StandardLine
from channels.file_network import FilePorts
from channels.interposer import InterposerWires
from channels.lines import StopBand, Twinax
from channels.network import Chain, mixed_mode
from channels.pair import Balanced, Differential, Pair, TwinaxPair, coupled_line_s
from channels.touchstone import write_touchstone
from dsp.units import GHz, db, ps

F = np.concatenate([[0.0], np.geomspace(1e4, 100 * GHz, 200)])
CABLE = Twinax(length=1.0)
LINE = StandardLine(length=0.1, impedance=50.0, tau=5e-9)
SKEWED = TwinaxPair(cable=CABLE, skews=(5 * ps,))
COUPLED = TwinaxPair(cable=CABLE, skews=(5 * ps, -2 * ps, 3 * ps), coupling=0.2, even_delay=1.01)
PACKAGE, CONNECTOR, VIA = PACKAGES["dj B1"].value.tx, CONNECTORS["front panel"].value, VIAS["0.5 mm stub"].value
BOARD = replace(LAMINATES["Megtron 7"].value, length=0.1)


@pytest.mark.parametrize(("skew", "low", "high"), [(1, 0.03, 0.12), (2, 0.12, 0.49), (3, 0.28, 1.14), (5, 0.78, 3.46)])
def test_skew_costs_what_is_printed(skew, low, high):
    f = np.array([26.56, 53.1]) * GHz
    pair = TwinaxPair(cable=CABLE, skews=(skew * ps,))
    cost = db(CABLE.s(f, 100.0)[1, 0]) - db(Differential(pair=pair).s(f, 100.0)[1, 0])
    np.testing.assert_allclose(cost, [low, high], atol=0.0065)


def test_null_of_9_4_ps():
    h = Differential(pair=TwinaxPair(cable=CABLE, skews=(9.4 * ps,))).s(np.array([26.56, 1000 / 18.8]) * GHz, 100.0)[1, 0]
    base = CABLE.s(np.array([26.56, 1000 / 18.8]) * GHz, 100.0)[1, 0]
    np.testing.assert_allclose(db(base[0] / h[0]), 3.0, atol=0.01)
    assert abs(h[1]) < 1e-3 * abs(base[1])


def test_conversion_is_the_sine_and_the_rest_the_cosine():
    modes = mixed_mode(SKEWED.s(F, 50.0))
    straight, phase = CABLE.s(F, 100.0)[1, 0], np.pi * F * SKEWED.skew
    np.testing.assert_allclose(modes.dd[1, 0], straight * np.cos(phase), atol=2e-5)
    np.testing.assert_allclose(np.abs(modes.cd[1, 0]), np.abs(straight * np.sin(phase)), atol=2e-5)


def test_without_skew_the_differential_view_is_the_cable():
    for coupling, even_delay in ((0.0, 1.0), (0.3, 1.0), (0.3, 1.05)):
        pair = TwinaxPair(cable=CABLE, coupling=coupling, even_delay=even_delay)
        np.testing.assert_allclose(Differential(pair=pair).s(F, 92.5), CABLE.s(F, 92.5), atol=1e-10)
        np.testing.assert_allclose(mixed_mode(pair.s(F, 50.0)).cd, 0, atol=1e-10)


def test_vanishing_coupling_joins_the_uncoupled_wires():
    np.testing.assert_allclose(replace(SKEWED, coupling=1e-9).s(F, 50.0), SKEWED.s(F, 50.0), atol=1e-7)


def test_skews_that_cancel_cancel_only_without_a_difference_of_modes():
    cancel = replace(SKEWED, skews=(5 * ps, -5 * ps))
    np.testing.assert_allclose(Differential(pair=cancel).s(F, 100.0), CABLE.s(F, 100.0), atol=1e-12)
    assert np.max(np.abs(mixed_mode(replace(cancel, coupling=0.2, even_delay=1.02).s(F, 50.0)).cd[1, 0])) > 0.01


def test_a_slow_even_mode_stops_conversion():
    f = np.array([26.56, 53.1]) * GHz
    locked = Differential(pair=replace(SKEWED, coupling=0.2, even_delay=1.03)).s(f, 100.0)[1, 0]
    assert np.all(np.abs(db(locked / CABLE.s(f, 100.0)[1, 0])) < 0.05)


def test_conversion_depends_on_the_direction_the_differential_path_does_not():
    modes = mixed_mode(COUPLED.s(F, 50.0))
    np.testing.assert_allclose(modes.dd[1, 0], modes.dd[0, 1], atol=1e-12)
    assert np.max(np.abs(np.abs(modes.cd[1, 0]) - np.abs(modes.cd[0, 1]))) > 1e-3


@pytest.mark.parametrize(
    "pair",
    [SKEWED, COUPLED, Pair(plus=LINE, minus=replace(LINE, impedance=60.0)), Balanced(part=PACKAGE)],
    ids=["skewed", "coupled", "pair", "balanced"],
)
def test_pairs_are_passive_reciprocal_and_hashable(pair):
    s = pair.s(F, 45.0)
    assert passivity(s) < 1 + 1e-10
    assert reciprocity(s) < 1e-11
    assert hash(pair) == hash(replace(pair))
    assert pair.n_ports == 4


def test_dc_is_the_resistance_of_each_wire():
    x = CABLE.loop_resistance / 2 / 50
    for pair in (SKEWED, COUPLED):
        s = pair.s(np.array([0.0, 1.0]), 50.0)
        np.testing.assert_allclose(np.diag(s[2:, :2, 0]), 2 / (2 + x), rtol=1e-12)
        np.testing.assert_allclose(s[..., 0][[0, 0, 2], [1, 3, 1]], 0, atol=1e-12)
        np.testing.assert_allclose(s[..., 1], s[..., 0], atol=2e-5)


@pytest.mark.parametrize("pair", [SKEWED, replace(COUPLED, skews=(5 * ps,))], ids=["skewed", "coupled"])
def test_two_halves_are_the_whole(pair):
    half = replace(pair, cable=replace(CABLE, length=0.5))
    np.testing.assert_allclose((half @ half).s(F, 50.0), pair.s(F, 50.0), atol=1e-9)


def test_stop_band_reaches_the_pair():
    cable = replace(CABLE, stop_bands=(StopBand(frequency=20 * GHz, peak_db=6.0),))
    for coupling in (0.0, 0.2):
        pair = TwinaxPair(cable=cable, coupling=coupling)
        np.testing.assert_allclose(Differential(pair=pair).s(F, 100.0), cable.s(F, 100.0), atol=1e-10)


def test_differential_view_joins_a_balanced_chain():
    chain = CopperChannel(parts=(StandardLine(length=0.05, impedance=95.0, tau=6e-9), Differential(pair=SKEWED)))
    np.testing.assert_allclose(chain.transfer(np.zeros(1)), CopperChannel(parts=(CABLE,)).transfer(np.zeros(1)), rtol=1e-12)


def test_common_mode_comes_back_only_where_the_pairs_are_joined_first():
    whole = Differential(pair=Chain((SKEWED, SKEWED))).s(F, 100.0)[1, 0]
    apart = (Differential(pair=SKEWED) @ Differential(pair=SKEWED)).s(F, 100.0)[1, 0]
    straight, phase = Twinax(length=2.0).s(F, 100.0)[1, 0], np.pi * F * SKEWED.skew
    np.testing.assert_allclose(whole, straight * np.cos(2 * phase), atol=1e-4)
    np.testing.assert_allclose(apart, straight * np.cos(phase) ** 2, atol=1e-4)


@pytest.mark.parametrize("part", [PACKAGE, CONNECTOR, BOARD, VIA], ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("z0", [92.5, 100.0])
def test_the_differential_view_of_a_balanced_part_is_the_part(part, z0):
    lifted = Balanced(part=part)
    np.testing.assert_allclose(Differential(pair=lifted).s(F, z0), part.s(F, z0), atol=1e-12)
    modes = mixed_mode(lifted.s(F, z0 / 2))
    assert not modes.cd.any()
    np.testing.assert_allclose(modes.cc, modes.dd, atol=1e-12)
    if part is not CONNECTOR:  # two differential parts side by side are something else
        wrong = Differential(pair=Pair(plus=part, minus=part)).s(F, z0)[1, 0]
        assert np.max(np.abs(wrong - part.s(F, z0)[1, 0])) > 0.05


@pytest.mark.parametrize("skew", [0.0, 5 * ps])
def test_parts_cables_and_files_in_one_chain(tmp_path, skew):
    """Without skew the chain of two-ports; with it the cosine, up to reflections, and common mode at the far end."""
    grid = np.arange(0, 1201) * 50e6
    write_touchstone(tmp_path / "cable.s4p", grid, TwinaxPair(cable=CABLE, skews=(skew,)).s(grid, 50.0))
    file = FilePorts.open(tmp_path / "cable.s4p", port_map.named("1-3/2-4"))
    left, right = (PACKAGE, BOARD, VIA, CONNECTOR), (CONNECTOR.flipped, PACKAGE.flipped)
    lifted = [Chain(tuple(Balanced(part=part) for part in parts)) for parts in (left, right)]
    chain = lifted[0] @ TwinaxPair(cable=CABLE, skews=(skew,)) @ file @ lifted[1]
    assert chain.n_ports == 4
    modes = mixed_mode(chain.s(grid, 46.25))
    straight = Chain((*left, CABLE, CABLE, *right)).s(grid, 92.5)[1, 0]
    if skew == 0:
        np.testing.assert_allclose(modes.dd[1, 0], straight, atol=1e-6)
        np.testing.assert_allclose(modes.cd, 0, atol=1e-6)
    else:
        np.testing.assert_allclose(modes.dd[1, 0], straight * np.cos(np.pi * grid * 2 * skew), atol=0.003)
        conversion, expected = np.abs(modes.cd[1, 0]), np.abs(straight * np.sin(np.pi * grid * 2 * skew))
        np.testing.assert_allclose(conversion, expected, atol=0.003)
        assert np.max(conversion) > 0.06


def test_a_chain_of_mixed_ports_says_how_to_join_them():
    with pytest.raises(ValueError, match=r"one number of ports.*Balanced"):
        PACKAGE @ SKEWED
    with pytest.raises(ValueError, match=r"one number of ports, got \[4, 6\]$"):
        SKEWED @ InterposerWires(length=1e-3, width=2e-6, thickness=1e-6, n_wires=3)


def test_coupled_line_against_the_matrix_exponential():
    """Three unequal wires: the chain matrix is the exponential of -[[0, Z], [Y, 0]] times the length."""
    from scipy.linalg import expm

    f, length, z0 = np.array([1e6, 3e9, 20e9]), 0.03, 50.0
    w = 2j * np.pi * f[:, None, None]
    inductance = np.array([[4.0, 1.0, 0.3], [1.0, 3.5, 0.8], [0.3, 0.8, 5.0]]) * 1e-7
    capacitance = np.array([[1.5, -0.4, -0.1], [-0.4, 1.2, -0.2], [-0.1, -0.2, 1.8]]) * 1e-10
    resistance = np.diag([5.0, 8.0, 6.0]) + 1.0
    z, y = resistance + w * inductance, w * capacitance * (1 - 0.01j)
    s = coupled_line_s(z, y, length, z0)
    for k in range(f.size):
        chain = expm(length * np.block([[np.zeros((3, 3)), z[k]], [y[k], np.zeros((3, 3))]]))
        a, b, c, d = chain[:3, :3], chain[:3, 3:], chain[3:, :3], chain[3:, 3:]
        forward = 2 * np.linalg.inv(a + b / z0 + c * z0 + d)
        np.testing.assert_allclose(s[3:, :3, k], forward, atol=1e-11)
        np.testing.assert_allclose(s[:3, :3, k], (a + b / z0) @ forward - np.eye(3), atol=1e-11)


@pytest.mark.parametrize(
    ("good", "field", "value"),
    [
        (Pair(plus=LINE, minus=LINE), "plus", SKEWED),
        (Pair(plus=LINE, minus=LINE), "minus", None),
        (Balanced(part=PACKAGE), "part", SKEWED),
        (Balanced(part=PACKAGE), "part", None),
        (Differential(pair=SKEWED), "pair", CABLE),
        (Differential(pair=SKEWED), "pair", None),
        (SKEWED, "cable", LINE),
        (SKEWED, "skews", ()),
        (SKEWED, "skews", [5 * ps]),
        (SKEWED, "skews", (5.0,)),
        (SKEWED, "coupling", -0.1),
        (SKEWED, "coupling", 1.0),
        (SKEWED, "even_delay", 0.0),
    ],
)
def test_wrong_values_name_the_field(good, field, value):
    with pytest.raises(ValueError, match=field):
        replace(good, **{field: value})
