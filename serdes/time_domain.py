"""The time-domain engine: signal faces with everything random, loops closed, errors counted, in blocks of constant size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from channels.channel import Cascade
from dsp import check, clock, receiver, streams
from dsp.clock import LockDetector, MuellerMuller
from dsp.receiver import ReceiverLoop
from dsp.units import db_power
from serdes import waveform
from serdes.counting import LAGS, EyeCounter, Tally
from serdes.link import Link
from serdes.metrics import ErrorCount
from serdes.operating_point import OperatingPoint, operating_point
from serdes.result import LinkResult, Lock
from serdes.spectra import LEAST

Progress = Callable[[int, int], Any]


@dataclass(frozen=True, kw_only=True)
class TimeDomain:
    """Sends random symbols through the signal faces and counts ``n_symbols`` decisions, after ``settle`` that do not count.

    ``samples_per_symbol``: of the waveforms, 4 or more (they hold what `serdes.spectra` carries). ``n_training``: first symbols
    that the receiver knows. ``phase_error_ui``: how far from the settled phase it starts. ``adaptation``: normalised step of
    the taps' least-mean-square adaptation, 0 leaves them as settled. ``eye_symbols``: counted symbols that enter the eye, 0 for
    no eye. ``block``: symbols processed at a time; the result is the same for any, up to rounding: a decision could differ
    only where a sample lies within 1e-12 of a threshold.
    """

    n_symbols: int = 1_000_000
    samples_per_symbol: int = LEAST
    settle: int = 8192
    n_training: int = 0
    phase_error_ui: float = 0.0
    adaptation: float = 0.0
    eye_symbols: int = 65536
    n_phases: int = 32
    n_bins: int = 256
    block: int = 65536
    lock: LockDetector = field(default_factory=LockDetector)

    def __post_init__(self) -> None:
        check.count(self, "n_symbols", self.n_symbols, 1)
        check.count(self, "samples_per_symbol", self.samples_per_symbol, LEAST, 64, "fewer do not hold the band of the link")
        check.count(self, "settle", self.settle, 4 * LAGS, hint="the alignment is found in the symbols before the count")
        check.count(self, "n_training", self.n_training, 0)
        check.between(self, "phase_error_ui", self.phase_error_ui, -1, 1, "UI")
        check.between(self, "adaptation", self.adaptation, 0, 1)
        check.count(self, "eye_symbols", self.eye_symbols, 0)
        check.count(self, "n_phases", self.n_phases, 2)
        check.count(self, "n_bins", self.n_bins, 16)
        check.count(self, "block", self.block, 1)
        check.instance(self, "lock", self.lock, LockDetector)

    def run(self, link: Link, rng: np.random.Generator, progress: Progress | None = None) -> LinkResult:
        """Send, receive and count. ``progress(done, total)`` is called after each block, in symbols; it may raise to stop.

        A link that does not lock, align or open its eye is a result with its reason. Errors are counted against what was sent,
        at the lag that decisions and data have before the count begins. ``ser``, ``ber`` are counted ratios, 0 where no error
        was seen: their bounds are in ``symbols`` and ``bits``. ``post_fec`` takes the upper 95 % bound in that case, and takes
        errors as independent. ``snr_db`` includes what wrong decisions feed back. Aggressors send no noise and no jitter.
        """
        check.instance("TimeDomain.run", "link", link, Link)
        check.instance("TimeDomain.run", "rng", rng, np.random.Generator)
        point = operating_point(link)
        if point.closed:
            return self._no_signal(link, point)
        run = _Run(self, point, rng)
        total = self.settle + self.n_symbols
        while run.tally.decided < total:
            run.advance(self.block)
            if progress is not None:
                progress(min(run.tally.decided, total), total)
        return self._result(run)

    def _result(self, run: _Run) -> LinkResult:
        link, point, tally = run.point.link, run.point, run.tally
        constellation = link.tx.constellation
        symbols = ErrorCount(errors=tally.symbol_errors, trials=self.n_symbols)
        bits = ErrorCount(errors=tally.bit_errors, trials=round(self.n_symbols * constellation.bits_per_symbol))
        gap = float(np.min(np.diff(constellation.array)))
        error_power, mean, wander = tally.windows()
        held, until, why = self.lock.judge(error_power, wander, gap)
        outcome, reason = _outcome(run, held, why, gap)
        counted = mean[until:] if held else mean
        lock = Lock(
            locked=held and outcome not in ("not aligned", "cycle slip", "no lock"),
            reason=reason if outcome in ("not aligned", "cycle slip", "no lock") else why,
            phase_ui=point.phase_ui + self.phase_error_ui + (float(np.mean(counted)) if counted.size else 0.0),
            jitter_ui=float(np.sqrt(np.mean(wander[until if held else 0 :] ** 2))) if wander.size else 0.0,
            lock_time_symbols=until * self.lock.window if held else 0,
        )
        post_fec = None if link.fec is None else float(link.fec.codeword_failure(bits.ratio or bits.upper()))
        return LinkResult(
            link=link,
            engine=self,
            operating_point=point,
            ser=symbols.ratio,
            ber=bits.ratio,
            snr_db=float(db_power(constellation.mean_square / tally.mean_square_error)),
            eyes={} if run.eye is None else {"slicer": run.eye.eye(point)},
            lock=lock,
            outcome=outcome,
            reason=reason,
            symbols=symbols,
            bits=bits,
            post_fec=post_fec,
        )

    def _no_signal(self, link: Link, point: OperatingPoint) -> LinkResult:
        return LinkResult(
            link=link,
            engine=self,
            operating_point=point,
            ser=1 - 1 / link.tx.constellation.n,
            ber=0.5,
            snr_db=-math.inf,
            eyes={},
            lock=Lock(locked=False, reason="no signal at the receiver"),
            outcome="no signal",
            reason="the pulse response has no main cursor: the channel passes nothing in the band of the symbol rate",
            symbols=ErrorCount(errors=0, trials=0),
            bits=ErrorCount(errors=0, trials=0),
            post_fec=None if link.fec is None else 1.0,
        )


def _outcome(run: _Run, held: bool, why: str, gap: float) -> tuple[str, str]:
    """(outcome, reason) in order of severity."""
    tally = run.tally
    if not run.point.locks:
        return "no lock", "the timing detector has no stable zero near the peak of the pulse; the instants were left fixed"
    if tally.correlation < 0.5:
        return "not aligned", (
            f"decisions and sent symbols correlate by {tally.correlation:.2f} at best, {LAGS} symbols around the expected delay"
        )
    if not held:
        return "no lock", why
    if tally.slipped:
        return "cycle slip", f"{tally.slipped} windows of {run.engine.lock.window} symbols had as many errors as guesses have"
    rms = math.sqrt(tally.mean_square_error)
    if rms >= gap / 4:
        return "closed eye", (
            f"the rms decision error is {rms:.3g} of the outer level, more than a quarter of the level spacing {gap:.3g}"
        )
    return "ok", ""


class _Run:
    """A simulation under way: the states of all parts, and what was counted."""

    def __init__(self, engine: TimeDomain, point: OperatingPoint, rng: np.random.Generator) -> None:
        link, m = point.link, engine.samples_per_symbol
        self.engine, self.point = engine, point
        grid = waveform.memory(link.channel, link.symbol_rate, m)
        driver = waveform.Driver(rise_time=link.tx.rise_time, sample_time=grid.dt, delay=waveform.LEAD / link.symbol_rate)
        front = waveform.FrontEnd(point=point, noise_density=link.rx.noise_density)
        self.chain = Cascade(parts=(driver, link.channel, front))
        self.source = waveform.start_source(link.tx, m, rng)
        self.passing = self.chain.start(grid, rng)
        self.neighbours = [waveform.neighbour(a, point, m, rng) for a in link.aggressors]
        self.crossing = [n.start(rng) for n in self.neighbours]
        self.jitter = streams.start_jitter(rng)
        self.loop = receiver_loop(engine, point)
        late = waveform.source_delay(link.tx) + waveform.LEAD + engine.phase_error_ui
        self.receiver = receiver.start(self.loop, (point.sampling_time * link.symbol_rate + late) * m)
        self.sent = 0
        self.tally = Tally(link.tx.constellation, engine.settle, engine.n_symbols, engine.lock.window)
        self.eye = EyeCounter(engine, self.loop) if engine.eye_symbols else None

    def advance(self, n: int) -> None:
        """Send, pass and receive ``n`` more symbols."""
        link = self.point.link
        index, wave, self.source = waveform.send(link.tx, n, self.source)
        y, self.passing = self.chain.transmit(wave, self.passing)
        for i, neighbour in enumerate(self.neighbours):
            crosstalk, self.crossing[i] = neighbour.arrive(y.size, self.crossing[i])
            y = y + crosstalk
        moved = None
        if self.loop.jittered:
            moved, self.jitter = streams.displacements(link.rx.jitter, n, self.jitter)
        known = index[: max(self.engine.n_training - self.sent, 0)]
        self.sent += n
        received, self.receiver = receiver.step(self.loop, y, self.receiver, moved, known)
        truth, begin = self.tally.take(index, received)
        if self.eye is not None:
            self.eye.take(received, self.receiver, truth, begin)


def receiver_loop(engine: TimeDomain, point: OperatingPoint) -> ReceiverLoop:
    """Settings of the receiver's loop as ``point`` has settled, for either polarity of the pulse."""
    link, pulse = point.link, point.pulse
    mean_square = link.tx.constellation.mean_square
    m = pulse.grid.samples_per_symbol
    gains, latency = (0.0, 0.0), 0
    if isinstance(link.rx.clock, MuellerMuller) and point.locks:
        sign = float(np.sign(point.main_cursor))
        slope = clock.detector_gain(lambda tau: sign * clock.sampled_pulse(pulse.samples, m, tau), point.main, mean_square)
        proportional, integral = link.rx.clock.gains(slope)
        gains, latency = (sign * proportional, sign * integral), link.rx.clock.latency
    cursors, _ = pulse.cursors(point.main * m)
    power = mean_square * float(np.sum(cursors**2))
    converter = link.rx.converter
    return ReceiverLoop(
        samples_per_symbol=engine.samples_per_symbol,
        constellation=link.tx.constellation,
        taps=point.taps,
        timing_gains=gains,
        latency=latency,
        converter_step=converter.step(point.full_scale) if converter and point.full_scale else 0.0,
        full_scale=point.full_scale or 0.0,
        feed_forward_step=engine.adaptation / (len(point.taps.feed_forward) * power),
        feedback_step=engine.adaptation / (max(len(point.taps.feedback), 1) * mean_square),
        jittered=link.rx.jitter.variance_ui2 > 0,
    )
