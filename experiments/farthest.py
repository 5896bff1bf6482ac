"""How far light goes until nothing is to spare: one search for all lanes that the studies lengthen."""

from __future__ import annotations

from collections.abc import Callable

from dsp.units import km

LONGEST = 80 * km
"""No fibre without an amplifier is looked at beyond this [m]."""


def farthest(spare: Callable[[float], float], low: float, high: float, xtol: float, rtol: float) -> float:
    """First length [m] from ``low`` on at which ``spare`` [dB] is no longer above 0; ``low`` where it never is, `LONGEST` at most.

    ``high`` [m]: first guess, doubled until nothing is left. ``xtol`` [m], ``rtol``: of the length.
    """
    from scipy.optimize import brentq

    high = min(high, LONGEST)
    while spare(high) > 0:
        if high == LONGEST:
            return LONGEST
        low, high = high, min(2 * high, LONGEST)
    return float(brentq(spare, low, high, xtol=xtol, rtol=rtol)) if spare(low) > 0 else low
