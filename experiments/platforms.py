"""GPUs and their links as a collective sees them, and the constants that NCCL publishes in its source.

Bandwidths are one way [b/s]. Marks in the sources: [P] primary, [S] secondary, [D] derived here, [E] estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from dsp import check
from dsp.units import GB, TB, us


@dataclass(frozen=True, kw_only=True)
class Platform:
    """One kind of GPU in a cluster.

    ``line`` [b/s] is the scale-up port one way by the data sheet, ``up`` what NCCL counts on; ``nic`` the line rate of the
    scale-out port of one GPU and ``nic_usable`` what it gives; ``domain`` GPUs share a switch. ``flops`` [1/s] dense bf16;
    ``memory`` [b/s]. ``in_switch``: NCCL's efficiency of reduction in the switch, or None where the switch has none.
    """

    name: str
    domain: int
    line: float
    up: float
    nic: float
    nic_usable: float
    flops: float
    memory: float
    in_switch: float | None
    source: str

    def __post_init__(self) -> None:
        check.count(self, "domain", self.domain, 1)
        for field in ("line", "up", "nic", "nic_usable", "memory"):
            check.positive(self, field, getattr(self, field), "b/s")
        check.positive(self, "flops", self.flops, "1/s")
        for part, whole in (("up", "line"), ("nic_usable", "nic")):
            if getattr(self, part) > getattr(self, whole):
                raise check.fail(self, part, f"at most {whole}", getattr(self, part))
        if self.in_switch is not None:
            check.between(self, "in_switch", self.in_switch, 1e-3, 1)


NIC_EFFICIENCY = 48 / 50
"""Usable share of a 400G port: 46 to 48 of 50 GB/s, NVIDIA staff in NVIDIA/nccl-tests issue 290 [P]."""
_NCCL = "NCCL 5067397: rates per NVLink in topo.h, efficiencies in tuning.cc [P]; port, memory and FLOP/s from data sheets [S]"


def _platform(name: str, domain: int, line: float, links: int, per_link: float, nic: float, flops: float, memory: float,
              in_switch: float | None) -> Platform:  # fmt: skip
    return Platform(
        name=name, domain=domain, line=line * GB, up=links * per_link * GB, nic=nic * GB, nic_usable=nic * NIC_EFFICIENCY * GB,
        flops=flops, memory=memory * TB, in_switch=in_switch, source=_NCCL,
    )  # fmt: skip


PLATFORMS: MappingProxyType[str, Platform] = MappingProxyType({
    p.name: p
    for p in (
        _platform("A100", 8, 300, 12, 20.0, 25, 312e12, 2.0, None),
        _platform("H100", 8, 450, 18, 20.6, 50, 989e12, 3.35, 0.85),
        _platform("H200", 8, 450, 18, 20.6, 50, 989e12, 4.8, 0.85),
        _platform("B200", 8, 900, 18, 40.1, 50, 2250e12, 8.0, 0.74),
        _platform("GB200", 72, 900, 18, 40.1, 50, 2500e12, 8.0, 0.74),
    )
})  # fmt: skip
"""A100 with one 200G port each, the others with 400G, as in the measured clusters."""

UP_EFFICIENCY = 40.1 / 50
"""Usable share of an NVLink 5 port: 40.1 GB/s counted of 50, NCCL topo.h @5067397 [P]."""


def platform(name: str) -> Platform:
    """The platform called ``name``; raises ValueError with the valid names."""
    key = name.strip().upper()
    if key not in PLATFORMS:
        raise ValueError(f"unknown platform {name!r}, known are {', '.join(PLATFORMS)}")
    return PLATFORMS[key]


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How NCCL moves a ring step.

    ``hop`` inside the scale-up domain and ``network_hop`` across the network [s]; ``share`` of a transfer that is data;
    ``start`` [s] of the collective.
    """

    name: str
    hop: float
    network_hop: float
    share: float
    start: float

    def __post_init__(self) -> None:
        for field in ("hop", "network_hop", "start"):
            check.not_negative(self, field, getattr(self, field), "s")
        check.between(self, "share", self.share, 1e-3, 1)


RING_PROTOCOLS = (
    Protocol(name="LL", hop=0.6 * us, network_hop=2.7 * us, share=0.5, start=6.6 * us),
    Protocol(name="LL128", hop=1.9 * us, network_hop=4.0 * us, share=0.92, start=14.0 * us),
    Protocol(name="Simple", hop=3.4 * us, network_hop=14.0 * us, share=1.0, start=8.4 * us),
)
"""Ring protocols, NCCL src/graph/tuning.cc @5067397 [P]: hwLatencies, baseLatencies, and the shares in ncclTopoTuneModel."""
HOP, NETWORK_HOP = RING_PROTOCOLS[1].hop, RING_PROTOCOLS[1].network_hop
"""Hop of a ring with LL128 [s]: in the domain, across the network."""
TREE_HOP = 8.5 * us
"""Hop of a tree across the network with LL128 [s], same source."""
TREE_SHARE = 0.92
"""What a tree reaches of the bandwidth, same source."""
IN_SWITCH_HOP = 25.0 * us
"""All of a reduction in the scale-up switch [s], same source (NVLS, Simple)."""
IN_NETWORK_HOP = 18.0 * us
"""What a reduction in the network adds [s], same source (NVLS across nodes)."""
