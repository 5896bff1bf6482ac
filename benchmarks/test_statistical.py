"""The statistical engine: eye, tails, operating point, channel."""

import numpy as np
import pytest

from channels import cache
from dsp.constellation import pam
from dsp.distribution import Interference, eye_density
from dsp.noise import Jitter
from serdes.operating_point import operating_point
from serdes.setups import setup
from serdes.statistical import Statistical, statistical_eye

LINK = setup("224G").link(1.0, 26, ("HN", "HH"))


@pytest.fixture(scope="module")
def point():
    return operating_point(LINK)


def test_eye_density_300_cursors_64_phases_2000_bins(benchmark):
    """A PAM4 through path with noise: the density of the whole eye."""
    rng = np.random.default_rng(1)
    cursors = rng.standard_normal((64, 300)) * np.exp(-np.arange(300) / 30) * 0.05
    cursors[:, 0] = 1.0
    voltage = np.linspace(-2, 2, 2000)
    benchmark(eye_density, cursors, pam(4).array, np.full(64, 0.03), voltage)


def test_statistical_eye_of_a_link(benchmark, point):
    """The same from an operating point to the four conditional densities, crosstalk and jitter included."""
    benchmark(statistical_eye, point)


def test_statistical_eye_of_a_quiet_link(benchmark):
    """Through path and thermal noise, even levels: 300 cursors, 64 phases, 2000 bins."""
    quiet = setup("224G").link(1.0, 26, ("HN", "HH"), crosstalk=False)
    quiet = quiet.vary({"tx.constellation": pam(4), "tx.jitter": Jitter(), "tx.snr_db": None, "rx.converter": None})
    benchmark(statistical_eye, operating_point(quiet))


def test_one_tail_300_cursors(benchmark):
    rng = np.random.default_rng(1)
    law = Interference(cursors=rng.standard_normal(300) * 0.01, levels=pam(4).array, sigma=0.03)
    benchmark(law.tail, 0.8)


def test_operating_point_with_ctle_search(benchmark):
    benchmark(operating_point, LINK)


def test_operating_point_from_a_similar_one(benchmark, point):
    benchmark(operating_point, LINK, point)


def test_whole_statistical_result(benchmark):
    benchmark(Statistical().run, LINK)


def test_cascade_of_1_m_to_100_ghz(benchmark):
    """Package, board, connectors, cable, both ends, on a 10 MHz grid; nothing remembered."""
    f = np.arange(10001) * 10e6

    def fresh():
        cache.responses.clear()
        return LINK.channel.transfer(f)

    benchmark(fresh)
