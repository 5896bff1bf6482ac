"""Accumulators of the time-domain engine: errors, windows of the lock detector, eyes. Their size does not grow with the
symbols.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dsp import timing
from dsp.constellation import Constellation
from dsp.receiver import Received, ReceiverLoop, ReceiverState
from serdes.eye import Eye

LAGS = 32
"""Symbols to either side of the expected delay among which sent and decided symbols are aligned."""
SPAN = 2.0
"""Half the voltage range of a counted eye, in outer levels."""
MOST_ERRORS = 1_000_000
"""Errors whose places are kept."""
_TRIAL = 2048
"""Decisions by which they are aligned."""
_CHUNK = 8192
"""Decisions whose eyes are accumulated at a time."""
_FINE = 32
"""Values a symbol, at least, between which the waveform of an eye is read."""
STAGES = ("sampler", "equalizer", "slicer")


class ErrorLog:
    """Counts wrong decisions from number ``first`` to ``last``, and keeps where they were and by how many levels.

    ``precoded``: symbols are decoded (1+D) before they are compared, so one wrong decision alone counts twice.
    """

    def __init__(self, constellation: Constellation, first: int, last: int, precoded: bool = False) -> None:
        self.first, self.last, self.precoded = first, last, precoded
        self.n, self.distance = constellation.n, constellation.bit_distance
        self.taken = 0
        self.symbol_errors = 0
        self.bit_errors = 0
        self.places: list[np.ndarray] = []
        self.signed: list[np.ndarray] = []
        self.raw_errors = 0
        self._kept = 0
        self._before = (0, 0)

    @property
    def trials(self) -> int:
        """Decisions counted so far."""
        return max(min(self.taken, self.last) - self.first, 0)

    def take(self, decided: np.ndarray, truth: np.ndarray, wrong: np.ndarray | None = None) -> None:
        """The next decisions and what was sent; ``wrong`` where it is known already (outside the count: False)."""
        n, begin = decided.size, self.taken
        if wrong is None:
            wrong = decided != truth
            wrong[: max(self.first - begin, 0)] = False
            wrong[max(self.last - begin, 0) :] = False
        at = np.flatnonzero(wrong)
        raw = decided[at].astype(np.int8) - truth[at].astype(np.int8)
        symbols, bits = at.size, int(np.sum(self.distance[truth[at], decided[at]]))
        if self.precoded and n:
            # an error spoils its own symbol and the next one
            near = np.unique(np.concatenate((at, at + 1, [0])))
            near = near[near < n]
            pairs = [self._decoded(v, near, b) for v, b in zip((decided, truth), self._before, strict=True)]
            counted = (near + begin >= self.first) & (near + begin < self.last)
            symbols = int(np.count_nonzero((pairs[0] != pairs[1]) & counted))
            bits = int(np.sum(self.distance[pairs[1][counted], pairs[0][counted]]))
            self._before = (int(decided[-1]), int(truth[-1]))
        if self._kept < MOST_ERRORS and at.size:
            self.places.append(at + begin - self.first)
            self.signed.append(raw)
            self._kept += at.size
        self.taken, self.raw_errors = begin + n, self.raw_errors + at.size
        self.symbol_errors, self.bit_errors = self.symbol_errors + symbols, self.bit_errors + bits

    def _decoded(self, values: np.ndarray, at: np.ndarray, before: int) -> np.ndarray:
        earlier = np.where(at > 0, values[np.maximum(at - 1, 0)], before)
        return (values[at].astype(np.int64) + earlier) % self.n

    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Places of the wrong decisions among those counted, and by how many levels (before precoding is undone)."""
        if not self.places:
            return np.zeros(0, np.int64), np.zeros(0, np.int8)
        return np.concatenate(self.places), np.concatenate(self.signed)


class Tally:
    """Compares decisions with sent symbols; aligned in the ``settle`` decisions before the count."""

    def __init__(self, constellation: Constellation, settle: int, n_symbols: int, window: int, precoded: bool = False) -> None:
        self.settle, self.end, self.window = settle, settle + n_symbols, window
        self.levels, self.n = constellation.array, constellation.n
        self.log = ErrorLog(constellation, settle, settle + n_symbols, precoded)
        self.decided = 0
        self.slipped = 0
        self.correlation = 0.0
        self.lag = 0
        self._square = 0.0
        # what was sent, from LAGS symbols before the next decision on
        self._sent = np.zeros(LAGS, np.uint8)
        self._trial = np.zeros((0, 2 + 2 * LAGS), np.uint8)
        self._carry = np.zeros(6)
        self._windows: list[np.ndarray] = []

    @property
    def mean_square_error(self) -> float:
        """Of the counted decision variables about the levels that were sent, in squared symbol units; nan before any."""
        counted = max(min(self.decided, self.end) - self.settle, 0)
        return self._square / counted if counted else float("nan")

    def windows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """By window of the lock detector: mean-square error about the decided level, mean phase [UI], rms about that [UI]."""
        rows = np.concatenate([np.zeros((0, 4)), *self._windows])
        return rows[:, 0], rows[:, 1], rows[:, 2]

    def take(self, sent: np.ndarray, received: Received) -> tuple[np.ndarray, np.ndarray, int]:
        """Compare a block: ``sent`` joins the queue, ``received`` is taken from it.

        Returns the true symbols of its decisions, where they are wrong (within the count), and how many decisions there were
        before.
        """
        from dsp import kernels

        n, begin = received.index.size, self.decided
        # a loop that runs away decides more symbols than were sent: zeros stand for those to come
        short = max(n + 2 * LAGS - self._sent.size - sent.size, 0)
        self._sent = np.concatenate((self._sent, sent, np.zeros(short, np.uint8)))
        self._align(received.index)
        truth = self._sent[LAGS - self.lag : LAGS - self.lag + n]
        wrong = np.empty(n, np.bool_)
        rows = np.empty((n // self.window + 1, 4))
        phase = received.phase_ui[received.phase_ui.size - n :]
        first, last = max(self.settle - begin, 0), max(self.end - begin, 0)
        n_rows, square = kernels.tally(
            received.equalized, received.index, truth, phase, self.levels, first, last, self.window, self._carry, rows, wrong
        )
        self._windows.append(rows[:n_rows])
        self.slipped += int(np.sum(rows[:n_rows, 3] > 0.9 * (1 - 1 / self.n)))
        self._sent = self._sent[n:]
        self._square, self.decided = self._square + square, begin + n
        return truth, wrong, begin

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


@dataclass(frozen=True, kw_only=True, eq=False)
class _Waiting:
    """What came and was not counted yet: waveform from sample ``origin`` of the run on, by sample and by decision."""

    wave: np.ndarray
    origin: int
    at: np.ndarray
    beyond: np.ndarray
    noise: np.ndarray
    index: np.ndarray
    truth: np.ndarray


class EyeCounter:
    """Histograms of the waveform around the sampling instants at three stages, all of the same symbols.

    "sampler" [V]: before the equaliser; "equalizer": behind the feed-forward taps; "slicer": with feedback, too. The last two
    are virtual, the taps applied to the analogue waveform. ``span`` [V]: half the range of the first.
    """

    def __init__(self, loop: ReceiverLoop, settle: int, wanted: int, n_phases: int, n_bins: int, span: float) -> None:
        self.loop, self.wanted, self.counted = loop, wanted, 0
        self.ui = (np.arange(n_phases) - n_phases // 2) / n_phases
        self.spans = np.array([span, SPAN, SPAN])
        self.counts = np.zeros((3, loop.constellation.n, n_phases, n_bins), np.int64)
        n_post = len(loop.taps.feed_forward) - 1 - loop.taps.n_precursors
        self._margin = max(n_post, len(loop.taps.feedback))
        self._next = max(settle, self._margin)  # number of the next decision to count
        self._from = 0  # number of the first sample and decision that is kept
        self._kept: _Waiting | None = None

    def take(self, received: Received, state: ReceiverState, truth: np.ndarray) -> None:
        """Add the counted decisions of a block, until there are enough."""
        if self.counted >= self.wanted:
            return
        kept = self._joined(received, truth)
        decisions = self._from + kept.index.size
        last = min(decisions, self._next + self.wanted - self.counted)
        enough = last - self._next + self.counted >= self.wanted
        if last > self._next and (enough or last - self._next >= _CHUNK):
            self._count(kept, state, self._next - self._from, last - self._from)
            self.counted += last - self._next
            self._next = last
        drop = max(min(self._next - self._margin - self._from, kept.index.size), 0)
        self._from += drop
        cut = max(int(kept.at[drop] - self.loop.lead - kept.origin), 0) if drop < kept.at.size else 0
        self._kept = _Waiting(
            wave=kept.wave[cut:], origin=kept.origin + cut, at=kept.at[drop:], beyond=kept.beyond[drop:],
            noise=kept.noise[drop:], index=kept.index[drop:], truth=kept.truth[drop:],
        )  # fmt: skip

    def _joined(self, received: Received, truth: np.ndarray) -> _Waiting:
        kept, at = self._kept, received.at + received.origin
        if kept is None:
            return _Waiting(
                wave=received.wave, origin=received.origin, at=at, beyond=received.beyond, noise=received.noise,
                index=received.index, truth=truth,
            )  # fmt: skip
        wave, origin = received.wave, received.origin
        if kept.at.size and kept.at[0] - 2 * self.loop.samples_per_symbol - timing.N_TAPS < origin:
            wave, origin = np.concatenate((kept.wave, wave[kept.origin + kept.wave.size - origin :])), kept.origin
        return _Waiting(
            wave=wave,
            origin=origin,
            at=np.concatenate((kept.at, at)),
            beyond=np.concatenate((kept.beyond, received.beyond)),
            noise=np.concatenate((kept.noise, received.noise)),
            index=np.concatenate((kept.index, received.index)),
            truth=np.concatenate((kept.truth, truth)),
        )

    def _count(self, kept: _Waiting, state: ReceiverState, first: int, last: int) -> None:
        from dsp import kernels

        m, n_phases = self.loop.samples_per_symbol, self.ui.size
        # between neighbouring values of 32 a symbol a straight line is good to -50 dB
        stride = -(-_FINE // n_phases)
        n_fine = n_phases * stride
        margin = self._margin
        begin, end = first - margin, min(last + self.loop.taps.n_precursors + 1, kept.at.size)
        at = kept.at[begin:end] - kept.origin
        whole = int(np.min(at + np.floor(kept.beyond[begin:end])) - math.ceil(m))
        far = int(np.max(at + np.ceil(kept.beyond[begin:end])) + math.ceil(m))
        fine = timing.refined(kept.wave, m, whole, math.ceil((far - whole) / m) + 1, n_fine)
        kernels.count_eye(
            self.counts, fine, (at - whole + kept.beyond[begin:end]) * (n_fine / m), stride, kept.noise[begin:end],
            state.feed_forward.astype(np.float32), self.loop.taps.n_precursors, state.feedback.astype(np.float32),
            self.loop.constellation.array.astype(np.float32)[kept.index[begin:]], kept.truth[begin:], margin, margin + last - first,
            self.spans,
        )  # fmt: skip

    def eyes(self, symbol_rate: float, main_cursor: float) -> dict[str, Eye]:
        """What was counted, as densities, by stage."""
        found = {}
        for stage, counts, span in zip(STAGES, self.counts, self.spans, strict=True):
            analogue = stage == "sampler"
            found[stage] = Eye(
                time=self.ui / symbol_rate,
                voltage=np.linspace(-span, span, counts.shape[2]),
                density=counts / np.maximum(counts.sum(axis=2, keepdims=True), 1),
                levels=self.loop.constellation.array * (main_cursor if analogue else 1.0),
                symbol_time=1 / symbol_rate,
                source="time domain",
                unit="V" if analogue else "symbol level",
                virtual=not analogue,
                floor=self.loop.constellation.n / max(self.counted, 1),
            )
        return found
