"""Quadrants sent as changes: a receiver that is a quarter turn off, or slips by one, still reads square QAM."""

from __future__ import annotations

import numpy as np

from dsp import check
from dsp.constellation import Constellation


def quadrants(constellation: Constellation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quadrant (0 to 3, counter-clockwise) and place within it of every point, (n,) each, and the index of both, (4, n / 4).

    The place does not change when the point is turned by a quarter. ``ValueError`` for other than square QAM.
    """
    points = constellation.array
    if constellation.is_real or constellation.n % 4 or np.any(np.abs(points.real * points.imag) < 1e-12):
        raise check.fail("quadrants", "constellation", "square QAM", constellation.n)
    quadrant = (np.floor(np.angle(points) / (np.pi / 2)).astype(int)) % 4
    first = np.flatnonzero(quadrant == 0)
    turned = points * (-1j) ** quadrant
    distance = np.abs(turned[:, None] - points[first])
    if np.any(distance.min(axis=1) > 1e-9):
        raise check.fail("quadrants", "constellation", "the same when turned by a quarter", constellation.n)
    place = distance.argmin(axis=1)
    index = np.empty((4, first.size), int)
    index[quadrant, place] = np.arange(constellation.n)
    return quadrant, place, index


def differential(constellation: Constellation) -> Constellation:
    """The same points with labels for changes: two Gray bits for the change of quadrant, then those of the place in the first."""
    quadrant, place, index = quadrants(constellation)
    width = constellation.label_bits - 2
    inner = np.array(constellation.labels)[index[0]]
    # In the first quadrant two bits of the labels are the same for all places: those left over tell the places apart.
    varying = [b for b in range(constellation.label_bits) if np.ptp((inner >> b) & 1)]
    short = sum((((inner >> b) & 1) << k for k, b in enumerate(varying)), np.zeros(inner.size, int))
    turn = quadrant ^ (quadrant >> 1)
    return Constellation(points=constellation.points, labels=tuple(int(v) for v in (turn << width) | short[place]))


def encode(indices: np.ndarray, constellation: Constellation) -> np.ndarray:
    """Indices to send for ``indices`` (..., n) whose quadrants are changes; the symbol before the first is in quadrant 0."""
    quadrant, place, index = quadrants(constellation)
    return index[np.cumsum(quadrant[indices], axis=-1) % 4, place[indices]]


def decode(indices: np.ndarray, constellation: Constellation) -> np.ndarray:
    """What `encode` was given, for all symbols but the first, whose change is not known: (..., n) -> (..., n - 1)."""
    quadrant, place, index = quadrants(constellation)
    return index[np.diff(quadrant[indices], axis=-1) % 4, place[indices][..., 1:]]


def bit_error_ratio(confusion: np.ndarray, constellation: Constellation) -> float:
    """Bit error ratio of changes for independent decisions with probabilities ``confusion`` [sent, decided], (n, n)."""
    quadrant, _, _ = quadrants(constellation)
    labelled = differential(constellation)
    low = (1 << (constellation.label_bits - 2)) - 1
    places = np.array(labelled.labels) & low
    differing = places[:, None] ^ places[None, :]
    inner = np.sum(confusion * sum((differing >> b) & 1 for b in range(constellation.label_bits - 2)))
    turned = (quadrant[None, :] - quadrant[:, None]) % 4
    error = np.array([np.sum(confusion[turned == d]) for d in range(4)]) / constellation.n
    gray = np.arange(4) ^ (np.arange(4) >> 1)
    # The error of a change is that of one decision less that of the one before.
    change = [sum(error[a] * error[(a - d) % 4] for a in range(4)) for d in range(4)]
    bits = [np.mean([(gray[q] ^ gray[(q + d) % 4]).bit_count() for q in range(4)]) for d in range(4)]
    return float((inner / constellation.n + np.dot(change, bits)) / constellation.label_bits)
