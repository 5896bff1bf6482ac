"""Loops of the coherent receiver."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


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
