"""Pulse responses: from a spectrum to samples in time, with the delay kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.grid import Grid

LEAD = 0.125
"""Share of the window that lies before the arrival: room for the pre-cursors of a band-limited pulse."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PulseResponse:
    """What one transmitted symbol of unit value becomes.

    ``samples`` [V], shape (grid.n,), on a window of ``grid.n_symbols`` unit intervals that begins at ``start`` [s] after the
    symbol left the transmitter. The window is periodic: what is longer than it folds back, so its ends show whether it is
    long enough (`tail`).
    """

    samples: np.ndarray
    grid: Grid
    start: float

    def __post_init__(self) -> None:
        check.instance(self, "grid", self.grid, Grid)
        check.finite(self, "start", self.start, "s")
        samples = check.array(self, "samples", self.samples, float)
        if samples.shape != (self.grid.n,):
            raise check.fail(self, "samples", f"of shape ({self.grid.n},), that of the grid", f"shape {samples.shape}")
        object.__setattr__(self, "samples", samples)

    @property
    def t(self) -> np.ndarray:
        """Sample times [s] counted from the start of transmission, shape (grid.n,)."""
        return self.start + self.grid.t

    @property
    def peak(self) -> int:
        """Index of the largest sample by magnitude."""
        return int(np.argmax(np.abs(self.samples)))

    @property
    def polarity(self) -> float:
        """+1 for an upright pulse, -1 for an inverted one."""
        return float(np.sign(self.samples[self.peak])) or 1.0

    @property
    def tail(self) -> float:
        """Largest sample in the last eighth of the window over the peak: near zero when the window is long enough."""
        last = self.samples[-self.grid.n // 8 :]
        largest = float(np.max(np.abs(self.samples)))
        return float(np.max(np.abs(last))) / largest if largest else 0.0

    def phases(self) -> np.ndarray:
        """Samples by phase, shape (samples_per_symbol, n_symbols): row k holds the samples at k/M + n unit intervals."""
        return self.samples.reshape(self.grid.n_symbols, self.grid.samples_per_symbol).T

    def cursors(self, index: int) -> tuple[np.ndarray, int]:
        """Samples one unit interval apart through sample ``index``, and the position of that sample among them."""
        m = self.grid.samples_per_symbol
        return self.samples[index % m :: m], index // m

    def slope(self) -> np.ndarray:
        """Derivative [V per unit interval], shape (grid.n,), exact for the band-limited periodic pulse."""
        spectrum = np.fft.rfft(self.samples)
        k = np.arange(spectrum.size)
        spectrum = spectrum * (2j * np.pi * k / self.grid.n_symbols)
        spectrum[-1] = spectrum[-1].real
        return np.fft.irfft(spectrum, self.grid.n)

    def peak_distortion(self, index: int, n_levels: int) -> float:
        """Worst-case inner eye height [V] at sample ``index``: 2 (|h0|/(L-1) - sum |h_k|); negative when the eye is closed."""
        h, main = self.cursors(index)
        h0 = abs(h[main])
        return float(2 * (h0 / (n_levels - 1) - (np.sum(np.abs(h)) - h0)))


def pulse_response(spectrum: np.ndarray, grid: Grid, delay: float = 0.0) -> PulseResponse:
    """The pulse whose spectrum [V s] is given at ``grid.df`` steps from 0, zero above its last point.

    ``spectrum``: shape (k,), k <= grid.n // 2 + 1. ``delay`` [s] is where the energy arrives; it only places
    the window, an eighth of it before the arrival and a whole number of unit intervals from zero; it takes nothing out.
    """
    start = round((delay - LEAD * grid.duration) * grid.symbol_rate) / grid.symbol_rate
    f = np.arange(spectrum.size) * grid.df
    full = np.zeros(grid.n // 2 + 1, complex)
    full[: spectrum.size] = spectrum * np.exp(2j * np.pi * f * start)
    return PulseResponse(samples=np.fft.irfft(full, grid.n) * grid.sample_rate, grid=grid, start=start)
