import math
from dataclasses import replace

import numpy as np
import pytest
from simple_links import RATE, Flat, Nyquist, density_for, simple_link

from channels.channel import Cascade
from channels.copper import CopperChannel
from channels.lines import Twinax
from dsp.clock import IdealClock, MuellerMuller
from dsp.constellation import pam
from dsp.converter import Converter
from dsp.equalizer import FixedTaps, Mmse
from dsp.filters import Ctle, butterworth4
from dsp.noise import Jitter
from serdes.link import Aggressor, Transmitter
from serdes.operating_point import operating_point
from serdes.setups import names, setup

T = 1 / RATE
PAM4_POWER = 5 / 9
CABLE = CopperChannel(parts=(Twinax(length=1.0, gauge=28),))
CTLE = Ctle(zero=20e9, pole1=20e9, pole2=50e9, low_frequency_pole=1e9, gains_db=(-6.0,), low_gains_db=(-1.0,))
JITTER = Jitter(random_ui=0.01, dual_dirac_ui=0.02)
SLOW = replace(JITTER, correlation=0.9999)


def cable_link(channel=CABLE, **changes):
    plain = simple_link(channel, equalizer=Mmse(), ctle=CTLE, bandwidth=37.5e9, tx={"rise_time": 6e-12})
    return plain.vary(changes)


class Independent:
    """What reaches the slicer of a settled link, computed afresh in frequency on another grid: 1500 symbols, not 2048."""

    n = 1500

    def __init__(self, link, point):
        self.link, self.point = link, point
        self.f = np.arange(2 * self.n + 1) * RATE / self.n
        self.receiver = butterworth4(self.f, link.rx.bandwidth) * link.rx.ctle.transfer(self.f, -6.0, -1.0)

    def taps(self, f):
        w = self.point.taps
        return sum(c * np.exp(-2j * np.pi * f * T * (j - w.n_precursors)) for j, c in enumerate(w.feed_forward))

    def symbol(self, tx, channel):
        """Spectrum [V s] of one symbol in front of the forward taps."""
        edge = np.exp(-2 * (np.pi * self.f * tx.rise_time / 1.6832) ** 2)
        rectangle = T * np.sinc(self.f * T) * np.exp(-1j * np.pi * self.f * T)
        return tx.amplitude * edge * rectangle * channel.transfer(self.f) * self.receiver

    def sampled(self, spectrum, late=0.0):
        """Its samples at the decision instants, ``late`` [s] after them, the main one first."""
        s = spectrum * np.exp(2j * np.pi * self.f * (self.point.sampling_time + late))
        folded = np.zeros(self.n, complex)
        np.add.at(folded, np.arange(s.size) % self.n, s)
        np.add.at(folded, -np.arange(1, s.size) % self.n, s[1:].conj())
        return (np.fft.ifft(folded) * self.n * self.f[1]).real

    def pulse(self):
        return self.sampled(self.symbol(self.link.tx, self.link.channel) * self.taps(self.f))


def settled(**changes):
    link = cable_link(**changes)
    point = operating_point(link)
    return point, Independent(link, point)


def integral(density, f):
    return float(np.trapezoid(density, f))


# Each cause alone, computed another way.


def test_isi_is_what_the_taps_leave():
    point, other = settled()
    p = other.pulse()
    assert p[0] == pytest.approx(1, abs=1e-4)
    p[0] -= 1
    p[1] -= point.taps.feedback[0]
    assert point.variances["ISI"] == pytest.approx(PAM4_POWER * np.sum(p**2), rel=0.02)
    assert point.residual[point.main - 20 : point.main] == pytest.approx(p[-20:], abs=1e-4)
    assert point.residual[point.main : point.main + 60] == pytest.approx(p[:60], abs=1e-4)
    assert point.snr_db > 25


def test_thermal_noise_is_the_integral_over_the_equalised_receiver():
    point, other = settled(**{"rx.noise_density": 2e-17})
    through = np.abs(other.receiver * other.taps(other.f)) ** 2
    assert point.variances["thermal"] == pytest.approx(integral(2e-17 * through, other.f), rel=1e-6)


def test_noise_of_the_channel_counts_as_thermal():
    noisy = cable_link(Cascade(parts=(CABLE, Flat(density=2e-17))))
    point, quiet = operating_point(noisy), operating_point(cable_link(**{"rx.noise_density": 2e-17}))
    assert point.variances["thermal"] == pytest.approx(quiet.variances["thermal"], rel=1e-9)


@pytest.mark.parametrize("ffe", [FixedTaps(), FixedTaps(feed_forward=(-0.1, 0.8, -0.1), n_precursors=1)])
def test_transmit_noise_is_the_energy_of_the_equalised_pulse(ffe):
    # White at the symbol rate beside the symbols, so the transmit taps do not shape it.
    point, other = settled(**{"tx.snr_db": 30.0, "tx.ffe": ffe})
    assert point.variances["Tx noise"] == pytest.approx(1e-3 * np.sum(other.pulse() ** 2), rel=1e-3)


def test_slow_jitter_moves_the_whole_waveform():
    for end in ("Tx", "Rx"):
        point, other = settled(**{f"{end.lower()}.jitter": SLOW})
        slope = other.sampled(2j * np.pi * other.f * T * other.symbol(other.link.tx, CABLE) * other.taps(other.f))
        expected = PAM4_POWER * SLOW.variance_ui2 * np.sum(slope**2)
        assert point.variances[f"{end} jitter"] == pytest.approx(expected, rel=0.02)


def test_fast_jitter_of_the_sampler_is_white():
    point, other = settled(**{"rx.jitter": JITTER})
    slope = other.sampled(2j * np.pi * other.f * T * other.symbol(other.link.tx, CABLE))
    w = np.array(point.taps.feed_forward)
    expected = PAM4_POWER * JITTER.variance_ui2 * np.sum(slope**2) * np.sum(w**2)
    assert point.variances["Rx jitter"] == pytest.approx(expected, rel=1e-3)


def test_fast_jitter_of_the_edges_passes_through_the_channel():
    # Each step a_n - a_(n-1) brings an impulse of its own: variance 2 E[a^2] of steps, each with the channel's answer.
    point, other = settled(**{"tx.jitter": JITTER})
    tx = other.link.tx
    impulse = tx.amplitude * T * np.exp(-2 * (np.pi * other.f * tx.rise_time / 1.6832) ** 2)
    answer = other.sampled(impulse * CABLE.transfer(other.f) * other.receiver * other.taps(other.f))
    expected = 2 * PAM4_POWER * JITTER.variance_ui2 * np.sum(answer**2)
    assert point.variances["Tx jitter"] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("phase_ui", [0.0, 0.3, 1.0])
def test_crosstalk_of_a_given_phase_is_the_energy_of_its_equalised_pulse(phase_ui):
    neighbour = Aggressor(tx=Transmitter(amplitude=0.05, constellation=pam(2)), coupling=CABLE, phase_ui=phase_ui)
    point, other = settled(aggressors=(neighbour,))
    heard = other.sampled(other.symbol(neighbour.tx, CABLE) * other.taps(other.f), -phase_ui * T)
    assert point.variances["crosstalk"] == pytest.approx(1.0 * np.sum(heard**2), rel=1e-3)


def test_crosstalk_without_a_phase_takes_the_worst():
    def crosstalk(phase_ui):
        neighbour = Aggressor(tx=Transmitter(amplitude=0.05), coupling=Nyquist(), phase_ui=phase_ui)
        return operating_point(simple_link(aggressors=(neighbour,))).variances["crosstalk"]

    every = [crosstalk(k / 32) for k in range(32)]
    assert crosstalk(None) == pytest.approx(max(every), rel=1e-6)
    assert max(every) > 1.2 * min(every)


def test_converter_noise_is_a_twelfth_of_a_step_squared_through_the_taps():
    point, _ = settled(**{"rx.converter": Converter(n_bits=6), "rx.noise_density": 1e-17})
    step = 2 * point.full_scale / 63
    w = np.array(point.taps.feed_forward)
    assert point.variances["converter"] == pytest.approx(step**2 / 12 * np.sum(w**2))
    # The range holds the largest sum of the samples but for the clip probability.
    peak = np.sum(np.abs(point.pulse.cursors(point.main * 32)[0]))
    assert 0.5 * peak < point.full_scale < 1.01 * peak


def test_causes_add_up():
    neighbour = Aggressor(tx=Transmitter(amplitude=0.02), coupling=CABLE)
    everything = {
        "rx.noise_density": 1e-17,
        "tx.snr_db": 33.0,
        "tx.jitter": JITTER,
        "rx.jitter": JITTER,
        "rx.converter": Converter(n_bits=6),
        "aggressors": (neighbour,),
    }
    point = operating_point(cable_link(**everything))
    assert list(point.variances) == ["ISI", "thermal", "crosstalk", "Tx noise", "Tx jitter", "Rx jitter", "converter"]
    assert all(v > 0 for v in point.variances.values())
    shares = point.shares()
    assert sum(shares.values()) == pytest.approx(1)
    assert shares[point.binding] == max(shares.values())
    assert point.snr_db == pytest.approx(10 * math.log10(PAM4_POWER / sum(point.variances.values())))


# Proportions.


def frozen(point):
    """The settled taps as given ones."""
    taps = point.taps
    return FixedTaps(feed_forward=taps.feed_forward, n_precursors=taps.n_precursors, feedback=taps.feedback)


def test_twice_the_noise_is_twice_the_variance_at_frozen_taps():
    link = cable_link(**{"rx.noise_density": 1e-17, "tx.snr_db": 33.0, "tx.jitter": JITTER})
    first = operating_point(link)
    held = link.vary({"rx.equalizer": frozen(first), "rx.clock": IdealClock(phase_ui=first.phase_ui)})
    one, two = operating_point(held), operating_point(held.vary({"rx.noise_density": 2e-17}))
    assert one.variances == pytest.approx(first.variances, rel=1e-6)
    assert two.variances == pytest.approx({**one.variances, "thermal": 2 * one.variances["thermal"]}, rel=1e-9)
    # Left to settle, the taps make the best of it.
    assert operating_point(link.vary({"rx.noise_density": 2e-17})).snr_db >= two.snr_db - 1e-9


def test_levels_do_not_matter_without_noise_of_their_own():
    loud = {"tx.snr_db": 33.0, "tx.jitter": JITTER, "rx.converter": Converter(n_bits=6)}
    link = cable_link(**loud)
    base = operating_point(link)
    scaled = operating_point(link.vary({"tx.amplitude": 4.0}))
    assert scaled.snr_db == pytest.approx(base.snr_db, abs=1e-6)
    assert scaled.main_cursor == pytest.approx(10 * base.main_cursor)
    assert scaled.full_scale == pytest.approx(10 * base.full_scale, rel=1e-6)
    # Nor with noise that grows along.
    noisy = link.vary({"rx.noise_density": 1e-17})
    both = noisy.vary({"tx.amplitude": 4.0, "rx.noise_density": 1e-15})
    assert operating_point(both).snr_db == pytest.approx(operating_point(noisy).snr_db, abs=1e-6)


def test_polarity_does_not_matter():
    changes = {"rx.noise_density": 1e-17, "tx.snr_db": 33.0, "rx.converter": Converter(n_bits=6)}
    up = operating_point(cable_link(**changes))
    down = operating_point(cable_link(Cascade(parts=(CABLE, Flat(gain=-1.0))), **changes))
    assert down.snr_db == pytest.approx(up.snr_db, abs=1e-9)
    assert down.main_cursor == pytest.approx(-up.main_cursor)
    assert down.taps.feed_forward == pytest.approx(np.negative(up.taps.feed_forward))


def test_delay_does_not_matter_but_is_kept():
    near = operating_point(cable_link(**{"rx.noise_density": 1e-17}))
    far = operating_point(cable_link(Cascade(parts=(CABLE, Flat(delay=1000 * T))), **{"rx.noise_density": 1e-17}))
    assert far.snr_db == pytest.approx(near.snr_db, abs=1e-6)
    assert far.sampling_time - near.sampling_time == pytest.approx(1000 * T, abs=1e-3 * T)


@pytest.mark.parametrize("name", names())
def test_a_longer_cable_has_less_snr(name):
    held = setup(name)
    snr = [operating_point(held.link(x)).snr_db for x in (0.5, 1.5, 3.0, 5.0)]
    assert np.all(np.diff(snr) < -0.1)


# Where a link settles.


def test_sampling_instant_of_a_symmetric_pulse_is_its_centre():
    point = operating_point(simple_link(Nyquist(), noise_density=1e-18))
    assert point.sampling_time == pytest.approx(8 * T, rel=1e-6, abs=0)
    assert point.main_cursor == pytest.approx(0.4)
    assert point.phase_ui == 0
    assert point.pulse.t[point.main * 32] == pytest.approx(point.sampling_time, rel=1e-6, abs=0)
    assert point.residual == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("phase_ui", [-0.45, -0.1, 0.0, 0.25, 0.45])
def test_a_clock_at_a_given_phase(phase_ui):
    point = operating_point(simple_link(Nyquist(), clock=IdealClock(phase_ui=phase_ui)))
    assert point.sampling_time == pytest.approx((8 + phase_ui) * T, abs=1e-6 * T)
    assert point.phase_ui == pytest.approx(phase_ui, abs=1 / 64)


def test_the_best_phase_is_better_than_any_other():
    link = cable_link(**{"rx.noise_density": 1e-17, "tx.jitter": JITTER, "rx.equalizer": FixedTaps()})
    best = operating_point(link)
    for k in range(-8, 9):
        other = operating_point(link.vary({"rx.clock": IdealClock(phase_ui=k / 32)}))
        assert other.snr_db <= best.snr_db + 1e-6


def test_mueller_muller_settles_between_equal_cursors():
    point = operating_point(cable_link(**{"rx.clock": MuellerMuller(), "rx.noise_density": 1e-17}))
    h = point.pulse.cursors(point.main * 32)[0]
    assert point.locks
    assert h[point.main - 1] == pytest.approx(h[point.main + 1], abs=1e-4 * point.main_cursor)


def test_noise_moves_the_taps_from_zero_forcing_towards_matched():
    quiet, loud = (operating_point(cable_link(**{"rx.noise_density": d})) for d in (0.0, 1e-14))
    gain = [np.sum(np.square(p.taps.feed_forward)) for p in (quiet, loud)]
    assert gain[1] < 0.8 * gain[0]
    assert loud.variances["ISI"] > 2 * quiet.variances["ISI"]


def test_no_impairment_at_all():
    point = operating_point(simple_link(Nyquist()))
    assert point.snr_db > 200
    assert not point.closed
    assert sum(point.shares().values()) == pytest.approx(1)


@pytest.mark.parametrize("equalizer", [FixedTaps(), Mmse(), Mmse(n_feedback=3), Mmse(n_feedback=0)])
@pytest.mark.parametrize("converter", [None, Converter(n_bits=6)])
@pytest.mark.parametrize("density", [0.0, 1e-17])
def test_a_dead_channel_is_said_to_be_closed(equalizer, converter, density):
    link = simple_link(Flat(gain=0.0), equalizer=equalizer, converter=converter, noise_density=density, ctle=CTLE)
    for clock in (IdealClock(), MuellerMuller()):
        point = operating_point(link.vary({"rx.clock": clock}))
        assert point.closed
        assert point.snr_db == -math.inf
        assert point.binding == "no signal"
        assert point.shares() == {"no signal": 0.0}


def test_settling_near_a_known_point_finds_the_same():
    for name, hosts in (("25G", None), ("50G", None), ("100G", None), ("200G", ("HN", "HH"))):
        held = setup(name)
        near = operating_point(held.link(1.0, hosts=hosts))
        far = held.link(2.5, hosts=hosts)
        assert operating_point(far, like=near).snr_db == pytest.approx(operating_point(far).snr_db, abs=0.02)
        again = operating_point(near.link, like=near)
        assert (again.gain_db, again.low_gain_db) == (near.gain_db, near.low_gain_db)


GRID = [
    ("25G", None, 1.0),
    ("25G", None, 6.0),
    ("50G", None, 0.5),
    ("50G", None, 4.0),
    ("100G", None, 0.5),
    ("100G", None, 2.5),
]
GRID += [("200G", ("HN", "HH"), 0.3), ("200G", ("HN", "HH"), 1.0)]


@pytest.mark.parametrize(("name", "hosts", "length"), GRID)
def test_the_gains_found_are_the_best_of_the_grid(name, hosts, length):
    link = setup(name).link(length, hosts=hosts)
    ctle = link.rx.ctle
    thinned = replace(ctle, gains_db=ctle.gains_db[::5], low_gains_db=ctle.low_gains_db[::6])
    link = link.vary({"rx.ctle": thinned})
    every = [
        operating_point(link.vary({"rx.ctle": replace(thinned, gains_db=(gain,), low_gains_db=(low,))})).snr_db
        for gain, low in thinned.candidates
    ]
    assert operating_point(link).snr_db == pytest.approx(max(every), abs=0.02)


def test_gains_are_chosen_among_the_candidates_only():
    point = operating_point(setup("100G").link(2.0))
    ctle = point.link.rx.ctle
    assert (point.gain_db, point.low_gain_db) in ctle.candidates
    single = operating_point(cable_link())
    assert (single.gain_db, single.low_gain_db) == (-6.0, -1.0)
    none = operating_point(simple_link())
    assert (none.gain_db, none.low_gain_db) == (0.0, 0.0)


def test_white_noise_at_a_flat_channel():
    link = simple_link(Nyquist())
    for snr_db in (10.0, 17.655, 40.0):
        point = operating_point(link.vary({"rx.noise_density": density_for(snr_db, link)}))
        assert point.snr_db == pytest.approx(snr_db, abs=1e-6)
