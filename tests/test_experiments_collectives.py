"""Times of collectives: limits, identities, and 23 public measurements."""

from dataclasses import replace

import numpy as np
import pytest

from dsp.units import GB, us
from experiments import collectives as c
from experiments.measurements import (
    MEASURED,
    SWEEPS,
    in_switch_efficiency,
    mean_error,
    plateau,
    point,
    racks_by_tree,
    with_latency,
)
from experiments.platforms import PLATFORMS, RING_PROTOCOLS, platform
from experiments.step_time import gradient_size

SIZE = gradient_size(70e9)
H100, B200, GB200 = platform("H100"), platform("B200"), platform("GB200")


def test_the_worked_example():
    assert float(c.bus_factor("all-reduce", 1024)) * SIZE / GB == pytest.approx(279.7266, abs=5e-5)
    assert float(c.ring("all-reduce", SIZE, 1024, 50 * GB)) == pytest.approx(5.5945, abs=5e-5)
    assert float(c.in_switch_all_reduce(SIZE, 1024, 50 * GB)) == pytest.approx(2.80, abs=0.005)
    rails = [float(c.multirail_ring("all-reduce", SIZE, 1024, p.domain, p.up, p.nic_usable)) for p in (H100, B200, GB200)]
    assert rails == pytest.approx([0.754, 0.728, 0.388], abs=6e-4)
    staged = [float(c.hierarchical_all_reduce(SIZE, 1024, 8, H100.up, H100.nic_usable, overlapped=o)) for o in (True, False)]
    assert staged == pytest.approx([0.72, 1.38], abs=0.005)


def test_an_all_reduce_is_scatter_and_gather():
    n = np.arange(2, 50)
    parts = c.ring("reduce-scatter", SIZE, n, GB, us) + c.ring("all-gather", SIZE, n, GB, us)
    assert c.ring("all-reduce", SIZE, n, GB, us) == pytest.approx(parts)


def test_one_gpu_has_nothing_to_send():
    for way in (
        c.ring("all-reduce", SIZE, 1, GB, us), c.tree_all_reduce(SIZE, 1, GB, us), c.in_switch_all_reduce(SIZE, 1, GB, us),
        c.multirail_ring("all-reduce", SIZE, 1, 8, GB, GB, us), c.hierarchical_all_reduce(SIZE, 1, 8, GB, GB, hop=us),
        c.all_to_all(SIZE, 1, 8, GB, GB, us),
    ):  # fmt: skip
        assert float(way) == 0.0


def test_gain_of_the_switch():
    """2(n-1)/(n+1) over a ring: 1.56 at 8, 1.95 at 72."""
    n = np.array([8, 72])
    gain = c.ring("all-reduce", SIZE, n, GB) / c.in_switch_all_reduce(SIZE, n, GB)
    assert gain == pytest.approx([1.56, 1.95], abs=0.006)


def test_rings_of_many_approach_twice_the_size():
    assert float(c.ring("all-reduce", SIZE, 10**7, GB)) == pytest.approx(2 * SIZE / GB, rel=1e-6)
    assert float(c.ring("all-gather", SIZE, 10**7, GB)) == pytest.approx(SIZE / GB, rel=1e-6)


def test_latency_grows_with_n_and_with_its_logarithm():
    tiny, n = 1e-9, np.array([2**10, 2**20])
    around = c.ring("all-reduce", tiny, n, GB, us)
    tree = c.tree_all_reduce(tiny, n, GB, us)
    assert around[1] / around[0] == pytest.approx(2**10, rel=1e-3)
    assert tree[1] / tree[0] == pytest.approx(2, rel=1e-3)


def test_hops_between_nodes_are_counted_once_a_node():
    mixed = float(c.ring("all-reduce", 1e-9, 64, GB, 1 * us, 8, 10 * us))
    assert mixed == pytest.approx((2 * 56 * 1 + 2 * 7 * 10) * us)


def test_a_multirail_ring_is_a_plain_one_inside_a_domain():
    inside = c.multirail_ring("all-reduce", SIZE, 8, 8, H100.up, H100.nic_usable, us)
    assert float(inside) == pytest.approx(float(c.ring("all-reduce", SIZE, 8, H100.up, us)))
    alone = c.multirail_ring("all-reduce", SIZE, 64, 1, H100.up, H100.nic_usable)
    assert float(alone) == pytest.approx(float(c.ring("all-reduce", SIZE, 64, H100.nic_usable)))


def test_two_stages_of_one_domain_are_a_ring():
    inside = c.hierarchical_all_reduce(SIZE, 8, 8, H100.up, H100.nic_usable, hop=us)
    assert float(inside) == pytest.approx(float(c.ring("all-reduce", SIZE, 8, H100.up, us)))


def test_stages_in_turn_take_longer():
    n = np.array([16, 128, 4096])
    over, turn = (c.hierarchical_all_reduce(SIZE, n, 8, H100.up, H100.nic_usable, overlapped=o) for o in (True, False))
    assert np.all(over < turn)
    assert np.all(turn <= 2 * over)


def test_all_to_all_leaves_the_domain_by_one_nic():
    """DeepEP: dispatch bandwidth nic/(1-1/k)."""
    for k, expected in ((2, 96), (4, 64)):
        time_taken = float(c.all_to_all(SIZE, 8 * k, 8, H100.up, H100.nic_usable))
        assert SIZE / time_taken / GB == pytest.approx(expected)


def test_the_smallest_domain_holds_up_the_rest():
    """Nine GPUs in domains of eight are five and four: four ports for all that the ring moves, not eight."""
    size, up, g = 8e9, 4e11, [9, 11, 13, 15]
    nic = up / 8
    assert c.smallest_domain([1, 8, 9, 16, 23], 8).tolist() == [1, 8, 4, 8, 7]
    assert float(c.multirail_ring("all-reduce", size, 9, 8, up, nic)) == pytest.approx(2 * 8 / 9 * size / (4 * nic))
    assert float(c.all_to_all(size, 9, 8, up, nic)) == pytest.approx(5 / 9 * size / nic)
    assert float(c.hierarchical_all_reduce(size, 9, 8, up, nic)) == pytest.approx(size / (4 * nic))
    full = c.hierarchical_all_reduce(size, 16, 8, up, nic / 4, in_network=True)
    assert np.all(c.hierarchical_all_reduce(size, g, 8, up, nic / 4, in_network=True) > full)
    assert np.all(
        c.multirail_ring("all-reduce", size, g, 8, up, nic / 4) > c.multirail_ring("all-reduce", size, 16, 8, up, nic / 4)
    )
    assert np.all(c.all_to_all(size, g, 8, up, nic) > c.all_to_all(size, 16, 8, up, nic))


def test_nobody_to_tell():
    assert float(c.ring("broadcast", SIZE, 1, GB)) == float(c.ring("reduce", SIZE, 1, GB, us)) == 0.0


def test_latency_of_a_switch_is_two_hops():
    """Up to it and down from it; at a size of next to nothing that is all there is."""
    assert float(c.in_switch_all_reduce(1e-9, 72, GB, us)) == pytest.approx(2 * us)
    inside = c.hierarchical_all_reduce(1e-9, 144, 72, GB, GB, hop=us, network_hop=10 * us, in_switch=1.0, in_network=True)
    assert float(inside) == pytest.approx(22 * us)


def test_bus_bandwidth_undoes_the_time():
    for kind in c.COLLECTIVES:
        factor = float(c.bus_factor(kind, 16))
        assert float(c.bus_bandwidth(kind, SIZE, 16, factor * SIZE / GB)) == pytest.approx(GB)


def test_nccl_takes_the_quickest_protocol():
    small, large = c.nccl_ring("all-reduce", 1e4, 8, 1, H100.up)[1], c.nccl_ring("all-reduce", SIZE, 8, 1, H100.up)[1]
    assert (small, large) == ("LL", "Simple")
    assert c.nccl_ring("all-reduce", SIZE / 10, 1440, 20, GB200.up)[1] == "LL128"
    assert {p.name for p in RING_PROTOCOLS} == {"LL", "LL128", "Simple"}


def test_retries():
    assert c.with_retries(GB, 0.0) == GB
    assert c.with_retries(GB, 0.25) == pytest.approx(0.75 * GB)
    assert c.with_retries(GB, 1e-3, 1000) < c.with_retries(GB, 1e-3)
    assert c.with_retries(GB, 1.0) == 0
    assert c.any_retry(1e-15, 2.3e15) == pytest.approx(1 - np.exp(-2.3), rel=1e-6)
    assert c.any_retry(1e-12, 5) == pytest.approx(5e-12, rel=1e-6, abs=0)
    assert c.any_retry(1.0, 3) == 1
    assert c.any_retry(1.0, 0) == 0


def test_bit_errors_of_a_step():
    """1e-15 and 280 GB on each of 1,024 GPUs: about two errors a step."""
    assert 1e-15 * float(c.bus_factor("all-reduce", 1024)) * SIZE * 1024 == pytest.approx(2.3, abs=0.02)


def test_23_measurements():
    errors = {m.point: plateau(m) / m.busbw - 1 for m in MEASURED}
    assert len(errors) == 23
    aside = [m.point for m in MEASURED if m.aside]
    assert aside == ["A18", "A22", "A23"]
    kept = [e for name, e in errors.items() if name not in aside]
    assert 100 * mean_error(list(errors.values())) == pytest.approx(7.3, abs=0.05)
    assert 100 * mean_error(kept) == pytest.approx(2.8, abs=0.05)
    assert 100 * max(map(abs, kept)) == pytest.approx(6.7, abs=0.05)
    misses = [100 * errors[name] for name in aside]
    assert misses == pytest.approx([22.7, -12.0, 77.9], abs=0.06)


def test_published_latencies_bring_the_model_closer():
    errors = {m.point: with_latency(m)[0] / m.busbw - 1 for m in MEASURED}
    kept = [e for name, e in errors.items() if not point(name).aside]
    assert mean_error(list(errors.values())) < 0.061
    assert mean_error(kept) < 0.0281
    assert errors["A23"] < 0.5
    assert with_latency(point("A23"))[1] == "LL128"


def test_one_efficiency_joins_two_misses():
    """The efficiency that one rack shows predicts two racks, reduced in their switches and joined by a tree."""
    efficiency = in_switch_efficiency(point("A18"))
    assert efficiency == pytest.approx(0.603, abs=1e-3)
    assert abs(racks_by_tree(point("A22"), efficiency) / point("A22").busbw - 1) < 0.04


def test_sweeps_end_at_their_points():
    for sweep in SWEEPS:
        m = point(sweep.like)
        last = float(c.bus_bandwidth(m.collective, sweep.sizes[-1], m.ranks, sweep.times[-1]))
        assert last == pytest.approx(m.busbw, rel=0.02)


def test_a_million_gpus():
    """Full domains take longer the more there are; one GPU short of the last takes a little longer than that."""
    n = 72 * np.unique(np.round(np.geomspace(2, 1e6 / 72, 1000)).astype(int))
    full, short = (c.multirail_ring("all-reduce", SIZE, k, 72, GB200.up, GB200.nic_usable, us) for k in (n, n - 1))
    assert np.all(np.diff(full) > 0)
    assert short == pytest.approx(full * 72 / 71, rel=0.02)


@pytest.mark.parametrize("n", [0, -3, 2.5, [], "8", [8, 0], float("nan")])
def test_bad_counts(n):
    with pytest.raises(ValueError, match=r"\.n must"):
        c.ring("all-reduce", SIZE, n, GB)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: c.ring("all-reduce", 0, 8, GB), "size"),
        (lambda: c.ring("all-reduce", SIZE, 8, -GB), "bandwidth"),
        (lambda: c.ring("all-reduce", SIZE, 8, GB, -1.0), "hop"),
        (lambda: c.ring("all-reduce", SIZE, 8, GB, us, 9), "nodes"),
        (lambda: c.ring("all-reduce", SIZE, 8, GB, 0.0, 2, -1.0), "network_hop"),
        (lambda: c.tree_all_reduce(SIZE, 8, GB, -1.0), "hop"),
        (lambda: c.in_switch_all_reduce(SIZE, 8, GB, -1.0), "hop"),
        (lambda: c.multirail_ring("all-reduce", SIZE, 16, 8, GB, GB, -1.0), "hop"),
        (lambda: c.multirail_ring("all-reduce", SIZE, 16, 8, GB, GB, 0.0, -1.0), "network_hop"),
        (lambda: c.hierarchical_all_reduce(SIZE, 16, 8, GB, GB, hop=-1.0), "hop"),
        (lambda: c.hierarchical_all_reduce(SIZE, 16, 8, GB, GB, network_hop=-1.0), "network_hop"),
        (lambda: c.hierarchical_all_reduce(SIZE, 16, 8, GB, 0.0), "hierarchical_all_reduce.nic"),
        (lambda: c.hierarchical_all_reduce(SIZE, 4, 8, -GB, GB), "hierarchical_all_reduce.up"),
        (lambda: c.all_to_all(SIZE, 16, 8, GB, GB, -1.0), "hop"),
        (lambda: c.ring("gossip", SIZE, 8, GB), "collective"),
        (lambda: c.in_switch_all_reduce(SIZE, 8, GB, 0.0, 1.1), "efficiency"),
        (lambda: c.tree_all_reduce(SIZE, 8, GB, 0.0, 0.0), "share"),
        (lambda: c.multirail_ring("all-reduce", SIZE, 8, 0, GB, GB), "domain"),
        (lambda: c.multirail_ring("all-reduce", SIZE, 8, 8, GB, 0.0), "nic"),
        (lambda: c.all_to_all(SIZE, 8, 8, 0.0, GB), "up"),
        (lambda: c.bus_bandwidth("all-reduce", SIZE, 8, 0.0), "time"),
        (lambda: c.with_retries(0.0, 0.1), "bandwidth"),
        (lambda: c.with_retries(GB, 1.1), "frame_loss"),
        (lambda: c.with_retries(GB, 0.1, 0), "window"),
        (lambda: c.any_retry(-0.1, 1), "frame_loss"),
        (lambda: c.any_retry(0.1, -1), "frames"),
        (lambda: c.nccl_ring("all-reduce", SIZE, 1, 1, GB), "n must"),
        (lambda: platform("TPU"), "unknown platform"),
        (lambda: point("A24"), "unknown point"),
        (lambda: mean_error([]), "one error"),
    ],
)
def test_bad_input(call, match):
    with pytest.raises(ValueError, match=match):
        call()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("domain", 0), ("line", 0.0), ("up", -1.0), ("up", 1e15), ("nic", 0.0), ("nic_usable", 1e15), ("flops", 0.0),
        ("memory", 0.0), ("in_switch", 0.0),
    ],
)  # fmt: skip
def test_bad_platforms(field, value):
    with pytest.raises(ValueError, match=f"Platform.{field}"):
        replace(PLATFORMS["H100"], **{field: value})


@pytest.mark.parametrize(("field", "value"), [("hop", -1.0), ("network_hop", -1.0), ("share", 0.0), ("start", -1.0)])
def test_bad_protocols(field, value):
    with pytest.raises(ValueError, match=f"Protocol.{field}"):
        replace(RING_PROTOCOLS[0], **{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [("collective", "gossip"), ("algorithm", "magic"), ("ranks", 1), ("domain", 0), ("size", 0.0), ("busbw", 0.0)],
)
def test_bad_measurements(field, value):
    with pytest.raises(ValueError, match=f"Measured.{field}"):
        replace(MEASURED[0], **{field: value})
