"""Small loops of the streaming engine: compiled and as plain Python they say the same, and what they should."""

import numpy as np
import pytest

from dsp import kernels, timing
from dsp.constellation import pam

PAM4 = pam(4).array


def rng():
    return np.random.default_rng(1)


def test_fir():
    x, taps = rng().standard_normal(1300), rng().standard_normal(7)
    y = kernels.fir(x, taps)
    assert y == pytest.approx(np.convolve(x, taps, "valid"), abs=1e-12)
    assert kernels.fir.py_func(x[:40], taps) == pytest.approx(y[:34], abs=1e-12)
    assert kernels.fir(x[:7], taps).size == 1


def test_baseline_is_a_high_pass():
    level = 1 + rng().standard_normal(400)
    out, wander = kernels.baseline(level, 0.05, 0.0)
    plain = kernels.baseline.py_func(level, 0.05, 0.0)
    assert out == pytest.approx(plain[0], abs=1e-12)
    assert wander == pytest.approx(plain[1])
    assert np.mean(out[200:]) == pytest.approx(0, abs=0.2)
    half, between = kernels.baseline(level[:150], 0.05, 0.0)
    rest, _ = kernels.baseline(level[150:], 0.05, between)
    assert np.array_equal(np.concatenate((half, rest)), out)


def test_tally():
    truth, r = rng().integers(0, 4, 100).astype(np.uint8), rng()
    z = PAM4[truth] + 0.2 * r.standard_normal(100)
    decided = np.searchsorted(pam(4).thresholds, z).astype(np.uint8)
    phase = 0.01 * r.standard_normal(100)
    results = []
    for run in (kernels.tally, kernels.tally.py_func):
        carry, rows, wrong = np.zeros(6), np.zeros((4, 4)), np.zeros(100, np.bool_)
        n, square = run(z, decided, truth, phase, PAM4, 10, 90, 30, carry, rows, wrong)
        results.append((n, square, carry, rows, wrong))
    for a, b in zip(*results, strict=True):
        assert np.allclose(a, b)
    n, square, carry, rows, wrong = results[0]
    assert n == 3
    assert carry[0] == 0
    assert square == pytest.approx(np.sum((z - PAM4[truth])[10:90] ** 2))
    assert np.array_equal(wrong[10:90], (decided != truth)[10:90])
    assert not np.any(wrong[:10])
    assert not np.any(wrong[90:])
    assert rows[1, :3] == pytest.approx(
        [np.mean((z - PAM4[decided])[30:60] ** 2), np.mean(phase[30:60]), np.std(phase[30:60])], abs=1e-9
    )


def test_eye_counts_every_symbol_at_every_phase_and_stage():
    n, m = 60, 4
    sent = rng().integers(0, 4, n).astype(np.uint8)
    wave = np.repeat(PAM4[sent], m)
    wave = np.concatenate((np.zeros(40), wave, np.zeros(40)))
    at, beyond = 42 + m * np.arange(n), np.full(n, 0.2)
    found = []
    for run in (kernels.count_eye, kernels.count_eye.py_func):
        counts = np.zeros((3, 4, 5, 33), np.int64)
        run(
            counts, timing.refined(wave, m, 0, wave.size // m, 35), (at + beyond) * 35 / m, 7, 0.01 * rng().standard_normal(n),
            np.array([0.05, 1.0, -0.1], np.float32), 1, np.array([0.2], np.float32), PAM4[sent].astype(np.float32), sent, 10, 50,
            np.array([2.0, 2.0, 2.0]),
        )  # fmt: skip
        found.append(counts)
    assert np.sum(found[0] != found[1]) <= 4  # a value on the edge of a bin
    assert np.array_equal(found[0].sum(axis=(1, 3)), np.full((3, 5), 40))
    assert np.array_equal(found[0].sum(axis=3)[0, :, 0], np.bincount(sent[10:50], minlength=4))


def test_one_sample_is_that_of_the_interpolator():
    wave, (table, tilt) = rng().standard_normal(60), timing.table_for(4)
    for beyond in (-2.7, 0.0, 0.49, 3.2):
        one = kernels.sample_at(wave, 30, beyond, table, tilt)
        assert one == pytest.approx(kernels.sample_at.py_func(wave, 30, beyond, table, tilt), abs=1e-12)
        assert one == pytest.approx(timing.interpolate(wave, np.array([30]), np.array([beyond]), 4)[0], abs=1e-12)


@pytest.mark.parametrize(("m", "n_fine"), [(4, 32), (2, 32), (4, 35), (8, 32), (3.7, 32), (32, 32)])
def test_a_refined_waveform_is_the_interpolated_one(m, n_fine):
    wave = rng().standard_normal(400)
    n = int(300 / m)
    fine = timing.refined(wave, m, 20, n, n_fine)
    place = m * np.arange(n * n_fine) / n_fine
    whole = np.floor(place)
    expected = timing.interpolate(wave, 20 + whole.astype(np.int64), place - whole, m)
    assert fine.dtype == np.float32
    assert np.max(np.abs(fine - (wave[20 : 20 + fine.size] if m == n_fine else expected))) < 1e-5


def test_a_refined_waveform_is_zero_outside():
    fine = timing.refined(np.ones(40), 4, -40, 30, 32)
    assert np.all(fine[:200] == 0)
    assert np.all(fine[-200:] == 0)
    assert fine[12 * 32] == pytest.approx(1, abs=1e-6)


def test_refining_in_plain_python():
    wave, place = rng().standard_normal(60), np.arange(8) * 2 // 8
    taps = rng().standard_normal((8, 8)).astype(np.float32)
    found = []
    for run in (kernels.refine, kernels.refine.py_func):
        out = np.empty(8 * 20, np.float32)
        run(wave, 3, 2, taps, place, out)
        found.append(out)
    assert np.max(np.abs(found[0] - found[1])) < 1e-5
