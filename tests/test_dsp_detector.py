import numpy as np
import pytest

from dsp.constellation import pam, qam
from dsp.detector import Slicer


@pytest.mark.parametrize("constellation", [pam(2), pam(4), pam(4, 0.9), pam(6), qam(16)])
def test_points_are_decided_for_themselves(constellation):
    points = constellation.array
    assert Slicer().decide(points, constellation).tolist() == list(range(constellation.n))


@pytest.mark.parametrize("constellation", [pam(4, 0.9), qam(16)])
def test_decision_is_the_nearest_point(constellation):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1.5, 1.5, (4, 50))
    if not constellation.is_real:
        x = x + 1j * rng.uniform(-1.5, 1.5, x.shape)
    decided = Slicer().decide(x, constellation)
    assert decided.shape == x.shape
    distance = np.abs(x[..., None] - constellation.array)
    assert np.take_along_axis(distance, decided[..., None], -1)[..., 0] == pytest.approx(distance.min(axis=-1))


def test_slicer_is_a_value():
    assert Slicer() == Slicer()
    assert hash(Slicer()) == hash(Slicer())
