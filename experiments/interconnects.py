"""Interconnects of an AI cluster as data: wires, rate, code, energy, latency, edge and distance of each, with their sources.

Each value that is not sourced says so: "derived" from sourced ones, or "estimate". Sources: [P] primary, [S] secondary.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from dsp import check
from dsp.units import GBd, fF, km, m, mm, ns, pJ, us
from experiments.lines import CoherentLine, CopperLine, InterposerLine, Line, OpticalLine

BASES = ("sourced", "derived", "estimate", "unknown")
TRANSCODE = Fraction(257, 256)
KP4_OVERHEAD = Fraction(544, 514)
KP4_RATE = float(1 / (TRANSCODE * KP4_OVERHEAD))
"""Payload over line of an Ethernet lane: 256B/257B and RS(544,514), IEEE 802.3 Clauses 119 and 161."""
CODE_WORD = 5440
"""Bits of a KP4 word; 400GBASE-R interleaves two, 800GBASE-R four: all must arrive before the first is decoded."""
FIBRE_DELAY, COPPER_DELAY, INTERPOSER_DELAY = 4.9 * ns, 4.6 * ns, 8.5 * ns
"""Time of flight [s/m]: fibre of group index 1.47; foamed twinax at 0.73 c; sqrt(L C) of the catalogue's interposer wire."""


def line_rate(payload: Fraction | float, transcode: Fraction = TRANSCODE, code: Fraction = KP4_OVERHEAD) -> Fraction | float:
    """Rate on the wire of ``payload``: 100 Gb/s x 257/256 x 544/514 = 106.25 Gb/s."""
    return payload * transcode * code if isinstance(payload, Fraction) else payload * float(transcode * code)


@dataclass(frozen=True, kw_only=True)
class Interconnect:
    """One kind of link, as used by one GPU or one port.

    ``lanes`` each way at ``symbol_rate`` [Bd] with ``bits_per_symbol`` (all polarisations), bundled in links of
    ``lanes_per_link``; ``code_rate`` payload over line, ``efficiency`` usable over payload. ``shared``: the lanes carry both
    directions in turn. ``energy`` (low, high) [J/bit] of the link, both ends with the host's circuits; ``latency`` (low, high)
    [s] as quoted; ``block`` [bit] of a link that its decoder waits for. ``edge`` [m] of die or package that the lanes of one
    GPU take. ``distance`` (low, high) [m] as quoted; ``simulated_by``: the line whose reach stands beside it. ``energy``,
    ``latency`` and ``edge`` may be None: not found.
    """

    name: str
    tier: str
    medium: str
    lanes: int
    symbol_rate: float
    modulation: str
    bits_per_symbol: float
    code_rate: float = 1.0
    efficiency: float
    efficiency_basis: str
    energy: tuple[float, float] | None
    energy_basis: str
    latency: tuple[float, float] | None
    latency_basis: str
    lanes_per_link: int | None = None
    block: int = 0
    edge: float | None = None
    edge_basis: str = "unknown"
    distance: tuple[float, float]
    delay: float
    shared: bool = False
    simulated_by: Line
    code: str = ""
    note: str = ""
    source: str

    def __post_init__(self) -> None:
        check.count(self, "lanes", self.lanes, 1)
        if self.lanes_per_link is not None:
            check.count(self, "lanes_per_link", self.lanes_per_link, 1, self.lanes)
        check.symbol_rate(self, "symbol_rate", self.symbol_rate)
        check.between(self, "bits_per_symbol", self.bits_per_symbol, 0.1, 32)
        for field in ("code_rate", "efficiency"):
            check.between(self, field, getattr(self, field), 1e-3, 1)
        for field in ("efficiency_basis", "energy_basis", "latency_basis", "edge_basis"):
            check.one_of(self, field, getattr(self, field), BASES)
        for field in ("energy", "latency", "distance"):
            pair = getattr(self, field)
            if pair is None and field != "distance":
                continue
            check.numbers(self, field, pair, 2)
            if len(pair) != 2 or not 0 < pair[0] <= pair[1]:
                raise check.fail(self, field, "a (low, high) pair above 0", pair)
        check.count(self, "block", self.block, 0)
        if self.edge is not None:
            check.positive(self, "edge", self.edge, "m")
        check.positive(self, "delay", self.delay, "s/m")
        check.instance(self, "simulated_by", self.simulated_by, Line)

    @property
    def line(self) -> float:
        """Rate on all lanes one way [b/s]."""
        return self.lanes * self.symbol_rate * self.bits_per_symbol

    @property
    def payload(self) -> float:
        """One way, code and transcoding taken off [b/s]."""
        return self.line * self.code_rate

    @property
    def usable(self) -> float:
        """One way, protocol taken off, too [b/s]."""
        return self.payload * self.efficiency

    @property
    def both_ways(self) -> float:
        """Payload of both directions summed, as data sheets like to print it; of shared lanes the one there is [b/s]."""
        return self.payload * (1 if self.shared else 2)

    @property
    def shoreline(self) -> float | None:
        """Payload one way over the length of edge [b/s/m]."""
        return None if self.edge is None else self.payload / self.edge

    @property
    def block_time(self) -> float:
        """Time for the bits that the decoder waits for to arrive [s]: the least that the code adds to the latency."""
        return self.block / self.line * self.lanes / (self.lanes_per_link or self.lanes)

    def least_latency(self, length: float) -> float:
        """Time of flight over ``length`` [m] and the wait for the code [s]; circuits and software come on top."""
        check.not_negative("least_latency", "length", length, "m")
        return self.delay * length + self.block_time


SOURCED, DERIVED, ESTIMATE, UNKNOWN = BASES


def _kp4(
    name: str, tier: str, medium: str, lanes: int, symbol_rate: float, lanes_per_link: int, words: int,
    distance: tuple[float, float], **rest: Any,
) -> Interconnect:  # fmt: skip
    """PAM4 behind RS(544,514), ``words`` of 5440 bits interleaved in a link."""
    return Interconnect(
        name=name, tier=tier, medium=medium, lanes=lanes, symbol_rate=symbol_rate, modulation="PAM4", bits_per_symbol=2,
        code_rate=KP4_RATE, lanes_per_link=lanes_per_link, block=words * CODE_WORD, code="2.4e-4 -> KP4 RS(544,514)",
        distance=distance, **rest,
    )  # fmt: skip


_COPPER: dict[str, Any] = {"energy": (10 * pJ, 10 * pJ), "energy_basis": ESTIMATE, "delay": COPPER_DELAY}
"""Energy: two host SerDes of about 5 pJ/bit, an estimate."""
_NVLINK: dict[str, Any] = {"latency": (1.9 * us, 3.4 * us), "latency_basis": SOURCED, "efficiency_basis": SOURCED}
"""Latency: a hop in NCCL's software, tuning.cc @5067397 [P]."""
_LIKE: dict[str, Any] = {
    "latency": (1.9 * us, 3.4 * us), "latency_basis": ESTIMATE, "efficiency": 40.1 / 50, "efficiency_basis": ESTIMATE,
}  # fmt: skip
"""As NVLink 5, an estimate."""
_OPTIC: dict[str, Any] = {
    "efficiency": 0.96, "efficiency_basis": SOURCED, "latency": (2.8 * us, 5.6 * us), "latency_basis": SOURCED,
    "delay": FIBRE_DELAY, "energy_basis": DERIVED,
}  # fmt: skip
"""Latency: 64 B across one and two tiers, IB and RoCE, DeepSeek ISCA'25 Table 5 [S]."""
_MODULES = "docs.nvidia.com MMS4X00-NS-T and -NS400 [P]; 1.6T 25-30 W: Lambda, NVIDIA [S]; host ends 5 pJ/bit (estimate)"
_ZR: dict[str, Any] = {
    "efficiency": 1.0, "efficiency_basis": UNKNOWN, "energy_basis": SOURCED, "latency": (3 * us, 6 * us),
    "latency_basis": ESTIMATE, "distance": (1 * km, 120 * km), "delay": FIBRE_DELAY,
}  # fmt: skip
"""Latency: of the code alone; the flight comes on top."""
_CPO = OpticalLine(rate="224G", architecture="CPO", host_loss_db=4.0)
LINEAR_HOST_DB = 8.0
"""Loss on either side of a linear module at Nyquist, an estimate; of a DSP module 16 dB."""
_SLOW, _FAST = 53.125 * GBd, 106.25 * GBd
_DR = (3 * m, 500 * m)

INTERCONNECTS = (
    Interconnect(
        name="HBM3E (B200)", tier="in package", medium="interposer wire", lanes=8 * 1024, symbol_rate=8 * GBd,
        modulation="NRZ", bits_per_symbol=1, efficiency=0.9, efficiency_basis=ESTIMATE, energy=(4 * pJ, 8 * pJ),
        energy_basis=ESTIMATE, latency=(100 * ns, 500 * ns), latency_basis=ESTIMATE, edge=8 * 11 * mm, edge_basis=ESTIMATE,
        distance=(1 * mm, 6 * mm), delay=INTERPOSER_DELAY, shared=True,
        simulated_by=InterposerLine(symbol_rate=8 * GBd, wire="2x1 um"), code="none on the link; ECC in memory",
        note="shared both ways; sold as 8 TB/s", source="8 stacks of 1024 pins: stas00 accelerator chapter [S]",
    ),
    Interconnect(
        name="UCIe-A x64", tier="in package", medium="interposer wire", lanes=64, symbol_rate=32 * GBd, modulation="NRZ",
        bits_per_symbol=1, efficiency=1.0, efficiency_basis=UNKNOWN, energy=(0.25 * pJ, 0.3 * pJ), energy_basis=SOURCED,
        latency=(2 * ns, 2 * ns), latency_basis=SOURCED, edge=0.389 * mm, edge_basis=DERIVED, distance=(0.1 * mm, 2 * mm),
        delay=INTERPOSER_DELAY,
        simulated_by=InterposerLine(symbol_rate=32 * GBd, wire="2x2 um", pads=(100 * fF, 100 * fF)), code="1e-15 raw",
        note="edge from 1.3 TB/s/mm, which counts both directions; 2 ns round trip",
        source="Converge Digest, Hot Interconnects 2025 [S]",
    ),
    _kp4(
        "NVLink 4", "scale-up", "copper in the chassis", 36, _SLOW, 2, 1, (0.1 * m, 1 * m), efficiency=20.6 / 25,
        simulated_by=CopperLine(rate="100G"), note="18 links of 2 lanes; the line code is not public, KP4 assumed (estimate)",
        source="NCCL topo.h @5067397 [P]; stas00 network chapter [S]", **_COPPER, **_NVLINK,
    ),
    _kp4(
        "NVLink 5", "scale-up", "twinax in the rack", 36, _FAST, 2, 1, (0.1 * m, 1 * m), efficiency=40.1 / 50,
        edge=52 * mm, edge_basis=ESTIMATE, simulated_by=CopperLine(rate="200G"),
        note="1.8 TB/s is both directions summed; symbol rate and code are not public, 802.3dj's assumed (estimate)",
        source="NCCL topo.h @5067397 [P]; NVIDIA NVLink page, stas00 network chapter [S]", **_COPPER, **_NVLINK,
    ),
    _kp4(
        "UALink 200G x4", "scale-up", "twinax between racks", 4, _FAST, 4, 2, (0.1 * m, 2 * m), efficiency=0.93,
        efficiency_basis=SOURCED, latency=(150 * ns, 250 * ns), latency_basis=SOURCED, simulated_by=CopperLine(rate="200G"),
        note="one station of 4 lanes, an accelerator has several; latency of the switch, port to port; 2 words (estimate)",
        source="UALink 200G 1.0: 212.5 Gb/s, 93 %, Converge Digest [S]; latency: ualinkconsortium.org [P]", **_COPPER,
    ),
    _kp4(
        "scale-up AEC", "scale-up", "retimed twinax", 36, _FAST, 2, 1, (1 * m, 7 * m), energy=(35 * pJ, 35 * pJ),
        energy_basis=ESTIMATE, delay=COPPER_DELAY, simulated_by=CopperLine(rate="200G", cable="AEC"),
        note="NVLink-class lanes; 10 W an end at 800G (estimate), two host ends",
        source="AEC to about 7 m at 800G: trade [S]", **_LIKE,
    ),
    _kp4(
        "scale-up CPO", "scale-up", "co-packaged optics", 36, _FAST, 2, 1, (0.5 * m, 100 * m), energy=(11 * pJ, 22 * pJ),
        energy_basis=DERIVED, delay=FIBRE_DELAY, simulated_by=_CPO, note="9 W a port: 1.6T assumed, 800G would double the energy",
        source="NVIDIA via particle.news, notebookcheck [S]; distance is an estimate", **_LIKE,
    ),
    _kp4(
        "row-scale photonic fabric", "scale-up", "optics, in-network sums", 36, _FAST, 2, 1, (1 * m, 50 * m),
        energy=(11 * pJ, 22 * pJ), energy_basis=ESTIMATE, delay=FIBRE_DELAY, simulated_by=_CPO,
        note="a scenario: NVLink-class lanes, energy of CPO; no part measured", source="estimate throughout", **_LIKE,
    ),
    _kp4(
        "400G DR4", "scale-out", "fibre, DSP", 4, _SLOW, 4, 2, _DR, energy=(50 * pJ, 55 * pJ),
        simulated_by=OpticalLine(rate="112G"), source=_MODULES, **_OPTIC,
    ),
    _kp4(
        "800G 2xDR4", "scale-out", "fibre, DSP", 8, _SLOW, 8, 4, _DR, energy=(51 * pJ, 53 * pJ),
        simulated_by=OpticalLine(rate="112G"), source=_MODULES, **_OPTIC,
    ),
    _kp4(
        "800G LPO", "scale-out", "fibre, linear", 8, _SLOW, 8, 4, _DR, energy=(30 * pJ, 33 * pJ),
        simulated_by=OpticalLine(rate="112G", architecture="LPO", host_loss_db=LINEAR_HOST_DB),
        note="no DSP in the module: the host equalises", source="8-9 W: axiomupgrades [S]", **_OPTIC,
    ),
    _kp4(
        "1.6T DR8", "scale-out", "fibre, DSP", 8, _FAST, 8, 4, _DR, energy=(41 * pJ, 48 * pJ),
        simulated_by=OpticalLine(rate="224G"),
        note="the inner code that optics add at 200G lanes is not counted", source=_MODULES, **_OPTIC,
    ),
    Interconnect(
        name="400ZR", tier="DCI", medium="coherent fibre", lanes=1, symbol_rate=59.84375 * GBd, modulation="DP-16QAM",
        bits_per_symbol=8, code_rate=400 / 478.75, energy=(75 * pJ, 93 * pJ), simulated_by=CoherentLine(module="400ZR"),
        code="1.25e-2 -> CFEC", note="478.75 Gb/s on the line; 80 km, 120 km with survey; 15 W, at most 18.5 W a module",
        source="Huawei OSK080N04 data page [P]; power: lanode and a module data sheet [S]", **_ZR,
    ),
    Interconnect(
        name="800ZR", tier="DCI", medium="coherent fibre", lanes=1, symbol_rate=118.203 * GBd, modulation="DP-16QAM",
        bits_per_symbol=8, code_rate=800 / (8 * 118.203), energy=(60 * pJ, 75 * pJ), simulated_by=CoherentLine(module="800ZR"),
        code="2e-2 -> oFEC", note="24 to 30 W a module",
        source="symbol rate: trade press [S]; about 30 W: tarluz [S], 24 W is an estimate", **_ZR,
    ),
)  # fmt: skip
"""Every preset, shortest distance first."""


def interconnect(name: str) -> Interconnect:
    """The preset called ``name``; raises ValueError with the valid names."""
    for known in INTERCONNECTS:
        if known.name.lower() == name.strip().lower():
            return known
    raise ValueError(f"unknown interconnect {name!r}, known are {', '.join(i.name for i in INTERCONNECTS)}")


LOSS_ENERGY_SLOPE, LOSS_ENERGY_AT, LOSS_ENERGY = 0.15 * pJ, 12.0, 1.1 * pJ
"""Energy of an electrical end [J/bit per dB], and where the line starts [dB], [J/bit]."""


def copper_energy(loss_db: float) -> float:
    """Energy of one electrical end [J/bit] at a loss of ``loss_db`` at Nyquist: a line, an estimate.

    From 1.1 pJ/bit at 12 dB (XSR at 113 Gb/s, Gangasani, IEEE SSC-L 2025 [P]) to about 5 pJ/bit at 38 dB (assumed).
    """
    check.not_negative("copper_energy", "loss_db", loss_db, "dB")
    return LOSS_ENERGY + LOSS_ENERGY_SLOPE * (max(loss_db, LOSS_ENERGY_AT) - LOSS_ENERGY_AT)


@dataclass(frozen=True, kw_only=True)
class Medium:
    """What a link can be made of: ``energy`` [J/bit] of both ends with their hosts, or None; ``lines``: one for each of `RATES`."""

    name: str
    energy: float | None
    energy_basis: str
    lines: tuple[Line, ...]
    source: str


RATES = MappingProxyType({"50G": "56G", "100G": "112G", "200G": "224G"})
"""Lane rates of the comparison by payload, and the class that optical lanes are called by."""


def _wires(cable: str) -> tuple[Line, ...]:
    return tuple(CopperLine(rate=rate, cable=cable) for rate in RATES)


def _light(architecture: str, host_loss_db: float) -> tuple[Line, ...]:
    return tuple(OpticalLine(rate=rate, architecture=architecture, host_loss_db=host_loss_db) for rate in RATES.values())


MEDIA = (
    Medium(name="passive copper", energy=10 * pJ, energy_basis=ESTIMATE, lines=_wires("passive"), source="two host SerDes"),
    Medium(name="ACC", energy=None, energy_basis=UNKNOWN, lines=_wires("ACC"), source="power not found"),
    Medium(name="CPO", energy=11 * pJ, energy_basis=DERIVED, lines=_light("CPO", 4.0), source="9 W at 1.6T"),
    Medium(name="LPO", energy=31 * pJ, energy_basis=DERIVED, lines=_light("LPO", LINEAR_HOST_DB), source="8-9 W at 800G"),
    Medium(name="AEC", energy=35 * pJ, energy_basis=ESTIMATE, lines=_wires("AEC"), source="10 W an end at 800G"),
    Medium(name="DSP optics", energy=51 * pJ, energy_basis=DERIVED, lines=_light("retimed", 16.0), source="800G 2xDR4"),
    Medium(name="coherent", energy=75 * pJ, energy_basis=SOURCED, lines=3 * (CoherentLine(module="400ZR"),), source="400ZR"),
)  # fmt: skip
"""From least to most energy per bit; ACC after what it extends."""
