import numpy as np
import pytest

from dsp.constellation import pam
from dsp.converter import Converter, LaneMismatch, Vga
from dsp.distribution import Interference, q_inv
from dsp.noise import Jitter

PAM4 = pam(4).array
SIGNAL = Interference(cursors=np.array([0.3, 0.08, -0.04, 0.02]), levels=PAM4, sigma=0.004)


@pytest.mark.parametrize("rule", ["signal", "gaussian"])
def test_pure_noise_gives_the_gaussian_range_by_either_rule(rule):
    noise = Interference(cursors=np.zeros(0), levels=PAM4, sigma=0.01)
    assert Converter(n_bits=6, clip_rule=rule).full_scale(noise) == pytest.approx(0.01 * 5.326723886384098, rel=1e-9)


def test_signal_range_is_exceeded_with_its_probability():
    v = Converter(n_bits=6, clip_probability=1e-6).full_scale(SIGNAL)
    assert SIGNAL.tail(v) + SIGNAL.lower_tail(-v) == pytest.approx(1e-6, rel=1e-6)
    assert v < SIGNAL.bounds[1] + 5 * SIGNAL.sigma
    assert v < Converter(n_bits=6, clip_probability=1e-6, clip_rule="gaussian").full_scale(SIGNAL)


def test_lopsided_signal_is_ranged_by_its_longer_side():
    lopsided = Interference(cursors=np.array([0.3, 0.1]), levels=np.array([-1.0, 0.2, 0.4]), sigma=0.004)
    v = Converter(n_bits=6).full_scale(lopsided)
    assert lopsided.lower_tail(-v) == pytest.approx(0.5e-7, rel=1e-6)


def test_fast_range_is_near_the_exact_one():
    cursors = 0.2 * 0.9 ** np.arange(40)
    signal = Interference(cursors=cursors, levels=PAM4, sigma=0.004)
    adc = Converter(n_bits=6)
    assert adc.full_scale(signal, exact=False) == pytest.approx(adc.full_scale(signal), rel=5e-3)


def test_levels_are_midrise_and_reach_full_scale():
    adc = Converter(n_bits=3)
    out = adc.convert(np.linspace(-2, 2, 4001), 0.7)
    levels = np.unique(out)
    assert levels.size == 8
    assert levels == pytest.approx(-levels[::-1])
    assert levels[-1] == pytest.approx(0.7)
    assert np.diff(levels) == pytest.approx(adc.step(0.7))
    assert 0 not in levels


def test_quantisation_noise_is_what_conversion_adds():
    adc = Converter(n_bits=6)
    x = np.random.default_rng(1).uniform(-0.7, 0.7, 200_000)
    error = adc.convert(x, 0.7) - x
    assert np.max(np.abs(error)) <= adc.step(0.7) / 2 * (1 + 1e-9)
    assert np.mean(error**2) == pytest.approx(adc.noise_variance(0.7), rel=0.01)
    # One more bit: 6 dB (and the little that 2^n - 1 differs from 2^n).
    assert adc.noise_variance(1.0) / Converter(n_bits=7).noise_variance(1.0) == pytest.approx((127 / 63) ** 2)


def test_conversion_keeps_levels_and_shape():
    adc = Converter(n_bits=8)
    once = adc.convert(np.random.default_rng(2).standard_normal((3, 50)), 1.5)
    assert once.shape == (3, 50)
    assert np.allclose(adc.convert(once, 1.5), once, atol=1e-12)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_bits", 0),
        ("n_bits", 6.5),
        ("n_bits", 25),
        ("clip_probability", 0),
        ("clip_probability", 0.6),
        ("clip_rule", "peak"),
        ("clip_rule", Jitter()),
    ],
)
def test_bad_converter(field, value):
    with pytest.raises(ValueError, match=f"Converter.{field}"):
        Converter(**{"n_bits": 6} | {field: value})


def test_bad_full_scale():
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="full_scale"):
            Converter(n_bits=6).convert(np.zeros(3), wrong)


def test_equal_by_value():
    assert Converter(n_bits=6) == Converter(n_bits=6)
    assert hash(Converter(n_bits=6)) == hash(Converter(n_bits=6))
    assert q_inv(0.5e-7) == pytest.approx(5.326723886384098)


def test_effective_bits_add_noise_of_their_own():
    plain, noisy = Converter(n_bits=8), Converter(n_bits=8, enob=5.0)
    assert noisy.noise_variance(0.5) == pytest.approx(Converter(n_bits=5).noise_variance(0.5))
    assert plain.own_noise(0.5) == 0
    assert noisy.own_noise(0.5) == pytest.approx(noisy.noise_variance(0.5) - plain.noise_variance(0.5))


def test_amplifier_takes_the_largest_step_that_fits():
    vga = Vga(full_scale=0.5, low_db=-6.0, high_db=12.0, step_db=1.5)
    assert vga.gain_db(0.25) == pytest.approx(6.0)
    assert vga.gain_db(0.26) == pytest.approx(4.5)
    assert vga.gain_db(1e-6) == 12.0
    assert vga.gain_db(100.0) == -6.0
    assert vga.range(0.25) == pytest.approx(0.5 * 10 ** (-6 / 20))
    assert Vga(full_scale=0.5, step_db=0.0).range(0.123) == pytest.approx(0.123)


def test_drawn_lanes_have_no_mean_and_the_spread_that_was_asked_for():
    lanes = LaneMismatch.drawn(4000, np.random.default_rng(1), gain=0.01, offset=0.02, skew_ui=0.03)
    for values, rms in ((lanes.gain, 0.01), (lanes.offset, 0.02), (lanes.skew_ui, 0.03)):
        assert np.mean(values) == pytest.approx(0, abs=1e-12)
        assert np.std(values) == pytest.approx(rms, rel=0.05)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Converter(n_bits=6, enob=7.0), "enob"),
        (lambda: Converter(n_bits=6, vga=1.0), "vga"),
        (lambda: Converter(n_bits=6, mismatch=(0.1,)), "mismatch"),
        (lambda: Vga(full_scale=0.0), "full_scale"),
        (lambda: Vga(full_scale=1.0, low_db=-100.0), "low_db"),
        (lambda: Vga(full_scale=1.0, low_db=5.0, high_db=0.0), "high_db"),
        (lambda: Vga(full_scale=1.0, step_db=-1.0), "step_db"),
        (lambda: Vga(full_scale=1.0).gain_db(0.0), "peak"),
        (lambda: LaneMismatch(gain=(), offset=(), skew_ui=()), "gain"),
        (lambda: LaneMismatch(gain=(0.9,), offset=(0.0,), skew_ui=(0.0,)), r"gain\[0\]"),
        (lambda: LaneMismatch(gain=(0.1,), offset=(0.0, 0.0), skew_ui=(0.0,)), "offset"),
        (lambda: LaneMismatch(gain=(0.1,), offset=(0.0,), skew_ui=(0.0, 0.0)), "skew_ui"),
        (lambda: LaneMismatch.drawn(1, np.random.default_rng(1)), "n_lanes"),
    ],
)
def test_bad_values_of_the_front_end(make, field):
    with pytest.raises(ValueError, match=f"{field} must be"):
        make()
