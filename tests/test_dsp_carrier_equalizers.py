"""Equalisers of a coherent receiver: dispersion, timing, butterfly."""

import dataclasses

import numpy as np
import pytest

from dsp import dispersion, kernels
from dsp.butterfly import Butterfly, radii
from dsp.constellation import qam
from dsp.dispersion import DispersionEqualizer, best_fft, overlap_start, overlap_step, root_raised_cosine
from dsp.tone import ToneTiming, resampled

RATE = 60e9
QAM = qam(16)
POINTS = QAM.array / np.sqrt(QAM.mean_square)
BETA2 = -2e-21


def record(n, seed=1):
    """Symbols and their root-raised-cosine waveform, two samples a symbol, periodic."""
    rng = np.random.default_rng(seed)
    s = POINTS[rng.integers(0, 16, (2, n))]
    f = np.fft.fftfreq(2 * n, 0.5 / RATE)
    x = np.fft.ifft(np.tile(np.fft.fft(s), 2) * root_raised_cosine(f, RATE, 0.2))
    return s, x / np.sqrt(np.mean(np.abs(x) ** 2))


def filtered(x, h):
    return np.fft.ifft(np.fft.fft(x) * h(np.fft.fftfreq(x.shape[-1], 0.5 / RATE)))


@pytest.mark.parametrize("matrix", [False, True])
def test_overlap_save_is_convolution_in_any_blocks(matrix):
    rng = np.random.default_rng(2)
    h = rng.standard_normal((2, 2, 33) if matrix else (33,)) * (1 + 0.5j)
    x = rng.standard_normal((2, 3000)) + 1j * rng.standard_normal((2, 3000))
    rows = [
        sum(np.convolve(x[j], h[i, j])[:3000] for j in range(2)) if matrix else np.convolve(x[i], h)[:3000] for i in range(2)
    ]
    state, pieces = overlap_start(h), []
    for a, b in ((0, 1), (1, 700), (700, 2900), (2900, 3000)):
        y, state = overlap_step(x[:, a:b], state)
        pieces.append(y)
    assert np.concatenate(pieces, axis=1) == pytest.approx(np.stack(rows))


def test_dispersion_is_undone_without_delay():
    """Correlation with what was sent peaks at zero delay, to a hundredth of a sample."""
    _, x = record(8192)
    sent = filtered(x, lambda f: root_raised_cosine(f, RATE, 0.2))
    y = filtered(x, lambda f: np.exp(-1j * BETA2 * (2 * np.pi * f) ** 2 / 2))
    y = DispersionEqualizer(beta2=BETA2, roll_off=0.2).apply(y, RATE, 2 * RATE)
    middle = slice(2000, -2000)
    f = np.fft.fftfreq(y[0, middle].size, 0.5 / RATE)
    cross = np.sum(np.fft.fft(y[:, middle]) * np.conj(np.fft.fft(sent[:, middle])), axis=0)
    inside = np.abs(f) < 0.4 * RATE
    slope = np.polyfit(f[inside], np.angle(cross[inside]), 1, w=np.abs(cross[inside]))[0]
    assert abs(slope / (2 * np.pi)) * 2 * RATE < 0.01
    error = y[:, middle] - sent[:, middle]
    assert np.mean(np.abs(error) ** 2) < 1e-4 * np.mean(np.abs(sent) ** 2)


def test_length_grows_with_dispersion():
    short, long = DispersionEqualizer(beta2=BETA2, roll_off=0.2), DispersionEqualizer(beta2=2 * BETA2, roll_off=0.2)
    assert long.spread(RATE) == pytest.approx(2 * short.spread(RATE))
    assert long.n_taps(RATE, 2 * RATE) > short.n_taps(RATE, 2 * RATE)
    assert short.n_taps(RATE, 2 * RATE) % 2 == 1


def test_size_of_least_cost():
    for n_taps in (1, 100, 1000, 5000):
        n = best_fft(n_taps)
        cost = lambda m, n_taps=n_taps: m * np.log2(m) / (m - n_taps + 1)  # noqa: E731
        assert n >= 2 * n_taps
        assert cost(n) <= min(cost(2 * n), cost(n // 2) if n // 2 >= max(1024, 2 * n_taps) else np.inf)


def test_root_raised_cosine_twice_is_free_of_interference():
    f = np.arange(-1000, 1000) * RATE / 1000
    square = root_raised_cosine(f, RATE, 0.3) ** 2
    assert square[:1000] + square[1000:] == pytest.approx(np.ones(1000))
    assert np.all(square[np.abs(f) > 0.65 * RATE] < 1e-30)
    assert dispersion.band_limit(np.array([0.0, RATE, 1.2 * RATE]), RATE) == pytest.approx([1, 1, 0])


@pytest.mark.parametrize("dgd_ui", [0.0, 0.5, 0.6])
def test_clock_drift_whatever_the_polarisation(dgd_ui):
    """At half a symbol between states at 45 degrees the tone of either polarisation is nothing; the determinant stands."""
    _, x = record(32768)
    x = filtered(x, lambda f: root_raised_cosine(f, RATE, 0.2))
    late = filtered(x, lambda f: np.exp(-2j * np.pi * f * dgd_ui / RATE))
    mixed = np.array([[1, 1], [-1, 1]]) @ np.stack((x[0], late[1])) / np.sqrt(2)
    y = resampled(mixed, np.arange(65536) * (1 - 15e-6))
    found = ToneTiming().measure(y)
    assert found.ppm == pytest.approx(15, abs=0.5)
    assert found.contrast > 3
    back = ToneTiming().correct(y, found)
    assert np.mean(np.abs(back - mixed)[:, 100:-100] ** 2) < 1e-3


@pytest.mark.parametrize("ppm", [-400, 130, 200, 400])
@pytest.mark.parametrize("block", [1024, 2048])
def test_drifts_beyond_a_quarter_symbol_a_block_are_followed(ppm, block):
    """At 2048 symbols the tone's phase turns by half a turn a block at 122 ppm; behind that blocks alone take it for a fast clock."""
    _, x = record(32768)
    y = resampled(x, np.arange(65536) * (1 - 1e-6 * ppm))
    assert ToneTiming(block=block).measure(y).ppm == pytest.approx(ppm, abs=1)


def test_no_clock_in_noise():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 32768)) + 1j * rng.standard_normal((2, 32768))
    timing = ToneTiming().measure(x)
    assert timing.contrast < 1.3


def test_small_drift_is_left():
    _, x = record(4096)
    timing = ToneTiming(block=1024).measure(x)
    assert ToneTiming().correct(x, timing) is x
    with pytest.raises(ValueError, match="4096 symbols"):
        ToneTiming().measure(x[:, :5000])


def test_resampling_to_the_same_places():
    _, x = record(512)
    assert resampled(x, np.arange(1024)) == pytest.approx(x)


def mixed_record(n, seed):
    s, x = record(n, seed)
    rng = np.random.default_rng(seed)
    x = filtered(x, lambda f: root_raised_cosine(f, RATE, 0.2))
    x = np.stack((x[0], filtered(x[1], lambda f: np.exp(-2j * np.pi * f * 10e-12))))
    a, b = rng.standard_normal((2, 2)) @ [1, 1j]
    a, b = np.array([a, b]) / np.hypot(abs(a), abs(b))
    x = np.array([[a, b], [-np.conj(b), np.conj(a)]]) @ x
    x = x / np.sqrt(np.mean(np.abs(x) ** 2)) + 0.05 * (rng.standard_normal(x.shape) + 1j * rng.standard_normal(x.shape))
    return s, x


@pytest.mark.parametrize("seed", range(3))
def test_butterfly_parts_the_polarisations(seed):
    s, x = mixed_record(16384, seed)
    found = Butterfly().equalize(x, QAM)
    assert found.likeness < 0.2
    peaks = np.array([[np.max(np.abs(np.fft.ifft(np.fft.fft(y) * np.conj(np.fft.fft(t))))) for t in s] for y in found.symbols])
    peaks /= s.shape[-1]
    assert sorted(peaks.argmax(axis=1)) == [0, 1]
    assert np.all(peaks.max(axis=1) > 0.9)
    assert np.all(peaks.min(axis=1) < 0.15)


def test_same_signal_in_both_outputs_shows():
    taps = np.zeros((2, 2, 21), complex)
    taps[0, 0, 10] = taps[1, 0, 8] = 1
    _, x = record(512)
    found = dataclasses.replace(Butterfly().refine(x, x[:, ::2]), taps=taps)
    assert found.likeness == pytest.approx(1)


def test_least_squares_returns_the_taps_that_were_there():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 4096)) + 1j * rng.standard_normal((2, 4096))
    taps = rng.standard_normal((2, 2, 5)) + 1j * rng.standard_normal((2, 2, 5))
    b = Butterfly(n_taps=5)
    found = b.refine(x, b.apply(x, taps), every=2)
    assert found.taps == pytest.approx(taps, abs=1e-4)


def test_butterfly_kernel_is_its_plain_form():
    s, x = mixed_record(256, 1)
    del s
    rings, _ = radii(QAM)
    results = []
    for run in (kernels.butterfly, kernels.butterfly.py_func):
        wr, wi = np.zeros((2, 2, 2, 7))
        wr[0, 0, 3] = wr[1, 1, 3] = 1
        out = np.empty((2, 200), complex)
        run(x.real.copy(), x.imag.copy(), wr, wi, rings, 1e-3, 2, out)
        results.append((out, wr, wi))
    for fast, plain in zip(*results, strict=True):
        assert fast == pytest.approx(plain, abs=1e-9)


def test_normal_equations_kernel_is_its_plain_form():
    s, x = mixed_record(128, 2)
    results = []
    for run in (kernels.normal_equations, kernels.normal_equations.py_func):
        gram, cross = np.zeros((10, 10), complex), np.zeros((2, 10), complex)
        run(x.real.copy(), x.imag.copy(), s[:, :100], 5, 3, gram, cross)
        results.append((gram, cross))
    assert results[0][0] == pytest.approx(results[1][0])
    assert results[0][1] == pytest.approx(results[1][1])
    assert results[0][0] == pytest.approx(results[0][0].conj().T)


def test_radii_of_16qam():
    rings, modulus = radii(QAM)
    assert rings == pytest.approx([0.2, 1.0, 1.8])
    assert modulus == pytest.approx([1.32])


def test_too_short_for_the_taps():
    with pytest.raises(ValueError, match="168 symbols"):
        Butterfly().equalize(np.ones((2, 100), complex), QAM)


@pytest.mark.parametrize(
    ("value", "field", "bad"),
    [
        (DispersionEqualizer(beta2=BETA2), "beta2", 1.0),
        (DispersionEqualizer(beta2=BETA2), "beta3", 1.0),
        (DispersionEqualizer(beta2=BETA2), "roll_off", 2.0),
        (ToneTiming(), "block", 10),
        (Butterfly(), "n_taps", 20),
        (Butterfly(), "n_taps", 1),
        (Butterfly(), "start", 10),
        (Butterfly(), "start_step", 1.0),
        (Butterfly(), "step", 0.0),
        (Butterfly(), "passes", 0),
    ],
)
def test_bad_values_are_named(value, field, bad):
    with pytest.raises(ValueError, match=f"{type(value).__name__}.{field}"):
        dataclasses.replace(value, **{field: bad})
