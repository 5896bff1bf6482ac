"""Clock and taps in the closed loop: detectors, transfer, pull-in, adaptation, blind start, stability, stop rules."""

import numpy as np
import pytest
from simple_links import RATE, Nyquist, simple_link

from dsp.clock import BangBang, Gardner, IdealClock, MuellerMuller
from dsp.constellation import pam
from dsp.edge_jitter import EdgeJitter, Sinusoid
from dsp.equalizer import Mmse
from serdes.operating_point import operating_point
from serdes.setups import setup
from serdes.stages import BLIND, Adaptation, cold_taps, loop_stages
from serdes.statistical import Statistical
from serdes.stream_run import Run, update_of
from serdes.time_domain import TimeDomain

MODEST = {"equalizer": Mmse(n_taps=12, n_precursors=4), "noise_density": 3e-16}
EXAMPLES = {"28G": 2.0, "56G": 2.0, "112G": 1.0, "224G": 1.0}


def run(link, n=30_000, seed=1, **engine):
    given = {"n_symbols": n, "settle": 8192, "eye_symbols": 0, "samples_per_symbol": 2}
    return TimeDomain(**(given | engine)).run(link, np.random.default_rng(seed))


def modest(clock, **changes):
    link = simple_link(Nyquist(echo=0.25), clock=clock, **MODEST)
    return link.vary({k.replace("__", "."): v for k, v in changes.items()})


@pytest.mark.parametrize("clock", [MuellerMuller, Gardner, BangBang])
@pytest.mark.parametrize("error", [-0.2, 0.2])
def test_every_detector_settles_where_its_s_curve_says(clock, error):
    result = run(modest(clock(bandwidth=1e-3)), phase_error_ui=error)
    assert result.outcome == "ok"
    assert result.lock.phase_ui == pytest.approx(result.operating_point.phase_ui, abs=0.03)
    hunting = 1.5 if clock is BangBang else 0.3  # it never rests
    assert result.snr_db == pytest.approx(Statistical(eye=False).run(modest(clock())).snr_db, abs=hunting)


def test_detectors_settle_at_different_phases():
    phases = [operating_point(modest(c())).phase_ui for c in (MuellerMuller, Gardner, BangBang)]
    assert len({round(p, 3) for p in phases}) == 3


def test_inverted_pulse_is_followed_by_every_detector():
    for clock in (MuellerMuller, Gardner, BangBang):
        assert run(modest(clock(bandwidth=1e-3), channel__gain=-1.0), phase_error_ui=0.1).outcome == "ok"


@pytest.mark.parametrize("clock", [MuellerMuller, Gardner])
@pytest.mark.parametrize(("latency", "update"), [(0, 1), (0, 16), (50, 1)])
def test_jitter_transfer_is_the_closed_form(clock, latency, update):
    """Sinusoidal jitter of the transmitter; what the sampling phase leaves of it is 1 - H."""
    loop, f, size = clock(bandwidth=1e-3, latency=latency), 5e-4, 0.05
    edges = EdgeJitter(sinusoids=(Sinusoid(amplitude_ui=size, frequency=f * RATE),))
    link = modest(loop, tx__edges=edges)
    engine = TimeDomain(n_symbols=100_000, eye_symbols=0, samples_per_symbol=4, update=update)
    point = operating_point(link)
    held = Run(engine, point, np.random.default_rng(2))
    phases = []
    take = held.tally.take

    def spy(sent, received):
        phases.append(received.phase_ui)
        return take(sent, received)

    held.tally.take = spy
    while held.tally.decided < 90_000:
        held.advance(8192)
    phase = np.concatenate(phases)[10_000:90_000]
    k = 10_000 + np.arange(phase.size)
    left = 2 * np.mean(phase * np.exp(-2j * np.pi * f * k)) / (size * -1j)
    wait = point.taps.n_precursors if loop.detector != "gardner" else 0
    expected = complex(loop.jitter_transfer(np.array(f), decision_delay=wait, update=update)) - 1
    assert abs(left - expected) < 0.1


@pytest.mark.parametrize("name", EXAMPLES)
def test_locks_from_any_phase_and_offset(name):
    """Of 20 starts of each link all lock; three of them here."""
    rng = np.random.default_rng(5)
    link = setup(name).link(EXAMPLES[name]).vary({"rx.clock": MuellerMuller()})
    for seed in range(3):
        start = link.vary({"tx.offset_ppm": float(rng.uniform(-100, 100))})
        result = run(start, 15_000, seed, settle=40_000, phase_error_ui=float(rng.uniform(-0.5, 0.5)))
        assert result.outcome == "ok", result.reason
        assert result.lock.lock_time_symbols < 40_000
        assert result.symbols.errors == 0


def test_a_narrow_loop_slips_over_an_offset_that_a_wide_one_acquires():
    link = setup("112G").link(1.0).vary({"tx.offset_ppm": 80.0, "rx.clock": MuellerMuller(bandwidth=3e-5)})
    start = {"n": 15_000, "settle": 40_000, "phase_error_ui": 0.4}
    assert run(link, **start).outcome == "ok"
    lost = run(link.vary({"rx.clock.acquire_bandwidth": 1e-5}), **start)
    assert lost.outcome != "ok"
    assert lost.lock.cycle_slips >= 3  # 80 ppm over 55,000 symbols is 4.4 unit intervals
    assert run(link.vary({"tx.offset_ppm": 0.0})).lock.cycle_slips == 0


@pytest.mark.parametrize(("clock", "gain"), [(MuellerMuller, 1.0), (MuellerMuller, -1.0), (Gardner, -1.0), (BangBang, 1.0)])
def test_a_skewed_loop_settles_where_it_is_told(clock, gain):
    result = run(modest(clock(bandwidth=3e-4, skew_ui=0.1), channel__gain=gain), settle=30_000, phase_error_ui=0.1)
    plain = operating_point(modest(clock(), channel__gain=gain))
    moved = (result.operating_point.sampling_time - plain.sampling_time) * RATE
    assert moved == pytest.approx(0.1, abs=1e-9)
    assert result.lock.phase_ui == pytest.approx(result.operating_point.phase_ui, abs=0.03)


def test_a_loop_may_settle_at_the_best_phase():
    """Of the 28G example the zero of the S-curve costs half a decibel and more."""
    link = setup("28G").link(2.0)
    best = run(link.vary({"rx.clock": IdealClock()}), 60_000).snr_db
    assert run(link.vary({"rx.clock": MuellerMuller(skew_ui=None)}), 60_000).snr_db == pytest.approx(best, abs=0.2)
    assert run(link.vary({"rx.clock": MuellerMuller()}), 60_000).snr_db < best - 0.5


def test_a_skew_beyond_the_detector_is_an_outcome():
    result = run(modest(Gardner(skew_ui=0.4)))
    assert not result.operating_point.locks
    assert result.outcome == "no lock"
    assert "no stable zero" in result.reason


@pytest.mark.parametrize("rule", ["lms", "sign-lms"])
@pytest.mark.parametrize("update", [1, 32])
def test_adaptation_from_a_cold_start_reaches_the_ideal_taps(rule, update):
    link = modest(IdealClock(phase_ui=0.0))
    stages = (Adaptation(rule=rule, step=1e-2, n_symbols=30_000), Adaptation(rule=rule, step=1e-3))
    result = run(link, cold=True, adaptation=stages, settle=60_000, n_training=20_000, update=update)
    ideal = Statistical(eye=False).run(link)
    assert result.snr_db == pytest.approx(ideal.snr_db, abs=0.25)
    assert np.abs(np.subtract(result.detail.adapted.feedback, result.detail.ideal.feedback)) == pytest.approx(0, abs=0.1)
    c = result.detail.convergence
    assert c.mean_square_error[0] > 3 * c.mean_square_error[-1]
    assert c.feed_forward.shape == (c.symbols.size, 12)
    assert c.feedback[0].tolist() == [0.0]


def test_blind_start_needs_no_known_symbols():
    link = setup("112G").link(1.0).vary({"rx.clock": MuellerMuller(bandwidth=5e-4)})
    result = run(link, cold=True, adaptation=BLIND, settle=150_000)
    assert result.outcome == "ok", result.reason
    assert result.symbols.errors == 0
    assert result.snr_db == pytest.approx(Statistical(eye=False).run(link).snr_db, abs=1.0)


def test_clock_and_taps_do_not_drift_apart():
    link = modest(MuellerMuller(bandwidth=1e-3))
    result = run(link, 600_000, adaptation=2e-3)
    assert result.outcome == "ok"
    assert result.lock.phase_ui == pytest.approx(result.operating_point.phase_ui, abs=0.02)
    assert np.argmax(np.abs(result.detail.adapted.feed_forward)) == result.detail.ideal.n_precursors
    first, *_, last = result.detail.convergence.feed_forward
    assert np.max(np.abs(last - first)) < 0.15 * np.max(np.abs(first))


def test_levels_adapt_to_a_transmitter_that_has_other_ones():
    """The receiver begins with the even levels' thresholds; the transmitter's inner levels are smaller."""
    stages = loop_stages(
        (Adaptation(step=0.0, level_step=1e-3),), cold_taps(operating_point(modest(IdealClock()))), 1.0, pam(4)
    )
    assert stages[0].level_step == 1e-3
    result = run(
        modest(IdealClock()).vary({"tx.constellation": pam(4, 0.9)}), adaptation=(Adaptation(step=1e-3, level_step=1e-3),)
    )
    assert result.detail.levels == pytest.approx(pam(4, 0.9).array, abs=0.02)


def test_unstable_step_is_a_named_outcome():
    result = run(modest(IdealClock()), adaptation=8.0, update=32)
    assert result.outcome == "unstable adaptation"
    assert "step of the adaptation is too large" in result.reason
    assert not result.lock.locked
    assert np.all(np.isfinite(result.detail.adapted.feed_forward))


def test_updates_are_as_many_as_disturb_nothing():
    assert update_of(TimeDomain(), 1e-4) == 32
    assert update_of(TimeDomain(), 1e-3) == 8
    assert update_of(TimeDomain(), 1e-2) == 1
    assert update_of(TimeDomain(adaptation=0.1), 0.0) == 1
    assert update_of(TimeDomain(update=5), 1e-2) == 5


def test_stops_after_enough_errors_or_confidence():
    noisy = modest(IdealClock(), rx__noise_density=4e-14)
    by_errors = run(noisy, 10_000_000, max_errors=300)
    assert by_errors.detail.stopped == "errors"
    assert by_errors.symbols.errors >= 300
    assert by_errors.symbols.trials < 1_000_000
    sure = run(noisy, 10_000_000, precision=0.1)
    assert sure.detail.stopped == "confidence"
    low, high = sure.symbols.interval()
    assert high - low <= 0.1 * sure.ser
    assert run(noisy, 20_000, max_errors=10**9).detail.stopped == "all symbols"
    assert by_errors.ser == pytest.approx(sure.ser, rel=0.3)


@pytest.mark.parametrize(
    ("field", "value"), [("rule", "rls"), ("step", -1.0), ("n_symbols", 0), ("level_step", 1.0), ("step", float("inf"))]
)
def test_bad_values(field, value):
    with pytest.raises(ValueError, match=f"Adaptation.{field} must be"):
        Adaptation(**{field: value})
