"""Compiled loops: the only file that needs numba. Arrays in and out, fixed types, no checks; each also runs as plain Python.

Callers import this module inside the function that needs it and check their arguments first.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# --- amplitude distributions (dsp.distribution) ---


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


# --- test patterns (dsp.sequences) ---


@njit(nogil=True, cache=True)
def lfsr(n: int, state: int, taps: np.ndarray, order: int) -> tuple[np.ndarray, int]:
    """``n`` new bits of a shift register, bit k - 1 of ``state`` being stage k, and the register after them."""
    out = np.empty(n, np.uint8)
    register = np.int64(state)
    mask = (np.int64(1) << order) - 1
    for i in range(n):
        bit = np.int64(0)
        for k in range(taps.size):
            bit ^= (register >> (taps[k] - 1)) & 1
        out[i] = bit
        register = ((register << 1) | bit) & mask
    return out, int(register)


# --- sampling, random streams, the baud-rate receiver (dsp.timing, dsp.streams, dsp.receiver, serdes.counting) ---


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


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def receive(
    wave: np.ndarray,
    jitter: np.ndarray,
    pace: np.ndarray,
    noise: np.ndarray,
    known: np.ndarray,
    table: np.ndarray,
    tilt: np.ndarray,
    lanes: np.ndarray,
    nominal: np.ndarray,
    limits: np.ndarray,
    stages: np.ndarray,
    settings: np.ndarray,
    modes: np.ndarray,
    counts: np.ndarray,
    values: np.ndarray,
    ffe: np.ndarray,
    dfe: np.ndarray,
    levels: np.ndarray,
    line: np.ndarray,
    between: np.ndarray,
    past: np.ndarray,
    late: np.ndarray,
    out_at: np.ndarray,
    out_beyond: np.ndarray,
    out_phase: np.ndarray,
    out_z: np.ndarray,
    out_index: np.ndarray,
) -> tuple[int, int]:
    """The receiver over ``wave`` in steps of ``modes[0]`` symbols, as far as the inputs reach. Returns samples and decisions.

    Constant: ``lanes`` (n_lanes, 3) gain, offset [V], skew [UI]; ``nominal`` levels; ``limits`` of the feedback taps, of the
    other feed-forward taps over the main one (1e300: none), and of their sum of magnitudes; ``stages`` (n, 5): decision count
    that ends the stage, rule (0 none, 1 LMS, 2 sign-LMS, 3 constant modulus), steps of feed-forward and feedback taps and of
    the levels. settings: samples per symbol, proportional and integral gain, converter step (0 for none) and full scale,
    modulus. modes: symbols per update, pre-cursors, further latency, detector (0 none, 1 Mueller-Muller, 2 Gardner, 3
    bang-bang), whether there are jitter [UI], pace [UI beyond 1 to the next instant], noise [V] (with detectors 2 and 3 two
    values a symbol, the first half a symbol earlier); whether positions are wanted; samples needed beyond the first instant of
    an update. Changed in place, the state: counts (position in ``wave``, samples taken, pointer into late, stage, 1 once taps
    ran away), values (fraction of the position, integrator, phase, phase per symbol now), taps, levels, ``line`` (last
    samples), ``between`` (those half way before them), ``past`` (last decided levels), all oldest first, ``late`` (timing
    errors). ``known``: true indices of the next decisions, 255 where there is none. Out: by sample position and phase [UI], by
    decision the equalised sample and the index.
    """
    samples_per_symbol, proportional, integral, step, full_scale, modulus = settings
    span, n_pre, latency, detector, jittered, paced, noisy, traced, need = modes
    i, taken, r, stage, lost = counts
    fraction, drift, phase, rate = values
    n_ffe, n_dfe, n_line, n_past, n_levels, n_lanes = ffe.size, dfe.size, line.size, past.size, levels.size, lanes.shape[0]
    top = 0.0 if step == 0.0 else math.floor(2 * full_scale / step + 0.5)
    draws = 2 if detector >= 2 else 1
    n_whole = int(samples_per_symbol) if samples_per_symbol == math.floor(samples_per_symbol) else 0
    packed = np.empty(span, np.int64)
    half = 0.5 * samples_per_symbol
    fine = 0.0 if step == 0.0 else 1.0 / step
    room = max(span, 256)
    xs = np.empty(n_line + room)
    middles = np.empty(n_line + room)
    z = np.empty(span)
    decided = np.empty(n_past + room)
    h = n_line
    g = n_past
    truth = np.empty(span)
    miss = np.empty(span)
    thresholds = np.empty(n_levels - 1)
    xs[:n_line] = line
    middles[:n_line] = between
    decided[:n_past] = past
    for t in range(n_levels - 1):
        thresholds[t] = 0.5 * (levels[t] + levels[t + 1])
    plain = n_lanes == 1 and lanes[0, 0] == 1.0 and lanes[0, 1] == 0.0 and lanes[0, 2] == 0.0
    n_samples = 0
    n_decided = 0
    while (
        n_samples + span <= out_phase.size
        and i + need < wave.size
        and (jittered == 0 or n_samples + span <= jitter.size)
        and (paced == 0 or n_samples + span <= pace.size)
        and (noisy == 0 or (n_samples + span) * draws <= noise.size)
    ):
        # sample; where the instants are evenly spaced, with taps that change evenly from the first to the last
        travel = span * samples_per_symbol * rate
        even = span >= 8 and jittered == 0 and paced == 0 and plain and detector < 2 and n_whole > 0
        if even and fraction + travel >= 0.0 and fraction + travel < 1.0:
            u = fraction * tilt.shape[0]
            row = min(int(u), tilt.shape[0] - 1)
            w = (fraction + travel) * tilt.shape[0]
            last = min(int(w), tilt.shape[0] - 1)
            for t in range(8):
                c0 = table[row, t] + (u - row) * tilt[row, t]
                c1 = table[last, t] + (w - last) * tilt[last, t]
                d = (c1 - c0) / span
                from_t = wave[i - 3 + t : i - 3 + t + n_whole * span]
                if t == 0:
                    xs[h : h + span] = 0.0
                fill = xs[h : h + span]
                if n_whole == 2:
                    for k in range(span):
                        fill[k] += (c0 + k * d) * from_t[2 * k]
                elif n_whole == 4:
                    for k in range(span):
                        fill[k] += (c0 + k * d) * from_t[4 * k]
                else:
                    for k in range(span):
                        fill[k] += (c0 + k * d) * from_t[n_whole * k]
            for k in range(span):
                out_phase[n_samples + k] = phase + k * rate
            if traced:
                for k in range(span):
                    out_at[n_samples + k] = i + n_whole * k
                    out_beyond[n_samples + k] = fraction + samples_per_symbol * rate * k
            phase += span * rate
            fraction += travel
            i += n_whole * span
        else:
            for k in range(span):
                moved = 0.0 if jittered == 0 else jitter[n_samples + k]
                if not plain:
                    moved += lanes[(taken + k) % n_lanes, 2]
                beyond = fraction + samples_per_symbol * min(max(moved, -1.0), 1.0)
                xs[h + k] = sample_at(wave, i, beyond, table, tilt)
                if detector >= 2:
                    middles[h + k] = sample_at(wave, i, beyond - half, table, tilt)
                out_phase[n_samples + k] = phase
                if traced:
                    out_at[n_samples + k] = i
                    out_beyond[n_samples + k] = beyond
                ahead = rate
                if paced:
                    ahead += pace[n_samples + k]
                fraction += samples_per_symbol * (1.0 + ahead)
                whole = math.floor(fraction)
                fraction -= whole
                i += int(whole)
                phase += ahead
        if noisy:
            if draws == 1:
                for k in range(span):
                    xs[h + k] += noise[n_samples + k]
            else:
                for k in range(span):
                    middles[h + k] += noise[2 * (n_samples + k)]
                    xs[h + k] += noise[2 * (n_samples + k) + 1]
        if not plain:
            for k in range(span):
                lane = (taken + k) % n_lanes
                xs[h + k] = xs[h + k] * lanes[lane, 0] + lanes[lane, 1]
        if step != 0.0:
            for k in range(span):
                code = min(max(np.rint((xs[h + k] + full_scale) * fine), 0.0), top)
                xs[h + k] = code * step - full_scale
        # equalise: z[k] = sum_t ffe[t] x[k - t]
        if span < 8:
            for k in range(span):
                total = 0.0
                window = xs[h + k - n_ffe + 1 : h + k + 1]
                for t in range(n_ffe):
                    total += ffe[n_ffe - 1 - t] * window[t]
                z[k] = total
        else:
            z[:] = 0.0
            for t in range(n_ffe):
                tap = ffe[t]
                window = xs[h - t : h - t + span]
                for k in range(span):
                    z[k] += tap * window[k]
        # decide, the newest decision apart: its store is still under way when it is wanted
        begin = min(max(n_pre - taken, 0), span)
        newest = decided[g - 1]
        first_tap = dfe[0] if n_dfe > 0 else 0.0
        if span >= 8 and n_dfe == 1 and n_levels == 4 and n_decided >= known.size:
            # all four histories at once, then a chain of shifts: three whole-number operations a symbol
            t0, t1, t2 = thresholds[0], thresholds[1], thresholds[2]
            s0, s1, s2, s3 = first_tap * nominal[0], first_tap * nominal[1], first_tap * nominal[2], first_tap * nominal[3]
            for k in range(begin, span):
                v0, v1, v2, v3 = z[k] - s0, z[k] - s1, z[k] - s2, z[k] - s3
                packed[k] = (
                    np.int64(v0 > t0)
                    + np.int64(v0 > t1)
                    + np.int64(v0 > t2)
                    + ((np.int64(v1 > t0) + np.int64(v1 > t1) + np.int64(v1 > t2)) << 2)
                    + ((np.int64(v2 > t0) + np.int64(v2 > t1) + np.int64(v2 > t2)) << 4)
                    + ((np.int64(v3 > t0) + np.int64(v3 > t1) + np.int64(v3 > t2)) << 6)
                )
            before = np.int64(0)
            for t in range(n_levels):
                if nominal[t] == newest:
                    before = np.int64(t)
            if newest != nominal[before] and begin < span:  # before the first decision there is no level
                v = z[begin] - first_tap * newest
                before = np.int64(v > t0) + np.int64(v > t1) + np.int64(v > t2)
                packed[begin] = before * 85
            for k in range(begin, span):
                before = (packed[k] >> (2 * before)) & 3
                packed[k] = before
            for k in range(begin, span):
                decided[g + k - begin] = nominal[packed[k]]
                truth[k] = levels[packed[k]]
                out_index[n_decided + k - begin] = packed[k]
            for k in range(begin, span):
                z[k] -= first_tap * decided[g + k - begin - 1]
                out_z[n_decided + k - begin] = z[k]
            n_decided += span - begin
        else:
            for k in range(begin, span):
                base = z[k]
                for t in range(1, n_dfe):
                    base -= dfe[t] * decided[g + k - begin - 1 - t]
                v = base - first_tap * newest
                index = 0
                for t in range(n_levels - 1):
                    index += v > thresholds[t]
                z[k] = v
                out_z[n_decided] = v
                out_index[n_decided] = index
                if n_decided < known.size and known[n_decided] != 255:
                    index = known[n_decided]
                newest = nominal[index]
                truth[k] = levels[index]
                decided[g + k - begin] = newest
                n_decided += 1
        n_new = span - begin
        # track: the detector on unequalised samples
        if detector != 0:
            total = 0.0
            for k in range(begin, span):
                if detector == 1:
                    q = h + k - n_pre
                    p = g + k - begin
                    error = xs[q] * decided[p - 1] - xs[q - 1] * decided[p]
                elif detector == 2:
                    error = middles[h + k] * (xs[h + k - 1] - xs[h + k])
                else:
                    p = g + k - begin
                    error = 0.0
                    if decided[p] == -decided[p - 1] and decided[p] != 0.0:
                        error = 1.0 if (middles[h + k - n_pre] > 0.0) == (decided[p] < 0.0) else -1.0
                if latency > 0:
                    r = r - 1 if r > 0 else latency - 1
                    fresh = error
                    error = late[r]
                    late[r] = fresh
                total += error
            drift = min(max(drift + integral * total, -0.01), 0.01)
            rate = min(max(proportional * total / span + drift, -0.5 / span), 0.5 / span)
        # adapt
        rule = int(stages[stage, 1])
        if rule != 0 and lost == 0 and n_new > 0:
            mu_ffe, mu_dfe, mu_levels = stages[stage, 2], stages[stage, 3], stages[stage, 4]
            for k in range(begin):
                miss[k] = 0.0
            for k in range(begin, span):
                if rule == 3:
                    miss[k] = z[k] * (modulus - z[k] * z[k])
                else:
                    miss[k] = truth[k] - z[k]
            if mu_levels != 0.0:
                for k in range(begin, span):
                    for t in range(n_levels):
                        if truth[k] == levels[t]:
                            levels[t] -= mu_levels * miss[k]
                for t in range(n_levels - 1):
                    thresholds[t] = 0.5 * (levels[t] + levels[t + 1])
            if rule == 2:
                for k in range(begin, span):
                    miss[k] = 1.0 if miss[k] > 0 else -1.0
            size = 0.0
            for t in range(n_ffe):
                window = xs[h - t : h - t + span]
                slope = 0.0
                for k in range(span):
                    slope += miss[k] * window[k]
                ffe[t] += mu_ffe * slope
                size += abs(ffe[t])
            if limits[2] < 1e300:
                most = limits[2] * abs(ffe[n_pre])
                for t in range(n_ffe):
                    if t != n_pre:
                        ffe[t] = min(max(ffe[t], -most), most)
            if mu_dfe != 0.0:
                for t in range(n_dfe):
                    slope = 0.0
                    for k in range(begin, span):
                        slope += miss[k] * decided[g + k - begin - 1 - t]
                    dfe[t] = min(max(dfe[t] - mu_dfe * slope, limits[0]), limits[1])
            if size > limits[3]:
                lost = 1
        # move on
        h += span
        g += n_new
        if h + span > xs.size:
            for t in range(n_line):
                xs[t] = xs[h - n_line + t]
                middles[t] = middles[h - n_line + t]
            h = n_line
        if g + span > decided.size:
            for t in range(n_past):
                decided[t] = decided[g - n_past + t]
            g = n_past
        n_samples += span
        taken += span
        while stage < stages.shape[0] - 1 and taken - n_pre >= stages[stage, 0]:
            stage += 1
    line[:] = xs[h - n_line : h]
    between[:] = middles[h - n_line : h]
    past[:] = decided[g - n_past : g]
    counts[0] = i
    counts[1] = taken
    counts[2] = r
    counts[3] = stage
    counts[4] = lost
    values[0] = fraction
    values[1] = drift
    values[2] = phase
    values[3] = rate
    return n_samples, n_decided


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


# --- Reed-Solomon codes (dsp.reed_solomon) ---
# exp[i] is a^i for i up to twice the group order, zeros beyond; log[0] points into the zeros, so a product with 0 is 0.


@njit(nogil=True, cache=True)
def reed_solomon_remainders(words: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Remainders of ``words`` (n_words, n), highest power first, by the generator polynomial: (n_words, n_parity), uint16.

    ``table[f]``: symbol ``f`` times the generator below its leading one, shape (2^symbol_bits, n_parity).
    """
    n_words, n = words.shape
    n_parity = table.shape[1]
    out = np.empty((n_words, n_parity), np.uint16)
    work = np.empty(n, np.uint16)
    for w in range(n_words):
        work[:] = words[w]
        for i in range(n - n_parity):
            row = table[work[i]]
            part = work[i + 1 : i + 1 + n_parity]
            for j in range(n_parity):
                part[j] ^= row[j]
        out[w] = work[n - n_parity :]
    return out


@njit(nogil=True, cache=True)
def reed_solomon_locator(syndromes: np.ndarray, exp: np.ndarray, log: np.ndarray, locator: np.ndarray) -> int:
    """Berlekamp-Massey: fills the error locator polynomial, lowest power first, and returns the length of its recurrence."""
    n = syndromes.size
    order = (exp.size - 3) // 4
    before = np.zeros(n + 1, np.int64)
    kept = np.zeros(n + 1, np.int64)
    locator[:] = 0
    locator[0] = 1
    before[0] = 1
    length = 0
    gap = 1
    last = np.int64(1)
    for i in range(n):
        d = syndromes[i]
        for j in range(1, length + 1):
            d ^= exp[log[locator[j]] + log[syndromes[i - j]]]
        if d == 0:
            gap += 1
            continue
        scale = log[d] - log[last]
        if scale < 0:
            scale += order
        grow = 2 * length <= i
        if grow:
            kept[:] = locator
        for j in range(n + 1 - gap):
            locator[j + gap] ^= exp[scale + log[before[j]]]
        if grow:
            length = i + 1 - length
            before[:] = kept
            last = d
            gap = 1
        else:
            gap += 1
    return length


@njit(nogil=True, cache=True)
def reed_solomon_correct(words: np.ndarray, remainders: np.ndarray, exp: np.ndarray, log: np.ndarray, t: int) -> np.ndarray:
    """Corrects ``words`` (n_words, n) in place: symbols changed in each, or -1 and no change where none is within ``t``.

    ``remainders``: by the generator with roots a^0, a^1, ..., (n_words, n_parity).
    """
    n_words, n = words.shape
    n_parity = remainders.shape[1]
    order = (exp.size - 3) // 4
    found = np.zeros(n_words, np.int64)
    syndromes = np.empty(n_parity, np.int64)
    locator = np.empty(n_parity + 1, np.int64)
    powers = np.empty(n_parity + 1, np.int64)
    places = np.empty(n_parity + 1, np.int64)
    evaluator = np.empty(n_parity, np.int64)
    for w in range(n_words):
        dirty = False
        for j in range(n_parity):
            dirty = dirty or remainders[w, j] != 0
        if not dirty:
            continue
        for i in range(n_parity):
            s = np.int64(remainders[w, 0])
            for j in range(1, n_parity):
                s = exp[log[s] + i] ^ np.int64(remainders[w, j])
            syndromes[i] = s
        length = reed_solomon_locator(syndromes, exp, log, locator)
        if length > t:
            found[w] = -1
            continue
        # Chien search: locator(a^-d) for the symbol at x^d. Each term's logarithm falls by its power from one d to the next.
        for j in range(length + 1):
            powers[j] = log[locator[j]]
        roots = 0
        for d in range(n):
            value = np.int64(0)
            for j in range(length + 1):
                value ^= exp[powers[j]]
                p = powers[j] - j
                if p < 0:
                    p += order
                powers[j] = p if locator[j] != 0 else powers[j]
            if value == 0:
                places[roots] = d
                roots += 1
                if roots == length:
                    break
        if roots != length:
            found[w] = -1
            continue
        # Forney: the error at x^d is a^d evaluator(a^-d) / locator'(a^-d), evaluator = syndromes * locator.
        for i in range(length):
            e = np.int64(0)
            for j in range(i + 1):
                e ^= exp[log[locator[j]] + log[syndromes[i - j]]]
            evaluator[i] = e
        for r in range(length):
            d = places[r]
            back = (order - d) % order
            top = np.int64(0)
            for j in range(length):
                top ^= exp[log[evaluator[j]] + (back * j) % order]
            slope = np.int64(0)
            for j in range(1, length + 1, 2):
                slope ^= exp[log[locator[j]] + (back * (j - 1)) % order]
            words[w, n - 1 - d] ^= np.uint16(exp[(log[top] + d + order - log[slope]) % order])
        found[w] = length
    return found


# --- inner code (dsp.hamming) ---


@njit(nogil=True, cache=True)
def chase(llr: np.ndarray, columns: np.ndarray, place_of: np.ndarray, n_test: int) -> tuple[np.ndarray, np.ndarray]:
    """Chase decoding of a code that corrects one error: bits (n_words, n) uint8, and whether a code word was found.

    ``llr`` (n_words, n): positive for 0. ``columns[i]``: syndrome of bit i alone; ``place_of[syndrome]``: that bit, or -1.
    All patterns on the ``n_test`` weakest bits are tried, in Gray order so that one bit changes at a time.
    """
    n_words, n = llr.shape
    bits = np.empty((n_words, n), np.uint8)
    found = np.zeros(n_words, np.bool_)
    weak = np.zeros(n_test, np.int64)
    flipped = np.zeros(n, np.bool_)
    for w in range(n_words):
        syndrome = np.int64(0)
        filled = 0
        for i in range(n):
            wrong = llr[w, i] < 0
            bits[w, i] = wrong
            flipped[i] = False
            if wrong:
                syndrome ^= columns[i]
            size = abs(llr[w, i])
            if filled < n_test:
                j = filled
                filled += 1
            elif n_test > 0 and size < abs(llr[w, weak[n_test - 1]]):
                j = n_test - 1
            else:
                continue
            while j > 0 and abs(llr[w, weak[j - 1]]) > size:
                weak[j] = weak[j - 1]
                j -= 1
            weak[j] = i
        cost = 0.0
        best = np.inf
        best_test = 0
        best_place = -1
        for test in range(1 << n_test):
            if test > 0:
                k = 0
                while not (test >> k) & 1:
                    k += 1
                size = abs(llr[w, weak[k]])
                cost += -size if flipped[weak[k]] else size
                flipped[weak[k]] = not flipped[weak[k]]
                syndrome ^= columns[weak[k]]
            total = cost
            place = -1
            if syndrome != 0:
                place = place_of[syndrome]
                if place < 0:
                    continue
                size = abs(llr[w, place])
                total += -size if flipped[place] else size
            if total < best:
                best = total
                best_test = test ^ (test >> 1)
                best_place = place
        if best < np.inf:
            found[w] = True
            for k in range(n_test):
                bits[w, weak[k]] ^= (best_test >> k) & 1
            if best_place >= 0:
                bits[w, best_place] ^= 1
    return bits, found


# --- chains of errors (dsp.bursts) ---


@njit(nogil=True, cache=True)
def error_walk(draws: np.ndarray, cumulative: np.ndarray, state: int) -> tuple[np.ndarray, int]:
    """Errors along a Markov chain, one per uniform draw, and the state after them.

    ``cumulative`` (n, 2n): running sums of the probabilities of (next state, right) and then (next state, wrong).
    """
    n = cumulative.shape[0]
    wrong = np.empty(draws.size, np.bool_)
    s = state
    for i in range(draws.size):
        k = 0
        while k < 2 * n - 1 and draws[i] >= cumulative[s, k]:
            k += 1
        wrong[i] = k >= n
        s = k - n if k >= n else k
    return wrong, s


# --- sequence detection (dsp.detector) ---
# State: the last symbols, oldest most significant. Each keeps its decisions, newest in the lowest bits of a word.


@njit(nogil=True, cache=True)
def viterbi(
    y: np.ndarray, tails: np.ndarray, steps: np.ndarray, metrics: np.ndarray, history: np.ndarray, shift: int, bits: int
) -> np.ndarray:
    """Most likely symbols: for each sample, what the best path of that moment decided ``shift / bits`` symbols earlier.

    ``tails`` (n_states,): what a state's symbols add to the next sample; ``steps`` (n_levels,): what the new symbol adds.
    ``metrics`` and ``history`` (n_states,) are updated. No branch depends on the data, so noise costs no time.
    """
    n = steps.size
    n_states = metrics.size
    groups = n_states // n
    mask = (1 << bits) - 1
    out = np.empty(y.size, np.uint8)
    old = np.empty(n_states)
    was = np.empty(n_states, np.int64)
    depart = np.empty(n)
    miss = np.empty(n)
    for i in range(y.size):
        for s in range(n_states):
            old[s] = metrics[s]
            was[s] = history[s]
        for r in range(groups):
            for j in range(n):
                miss[j] = y[i] - tails[j * groups + r]
                depart[j] = old[j * groups + r] + miss[j] * miss[j]
            for a in range(n):
                slope = 2 * steps[a]
                best = depart[0] - slope * miss[0]
                came = np.int64(0)
                for j in range(1, n):
                    c = depart[j] - slope * miss[j]
                    came += (j - came) * np.int64(c < best)
                    best = min(best, c)
                metrics[r * n + a] = best + steps[a] * steps[a]
                history[r * n + a] = (was[came * groups + r] << bits) | a
        best = metrics[0]
        arg = np.int64(0)
        for s in range(1, n_states):
            arg += (s - arg) * np.int64(metrics[s] < best)
            best = min(best, metrics[s])
        out[i] = (history[arg] >> shift) & mask
        if best > 1e4:
            for s in range(n_states):
                metrics[s] -= best
    return out


@njit(nogil=True, cache=True)
def viterbi_pam4(
    y: np.ndarray, tails: np.ndarray, steps: np.ndarray, metrics: np.ndarray, history: np.ndarray, shift: int
) -> np.ndarray:
    """`viterbi` for four levels and four states, written out: everything but the histories stays in registers."""
    out = np.empty(y.size, np.uint8)
    t0, t1, t2, t3 = tails[0], tails[1], tails[2], tails[3]
    b0, b1, b2, b3 = 2 * steps[0], 2 * steps[1], 2 * steps[2], 2 * steps[3]
    c0, c1, c2, c3 = steps[0] * steps[0], steps[1] * steps[1], steps[2] * steps[2], steps[3] * steps[3]
    m0, m1, m2, m3 = metrics[0], metrics[1], metrics[2], metrics[3]
    g = history.copy()
    for i in range(y.size):
        x = y[i]
        u0, u1, u2, u3 = x - t0, x - t1, x - t2, x - t3
        a0, a1, a2, a3 = m0 + u0 * u0, m1 + u1 * u1, m2 + u2 * u2, m3 + u3 * u3
        p0, p1, p2, p3 = a0 - b0 * u0, a0 - b1 * u0, a0 - b2 * u0, a0 - b3 * u0
        q0, q1, q2, q3 = a1 - b0 * u1, a1 - b1 * u1, a1 - b2 * u1, a1 - b3 * u1
        r0, r1, r2, r3 = a2 - b0 * u2, a2 - b1 * u2, a2 - b2 * u2, a2 - b3 * u2
        s0, s1, s2, s3 = a3 - b0 * u3, a3 - b1 * u3, a3 - b2 * u3, a3 - b3 * u3
        e0, e1, e2, e3 = min(p0, q0), min(p1, q1), min(p2, q2), min(p3, q3)
        f0, f1, f2, f3 = min(r0, s0), min(r1, s1), min(r2, s2), min(r3, s3)
        w0, w1, w2, w3 = np.int64(f0 < e0), np.int64(f1 < e1), np.int64(f2 < e2), np.int64(f3 < e3)
        i0 = (w0 << 1) | (np.int64(q0 < p0) & (w0 ^ 1)) | (np.int64(s0 < r0) & w0)
        i1 = (w1 << 1) | (np.int64(q1 < p1) & (w1 ^ 1)) | (np.int64(s1 < r1) & w1)
        i2 = (w2 << 1) | (np.int64(q2 < p2) & (w2 ^ 1)) | (np.int64(s2 < r2) & w2)
        i3 = (w3 << 1) | (np.int64(q3 < p3) & (w3 ^ 1)) | (np.int64(s3 < r3) & w3)
        m0, m1, m2, m3 = min(e0, f0) + c0, min(e1, f1) + c1, min(e2, f2) + c2, min(e3, f3) + c3
        k0, k1, k2, k3 = g[i0] << 2, (g[i1] << 2) | 1, (g[i2] << 2) | 2, (g[i3] << 2) | 3
        g[0], g[1], g[2], g[3] = k0, k1, k2, k3
        low, high = min(m0, m1), min(m2, m3)
        w = np.int64(high < low)
        w = (w << 1) | (np.int64(m1 < m0) & (w ^ 1)) | (np.int64(m3 < m2) & w)
        out[i] = (g[w] >> shift) & 3
        if min(low, high) > 1e4:
            best = min(low, high)
            m0, m1, m2, m3 = m0 - best, m1 - best, m2 - best, m3 - best
    metrics[0], metrics[1], metrics[2], metrics[3] = m0, m1, m2, m3
    history[:] = g
    return out


# --- Channel Operating Margin (serdes.com_dfe) ---


@njit(nogil=True, cache=True)
def best_groups(gain: np.ndarray, n_groups: int, width: int) -> np.ndarray:
    """First places of up to ``n_groups`` disjoint windows of ``width`` that gather the most ``gain`` (n,); -1: not used.

    Exact, by dynamic programming from the end; of equals the earliest.
    """
    n = gain.size
    value = np.zeros((n_groups + 1, n + width + 1))
    for g in range(1, n_groups + 1):
        for i in range(n - width, -1, -1):
            here = value[g - 1, i + width]
            for j in range(width):
                here += gain[i + j]
            value[g, i] = max(here, value[g, i + 1])
    starts = np.full(n_groups, -1)
    g = n_groups
    i = 0
    while g > 0 and i <= n - width:
        if value[g, i] > value[g, i + 1]:
            starts[n_groups - g] = i
            g -= 1
            i += width
        else:
            i += 1
    return starts


@njit(nogil=True, cache=True)
def greedy_groups(gain: np.ndarray, n_groups: int, width: int) -> np.ndarray:
    """First places of ``n_groups`` windows of ``width``, the strongest first, as the task force's script chooses them.

    A window gives way to the next strongest when one that begins just before it and overlaps it outranks all that do not; the
    window right before it, when it comes first among those, is the next group.
    """
    n = gain.size - width + 1
    value = np.zeros(gain.size)
    for i in range(n):
        for j in range(width):
            value[i] += gain[i + j]
    value[n:] = -np.inf
    starts = np.full(n_groups, -1)
    order = np.argsort(-value[:n], kind="mergesort")
    lead = (n_groups - 1) * width + 1
    if lead <= n and np.max(order[:lead]) == lead - 1:
        for g in range(n_groups):
            starts[g] = g * width
        return starts
    taken = np.zeros(gain.size, np.bool_)
    follow = -1
    for g in range(n_groups):
        if follow >= 0:
            start = follow
            follow = -1
        else:
            order = np.argsort(-value, kind="mergesort")
            start = order[0]
            if g < n_groups - 1:
                for _ in range(gain.size + 1):
                    lowest = max(start - width + 1, 0)
                    clash = False
                    outside = False
                    for k in range(gain.size):
                        i = order[k]
                        if i == start - width:
                            follow = i
                            outside = True
                        elif lowest <= i < start and not taken[i]:
                            clash = True
                        elif not start <= i < start + width:
                            outside = True
                        if outside:
                            break
                    if start == lowest or follow >= 0 or not clash:
                        break
                    value[start] = -np.inf
                    order = np.argsort(-value, kind="mergesort")
                    start = order[0]
        starts[g] = start
        for i in range(max(start - width + 1, 0), min(start + width, gain.size)):
            value[i] = -np.inf
        for i in range(start, min(start + width, gain.size)):
            taken[i] = True
    return starts


@njit(nogil=True, cache=True)
def bounded_taps(
    h: np.ndarray, main: float, low: np.ndarray, high: np.ndarray, n_groups: int, width: int, limit: float, greedy: bool,
    tail: int, rss: float,
) -> np.ndarray:  # fmt: skip
    """Feedback taps relative to ``main`` for post-cursors ``h`` [n = 1, 2, ...]: fixed ones in limits, then floating groups.

    ``low``, ``high``: limits of the first taps; groups of ``width`` within +-``limit`` where they remove the most energy of the
    rest of ``h`` (``greedy``: as the script finds them); taps from number ``tail`` (from 1, 0 none) on are scaled down to the
    root sum of squares ``rss``.
    """
    fixed = low.size
    b = np.zeros(h.size)
    for n in range(fixed):
        b[n] = min(max(h[n] / main, low[n]), high[n])
    if n_groups > 0:
        gain = np.empty(h.size - fixed)
        for n in range(gain.size):
            size = abs(h[fixed + n])
            left = max(size - limit * main, 0.0)
            gain[n] = size * size - left * left
        starts = greedy_groups(gain, n_groups, width) if greedy else best_groups(gain, n_groups, width)
        for g in range(n_groups):
            if starts[g] >= 0:
                for n in range(fixed + starts[g], fixed + starts[g] + width):
                    b[n] = min(max(h[n] / main, -limit), limit)
    if 0 < tail <= h.size:
        total = 0.0
        for n in range(tail - 1, h.size):
            total += b[n] * b[n]
        total = math.sqrt(total)
        if total >= rss and total > 0.0:
            for n in range(tail - 1, h.size):
                b[n] *= rss / total
    return b


@njit(nogil=True, cache=True, fastmath=True)
def search_dfe(
    pulse: np.ndarray, centre: int, taps: np.ndarray, before: int, m: int, low: np.ndarray, high: np.ndarray, n_post: int,
    n_groups: int, width: int, limit: float, greedy: bool, tail: int, rss: float, energy: np.ndarray, slopes: np.ndarray,
    mean_square: float, jitter: float, tx_noise: float, noise: float, crosstalk: np.ndarray, share: float, floor: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Figure of merit [dB] and sampling index of every transmitter setting ``taps`` (n, n_taps) for one CTLE; 93A.1.6.

    ``pulse``: samples at ``m`` a symbol, padded with zeros, its peak near ``centre``; ``before``: taps ahead of the main one.
    ``energy``, ``slopes`` (m, n_taps): sums over the symbols of x[n] x[n - k] at each phase, of the pulse and of its slope per
    UI. A setting that cannot reach ``floor`` gets -inf; so does one without a sampling point.
    """
    n_set, n_taps = taps.shape
    fom = np.full(n_set, -np.inf)
    at = np.zeros(n_set, np.int64)
    lead, trail = 9 * m, 7 * m
    buffer = np.empty(lead + trail)
    h = np.empty(n_post)
    fixed = low.size
    first = high[0] if fixed > 0 else 0.0
    origin = centre - lead
    for s in range(n_set):
        buffer[:] = 0.0
        for k in range(n_taps):
            c = taps[s, k]
            if c != 0.0:
                start = origin - (k - before) * m
                for i in range(buffer.size):
                    buffer[i] += c * pulse[start + i]
        peak = 5 * m
        for i in range(5 * m, lead + 3 * m):
            if buffer[i] > buffer[peak]:
                peak = i
        threshold = 0.01 * buffer[peak]
        cross = peak - 1
        while cross >= peak - 4 * m and not (buffer[cross] < threshold and buffer[cross + 1] >= threshold):
            cross -= 1
        if cross < peak - 4 * m:
            continue
        best = np.inf
        t = cross
        for i in range(cross, cross + 2 * m + 1):
            miss = abs(buffer[i - m] - max(buffer[i + m] - first * buffer[i], 0.0))
            if miss < best:
                best = miss
                t = i
        main = buffer[t]
        if main <= 0.0:
            continue
        place = origin + t
        at[s] = place
        total = 0.0
        moved = 0.0
        phase = place % m
        for k in range(n_taps):
            for j in range(n_taps):
                both = taps[s, k] * taps[s, j]
                total += both * energy[phase, abs(k - j)]
                moved += both * slopes[phase, abs(k - j)]
        removable = 0.0
        for n in range(n_post):
            value = 0.0
            for k in range(n_taps):
                value += taps[s, k] * pulse[place + (n + 1 - k + before) * m]
            h[n] = value
            removable += value * value
        rest = tx_noise * main * main + mean_square * jitter * moved + noise + crosstalk[s]
        signal = (share * main) ** 2
        least = rest + mean_square * max(total - main * main - removable, 0.0)
        if 10.0 * math.log10(signal / least) < floor:
            continue
        b = bounded_taps(h, main, low, high, n_groups, width, limit, greedy, tail, rss)
        left = total - main * main
        for n in range(n_post):
            after = h[n] - b[n] * main
            left += after * after - h[n] * h[n]
        fom[s] = 10.0 * math.log10(signal / (rest + mean_square * max(left, 0.0)))
    return fom, at


@njit(nogil=True, cache=True)
def walk_settings(
    fom: np.ndarray, low_gain: np.ndarray, gain: np.ndarray, steps: np.ndarray, swept: np.ndarray, reach: int
) -> int:
    """Flat index of the setting the task force's search ends at; -1 where none has a finite figure of merit.

    ``fom`` (n_ctle, n_tx) in the order of its loops; ``gain``, ``low_gain`` (n_ctle,): step of g_DC and g_DC2; ``steps`` (n_tx,
    n_taps): step of each tap from 0; ``swept``: taps with more than one value. Past the first step of the loop around it, a
    tap (or g_DC2) more than ``reach`` steps from the best so far is skipped.
    """
    best = -1
    n_tx = fom.shape[1]
    for c in range(fom.shape[0]):
        for x in range(n_tx):
            if best >= 0:
                skip = False
                near = best % n_tx
                for k in swept:
                    outer = low_gain[c] if k == 0 else steps[x, k - 1]
                    if outer > 0 and abs(steps[x, k] - steps[near, k]) > reach:
                        skip = True
                        break
                if not skip and gain[c] > 0 and abs(low_gain[c] - low_gain[best // n_tx]) > reach:
                    skip = True
                if skip:
                    continue
            value = fom[c, x]
            if value > -np.inf and (best < 0 or value > fom[best // n_tx, best % n_tx]):
                best = c * n_tx + x
    return best


# --- optical sources (channels.vcsel) ---


@njit(nogil=True, cache=True)
def rate_equations(
    current: np.ndarray, n_steps: int, h: float, state: np.ndarray, parameters: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Photon density at each sample of ``current`` by ``n_steps`` Runge-Kutta steps of length ``h``, current linear between.

    ``state``: carriers, photons, current before. ``parameters``: eta/(q V), 1/tau_n, 1/tau_p, g0, N_tr, eps, Gamma, beta.
    """
    pump, loss_n, loss_s, gain = parameters[0], parameters[1], parameters[2], parameters[3]
    transparency, compression, confinement, beta = parameters[4], parameters[5], parameters[6], parameters[7]
    photons = np.empty(current.size)
    n, s, last = state[0], state[1], state[2]
    for i in range(current.size):
        rise = (current[i] - last) / n_steps
        for k in range(n_steps):
            sum_n = 0.0
            sum_s = 0.0
            d_n = 0.0
            d_s = 0.0
            for stage in range(4):
                share = 0.0 if stage == 0 else (1.0 if stage == 3 else 0.5)
                weight = 1.0 if stage == 0 or stage == 3 else 2.0
                a = n + share * h * d_n
                b = s + share * h * d_s
                stimulated = gain * (a - transparency) * b / (1.0 + compression * b)
                d_n = pump * (last + (k + share) * rise) - loss_n * a - stimulated
                d_s = confinement * (stimulated + beta * loss_n * a) - loss_s * b
                sum_n += weight * d_n
                sum_s += weight * d_s
            n += h / 6.0 * sum_n
            s = max(s + h / 6.0 * sum_s, 0.0)
        last = current[i]
        photons[i] = s
    return photons, np.array([n, s, last])


# --- Channel Operating Margin, receiver FFE (serdes.com_ffe) ---


@njit(nogil=True, cache=True)
def best_feedback(g0: float, g1: float, gb: float, n_feedback: int, low: float, high: float) -> tuple[float, float]:
    """Feedback tap within limits and relative squared error that [[g0, g1], [g1, gb]] = [h0, hb]' R^-1 [h0, hb] allows."""
    if n_feedback == 0:
        return 0.0, 1.0 / g0 - 1.0
    curve = 1.0 - gb + g1 * g1 / g0
    b = min(max(g1 / g0 / curve, low), high) if curve > 0.0 else (high if g1 > 0.0 else low)
    return b, (1.0 - g1 * b) ** 2 / g0 + b * b * (1.0 - gb) - 1.0


@njit(nogil=True, cache=True, fastmath=True)
def bound_ffe(
    pulse: np.ndarray, centre: int, taps: np.ndarray, before: int, m: int, first: int, last: int, shape: np.ndarray,
    signal: np.ndarray, jitter: np.ndarray, rest: np.ndarray, quantiser: float, n_large: int, cosine: np.ndarray,
    n_feedback: int, low: float, high: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Relative squared error that no receiver FFE can beat, (n_set, n_phases), and the index of each pulse's peak (n_set,).

    A periodic FFE with as many taps as the spectra have points, without limits. ``shape`` (n_set, n_f): |H_ffe|^2; ``signal``,
    ``jitter``, ``rest`` (m, n_f): spectra by phase over half a period, the first two before the transmitter's taps.
    ``quantiser``: noise per squared range; the range is at least the sum of ``n_large`` samples.
    """
    n_set, n_taps = taps.shape
    n_f = shape.shape[1]
    error = np.empty((n_set, last - first + 1))
    peaks = np.empty(n_set, np.int64)
    reach = 4 * m
    buffer = np.empty(2 * reach + 1)
    for s in range(n_set):
        buffer[:] = 0.0
        for k in range(n_taps):
            c = taps[s, k]
            if c != 0.0:
                start = centre - reach - (k - before) * m
                for i in range(buffer.size):
                    buffer[i] += c * pulse[start + i]
        peak = 0
        for i in range(buffer.size):
            if buffer[i] > buffer[peak]:
                peak = i
        peaks[s] = centre - reach + peak
        for o in range(first, last + 1):
            at = peaks[s] + o
            span = 0.0
            for j in range(n_large):
                value = 0.0
                for k in range(n_taps):
                    value += taps[s, k] * pulse[at + (j - 3 - k + before) * m]
                span += abs(value)
            phase = at % m
            added = quantiser * span * span
            g0 = 0.0
            g1 = 0.0
            for i in range(n_f):
                wanted = shape[s, i] * signal[phase, i]
                part = wanted / (wanted + shape[s, i] * jitter[phase, i] + rest[phase, i] + added)
                g0 += part
                g1 += part * cosine[i]
            # the ends of the half period count once, the points between twice
            for i in (0, n_f - 1):
                wanted = shape[s, i] * signal[phase, i]
                part = wanted / (wanted + shape[s, i] * jitter[phase, i] + rest[phase, i] + added)
                g0 -= 0.5 * part
                g1 -= 0.5 * part * cosine[i]
            g0 /= n_f - 1
            g1 /= n_f - 1
            error[s, o - first] = best_feedback(g0, g1, g0, n_feedback, low, high)[1]
    return error, peaks


@njit(nogil=True, cache=True, fastmath=True)
def toeplitz_gram(lags: np.ndarray, h0: np.ndarray, hb: np.ndarray, work: np.ndarray) -> tuple[float, float, float]:
    """[h0, hb]' R^-1 [h0, hb] of the symmetric Toeplitz R with first row ``lags`` (Durbin 1960); ``work`` (2, n) is scratch."""
    n = h0.size
    a, old = work[0], work[1]
    power = lags[0]
    g0 = h0[0] * h0[0] / power
    g1 = h0[0] * hb[0] / power
    gb = hb[0] * hb[0] / power
    a[0] = 1.0
    for k in range(1, n):
        # forward predictor of order k; its mirror image predicts backwards
        gap = lags[k]
        for i in range(1, k):
            gap += a[i] * lags[k - i]
        mirror = -gap / power
        for i in range(1, k):
            old[i] = a[i]
        for i in range(1, k):
            a[i] = old[i] + mirror * old[k - i]
        a[k] = mirror
        power *= 1.0 - mirror * mirror
        p0 = 0.0
        pb = 0.0
        for i in range(k + 1):
            p0 += a[k - i] * h0[i]
            pb += a[k - i] * hb[i]
        g0 += p0 * p0 / power
        g1 += p0 * pb / power
        gb += pb * pb / power
    return g0, g1, gb


@njit(nogil=True, cache=True)
def extend_factor(
    factor: np.ndarray, lags: np.ndarray, places: np.ndarray, start: int, n: int, h0: np.ndarray, hb: np.ndarray, y: np.ndarray
) -> None:
    """Rows ``start`` .. n of the Cholesky factor L of R[places, places] and of y = L^-1 [h0, hb] (n, 2); others are kept."""
    for i in range(start, n):
        y0 = h0[places[i]]
        y1 = hb[places[i]]
        for j in range(i + 1):
            value = lags[abs(places[i] - places[j])]
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = math.sqrt(max(value, 1e-300))
            else:
                factor[i, j] = value / factor[j, j]
                y0 -= factor[i, j] * y[j, 0]
                y1 -= factor[i, j] * y[j, 1]
        y[i, 0] = y0 / factor[i, i]
        y[i, 1] = y1 / factor[i, i]


@njit(nogil=True, cache=True)
def limited_taps(
    factor: np.ndarray, y: np.ndarray, lags: np.ndarray, places: np.ndarray, n: int, n_fixed: int, main: int, h0: np.ndarray,
    hb: np.ndarray, n_feedback: int, low: float, high: float, limit: float, float_limit: float, w: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """Taps of least error on ``places``, clipped to limits relative to the main one (178A-26); writes ``w`` (n,).

    Returns (relative squared error, feedback tap). The first ``n_fixed`` taps have ``limit``, the others ``float_limit``.
    """
    g0 = 0.0
    g1 = 0.0
    gb = 0.0
    for i in range(n):
        g0 += y[i, 0] * y[i, 0]
        g1 += y[i, 0] * y[i, 1]
        gb += y[i, 1] * y[i, 1]
    if g0 <= 0.0:
        return np.inf, 0.0
    b, error = best_feedback(g0, g1, gb, n_feedback, low, high)
    scale = (1.0 - b * g1) / g0
    for i in range(n - 1, -1, -1):
        value = scale * y[i, 0] + b * y[i, 1]
        for k in range(i + 1, n):
            value -= factor[k, i] * w[k]
        w[i] = value / factor[i, i]
    top = w[main]
    if top <= 0.0:
        return np.inf, b
    clipped = False
    for i in range(n):
        most = (limit if i < n_fixed else float_limit) * top
        if i != main and abs(w[i]) > most:
            w[i] = math.copysign(most, w[i])
            clipped = True
    if not clipped:
        return error, b
    cursor = 0.0
    for i in range(n):
        cursor += w[i] * h0[places[i]]
    if cursor <= 0.0:
        return np.inf, b
    next_cursor = 0.0
    for i in range(n):
        w[i] /= cursor
        next_cursor += w[i] * hb[places[i]]
    b = min(max(next_cursor, low), high) if n_feedback else 0.0
    error = 1.0 + b * b - 2.0 - 2.0 * b * next_cursor
    for i in range(n):
        value = 0.0
        for k in range(n):
            value += lags[abs(places[i] - places[k])] * w[k]
        error += w[i] * value
    return error, b


@njit(nogil=True, cache=True)
def solve_ffe(
    lags: np.ndarray, h0: np.ndarray, hb: np.ndarray, n_fixed: int, main: int, n_groups: int, width: int, limit: float,
    float_limit: float, n_feedback: int, low: float, high: float, w: np.ndarray, places: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """Fixed and floating taps of the receiver FFE, group by group where each gives the least error (178A.1.8).

    ``lags`` (n_w,) first row of R; ``h0``, ``hb`` (n_w,). Writes ``w`` and ``places`` (n_fixed + n_groups width,). Returns
    (relative squared error, feedback tap).
    """
    n_w = h0.size
    most = n_fixed + n_groups * width
    factor = np.zeros((most, most))
    y = np.zeros((most, 2))
    trial = np.zeros(most)
    for i in range(n_fixed):
        places[i] = i
    extend_factor(factor, lags, places, 0, n_fixed, h0, hb, y)
    n = n_fixed
    taken = np.zeros(n_w, np.bool_)
    for _ in range(n_groups):
        best = np.inf
        chosen = -1
        for start in range(n_fixed, n_w - width + 1):
            free = True
            for i in range(width):
                free = free and not taken[start + i]
                places[n + i] = start + i
            if not free:
                continue
            extend_factor(factor, lags, places, n, n + width, h0, hb, y)
            error = limited_taps(
                factor, y, lags, places, n + width, n_fixed, main, h0, hb, n_feedback, low, high, limit, float_limit, trial
            )[0]
            if error < best:
                best = error
                chosen = start
        if chosen < 0:
            break
        for i in range(width):
            places[n + i] = chosen + i
            taken[chosen + i] = True
        extend_factor(factor, lags, places, n, n + width, h0, hb, y)
        n += width
    w[:] = 0.0
    return limited_taps(factor, y, lags, places, n, n_fixed, main, h0, hb, n_feedback, low, high, limit, float_limit, w)


@njit(nogil=True, cache=True)
def ffe_lags(
    tx: np.ndarray, signal: np.ndarray, jitter: np.ndarray, rest: np.ndarray, transmitter: float, far: np.ndarray, n_w: int,
    lags: np.ndarray,
) -> float:  # fmt: skip
    """First row of R = H'H + R_nn / sigma_X^2 without the quantiser, into ``lags`` (n_w,); returns the noise at lag 0.

    ``tx`` (n_taps,): autocorrelation of the transmitter's taps; ``signal``, ``jitter`` (n,): of the pulse and its jitter noise
    at this phase; ``transmitter``: share of ``signal`` that is transmitter noise; ``far`` (n_agg, m, n): far-end aggressors by
    phase, of which the one with the most power counts.
    """
    n_t = tx.size
    own = 0.0
    for lag in range(n_w):
        value = tx[0] * (signal[lag] + jitter[lag])
        for d in range(1, n_t):
            if tx[d] != 0.0:
                value += tx[d] * (signal[lag + d] + signal[abs(lag - d)] + jitter[lag + d] + jitter[abs(lag - d)])
        lags[lag] = value + transmitter * signal[lag] + rest[lag]
    own = tx[0] * signal[0]
    for d in range(1, n_t):
        own += 2.0 * tx[d] * signal[d]
    for k in range(far.shape[0]):
        best = -1.0
        phase = 0
        for p in range(far.shape[1]):
            power = tx[0] * far[k, p, 0]
            for d in range(1, n_t):
                power += 2.0 * tx[d] * far[k, p, d]
            if power > best:
                best = power
                phase = p
        for lag in range(n_w):
            value = tx[0] * far[k, phase, lag]
            for d in range(1, n_t):
                value += tx[d] * (far[k, phase, lag + d] + far[k, phase, abs(lag - d)])
            lags[lag] += value
    return lags[0] - own


@njit(nogil=True, cache=True)
def evaluate_ffe(
    entries: np.ndarray, pulses: np.ndarray, taps: np.ndarray, autos: np.ndarray, before: int, m: int, signal: np.ndarray,
    jitter: np.ndarray, rest: np.ndarray, transmitter: float, far: np.ndarray, quantiser: np.ndarray, n_large: int, n_w: int,
    n_fixed: int, main: int, n_groups: int, width: int, limit: float, float_limit: float, n_feedback: int, low: float,
    high: float, least: float, exact: bool,
) -> np.ndarray:  # fmt: skip
    """Relative squared error of every entry (CTLE, transmitter setting, sampling index), (n,).

    ``quantiser`` (n,): its noise over sigma_X^2; where negative, minus the noise per squared range, which is bounded from below
    by the sum of ``n_large`` samples. An entry whose error with all ``n_w`` taps free exceeds ``least`` gets that bound;
    ``exact`` solves it all the same.
    """
    out = np.empty(entries.shape[0])
    lags = np.empty(n_w)
    work = np.empty((2, n_w))
    h0 = np.empty(n_w)
    hb = np.empty(n_w)
    n_most = n_fixed + n_groups * width
    w = np.empty(n_most)
    places = np.empty(n_most, np.int64)
    n_taps = taps.shape[1]
    for e in range(entries.shape[0]):
        c, s, at = entries[e, 0], entries[e, 1], entries[e, 2]
        pulse = pulses[c]
        phase = at % m
        ffe_lags(autos[s], signal[c, phase], jitter[c, phase], rest[c], transmitter, far[c], n_w, lags)
        added = quantiser[e]
        if added < 0.0:
            span = 0.0
            for j in range(n_large):
                value = 0.0
                for k in range(n_taps):
                    value += taps[s, k] * pulse[at + (j - 3 - k + before) * m]
                span += abs(value)
            added = -added * span * span
        lags[0] += added
        for i in range(n_w):
            value = 0.0
            after = 0.0
            for k in range(n_taps):
                t = taps[s, k]
                if t != 0.0:
                    place = at + (main - i - k + before) * m
                    value += t * pulse[place]
                    after += t * pulse[place + m]
            h0[i] = value
            hb[i] = after
        g0, g1, gb = toeplitz_gram(lags, h0, hb, work)
        out[e] = best_feedback(g0, g1, gb, n_feedback, low, high)[1]
        if exact or out[e] <= least:
            out[e] = solve_ffe(
                lags, h0, hb, n_fixed, main, n_groups, width, limit, float_limit, n_feedback, low, high, w, places
            )[0]  # fmt: skip
    return out


# --- optical measurements (serdes.tdecq) ---


@njit(nogil=True, cache=True)
def threshold_histogram(
    x: np.ndarray, w: np.ndarray, symbols: np.ndarray, thresholds: np.ndarray, first: float, width: float, n_bins: int
) -> np.ndarray:
    """Counts of the distances of equalised samples to the thresholds beside their level, in bins from ``first`` on.

    ``x`` (places, n, n_taps) samples under the taps ``w``; ``symbols`` (n,). Distances below the first bin fall into it, those
    above the last are left out.
    """
    counts = np.zeros(n_bins)
    top = thresholds.size
    for p in range(x.shape[0]):
        for i in range(x.shape[1]):
            z = 0.0
            for j in range(x.shape[2]):
                z += w[j] * x[p, i, j]
            level = int(symbols[i])
            if level < top:
                k = int(max((thresholds[level] - z - first) / width, 0.0))
                if k < n_bins:
                    counts[k] += 1.0
            if level > 0:
                k = int(max((z - thresholds[level - 1] - first) / width, 0.0))
                if k < n_bins:
                    counts[k] += 1.0
    return counts


@njit(nogil=True, cache=True)
def threshold_gradient(
    x: np.ndarray, w: np.ndarray, symbols: np.ndarray, thresholds: np.ndarray, first: float, width: float, weights: np.ndarray
) -> np.ndarray:
    """Sum over the same distances of ``weights`` (by bin) times the distance's derivative by each tap, shape (n_taps,)."""
    total = np.zeros(w.size)
    top = thresholds.size
    n_bins = weights.size
    for p in range(x.shape[0]):
        for i in range(x.shape[1]):
            z = 0.0
            for j in range(x.shape[2]):
                z += w[j] * x[p, i, j]
            level = int(symbols[i])
            amount = 0.0
            if level < top:
                k = int(max((thresholds[level] - z - first) / width, 0.0))
                if k < n_bins:
                    amount -= weights[k]
            if level > 0:
                k = int(max((z - thresholds[level - 1] - first) / width, 0.0))
                if k < n_bins:
                    amount += weights[k]
            if amount != 0.0:
                for j in range(x.shape[2]):
                    total[j] += amount * x[p, i, j]
    return total


# --- coherent receiver (dsp.butterfly, dsp.carrier) ---


@njit(nogil=True, cache=True, fastmath=True)
def butterfly(
    xr: np.ndarray, xi: np.ndarray, wr: np.ndarray, wi: np.ndarray, radii: np.ndarray, step: float, rows: int, out: np.ndarray
) -> None:
    """Adaptive 2x2 equaliser on two samples a symbol, y_i[k] = sum_jt w[i, j, t] x[j, 2 k + t]; taps change in place.

    Error y (R - |y|^2) with the squared radius R of ``radii`` nearest in magnitude: one radius is the constant-modulus
    algorithm. The first ``rows`` outputs adapt. ``out``: (2, n) complex.
    """
    n_taps = wr.shape[2]
    middle = 0.5 * (np.sqrt(radii[1:]) + np.sqrt(radii[:-1]))
    for k in range(out.shape[1]):
        at = 2 * k
        for i in range(2):
            re = 0.0
            im = 0.0
            for j in range(2):
                for t in range(n_taps):
                    re += wr[i, j, t] * xr[j, at + t] - wi[i, j, t] * xi[j, at + t]
                    im += wr[i, j, t] * xi[j, at + t] + wi[i, j, t] * xr[j, at + t]
            out[i, k] = complex(re, im)
            if i >= rows:
                continue
            size = re * re + im * im
            ring = 0
            for m in range(middle.size):
                if size > middle[m] * middle[m]:
                    ring = m + 1
            gain = step * (radii[ring] - size)
            gain = min(max(gain, -4 * step), 4 * step)
            er = gain * re
            ei = gain * im
            for j in range(2):
                for t in range(n_taps):
                    wr[i, j, t] += er * xr[j, at + t] + ei * xi[j, at + t]
                    wi[i, j, t] += ei * xr[j, at + t] - er * xi[j, at + t]


@njit(nogil=True, cache=True, fastmath=True)
def normal_equations(
    xr: np.ndarray, xi: np.ndarray, wanted: np.ndarray, n_taps: int, every: int, gram: np.ndarray, cross: np.ndarray
) -> None:
    """Sums over every ``every``-th symbol: v v^H in ``gram``, wanted v^H in ``cross``; v is what `butterfly`'s taps see."""
    m = 2 * n_taps
    vr = np.empty(m)
    vi = np.empty(m)
    re = np.zeros((m, m))
    im = np.zeros((m, m))
    for k in range(0, wanted.shape[1], every):
        for j in range(2):
            for t in range(n_taps):
                vr[j * n_taps + t] = xr[j, 2 * k + t]
                vi[j * n_taps + t] = xi[j, 2 * k + t]
        for a in range(m):
            ar = vr[a]
            ai = vi[a]
            for b in range(a + 1):
                re[a, b] += ar * vr[b] + ai * vi[b]
                im[a, b] += ai * vr[b] - ar * vi[b]
        for i in range(2):
            for b in range(m):
                cross[i, b] += wanted[i, k] * complex(vr[b], -vi[b])
    for a in range(m):
        for b in range(a + 1):
            gram[a, b] = complex(re[a, b], im[a, b])
            gram[b, a] = complex(re[a, b], -im[a, b])


@njit(nogil=True, cache=True, error_model="numpy")
def blind_phase(yr: np.ndarray, yi: np.ndarray, n_side: int, spacing: float, n_angles: int, half: int, out: np.ndarray) -> None:
    """Phase [rad] of each symbol to a multiple of pi/2, without jumps of more than pi/4, by trial of ``n_angles`` rotations.

    Squared distances to the nearest point of a square constellation are summed over ``half`` symbols on either side; the angle
    of least distance is interpolated by a parabola.
    """
    n = yr.size
    width = 2 * half + 1
    cosines = np.empty(n_angles)
    sines = np.empty(n_angles)
    for b in range(n_angles):
        angle = 0.5 * math.pi * b / n_angles - 0.25 * math.pi
        cosines[b] = math.cos(angle)
        sines[b] = math.sin(angle)
    ring = np.zeros((width, n_angles))
    total = np.zeros(n_angles)
    top = 0.5 * (n_side - 1)
    scale = 1.0 / spacing
    previous = 0.0
    for k in range(n + half):
        row = k % width
        if k < n:
            for b in range(n_angles):
                re = scale * (yr[k] * cosines[b] + yi[k] * sines[b])
                im = scale * (yi[k] * cosines[b] - yr[k] * sines[b])
                dr = re - (min(max(math.floor(re + top + 0.5), 0.0), 2 * top) - top)
                di = im - (min(max(math.floor(im + top + 0.5), 0.0), 2 * top) - top)
                d = dr * dr + di * di
                total[b] += d - ring[row, b]
                ring[row, b] = d
        else:
            for b in range(n_angles):
                total[b] -= ring[row, b]
                ring[row, b] = 0.0
        if k >= half:
            best = 0
            for b in range(1, n_angles):
                if total[b] < total[best]:
                    best = b
            left = total[best - 1] if best > 0 else total[n_angles - 1]
            right = total[best + 1] if best + 1 < n_angles else total[0]
            bend = left - 2 * total[best] + right
            place = best + (0.5 * (left - right) / bend if bend > 0 else 0.0)
            angle = 0.5 * math.pi * place / n_angles - 0.25 * math.pi
            angle += 0.5 * math.pi * math.floor((previous - angle) / (0.5 * math.pi) + 0.5)
            out[k - half] = angle
            previous = angle
