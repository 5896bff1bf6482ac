"""Test patterns by name, sent and expected block by block from a place in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dsp import check
from dsp.constellation import pam
from dsp.sequences import TAPS, prbs, prbs13q, prbs_block, ssprq

_LONGEST_TABLE = 15
"""Orders up to this are held as a whole period, longer ones run their shift register."""
LONGEST = 2**17
"""Symbols of the longest period that is held."""
PATTERNS = (*(f"PRBS{order}" for order in sorted(TAPS)), "PRBS13Q", "PRBS31Q", "SSPRQ")
"""Names of the patterns of `dsp.sequences`."""


def check_pattern(owner: object, field: str, value: object) -> None:
    """Raises ValueError unless ``value`` is a name out of `PATTERNS` or a tuple of 2 to `LONGEST` indices, not all alike."""
    if not isinstance(value, tuple):
        check.one_of(owner, field, value, PATTERNS)
        return
    if len(value) < 2 or len(value) > LONGEST:
        raise check.fail(owner, field, f"from 2 to {LONGEST} symbols long", len(value))
    for i, symbol in enumerate(value):
        check.count(owner, f"{field}[{i}]", symbol, 0, 15)
    if len(set(value)) < 2:
        raise check.fail(owner, field, "more than one level", value[0])


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """``of``: a name out of `PATTERNS`, or one period as a tuple of symbol indices.

    A place in it is the index of the next symbol, or the shift register before it (PRBS23, PRBS31, PRBS31Q).
    """

    of: str | tuple[int, ...]

    def __post_init__(self) -> None:
        check_pattern(self, "of", self.of)

    @property
    def name(self) -> str:
        """Its name for people."""
        return self.of if isinstance(self.of, str) else f"a pattern of {len(self.of)} symbols"

    @property
    def n_levels(self) -> int:
        """Levels of a symbol: 4 for the PAM4 patterns, 2 for bits; a tuple has one more than its highest index."""
        if isinstance(self.of, tuple):
            return max(self.of) + 1
        return 4 if self.of.endswith("Q") else 2

    @property
    def order(self) -> int:
        """Order of the shift register, 0 for a pattern held as a table."""
        if isinstance(self.of, tuple) or not self.of.startswith("PRBS"):
            return 0
        order = int(self.of[4:].rstrip("Q"))
        return order if order > _LONGEST_TABLE else 0

    @property
    def length(self) -> int:
        """Symbols of one period."""
        return 2**self.order - 1 if self.order else self.table.size

    @property
    def table(self) -> np.ndarray:
        """One period, uint8, of a pattern without `order`."""
        return np.array(self.of, np.uint8) if isinstance(self.of, tuple) else _table(self.of)

    @property
    def first(self) -> int:
        """The place where it begins: the register full of ones, or the first symbol."""
        return 2**self.order - 1 if self.order else 0

    def block(self, n: int, place: int) -> tuple[np.ndarray, int]:
        """The next ``n`` symbol indices (uint8) from ``place``, and the place after them."""
        if self.order:
            width = 2 if self.n_levels == 4 else 1
            bits, place = prbs_block(self.order, width * n, place)
            return (pam(4).map_bits(1 - bits).astype(np.uint8) if width == 2 else bits), place
        table = self.table
        return np.resize(np.roll(table, -place), n), (place + n) % table.size


@lru_cache(maxsize=8)
def _table(name: str) -> np.ndarray:
    """One period of a pattern short enough to hold."""
    if name == "SSPRQ":
        period = ssprq()
    elif name == "PRBS13Q":
        period = prbs13q()
    else:
        period = prbs(int(name[4:]))
    period = period.astype(np.uint8)
    period.setflags(write=False)
    return period
