from dataclasses import dataclass, replace

import numpy as np
import pytest
from simple_links import RATE, Flat, Nyquist, simple_link

from channels.channel import LinearChannel
from dsp.equalizer import FixedTaps
from dsp.filters import Ctle, butterworth4
from serdes.link import Aggressor
from serdes.setups import setup
from serdes.spectra import BAND, LEAST, WINDOW, delay_of, spectra

T = 1 / RATE
CTLE = Ctle(zero=20e9, pole1=20e9, pole2=50e9, low_frequency_pole=1e9, gains_db=(-6.0,))


@dataclass(frozen=True, kw_only=True)
class Pole(LinearChannel):
    """One pole at ``corner`` [Hz] behind a delay [s]."""

    corner: float = 10e9
    delay: float = 0.0

    def transfer(self, f):
        return np.exp(-2j * np.pi * f * self.delay) / (1 + 1j * f / self.corner)

    def noise_psd(self, f, drive=None):
        return np.zeros(np.shape(f))


@dataclass(frozen=True, kw_only=True)
class Broken(LinearChannel):
    """Not a number in the middle of the band."""

    def transfer(self, f):
        return np.where(f > 20e9, np.nan, 1.0 + 0j)

    def noise_psd(self, f, drive=None):
        return np.zeros(np.shape(f))


def aggressor(channel, phase_ui=None, **tx):
    return Aggressor(tx=replace(simple_link().tx, **tx), coupling=channel, phase_ui=phase_ui)


def test_axis():
    sp = spectra(simple_link())
    assert sp.f[0] == 0
    assert sp.f[-1] == pytest.approx(BAND * RATE)
    assert sp.f[1] == pytest.approx(RATE / WINDOW)
    assert sp.window == WINDOW
    assert sp.pulse.shape == sp.edge.shape == sp.noise.shape == sp.f.shape


@pytest.mark.parametrize("m", [LEAST, 8, 32])
def test_pulse_sums_to_the_static_level(m):
    sp = spectra(simple_link(Pole(delay=3.3e-9), amplitude=0.4))
    p = sp.response(sp.pulse, m)
    assert p.samples.sum() / m == pytest.approx(0.4, rel=1e-9)
    assert p.tail < 1e-4


def test_single_pole_pulse_at_its_own_time():
    # An RC behind a delay: zero until the symbol arrives, 1 - e^-1 after one time constant.
    corner = 10e9
    rc = 1 / (2 * np.pi * corner)
    delay = 137.3 * T
    sp = spectra(simple_link(Pole(corner=corner, delay=delay), amplitude=1.0))
    p = sp.response(sp.pulse, 32)
    t = p.t - delay
    expected = np.where(t < 0, 0, np.where(t < T, 1 - np.exp(-t.clip(0) / rc), np.expm1(T / rc) * np.exp(-t.clip(0) / rc)))
    assert p.samples == pytest.approx(expected, abs=0.03)  # the band ends at two symbol rates
    assert np.sqrt(np.mean((p.samples - expected) ** 2) / np.mean(expected**2)) < 0.03
    assert sp.response(sp.pulse, 32, shift=0.3 * T).start == pytest.approx(p.start + 0.3 * T)


def test_a_shift_moves_the_window_not_the_waveform():
    sp = spectra(simple_link(Nyquist()))
    p = sp.response(sp.pulse, 32)
    later = sp.response(sp.pulse, 32, shift=5 / 32 * T)
    assert later.samples[:-5] == pytest.approx(p.samples[5:], abs=1e-9)
    assert later.t[:-5] == pytest.approx(p.t[5:], rel=0, abs=1e-6 * T)


@pytest.mark.parametrize("delay", [0.0, 1e-12, 2.345e-9, 30e-9, 400e-9])
def test_delay_of_a_pure_delay(delay):
    assert delay_of(Flat(delay=delay), RATE) == pytest.approx(delay, abs=1e-15)
    assert spectra(simple_link(Flat(delay=delay))).delay == pytest.approx(delay + T / 2, abs=1e-15)


def test_delay_of_channels_that_disperse_or_pass_nothing():
    assert delay_of(Pole(delay=5e-9), RATE) == pytest.approx(5e-9, abs=T)
    assert delay_of(Flat(gain=0.0), RATE) == 0
    cable = setup("100G").link(3.0).channel
    assert 3 * 4.2e-9 < delay_of(cable, 53.125e9) < 3 * 4.5e-9 + 3e-9


@pytest.mark.parametrize("name", ["25G", "200G"])
def test_the_window_holds_a_long_cable(name):
    link = setup(name).link(8.0 if name == "25G" else 3.0)
    p = (sp := spectra(link)).response(sp.pulse, LEAST)
    assert p.tail < 5e-4  # the slow end of the skin effect
    # The peak comes where the delay says, but for dispersion: far inside the eighth of the window kept before it.
    assert abs(p.t[p.peak] - sp.delay) * link.symbol_rate < 16


def test_edges_make_the_pulse():
    # A pulse is a step up and one down a symbol later: its slope is the difference of the edge responses.
    sp = spectra(simple_link(Pole(), tx={"rise_time": 8e-12}))
    m = 32
    edge, pulse = sp.response(sp.edge, m), sp.response(sp.pulse, m)
    difference = edge.samples - np.roll(edge.samples, m)
    assert pulse.slope() == pytest.approx(difference, abs=1e-3 * np.max(np.abs(difference)))


def test_transmit_taps_are_kept_apart():
    taps = FixedTaps(feed_forward=(-0.1, 0.8, -0.1), n_precursors=1)
    plain, shaped = spectra(simple_link(Pole())), spectra(simple_link(Pole(), tx={"ffe": taps}))
    assert shaped.pulse == pytest.approx(plain.pulse)
    assert plain.taps == pytest.approx(1)
    assert shaped.taps[0] == pytest.approx(0.6)
    assert shaped.taps[WINDOW // 2] == pytest.approx(1.0)  # at Nyquist the outer taps add
    # An aggressor's taps belong to its spectrum.
    victim = simple_link(aggressors=(aggressor(Pole(), ffe=taps), aggressor(Pole())))
    ours, theirs = spectra(victim).aggressors
    assert ours == pytest.approx(theirs * shaped.taps)


def test_noise_of_receiver_and_channel_behind_the_receive_filter():
    sp = spectra(simple_link(Flat(density=2e-18), noise_density=3e-18, bandwidth=30e9))
    assert sp.noise == pytest.approx(5e-18 * np.abs(butterworth4(sp.f, 30e9)) ** 2, rel=1e-6, abs=0)
    r = sp.noise_autocovariance()
    assert r.shape == (WINDOW,)
    assert r[1:] == pytest.approx(r[:0:-1], rel=0, abs=1e-12 * r[0])
    # The noise bandwidth of a fourth-order Butterworth filter is (pi/8) / sin(pi/8) times its 3 dB bandwidth.
    assert r[0] == pytest.approx(5e-18 * 30e9 * (np.pi / 8) / np.sin(np.pi / 8), rel=1e-4)


def test_white_noise_is_white_within_the_band():
    r = spectra(simple_link(noise_density=1e-18)).noise_autocovariance()
    assert r[0] == pytest.approx(1e-18 * BAND * RATE)
    assert r[1:] == pytest.approx(0, abs=1e-9 * r[0])


def test_crosstalk_averaged_over_phase():
    link = simple_link(aggressors=(aggressor(Pole(delay=1e-10)), aggressor(Pole(corner=3e9), amplitude=0.1)))
    sp = spectra(link)
    found = sp.crosstalk_autocovariance([5 / 9, 5 / 9])
    expected = 0
    for a in sp.aggressors:
        for row in sp.response(a, 16).phases():
            expected = expected + 5 / 9 / 16 * np.fft.irfft(np.abs(np.fft.rfft(row)) ** 2)
    assert found == pytest.approx(expected, abs=1e-4 * found[0])


def test_ctle_acts_on_everything_received():
    link = simple_link(Pole(), noise_density=1e-18, aggressors=(aggressor(Pole()),))
    sp = spectra(link)
    h = CTLE.transfer(sp.f, -6.0)
    behind = sp.filtered(h)
    assert behind.pulse == pytest.approx(sp.pulse * h)
    assert behind.edge == pytest.approx(sp.edge * h)
    assert behind.aggressors[0] == pytest.approx(sp.aggressors[0] * h)
    assert behind.noise == pytest.approx(sp.noise * np.abs(h) ** 2, rel=1e-6, abs=0)
    assert behind.delay == sp.delay
    assert behind.pulse[0] == pytest.approx(sp.pulse[0] / 10 ** (6 / 20), rel=1e-6, abs=0)


def test_a_thinner_axis_folds_the_window():
    sp = spectra(simple_link(Pole(delay=1e-9)))
    thin = sp.thinned(4)
    assert thin.window == WINDOW // 4
    whole, folded = sp.response(sp.pulse, 8).samples, thin.response(thin.pulse, 8)
    assert folded.samples.sum() == pytest.approx(whole.sum())
    assert np.max(folded.samples) == pytest.approx(np.max(whole), rel=1e-4)


def test_a_transfer_that_is_no_number_is_refused_with_its_frequency():
    with pytest.raises(ValueError, match=r"Broken\.transfer is not finite at 2\.00\d*e\+10 Hz"):
        spectra(simple_link(Broken()))


def test_nothing_above_the_band():
    # Edge, cable and receive filter leave little above the frequencies that are carried.
    for name in ("25G", "50G", "100G", "200G"):
        sp = spectra(setup(name).link(0.5))
        assert np.abs(sp.pulse[-1]) < 1e-3 * np.abs(sp.pulse[0])
        assert np.max(np.abs(sp.pulse[-WINDOW // 8 :])) < 2e-3 * np.abs(sp.pulse[0])
