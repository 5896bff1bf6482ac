"""Accumulators of the time-domain engine: errors, windows of the lock detector, eye. They grow with windows, not with symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dsp import convolution, timing
from dsp.constellation import Constellation
from dsp.receiver import Received, ReceiverLoop, ReceiverState
from serdes.eye import Eye
from serdes.operating_point import OperatingPoint

if TYPE_CHECKING:
    from serdes.time_domain import TimeDomain

LAGS = 32
"""Symbols to either side of the expected delay among which sent and decided symbols are aligned."""
SPAN = 2.0
"""Half the voltage range of a counted eye, in outer levels."""
_TRIAL = 2048
"""Decisions by which they are aligned."""


class Tally:
    """Counts errors of decisions against sent symbols; aligned in the ``settle`` decisions before the count."""

    def __init__(self, constellation: Constellation, settle: int, n_symbols: int, window: int) -> None:
        self.settle, self.end, self.window = settle, settle + n_symbols, window
        self.levels, self.distance, self.n = constellation.array, constellation.bit_distance, constellation.n
        self.decided = 0
        self.symbol_errors = 0
        self.bit_errors = 0
        self.slipped = 0
        self.correlation = 0.0
        self.lag = 0
        self._square = 0.0
        # what was sent, from LAGS symbols before the next decision on
        self._sent = np.zeros(LAGS, np.uint8)
        self._trial = np.zeros((0, 1 + 2 * LAGS), np.uint8)
        self._open = np.zeros((3, 0))
        self._windows: list[tuple[float, float, float]] = []

    @property
    def mean_square_error(self) -> float:
        """Of the counted decision variables about the levels that were sent, in squared symbol units."""
        return self._square / (self.end - self.settle)

    def windows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """By window of the lock detector: mean-square error about the decided level, mean phase [UI], rms phase about it [UI]."""
        rows = np.array(self._windows).reshape(-1, 3)
        return rows[:, 0], rows[:, 1], rows[:, 2]

    def take(self, sent: np.ndarray, received: Received) -> tuple[np.ndarray, int]:
        """Count a block: ``sent`` joins the queue, ``received`` is compared. Returns the true symbols of its decisions and
        how many decisions there were before.
        """
        n, begin = received.index.size, self.decided
        self._sent = np.concatenate((self._sent, sent))
        self._align(received.index)
        truth = self._sent[LAGS - self.lag : LAGS - self.lag + n]
        wrong = received.index != truth
        use = slice(min(max(self.settle - begin, 0), n), min(max(self.end - begin, 0), n))
        self.symbol_errors += int(np.count_nonzero(wrong[use]))
        self.bit_errors += int(np.sum(self.distance[truth[use], received.index[use]]))
        self._square += float(np.sum((received.equalized[use] - self.levels[truth[use]]) ** 2))
        self._watch(received, wrong, begin)
        self._sent = self._sent[n:]
        self.decided += n
        return truth, begin

    def _align(self, index: np.ndarray) -> None:
        """Find the lag from the last decisions before the count."""
        first = max(self.settle - _TRIAL - self.decided, 0)
        last = min(self.settle - self.decided, index.size)
        if last <= first:
            return
        around = np.lib.stride_tricks.sliding_window_view(self._sent, 2 * LAGS + 1)[first:last]
        rows = np.concatenate((index[first:last, None], np.resize(around, (last - first, 2 * LAGS + 1))), axis=1)
        self._trial = np.concatenate((self._trial[:, : rows.shape[1]].reshape(-1, rows.shape[1]), rows))
