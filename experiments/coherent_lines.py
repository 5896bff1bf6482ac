"""Coherent modules on the lines that the studies compare: one amplified span, the band full; how far it goes and why no further."""

from __future__ import annotations

from dsp.units import km
from serdes.coherent import CoherentLink
from serdes.coherent_standards import Module, module
from serdes.coherent_statistical import CoherentReach, CoherentStatistical, coherent_reach

BAND = 4800e9
"""Width of the amplified band [Hz], filled with channels."""
LAUNCH_DBM = 0.0
"""Power of a channel into each span behind a booster [dBm]."""
LONGEST = 195 * km


def channels_of(m: Module) -> int:
    """Channels that fill the amplified band."""
    return int(BAND // m.spacing)


def line(m: Module, length: float, spans: int = 1, power_dbm: float = LAUNCH_DBM) -> CoherentLink:
    """``spans`` of ``length`` [m] with the band full, launched with ``power_dbm`` or the module's own power if that is more."""
    return m.amplified(length, spans, max(power_dbm, m.power_dbm), channels_of(m))


def amplified_reach(m: Module, ageing: bool = True) -> CoherentReach:
    """Longest single amplified span, the band full; ``ageing``: with what is kept for implementation, age and path."""
    return coherent_reach(lambda x: line(m, x), (1 * km, LONGEST), m.ageing_db() if ageing else 0.0)


def specified_reach(name: str) -> tuple[float, str]:
    """Reach [m] of one amplified span of module ``name`` with its ageing margin, and what ends it.

    That is the dispersion of the specification, where it is shorter, or the largest noise at the end.
    """
    m = module(name)
    found = amplified_reach(m)
    if m.dispersion_reach() < found.length:
        return m.dispersion_reach(), "specified dispersion"
    parts = CoherentStatistical().budget(line(m, found.length))
    cause = min(parts, key=lambda key: parts[key])
    return found.length, {"amplifiers": "amplifier noise", "nonlinear": "Kerr noise"}.get(cause, cause)
