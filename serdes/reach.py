"""How far a link goes: the length at which its margin is used up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dsp import check
from serdes.link import Link, RetimedLink
from serdes.metrics import required_snr_db, symbol_error_ratio
from serdes.operating_point import OperatingPoint, operating_point

STEPS = 9
"""Lengths looked at on the way from the longest to the shortest."""
LOWEST = -100.0
"""Excess [dB] reported where no signal arrives at all."""


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

    def excess_db(self, *points: OperatingPoint) -> float:
        """Slicer SNR [dB] beyond error ratio and margin; negative when the target is missed.

        Of several segments in series: how much SNR all may lose alike until their error ratios add up to the target.
        """
        if any(point.closed for point in points):
            return LOWEST
        alone = [p.snr_db - self.required_snr_db(p.link) - self.margin_db for p in points]
        if len(points) == 1:
            return max(alone[0], LOWEST)
        from scipy.optimize import brentq

        def surplus(loss_db: float) -> float:
            ratios = (symbol_error_ratio(p.snr_db - self.margin_db - loss_db, p.link.tx.constellation) for p in points)
            return sum(ratios) - self.error_ratio

        worst = min(alone)
        lowest = worst - 10.0  # n segments share the target: the loss is a little below the worst one's
        return max(float(brentq(surplus, lowest, worst + 1e-9)), LOWEST)


@dataclass(frozen=True, kw_only=True, eq=False)
class Reach:
    """``length`` [m] at which the target is just met; ``outcome`` "found", "too short" (missed already at the lowest length) or
    "beyond bracket" (still met at the highest). ``points``: operating points there, one a segment.
    """

    length: float
    outcome: str
    reason: str
    points: tuple[OperatingPoint, ...]
    evaluations: int

    @property
    def point(self) -> OperatingPoint:
        """The operating point of the segment with the least SNR."""
        return min(self.points, key=lambda p: p.snr_db)

    @property
    def binding(self) -> str:
        """The cause with the largest share of the decision error at the reach."""
        return self.point.binding


def settle(link: Link | RetimedLink, like: Sequence[OperatingPoint] | None = None) -> tuple[OperatingPoint, ...]:
    """Operating point of each segment of ``link``; ``like``: those of a similar link, which is faster."""
    segments = link.segments if isinstance(link, RetimedLink) else (link,)
    similar = like if like is not None and len(like) == len(segments) else (None,) * len(segments)
    return tuple(
        near if near is not None and near.link == segment else operating_point(segment, like=near)
        for segment, near in zip(segments, similar, strict=True)
    )


def reach(
    link_at: Callable[[float], Link | RetimedLink], target: Target, bracket: tuple[float, float], tolerance: float = 0.005
) -> Reach:
    """Find the length in ``bracket`` [m] at which ``link_at(length)`` just meets ``target``.

    The last length that meets it, in case the margin is not monotone in length: among `STEPS` lengths from long to short the
    first that holds, then Brent's method between it and the next, to ``tolerance``. An unreachable target is an outcome with
    its reason. Raises ValueError for a bracket that is not rising from 0 and a tolerance outside 1e-9 to 1.
    """
    check.numbers("reach", "bracket", bracket)
    if len(bracket) != 2 or not 0 <= bracket[0] < bracket[1]:
        raise check.fail("reach", "bracket", "(low, high) with 0 <= low < high [m]", bracket)
    check.between("reach", "tolerance", tolerance, 1e-9, 1)
    low, high = bracket
    seen: dict[float, tuple[OperatingPoint, ...]] = {}

    def excess(length: float) -> float:
        if length not in seen:
            near = seen[min(seen, key=lambda known: abs(known - length))] if seen else None
            seen[length] = settle(link_at(length), like=near)
        return target.excess_db(*seen[length])

    def found(length: float, outcome: str, reason: str) -> Reach:
        return Reach(length=length, outcome=outcome, reason=reason, points=seen[length], evaluations=len(seen))

    ladder = np.geomspace(max(low, 1e-3 * high), high, STEPS)
    ladder[0], ladder[-1] = low, high
    holds = next((i for i in reversed(range(STEPS)) if excess(ladder[i]) >= 0), None)
    if holds is None:
        best = max(ladder, key=excess)
        cause = min(seen[best], key=lambda p: p.snr_db).binding
        text = f"the target is missed at every length, by {-excess(best):.2f} dB at {best:g} m, most by {cause}"
        return found(low, "too short", text)
    if holds == STEPS - 1:
        text = f"the target is still met with {excess(high):.2f} dB to spare at the longest length, {high:g} m"
        return found(high, "beyond bracket", text)
    from scipy.optimize import brentq

    length = float(brentq(excess, ladder[holds], ladder[holds + 1], xtol=tolerance * 0.1, rtol=tolerance))
    excess(length)
    point = min(seen[length], key=lambda p: p.snr_db)
    share = 100 * point.shares()[point.binding]
    return found(length, "found", f"the margin is used up; the binding cause is {point.binding}, {share:.0f} % of the error")
