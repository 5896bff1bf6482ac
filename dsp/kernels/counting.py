"""Loops that count: errors and eyes."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


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
def refine(wave: np.ndarray, start: int, m: int, taps: np.ndarray, base: np.ndarray, out: np.ndarray) -> None:
    """``wave`` on a finer grid: value c * n_fine + r of ``out`` is sum_t taps[r, t] wave[start + m c + base[r] + t].

    ``m`` samples become n_fine = ``base.size`` values; ``taps`` (n_fine, 8). Samples outside the wave are zero.
    """
    n_fine = base.size
    n = out.size // n_fine
    width = 8 // m + 2
    rows = np.zeros((m, 256 + width), np.float32)
    one = np.empty(256, np.float32)
    for begin in range(0, n, 256):
        size = min(256, n - begin)
        for g in range(m):
            for c in range(size + width):
                at = start + (begin + c) * m + g
                rows[g, c] = wave[at] if 0 <= at < wave.size else 0.0
        for r in range(n_fine):
            i = base[r]
            c0, c1, c2, c3, c4, c5, c6, c7 = taps[r]
            x0 = rows[i % m, i // m : i // m + size]
            x1 = rows[(i + 1) % m, (i + 1) // m : (i + 1) // m + size]
            x2 = rows[(i + 2) % m, (i + 2) // m : (i + 2) // m + size]
            x3 = rows[(i + 3) % m, (i + 3) // m : (i + 3) // m + size]
            x4 = rows[(i + 4) % m, (i + 4) // m : (i + 4) // m + size]
            x5 = rows[(i + 5) % m, (i + 5) // m : (i + 5) // m + size]
            x6 = rows[(i + 6) % m, (i + 6) // m : (i + 6) // m + size]
            x7 = rows[(i + 7) % m, (i + 7) // m : (i + 7) // m + size]
            for c in range(size):
                one[c] = (
                    c0 * x0[c] + c1 * x1[c] + c2 * x2[c] + c3 * x3[c] + c4 * x4[c] + c5 * x5[c] + c6 * x6[c] + c7 * x7[c]
                )  # fmt: skip
            for c in range(size):
                out[(begin + c) * n_fine + r] = one[c]


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def count_eye(
    counts: np.ndarray, fine: np.ndarray, place: np.ndarray, stride: int, noise: np.ndarray, ffe: np.ndarray, n_pre: int,
    dfe: np.ndarray, decided: np.ndarray, sent: np.ndarray, first: int, last: int, spans: np.ndarray,
) -> None:  # fmt: skip
    """Histograms of the waveform about the sampling instants, before and behind both equalisers, by the symbol sent.

    ``counts`` (3, n_levels, n_phases, n_bins); ``fine`` (float32): the waveform, ``stride`` values from phase to phase;
    ``place``: of the samples in it, read between two values along a straight line; ``noise`` [V] the same for all phases,
    empty for none; ``ffe``, ``dfe``, ``decided`` float32. Decision k, level ``decided[k]`` and symbol ``sent[k]``, belongs to
    sample k; those from ``first`` to ``last`` are counted and need all samples their taps reach. Bins are centred from -span
    to span, the outer ones take what lies beyond.
    """
    width, n_bins = counts.shape[2:]
    n_ffe, n_dfe, n_post = ffe.size, dfe.size, ffe.size - 1 - n_pre
    piece, chunk = 64, 1024  # symbols whose waveforms, and whose bins, stay in the nearest caches
    x = np.empty((piece + n_ffe) * width, np.float32)
    z = np.empty(piece * width, np.float32)
    bins = np.empty((3, chunk * width), np.int16)
    zero, top, middle = np.float32(0), np.float32(n_bins - 1), np.float32(0.5 * n_bins)
    scale = ((n_bins - 1) / (2 * spans)).astype(np.float32)
    small = np.zeros(counts.shape, np.uint16)  # one stage of it stays in the nearest cache
    half = (width // 2) * stride
    for begin in range(first, last, chunk):
        size = min(chunk, last - begin)
        for low in range(0, size, piece):
            n = min(piece, size - low)
            sample = begin + low - n_post
            for k in range(n + n_ffe - 1):
                at = place[sample + k] - half
                i = math.floor(at)
                u = np.float32(at - i)
                add = np.float32(noise[sample + k]) if noise.size > 0 else zero
                row = x[k * width : (k + 1) * width]
                if stride == 1:
                    here = fine[i : i + width]
                    there = fine[i + 1 : i + 1 + width]
                    for p in range(width):
                        row[p] = here[p] + u * (there[p] - here[p]) + add
                else:
                    for p in range(width):
                        left = fine[i + p * stride]
                        row[p] = left + u * (fine[i + p * stride + 1] - left) + add
            flat = n * width
            z[:flat] = zero
            for t in range(n_ffe):
                tap = ffe[t]
                window = x[(n_ffe - 1 - t) * width : (n_ffe - 1 - t) * width + flat]
                for j in range(flat):
                    z[j] += tap * window[j]
            own = x[n_post * width : n_post * width + flat]
            raw = bins[0, low * width : low * width + flat]
            linear = bins[1, low * width : low * width + flat]
            for j in range(flat):
                raw[j] = np.int16(min(max(own[j] * scale[0] + middle, zero), top))
            for j in range(flat):
                linear[j] = np.int16(min(max(z[j] * scale[1] + middle, zero), top))
            for k in range(n):
                back = middle
                for t in range(n_dfe):
                    back -= scale[2] * dfe[t] * decided[begin + low + k - 1 - t]
                row = z[k * width : (k + 1) * width]
                whole = bins[2, (low + k) * width : (low + k + 1) * width]
                for p in range(width):
                    whole[p] = np.int16(min(max(row[p] * scale[2] + back, zero), top))
        # phase after phase: the next count is never of the same bin, which would have to wait for the one before
        for stage in range(3):
            for k in range(size):
                table = small[stage, sent[begin + k]]
                mine = bins[stage, k * width : (k + 1) * width]
                for p in range(width):
                    table[p, mine[p]] += 1
        if (begin - first) % (32 * chunk) == 31 * chunk or begin + chunk >= last:
            counts += small
            small[:] = 0
