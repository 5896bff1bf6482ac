"""The time-domain engine, in symbols per CPU second of one core, beside what others reach on the machine of their measurement.

``pytest benchmarks/test_time_domain.py -n0 --benchmark-enable -s`` prints a line for each. The clock of pytest-benchmark is set
to CPU time, as cores are shared.
"""

import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from dsp import polyphase, receiver, streams
from dsp.clock import MuellerMuller
from dsp.constellation import pam
from dsp.detector import SequenceDetector
from dsp.equalizer import Taps
from dsp.receiver import ReceiverLoop, Stage
from serdes.counting import EyeCounter
from serdes.operating_point import operating_point
from serdes.setups import setup
from serdes.stream_run import Run
from serdes.time_domain import TimeDomain

pytestmark = pytest.mark.benchmark(timer=time.process_time, min_rounds=3)
N = 200_000
PAM4 = pam(4)
PEERS = {
    "frozen taps": (60, "serdespy, FFE 15 taps without feedback or clock: 35"),
    "block updates": (25, "OptiCommPy, FFE21 + DFE5 LMS, no clock: 4.0; serdespy 0.20; PyBERT, DFE + clock: 0.0074"),
    "symbol updates": (12, "as above"),
    "eye": (4, "CommDspy, histogram alone: 1.1; OptiCommPy 0.10; SignalIntegrity 0.001"),
    "channel, 4 samples/UI": (None, "serdespy, 32 samples/UI: 0.70; OptiCommPy fibre 0.69"),
    "sequence detector": (50, "OptiCommPy, 4 states: 8.7"),
    "whole link": (10, "lpo-pam4-sim 0.049; PyBERT 0.0045"),
}


def say(name, benchmark, symbols):
    """Print the rate of the best round beside the aim and the peers."""
    if benchmark.disabled:
        return
    aim, peers = PEERS[name.split(":")[0]]
    rate = symbols / benchmark.stats.stats.min / 1e6
    benchmark.extra_info["Msym/s"] = rate
    print(f"\n{name:42s} {rate:7.1f} Msym/s{f'  aim {aim}' if aim else '':9s}  peers (Msym/s): {peers}")


def loop(samples_per_symbol, update, rule="lms", n_feedback=1):
    """21 feed-forward taps and feedback, clock closed unless the taps are frozen."""
    ffe = np.zeros(21)
    ffe[6:9] = -0.05, 1.0, -0.1
    taps = Taps(feed_forward=tuple(ffe), n_precursors=7, feedback=(0.1,) * n_feedback)
    stages = (Stage(rule=rule, feed_forward_step=1e-4, feedback_step=1e-4),) if rule else (Stage(),)
    return ReceiverLoop(
        samples_per_symbol=samples_per_symbol, constellation=PAM4, taps=taps, update=update, stages=stages, traced=False,
        timing_gains=(1e-3, 1e-7) if rule else (0.0, 0.0), detector="mueller-muller",
    )  # fmt: skip


def wave(samples_per_symbol):
    """A pulse train with a post-cursor."""
    t = np.arange(-4, 12, 1 / samples_per_symbol)
    pulse = np.exp(-0.5 * (t / 0.45) ** 2) + 0.15 * np.exp(-0.5 * ((t - 1) / 0.45) ** 2)
    x = np.zeros(N * samples_per_symbol)
    x[::samples_per_symbol] = PAM4.array[np.random.default_rng(1).integers(0, 4, N)]
    return np.convolve(x, pulse)[: x.size]


@pytest.mark.parametrize(
    ("name", "samples_per_symbol", "update", "rule", "n_feedback"),
    [
        ("frozen taps: 2 samples/UI, FFE21 DFE1", 2, 64, None, 1),
        ("block updates: 2 samples/UI, FFE21 DFE1", 2, 32, "lms", 1),
        ("block updates: 4 samples/UI, FFE21 DFE1", 4, 32, "lms", 1),
        ("block updates: 2 samples/UI, FFE21 DFE5", 2, 32, "lms", 5),
        ("symbol updates: 2 samples/UI, FFE21 DFE1", 2, 1, "lms", 1),
    ],
)
def test_receiver(benchmark, name, samples_per_symbol, update, rule, n_feedback):
    settings, x = loop(samples_per_symbol, update, rule, n_feedback), wave(samples_per_symbol)
    state = receiver.start(settings, 4.0 * samples_per_symbol)
    benchmark(receiver.step, settings, x, state)
    say(name, benchmark, N)


@pytest.mark.parametrize("m", [4, 32])
def test_eye_of_32_phases(benchmark, m):
    """Interpolation, both equalisers and three histograms at 32 phases of every symbol."""
    settings, x = replace(loop(m, 32), traced=True), wave(m)
    received, state = receiver.step(settings, x, receiver.start(settings, 4.0 * m))
    truth = received.index

    def count():
        EyeCounter(settings, 64, N, 32, 256, 2.0).take(received, state, truth)

    benchmark(count)
    say(f"eye: 32 phases, {m} samples/UI", benchmark, received.index.size)


def test_receiver_with_eye(benchmark):
    """Everything at 32 samples a symbol: clock, taps, decisions, and every symbol in the eyes of all stages; in blocks."""
    settings, x = replace(loop(32, 32), traced=True), wave(32).astype(np.float32)
    blocks = np.array_split(x, 12)

    def run():
        state, eyes = receiver.start(settings, 4.0 * 32), EyeCounter(settings, 64, N, 32, 256, 2.0)
        for block in blocks:
            received, state = receiver.step(settings, block, state)
            eyes.take(received, state, received.index)

    benchmark(run)
    say("eye: 32 samples/UI, block updates and eye", benchmark, N)


def test_channel(benchmark):
    """Symbols of the 112G example to its waveform."""
    point = operating_point(setup("112G").link(1.0))
    filters, _ = polyphase.prepare(point.spectra.response(point.spectra.pulse, 4).phases()[None], 1e-7)
    x = np.random.default_rng(1).standard_normal(N)
    benchmark(polyphase.step, filters, (x,), polyphase.start(filters))
    say("channel, 4 samples/UI", benchmark, N)


def test_normal_numbers(benchmark):
    benchmark(streams.normal, (N,), streams.start(np.random.default_rng(1)))


def test_sequence_detector(benchmark):
    detector = SequenceDetector(target=(1.0, 0.5))
    x = np.random.default_rng(1).standard_normal(N)
    benchmark(detector.step, x, detector.start(PAM4))
    say("sequence detector", benchmark, N)


@pytest.mark.parametrize("samples_per_symbol", [2, 4])
def test_whole_link(benchmark, samples_per_symbol):
    """The 112G example over 1 m: two aggressors, transmitter noise and jitter, receiver noise, converter, clock closed."""
    link = setup("112G").link(1.0).vary({"rx.clock": MuellerMuller()})
    engine = TimeDomain(n_symbols=10**9, eye_symbols=0, samples_per_symbol=samples_per_symbol)
    run = Run(engine, operating_point(link), np.random.default_rng(1))
    run.advance(65536)
    blocks = 10

    def more():
        for _ in range(blocks):
            run.advance(engine.block)

    benchmark(more)
    say(f"whole link: 112G, {samples_per_symbol} samples/UI", benchmark, blocks * engine.block)


def test_two_runs_at_once(benchmark):
    """CPU time of two independent runs in two processes over that of one: 2 divided by it is what two free cores give."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_blocks, (1, 2)))  # both are there, and compiled
        alone = min(pool.submit(_blocks, 1).result() for _ in range(5))
        both = [max(pool.map(_blocks, (1, 2))) for _ in range(5)]
    benchmark(lambda: None)
    if not benchmark.disabled:
        print(f"\ntwo runs at once: {2 * alone / min(both):.2f} times one, by CPU time; aim 1.8")


def _blocks(seed, n=60):
    link = setup("112G").link(1.0).vary({"rx.clock": MuellerMuller()})
    engine = TimeDomain(n_symbols=10**9, eye_symbols=0, samples_per_symbol=2)
    run = Run(engine, operating_point(link), np.random.default_rng(seed))
    run.advance(65536)
    begin = time.process_time()
    for _ in range(n):
        run.advance(engine.block)
    return time.process_time() - begin


def test_a_hundred_million_symbols(benchmark):
    """The 112G example to 1e8 symbols: CPU seconds, and whether the phase has drifted. Takes as long as it says."""
    if benchmark.disabled:
        pytest.skip("ten seconds, for people who ask")
    link = setup("112G").link(1.0).vary({"rx.clock": MuellerMuller()})
    engine = TimeDomain(n_symbols=100_000_000, eye_symbols=0, samples_per_symbol=2)
    begin = time.process_time()
    result = benchmark.pedantic(engine.run, args=(link, np.random.default_rng(2)), rounds=1)
    drift = result.lock.phase_ui - result.operating_point.phase_ui
    print(f"\n1e8 symbols: {time.process_time() - begin:.1f} s of CPU, aim 12; phase {drift:+.1e} UI from where it settled")
    assert result.outcome == "ok"


def test_memory_is_flat():
    """Peak memory [MB] of the process does not grow with the number of symbols."""
    link = setup("112G").link(1.0).vary({"rx.clock": MuellerMuller()})
    peaks = []
    for n in (1_000_000, 4_000_000):
        TimeDomain(n_symbols=n, eye_symbols=0, samples_per_symbol=2).run(link, np.random.default_rng(1))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(f"\npeak memory {peaks[-1]:.0f} MB, aim 500")
    assert peaks[1] - peaks[0] < 20
