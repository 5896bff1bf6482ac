"""Long complex filters by overlap-save, plain or 2x2, and the equaliser of chromatic dispersion made of one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from dsp import check


@dataclass(frozen=True, kw_only=True, eq=False)
class OverlapState:
    """A response and the past input it still needs.

    ``spectrum``: at ``n_fft`` points, shape (n_fft,), or (2, 2, n_fft) between polarisations, output first. ``history``
    (..., n_taps - 1): the last inputs, oldest first.
    """

    spectrum: np.ndarray
    n_fft: int
    history: np.ndarray


def overlap_start(response: np.ndarray, rows: tuple[int, ...] = (2,)) -> OverlapState:
    """State before the first sample. ``response`` (n_taps,), or (2, 2, n_taps); ``rows``: leading axes of the input."""
    from scipy import fft

    n_taps = response.shape[-1]
    n_fft = best_fft(n_taps)
    history = np.zeros((*rows, n_taps - 1), complex)
    return OverlapState(spectrum=fft.fft(response, n_fft, axis=-1, workers=1), n_fft=n_fft, history=history)


def overlap_step(x: np.ndarray, state: OverlapState) -> tuple[np.ndarray, OverlapState]:
    """Next block: complex ``x`` (..., n) -> output of the same shape, and the state for the block after it."""
    from scipy import fft

    past, n = state.history.shape[-1], x.shape[-1]
    extended = np.concatenate((state.history, x), axis=-1)
    y = np.empty(x.shape, complex)
    step = state.n_fft - past
    for begin in range(0, n, step):
        piece = fft.fft(extended[..., begin : begin + state.n_fft], state.n_fft, axis=-1, workers=1)
        if state.spectrum.ndim == 1:
            piece *= state.spectrum
        else:
            h = state.spectrum
            piece = np.stack((h[0, 0] * piece[0] + h[0, 1] * piece[1], h[1, 0] * piece[0] + h[1, 1] * piece[1]))
        end = min(begin + step, n)
        y[..., begin:end] = fft.ifft(piece, axis=-1, overwrite_x=True, workers=1)[..., past : past + end - begin]
    return y, OverlapState(spectrum=state.spectrum, n_fft=state.n_fft, history=extended[..., n:].copy())


def best_fft(n_taps: int) -> int:
    """Power of two, 1024 or more, at which overlap-save of ``n_taps`` needs the fewest operations an output sample."""
    check.count("best_fft", "n_taps", n_taps, 1)
    low = math.ceil(math.log2(2 * n_taps))
    return min((2**k for k in range(max(10, low), max(10, low) + 6)), key=lambda n: n * math.log2(n) / (n - n_taps + 1))


@final
@dataclass(frozen=True, kw_only=True)
class DispersionEqualizer:
    """Undoes accumulated dispersion in a fixed filter. ``beta2`` [s^2], ``beta3`` [s^3]: of the whole way.

    It also is the matched filter of a root-raised cosine of ``roll_off``, None for none.
    """

    beta2: float
    beta3: float = 0.0
    roll_off: float | None = None

    def __post_init__(self) -> None:
        check.between(self, "beta2", self.beta2, -1e-18, 1e-18, "s^2", hint="80 km of 17 ps/nm/km have -1.7e-21 s^2")
        check.between(self, "beta3", self.beta3, -1e-30, 1e-30, "s^3")
        if self.roll_off is not None:
            check.between(self, "roll_off", self.roll_off, 0.01, 1)

    def spread(self, symbol_rate: float) -> float:
        """Time between the earliest and the latest component of the signal [s]."""
        band = symbol_rate * (1 + (self.roll_off if self.roll_off is not None else 1))
        return 2 * np.pi * abs(self.beta2) * band + abs(self.beta3) * (np.pi * band) ** 2

    def n_taps(self, symbol_rate: float, sample_rate: float) -> int:
        """Length of the filter, odd: the spread of the dispersion and 64 symbols for the shape of its band."""
        return 2 * math.ceil((self.spread(symbol_rate) / 2 + 32 / symbol_rate) * sample_rate) + 1

    def response(self, symbol_rate: float, sample_rate: float) -> np.ndarray:
        """The filter's impulse response, shape (n_taps,), its centre in the middle."""
        from scipy import fft

        n_taps = self.n_taps(symbol_rate, sample_rate)
        n = 2 ** math.ceil(math.log2(4 * n_taps))
        f = fft.fftfreq(n, 1 / sample_rate)
        w = 2 * np.pi * f
        shape = band_limit(f, symbol_rate) if self.roll_off is None else root_raised_cosine(f, symbol_rate, self.roll_off)
        whole = fft.ifft(shape * np.exp(1j * (self.beta2 * w**2 / 2 + self.beta3 * w**3 / 6)), workers=1)
        return np.roll(whole, n_taps // 2)[:n_taps]

    def apply(self, x: np.ndarray, symbol_rate: float, sample_rate: float) -> np.ndarray:
        """Equalised ``x`` (..., n), complex, of the same shape and without delay; zeros lie before and after ``x``."""
        taps = self.response(symbol_rate, sample_rate)
        half = taps.size // 2
        padded = np.concatenate((x, np.zeros((*x.shape[:-1], half))), axis=-1)
        return overlap_step(padded, overlap_start(taps, x.shape[:-1]))[0][..., half:]


def root_raised_cosine(f: np.ndarray, symbol_rate: float, roll_off: float) -> np.ndarray:
    """Root-raised-cosine spectrum, 1 in the middle of its band, shape of ``f`` [Hz] (J. G. Proakis, Digital Communications)."""
    check.between("root_raised_cosine", "roll_off", roll_off, 0.01, 1)
    place = (np.abs(np.asarray(f, float)) / symbol_rate - (1 - roll_off) / 2) / roll_off
    return np.cos(np.pi / 2 * np.clip(place, 0, 1))


def band_limit(f: np.ndarray, symbol_rate: float) -> np.ndarray:
    """1 up to the symbol rate on either side of 0, falling to 0 at 1.2 times it; shape of ``f`` [Hz]."""
    return np.cos(np.pi / 2 * np.clip((np.abs(np.asarray(f, float)) / symbol_rate - 1) / 0.2, 0, 1))
