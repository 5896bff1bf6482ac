"""Every channel has two faces: what it does to a spectrum and what it does to a waveform. They are the same channel."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from channels.active import Redriver
from channels.catalog import CABLES, CONNECTORS, HOSTS
from channels.channel import Cascade, LinearChannel
from channels.copper import CopperChannel
from channels.crosstalk import FarEndCrosstalk, NearEndCrosstalk
from dsp.grid import Grid
from serdes.setups import setup

RATE = 53.125e9
GRID = Grid(symbol_rate=RATE, samples_per_symbol=4, n_symbols=2048)
CABLE = replace(CABLES[26].value, length=1.5)
COPPER = CopperChannel(parts=(CONNECTORS["front panel"].value, CABLE, CONNECTORS["front panel"].value.flipped))
REDRIVER = Redriver(gain_db=6.0, peaking_db=9.0, peak_frequency=RATE / 2, bandwidth=RATE, noise_density=1e-17)
CHANNELS = {
    "copper": COPPER,
    "far-end crosstalk": FarEndCrosstalk(through=COPPER, reference_frequency=RATE / 2),
    "near-end crosstalk": NearEndCrosstalk(tx_side=HOSTS["HN"].value, rx_side=HOSTS["HL"].value, reference_frequency=RATE / 2),
    "redriver": replace(REDRIVER, noise_density=0.0),
    "cascade": Cascade(parts=(COPPER, replace(REDRIVER, noise_density=0.0), COPPER)),
    "whole link": setup("112G").link(1.0).channel,
}


@dataclass(frozen=True, kw_only=True)
class Delay(LinearChannel):
    """Room in front for the part of a sampled response that rings before its time."""

    tau: float = 32 / RATE

    def transfer(self, f):
        return np.exp(-2j * np.pi * f * self.tau)

    def noise_psd(self, f, drive=None):
        return np.zeros(np.shape(f))


def quiet(f):
    """A band that is 1 up to 0.5 and 0 from 0.9 of the symbol rate, so that nothing lives near the edge of the grid."""
    x = np.clip((np.abs(f) / RATE - 0.5) / 0.4, 0, 1)
    return np.cos(np.pi * x / 2) ** 2


@pytest.mark.parametrize("name", CHANNELS)
def test_a_band_limited_burst_comes_out_as_its_spectrum_says(name):
    channel = Cascade(parts=(Delay(), CHANNELS[name]))
    rng = np.random.default_rng(5)
    x = np.zeros(2 * GRID.n)
    x[:400] = rng.standard_normal(400) * np.hanning(400)
    long = Grid(symbol_rate=RATE, samples_per_symbol=4, n_symbols=2 * GRID.n_symbols)
    band = quiet(long.f)
    x = np.fft.irfft(np.fft.rfft(x) * band, x.size)
    x = np.roll(x, 64)
    y, _ = channel.transmit(x, channel.start(GRID, None))
    expected = np.fft.irfft(np.fft.rfft(x) * channel.transfer(long.f), x.size)
    # the first memory of samples has seen all of the burst; the periodic spectrum agrees where nothing has wrapped yet
    assert np.max(np.abs(y[: GRID.n] - expected[: GRID.n])) < 2e-3 * np.max(np.abs(expected))


@pytest.mark.parametrize("channel", [REDRIVER, Cascade(parts=(COPPER, REDRIVER)), Cascade(parts=(REDRIVER, COPPER))], ids=repr)
def test_noise_has_the_density_that_is_stated(channel):
    rng = np.random.default_rng(7)
    state = channel.start(GRID, rng)
    y, _ = channel.transmit(np.zeros(400_000), state)
    pieces = y[: 400_000 // 1024 * 1024].reshape(-1, 1024) * np.hanning(1024)
    density = 2 * np.mean(np.abs(np.fft.rfft(pieces, axis=1)) ** 2, axis=0) / (np.sum(np.hanning(1024) ** 2) * GRID.sample_rate)
    f = np.arange(513) * GRID.sample_rate / 1024
    inside = slice(8, 400)
    stated = channel.noise_psd(f)
    band = lambda p: np.convolve(p, np.ones(16) / 16, "same")[inside]  # noqa: E731
    assert np.allclose(band(density), band(stated), rtol=0.12)
    assert np.mean(y**2) == pytest.approx(np.sum(stated) * f[1], rel=0.03)


def test_noise_is_propagated_through_what_follows_it():
    f = np.linspace(0, RATE, 101)
    after, before = Cascade(parts=(REDRIVER, COPPER)), Cascade(parts=(COPPER, REDRIVER))
    assert np.allclose(after.noise_psd(f), REDRIVER.noise_psd(f) * np.abs(COPPER.transfer(f)) ** 2)
    assert np.allclose(before.noise_psd(f), REDRIVER.noise_psd(f))
