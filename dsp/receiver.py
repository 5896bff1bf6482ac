"""The baud-rate receiver as a signal: sampler, converter, equaliser with feedback, decisions and the timing loop around them.

One compiled loop with modes (`dsp.kernels.receive`); the state is passed, never kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dsp import check, timing
from dsp.constellation import Constellation
from dsp.converter import LaneMismatch
from dsp.equalizer import Taps

UNKNOWN = 255
"""Place holder among known symbol indices: decide by the slicer."""
RULES = ("frozen", "lms", "sign-lms", "cma")
DETECTORS = ("none", "mueller-muller", "gardner", "bang-bang")
RUNAWAY = 1e3
"""Growth of the taps' sum of magnitudes at which they count as run away and are held."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """How the taps adapt for the first ``n_symbols`` decisions not covered by the stages before; None: to the end.

    ``rule``: "frozen"; "lms", least mean square on decided levels (B. Widrow and M. E. Hoff, 1960); "sign-lms", with the sign
    of the error; "cma", constant modulus (D. N. Godard, IEEE Trans. Commun. 28, 1980), which needs neither decisions nor
    symbols, but leaves feedback alone. Steps of feed-forward taps [1/V^2 for "lms"], feedback taps, and of the levels that
    thresholds lie between.
    """

    rule: str = "frozen"
    feed_forward_step: float = 0.0
    feedback_step: float = 0.0
    level_step: float = 0.0
    n_symbols: int | None = None

    def __post_init__(self) -> None:
        check.one_of(self, "rule", self.rule, RULES)
        check.not_negative(self, "feed_forward_step", self.feed_forward_step)
        check.not_negative(self, "feedback_step", self.feedback_step)
        check.between(self, "level_step", self.level_step, 0, 1)
        if self.n_symbols is not None:
            check.count(self, "n_symbols", self.n_symbols, 1)


@dataclass(frozen=True, kw_only=True)
class ReceiverLoop:
    """Settings of the loop.

    ``samples_per_symbol``: of the waveform, any number from 2. ``taps``: at the start. ``detector``: of timing errors.
    ``timing_gains``: proportional and integral gain [UI per detector unit], (0, 0) for fixed instants; ``acquire_gains``: those
    from when the mean square of the decision error is above ``lost`` (inf: never) until it is below 3/4 of that. ``timing_bias``: taken from each output of the detector. ``latency``: symbols by which a correction is late, besides the wait for the decision; the integral path is limited to +-1 % of the symbol rate.
    ``update``: symbols between two corrections of clock and taps, 1 for each symbol; a parallel receiver has 32 or 64, which
    costs as much delay. ``converter_step``, ``full_scale`` [V]: uniform mid-rise quantiser that saturates, step 0 for none;
    ``mismatch`` of its lanes. ``stages``: of the adaptation. ``feedback_limits``: of the feedback taps; ``tap_limit``: of the
    others over the main one. ``jittered``, ``paced``, ``noisy``: each instant is displaced, the next one is not 1 UI on, each
    sample gets noise, and `step` must be given by how much. ``traced``: positions are wanted, too.
    """

    samples_per_symbol: float
    constellation: Constellation
    taps: Taps
    detector: str = "mueller-muller"
    timing_gains: tuple[float, float] = (0.0, 0.0)
    acquire_gains: tuple[float, float] = (0.0, 0.0)
    lost: float = math.inf
    timing_bias: float = 0.0
    latency: int = 0
    update: int = 1
    converter_step: float = 0.0
    full_scale: float = 0.0
    mismatch: LaneMismatch | None = None
    stages: tuple[Stage, ...] = (Stage(),)
    feedback_limits: tuple[float, float] = (-2.0, 2.0)
    tap_limit: float | None = None
    jittered: bool = False
    paced: bool = False
    noisy: bool = False
    traced: bool = True

    def __post_init__(self) -> None:
        check.between(self, "samples_per_symbol", self.samples_per_symbol, 2, 1024)
        check.instance(self, "constellation", self.constellation, Constellation)
        if not self.constellation.is_real or self.constellation.n > UNKNOWN:
            raise check.fail(self, "constellation", f"real with at most {UNKNOWN} points", self.constellation.n)
        check.instance(self, "taps", self.taps, Taps)
        check.one_of(self, "detector", self.detector, DETECTORS)
        check.numbers(self, "timing_gains", self.timing_gains, 2)
        check.numbers(self, "acquire_gains", self.acquire_gains, 2)
        if self.lost != math.inf:
            check.positive(self, "lost", self.lost)
        check.finite(self, "timing_bias", self.timing_bias)
        check.count(self, "latency", self.latency, 0)
        check.count(self, "update", self.update, 1, 4096)
        check.not_negative(self, "converter_step", self.converter_step, "V")
        check.not_negative(self, "full_scale", self.full_scale, "V")
        if self.mismatch is not None:
            check.instance(self, "mismatch", self.mismatch, LaneMismatch)
        if not isinstance(self.stages, tuple) or not self.stages:
            raise check.fail(self, "stages", "a tuple of one or more Stage", self.stages)
        for i, stage in enumerate(self.stages):
            check.instance(self, f"stages[{i}]", stage, Stage)
        check.numbers(self, "feedback_limits", self.feedback_limits, 2)
        if self.tap_limit is not None:
            check.positive(self, "tap_limit", self.tap_limit)
        for name in ("jittered", "paced", "noisy", "traced"):
            check.instance(self, name, getattr(self, name), bool)

    @property
    def closed(self) -> bool:
        """Whether the instants follow the detector."""
        return self.detector != "none" and self.timing_gains[0] != 0

    @property
    def noise_per_symbol(self) -> int:
        """Noise values that `step` wants for each symbol: 2 where the detector looks half way between, else 1."""
        return 2 if self.closed and DETECTORS.index(self.detector) >= 2 else 1

    @property
    def ahead(self) -> int:
        """Samples that must be there beyond the instants of an update: a displacement of 1 UI, half an eye, the taps."""
        return math.ceil((1.03 * (self.update - 1) + 2.0) * self.samples_per_symbol) + timing.N_TAPS

    @property
    def lead(self) -> int:
        """Samples that are kept before an instant; where positions are wanted, those under the taps, too."""
        before = max(len(self.taps.feed_forward), self.taps.n_precursors + len(self.taps.feedback)) + 1 if self.traced else 0
        return math.ceil((2.0 + before) * self.samples_per_symbol) + timing.N_TAPS


@dataclass(frozen=True, kw_only=True, eq=False)
class ReceiverState:
    """Where the loop stands: what is left of the inputs, position, delay lines, taps. See `dsp.kernels.receive`."""

    wave: np.ndarray
    jitter: np.ndarray
    pace: np.ndarray
    noise: np.ndarray
    known: np.ndarray
    counts: np.ndarray
    values: np.ndarray
    feed_forward: np.ndarray
    feedback: np.ndarray
    levels: np.ndarray
    line: np.ndarray
    between: np.ndarray
    past: np.ndarray
    late: np.ndarray
    origin: int

    @property
    def phase_ui(self) -> float:
        """Sum of all timing corrections and of all ``pace`` so far [UI]."""
        return float(self.values[2])

    @property
    def drift_ui(self) -> float:
        """Frequency correction of the integral path [UI per symbol]."""
        return float(self.values[1])

    @property
    def ran_away(self) -> bool:
        """Whether the taps grew without bound, and were stopped."""
        return bool(self.counts[4])


@dataclass(frozen=True, kw_only=True, eq=False)
class Received:
    """What one block gave. Decisions lag samples by the pre-cursors: the n-th decision of a run belongs to its n-th sample.

    By decision: ``equalized`` (outer levels at +-1), ``index`` (uint8). By sample: ``phase_ui``, the corrections so far, and
    the instant in ``wave``, whole samples ``at`` and the rest ``beyond``, jitter included (empty where not traced); ``noise``
    [V] that was added, empty for none. ``origin``: samples of the run before ``wave``.
    """

    equalized: np.ndarray
    index: np.ndarray
    phase_ui: np.ndarray
    wave: np.ndarray
    at: np.ndarray
    beyond: np.ndarray
    noise: np.ndarray
    origin: int


def start(loop: ReceiverLoop, first_sample: float) -> ReceiverState:
    """State before the waveform begins; its instant ``first_sample`` [samples, 0 or more] will be the first taken."""
    check.not_negative("start", "first_sample", first_sample, "samples")
    lead = loop.lead
    n_line = max(len(loop.taps.feed_forward), loop.taps.n_precursors + 2)
    whole = math.floor(first_sample)
    return ReceiverState(
        wave=np.zeros(lead),
        jitter=np.zeros(0),
        pace=np.zeros(0),
        noise=np.zeros(0),
        known=np.zeros(0, np.uint8),
        counts=np.array([lead + whole, 0, 0, 0, 0], np.int64),
        values=np.array([first_sample - whole, 0.0, 0.0, 0.0, 0.0, 0.0]),
        feed_forward=np.array(loop.taps.feed_forward, float),
        feedback=np.array(loop.taps.feedback, float),
        levels=loop.constellation.array,
        line=np.zeros(n_line),
        between=np.zeros(n_line),
        past=np.zeros(max(len(loop.taps.feedback), 1)),
        late=np.zeros(max(loop.latency, 1)),
        origin=-lead,
    )


def step(
    loop: ReceiverLoop,
    wave: np.ndarray,
    state: ReceiverState,
    jitter_ui: np.ndarray | None = None,
    known: np.ndarray | None = None,
    compiled: bool = True,
    pace_ui: np.ndarray | None = None,
    noise: np.ndarray | None = None,
) -> tuple[Received, ReceiverState]:
    """Next block of ``wave`` (n,) [V], any n; float32 is taken as it is. Any division into blocks gives the same numbers, bit by bit.

    ``jitter_ui``: displacement [UI, later is positive, limited to +-1] of the next samples not yet provided for; a ``jittered``
    loop waits for it. ``pace_ui``: by how much more than 1 UI of the waveform lies between a sample and the next, as when the
    transmitter wanders. ``noise`` [V]: added to the samples, `ReceiverLoop.noise_per_symbol` values each. ``known``: indices
    of the next symbols in order of decision, which then stand in for decisions in feedback, timing and adaptation (255:
    decide); to be given before they are decided. ``compiled`` False runs the same loop in plain Python.
    """
    from dsp import kernels

    run: Any = kernels.receive if compiled else kernels.receive.py_func
    given = {"jittered": ("jitter_ui", jitter_ui), "paced": ("pace_ui", pace_ui), "noisy": ("noise", noise)}
    for mode, (name, values) in given.items():
        if getattr(loop, mode) is (values is None):
            raise check.fail("step", name, f"given exactly when the loop is {mode}", values)
    wave = np.asarray(wave)
    wave = wave if wave.dtype == np.float32 else wave.astype(float)
    buffer = np.concatenate((state.wave.astype(wave.dtype), wave))
    jitter, pace, draws = (
        np.concatenate((old, np.asarray([] if new is None else new, float)))
        for old, new in ((state.jitter, jitter_ui), (state.pace, pace_ui), (state.noise, noise))
    )
    names = state.known if known is None else np.concatenate((state.known, np.asarray(known, np.uint8)))
    kept = ("counts", "values", "feed_forward", "feedback", "levels", "line", "between", "past", "late")
    fresh = {name: np.array(getattr(state, name)) for name in kept}
    limit = max(int((buffer.size - state.counts[0]) / (loop.samples_per_symbol * 0.5)) + 2 * loop.update, 1)
    n_traced = limit if loop.traced else 0
    at, beyond, phase = np.empty(n_traced, np.int64), np.empty(n_traced), np.empty(limit)
    equalized, index = np.empty(limit), np.empty(limit, np.uint8)
    modulus = _modulus(loop.constellation.array)
    settings = (
        loop.samples_per_symbol, *loop.timing_gains, *loop.acquire_gains, loop.lost, loop.timing_bias, loop.converter_step, loop.full_scale,
        modulus,
    )  # fmt: skip
    modes = (
        loop.update, loop.taps.n_precursors, loop.latency, DETECTORS.index(loop.detector) if loop.closed else 0,
        loop.jittered, loop.paced, loop.noisy, loop.traced, loop.ahead,
    )  # fmt: skip
    most = RUNAWAY * max(float(np.sum(np.abs(loop.taps.feed_forward))), 1e-300)
    limits = (*loop.feedback_limits, 1e300 if loop.tap_limit is None else loop.tap_limit, most)
    n_samples, n_decided = run(
        buffer, jitter, pace, draws, names, *timing.table_for(loop.samples_per_symbol), _lanes(loop.mismatch, loop.full_scale),
        loop.constellation.array, np.array(limits, float), _stage_table(loop.stages), np.array(settings, float),
        np.array(modes, np.int64), *(fresh[name] for name in kept), at, beyond, phase, equalized, index,
    )  # fmt: skip
    drop = min(max(int(fresh["counts"][0]) - loop.lead, 0), buffer.size)
    fresh["counts"][0] -= drop
    n_at = n_samples if loop.traced else 0
    received = Received(
        equalized=equalized[:n_decided],
        index=index[:n_decided],
        phase_ui=phase[:n_samples],
        wave=buffer,
        at=at[:n_at],
        beyond=beyond[:n_at],
        noise=draws[loop.noise_per_symbol - 1 : n_samples * loop.noise_per_symbol : loop.noise_per_symbol],
        origin=state.origin,
    )
    rest = replace(
        state, wave=buffer[drop:].copy(), jitter=jitter[n_samples:], pace=pace[n_samples:],
        noise=draws[n_samples * loop.noise_per_symbol :], known=names[n_decided:], origin=state.origin + drop, **fresh,
    )  # fmt: skip
    return received, rest


def _modulus(levels: np.ndarray) -> float:
    """Godard's constant E a^4 / E a^2 of the levels."""
    return float(np.mean(levels**4) / np.mean(levels**2))


def _lanes(mismatch: LaneMismatch | None, full_scale: float) -> np.ndarray:
    """Gain, offset [V] and skew [UI] of each lane, shape (n_lanes, 3)."""
    if mismatch is None:
        return np.array([[1.0, 0.0, 0.0]])
    return np.stack([1 + np.array(mismatch.gain), full_scale * np.array(mismatch.offset), np.array(mismatch.skew_ui)], axis=1)


def _stage_table(stages: tuple[Stage, ...]) -> np.ndarray:
    """Rows as the kernel wants them: last decision, rule, steps."""
    rows, until = [], 0.0
    for stage in stages:
        until = math.inf if stage.n_symbols is None else until + stage.n_symbols
        rows.append((min(until, 1e18), RULES.index(stage.rule), stage.feed_forward_step, stage.feedback_step, stage.level_step))
    return np.array(rows)
