"""The time and frequency axes that a waveform lives on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A uniform axis of ``n_symbols`` unit intervals with ``samples_per_symbol`` samples each.

    ``symbol_rate`` [Bd]. Times start at 0; frequencies are those of a real FFT over the whole record.
    """

    symbol_rate: float
    samples_per_symbol: int = 32
    n_symbols: int = 1024

    def __post_init__(self) -> None:
        check.symbol_rate(self, "symbol_rate", self.symbol_rate)
        check.count(
            self, "samples_per_symbol", self.samples_per_symbol, 2, hint="a pulse needs at least 2 samples a unit interval"
        )
        check.count(self, "n_symbols", self.n_symbols, 1)

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.samples_per_symbol * self.n_symbols

    @property
    def sample_rate(self) -> float:
        """Samples per second [Hz]."""
        return self.symbol_rate * self.samples_per_symbol

    @property
    def dt(self) -> float:
        """Time between samples [s]."""
        return 1 / self.sample_rate

    @property
    def df(self) -> float:
        """Step of the frequency axis [Hz]."""
        return self.symbol_rate / self.n_symbols

    @property
    def duration(self) -> float:
        """Length of the record [s]."""
        return self.n_symbols / self.symbol_rate

    @property
    def t(self) -> np.ndarray:
        """Sample times [s], shape (n,)."""
        return np.arange(self.n) / self.sample_rate

    @property
    def f(self) -> np.ndarray:
        """Frequencies [Hz] of the real FFT, shape (n // 2 + 1,)."""
        return np.arange(self.n // 2 + 1) * self.df
