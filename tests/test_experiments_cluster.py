"""Counts and geometry against published numbers, and a path through the cluster."""

from dataclasses import replace

import pytest

from dsp.units import pJ, us
from experiments.cluster import (
    NVL72,
    FatTree,
    RackStack,
    ScaleUpDomain,
    copper_domain,
    gpus_within_radius,
    smallest_fat_tree,
)
from experiments.interconnects import MEDIA
from experiments.paths import Cluster, total

MILE = 1609.344


def test_copper_that_reaches_no_tray_joins_nothing():
    found = copper_domain(0.1)
    assert (found.racks, found.gpus, found.bound) == (0, 0, "reach")


def test_cables_of_the_rack_are_two_miles():
    domain = ScaleUpDomain()
    assert domain.pairs == 5184
    assert NVL72.mean_cable == pytest.approx(2 * MILE / domain.pairs, rel=0.005)
    assert 2 * MILE / domain.pairs == pytest.approx(0.621, abs=5e-4)
    assert NVL72.longest_cable == pytest.approx(1.02, abs=0.005)
    assert NVL72.gpus == domain.gpus == 72
    assert NVL72.cables.shape == (18, 9)


def test_the_rack_as_optics():
    domain = ScaleUpDomain()
    assert domain.bandwidth == pytest.approx(518.4e12)
    assert domain.optical_modules() == 648
    assert domain.optical_power() == pytest.approx(19.44e3)
    filled = {medium.name: domain.power(medium.energy) / 1e3 for medium in MEDIA if medium.energy is not None}
    assert filled["passive copper"] == pytest.approx(5.2, abs=0.05)
    assert filled["CPO"] == pytest.approx(5.7, abs=0.1)
    assert filled["LPO"] == pytest.approx(16, abs=0.1)
    assert filled["DSP optics"] == pytest.approx(26, abs=0.5)
    assert domain.power(46 * pJ) / 1e3 == pytest.approx(24, abs=0.2)


@pytest.mark.parametrize(
    ("reach", "racks", "gpus"),
    [(1.0, 1, 72), (1.5, 1, 72), (2.0, 3, 216), (2.5, 5, 360), (3.0, 7, 504), (5.0, 13, 936), (7.0, 19, 1368)],
)
def test_reach_to_gpus(reach, racks, gpus):
    found = copper_domain(reach)
    assert (found.racks, found.gpus, found.bound) == (racks, gpus, "reach")


def test_short_reach_leaves_out_far_trays():
    counts = [copper_domain(x).gpus for x in (0.4, 0.7, 0.8, 0.9, 0.98)]
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert 0 < counts[2] < 72
    assert copper_domain(0.98).gpus == 72  # the longest cable is known to 5 %


def test_other_bounds_of_a_domain():
    assert copper_domain(3.0, radix=72).bound == "radix"
    assert copper_domain(3.0, radix=72).gpus == 72
    powered = copper_domain(2.0, rack_power=60e3, gpu_power=1500.0)
    assert (powered.gpus, powered.bound) == (120, "power")


@pytest.mark.parametrize(
    ("hosts", "radix", "tiers", "planes", "switches"),
    [
        (576, 144, 2, 1, 12),  # Lambda
        (4_608, 144, 2, 1, 96),  # Lambda prints 100
        (10_368, 144, 2, 1, 216),
        (41_472, 144, 3, 1, 1440),
        (2_048, 64, 2, 1, 96),  # DeepSeek, ISCA'25 Table 3
        (16_384, 64, 2, 8, 768),
        (65_536, 64, 3, 1, 5120),
    ],
)
def test_published_switch_counts(hosts, radix, tiers, planes, switches):
    assert FatTree(hosts=hosts, radix=radix, tiers=tiers, planes=planes).switches == switches


def test_links_and_transceivers():
    assert FatTree(hosts=65_536, radix=64, tiers=3).switch_links == 131_072
    big = FatTree(hosts=131_072, radix=144, tiers=3)
    assert big.switch_side_ends == 655_360  # Lambda: about 655,000
    assert big.transceivers() == 655_360 + 131_072
    assert big.transceivers(twin_ports=True) == 655_360 // 2 + 131_072
    assert FatTree(hosts=131_072, radix=512, tiers=2).capacity == 131_072  # Tomahawk 6 in two tiers


@pytest.mark.parametrize(("tiers", "optical", "watts"), [(2, True, 68), (3, True, 102), (2, False, 34), (3, False, 68)])
def test_watts_of_optics_per_gpu(tiers, optical, watts):
    assert FatTree(hosts=5000, radix=144, tiers=tiers, host_optical=optical).power_per_host() == watts


def test_smallest_fat_tree_just_fits():
    assert smallest_fat_tree(144, 144).tiers == 1
    assert smallest_fat_tree(145, 144).tiers == 2
    assert smallest_fat_tree(10_369, 144).tiers == 3
    assert smallest_fat_tree(1_000_000, 144).tiers == 4


def test_gpus_on_a_floor():
    assert gpus_within_radius(30.0) == pytest.approx(141_000, rel=0.005)


@pytest.mark.parametrize(
    ("field", "value"), [("above", -1), ("switches", 0), ("below", -1), ("gpus_per_tray", 0), ("pitch", 0.0), ("lateral", -0.1)]
)
def test_bad_racks(field, value):
    with pytest.raises(ValueError, match=f"RackStack.{field}"):
        replace(NVL72, **{field: value})


def test_a_rack_needs_trays():
    with pytest.raises(ValueError, match="above"):
        RackStack(above=0, below=0)


@pytest.mark.parametrize(
    ("field", "value"), [("gpus", 0), ("links", 0), ("lanes", -2), ("lane_rate", 0.0), ("radix", 0), ("gpus", 73)]
)
def test_bad_domains(field, value):
    with pytest.raises(ValueError, match=f"ScaleUpDomain.{field}"):
        replace(ScaleUpDomain(), **{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [("hosts", 0), ("radix", 1), ("radix", 63), ("radix", 16), ("tiers", 0), ("tiers", 5), ("planes", 0), ("host_optical", 1)],
)
def test_bad_fat_trees(field, value):
    with pytest.raises(ValueError, match=f"FatTree.{field}"):
        replace(FatTree(hosts=1000, radix=64, tiers=2), **{field: value})


def test_a_radix_too_small_is_named():
    with pytest.raises(ValueError, match="radix must be large enough for 1000000 hosts"):
        smallest_fat_tree(1_000_000, 16)


def test_bad_reach_and_bounds():
    with pytest.raises(ValueError, match="reach"):
        copper_domain(0.0)
    with pytest.raises(ValueError, match="radix"):
        copper_domain(1.0, radix=0)
    with pytest.raises(ValueError, match="given together"):
        copper_domain(1.0, rack_power=1e5)
    with pytest.raises(ValueError, match="rack_width"):
        copper_domain(1.0, rack_width=0.0)
    with pytest.raises(ValueError, match="density"):
        gpus_within_radius(1.0, 0.0)


def test_a_path_across_the_cluster():
    hops = Cluster().path(4071, 88213)
    assert sum(h.medium == "switch" for h in hops) == 5  # three tiers: up over leaf and spine to a core and down again
    assert sum(h.name.count(" to ") for h in hops) == 6
    length, latency, energy = total(hops)
    assert length == 2 * (3 + 50 + 200)
    assert latency == pytest.approx(sum(h.latency for h in hops))
    assert 5 * us < latency < 20 * us
    assert energy == pytest.approx(sum(h.energy or 0 for h in hops), rel=1e-6, abs=0)


def test_a_path_is_the_same_both_ways():
    c = Cluster()
    assert total(c.path(4071, 88213)) == pytest.approx(total(c.path(88213, 4071)))


def test_nearer_costs_less():
    c = Cluster()
    far, spine, inside = (total(c.path(4071, b)) for b in (88213, 4143, 4070))
    assert [c.meeting_tier(4071, b) for b in (88213, 4143, 4070)] == [3, 2, 0]
    assert far[1] > spine[1] > inside[1]
    assert far[2] > spine[2] > inside[2]


def test_leaf_latency_is_the_measured_one():
    """64 bytes below one leaf 2.8 us, across 3.7 us (DeepSeek ISCA'25 Table 5), memory and fibres apart."""
    c = Cluster(domain=8, lengths=(0.0, 0.0, 0.0, 0.0))
    same_leaf, across = (total(c.path(0, b))[1] - 1 * us for b in (40, 4000))
    assert same_leaf == pytest.approx(2.8 * us)
    assert across == pytest.approx(3.7 * us)


@pytest.mark.parametrize(
    ("field", "value"),
    [("gpus", 1), ("domain", 0), ("radix", 1), ("link", "1T"), ("scale_up", "bus"), ("lengths", (1.0,)), ("lengths", [1.0])],
)
def test_bad_clusters(field, value):
    with pytest.raises(ValueError, match=field if field not in ("link", "scale_up") else "unknown interconnect"):
        replace(Cluster(), **{field: value})


@pytest.mark.parametrize(("a", "b", "name"), [(5, 5, "b"), (-1, 5, "a"), (0, 131_072, "b")])
def test_bad_paths(a, b, name):
    with pytest.raises(ValueError, match=rf"path\.{name}"):
        Cluster().path(a, b)
