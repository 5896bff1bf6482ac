import numpy as np
import pytest

from dsp.fec import KP4, KR4, Fec, count_bounds, frame_loss_ratio

# pre-FEC BER, symbol error probability, codeword failure, symbol error ratio with failed words left uncorrected.
KP4_ROWS = [
    (0.0001, 0.000999550119979003, 1.35981106476443e-18, 4.00743122524445e-20),
    (0.00024, 0.00239740965818347, 8.15157339933046e-13, 2.40949049469431e-14),
    (0.0003, 0.00299595323829961, 2.14322291073505e-11, 6.34364158728903e-13),
    (0.0005, 0.00498876498688287, 2.79258397107217e-08, 8.30594093688062e-10),
    (0.001, 0.00995511979025179, 0.000153025859280605, 4.62036183458392e-06),
]


@pytest.mark.parametrize(("ber", "symbol", "failure", "post"), KP4_ROWS)
def test_kp4_in_independent_errors(ber, symbol, failure, post):
    assert KP4.symbol_error_probability(ber) == pytest.approx(symbol, rel=1e-12)
    assert KP4.codeword_failure(ber) == pytest.approx(failure, rel=1e-10, abs=0)
    assert KP4.post_fec_symbol_error_ratio(ber) == pytest.approx(post, rel=1e-10, abs=0)
    assert KP4.threshold(failure) == pytest.approx(ber, rel=1e-10)


@pytest.mark.parametrize("code", [KP4, KR4, Fec(n=15, k=11, symbol_bits=4, t=2), Fec(n=7, k=7 - 2, symbol_bits=3, t=0)])
@pytest.mark.parametrize("failure", [1e-100, 1e-15, 1e-3, 0.5, 0.999])
def test_threshold_inverts_failure(code, failure):
    assert code.codeword_failure(code.threshold(failure)) == pytest.approx(failure, rel=1e-9, abs=0)


def test_limits():
    assert KP4.codeword_failure(0.0) == 0
    assert KP4.post_fec_ber(0.0) == 0
    assert KP4.codeword_failure(1.0) == 1
    assert KP4.post_fec_ber(1.0) == pytest.approx(1.0)
    assert KP4.rate == pytest.approx(0.944852941)
    # A hopeless channel: nothing is corrected, so the errors stay as they are.
    assert KP4.post_fec_ber(0.2) == pytest.approx(0.2)
    # Without correction the share of wrong bits is that before.
    assert Fec(n=7, k=6, symbol_bits=3, t=0).post_fec_ber(1e-3) == pytest.approx(1e-3)


def test_failure_grows_with_errors_and_falls_with_strength():
    ber = np.logspace(-5, -2, 30)
    assert np.all(np.diff(KP4.codeword_failure(ber)) > 0)
    assert np.all(KR4.codeword_failure(ber) > KP4.codeword_failure(ber))


def test_counted_failures():
    code = Fec(n=15, k=11, symbol_bits=4, t=2)
    wrong = (np.random.default_rng(5).random((40_000, 15, 4)) < 0.03).any(axis=2).sum(axis=1)
    failed = wrong > 2
    assert failed.mean() == pytest.approx(code.codeword_failure(0.03), rel=0.03)
    assert np.where(failed, wrong, 0).mean() / 15 == pytest.approx(code.post_fec_symbol_error_ratio(0.03), rel=0.03)


@pytest.mark.parametrize(
    ("field", "value"), [("n", 1024), ("n", 1), ("k", 0), ("k", 544), ("symbol_bits", 1), ("t", 16), ("t", -1)]
)
def test_bad_code(field, value):
    with pytest.raises(ValueError, match=f"Fec.{field}"):
        Fec(**{"n": 544, "k": 514, "symbol_bits": 10, "t": 15} | {field: value})


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_bad_ber(wrong):
    with pytest.raises(ValueError, match="pre_fec_ber"):
        KP4.codeword_failure(wrong)


@pytest.mark.parametrize("wrong", [0.0, 1.0, 2.0])
def test_bad_failure(wrong):
    with pytest.raises(ValueError, match="codeword_failure"):
        KP4.threshold(wrong)


def test_counted_errors_bound_the_failure():
    low, high = KP4.failure_bounds(240, 1_000_000)
    assert low < KP4.codeword_failure(2.4e-4) < high
    tighter = KP4.failure_bounds(24_000, 100_000_000)
    assert low < tighter[0] < tighter[1] < high
    none, most = KP4.failure_bounds(0, 1000)
    assert none == 0
    assert most == pytest.approx(KP4.codeword_failure(1 - 0.025 ** (1 / 1000)))


def test_count_bounds():
    # Exact where nothing or everything is wrong; both ends hold the asked tail elsewhere.
    from scipy.stats import binom

    assert count_bounds(0, 100, 0.9) == (0.0, pytest.approx(1 - 0.05 ** (1 / 100)))
    assert count_bounds(100, 100, 0.9) == (pytest.approx(0.05 ** (1 / 100)), 1.0)
    low, high = count_bounds(7, 1000)
    assert binom.sf(6, 1000, low) == pytest.approx(0.025)
    assert binom.cdf(7, 1000, high) == pytest.approx(0.025)


def test_frame_loss():
    # KP4 behind 2.4e-4 is held to a loss ratio below 6.2e-10 by 802.3; one word holds 7.6 frames of 64 octets.
    failure = float(KP4.codeword_failure(2.4e-4))
    assert frame_loss_ratio(failure, 5140) == pytest.approx(failure * (1 + 1 / 7.62), rel=1e-3, abs=0)
    assert frame_loss_ratio(0.0, 5140) == 0
    assert frame_loss_ratio(1.0, 5140) == 1
    assert frame_loss_ratio(1e-6, 5140, 1518) > frame_loss_ratio(1e-6, 5140) > frame_loss_ratio(1e-6, 2 * 5140)


def test_bad_counts():
    for call in (
        lambda: count_bounds(-1, 10),
        lambda: count_bounds(11, 10),
        lambda: count_bounds(0, 0),
        lambda: count_bounds(0, 10, 1.0),
        lambda: KP4.failure_bounds(2, 1),
        lambda: frame_loss_ratio(1.5, 5140),
        lambda: frame_loss_ratio(0.1, 0),
        lambda: frame_loss_ratio(0.1, 5140, 63),
    ):
        with pytest.raises(ValueError, match="must be"):
            call()
