"""Symbol timing of a dual-polarisation signal from its clock tone, blind to polarisation and its mode dispersion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dsp import check

_SHORT = 512
"""Symbols of a piece from which the drift is told first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Timing:
    """``delay`` [symbols] of each block's timing behind the first, without jumps, at the symbols ``at``; ``ppm`` its slope.

    ``contrast``: strength of the clock tone over what noise alone makes; near 1 there is no clock.
    """

    at: np.ndarray
    delay: np.ndarray
    ppm: float
    contrast: float


@final
@dataclass(frozen=True, kw_only=True)
class ToneTiming:
    """Timing from the products X_i(f) X_j*(f - symbol rate) of the spectra of blocks of ``block`` symbols.

    As D. N. Godard (IEEE Transactions on Communications 26, 1978), for both polarisations at once: the determinant of the 2x2
    matrix of tones has the mean phase of the principal states, whatever the rotation and even where their delays cancel a
    single tone. That product turns by a whole turn in half a symbol of delay, so blocks alone tell drifts up to 0.25 / ``block``
    apart; pieces of 512 symbols first find the drift to be taken away, up to 488 ppm.
    """

    block: int = 2048

    def __post_init__(self) -> None:
        check.count(self, "block", self.block, 64, 65536)

    def measure(self, x: np.ndarray) -> Timing:
        """Timing of ``x`` (2, 2 n), two samples a symbol. ``ValueError``: fewer than two blocks."""
        if x.shape[-1] < 4 * self.block:
            raise ValueError(f"ToneTiming needs {2 * self.block} symbols, got {x.shape[-1] // 2}")
        tones, noise = _tones(x, self.block)
        count = tones.shape[0]
        short = min(self.block, _SHORT)
        pieces = np.linalg.det(_tones(x, short)[0])
        turning = np.angle(np.vdot(pieces[:-1], pieces[1:])) / short * self.block * np.arange(count)
        angle = turning + np.unwrap(np.angle(np.linalg.det(tones) * np.exp(-1j * turning)))
        delay = -(angle - angle[0]) / (4 * np.pi)
        at = self.block * (np.arange(count) + 0.5)
        slope = float(np.polyfit(at, delay, 1)[0])
        contrast = float(np.sqrt(np.mean(np.sum(np.abs(tones) ** 2, axis=(1, 2))) / np.mean(np.sum(noise, axis=(1, 2)))))
        return Timing(at=at, delay=delay, ppm=1e6 * slope, contrast=contrast)

    def correct(self, x: np.ndarray, timing: Timing) -> np.ndarray:
        """``x`` (2, n) sampled anew along the line through the delays; as it is where they span less than 0.02 symbols."""
        drift = timing.ppm * 1e-6
        if abs(drift) * x.shape[-1] / 2 < 0.02:
            return x
        return resampled(x, np.arange(x.shape[-1]) * (1 + drift))


def _tones(x: np.ndarray, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Clock tones of each pair of rows, (blocks, 2, 2), and what noise makes of them (squares)."""
    from scipy import fft

    count = x.shape[-1] // (2 * block)
    spectrum = fft.fft(x[:, : 2 * block * count].reshape(2, count, 2 * block), axis=-1, workers=1)
    upper, lower = spectrum[..., :block], spectrum[..., block:]
    tones = np.einsum("ibk,jbk->bij", upper, np.conj(lower))
    return tones, np.einsum("ibk,jbk->bij", np.abs(upper) ** 2, np.abs(lower) ** 2)


def resampled(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """``x`` (rows, n) at the places ``at`` (m,) [samples], by a windowed sinc of 16 samples; beyond its ends ``x`` is 0."""
    reach = 8
    first = np.floor(at).astype(int)
    part = at - first
    padded = np.pad(x, ((0, 0), (reach, reach + 1)))
    n = x.shape[-1]
    y = np.zeros((x.shape[0], at.size), complex)
    base = np.clip(first, -reach, n) + reach
    for k in range(1 - reach, reach + 1):
        away = k - part
        weight = np.sinc(away) * np.cos(np.pi / 2 * np.clip(away / reach, -1, 1)) ** 2
        y += weight * padded[:, np.clip(base + k, 0, padded.shape[1] - 1)]
    return y
