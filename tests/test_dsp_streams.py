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


def test_normal_numbers_are_normal():
    x, _ = streams.normal((2_000_000,), streams.start(np.random.default_rng(7)))
    assert abs(np.mean(x)) < 4 / np.sqrt(x.size)
    assert np.mean(x**2) == pytest.approx(1, abs=0.005)
    assert np.mean(x**4) == pytest.approx(3, abs=0.05)
    for limit, chance in ((1, 0.158655), (2, 0.0227501), (3, 1.3499e-3), (4, 3.1671e-5)):
        for side in (x, -x):
            assert np.mean(side > limit) == pytest.approx(chance, abs=4.5 * np.sqrt(chance / x.size))
    assert np.max(np.abs(x)) > 4.5
    for lag in (1, 2, 512, 1024):  # the halves of a block share their radius: no correlation of the numbers themselves
        assert abs(np.mean(x[lag:] * x[:-lag])) < 4.5 / np.sqrt(x.size)


def test_kinds_of_numbers_do_not_share_their_bits():
    stream = streams.start(np.random.default_rng(8))
    u, _ = streams.uniform(4096, stream)
    v, _ = streams.integers(256, 8 * 4096, stream)
    assert abs(np.corrcoef(u, v.reshape(-1, 8)[:, 7])[0, 1]) < 0.08


def test_published_words():
    # the first words of SplitMix64 with seed 1234567 (S. Vigna's reference program): the seed moves on before the first word
    words = np.empty(5, np.uint64)
    kernels.splitmix(np.uint64(1234567), 1, words)
    assert words.tolist() == [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    ]  # fmt: skip


def test_kernels_in_plain_python():
    drive = np.random.default_rng(6).standard_normal(50)
    draws = np.random.default_rng(7).integers(0, 2**64, 50, np.uint64)
    fast = kernels.jitter_walk(drive, draws, 0.7, 0.1, 0.2, 0.3, 1.0)
    plain = kernels.jitter_walk.py_func(drive, draws, 0.7, 0.1, 0.2, 0.3, 1.0)
    assert fast[0] == pytest.approx(plain[0], abs=1e-14)
    assert fast[1:] == pytest.approx(plain[1:])
    index = np.array([0, 3, 3, 1], np.uint8)
    for run in (lambda k: k, lambda k: k.py_func):
        level = run(kernels.look_up)(index, np.array([-1.0, -0.5, 0.5, 1.0]))
        assert level.tolist() == [-1.0, 1.0, 1.0, -0.5]
        assert run(kernels.edge_areas)(level, 0.5, np.array([0.1, 0.2, 0.3, -0.4])).tolist() == pytest.approx(
            [0.15, -0.4, 0, -0.6]
        )
    with np.errstate(over="ignore"):
        for kernel, out in ((kernels.gaussian, np.empty(1024)), (kernels.splitmix, np.empty(20, np.uint64))):
            other = out.copy()
            kernel(np.uint64(2**63 + 11), 3, out)
            kernel.py_func(np.uint64(2**63 + 11), 3, other)
            assert np.allclose(out.astype(float), other.astype(float), atol=3e-6)
