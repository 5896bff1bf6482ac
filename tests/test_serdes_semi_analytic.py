"""The semi-analytic engine against published figures, the other engines, and its own limits."""

from dataclasses import replace

import numpy as np
import pytest
from numba import njit
from optical_links import DECIDED, FIVE, LONG, SLICER, at_oma, bench, lane, loud

from channels.active import Redriver
from channels.channel import Channel
from channels.fiber import SingleModeFiber
from channels.lasers import Laser
from channels.modulators import Eml, Mzm
from dsp.clock import IdealClock
from dsp.converter import Converter
from dsp.equalizer import FixedTaps, Mmse
from dsp.fec import KP4
from dsp.noise import Jitter
from dsp.units import km, nm, ps
from serdes import waveform
from serdes.link import Link, Receiver, Transmitter
from serdes.noise_free import noise_free, optics_in, symbols
from serdes.operating_point import operating_point
from serdes.semi_analytic import SemiAnalytic, error_ratios
from serdes.sensitivity import sensitivity, with_loss
from serdes.sequence_gain import count, sequence_gain
from serdes.setups import setup
from serdes.simulate import simulate
from serdes.statistical import Statistical
from serdes.time_domain import TimeDomain

SENSITIVITIES = [
    # GBd, Tx, Rx [GHz], equaliser, taps a symbol, OMA [dBm] at 2.4e-4 and at 4.85e-3
    (53.125, 35, 35, FIVE, 1, -10.50, -11.88),
    (53.125, 35, 35, LONG, 2, -10.63, -12.01),
    (106.25, 55, 60, SLICER, 1, -7.62, -9.50),
    (106.25, 55, 60, FIVE, 1, -8.80, -10.19),
    (106.25, 55, 60, LONG, 2, -8.87, -10.26),
    (106.25, 55, 60, DECIDED, 1, -8.90, -10.29),
    (106.25, 70, 70, SLICER, 1, -8.40, -10.06),
    (106.25, 70, 70, LONG, 2, -9.13, -10.51),
    (113.4375, 55, 60, LONG, 2, -8.63, -10.01),
]


@pytest.mark.parametrize(("rate", "tx", "rx", "equalizer", "spacing", "kp4", "inner"), SENSITIVITIES)
def test_published_sensitivities(rate, tx, rx, equalizer, spacing, kp4, inner):
    link, engine = lane(rate, tx, rx, equalizer), SemiAnalytic(n_symbols=4096, taps_per_symbol=spacing)
    assert sensitivity(link, 2.4e-4, engine).oma_dbm == pytest.approx(kp4, abs=0.3)
    assert sensitivity(link, 4.85e-3, engine).oma_dbm == pytest.approx(inner, abs=0.3)


DISPERSION = [
    # equaliser, taps a symbol, source, sign of D L, ps/nm at 1310 nm for 1 dB
    (FIVE, 1, Mzm(laser=Laser(power=1e-3), extinction_db=100.0), 1, 17.5),
    (LONG, 2, Mzm(laser=Laser(power=1e-3), extinction_db=100.0), 1, 19.0),
    (LONG, 2, Mzm(laser=Laser(power=1e-3), extinction_db=100.0, chirp_parameter=1.0), 1, 5.3),
    (LONG, 2, Mzm(laser=Laser(power=1e-3), extinction_db=100.0, chirp_parameter=1.0), -1, 30.3),
    (LONG, 2, Mzm(laser=Laser(power=1e-3), extinction_db=100.0, chirp_parameter=-0.7), -1, 6.9),
]


@pytest.mark.parametrize(("equalizer", "spacing", "source", "sign", "tolerance"), DISPERSION)
def test_published_dispersion_tolerances(equalizer, spacing, source, sign, tolerance):
    """106.25 GBd, 60/60 GHz: the penalty passes 1 dB within 10 % of the tolerance, on the side the chirp says."""
    engine = SemiAnalytic(n_symbols=4096, taps_per_symbol=spacing)

    def needed(ps_per_nm):
        fiber = SingleModeFiber(length=1 * km, dispersion=sign * ps_per_nm * ps / nm / km, slope=0.0, loss_db_per_km=0.0)
        return sensitivity(lane(106.25, 60, 60, equalizer, -4.0, source, fiber), 2.4e-4, engine).oma_dbm

    bare = needed(1e-3)
    assert needed(0.9 * tolerance) < bare + 1 < needed(1.1 * tolerance)


@pytest.mark.parametrize(
    ("chirp", "sign", "tolerance", "equalizer", "spacing"),
    [(1.0, 1, 5.3, LONG, 2), (1.0, -1, 30.3, LONG, 2), (-0.7, -1, 6.9, LONG, 2), (1.0, 1, 5.3, FIVE, 1)],
)
def test_dispersion_tolerances_of_electro_absorption(chirp, sign, tolerance, equalizer, spacing):
    """The same for the modulator whose chirp falls with reverse voltage, by its chirp at the bias."""
    source = Eml(laser=Laser(power=5e-3), chirp_coefficients=(chirp + 1.0, -0.8))
    assert source.chirp() == pytest.approx(chirp, abs=1e-4)
    engine = SemiAnalytic(n_symbols=4096, taps_per_symbol=spacing)

    def needed(ps_per_nm):
        fiber = SingleModeFiber(length=1 * km, dispersion=sign * ps_per_nm * ps / nm / km, slope=0.0, loss_db_per_km=0.0)
        return sensitivity(lane(106.25, 60, 60, equalizer, -4.0, source, fiber), 2.4e-4, engine).oma_dbm

    bare = needed(1e-3)
    assert needed(0.9 * tolerance) < bare + 1 < needed(1.1 * tolerance)


@pytest.mark.parametrize(
    "link",
    [
        loud(),
        loud(rin_db=-132.0, oma_dbm=-2.5),
        loud(rin_db=-145.0, length=1.1, oma_dbm=-2.5),
        loud(chirp=1.0, length=0.3, oma_dbm=-6.0),
    ],
    ids=["dispersion", "intensity noise", "near the null", "chirp"],
)
def test_counted_errors_agree(link):
    """Time domain, everything random, on a channel that is not linear: within 10 % where over 100 errors were counted."""
    result = simulate(link, SemiAnalytic())
    counted = TimeDomain(n_symbols=250_000, samples_per_symbol=8, eye_symbols=0).run(
        link, np.random.default_rng(1), point=result.operating_point
    )
    assert counted.bits.errors > 100
    assert counted.ber == pytest.approx(result.ber, rel=0.1 + 2 / np.sqrt(counted.bits.errors))
    assert counted.snr_db == pytest.approx(result.snr_db, abs=0.1)


def test_where_the_linear_face_is_off():
    """Compression and chirp are not in it: it promises far less errors than there are; a small drive brings the faces together."""
    for link in (loud(), loud(chirp=1.0, length=0.3, oma_dbm=-6.0)):
        assert simulate(link, Statistical(eye=False)).ber < simulate(link, SemiAnalytic()).ber / 10
    small = loud(drive=0.02, length=0.1, rin_db=-190.0, power=0.1)
    linear, semi = simulate(small, Statistical(eye=False)), simulate(small, SemiAnalytic())
    assert linear.snr_db == pytest.approx(semi.snr_db, abs=0.1)


def test_a_linear_link_is_that_of_the_statistical_engine():
    s = setup("112G")
    link = s.link(1.5).vary({"tx.jitter": Jitter(), "rx.equalizer.n_feedback": 0})
    linear, semi = simulate(link, Statistical(eye=False)), simulate(link, SemiAnalytic(samples_per_symbol=4))
    assert semi.snr_db == pytest.approx(linear.snr_db, abs=0.2)
    for cause in ("thermal", "crosstalk", "Tx noise", "converter"):
        assert semi.operating_point.variances[cause] == pytest.approx(linear.operating_point.variances[cause], rel=0.15)


def test_thermal_noise_alone_is_gaussian_on_top_of_the_pattern():
    link = lane(oma_dbm=-8.8)
    linear, semi = simulate(link, Statistical(eye=False)), simulate(link, SemiAnalytic())
    assert semi.snr_db == pytest.approx(linear.snr_db, abs=0.15)
    assert semi.ber == pytest.approx(linear.ber, rel=0.2)


def test_sensitivity_of_a_peer():
    """OptiCommPy 0.11: -10.64 dBm average at 2.4e-4 and 106.25 GBd, where its equaliser still wanders."""
    found = sensitivity(bench(106.25e9, -8.0), 2.4e-4, SemiAnalytic(taps_per_symbol=2))
    assert found.average_power_dbm == pytest.approx(-10.64, abs=0.4)


@njit
def _lms(x, d, levels, step, training, w):
    z = np.zeros(d.size)
    for turn in range(3):
        for k in range(d.size):
            z[k] = np.dot(w, x[2 * k : 2 * k + w.size])
            wanted = d[k] if turn == 0 and k < training else levels[np.argmin(np.abs(levels - z[k]))]
            w += step * (wanted - z[k]) * x[2 * k : 2 * k + w.size]
    return z


@pytest.mark.parametrize(
    ("baud", "power", "fiber", "snr_db"),
    [
        (53.125, -12, 0.0, 17.82), (53.125, -5, 0.0, 28.03), (106.25, -12, 0.0, 15.00), (106.25, -10, 0.0, 18.62),
        (106.25, -5, 0.0, 26.21), (106.25, -5, 0.5, 25.30), (106.25, -5, 2.0, 14.70),
    ],
)  # fmt: skip
def test_a_peer_with_its_own_equaliser(baud, power, fiber, snr_db):
    """OptiCommPy 0.11 with its parameters: 21 taps at half a symbol, least mean squares of step 1e-3 in three passes.

    Fibre in km at 17 ps/nm/km and 1550 nm.
    """
    glass = SingleModeFiber(length=fiber * km, dispersion=17e-6, slope=0.0, loss_db_per_km=0.0) if fiber else None
    link, n, m = bench(baud * 1e9, power, glass, 1550 * nm), 100_000, 8
    rng = np.random.default_rng(1)
    sent = rng.integers(4, size=n)
    levels = link.tx.constellation.array
    held = np.repeat(levels[sent], m)
    y, _ = link.channel.transmit(0.5 * held, link.channel.start(waveform.memory(link.channel, link.symbol_rate, m), rng))
    late = int(np.argmax(np.fft.irfft(np.fft.rfft(y) * np.conj(np.fft.rfft(held)), y.size)))
    x = np.roll(y, -late - m // 2)[:: m // 2]
    x = np.concatenate((x[-10:], x, x[:12])) / np.std(x)
    scale = np.sqrt(link.tx.constellation.mean_square)
    z = _lms(x, levels[sent] / scale, levels / scale, 1e-3, 20_000, np.eye(21)[10].copy())
    use = slice(5000, n - 5000)
    error = z[use] - levels[sent][use] / scale
    assert -10 * np.log10(np.mean(error**2)) == pytest.approx(snr_db, abs=0.5)


@pytest.mark.parametrize(
    ("baud", "power", "snr_db"),
    [(53.125, -12, 17.82), (53.125, -5, 28.03), (106.25, -12, 15.00), (106.25, -10, 18.62), (106.25, -5, 26.21)],
)
def test_a_peer_at_its_sampling_phase(baud, power, snr_db):
    """The same without fibre, taps solved: it samples at the symbol's centre and edge, and half a symbol's aliases cost up to 0.6 dB."""
    link, engine = bench(baud * 1e9, power, wavelength=1550 * nm), SemiAnalytic(taps_per_symbol=2)
    centred = simulate(link.vary({"rx.clock": IdealClock(phase_ui=0.0)}), engine).snr_db
    assert centred == pytest.approx(snr_db, abs=0.2)
    assert centred + 0.15 < simulate(link, engine).snr_db < centred + 0.75


def test_a_phase_that_is_given_is_kept():
    link = lane()
    found = simulate(link, SemiAnalytic(n_symbols=2048)).operating_point.phase_ui
    for phase in (-0.2, 0.15):
        result = simulate(link.vary({"rx.clock": IdealClock(phase_ui=phase)}), SemiAnalytic(n_symbols=2048))
        assert result.operating_point.phase_ui == pytest.approx(phase, abs=1 / 32)
        assert result.snr_db < simulate(link, SemiAnalytic(n_symbols=2048)).snr_db
    assert abs(found) < 0.1


@pytest.mark.parametrize(("length", "snr_db"), [(1.0, 22.30), (2.0, 14.70)])
def test_a_peer_where_dispersion_rules(length, snr_db):
    """The same at 106.25 GBd and -5 dBm with taps settled: thermal noise no longer counts for much."""
    glass = SingleModeFiber(length=length * km, dispersion=17e-6, slope=0.0, loss_db_per_km=0.0)
    result = simulate(bench(106.25e9, -5.0, glass, 1550 * nm), SemiAnalytic(taps_per_symbol=2))
    assert result.snr_db == pytest.approx(snr_db, abs=0.5)


def beaten(tx, rx, lower_db):
    """Error ratios (slicer, sequence detector) counted at a power ``lower_db`` below what the slicer needs for 2.4e-4."""
    engine = SemiAnalytic(n_symbols=65536, taps_per_symbol=2)
    link = lane(106.25, tx, rx)
    needed = sensitivity(link, 2.4e-4, SemiAnalytic(n_symbols=4096, taps_per_symbol=2)).margin_db
    weaker = with_loss(link, needed + lower_db)
    return count(engine.settle(weaker), weaker, np.random.default_rng(1))


def test_sequence_detection_gains_most_where_bandwidth_is_least():
    gains = [slicer / detector for slicer, detector, _ in (beaten(tx, rx, 0.4) for tx, rx in ((70, 70), (50, 50), (38, 45)))]
    assert 1 < gains[0] < gains[1] < gains[2]


def test_sequence_detection_gains_half_a_decibel_at_38_and_45_ghz():
    """Published 0.48 dB within 0.1: met 0.38 dB below the slicer's power; missed 0.2 dB lower (what counting leaves open)."""
    assert beaten(38, 45, 0.38)[1] < 2.4e-4 < beaten(38, 45, 0.68)[1]


def test_gain_as_a_number():
    found = sequence_gain(
        lane(106.25, 38, 45), 2.4e-4, SemiAnalytic(n_symbols=16384, taps_per_symbol=2), np.random.default_rng(1), 1
    )
    assert 0.3 < found.gain_db < 0.8
    assert found.memory == pytest.approx(0.36, abs=0.03)


def test_counts_of_the_slicer_are_those_of_the_closed_form():
    link = with_loss(lane(oma_dbm=-8.0), 1.6)
    settled = SemiAnalytic(n_symbols=65536, taps_per_symbol=2).settle(link)
    slicer, detector, memory = count(settled, link, np.random.default_rng(3))
    assert slicer == pytest.approx(settled.error_ratios()[1], rel=0.15)
    assert detector < slicer
    assert 0 < memory < 1


def test_error_ratios_of_noise_alone():
    """Every level at its place: SER is 3/2 Q(d/sigma), BER half of it while only neighbours are hit."""
    constellation = lane().tx.constellation
    sent = np.arange(4000) % 4
    ser, ber = error_ratios(constellation.array[sent], np.full(4000, 0.1), sent, constellation)
    assert ser == pytest.approx(1.5 * 4.290603e-4, rel=1e-5)
    assert ber == pytest.approx(ser / 2, rel=1e-3)


def test_attenuation_of_the_pass_is_that_of_the_link():
    link = loud(oma_dbm=-3.0)
    engine = SemiAnalytic(n_symbols=2048)
    shortcut = engine.settle(link, attenuation_db=2.0)
    direct = engine.settle(with_loss(link, 2.0))
    assert shortcut.error_ratios()[1] == pytest.approx(direct.error_ratios()[1], rel=1e-3)


def test_the_pattern_is_random_enough_and_always_the_same():
    constellation = lane().tx.constellation
    a = symbols(constellation, 8192)
    assert np.array_equal(a, symbols(constellation, 8192))
    assert np.bincount(a) == pytest.approx(np.full(4, 2048), rel=0.1)
    d = constellation.array[a] - constellation.array[a].mean()
    assert abs(d[1:] @ d[:-1]) / (d @ d) < 0.03


def test_eye_and_fec_and_record():
    link = replace(lane(oma_dbm=-7.0), fec=KP4)
    result = simulate(link, SemiAnalytic(n_symbols=2048, eye=True))
    assert result.eye.density.sum(axis=2) == pytest.approx(1.0)
    assert all(opening.is_open for opening in result.eye.openings(1e-2))
    assert result.post_fec == pytest.approx(float(KP4.codeword_failure(result.ber)), rel=1e-6, abs=0)
    assert result.record()["engine"] == "SemiAnalytic"
    assert simulate(link, SemiAnalytic(n_symbols=2048, taps_per_symbol=2)).outcome == "ok"


def test_failures_are_results_with_reasons():
    bright = lane(source=Mzm(laser=Laser(power=60e-3)), oma_dbm=-8.0)
    result = simulate(bright.vary({"channel.loss_db": 0.0}), SemiAnalytic())
    assert (result.outcome, result.ber) == ("overload", 0.5)
    assert "limit" in result.reason
    closed = simulate(lane(oma_dbm=-16.0), SemiAnalytic())
    assert closed.outcome == "closed eye"
    assert "thermal" in closed.reason
    far = SingleModeFiber(length=4 * km, dispersion=17e-6)
    stuck = sensitivity(loud(length=4.0, oma_dbm=-3.0), 2.4e-4)
    assert stuck.outcome == "fails"
    assert "interference" in stuck.reason
    assert far.length == 4000


def test_fixed_taps_feedback_limits_and_converter():
    flat = simulate(lane(106.25, 70, 70, SLICER), SemiAnalytic())
    assert flat.operating_point.taps.feed_forward[0] != 0
    limited = SemiAnalytic().settle(
        lane(106.25, 38, 45, Mmse(n_taps=5, n_precursors=2, n_feedback=1, feedback_limits=(0.0, 0.05)))
    )
    assert limited.feedback == pytest.approx([0.05])
    given = SemiAnalytic().settle(lane(equalizer=FixedTaps(feed_forward=(-0.1, 1.0, -0.1), n_precursors=1)))
    assert given.feed_forward / given.feed_forward[1] == pytest.approx([-0.1, 1.0, -0.1])
    coarse = lane().vary({"rx.converter": Converter(n_bits=4)})
    assert simulate(coarse, SemiAnalytic()).operating_point.variances["converter"] > 0


def test_the_first_optics_is_found_in_a_cascade():
    link = lane()
    assert optics_in(link.channel) == ("", link.channel)
    assert optics_in(setup("112G").link(1.0).channel) is None
    assert with_loss(link, 2.0).channel.loss_db == pytest.approx(link.channel.loss_db + 2)


class Odd(Channel):
    """Neither linear nor a stage."""

    def transfer(self, f):
        return np.ones(f.shape, complex)

    def noise_psd(self, f, drive=None):
        return np.zeros(f.shape)

    def start(self, grid, rng):
        return None

    def transmit(self, x, state):
        return x, state


def test_wrong_questions_are_refused():
    copper = setup("112G").link(1.0)
    with pytest.raises(ValueError, match="without"):
        sensitivity(copper, 1e-4)
    with pytest.raises(ValueError, match="without"):
        with_loss(copper, 1.0)
    with pytest.raises(ValueError, match="saturation"):
        sensitivity(lane().vary({"channel.tia.saturation": 0.5}), 1e-4)
    with pytest.raises(ValueError, match="bit_error_ratio"):
        sensitivity(lane(), 0.4)
    with pytest.raises(ValueError, match="taps_per_symbol"):
        SemiAnalytic(taps_per_symbol=2).run(copper)
    with pytest.raises(ValueError, match="SemiAnalytic draws no random numbers"):
        simulate(lane(), SemiAnalytic(), np.random.default_rng(1))
    odd = Link(symbol_rate=50e9, tx=Transmitter(amplitude=1.0), channel=Odd(), rx=Receiver(noise_density=1e-15))
    with pytest.raises(ValueError, match="Odd is neither"):
        noise_free(odd, operating_point(odd), 1024, 4)
    assert at_oma(lane().channel, 1.0, -9.0).loss_db > 0
    noisy = Redriver(gain_db=3, peaking_db=0, peak_frequency=1e10, bandwidth=1e11, noise_density=1e-17)
    assert simulate(replace(odd, channel=noisy), SemiAnalytic()).operating_point.variances["thermal"] > 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_symbols", 10), ("samples_per_symbol", 2), ("taps_per_symbol", 0), ("taps_per_symbol", 3), ("eye", 1), ("n_phases", 1),
        ("n_bins", 2),
    ],
)  # fmt: skip
def test_wrong_values_are_named(field, value):
    with pytest.raises(ValueError, match=field):
        SemiAnalytic(**{field: value})
