"""The bandwidth tiers of a cluster: how far each goes and what it carries."""

from __future__ import annotations

from dataclasses import dataclass

from dsp import check
from dsp.units import TB, Gbps, km, m, mm


@dataclass(frozen=True, kw_only=True)
class Tier:
    """A class of interconnect. ``distance`` [m] (shortest, longest); ``bandwidth`` [b/s] (lowest, highest) at one end.

    ``basis``: "quoted" where the numbers come from ``source``, "modelled" where a simulated link gives the distance.
    """

    name: str
    medium: str
    distance: tuple[float, float]
    bandwidth: tuple[float, float]
    bandwidth_label: str
    basis: str
    source: str

    def __post_init__(self) -> None:
        for field in ("distance", "bandwidth"):
            pair = getattr(self, field)
            check.numbers(self, field, pair, 2)
            if len(pair) != 2 or not 0 < pair[0] <= pair[1]:
                raise check.fail(self, field, "a (lowest, highest) pair above 0", pair)
        check.one_of(self, "basis", self.basis, ("quoted", "modelled"))


TIERS = (
    Tier(
        name="HBM", medium="interposer wire", distance=(1 * mm, 6 * mm), bandwidth=(8 * TB, 8.2 * TB),
        bandwidth_label="8 TB/s per GPU, read or write", basis="quoted",
        source="B200: 8 stacks x 1024 bit x 8 Gb/s = 8.19 TB/s, sold as 8",
    ),
    Tier(
        name="scale-up", medium="twinax in the rack", distance=(0.1 * m, 2 * m), bandwidth=(1.8 * TB, 1.8 * TB),
        bandwidth_label="1.8 TB/s per GPU, both directions summed", basis="modelled",
        source="NVLink 5: 18 links x 2 lanes x 200 Gb/s each way; distance from the simulated reach",
    ),
    Tier(
        name="scale-out", medium="fibre with DSP modules", distance=(3 * m, 500 * m), bandwidth=(800 * Gbps, 1600 * Gbps),
        bandwidth_label="800G / 1.6T per module, each way", basis="quoted",
        source="SR 50-100 m, DR 500 m module classes",
    ),
    Tier(
        name="DCI", medium="coherent fibre", distance=(1 * km, 120 * km), bandwidth=(400 * Gbps, 800 * Gbps),
        bandwidth_label="400ZR / 800ZR per wavelength, each way", basis="quoted",
        source="OIF 400ZR: 80 km in one span, to 120 km with survey",
    ),
)  # fmt: skip

LANES_PER_GPU = 36
"""Lanes each way of a scale-up GPU: 18 links of 2 (NVLink 4 and 5)."""


def scale_up_bandwidth(payload: float, lanes: int = LANES_PER_GPU) -> float:
    """Bandwidth [b/s] of one GPU, both directions summed, of ``lanes`` each way carrying ``payload`` [b/s]."""
    check.positive("scale_up_bandwidth", "payload", payload, "b/s")
    check.count("scale_up_bandwidth", "lanes", lanes, 1)
    return 2 * lanes * payload
