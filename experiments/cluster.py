"""What a cluster is made of: how far copper spans, how many GPUs that is, how many switches, links and modules it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.units import Gbps, Tbps, W, m, mm


@dataclass(frozen=True, kw_only=True)
class RackStack:
    """A rack of compute trays above and below its switch trays, every tray cabled to every switch tray at the back.

    ``pitch`` [m] of the trays; ``lateral`` [m] is what a cable needs besides its vertical run. The tray counts are those of
    NVL72 (glennklockwood.com [S]); 0.22 m is set so that the mean is NVIDIA's 2 miles over 5,184 pairs, and the longest
    cable follows [D].
    """

    above: int = 10
    switches: int = 9
    below: int = 8
    gpus_per_tray: int = 4
    pitch: float = 44.45 * mm
    lateral: float = 0.22 * m

    def __post_init__(self) -> None:
        for field in ("switches", "gpus_per_tray"):
            check.count(self, field, getattr(self, field), 1)
        for field in ("above", "below"):
            check.count(self, field, getattr(self, field), 0)
        check.count(self, "above + below", self.above + self.below, 1)
        check.positive(self, "pitch", self.pitch, "m")
        check.not_negative(self, "lateral", self.lateral, "m")

    @property
    def cables(self) -> np.ndarray:
        """Cable lengths [m], shape (compute trays, switch trays)."""
        top = np.arange(self.above)
        switch = self.above + np.arange(self.switches)
        bottom = self.above + self.switches + np.arange(self.below)
        return self.lateral + self.pitch * np.abs(np.concatenate([top, bottom])[:, None] - switch)

    @property
    def mean_cable(self) -> float:
        """Mean length [m]."""
        return float(self.cables.mean())

    @property
    def longest_cable(self) -> float:
        """Longest length [m]."""
        return float(self.cables.max())

    @property
    def gpus(self) -> int:
        """GPUs in the rack."""
        return (self.above + self.below) * self.gpus_per_tray

    def gpus_within(self, reach: float) -> int:
        """GPUs of the trays whose cables to all switches are at most ``reach`` [m] long."""
        check.not_negative("gpus_within", "reach", reach, "m")
        return int(np.sum(self.cables.max(axis=1) <= reach)) * self.gpus_per_tray


@dataclass(frozen=True, kw_only=True)
class CopperDomain:
    """How many racks and GPUs copper of some reach joins, and what bounds them: "reach", "radix" or "power".

    No racks and no GPUs where the reach ends before the nearest tray's cables do.
    """

    racks: int
    gpus: int
    bound: str


NVL72 = RackStack()
RACK_WIDTH = 0.6 * m
REACH_TOLERANCE = 0.05
"""By how much the longest cable may exceed the reach: its length is known to about 5 % [D]."""


def copper_domain(
    reach: float, stack: RackStack = NVL72, rack_width: float = RACK_WIDTH, radix: int | None = None,
    rack_power: float | None = None, gpu_power: float | None = None,
) -> CopperDomain:  # fmt: skip
    """GPUs that copper of ``reach`` [m] joins: a row of racks with the switches in the middle one.

    R = 1 + 2 max(0, floor((reach - L0) / rack_width)), L0 the longest cable inside a rack; below L0 only the trays within reach
    count. ``radix``: ports of a switch, which bounds a single tier. ``rack_power`` over ``gpu_power`` [W] bounds GPUs a rack.
    """
    check.positive("copper_domain", "reach", reach, "m")
    check.positive("copper_domain", "rack_width", rack_width, "m")
    longest = stack.longest_cable
    if reach * (1 + REACH_TOLERANCE) < longest:
        gpus = stack.gpus_within(reach * (1 + REACH_TOLERANCE))
        racks = 1 if gpus else 0
    else:
        racks = 1 + 2 * max(0, math.floor((reach - longest) / rack_width + 1e-9))
        gpus = racks * stack.gpus
    bounds = {"reach": gpus}
    if radix is not None:
        check.count("copper_domain", "radix", radix, 1)
        bounds["radix"] = radix
    if (rack_power is None) != (gpu_power is None):
        raise check.fail("copper_domain", "rack_power and gpu_power", "given together", (rack_power, gpu_power))
    if rack_power is not None and gpu_power is not None:
        check.positive("copper_domain", "rack_power", rack_power, "W")
        check.positive("copper_domain", "gpu_power", gpu_power, "W")
        bounds["power"] = racks * int(rack_power // gpu_power)
    bound = min(bounds, key=lambda name: bounds[name])
    return CopperDomain(racks=racks, gpus=bounds[bound], bound=bound)


FLOOR_DENSITY = 50.0
"""GPUs per square metre of floor, an estimate."""


def gpus_within_radius(radius: float, density: float = FLOOR_DENSITY) -> int:
    """GPUs on a floor within ``radius`` [m] of a switch: density pi r^2. The density is an estimate [E]."""
    check.positive("gpus_within_radius", "radius", radius, "m")
    check.positive("gpus_within_radius", "density", density, "1/m^2")
    return int(density * math.pi * radius**2)


@dataclass(frozen=True, kw_only=True)
class ScaleUpDomain:
    """GPUs joined by one tier of switches, each with ``links`` of ``lanes`` lanes each way, one link to each switch.

    The defaults are NVL72: 18 links of 2 lanes of 200 Gb/s, 18 switches of 72 ports (glennklockwood.com [S]).
    """

    gpus: int = 72
    links: int = 18
    lanes: int = 2
    lane_rate: float = 200 * Gbps
    radix: int = 72

    def __post_init__(self) -> None:
        for field in ("gpus", "links", "lanes", "radix"):
            check.count(self, field, getattr(self, field), 1)
        check.positive(self, "lane_rate", self.lane_rate, "b/s")
        if self.gpus > self.radix:
            raise check.fail(self, "gpus", f"at most radix ({self.radix}), the ports of a switch", self.gpus)

    @property
    def pairs(self) -> int:
        """Differential pairs, both directions."""
        return 2 * self.gpus * self.links * self.lanes

    @property
    def bandwidth(self) -> float:
        """All GPUs together, one way [b/s]."""
        return self.gpus * self.links * self.lanes * self.lane_rate

    def optical_modules(self, module_rate: float = 1.6 * Tbps) -> int:
        """Modules that would replace the copper, one at each end of every link."""
        check.positive("optical_modules", "module_rate", module_rate, "b/s")
        return 2 * math.ceil(self.bandwidth / module_rate)

    def optical_power(self, module_power: float = 30 * W, module_rate: float = 1.6 * Tbps) -> float:
        """What those modules would draw [W]; 30 W for 1.6T is NVIDIA's number [S]."""
        check.positive("optical_power", "module_power", module_power, "W")
        return self.optical_modules(module_rate) * module_power

    def power(self, energy: float) -> float:
        """Power of all lanes at full rate [W] at ``energy`` [J/bit] per link, both ends."""
        check.not_negative("power", "energy", energy, "J/bit")
        return self.bandwidth * energy


@dataclass(frozen=True, kw_only=True)
class FatTree:
    """Clos network without oversubscription: ``hosts`` ports, switches of ``radix`` ports in ``tiers`` tiers.

    ``planes`` equal networks share the hosts among them. ``host_optical``: whether the link of a host to its leaf is optical.
    """

    hosts: int
    radix: int
    tiers: int
    planes: int = 1
    host_optical: bool = True

    def __post_init__(self) -> None:
        check.count(self, "hosts", self.hosts, 1)
        check.count(self, "radix", self.radix, 2)
        check.count(self, "tiers", self.tiers, 1, 4)
        check.count(self, "planes", self.planes, 1, self.hosts)
        check.instance(self, "host_optical", self.host_optical, bool)
        if self.radix % 2:
            raise check.fail(self, "radix", "even", self.radix)
        if self.hosts > self.capacity:
            hint = f"{self.tiers} tiers of {self.radix} ports hold {self.capacity} hosts"
            raise check.fail(self, "radix", f"large enough for {self.hosts} hosts", self.radix, hint)

    @property
    def capacity(self) -> int:
        """Most hosts, 2 (radix/2)^tiers in each plane."""
        return self.planes * 2 * (self.radix // 2) ** self.tiers

    @property
    def switches(self) -> int:
        """(2 tiers - 1) hosts / radix, rounded up in each plane."""
        return self.planes * math.ceil((2 * self.tiers - 1) * self.hosts / self.planes / self.radix)

    @property
    def switch_links(self) -> int:
        """Links between switches."""
        return (self.tiers - 1) * self.hosts

    @property
    def links(self) -> int:
        """All links, those of the hosts included."""
        return self.tiers * self.hosts

    @property
    def optical_ends_per_host(self) -> int:
        """Optical link ends over hosts: 2 a tier, less 2 where the link to the leaf is copper."""
        return 2 * self.tiers - (0 if self.host_optical else 2)

    @property
    def switch_side_ends(self) -> int:
        """Optical link ends at switches."""
        return self.hosts * (self.optical_ends_per_host - (1 if self.host_optical else 0))

    def transceivers(self, twin_ports: bool = False) -> int:
        """Optical modules: one per link end; ``twin_ports`` puts two ports of a switch in one module."""
        at_hosts = self.hosts if self.host_optical else 0
        return at_hosts + (math.ceil(self.switch_side_ends / 2) if twin_ports else self.switch_side_ends)

    def power_per_host(self, end_power: float = 17 * W) -> float:
        """Power of optical link ends per host [W]; 17 W is an 800G 2xDR4 module, docs.nvidia.com MMS4X00-NS-T [P]."""
        check.positive("power_per_host", "end_power", end_power, "W")
        return self.optical_ends_per_host * end_power


def smallest_fat_tree(hosts: int, radix: int, host_optical: bool = True) -> FatTree:
    """The fat tree of fewest tiers, at most 4; raises ValueError where the radix is too small for that."""
    check.count("smallest_fat_tree", "hosts", hosts, 1)
    check.count("smallest_fat_tree", "radix", radix, 2)
    for tiers in range(1, 4):
        if hosts <= 2 * (radix // 2) ** tiers:
            return FatTree(hosts=hosts, radix=radix, tiers=tiers, host_optical=host_optical)
    return FatTree(hosts=hosts, radix=radix, tiers=4, host_optical=host_optical)
