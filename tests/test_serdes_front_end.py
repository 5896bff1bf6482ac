"""The signal face of transmitter and front end: the fused way against the parts, jitter, offsets, converter, coupling."""

import numpy as np
import pytest
from simple_links import RATE, Nyquist, simple_link

from channels.channel import Cascade
from dsp.clock import IdealClock, MuellerMuller
from dsp.converter import Converter, LaneMismatch, Vga
from dsp.edge_jitter import EdgeJitter, Sinusoid, SpreadSpectrum
from dsp.equalizer import FixedTaps, Mmse
from dsp.noise import Jitter
from serdes import fused
from serdes.link import Aggressor, Transmitter
from serdes.setups import setup
from serdes.spectra import spectra
from serdes.statistical import Statistical
from serdes.time_domain import TimeDomain


def run(link, n=40_000, seed=1, **engine):
    given = {"n_symbols": n, "settle": 4096, "eye_symbols": 0}
    return TimeDomain(**(given | engine)).run(link, np.random.default_rng(seed))


def quiet(**changes):
    """Nothing but receiver noise, 40 dB below the signal."""
    link = simple_link(Nyquist(echo=0.2), noise_density=1e-16, equalizer=Mmse(n_taps=12, n_precursors=4))
    return link.vary({k.replace("__", "."): v for k, v in changes.items()})


FULL = quiet(
    tx__snr_db=28.0, tx__jitter=Jitter(random_ui=0.01, dual_dirac_ui=0.01, correlation=0.9),
    tx__ffe=FixedTaps(feed_forward=(-0.05, 0.9, -0.05), n_precursors=1), rx__converter=Converter(n_bits=6),
    aggressors=(
        Aggressor(tx=Transmitter(amplitude=0.02), coupling=Nyquist(), phase_ui=0.4),
        Aggressor(tx=Transmitter(amplitude=0.01), coupling=Nyquist(), phase_ui=0.1, offset_ppm=100.0),
    ),
)  # fmt: skip


@pytest.mark.parametrize("samples_per_symbol", [2, 3, 4, 2.5])
def test_fused_way_is_the_way_part_by_part(samples_per_symbol):
    link = FULL.vary({"rx.clock": MuellerMuller()})
    parts = run(link, fused=False, n=60_000)
    one = run(link, samples_per_symbol=samples_per_symbol, n=60_000)
    assert one.snr_db == pytest.approx(parts.snr_db, abs=0.1)
    assert one.lock.phase_ui == pytest.approx(parts.lock.phase_ui, abs=0.01)
    assert one.symbols.errors == parts.symbols.errors == 0
    assert one.detail.lost < 1e-6


def test_only_linear_channels_are_fused():
    assert fused.is_linear(Cascade(parts=(Nyquist(), Nyquist())))
    assert not fused.is_linear(object())


def test_noise_has_the_covariance_of_its_spectrum():
    link = setup("112G").link(1.0)
    point = Statistical(eye=False).run(link).operating_point
    for per_symbol, lag in ((1, 1), (2, 2)):
        taps = fused.noise_shape(point, per_symbol, 1e-9)
        r = point.spectra.noise_autocovariance()
        assert np.sum(taps**2) == pytest.approx(r[0] + 1e-9)
        for k in (1, 2):
            assert np.sum(taps[k * lag :] * taps[: -k * lag]) == pytest.approx(r[k], abs=2e-3 * r[0])
    silent = Statistical(eye=False).run(link.vary({"rx.noise_density": 0.0})).operating_point
    assert fused.noise_shape(silent, 1, 0.0).tolist() == [0.0]


@pytest.mark.parametrize(
    ("edges", "rms"),
    [
        (EdgeJitter(bounded_ui=0.06), 0.06 / np.sqrt(3)),
        (EdgeJitter(sinusoids=(Sinusoid(amplitude_ui=0.05, frequency=0.37 * RATE),)), 0.05 / np.sqrt(2)),
        (EdgeJitter(even_odd_ui=0.07), 0.035),
    ],
    ids=["bounded", "fast sinusoid", "even-odd"],
)
def test_jitter_of_edges_costs_what_random_jitter_of_its_rms_does(edges, rms):
    clean = simple_link(Nyquist(), noise_density=1e-16)
    one, other = run(clean.vary({"tx.edges": edges})), run(clean.vary({"tx.jitter": Jitter(random_ui=rms)}))
    assert one.snr_db < run(clean).snr_db - 3
    assert one.snr_db == pytest.approx(other.snr_db, abs=1.0)  # not white: even-odd jitter is all at half the symbol rate
    assert one.snr_db == pytest.approx(run(clean.vary({"tx.edges": edges}), fused=False).snr_db, abs=0.1)


def test_duty_cycle_distortion_widens_the_pulses_of_one_level():
    clean = simple_link(Nyquist(), levels=2, noise_density=1e-16)
    distorted = run(clean.vary({"tx.edges": EdgeJitter(duty_cycle_ui=0.08)}))
    assert distorted.outcome == "ok"
    assert distorted.snr_db < run(clean).snr_db - 3


@pytest.mark.parametrize("ppm", [-100.0, 100.0])
def test_frequency_offset_is_followed(ppm):
    link = quiet(rx__clock=MuellerMuller(bandwidth=1e-3))
    still, moving = run(link), run(link.vary({"tx.offset_ppm": ppm}), settle=16384)
    assert moving.outcome == "ok"
    assert moving.symbols.errors == 0
    assert moving.snr_db == pytest.approx(still.snr_db, abs=0.2)
    lost = run(link.vary({"tx.offset_ppm": ppm, "rx.clock": IdealClock()}))
    assert lost.outcome != "ok"


def test_spread_spectrum_is_followed_within_the_band_of_the_loop():
    link = quiet(tx__edges=EdgeJitter(spread=SpreadSpectrum(frequency=1e6)), rx__clock=MuellerMuller(bandwidth=3e-3))
    result = run(link, settle=16384, n=100_000)
    assert result.outcome == "ok"
    assert result.symbols.errors == 0
    assert run(link.vary({"rx.clock.bandwidth": 2e-5}), settle=16384).outcome != "ok"


def test_slow_jitter_of_many_unit_intervals_is_followed():
    link = quiet(
        tx__edges=EdgeJitter(sinusoids=(Sinusoid(amplitude_ui=10.0, frequency=1e6, phase=0.25),)),
        rx__clock=MuellerMuller(bandwidth=2e-3),
    )  # fmt: skip
    result = run(link, n=100_000, settle=16384)
    assert result.outcome == "ok"
    assert result.lock.jitter_ui < 0.05


def test_lane_mismatch_costs_its_variance():
    clean = simple_link(Nyquist(), noise_density=1e-18, converter=Converter(n_bits=12, clip_rule="gaussian"))
    rng = np.random.default_rng(3)
    gain = LaneMismatch.drawn(16, rng, gain=0.03)
    signal, full_scale = 5 / 9, Statistical(eye=False).run(clean).operating_point.full_scale
    for mismatch, error in (
        (gain, signal * np.mean(np.square(gain.gain))),
        (LaneMismatch(gain=(0.0,) * 4, offset=(0.03, -0.03, 0.03, -0.03), skew_ui=(0.0,) * 4), (0.03 * full_scale / 0.4) ** 2),
    ):
        counted = run(clean.vary({"rx.converter.mismatch": mismatch}))
        assert counted.snr_db == pytest.approx(10 * np.log10(signal / error), abs=0.5)
    skewed = LaneMismatch(gain=(0.0, 0.0), offset=(0.0, 0.0), skew_ui=(0.03, -0.03))
    jittered = clean.vary({"rx.jitter": Jitter(dual_dirac_ui=0.03)})
    assert run(clean.vary({"rx.converter.mismatch": skewed})).snr_db == pytest.approx(run(jittered).snr_db, abs=0.4)


def test_effective_bits_and_amplifier_cost_the_same_in_both_faces():
    for converter in (
        Converter(n_bits=7, enob=4.5),
        Converter(n_bits=7, vga=Vga(full_scale=0.2, low_db=-20.0, high_db=-12.0, step_db=2.0)),
    ):
        link = quiet(rx__converter=converter)
        assert run(link).snr_db == pytest.approx(Statistical(eye=False).run(link).snr_db, abs=0.15)


def test_baseline_wander_has_its_variance():
    corner = 30e6
    link = simple_link(Nyquist(), noise_density=1e-18, high_pass=corner)
    share = 1 - np.exp(-2 * np.pi * corner / RATE)
    wander = 5 / 9 * share / (2 - share)
    assert run(link, n=400_000).snr_db == pytest.approx(10 * np.log10(5 / 9 / wander), abs=0.6)


def test_two_samples_a_symbol_hold_a_real_link():
    link = setup("112G").link(1.0).vary({"rx.clock": MuellerMuller()})
    assert run(link, samples_per_symbol=2, n=60_000).snr_db == pytest.approx(run(link, n=60_000).snr_db, abs=0.03)
    assert spectra(link).noise.size > 0
