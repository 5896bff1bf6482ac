from dataclasses import replace

import numpy as np
import pytest

from dsp.equalizer import Mmse
from serdes.front_end import aggressor_cursors, fine_pulse, front_end, phases
from serdes.operating_point import operating_point
from serdes.setups import setup
from serdes.spectra import spectra
from serdes.statistical import Statistical

LINK = setup("112G").link(1.0).vary({"rx.jitter.random_ui": 0.01, "tx.ffe.feed_forward": (-0.1, 0.9), "tx.ffe.n_precursors": 1})
LEVELS = {
    "tx.amplitude": 0.3, "tx.snr_db": 29.0, "rx.noise_density": 3e-17, "rx.converter.n_bits": 8, "rx.equalizer.n_taps": 12
}  # fmt: skip
GAINS = (-7.0, -2.0)


def behind(link):
    sp = spectra(link)
    return sp.filtered(link.rx.ctle.transfer(sp.f, *GAINS))


@pytest.mark.parametrize("changes", [{}, LEVELS, {"tx.snr_db": None}, {"rx.ctle": None, "aggressors": ()}])
def test_what_is_shared_and_scaled_is_what_the_link_has_alone(changes):
    link = LINK.vary(changes)
    front, sp = front_end(link), spectra(link) if link.rx.ctle is None else behind(link)
    ours, alone = front.phases(link, GAINS, 8, offset=0.3), phases(link, sp, 8, 0.3 / link.symbol_rate)
    np.testing.assert_allclose(ours.h, alone.h, rtol=1e-12, atol=1e-15)
    assert list(ours.noise) == list(alone.noise)
    for cause, r in alone.noise.items():
        np.testing.assert_allclose(ours.noise[cause], r, rtol=1e-9, atol=1e-12 * np.max(np.abs(r)), err_msg=cause)
    np.testing.assert_allclose(front.behind(link, GAINS).pulse, sp.pulse, rtol=1e-12)
    np.testing.assert_allclose(front.behind(link, GAINS).noise, sp.noise, rtol=1e-12)
    peak, start = front.peak(link, GAINS, 0.3)
    assert (peak, start) == ((pulse := fine_pulse(link, sp, 0.3)).peak, pulse.start)
    for a, b in zip(front.aggressor_cursors(link, GAINS, 0.3), aggressor_cursors(link, sp, 0.3), strict=True):
        np.testing.assert_array_equal(a, b)


def test_links_that_differ_in_levels_share_and_others_do_not():
    assert front_end(LINK) is front_end(LINK.vary(LEVELS))
    for path, value in (
        ("tx.rise_time", 9e-12), ("rx.bandwidth", 3e10), ("tx.jitter.random_ui", 0.02), ("rx.jitter.random_ui", 0.02),
        ("aggressors.0.tx.amplitude", 0.1), ("symbol_rate", 5.2e10), ("aggressors", ()), ("channel.source_resistance", 45.0),
    ):  # fmt: skip
        assert front_end(LINK.vary({path: value})) is not front_end(LINK), path


def test_the_poles_of_the_equaliser_tell_its_waveforms_apart():
    front, other = front_end(LINK), LINK.vary({"rx.ctle.pole1": 3e10})
    assert front_end(other) is front
    assert np.max(np.abs(front.phases(other, GAINS, 4).h - front.phases(LINK, GAINS, 4).h)) > 1e-4


def test_a_point_does_not_depend_on_what_was_computed_before():
    link = setup("112G").link(0.7).vary({"tx.amplitude": 0.37})
    first = Statistical(eye=False).run(link)
    for n in (8, 16):
        Statistical(eye=False).run(link.vary({"rx.equalizer.n_taps": n, "tx.amplitude": 0.2}))
    again = Statistical(eye=False).run(link)
    assert (first.ser, first.snr_db) == (again.ser, again.snr_db)


def test_a_search_from_a_similar_link_ends_near_one_from_afar():
    link = setup("112G").link(1.0)
    like = operating_point(link)
    for density, taps in ((1e-17, 22), (6e-17, 12), (3e-17, 16)):
        other = replace(link, rx=replace(link.rx, noise_density=density, equalizer=Mmse(n_taps=taps)))
        # The error is flat across the gains: where the two differ, it is by little.
        assert operating_point(other, like).snr_db == pytest.approx(operating_point(other).snr_db, abs=0.06)
