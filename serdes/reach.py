"""How far a link goes: the length at which its margin is used up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dsp import check
from serdes.link import Link
from serdes.metrics import required_snr_db
from serdes.operating_point import OperatingPoint, operating_point


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a link must deliver: ``error_ratio`` at the detector (symbol errors) with ``margin_db`` of slicer SNR to spare."""

    error_ratio: float
    margin_db: float = 3.0

    def __post_init__(self) -> None:
        check.between(self, "error_ratio", self.error_ratio, 1e-30, 0.4)
        check.between(self, "margin_db", self.margin_db, -20, 60, "dB")

    def required_snr_db(self, link: Link) -> float:
        """Slicer SNR [dB] that gives the error ratio, without the margin."""
        return required_snr_db(self.error_ratio, link.tx.constellation)

    def excess_db(self, point: OperatingPoint) -> float:
        """Slicer SNR [dB] beyond error ratio and margin; negative when the target is missed."""
        return point.snr_db - self.required_snr_db(point.link) - self.margin_db


@dataclass(frozen=True, kw_only=True, eq=False)
class Reach:
    """``length`` [m] at which the target is just met; ``outcome`` "found", "too short" (missed already at the lowest length) or
    "beyond bracket" (still met at the highest). ``point``: the operating point there. ``binding``: the largest cause of error."""

    length: float
    outcome: str
    reason: str
    point: OperatingPoint
    evaluations: int

    @property
    def binding(self) -> str:
        """The cause with the largest share of the decision error at the reach."""
        return self.point.binding


def reach(
    link_at: Callable[[float], Link], target: Target, bracket: tuple[float, float], tolerance: float = 0.005
) -> Reach:
    """Find the length in ``bracket`` [m] at which ``link_at(length)`` just meets ``target``.

    By Brent's method, to ``tolerance`` of the length. An unreachable target is an outcome with its reason. Raises ValueError for a bracket that is not rising from 0.
    """
    low, high = bracket
    if not 0 <= low < high:
        raise ValueError(f"bracket must be (low, high) with 0 <= low < high [m], got {bracket!r}")
    at_low = operating_point(link_at(low))
    excess_low = target.excess_db(at_low)
    if excess_low < 0:
        reason = f"the target is missed by {-excess_low:.2f} dB at the shortest length, {low:g} m, most by {at_low.binding}"
        return Reach(length=low, outcome="too short", reason=reason, point=at_low, evaluations=1)
    at_high = operating_point(link_at(high), like=at_low)
    excess_high = target.excess_db(at_high)
    if excess_high >= 0:
        reason = f"the target is still met with {excess_high:.2f} dB to spare at the longest length, {high:g} m"
        return Reach(length=high, outcome="beyond bracket", reason=reason, point=at_high, evaluations=2)
    seen = {low: at_low, high: at_high}

    def excess(length: float) -> float:
        if length not in seen:
            nearest = seen[min(seen, key=lambda known: abs(known - length))]
            seen[length] = operating_point(link_at(length), like=nearest)
        return max(target.excess_db(seen[length]), -100.0)  # finite also where no signal arrives

    from scipy.optimize import brentq

    length = float(brentq(excess, low, high, xtol=tolerance * 0.1, rtol=tolerance))
    excess(length)
    best = seen[length]
    reason = f"beyond it {best.binding} takes the margin"
    return Reach(length=length, outcome="found", reason=reason, point=best, evaluations=len(seen))
