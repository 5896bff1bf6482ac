import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from serdes.eye import Eye, EyeOpening

T = 20e-12
LEVELS = np.array([-1, -1 / 3, 1 / 3, 1])


def gaussian_eye(sigma=0.05, levels=LEVELS, n_bins=2001, n_phases=33, closing=8.0, floor=1e-15):
    """Levels that move together away from the centre, by a parabola in time, in Gaussian noise: every answer is known."""
    time = (np.arange(n_phases) - n_phases // 2) / n_phases * T
    height = 1 - closing * (time / T) ** 2
    voltage = np.linspace(-2, 2, n_bins)
    step = voltage[1] - voltage[0]
    distance = voltage - np.multiply.outer(levels, height)[..., None]
    mass = ndtr((distance + step / 2) / sigma) - ndtr((distance - step / 2) / sigma)
    density = mass / mass.sum(axis=2, keepdims=True)
    return Eye(time=time, voltage=voltage, density=density, levels=levels, symbol_time=T, source="test", floor=floor)


@pytest.mark.parametrize("p", [1e-3, 1e-6, 1e-12])
def test_openings_of_levels_in_gaussian_noise(p):
    eye = gaussian_eye(sigma=0.03)
    reach = -ndtri(p) * 0.03
    openings = eye.openings(p)
    assert len(openings) == 3
    for opening, centre in zip(openings, (-2 / 3, 0, 2 / 3), strict=True):
        assert opening.height == pytest.approx(2 / 3 - 2 * reach, abs=5e-4)
        assert opening.centre == pytest.approx(centre, abs=1e-4)
        assert opening.is_open
        assert opening.reason == ""
    # Through the middle eye's centre: closed where the levels about it, 1/3 (1 - 8 t^2), come as near as the noise reaches.
    assert openings[1].width_ui == pytest.approx(2 * math.sqrt((1 - 3 * reach) / 8), abs=0.01)
    # The upper eye ends sooner, where the outer level falls on its centre.
    assert openings[0].width_ui == pytest.approx(openings[2].width_ui)
    assert openings[2].width_ui == pytest.approx(2 * math.sqrt((1 / 3 - reach) / 8), abs=0.01)


def test_openings_do_not_depend_on_the_bins():
    heights = [gaussian_eye(n_bins=n).openings(1e-6)[1].height for n in (512, 1024, 2048, 8191)]
    assert heights == pytest.approx([2 / 3 + 2 * ndtri(1e-6) * 0.05] * 4, abs=3e-3)
    assert heights[3] == pytest.approx(2 / 3 + 2 * ndtri(1e-6) * 0.05, abs=1e-5)


def test_contours_are_the_quantiles():
    eye = gaussian_eye()
    low, high = eye.contours(1e-5)
    assert low.shape == high.shape == (3, 33)
    assert low[0, eye.centre_phase] == pytest.approx(-1 - ndtri(1e-5) * 0.05, abs=1e-4)
    assert high[2, eye.centre_phase] == pytest.approx(1 + ndtri(1e-5) * 0.05, abs=1e-4)
    assert low == pytest.approx(-high[::-1], abs=1e-9)


def test_less_probable_contours_lie_inside():
    eye = gaussian_eye()
    sizes = [(o.height, o.width_ui) for o in (eye.openings(p)[0] for p in (1e-2, 1e-4, 1e-8))]
    assert sizes == sorted(sizes, reverse=True)


def test_nrz_has_one_opening():
    assert len(gaussian_eye(levels=np.array([-1.0, 1.0])).openings(1e-6)) == 1


def test_a_closed_eye_is_an_answer_with_a_reason():
    openings = gaussian_eye(sigma=0.2).openings(1e-6)
    for opening in openings:
        assert not opening.is_open
        assert (opening.height, opening.width_ui) == (0, 0)
        assert "closed at an error ratio of 1e-06: the neighbouring levels overlap by" in opening.reason
    assert EyeOpening(height=0.1, width_ui=0.0, centre=0.0).is_open is False


def test_an_eye_open_over_the_whole_interval():
    eye = gaussian_eye(closing=0.0)
    assert eye.openings(1e-6)[1].width_ui == pytest.approx(eye.time[-1] / T - eye.time[0] / T)


@pytest.mark.parametrize("p", [0.0, 1e-16, 0.5, 1.0, math.nan])
def test_error_ratios_without_meaning_are_refused(p):
    with pytest.raises(ValueError, match=r"between the floor of this eye 1e-15 and 0\.5"):
        gaussian_eye().openings(p)


def test_bathtub_is_the_gaussian_tail_of_the_distance_to_the_threshold():
    eye = gaussian_eye(sigma=0.06, n_bins=4000)
    tub = eye.bathtub(1)
    t = eye.time / T
    height = (1 - 8 * t**2) / 3
    assert tub == pytest.approx(ndtr(-height / 0.06), rel=0.02)
    assert np.argmin(tub) == eye.centre_phase
    assert eye.bathtub(0) == pytest.approx(eye.bathtub(2), rel=1e-6)
    assert gaussian_eye(sigma=0.01, floor=1e-9).bathtub(1)[16] == 1e-9


def test_thresholds_image_and_centre():
    eye = gaussian_eye()
    assert eye.thresholds() == pytest.approx((-2 / 3, 0, 2 / 3))
    assert eye.image.shape == (33, 2001)
    assert eye.image.sum(axis=1) == pytest.approx(1)
    assert eye.time[eye.centre_phase] == 0
    assert gaussian_eye(n_phases=64).time[32] == 0


def test_arrays_are_read_only():
    eye = gaussian_eye()
    for array in (eye.time, eye.voltage, eye.density, eye.levels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
