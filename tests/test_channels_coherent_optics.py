"""Modulator and hybrid of a coherent link."""

import dataclasses

import numpy as np
import pytest

from channels.amplifier import PLANCK
from channels.coherent_optics import AnaloguePaths, CoherentFrontEnd, IqModulator
from channels.fiber import SPEED_OF_LIGHT
from channels.optical_path import Photodiode
from channels.vcsel import CHARGE


def drive(n=4096):
    rng = np.random.default_rng(1)
    return rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))


def error(x, y):
    gain = np.vdot(x, y) / np.vdot(x, x)
    return np.mean(np.abs(y / gain - x) ** 2) / np.mean(np.abs(x) ** 2)


def test_power_is_what_was_asked_for_and_small_drives_are_linear():
    x = drive()
    y = IqModulator(depth=0.01).modulate(x, 2e-3)
    assert np.mean(np.sum(np.abs(y) ** 2, axis=0)) == pytest.approx(2e-3)
    assert error(x, y) < 1e-6
    assert error(x, IqModulator(depth=0.2).modulate(x, 1e-3)) > 100 * error(x, y)


def test_imbalance_and_bias_show():
    x = drive()
    for flaw in ({"imbalance_db": 1.0}, {"angle_error": 0.1}, {"bias_error": 0.02}):
        assert error(x, IqModulator(depth=0.05, **flaw).modulate(x, 1e-3)) > 1e-3
    carrier = np.mean(IqModulator(depth=0.05, bias_error=0.05).modulate(x, 1e-3), axis=1)
    assert np.all(np.abs(carrier) > 1e-3)


def test_a_perfect_detector_counts_photons():
    """Shot-noise limit: the SNR is the number of photons in a symbol."""
    wavelength, rate, power = 1550e-9, 60e9, 1e-6
    photon = PLANCK * SPEED_OF_LIGHT / wavelength
    end = CoherentFrontEnd(photodiode=Photodiode(responsivity=CHARGE / photon), noise_density=0.0)
    assert end.snr(power, rate) == pytest.approx(power / 2 / photon / rate)
    quiet = CoherentFrontEnd(photodiode=Photodiode(shot=False), noise_density=0.0)
    assert quiet.snr(power, rate) == np.inf


def test_detected_noise_is_that_of_its_density():
    end, rate = CoherentFrontEnd(), 60e9
    x = np.sqrt(1e-6 / 2) * np.ones((2, 200_000), complex)
    y = end.detect(x, rate, np.random.default_rng(2))
    noise = np.mean(np.abs(y - end.gain * x) ** 2)
    assert np.mean(np.abs(end.gain * x) ** 2) / noise == pytest.approx(end.snr(1e-6, rate), rel=0.02)


def test_hybrid_error_mixes_the_quadratures():
    end = CoherentFrontEnd(noise_density=0.0, photodiode=Photodiode(shot=False), imbalance_db=2.0, angle_error=0.1)
    y = end.detect(np.array([[1.0, 1j], [1.0, 1j]]), 60e9, np.random.default_rng(3)) / end.gain
    assert y[0].imag == pytest.approx(10 ** (2 / 20) * np.array([np.sin(0.1), np.cos(0.1)]))
    assert y[0].real == pytest.approx([1, 0])


def test_what_a_pair_does_not_reject():
    """Both photodiodes see half of the power; 20 dB of rejection leave a tenth of their sum in the difference."""
    quiet = {"noise_density": 0.0, "photodiode": Photodiode(responsivity=0.7, shot=False), "oscillator_rin_db": -200.0}
    x = np.array([[0.01, 0.02j], [0.03, 0.0]])
    clean, left = (CoherentFrontEnd(rejection_db=db, **quiet).detect(x, 60e9, np.random.default_rng(4)) for db in (None, 20.0))
    assert left - clean == pytest.approx(0.1 * 0.7 * np.abs(x) ** 2 / 2 * (1 + 1j), abs=3e-8)
    noisy = CoherentFrontEnd(rejection_db=20.0, oscillator_rin_db=-140.0)
    assert noisy.current_noise - CoherentFrontEnd().current_noise == pytest.approx(
        1e-14 * (0.1 * 0.7 * 20e-3 / 4) ** 2, rel=1e-6, abs=0
    )


def tone(f, n=240, rate=120e9):
    """The same tone in both polarisations."""
    return np.tile(np.exp(2j * np.pi * f * np.arange(n) / rate), (2, 1))


def test_paths_without_limits_are_wires():
    x = tone(5e9)
    assert AnaloguePaths().carry(x, 120e9) is x
    assert AnaloguePaths().transfer(np.array([0.0, 1e12])) == pytest.approx([1, 1])


def test_paths_end_at_their_bandwidth():
    y = AnaloguePaths(bandwidth=20e9).carry(tone(20e9), 120e9)
    assert np.abs(y) == pytest.approx(np.full(y.shape, np.sqrt(0.5)), rel=1e-6)
    slow = AnaloguePaths(bandwidth=20e9).carry(tone(0.5e9), 120e9)
    assert np.abs(slow) == pytest.approx(np.full(y.shape, 1), rel=1e-3)


def test_skew_makes_an_image_and_keeps_the_power():
    """Skew of a tenth of the period: cos^2 18 degrees of the power stay, sin^2 18 degrees are turned to the other side."""
    y = AnaloguePaths(skew=10e-12).carry(tone(10e9), 120e9)
    spectrum = np.abs(np.fft.fft(y[0]) / 240) ** 2
    assert spectrum[20] == pytest.approx(np.cos(np.pi / 10) ** 2)
    assert spectrum[-20] == pytest.approx(np.sin(np.pi / 10) ** 2)
    late = np.angle(np.vdot(tone(10e9).real[0], np.fft.ifft(np.fft.fft(y[0].real) * (np.fft.fftfreq(240) > 0))))
    assert late == pytest.approx(np.pi / 10)  # the in-phase part is early by half the skew


def test_polarisations_are_late_against_each_other():
    y = AnaloguePaths(polarization_skew=10e-12).carry(tone(10e9), 120e9)
    assert np.angle(y[1] / y[0]) == pytest.approx(np.full(240, -2 * np.pi * 0.1))
    assert np.abs(y) == pytest.approx(np.ones(y.shape))


@pytest.mark.parametrize(
    ("cls", "field", "bad"),
    [
        (AnaloguePaths, "bandwidth", 40.0),
        (AnaloguePaths, "skew", 1.0),
        (AnaloguePaths, "polarization_skew", 1.0),
        (IqModulator, "depth", 1.0),
        (IqModulator, "imbalance_db", 10.0),
        (IqModulator, "angle_error", 5.0),
        (IqModulator, "bias_error", 5.0),
        (CoherentFrontEnd, "oscillator_power", 13.0),
        (CoherentFrontEnd, "photodiode", 0.7),
        (CoherentFrontEnd, "noise_density", 20e-12),
        (CoherentFrontEnd, "imbalance_db", 10.0),
        (CoherentFrontEnd, "angle_error", 5.0),
        (CoherentFrontEnd, "rejection_db", -1.0),
        (CoherentFrontEnd, "oscillator_rin_db", -20.0),
    ],
)
def test_bad_values_are_named(cls, field, bad):
    with pytest.raises(ValueError, match=f"{cls.__name__}.{field}"):
        dataclasses.replace(cls(), **{field: bad})
