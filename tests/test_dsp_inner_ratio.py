"""The inner code in closed form against the code itself and its published threshold."""

import numpy as np
import pytest

from dsp.constellation import pam
from dsp.distribution import q_inv
from dsp.hamming import InnerCode
from dsp.inner_ratio import OVERHEAD, after_inner, before_inner


def test_published_threshold():
    """4.86e-3 becomes the limit of KP4."""
    assert after_inner(4.86e-3) == pytest.approx(2.46e-4, rel=0.03)
    assert before_inner(2.4e-4) == pytest.approx(4.85e-3, rel=0.01)


@pytest.mark.parametrize(("before", "textbook"), [(4.0e-3, 1.33e-4), (6.0e-3, 5.3e-4)])
def test_pairs_leave_a_little_less_than_the_textbook_code(before, textbook):
    """1e5 to 2e5 words of the textbook form with the same decoder; our own count of it at 4e-3 is 1.37e-4, of pairs 1.28e-4."""
    assert 0.92 < after_inner(before) / textbook < 1


@pytest.mark.parametrize("ratio", [5e-3, 8e-3, 1.6e-2])
def test_what_the_decoder_leaves(ratio):
    """Between the points of the table, counted anew."""
    rng, levels = np.random.default_rng(5), pam(4)
    noise = 1 / 3 / float(q_inv(ratio * 4 / 3))
    bits = rng.integers(0, 2, (12_000, 120), dtype=np.uint8)
    sent = levels.map_bits(InnerCode().encode(bits))
    y = levels.array[sent] + noise * rng.standard_normal(sent.shape)
    assert np.mean(InnerCode().decode(y, noise).bits != bits) == pytest.approx(after_inner(ratio), rel=0.2)


def test_back_and_forth_and_monotone():
    ratios = np.geomspace(1e-8, 0.4, 60)
    after = [after_inner(r) for r in ratios]
    assert np.all(np.diff(after) > 0)
    assert np.all(np.array(after) <= ratios)
    for r in (1e-5, 1e-3, 5e-3):
        assert before_inner(after_inner(r)) == pytest.approx(r, rel=1e-9)
    assert after_inner(0.0) == 0
    assert after_inner(5e-4) / after_inner(2.5e-4) == pytest.approx(16)


def test_symbol_rate_of_the_standard():
    assert pytest.approx(113.4375e9) == OVERHEAD * 106.25e9


@pytest.mark.parametrize(
    ("call", "field"), [(lambda: after_inner(0.6), "after_inner"), (lambda: before_inner(0.02), "before_inner"),
                        (lambda: before_inner(0.0), "before_inner")],
)  # fmt: skip
def test_wrong_ratios_are_named(call, field):
    with pytest.raises(ValueError, match=f"{field}.bit_error_ratio"):
        call()
