"""Files for other simulators: units, round trip, and what those simulators made of them."""

from dataclasses import replace

import pytest

from dsp.units import GB, TB, Gbps, byte, ms, ns
from experiments.exports import (
    Dimension,
    SimLink,
    astra_ring_time,
    astra_yaml,
    read_astra_yaml,
    simai_flags,
    simai_topology,
)
from experiments.platforms import platform

RING8 = Dimension(topology="Ring", n=8, bandwidth=370.8 * GB, latency=0.0)
FOUR_GIB = 4 * 2**30 * byte
NAIVE = "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 370.8 ]  # GB/s\nlatency: [ 0 ]  # ns\n"


def test_what_the_backend_makes_of_a_plain_number():
    """370.8 written as it is: 18.88 ms of wires and 3.37 ms of memory, 22.26 to 22.27 ms seen."""
    (read,) = read_astra_yaml(NAIVE)
    assert astra_ring_time(read, FOUR_GIB) / ms == pytest.approx(18.88, abs=0.005)
    both = astra_ring_time(read, FOUR_GIB, 3.35 * TB) / ms
    assert both - 18.88 == pytest.approx(3.37, abs=0.01)
    assert both == pytest.approx(22.265, abs=0.03)


def test_the_export_gives_the_true_time():
    (read,) = read_astra_yaml(astra_yaml([RING8]))
    assert read.bandwidth == pytest.approx(370.8 * GB, rel=1e-5)
    assert astra_ring_time(read, FOUR_GIB) == pytest.approx(2 * 7 / 8 * FOUR_GIB / (370.8 * GB), rel=1e-5)
    assert "345.3" in astra_yaml([RING8])  # 370.8 / 1.0737


def test_round_trip_of_several_dimensions():
    dimensions = (
        Dimension(topology="Switch", n=72, bandwidth=721.8 * GB, latency=1900 * ns),
        Dimension(topology="FullyConnected", n=4, bandwidth=48 * GB, latency=4000 * ns),
        RING8,
    )
    text = astra_yaml(dimensions)
    assert "topology: [ Switch, FullyConnected, Ring ]" in text
    assert "latency: [ 950, 4000, 0 ]" in text  # a switch is crossed by two links
    for written, read in zip(dimensions, read_astra_yaml(text), strict=True):
        assert (read.topology, read.n) == (written.topology, written.n)
        assert read.bandwidth == pytest.approx(written.bandwidth, rel=1e-5)
        assert read.latency == pytest.approx(written.latency)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("topology: Ring\n", "line 1"),
        ("topology: [ Ring ]\nnpus_count: [ 8 ]\n", "lacks bandwidth, latency"),
        (NAIVE.replace("[ 8 ]", "[ 8, 2 ]"), "one length"),
        (NAIVE.replace("Ring", "Torus"), "topology"),
    ],
)
def test_bad_network_files(text, match):
    with pytest.raises(ValueError, match=match):
        read_astra_yaml(text)


COPPER = SimLink(rate=2966.4 * Gbps, delay=25 * ns, frame_loss=7.3e-18)
OPTICAL = SimLink(rate=400 * Gbps, delay=500 * ns, frame_loss=3.3e-11)


def test_simai_topology_is_consistent():
    """Head: nodes, GPUs a server, scale-up switches, switches, links, type; then switch ids; then the links."""
    lines = simai_topology(4, 8, 6, COPPER, OPTICAL, OPTICAL, "H800").splitlines()
    nodes, per_server, scale_up, switches, links, kind = lines[0].split()
    ids = [int(x) for x in lines[1].split()]
    assert (int(per_server), int(scale_up), int(switches), kind) == (8, 4, 14, "H800")
    assert int(nodes) == 32 + 4 + 8 + 6
    assert ids == list(range(32, int(nodes)))
    assert len(lines) == 2 + int(links)
    degree = dict.fromkeys(range(int(nodes)), 0)
    for line in lines[2:]:
        source, target, rate, delay, loss = line.split()
        assert int(source) < int(target)
        assert rate.endswith("Gbps")
        assert delay.endswith("ns")
        assert float(loss) in (COPPER.frame_loss, OPTICAL.frame_loss)
        degree[int(source)] += 1
        degree[int(target)] += 1
    assert all(degree[g] == 2 for g in range(32))  # a scale-up switch and a leaf
    assert all(degree[s] == 8 for s in range(32, 36))
    assert all(degree[leaf] == 4 + 6 for leaf in range(36, 44))
    assert all(degree[spine] == 8 for spine in range(44, 50))


def test_gpus_of_a_rail_share_a_leaf():
    lines = [line.split() for line in simai_topology(2, 4, 1, COPPER, OPTICAL, OPTICAL).splitlines()[2:]]
    leaf = {int(a): int(b) for a, b, rate, *_ in lines if rate == "400Gbps" and int(a) < 8}
    assert [leaf[g] for g in range(4)] == [leaf[g + 4] for g in range(4)]
    assert len(set(leaf.values())) == 4


def test_losses_below_what_a_reader_can_hold_are_zero():
    assert replace(COPPER, frame_loss=1e-310).text.endswith(" 0")
    assert replace(COPPER, frame_loss=1e-66).text.endswith(" 1e-66")


def test_flags():
    assert simai_flags(platform("H100")) == "-nv 370.8 -nic 48 -n_p_s 8 -g_p_s 8"


@pytest.mark.parametrize(("field", "value"), [("topology", "Mesh"), ("n", 1), ("bandwidth", 0.0), ("latency", -1.0)])
def test_bad_dimensions(field, value):
    with pytest.raises(ValueError, match=f"Dimension.{field}"):
        replace(RING8, **{field: value})


@pytest.mark.parametrize(("field", "value"), [("rate", 0.0), ("delay", -1.0), ("frame_loss", 1.5)])
def test_bad_links(field, value):
    with pytest.raises(ValueError, match=f"SimLink.{field}"):
        replace(COPPER, **{field: value})


@pytest.mark.parametrize(
    ("arguments", "match"),
    [((0, 8, 1), "servers"), ((2, 0, 1), "gpus_per_server"), ((2, 8, -1), "spines"), ((2, 8, 0), "not joined")],
)
def test_bad_topologies(arguments, match):
    with pytest.raises(ValueError, match=match):
        simai_topology(*arguments, COPPER, OPTICAL, OPTICAL)
    with pytest.raises(ValueError, match="gpu"):
        simai_topology(2, 8, 1, COPPER, OPTICAL, OPTICAL, "B200")


def test_more_bad_input():
    with pytest.raises(ValueError, match="dimensions"):
        astra_yaml([])
    with pytest.raises(ValueError, match="size"):
        astra_ring_time(RING8, 0)
