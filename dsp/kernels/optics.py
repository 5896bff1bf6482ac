"""Loops of optical sources and measurements."""

from __future__ import annotations

import numpy as np
from numba import njit

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


# --- optical measurements (serdes.tdecq) ---


@njit(nogil=True, cache=True)
def _weighted(w: np.ndarray, x: np.ndarray) -> float:
    total = 0.0
    for j in range(w.size):
        total += w[j] * x[j]
    return total


@njit(nogil=True, cache=True)
def _bin(distance: float, first: float, width: float) -> int:
    """Bin of a distance; those below the first bin fall into it."""
    return int(max((distance - first) / width, 0.0))


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
            z = _weighted(w, x[p, i])
            level = int(symbols[i])
            if level < top:
                k = _bin(thresholds[level] - z, first, width)
                if k < n_bins:
                    counts[k] += 1.0
            if level > 0:
                k = _bin(z - thresholds[level - 1], first, width)
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
            z = _weighted(w, x[p, i])
            level = int(symbols[i])
            amount = 0.0
            if level < top:
                k = _bin(thresholds[level] - z, first, width)
                if k < n_bins:
                    amount -= weights[k]
            if level > 0:
                k = _bin(z - thresholds[level - 1], first, width)
                if k < n_bins:
                    amount += weights[k]
            if amount != 0.0:
                for j in range(x.shape[2]):
                    total[j] += amount * x[p, i, j]
    return total
