"""Patterns by name: blocks from any place, periods and places."""

import numpy as np
import pytest

from dsp import sequences
from dsp.patterns import LONGEST, PATTERNS, Pattern


@pytest.mark.parametrize("name", PATTERNS)
def test_blocks_join_to_the_whole(name):
    pattern = Pattern(of=name)
    whole, end = pattern.block(3000, pattern.first)
    place, pieces = pattern.first, []
    for n in (1, 0, 999, 2000):
        piece, place = pattern.block(n, place)
        pieces.append(piece)
    assert np.array_equal(np.concatenate(pieces), whole)
    assert place == end
    assert whole.dtype == np.uint8
    assert whole.max() == pattern.n_levels - 1


def test_the_patterns_are_those_of_the_sequences():
    assert np.array_equal(Pattern(of="SSPRQ").block(65535, 0)[0], sequences.ssprq())
    assert np.array_equal(Pattern(of="PRBS13Q").block(8191, 0)[0], sequences.prbs13q())
    assert np.array_equal(Pattern(of="PRBS31Q").block(500, 2**31 - 1)[0], sequences.prbs31q_block(500)[0])
    assert np.array_equal(Pattern(of="PRBS9").block(511, 0)[0], sequences.prbs(9))


@pytest.mark.parametrize(("name", "length"), [("PRBS7", 127), ("PRBS13Q", 8191), ("SSPRQ", 65535), ("PRBS31Q", 2**31 - 1)])
def test_periods(name, length):
    assert Pattern(of=name).length == length


def test_own_pattern_repeats():
    own = Pattern(of=(0, 1, 3))
    symbols, place = own.block(7, 2)
    assert symbols.tolist() == [3, 0, 1, 3, 0, 1, 3]
    assert (place, own.n_levels, own.name) == (0, 4, "a pattern of 3 symbols")


@pytest.mark.parametrize("value", ["PRBS8", (1,), (1, 1), tuple([0, 1] * LONGEST), (1, 16), (0.5, 1), None])
def test_bad_values(value):
    with pytest.raises(ValueError, match=r"Pattern\.of"):
        Pattern(of=value)
