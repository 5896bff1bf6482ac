"""Loops over the taps of an equaliser."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath=True)
def confine(taps: np.ndarray, main: int, ratio: float) -> float:
    """Limit the taps but ``main`` to ``ratio`` (1e300: none) times that one; the sum of their magnitudes before."""
    size = 0.0
    for t in range(taps.size):
        size += abs(taps[t])
    if ratio < 1e300:
        most = ratio * abs(taps[main])
        for t in range(taps.size):
            if t != main:
                taps[t] = min(max(taps[t], -most), most)
    return size
