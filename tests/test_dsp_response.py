import numpy as np
import pytest

from dsp.grid import Grid
from dsp.response import LEAD, PulseResponse, pulse_response

RATE = 50e9
T = 1 / RATE


def smooth(f, delay=0.0, width=0.4):
    """Spectrum [V s] of a Gaussian pulse of unit area-by-rate, practically zero from 2 symbol rates on."""
    return T * np.exp(-((f / (width * RATE)) ** 2)) * np.exp(-2j * np.pi * f * delay)


def grid_of(m=16, n=256):
    return Grid(symbol_rate=RATE, samples_per_symbol=m, n_symbols=n)


def test_samples_sum_to_the_response_at_zero_frequency():
    grid = grid_of()
    rng = np.random.default_rng(1)
    spectrum = smooth(grid.f) * (1 + 0.3 * rng.standard_normal(grid.f.size))
    p = pulse_response(spectrum, grid, 3e-9)
    assert np.sum(p.samples) * grid.dt == pytest.approx(spectrum[0].real, rel=1e-12, abs=0)
    assert p.samples.sum() / grid.samples_per_symbol == pytest.approx(spectrum[0].real * RATE, rel=1e-12)


@pytest.mark.parametrize("arrival", [0.0, 3.7e-9, 123.456e-9])
def test_delay_is_kept_and_only_the_window_moves(arrival):
    grid = grid_of()
    p = pulse_response(smooth(grid.f, arrival), grid, arrival)
    assert p.t[p.peak] == pytest.approx(arrival, abs=grid.dt / 2 + 1e-18)
    assert p.start * RATE == pytest.approx(round(p.start * RATE), abs=1e-6)
    assert p.start == pytest.approx(arrival - LEAD * grid.duration, abs=T / 2 + 1e-18)
    # Placed elsewhere, the window shows the same waveform at the same times.
    other = pulse_response(smooth(grid.f, arrival), grid, arrival + 10 * T)
    shift = round((other.start - p.start) / grid.dt)
    assert shift == 10 * grid.samples_per_symbol
    assert other.samples[:-shift] == pytest.approx(p.samples[shift:], abs=1e-12)
    assert other.t[:-shift] == pytest.approx(p.t[shift:])


def test_a_wrong_arrival_folds_but_loses_nothing():
    grid = grid_of()
    right, wrong = (pulse_response(smooth(grid.f, 2e-9), grid, d) for d in (2e-9, 2e-9 + grid.duration))
    assert wrong.samples == pytest.approx(right.samples, abs=1e-12)


@pytest.mark.parametrize("pole", [0.2, 0.7])
def test_single_pole_pulse_in_closed_form(pole):
    # The charge and discharge of an RC: 1 - e^(-t/RC) during the symbol, (e^(T/RC) - 1) e^(-t/RC) after it.
    rc = T / (2 * np.pi * pole)
    grid = grid_of(m=128, n=32)
    f = grid.f
    spectrum = T * np.sinc(f * T) * np.exp(-1j * np.pi * f * T) / (1 + 2j * np.pi * f * rc)
    p = pulse_response(spectrum, grid)
    t = p.t
    inside = (t >= 0) & (t < T)
    expected = np.where(inside, 1 - np.exp(-t.clip(0) / rc), np.where(t >= T, np.expm1(T / rc) * np.exp(-t.clip(0) / rc), 0))
    assert p.samples == pytest.approx(expected, abs=4e-3)  # corners of a band-limited pulse are round
    assert np.sqrt(np.mean((p.samples - expected) ** 2)) < 2e-4
    assert p.t[p.peak] == pytest.approx(T, abs=2 * grid.dt)


def test_energy_in_time_and_frequency():
    grid = grid_of()
    spectrum = smooth(grid.f, 1.3e-9)
    p = pulse_response(spectrum, grid, 1.3e-9)
    energy = 2 * np.sum(np.abs(spectrum) ** 2) - np.abs(spectrum[0]) ** 2
    assert np.sum(p.samples**2) * grid.dt == pytest.approx(energy * grid.df, rel=1e-10, abs=0)


def test_a_short_spectrum_is_zero_above():
    few, many = grid_of(m=4), grid_of(m=32)
    spectrum = smooth(few.f, 0.8e-9)
    coarse, fine = pulse_response(spectrum, few, 0.8e-9), pulse_response(spectrum, many, 0.8e-9)
    assert fine.samples[::8] == pytest.approx(coarse.samples, abs=1e-9)
    assert fine.start == coarse.start


def test_slope_is_the_derivative():
    grid = grid_of()
    f = grid.f
    arrival = 2.5e-9
    p = pulse_response(smooth(f, arrival), grid, arrival)
    # The Gaussian's own derivative: h' = -2 (t - t0) / s^2 h.
    s = 1 / (np.pi * 0.4 * RATE)
    expected = -2 * (p.t - arrival) / s**2 * p.samples * T
    assert p.slope() == pytest.approx(expected, abs=1e-9 * np.max(np.abs(p.slope())))
    assert np.sum(p.slope()) == pytest.approx(0, abs=1e-9)


def test_slope_of_one_tone_at_the_edge_of_the_band_is_real():
    grid = grid_of(m=4, n=8)
    p = PulseResponse(samples=np.cos(np.pi * np.arange(grid.n)), grid=grid, start=0.0)
    assert p.slope() == pytest.approx(0, abs=1e-12)


def test_phases_and_cursors_are_the_same_samples():
    grid = grid_of(m=8, n=32)
    p = pulse_response(smooth(grid.f, 0.1e-9), grid, 0.1e-9)
    table = p.phases()
    assert table.shape == (8, 32)
    for index in (0, 5, p.peak, grid.n - 1):
        h, main = p.cursors(index)
        assert h[main] == p.samples[index]
        assert h == pytest.approx(table[index % 8], abs=0)
    assert np.sum(table) == pytest.approx(np.sum(p.samples))
    assert table[3, 4] == p.samples[4 * 8 + 3]


def test_each_phase_sums_to_the_response_at_zero_frequency_when_nothing_aliases():
    grid = grid_of()
    p = pulse_response(smooth(grid.f, 1e-9, width=0.15), grid, 1e-9)
    assert p.phases().sum(axis=1) == pytest.approx(1.0, rel=1e-9)


def test_tail_flags_a_window_too_short():
    def decaying(n):
        grid = Grid(symbol_rate=RATE, samples_per_symbol=8, n_symbols=n)
        return pulse_response(T * np.sinc(grid.f * T) ** 2 / (1 + 2j * np.pi * grid.f * 20 * T), grid)

    assert decaying(32).tail > 0.1
    assert decaying(1024).tail < 1e-6
    grid = grid_of()
    assert PulseResponse(samples=np.zeros(grid.n), grid=grid, start=0.0).tail == 0


def test_polarity_follows_the_largest_sample():
    grid = grid_of()
    up = pulse_response(smooth(grid.f), grid)
    down = pulse_response(-smooth(grid.f), grid)
    assert (up.polarity, down.polarity) == (1, -1)
    assert up.peak == down.peak
    assert PulseResponse(samples=np.zeros(grid.n), grid=grid, start=0.0).polarity == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_peak_distortion_by_hand(sign):
    grid = Grid(symbol_rate=RATE, samples_per_symbol=2, n_symbols=8)
    samples = np.zeros(16)
    samples[1::2] = sign * np.array([0.03, 0.62, 0.21, 0.09, -0.04, 0.015, 0, 0])
    p = PulseResponse(samples=samples, grid=grid, start=0.0)
    assert p.peak == 3
    assert p.peak_distortion(3, 4) == pytest.approx(-0.3566666666666667)
    assert p.peak_distortion(3, 2) == pytest.approx(2 * (0.62 - 0.385))


def test_samples_are_read_only():
    grid = grid_of()
    p = pulse_response(smooth(grid.f), grid)
    with pytest.raises(ValueError, match="read-only"):
        p.samples[0] = 1
