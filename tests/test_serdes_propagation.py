"""Error propagation from the statistical engine's result, against runs that feed their own decisions back."""

import numpy as np
import pytest
from simple_links import Nyquist, density_for, simple_link

from dsp.equalizer import FixedTaps
from experiments.studies.eye import from_file
from serdes.propagation import error_chain
from serdes.setups import setup
from serdes.statistical import Statistical
from serdes.time_domain import TimeDomain

FAIR = 1e-3
"""Error ratio to which the noise is raised, so that a second of counting sees thousands of errors."""


def noisier(link):
    density = link.rx.noise_density
    while True:
        result = Statistical(eye=False).run(link)
        if result.ser > FAIR:
            return link, result
        density *= 1.5
        link = link.vary({"rx.noise_density": density})


@pytest.mark.parametrize(
    ("through", "far", "rate"),
    [
        ("ck_backplane_dpo10in/DPO_10in_Meg7_THRU.s4p", (), "112G"),
        ("ck_c2m_il14/C2M__Z100_IL14_WC_BOR_H_L_H_THRU.s4p", ("ck_c2m_il14/C2M__Z100_IL14_WC_BOR_H_L_H_FEXT1.s4p",), "112G"),
        ("synthetic_224g/synth224_300mm_thru.s4p", ("synthetic_224g/synth224_300mm_fext1.s4p",), "224G"),
    ],
)
def test_the_chain_closes_the_gap_between_the_engines_on_real_channels(channels_dir, through, far, rate):
    link, expected = noisier(from_file(channels_dir / through, rate, far_end=[channels_dir / f for f in far]).link)
    chain = error_chain(expected)
    result = TimeDomain(n_symbols=1_000_000, eye_symbols=0).run(link, np.random.default_rng(2))
    assert result.ser > 2.5 * expected.ser
    assert result.ser == pytest.approx(chain.symbol_error_ratio, rel=0.1)
    bursts = result.detail.bursts()
    assert np.array(bursts.lengths[1:5]) / bursts.bursts == pytest.approx(chain.run_lengths(4), abs=0.06)
    # with nothing fed back the engines agree within the interval of the count
    link, expected = noisier(link.vary({"rx.equalizer.n_feedback": 0}))
    low, high = TimeDomain(n_symbols=400_000, eye_symbols=0).run(link, np.random.default_rng(3)).symbols.interval(0.999)
    assert low < expected.ser < high


def test_without_feedback_nothing_is_passed_on():
    link = simple_link(Nyquist())
    result = Statistical(eye=False).run(link.vary({"rx.noise_density": density_for(16.0, link)}))
    assert error_chain(result).symbol_error_ratio == pytest.approx(result.ser, rel=0.02)


def test_precoding_is_part_of_the_chain():
    taps = FixedTaps(feed_forward=(1.0,), feedback=(0.9,))
    link = simple_link(Nyquist(echo=0.9), equalizer=taps).vary({"rx.noise_density": 1.7e-14})
    plain, precoded = (
        error_chain(Statistical(eye=False).run(link.vary({"tx.precoded": p}))).symbol_error_ratio for p in (False, True)
    )
    assert precoded < 0.8 * plain


def test_a_link_without_errors_has_no_chain():
    with pytest.raises(ValueError, match=r"error_chain\.result must be one with an error ratio"):
        error_chain(Statistical(eye=False).run(simple_link(Nyquist(gain=0.0))))
    with pytest.raises(ValueError, match=r"error_chain\.result must be a BasebandResult"):
        error_chain(0.1)


@pytest.mark.parametrize("length", [3.0, 5.4])
def test_without_feedback_nothing_is_propagated(length):
    """With noise of a correlation of -0.77 at the next symbol, too: the chain's ratio is that of the result."""
    result = Statistical(eye=False).run(setup("112G").link(length).vary({"rx.equalizer.n_feedback": 0}))
    assert error_chain(result).symbol_error_ratio == pytest.approx(result.ser, rel=1e-3)
