"""How far a link goes: the length at which its margin is used up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dsp import check
from serdes.link import Link, RetimedLink
from serdes.metrics import required_snr_db, symbol_error_ratio
from serdes.operating_point import OperatingPoint, operating_point

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

    By Brent's method, to ``tolerance`` of the length. An unreachable target is an outcome with its reason. Raises ValueError
    for a bracket that is not rising from 0.
    """
    low, high = bracket
    if not 0 <= low < high:
        raise ValueError(f"bracket must be (low, high) with 0 <= low < high [m], got {bracket!r}")
    seen: dict[float, tuple[OperatingPoint, ...]] = {}

    def excess(length: float) -> float:
        if length not in seen:
            near = seen[min(seen, key=lambda known: abs(known - length))] if seen else None
            seen[length] = settle(link_at(length), like=near)
        return target.excess_db(*seen[length])

    def found(length: float, outcome: str, reason: str) -> Reach:
        return Reach(length=length, outcome=outcome, reason=reason, points=seen[length], evaluations=len(seen))

    missed = -excess(low)
    if missed > 0:
        cause = min(seen[low], key=lambda p: p.snr_db).binding
        return found(
            low, "too short", f"the target is missed by {missed:.2f} dB at the shortest length, {low:g} m, most by {cause}"
        )
    spare = excess(high)
    if spare >= 0:
        return found(
            high, "beyond bracket", f"the target is still met with {spare:.2f} dB to spare at the longest length, {high:g} m"
        )
    from scipy.optimize import brentq

    length = float(brentq(excess, low, high, xtol=tolerance * 0.1, rtol=tolerance))
    excess(length)
    cause = min(seen[length], key=lambda p: p.snr_db).binding
    return found(length, "found", f"beyond it {cause} takes the margin")
