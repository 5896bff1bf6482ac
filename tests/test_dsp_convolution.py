"""Convolution by blocks: the answer must not depend on the division, and must be the convolution."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsp import convolution


def blocks_of(n, cuts):
    edges = [0, *sorted(c % (n + 1) for c in cuts), n]
    return [slice(a, b) for a, b in pairwise(edges)]


def by_blocks(x, response, cuts):
    state, out = convolution.fir_start(response), []
    for piece in blocks_of(x.shape[-1], cuts):
        y, state = convolution.fir_step(x[..., piece], state)
        assert y.shape == x[..., piece].shape
        out.append(y)
    return np.concatenate(out, axis=-1)


@settings(deadline=None, max_examples=40)
@given(
    cuts=st.lists(st.integers(0, 10**6), max_size=12),
    n_taps=st.sampled_from([1, 2, 96, 97, 300, 5000]),
    lanes=st.sampled_from([(), (2,)]),
)
def test_any_division_into_blocks_gives_the_one_block_output(cuts, n_taps, lanes):
    rng = np.random.default_rng(1)
    x, response = rng.standard_normal((*lanes, 6000)), rng.standard_normal(n_taps) / np.sqrt(n_taps)
    whole, _ = convolution.fir_step(x, convolution.fir_start(response))
    assert np.max(np.abs(by_blocks(x, response, cuts) - whole)) < 1e-12


def test_blocks_of_one_sample_and_of_none():
    rng = np.random.default_rng(2)
    x, response = rng.standard_normal(60), rng.standard_normal(40)
    assert np.max(np.abs(by_blocks(x, response, range(61)) - np.convolve(x, response)[:60])) < 1e-12
    y, state = convolution.fir_step(np.zeros(0), convolution.fir_start(response))
    assert y.size == 0
    assert np.array_equal(convolution.fir_step(x, state)[0], convolution.fir_step(x, convolution.fir_start(response))[0])


@pytest.mark.parametrize("n_taps", [1, 5, 40, 700])
def test_is_the_convolution_on_every_lane(n_taps):
    rng = np.random.default_rng(3)
    x, response = rng.standard_normal((3, 5000)), rng.standard_normal(n_taps)
    y, _ = convolution.fir_step(x, convolution.fir_start(response))
    for lane in range(3):
        assert np.allclose(y[lane], np.convolve(x[lane], response)[:5000], rtol=0, atol=1e-11)


def test_states_and_inputs_are_not_changed():
    rng = np.random.default_rng(4)
    x, response = rng.standard_normal(500), rng.standard_normal(30)
    state = convolution.fir_start(response)
    _, state = convolution.fir_step(x, state)
    kept = x.copy()
    first, _ = convolution.fir_step(x, state)
    again, _ = convolution.fir_step(x, state)
    assert np.array_equal(first, again)
    assert np.array_equal(x, kept)


def test_tail_of_nothing_is_trimmed():
    assert np.array_equal(convolution.trim_tail(np.array([0.0, 1.0, 0.5, 1e-18, 0.0])), [0.0, 1.0, 0.5])
    assert np.array_equal(convolution.trim_tail(np.zeros(4)), [0.0])


@pytest.mark.parametrize("response", [np.zeros(0), np.zeros((2, 2)), np.array([1.0, np.nan])])
def test_bad_response(response):
    with pytest.raises(ValueError, match=r"fir_start\.response must be"):
        convolution.fir_start(response)


def test_complex_samples_are_refused():
    with pytest.raises(ValueError, match="must be real"):
        convolution.fir_step(np.ones(3) * 1j, convolution.fir_start(np.ones(2)))
