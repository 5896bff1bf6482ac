"""Packages, boards, surfaces, skew and interposers beside printed tables and other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from channels import catalog, materials
from channels.interposer import InterposerChannel, InterposerWires, worst_eye
from channels.lines import Twinax
from channels.pair import Differential, TwinaxPair
from channels.pcb import BoardLine
from dsp.units import Gbps, GHz, db, inch, mil, mm, pJ, ps, um
from experiments.comparison import Comparison

SECTION = "Packages, boards, surfaces"
_DESIGNCON = "DesignCon 2024 proceedings, boards of 14 and 11 mil pitch"
_EYES = "an independent calculation of the same RC line, 40 ohm, 0.25 and 0.30 pF, no termination"
_CLASS = "what data sheets say of the class, +-20 %"
_FIELDS = "Laplace's equation by finite differences, extrapolated, a separate script"
_SKEW = "an independent calculation of two wires of unlike delay"
PACKAGES = (("dj A1", 3.29, 5.98), ("dj A2", 1.54, 2.39), ("dj B1", 5.41, 9.48), ("dj B2", 3.77, 6.86))
BOARDS = (
    ("dj board", 26.56, 0.829), ("dj board", 53.125, 1.262), ("ck board", 13.28, 0.588), ("ck board", 26.56, 0.996),
    ("ck board", 53.125, 1.738), ("25G board", 13.28, 1.08), ("25G board", 26.56, 1.96), ("25G board", 53.125, 3.65),
)  # fmt: skip
LAMINATES = (
    ("FR4", (1.9, 3.6, 6.9)), ("Megtron 6", (0.7, 1.3, 2.6)), ("Megtron 7", (0.50, 0.88, 1.6)),
    ("Megtron 8", (0.42, 0.71, 1.25)), ("Megtron 9 class", (0.35, 0.56, 0.93)),
)  # fmt: skip
ROUGHNESS = (
    ("Hammerstad, Rq 0.4 um", (1.373, 1.598, 1.777, 1.885)), ("Groiss, Rq 0.4 um", (1.549, 1.714, 1.824, 1.895)),
    ("cannonball stack, Rz 1 um", (1.126, 1.239, 1.424, 1.724)), ("cannonball stack, Rz 2 um", (1.414, 1.724, 2.170, 2.775)),
    ("cannonball stack, Rz 5 um", (2.515, 3.239, 4.032, 4.844)),
)  # fmt: skip
ANCHORS = (12.89, 26.56, 53.125, 106.25)
RATES = (6.4, 8, 9.2, 10, 12.8, 16)
INTERPOSERS = (
    (2, 2, 3, (0.94, 0.87, 0.82, 0.81, 0.82, 0.76)), (2, 2, 6, (0.79, 0.74, 0.67, 0.63, 0.53, 0.44)),
    (2, 1, 3, (0.89, 0.81, 0.75, 0.72, 0.65, 0.55)), (2, 1, 6, (0.59, 0.48, 0.40, 0.35, 0.22, 0.12)),
    (1, 1, 3, (0.77, 0.66, 0.58, 0.53, 0.39, 0.26)), (1, 1, 6, (0.26, 0.12, 0.03)),
)  # fmt: skip
STRIP = BoardLine(
    length=1.0, width=6 * mil, spacing=8 * mil, height=14.6 * mil, thickness=0.6 * mil, permittivity=3.5, loss_tangent=0.0
)
TIGHT = replace(STRIP, width=5.6 * mil, spacing=5.6 * mil, height=12.6 * mil, permittivity=3.0)


def comparisons() -> Iterator[Comparison]:
    """All of them."""
    row = partial(Comparison, section=SECTION)
    for name, low, high in PACKAGES:
        for at, value in ((26.56, low), (53.1, high)):
            yield row(
                what=f"package {name}, die to ball, loss at {at:g} GHz", unit="dB", reference=value, allowed=0.0051,
                source=catalog.PACKAGES[name].reference, ours=partial(_package, name, at),
                test="test_channels_catalog::test_package_losses",
            )  # fmt: skip
    for name, at, value in BOARDS:
        yield row(
            what=f"{name} of the standards, loss at {at:g} GHz", unit="dB/inch", reference=value, allowed=0.005,
            source=catalog.LINES[name].reference, ours=partial(_line, name, at),
            test="test_channels_catalog::test_board_loss_per_inch",
        )  # fmt: skip
    for name, losses in LAMINATES:
        for at, value in zip((13.28, 26.56, 53.125), losses, strict=True):
            yield row(
                what=f"{name} stripline, loss at {at:g} GHz", unit="dB/inch", reference=value, allowed=0.06 * value,
                source=_CLASS, ours=partial(_laminate, name, at),
                test="test_channels_catalog::test_laminates_follow_the_estimates_of_their_class",
            )  # fmt: skip
    for pitch, value, allowed in ((14, 0.797, 0.02), (11, 0.886, 0.05)):
        yield row(
            what=f"ultra-low-loss board of {pitch} mil pitch, loss at 53 GHz" + (" (roughness fitted)" if pitch == 14 else ""),
            unit="dB/inch", reference=value, allowed=allowed * value, source=_DESIGNCON,
            ours=partial(_laminate, f"224G {pitch} mil", 53),
            test="test_channels_catalog::test_ultra_low_loss_boards_follow_their_measurement",
        )  # fmt: skip
    for name, line, value in (("stripline", STRIP, 99.96), ("tight stripline", TIGHT, 99.48)):
        yield row(
            what=f"differential impedance of a {name}", unit="ohm", reference=value, allowed=0.01 * value, source=_FIELDS,
            ours=partial(_impedance, line), test="test_channels_pcb::test_coupled_pairs_against_finite_differences",
        )  # fmt: skip
    for model, factors in ROUGHNESS:
        for at, value in zip(ANCHORS, factors, strict=True):
            yield row(
                what=f"roughness factor at {at:g} GHz, {model}", unit="", reference=value, allowed=1e-3 * value,
                source="the model's formula by an independent program", ours=partial(_roughness, model, at),
                test="test_channels_materials::test_roughness_anchors",
            )  # fmt: skip
    for skew, low, high in ((1, 0.03, 0.12), (2, 0.12, 0.49), (3, 0.28, 1.14), (5, 0.78, 3.46)):
        for at, value in ((26.56, low), (53.1, high)):
            yield row(
                what=f"cost of {skew} ps of skew over 1 m at {at:g} GHz", unit="dB", reference=value, allowed=0.0065,
                source=_SKEW, ours=partial(_skew, skew, at), test="test_channels_pair::test_skew_costs_what_is_printed",
            )  # fmt: skip
    for width, thickness, length, eyes in INTERPOSERS:
        for rate, value in zip(RATES, eyes, strict=False):
            yield row(
                what=f"interposer wire {width} x {thickness} um, {length} mm, worst eye at {rate:g} Gb/s", unit="of the swing",
                reference=value, allowed=0.006, source=_EYES, ours=partial(_eye, width, thickness, length, rate),
                test="test_channels_interposer::test_worst_eye_of_the_table",
            )  # fmt: skip
    for swing, short, long in ((0.4, 0.05, 0.075), (0.75, 0.17, 0.26), (1.1, 0.37, 0.57)):
        for length, value in ((3, short), (6, long)):
            yield row(
                what=f"interposer wire, {length} mm, energy at a swing of {swing:g} V", unit="pJ/bit", reference=value,
                allowed=0.005, source=_EYES, ours=partial(_energy, length, swing),
                test="test_channels_interposer::test_energy_of_the_table",
            )  # fmt: skip


def _package(name: str, at: float) -> float:
    return float(-db(catalog.PACKAGES[name].value.tx.s(np.array([at * GHz]), 92.5)[1, 0])[0])


def _line(name: str, at: float) -> float:
    line = replace(catalog.LINES[name].value, length=1 * inch)
    return float(-db(line.s(np.array([at * GHz]), line.impedance)[1, 0])[0])


def _laminate(name: str, at: float) -> float:
    return float(catalog.LAMINATES[name].value.attenuation_db(np.array([at * GHz]))[0] * inch)


def _impedance(line: BoardLine) -> float:
    return line.impedance


def _roughness(model: str, at: float) -> float:
    f = np.array([at * GHz])
    if model.startswith("cannonball"):
        return float(((1 + 1j) * materials.cannonball(f, float(model.split()[-2]) * um)[0]).real)
    return float((materials.hammerstad if model.startswith("Hammerstad") else materials.groiss)(f, 0.4 * um)[0])


def _skew(skew: float, at: float) -> float:
    f, cable = np.array([at * GHz]), Twinax(length=1.0)
    skewed = Differential(pair=TwinaxPair(cable=cable, skews=(skew * ps,)))
    return float((db(cable.s(f, 100.0)[1, 0]) - db(skewed.s(f, 100.0)[1, 0]))[0])


def _wires(width: float, thickness: float, length: float) -> InterposerChannel:
    return InterposerChannel(wires=InterposerWires(length=length * mm, width=width * um, thickness=thickness * um))


def _eye(width: float, thickness: float, length: float, rate: float) -> float:
    return float(worst_eye(_wires(width, thickness, length), rate * Gbps))


def _energy(length: float, swing: float) -> float:
    return float(_wires(2, 1, length).energy_per_bit(swing) / pJ)
