"""Both faces of a channel must be the same channel, and a cascade the same as its parts one after the other."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.channel import Cascade, Channel, LinearChannel, impulse_response, mean_delay
from dsp.grid import Grid
from dsp.units import GBd, ps

GRID = Grid(symbol_rate=50 * GBd, samples_per_symbol=4, n_symbols=256)


@dataclass(frozen=True, kw_only=True)
class OnePole(LinearChannel):
    """Test channel: gain, delay and one pole; noise white or through the same pole."""

    gain: float = 1.0
    delay: float = 0.0
    bandwidth: float = 0.0
    psd: float = 0.0
    coloured: bool = False

    def pole(self, f):
        return 1 / (1 + 1j * f / self.bandwidth) if self.bandwidth else np.ones(f.shape, complex)

    def transfer(self, f):
        return self.gain * self.pole(f) * np.exp(-2j * np.pi * f * self.delay)

    def noise_psd(self, f, drive=None):
        level = self.psd * (1.0 if drive is None else abs(drive))
        return level * (np.abs(self.pole(f)) ** 2 if self.coloured else np.ones(f.shape))


@dataclass(frozen=True, kw_only=True)
class Bell(LinearChannel):
    """Test channel that ends well inside the band, so that no part of its response lies before time zero."""

    bandwidth: float

    def transfer(self, f):
        return np.exp(-((f / self.bandwidth) ** 2) - 2j * np.pi * f * 40 * GRID.dt)

    def noise_psd(self, f, drive=None):
        return np.zeros(f.shape)


@dataclass(frozen=True, kw_only=True)
class Squarer(Channel):
    """Test channel without memory and not linear."""

    def transfer(self, f):
        return np.ones(f.shape, complex)

    def noise_psd(self, f, drive=None):
        return np.zeros(f.shape)

    def start(self, grid, rng):
        return ()

    def transmit(self, x, state):
        return x + 0.1 * x**2, state


def run(channel, x, cuts=(), seed=7):
    state, out = channel.start(GRID, np.random.default_rng(seed)), []
    edges = [0, *sorted(c % (x.shape[-1] + 1) for c in cuts), x.shape[-1]]
    for a, b in pairwise(edges):
        y, state = channel.transmit(x[..., a:b], state)
        out.append(y)
    return np.concatenate(out, axis=-1)


CHANNELS = (
    OnePole(bandwidth=10e9, delay=300 * ps),
    OnePole(bandwidth=10e9, psd=1e-15, coloured=True),
    Cascade(parts=(OnePole(bandwidth=20e9, psd=1e-15), Squarer(), OnePole(delay=20 * ps), OnePole(bandwidth=30e9, psd=1e-16))),
)


@pytest.mark.parametrize("channel", CHANNELS, ids=["quiet", "noisy", "cascade"])
@settings(deadline=None, max_examples=15)
@given(cuts=st.lists(st.integers(0, 10**6), max_size=10))
def test_any_block_size_gives_the_same_output(channel, cuts):
    x = np.random.default_rng(1).standard_normal(3000)
    assert np.max(np.abs(run(channel, x, cuts) - run(channel, x))) < 1e-12


@pytest.mark.parametrize("channel", CHANNELS, ids=["quiet", "noisy", "cascade"])
def test_blocks_of_one_sample(channel):
    x = np.random.default_rng(1).standard_normal(50)
    assert np.max(np.abs(run(channel, x, range(51)) - run(channel, x))) < 1e-12


def test_a_tone_comes_out_with_the_transfers_amplitude_and_phase():
    channel = CHANNELS[0]
    f = GRID.f[[40]]
    x = np.cos(2 * np.pi * f * np.arange(3 * GRID.n) * GRID.dt)
    steady = run(channel, x)[-GRID.n :]
    measured = 2 * np.mean(steady * np.exp(-2j * np.pi * f * np.arange(GRID.n) * GRID.dt))
    assert measured == pytest.approx(channel.transfer(f)[0], abs=1e-9)


def test_delay_is_kept():
    x = np.zeros(100)
    x[10] = 1.0
    y = run(OnePole(delay=7 * GRID.dt), x)
    assert np.argmax(y) == 17
    assert mean_delay(OnePole(delay=3e-9), GRID) == pytest.approx(3e-9)


def test_response_sums_to_the_static_gain():
    assert np.sum(impulse_response(OnePole(gain=0.7, bandwidth=5e9, delay=50 * ps), GRID)) == pytest.approx(0.7)


def test_a_delay_beyond_the_grid_is_refused_not_folded():
    with pytest.raises(ValueError, match=r"Grid.n_symbols must cover the delay of OnePole, 30[0-9.]+ symbols, got 256"):
        OnePole(delay=300 / GRID.symbol_rate, bandwidth=40e9).start(GRID, None)


def test_response_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match=r"OnePole\.transfer must be finite"):
        OnePole(gain=np.nan).start(GRID, None)
    with pytest.raises(ValueError, match=r"OnePole\.noise_psd must be finite"):
        OnePole(psd=np.inf).start(GRID, None)


def test_noise_needs_an_rng_and_quiet_channels_do_not():
    with pytest.raises(ValueError, match="needs an rng"):
        OnePole(psd=1e-15).start(GRID, None)
    assert np.array_equal(OnePole().transmit(np.ones(3), OnePole().start(GRID, None))[0], np.ones(3))


def test_noise_has_the_promised_density():
    channel = OnePole(bandwidth=10e9, psd=1e-15, coloured=True)
    noise = run(channel, np.zeros(2**19)).reshape(-1, 256)
    power = np.mean(np.abs(np.fft.rfft(noise * np.hanning(256), axis=1)) ** 2, axis=0) / np.sum(np.hanning(256) ** 2)
    f = np.fft.rfftfreq(256, GRID.dt)
    inner = slice(3, 120)
    assert 2 * power[inner] / GRID.sample_rate == pytest.approx(channel.noise_psd(f)[inner], rel=0.15, abs=0)
    assert np.var(noise) == pytest.approx(np.sum(channel.noise_psd(GRID.f)) * GRID.df, rel=0.02)


def test_noise_is_stationary_from_the_first_sample_and_independent_between_lanes():
    channel = OnePole(bandwidth=1e9, psd=1e-15, coloured=True)
    noise = run(channel, np.zeros((1000, 2)))
    expected = np.sum(channel.noise_psd(GRID.f)) * GRID.df
    assert np.var(noise[:, 0]) == pytest.approx(expected, rel=0.1)
    assert abs(np.corrcoef(noise[::2, 0], noise[1::2, 0])[0, 1]) < 0.1


def test_same_seed_same_noise_other_seed_other_noise():
    channel, x = OnePole(psd=1e-15), np.zeros(50)
    assert np.array_equal(run(channel, x, seed=1), run(channel, x, seed=1))
    assert not np.array_equal(run(channel, x, seed=1), run(channel, x, seed=2))


def test_a_state_can_be_used_twice():
    channel, x = CHANNELS[2], np.ones(20)
    _, state = channel.transmit(x, channel.start(GRID, np.random.default_rng(1)))
    assert np.array_equal(channel.transmit(x, state)[0], channel.transmit(x, state)[0])


def test_cascade_is_its_parts_one_after_the_other():
    parts = (Bell(bandwidth=20e9), OnePole(gain=0.5), Bell(bandwidth=15e9))
    x = np.random.default_rng(2).standard_normal(1000)
    y = x
    for part in parts:
        y = run(part, y)
    assert np.max(np.abs(run(Cascade(parts=parts), x) - y)) < 1e-9
    assert np.allclose(Cascade(parts=parts).transfer(GRID.f), np.prod([p.transfer(GRID.f) for p in parts], axis=0))


def test_cascade_is_associative_and_fuses_neighbours():
    a, b, c = OnePole(bandwidth=20e9, psd=1e-15), OnePole(gain=2.0), Squarer()
    nested, flat = Cascade(parts=(Cascade(parts=(a, b)), c)), Cascade(parts=(a, b, c))
    assert len(nested.start(GRID, np.random.default_rng(1))) == 2
    x = np.random.default_rng(3).standard_normal(200)
    assert np.array_equal(run(nested, x), run(flat, x))
    assert np.allclose(nested.noise_psd(GRID.f), flat.noise_psd(GRID.f))


def test_noise_of_a_part_is_filtered_by_what_follows_it_only():
    noisy, filtering = OnePole(psd=1e-15), OnePole(gain=0.5)
    assert Cascade(parts=(noisy, filtering)).noise_psd(GRID.f) == pytest.approx(0.25e-15, rel=1e-6, abs=0)
    assert Cascade(parts=(filtering, noisy)).noise_psd(GRID.f) == pytest.approx(1e-15, rel=1e-6, abs=0)


def test_drive_reaches_a_part_through_the_gain_before_it():
    assert Cascade(parts=(OnePole(gain=0.5), OnePole(psd=1.0))).noise_psd(np.array([1e9]), drive=2.0) == pytest.approx(1.0)


@pytest.mark.parametrize("parts", [(), [OnePole()], (OnePole(), "cable")])
def test_bad_parts(parts):
    with pytest.raises(ValueError, match=r"Cascade\.parts"):
        Cascade(parts=parts)


def test_channels_are_values():
    assert OnePole(gain=1.0) == OnePole(gain=1.0)
    assert hash(Cascade(parts=(OnePole(),))) == hash(Cascade(parts=(OnePole(),)))


def test_interface_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Channel()
    with pytest.raises(TypeError, match="abstract"):
        LinearChannel()
