"""Loops of `dsp.equalizer`: the least error at many sampling phases."""

from __future__ import annotations

import numpy as np
from numba import njit

from dsp.kernels.com_ffe import toeplitz_gram


@njit(nogil=True, cache=True)
def phase_grams(h: np.ndarray, main: np.ndarray, lags: np.ndarray, n_precursors: int) -> np.ndarray:
    """``(g0, g1, gb)`` of `toeplitz_gram` for every phase, shape (n_phases, 3).

    ``h`` (n_phases, window), taken as periodic; ``main`` (n_phases,): index of the main cursor; ``lags`` (n_phases, n_taps):
    first rows of the Toeplitz matrices. Columns are the pulse seen by the taps at the main cursor and one symbol later.
    """
    n_phases, window = h.shape
    n = lags.shape[1]
    out = np.empty((n_phases, 3))
    h0 = np.empty(n)
    hb = np.empty(n)
    work = np.empty((2, n))
    for p in range(n_phases):
        for i in range(n):
            at = (main[p] + n_precursors - i) % window
            h0[i] = h[p, at]
            hb[i] = h[p, (at + 1) % window]
        g0, g1, gb = toeplitz_gram(lags[p], h0, hb, work)
        out[p, 0] = g0
        out[p, 1] = g1
        out[p, 2] = gb
    return out
