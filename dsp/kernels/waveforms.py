"""Loops of waveforms and random streams: interpolation, Gaussian numbers, jitter, short filters, baseline wander."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


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
    Logarithm and cosines by series, good to 1e-7. The first half of a block is the cosines, the second the sines.
    """
    n = out.size // 2
    chunk = 512
    first *= chunk
    bits = np.empty(chunk, np.int64)
    u = np.empty(chunk)
    ub = u.view(np.int64)
    e = np.empty(chunk)
    for b in range(0, n, chunk):
        m = min(chunk, n - b)
        base = np.uint64(key) + np.uint64(first + b) * np.uint64(0x9E3779B97F4A7C15)
        for k in range(m):
            s = base + np.uint64(k) * np.uint64(0x9E3779B97F4A7C15)
            s = (s ^ (s >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            s = (s ^ (s >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            s = s ^ (s >> np.uint64(31))
            bits[k] = np.int64(s & np.uint64(0x7FFFFF))
            u[k] = (np.float64(np.int64(s >> np.uint64(23))) + 0.5) * 2.0**-41
        for k in range(m):
            # mantissa in [sqrt(1/2), sqrt(2)): add the bits of 1/sqrt(2) offset
            w = ub[k] + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
            e[k] = np.float64((w >> 52) - 1023)
            ub[k] = (w & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD
        for k in range(m):
            x = u[k]
            s = (x - 1.0) / (x + 1.0)
            t = s * s
            p = 2 / 7 + t * (2 / 9 + t * (2 / 11 + t * 2 / 13))
            p = s * (2.0 + t * (2 / 3 + t * (0.4 + t * p)))
            e[k] = math.sqrt(-2.0 * (p + 0.6931471805599453 * e[k]))
        for k in range(m):
            a = np.float64(bits[k]) * 2.0**-21  # in quarter turns 0..4
            turn = np.int64(a + 0.5)
            f = (a - np.float64(turn)) * 1.5707963267948966
            f2 = f * f
            sn = f * (1.0 + f2 * (-1 / 6 + f2 * (1 / 120 + f2 * (-1 / 5040 + f2 * (1 / 362880 - f2 / 39916800)))))
            cs = 1.0 + f2 * (-0.5 + f2 * (1 / 24 + f2 * (-1 / 720 + f2 * (1 / 40320 + f2 * (-1 / 3628800 + f2 / 479001600)))))
            odd = np.float64(turn & 1)
            x = cs + odd * (sn - cs)
            y = sn + odd * (cs - sn)
            sx = np.float64(1 - ((turn + 1) & 2))
            sy = np.float64(1 - (turn & 2))
            out[2 * b + k] = e[k] * x * sx
            out[2 * b + m + k] = e[k] * y * sy


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
    drive: np.ndarray, draws: np.ndarray, correlation: float, random: float, bounded: float, last: float, side: float
) -> tuple[np.ndarray, float, float]:
    """Displacements random x[n] + bounded s[n], and the last x and s: x[n] = rho x[n-1] + sqrt(1 - rho^2) drive[n], s[n] = +-1.

    rho is ``correlation``; s turns where a draw is below (1 - rho) / 2, so its correlation is rho^k, too.
    """
    out = np.empty(drive.size)
    fresh = math.sqrt(1.0 - correlation * correlation)
    turn = 0.5 * (1.0 - correlation)
    for n in range(drive.size):
        last = correlation * last + fresh * drive[n]
        side = -side if draws[n] < turn else side
        out[n] = random * last + bounded * side
    return out, last, side


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
