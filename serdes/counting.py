"""Accumulators of the time-domain engine: errors, windows of the lock detector (three numbers each), eye."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dsp import timing
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
        self._trial = np.zeros((0, 2 + 2 * LAGS), np.uint8)
        self._open = np.zeros((3, 0))
        self._windows: list[np.ndarray] = []

    @property
    def mean_square_error(self) -> float:
        """Of the counted decision variables about the levels that were sent, in squared symbol units."""
        return self._square / (self.end - self.settle)

    def windows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """By window of the lock detector: mean-square error about the decided level, mean phase [UI], rms about that [UI]."""
        rows = np.concatenate([np.zeros((0, 3)), *self._windows])
        return rows[:, 0], rows[:, 1], rows[:, 2]

    def take(self, sent: np.ndarray, received: Received) -> tuple[np.ndarray, int]:
        """Count a block: ``sent`` joins the queue, ``received`` is compared. Returns the true symbols of its decisions and
        how many decisions there were before.
        """
        n, begin = received.index.size, self.decided
        # a loop that runs away decides more symbols than were sent: zeros stand for those to come
        short = max(n + 2 * LAGS - self._sent.size - sent.size, 0)
        self._sent = np.concatenate((self._sent, sent, np.zeros(short, np.uint8)))
        self._align(received.index)
        truth = self._sent[LAGS - self.lag : LAGS - self.lag + n]
        wrong = received.index != truth
        use = slice(min(max(self.settle - begin, 0), n), min(max(self.end - begin, 0), n))
        self.symbol_errors += int(np.count_nonzero(wrong[use]))
        self.bit_errors += int(np.sum(self.distance[truth[use], received.index[use]]))
        self._square += float(np.sum((received.equalized[use] - self.levels[truth[use]]) ** 2))
        self._watch(received, wrong, begin, use.stop)
        self._sent = self._sent[n:]
        self.decided += n
        return truth, begin

    def _align(self, index: np.ndarray) -> None:
        """Find the lag from the last decisions before the count."""
        first = max(self.settle - _TRIAL - self.decided, 0)
        last = min(self.settle - self.decided, index.size)
        if last <= first:
            return
        around = np.lib.stride_tricks.sliding_window_view(self._sent[: last + 2 * LAGS], 2 * LAGS + 1)[first:last]
        self._trial = np.concatenate((self._trial, np.concatenate((index[first:last, None], around), axis=1)))
        if self.decided + last < self.settle:
            return
        levels = self.levels[self._trial]
        levels = levels - levels.mean(axis=0)
        power = np.sqrt(np.sum(levels**2, axis=0))
        correlation = levels[:, 0] @ levels[:, 1:] / np.maximum(power[0] * power[1:], 1e-300)
        best = int(np.argmax(correlation))
        self.lag, self.correlation = LAGS - best, float(correlation[best])

    def _watch(self, received: Received, wrong: np.ndarray, begin: int, end: int) -> None:
        """Close the windows that are complete; those of the count also tell whether the alignment was lost."""
        n = received.index.size
        error = (received.equalized - self.levels[received.index]) ** 2
        counted = begin + np.arange(n) >= self.settle
        fresh = np.stack((error, received.phase_ui[received.phase_ui.size - n :], wrong & counted))
        rows = np.concatenate((self._open, fresh[:, :end]), axis=1)
        full = rows.shape[1] // self.window * self.window
        error, phase, lost = rows[:, :full].reshape(3, -1, self.window)
        self._windows.append(np.stack((error.mean(axis=1), phase.mean(axis=1), phase.std(axis=1)), axis=1))
        self.slipped += int(np.sum(lost.mean(axis=1) > 0.9 * (1 - 1 / self.n)))
        self._open = rows[:, full:]


class EyeCounter:
    """Histogram of the equalised waveform around the sampling instants, by the symbol sent: a virtual eye."""

    def __init__(self, engine: TimeDomain, loop: ReceiverLoop) -> None:
        self.loop, self.settle, self.counted = loop, engine.settle, 0
        self.wanted = min(engine.eye_symbols, engine.n_symbols)
        self.ui = (np.arange(engine.n_phases) - engine.n_phases // 2) / engine.n_phases
        self.counts = np.zeros((loop.constellation.n, engine.n_phases, engine.n_bins), np.int64)
        self._skip = loop.taps.n_precursors
        n_past, n_taps = len(loop.taps.feedback), len(loop.taps.feed_forward)
        self._past = np.zeros(n_past)
        self._before = np.zeros((engine.n_phases, n_taps - 1))

    def take(self, received: Received, state: ReceiverState, truth: np.ndarray, begin: int) -> None:
        """Add the counted decisions of a block, until there are enough."""
        from dsp import kernels

        if self.counted >= self.wanted:
            return
        m = self.loop.samples_per_symbol
        rows = np.stack([timing.interpolate(received.wave, received.at, received.beyond + u * m, m) for u in self.ui])
        taps = state.feed_forward
        extended = np.concatenate((self._before, rows), axis=1)
        n = rows.shape[1]
        z = sum(w * extended[:, taps.size - 1 - k : taps.size - 1 - k + n] for k, w in enumerate(taps))
        self._before = extended[:, n:]
        # decisions lag samples by the pre-cursors: the first columns of all belong to no decision
        skip = min(self._skip, n)
        self._skip -= skip
        z = z[:, skip:]
        decided = self.loop.constellation.array[received.index]
        past = np.concatenate((self._past, decided))
        n_past = self._past.size
        for k, b in enumerate(state.feedback, start=1):
            z = z - b * past[n_past - k : n_past - k + decided.size]
        self._past = past[past.size - n_past :]
        use = slice(min(max(self.settle - begin, 0), truth.size), None)
        symbols = truth[use][: self.wanted - self.counted]
        kernels.count_eye(self.counts, np.ascontiguousarray(z[:, use][:, : symbols.size]), symbols, SPAN)
        self.counted += symbols.size

    def eye(self, point: OperatingPoint) -> Eye:
        """What was counted, as densities."""
        total = self.counts.sum(axis=2, keepdims=True)
        rate = point.link.symbol_rate
        return Eye(
            time=self.ui / rate,
            voltage=np.linspace(-SPAN, SPAN, self.counts.shape[2]),
            density=self.counts / np.maximum(total, 1),
            levels=self.loop.constellation.array,
            symbol_time=1 / rate,
            source="time domain",
            virtual=True,
            floor=self.loop.constellation.n / self.counted,
        )
