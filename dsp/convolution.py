"""Convolution of an endless waveform with a finite response, block by block; the state is passed, never kept."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# Nanoseconds a multiply-add of the direct sum and a point-times-log2 of one FFT pair cost; only their ratio matters.
_DIRECT_COST = 0.1
_FFT_COST = 1.5
# Below this many taps the direct sum wins at any block length.
_DIRECT_TAPS = 96


@dataclass(frozen=True, kw_only=True, eq=False)
class FirState:
    """A finite response and the past input it still needs.

    ``response`` (n_taps,); ``spectrum`` of it at ``n_fft`` points, None where the direct sum is always used;
    ``history`` (..., n_taps - 1), the last inputs, oldest first.
    """

    response: np.ndarray
    spectrum: np.ndarray | None
    n_fft: int
    history: np.ndarray


def trim_tail(response: np.ndarray, relative: float = 1e-15) -> np.ndarray:
    """``response`` without the last taps that together hold less than ``relative`` of the sum of magnitudes."""
    left_out = np.cumsum(np.abs(response[::-1]))
    n_drop = int(np.searchsorted(left_out, relative * left_out[-1], side="right"))
    return response[: max(1, response.size - n_drop)]


def _best_fft(n_taps: int) -> int:
    """Power of two of least measured cost per output sample: eight responses long, within the size that stays in cache."""
    roomy, least = 8 * n_taps, 2 * n_taps
    size = min(max(roomy, 8192), 65536)
    return 2 ** math.ceil(math.log2(max(size, least)))


def fir_start(response: np.ndarray) -> FirState:
    """State before the first sample: the past is zero. ``response`` (n_taps,) real, in units of output per input sample."""
    from scipy import fft

    taps = np.array(response, float)
    if taps.ndim != 1 or taps.size == 0 or not np.all(np.isfinite(taps)):
        raise ValueError(f"fir_start.response must be a finite array of one axis and one tap or more, got shape {taps.shape}")
    taps.setflags(write=False)
    n_fft = _best_fft(taps.size)
    spectrum = None if taps.size <= _DIRECT_TAPS else fft.rfft(taps, n_fft, workers=1)
    return FirState(response=taps, spectrum=spectrum, n_fft=n_fft, history=np.zeros(taps.size - 1))


def fir_step(x: np.ndarray, state: FirState) -> tuple[np.ndarray, FirState]:
    """Next block: y[n] = sum_k response[k] x[n - k], with x before this block taken from ``state``.

    ``x`` (..., n) real, any n, also 0; leading axes are lanes, the same in every block. y has the shape of x.
    """
    if np.iscomplexobj(x):
        raise ValueError("fir_step.x must be real, got complex samples")
    x = np.asarray(x, float)
    taps, past = state.response, state.response.size - 1
    history = np.broadcast_to(state.history, (*x.shape[:-1], past))
    n = x.shape[-1]
    if past == 0:
        return taps[0] * x, state
    extended = np.concatenate((history, x), axis=-1)
    log_cost = _FFT_COST * state.n_fft * math.log2(state.n_fft)
    if state.spectrum is None or _DIRECT_COST * n * taps.size < log_cost * math.ceil(n / (state.n_fft - past)):
        y = _direct(extended, taps)
    else:
        y = _overlap_save(extended, n, past, state.spectrum, state.n_fft)
    kept = extended[..., n:].copy()
    kept.setflags(write=False)
    return y, FirState(response=taps, spectrum=state.spectrum, n_fft=state.n_fft, history=kept)


def _direct(extended: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """The sum itself, for short blocks or short responses. ``extended`` (..., n + n_taps - 1) -> (..., n)."""
    n = extended.shape[-1] - taps.size + 1
    if n == 0:
        return np.zeros((*extended.shape[:-1], 0))
    if extended.ndim == 1:
        from dsp import kernels

        return kernels.fir(extended, taps)
    y = np.zeros((*extended.shape[:-1], n))
    for k in range(taps.size):
        y += taps[k] * extended[..., taps.size - 1 - k : taps.size - 1 - k + n]
    return y


def _overlap_save(extended: np.ndarray, n: int, past: int, spectrum: np.ndarray, n_fft: int) -> np.ndarray:
    """Circular convolutions of ``n_fft`` points, the first ``past`` discarded (Oppenheim and Schafer, ch. 8.7.3)."""
    from scipy import fft

    y = np.empty((*extended.shape[:-1], n))
    step = n_fft - past
    for begin in range(0, n, step):
        piece = fft.rfft(extended[..., begin : begin + n_fft], n_fft, workers=1)
        piece *= spectrum
        end = min(begin + step, n)
        y[..., begin:end] = fft.irfft(piece, n_fft, overwrite_x=True, workers=1)[..., past : past + end - begin]
    return y
