"""Quadrants sent as changes."""

import numpy as np
import pytest

from dsp import differential
from dsp.constellation import pam, qam


@pytest.mark.parametrize("n", [4, 16, 64])
def test_changes_survive_any_turn(n):
    c = qam(n)
    sent = np.random.default_rng(1).integers(0, n, (2, 500))
    coded = differential.encode(sent, c)
    for turn in range(4):
        seen = np.argmin(np.abs(1j**turn * c.array[coded][..., None] - c.array), axis=-1)
        assert np.array_equal(differential.decode(seen, c), sent[:, 1:])


def test_a_slip_costs_one_symbol():
    c = qam(16)
    sent = np.random.default_rng(2).integers(0, 16, 500)
    points = c.array[differential.encode(sent, c)] * np.where(np.arange(500) < 250, 1, 1j)
    got = differential.decode(np.argmin(np.abs(points[:, None] - c.array), axis=-1), c)
    assert np.flatnonzero(got != sent[1:]).tolist() == [249]


@pytest.mark.parametrize("n", [4, 16, 64])
def test_a_place_keeps_its_label_when_turned(n):
    c = differential.differential(qam(n))
    assert sorted(c.labels) == list(range(n))
    quadrant, place, index = differential.quadrants(c)
    assert np.array_equal(index[quadrant, place], np.arange(n))
    labels = np.array(c.labels)[index] & (n // 4 - 1)
    assert np.all(labels == labels[0])
    assert np.allclose(c.array[index] / c.array[index[0]], 1j ** np.arange(4)[:, None])


def test_neighbours_within_a_quadrant_differ_in_one_bit():
    c = differential.differential(qam(16))
    spacing = 2 / 3
    quadrant = differential.quadrants(c)[0]
    near = np.abs(np.abs(c.array[:, None] - c.array) - spacing) < 1e-9
    same = quadrant[:, None] == quadrant
    assert np.all(c.bit_distance[near & same] == 1)


def test_only_square_constellations():
    with pytest.raises(ValueError, match="square"):
        differential.encode(np.zeros(3, int), pam(4))
