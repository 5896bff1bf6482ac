"""Known symbols at the head of a record: found on the waveform of two mixed polarisations, they start the 2x2 equaliser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dsp import check
from dsp.butterfly import Butterfly

_RIDGE = 3e-3
"""Keeps the taps small where the signal has no power: what they do there would outlast the training."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Header:
    """Where known symbols begin [samples], how far their peak stands out, and the frequency that is left [cycles a symbol]."""

    at: int
    contrast: float
    frequency: float


@final
@dataclass(frozen=True, kw_only=True)
class Training:
    """``n_symbols`` known four-point symbols in each polarisation, sent before everything else."""

    n_symbols: int = 1024

    def __post_init__(self) -> None:
        check.count(self, "n_symbols", self.n_symbols, 128, 65536)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """The symbols of both polarisations, (2, n_symbols), of unit power."""
        return np.exp(1j * (np.pi / 2 * rng.integers(0, 4, (2, self.n_symbols)) + np.pi / 4))

    def locate(self, x: np.ndarray, header: np.ndarray) -> Header:
        """Find ``header`` (2, n) in ``x`` (2, 2 m), two samples a symbol, whatever rotation, phase and frequency offset.

        Products of neighbouring symbols, summed over both inputs, hold those of both polarisations with equal weight.
        """
        from scipy import fft

        products = np.sum(x[:, 2:] * np.conj(x[:, :-2]), axis=0)
        known = np.sum(header[:, 1:] * np.conj(header[:, :-1]), axis=0)
        pattern = np.zeros(products.size, complex)
        pattern[: 2 * known.size : 2] = known
        both = fft.ifft(fft.fft(products, workers=1) * np.conj(fft.fft(pattern, workers=1)), workers=1)
        size = np.abs(both)
        at = int(size[: x.shape[-1] - 2 * header.shape[-1] + 1].argmax())
        contrast = float(size[at] / np.sqrt(np.mean(size**2)))
        frequency = float(np.angle(both[at])) / (2 * np.pi)
        seen = x[:, at : at + 2 * header.shape[-1] : 2]
        # Products of symbols further apart are finer, and a multiple of turns is known from those before.
        for apart in (16, header.shape[-1] // 4):
            known = np.sum(header[:, apart:] * np.conj(header[:, :-apart]), axis=0)
            turn = float(np.angle(np.vdot(known, np.sum(seen[:, apart:] * np.conj(seen[:, :-apart]), axis=0)))) / (2 * np.pi)
            frequency = (turn + round(frequency * apart - turn)) / apart
        return Header(at=at, contrast=contrast, frequency=frequency)

    def taps(self, x: np.ndarray, header: np.ndarray, found: Header, butterfly: Butterfly) -> np.ndarray:
        """Taps (2, 2, n_taps) of least mean square error for ``header`` in ``x``: output i carries polarisation i.

        The few symbols at its ends whose neighbours are cut off are taken as they are.
        """
        begin = found.at - found.at % 2
        piece = x[:, begin : begin + 2 * header.shape[-1]]
        turned = piece * np.exp(-1j * np.pi * found.frequency * np.arange(piece.shape[-1]))
        return butterfly.refine(turned, header, 1, _RIDGE).taps
