"""The time-domain engine against closed forms, against the statistical engine, and against itself in other blocks."""

import dataclasses
import json
from dataclasses import dataclass

import numpy as np
import pytest

from channels.channel import LinearChannel
from dsp.clock import IdealClock, LockDetector, MuellerMuller
from dsp.constellation import pam
from dsp.converter import Converter
from dsp.equalizer import FixedTaps, Mmse
from dsp.fec import KP4
from dsp.noise import Jitter
from dsp.units import GBd, ps
from serdes import time_domain
from serdes.link import Aggressor, Link, Receiver, Transmitter
from serdes.setups import setup
from serdes.simulate import simulate
from serdes.statistical import Statistical
from serdes.stream_run import receiver_loop
from serdes.time_domain import TimeDomain

RATE = 50 * GBd
UI = 1 / RATE


@dataclass(frozen=True, kw_only=True)
class Simple(LinearChannel):
    """Test channel: gain, a delay, one pole, and an echo one unit interval later."""

    gain: float = 1.0
    delay: float = 0.0
    pole: float = 0.0
    echo: float = 0.0

    def transfer(self, f):
        pole = 1 / (1 + 1j * f / self.pole) if self.pole else 1.0
        return self.gain * pole * (1 + self.echo * np.exp(-2j * np.pi * f * UI)) * np.exp(-2j * np.pi * f * self.delay)

    def noise_psd(self, f, drive=None):
        return np.zeros(f.shape)


def flat(**changes):
    """A link with next to no interference behind its equaliser."""
    link = Link(
        symbol_rate=RATE,
        tx=Transmitter(amplitude=0.4, rise_time=5 * ps),
        channel=Simple(delay=3.3 * UI),
        rx=Receiver(equalizer=Mmse(n_taps=11, n_precursors=4, n_feedback=0), noise_density=1e-15, bandwidth=0.75 * RATE),
    )
    return link.vary({k.replace("__", "."): v for k, v in changes.items()})


def with_snr(link, snr_db):
    """The same with receiver noise that leaves ``snr_db``."""
    for _ in range(6):
        now = Statistical(eye=False).run(link).operating_point
        error = link.tx.constellation.mean_square * 10 ** (-snr_db / 10) - now.mean_square_error + now.variances["thermal"]
        link = link.vary({"rx.noise_density": link.rx.noise_density * error / now.variances["thermal"]})
    return link


def lossy(**changes):
    """A link with a little of everything."""
    link = Link(
        symbol_rate=RATE,
        tx=Transmitter(amplitude=0.4, rise_time=6 * ps, snr_db=32.0, jitter=Jitter(random_ui=0.01, dual_dirac_ui=0.02)),
        channel=Simple(delay=70.7 * UI, pole=9e9),
        rx=Receiver(
            noise_density=3e-17, bandwidth=37e9, jitter=Jitter(random_ui=0.01), converter=Converter(n_bits=6),
            equalizer=Mmse(n_taps=12, n_precursors=3), clock=MuellerMuller(bandwidth=1e-3),
        ),
        aggressors=(
            Aggressor(tx=Transmitter(amplitude=0.4), coupling=Simple(gain=0.02, delay=5 * UI), offset_ppm=150.0),
            Aggressor(tx=Transmitter(amplitude=0.4), coupling=Simple(gain=0.01, pole=2e10), phase_ui=0.3),
        ),
    )  # fmt: skip
    return link.vary({k.replace("__", "."): v for k, v in changes.items()})


QUIET = {
    "tx__snr_db": None, "tx__jitter": Jitter(), "rx__jitter": Jitter(), "rx__converter": None, "aggressors": (),
    "rx__noise_density": 3e-16,
}  # fmt: skip


def run(link, n=20_000, seed=1, **engine):
    given = {"n_symbols": n, "settle": 4096, "eye_symbols": 0}
    return TimeDomain(**(given | engine)).run(link, np.random.default_rng(seed))


def test_pam4_in_white_noise_has_the_textbook_error_ratio():
    result = run(with_snr(flat(), 17.655), n=200_000, seed=2)
    assert result.snr_db == pytest.approx(17.655, abs=0.03)
    low, high = result.bits.interval(0.999)
    assert low < 2.4e-4 < high
    assert result.outcome == "ok"
    assert result.symbols.trials == 200_000
    assert result.bits.trials == 400_000


@pytest.mark.parametrize("n_levels", [2, 3, 4, 8])
def test_counted_errors_agree_with_the_statistical_engine(n_levels):
    link = with_snr(flat(tx__constellation=pam(n_levels)), {2: 7, 3: 11, 4: 14, 8: 20}[n_levels])
    statistical, counted = Statistical(eye=False).run(link), run(link, n=40_000)
    low, high = counted.symbols.interval(0.999)
    assert low < statistical.ser < high
    assert counted.ber == pytest.approx(statistical.ber, rel=0.2)


def test_any_block_size_gives_the_same_result():
    link = lossy()
    results = [run(link, n=6000, eye_symbols=3000, block=block, seed=4) for block in (65536, 1777, 300)]
    for other in results[1:]:
        assert (other.symbols, other.bits, other.outcome) == (results[0].symbols, results[0].bits, results[0].outcome)
        assert other.snr_db == pytest.approx(results[0].snr_db, abs=1e-8)
        assert other.lock.phase_ui == pytest.approx(results[0].lock.phase_ui, abs=1e-9)
        assert np.max(np.abs(other.eye.density - results[0].eye.density)) < 2e-3  # one count on the edge of a bin
    assert run(link, n=6000, seed=5).snr_db != results[0].snr_db


CAUSES = {
    "interference": {},
    "thermal": {"rx__noise_density": 2e-15},
    "transmitter noise": {"tx__snr_db": 25.0},
    "edge jitter": {"tx__jitter": Jitter(random_ui=0.02, dual_dirac_ui=0.02)},
    "slow edge jitter": {"tx__jitter": Jitter(random_ui=0.02, dual_dirac_ui=0.02, correlation=0.9)},
    "sampling jitter": {"rx__jitter": Jitter(random_ui=0.02, dual_dirac_ui=0.02)},
    "converter": {"rx__converter": Converter(n_bits=5)},
    "crosstalk": {"aggressors": (lossy().aggressors[1],)},
    "transmit taps": {"tx__ffe": FixedTaps(feed_forward=(-0.1, 0.9), n_precursors=1), "tx__snr_db": 30.0},
    "inverted": {"channel__gain": -1.0},
}


@pytest.mark.parametrize("clock", [IdealClock(), MuellerMuller(bandwidth=1e-4)], ids=["ideal", "closed"])
@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_costs_what_the_linear_face_says(cause, clock):
    link = lossy(**(QUIET | CAUSES[cause]), rx__clock=clock)
    assert run(link).snr_db == pytest.approx(Statistical(eye=False).run(link).snr_db, abs=0.15)


def test_crosstalk_at_another_rate_has_its_power():
    link = lossy(**(QUIET | {"aggressors": (lossy().aggressors[0],)}), rx__clock=IdealClock())
    # its phase passes through the whole unit interval: less than the worst phase of the linear face, of the same order
    worst = Statistical(eye=False).run(link).snr_db
    counted = run(link, n=60_000).snr_db
    assert worst - 0.1 < counted < worst + 1.5


def test_loop_locks_at_the_published_phase(cases_dir):
    case = next(c for c in json.loads((cases_dir / "cases.json").read_text())["cases"] if c["id"] == "D33")["expect"]
    # the case's pulse: a rectangle of one unit interval through one pole, RC half a unit interval
    link = flat(
        channel=Simple(pole=RATE / np.pi), tx__rise_time=0.0, rx__clock=MuellerMuller(bandwidth=1e-3),
        rx__equalizer=Mmse(n_taps=5, n_precursors=2), rx__bandwidth=None, rx__noise_density=1e-18,
    )  # fmt: skip
    for error in (-0.15, 0.1):
        result = run(link, n=8000, samples_per_symbol=16, phase_error_ui=error)
        point = result.operating_point
        sampled = point.sampling_time * RATE + result.lock.phase_ui - point.phase_ui
        assert sampled == pytest.approx(case["lock_phase_UI"]["value"], abs=case["loop_tol_UI"])
        assert result.lock.locked


def test_loop_comes_back_from_a_wrong_phase_and_says_how_long_it_took():
    link = lossy(**QUIET)
    pulled = run(link, phase_error_ui=0.3, n_training=2000, lock=LockDetector(window=256, wander_ui=0.02))
    assert pulled.outcome == "ok"
    assert pulled.symbols.errors == 0
    assert pulled.lock.lock_time_symbols > 0
    assert pulled.lock.phase_ui == pytest.approx(run(link).lock.phase_ui, abs=0.01)


def test_wrong_decisions_feed_back_and_known_symbols_do_not():
    link = with_snr(flat(channel=Simple(echo=0.8, delay=3 * UI), rx__equalizer=Mmse(n_taps=11, n_precursors=4)), 15.0)
    n = 30_000
    expected = Statistical(eye=False).run(link)
    alone, led = run(link, n=n), run(link, n=n, n_training=n + 10_000)
    low, high = led.symbols.interval(0.999)
    assert low < expected.ser < high
    assert alone.ser > 1.5 * expected.ser
    assert led.snr_db == pytest.approx(expected.snr_db, abs=0.1)
    assert alone.snr_db < expected.snr_db - 0.5


def test_dead_channel_is_an_outcome():
    result = run(lossy(channel__gain=0.0, aggressors=()))
    assert result.outcome == "no signal"
    assert not result.lock.locked
    assert result.symbols.trials == 0
    assert "passes nothing" in result.reason
    assert run(lossy(channel__gain=0.0, aggressors=(), fec=KP4)).post_fec == 1.0


@pytest.mark.parametrize("clock", [IdealClock(), MuellerMuller(bandwidth=1e-3)], ids=["ideal", "closed"])
def test_closed_eye_is_an_outcome(clock):
    result = run(lossy(channel__gain=0.01, rx__clock=clock))
    assert result.outcome in ("no lock", "not aligned")
    assert not result.lock.locked
    assert result.reason == result.lock.reason
    assert result.ser > 0.3


def test_nowhere_to_lock_is_an_outcome(monkeypatch):
    settled = time_domain.operating_point
    monkeypatch.setattr(time_domain, "operating_point", lambda link: dataclasses.replace(settled(link), locks=False))
    result = run(lossy(), n=2000)
    assert result.outcome == "no lock"
    assert "no stable zero" in result.reason
    assert not result.lock.locked


def test_half_closed_eye_is_an_outcome():
    result = run(with_snr(flat(), 11.5))
    assert result.outcome == "closed eye"
    assert "more than a quarter of the level spacing" in result.reason
    assert result.lock.locked


def test_a_loop_that_oscillates_is_not_locked():
    # so much delay that the correction comes half a turn late
    result = run(lossy(**QUIET, rx__clock=MuellerMuller(bandwidth=5e-3, latency=400)))
    assert result.outcome in ("no lock", "not aligned", "cycle slip")
    assert not result.lock.locked


def test_counted_eye_is_the_statistical_eye():
    link = lossy()
    counted, exact = run(link, n=30_000, eye_symbols=30_000).eye, Statistical().run(link).eye
    assert counted.density.sum(axis=2) == pytest.approx(1)
    assert counted.source == "time domain"
    assert counted.floor == pytest.approx(4 / 30_000)
    for ours, theirs in zip(counted.openings(1e-2), exact.openings(1e-2), strict=True):
        assert ours.height == pytest.approx(theirs.height, rel=0.1)
        assert ours.width_ui == pytest.approx(theirs.width_ui, rel=0.1)
        assert ours.centre == pytest.approx(theirs.centre, abs=0.03)


def test_adaptation_holds_what_was_settled():
    link = lossy(**QUIET)
    assert run(link, adaptation=0.003).snr_db == pytest.approx(run(link).snr_db, abs=0.15)
    loop = receiver_loop(TimeDomain(adaptation=0.1), Statistical(eye=False).run(link).operating_point)
    assert loop.stages[0].feed_forward_step > 0
    assert loop.stages[0].feedback_step > 0


def test_progress_is_reported_and_may_stop_the_run():
    seen = []
    TimeDomain(n_symbols=3000, settle=1000, block=1000, eye_symbols=0).run(
        flat(), np.random.default_rng(1), lambda *at: seen.append(at)
    )
    assert seen[-1] == (4000, 4000)
    assert seen == sorted(seen)


def test_cancelled_keeps_what_was_counted():
    def stop(done, total):
        if done >= 20_000:
            raise KeyboardInterrupt

    result = TimeDomain(block=8192).run(flat(), np.random.default_rng(1), stop)
    assert result.outcome == "cancelled"
    assert result.detail.stopped == "cancelled"
    assert 8_000 < result.symbols.trials < 40_000
    assert result.snr_db > 20
    at_once = TimeDomain(block=8192, eye_symbols=0)

    def now(done, total):
        raise KeyboardInterrupt

    early = dataclasses.replace(at_once, settle=100_000).run(flat(), np.random.default_rng(1), now)
    assert early.outcome == "cancelled"
    assert early.symbols.trials == 0
    assert np.isnan(early.ser)


def test_fec_takes_the_upper_bound_where_no_error_was_counted():
    good = run(flat(fec=KP4), n=5000)
    assert good.symbols.errors == 0
    assert good.ser == 0
    assert good.post_fec == pytest.approx(float(KP4.codeword_failure(good.bits.upper())), rel=1e-6, abs=0)


def test_simulate_takes_the_engine_and_an_rng():
    engine = TimeDomain(n_symbols=1000, settle=1000, eye_symbols=1000)
    result = simulate(setup("100G").link(0.5), engine, np.random.default_rng(1))
    assert result.engine == engine
    row = result.record()
    assert row["symbols"] == 1000
    # no error among a thousand is no ratio of 0
    assert (row["ser"], row["ber"], row["symbol_errors"]) == (None, None, 0)
    assert row["counted"] == "no error in 1000 symbols, below 0.003 (95 %)"
    assert row["ser_high"] > 0.003
    with pytest.raises(ValueError, match="needs rng"):
        simulate(flat(), engine)


def test_engine_is_a_value():
    assert TimeDomain() == TimeDomain()
    assert hash(TimeDomain()) == hash(dataclasses.replace(TimeDomain()))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_symbols", 0),
        ("samples_per_symbol", 1.9),
        ("max_errors", 0),
        ("precision", 0.0),
        ("adaptation", ()),
        ("adaptation", (0.1,)),
        ("cold", 1),
        ("update", 0),
        ("fused", 1),
        ("settle", 10),
        ("n_training", -1),
        ("phase_error_ui", 1.5),
        ("adaptation", -0.1),
        ("eye_symbols", -1),
        ("n_phases", 1),
        ("n_bins", 4),
        ("block", 0),
        ("lock", None),
    ],
)
def test_bad_values(name, value):
    with pytest.raises(ValueError, match=rf"TimeDomain\.{name}(\[0\])? must be"):
        TimeDomain(**{name: value})


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"TimeDomain.run\.link must be a Link"):
        TimeDomain().run("cable", np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"TimeDomain.run\.rng must be a Generator"):
        TimeDomain().run(flat(), 1)
