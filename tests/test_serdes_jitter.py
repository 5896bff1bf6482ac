"""Jitter tolerance against the loop's closed form, the mask, decomposition of known jitter, figures of a transmitter."""

import numpy as np
import pytest
from simple_links import RATE, Nyquist, simple_link

from dsp.clock import IdealClock, MuellerMuller
from dsp.constellation import pam
from dsp.edge_jitter import EdgeJitter, Sinusoid
from dsp.equalizer import FixedTaps, Mmse
from dsp.noise import Jitter
from experiments.studies import jtol
from serdes.jitter import (
    corner_frequency,
    decompose,
    error_transfer,
    mask,
    passes,
    predicted,
    tolerance,
    transmitter_edges,
)
from serdes.setups import setup
from serdes.time_domain import TimeDomain
from serdes.transmitter_figures import level_mismatch, linear_fit, transmitter_figures

ENGINE = TimeDomain(n_symbols=20_000, settle=8192, samples_per_symbol=2)
RNG = np.random.default_rng(1)


def link(clock, noise_density=3e-15):
    return simple_link(
        Nyquist(echo=0.2), clock=clock, noise_density=noise_density, equalizer=Mmse(n_taps=8, n_precursors=3, n_feedback=0)
    )


LOOP = link(MuellerMuller(bandwidth=1e-3))


def test_mask_of_the_standard():
    f = np.array([3e4, 4e4, 4e6 / 3, 4e6, 12e6, 4e7, 5e7])
    m = mask(f)
    assert np.isnan(m[[0, -1]]).all()
    assert m[1:-1] == pytest.approx([5.0, 0.15, 0.05, 0.05, 0.05])
    assert mask(np.array([8e4]), corner=8e6)[0] == pytest.approx(5.0)


def test_tolerance_follows_the_loop():
    frequencies = (4e-5 * RATE, 2e-4 * RATE, 0.02 * RATE)
    points = predicted(LOOP, tuple(tolerance(LOOP, f, 1e-3, ENGINE, RNG, 1.15) for f in frequencies), ENGINE)
    for point in points:
        assert point.bounded
        assert point.amplitude_ui == pytest.approx(point.predicted_ui, rel=0.2)
    assert points[0].amplitude_ui > 10 * points[-1].amplitude_ui
    assert points[-1].amplitude_ui > 0.03


def test_a_wide_loop_tolerates_more_slow_jitter():
    f = 1e-4 * RATE
    amplitudes = [tolerance(link(MuellerMuller(bandwidth=b)), f, 1e-3, ENGINE, RNG).amplitude_ui for b in (3e-4, 2e-3)]
    assert amplitudes[1] > 3 * amplitudes[0]


def test_a_link_that_misses_its_target_tolerates_nothing():
    point = tolerance(link(MuellerMuller(), 1e-13), 4e6, 1e-4, ENGINE, RNG)
    assert point.amplitude_ui == 0
    assert point.first_failure


def test_what_the_loop_leaves():
    assert np.array_equal(error_transfer(link(IdealClock()), np.array([1e5, 1e9])), [1.0, 1.0])
    assert error_transfer(LOOP, np.array([1e4]))[0] < 1e-5
    corner = corner_frequency(LOOP)
    assert error_transfer(LOOP, np.array([corner]))[0] == pytest.approx(np.sqrt(0.5), rel=0.01)
    assert np.isnan(corner_frequency(link(IdealClock())))
    assert passes(LOOP, Sinusoid(amplitude_ui=0.01, frequency=0.01 * RATE), 1e-3, ENGINE, RNG) == (True, "errors")


def test_decomposition_finds_what_was_put_in():
    clean = simple_link(Nyquist())
    tx = {"tx.jitter": Jitter(random_ui=0.012, dual_dirac_ui=0.03), "tx.edges": EdgeJitter(even_odd_ui=0.02)}
    report = decompose(*transmitter_edges(clean.vary(tx), 400_000, np.random.default_rng(1)))
    assert report.even_odd == pytest.approx(0.02, abs=5e-4)
    assert report.rms == pytest.approx(np.hypot(0.012, 0.03), rel=0.01)
    assert report.random == pytest.approx(0.012, rel=0.08)
    assert report.dual_dirac == pytest.approx(0.06, rel=0.06)
    # all but 1e-3: each Dirac has half of the edges, so its own tail there is 1e-3
    assert report.j3u == pytest.approx(2 * (0.03 + 3.09 * 0.012), rel=0.02)
    assert report.j4u == pytest.approx(2 * (0.03 + 3.72 * 0.012), rel=0.03)
    assert 0.7 * 400_000 < report.edges < 0.8 * 400_000


def test_random_jitter_alone_has_next_to_no_diracs():
    report = decompose(np.random.default_rng(2).standard_normal(200_000) * 0.01, np.arange(200_000))
    # half of the edges belong to each Dirac by assumption: one Gaussian fits with a little distance and a little less sigma
    assert report.random == pytest.approx(0.01, rel=0.1)
    assert report.dual_dirac < 0.009
    assert report.j4u == pytest.approx(2 * 3.89 * 0.01, rel=0.05)
    few = decompose(np.random.default_rng(2).standard_normal(200) * 0.01, np.arange(200))
    assert few.j3u is None
    with pytest.raises(ValueError, match="displacement must be"):
        decompose(np.zeros(10), np.zeros(10))


def test_linear_fit_returns_the_pulse_it_was_given():
    rng = np.random.default_rng(3)
    symbols = pam(4).array[rng.integers(0, 4, 2000)]
    pulse = rng.standard_normal((6, 5))
    wave = np.zeros((2000, 5))
    for k in range(6):  # the pulse begins 2 symbols before its own
        wave += np.roll(symbols, k - 2)[:, None] * pulse[k]
    fit = linear_fit(wave.reshape(-1), symbols, 5, 6, 2)
    assert fit.pulse == pytest.approx(pulse.reshape(-1), abs=1e-9)
    assert fit.error < 1e-9
    noisy = linear_fit((wave + 0.1 * rng.standard_normal(wave.shape)).reshape(-1), symbols, 5, 6, 2)
    assert noisy.error == pytest.approx(0.1, rel=0.05)


def test_figures_of_a_transmitter():
    base = simple_link(Nyquist(), tx={"rise_time": 5e-12, "constellation": pam(4, 0.95)})
    clean = transmitter_figures(base, np.random.default_rng(1), n=2000)
    assert clean.sndr_db > 120
    assert clean.level_mismatch == pytest.approx(0.95)
    assert clean.steady == pytest.approx(0.4, rel=1e-3)
    assert clean.tap_cost_db == pytest.approx(0)
    noisy = transmitter_figures(base.vary({"tx.snr_db": 30.0}), np.random.default_rng(1))
    assert noisy.sndr_db == pytest.approx(30.0, abs=2.0)
    taps = FixedTaps(feed_forward=(-0.1, 0.7, -0.2), n_precursors=1)
    shaped = transmitter_figures(base.vary({"tx.ffe": taps}), np.random.default_rng(1), n=2000)
    assert shaped.sndr_db > 120
    assert shaped.tap_cost_db == pytest.approx(20 * np.log10(1.0 / 0.4))
    assert shaped.peak_ratio > clean.peak_ratio
    assert shaped.steady == pytest.approx(0.4 * 0.4, rel=1e-3)


def test_level_mismatch_of_the_standard():
    assert level_mismatch(pam(4).array) == pytest.approx(1)
    assert level_mismatch(np.array([-1, -0.3, 0.35, 1])) == pytest.approx(0.9)
    assert level_mismatch(np.array([-1, -0.4, 0.4, 1])) == pytest.approx(0.8)
    with pytest.raises(ValueError, match="levels must be four"):
        level_mismatch(np.zeros(3))


def test_study_answers(tmp_path):
    case = jtol.Case(name="short", link=LOOP, target=1e-3, engine=ENGINE)
    answer = jtol.run(case, (4e-5 * RATE, 0.02 * RATE), workers=1)
    rows = answer.tables["jtol"]
    assert [round(r["frequency_mhz"], 6) for r in rows] == [2.0, 1000.0]
    assert rows[0]["margin"] > 1
    assert rows[1]["mask_ui"] is None
    (figures,) = answer.tables["transmitter"]
    assert figures["level_mismatch"] == pytest.approx(1.0)
    assert figures["tap_cost_db"] == 0.0
    assert figures["sndr_db"] > 25
    assert {p.name for p in answer.write(tmp_path)} >= {"jtol.csv", "jtol.png", "answer.json"}
    with pytest.raises(ValueError, match="frequencies must be one or more"):
        jtol.run(case, ())
    assert not any("without any" in note for note in answer.notes)


def test_a_study_of_a_dead_link_says_that_jitter_is_not_to_blame():
    case = jtol.Case(name="dead", link=LOOP.vary({"channel.gain": 1e-4, "rx.noise_density": 1e-15}), target=1e-3, engine=ENGINE)
    answer = jtol.run(case, (0.02 * RATE,), workers=1)
    assert answer.tables["jtol"][0]["tolerated_ui"] == 0
    assert any(
        "no jitter is borne: the link misses the error ratio of 0.001 without any (no signal)" in n for n in answer.notes
    )


def test_study_of_a_rate_has_its_corner_near_the_mask():
    case = jtol.case("112G", 1.0)
    assert corner_frequency(case.link, 32) == pytest.approx(4e6, rel=0.1)


def test_study_of_a_link_in_a_file(tmp_path):
    from serdes.serialize import to_toml

    path = tmp_path / "link.toml"
    path.write_text(to_toml(setup("112G").link(0.5)))
    case = jtol.case("56G", 1.0, file=path)
    assert (case.name, case.target) == ("link.toml", setup("112G").error_ratio)
    assert isinstance(case.link.rx.clock, MuellerMuller)


def test_bad_cases():
    for field, value in (("link", 1), ("target", 0.5), ("engine", None)):
        with pytest.raises(ValueError, match=f"Case.{field} must be"):
            jtol.Case(**({"name": "", "link": LOOP, "target": 1e-3} | {field: value}))


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: tolerance(LOOP, 1e6, 0.5, ENGINE, RNG), "target"),
        (lambda: tolerance(LOOP, 1e6, 1e-3, ENGINE, RNG, 1.0), "resolution"),
        (lambda: mask(np.ones(1), 0.0), "corner"),
        (lambda: linear_fit(np.zeros(100), np.zeros(10), 10, 5, 0), "symbols"),
        (lambda: linear_fit(np.zeros(100), np.zeros(10), 10, 0, 0), "n_pulse"),
        (lambda: linear_fit(np.zeros(100), np.zeros(10), 10, 2, 2), "before"),
    ],
)
def test_bad_values(call, field):
    with pytest.raises(ValueError, match=f"{field} must be"):
        call()
