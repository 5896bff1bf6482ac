"""COM against the length of a cable: a second, independent measure of how far a lane goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from channels.catalog import CABLES, CONNECTORS
from channels.crosstalk import FarEndCrosstalk, NearEndCrosstalk
from dsp import check
from serdes.com import CaseResult, com_case
from serdes.com_channel import ComChannel
from serdes.com_parts import Case
from serdes.com_sheet import Sheet
from serdes.setups import setup

DETECTORS = ("DFE", "MLSD")


def cable_channel(length: float, gauge: int = 26, hosts: tuple[str, str] = ("HN", "HH"), crosstalk: bool = True) -> ComChannel:
    """A 224G cable assembly of ``length`` [m]: connector, twinax, connector, with the crosstalk estimates of the reach study.

    The hosts are those of the parameter set's case; here they only shape the crosstalk.
    """
    connector = CONNECTORS["front panel"].value
    wire = replace(CABLES[gauge].value, length=float(length))
    link = setup("224G").link(length, gauge, hosts)
    far = tuple(a.coupling for a in link.aggressors if isinstance(a.coupling, FarEndCrosstalk))
    near = tuple(a.coupling for a in link.aggressors if isinstance(a.coupling, NearEndCrosstalk))
    return ComChannel(
        thru=connector @ wire @ connector.flipped, fext=far if crosstalk else (), next=near if crosstalk else (),
        name=f"{length:g} m of {gauge} AWG",
    )  # fmt: skip


def sparse(sheet: Sheet) -> Sheet:
    """The set with a search fit for a sweep: every other CTLE step, every fourth transmitter step, zero among them."""

    def every(values: tuple[float, ...], n: int) -> tuple[float, ...]:
        step = min((abs(b - a) for a, b in pairwise(values)), default=0.0) * n
        return tuple(v for v in values if step == 0 or abs(v / step - round(v / step)) < 1e-6)

    return replace(
        sheet, g_DC=every(sheet.g_DC, 2), g_DC2=every(sheet.g_DC2, 2), c_pre=tuple(every(v, 4) for v in sheet.c_pre),
        c_post=tuple(every(v, 4) for v in sheet.c_post),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class ComReach:
    """``length`` [m] where COM meets the target; ``outcome`` "found", "too short" or "beyond bracket".

    ``curve``: (length, COM with the DFE, COM with the sequence detector) of every evaluation [m, dB, dB].
    """

    length: float
    outcome: str
    curve: tuple[tuple[float, float, float], ...]


def com_reach(
    sheet: Sheet, case: Case, channel_at: Callable[[float], ComChannel], bracket: tuple[float, float] = (0.2, 6.0),
    detector: str = "DFE",
    target_db: float | None = None, tolerance: float = 0.01, known: dict[float, CaseResult] | None = None,
) -> ComReach:  # fmt: skip
    """The length in ``bracket`` [m] where COM of ``channel_at(length)`` falls to ``target_db`` (the set's limit by default).

    ``detector``: DFE or MLSD. ``known`` keeps evaluations, so that a second call with the other detector is nearly free.
    """
    from scipy.optimize import brentq

    check.one_of("com_reach", "detector", detector, DETECTORS)
    low, high = bracket
    if not 0 < low < high:
        raise ValueError(f"bracket must be (low, high) with 0 < low < high [m], got {bracket!r}")
    seen: dict[float, CaseResult] = {} if known is None else known
    goal = sheet.COM_min if target_db is None else target_db

    def excess(length: float) -> float:
        if length not in seen:
            seen[length] = com_case(sheet, case, channel_at(length))
        return (seen[length].com_dfe_db if detector == "DFE" else seen[length].com_db) - goal

    def found(length: float, outcome: str) -> ComReach:
        curve = tuple((x, seen[x].com_dfe_db, seen[x].com_db) for x in sorted(seen))
        return ComReach(length=length, outcome=outcome, curve=curve)

    if excess(low) < 0:
        return found(low, "too short")
    if excess(high) > 0:
        return found(high, "beyond bracket")
    return found(float(brentq(excess, low, high, xtol=tolerance, rtol=tolerance / 4)), "found")
