"""Loops of the Channel Operating Margin with a feedback equaliser."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


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
