"""Test patterns through the engine: sent, found by a checker that knows their name alone, counted."""

from dataclasses import replace

import numpy as np
import pytest
from simple_links import Flat, Nyquist, density_for, simple_link

from dsp.clock import MuellerMuller
from dsp.equalizer import FixedTaps, Mmse
from serdes.operating_point import operating_point
from serdes.stages import Adaptation
from serdes.time_domain import TimeDomain


def run(link, n=40_000, seed=1, **engine):
    given = {"n_symbols": n, "settle": 4096, "eye_symbols": 0, "samples_per_symbol": 2}
    return TimeDomain(**(given | engine)).run(link, np.random.default_rng(seed))


def noisy(snr_db=15.5, **changes):
    """A PAM4 link with an error ratio near one per cent."""
    link = simple_link(Nyquist())
    link = link.vary({"rx.noise_density": density_for(snr_db, link)})
    return link.vary({k.replace("__", "."): v for k, v in changes.items()})


@pytest.mark.parametrize("pattern", ["PRBS13Q", "PRBS31Q", (0, 3, 1, 2, 2, 0, 1, 3, 3, 1, 0)])
@pytest.mark.parametrize("precoded", [False, True])
def test_the_checker_counts_what_is_counted_against_what_was_sent(pattern, precoded):
    result = run(noisy(tx__precoded=precoded), pattern=pattern)
    found = result.detail.checked
    assert result.outcome == "ok"
    assert (found.aligned, found.inverted, found.realignments) == (True, False, 0)
    assert found.compared == result.symbols.trials == 40_000
    assert result.symbols.errors > 100
    # the first symbol is decoded against one that the checker has not seen
    assert found.symbol_errors == pytest.approx(result.symbols.errors, abs=1 if precoded else 0)
    assert found.bit_errors == pytest.approx(result.bits.errors, abs=2 if precoded else 0)


def test_a_stress_pattern_wants_its_whole_period():
    result = run(noisy(20.0), 70_000, pattern="SSPRQ")
    assert (result.outcome, result.detail.checked.symbol_errors) == ("ok", result.symbols.errors)


@pytest.mark.parametrize("pattern", ["PRBS7", "PRBS9", "PRBS15", "PRBS23", "PRBS31"])
def test_bits(pattern):
    link = simple_link(Nyquist(), levels=2)
    result = run(link.vary({"rx.noise_density": density_for(8.0, link)}), pattern=pattern)
    assert result.detail.checked.symbol_errors == result.symbols.errors > 50
    assert result.outcome == "ok"


def test_blocks_and_the_way_part_by_part_do_not_matter():
    link = noisy(rx__clock=MuellerMuller(bandwidth=1e-3))
    whole, split = (run(link, 20_000, pattern="PRBS13Q", block=b) for b in (32768, 777))
    apart = run(link, 20_000, pattern="PRBS13Q", fused=False)
    for result in (whole, split, apart):
        found = result.detail.checked
        assert (found.compared, found.symbol_errors) == (20_000, result.symbols.errors)
    assert whole.symbols.errors == split.symbols.errors


def test_aggressors_have_their_own_data():
    """Crosstalk of the victim's own pattern would be interference of two levels only."""
    from serdes.link import Aggressor, Transmitter

    neighbour = Aggressor(tx=Transmitter(amplitude=0.4), coupling=Flat(gain=0.1), phase_ui=0.0)
    link = simple_link(Flat(), aggressors=(neighbour,), equalizer=FixedTaps())
    error = run(link, pattern="PRBS13Q")
    assert error.outcome == "ok"
    assert error.snr_db == pytest.approx(run(link).snr_db, abs=0.1)


def test_a_pattern_longer_than_the_run_is_an_outcome():
    result = run(noisy(), 5000, pattern="PRBS13Q")
    assert result.outcome == "pattern cut short"
    assert "one period of PRBS13Q has 8191" in result.reason
    assert result.lock.locked
    assert result.detail.checked.compared == 5000
    assert run(noisy(), 5000, pattern="PRBS31Q").outcome == "ok"  # nobody sends all of it


def test_a_run_too_short_for_any_pattern_is_not_aligned():
    result = run(noisy(), 20, pattern="PRBS13Q")
    assert result.outcome == "not aligned"
    assert "too short: 20 symbols" in result.reason
    assert not result.lock.locked


def test_upside_down_levels_are_noticed():
    """Taps of the wrong sign, as behind a pair whose legs are exchanged."""
    link = noisy(20.0)
    point = operating_point(link)
    taps = replace(point.taps, feed_forward=tuple(-tap for tap in point.taps.feed_forward))
    engine = TimeDomain(n_symbols=20_000, eye_symbols=0, pattern="PRBS13Q")
    result = engine.run(link, np.random.default_rng(1), point=replace(point, taps=taps))
    found = result.detail.checked
    assert (found.aligned, found.inverted, found.symbol_errors) == (True, True, 0)
    assert result.outcome == "not aligned"
    assert "upside down" in result.reason


def test_noise_is_not_a_pattern():
    result = run(noisy(2.0), pattern="PRBS13Q")
    assert result.outcome in ("not aligned", "no lock")
    assert not result.detail.checked.aligned
    assert "not PRBS13Q" in result.detail.checked.reason


def test_adaptation_runs_on_a_pattern():
    link = simple_link(Nyquist(echo=0.25), equalizer=Mmse(n_taps=12, n_precursors=4), noise_density=3e-16)
    stages = (Adaptation(step=1e-2, n_symbols=30_000), Adaptation(step=1e-3))
    result = run(link, pattern="PRBS13Q", cold=True, adaptation=stages, settle=60_000, n_training=20_000)
    assert result.detail.checked.symbol_errors == 0


@pytest.mark.parametrize("pattern", ["PRBS8", (), (1,), (0, 0), [0, 1], 13])
def test_bad_patterns(pattern):
    with pytest.raises(ValueError, match=r"TimeDomain\.pattern"):
        TimeDomain(pattern=pattern)


def test_a_pattern_of_other_levels():
    with pytest.raises(ValueError, match=r"TimeDomain\.pattern must have the 4 levels .*PRBS13Q.*got PRBS7 with 2"):
        run(noisy(), pattern="PRBS7")
    with pytest.raises(ValueError, match=r"TimeDomain\.pattern must have the 2 levels .*got SSPRQ with 4"):
        run(simple_link(levels=2), pattern="SSPRQ")
