"""Jitter that is not random: sizes, slopes, and which part moves what."""

import numpy as np
import pytest

from dsp import streams
from dsp.edge_jitter import EdgeJitter, Sinusoid, SpreadSpectrum

RATE = 50e9
ONES = np.tile([1.0, -1.0], 5000)


def moved(jitter, steps=ONES, first=0):
    return jitter.displacements(steps, first, RATE, streams.start(np.random.default_rng(1)))[0]


def test_each_kind_has_its_size():
    assert np.ptp(moved(EdgeJitter(even_odd_ui=0.04))) == pytest.approx(0.04)
    assert np.ptp(moved(EdgeJitter(duty_cycle_ui=0.03))) == pytest.approx(0.03)
    assert np.std(moved(EdgeJitter(bounded_ui=0.05))) == pytest.approx(0.05 / np.sqrt(3), rel=0.03)
    assert np.max(np.abs(moved(EdgeJitter(bounded_ui=0.05)))) <= 0.05
    assert np.std(moved(EdgeJitter(sinusoids=(Sinusoid(amplitude_ui=0.1, frequency=1e9),)))) == pytest.approx(
        0.1 / np.sqrt(2), rel=0.01
    )


def test_signs():
    assert moved(EdgeJitter(even_odd_ui=0.04))[0] > 0 > moved(EdgeJitter(even_odd_ui=0.04))[1]
    assert moved(EdgeJitter(even_odd_ui=0.04), first=1)[0] < 0
    assert moved(EdgeJitter(duty_cycle_ui=0.04), np.array([1.0, 0.0, -1.0])).tolist() == [0.02, 0.0, -0.02]


def test_slow_jitter_moves_the_waveform_and_fast_jitter_the_edges():
    slow, fast = Sinusoid(amplitude_ui=5.0, frequency=1e6), Sinusoid(amplitude_ui=0.1, frequency=1e9)
    both = EdgeJitter(sinusoids=(slow, fast))
    assert both.slow(RATE) == (slow,)
    assert both.fast(RATE) == (fast,)
    assert both.paced(0.0, RATE)
    assert both.moves_edges(RATE)
    # read at t - J: the paces add up to minus the displacement
    position = np.cumsum(both.pace(0, 50_000, 0.0, RATE))
    assert position == pytest.approx(-slow.at(np.arange(1, 50_001) / RATE), abs=1e-9)
    with pytest.raises(ValueError, match=r"0\.25 UI or less at 1e\+09 Hz"):
        moved(EdgeJitter(sinusoids=(Sinusoid(amplitude_ui=0.5, frequency=1e9),)))


def test_pace_does_not_depend_on_blocks():
    jitter = EdgeJitter(sinusoids=(Sinusoid(amplitude_ui=2.0, frequency=1e6, phase=0.3),), spread=SpreadSpectrum())
    whole = jitter.pace(0, 1000, 50.0, RATE)
    split = np.concatenate([jitter.pace(a, b - a, 50.0, RATE) for a, b in ((0, 1), (1, 400), (400, 400), (400, 1000))])
    assert split == pytest.approx(whole, abs=1e-12)


def test_spread_spectrum_swings_between_its_limits():
    t = np.linspace(0, 1 / 31.5e3, 10_001)
    down, centred = SpreadSpectrum().rate(t), SpreadSpectrum(centred=True).rate(t)
    assert (down.min(), down.max()) == pytest.approx((-5e-3, 0.0))
    assert (centred.min(), centred.max()) == pytest.approx((-2.5e-3, 2.5e-3))
    assert down[0] == 0
    assert abs(centred[0]) < 1e-9
    assert np.mean(down) == pytest.approx(-2.5e-3, rel=1e-3)


def test_frequency_offset_is_a_constant_pace():
    assert EdgeJitter().pace(7, 5, -100.0, RATE) == pytest.approx(np.full(5, -1e-4))
    assert not EdgeJitter().paced(0.0, RATE)
    assert EdgeJitter().paced(1.0, RATE)


@pytest.mark.parametrize(
    ("make", "field", "value"),
    [
        (lambda **k: Sinusoid(**({"amplitude_ui": 0.1, "frequency": 1e6} | k)), "amplitude_ui", -1.0),
        (lambda **k: Sinusoid(**({"amplitude_ui": 0.1, "frequency": 1e6} | k)), "frequency", 0.0),
        (lambda **k: Sinusoid(**({"amplitude_ui": 0.1, "frequency": 1e6} | k)), "phase", float("nan")),
        (SpreadSpectrum, "depth_ppm", 1e5),
        (SpreadSpectrum, "frequency", 0.0),
        (SpreadSpectrum, "centred", 1),
        (EdgeJitter, "sinusoids", [1]),
        (EdgeJitter, "bounded_ui", 0.3),
        (EdgeJitter, "duty_cycle_ui", -0.1),
        (EdgeJitter, "even_odd_ui", 1.0),
        (EdgeJitter, "spread", 5000.0),
    ],
)
def test_bad_values(make, field, value):
    with pytest.raises(ValueError, match=rf"\.{field} must be"):
        make(**{field: value})
    if field == "sinusoids":
        with pytest.raises(ValueError, match=r"sinusoids\[0\] must be"):
            make(sinusoids=(0.1,))
