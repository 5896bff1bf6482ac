"""Known symbols: found whatever the polarisation, and a start for the equaliser."""

import numpy as np
import pytest

from dsp.butterfly import Butterfly
from dsp.constellation import qam
from dsp.dispersion import root_raised_cosine
from dsp.training import Training

RATE = 60e9
QAM = qam(16)
POINTS = QAM.array / np.sqrt(QAM.mean_square)


def mixed(seed, late=37, frequency=3e-4, snr_db=20.0):
    """Header and data through a rotation and 0.6 symbols between the states, ``late`` samples late, two samples a symbol."""
    rng = np.random.default_rng(seed)
    training = Training(n_symbols=512)
    header = training.draw(rng)
    s = np.concatenate((header, POINTS[rng.integers(0, 16, (2, 4096 - 512))]), axis=1)
    f = np.fft.fftfreq(2 * 4096, 0.5 / RATE)
    spectrum = np.tile(np.fft.fft(s), 2) * root_raised_cosine(f, RATE, 0.2) ** 2
    spectrum[1] *= np.exp(-2j * np.pi * f * 0.6 / RATE)
    x = np.roll(np.fft.ifft(2 * spectrum), late, axis=1)
    a, b = rng.standard_normal((2, 2)) @ [1, 1j]
    a, b = np.array([a, b]) / np.hypot(abs(a), abs(b))
    x = np.array([[a, b], [-np.conj(b), np.conj(a)]]) @ x * np.exp(1j * np.pi * frequency * np.arange(8192) + 1j)
    noise = rng.standard_normal((2, 2, 8192)) * 10 ** (-snr_db / 20) / np.sqrt(2)
    return training, header, s, x + noise[0] + 1j * noise[1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("frequency", [-4e-3, 0.0, 3e-4])
def test_found_at_its_place_with_its_frequency(seed, frequency):
    training, header, _, x = mixed(seed, frequency=frequency)
    found = training.locate(x, header)
    assert abs(found.at - 37) <= 2  # half of the delay between the states lies on either side
    assert found.frequency == pytest.approx(frequency, abs=1e-4)
    assert found.contrast > 12


@pytest.mark.parametrize("late", [36, 37])
def test_taps_part_the_polarisations_in_order(late):
    training, header, s, x = mixed(5, late, frequency=0.0)
    found = training.locate(x, header)
    taps = training.taps(x, header, found, Butterfly())
    y = Butterfly().apply(x, taps)
    begin = (found.at - found.at % 2) // 2
    seen = y[:, begin + 600 : begin + 3000]
    for i in range(2):
        assert np.mean(np.abs(seen[i] - s[i, 600:3000]) ** 2) < 0.05
    assert np.max(np.abs(taps)) < 2
    assert Butterfly().equalize(x, QAM, taps).likeness < 0.3


def test_noise_holds_no_header():
    training, header, _, _ = mixed(6)
    rng = np.random.default_rng(7)
    x = rng.standard_normal((2, 8192)) + 1j * rng.standard_normal((2, 8192))
    assert training.locate(x, header).contrast < 6


def test_refining_block_by_block_follows_a_turn():
    _, _, s, x = mixed(8, 0, 0.0, 30.0)
    angle = np.linspace(0, 1.5, x.shape[-1])
    x = np.stack((np.cos(angle) * x[0] - np.sin(angle) * x[1], np.sin(angle) * x[0] + np.cos(angle) * x[1]))
    errors = [np.mean(np.abs(Butterfly(block=b).refine(x, s, 1).symbols - s) ** 2) for b in (65536, 1024)]
    assert errors[1] < 0.2 * errors[0]


def test_bad_lengths_are_named():
    with pytest.raises(ValueError, match=r"Training\.n_symbols"):
        Training(n_symbols=10)
    with pytest.raises(ValueError, match=r"Butterfly\.block"):
        Butterfly(block=10)
