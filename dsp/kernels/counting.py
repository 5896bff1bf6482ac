"""Loops that count: errors and eyes."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dsp.kernels.receiver import sample_at


@njit(nogil=True, cache=True, fastmath=True)
def tally(
    z: np.ndarray, decided: np.ndarray, truth: np.ndarray, phase: np.ndarray, levels: np.ndarray, first: int, last: int,
    window: int, carry: np.ndarray, out: np.ndarray, wrong: np.ndarray,
) -> tuple[int, float]:  # fmt: skip
    """Compare decisions with what was sent. Returns windows completed, and the sum of squares of z about the sent levels.

    Squares and ``wrong`` (n,) count from decision ``first`` to ``last`` only. By ``window`` decisions up to ``last`` into
    ``out`` (n, 4): mean square of z about the decided level, mean and rms of ``phase``, share of wrong ones; ``carry`` (6,)
    keeps the open window.
    """
    n_out = 0
    total_square = 0.0
    count, error, total, square, base, bad = carry
    for k in range(z.size):
        counted = first <= k < last
        wrong[k] = counted and decided[k] != truth[k]
        if counted:
            miss = z[k] - levels[truth[k]]
            total_square += miss * miss
        if k < last:
            if count == 0.0:
                base = phase[k]
            miss = z[k] - levels[decided[k]]
            error += miss * miss
            moved = phase[k] - base
            total += moved
            square += moved * moved
            bad += wrong[k]
            count += 1.0
            if count == window:
                mean = total / window
                out[n_out, 0] = error / window
                out[n_out, 1] = base + mean
                out[n_out, 2] = math.sqrt(max(square / window - mean * mean, 0.0))
                out[n_out, 3] = bad / window
                n_out += 1
                count = 0.0
                error = 0.0
                total = 0.0
                square = 0.0
                bad = 0.0
    carry[0] = count
    carry[1] = error
    carry[2] = total
    carry[3] = square
    carry[4] = base
    carry[5] = bad
    return n_out, total_square


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def count_eye(
    counts: np.ndarray, wave: np.ndarray, at: np.ndarray, beyond: np.ndarray, noise: np.ndarray, offsets: np.ndarray,
    table: np.ndarray, tilt: np.ndarray, ffe: np.ndarray, n_pre: int, dfe: np.ndarray, decided: np.ndarray, sent: np.ndarray,
    first: int, last: int, spans: np.ndarray,
) -> None:  # fmt: skip
    """Histograms of the waveform about the sampling instants, before and behind both equalisers, by the symbol sent.

    ``counts`` (3, n_levels, n_phases, n_bins); ``at``, ``beyond``: of the samples; ``noise`` [V] the same for all phases,
    empty for none; ``offsets`` [samples] of the phases. Decision k, level ``decided[k]`` and symbol ``sent[k]``, belongs to
    sample k; those from ``first`` to ``last`` are counted and need all samples their taps reach. Bins are centred from -span
    to span, the outer ones take what lies beyond.
    """
    n_bins = counts.shape[3]
    n_ffe, n_dfe, n_post = ffe.size, dfe.size, ffe.size - 1 - n_pre
    n = last - first
    x = np.empty(n + n_ffe - 1)
    z = np.empty(n)
    begin = first - n_post
    scale = (n_bins - 1) / (2 * spans)
    middle = 0.5 * n_bins
    top = n_bins - 1.0
    raw = np.empty(n, np.int64)
    linear = np.empty(n, np.int64)
    bins = np.empty(n, np.int64)
    near = np.zeros((3, counts.shape[1], n_bins), np.int64)  # small: stays in the nearest cache
    for p in range(offsets.size):
        for k in range(x.size):
            x[k] = sample_at(wave, at[begin + k], beyond[begin + k] + offsets[p], table, tilt)
        if noise.size > 0:
            for k in range(x.size):
                x[k] += noise[begin + k]
        z[:] = 0.0
        for t in range(n_ffe):
            tap = ffe[t]
            window = x[n_ffe - 1 - t : n_ffe - 1 - t + n]
            for k in range(n):
                z[k] += tap * window[k]
        near[:] = 0
        for k in range(n):
            raw[k] = int(min(max(x[n_post + k] * scale[0] + middle, 0.0), top))
            linear[k] = int(min(max(z[k] * scale[1] + middle, 0.0), top))
        for t in range(n_dfe):
            tap = dfe[t]
            before = decided[first - 1 - t : first - 1 - t + n]
            for k in range(n):
                z[k] -= tap * before[k]
        for k in range(n):
            bins[k] = int(min(max(z[k] * scale[2] + middle, 0.0), top))
        for k in range(n):
            level = sent[first + k]
            near[0, level, raw[k]] += 1
            near[1, level, linear[k]] += 1
            near[2, level, bins[k]] += 1
        counts[:, :, p, :] += near
