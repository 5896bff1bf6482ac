"""From one GPU to another through a cluster, hop by hop: latency and energy summed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dsp import check
from dsp.units import W, m, ns, pJ, us
from experiments.cluster import FatTree, smallest_fat_tree
from experiments.interconnects import FIBRE_DELAY, interconnect

SWITCH_LATENCY = (3.7 - 2.8) / 2 * us
"""A switch with its links [s]: 64 B took 2.8 us below one leaf, 3.7 us across, DeepSeek ISCA'25 Table 5 [S]; derived."""
END_LATENCY = 2.8 * us - SWITCH_LATENCY
"""Both NICs and their software [s]: what is left of the 2.8 us below one leaf; derived."""
SCALE_UP_LATENCY = 3.33 * us
"""64 B by NVLink [s], same table [S]."""
SWITCH_ENERGY = (7000 * W - 144 * 17 * W) / 115.2e12 - 10 * pJ
"""A switch without modules and without its lanes' circuits, which the links count [J/bit]: 29.5 pJ/bit.

7.0 kW of a 115.2 Tb/s switch with its 144 pluggables of 17 W (Lambda, mirrored [S]); that 7.0 kW holds the pluggables is
our reading, from "21 W saved per port"; derived.
"""
MEMORY_ENERGY = 6 * pJ
MEMORY_LATENCY = 500 * ns
"""A read or write of HBM [J/bit], [s]: estimates."""
LENGTHS = (3 * m, 50 * m, 200 * m, 500 * m)
"""Links from a host to its leaf, from leaf to spine, spine to core, and above [m]: estimates."""


@dataclass(frozen=True, kw_only=True)
class Hop:
    """One step of a path: ``length`` [m], ``latency`` [s], ``energy`` [J/bit] or None where no number was found."""

    name: str
    medium: str
    length: float
    latency: float
    energy: float | None
    basis: str


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """GPUs numbered from 0, ``domain`` of them in a row behind one tier of scale-up switches, all in one fat tree.

    ``radix`` of the scale-out switches, ``lengths`` [m] of the links by tier, ``link`` their kind, ``scale_up`` that inside.
    """

    gpus: int = 131_072
    domain: int = 72
    radix: int = 144
    link: str = "800G 2xDR4"
    scale_up: str = "NVLink 5"
    lengths: tuple[float, ...] = LENGTHS

    def __post_init__(self) -> None:
        check.count(self, "gpus", self.gpus, 2)
        check.count(self, "domain", self.domain, 1)
        check.count(self, "radix", self.radix, 2)
        interconnect(self.link)
        interconnect(self.scale_up)
        check.numbers(self, "lengths", self.lengths, 1)
        for i, length in enumerate(self.lengths):
            check.not_negative(self, f"lengths[{i}]", length, "m")
        if len(self.lengths) < self.network.tiers:
            raise check.fail(self, "lengths", f"one for each of {self.network.tiers} tiers", self.lengths)

    @property
    def network(self) -> FatTree:
        """The fat tree of fewest tiers that holds all GPUs."""
        return smallest_fat_tree(self.gpus, self.radix)

    def meeting_tier(self, a: int, b: int) -> int:
        """The tier whose switch is the first above both GPUs: 1 is a leaf; 0 for two of one scale-up domain."""
        for field, gpu in (("a", a), ("b", b)):
            check.count("Cluster.path", field, gpu, 0, self.gpus - 1)
        if a == b:
            raise check.fail("Cluster.path", "b", "another GPU than a", b)
        if a // self.domain == b // self.domain:
            return 0
        half = self.radix // 2
        for tier in range(1, self.network.tiers):
            if a // half**tier == b // half**tier:
                return tier
        return self.network.tiers

    def path(self, a: int, b: int) -> tuple[Hop, ...]:
        """Hops from memory to memory, energy and latency each."""
        tier = self.meeting_tier(a, b)
        memory = {"medium": "HBM", "length": 0.0, "latency": MEMORY_LATENCY, "energy": MEMORY_ENERGY, "basis": "estimate"}
        read, write = Hop(name=f"GPU {a} reads", **memory), Hop(name=f"GPU {b} writes", **memory)  # type: ignore[arg-type]
        if tier == 0:
            return (read, *self._inside(), write)
        kind = interconnect(self.link)
        energy = sum(kind.energy) / 2 if kind.energy else None
        names = ("leaf", "spine", "core", "super-core")
        ends = Hop(name="both NICs and software", medium="host", length=0.0, latency=END_LATENCY, energy=None, basis="derived")
        hops = [read, ends]
        ladder = ["NIC", *names[:tier]]
        steps = [*zip(ladder, ladder[1:], range(tier), strict=False)]
        downward = [(upper, lower, i) for lower, upper, i in reversed(steps)]
        for start, stop, i in (*steps, *downward):
            length = self.lengths[i]
            hops.append(Hop(
                name=f"{start} to {stop}", medium=kind.name, length=length, latency=FIBRE_DELAY * length, energy=energy,
                basis=f"energy {kind.energy_basis}, length estimate",
            ))  # fmt: skip
            if stop != "NIC":
                hops.append(
                    Hop(name=stop, medium="switch", length=0.0, latency=SWITCH_LATENCY, energy=SWITCH_ENERGY, basis="derived")
                )
        return (*hops, write)

    def _inside(self) -> tuple[Hop, ...]:
        kind = interconnect(self.scale_up)
        energy = sum(kind.energy) / 2 if kind.energy else None
        half = {"medium": kind.name, "length": 0.62 * m, "latency": SCALE_UP_LATENCY / 2, "energy": energy}
        basis = f"latency sourced (end to end), energy {kind.energy_basis}"
        return (
            Hop(name="GPU to scale-up switch", basis=basis, **half),  # type: ignore[arg-type]
            Hop(name="scale-up switch to GPU", basis=basis, **half),  # type: ignore[arg-type]
        )


def total(hops: Sequence[Hop]) -> tuple[float, float, float]:
    """Length [m], latency [s] and energy [J/bit] of a path; hops without a known energy add none."""
    return sum(h.length for h in hops), sum(h.latency for h in hops), sum(h.energy or 0.0 for h in hops)
