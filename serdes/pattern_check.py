"""A run's decisions against a test pattern, by a checker that knows nothing but the pattern."""

from __future__ import annotations

import numpy as np

from dsp.checker import Checked, ErrorChecker, Position
from dsp.patterns import LONGEST, Pattern
from serdes.link import Transmitter


class PatternCheck:
    """Gathers decisions until the pattern can be found, then checks them as they come.

    Raises ValueError for a pattern with other levels than ``tx`` sends.
    """

    def __init__(self, pattern: str | tuple[int, ...], tx: Transmitter) -> None:
        self.pattern = Pattern(of=pattern)
        n = tx.constellation.n
        if self.pattern.n_levels != n and not (isinstance(pattern, tuple) and self.pattern.n_levels < n):
            fitting = ", ".join(("PRBS13Q", "PRBS31Q", "SSPRQ") if n == 4 else ("PRBS7 to PRBS31",) if n == 2 else ("a tuple",))
            raise ValueError(
                f"TimeDomain.pattern must have the {n} levels of the transmitter ({fitting}), got {self.pattern.name} with "
                f"{self.pattern.n_levels}"
            )
        self._checker = ErrorChecker(pattern=pattern, precoded=tx.precoded)
        # a whole period tells places apart that a part of it may not
        self._wanted = (
            4 * self._checker.shortest if self.pattern.order else max(4 * self._checker.shortest, self.pattern.length)
        )
        self._wanted = min(self._wanted, LONGEST)
        self._waiting: list[np.ndarray] = []
        self._held = 0
        self._seen = 0
        self._position: Position | None = None
        self._found: Checked | None = None

    def take(self, decided: np.ndarray) -> None:
        """The next decisions (n,), uint8."""
        self._waiting.append(decided)
        self._held += decided.size
        if self._held >= (self._wanted if self._position is None else 1):
            self._found = self._check(self._found)

    def _check(self, before: Checked | None) -> Checked:
        symbols = np.concatenate([np.zeros(0, np.uint8), *self._waiting])
        now, self._position = self._checker.step(symbols, self._position)
        found = now if before is None else before.and_then(now, self._seen)
        self._seen += symbols.size
        self._waiting, self._held = [], 0
        return found

    def result(self) -> Checked:
        """What was found, those that still wait included."""
        found = self._check(self._found) if self._held or self._found is None else self._found
        self._found = found
        return found
