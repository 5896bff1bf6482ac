"""A time-domain simulation under way: the states of all parts, and what was counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from channels.channel import Cascade
from dsp import clock, convolution, receiver, streams, timing
from dsp.clock import TimingLoop
from dsp.detector import SequenceState
from dsp.mlsd import Mlsd
from dsp.patterns import Pattern
from dsp.receiver import Received, ReceiverLoop
from serdes import fused, waveform
from serdes.counting import LAGS, EyeCounter, Tally
from serdes.operating_point import OperatingPoint
from serdes.pattern_check import PatternCheck
from serdes.spectra import LEAST
from serdes.stages import Adaptation, cold_taps, loop_stages

MOST_STRAIN = 0.25
"""Step of the adaptation times symbols between updates that disturbs no link. In the mean square least mean squares diverge from
2/3 on (A. Feuer and E. Weinstein, IEEE Trans. ASSP 33, 1985); feed-forward and feedback taps share it, and updates come late.
"""


class Settings(Protocol):
    """What a run needs of its engine; see `serdes.time_domain.TimeDomain`."""

    @property
    def n_symbols(self) -> int:
        """See `TimeDomain`."""

    @property
    def samples_per_symbol(self) -> float:
        """See `TimeDomain`."""

    @property
    def settle(self) -> int:
        """See `TimeDomain`."""

    @property
    def n_training(self) -> int:
        """See `TimeDomain`."""

    @property
    def phase_error_ui(self) -> float:
        """See `TimeDomain`."""

    @property
    def adaptation(self) -> float | tuple[Adaptation, ...]:
        """See `TimeDomain`."""

    @property
    def cold(self) -> bool:
        """See `TimeDomain`."""

    @property
    def update(self) -> int | None:
        """See `TimeDomain`."""

    @property
    def eye_symbols(self) -> int:
        """See `TimeDomain`."""

    @property
    def n_phases(self) -> int:
        """See `TimeDomain`."""

    @property
    def n_bins(self) -> int:
        """See `TimeDomain`."""

    @property
    def fused(self) -> bool:
        """See `TimeDomain`."""

    @property
    def lock(self) -> clock.LockDetector:
        """See `TimeDomain`."""

    @property
    def pattern(self) -> str | tuple[int, ...] | None:
        """See `TimeDomain`."""


class _FusedWay:
    """Symbols to waveform through one convolution."""

    def __init__(self, point: OperatingPoint, m: int, rng: np.random.Generator, pattern: Pattern | None) -> None:
        link = point.link
        alike = {i: a for i, a in enumerate(link.aggressors) if a.offset_ppm == 0}
        phases = {i: float(rng.random()) if a.phase_ui is None else a.phase_ui for i, a in alike.items()}
        self.link, self.fused = link, fused.fuse(point, m, phases)
        self.state = fused.start(self.fused, link, rng, pattern)
        self.first = float(self.fused.main)
        # decisions are compared with symbols sent up to LAGS later: the waveform waits for them
        self._wait, self._held = 2 * LAGS * m, np.zeros(0, np.float32)
        self.lost = float(self.fused.filters.lost[0])
        self.others = [
            waveform.neighbour(a, point, m * math.ceil(LEAST / m), rng) for i, a in enumerate(link.aggressors) if i not in alike
        ]

    def advance(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """``n`` more symbols: indices, and the waveform that is complete."""
        index, wave, self.state = fused.advance(self.fused, self.link, n, self.state)
        wave = np.concatenate((self._held, wave))
        ready = max(wave.size - self._wait, 0)
        self._held = wave[ready:]
        return index, wave[:ready]


class _WaveWay:
    """Symbols to waveform part by part, for channels that are not linear."""

    def __init__(self, point: OperatingPoint, m: int, rng: np.random.Generator, pattern: Pattern | None) -> None:
        link = point.link
        grid = waveform.memory(link.channel, link.symbol_rate, m)
        driver = waveform.Driver(rise_time=link.tx.rise_time, sample_time=grid.dt, delay=waveform.LEAD / link.symbol_rate)
        front = waveform.FrontEnd(point=point, noise_density=link.rx.noise_density)
        self.link, self.chain = link, Cascade(parts=(driver, link.channel, front))
        self.source = waveform.start_source(link.tx, m, rng, pattern)
        self.passing = self.chain.start(grid, rng)
        self.first = point.sampling_time * link.symbol_rate + waveform.source_delay(link.tx) + waveform.LEAD
        self.lost = 0.0
        self.others = [waveform.neighbour(a, point, m, rng) for a in link.aggressors]

    def advance(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """``n`` more symbols: indices and waveform."""
        high_pass = self.link.rx.high_pass or 0.0
        index, wave, self.source = waveform.send(self.link.tx, n, self.link.symbol_rate, self.source, high_pass)
        y, self.passing = self.chain.transmit(wave, self.passing)
        return index, y


@dataclass(kw_only=True, eq=False)
class _Crossing:
    """A neighbour whose signal is added sample by sample; ``stride``: of its samples there is one of ours."""

    way: waveform.Neighbour
    state: Any
    stride: int

    def add(self, wave: np.ndarray) -> np.ndarray:
        """``wave`` with the neighbour's signal."""
        y, self.state = self.way.arrive(wave.size * self.stride, self.state)
        return wave + y[:: self.stride]


class Run:
    """A simulation under way."""

    def __init__(self, engine: Settings, point: OperatingPoint, rng: np.random.Generator) -> None:
        link = point.link
        self.engine, self.point, self.link = engine, point, link
        linear = engine.fused and fused.is_linear(link.channel)
        m = math.ceil(engine.samples_per_symbol)
        m = m if linear else max(m, LEAST)
        self.m = m
        self.checking = None if engine.pattern is None else PatternCheck(engine.pattern, link.tx)
        pattern = None if self.checking is None else self.checking.pattern
        self.way: _FusedWay | _WaveWay = (_FusedWay if linear else _WaveWay)(point, m, rng, pattern)
        self.crossing = [_Crossing(way=w, state=w.start(rng), stride=math.ceil(LEAST / m)) for w in self.way.others]
        self.jitter = streams.start_jitter(rng)
        self.white = streams.start(rng)
        own = link.rx.converter.own_noise(point.full_scale) if link.rx.converter and point.full_scale else 0.0
        self.loop = receiver_loop(engine, point, linear, own)
        per = self.loop.noise_per_symbol
        shape = fused.noise_shape(point, per, own) if linear else np.array([math.sqrt(own)])
        self.shaping = convolution.fir_start(shape)
        first = self.way.first + engine.phase_error_ui
        first += max(0, math.ceil(-first))
        self.receiver = receiver.start(self.loop, first * self.loop.samples_per_symbol)
        self.sent = 0
        self._held = np.zeros(0)
        self._place = 0.0
        rx = link.rx
        constellation = link.tx.constellation
        self.tally = Tally(constellation, engine.settle, engine.n_symbols, engine.lock.window, link.tx.precoded)
        self.sequence: SequenceState | None = None
        self._truth = np.zeros(0, np.uint8)
        if isinstance(rx.detector, Mlsd):
            self.viterbi = rx.detector.detector(point.taps)
            self.sequence = self.viterbi.start(constellation)
        self._past = np.zeros(len(point.taps.feedback))
        self.eye: EyeCounter | None = None
        if engine.eye_symbols:
            cursors, _ = point.pulse.cursors(0)
            span = 5 * math.sqrt(constellation.mean_square * float(np.sum(cursors**2)))
            wanted = min(engine.eye_symbols, engine.n_symbols)
            self.eye = EyeCounter(self.loop, engine.settle, wanted, engine.n_phases, engine.n_bins, span)
        self.track: list[tuple[int, np.ndarray, np.ndarray]] = [(0, self.receiver.feed_forward, self.receiver.feedback)]

    @property
    def strain(self) -> float:
        """The largest normalised step of the adaptation times the symbols that pass before it takes effect."""
        return _largest_step(self.engine.adaptation) * self.loop.update

    @property
    def counted(self) -> int:
        """Decisions counted so far."""
        return self.tally.log.trials

    def advance(self, n: int) -> None:
        """Send, pass and receive ``n`` more symbols."""
        link, loop = self.link, self.loop
        index, wave = self.way.advance(n)
        for crossing in self.crossing:
            wave = crossing.add(wave)
        wave = self._resampled(wave)
        moved = pace = noise = None
        if loop.jittered:
            moved, self.jitter = streams.displacements(link.rx.jitter, n, self.jitter)
        if loop.paced:
            pace = link.tx.edges.pace(self.sent, n, link.tx.offset_ppm, link.symbol_rate)
        if loop.noisy:
            white, self.white = streams.normal((n * loop.noise_per_symbol,), self.white)
            noise, self.shaping = convolution.fir_step(white, self.shaping)
        known = index[: max(self.engine.n_training - self.sent, 0)] if self.sent < self.engine.n_training else None
        self.sent += n
        received, self.receiver = receiver.step(loop, wave, self.receiver, moved, known, pace_ui=pace, noise=noise)
        truth, wrong, _ = self.tally.take(index, received)
        if self.sequence is None:
            self._take(received.index, truth, wrong)
        else:
            self._detect(received, truth, self.sequence)
        if self.eye is not None:
            self.eye.take(received, self.receiver, truth)
        if any(stage.rule != "frozen" for stage in loop.stages):
            self.track.append((self.tally.decided, self.receiver.feed_forward, self.receiver.feedback))

    def _resampled(self, wave: np.ndarray) -> np.ndarray:
        """The waveform at a number of samples per symbol that is not whole; itself where it is."""
        ratio = self.m / self.loop.samples_per_symbol
        if ratio == 1:
            return wave
        self._held = np.concatenate((self._held, wave))
        n = max(math.floor((self._held.size - timing.N_TAPS) / ratio), 0)
        position = self._place + ratio * np.arange(n)
        whole = np.floor(position)
        y = timing.interpolate(self._held, whole.astype(np.int64), position - whole, self.m)
        end = self._place + ratio * n
        drop = max(math.floor(end) - timing.N_TAPS, 0)
        self._held, self._place = self._held[drop:], end - drop
        return y

    def _detect(self, received: Received, truth: np.ndarray, sequence: SequenceState) -> None:
        """Decide by the sequence detector: samples before feedback, decisions later."""
        levels = self.link.tx.constellation.array[received.index]
        past = np.concatenate((self._past, levels))
        n, m = levels.size, self._past.size
        z = received.equalized.copy()
        memory = len(self.viterbi.target) - 1
        for k, b in enumerate(self.receiver.feedback[:memory], start=1):
            z += b * past[m - k : m - k + n]
        self._past = past[n:]
        decided, self.sequence = self.viterbi.step(z, sequence)
        self._truth = np.concatenate((self._truth, truth))
        self._take(decided, self._truth[: decided.size])
        self._truth = self._truth[decided.size :]

    def _take(self, decided: np.ndarray, truth: np.ndarray, wrong: np.ndarray | None = None) -> None:
        """Final decisions, in order: to the error log, and those that count to the checker of the pattern."""
        log = self.tally.log
        if self.checking is not None:
            self.checking.take(decided[max(log.first - log.taken, 0) : max(log.last - log.taken, 0)])
        log.take(decided, truth, wrong)


def update_of(engine: Settings, bandwidth: float) -> int:
    """Symbols between two updates of loop and taps: as given, or as many as disturb neither, up to 32."""
    if engine.update is not None:
        return engine.update
    step = _largest_step(engine.adaptation)
    room = min(0.01 / bandwidth if bandwidth else 32.0, MOST_STRAIN / step if step else 32.0)
    return 32 if room >= 32 else 16 if room >= 16 else 8 if room >= 8 else 1


def _largest_step(adaptation: float | tuple[Adaptation, ...]) -> float:
    if not isinstance(adaptation, tuple):
        return adaptation
    return max(0.0 if stage.rule == "frozen" else stage.step for stage in adaptation)


def receiver_loop(engine: Settings, point: OperatingPoint, fused_way: bool = True, own_noise: float = 0.0) -> ReceiverLoop:
    """Settings of the receiver's loop as ``point`` has settled, for either polarity of the pulse."""
    link, pulse, rx = point.link, point.pulse, point.link.rx
    constellation = link.tx.constellation
    m = pulse.grid.samples_per_symbol
    timing: dict[str, Any] = {"detector": "none"}
    bandwidth = 0.0
    if isinstance(rx.clock, TimingLoop) and point.locks:
        timing, bandwidth = timing_settings(point, rx.clock), rx.clock.bandwidth
    cursors, _ = pulse.cursors(point.main * m)
    power = constellation.mean_square * float(np.sum(cursors**2))
    converter = rx.converter
    limits = getattr(rx.equalizer, "feedback_limits", (-2.0, 2.0))
    taps = cold_taps(point) if engine.cold else point.taps
    return ReceiverLoop(
        samples_per_symbol=float(engine.samples_per_symbol) if fused_way else max(float(engine.samples_per_symbol), LEAST),
        constellation=constellation,
        taps=taps,
        **timing,
        update=update_of(engine, bandwidth),
        converter_step=converter.step(point.full_scale) if converter and point.full_scale else 0.0,
        full_scale=point.full_scale or 0.0,
        mismatch=converter.mismatch if converter else None,
        stages=loop_stages(engine.adaptation, taps, power, constellation),
        feedback_limits=limits,
        tap_limit=getattr(rx.equalizer, "tap_limit", None),
        jittered=rx.jitter.variance_ui2 > 0,
        paced=link.tx.edges.paced(link.tx.offset_ppm, link.symbol_rate),
        noisy=bool((fused_way and np.any(point.spectra.noise > 0)) or own_noise > 0),
        traced=engine.eye_symbols > 0,
    )


def timing_settings(point: OperatingPoint, loop: TimingLoop) -> dict[str, Any]:
    """What the clock of ``point`` asks of the receiver's loop, for either polarity of the pulse."""
    link, pulse = point.link, point.pulse
    m = pulse.grid.samples_per_symbol
    sign = float(np.sign(point.main_cursor))
    sigma = math.sqrt(float(point.spectra.noise_autocovariance()[0]))

    def curve(tau: np.ndarray) -> np.ndarray:
        def at(t: np.ndarray) -> np.ndarray:
            return sign * clock.sampled_pulse(pulse.samples, m, t)

        return loop.s_curve(at, tau, link.tx.constellation.array, sigma)

    # decisions carry the polarity that the equaliser gives them; the products of samples alone have none
    side = sign if loop.detector != "gardner" else 1.0
    gap = float(np.min(np.diff(link.tx.constellation.array)))
    fall = clock.slope(curve, point.main)
    return {
        "detector": loop.detector,
        "timing_gains": tuple(side * g for g in loop.gains(fall)),
        "acquire_gains": tuple(side * g for g in loop.gains(fall, max(loop.acquire_bandwidth, loop.bandwidth))),
        "lost": 0.8 * gap**2 / 12,  # a PAM4 link in lock reaches it at an error ratio near 0.05
        "timing_bias": 0.0 if loop.skew_ui == 0 else side * float(curve(np.array([float(point.main)]))[0]),
        "latency": loop.latency,
    }
