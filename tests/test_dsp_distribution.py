import numpy as np
import pytest

from dsp import kernels
from dsp.constellation import Constellation, pam
from dsp.distribution import (
    Interference,
    dual_dirac_bathtub,
    dual_dirac_eye_width,
    eye_density,
    log10_q,
    pam_error_ratios,
    q,
    q_inv,
)

PAM4 = pam(4).array
LONG = 0.05 * np.exp(-np.arange(300) / 20) * np.random.default_rng(1).choice([-1, 1], 300)


def enumerated(cursors, levels, sigma, x):
    """P(X > x) as the mean of Gaussian tails about every combination of symbols."""
    sums = np.zeros(1)
    for c in cursors:
        sums = np.add.outer(sums, c * np.asarray(levels)).ravel()
    return np.array([np.mean(q((v - sums) / sigma)) for v in x])


# Gaussian tail.


def test_published_tails():
    x = np.array([3.0, 6.0, 7.0345, 7.9413454, 8.5, 12.0, 37.5])
    tails = [
        0.00134989803163009,
        9.86587645037698e-10,
        9.99884011323287e-13,
        9.99999404675622e-16,
        9.47953482220332e-18,
        1.77648211207768e-33,
        4.60535300958195e-308,
    ]
    logs = [
        -2.86969903592937,
        -9.0058643274767,
        -12.0000503761638,
        -15.0000002585462,
        -17.0232129737492,
        -32.7504391611919,
        -307.336737074645,
    ]
    roots = [3.09023230616781, 4.7534243088229, 5.99780701500769, 7.03448382530113, 7.941345326171, 8.75729034878232]
    assert q(x) == pytest.approx(tails, rel=1e-9, abs=0)
    assert log10_q(x) == pytest.approx(logs, rel=1e-9)
    assert q_inv(np.array([1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-18])) == pytest.approx(roots, rel=1e-9)
    assert log10_q(1e5) == pytest.approx(-(1e10) / 2 / np.log(10), rel=1e-6)
    for wrong in (0.0, 1.0, -1.0):
        with pytest.raises(ValueError, match="q_inv"):
            q_inv(wrong)


# Interference.


@pytest.mark.parametrize("levels", [pam(2).array, PAM4, pam(4, 0.9).array, pam(6).array, pam(8).array, [0.0, 0.2, 0.6, 1.0]])
@pytest.mark.parametrize(
    ("cursors", "sigma"),
    [
        ([-0.05, 0.14, -0.06, 0.03], 0.03),
        ([0.3, 0.1, 0.03, 0.01], 0.002),
        ([0.5], 0.01),
        ([0.1] * 5, 0.05),
        ([0.1, 0, -3e-4], 2e-4),
    ],
)
def test_tail_equals_enumeration_at_any_depth(cursors, sigma, levels):
    x = Interference(cursors=np.array(cursors), levels=np.array(levels), sigma=sigma)
    low, high = x.bounds
    at = np.linspace(low - 13 * sigma, high + 13 * sigma, 31)
    exact = enumerated(cursors, levels, sigma, at)
    assert exact.min() < 1e-36
    assert x.tail(at) == pytest.approx(exact, rel=1e-9, abs=0)
    assert x.lower_tail(-at) == pytest.approx(enumerated(cursors, -np.array(levels), sigma, at), rel=1e-9, abs=0)


@pytest.mark.parametrize("sigma", [0.8, 0.02, 0.0])
def test_tail_of_many_cursors_equals_a_lattice_convolution(sigma):
    cursors = np.random.default_rng(6).integers(1, 40, 30)
    pmf = np.ones(1)
    for c in cursors:
        one = np.zeros(6 * c + 1)
        one[:: 2 * c] = 0.25
        pmf = np.convolve(pmf, one)
    values = (np.arange(pmf.size) - (pmf.size - 1) / 2) / 3
    x = Interference(cursors=cursors.astype(float), levels=PAM4, sigma=sigma)
    # Half way between lattice points, where the smearing of a discrete law does not show.
    at = np.array([-300.5, -20.5, 3.5, 100.5, 400.5]) / 3
    exact = [np.sum(pmf * (q((v - values) / sigma) if sigma else values > v)) for v in at]
    assert x.tail(at) == pytest.approx(exact, rel=1e-9, abs=0)


def test_tail_of_a_deep_sum_is_finite_in_the_logarithm():
    x = Interference(cursors=np.full(20, 0.1), levels=PAM4, sigma=0.01)
    at = x.bounds[1] + 200 * x.sigma
    assert x.tail(at) == 0
    # All symbols at the top, then the Gaussian alone: the next best sums are far behind.
    expected = 20 * np.log(0.25) + float(log10_q(200.0)) * np.log(10)
    assert x.log_tail(at) == pytest.approx(expected, rel=1e-9)


def test_both_tails_add_up_and_mirror():
    x = Interference(cursors=LONG, levels=np.array([-1.0, 0.1, 0.5, 1.0]), sigma=0.004)
    at = x.mean + np.linspace(-3, 3, 13) * np.sqrt(x.variance)
    assert x.tail(at) + x.lower_tail(at) == pytest.approx(1, abs=1e-10)
    assert np.all(np.diff(x.tail(at)) < 0)


def test_scale_does_not_matter():
    for scale in (1e-9, 1e6):
        x = Interference(cursors=LONG * scale, levels=PAM4, sigma=0.004 * scale)
        y = Interference(cursors=LONG, levels=PAM4, sigma=0.004)
        assert x.tail(0.5 * scale) == pytest.approx(y.tail(0.5), rel=1e-10, abs=0)
        assert x.quantile(1e-9) == pytest.approx(y.quantile(1e-9) * scale, rel=1e-8, abs=0)


def test_discrete_laws_are_exact():
    x = Interference(cursors=np.array([0.5, 0.1]), levels=np.array([-1.0, 1.0]), sigma=0.0)
    assert x.tail(np.array([0.7, 0.59, 0.41, 0.0, -0.59, -0.7])) == pytest.approx([0, 0.25, 0.25, 0.5, 0.75, 1])
    assert x.quantile(0.2) == pytest.approx(0.6)
    assert x.quantile(0.3) == pytest.approx(0.4)
    nearly = Interference(cursors=x.cursors, levels=x.levels, sigma=1e-6)
    assert nearly.tail(0.6) == pytest.approx(1 / 8)
    assert nearly.tail(0.6 + 6e-6) == pytest.approx(float(q(6.0)) / 4, rel=1e-6, abs=0)
    assert nearly.quantile(1e-9) == pytest.approx(0.6 + 1e-6 * float(q_inv(4e-9)), rel=1e-11)
    many = Interference(cursors=LONG, levels=PAM4, sigma=0.0)
    assert many.tail(many.bounds[1]) == 0
    assert many.tail(-1.01 * many.bounds[1]) == 1


def test_pure_gaussian_and_nothing_at_all():
    x = Interference(cursors=np.zeros(2), levels=PAM4, sigma=0.5)
    assert x.tail(np.array([[1.0, 2.0], [-1.0, 20.0]])) == pytest.approx(q(np.array([[2, 4], [-2, 40]])), rel=1e-12, abs=0)
    assert x.quantile(1e-20) == pytest.approx(0.5 * float(q_inv(1e-20)), rel=1e-12)
    none = Interference(cursors=np.zeros(0), levels=PAM4, sigma=0.0)
    assert none.quantile(0.1) == none.quantile_saddle(0.1) == none.variance == 0
    assert none.tail(np.array([-1.0, 1.0])).tolist() == [1, 0]


@pytest.mark.parametrize("p", [1e-250, 1e-15, 1e-4, 0.3, 0.5, 0.8, 1 - 1e-6])
def test_quantile_inverts_tail(p):
    for levels in (PAM4, np.array([-1.0, 0.1, 0.5, 1.0])):
        x = Interference(cursors=LONG, levels=levels, sigma=0.004)
        assert x.tail(x.quantile(p)) == pytest.approx(p, rel=1e-7, abs=0)


def test_saddle_quantile_is_near():
    for levels in (PAM4, np.array([-1.0, 0.1, 0.5, 1.0])):
        x = Interference(cursors=LONG, levels=levels, sigma=0.004)
        rms = np.sqrt(x.variance)
        for p in (0.45, 1e-2, 1e-6, 1e-12, 1 - 1e-6):
            assert x.quantile_saddle(p) == pytest.approx(x.quantile(p), abs=2e-3 * rms)
    gauss = Interference(cursors=np.zeros(0), levels=PAM4, sigma=2.0)
    assert gauss.quantile_saddle(1e-12) == pytest.approx(2 * float(q_inv(1e-12)), rel=1e-6)


def test_com_noise_quantile():
    noise = Interference(cursors=np.array([-0.012, 0.03, 0.018, -0.009, 0.006]), levels=PAM4, sigma=0.0062)
    a_ni = -noise.quantile(1 - 1e-4)
    assert a_ni == pytest.approx(0.0841534834776644, rel=1e-9)
    assert 20 * np.log10(0.95 * 0.31 / 3 / a_ni) == pytest.approx(1.33783892774669, abs=1e-8)


def test_moments():
    levels = np.array([0.0, 0.2, 0.6, 1.0])
    x = Interference(cursors=np.array([0.5, -0.2]), levels=levels, sigma=0.1)
    rng = np.random.default_rng(8)
    drawn = rng.choice(levels, (200_000, 2)) @ x.cursors + 0.1 * rng.standard_normal(200_000)
    assert drawn.mean() == pytest.approx(x.mean, abs=2e-3)
    assert drawn.var() == pytest.approx(x.variance, rel=0.01)
    assert x.bounds == pytest.approx((-0.2, 0.5))


def test_arrays_are_read_only_copies_and_identity_is_not_value():
    cursors = np.array([0.1, 0.2])
    x = Interference(cursors=cursors, levels=PAM4, sigma=0.1)
    cursors[0] = 9
    assert x.cursors[0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        x.cursors[0] = 1
    assert x != Interference(cursors=x.cursors, levels=PAM4, sigma=0.1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cursors", np.ones((2, 2))),
        ("cursors", np.array([np.nan])),
        ("levels", np.zeros(0)),
        ("levels", np.array([np.inf, 1.0])),
        ("sigma", -1.0),
        ("sigma", np.nan),
    ],
)
def test_bad_interference(field, value):
    with pytest.raises(ValueError, match=f"Interference.{field}"):
        Interference(**{"cursors": np.ones(2), "levels": PAM4, "sigma": 0.1} | {field: value})


def test_bad_questions():
    x = Interference(cursors=np.ones(2), levels=PAM4, sigma=0.1)
    for wrong in (0.0, 1.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="quantile"):
            x.quantile(wrong)
        with pytest.raises(ValueError, match="quantile_saddle"):
            x.quantile_saddle(wrong)
    with pytest.raises(ValueError, match="finite"):
        x.tail(np.nan)


# Densities.


def test_pmf_against_exact_tails():
    x = Interference(cursors=LONG, levels=PAM4, sigma=0.003)
    rms = np.sqrt(x.variance)
    v = np.linspace(-9 * rms, 9 * rms, 2001)
    p = x.pmf(v)
    assert p.sum() == pytest.approx(1, abs=1e-10)
    assert np.sum(p * v**2) == pytest.approx(x.variance, rel=1e-9)
    half = (v[1] - v[0]) / 2
    for depth in (5e-4, 1e-9):
        i = int(np.searchsorted(v, x.quantile(depth)))
        assert p[i:].sum() == pytest.approx(float(x.tail(v[i] - half)), rel=5e-3)


@pytest.mark.parametrize(
    "levels", [pam(2).array, np.array([-1.0, 0.0, 1.0]), PAM4, pam(4, 0.9).array, pam(6).array, pam(8).array]
)
@pytest.mark.parametrize("n_bins", [256, 601])
def test_density_equals_the_slope_of_the_tail(levels, n_bins):
    pulse = np.random.default_rng(2).uniform(-0.05, 0.05, (3, 5)) * np.array([[1], [0.5], [1.5]])
    sigma = np.array([0.02, 0.03, 0.05])
    v = np.linspace(-0.6, 0.6, n_bins)
    density = eye_density(pulse, levels, sigma, v)
    for p in range(3):
        sums = np.zeros(1)
        for c in pulse[p]:
            sums = np.add.outer(sums, c * levels).ravel()
        exact = np.exp(-0.5 * ((v[:, None] - sums) / sigma[p]) ** 2).mean(axis=1) / (sigma[p] * np.sqrt(2 * np.pi))
        assert density[p] == pytest.approx(exact, abs=1e-12 * exact.max())


def test_density_on_a_narrow_axis_does_not_fold_back():
    pulse = np.array([[0.5, 0.1, 0.05]])
    wide = eye_density(pulse, PAM4, np.array([0.02]), np.linspace(-1, 1, 2001))
    narrow = eye_density(pulse, PAM4, np.array([0.02]), np.linspace(-0.2, 0.2, 401))
    assert narrow[0] == pytest.approx(wide[0, 800:1201], abs=1e-10 * wide.max())


def test_discrete_law_is_widened_not_rung():
    v = np.linspace(-1, 1, 401)
    p = Interference(cursors=np.array([0.6]), levels=PAM4, sigma=0.0).pmf(v)
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, abs=1e-4)
    assert np.sum(p * v**2) == pytest.approx(0.2 + (1.5 * 0.005) ** 2, rel=1e-4)
    assert [p[np.abs(v - 0.6 * a) < 0.05].sum() for a in PAM4] == pytest.approx([0.25] * 4, abs=1e-4)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("levels", np.array([0.0, 1.0])),
        ("sigma", np.array([0.1, 0.1])),
        ("sigma", np.array([-0.1])),
        ("voltage", np.linspace(0, 1, 11)),
        ("voltage", np.array([-1, -0.5, 0.2, 1])),
        ("voltage", np.array([0.0])),
    ],
)
def test_bad_density_arguments(field, value):
    good = {"pulse": np.ones((1, 2)), "levels": PAM4, "sigma": np.array([0.1]), "voltage": np.linspace(-1, 1, 11)}
    with pytest.raises(ValueError, match=field):
        eye_density(**good | {field: value})


# Kernels against themselves as plain Python.


def test_tail_kernels_equal_plain_python():
    cursors = np.array([0.3, -0.1, 0.02])
    for levels in (PAM4, np.array([-1.0, 0.1, 1.0])):
        for kernel, arguments in (
            (kernels.cumulant_function, (3.0, cursors, levels, 0.05)),
            (kernels.log_tail, (0.35, cursors, levels, 0.05)),
            (kernels.log_tails, (np.array([0.2, 0.6]), cursors, levels, 0.05)),
            (kernels.saddle_quantile, (np.log(1e-9), 6.0, cursors, levels, 0.05)),
        ):
            assert np.asarray(kernel.py_func(*arguments)) == pytest.approx(np.asarray(kernel(*arguments)), rel=1e-10)
    for w in (-3.0, 0.5, 24.99, 25.01, 300.0):
        assert kernels.mills_ratio.py_func(w) == pytest.approx(kernels.mills_ratio(w), rel=1e-12)
    assert kernels.mills_ratio(24.9999) == pytest.approx(kernels.mills_ratio(25.0001), rel=1e-5)


@pytest.mark.parametrize(
    ("spacings", "weights"),
    [
        ([1.0], [0.0, 1.0]),
        ([1 / 3], [0.0, -1.0, 0.0, 2.0]),
        ([0.3, 1.0], [0.0, 0.5, 0.5]),
        ([0.2], [0.0, 5 / 3, 0, -16 / 3, 0, 16 / 3]),
    ],
)
def test_eye_kernel_equals_plain_python(spacings, weights):
    pulse = np.random.default_rng(1).uniform(-0.3, 0.3, (4, 8))
    arguments = (pulse, np.array(spacings), np.array(weights), np.linspace(0, 0.1, 8), 0.5, 40, 0.01)
    assert kernels.eye_characteristic.py_func(*arguments) == pytest.approx(kernels.eye_characteristic(*arguments), abs=1e-12)


# Error ratios.


@pytest.mark.parametrize(
    ("snr_db", "ser", "gray", "natural"),
    [
        (14, 0.0187512270611063, 0.00937561353496922, 0.0125008180385295),
        (16, 0.00358243617139921, 0.00179121808569961, 0.0023882907809328),
        (18, 0.00028636166111399, 0.000143180830556995, 0.000190907774075993),
        (20, 5.80816232328306e-06, 2.90408116164153e-06, 3.87210821552204e-06),
        (22, 1.35090155259431e-08, 6.75450776297155e-09, 9.00601035062873e-09),
    ],
)
def test_pam4_in_gaussian_noise(snr_db, ser, gray, natural):
    noise = Interference(cursors=np.zeros(0), levels=PAM4, sigma=np.sqrt(5 / 9 * 10 ** (-snr_db / 10)))
    found = pam_error_ratios(pam(4), pam(4).thresholds, 1.0, noise)
    assert found == pytest.approx((ser, gray), rel=1e-9, abs=0)
    plain = Constellation(points=pam(4).points, labels=(0, 1, 2, 3))
    assert pam_error_ratios(plain, plain.thresholds, 1.0, noise)[1] == pytest.approx(natural, rel=1e-9, abs=0)


@pytest.mark.parametrize(
    ("cursors", "sigma", "ser", "ber"),
    [
        ([-0.05, 0.14, -0.06, 0.03], 0.03, 0.0797383112867823, 0.0398691556433911),
        ([-0.02, 0.05, -0.03, 0.02], 0.0115, 1.02208949919148e-14, 5.1104474959574e-15),
    ],
)
def test_pam4_with_four_isi_cursors(cursors, sigma, ser, ber):
    noise = Interference(cursors=np.array(cursors), levels=PAM4, sigma=sigma)
    found = pam_error_ratios(pam(4), np.array([-0.4, 0, 0.4]), 0.6, noise)
    assert found == pytest.approx((ser, ber), rel=1e-9, abs=0)


def test_offset_and_level_errors_count_like_threshold_errors():
    noise = Interference(cursors=np.array([0.1, -0.05]), levels=PAM4, sigma=0.05)
    shifted = pam_error_ratios(pam(4), pam(4).thresholds + 0.07, 1.0, noise)
    assert pam_error_ratios(pam(4), pam(4).thresholds, 1.0, noise, bias=-0.07) == pytest.approx(shifted, rel=1e-9)
    squeezed = pam(4, 0.9)
    moved = squeezed.array - PAM4
    by_bias = pam_error_ratios(pam(4), squeezed.thresholds, 1.0, noise, bias=moved)
    assert by_bias == pytest.approx(pam_error_ratios(squeezed, squeezed.thresholds, 1.0, noise), rel=1e-9)


def test_no_signal_is_guessing():
    noise = Interference(cursors=np.zeros(0), levels=PAM4, sigma=1e6)
    # Everything falls above the top or below the bottom threshold: the outer two labels, 00 and 10.
    assert pam_error_ratios(pam(4), pam(4).thresholds, 1.0, noise) == pytest.approx((0.75, 0.5), abs=1e-5)


def test_inverted_signal_is_all_wrong():
    noise = Interference(cursors=np.zeros(0), levels=PAM4, sigma=0.01)
    ser, ber = pam_error_ratios(pam(4), pam(4).thresholds, -1.0, noise)
    assert ser == pytest.approx(1)
    # 00 <-> 10 and 01 <-> 11: one bit of two.
    assert ber == pytest.approx(0.5)


def test_bad_thresholds():
    noise = Interference(cursors=np.zeros(0), levels=PAM4, sigma=0.1)
    for wrong in (np.array([0.0, 1.0]), np.array([0.0, 0.0, 1.0])):
        with pytest.raises(ValueError, match="thresholds"):
            pam_error_ratios(pam(4), wrong, 1.0, noise)


# Dual-Dirac jitter.


def test_published_eye_width():
    assert dual_dirac_eye_width(1e-12, 0.1, 0.012, 0.5) == pytest.approx(0.735874854019991, abs=1e-9)


def test_bathtub_is_symmetric_and_its_width_is_where_it_crosses():
    x = np.linspace(0, 1, 41)
    b = dual_dirac_bathtub(x, 0.1, 0.02)
    assert b == pytest.approx(b[::-1], rel=1e-9, abs=0)
    width = dual_dirac_eye_width(1e-9, 0.1, 0.02)
    assert dual_dirac_bathtub((1 - width) / 2, 0.1, 0.02) == pytest.approx(1e-9, rel=1e-6, abs=0)
    assert dual_dirac_bathtub(0.0, 0.0, 0.02) == pytest.approx(0.25)


def test_widths_at_the_ends():
    assert dual_dirac_eye_width(1e-12, 0.5, 0.1) == 0
    assert dual_dirac_eye_width(0.4, 0.1, 0.01) == 1
    assert dual_dirac_eye_width(1e-12, 0.0, 0.001) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("dj", "rj", "density"), [(-0.1, 0.01, 0.5), (0.1, 0.0, 0.5), (0.1, 0.01, 1.5)])
def test_bad_jitter(dj, rj, density):
    with pytest.raises(ValueError, match="dual_dirac"):
        dual_dirac_bathtub(np.zeros(1), dj, rj, density)
    with pytest.raises(ValueError, match="dual_dirac"):
        dual_dirac_eye_width(1e-9, dj, rj, density)
    with pytest.raises(ValueError, match="ber"):
        dual_dirac_eye_width(0.0, 0.1, 0.01)


CLOSED = Interference(cursors=np.array([-0.05, 0.14, -0.06, 0.03]) / 0.6, levels=PAM4, sigma=0.03 / 0.6), 0.0797383112867823
DEEP = Interference(cursors=np.array([-0.02, 0.05, -0.03, 0.02]) / 0.6, levels=PAM4, sigma=0.0115 / 0.6), 1.02208949919148e-14


def binned_error_ratio(law, n_bins, share):
    """Symbol error ratio of PAM4 out of bins; ``share``: the bin at the threshold counts in part, as in `Eye.bathtub`."""
    v = np.linspace(-2.5, 2.5, n_bins)
    p = law.pmf(v)
    if not share:
        return 0.75 * p[np.abs(v) > 1 / 3].sum()
    position = (1 / 3 - v[0]) / (v[1] - v[0]) + 0.5
    under = int(position)
    return 1.5 * (p[under:].sum() - (position - under) * p[under])


@pytest.mark.parametrize(("n_bins", "whole"), [(512, 1.008), (2048, 1.015), (8192, 1.001)])
def test_bins_move_an_error_ratio_of_eight_per_cent_by_one(n_bins, whole):
    """An eye must not open or close as its bins get finer: the bin at the threshold is all that moves, and it can be shared."""
    law, ratio = CLOSED
    assert binned_error_ratio(law, n_bins, share=False) / ratio == pytest.approx(whole, abs=6e-4)
    assert binned_error_ratio(law, n_bins, share=True) / ratio == pytest.approx(1, abs=2e-4)


@pytest.mark.parametrize("n_bins", [1024, 4096, 16384])
def test_bins_are_no_place_for_a_deep_tail(n_bins):
    """At 1e-14 rounding of the transform adds some 10 %; never a zero, and the integral without bins is exact."""
    law, ratio = DEEP
    assert 1 < binned_error_ratio(law, n_bins, share=True) / ratio < 1.25
    assert pam_error_ratios(pam(4), pam(4).thresholds, 1.0, law)[0] == pytest.approx(ratio, rel=1e-9, abs=0)
