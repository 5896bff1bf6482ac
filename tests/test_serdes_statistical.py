import itertools
import json
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
from dsp.distribution import pam_error_ratios, q, q_inv
from dsp.equalizer import FixedTaps, Mmse
from dsp.fec import KP4
from dsp.noise import Jitter
from serdes.link import Aggressor
from serdes.metrics import required_snr_db
from serdes.operating_point import operating_point
from serdes.result import LinkResult
from serdes.setups import setup
from serdes.simulate import simulate
from serdes.statistical import Statistical, at_slicer, bounded_jitter, statistical_eye

FAST = Statistical(eye=False)
CENTRE = IdealClock(phase_ui=-1 / 32)
"""The echo pulls the peak 1/32 of a symbol after the centre of the pulse."""
QUIET = {"aggressors": (), "tx.jitter": Jitter()}


def white(snr_db, levels=4, channel=None, **changes):
    link = simple_link(channel or Nyquist(), levels=levels, **changes)
    return link.vary({"rx.noise_density": density_for(snr_db, link)})


# White noise: the textbook.


def test_pam4_in_white_noise():
    result = FAST.run(white(17.655))
    assert result.snr_db == pytest.approx(17.655, abs=1e-6)
    # A bit error ratio of 2.4e-4, to within what 0.02 dB of noise changes.
    low, high = (FAST.run(white(17.655 + d)).ber for d in (0.02, -0.02))
    assert low < 2.4e-4 < high
    assert result.ber == pytest.approx(2.4e-4, rel=1e-3)
    assert result.ser == pytest.approx(2 * result.ber, rel=1e-4)


def test_published_error_ratios(cases_dir):
    case = json.loads((cases_dir / "pam4_awgn_snr_inputs.json").read_text(encoding="utf-8"))
    gray = [0.00937561353496922, 0.00179121808569961, 0.000143180830556995, 2.90408116164153e-06, 6.75450776297155e-09]
    ser = [0.0187512270611063, 0.00358243617139921, 0.00028636166111399, 5.80816232328306e-06, 1.35090155259431e-08]
    for snr_db, bits, symbols in zip(case["snr_db"], gray, ser, strict=True):
        result = FAST.run(white(snr_db))
        assert result.ber == pytest.approx(bits, rel=1e-6)
        assert result.ser == pytest.approx(symbols, rel=1e-6)


@pytest.mark.parametrize("levels", [2, 4, 8])
@pytest.mark.parametrize("error_ratio", [1e-3, 1e-9, 1e-30])
def test_required_snr_is_what_the_engine_needs(levels, error_ratio):
    snr_db = required_snr_db(error_ratio, pam(levels))
    assert FAST.run(white(snr_db, levels)).ser == pytest.approx(error_ratio, rel=1e-5, abs=0)


def test_a_flat_channel_with_ideal_edges_and_a_linear_equaliser():
    # Band-limited rectangles leave a little interference that the taps remove; noise is the rest.
    result = FAST.run(white(25.0, channel=Flat(delay=3e-9), equalizer=Mmse(n_feedback=0)))
    assert result.operating_point.shares()["ISI"] < 0.05
    sigma = math.sqrt(result.operating_point.mean_square_error)
    assert result.ser == pytest.approx(1.5 * q(1 / 3 / sigma), rel=0.1, abs=0)


# Interference: enumeration.


@pytest.mark.parametrize("levels", [2, 4])
def test_interference_of_a_known_echo_by_enumeration(levels):
    echo = 0.15
    result = FAST.run(white(24.0, levels, channel=Nyquist(echo=echo), clock=CENTRE))
    point = result.operating_point
    assert point.sampling_time == pytest.approx(8 / RATE, abs=1e-3 / RATE)
    sigma = math.sqrt(point.variances["thermal"])
    array = pam(levels).array
    gap = (array[1] - array[0]) / 2
    wrong = [q((gap - sign * echo * a) / sigma) for a in array for sign in (1, -1)]
    expected = 2 * (levels - 1) / levels * np.mean(wrong)
    assert result.ser == pytest.approx(expected, rel=1e-3, abs=0)
    assert point.variances["ISI"] == pytest.approx(pam(levels).mean_square * echo**2, rel=1e-3)


@pytest.mark.parametrize(("file", "ser", "ber"), [
    ("statistical_eye_four_isi_cursors.json", 0.0797383112867823, 0.0398691556433911),
    ("statistical_eye_deep_tail.json", 1.02208949919148e-14, 5.1104474959574e-15),
])  # fmt: skip
def test_published_interference(cases_dir, file, ser, ber):
    case = json.loads((cases_dir / file).read_text(encoding="utf-8"))
    from serdes.operating_point import interference

    noise = interference(simple_link(), np.array(case["isi"]) / case["h0"], (case["sigma"] / case["h0"]) ** 2)
    found = pam_error_ratios(pam(4), pam(4).thresholds, 1.0, noise)
    assert found == pytest.approx((ser, ber), rel=1e-6)


def test_cursors_too_small_to_matter_join_the_noise():
    from serdes.operating_point import interference

    rng = np.random.default_rng(1)
    cursors = 0.02 * rng.standard_normal(400) * np.exp(-np.arange(400) / 15)
    whole = interference(simple_link(), cursors, 1e-4)
    assert whole.cursors.size < 150
    assert whole.variance == pytest.approx(5 / 9 * np.sum(cursors**2) + 1e-4, rel=1e-9)


def test_crosstalk_of_another_modulation_has_its_own_power():
    link = white(25.0)
    for levels in (2, 4):
        neighbour = Aggressor(tx=replace(link.tx, constellation=pam(levels)), coupling=Nyquist(gain=0.05), phase_ui=0.0)
        point = operating_point(link.vary({"aggressors": (neighbour,)}))
        law = at_slicer(point)
        assert point.variances["crosstalk"] == pytest.approx(pam(levels).mean_square * 0.05**2, rel=1e-6)
        assert law.variance == pytest.approx(point.mean_square_error, rel=1e-9)


# Jitter.


def test_bounded_jitter_has_shorter_tails_than_random_jitter_of_its_power():
    cable = CopperChannel(parts=(Twinax(length=1.0, gauge=28),))
    link = simple_link(cable, levels=2, equalizer=Mmse(), tx={"rise_time": 8e-12}, bandwidth=30e9, noise_density=1e-17)
    random = FAST.run(link.vary({"tx.jitter": Jitter(random_ui=0.08, correlation=0.99)}))
    bounded = FAST.run(link.vary({"tx.jitter": Jitter(dual_dirac_ui=0.08, correlation=0.99)}))
    assert bounded.snr_db == pytest.approx(random.snr_db, abs=1e-6)
    assert bounded.ser < random.ser / 10


@pytest.mark.parametrize(("random", "bounded"), [(0.01, 0.02), (0.02, 0.01), (0.03, 0.0), (0.0, 0.03)])
def test_only_the_bounded_part_of_jitter_is_bounded(random, bounded):
    link = setup("25G").link(2.0).vary({"tx.jitter": Jitter(random_ui=random, dual_dirac_ui=bounded, correlation=0.9)})
    point = operating_point(link)
    power = sum(float(np.sum(row**2)) for row in bounded_jitter(point))  # NRZ: unit mean square
    assert power == pytest.approx(point.variances["Tx jitter"] * bounded**2 / (random**2 + bounded**2), rel=1e-9)


def test_the_law_at_the_slicer_has_the_variance_of_the_budget():
    for name in ("25G", "100G"):
        point = operating_point(setup(name).link(2.0))
        assert at_slicer(point).variance == pytest.approx(point.mean_square_error, rel=1e-6)


# Symmetries.


def test_polarity_and_level_do_not_change_the_error_ratio():
    link = setup("100G").link(3.0)
    base = FAST.run(link)
    turned = link.vary({"channel": Cascade(parts=(link.channel, Flat(gain=-1.0)))})
    assert FAST.run(turned).ser == pytest.approx(base.ser, rel=1e-6)
    # Everything sent and heard three times as strong.
    loud = link.vary({"tx.amplitude": 3 * link.tx.amplitude, "rx.noise_density": 9 * link.rx.noise_density,
                      "aggressors.0.tx.amplitude": 3 * link.aggressors[0].tx.amplitude,
                      "aggressors.1.tx.amplitude": 3 * link.aggressors[1].tx.amplitude})  # fmt: skip
    assert FAST.run(loud).ser == pytest.approx(base.ser, rel=1e-6)


def test_errors_grow_with_noise():
    ser = [FAST.run(white(snr)).ser for snr in (30.0, 25.0, 20.0, 15.0, 10.0)]
    assert np.all(np.diff(ser) > 0)


# What comes back.


def test_record_is_flat_and_names_the_causes():
    result = FAST.run(setup("200G").link(1.0, hosts=("HN", "HN")))
    row = result.record()
    assert row["outcome"] == "ok"
    assert row["engine"] == "Statistical"
    assert all(value is None or isinstance(value, str | bool | int | float | np.floating) for value in row.values())
    shares = [value for key, value in row.items() if key.startswith("share_")]
    assert sum(shares) == pytest.approx(1)
    assert row["snr_db"] == result.snr_db
    assert len(row["link"]) == 16
    assert result.post_fec < 1e-20


def test_no_fec_no_codewords():
    assert FAST.run(white(17.0)).post_fec is None
    coded = FAST.run(white(14.0).vary({"fec": KP4}))
    assert coded.post_fec == pytest.approx(KP4.codeword_failure(coded.ber))


def test_a_link_without_any_noise():
    result = Statistical(n_phases=8).run(simple_link())
    assert (result.ser, result.ber, result.outcome) == (0.0, 0.0, "ok")
    assert result.snr_db > 200
    # No narrower than two and a half bins, the levels still leave the eye wide open, down to any error ratio.
    step = result.eye.voltage[1] - result.eye.voltage[0]
    for p in (1e-4, 1e-12):
        assert result.eye.openings(p)[1].height == pytest.approx(2 / 3 - 2 * 2.5 * step * q_inv(p), abs=2 * step)


@pytest.mark.parametrize("density", [0.0, 1e-17])
@pytest.mark.parametrize("equalizer", [FixedTaps(), Mmse()])
def test_a_dead_channel_is_a_result(density, equalizer):
    link = simple_link(Flat(gain=0.0), noise_density=density, equalizer=equalizer, fec=KP4)
    result = Statistical().run(link)
    assert isinstance(result, LinkResult)
    assert result.outcome == "no signal"
    assert "passes nothing" in result.reason
    assert (result.ser, result.ber, result.post_fec, result.snr_db) == (0.75, 0.5, 1.0, -math.inf)
    assert not result.lock.locked
    assert result.eyes == {}


def test_a_closed_eye_is_a_result_with_its_cause():
    result = Statistical().run(setup("200G").link(12.0, hosts=("HN", "HH")))
    assert result.outcome == "closed eye"
    assert "rms decision error" in result.reason
    assert f"most of it is {result.operating_point.binding}" in result.reason
    assert result.ser > 0.1
    for opening in result.eye.openings(1e-4):
        assert not opening.is_open
        assert "closed at an error ratio" in opening.reason


def test_a_clock_without_a_place_to_settle():
    # Two equal cursors side by side at once: pre- and post-cursor never meet in a falling zero near the peak.
    result = FAST.run(white(30.0, clock=MuellerMuller()))
    assert result.lock.locked
    assert result.outcome == "ok"


def test_engine_values():
    for field, value in (("n_phases", 3), ("n_phases", 8.0), ("n_bins", 8), ("max_cursors", 0)):
        with pytest.raises(ValueError, match=f"Statistical.{field} must be a whole number"):
            Statistical(**{field: value})
    assert Statistical() == Statistical()
    assert hash(Statistical()) == hash(Statistical())


def test_simulate_takes_random_numbers_only_where_they_are_drawn():
    link = white(20.0)
    assert simulate(link, FAST).ser == FAST.run(link).ser
    with pytest.raises(ValueError, match="draws no random numbers"):
        simulate(link, FAST, np.random.default_rng(1))


# The eye.


@pytest.fixture(scope="module")
def quiet_point():
    """Without crosstalk and jitter: what the eye takes as Gaussian is Gaussian."""
    return operating_point(setup("100G").link(3.5).vary(QUIET))


def test_eye_of_pam4(quiet_point):
    eye = statistical_eye(quiet_point)
    assert eye.density.shape == (4, 64, 2000)
    assert eye.density.sum(axis=2) == pytest.approx(1, abs=1e-12)
    assert np.all(eye.density >= 0)
    assert eye.virtual
    assert eye.source == "statistical"
    assert len(eye.openings(1e-4)) == 3
    assert eye.symbol_time == pytest.approx(1 / 53.125e9, rel=1e-6, abs=0)
    # Symmetric levels and noise: the image is its own mirror.
    assert eye.image == pytest.approx(eye.image[:, ::-1], abs=1e-9)


def test_eye_of_nrz():
    eye = Statistical(n_bins=500, n_phases=16).run(setup("25G").link(2.0)).eye
    assert len(eye.openings(1e-6)) == 1
    assert eye.openings(1e-6)[0].is_open
    assert eye.density.sum(axis=2) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("p", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("n_phases", [16, 33])
def test_openings_are_the_quantiles_of_the_exact_law(quiet_point, p, n_phases):
    eye = statistical_eye(quiet_point, n_phases)
    step = eye.voltage[1] - eye.voltage[0]
    reach = at_slicer(quiet_point).quantile(p)
    low, high = eye.contours(p)
    levels = quiet_point.link.tx.constellation.array
    assert low[:, eye.centre_phase] == pytest.approx(levels[:-1] + reach, abs=0.2 * step)
    assert high[:, eye.centre_phase] == pytest.approx(levels[1:] - reach, abs=0.2 * step)
    heights = [o.height for o in eye.openings(p)]
    assert heights == pytest.approx((np.diff(levels) - 2 * reach).clip(0), abs=0.4 * step)


def eye_error_ratio(eye):
    """Symbol error ratio at the sampling instant: each bathtub is the mean of two levels' errors over one threshold."""
    n = eye.levels.size
    return 2 / n * sum(float(eye.bathtub(k)[eye.centre_phase]) for k in range(n - 1))


@pytest.mark.parametrize(("name", "hosts", "length"), [("100G", None, 3.0), ("100G", None, 4.0), ("200G", ("HN", "HH"), 1.5)])
def test_bathtub_ends_at_the_error_ratio(name, hosts, length):
    result = Statistical().run(setup(name).link(length, hosts=hosts))
    assert result.ser > 1e-9
    assert eye_error_ratio(result.eye) == pytest.approx(result.ser, rel=0.2)


def test_finer_bins_do_not_open_the_eye(quiet_point):
    heights = [statistical_eye(quiet_point, 8, n).openings(1e-6)[1].height for n in (1000, 2000, 8000)]
    assert heights == pytest.approx([heights[-1]] * 3, abs=2e-3)
    ratios = [eye_error_ratio(statistical_eye(quiet_point, 8, n)) for n in (1000, 2000, 8000)]
    assert ratios == pytest.approx([ratios[-1]] * 3, rel=0.2)


def test_fewer_cursors_keep_the_variance(quiet_point):
    few, many = (statistical_eye(quiet_point, 8, 2000, n) for n in (5, 400))
    for eye in (few, many):
        row = eye.density[1, eye.centre_phase]
        mean = np.sum(row * eye.voltage)
        assert mean == pytest.approx(eye.levels[1], abs=1e-6)
        assert np.sum(row * (eye.voltage - mean) ** 2) == pytest.approx(quiet_point.mean_square_error, rel=1e-3)


def test_the_worst_case_eye_holds_every_sum():
    # Peak distortion of a known echo: no noise, so nothing lies inside the worst case.
    echo = 0.1
    point = operating_point(white(60.0, channel=Nyquist(echo=echo), clock=CENTRE))
    eye = statistical_eye(point, 8, 4000)
    worst = 2 * (1 / 3 - echo)
    blur = 2 * 2.5 * (eye.voltage[1] - eye.voltage[0]) * q_inv(1e-12)
    assert eye.openings(1e-12)[1].height == pytest.approx(worst - blur, abs=0.005)
    assert point.pulse.peak_distortion(point.main * 32, 4) == pytest.approx(0.4 * worst, rel=1e-3)


def test_the_eye_moves_with_the_phases(quiet_point):
    odd, even = statistical_eye(quiet_point, 15), statistical_eye(quiet_point, 16)
    for eye in (odd, even):
        mean = np.sum(eye.density[3] * eye.voltage, axis=1)
        assert mean[eye.centre_phase] == pytest.approx(1, abs=1e-6)
        assert eye.time[eye.centre_phase] == 0
        assert np.all(np.diff(eye.time) > 0)
        assert eye.time[-1] - eye.time[0] == pytest.approx(
            (len(eye.time) - 1) / len(eye.time) * eye.symbol_time, rel=1e-6, abs=0
        )


def test_levels_of_the_eye_follow_the_constellation():
    eye = Statistical(n_phases=8, n_bins=400).run(setup("100G").link(1.0)).eye
    assert eye.levels == pytest.approx((-1, -0.95 / 3, 0.95 / 3, 1))
    outer, inner = (np.sum(eye.density[k, eye.centre_phase] * eye.voltage) for k in (3, 2))
    assert (outer, inner) == pytest.approx((1, 0.95 / 3), abs=1e-3)


def test_every_pair_of_engine_options_runs():
    for n_phases, n_bins, cursors in itertools.product((4, 7), (16, 33), (1, 300)):
        result = Statistical(n_phases=n_phases, n_bins=n_bins, max_cursors=cursors).run(white(20.0))
        assert result.eye.density.shape == (4, n_phases, n_bins)
        assert result.eye.density.sum(axis=2) == pytest.approx(1)
