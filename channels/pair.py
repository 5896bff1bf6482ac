"""Both wires of a pair: skew, mode conversion, and the differential view of a four-port.

Ports of a pair: left +, left -, right +, right -, all single-ended, so that pairs cascade with ``@`` and `network.mixed_mode`
needs no port map.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import final

import numpy as np

from channels.lines import Twinax, series_resistance_s, uniform_line_s
from channels.network import MultiPort, mixed_mode, star
from dsp import check
from dsp.units import ps


@final
@dataclass(frozen=True, kw_only=True)
class Pair(MultiPort):
    """Two single-ended two-ports side by side without coupling, as a four-port.

    Each part is one leg to ground. A differential two-port (package, connector, board line, via) is both legs already: as
    ``plus`` and ``minus`` it would come out with twice its impedance. Use `Balanced` for those.
    """

    plus: MultiPort
    minus: MultiPort

    def __post_init__(self) -> None:
        for field in ("plus", "minus"):
            part = getattr(self, field)
            check.instance(self, field, part, MultiPort)
            if part.n_ports != 2:
                raise check.fail(self, field, "a two-port", f"{part.n_ports} ports")

    @property
    def n_ports(self) -> int:
        """Four."""
        return 4

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        return _side_by_side(self.plus.s(f, z0), self.minus.s(f, z0))


@final
@dataclass(frozen=True, kw_only=True)
class Balanced(MultiPort):
    """A differential two-port as a four-port without coupling between its legs, to chain with `TwinaxPair` and files.

    Each leg has half of the part's impedance to ground, S(z0) = S_part(2 z0), so `Differential` of it is the part again. What
    its two legs share is not known from the differential mode: here the common mode travels like the differential one, in a
    quarter of its impedance, and nothing is converted. In a coupled pair its impedance is higher.
    """

    part: MultiPort

    def __post_init__(self) -> None:
        check.instance(self, "part", self.part, MultiPort)
        if self.part.n_ports != 2:
            raise check.fail(self, "part", "a differential two-port", f"{self.part.n_ports} ports")

    @property
    def n_ports(self) -> int:
        """Four."""
        return 4

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        leg = self.part.s(f, 2 * z0)
        return _side_by_side(leg, leg)


@final
@dataclass(frozen=True, kw_only=True)
class Differential(MultiPort):
    """The differential two-port inside a pair, so that a skewed cable fits into a chain of balanced parts.

    Its block Sdd on twice the single-ended reference. Common mode that arises inside leaves at both ends and is lost: to let
    it come back, join the pairs first and take the differential view of the whole.
    """

    pair: MultiPort

    def __post_init__(self) -> None:
        check.instance(self, "pair", self.pair, MultiPort)
        if self.pair.n_ports != 4:
            raise check.fail(self, "pair", "a four-port", f"{self.pair.n_ports} ports")

    @property
    def n_ports(self) -> int:
        """Two."""
        return 2

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        return mixed_mode(self.pair.s(f, z0 / 2)).dd


@final
@dataclass(frozen=True, kw_only=True)
class TwinaxPair(MultiPort):
    """A twinaxial cable as a four-port: the cable of `Twinax`, the skew of its wires, and the coupling between them.

    ``skews`` [s/m] are the extra delay of the + wire over the - wire in segments of equal length, end to end: one value for a
    constant skew, several of changing sign for the random skew of real cable (2 ps/m is nominal, 5 ps/m bad; estimates).
    ``coupling`` k = (Z_even - Z_odd) / (Z_even + Z_odd); Z_odd stays half of the cable's impedance, and both modes have its
    loss tangent and its impedance inside the wires. ``even_delay`` is the delay of the even mode over that of the odd one.

    Without coupling, matched, Sdd21 = S21 cos(pi f tau) and |Scd21| = |S21| sin(pi f tau) for the total skew tau. Coupling
    alone changes that little. Where the even mode has another speed the two modes fall out of step: conversion stops growing
    with length and skew costs less. With several skews conversion depends on the direction; Sdd21 = Sdd12 always.
    """

    cable: Twinax
    skews: tuple[float, ...] = (0.0,)
    coupling: float = 0.0
    even_delay: float = 1.0

    def __post_init__(self) -> None:
        check.instance(self, "cable", self.cable, Twinax)
        check.numbers(self, "skews", self.skews, 1)
        for i, skew in enumerate(self.skews):
            check.between(self, f"skews[{i}]", skew, -100 * ps, 100 * ps, "s/m", f"was {skew} ps/m meant? Write {skew} * ps")
        check.between(self, "coupling", self.coupling, 0, 0.9)
        check.between(self, "even_delay", self.even_delay, 0.5, 2)

    @property
    def n_ports(self) -> int:
        """Four."""
        return 4

    @property
    def skew(self) -> float:
        """Total skew of the uncoupled wires [s]."""
        return float(np.mean(self.skews)) * self.cable.length

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        z, y = self.cable.immittances(f)
        z, y = z / 2, y * 2  # of one wire in the differential mode
        w = 2j * np.pi * f
        if self.coupling == 0 and self.even_delay == 1:
            half = w * (np.mean(self.skews) / 2)
            return _side_by_side(*(uniform_line_s(z, y, self.cable.length, z0, d) for d in (half, -half)))
        # the impedance inside the wires is the same in both modes, what lies outside is scaled
        ratio = (1 + self.coupling) / (1 - self.coupling)
        outside = w * (self.cable.impedance / 2 * self.cable.nominal_delay)
        even, odd = (z + (ratio * self.even_delay - 1) * outside, y * (self.even_delay / ratio)), (z, y)
        z2, y2 = (_toeplitz((e + o) / 2, (e - o) / 2) for e, o in zip(even, odd, strict=True))
        length = self.cable.length / len(self.skews)
        with np.errstate(divide="ignore", invalid="ignore"):
            slowness = np.where(f > 0, w / np.sqrt(z * y), 0)  # [m/s]
        segments = {}
        for skew in set(self.skews):
            # each wire's Z and Y times 1 +- x: its propagation constant changes by j w skew / 2, its impedance does not
            x = slowness * (skew / 2)
            e = np.sqrt(np.stack([1 + x, 1 - x], axis=-1))
            both = e[:, :, None] * e[:, None, :]
            segments[skew] = coupled_line_s(z2 * both, y2 * both, length, z0)
        return functools.reduce(star, (segments[skew] for skew in self.skews))


def coupled_line_s(z: np.ndarray, y: np.ndarray, length: float, z0: float) -> np.ndarray:
    """Scattering matrix, shape (2n, 2n, n_f), of n coupled uniform wires over a common return, left ends first.

    ``z`` [ohm/m] and ``y`` [S/m], shape (n_f, n, n), symmetric; where ``y`` is zero (DC) ``z`` is the resistance. By the
    modes of the voltages, d2V/dx2 = Z Y V (Paul, Analysis of Multiconductor Transmission Lines, ch. 7).
    """
    n = z.shape[-1]
    static = ~np.any(y != 0, axis=(1, 2))
    y = np.where(static[:, None, None], np.eye(n), y)  # any value: replaced below
    squares, t = np.linalg.eig(z @ y)
    gamma = np.sqrt(squares)
    currents = y @ t / gamma[:, None, :] * z0
    p = np.exp((-length) * gamma)
    # from the references into the modes (s21), and how the modes reflect there (r)
    into = np.linalg.inv(t + currents)
    r = -into @ (t - currents)
    out = t @ (r + np.eye(n))
    echo = p[:, :, None] * r * p[:, None, :]
    forward = np.linalg.solve(np.eye(n) - r @ echo, 2 * into)
    reflected = t @ (2 * into) - np.eye(n) + out @ echo @ forward
    through = (out * p[:, None, :]) @ forward
    for i in np.flatnonzero(static):
        # a symmetric resistance matrix between the ends: its modes see it as one series resistor each
        values, vectors = np.linalg.eigh(z[i].real * length)
        s = series_resistance_s(values, z0)
        reflected[i], through[i] = ((vectors * s[k, 0]) @ vectors.T for k in (0, 1))
    total = np.block([[reflected, through], [through, reflected]])
    return np.ascontiguousarray(np.moveaxis(total, 0, -1))


def _toeplitz(own: np.ndarray, mutual: np.ndarray) -> np.ndarray:
    """Matrices of two equal wires, shape (n_f, 2, 2)."""
    return np.stack([own, mutual, mutual, own], axis=-1).reshape(-1, 2, 2)


def _side_by_side(plus: np.ndarray, minus: np.ndarray) -> np.ndarray:
    s = np.zeros((4, 4, plus.shape[-1]), complex)
    s[0::2, 0::2], s[1::2, 1::2] = plus, minus
    return s
