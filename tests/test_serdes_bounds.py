import math

import numpy as np
import pytest
from simple_links import RATE, Flat, Nyquist, simple_link

from channels.channel import Cascade
from dsp.constellation import pam
from dsp.equalizer import FixedTaps, Mmse
from dsp.filters import Ctle
from dsp.noise import Jitter
from serdes.bounds import bounds
from serdes.link import Aggressor
from serdes.operating_point import operating_point
from serdes.setups import names, setup

T = 1 / RATE
PAM4_POWER = 5 / 9
CTLE = Ctle(zero=20e9, pole1=20e9, pole2=50e9, low_frequency_pole=1e9, gains_db=(-6.0,))


def white(snr_db, **changes):
    """A link whose folded spectrum is flat: one symbol's energy against white noise is the SNR of any receiver."""
    energy = PAM4_POWER * 0.4**2 * T
    return simple_link(Nyquist(root=True), noise_density=2 * energy / 10 ** (snr_db / 10), **changes)


@pytest.mark.parametrize("snr_db", [6.0, 17.655, 40.0])
def test_a_flat_folded_spectrum_has_one_snr(snr_db):
    b = bounds(white(snr_db))
    assert b.matched_filter_db == pytest.approx(snr_db, abs=1e-6)
    assert b.salz_db == pytest.approx(snr_db, abs=1e-6)
    assert b.linear_db == pytest.approx(snr_db, abs=1e-6)
    assert b.capacity == pytest.approx(RATE / 2 * math.log2(1 + 10 ** (snr_db / 10)))


def test_two_equal_rays_in_closed_form():
    # R(f) = S |1 + e^(-jwT)|^2 = 2 S (1 + cos w). Its mean is 2 S; of ln(a + b cos w) it is ln((a + sqrt(a^2 - b^2)) / 2).
    s = 10**2.5
    b = bounds(white(25.0, tx={}).vary({"channel.echo": 1.0}))
    a = 1 + 2 * s
    root = math.sqrt(a**2 - (2 * s) ** 2)
    assert b.matched_filter_db == pytest.approx(10 * math.log10(2 * s), abs=1e-6)
    assert b.salz_db == pytest.approx(10 * math.log10((a + root) / 2 - 1), abs=1e-6)
    # The mean of 1 / (a + b cos w) is 1 / sqrt(a^2 - b^2).
    assert b.linear_db == pytest.approx(10 * math.log10(root - 1), abs=1e-6)


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("length", [0.5, 3.0])
def test_order_of_the_bounds(name, length):
    link = setup(name).link(length)
    for impairments in ({}, {"jitter": False}, {"tx_noise": False, "crosstalk": False, "jitter": False}):
        b = bounds(link, **impairments)
        assert b.matched_filter_db >= b.salz_db >= b.linear_db
        # Optimum decision feedback of infinite length attains the capacity of the flat spectrum.
        assert b.capacity == pytest.approx(link.symbol_rate / 2 * math.log2(1 + 10 ** (b.salz_db / 10)))


@pytest.mark.parametrize("name", names())
def test_no_receiver_exceeds_its_bound(name):
    for length, changes in ((0.05, {}), (0.5, {"aggressors": ()}), (2.0, {}), (4.0, {"tx.jitter": Jitter()})):
        link = setup(name).link(length).vary({"rx.converter": None, **changes})
        b = bounds(link)
        for taps in (22, 60):
            forward = link.vary({"rx.equalizer": Mmse(n_taps=taps, n_precursors=taps // 3, n_feedback=0)})
            assert operating_point(forward).snr_db < b.linear_db
            both = link.vary({"rx.equalizer": Mmse(n_taps=taps, n_precursors=taps // 3, n_feedback=2)})
            assert operating_point(both).snr_db < b.salz_db


def test_a_long_equaliser_comes_near_the_linear_bound():
    link = white(25.0, bandwidth=0.6 * RATE).vary({"channel.echo": 0.5})
    forward = link.vary({"rx.equalizer": Mmse(n_taps=41, n_precursors=20, n_feedback=0)})
    # A Butterworth receiver is no matched filter: the noise it lets fold is what is lost.
    assert 0 < bounds(link).linear_db - operating_point(forward).snr_db < 1.5
    both = link.vary({"rx.equalizer": Mmse(n_taps=41, n_precursors=20, n_feedback=4)})
    assert 0 < bounds(link).salz_db - operating_point(both).snr_db < 1.5


def test_receiver_settings_do_not_matter():
    link = setup("100G").link(2.0)
    base = bounds(link)
    for change in ({"rx.ctle": None}, {"rx.equalizer": FixedTaps()}, {"rx.converter": None}, {"rx.bandwidth": 60e9},
                   {"tx.ffe": FixedTaps(feed_forward=(-0.1, 1.0), n_precursors=1)}):  # fmt: skip
        assert bounds(link.vary(change)).salz_db == pytest.approx(base.salz_db, abs=0.01)


def test_gain_on_signal_and_noise_does_not_matter():
    link = white(20.0)
    louder = link.vary({"tx.amplitude": 2.0, "rx.noise_density": 25 * link.rx.noise_density})
    assert bounds(louder).salz_db == pytest.approx(20.0)
    assert bounds(link.vary({"channel": Cascade(parts=(link.channel, Flat(gain=-0.1)))})).salz_db == pytest.approx(
        0.0, abs=1e-6
    )


def test_transmit_noise_alone_is_a_ceiling():
    # Peak squared over noise: 30 dB, of which the levels' mean square is worth 2.55 dB less.
    b = bounds(white(200.0, tx={"snr_db": 30.0}))
    expected = 30 + 10 * math.log10(PAM4_POWER)
    assert b.matched_filter_db == pytest.approx(expected, abs=1e-3)
    assert b.salz_db == pytest.approx(expected, abs=1e-3)
    nrz = simple_link(Nyquist(root=True), levels=2, tx={"snr_db": 30.0}, noise_density=1e-30)
    assert bounds(nrz).salz_db == pytest.approx(30, abs=1e-3)
    assert bounds(white(20.0, tx={"snr_db": 30.0}), tx_noise=False).salz_db == pytest.approx(20)


def test_jitter_alone_is_a_ceiling():
    # Within the Nyquist band slow jitter leaves a variance (2 pi f T)^2, whose mean is variance pi^2 / 3. Excess bandwidth,
    # where the displaced waveform differs from the displaced symbols, gives a receiver something to tell them apart by.
    jitter = Jitter(random_ui=0.01, dual_dirac_ui=0.02)
    b = bounds(white(200.0, tx={"jitter": jitter}))
    in_band = -10 * math.log10(jitter.variance_ui2 * math.pi**2 / 3)
    assert in_band < b.linear_db < in_band + 15
    assert bounds(white(200.0, tx={"jitter": jitter}, jitter=jitter)).linear_db < b.linear_db
    assert bounds(white(20.0, tx={"jitter": jitter}), jitter=False).salz_db == pytest.approx(20)


def test_jitter_of_a_channel_without_excess_bandwidth():
    link = setup("224G").link(3.0, 26, ("HN", "HH"))  # 50 dB at Nyquist: the aliases are gone
    r = 10 ** (bounds(link, tx_noise=False, jitter=False).linear_db / 10)
    with_jitter = 10 ** (bounds(link, tx_noise=False).linear_db / 10)
    variance = link.tx.jitter.variance_ui2
    assert r > with_jitter > 1 / (1 / r + variance * math.pi**2)  # no worse than the edge of the band everywhere


def test_crosstalk_adds_to_the_noise():
    link = white(20.0)
    neighbour = Aggressor(tx=link.tx.__class__(amplitude=0.4, constellation=pam(2)), coupling=Nyquist(root=True, gain=0.05))
    heard = bounds(link.vary({"aggressors": (neighbour,)}))
    assert bounds(link.vary({"aggressors": (neighbour,)}), crosstalk=False).salz_db == pytest.approx(20)
    assert heard.salz_db < 20
    # Crosstalk of the spectrum of the signal, symbols of unit power, in place of all noise.
    only = bounds(link.vary({"aggressors": (neighbour,), "rx.noise_density": 0.0}))
    folded = PAM4_POWER / 0.05**2
    assert only.salz_db >= 10 * math.log10(folded) - 1e-6


def test_every_impairment_lowers_every_bound():
    link = setup("200G").link(1.0, hosts=("HN", "HH"))
    quiet = {"tx_noise": False, "crosstalk": False, "jitter": False}
    best = bounds(link, **quiet)
    for name in quiet:
        worse = bounds(link, **{**quiet, name: True})
        assert worse.salz_db < best.salz_db
        assert worse.linear_db < best.linear_db
        assert worse.matched_filter_db < best.matched_filter_db


def test_a_dead_channel_and_a_noiseless_one():
    for density in (0.0, 1e-17):
        dead = bounds(simple_link(Flat(gain=0.0), noise_density=density))
        assert dead.salz_db == dead.linear_db == dead.matched_filter_db == -math.inf
        assert dead.capacity == 0
    assert bounds(simple_link()).salz_db > 290
    assert math.isfinite(bounds(simple_link()).capacity)


# Published for the same receivers on 26 AWG at the accepted reach, thermal noise alone: only the P802.3dj hosts are the same
# there and here; for the older rates the die-to-die losses are 2 to 5 dB higher here, and the bound lower by about as much.


@pytest.mark.parametrize(("hosts", "published", "loss_db"), [(("HN", "HH"), 31.7, 32.8), (("HL", "HL"), 40.6, 17.6)])
def test_published_bounds_at_200g(hosts, published, loss_db):
    link = setup("200G").link(1.0, 26, hosts)
    loss = -20 * np.log10(np.abs(link.channel.transfer(np.array([link.nyquist]))[0]))
    assert loss == pytest.approx(loss_db, abs=0.3)
    assert bounds(link, tx_noise=False, crosstalk=False, jitter=False).salz_db == pytest.approx(published, abs=0.3)
    assert bounds(link, tx_noise=False, jitter=False).salz_db == pytest.approx(published, abs=2.2)


@pytest.mark.parametrize(
    ("name", "length", "published", "loss_db"), [("25G", 5, 33.2, 32.7), ("50G", 3, 40.0, 25.8), ("100G", 2, 37.6, 29.6)]
)
def test_published_bounds_of_slower_rates_but_for_their_loss(name, length, published, loss_db):
    link = setup(name).link(float(length))
    extra = -20 * np.log10(np.abs(link.channel.transfer(np.array([link.nyquist]))[0])) - loss_db
    found = bounds(link, tx_noise=False, crosstalk=False, jitter=False).salz_db
    # Loss at Nyquist weighs on the upper half of the band, so its excess counts by about half.
    assert published - extra < found < published
