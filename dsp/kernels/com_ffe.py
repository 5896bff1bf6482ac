"""Loops of the Channel Operating Margin with a receiver feed-forward equaliser."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def best_feedback(g0: float, g1: float, gb: float, n_feedback: int, low: float, high: float) -> tuple[float, float]:
    """Feedback tap within limits and relative squared error that [[g0, g1], [g1, gb]] = [h0, hb]' R^-1 [h0, hb] allows."""
    if n_feedback == 0:
        return 0.0, 1.0 / g0 - 1.0
    curve = 1.0 - gb + g1 * g1 / g0
    b = min(max(g1 / g0 / curve, low), high) if curve > 0.0 else (high if g1 > 0.0 else low)
    return b, (1.0 - g1 * b) ** 2 / g0 + b * b * (1.0 - gb) - 1.0


@njit(nogil=True, cache=True)
def _least_range(pulse: np.ndarray, taps: np.ndarray, at: int, before: int, m: int, n_large: int) -> float:
    """What the quantiser's range is at least: the sum of ``n_large`` samples of the transmitted pulse, from 3 before ``at``."""
    total = 0.0
    for j in range(n_large):
        value = 0.0
        for k in range(taps.size):
            value += taps[k] * pulse[at + (j - 3 - k + before) * m]
        total += abs(value)
    return total


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
            span = _least_range(pulse, taps[s], at, before, m, n_large)
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
            span = _least_range(pulse, taps[s], at, before, m, n_large)
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
