"""Pictures of the library: what is drawn is what was found."""

import numpy as np
import pytest

from serdes import plot
from serdes.setups import setup
from serdes.statistical import Statistical


@pytest.fixture(scope="module")
def result():
    return Statistical(n_phases=32, n_bins=400).run(setup("112G").link(1.0))


def outline(lines, t):
    """(lower, upper) edge of a filled outline at its time ``t``."""
    (path,) = lines.get_paths()
    v = path.vertices[np.isclose(path.vertices[:, 0], t)]
    return v[:, 1].min(), v[:, 1].max()


def test_contours_are_those_of_the_eye(result):
    with plot.figure(6, 4) as (_, ax):
        plot.eye(ax, result.eye, 1e-4)
    lines = [c for c in ax.collections if c.get_paths()]
    drawn = np.array([outline(c, 0.0) for c in lines])
    for k, ratio in enumerate((1e-4, 1e-6)):
        low, high = (edge[:, result.eye.centre_phase] for edge in result.eye.contours(ratio))
        np.testing.assert_allclose(drawn[3 * k : 3 * k + 3], np.transpose([low, high]))
    assert "0.0001, 1e-06" in ax.texts[0].get_text()
    assert np.allclose(ax.get_xlim(), (-0.5, 0.5), atol=0.02)  # one unit interval: the feedback switches at its ends
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time after the decision instant [UI]", "voltage [symbol level]")


def test_outlines_close_where_their_edges_meet(result):
    with plot.figure(6, 4) as (_, ax):
        plot.eye(ax, result.eye, 1e-4)
    for lines in ax.collections:
        v = lines.get_paths()[0].vertices
        for end in (v[:, 0].min(), v[:, 0].max()):
            assert np.ptp(v[np.isclose(v[:, 0], end), 1]) < 1e-9


def test_a_closed_eye_has_no_outline():
    far = Statistical(n_phases=16, n_bins=200).run(setup("112G").link(8.0))
    with plot.figure(6, 4) as (_, ax):
        plot.eye(ax, far.eye, 1e-4)
        plot.bathtub(ax, far.eye, 1e-4)
    assert not [c for c in ax.collections if c.get_paths()]


def test_bathtubs_end_where_the_eye_is_not_resolved(result):
    with plot.figure(6, 4) as (_, ax):
        plot.bathtub(ax, result.eye, 1e-4)
    curves = [line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 32]
    assert len(curves) == 3
    for k, y in enumerate(curves):
        np.testing.assert_array_equal(y, result.eye.bathtub(k))
    assert min(map(np.min, curves)) >= result.eye.floor > ax.get_ylim()[0]


def test_the_pulse_shows_cursors_and_taps(result):
    point = result.operating_point
    with plot.figure(6, 4) as (_, ax):
        plot.pulse(ax, point)
    cursors = next(line for line in ax.lines if line.get_label() == "cursors")
    assert np.max(cursors.get_ydata()) == pytest.approx(point.main_cursor * 1e3)
    (inset,) = ax.child_axes
    heights = [patch.get_height() for patch in inset.patches]
    w = np.array(point.taps.feed_forward)
    np.testing.assert_allclose(heights[: w.size], w / w[point.taps.n_precursors])
    np.testing.assert_allclose(heights[w.size :], point.taps.feedback)
