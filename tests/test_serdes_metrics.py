import json
import math

import numpy as np
import pytest
from scipy.stats import binom

from dsp.constellation import Constellation, pam
from dsp.distribution import Interference, pam_error_ratios
from serdes.metrics import ErrorCount, required_snr_db, symbol_error_ratio, vertical_eye_closure_db


def test_upper_bounds_of_counted_errors(cases_dir):
    rows = json.loads((cases_dir / "ber_confidence_counts.json").read_text(encoding="utf-8"))["rows"]
    upper = [ErrorCount(errors=r["errors"], trials=r["bits"]).upper(0.95) for r in rows]
    assert upper == pytest.approx([2.9957277863525433e-06, 6.57404679668977e-06], rel=1e-6)


@pytest.mark.parametrize(("errors", "trials"), [(0, 1), (0, 10**12), (1, 20), (7, 2000), (500, 1000), (19, 20)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_bounds_are_where_the_binomial_puts_them(errors, trials, confidence):
    # Were the true ratio at the upper bound, so few errors had the probability 1 - confidence; likewise below.
    count = ErrorCount(errors=errors, trials=trials)
    low, high = count.lower(confidence), count.upper(confidence)
    assert low <= count.ratio <= high
    if errors < trials:
        assert binom.cdf(errors, trials, high) == pytest.approx(1 - confidence, rel=1e-6)
    if errors > 0:
        assert binom.sf(errors - 1, trials, low) == pytest.approx(1 - confidence, rel=1e-6)
    assert count.interval(2 * confidence - 1 if confidence > 0.75 else 0.5) == (low, high)


def test_no_error_is_never_zero_and_all_wrong_never_less_than_one():
    clean = ErrorCount(errors=0, trials=10**6)
    assert clean.ratio == 0
    assert clean.lower() == 0
    assert clean.upper(0.95) == pytest.approx(1 - 0.05 ** (1 / 10**6))
    assert clean.upper(0.95) == pytest.approx(3e-6, rel=0.01)
    wrong = ErrorCount(errors=5, trials=5)
    assert wrong.upper() == 1
    assert wrong.lower(0.95) == pytest.approx(0.05 ** (1 / 5))


def test_nothing_counted_says_nothing():
    nothing = ErrorCount(errors=0, trials=0)
    assert math.isnan(nothing.ratio)
    assert nothing.interval() == (0.0, 1.0)


def test_a_count_in_words_has_a_bound_and_never_a_zero():
    assert ErrorCount(errors=0, trials=10**6).text() == "no error in 1000000 symbols, below 3e-06 (95 %)"
    assert ErrorCount(errors=1, trials=1000).text("bits").startswith("1 error in 1000 bits: 0.001, 95 % confidence ")
    assert "7 errors in 1000 symbols" in ErrorCount(errors=7, trials=1000).text()
    assert ErrorCount(errors=0, trials=0).text() == "no symbols counted"
    assert [ErrorCount(errors=e, trials=t).clean for e, t in ((0, 5), (1, 5), (0, 0))] == [True, False, False]


@pytest.mark.parametrize(("field", "value"), [("errors", -1), ("errors", 11), ("errors", 1.0), ("trials", -1), ("trials", 1e6)])
def test_wrong_counts_are_refused(field, value):
    with pytest.raises(ValueError, match=f"ErrorCount.{field} must be a whole number"):
        ErrorCount(**{"errors": 1, "trials": 10, field: value})


@pytest.mark.parametrize("confidence", [0.0, 0.3, 1.0, math.nan])
def test_wrong_confidence_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence must be"):
        ErrorCount(errors=1, trials=10).interval(confidence)


# Required SNR.


@pytest.mark.parametrize(
    ("levels", "mismatch", "error_ratio", "published"), [(2, 1.0, 1e-5, 12.6), (4, 0.95, 1e-4, 19.1), (4, 0.95, 2e-4, 18.7)]
)
def test_published_requirements(levels, mismatch, error_ratio, published):
    assert required_snr_db(error_ratio, pam(levels, mismatch)) == pytest.approx(published, abs=0.1)


def test_the_reference_is_signal_power_of_the_uneven_levels():
    # The published figure divides the even levels' SNR by R_LM^2; ours counts the power really sent, which R_LM lowers.
    even = required_snr_db(1e-4, pam(4))
    assert required_snr_db(1e-4, pam(4, 0.95)) - even == pytest.approx(
        -20 * math.log10(0.95) + 10 * math.log10((2 + 2 * (0.95 / 3) ** 2) / (2 + 2 / 9)), abs=1e-9
    )


@pytest.mark.parametrize("levels", [2, 4, 8])
@pytest.mark.parametrize("error_ratio", [0.1, 1e-4, 1e-12])
def test_required_snr_gives_the_error_ratio_in_gaussian_noise(levels, error_ratio):
    constellation = pam(levels)
    snr_db = required_snr_db(error_ratio, constellation)
    sigma = math.sqrt(constellation.mean_square / 10 ** (snr_db / 10))
    noise = Interference(cursors=np.zeros(0), levels=constellation.array, sigma=sigma)
    ser, _ = pam_error_ratios(constellation, constellation.thresholds, 1.0, noise)
    assert ser == pytest.approx(error_ratio, rel=1e-9, abs=0)
    assert symbol_error_ratio(snr_db, constellation) == pytest.approx(error_ratio, rel=1e-9, abs=0)


def test_published_error_ratios_in_white_noise(cases_dir):
    case = json.loads((cases_dir / "pam4_awgn_snr_inputs.json").read_text(encoding="utf-8"))
    ser = [0.0187512270611063, 0.00358243617139921, 0.00028636166111399, 5.80816232328306e-06, 1.35090155259431e-08]
    assert [symbol_error_ratio(snr, pam(4)) for snr in case["snr_db"]] == pytest.approx(ser, rel=1e-9)


def test_uneven_levels_are_judged_by_the_smallest_gap():
    # All gaps as small as the smallest would fail no sooner: the requirement is on the safe side, by less than the mismatch.
    constellation = pam(4, 0.95)
    snr_db = required_snr_db(1e-4, constellation)
    sigma = math.sqrt(constellation.mean_square / 10 ** (snr_db / 10))
    noise = Interference(cursors=np.zeros(0), levels=constellation.array, sigma=sigma)
    ser, _ = pam_error_ratios(constellation, constellation.thresholds, 1.0, noise)
    assert 0.2e-4 < ser < 1e-4


@pytest.mark.parametrize(("error_ratio", "levels"), [(0.0, 4), (-1e-3, 4), (0.75, 4), (0.5, 2), (math.nan, 4)])
def test_impossible_error_ratios_are_refused(error_ratio, levels):
    with pytest.raises(ValueError, match="symbol_error_ratio must lie between 0 and"):
        required_snr_db(error_ratio, pam(levels))


def test_more_levels_need_more():
    need = [required_snr_db(1e-6, pam(n)) for n in (2, 4, 6, 8)]
    assert np.all(np.diff(need) > 2.5)
    # PAM4 against NRZ at one error ratio: 5 in power, less the few edges that PAM4's outer levels spare.
    assert need[1] - need[0] == pytest.approx(10 * math.log10(5), abs=0.2)


def test_units_of_the_levels_do_not_matter():
    small = Constellation(points=(-0.2, 0.2), labels=(0, 1))
    assert required_snr_db(1e-5, small) == pytest.approx(required_snr_db(1e-5, pam(2)))


def test_vertical_eye_closure():
    assert vertical_eye_closure_db(0.5, 1.0) == pytest.approx(6.02, abs=0.01)
    assert vertical_eye_closure_db(1.0, 1.0) == 0
    assert vertical_eye_closure_db(0.0, 1.0) == math.inf
    assert vertical_eye_closure_db(-0.1, 1.0) == math.inf
