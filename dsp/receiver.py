"""The baud-rate receiver as a signal: sampler, converter, equaliser with feedback, decisions and the timing loop around them.

One compiled loop with modes (`dsp.kernels.receive`); the state is passed, never kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dsp import check, timing
from dsp.constellation import Constellation
from dsp.equalizer import Taps

UNKNOWN = 255
"""Place holder among known symbol indices: decide by the slicer."""


@dataclass(frozen=True, kw_only=True)
class ReceiverLoop:
    """Settings of the loop.

    ``samples_per_symbol``: of the waveform, any number from 2. ``taps``: at the start. ``timing_gains``: proportional and
    integral gain [UI per detector unit], (0, 0) for fixed instants. ``latency``: symbols by which a correction is late,
    besides the wait for the decision; the integral path is limited to +-1 % of the symbol rate. ``converter_step``,
    ``full_scale`` [V]: uniform mid-rise quantiser that saturates, step 0 for none.
    ``feed_forward_step`` [1/V^2], ``feedback_step``: of the least-mean-square adaptation, 0 for frozen taps. ``jittered``:
    each sampling instant is displaced, and `step` must be given by how much.
    """

    samples_per_symbol: float
    constellation: Constellation
    taps: Taps
    timing_gains: tuple[float, float] = (0.0, 0.0)
    latency: int = 0
    converter_step: float = 0.0
    full_scale: float = 0.0
    feed_forward_step: float = 0.0
    feedback_step: float = 0.0
    jittered: bool = False

    def __post_init__(self) -> None:
        check.between(self, "samples_per_symbol", self.samples_per_symbol, 2, 1024)
        check.instance(self, "constellation", self.constellation, Constellation)
        if not self.constellation.is_real or self.constellation.n > UNKNOWN:
            raise check.fail(self, "constellation", f"real with at most {UNKNOWN} points", self.constellation.n)
        check.instance(self, "taps", self.taps, Taps)
        check.numbers(self, "timing_gains", self.timing_gains, 2)
        check.count(self, "latency", self.latency, 0)
        check.not_negative(self, "converter_step", self.converter_step, "V")
        check.not_negative(self, "full_scale", self.full_scale, "V")
        check.not_negative(self, "feed_forward_step", self.feed_forward_step)
        check.not_negative(self, "feedback_step", self.feedback_step)
        check.instance(self, "jittered", self.jittered, bool)

    @property
    def ahead(self) -> int:
        """Samples that must be there beyond an instant before it is taken: a displacement of 1 UI, half an eye, the taps."""
        return math.ceil(1.5 * self.samples_per_symbol) + timing.N_TAPS


@dataclass(frozen=True, kw_only=True, eq=False)
class ReceiverState:
    """Where the loop stands: what is left of the inputs, position, delay lines, taps. See `dsp.kernels.receive`."""

    wave: np.ndarray
    jitter: np.ndarray
    known: np.ndarray
    counts: np.ndarray
    values: np.ndarray
    feed_forward: np.ndarray
    feedback: np.ndarray
    line: np.ndarray
    past: np.ndarray
    late: np.ndarray

    @property
    def phase_ui(self) -> float:
        """Sum of all timing corrections so far [UI]."""
        return float(self.values[2])

    @property
    def drift_ui(self) -> float:
        """Frequency correction of the integral path [UI per symbol]."""
        return float(self.values[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Received:
    """What one block gave. Decisions lag samples by the pre-cursors: the n-th decision of a run belongs to its n-th sample.

    By decision: ``equalized`` (outer levels at +-1), ``index`` (uint8). By sample: ``phase_ui``, the corrections so far, and
    the instant in ``wave``, whole samples ``at`` and the rest ``beyond``, jitter included.
    """

    equalized: np.ndarray
    index: np.ndarray
    phase_ui: np.ndarray
    wave: np.ndarray
    at: np.ndarray
    beyond: np.ndarray


def start(loop: ReceiverLoop, first_sample: float) -> ReceiverState:
    """State before the waveform begins; its instant ``first_sample`` [samples, 0 or more] will be the first taken."""
    check.not_negative("start", "first_sample", first_sample, "samples")
    lead = loop.ahead
    n_pre = loop.taps.n_precursors
    n_line = max(len(loop.taps.feed_forward), n_pre + 2)
    whole = math.floor(first_sample)
    return ReceiverState(
        wave=np.zeros(lead),
        jitter=np.zeros(0),
        known=np.zeros(0, np.uint8),
        counts=np.array([lead + whole, 0, 0, 0, 0], np.int64),
        values=np.array([first_sample - whole, 0.0, 0.0]),
        feed_forward=np.array(loop.taps.feed_forward, float),
        feedback=np.array(loop.taps.feedback, float),
        line=np.zeros(2 * n_line),
        past=np.zeros(2 * max(len(loop.taps.feedback), 1)),
        late=np.zeros(max(loop.latency, 1)),
    )


def step(
    loop: ReceiverLoop,
    wave: np.ndarray,
    state: ReceiverState,
    jitter_ui: np.ndarray | None = None,
    known: np.ndarray | None = None,
    compiled: bool = True,
) -> tuple[Received, ReceiverState]:
    """Next block of ``wave`` (n,) [V], any n. Any division into blocks gives the same numbers, bit by bit.

    ``jitter_ui``: displacement [UI, later is positive, limited to +-1] of the next samples not yet provided for; a ``jittered``
    loop waits for it. ``known``: indices of the next symbols in order of decision, which then stand in for decisions in
    feedback, timing and adaptation (255: decide); to be given before they are decided. ``compiled`` False runs the same
    loop in plain Python.
    """
    from dsp import kernels

    run = kernels.receive if compiled else kernels.receive.py_func
    if loop.jittered is (jitter_ui is None):
        raise check.fail("step", "jitter_ui", "given exactly when the loop is jittered", jitter_ui)
    buffer = np.concatenate((state.wave, np.asarray(wave, float)))
    jitter = np.concatenate((state.jitter, np.asarray([] if jitter_ui is None else jitter_ui, float)))
    names = np.concatenate((state.known, np.asarray([] if known is None else known, np.uint8)))
    new = ReceiverState(**{name: np.array(value) for name, value in vars(state).items()})
    limit = max(int((buffer.size - state.counts[0]) / (loop.samples_per_symbol * 0.5)) + 2, 1)
    at, beyond, phase = np.empty(limit, np.int64), np.empty(limit), np.empty(limit)
    equalized, index = np.empty(limit), np.empty(limit, np.uint8)
    whole = math.floor(loop.samples_per_symbol)
    settings = (
        loop.samples_per_symbol - whole, *loop.timing_gains, loop.converter_step, loop.full_scale,
        loop.feed_forward_step, loop.feedback_step,
    )  # fmt: skip
    modes = (whole, loop.taps.n_precursors, loop.latency, int(loop.jittered))
    n_samples, n_decided = run(
        buffer, jitter, names, loop.ahead, *timing.table_for(loop.samples_per_symbol),
        loop.constellation.thresholds, loop.constellation.array, np.array(settings), np.array(modes, np.int64),
        new.counts, new.values, new.feed_forward, new.feedback, new.line, new.past, new.late,
        at, beyond, phase, equalized, index,
    )  # fmt: skip
    done = max(int(new.counts[0]) - loop.ahead, 0)
    drop = min(done, buffer.size)
    new.counts[0] -= drop
    received = Received(
        equalized=equalized[:n_decided],
        index=index[:n_decided],
        phase_ui=phase[:n_samples],
        wave=buffer,
        at=at[:n_samples],
        beyond=beyond[:n_samples],
    )
    rest = replace(new, wave=buffer[drop:].copy(), jitter=jitter[n_samples:], known=names[n_decided:])
    return received, rest
