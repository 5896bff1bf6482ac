"""Loops of waveforms and random streams: interpolation, Gaussian numbers, jitter, short filters, baseline wander."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def sample_at(wave: np.ndarray, at: int, beyond: float, table: np.ndarray, tilt: np.ndarray) -> float:
    """`interpolate` at one instant, with all of its eight samples inside ``wave``."""
    whole = math.floor(beyond)
    u = (beyond - whole) * tilt.shape[0]
    row = min(int(u), tilt.shape[0] - 1)
    v = u - row
    near = wave[at + whole - 3 : at + whole + 5]
    c = table[row]
    d = tilt[row]
    x = 0.0
    for t in range(8):
        x += (c[t] + v * d[t]) * near[t]
    return x


@njit(nogil=True, cache=True, fastmath=True)
def interpolate(wave: np.ndarray, at: np.ndarray, beyond: np.ndarray, table: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """``wave`` at ``at`` (int64) + ``beyond`` (any sign) samples: 8 taps, linear between neighbouring rows of ``table``.

    ``tilt`` holds the differences of the rows of ``table``. Samples outside the wave are taken as zero.
    """
    out = np.empty(at.size)
    n_rows = tilt.shape[0]
    for m in range(at.size):
        whole = math.floor(beyond[m])
        u = (beyond[m] - whole) * n_rows
        row = min(int(u), n_rows - 1)
        v = u - row
        first = at[m] + whole - 3
        total = 0.0
        if first >= 0 and first + 8 <= wave.size:
            near = wave[first : first + 8]
            c = table[row]
            d = tilt[row]
            for t in range(8):
                total += (c[t] + v * d[t]) * near[t]
        else:
            for t in range(8):
                if 0 <= first + t < wave.size:
                    total += (table[row, t] + v * tilt[row, t]) * wave[first + t]
        out[m] = total
    return out


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def gaussian(key: int, first: int, out: np.ndarray) -> None:
    """Blocks of 1024 normal numbers, from block ``first`` on, to fill ``out`` (a multiple of 1024): Box and Muller, 1958.

    Word k is the k-th of SplitMix64 (G. L. Steele et al., OOPSLA 2014): 41 bits for the radius (up to 7.6), 23 for the angle.
    Single precision, logarithm and cosines by series: good to 2e-6. The first half of a block is the cosines, the second the
    sines.
    """
    chunk = 512
    first *= chunk
    u = np.empty(chunk, np.float32)
    ub = u.view(np.int32)
    e = np.empty(chunk, np.float32)
    a = np.empty(chunk, np.float32)
    one, half, ln2 = np.float32(1), np.float32(0.5), np.float32(0.6931471805599453)
    k9, k7, k5, k3 = np.float32(2 / 9), np.float32(2 / 7), np.float32(2 / 5), np.float32(2 / 3)
    s3, s5, s7, s9 = np.float32(-1 / 6), np.float32(1 / 120), np.float32(-1 / 5040), np.float32(1 / 362880)
    c2, c4, c6, c8 = np.float32(-1 / 2), np.float32(1 / 24), np.float32(-1 / 720), np.float32(1 / 40320)
    quarter = np.float32(1.5707963267948966)
    two = np.float32(2)
    for b in range(0, out.size // 2, chunk):
        base = np.uint64(key) + np.uint64(first + b) * np.uint64(0x9E3779B97F4A7C15)
        for k in range(chunk):
            s = base + np.uint64(k) * np.uint64(0x9E3779B97F4A7C15)
            s = (s ^ (s >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            s = (s ^ (s >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            s = s ^ (s >> np.uint64(31))
            a[k] = np.float32(np.int64(s & np.uint64(0x7FFFFF))) * np.float32(2.0**-21)
            u[k] = (np.float32(np.int64(s >> np.uint64(23))) + half) * np.float32(2.0**-41)
        for k in range(chunk):
            w = ub[k] + np.int32(0x3F800000 - 0x3F3504F3)
            e[k] = np.float32((w >> np.int32(23)) - np.int32(127))
            ub[k] = (w & np.int32(0x007FFFFF)) + np.int32(0x3F3504F3)
        for k in range(chunk):
            x = u[k]
            s = (x - one) / (x + one)
            t = s * s
            p = s * (two + t * (k3 + t * (k5 + t * (k7 + t * k9))))
            e[k] = math.sqrt(max(-two * (p + ln2 * e[k]), np.float32(0)))
        low = out[2 * b : 2 * b + chunk]
        high = out[2 * b + chunk : 2 * b + 2 * chunk]
        for k in range(chunk):
            turn = np.int32(a[k] + half)
            f = (a[k] - np.float32(turn)) * quarter
            f2 = f * f
            sn = f * (one + f2 * (s3 + f2 * (s5 + f2 * (s7 + f2 * s9))))
            cs = one + f2 * (c2 + f2 * (c4 + f2 * (c6 + f2 * c8)))
            odd = np.float32(turn & np.int32(1))
            x = cs + odd * (sn - cs)
            y = sn + odd * (cs - sn)
            low[k] = e[k] * x * np.float32(np.int32(1) - ((turn + np.int32(1)) & np.int32(2)))
            high[k] = e[k] * y * np.float32(np.int32(1) - (turn & np.int32(2)))


@njit(nogil=True, cache=True, error_model="numpy")
def splitmix(key: int, first: int, out: np.ndarray) -> None:
    """Words ``first``, ``first`` + 1, ... of SplitMix64 into ``out`` (n,) uint64."""
    for k in range(out.size):
        s = np.uint64(key) + np.uint64(first + k) * np.uint64(0x9E3779B97F4A7C15)
        s = (s ^ (s >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        s = (s ^ (s >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out[k] = s ^ (s >> np.uint64(31))


@njit(nogil=True, cache=True)
def jitter_walk(
    drive: np.ndarray, words: np.ndarray, correlation: float, random: float, bounded: float, last: float, side: float
) -> tuple[np.ndarray, float, float]:
    """Displacements random x[n] + bounded s[n], and the last x and s: x[n] = rho x[n-1] + sqrt(1 - rho^2) drive[n], s[n] = +-1.

    rho is ``correlation``; s turns where the fraction of 2^64 that is a word (uint64) is below (1 - rho) / 2, so its correlation
    is rho^k, too.
    """
    out = np.empty(drive.size)
    fresh = math.sqrt(1.0 - correlation * correlation)
    turn = np.uint64(math.ceil(0.5 * (1.0 - correlation) * 2.0**53))
    for n in range(drive.size):
        last = correlation * last + fresh * drive[n]
        side = -side if (words[n] >> np.uint64(11)) < turn else side
        out[n] = random * last + bounded * side
    return out, last, side


@njit(nogil=True, cache=True)
def look_up(index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """``values`` by ``index`` (n,)."""
    out = np.empty(index.size)
    for n in range(index.size):
        out[n] = values[index[n]]
    return out


@njit(nogil=True, cache=True, fastmath=True)
def edge_areas(level: np.ndarray, last: float, moved: np.ndarray) -> np.ndarray:
    """-moved[n] (level[n] - level[n-1]): what an edge that comes later by ``moved`` takes away; ``last`` is level[-1]."""
    out = np.empty(level.size)
    if level.size > 0:
        out[0] = -moved[0] * (level[0] - last)
    for n in range(1, level.size):
        out[n] = -moved[n] * (level[n] - level[n - 1])
    return out


@njit(nogil=True, cache=True, fastmath=True)
def fir(extended: np.ndarray, taps: np.ndarray) -> np.ndarray:
    """y[n] = sum_k taps[k] extended[n + n_taps - 1 - k], in pieces that stay in the nearest cache."""
    n_taps = taps.size
    n = extended.size - n_taps + 1
    out = np.zeros(n)
    for begin in range(0, n, 512):
        size = min(512, n - begin)
        piece = out[begin : begin + size]
        for k in range(n_taps):
            tap = taps[k]
            window = extended[begin + n_taps - 1 - k : begin + n_taps - 1 - k + size]
            for i in range(size):
                piece[i] += tap * window[i]
    return out


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def mix(sent: np.ndarray, spectra: np.ndarray, out: np.ndarray) -> None:
    """out[h, p] = sum_i sent[i, h] spectra[i, p], complex; last axis the bins."""
    n_inputs, n_hops, n_bins = sent.shape
    for h in range(n_hops):
        for p in range(spectra.shape[1]):
            total = out[h, p]
            a = sent[0, h]
            b = spectra[0, p]
            for k in range(n_bins):
                total[k] = a[k] * b[k]
            for i in range(1, n_inputs):
                a = sent[i, h]
                b = spectra[i, p]
                for k in range(n_bins):
                    total[k] += a[k] * b[k]


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def weave(phases: np.ndarray, past: int, out: np.ndarray) -> None:
    """Values from ``past`` on of ``phases`` (n_hops, m, n), a phase after the other for each symbol, hop after hop."""
    n_hops, m, n = phases.shape
    hop = n - past
    for h in range(n_hops):
        woven = out[h * hop * m : (h + 1) * hop * m]
        for begin in range(0, hop, 64):
            end = min(begin + 64, hop)
            for p in range(m):
                phase = phases[h, p, past:]
                for k in range(begin, end):
                    woven[k * m + p] = phase[k]


@njit(nogil=True, cache=True)
def baseline(level: np.ndarray, share: float, wander: float) -> tuple[np.ndarray, float]:
    """First-order high-pass at one value a symbol: level minus its running mean, and that mean; ``share`` of each goes into
    it.
    """
    out = np.empty(level.size)
    for n in range(level.size):
        out[n] = level[n] - wander
        wander += share * (level[n] - wander)
    return out, wander
