"""Detection in the engine: sequence detection, precoding, bursts, code words; all three eyes of the same symbols."""

import numpy as np
import pytest
from simple_links import Nyquist, simple_link

from dsp.equalizer import FixedTaps, Taps
from dsp.error_chain import dfe_chain
from dsp.error_events import error_events
from dsp.fec import KP4, Fec
from dsp.mlsd import Mlsd
from serdes.count_detail import Convergence, CountDetail
from serdes.serialize import from_dict, to_dict
from serdes.statistical import Statistical
from serdes.time_domain import TimeDomain

SMALL = Fec(n=15, k=11, symbol_bits=4, t=2)


def feedback_link(noise_density, **changes):
    """A strong post-cursor left to the feedback tap, one feed-forward tap: the noise at the slicer is white."""
    taps = FixedTaps(feed_forward=(1.0,), feedback=(0.7,))
    link = simple_link(Nyquist(echo=0.7), noise_density=noise_density, equalizer=taps)
    return link.vary({k.replace("__", "."): v for k, v in changes.items()})


def run(link, n=200_000, seed=1, **engine):
    given = {"n_symbols": n, "settle": 4096, "eye_symbols": 0, "samples_per_symbol": 2}
    return TimeDomain(**(given | engine)).run(link, np.random.default_rng(seed))


LINK = feedback_link(1.7e-14)


def test_error_propagation_is_that_of_the_markov_chain():
    expected = Statistical(eye=False).run(LINK)
    point, counted = expected.operating_point, run(LINK, 2_000_000)
    rms = np.sqrt(point.mean_square_error) / (1 / 3)
    chain = dfe_chain(taps=point.taps.feedback, noise_rms=float(rms))
    assert point.taps.feedback[0] > 0.6
    assert counted.ser > 1.5 * expected.ser
    assert counted.ser == pytest.approx(chain.symbol_error_ratio, rel=0.1)
    lengths = np.array(counted.detail.bursts().lengths[1:5]) / counted.detail.bursts().bursts
    assert lengths == pytest.approx(chain.run_lengths(4), abs=0.03)
    assert counted.detail.chain().symbol_error_ratio == pytest.approx(counted.ser, rel=1e-2)


def test_sequence_detection_beats_feedback_by_what_its_error_events_say():
    taps = Statistical(eye=False).run(LINK).operating_point
    feedback, sequence = run(LINK), run(LINK.vary({"rx.detector": Mlsd()}))
    assert sequence.symbols.trials == 200_000
    assert sequence.ser < feedback.ser / 5
    events = error_events((1.0, *taps.taps.feedback), 4)
    bound = events.symbol_error_ratio(float(np.sqrt(taps.mean_square_error)), 2 / 3)
    assert sequence.ser < 1.6 * bound
    # the slicer's own figures stay those of the feedback equaliser
    assert sequence.snr_db == pytest.approx(feedback.snr_db, abs=1e-9)


def test_precoding_turns_a_burst_into_two_errors():
    plain, precoded = (run(LINK.vary({"tx.precoded": p}), 2_000_000) for p in (False, True))
    assert precoded.detail.places.tolist() == plain.detail.places.tolist()
    assert precoded.symbols.errors == pytest.approx(precoded.detail.wrong().size, abs=1)
    bursts = plain.detail.bursts()
    assert precoded.ser < plain.ser
    assert precoded.symbols.errors == pytest.approx(2 * bursts.bursts, rel=0.12)
    chain = dfe_chain(
        taps=plain.operating_point.taps.feedback, noise_rms=float(3 * np.sqrt(plain.operating_point.mean_square_error)),
        precoded=True,
    )  # fmt: skip
    assert precoded.ser == pytest.approx(chain.symbol_error_ratio, rel=0.1)


def test_code_words_are_counted():
    result = run(LINK.vary({"fec": KP4}))
    for ways in (1, 2, 4):
        words = result.detail.words(KP4, ways)
        assert words.words == 200_000 * 2 // (5440 * ways) * ways
        assert sum(k * c for k, c in enumerate(words.histogram)) <= result.bits.errors
        assert sum(words.histogram) == words.words
    dense = np.zeros(200_000, bool)
    dense[result.detail.wrong()] = True
    per_symbol = dense[: 200_000 // 5 * 5].reshape(-1, 5).any(axis=1)
    n = per_symbol.size // 544
    assert np.bincount(per_symbol[: n * 544].reshape(n, 544).sum(axis=1)).tolist() == list(result.detail.words(KP4).histogram)


def detail(places, signed, trials=2000, precoded=False):
    none = Convergence(
        symbols=np.zeros(0), feed_forward=np.zeros((0, 1)), feedback=np.zeros((0, 1)), mean_square_error=np.zeros(0), window=1
    )
    one = Taps(feed_forward=(1.0,), n_precursors=0)
    return CountDetail(
        stopped="all symbols", trials=trials, places=np.array(places, np.int64), signed=np.array(signed, np.int8), n_levels=4,
        bits_per_symbol=2.0, precoded=precoded, adapted=one, ideal=one, levels=np.zeros(4), convergence=none, lost=0.0,
    )  # fmt: skip


def test_alternating_errors_cancel_behind_precoding():
    assert detail([10, 11, 12], [1, -1, 1], precoded=True).wrong().tolist() == [10, 13]
    assert detail([10, 11, 12], [1, 1, 1], precoded=True).wrong().tolist() == [10, 11, 12, 13]
    assert detail([], []).wrong().size == 0
    assert detail([], []).bursts().bursts == 0


def test_bursts_far_apart_are_counted_without_what_lies_between():
    found = detail([5, 6, 1000, 1001, 1003], [1, -1, 1, 1, 1]).bursts()
    assert (found.symbols, found.errors, found.bursts) == (2000, 5, 3)
    assert found.lengths[1:] == (1, 2)
    assert detail([5, 6, 1000, 1001, 1003], [1, -1, 1, 1, 1]).bursts(guard=2).lengths[1:] == (0, 1, 0, 1)


def test_words_of_a_small_code():
    # two symbols of 2 bits make one of 4: wrong code symbols 0, 1 (word 0) and 15, 16, 17 (word 1)
    d = detail([0, 1, 2, 30, 32, 34], [1] * 6, trials=60)
    assert d.words(SMALL).histogram == (0, 0, 1, 1)
    assert d.words(SMALL).failed == 1
    # taking turns: even symbols 0, 16 and odd ones 1, 15, 17
    assert d.words(SMALL, 2).histogram == (0, 0, 1, 1)


def test_eyes_of_all_stages_hold_the_same_symbols():
    result = run(feedback_link(1e-15), 20_000, eye_symbols=15_000, samples_per_symbol=4)
    assert set(result.eyes) == {"sampler", "equalizer", "slicer"}
    sampler, equalizer, slicer = (result.eyes[k] for k in ("sampler", "equalizer", "slicer"))
    assert sampler.unit == "V"
    assert not sampler.virtual
    assert slicer.virtual
    assert equalizer.virtual
    assert {e.floor for e in result.eyes.values()} == {4 / 15_000}
    for shown in result.eyes.values():
        assert shown.density.sum(axis=2) == pytest.approx(1)
    # feedback opens what the feed-forward taps leave
    assert all(o.height == 0 for o in equalizer.openings(1e-3))
    assert all(o.height > 0.1 for o in slicer.openings(1e-3))


def test_sequence_detector_is_part_of_the_schema():
    link = LINK.vary({"rx.detector": Mlsd(memory=1, lag=12)})
    assert from_dict(to_dict(link.rx), type(link.rx)) == link.rx


def test_bad_values():
    for field, value in (("memory", 0), ("memory", 4), ("lag", 0)):
        with pytest.raises(ValueError, match=f"Mlsd.{field} must be"):
            Mlsd(**{field: value})
    with pytest.raises(ValueError, match="memory must be 0 or less"):
        Mlsd().detector(Taps(feed_forward=(1.0,), n_precursors=0))
    with pytest.raises(ValueError, match="ways must be one of"):
        detail([], []).words(SMALL, 3)
    with pytest.raises(ValueError, match="code must be a Fec"):
        detail([], []).words("KP4")
    with pytest.raises(ValueError, match="guard must be"):
        detail([], []).bursts(guard=1000)
