"""The 2x2 equaliser of a coherent receiver: blind start, then rings, then the least squares of decisions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from dsp import check
from dsp.constellation import Constellation


@dataclass(frozen=True, kw_only=True, eq=False)
class Equalized:
    """``symbols`` (2, n) of unit mean power, and the ``taps`` [output, input, tap] that made them, (2, 2, n_taps)."""

    symbols: np.ndarray
    taps: np.ndarray

    @property
    def likeness(self) -> float:
        """Magnitude of the correlation between the two outputs' taps at the best shift: 1 means they carry the same signal."""
        a, b = self.taps
        cross = sum(np.correlate(a[j], b[j], "full") for j in range(2))
        return float(np.max(np.abs(cross)) / np.sqrt(np.sum(np.abs(a) ** 2) * np.sum(np.abs(b) ** 2)))


@final
@dataclass(frozen=True, kw_only=True)
class Butterfly:
    """Adaptive 2x2 equaliser of ``n_taps`` (odd) taps half a symbol apart.

    Unless it is given taps to start from, the first output starts alone by the constant-modulus algorithm over ``start`` symbols with ``start_step``; the second
    starts orthogonal to it, which keeps both from the same signal (L. Liu et al., OFC 2009, OMT2); then both on the rings of
    the constellation with ``step`` (M. J. Ready and R. P. Gooch, ICASSP 1990) over the record, ``passes`` times. Least squares
    (`refine`) are solved anew for every ``block`` symbols, which follows a fibre that turns.
    """

    n_taps: int = 21
    start: int = 16384
    start_step: float = 1e-3
    step: float = 4e-4
    passes: int = 1
    block: int = 65536

    def __post_init__(self) -> None:
        check.count(self, "n_taps", self.n_taps, 3, 255)
        if self.n_taps % 2 == 0:
            raise check.fail(self, "n_taps", "odd", self.n_taps)
        check.count(self, "start", self.start, 256)
        check.between(self, "start_step", self.start_step, 1e-6, 0.1)
        check.between(self, "step", self.step, 1e-6, 0.1)
        check.count(self, "passes", self.passes, 1, 20)
        check.count(self, "block", self.block, 1024)

    def equalize(self, x: np.ndarray, constellation: Constellation, taps: np.ndarray | None = None) -> Equalized:
        """Adapt to ``x`` (2, 2 n), two samples a symbol, and return n symbols of each output of the last pass.

        ``taps`` (2, 2, n_taps): where to start, in place of the blind start. ``ValueError``: fewer symbols than 8 times the
        equaliser's length.
        """
        from dsp import kernels

        n = x.shape[-1] // 2
        if n < 8 * self.n_taps:
            raise ValueError(f"Butterfly needs {8 * self.n_taps} symbols for its {self.n_taps} taps, got {n}")
        rings, modulus = radii(constellation)
        xr, xi = self._padded(x)
        y = np.empty((2, n), complex)
        if taps is None:
            wr, wi = np.zeros((2, 2, 2, self.n_taps))
            wr[0, 0, self.n_taps // 2] = wr[1, 1, self.n_taps // 2] = 1.0
            first = np.empty((2, min(self.start, n)), complex)
            kernels.butterfly(xr, xi, wr, wi, modulus, 2 * self.start_step, 1, first)
            self._make_orthogonal(wr, wi)
            kernels.butterfly(xr, xi, wr, wi, modulus, self.start_step, 2, first)
        else:
            wr, wi = taps.real.copy(), taps.imag.copy()
        for _ in range(self.passes):
            kernels.butterfly(xr, xi, wr, wi, rings, self.step, 2, y)
        return Equalized(symbols=y, taps=wr + 1j * wi)

    def apply(self, x: np.ndarray, taps: np.ndarray) -> np.ndarray:
        """Symbols (2, n) of ``x`` (2, 2 n) with fixed ``taps`` (2, 2, n_taps)."""
        return _fixed(*self._padded(x), taps, x.shape[-1] // 2)

    def refine(self, x: np.ndarray, wanted: np.ndarray, every: int = 8, ridge: float = 1e-6) -> Equalized:
        """Least mean square error against ``wanted`` (2, n), block by block, from every ``every``-th symbol; the last taps.

        ``ridge``: of the power of ``x``, added to every frequency, those of the signal and those without any.
        """
        from scipy import linalg

        from dsp import kernels

        xr, xi = self._padded(x)
        n, size = wanted.shape[-1], 2 * self.n_taps
        symbols, taps = np.empty((2, n), complex), np.empty((2, 2, self.n_taps), complex)
        edges = np.linspace(0, n, -(-n // self.block) + 1).astype(int)
        for a, b in pairwise(edges):
            seen = slice(2 * a, 2 * b + self.n_taps - 1)
            re, im = np.ascontiguousarray(xr[:, seen]), np.ascontiguousarray(xi[:, seen])
            gram, cross = np.zeros((size, size), complex), np.zeros((2, size), complex)
            kernels.normal_equations(re, im, np.ascontiguousarray(wanted[:, a:b], complex), self.n_taps, every, gram, cross)
            gram[np.diag_indices(size)] += ridge * np.trace(gram).real / size
            taps = linalg.solve(gram.T, cross.T, assume_a="pos").T.reshape(2, 2, self.n_taps)
            symbols[:, a:b] = _fixed(re, im, taps, b - a)
        return Equalized(symbols=symbols, taps=taps)

    def _padded(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        half = self.n_taps // 2
        padded = np.pad(np.asarray(x, complex), ((0, 0), (half, half)))
        return np.ascontiguousarray(padded.real), np.ascontiguousarray(padded.imag)

    @staticmethod
    def _make_orthogonal(wr: np.ndarray, wi: np.ndarray) -> None:
        """The second output as the lossless partner of the first: (a, b) -> (-conj reversed b, conj reversed a)."""
        wr[1, 0], wi[1, 0] = -wr[0, 1, ::-1], wi[0, 1, ::-1]
        wr[1, 1], wi[1, 1] = wr[0, 0, ::-1], -wi[0, 0, ::-1]


def _fixed(re: np.ndarray, im: np.ndarray, taps: np.ndarray, n: int) -> np.ndarray:
    """The ``n`` symbols of a padded waveform with taps that stay."""
    from dsp import kernels

    y = np.empty((2, n), complex)
    kernels.butterfly(re, im, taps.real.copy(), taps.imag.copy(), np.ones(1), 0.0, 0, y)
    return y


def radii(constellation: Constellation) -> tuple[np.ndarray, np.ndarray]:
    """Squared radii of a constellation of unit mean power, rising, and the one of the constant-modulus algorithm, E|a|^4.

    Each shape (n,); D. N. Godard, IEEE Transactions on Communications 28, 1980.
    """
    squares = np.abs(constellation.array) ** 2 / constellation.mean_square
    return np.unique(np.round(squares, 12)), np.array([np.mean(squares**2)])
