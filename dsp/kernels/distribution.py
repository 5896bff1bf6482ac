"""Loops of `dsp.distribution`: tails, quantiles, characteristic functions."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def cumulant_function(s: float, cursors: np.ndarray, levels: np.ndarray, sigma: float) -> tuple[float, float, float]:
    """K(s) = log E exp(sX) of a sum of symbols times cursors plus a Gaussian, and its first two derivatives."""
    k0 = 0.5 * sigma * sigma * s * s
    k1 = sigma * sigma * s
    k2 = sigma * sigma
    n_levels = levels.size
    gap = (levels[n_levels - 1] - levels[0]) / max(n_levels - 1, 1)
    even = True
    for m in range(n_levels):
        even = even and abs(levels[m] - levels[0] - m * gap) <= 1e-13 * abs(gap)
    for i in range(cursors.size):
        c = cursors[i]
        m0 = 0.0
        m1 = 0.0
        m2 = 0.0
        if even:  # the weights are powers of one exponential, from the heaviest level down
            up = s * c * gap >= 0
            heaviest = c * levels[n_levels - 1] if up else c * levels[0]
            back = -c * gap if up else c * gap
            ratio = math.exp(-abs(s * c * gap))
            top = s * heaviest
            w = 1.0
            for m in range(n_levels):
                a = heaviest + m * back
                m0 += w
                m1 += w * a
                m2 += w * a * a
                w *= ratio
        else:
            top = s * c * levels[0]
            for m in range(1, n_levels):
                top = max(top, s * c * levels[m])
            for m in range(n_levels):
                a = c * levels[m]
                w = math.exp(s * a - top)
                m0 += w
                m1 += w * a
                m2 += w * a * a
        m1 /= m0
        k0 += top + math.log(m0 / n_levels)
        k1 += m1
        k2 += m2 / m0 - m1 * m1
    return k0, k1, max(k2, 0.0)


@njit(nogil=True, cache=True)
def log_tail(x: float, cursors: np.ndarray, levels: np.ndarray, sigma: float) -> tuple[float, float]:
    """Logarithm of P(X > x), and density over tail probability at x, for x at or above the mean and sigma > 0.

    Trapezoid sum of exp(K(s) - s x) / s along the vertical line through a point near the saddle. The step keeps the two
    neighbouring images (of the sampled transform) below exp(-guard) of the tail by Chernoff bounds, the length is where the
    Gaussian factor alone is below exp(-guard): both hold for any cursors. (nan, nan) if that takes too many terms.
    """
    guard = 25.0
    pole = 4.0  # weight of the pole 1/s in the choice of the line: keeps it away from s = 0 for x near the mean
    k0, k1, k2 = cumulant_function(0.0, cursors, levels, sigma)
    s = (x - k1 + math.sqrt((x - k1) ** 2 + 4 * pole * k2)) / (2 * k2)
    low = 0.0
    high = math.inf
    for _ in range(100):
        k0, k1, k2 = cumulant_function(s, cursors, levels, sigma)
        g = k1 - x - pole / s
        if g < 0:
            low = s
        else:
            high = s
        new = s - g / (k2 + pole / (s * s))
        if new <= low or new >= high:
            new = 2 * s if high == math.inf else 0.5 * (low + high)
        moved = abs(new - s)
        s = new
        if moved < 1e-3 * s:
            break
    k0, k1, k2 = cumulant_function(s, cursors, levels, sigma)
    lead = k0 - s * x
    spread = math.sqrt(k2)
    width = math.log(2.5 * max(1.0, s * spread))
    expected = lead - width - 1.0

    n_c = cursors.size
    n_l = levels.size
    weight = np.empty((n_l, n_c))
    for i in range(n_c):
        top = s * cursors[i] * levels[0]
        for m in range(1, n_l):
            top = max(top, s * cursors[i] * levels[m])
        total = 0.0
        for m in range(n_l):
            weight[m, i] = math.exp(s * cursors[i] * levels[m] - top)
            total += weight[m, i]
        for m in range(n_l):
            weight[m, i] /= total
    re = np.empty((n_l, n_c))
    im = np.empty((n_l, n_c))
    turn_re = np.empty((n_l, n_c))
    turn_im = np.empty((n_l, n_c))
    length = math.sqrt(2 * (guard + width)) / sigma

    for _ in range(6):
        period = (guard - expected) / s
        above = math.inf
        for trial in range(5):
            r = s + 2.0 ** (trial + 0.5) / spread
            kr = cumulant_function(r, cursors, levels, sigma)[0]
            above = min(above, (guard + kr - r * x - expected) / (r - s))
        period = max(period, above)
        step = 2 * math.pi / period
        n = int(length / step) + 2
        if n > 4000000:
            return math.nan, math.nan
        for m in range(n_l):
            for i in range(n_c):
                angle = step * cursors[i] * levels[m]
                turn_re[m, i] = math.cos(angle)
                turn_im[m, i] = math.sin(angle)
                re[m, i] = weight[m, i]
                im[m, i] = 0.0
        tail = 0.5 / s
        density = 0.5
        for j in range(1, n):
            for m in range(n_l):
                for i in range(n_c):
                    a = re[m, i]
                    b = im[m, i]
                    re[m, i] = a * turn_re[m, i] - b * turn_im[m, i]
                    im[m, i] = a * turn_im[m, i] + b * turn_re[m, i]
            u = j * step
            size = math.exp(-0.5 * (sigma * u) ** 2)
            angle = u * (sigma * sigma * s - x)
            p_re = size * math.cos(angle)
            p_im = size * math.sin(angle)
            for i in range(n_c):
                f_re = 0.0
                f_im = 0.0
                for m in range(n_l):
                    f_re += re[m, i]
                    f_im += im[m, i]
                a = p_re * f_re - p_im * f_im
                p_im = p_re * f_im + p_im * f_re
                p_re = a
                if abs(p_re) + abs(p_im) < 1e-22:  # factors are at most 1: it stays small
                    p_re = 0.0
                    p_im = 0.0
                    break
            density += p_re
            tail += (p_re * s + p_im * u) / (s * s + u * u)
        tail *= step / math.pi
        density *= step / math.pi
        found = lead + math.log(tail) if tail > 0 else expected - 20.0
        if found > expected - 2.0 and tail > 0:
            return found, density / tail
        expected = found  # the tail is smaller than assumed: the images need more distance
    return math.nan, math.nan


@njit(nogil=True, cache=True)
def log_tails(x: np.ndarray, cursors: np.ndarray, levels: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """`log_tail` at every ``x``."""
    tails = np.empty(x.size)
    rates = np.empty(x.size)
    for i in range(x.size):
        tails[i], rates[i] = log_tail(x[i], cursors, levels, sigma)
    return tails, rates


@njit(nogil=True, cache=True)
def mills_ratio(w: float) -> float:
    """Gaussian tail over Gaussian density."""
    if w < 25.0:
        return math.sqrt(0.5 * math.pi) * math.exp(0.5 * w * w) * math.erfc(w / math.sqrt(2.0))
    v = 1.0 / (w * w)
    return (1.0 - v * (1.0 - v * (3.0 - v * (15.0 - v * 105.0)))) / w


@njit(nogil=True, cache=True)
def saddle_quantile(log_p: float, start: float, cursors: np.ndarray, levels: np.ndarray, sigma: float) -> float:
    """The x with P(X > x) = exp(log_p) < 1/2 after Lugannani and Rice; ``start`` is the Gaussian quantile in sigmas."""
    k0, k1, k2 = cumulant_function(0.0, cursors, levels, sigma)
    scale = math.sqrt(k2)
    third = 0.0
    for i in range(cursors.size):
        mean = 0.0
        for m in range(levels.size):
            mean += levels[m] / levels.size
        for m in range(levels.size):
            third += (cursors[i] * (levels[m] - mean)) ** 3 / levels.size
    s = max(start, 1e-3) / scale
    low = 0.0
    high = math.inf
    for _ in range(60):
        k0, k1, k2 = cumulant_function(s, cursors, levels, sigma)
        w = math.sqrt(max(2 * (s * k1 - k0), 0.0))
        v = s * math.sqrt(k2)
        correction = -third / (6 * scale**3) if w < 1e-3 or v == 0.0 else 1 / v - 1 / w
        ratio = mills_ratio(w)
        if ratio + correction > 0:
            ratio += correction
        excess = -0.5 * w * w - 0.5 * math.log(2 * math.pi) + math.log(ratio) - log_p
        if excess > 0:
            low = s
        else:
            high = s
        if abs(excess) < 1e-6:
            break
        new = s + excess * ratio / max(math.sqrt(k2), 1e-300)
        if new <= low or new >= high:
            new = 2 * s if high == math.inf else 0.5 * (low + high)
        if abs(new - s) < 1e-12 * s:
            break
        s = new
    return cumulant_function(s, cursors, levels, sigma)[1]


@njit(nogil=True, cache=True, fastmath=True)
def eye_characteristic(
    pulse: np.ndarray, spacings: np.ndarray, weights: np.ndarray, sigma: np.ndarray, step: float, n_f: int, smear: float
) -> np.ndarray:
    """Characteristic functions at angular steps ``step`` [1/V], shape (n_phases, n_f), zero beyond where they matter.

    ``pulse`` (n_cursors, n_phases), largest cursors first, n_phases a multiple of 8. One cursor's factor is
    sum_m weights[m] x^m with x = cos(spacings[0] cursor u) where there is one spacing, else
    weights[0] + sum_m weights[m + 1] cos(spacings[m] cursor u). Cosines by the stable recurrence c += d -= 4 sin^2(t/2) c.
    A function that has not died out at the end of the axis is widened by a Gaussian of rms ``smear`` [V].
    """
    n_c, n_p = pulse.shape
    n_s = spacings.size
    n_w = weights.size
    out = np.zeros((n_p, n_f))
    cf = np.empty((n_f, 8))
    c = np.empty((n_s, 8))
    d = np.empty((n_s, 8))
    turn = np.empty((n_s, 8))
    f = np.empty(8)
    odd4 = n_s == 1 and n_w == 4 and weights[0] == 0.0 and weights[2] == 0.0
    for first in range(0, n_p, 8):
        last = 0
        for p in range(8):
            q = sigma[first + p] * step
            reach = n_f - 1
            if q * reach > 9.2:
                reach = int(9.2 / q) + 1
            last = max(last, reach)
        for j in range(last + 1):
            for p in range(8):
                cf[j, p] = math.exp(-0.5 * (sigma[first + p] * step * j) ** 2)
        for k in range(n_c):
            for m in range(n_s):
                for p in range(8):
                    half = math.sin(0.5 * step * spacings[m] * pulse[k, first + p])
                    turn[m, p] = 4 * half * half
                    c[m, p] = 1.0
                    d[m, p] = 0.5 * turn[m, p]
            if odd4:
                w1 = weights[1]
                w3 = weights[3]
                for j in range(1, last + 1):
                    for p in range(8):
                        d[0, p] -= turn[0, p] * c[0, p]
                        c[0, p] += d[0, p]
                        x = c[0, p]
                        cf[j, p] *= x * (w1 + w3 * x * x)
            elif n_s == 1:
                for j in range(1, last + 1):
                    for p in range(8):
                        d[0, p] -= turn[0, p] * c[0, p]
                        c[0, p] += d[0, p]
                        f[p] = weights[n_w - 1]
                    for m in range(n_w - 2, -1, -1):
                        for p in range(8):
                            f[p] = f[p] * c[0, p] + weights[m]
                    for p in range(8):
                        cf[j, p] *= f[p]
            else:
                for j in range(1, last + 1):
                    for p in range(8):
                        f[p] = weights[0]
                    for m in range(n_s):
                        for p in range(8):
                            d[m, p] -= turn[m, p] * c[m, p]
                            c[m, p] += d[m, p]
                            f[p] += weights[m + 1] * c[m, p]
                    for p in range(8):
                        cf[j, p] *= f[p]
            while last > 0:  # factors are at most 1: what is small stays small
                largest = 0.0
                for p in range(8):
                    largest = max(largest, abs(cf[last, p]))
                if largest > 1e-18:
                    break
                last -= 1
        for p in range(8):
            end = 0.0
            for j in range(n_f - n_f // 8, last + 1):
                end = max(end, abs(cf[j, p]))
            extra = smear * step if end > 1e-6 else 0.0
            for j in range(last + 1):
                out[first + p, j] = cf[j, p] * math.exp(-0.5 * (extra * j) ** 2)
    return out
