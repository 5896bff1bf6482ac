"""Clock recovery against closed forms: lock phase of a single-pole pulse, loop gains, jitter transfer, lock detector."""

import json

import numpy as np
import pytest

from dsp.clock import (
    BangBang,
    Gardner,
    IdealClock,
    LockDetector,
    MuellerMuller,
    detector_gain,
    lock_phase,
    s_curve,
    sampled_pulse,
    slope,
)

RC = 0.5


def single_pole(tau):
    """Unit rectangle of one unit interval through one pole."""
    inside = np.clip(tau, 0, 1)
    return np.where(tau > 0, (1 - np.exp(-inside / RC)) * np.exp(-np.maximum(tau - 1, 0) / RC), 0.0)


@pytest.fixture
def d33(cases_dir):
    return next(c for c in json.loads((cases_dir / "cases.json").read_text())["cases"] if c["id"] == "D33")["expect"]


def test_published_s_curve_and_lock_phase(d33):
    for row in d33["samples"]:
        assert s_curve(single_pole, np.array([row["tau"]]), 5 / 9)[0] == pytest.approx(row["S"], rel=1e-9)
    lock = d33["lock_phase_UI"]
    assert lock_phase(single_pole, peak=1.0) == pytest.approx(lock["value"], abs=lock["tol_abs"])


def test_locks_where_pre_and_post_cursor_are_equal():
    # h(tau - 1) = h(tau + 1) solved by hand
    tau = lock_phase(single_pole, peak=1.0)
    assert tau == pytest.approx(RC * np.log(np.exp(1 / RC) + 1 - np.exp(-1 / RC)), abs=1e-9)
    assert single_pole(np.array(tau - 1)) == pytest.approx(float(single_pole(np.array(tau + 1))), abs=1e-9)


def test_positive_means_too_early():
    assert s_curve(single_pole, np.array([0.8]), 1.0)[0] > 0 > s_curve(single_pole, np.array([1.3]), 1.0)[0]
    assert detector_gain(single_pole, lock_phase(single_pole, 1.0), 1.0) > 0


@pytest.mark.parametrize("samples_per_symbol", [8, 32])
def test_sampled_pulse_gives_the_same_phase(samples_per_symbol):
    t = np.arange(64 * samples_per_symbol) / samples_per_symbol
    smooth = np.exp(-0.5 * ((t - 20.3) / 0.6) ** 2) + 0.2 * np.exp(-0.5 * ((t - 21.4) / 0.6) ** 2)
    exact = lock_phase(lambda x: np.exp(-0.5 * ((x - 20.3) / 0.6) ** 2) + 0.2 * np.exp(-0.5 * ((x - 21.4) / 0.6) ** 2), 20.3)
    found = MuellerMuller().sampling_phase(smooth, samples_per_symbol)
    assert found + np.argmax(smooth) / samples_per_symbol == pytest.approx(exact, abs=1e-3 if samples_per_symbol == 8 else 1e-5)


def test_of_several_zeros_the_nearest_to_the_peak_is_taken():
    def two(t):  # the smaller echo has a stable zero of its own
        return np.exp(-8 * t**2) + 0.6 * np.exp(-8 * (t - 2.4) ** 2)

    curve = s_curve(two, np.linspace(-3, 3, 601), 1.0)
    assert np.sum((curve[:-1] > 0) & (curve[1:] <= 0)) > 1
    assert abs(lock_phase(two, peak=0.0)) < 0.3


def test_nothing_to_lock_on():
    assert MuellerMuller().sampling_phase(np.zeros(256), 32) is None


def test_symmetric_pulse_locks_at_its_peak_and_wraps_around():
    t = np.arange(512) / 32
    pulse = np.exp(-0.5 * (np.minimum(t, 16 - t) / 0.5) ** 2)
    assert MuellerMuller().sampling_phase(pulse, 32) == pytest.approx(0, abs=1e-6)


def test_cubic_is_exact_for_cubics_and_at_samples():
    x = np.arange(64) / 8
    cubic = x**3 - 4 * x**2 + x
    tau = np.linspace(1, 6, 37)
    assert sampled_pulse(cubic, 8, tau) == pytest.approx(tau**3 - 4 * tau**2 + tau)
    assert np.array_equal(sampled_pulse(cubic, 8, x[:-8]), cubic[:-8])


def test_ideal_clock_answers_its_own_phase():
    assert IdealClock(phase_ui=0.2).sampling_phase(np.ones(4), 2) == 0.2
    assert IdealClock().sampling_phase(np.ones(4), 2) is None


@pytest.mark.parametrize("damping", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("bandwidth", [1e-4, 1e-2])
def test_transfer_has_the_noise_bandwidth_it_is_named_for(bandwidth, damping):
    # the integral of |H|^2 from 0 to half the symbol rate is B_n T (exact in the limit of a slow loop)
    f = np.concatenate(([0], np.geomspace(bandwidth * 1e-4, 0.5, 20001)))
    h = MuellerMuller(bandwidth=bandwidth, damping=damping).jitter_transfer(f[1:])
    assert np.trapezoid(np.concatenate(([1], np.abs(h) ** 2)), f) == pytest.approx(bandwidth, rel=4 * bandwidth + 1e-3)


def test_transfer_passes_slow_jitter_and_stops_fast_jitter():
    clock = MuellerMuller(bandwidth=1e-3)
    h = np.abs(clock.jitter_transfer(np.array([1e-7, 0.4])))
    assert h[0] == pytest.approx(1, abs=1e-3)
    assert h[1] < 0.01


def test_latency_makes_the_loop_peak():
    f = np.geomspace(1e-5, 0.4, 2000)
    peaks = [np.max(np.abs(MuellerMuller(bandwidth=2e-3, latency=n).jitter_transfer(f))) for n in (0, 20, 60)]
    assert peaks[0] < peaks[1] < peaks[2]
    late, delayed = MuellerMuller(bandwidth=2e-3, latency=20), MuellerMuller(bandwidth=2e-3)
    assert np.allclose(late.jitter_transfer(f), delayed.jitter_transfer(f, decision_delay=20))


def test_gains_scale_with_the_detector():
    proportional, integral = MuellerMuller().gains(1.0)
    assert MuellerMuller().gains(4.0) == pytest.approx((proportional / 4, integral / 4))
    with pytest.raises(ValueError, match="detector_gain must be greater than 0"):
        MuellerMuller().gains(0.0)


def bell(t):
    return np.exp(-0.5 * (np.asarray(t) / 0.5) ** 2)


PAM4 = np.array([-1, -1 / 3, 1 / 3, 1])


@pytest.mark.parametrize("clock", [MuellerMuller(), Gardner(), BangBang()])
def test_every_s_curve_is_positive_early_and_zero_at_the_peak_of_a_symmetric_pulse(clock):
    early, at, late = clock.s_curve(bell, np.array([-0.2, 0.0, 0.2]), PAM4, 0.1)
    assert early > 0 > late
    assert at == pytest.approx(0, abs=1e-12)
    assert slope(lambda tau: clock.s_curve(bell, tau, PAM4, 0.1), 0.0) > 0


@pytest.mark.parametrize(("clock", "sigma"), [(MuellerMuller(), 0.0), (Gardner(), 0.0), (BangBang(), 0.05)])
def test_s_curve_is_the_mean_of_the_detector(clock, sigma):
    rng = np.random.default_rng(1)
    a = PAM4[rng.integers(0, 4, 200_000)]
    tau = 0.15 - 4.0  # of the symbol in the middle of nine
    h = lambda shift: bell(tau + shift + np.arange(9))  # noqa: E731
    y, y0, half = (np.convolve(a, h(s), "valid") for s in (0.0, -1.0, -0.5))
    half = half + sigma * rng.standard_normal(half.size)
    now, before = a[4 : 4 + y.size], a[3 : 3 + y.size]
    if isinstance(clock, MuellerMuller):
        out = y * before - y0 * now
    elif isinstance(clock, Gardner):
        out = half * (y0 - y)
    else:
        out = np.where(now == -before, np.sign(half) * np.sign(before - now), 0.0)
    mean = clock.s_curve(bell, np.array([0.15]), PAM4, sigma)[0]
    assert np.mean(out) == pytest.approx(mean, abs=5 * np.std(out) / np.sqrt(out.size) + (0.02 if sigma else 0))


def test_gain_of_bang_bang_falls_with_noise():
    gains = [slope(lambda tau, s=s: BangBang().s_curve(bell, tau, PAM4, s), 0.0) for s in (0.05, 0.2, 0.8)]
    assert gains[0] > gains[1] > gains[2] > 0


def test_update_of_many_symbols_is_a_delay():
    f = np.geomspace(1e-6, 1e-3, 50)
    one, many = MuellerMuller(bandwidth=1e-4), MuellerMuller(bandwidth=1e-4, latency=31)
    assert np.allclose(one.jitter_transfer(f, update=32), many.jitter_transfer(f), atol=1e-3)
    assert np.allclose(one.jitter_transfer(f, update=1), one.jitter_transfer(f))


def test_lock_detector():
    detector = LockDetector(error_ratio=0.5, wander_ui=0.1)
    floor = (2 / 3) ** 2 / 12
    good, still = np.full(4, 0.1 * floor), np.zeros(4)
    assert detector.judge(good, still, 2 / 3) == (True, 0, "locked")
    assert detector.judge(np.array([1, 1, 0.1, 0.1]) * floor, still, 2 / 3)[:2] == (True, 2)
    locked, _, reason = detector.judge(np.full(3, floor), np.zeros(3), 2 / 3)
    assert not locked
    assert "1.00 of a random one" in reason
    locked, _, reason = detector.judge(good, np.full(4, 0.3), 2 / 3)
    assert not locked
    assert "wanders by 0.3 UI" in reason
    assert not detector.judge(np.zeros(0), np.zeros(0), 1.0)[0]


@pytest.mark.parametrize(
    ("make", "field", "value"),
    [
        (IdealClock, "phase_ui", 1.5),
        (MuellerMuller, "bandwidth", 0.0),
        (MuellerMuller, "bandwidth", 4e6),
        (MuellerMuller, "damping", 0.0),
        (MuellerMuller, "latency", -1),
        (MuellerMuller, "latency", 0.5),
        (MuellerMuller, "acquire_bandwidth", 0.2),
        (MuellerMuller, "skew_ui", 0.6),
        (Gardner, "bandwidth", 1.0),
        (BangBang, "damping", 100.0),
        (LockDetector, "window", 1),
        (LockDetector, "error_ratio", -0.1),
        (LockDetector, "wander_ui", -0.1),
    ],
)
def test_bad_values(make, field, value):
    with pytest.raises(ValueError, match=f"{make.__name__}.{field} must be"):
        make(**{field: value})
