"""Symbols through responses at several samples a symbol: the plain convolution, in any blocks."""

from itertools import pairwise

import numpy as np
import pytest

from dsp import kernels, polyphase


def responses(n_inputs=2, m=3, n=40):
    rng = np.random.default_rng(1)
    return rng.standard_normal((n_inputs, m, n)) * np.exp(-np.arange(n) / 4)


def whole(filters, inputs, cuts):
    state, out = polyphase.start(filters), []
    edges = [0, *cuts, inputs[0].size]
    for a, b in pairwise(edges):
        y, state = polyphase.step(filters, tuple(x[a:b] for x in inputs), state)
        out.append(y)
    return np.concatenate(out)


def test_is_the_sum_of_the_convolutions_by_phase():
    h = responses()
    filters, first = polyphase.prepare(h, 0.0)
    inputs = tuple(np.random.default_rng(2).standard_normal((2, 9000)))
    y = whole(filters, inputs, ()).reshape(-1, 3)
    assert first == 0
    for phase in range(3):
        expected = sum(np.convolve(x, row[phase]) for x, row in zip(inputs, h, strict=True))
        assert np.max(np.abs(y[:, phase] - expected[: len(y)])) < 3e-6 * np.max(np.abs(expected))


def test_blocks_leave_no_trace():
    filters, _ = polyphase.prepare(responses())
    inputs = tuple(np.random.default_rng(3).standard_normal((2, 5000)))
    assert np.array_equal(whole(filters, inputs, ()), whole(filters, inputs, (0, 1, 700, 701, 4999)))


def test_cuts_small_ends_and_says_how_much():
    h = np.zeros((1, 2, 100))
    h[0, :, 50] = 1.0
    h[0, 0, 10], h[0, 1, 90] = 1e-3, 1e-3
    assert polyphase.support(h, 1e-5) == (50, 51)
    assert polyphase.support(h, 1e-7) == (10, 91)
    filters, first = polyphase.prepare(h, 1e-5)
    assert first == 50
    assert filters.lost[0] == pytest.approx(1e-6, rel=1e-3)
    assert polyphase.support(np.zeros((2, 2, 5)), 1e-6) == (0, 1)


def test_long_response():
    h = np.random.default_rng(4).standard_normal((1, 1, 9000))
    filters, _ = polyphase.prepare(h, 0.0)
    x = np.random.default_rng(5).standard_normal(60_000)
    y = whole(filters, (x,), (30_000,))
    assert np.max(np.abs(y - np.convolve(x, h[0, 0])[: y.size])) < 1e-3


def test_bad_values():
    with pytest.raises(ValueError, match="responses must be finite"):
        polyphase.prepare(np.ones((2, 3)))
    with pytest.raises(ValueError, match="responses must be finite"):
        polyphase.prepare(np.full((1, 1, 3), np.nan))
    with pytest.raises(ValueError, match="relative must be"):
        polyphase.prepare(responses(), 0.9)
    filters, _ = polyphase.prepare(responses())
    with pytest.raises(ValueError, match="inputs must be 2 streams"):
        polyphase.step(filters, (np.zeros(3),), polyphase.start(filters))


def test_kernels_in_plain_python():
    rng = np.random.default_rng(3)
    sent, spectra = (rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in ((3, 2, 5), (3, 4, 5)))
    expected = np.einsum("ihk,ipk->hpk", sent, spectra)
    phases = rng.standard_normal((2, 4, 9))
    for run in (lambda k: k, lambda k: k.py_func):
        mixed, woven = np.empty((2, 4, 5), complex), np.empty(2 * 4 * 6)
        run(kernels.mix)(sent, spectra, mixed)
        run(kernels.weave)(phases, 3, woven)
        assert np.max(np.abs(mixed - expected)) < 1e-12
        assert np.array_equal(woven.reshape(2, 6, 4), phases[:, :, 3:].transpose(0, 2, 1))
