"""Random streams as values: the same numbers in any division, and the statistics they promise."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsp import kernels, streams
from dsp.noise import Jitter

WANDER = Jitter(random_ui=0.02, dual_dirac_ui=0.05, correlation=0.9)


def draw_all(cuts):
    """Every kind of draw, 200 numbers each, divided at ``cuts``."""
    rng = np.random.default_rng(5)
    normal, whole, even, jitter = streams.start(rng), streams.start(rng), streams.start(rng), streams.start_jitter(rng)
    out = [], [], [], []
    for a, b in pairwise([0, *sorted(cuts), 200]):
        x, normal = streams.normal((2, b - a), normal)
        k, whole = streams.integers(6, b - a, whole)
        u, even = streams.uniform(b - a, even)
        j, jitter = streams.displacements(WANDER, b - a, jitter)
        for kind, new in zip(out, (x, k, u, j), strict=True):
            kind.append(new)
    return [np.concatenate(kind, axis=-1) for kind in out]


@settings(deadline=None, max_examples=30)
@given(cuts=st.lists(st.integers(0, 200), max_size=8))
def test_draws_do_not_depend_on_blocks(cuts):
    for whole, split in zip(draw_all([]), draw_all(cuts), strict=True):
        assert np.array_equal(whole, split)


def test_a_stream_is_a_value():
    stream = streams.start(np.random.default_rng(1))
    assert np.array_equal(streams.normal((5,), stream)[0], streams.normal((5,), stream)[0])


def test_streams_of_one_generator_differ():
    rng = np.random.default_rng(1)
    a, b = streams.start(rng), streams.start(rng)
    assert not np.array_equal(streams.normal((5,), a)[0], streams.normal((5,), b)[0])


def test_integers_are_even_and_in_range():
    draws, _ = streams.integers(3, 30000, streams.start(np.random.default_rng(2)))
    assert np.bincount(draws) == pytest.approx(np.full(3, 10000), rel=0.03)
    assert draws.dtype == np.uint8


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_jitter_has_its_variance_and_correlation(correlation):
    jitter = Jitter(random_ui=0.02, dual_dirac_ui=0.05, correlation=correlation)
    j, _ = streams.displacements(jitter, 200_000, streams.start_jitter(np.random.default_rng(3)))
    assert np.var(j) == pytest.approx(jitter.variance_ui2, rel=0.03)
    for lag in (1, 3):
        assert np.mean(j[lag:] * j[:-lag]) / jitter.variance_ui2 == pytest.approx(correlation**lag, abs=0.02)


def test_bounded_jitter_takes_two_values():
    j, _ = streams.displacements(Jitter(dual_dirac_ui=0.05), 1000, streams.start_jitter(np.random.default_rng(4)))
    assert set(np.abs(j)) == {0.05}
    assert abs(np.mean(j)) < 0.01


def test_first_order_kernel_in_plain_python():
    drive = np.random.default_rng(6).standard_normal(50)
    fast = kernels.first_order(drive, 0.7, 0.3)
    assert fast == pytest.approx(kernels.first_order.py_func(drive, 0.7, 0.3), abs=1e-14)
    assert np.array_equal(kernels.first_order(drive, 0.0, 0.3), drive)
