import pytest

from experiments.farthest import LONGEST, farthest


@pytest.mark.parametrize("guess", [10.0, 3000.0, 1e6])
def test_the_length_at_which_nothing_is_to_spare(guess):
    assert farthest(lambda x: 5.0 - x / 1000, 1.0, guess, xtol=0.01, rtol=1e-6) == pytest.approx(5000, abs=0.1)


def test_nothing_from_the_start_and_something_to_the_end():
    assert farthest(lambda x: -1.0, 2.0, 500.0, xtol=1.0, rtol=0.01) == 2.0
    assert farthest(lambda x: 1.0, 2.0, 500.0, xtol=1.0, rtol=0.01) == LONGEST
