"""Clusters written for packet and event simulators: ASTRA-sim's analytical network, SimAI's ns-3 topology."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dsp import check
from dsp.units import Gbps, byte, ns
from experiments.platforms import Platform

ASTRA_GB = 2.0**30 * byte
"""What ASTRA-sim's analytical backend reads as GB: 2^30 bytes, in "GB/s" too (astra-network-analytical @599a047)."""
TOPOLOGIES = ("Ring", "Switch", "FullyConnected")


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """A level of a network: ``n`` members, ``bandwidth`` of a member one way [b/s], ``latency`` from member to member [s]."""

    topology: str
    n: int
    bandwidth: float
    latency: float

    def __post_init__(self) -> None:
        check.one_of(self, "topology", self.topology, TOPOLOGIES)
        check.count(self, "n", self.n, 2)
        check.positive(self, "bandwidth", self.bandwidth, "b/s")
        check.not_negative(self, "latency", self.latency, "s")

    @property
    def link_latency(self) -> float:
        """Latency of a link [s]: half where a switch is between, as the backend counts both links."""
        return self.latency / (2 if self.topology == "Switch" else 1)


def astra_yaml(dimensions: Sequence[Dimension]) -> str:
    """The network file of ASTRA-sim's analytical backend, innermost dimension first.

    Bandwidths are divided by 1.0737, as the backend multiplies by 2^30. Use ``active-chunks-per-dimension: 1`` with the
    congestion-unaware backend: 2 would double the bandwidth.
    """
    if not dimensions:
        raise check.fail("astra_yaml", "dimensions", "one or more", dimensions)
    rows = (
        ("topology", [d.topology for d in dimensions], ""),
        ("npus_count", [str(d.n) for d in dimensions], ""),
        ("bandwidth", [f"{d.bandwidth / ASTRA_GB:.6g}" for d in dimensions], "  # GB/s of 2^30 bytes, one way"),
        ("latency", [f"{d.link_latency / ns:.6g}" for d in dimensions], "  # ns, one link"),
    )
    return "".join(f"{key}: [ {', '.join(values)} ]{comment}\n" for key, values, comment in rows)


def read_astra_yaml(text: str) -> tuple[Dimension, ...]:
    """The dimensions of such a file, in SI units. Raises ValueError for missing keys and lists of unlike length."""
    lists: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        key, colon, value = content.partition(":")
        value = value.strip()
        if not colon or not (value.startswith("[") and value.endswith("]")):
            raise ValueError(f"line {number} of the network file must be 'key: [ a, b ]', got {line!r}")
        lists[key.strip()] = [item.strip() for item in value[1:-1].split(",")]
    missing = [key for key in ("topology", "npus_count", "bandwidth", "latency") if key not in lists]
    if missing:
        raise ValueError(f"the network file lacks {', '.join(missing)}")
    if len({len(values) for values in lists.values()}) != 1:
        raise ValueError(f"the lists of the network file must be of one length, got { {k: len(v) for k, v in lists.items()} }")
    rows = zip(lists["topology"], lists["npus_count"], lists["bandwidth"], lists["latency"], strict=True)
    return tuple(
        Dimension(
            topology=kind, n=int(n), bandwidth=float(bandwidth) * ASTRA_GB,
            latency=float(latency) * ns * (2 if kind == "Switch" else 1),
        )
        for kind, n, bandwidth, latency in rows
    )  # fmt: skip


def astra_ring_time(dimension: Dimension, size: float, memory: float | None = None) -> float:
    """What ASTRA-sim takes for a ring all-reduce of ``size`` [bit] in one dimension [s]; ``memory`` [b/s] is read 3 times.

    2(n-1)/n S/B + 3 (n-1)/n S/memory + 2(n-1) hops; agreed with runs within 0.01 ms.
    """
    check.positive("astra_ring_time", "size", size, "bit")
    n = dimension.n
    share = (n - 1) / n * size
    moved = 2 * share / dimension.bandwidth + (0.0 if memory is None else 3 * share / memory)
    return moved + 2 * (n - 1) * dimension.latency


@dataclass(frozen=True, kw_only=True)
class SimLink:
    """A link for ns-3: ``rate`` one way [b/s], ``delay`` [s], ``frame_loss``: probability that a packet arrives broken."""

    rate: float
    delay: float
    frame_loss: float

    def __post_init__(self) -> None:
        check.positive(self, "rate", self.rate, "b/s")
        check.not_negative(self, "delay", self.delay, "s")
        check.between(self, "frame_loss", self.frame_loss, 0, 1)

    @property
    def text(self) -> str:
        """Rate, delay and error rate as the file has them; a loss below what a double can hold is 0."""
        loss = self.frame_loss if self.frame_loss > 1e-300 else 0.0
        return f"{self.rate / Gbps:.9g}Gbps {self.delay / ns:.9g}ns {loss:.6g}"


SIMAI_GPUS = ("A100", "A800", "H100", "H800")


def simai_topology(
    servers: int, gpus_per_server: int, spines: int, scale_up: SimLink, to_leaf: SimLink, to_spine: SimLink, gpu: str = "H100"
) -> str:
    """Topology of SimAI's ns-3: one scale-up switch a server, GPU i of all servers on leaf i, every leaf on every spine.

    First line: nodes, GPUs a server, scale-up switches, switches, links, GPU type; second: ids of all switches; then a link a
    line: source, destination, rate, delay, error rate. SimAI applies the error rate to *packets* (ERROR_UNIT_PACKET in
    common.h @cef83f9), so it takes the simulated frame loss after FEC, not the bit error ratio; 0 means "as in the
    configuration", whose ERROR_RATE_PER_LINK then counts.
    """
    check.count("simai_topology", "servers", servers, 1)
    check.count("simai_topology", "gpus_per_server", gpus_per_server, 1)
    check.count("simai_topology", "spines", spines, 0)
    check.one_of("simai_topology", "gpu", gpu, SIMAI_GPUS)
    if servers > 1 and gpus_per_server > 1 and spines == 0:
        raise check.fail("simai_topology", "spines", "1 or more, or the leaves are not joined", spines)
    gpus, leaves = servers * gpus_per_server, gpus_per_server
    switch, leaf = gpus, gpus + servers
    spine = leaf + leaves
    links = [f"{g} {switch + g // gpus_per_server} {scale_up.text}" for g in range(gpus)]
    links += [f"{g} {leaf + g % gpus_per_server} {to_leaf.text}" for g in range(gpus)]
    links += [f"{leaf + i} {spine + j} {to_spine.text}" for i in range(leaves) for j in range(spines)]
    head = f"{spine + spines} {gpus_per_server} {servers} {leaves + spines} {len(links)} {gpu}"
    return "\n".join([head, " ".join(map(str, range(gpus, spine + spines))), *links]) + "\n"


def simai_flags(platform: Platform) -> str:
    """Flags of SimAI's analytical mode: usable bandwidth one way in GB/s of the scale-up port and the NIC, NICs a server."""
    up, nic = platform.up / (1e9 * byte), platform.nic_usable / (1e9 * byte)
    return f"-nv {up:.6g} -nic {nic:.6g} -n_p_s {platform.domain} -g_p_s {platform.domain}"
