"""Carrier recovery: frequency, phase, pilots, cycle slips, whitening."""

import dataclasses
import math

import numpy as np
import pytest

from dsp import carrier, kernels
from dsp.carrier import BlindPhaseSearch, Pilots
from dsp.constellation import pam, qam
from dsp.dispersion import root_raised_cosine

QAM = qam(16)
POINTS = QAM.array / np.sqrt(QAM.mean_square)
RATE = 60e9


def symbols(n, rng, snr_db=15.0):
    s = POINTS[rng.integers(0, 16, (2, n))]
    noise = rng.standard_normal((2, 2, n)) * 10 ** (-snr_db / 20) / np.sqrt(2)
    return s, s + noise[0] + 1j * noise[1]


def waveform(s):
    n = s.shape[-1]
    f = np.fft.fftfreq(2 * n, 0.5 / RATE)
    return np.fft.ifft(np.tile(np.fft.fft(s), 2) * root_raised_cosine(f, RATE, 0.2))


@pytest.mark.parametrize("offset", [-1.8e9, 0.0, 5e9])
def test_centre_frequency_is_not_moved_by_white_noise(offset):
    rng = np.random.default_rng(1)
    x = waveform(symbols(32768, rng, 40)[0])
    x = x / np.sqrt(np.mean(np.abs(x) ** 2)) + (rng.standard_normal((2, 65536)) + 1j * rng.standard_normal((2, 65536))) * 0.3
    assert carrier.centre_frequency(carrier.shifted(x, -offset, 2 * RATE), 2 * RATE) == pytest.approx(offset, abs=2e8)


@pytest.mark.parametrize("offset", [-7e9, -3e8, 0.0, 1.234e9])
def test_fourth_power_finds_the_offset(offset):
    rng = np.random.default_rng(2)
    _, y = symbols(32768, rng)
    y = carrier.shifted(y * np.exp(1j * np.cumsum(rng.standard_normal(32768)) * 0.005), -offset, RATE)
    assert carrier.fourth_power_frequency(y, RATE) == pytest.approx(offset, abs=5e6)


def test_too_few_symbols_for_the_line():
    with pytest.raises(ValueError, match="4096 symbols"):
        carrier.fourth_power_frequency(np.ones((2, 100), complex), RATE)


def test_phase_search_follows_a_slow_turn():
    rng = np.random.default_rng(3)
    _, y = symbols(8192, rng)
    phase = np.linspace(0.1, 12, 8192)
    found = BlindPhaseSearch().phase(y * np.exp(1j * phase), QAM)
    error = found - phase
    error -= np.round(np.mean(error) / (np.pi / 2)) * np.pi / 2
    assert np.sqrt(np.mean(error**2)) < 0.04


def test_phase_search_needs_a_square():
    with pytest.raises(ValueError, match="square"):
        BlindPhaseSearch().phase(np.ones((2, 100), complex), pam(4))


def test_phase_kernel_is_its_plain_form():
    rng = np.random.default_rng(4)
    _, y = symbols(200, rng)
    arguments = (y[0].real.copy(), y[0].imag.copy(), 4, float(np.min(np.abs(np.diff(np.unique(POINTS.real))))), 16, 10)
    fast, plain = np.empty(200), np.empty(200)
    kernels.blind_phase(*arguments, fast)
    kernels.blind_phase.py_func(*arguments, plain)
    assert fast == pytest.approx(plain, abs=1e-12)


def test_pilots_align_whatever_the_frequency_and_swap():
    rng = np.random.default_rng(5)
    pilots = Pilots()
    known = pilots.draw(8192, rng)
    s, _ = symbols(8192, rng)
    sent = pilots.insert(s, known)
    y = np.roll(sent[::-1], (37), axis=1)
    y = carrier.shifted(np.stack((y[0], np.roll(y[1], -60))), 3e8, RATE)
    found = pilots.align(y, known)
    assert found.sources == (1, 0)
    assert found.delays == (37, -23)
    assert found.contrast > 10


def test_noise_has_no_pilots():
    rng = np.random.default_rng(6)
    y = rng.standard_normal((2, 8192)) + 1j * rng.standard_normal((2, 8192))
    assert Pilots().align(y, Pilots().draw(8192, rng)).contrast < 7


def test_a_quarter_turn_is_a_slip_at_its_place():
    rng = np.random.default_rng(7)
    pilots = Pilots()
    known = pilots.draw(8192, rng)
    sent = pilots.insert(symbols(8192, rng)[0], known)[0]
    turned = sent * np.where(np.arange(8192) < 5000, 1j, -1j)
    turns = pilots.quarters(turned, known[0], 0)
    assert carrier.slips(turns) in (1, 2)  # half a turn may pass through a quarter
    assert set(np.unique(turns[:4900]) % 4) == {1}
    assert set(np.unique(turns[5100:]) % 4) == {3}
    assert carrier.slips(pilots.quarters(sent, known[0], 0)) == 0


def test_whitening_undoes_a_skewed_hybrid():
    rng = np.random.default_rng(8)
    s, _ = symbols(50_000, rng)
    skewed = s.real + 1j * 1.2 * (s.imag * math.cos(0.2) + s.real * math.sin(0.2)) + 0.3
    y = carrier.whitened(skewed)
    gain = np.vdot(s, y) / np.vdot(s, s)
    assert np.mean(np.abs(y / gain - s) ** 2) < 1e-3
    assert np.mean(y) == pytest.approx(0, abs=1e-12)


def test_the_least_change_leaves_what_is_white():
    x = np.array([[1, 1j, -1, -1j]])
    assert carrier.whitened(x) == pytest.approx(x)


@pytest.mark.parametrize(
    ("cls", "field", "value"),
    [
        (BlindPhaseSearch, "angles", 3),
        (BlindPhaseSearch, "half_window", 0),
        (Pilots, "period", 1),
        (Pilots, "smoothing", 0),
    ],
)
def test_bad_values_are_named(cls, field, value):
    with pytest.raises(ValueError, match=f"{cls.__name__}.{field}"):
        dataclasses.replace(cls(), **{field: value})
