"""What a symbol can be: points and bit labels, level mismatch, Gray mapping and 1/(1+D) precoding.

A symbol travels through the library as its index (0 is the lowest level); `Constellation.array` turns indices into amplitudes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Complex, Real

import numpy as np

from dsp import check


@dataclass(frozen=True, kw_only=True)
class Constellation:
    """A set of equally likely points and the bits that each stands for.

    ``points``: real points in rising order (outer levels at +-1 by convention), or complex points. ``labels[i]``: the bits of
    point ``i`` as a whole number, first transmitted bit most significant; distinct, below ``2**label_bits``.
    """

    points: tuple[float, ...] | tuple[complex, ...]
    labels: tuple[int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.points, tuple) or len(self.points) < 2:
            raise check.fail(self, "points", "a tuple of 2 or more numbers", self.points)
        for i, point in enumerate(self.points):
            if not isinstance(point, Complex) or isinstance(point, bool) or not np.isfinite(complex(point)):
                raise check.fail(self, f"points[{i}]", "a finite number", point)
        if len(set(self.points)) < len(self.points):
            raise check.fail(self, "points", "distinct", self.points)
        if self.is_real and list(self.points) != sorted(self.points):  # type: ignore[type-var]
            raise check.fail(self, "points", "in rising order", self.points)
        if not isinstance(self.labels, tuple):
            raise check.fail(self, "labels", "a tuple of whole numbers", self.labels)
        check.same_length(self, ("labels", self.labels), ("points", self.points))
        for i, label in enumerate(self.labels):
            check.count(self, f"labels[{i}]", label, 0, 2**self.label_bits - 1)
        if len(set(self.labels)) < len(self.labels):
            raise check.fail(self, "labels", "distinct", self.labels)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.points)

    @property
    def is_real(self) -> bool:
        """True for amplitude modulation: every point is a real number."""
        return all(isinstance(p, Real) for p in self.points)

    @property
    def bits_per_symbol(self) -> float:
        """Information of one symbol, log2 n [bit]; not a whole number for PAM6."""
        return math.log2(self.n)

    @property
    def label_bits(self) -> int:
        """Bits that a label needs: `bits_per_symbol` rounded up."""
        return (self.n - 1).bit_length()

    @cached_property
    def array(self) -> np.ndarray:
        """The points, shape (n,), float or complex; read-only."""
        points = np.array(self.points, float if self.is_real else complex)
        points.setflags(write=False)
        return points

    @cached_property
    def mean_square(self) -> float:
        """Mean square of the points about zero: 1 for NRZ, 5/9 for PAM4 (93A-29), 10/9 for 16QAM."""
        return float(np.mean(np.abs(self.array) ** 2))

    @property
    def thresholds(self) -> np.ndarray:
        """Decision thresholds half way between neighbouring levels, shape (n - 1,). Real points only."""
        if not self.is_real:
            raise check.fail(self, "points", "real to have thresholds", self.points)
        levels = self.array
        return (levels[1:] + levels[:-1]) / 2

    @property
    def bit_distance(self) -> np.ndarray:
        """Number of bits in which two labels differ, shape (n, n), whole numbers."""
        bits = self._label_table()
        return np.sum(bits[:, None, :] != bits[None, :, :], axis=-1)

    def _label_table(self) -> np.ndarray:
        """The labels as bits, shape (n, label_bits), most significant first."""
        shifts = np.arange(self.label_bits)[::-1]
        return ((np.array(self.labels)[:, None] >> shifts) & 1).astype(np.uint8)

    def _whole_bits(self) -> int:
        if self.n != 2**self.label_bits:
            raise check.fail(
                self, "points", "a power of two in number to carry bits one symbol at a time", self.n, "use random_symbols"
            )
        return self.label_bits

    def map_bits(self, bits: np.ndarray) -> np.ndarray:
        """Symbol indices of ``bits`` (0 or 1), shape (..., n_symbols * label_bits) -> (..., n_symbols)."""
        width = self._whole_bits()
        bits = np.asarray(bits)
        if bits.shape[-1] % width:
            raise check.fail("map_bits", "bits", f"a multiple of {width} in length", bits.shape[-1])
        words = bits.reshape(*bits.shape[:-1], -1, width).astype(np.intp) @ (1 << np.arange(width)[::-1])
        index_of = np.empty(self.n, np.intp)
        index_of[list(self.labels)] = np.arange(self.n)
        return index_of[words]

    def bits_of(self, indices: np.ndarray) -> np.ndarray:
        """Bits of symbol ``indices``, shape (..., n_symbols) -> (..., n_symbols * label_bits); the inverse of `map_bits`."""
        width = self._whole_bits()
        indices = np.asarray(indices)
        return self._label_table()[indices].reshape(*indices.shape[:-1], indices.shape[-1] * width)


def _gray(n: int) -> tuple[int, ...]:
    """The first ``n`` words of the binary reflected Gray code."""
    return tuple(i ^ (i >> 1) for i in range(n))


def pam(n: int, level_mismatch: float = 1.0) -> Constellation:
    """Pulse-amplitude modulation with ``n`` levels from -1 to 1 and Gray labels.

    ``level_mismatch``: R_LM of IEEE 802.3 120D.3.1.2, smallest level spacing over the even one. The outer levels stay, every
    inner level is multiplied by R_LM: +-R_LM/3 for PAM4; for any other ``n`` this is the library's own extension. NRZ has no
    inner level, so R_LM must be 1; that of PAM3 is 0 and stays.

    >>> [round(point, 3) for point in pam(4).points]
    [-1.0, -0.333, 0.333, 1.0]
    """
    check.count("pam", "n", n, 2)
    check.positive("pam", "level_mismatch", level_mismatch)
    if level_mismatch > 1 or (n == 2 and level_mismatch != 1):
        raise check.fail("pam", "level_mismatch", "1 for two levels" if n == 2 else "1 or less", level_mismatch)
    inner = tuple(float(level_mismatch) * (2 * i - (n - 1)) / (n - 1) for i in range(1, n - 1))
    return Constellation(points=(-1.0, *inner, 1.0), labels=_gray(n))


def qam(n: int) -> Constellation:
    """Square quadrature-amplitude modulation: two Gray-labelled PAMs, each from -1 to 1, so the corners are at +-1 +-1j.

    The first half of a label's bits is the real part. Index = real index * sqrt(n) + imaginary index.
    """
    check.count("qam", "n", n, 4)
    side = math.isqrt(n)
    if side * side != n or side & (side - 1):
        raise check.fail("qam", "n", "4, 16, 64, 256 ...", n)
    axis = pam(side)
    points = tuple(complex(re, im) for re in axis.points for im in axis.points)
    labels = tuple(re << axis.label_bits | im for re in axis.labels for im in axis.labels)
    return Constellation(points=points, labels=labels)


_NAMED = {"NRZ": (pam, 2), "PAM4": (pam, 4), "PAM6": (pam, 6), "PAM8": (pam, 8), "QPSK": (qam, 4), "16QAM": (qam, 16)}


def named(name: str) -> Constellation:
    """The constellation called ``name``: NRZ, PAM4, PAM6, PAM8, QPSK or 16QAM."""
    check.one_of("named", "name", name, _NAMED)
    make, n = _NAMED[name]
    return make(n)


def precode(symbols: np.ndarray, n_levels: int, previous: int = 0) -> np.ndarray:
    """1/(1+D) mod L precoding: P[j] = (G[j] - P[j-1]) mod L (IEEE 802.3 120.5.7.2). ``previous`` is P[-1]."""
    check.count("precode", "n_levels", n_levels, 2)
    check.count("precode", "previous", previous, 0, n_levels - 1)
    symbols = np.asarray(symbols, np.intp)
    # With alternating signs the recurrence is a running sum: (-1)^j P[j] = (-1)^j G[j] + (-1)^(j-1) P[j-1].
    sign = 1 - 2 * (np.arange(symbols.shape[-1]) & 1)
    return sign * (np.cumsum(sign * symbols, axis=-1) - previous) % n_levels


def decode_precoded(symbols: np.ndarray, n_levels: int, previous: int = 0) -> np.ndarray:
    """(1+D) mod L, undoing `precode`: G[j] = (P[j] + P[j-1]) mod L. ``previous`` is P[-1]."""
    check.count("decode_precoded", "n_levels", n_levels, 2)
    check.count("decode_precoded", "previous", previous, 0, n_levels - 1)
    symbols = np.asarray(symbols, np.intp)
    before = np.concatenate([np.full_like(symbols[..., :1], previous), symbols[..., :-1]], axis=-1)
    return (symbols + before) % n_levels
