"""Loops of sequence detection."""

from __future__ import annotations

import numpy as np
from numba import njit

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
