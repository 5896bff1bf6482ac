"""Carrier recovery of a coherent receiver: frequency from the spectrum, then from the fourth power; phase by search; pilots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dsp import check
from dsp.constellation import Constellation

QUARTER = np.pi / 2


def centre_frequency(x: np.ndarray, sample_rate: float) -> float:
    """Centre [Hz] of the spectrum of ``x`` (..., n), as the angle of its first circular moment: white noise does not move it.

    Good to about 50 MHz in 100 000 samples; the range is half the sample rate less half the signal's band.
    """
    moment = np.sum(x[..., 1:] * np.conj(x[..., :-1]))
    return float(np.angle(moment) / (2 * np.pi) * sample_rate)


def fourth_power_frequency(y: np.ndarray, symbol_rate: float, block: int = 4096) -> float:
    """Frequency offset [Hz] of symbols ``y`` (..., n) from the line that their fourth power has at four times it.

    Power spectra of blocks are averaged, so that phase noise widens the line less than the resolution; range: an eighth of the
    symbol rate on either side (M. Selmi et al., ECOC 2009).
    """
    from scipy import fft

    check.count("fourth_power_frequency", "block", block, 16)
    n = y.shape[-1] // block * block
    if n == 0:
        raise ValueError(f"fourth_power_frequency needs {block} symbols, got {y.shape[-1]}")
    pieces = np.reshape(y[..., :n] ** 4, (-1, block)) * np.hanning(block)
    power = np.sum(np.abs(fft.fft(pieces, axis=-1, workers=1)) ** 2, axis=0)
    k = int(np.argmax(power))
    left, here, right = np.log(power[[k - 1, k, (k + 1) % block]])
    place = k + 0.5 * (left - right) / (left - 2 * here + right)
    place -= block * round(place / block)
    return float(place / block * symbol_rate / 4)


def shifted(x: np.ndarray, frequency: float, sample_rate: float) -> np.ndarray:
    """``x`` (..., n) with ``frequency`` [Hz] taken away."""
    return x * np.exp(-2j * np.pi * frequency / sample_rate * np.arange(x.shape[-1]))


@final
@dataclass(frozen=True, kw_only=True)
class BlindPhaseSearch:
    """Phase of each symbol by trial of ``angles`` rotations over a quarter turn, ``half_window`` symbols on either side.

    For square constellations (T. Pfau et al., JLT 27, 2009). The quarter turn itself stays unknown: see `Pilots.quarters`.
    """

    angles: int = 32
    half_window: int = 28

    def __post_init__(self) -> None:
        check.count(self, "angles", self.angles, 4, 1024)
        check.count(self, "half_window", self.half_window, 1, 10_000)

    def phase(self, y: np.ndarray, constellation: Constellation) -> np.ndarray:
        """Phase [rad] of each symbol of ``y`` (rows, n) of unit mean power, same shape, without jumps along the last axis."""
        from dsp import kernels

        n_side = round(np.sqrt(constellation.n))
        if constellation.is_real or n_side**2 != constellation.n:
            raise check.fail(self, "constellation", "square", constellation.n)
        spacing = 2 / (n_side - 1) / np.sqrt(constellation.mean_square)
        out = np.empty(y.shape)
        for row, found in zip(y, out, strict=True):
            re, im = np.ascontiguousarray(row.real), np.ascontiguousarray(row.imag)
            kernels.blind_phase(re, im, n_side, spacing, self.angles, self.half_window, found)
        return out


@dataclass(frozen=True, kw_only=True, eq=False)
class Alignment:
    """Which transmitted polarisation each output carries, its delay [symbols] and how far the peak stands out of the rest."""

    sources: tuple[int, int]
    delays: tuple[int, int]
    contrast: float


@final
@dataclass(frozen=True, kw_only=True)
class Pilots:
    """Known four-point symbols of the mean power, one in every ``period`` symbols, as in 400ZR (OIF-400ZR-01: one in 32).

    ``smoothing``: pilots on either side that a decision on the quarter turn is taken over.
    """

    period: int = 32
    smoothing: int = 6

    def __post_init__(self) -> None:
        check.count(self, "period", self.period, 2, 1024)
        check.count(self, "smoothing", self.smoothing, 1, 1000)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Pilots of both polarisations for ``n`` symbols, (2, ceil(n / period)), of unit power."""
        turns = rng.integers(0, 4, (2, -(-n // self.period)))
        return np.exp(1j * (QUARTER * turns + QUARTER / 2))

    def insert(self, symbols: np.ndarray, pilots: np.ndarray) -> np.ndarray:
        """``symbols`` (2, n) with every ``period``-th, from the first, a pilot."""
        mixed = symbols.copy()
        mixed[:, :: self.period] = pilots
        return mixed

    def align(self, y: np.ndarray, pilots: np.ndarray) -> Alignment:
        """Find the pilots in ``y`` (2, n) by products of neighbouring ones, whatever its phase and frequency offset."""
        from scipy import fft

        step = self.period
        n = y.shape[-1]
        products = pilots[:, 1:] * np.conj(pilots[:, :-1])
        pattern = np.zeros((2, n), complex)
        pattern[:, : (products.shape[1]) * step : step] = products[:, : -(-n // step)]
        seen = np.zeros((2, n), complex)
        seen[:, :-step] = y[:, step:] * np.conj(y[:, :-step])
        transformed, wanted = fft.fft(seen, axis=-1, workers=1), fft.fft(pattern, axis=-1, workers=1)
        size = np.abs(fft.ifft(transformed[:, None] * np.conj(wanted)[None], axis=-1, workers=1))
        peaks = size.max(axis=-1)
        sources = peaks.argmax(axis=1)
        delays = [int(size[i, s].argmax()) for i, s in enumerate(sources)]
        delays = [d if d < n // 2 else d - n for d in delays]
        contrast = float(min(peaks[i, s] / np.sqrt(np.mean(size[i, s] ** 2)) for i, s in enumerate(sources)))
        return Alignment(sources=(int(sources[0]), int(sources[1])), delays=(delays[0], delays[1]), contrast=contrast)

    def quarters(self, y: np.ndarray, pilots: np.ndarray, first: int) -> np.ndarray:
        """Quarter turns by which each symbol of ``y`` (n,) is still ahead, (n,), whole numbers; a change is a cycle slip.

        ``y[first]`` is the first of ``pilots`` (m,). Phase noise must already be removed but for quarter turns.
        """
        places = first + self.period * np.arange(pilots.size)
        products = y[places] * np.conj(pilots)
        window = np.ones(2 * self.smoothing + 1)
        smooth = np.convolve(np.pad(products, self.smoothing, mode="edge"), window, "valid")
        turns = np.round(np.unwrap(np.angle(smooth)) / QUARTER).astype(int)
        middle = (places[1:] + places[:-1]) // 2
        return turns[np.searchsorted(middle, np.arange(y.size), side="right")]


def slips(turns: np.ndarray) -> int:
    """Number of cycle slips in the quarter turns (..., n) of `Pilots.quarters`."""
    return int(np.count_nonzero(np.diff(turns, axis=-1)))


def whitened(x: np.ndarray) -> np.ndarray:
    """``x`` (rows, n), real and imaginary part made orthogonal and equally strong with the least change (P.-O. Loewdin).

    Undoes the amplitude and angle error of a 90 degree hybrid; offsets are removed.
    """
    out = np.empty(x.shape, complex)
    for row, result in zip(x, out, strict=True):
        parts = np.stack((row.real, row.imag))
        parts = parts - parts.mean(axis=1, keepdims=True)
        cross = np.mean(parts[0] * parts[1])
        values, vectors = np.linalg.eigh(np.array([[np.mean(parts[0] ** 2), cross], [cross, np.mean(parts[1] ** 2)]]))
        scale = np.sqrt(values.mean() / values)
        change = (vectors * scale) @ vectors.T
        result[:] = (change[0, 0] + 1j * change[1, 0]) * parts[0] + (change[0, 1] + 1j * change[1, 1]) * parts[1]
    return out
