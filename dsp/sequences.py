"""Test patterns: pseudo-random bits and the PAM4 patterns PRBS13Q, PRBS31Q and SSPRQ; random symbols.

Bits are 0 and 1 (uint8); symbols are indices, 0 the lowest level. A shift register is a whole number whose bit k - 1 is
stage k, stage 1 being the newest bit.
"""

from __future__ import annotations

import numpy as np

from dsp import check
from dsp.constellation import pam

# Stages added for the next bit; (order, b) is the polynomial x^order + x^b + 1. 7, 9, 11, 15, 23, 31: ITU-T O.150 and
# IEEE 802.3; 13: IEEE 802.3 94.3.10.8, 1 + x + x^2 + x^12 + x^13.
TAPS = {7: (7, 6), 9: (9, 5), 11: (11, 9), 13: (13, 12, 2, 1), 15: (15, 14), 23: (23, 18), 31: (31, 28)}

# Register S1 .. S13 = 0000010101011, the start of lane 0 in IEEE 802.3 94.3.10.8.
_PRBS13_SEED = int("0000010101011"[::-1], 2)
# Seed and length in bits of the three PRBS31 sections of SSPRQ, IEEE 802.3 120.5.11.2.3.
_SSPRQ_SECTIONS = ((0x00000002, 10924), (0x34013FF7, 10922), (0x0CCCCCCC, 10922))


def prbs_block(order: int, n: int, state: int) -> tuple[np.ndarray, int]:
    """The next ``n`` bits of the maximal-length sequence of ``order`` from register ``state``, and the register after them.

    Blocks of any size give the same stream. Orders: the keys of `TAPS`. The bits are the recurrence's own, not inverted.
    """
    from dsp import kernels

    check.one_of("prbs", "order", order, TAPS)
    check.count("prbs", "n", n)
    check.count("prbs", "state", state, 1, 2**order - 1, hint="an empty register never leaves 0")
    bits, after = kernels.lfsr(int(n), int(state), np.array(TAPS[order], np.int64), int(order))
    return bits, int(after)


def prbs(order: int, n: int | None = None, *, seed: int = 1, invert: bool = False) -> np.ndarray:
    """``n`` bits (one period, 2^order - 1, by default) of the pseudo-random sequence of ``order``, shape (n,), uint8.

    ``seed``: register before the first bit. ``invert``: complement, as ITU-T O.150 and IEEE 802.3 transmit PRBS 15, 23 and 31.
    """
    check.one_of("prbs", "order", order, TAPS)
    bits, _ = prbs_block(order, 2**order - 1 if n is None else n, seed)
    return 1 - bits if invert else bits


def prbs13q(seed: int = _PRBS13_SEED) -> np.ndarray:
    """One period of PRBS13Q, 8191 PAM4 indices: two PRBS13 periods in Gray-coded pairs (IEEE 802.3 120.5.11.2.1).

    The default ``seed`` gives the start of the standard's example; any other is a rotation of it.
    """
    return pam(4).map_bits(prbs(13, 2 * (2**13 - 1), seed=seed))


def prbs31q_block(n_symbols: int, state: int = 2**31 - 1) -> tuple[np.ndarray, int]:
    """The next ``n_symbols`` PAM4 indices of PRBS31Q and the register after them (IEEE 802.3 120.5.11.2.2).

    Gray-coded pairs of the inverted PRBS31. The period, 2^31 - 1 symbols, is too long to hold, hence blocks.
    """
    check.count("prbs31q_block", "n_symbols", n_symbols)
    bits, after = prbs_block(31, 2 * n_symbols, state)
    return pam(4).map_bits(1 - bits), after


def ssprq() -> np.ndarray:
    """The short-stress pattern SSPRQ, 65535 PAM4 indices (IEEE 802.3 120.5.11.2.3).

    Three sections of inverted PRBS31 (register stages S0 .. S30, S0 in the seed's least significant bit) make A. The pattern is
    A, A with levels turned over, A shifted by one bit, and that turned over.
    """
    gray = pam(4)
    a = np.concatenate([prbs(31, length, seed=seed, invert=True) for seed, length in _SSPRQ_SECTIONS])
    b = np.concatenate([a, a])[1:-1]
    parts = gray.map_bits(a), 3 - gray.map_bits(a), gray.map_bits(b[:32766]), 3 - gray.map_bits(b[-32768:])
    return np.concatenate(parts)


def random_symbols(n: int, n_levels: int, rng: np.random.Generator) -> np.ndarray:
    """``n`` independent, equally likely indices below ``n_levels``, shape (n,)."""
    check.count("random_symbols", "n", n)
    check.count("random_symbols", "n_levels", n_levels, 2)
    return rng.integers(n_levels, size=n)
