"""A number of ours beside the same number by others: what it is, where theirs comes from, how far apart they may be."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsp import check

ENVIRONMENT = "SERDES_REACH_REFERENCE_DATA"
"""Names the folder with reference data that the project does not ship."""
WITHIN, OUTSIDE, MISS, ABSENT = "within", "OUTSIDE", "known miss", "not here"
"""Verdicts: inside the allowed difference; outside it; outside it and explained; its reference data are not on this machine."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """One comparison as data.

    ``section`` and ``what`` name it, ``unit`` is that of all its numbers. ``reference``: their value, or (lowest, highest) where
    they give a range. ``ours`` computes our value. ``allowed``: largest difference from the value or from the range. ``test``:
    "module::function" under ``tests`` that holds it. ``needs``: file or folder of reference data it cannot do without. ``miss``:
    why it is known to lie outside.
    """

    section: str
    what: str
    unit: str
    reference: float | tuple[float, float]
    source: str
    ours: Callable[[], float]
    allowed: float
    test: str
    needs: str = ""
    miss: str = ""

    def __post_init__(self) -> None:
        for name in ("section", "what", "source"):
            check.instance(self, name, getattr(self, name), str)
            if not getattr(self, name).strip():
                raise check.fail(self, name, "a text", getattr(self, name))
        for name in ("unit", "needs", "miss"):
            check.instance(self, name, getattr(self, name), str)
        if isinstance(self.reference, tuple):
            if len(self.reference) != 2 or not self.reference[0] < self.reference[1]:
                raise check.fail(self, "reference", "a number or (lowest, highest)", self.reference)
        else:
            check.finite(self, "reference", self.reference)
        if not callable(self.ours):
            raise check.fail(self, "ours", "a function without arguments", self.ours)
        check.not_negative(self, "allowed", self.allowed)
        if not isinstance(self.test, str) or self.test.count("::") != 1:
            raise check.fail(self, "test", "module::function", self.test)

    def difference(self, value: float) -> float:
        """How far ``value`` lies from the reference; from the nearer end of a range, 0 inside it."""
        if isinstance(self.reference, tuple):
            low, high = self.reference
            return value - high if value > high else min(0.0, value - low)
        return value - self.reference

    def verdict(self, value: float) -> str:
        """`WITHIN`, `MISS` or `OUTSIDE`. A known miss that has come inside counts as within."""
        if abs(self.difference(value)) <= self.allowed:
            return WITHIN
        return MISS if self.miss and not math.isnan(value) else OUTSIDE

    def row(self, data: Path | None) -> dict[str, Any]:
        """Compare. ``data``: the folder of reference data; where what is needed is absent, the row says so."""
        low, high = self.reference if isinstance(self.reference, tuple) else (self.reference, self.reference)
        row: dict[str, Any] = {
            "section": self.section, "what": self.what, "unit": self.unit, "ours": None, "reference_low": low,
            "reference_high": high, "difference": None, "allowed": self.allowed, "verdict": ABSENT, "source": self.source,
            "test": self.test, "note": self.miss,
        }  # fmt: skip
        if self.needs and (data is None or not (data / self.needs).exists()):
            return row | {"note": f"needs {self.needs}"}
        value = float(self.ours())
        return row | {"ours": value, "difference": self.difference(value), "verdict": self.verdict(value)}


def data_folder() -> Path | None:
    """The folder that the environment names, None where it names none that exists."""
    given = os.environ.get(ENVIRONMENT)
    return Path(given) if given and Path(given).is_dir() else None
