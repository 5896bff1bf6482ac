import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.linalg import toeplitz
from scipy.optimize import lsq_linear

from dsp import kernels
from dsp.equalizer import (
    FixedTaps,
    Mmse,
    Taps,
    mean_square_error,
    residual_interference,
    transfer,
    zero_forcing,
)
from dsp.noise import autocorrelation

PAM4_POWER = 5 / 9
QUIET = np.zeros(1)
LIMITS = (-2.0, 2.0)


def white(variance):
    return np.array([variance])


def random_pulse(rng, n=32, main=4, decay=3.0):
    """A decaying pulse with a main cursor that leads, and random cursors around it."""
    h = rng.uniform(-1, 1, n) * np.exp(-np.abs(np.arange(n) - main) / decay) * 0.7
    h[main] = 1.0
    return h * 0.3, main


def coloured(rng, level, n=32):
    """Autocovariance of white noise behind three random filter taps."""
    g = rng.standard_normal(3)
    r = np.zeros(n)
    r[:3] = level**2 * np.correlate(g, g, "full")[2:]
    return r


def explicit(h, main, noise, equalizer):
    """The same problem by convolution matrices and a bounded least-squares solver: error, forward taps, feedback taps."""
    n, q, ahead = equalizer.n_taps, equalizer.n_feedback, equalizer.n_precursors
    convolution = np.stack([np.roll(h, j - ahead) for j in range(n)], axis=1)
    lags = np.zeros(n)
    lags[: min(n, noise.size)] = noise[:n]
    values, vectors = np.linalg.eigh(toeplitz(lags) / PAM4_POWER)
    colour = np.sqrt(values.clip(0))[:, None] * vectors.T
    cancel = np.eye(h.size)[:, [(main + 1 + k) % h.size for k in range(q)]]
    rows = np.block([[convolution, -cancel], [colour, np.zeros((n, q))]])
    goal = np.concatenate([np.eye(h.size)[main], np.zeros(n)])
    # The main cursor is 1: one particular solution plus the null space of that row.
    row = convolution[main]
    start = row / (row @ row)
    space = np.linalg.svd(row[None])[2][1:].T
    inner = np.hstack([rows[:, :n] @ space, rows[:, n:]])
    low = np.concatenate([np.full(n - 1, -np.inf), np.full(q, equalizer.feedback_limits[0])])
    high = np.concatenate([np.full(n - 1, np.inf), np.full(q, equalizer.feedback_limits[1])])
    found = lsq_linear(inner, goal - rows[:, :n] @ start, bounds=(low, high), method="bvls", tol=1e-14)
    return PAM4_POWER * 2 * found.cost, start + space @ found.x[: n - 1], found.x[n - 1 :]


# Published case: what ideal feedback takes away.


@pytest.fixture
def known_cursors(cases_dir):
    case = json.loads((cases_dir / "dfe_known_cursors.json").read_text(encoding="utf-8"))
    h = np.zeros(16)
    for position, value in case["cursors"].items():
        h[int(position) + 4] = value
    return h, 4


def worst_case_height(p, main):
    """Inner eye of four levels by peak distortion: 2 (p0/3 - sum |p_k|)."""
    others = np.sum(np.abs(p)) - abs(p[main])
    return 2 * (p[main] / 3 - others)


def test_ideal_feedback_taps_and_worst_case_eye(known_cursors):
    h, main = known_cursors
    taps, _ = Mmse(n_taps=1, n_precursors=0, n_feedback=2).solve(h, main, QUIET, PAM4_POWER)
    assert taps.feed_forward == pytest.approx((1 / 0.62,))
    assert taps.feedback == pytest.approx((0.3387096774193548, 0.14516129032258063))
    assert np.array(taps.feedback) * h[main] == pytest.approx((0.21, 0.09))
    left = residual_interference(taps, h, main)
    left[main] += 1
    assert worst_case_height(left * h[main], main) == pytest.approx(0.24333333333333332)
    assert worst_case_height(h, main) == pytest.approx(-0.3566666666666667)


def test_feedback_limits_show_as_residual(known_cursors):
    h, main = known_cursors
    taps, _ = Mmse(n_taps=1, n_precursors=0, n_feedback=2, feedback_limits=(0.0, 0.2)).solve(h, main, QUIET, PAM4_POWER)
    assert taps.feedback == pytest.approx((0.2, 0.14516129032258063))
    left = residual_interference(taps, h, main)
    assert left[main + 1] == pytest.approx(0.21 / 0.62 - 0.2)
    assert left[main + 2] == pytest.approx(0, abs=1e-12)


# Least mean-square error.


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.integers(0, 4),
    st.floats(1e-3, 0.3),
    st.tuples(st.floats(-0.4, 0.0), st.floats(0.01, 0.6)),
)
def test_taps_are_those_of_a_bounded_least_squares_solver(seed, n_taps, n_feedback, level, limits):
    rng = np.random.default_rng(seed)
    h, main = random_pulse(rng, decay=rng.uniform(0.5, 6))
    noise = coloured(rng, 0.3 * level)
    equalizer = Mmse(n_taps=n_taps, n_precursors=int(rng.integers(0, n_taps)), n_feedback=n_feedback, feedback_limits=limits)
    taps, error = equalizer.solve(h, main, noise, PAM4_POWER)
    least, forward, back = explicit(h, main, noise, equalizer)
    assert error == pytest.approx(least, rel=1e-6)
    assert taps.feed_forward == pytest.approx(forward, abs=1e-5 * np.max(np.abs(forward)))
    assert taps.feedback == pytest.approx(back, abs=1e-5)


def test_two_limits_that_bind_together():
    # Clipping every tap that lies outside and going on would fix the second one at a limit it need not touch.
    rng = np.random.default_rng(0)
    differ = 0
    for _ in range(300):
        h, main = random_pulse(rng, decay=8.0)
        equalizer = Mmse(n_taps=4, n_precursors=1, n_feedback=4, feedback_limits=(-0.1, 0.2))
        _, error = equalizer.solve(h, main, white(1e-3), PAM4_POWER)
        free = Mmse(n_taps=4, n_precursors=1, n_feedback=4, feedback_limits=LIMITS).solve(h, main, white(1e-3), PAM4_POWER)
        clipped = explicit_error_at(h, main, white(1e-3), equalizer, np.clip(free[0].feedback, -0.1, 0.2))
        assert error <= clipped * (1 + 1e-9)
        differ += error < clipped * (1 - 1e-3)
    assert differ > 20


def explicit_error_at(h, main, noise, equalizer, back):
    """Least error with the feedback taps held at ``back``."""
    held = h.copy()
    pulse = np.zeros(h.size)
    pulse[main] = 1
    for k, b in enumerate(back, start=1):
        pulse[main + k] = b
    n = equalizer.n_taps
    convolution = np.stack([np.roll(held, j - equalizer.n_precursors) for j in range(n)], axis=1)
    lags = np.zeros(n)
    lags[: min(n, noise.size)] = noise[:n]
    normal = convolution.T @ convolution + toeplitz(lags) / PAM4_POWER
    kkt = np.block([[normal, -convolution[main][:, None]], [convolution[main][None], np.zeros((1, 1))]])
    w = np.linalg.solve(kkt, np.concatenate([convolution.T @ pulse, [1.0]]))[:n]
    return PAM4_POWER * (np.sum((convolution @ w - pulse) ** 2) + w @ (toeplitz(lags) / PAM4_POWER) @ w)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 0.05, 0.4]))
def test_the_error_reported_is_that_of_the_taps(seed, tap_limit):
    rng = np.random.default_rng(seed)
    h, main = random_pulse(rng)
    noise = coloured(rng, 0.01)
    taps, error = Mmse(n_taps=7, n_precursors=2, n_feedback=2, tap_limit=tap_limit).solve(h, main, noise, PAM4_POWER)
    # By hand: energy of what the pulse leaves after feedback, plus noise filtered tap by tap.
    w = np.array(taps.feed_forward)
    p = sum(w[j] * np.roll(h, j - 2) for j in range(7))
    assert p[main] == pytest.approx(1, abs=1e-10)
    p[main] -= 1
    p[main + 1 : main + 3] -= taps.feedback
    by_hand = PAM4_POWER * p @ p + w @ toeplitz(noise[:7]) @ w
    assert error == pytest.approx(by_hand, rel=1e-9)
    assert mean_square_error(taps, h, main, noise, PAM4_POWER) == pytest.approx(by_hand, rel=1e-9)
    assert residual_interference(taps, h, main) == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_more_taps_and_wider_limits_are_never_worse(seed):
    rng = np.random.default_rng(seed)
    h, main = random_pulse(rng)
    noise = coloured(rng, 0.02)

    def error(**changes):
        return Mmse(**{"n_taps": 5, "n_precursors": 2, "n_feedback": 1, **changes}).solve(h, main, noise, PAM4_POWER)[1]

    def falls(errors):
        assert all(b <= a * (1 + 1e-10) for a, b in pairwise(errors)), errors

    falls([error(n_taps=n) for n in range(3, 16)])
    falls([error(n_taps=5 + k, n_precursors=2 + k) for k in range(8)])
    falls([error(n_feedback=k, feedback_limits=(-0.5, 0.85)) for k in range(7)])
    falls([error(n_feedback=3, feedback_limits=(-x, x)) for x in (0.0, 0.05, 0.1, 0.3, 1.0)])
    falls([error(tap_limit=x) for x in (0.01, 1e3)])
    # Error is a variance in squared symbols: gain in front changes the taps, not the error.
    taps, e = Mmse(n_taps=5, n_precursors=2).solve(h, main, noise, PAM4_POWER)
    scaled, same = Mmse(n_taps=5, n_precursors=2).solve(10 * h, main, 100 * noise, PAM4_POWER)
    assert same == pytest.approx(e, rel=1e-9)
    assert np.array(scaled.feed_forward) * 10 == pytest.approx(taps.feed_forward)
    # So does inverting the pulse.
    turned, same = Mmse(n_taps=5, n_precursors=2).solve(-h, main, noise, PAM4_POWER)
    assert same == pytest.approx(e, rel=1e-9)
    assert np.negative(turned.feed_forward) == pytest.approx(taps.feed_forward)


def test_without_noise_many_taps_invert_the_channel():
    # 1 + a D has the inverse (-a)^n; the error left is what lies beyond the last tap.
    a, n = 0.5, 12
    h = np.zeros(64)
    h[5:7] = 0.2, 0.2 * a
    equalizer = Mmse(n_taps=n, n_precursors=0, n_feedback=0)
    taps, error = equalizer.solve(h, 5, QUIET, PAM4_POWER)
    assert 0.2 * np.array(taps.feed_forward) == pytest.approx((-a) ** np.arange(n), abs=2 * a**n)
    assert error <= PAM4_POWER * a ** (2 * n)
    exact = zero_forcing(h, 5, n, 0)
    assert exact.feed_forward == pytest.approx(taps.feed_forward, abs=10 * a**n)


def test_in_overwhelming_noise_the_taps_are_a_matched_filter():
    rng = np.random.default_rng(3)
    h, main = random_pulse(rng)
    taps, error = Mmse(n_taps=9, n_precursors=4, n_feedback=0).solve(h, main, white(1e6), PAM4_POWER)
    heard = h[main + 4 - np.arange(9)]
    assert taps.feed_forward == pytest.approx(heard / (heard @ heard), rel=1e-5, abs=1e-7)
    assert error == pytest.approx(1e6 / (heard @ heard), rel=1e-5)


def test_feedback_makes_the_post_cursor_free():
    # One post-cursor, white noise: with feedback the error is the noise alone, whatever the post-cursor.
    for post in (0.0, 0.3, 0.8):
        h = np.zeros(32)
        h[4:6] = 0.2, 0.2 * post
        taps, error = Mmse(n_taps=1, n_precursors=0).solve(h, 4, white(1e-4), PAM4_POWER)
        assert error == pytest.approx(1e-4 / 0.04, rel=1e-9)
        assert taps.feedback == pytest.approx((post,))


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.floats(-0.3, 0.1), st.floats(0.0, 0.5))
def test_feedback_limits_are_respected(seed, n_feedback, low, width):
    rng = np.random.default_rng(seed)
    h, main = random_pulse(rng, decay=8)
    limits = (low, low + width)
    taps, _ = Mmse(n_taps=5, n_precursors=2, n_feedback=n_feedback, feedback_limits=limits).solve(
        h, main, white(1e-4), PAM4_POWER
    )
    assert all(limits[0] <= b <= limits[1] for b in taps.feedback)


@pytest.mark.parametrize("tap_limit", [0.02, 0.1, 0.3])
def test_forward_taps_are_limited_and_the_main_cursor_stays_one(tap_limit):
    rng = np.random.default_rng(8)
    for _ in range(20):
        h, main = random_pulse(rng)
        free, least = Mmse(n_taps=7, n_precursors=3).solve(h, main, white(1e-5), PAM4_POWER)
        taps, error = Mmse(n_taps=7, n_precursors=3, tap_limit=tap_limit).solve(h, main, white(1e-5), PAM4_POWER)
        w = np.array(taps.feed_forward)
        assert np.max(np.abs(np.delete(w, 3))) <= tap_limit * abs(w[3]) * (1 + 1e-12)
        assert taps.equalize(h)[main] == pytest.approx(1)
        assert error >= least * (1 - 1e-9)
        if np.max(np.abs(np.delete(free.feed_forward, 3))) <= tap_limit * abs(free.feed_forward[3]):
            assert taps == free


def test_a_dead_pulse_is_an_infinite_error():
    for equalizer in (
        Mmse(),
        Mmse(n_feedback=0, tap_limit=0.5),
        FixedTaps(),
        FixedTaps(feed_forward=(0.1, 1.0), n_precursors=1),
    ):
        taps, error = equalizer.solve(np.zeros(64), 0, white(1e-6), PAM4_POWER)
        assert error == np.inf
        assert len(taps.feed_forward) == len(getattr(equalizer, "feed_forward", range(22)))
        assert np.all(np.isfinite(taps.feed_forward))
    silent, error = Mmse().solve(np.zeros(64), 0, QUIET, PAM4_POWER)
    assert error == np.inf
    assert silent.feedback == (0.0,)


@pytest.mark.parametrize("n_feedback", [0, 1, 2])
@pytest.mark.parametrize("tap_limit", [None, 0.2])
@pytest.mark.parametrize("limits", [(0.0, 0.85), (-0.05, 0.05), (0.1, 0.1)])
def test_errors_of_many_phases_are_those_of_each(n_feedback, tap_limit, limits):
    rng = np.random.default_rng(11)
    pulses = [random_pulse(rng, decay=6) for _ in range(8)]
    h = np.array([p for p, _ in pulses] + [np.zeros(32)])
    main = np.array([m for _, m in pulses] + [0])
    noise = np.array([coloured(rng, 0.01) for _ in range(8)] + [white(1e-4) @ np.eye(1, 32)])
    equalizer = Mmse(n_taps=6, n_precursors=2, n_feedback=n_feedback, feedback_limits=limits, tap_limit=tap_limit)
    found = equalizer.errors(h, main, noise, PAM4_POWER)
    alone = [equalizer.solve(a, int(b), c, PAM4_POWER)[1] for a, b, c in zip(h, main, noise, strict=True)]
    assert found == pytest.approx(alone, rel=1e-8)
    assert found[-1] == np.inf
    quiet = equalizer.errors(h, main, np.zeros(h.shape), PAM4_POWER)
    assert quiet == pytest.approx([equalizer.solve(a, int(b), QUIET, PAM4_POWER)[1] for a, b in zip(h, main, strict=True)])
    fixed = FixedTaps(feed_forward=(-0.1, 1.0), n_precursors=1)
    assert fixed.errors(h, main, noise, PAM4_POWER)[3] == fixed.solve(h[3], int(main[3]), noise[3], PAM4_POWER)[1]


def test_the_loop_over_phases_is_plain_python_compiled_and_gives_a_dense_solution():
    rng = np.random.default_rng(5)
    h, main, n, before = rng.standard_normal((3, 32)), np.array([4, 31, 0]), 7, 2
    lags = autocorrelation(h)[:, :n] + 0.1 * np.eye(1, n)
    found = kernels.phase_grams(h, main, lags, before)
    np.testing.assert_allclose(found, kernels.phase_grams.py_func(h, main, lags, before), rtol=1e-12)
    for p in range(3):
        columns = np.array([np.roll(h[p], -(main[p] + k + before))[-np.arange(n)] for k in (0, 1)])
        (g0, g1), (_, gb) = columns @ np.linalg.solve(toeplitz(lags[p]), columns.T)
        np.testing.assert_allclose(found[p], (g0, g1, gb), rtol=1e-9)


def test_a_perfect_pulse_without_noise():
    h = np.zeros(64)
    h[9] = 0.25
    taps, error = Mmse().solve(h, 9, QUIET, PAM4_POWER)
    assert error == pytest.approx(0, abs=1e-12)
    assert taps.feed_forward[6] == pytest.approx(4)


# Zero forcing.


@settings(deadline=None, max_examples=30, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_zero_forcing_leaves_nothing_around_the_main_cursor(seed, n_taps):
    rng = np.random.default_rng(seed)
    h, main = random_pulse(rng, decay=1.0)
    ahead = int(rng.integers(0, n_taps))
    assume(main - ahead >= 0)
    taps = zero_forcing(h, main, n_taps, ahead)
    p = taps.equalize(h)
    wanted = np.zeros(n_taps)
    wanted[ahead] = 1
    assert p[main - ahead : main - ahead + n_taps] == pytest.approx(wanted, abs=1e-9)


def test_zero_forcing_is_never_better_than_least_error():
    rng = np.random.default_rng(5)
    for _ in range(10):
        h, main = random_pulse(rng, decay=1.5)
        noise = coloured(rng, 0.03)
        forced = mean_square_error(zero_forcing(h, main, 7, 3), h, main, noise, PAM4_POWER)
        _, least = Mmse(n_taps=7, n_precursors=3, n_feedback=0).solve(h, main, noise, PAM4_POWER)
        assert least <= forced * (1 + 1e-9)


# Taps given.


def test_gain_control_makes_the_main_cursor_one():
    rng = np.random.default_rng(6)
    h, main = random_pulse(rng)
    fixed = FixedTaps(feed_forward=(-0.1, 1.0, -0.2), n_precursors=1, feedback=(0.1,))
    taps, error = fixed.solve(h, main, white(1e-4), PAM4_POWER)
    w = np.array(taps.feed_forward)
    assert w / w[1] == pytest.approx((-0.1, 1.0, -0.2))
    assert taps.equalize(h)[main] == pytest.approx(1)
    assert taps.feedback == (0.1,)
    p = sum(w[j] * np.roll(h, j - 1) for j in range(3))
    p[main] -= 1
    p[main + 1] -= 0.1
    assert error == pytest.approx(PAM4_POWER * p @ p + 1e-4 * w @ w)


def test_taps_that_cancel_the_main_cursor_are_an_infinite_error():
    h = np.zeros(16)
    h[4:6] = 0.3, 0.3
    _, error = FixedTaps(feed_forward=(1.0, -1.0), n_precursors=1).solve(h, 4, QUIET, PAM4_POWER)
    assert error == np.inf


# What taps do.


def test_position_and_order_of_taps():
    h = np.zeros(16)
    h[6] = 1.0
    taps = Taps(feed_forward=(0.1, 1.0, -0.2), n_precursors=1)
    p = taps.equalize(h)
    assert p[5:8] == pytest.approx((0.1, 1.0, -0.2))
    assert np.delete(p, [5, 6, 7]) == pytest.approx(0, abs=1e-15)


def test_leading_axes_pass_through():
    rng = np.random.default_rng(7)
    h = rng.standard_normal((3, 2, 16))
    taps = Taps(feed_forward=(0.1, 1.0, -0.2), n_precursors=1)
    assert taps.equalize(h)[1, 1] == pytest.approx(taps.equalize(h[1, 1]))


@pytest.mark.parametrize("n_precursors", [0, 2, 6])
def test_transfer_is_the_spectrum_of_the_taps(n_precursors):
    rng = np.random.default_rng(n_precursors)
    w = rng.standard_normal(7)
    n = 64
    placed = np.zeros(n)
    placed[: w.size] = w
    spectrum = np.fft.fft(np.roll(placed, -n_precursors))
    assert transfer(w, n_precursors, np.arange(n) / n) == pytest.approx(spectrum, abs=1e-12)
    assert transfer(w, n_precursors, np.zeros(1))[0] == pytest.approx(w.sum())
    assert transfer(np.array([1.0]), 0, np.linspace(0, 1, 5)) == pytest.approx(1)


def test_variance_behind_taps_by_explicit_filtering():
    rng = np.random.default_rng(9)
    w = rng.standard_normal(6)
    taps = Taps(feed_forward=tuple(w), n_precursors=2)
    assert taps.variance(white(0.3)) == pytest.approx(0.3 * w @ w)
    assert taps.variance(np.array([0.3, 0, 0, 0, 0, 0, 0, 0, 0])) == pytest.approx(0.3 * w @ w)
    # Noise coloured by a filter g: behind the taps its response is g convolved with w.
    g = rng.standard_normal(5)
    r = np.correlate(g, g, "full")[4:]
    assert taps.variance(0.7 * r) == pytest.approx(0.7 * np.sum(np.convolve(g, w) ** 2))
    # Fully correlated noise is an offset, which the sum of the taps multiplies.
    assert taps.variance(np.ones(32)) == pytest.approx(w.sum() ** 2)
    # A sample of it, filtered.
    x = rng.standard_normal(200_000)
    sample = np.convolve(np.convolve(x, g, "valid"), w, "valid")
    assert taps.variance(r) == pytest.approx(np.var(sample), rel=0.02)


# Wrong values.


@pytest.mark.parametrize(
    ("kind", "field", "value", "rule"),
    [
        (Mmse, "n_taps", 0, "1 or more"),
        (Mmse, "n_taps", 2.5, "whole number"),
        (Mmse, "n_precursors", -1, "from 0 to 21"),
        (Mmse, "n_precursors", 22, "from 0 to 21"),
        (Mmse, "n_feedback", -1, "0 or more"),
        (Mmse, "feedback_limits", [0.0, 0.5], "tuple"),
        (Mmse, "feedback_limits", (0.5, 0.0), "lowest, highest"),
        (Mmse, "feedback_limits", (0.0, 0.5, 1.0), "lowest, highest"),
        (Mmse, "feedback_limits", (0.5,), "2 or more"),
        (Mmse, "feedback_limits", (0.0, np.nan), "finite"),
        (Mmse, "tap_limit", 0.0, "greater than 0"),
        (Mmse, "tap_limit", "x", "finite"),
        (FixedTaps, "feed_forward", (), "1 or more"),
        (FixedTaps, "feed_forward", 1.0, "tuple"),
        (FixedTaps, "feed_forward", (np.inf,), "finite"),
        (FixedTaps, "n_precursors", 1, "from 0 to 0"),
        (FixedTaps, "feedback", [0.1], "tuple"),
        (FixedTaps, "feedback", (np.nan,), "finite"),
    ],
)
def test_wrong_values_are_refused(kind, field, value, rule):
    with pytest.raises(ValueError, match=rule) as caught:
        kind(**{field: value})
    assert f"{kind.__name__}.{field}" in str(caught.value)


def test_no_forward_taps_are_refused_with_a_remedy(cases_dir):
    runs = json.loads((cases_dir / "bad_run_configurations.json").read_text(encoding="utf-8"))["runs"]
    run = next(r for r in runs if r["id"] == "d")
    with pytest.raises(ValueError, match=r"Mmse\.n_taps must be a whole number of 1 or more, got 0 .*needs its main tap"):
        Mmse(n_taps=run["rx_ffe_taps"], n_precursors=0)
