"""Loops of `dsp.sequences`: shift registers."""

from __future__ import annotations

import numpy as np
from numba import njit


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
