"""Symbols to waveform in one step: several symbol streams through their responses, all phases of a unit interval at once.

The transforms of the symbols are shared by all phases, so the cost grows with the phases and not with the samples squared.
Single precision: an error of 1e-6 of the largest sample. The work is done in hops of fixed length, so that blocks leave no
trace.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dsp import check

_HOPS = 4
"""Hops that are transformed together."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Polyphase:
    """Responses ready for use.

    ``spectra`` (n_inputs, m, n_fft // 2 + 1) complex64; ``n_taps``: length of the responses [symbols]; ``lost``: share of the
    energy of each input's response that was cut off to make them that short, (n_inputs,).
    """

    spectra: np.ndarray
    n_fft: int
    n_taps: int
    lost: np.ndarray

    @property
    def hop(self) -> int:
        """Symbols that are processed at a time."""
        return self.n_fft - self.n_taps + 1

    @property
    def m(self) -> int:
        """Samples per symbol."""
        return self.spectra.shape[1]


@dataclass(frozen=True, kw_only=True, eq=False)
class PolyphaseState:
    """Symbols still needed or not yet used, (n_inputs, n), oldest first."""

    waiting: np.ndarray


def support(responses: np.ndarray, relative: float) -> tuple[int, int]:
    """First and last + 1 symbol outside which every response (n_inputs, m, n) holds less than ``relative`` of its energy.

    Half of it on either side. A response of zeros asks for nothing.
    """
    check.between("support", "relative", relative, 0, 0.5)
    energy = np.sum(np.asarray(responses, float) ** 2, axis=1)
    energy = energy[np.any(energy > 0, axis=1)]
    if energy.size == 0:
        return 0, 1
    share = np.cumsum(energy, axis=1) / np.sum(energy, axis=1, keepdims=True)
    first = min(int(np.searchsorted(row, relative / 2, side="right")) for row in share)
    last = max(int(np.searchsorted(row, 1 - relative / 2)) + 1 for row in share)
    return first, min(max(last, first + 1), responses.shape[2])


def prepare(responses: np.ndarray, relative: float = 1e-8) -> tuple[Polyphase, int]:
    """The responses (n_inputs, m, n), one sample a symbol in each of m phases, without tails of ``relative`` energy.

    Also returns how many symbols were cut off in front: outputs come that much earlier.
    """
    from scipy import fft

    responses = np.asarray(responses, float)
    if responses.ndim != 3 or not np.all(np.isfinite(responses)):
        raise check.fail("prepare", "responses", "finite, of three axes", responses.shape)
    first, last = support(responses, relative)
    kept = responses[:, :, first:last]
    total = np.sum(responses**2, axis=(1, 2))
    lost = 1 - np.sum(kept**2, axis=(1, 2)) / np.where(total > 0, total, 1.0)
    n_taps = last - first
    n_fft = min(max(2 ** math.ceil(math.log2(4 * n_taps)), 1024), max(8192, 2 ** math.ceil(math.log2(2 * n_taps))))
    spectra = fft.rfft(kept.astype(np.float32), n_fft, axis=-1, workers=1)
    return Polyphase(spectra=spectra, n_fft=n_fft, n_taps=n_taps, lost=np.where(total > 0, np.maximum(lost, 0.0), 0.0)), first


def start(filters: Polyphase) -> PolyphaseState:
    """Before the first symbol: the past is zero."""
    return PolyphaseState(waiting=np.zeros((filters.spectra.shape[0], filters.n_taps - 1), np.float32))


def step(filters: Polyphase, inputs: tuple[np.ndarray, ...], state: PolyphaseState) -> tuple[np.ndarray, PolyphaseState]:
    """More symbols (n,) for each input; the sum of all responses to them as one waveform (float32), m samples a symbol.

    The waveform comes in whole hops: nothing until enough symbols are there.
    """
    from scipy import fft

    from dsp import kernels

    n_inputs, m, _ = filters.spectra.shape
    if len(inputs) != n_inputs:
        raise check.fail("step", "inputs", f"{n_inputs} streams of symbols", len(inputs))
    past, hop = filters.n_taps - 1, filters.hop
    waiting = state.waiting.shape[1]
    x = np.empty((n_inputs, waiting + inputs[0].size), np.float32)
    x[:, :waiting] = state.waiting
    for row, symbols in zip(x, inputs, strict=True):
        row[waiting:] = symbols
    n_hops = max((x.shape[1] - past) // hop, 0)
    if n_hops == 0:
        return np.zeros(0, np.float32), PolyphaseState(waiting=x)
    windows = np.lib.stride_tricks.sliding_window_view(x, filters.n_fft, axis=1)[:, : n_hops * hop : hop]
    y = np.empty(n_hops * hop * m, np.float32)
    # several hops at a time: the transforms are done four abreast
    for k in range(0, n_hops, _HOPS):
        sent = fft.rfft(windows[:, k : k + _HOPS], axis=-1, workers=1)
        mixed = np.empty((sent.shape[1], *filters.spectra.shape[1:]), np.complex64)
        kernels.mix(sent, filters.spectra, mixed)
        back = fft.irfft(mixed, filters.n_fft, axis=-1, overwrite_x=True, workers=1)
        kernels.weave(back, past, y[k * hop * m :])
    return y, PolyphaseState(waiting=x[:, n_hops * hop :].copy())
