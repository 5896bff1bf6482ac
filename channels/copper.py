"""Copper parts of a channel and the channel they make: die, package, trace, connector, cable.

Capacitances and inductances are single-ended, as the tables of the standards print them; impedances of lines are differential.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from channels.channel import LinearChannel
from channels.lines import StandardLine, Twinax
from channels.network import Chain, MultiPort, cascade, h21
from dsp import check

__all__ = [
    "Connector", "CopperChannel", "Die", "Package", "SeriesInductor", "ShuntCapacitor", "StandardLine", "Trace", "Twinax",
]  # fmt: skip


def _capacitance(owner: object, field: str, value: float) -> None:
    check.between(owner, field, value, 0, 1e-9, "F", f"was {value} fF meant? Write {value} * fF")


def _inductance(owner: object, field: str, value: float) -> None:
    check.between(owner, field, value, 0, 1e-6, "H", f"was {value} pH meant? Write {value} * pH")


def _ladder(elements: tuple[tuple[float, float], ...], f: np.ndarray, z0: float) -> np.ndarray:
    """Scattering matrix of a lossless ladder; each element is (shunt capacitance, then series inductance), single-ended.

    In a balanced two-port a shunt capacitor from each leg to ground counts half and a series inductor in each leg twice. The
    chain matrix is [[a, jb], [jc, d]] with a, b, c, d real.
    """
    w = 2 * np.pi * f
    a, b, c, d = np.ones_like(w), np.zeros_like(w), np.zeros_like(w), np.ones_like(w)
    for capacitance, inductance in elements:
        if capacitance:
            y = w * (capacitance / 2)
            a, c = a - b * y, c + d * y
        if inductance:
            x = w * (inductance * 2)
            b, d = b + a * x, d - c * x
    s = np.empty((2, 2, w.size), complex)
    inner = z0 / (z0 * (a + d) + 1j * (b + c * z0**2))
    s[0, 0], s[1, 1] = (a - d + 1j * (b / z0 - c * z0)) * inner, (d - a + 1j * (b / z0 - c * z0)) * inner
    s[0, 1] = s[1, 0] = 2 * inner
    return s


@final
@dataclass(frozen=True, kw_only=True)
class ShuntCapacitor(MultiPort):
    """A capacitor from each leg to ground, IEEE 802.3 (93A-8); ``capacitance`` [F] single-ended."""

    capacitance: float

    def __post_init__(self) -> None:
        _capacitance(self, "capacitance", self.capacitance)

    @property
    def n_ports(self) -> int:
        """Two."""
        return 2

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        return _ladder(((self.capacitance, 0.0),), f, z0)


@final
@dataclass(frozen=True, kw_only=True)
class SeriesInductor(MultiPort):
    """An inductor in each leg; ``inductance`` [H] single-ended."""

    inductance: float

    def __post_init__(self) -> None:
        _inductance(self, "inductance", self.inductance)

    @property
    def n_ports(self) -> int:
        """Two."""
        return 2

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        return _ladder(((0.0, self.inductance),), f, z0)


@final
@dataclass(frozen=True, kw_only=True)
class Die(MultiPort):
    """Die and bump as a ladder, circuit side first: C, L for each stage, then the bump capacitance (Annex 178A).

    ``capacitances`` [F] and ``inductances`` [H] have one value per stage, ``bump`` [F]; all single-ended.
    """

    capacitances: tuple[float, ...]
    inductances: tuple[float, ...]
    bump: float = 0.0

    def __post_init__(self) -> None:
        check.numbers(self, "capacitances", self.capacitances, 1)
        check.numbers(self, "inductances", self.inductances, 1)
        check.same_length(self, ("inductances", self.inductances), ("capacitances", self.capacitances))
        for i, (capacitance, inductance) in enumerate(zip(self.capacitances, self.inductances, strict=True)):
            _capacitance(self, f"capacitances[{i}]", capacitance)
            _inductance(self, f"inductances[{i}]", inductance)
        _capacitance(self, "bump", self.bump)

    @property
    def n_ports(self) -> int:
        """Two."""
        return 2

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        return _ladder((*zip(self.capacitances, self.inductances, strict=True), (self.bump, 0.0)), f, z0)


@final
@dataclass(frozen=True, kw_only=True)
class Package(MultiPort):
    """Die, package lines and ball, die side first, IEEE 802.3 (93A-15): a transmitter's; a receiver's is ``package.flipped``.

    ``ball_capacitance`` [F] single-ended.
    """

    die: Die
    lines: tuple[StandardLine, ...]
    ball_capacitance: float = 0.0

    def __post_init__(self) -> None:
        check.instance(self, "die", self.die, Die)
        check.instance(self, "lines", self.lines, tuple)
        for i, line in enumerate(self.lines):
            check.instance(self, f"lines[{i}]", line, StandardLine)
        _capacitance(self, "ball_capacitance", self.ball_capacitance)

    @property
    def n_ports(self) -> int:
        """Two."""
        return 2

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        ball = (ShuntCapacitor(capacitance=self.ball_capacitance),) if self.ball_capacitance else ()
        return cascade((self.die, *self.lines, *ball), f, z0)


@final
@dataclass(frozen=True, kw_only=True)
class Trace(MultiPort):
    """A board trace between two pads, the host side first (the board of "Include PCB" in 802.3ck: C_0, line, C_1).

    ``pads`` [F] are the single-ended capacitances of the near and far end.
    """

    line: StandardLine
    pads: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        check.instance(self, "line", self.line, StandardLine)
        _pads(self, self.pads)

    @property
    def n_ports(self) -> int:
        """Two."""
        return 2

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        return cascade(_between(self.pads, self.line), f, z0)


@final
@dataclass(frozen=True, kw_only=True)
class Connector(MultiPort):
    """A mated cable connector with its paddle card, host side first: pad, body, pad, paddle card; the far end is ``.flipped``.

    ``pads`` [F] single-ended, ``body`` an equivalent lossy line, ``paddle`` the trace to the cable.
    """

    pads: tuple[float, float]
    body: StandardLine
    paddle: StandardLine

    def __post_init__(self) -> None:
        _pads(self, self.pads)
        check.instance(self, "body", self.body, StandardLine)
        check.instance(self, "paddle", self.paddle, StandardLine)

    @property
    def n_ports(self) -> int:
        """Two."""
        return 2

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        return cascade((*_between(self.pads, self.body), self.paddle), f, z0)


def _pads(owner: object, pads: tuple[float, float]) -> None:
    check.numbers(owner, "pads", pads, 2)
    if len(pads) != 2:
        raise check.fail(owner, "pads", "two capacitances", pads)
    for i, pad in enumerate(pads):
        _capacitance(owner, f"pads[{i}]", pad)


def _between(pads: tuple[float, float], line: StandardLine) -> tuple[MultiPort, ...]:
    near, far = ((ShuntCapacitor(capacitance=pad),) if pad else () for pad in pads)
    return (*near, line, *far)


@final
@dataclass(frozen=True, kw_only=True)
class CopperChannel(LinearChannel):
    """A passive channel from circuit to circuit: two-ports in cascade between resistive terminations.

    ``source_resistance`` and ``load_resistance`` [ohm] are the single-ended R_d of transmitter and receiver. The transfer is
    the H21 of IEEE 802.3 (93A-18): a matched line gives 1. Noise is the receiver's business, so there is none here.
    """

    parts: tuple[MultiPort, ...]
    source_resistance: float = 50.0
    load_resistance: float = 50.0

    def __post_init__(self) -> None:
        check.instance(self, "parts", self.parts, tuple)
        check.between(self, "source_resistance", self.source_resistance, 1, 1000, "ohm")
        check.between(self, "load_resistance", self.load_resistance, 1, 1000, "ohm")
        object.__setattr__(self, "parts", Chain(self.parts).parts)
        if self.parts[0].n_ports != 2:
            raise check.fail(self, "parts", "balanced two-ports", f"{self.parts[0].n_ports} ports")

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """H21 (93A-18), complex [V/V], shape of ``f`` [Hz]; f may contain 0."""
        source, load = self.source_resistance, self.load_resistance
        # H21 does not depend on the reference; the source's own makes its reflection zero
        return h21(Chain(self.parts).s(f, 2 * source), 0.0, (load - source) / (load + source))
