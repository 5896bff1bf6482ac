"""Ways to join GPUs for an all-reduce, from the wire up: lane rate, simulated reach, domain, bandwidth, time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.units import km, ns
from experiments.cluster import copper_domain, gpus_within_radius
from experiments.collectives import hierarchical_all_reduce, multirail_ring, nodes_of, ring, smallest_domain, tree_all_reduce
from experiments.exports import Dimension, SimLink, astra_yaml, simai_flags, simai_topology
from experiments.interconnects import RATES
from experiments.optical_reach import MARGIN_DB, optical_bit_error_ratio, optical_frame_loss, optical_reach
from experiments.platforms import HOP, IN_NETWORK_HOP, IN_SWITCH_HOP, NETWORK_HOP, TREE_HOP, UP_EFFICIENCY, Platform
from experiments.simulated_reach import copper_reach, post_fec
from experiments.tiers import LANES_PER_GPU

OPTICAL_RADIX = 512
"""Ports of 200G of the largest switch sold, 102.4 Tb/s (gazettabyte 2025-06 [S]): what bounds a domain once light joins it."""


@dataclass(frozen=True, kw_only=True)
class System:
    """A way to join GPUs: ``time(size, n)`` of an all-reduce [s]."""

    name: str
    time: Callable[[float, np.ndarray], np.ndarray]
    basis: str


@dataclass(frozen=True, kw_only=True)
class Wire:
    """What the lane rate and its simulated reach make of a scale-up domain."""

    rate: str
    reach: float
    binding: str
    domain: int
    up: float


def wire(rate: str = "224G", radix: int = 72) -> Wire:
    """Simulate the copper of ``rate``; the domain is bound by its reach and by a switch of ``radix`` ports."""
    found = copper_reach(rate)
    domain = copper_domain(found.length, radix=radix)
    return Wire(
        rate=found.rate, reach=found.length, binding=found.binding, domain=max(1, domain.gpus),
        up=LANES_PER_GPU * found.payload * UP_EFFICIENCY,
    )  # fmt: skip


def systems(w: Wire, gpu: Platform) -> tuple[System, ...]:
    """The ways compared, with the same GPU, lanes and NIC; multirail ones the quicker of ring and tree, as NCCL picks."""
    nic, up, efficiency = gpu.nic_usable, w.up, gpu.in_switch or 1.0

    def rails(domain: int) -> Callable[[float, np.ndarray], np.ndarray]:
        def time(size: float, n: np.ndarray) -> np.ndarray:
            k = nodes_of(n, domain)
            around = multirail_ring("all-reduce", size, n, domain, up, nic, HOP, NETWORK_HOP)
            inside = 2 * (np.minimum(n, domain) - 1) * HOP
            tree = inside + tree_all_reduce(size, k, np.minimum(up, smallest_domain(n, domain) * nic), TREE_HOP)
            return np.where(k > 1, np.minimum(around, tree), around)

        return time

    def in_network(domain: int) -> Callable[[float, np.ndarray], np.ndarray]:
        return lambda size, n: hierarchical_all_reduce(
            size,
            n,
            domain,
            up,
            nic,
            hop=IN_SWITCH_HOP / 2,
            network_hop=IN_NETWORK_HOP / 2,
            in_switch=efficiency,
            in_network=True,
        )

    ways = (
        System(name="flat ring, one NIC per GPU", basis="every hop by the NIC",
               time=lambda size, n: ring("all-reduce", size, n, gpu.nic, NETWORK_HOP)),
        System(name="8 GPUs a node, 8 rails", time=rails(8), basis="scale-up in the node"),
        System(name=f"copper domain of {w.domain}", time=rails(w.domain), basis=f"simulated reach {w.reach:.2f} m"),
        System(name="the same, sums in the switches", time=in_network(w.domain), basis="in-switch and in-network reduction"),
    )  # fmt: skip
    if w.rate not in RATES:
        return ways
    reach, domain = optical_domain(w.rate)
    basis = f"simulated reach {reach / km:.2g} km, so the {OPTICAL_RADIX} ports of a switch bound it"
    return (*ways, System(name=f"co-packaged optics, {domain}", time=in_network(domain), basis=basis))


def optical_domain(rate: str) -> tuple[float, int]:
    """Reach [m] of co-packaged lanes of ``rate`` (50G, 100G, 200G), and the GPUs that they join in one tier of switches."""
    check.one_of("optical_domain", "rate", rate, tuple(RATES))
    reach = optical_reach(RATES[rate], "CPO", 4.0).length
    return reach, min(OPTICAL_RADIX, gpus_within_radius(reach))


DR4 = "112G"
"""Lanes of the modules between domains."""
COPPER_MARGIN_DB = 3.0
"""Margin taken as used up where a copper link's errors are handed on: the link at the edge of its specification."""


def exports(w: Wire, gpu: Platform, domains: int = 16, servers: int = 16) -> dict[str, str]:
    """The cluster of this wire as files for ASTRA-sim (``domains`` of it) and SimAI (``servers`` of 8 GPUs), by file name.

    Links carry the simulated frame loss after KP4 at their reach with the margin used up: the copper of the wire, and the
    lanes of 400G DR4 modules for the network.
    """
    yaml = astra_yaml((
        Dimension(topology="Switch", n=max(2, w.domain), bandwidth=w.up, latency=HOP),
        Dimension(topology="Switch", n=domains, bandwidth=gpu.nic_usable, latency=NETWORK_HOP),
    ))  # fmt: skip
    copper = post_fec(w.rate, w.reach, spent_margin_db=COPPER_MARGIN_DB)
    far = optical_reach(DR4)
    optical = optical_frame_loss(optical_bit_error_ratio(DR4, far.length, spent_margin_db=MARGIN_DB), copper.octets)
    topology = simai_topology(
        servers, 8, 8,
        scale_up=SimLink(rate=w.up, delay=25 * ns, frame_loss=copper.frame_loss),
        to_leaf=SimLink(rate=gpu.nic, delay=500 * ns, frame_loss=optical),
        to_spine=SimLink(rate=gpu.nic, delay=500 * ns, frame_loss=optical),
    )  # fmt: skip
    return {"astra_network.yml": yaml, "simai_topology.txt": topology, "simai_flags.txt": simai_flags(gpu) + "\n"}
