"""Copper parts against published losses, DC resistance and limits; every field against a wrong value."""

from dataclasses import replace

import numpy as np
import pytest

from channels.causality import passivity, reciprocity
from channels.copper import (
    Connector,
    CopperChannel,
    Die,
    Package,
    SeriesInductor,
    ShuntCapacitor,
    StandardLine,
    Trace,
    Twinax,
)
from channels.network import Chain
from dsp.grid import Grid
from dsp.units import GBd, GHz, db, fF, mm, ns, ohm, pH

F = np.concatenate([[0.0], np.geomspace(1e3, 100 * GHz, 300)])
LINE_93A = StandardLine(
    length=12 * mm, impedance=78.2 * ohm, a1=1.734e-3 * ns**0.5 / mm, a2=1.455e-4 * ns / mm, tau=6.141e-3 * ns / mm
)
BOARD_25G = StandardLine(
    length=141 * mm, impedance=109.8 * ohm, a1=4.114e-4 * ns**0.5 / mm, a2=2.547e-4 * ns / mm, tau=6.191e-3 * ns / mm
)
DIE = Die(capacitances=(120 * fF,), inductances=(120 * pH,), bump=30 * fF)
PACKAGE = Package(die=DIE, lines=(LINE_93A,), ball_capacitance=87 * fF)
TRACE = Trace(line=BOARD_25G, pads=(29 * fF, 19 * fF))
CONNECTOR = Connector(pads=(18 * fF, 12 * fF), body=LINE_93A, paddle=BOARD_25G)
PARTS = (
    ShuntCapacitor(capacitance=30 * fF),
    SeriesInductor(inductance=100 * pH),
    DIE,
    LINE_93A,
    PACKAGE,
    TRACE,
    CONNECTOR,
    Twinax(length=1.0),
    Twinax(length=0.0),
    Twinax(length=5.0, gauge=34, temperature=75.0),
    Chain((PACKAGE, TRACE, CONNECTOR, Twinax(length=1.0), CONNECTOR.flipped, TRACE.flipped, PACKAGE.flipped)),
)


def test_standard_line_check_values():
    f = np.array([1, 26.56, 53.12]) * GHz
    s = LINE_93A.s(f, 100.0)
    np.testing.assert_allclose(np.abs(s[1, 0]), [0.970877, 0.852923, 0.773728], atol=1e-5)
    np.testing.assert_allclose(np.angle(s[1, 0], deg=True), [-28.402, 15.104, 36.022], atol=1e-3)
    np.testing.assert_allclose(np.abs(s[0, 0, 0]), 0.112309, atol=1e-5)
    s = BOARD_25G.s(f, 100.0)
    np.testing.assert_allclose(np.abs(s[1, 0]), [0.908515, 0.285108, 0.097038], atol=1e-5)
    np.testing.assert_allclose(np.angle(s[1, 0, :2], deg=True), [42.524, 30.360], atol=1e-3)


def test_standard_line_composes_and_is_transparent_without_length():
    half = replace(LINE_93A, length=6 * mm)
    np.testing.assert_allclose((half @ half).s(F, 100.0), LINE_93A.s(F, 100.0), atol=1e-13)
    np.testing.assert_allclose(replace(half, length=0.0).s(F, 100.0)[1, 0], 1, atol=1e-15)
    np.testing.assert_array_equal(LINE_93A.s(F, 78.2)[0, 0], 0)


def test_lumped_parts_follow_the_single_ended_convention():
    """(93A-8) with R_0 of 50 ohm gives the differential two-port on 100 ohm directly."""
    f = np.array([10.0, 40.0]) * GHz
    y = 2j * np.pi * f * 30 * fF * 50
    s = ShuntCapacitor(capacitance=30 * fF).s(f, 100.0)
    np.testing.assert_allclose(s[0, 0], -y / (2 + y), rtol=1e-13)
    np.testing.assert_allclose(s[1, 0], 2 / (2 + y), rtol=1e-13)
    x = 2j * np.pi * f * 100 * pH / 50
    s = SeriesInductor(inductance=100 * pH).s(f, 100.0)
    np.testing.assert_allclose(s[0, 0], x / (2 + x), rtol=1e-13)
    np.testing.assert_allclose(s[0, 1], 2 / (2 + x), rtol=1e-13)


def test_composite_parts_are_the_cascade_of_their_pieces():
    ball = ShuntCapacitor(capacitance=87 * fF)
    np.testing.assert_allclose(PACKAGE.s(F, 92.5), (DIE @ LINE_93A @ ball).s(F, 92.5), atol=1e-13)
    near, far = ShuntCapacitor(capacitance=29 * fF), ShuntCapacitor(capacitance=19 * fF)
    np.testing.assert_allclose(TRACE.s(F, 92.5), (near @ BOARD_25G @ far).s(F, 92.5), atol=1e-13)
    near, far = ShuntCapacitor(capacitance=18 * fF), ShuntCapacitor(capacitance=12 * fF)
    pieces = near @ LINE_93A @ far @ BOARD_25G
    np.testing.assert_allclose(CONNECTOR.s(F, 92.5), pieces.s(F, 92.5), atol=1e-13)
    bare = Package(die=Die(capacitances=(0.0,), inductances=(0.0,)), lines=(LINE_93A,))
    np.testing.assert_allclose(bare.s(F, 92.5), LINE_93A.s(F, 92.5), atol=1e-13)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("z0", [85.0, 100.0])
def test_every_part_is_passive_reciprocal_and_finite(part, z0):
    s = part.s(F, z0)
    assert np.all(np.isfinite(s))
    assert passivity(s) < 1 + 1e-12
    assert reciprocity(s) < 1e-13


def test_lossless_parts_lose_nothing():
    s = DIE.s(F, 92.5)
    np.testing.assert_allclose(np.abs(s[0, 0]) ** 2 + np.abs(s[1, 0]) ** 2, 1, atol=1e-12)


@pytest.mark.parametrize(
    ("gauge", "losses", "resistance"),
    [
        (24, (2.51, 2.55, 3.88, 6.04, 9.59), 0.168),
        (26, (3.04, 3.10, 4.65, 7.12, 11.13), 0.267),
        (27, (3.36, 3.42, 5.11, 7.76, 12.04), 0.336),
        (28, (3.72, 3.78, 5.63, 8.50, 13.08), 0.425),
        (30, (4.57, 4.64, 6.84, 10.21, 15.50), 0.674),
        (32, (5.65, 5.74, 8.39, 12.40, 18.59), 1.07),
        (34, (7.01, 7.12, 10.34, 15.16, 22.50), 1.71),
    ],
)
def test_twinax_loss_and_resistance(gauge, losses, resistance):
    cable = Twinax(length=1.0, gauge=gauge)
    f = np.array([12.89, 13.28, 26.56, 53.125, 106.25]) * GHz
    np.testing.assert_allclose(cable.attenuation_db(f), losses, rtol=2.5e-3)
    np.testing.assert_allclose(cable.loop_resistance, resistance, rtol=1e-2)


def test_twinax_published_anchors():
    f = np.array([53.0, 110.0]) * GHz
    np.testing.assert_allclose(Twinax(length=1.0, gauge=26).attenuation_db(f[:1]), 7.14, rtol=0.03)
    np.testing.assert_allclose(Twinax(length=1.0, gauge=30).attenuation_db(f[:1]), 10.23, rtol=0.03)
    assert 10.5 < Twinax(length=1.0, gauge=26).attenuation_db(f)[1] < 12.5


def test_twinax_delay():
    delay = Twinax(length=1.0).phase_delay(np.array([1.0, 26.56, 53.125]) * GHz)
    assert np.all((delay > 4.2e-9) & (delay < 4.5e-9))
    np.testing.assert_allclose(delay[1:], 4.35e-9, rtol=1e-3)


def test_twinax_is_exact_at_dc_and_continuous_there():
    cable = Twinax(length=3.0, gauge=30, temperature=60.0)
    x = cable.loop_resistance * 3.0 / 100.0
    s = cable.s(np.array([0.0, 1e-3, 1.0]), 100.0)
    np.testing.assert_allclose(s[1, 0, 0], 2 / (2 + x), rtol=1e-15)
    np.testing.assert_allclose(s[0, 0, 0], x / (2 + x), rtol=1e-15)
    # what is left is the skin term of the conductor factor, which goes as sqrt(f)
    np.testing.assert_allclose(s[..., 1], s[..., 0], atol=3e-7)
    np.testing.assert_allclose(s[..., 2], s[..., 0], atol=1e-5)


def test_two_metres_of_26_awg_lose_what_their_resistance_says():
    np.testing.assert_allclose(Twinax(length=2.0).s(np.zeros(1), 100.0)[1, 0, 0], 0.9973, atol=5e-5)


def test_twinax_composes_and_matches_its_attenuation():
    half = Twinax(length=0.5, gauge=28)
    np.testing.assert_allclose((half @ half).s(F, 92.5), Twinax(length=1.0, gauge=28).s(F, 92.5), atol=1e-11)
    f = np.array([26.56, 53.125]) * GHz
    np.testing.assert_allclose(-db(Twinax(length=1.0).s(f, 100.0)[1, 0]), Twinax(length=1.0).attenuation_db(f), atol=2e-3)


def test_twinax_copper_at_75_degrees_costs_8_to_10_percent_of_the_conductor_loss():
    f = np.array([26.56 * GHz])
    loss = [Twinax(length=1.0, loss_tangent=0.0, temperature=t).attenuation_db(f)[0] for t in (20.0, 75.0)]
    assert 1.08 < loss[1] / loss[0] < 1.11
    assert Twinax(length=1.0, temperature=75.0).attenuation_db(f)[0] > Twinax(length=1.0).attenuation_db(f)[0]


def test_copper_channel_is_h21_and_a_matched_line_gives_one():
    matched = CopperChannel(parts=(StandardLine(length=0.1, impedance=100.0, tau=5e-9),))
    np.testing.assert_allclose(matched.transfer(F), np.exp(-2j * np.pi * F * 5e-10), atol=1e-9)
    resistive = CopperChannel(parts=(Twinax(length=2.0),), source_resistance=40.0, load_resistance=60.0)
    expected = 2 * 120 / (200 + 2 * Twinax(length=2.0).loop_resistance)
    np.testing.assert_allclose(resistive.transfer(np.zeros(1)), expected, rtol=1e-14)
    np.testing.assert_array_equal(resistive.noise_psd(F), 0)


def test_copper_channel_flattens_its_parts_and_reads_the_same_backwards():
    parts = (PACKAGE, TRACE, Twinax(length=0.5))
    channel = CopperChannel(parts=(Chain(parts[:2]), parts[2]), source_resistance=55.0, load_resistance=45.0)
    assert channel == CopperChannel(parts=parts, source_resistance=55.0, load_resistance=45.0)
    back = CopperChannel(parts=(Chain(parts).flipped,), source_resistance=45.0, load_resistance=55.0)
    # reciprocity: V_load / V_source scales with the load when the ends change roles
    np.testing.assert_allclose(channel.transfer(F) / 45.0, back.transfer(F) / 55.0, atol=1e-13)


def test_pulse_of_a_cable_arrives_after_its_delay_and_carries_the_dc_gain():
    channel = CopperChannel(parts=(Twinax(length=1.0),))
    grid = Grid(symbol_rate=53.125 * GBd, samples_per_symbol=8, n_symbols=1024)
    y, _ = channel.transmit(np.eye(1, 4096)[0], channel.start(grid, None))
    assert 4.2e-9 < np.argmax(y) * grid.dt < 4.5e-9
    # what arrives by then; skin effect brings the rest later
    np.testing.assert_allclose(np.sum(y), channel.transfer(np.zeros(1))[0].real, rtol=0.02)


BAD = [
    (ShuntCapacitor(capacitance=1 * fF), "capacitance", (-1 * fF, 30.0, float("nan"), "1")),
    (SeriesInductor(inductance=1 * pH), "inductance", (-1 * pH, 120.0)),
    (DIE, "capacitances", ((), [120 * fF], (120.0,), (1e-15, 1e-15))),
    (DIE, "inductances", ((), (120.0,), (-1e-12,))),
    (DIE, "bump", (-1e-15, 30.0)),
    (PACKAGE, "die", (TRACE, None)),
    (PACKAGE, "lines", ([LINE_93A], (DIE,), LINE_93A)),
    (PACKAGE, "ball_capacitance", (-1e-15, 87.0)),
    (TRACE, "line", (DIE,)),
    (TRACE, "pads", ((1e-15,), (1e-15,) * 3, (-1e-15, 0.0), 1e-15)),
    (CONNECTOR, "pads", ((1e-15,), (18.0, 18.0))),
    (CONNECTOR, "body", (DIE,)),
    (CONNECTOR, "paddle", (TRACE,)),
    (LINE_93A, "length", (-1.0, 12.0, float("inf"))),
    (LINE_93A, "impedance", (0.0, -78.2)),
    (LINE_93A, "gamma0", (-1.0, 1e4)),
    (LINE_93A, "a1", (-1e-9, 1.7e-3)),
    (LINE_93A, "a2", (-1e-12, 1.4e-4)),
    (LINE_93A, "tau", (-1e-9, 6.141e-3)),
    (Twinax(length=1.0), "length", (-1.0, 1000.0)),
    (Twinax(length=1.0), "gauge", (0, 60)),
    (Twinax(length=1.0), "impedance", (0.0, 1e4)),
    (Twinax(length=1.0), "permittivity", (0.5, 100.0)),
    (Twinax(length=1.0), "loss_tangent", (-1e-4, 0.5)),
    (Twinax(length=1.0), "conductor_factor", (0.9, 10.0)),
    (Twinax(length=1.0), "resistivity", (0.0, 1.7)),
    (Twinax(length=1.0), "temperature", (-300.0, 1000.0)),
    (CopperChannel(parts=(DIE,)), "parts", ((), [DIE], (1,))),
    (CopperChannel(parts=(DIE,)), "source_resistance", (0.0, float("nan"))),
    (CopperChannel(parts=(DIE,)), "load_resistance", (-50.0, 1e6)),
]


@pytest.mark.parametrize(
    ("good", "field", "value"),
    [(good, field, value) for good, field, values in BAD for value in values],
    ids=[f"{type(good).__name__}.{field}-{i}" for good, field, values in BAD for i, _ in enumerate(values)],
)
def test_wrong_values_name_the_field(good, field, value):
    with pytest.raises(ValueError, match=field):
        replace(good, **{field: value})


def test_a_length_in_millimetres_is_recognised():
    with pytest.raises(ValueError, match=r"was 12 mm meant"):
        replace(LINE_93A, length=12)
