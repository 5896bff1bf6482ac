"""Square QAM in noise: published error ratios, thresholds, information."""

import numpy as np
import pytest

from channels.amplifier import osnr_from_snr
from dsp import differential
from dsp.constellation import pam, qam
from dsp.units import GBd
from serdes.coherent_metrics import bit_error_ratio, gaussian_information, mutual_information, nearest, rail, required_snr_db

QAM = qam(16)
# Bit error ratio, SNR [dB], OSNR [dB, 0.1 nm] at 59.84375 and 118.203 GBd.
TABLE = [
    (1e-4, 18.225, 25.03, 27.98), (2.4e-4, 17.655, 24.46, 27.41), (3.8e-3, 15.193, 21.99, 24.95),
    (4.85e-3, 14.898, 21.70, 24.66),
    (1.25e-2, 13.549, 20.35, 23.31), (2e-2, 12.711, 19.51, 22.47),
]  # fmt: skip


@pytest.mark.parametrize(("ber", "snr", "slow", "fast"), TABLE)
def test_published_thresholds(ber, snr, slow, fast):
    found = required_snr_db(ber, QAM)
    assert found == pytest.approx(snr, abs=0.002)
    assert osnr_from_snr(found, 59.84375 * GBd) == pytest.approx(slow, abs=0.007)
    assert osnr_from_snr(found, 118.203 * GBd) == pytest.approx(fast, abs=0.007)


@pytest.mark.parametrize(
    ("osnr", "ber"), [(18, 3.92e-2), (20, 1.54e-2), (21, 8.19e-3), (22, 3.78e-3), (24, 4.49e-4), (26, 1.70e-5)]
)
def test_theory_of_another_tool(osnr, ber):
    assert bit_error_ratio(osnr - 6.801, QAM) == pytest.approx(ber, rel=0.01)


def test_counted_errors_are_within_their_error():
    rng = np.random.default_rng(1)
    sent = rng.integers(0, 16, 200_000)
    noise = (rng.standard_normal(sent.size) + 1j * rng.standard_normal(sent.size)) / np.sqrt(2) * 10 ** (-13.5 / 20)
    got = nearest(QAM.array[sent] / np.sqrt(QAM.mean_square) + noise, QAM)
    errors = int(QAM.bit_distance[sent, got].sum())
    expected = bit_error_ratio(13.5, QAM) * 4 * sent.size
    assert abs(errors - expected) < 4 * np.sqrt(expected)


def test_differential_doubles_few_errors_and_is_what_is_counted():
    assert bit_error_ratio(19, QAM, differential=True) / bit_error_ratio(19, QAM) == pytest.approx(5 / 3, rel=0.02)
    rng = np.random.default_rng(4)
    sent = rng.integers(0, 16, 300_000)
    points = QAM.array[differential.encode(sent, QAM)] / np.sqrt(QAM.mean_square)
    noise = (rng.standard_normal(sent.size) + 1j * rng.standard_normal(sent.size)) / np.sqrt(2) * 10 ** (-13 / 20)
    got = differential.decode(nearest(points + noise, QAM), QAM)
    errors = int(differential.differential(QAM).bit_distance[sent[1:], got].sum())
    expected = bit_error_ratio(13, QAM, differential=True) * 4 * got.size
    assert abs(errors - expected) < 5 * np.sqrt(2 * expected)


def test_four_points_are_two_binary_rails():
    from scipy.special import erfc

    assert bit_error_ratio(9.0, qam(4)) == pytest.approx(0.5 * erfc(np.sqrt(10**0.9 / 2)))


def test_information_has_its_limits_and_is_what_samples_give():
    assert gaussian_information(40, QAM) == pytest.approx(4, abs=1e-6)
    assert gaussian_information(-20, QAM) < 0.05
    assert gaussian_information(10, QAM) < np.log2(1 + 10)
    rng = np.random.default_rng(2)
    one = rail(QAM)
    sent = rng.integers(0, 4, 100_000)
    sigma = np.sqrt(one.mean_square / 10**1.2)
    values = one.array[sent] + sigma * rng.standard_normal(sent.size)
    assert 2 * mutual_information(values, sent, one, sigma) == pytest.approx(gaussian_information(12, QAM), abs=0.01)


def test_a_decoder_with_the_wrong_noise_gets_less():
    rng = np.random.default_rng(3)
    one = rail(QAM)
    sent = rng.integers(0, 4, 50_000)
    values = one.array[sent] + 0.25 * rng.standard_normal(sent.size)
    assert mutual_information(values, sent, one, 0.1) < mutual_information(values, sent, one, 0.25)


def test_what_is_refused():
    with pytest.raises(ValueError, match="square"):
        rail(pam(4))
    with pytest.raises(ValueError, match="ber"):
        required_snr_db(0.5, QAM)
