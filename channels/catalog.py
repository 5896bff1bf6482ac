"""Named parameter sets of passive parts: data, no logic. Each entry has its reference and says how far to trust it.

Lengths, coefficients and capacitances are the printed numbers next to their units. Marks: ``verified`` - read in the cited
source; ``from memory`` - not checked against the text; ``estimate`` - engineering judgement or a fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Generic, Literal, TypeAlias, TypeVar

from channels.copper import Connector, Die, Package, StandardLine, Trace, Twinax
from channels.interposer import InterposerChannel, InterposerWires
from channels.pcb import BoardLine
from channels.surface import Roughness
from channels.via import Via
from dsp.units import fF, m, mil, mm, nH, ns, ohm, pF, pH, um

T = TypeVar("T")
Mark: TypeAlias = Literal["verified", "from memory", "estimate"]


@dataclass(frozen=True)
class Entry(Generic[T]):
    """A part, where its numbers come from, and how far to trust them."""

    value: T
    reference: str
    mark: Mark


@dataclass(frozen=True, kw_only=True)
class Ends(Generic[T]):
    """Parts of the two ends of a link, both in the order of a transmitter, circuit first: a receiver uses ``rx`` flipped."""

    tx: T
    rx: T


_DJ = "IEEE P802.3dj/D3.3 (24 Sep 2026), tables 178-14, 178-15, 179-21 to 179-24, as carried by PyChOpMarg 3.4.0"
_CK = "IEEE 802.3ck COM sheets of 17 Aug 2022 (KR, CR/CA, C2C, C2M)"
_BJ = "IEEE 802.3bj, Annex 93A with the values of clauses 92 and 93"
_CD = "IEEE 802.3cd COM values (task force slides: Z_c 90, R_d 55, C_d 180 fF, C_p 110 fF, 12 and 30 mm)"

_COEFFICIENTS_93A = {"a1": 1.734e-3 * ns**0.5 / mm, "a2": 1.455e-4 * ns / mm, "tau": 6.141e-3 * ns / mm}
_COEFFICIENTS_CK = {"a1": 9.909e-4 * ns**0.5 / mm, "a2": 2.772e-4 * ns / mm, "tau": 6.141e-3 * ns / mm}
_COEFFICIENTS_A = {"gamma0": 5e-4 / mm, "a1": 8.9e-4 * ns**0.5 / mm, "a2": 2.0e-4 * ns / mm, "tau": 6.141e-3 * ns / mm}
_COEFFICIENTS_B = {"gamma0": 5e-4 / mm, "a1": 6.5e-4 * ns**0.5 / mm, "a2": 2.93e-4 * ns / mm, "tau": 6.141e-3 * ns / mm}

# Boards, one metre each: write replace(LINES["dj board"].value, length=50 * mm).
LINES: MappingProxyType[str, Entry[StandardLine]] = MappingProxyType({
    "dj board": Entry(  # 0.829 and 1.262 dB/inch at 26.56 and 53.125 GHz
        StandardLine(
            length=1 * m, impedance=92.5 * ohm, a1=5.95e-4 * ns**0.5 / mm, a2=2.6e-5 * ns / mm, tau=5.79e-3 * ns / mm
        ),
        _DJ, "verified",
    ),
    "ck board": Entry(  # 0.588, 0.996 and 1.738 dB/inch at 13.28, 26.56 and 53.125 GHz
        StandardLine(
            length=1 * m, impedance=100 * ohm, a1=3.8206e-4 * ns**0.5 / mm, a2=9.5909e-5 * ns / mm, tau=5.79e-3 * ns / mm
        ),
        _CK, "verified",
    ),
    "25G board": Entry(  # 1.050, 1.077 and 1.960 dB/inch at 12.89, 13.28 and 26.56 GHz
        StandardLine(
            length=1 * m, impedance=109.8 * ohm, a1=4.114e-4 * ns**0.5 / mm, a2=2.547e-4 * ns / mm, tau=6.191e-3 * ns / mm
        ),
        "board of the IEEE 802.3bj/cd COM examples, as carried by PyChOpMarg 3.4.0", "verified",
    ),
})  # fmt: skip

# Single-ended terminations R_d [ohm].
TERMINATIONS: MappingProxyType[str, Entry[float]] = MappingProxyType({
    "bj": Entry(55 * ohm, _BJ, "from memory"),
    "cd": Entry(55 * ohm, _CD, "from memory"),
    "ck": Entry(50 * ohm, _CK, "verified"),
    "dj": Entry(46.25 * ohm, _DJ, "verified"),
})  # fmt: skip

_DIE_BJ = Die(capacitances=(250 * fF,), inductances=(0 * pH,))
_DIE_CD = Die(capacitances=(180 * fF,), inductances=(0 * pH,))
_DIE_CK = Die(capacitances=(120 * fF,), inductances=(120 * pH,), bump=30 * fF)
_DIE_DJ = Die(capacitances=(40 * fF, 90 * fF, 110 * fF), inductances=(130 * pH, 150 * pH, 140 * pH), bump=30 * fF)

_PACKAGE_BJ = Package(
    die=_DIE_BJ, lines=(StandardLine(length=30 * mm, impedance=78.2 * ohm, **_COEFFICIENTS_93A),), ball_capacitance=180 * fF
)
_PACKAGE_CD = Package(
    die=_DIE_CD, lines=(StandardLine(length=30 * mm, impedance=90 * ohm, **_COEFFICIENTS_93A),), ball_capacitance=110 * fF
)
_PACKAGE_CK_12 = Package(
    die=_DIE_CK,
    lines=(
        StandardLine(length=12 * mm, impedance=87.5 * ohm, **_COEFFICIENTS_CK),
        StandardLine(length=1.8 * mm, impedance=92.5 * ohm, **_COEFFICIENTS_CK),
    ),
    ball_capacitance=0.087 * pF,
)
_PACKAGE_A_12 = Package(
    die=_DIE_DJ,
    lines=(
        StandardLine(length=12 * mm, impedance=87.5 * ohm, **_COEFFICIENTS_A),
        StandardLine(length=1.8 * mm, impedance=92.5 * ohm, **_COEFFICIENTS_A),
    ),
    ball_capacitance=40 * fF,
)
_PACKAGE_B_30 = Package(
    die=_DIE_DJ,
    lines=(
        StandardLine(length=30 * mm, impedance=87.5 * ohm, **_COEFFICIENTS_B),
        StandardLine(length=2.0 * mm, impedance=95 * ohm, **_COEFFICIENTS_B),
        StandardLine(length=1.3 * mm, impedance=100 * ohm, **_COEFFICIENTS_B),
        StandardLine(length=1.5 * mm, impedance=78 * ohm, **_COEFFICIENTS_B),
    ),
    ball_capacitance=40 * fF,
)


def _first_line(package: Package, length: float) -> Package:
    """The package with z_p, the length [m] of its first line, changed."""
    return replace(package, lines=(replace(package.lines[0], length=length), *package.lines[1:]))


# Packages without a host board, die first at both ends.
PACKAGES: MappingProxyType[str, Entry[Ends[Package]]] = MappingProxyType({
    "bj": Entry(Ends(tx=_PACKAGE_BJ, rx=_PACKAGE_BJ), _BJ, "from memory"),
    "cd": Entry(Ends(tx=_PACKAGE_CD, rx=_PACKAGE_CD), _CD, "from memory"),
    "ck case 1": Entry(Ends(tx=_PACKAGE_CK_12, rx=_PACKAGE_CK_12), _CK, "verified"),
    "ck case 2": Entry(
        Ends(tx=_first_line(_PACKAGE_CK_12, 31 * mm), rx=_first_line(_PACKAGE_CK_12, 29 * mm)), _CK, "verified"
    ),
    "dj A1": Entry(Ends(tx=_first_line(_PACKAGE_A_12, 33 * mm), rx=_first_line(_PACKAGE_A_12, 33 * mm)), _DJ, "verified"),
    "dj A2": Entry(Ends(tx=_PACKAGE_A_12, rx=_PACKAGE_A_12), _DJ, "verified"),
    "dj B1": Entry(Ends(tx=_first_line(_PACKAGE_B_30, 45 * mm), rx=_first_line(_PACKAGE_B_30, 44 * mm)), _DJ, "verified"),
    "dj B2": Entry(Ends(tx=_PACKAGE_B_30, rx=_first_line(_PACKAGE_B_30, 29 * mm)), _DJ, "verified"),
})  # fmt: skip

# Host boards of the copper-cable clauses, package side first.
BOARDS: MappingProxyType[str, Entry[Trace]] = MappingProxyType({
    "bj": Entry(
        Trace(line=replace(LINES["25G board"].value, length=164.5 * mm)),
        _BJ + "; length for 6.8 dB at 12.89 GHz, matched", "from memory",
    ),
    "cd": Entry(
        Trace(line=replace(LINES["25G board"].value, length=160.4 * mm)),
        "length for 6.8 dB at 13.28 GHz, matched; that the board is the one of 25G is a guess", "estimate",
    ),
    "ck": Entry(
        Trace(line=replace(LINES["ck board"].value, length=110.3 * mm), pads=(0.029 * pF, 0.019 * pF)), _CK, "verified"
    ),
})  # fmt: skip

# Host classes of 200G per lane, die to connector. Their printed losses, 3.26 / 8.32 / 13.15 dB at 53.1 GHz and 1.65 / 4.90 /
# 7.83 dB at 26.56 GHz, are |S21| on 92.5 ohm, twice R_d, which is H21 between the terminations R_d.
HOSTS: MappingProxyType[str, Entry[tuple[Package, Trace]]] = MappingProxyType({
    "HL": Entry(
        (_first_line(_PACKAGE_A_12, 8 * mm), Trace(line=replace(LINES["dj board"].value, length=22 * mm))), _DJ, "verified"
    ),
    "HN": Entry(
        (_first_line(_PACKAGE_B_30, 15 * mm), Trace(line=replace(LINES["dj board"].value, length=83 * mm))), _DJ, "verified"
    ),
    "HH": Entry(
        (_first_line(_PACKAGE_B_30, 45 * mm), Trace(line=replace(LINES["dj board"].value, length=74 * mm))), _DJ, "verified"
    ),
})  # fmt: skip

# Circuit to cable inside the connector of an active cable: a 3 mm class A package and 8 mm of board.
ACTIVE_END: Entry[tuple[Package, Trace]] = Entry(
    (_first_line(_PACKAGE_A_12, 3 * mm), Trace(line=replace(LINES["dj board"].value, length=8 * mm))),
    _DJ + "; lengths are an estimate", "estimate",
)  # fmt: skip

# A pair is meant to lose 1.5 / 2.9 / 4.3 dB at 13.28 / 26.56 / 53.125 GHz in 100 ohm, itself an estimate. The body is fitted
# to that with pads of 18 fF and a paddle card of 15 mm on the dj board at 100 ohm; the pair loses 1.66 / 2.68 / 4.37 dB.
CONNECTORS: MappingProxyType[str, Entry[Connector]] = MappingProxyType({
    "front panel": Entry(
        Connector(
            pads=(18 * fF, 18 * fF),
            body=StandardLine(
                length=6 * mm, impedance=100 * ohm, a1=1.66e-3 * ns**0.5 / mm, a2=2.39e-4 * ns / mm, tau=5.79e-3 * ns / mm
            ),
            paddle=replace(LINES["dj board"].value, length=15 * mm, impedance=100 * ohm),
        ),
        "mated QSFP/OSFP connector with its paddle card, calibrated; residual +0.16 / -0.22 / +0.07 dB a pair", "estimate",
    ),
    "backplane": Entry(  # 0.34 / 0.65 / 1.24 dB at 13.28 / 26.56 / 53.125 GHz in 100 ohm; no paddle card
        Connector(
            pads=(10 * fF, 10 * fF),
            body=StandardLine(
                length=18 * mm, impedance=100 * ohm, a1=2.0e-4 * ns**0.5 / mm, a2=1.1e-4 * ns / mm, tau=5.2e-3 * ns / mm
            ),
            paddle=StandardLine(length=0 * mm, impedance=100 * ohm),
        ),
        "mated high-density connector with its footprint, inside 0.6-0.8 dB at 26.56 and 1.2-2.0 dB at 53.125 GHz", "estimate",
    ),
})  # fmt: skip

# Cable, one metre each: write replace(CABLES[26].value, length=2 * m). Other gauges than the two anchors: +-8 %.
_ANCHOR = "fitted to 7.14 (26 AWG) and 10.23 dB/m (30 AWG) at 53 GHz, Astera Labs, The 1.2-Meter Challenge, 15 July 2026"
_SCALED = "the cable law of 26 and 30 AWG scaled by diameter"
CABLES: MappingProxyType[int, Entry[Twinax]] = MappingProxyType({
    24: Entry(Twinax(length=1 * m, gauge=24), _SCALED, "estimate"),
    26: Entry(Twinax(length=1 * m, gauge=26), _ANCHOR, "verified"),
    27: Entry(Twinax(length=1 * m, gauge=27), _SCALED, "estimate"),
    28: Entry(Twinax(length=1 * m, gauge=28), _SCALED, "estimate"),
    30: Entry(Twinax(length=1 * m, gauge=30), _ANCHOR, "verified"),
    32: Entry(Twinax(length=1 * m, gauge=32), _SCALED, "estimate"),
    34: Entry(Twinax(length=1 * m, gauge=34), _SCALED, "estimate"),
})  # fmt: skip

# Flyover: thin twinax from the package to the panel, 0.15 to 0.35 m; 10 to 15 dB/m at 53 GHz.
FLYOVERS: MappingProxyType[int, Entry[Twinax]] = MappingProxyType(
    {gauge: Entry(replace(CABLES[gauge].value, length=0.25 * m), CABLES[gauge].reference, "estimate") for gauge in (30, 32, 34)}
)


def _board(width: float, spacing: float, height: float, permittivity: float, loss_tangent: float, rz: float) -> BoardLine:
    """One metre of stripline on copper of 15 um; ``rz`` [m] of the foil."""
    return BoardLine(
        length=1 * m, width=width, spacing=spacing, height=height, permittivity=permittivity, loss_tangent=loss_tangent,
        roughness=Roughness(height=rz),
    )  # fmt: skip


# Differential striplines by class of laminate, one metre each: write replace(LAMINATES["FR4"].value, length=0.2 * m).
# Cross-sections are typical; permittivity, loss tangent at 10 GHz and foil are chosen inside what data sheets of the class say.
# dB/inch at 13.28 / 26.56 / 53.125 GHz: FR4 1.93 / 3.68 / 6.94, Megtron 6 0.74 / 1.35 / 2.52, Megtron 7 0.53 / 0.91 / 1.63,
# Megtron 8 0.43 / 0.71 / 1.21, Megtron 9 class 0.37 / 0.57 / 0.92; at 53 GHz the boards for 224G 0.79 and 0.92.
_CLASS = "engineering estimate of the class, +-20 %; cross-section and foil are typical values"
_MEASURED = "measured 0.797 (14 mil pitch) and 0.886 dB/inch (11 mil) at 53 GHz, Df <= 0.0006, DesignCon 2024 proceedings"
LAMINATES: MappingProxyType[str, Entry[BoardLine]] = MappingProxyType({
    "FR4": Entry(_board(6 * mil, 8 * mil, 14 * mil, 4.2, 0.016, 5 * um), _CLASS, "estimate"),
    "Megtron 6": Entry(_board(6 * mil, 8 * mil, 14 * mil, 3.5, 0.0037, 2.5 * um), _CLASS, "estimate"),
    "Megtron 7": Entry(_board(6 * mil, 8 * mil, 14 * mil, 3.3, 0.0022, 1.5 * um), _CLASS, "estimate"),
    "Megtron 8": Entry(_board(6 * mil, 8 * mil, 14 * mil, 3.1, 0.0015, 1.0 * um), _CLASS, "estimate"),
    "Megtron 9 class": Entry(_board(6 * mil, 8 * mil, 14 * mil, 3.0, 0.0008, 0.7 * um), _CLASS, "estimate"),
    "224G 14 mil": Entry(_board(7 * mil, 7 * mil, 15 * mil, 3.0, 0.0006, 0.55 * um), _MEASURED + "; Rz fitted", "estimate"),
    "224G 11 mil": Entry(_board(5.5 * mil, 5.5 * mil, 12.5 * mil, 3.0, 0.0006, 0.55 * um), _MEASURED, "estimate"),
})  # fmt: skip


def _microstrip(laminate: str, width: float, spacing: float, height: float) -> Entry[BoardLine]:
    """The laminate and foil of a stripline entry as outer layer: copper of 40 um, foil and plating."""
    line = replace(
        LAMINATES[laminate].value, layout="microstrip", width=width, spacing=spacing, height=height, thickness=40 * um
    )
    return Entry(line, "laminate and foil of the stripline entry; outer cross-section typical; no solder mask", "estimate")


# Differential microstrips of the same classes, one metre each; no source prints their losses. dB/inch at 13.28 / 26.56 /
# 53.125 GHz: FR4 1.39 / 2.64 / 4.99, Megtron 6 0.50 / 0.92 / 1.71, Megtron 7 0.35 / 0.61 / 1.11, Megtron 8 0.28 / 0.46 / 0.80,
# Megtron 9 class 0.24 / 0.38 / 0.61, 224G class 0.23 / 0.35 / 0.55. Radiation and mask are left out: real ones lose more.
MICROSTRIPS: MappingProxyType[str, Entry[BoardLine]] = MappingProxyType({
    "FR4": _microstrip("FR4", 7 * mil, 8 * mil, 4.5 * mil),
    "Megtron 6": _microstrip("Megtron 6", 9 * mil, 9 * mil, 5 * mil),
    "Megtron 7": _microstrip("Megtron 7", 9 * mil, 9 * mil, 5 * mil),
    "Megtron 8": _microstrip("Megtron 8", 10 * mil, 9 * mil, 5 * mil),
    "Megtron 9 class": _microstrip("Megtron 9 class", 10 * mil, 9 * mil, 5 * mil),
    "224G class": _microstrip("224G 14 mil", 10 * mil, 9 * mil, 5 * mil),
})  # fmt: skip

_VIA = "typical differential via of a thick board; stub resonance c / (4 L sqrt(er))"
VIAS: MappingProxyType[str, Entry[Via]] = MappingProxyType({
    "back-drilled": Entry(
        Via(length=1.5 * mm, stub=0.15 * mm, impedance=92 * ohm, permittivity=3.3, pads=(12 * fF, 12 * fF)), _VIA, "estimate"
    ),
    "0.5 mm stub": Entry(
        Via(length=1.5 * mm, stub=0.5 * mm, impedance=92 * ohm, permittivity=3.3, pads=(12 * fF, 12 * fF)), _VIA, "estimate"
    ),
    "1 mm stub": Entry(
        Via(length=1.5 * mm, stub=1.0 * mm, impedance=92 * ohm, permittivity=3.3, pads=(12 * fF, 12 * fF)), _VIA, "estimate"
    ),
})  # fmt: skip

# Interposer wires by width and thickness, one millimetre each; 5.5 / 11 / 22 ohm/mm.
_WIRE = "rho 2.2e-8 ohm m, 0.22 pF/mm, 0.33 nH/mm: inside the ranges usual for silicon interposers"
INTERPOSERS: MappingProxyType[str, Entry[InterposerWires]] = MappingProxyType({
    "2x2 um": Entry(InterposerWires(length=1 * mm, width=2 * um, thickness=2 * um), _WIRE, "estimate"),
    "2x1 um": Entry(InterposerWires(length=1 * mm, width=2 * um, thickness=1 * um), _WIRE, "estimate"),
    "1x1 um": Entry(InterposerWires(length=1 * mm, width=1 * um, thickness=1 * um), _WIRE, "estimate"),
})  # fmt: skip

# Buses inside a package, the middle wire of five with its neighbours: 6.4 to 10 Gb/s a pin for HBM, 4 to 32 GT/s for UCIe.
_BUS = "wire of the interposer entries; coupling C_m / C, drivers and pad capacitances are estimates; length "
BUSES: MappingProxyType[str, Entry[InterposerChannel]] = MappingProxyType({
    "HBM": Entry(  # unterminated, 40 ohm, 0.25 and 0.30 pF
        InterposerChannel(
            wires=replace(INTERPOSERS["2x2 um"].value, length=3 * mm, n_wires=5, coupling=0.15), driven=2, observed=2
        ),
        _BUS + "inside the 2 to 6 mm usual from PHY to PHY", "estimate",
    ),
    "UCIe-A": Entry(  # advanced package: silicon bridge or interposer, unterminated
        InterposerChannel(
            wires=replace(INTERPOSERS["2x2 um"].value, length=2 * mm, n_wires=5, coupling=0.15), driven=2, observed=2,
            driver_resistance=30 * ohm, tx_capacitance=125 * fF, rx_capacitance=125 * fF,
        ),
        _BUS + "the 2 mm at most of the advanced package", "estimate",
    ),
    "UCIe-S": Entry(  # standard package: 50 ohm lines in organic build-up film, terminated
        InterposerChannel(
            wires=InterposerWires(
                length=25 * mm, width=20 * um, thickness=15 * um, n_wires=5, coupling=0.05, capacitance=0.12 * pF / mm,
                inductance=0.30 * nH / mm, resistivity=1.72e-8, loss_tangent=0.0044,
            ),
            driven=2, observed=2, driver_resistance=50 * ohm, tx_capacitance=125 * fF, rx_capacitance=125 * fF,
            termination=50 * ohm,
        ),
        "organic substrate, typical cross-section and film; coupling, drivers and pads are estimates; length the 25 mm at most "
        "of the standard package", "estimate",
    ),
})  # fmt: skip
