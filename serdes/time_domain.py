"""The time-domain engine: signal faces with everything random, loops closed, errors counted, in blocks of constant size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dsp import check
from dsp.checker import Checked
from dsp.clock import LockDetector
from dsp.equalizer import Taps
from dsp.patterns import check_pattern
from dsp.units import db_power
from serdes.count_detail import Convergence, CountDetail
from serdes.counting import LAGS
from serdes.dead_links import dead
from serdes.link import Link
from serdes.metrics import ErrorCount
from serdes.noise_free import is_nonlinear
from serdes.operating_point import OperatingPoint, operating_point
from serdes.result import BasebandResult, Lock
from serdes.semi_analytic import SemiAnalytic
from serdes.stages import Adaptation
from serdes.stream_run import MOST_STRAIN, Run

Progress = Callable[[int, int], Any]
UNLOCKED = ("no signal", "overload", "not aligned", "cycle slip", "no lock", "unstable adaptation")
"""Outcomes in which a receiver can't be said to be locked."""


@dataclass(frozen=True, kw_only=True)
class TimeDomain:
    """Sends symbols through the signal faces and counts ``n_symbols`` decisions, after ``settle`` that do not count.

    ``samples_per_symbol``: of the waveforms, 2 or more, whole or not; channels that are not linear are run at 4 or more.
    ``max_errors``: symbol errors after which it may stop; ``precision``: it may stop when the 95 % confidence interval is
    no wider than this share of the error ratio; both are looked at after each block, None for never. ``n_training``: first
    symbols that the receiver knows. ``phase_error_ui``: how far from the settled phase it starts. ``adaptation``: normalised
    step of the taps' least-mean-square adaptation, 0 leaves them as settled; or stages (`serdes.stages`), the last of which
    goes on. ``cold``: it starts from the main tap alone. ``update``: symbols between two updates of clock and taps, None for
    as many, up to 32, as disturb neither. ``eye_symbols``: counted symbols that enter the eyes, 0 for none. ``block``: symbols
    processed at a time; the result is the same for any, up to rounding. ``fused``: transmitter, channel and front end as one
    convolution where all are linear; False for part by part. ``pattern``: a test pattern (`dsp.patterns`), a name or one period
    of symbol indices, sent instead of random symbols; a checker that knows nothing but the pattern then counts, too.
    """

    n_symbols: int = 1_000_000
    samples_per_symbol: float = 4
    settle: int = 8192
    max_errors: int | None = None
    precision: float | None = None
    n_training: int = 0
    phase_error_ui: float = 0.0
    adaptation: float | tuple[Adaptation, ...] = 0.0
    cold: bool = False
    update: int | None = None
    eye_symbols: int = 65536
    n_phases: int = 32
    n_bins: int = 256
    block: int = 32768
    fused: bool = True
    lock: LockDetector = field(default_factory=LockDetector)
    pattern: str | tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check.count(self, "n_symbols", self.n_symbols, 1)
        check.between(self, "samples_per_symbol", self.samples_per_symbol, 2, 64, hint="fewer do not hold the band of the link")
        check.count(self, "settle", self.settle, 4 * LAGS, hint="the alignment is found in the symbols before the count")
        if self.max_errors is not None:
            check.count(self, "max_errors", self.max_errors, 1)
        if self.precision is not None:
            check.between(self, "precision", self.precision, 1e-3, 100)
        check.count(self, "n_training", self.n_training, 0)
        check.between(self, "phase_error_ui", self.phase_error_ui, -1, 1, "UI")
        if isinstance(self.adaptation, tuple):
            if not self.adaptation:
                raise check.fail(self, "adaptation", "a number or a tuple of one or more Adaptation", self.adaptation)
            for i, stage in enumerate(self.adaptation):
                check.instance(self, f"adaptation[{i}]", stage, Adaptation)
        else:
            check.between(self, "adaptation", self.adaptation, 0, 10)
        check.instance(self, "cold", self.cold, bool)
        if self.update is not None:
            check.count(self, "update", self.update, 1, 1024)
        check.count(self, "eye_symbols", self.eye_symbols, 0)
        check.count(self, "n_phases", self.n_phases, 2)
        check.count(self, "n_bins", self.n_bins, 16)
        check.count(self, "block", self.block, 1)
        check.instance(self, "fused", self.fused, bool)
        check.instance(self, "lock", self.lock, LockDetector)
        if self.pattern is not None:
            check_pattern(self, "pattern", self.pattern)

    def run(
        self, link: Link, rng: np.random.Generator, progress: Progress | None = None, point: OperatingPoint | None = None
    ) -> BasebandResult:
        """Send, receive and count. ``progress(done, total)`` is called after each block, in symbols.

        A KeyboardInterrupt ends the run with what was counted, outcome "cancelled". A link that does not lock, align or open
        its eye is a result with its reason. Errors are counted against what was sent, at the lag that decisions and data have
        before the count begins. ``ser``, ``ber`` are counted ratios, 0 where no error was seen: their bounds are in
        ``symbols`` and ``bits``. ``post_fec`` takes the upper 95 % bound in that case, and takes errors as independent; code
        words are counted in `detail`. ``snr_db`` includes what wrong decisions feed back. Aggressors send no noise and no
        jitter. ``point``: where the receiver starts from; None takes that of the linear face, or of the semi-analytic engine where
        the channel is not linear.
        """
        check.instance("TimeDomain.run", "link", link, Link)
        check.instance("TimeDomain.run", "rng", rng, np.random.Generator)
        settled = point or operating_point(link)
        if (failure := dead(self, settled, count=0)) is not None:
            return failure
        if point is None and is_nonlinear(link.channel):
            settled = SemiAnalytic().settle(link, settled).point
        point = settled
        run = Run(self, point, rng)
        total, stopped = self.settle + self.n_symbols, "all symbols"
        try:
            while run.counted < self.n_symbols:
                run.advance(self.block)
                if progress is not None:
                    progress(min(run.tally.decided, total), total)
                reason = self._enough(run)
                if reason and run.counted < self.n_symbols:
                    stopped = reason
                    break
        except KeyboardInterrupt:
            stopped = "cancelled"
        return self._result(run, stopped)

    def _enough(self, run: Run) -> str:
        """Why the run may stop now; empty where it may not."""
        errors = run.tally.log.symbol_errors
        if self.max_errors is not None and errors >= self.max_errors:
            return "errors"
        # the interval of n errors is about 4 / sqrt(n) wide: no use to work it out before
        if self.precision is not None and errors > 8 / self.precision**2:
            count = ErrorCount(errors=errors, trials=run.counted)
            low, high = count.interval()
            if high - low <= self.precision * count.ratio:
                return "confidence"
        return ""

    def _result(self, run: Run, stopped: str) -> BasebandResult:
        link, point, tally, log = run.point.link, run.point, run.tally, run.tally.log
        constellation = link.tx.constellation
        symbols = ErrorCount(errors=log.symbol_errors, trials=log.trials)
        bits = ErrorCount(errors=log.bit_errors, trials=round(log.trials * constellation.bits_per_symbol))
        gap = float(np.min(np.diff(constellation.array)))
        error_power, mean, wander = tally.windows()
        held, until, why = self.lock.judge(error_power, wander, gap)
        checked = None if run.checking is None else run.checking.result()
        outcome, reason = "cancelled", "stopped by the user"
        if stopped != "cancelled":
            outcome, reason = _outcome(run, held, why, gap, checked)
        counted = mean[until:] if held else mean
        lock = Lock(
            locked=held and outcome not in UNLOCKED,
            reason=reason if outcome in UNLOCKED else why,
            phase_ui=point.phase_ui + self.phase_error_ui + (float(np.mean(counted)) if counted.size else 0.0),
            jitter_ui=float(np.sqrt(np.mean(wander[until if held else 0 :] ** 2))) if wander.size else 0.0,
            lock_time_symbols=until * self.lock.window if held else 0,
            cycle_slips=int(np.sum(np.abs(np.diff(np.rint(mean + self.phase_error_ui))))) if mean.size else 0,
        )
        post_fec = None if link.fec is None or not bits.trials else float(link.fec.codeword_failure(bits.ratio or bits.upper()))
        error = tally.mean_square_error
        return BasebandResult(
            link=link,
            engine=self,
            operating_point=point,
            ser=symbols.ratio,
            ber=bits.ratio,
            snr_db=float(db_power(constellation.mean_square / error)) if error > 0 else math.nan,
            eyes={} if run.eye is None else run.eye.eyes(link.symbol_rate, point.main_cursor),
            lock=lock,
            outcome=outcome,
            reason=reason,
            symbols=symbols,
            bits=bits,
            post_fec=post_fec,
            detail=_detail(run, stopped, error_power, checked),
        )


def _outcome(run: Run, held: bool, why: str, gap: float, checked: Checked | None) -> tuple[str, str]:
    """(outcome, reason) in order of severity."""
    tally = run.tally
    if not run.point.locks:
        return "no lock", "the timing detector has no stable zero near the peak of the pulse; the instants were left fixed"
    if run.receiver.ran_away:
        return "unstable adaptation", "the taps grew a thousandfold and were stopped: the step of the adaptation is too large"
    if checked is not None and checked.inverted:
        return "not aligned", f"the levels arrive upside down: the checker found {run.engine.pattern} inverted"
    rms = math.sqrt(tally.mean_square_error)
    failing = tally.correlation < 0.5 or not held or tally.slipped or rms >= gap / 4
    if failing and run.strain > MOST_STRAIN and math.sqrt(run.point.mean_square_error) < gap / 4:
        return "unstable adaptation", (
            f"a step of {run.strain:.3g} between updates is more than {MOST_STRAIN:g}, and the settled taps had an open eye: "
            "the step of the adaptation is too large"
        )
    if tally.correlation < 0.5:
        return "not aligned", (
            f"decisions and sent symbols correlate by {tally.correlation:.2f} at best, {LAGS} symbols around the expected delay"
        )
    if not held:
        return "no lock", why
    if tally.slipped:
        return "cycle slip", f"{tally.slipped} windows of {run.engine.lock.window} symbols had as many errors as guesses have"
    if checked is not None and not checked.aligned:
        return "not aligned", checked.reason
    if rms >= gap / 4:
        return "closed eye", (
            f"the rms decision error is {rms:.3g} of the outer level, more than a quarter of the level spacing {gap:.3g}"
        )
    if run.checking is not None and run.counted < run.checking.pattern.length and not run.checking.pattern.order:
        pattern = run.checking.pattern
        return "pattern cut short", f"{run.counted} symbols were counted, one period of {pattern.name} has {pattern.length}"
    return "ok", ""


def _detail(run: Run, stopped: str, error_power: np.ndarray, checked: Checked | None) -> CountDetail:
    places, signed = run.tally.log.errors()
    state, constellation = run.receiver, run.point.link.tx.constellation
    complete = places.size == run.tally.log.raw_errors
    return CountDetail(
        stopped=stopped,
        trials=run.counted if complete else int(places[-1]) + 1,
        places=places,
        signed=signed,
        n_levels=constellation.n,
        bits_per_symbol=constellation.bits_per_symbol,
        precoded=run.point.link.tx.precoded,
        adapted=Taps(
            feed_forward=tuple(state.feed_forward.tolist()),
            n_precursors=run.loop.taps.n_precursors,
            feedback=tuple(state.feedback.tolist()),
        ),
        ideal=run.point.taps,
        levels=state.levels,
        convergence=Convergence(
            symbols=np.array([row[0] for row in run.track]),
            feed_forward=np.array([row[1] for row in run.track]),
            feedback=np.array([row[2] for row in run.track]),
            mean_square_error=error_power,
            window=run.engine.lock.window,
        ),
        lost=run.way.lost,
        checked=checked,
    )
