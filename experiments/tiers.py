"""The bandwidth tiers of a cluster: how far each goes and what it carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dsp import check
from dsp.units import TB, GBd, Gbps, km, m, mm
from experiments.lines import CoherentLine, CopperLine, InterposerLine, Line, OpticalLine, Reach


@dataclass(frozen=True, kw_only=True)
class Tier:
    """A class of interconnect. ``distance`` [m] (shortest, longest); ``bandwidth`` [b/s] (lowest, highest) at one end.

    Both as quoted by ``source``; ``simulated_by``: the line whose reach stands beside the longest distance.
    """

    name: str
    medium: str
    distance: tuple[float, float]
    bandwidth: tuple[float, float]
    bandwidth_label: str
    simulated_by: Line
    source: str

    def __post_init__(self) -> None:
        for field in ("distance", "bandwidth"):
            pair = getattr(self, field)
            check.numbers(self, field, pair, 2)
            if len(pair) != 2 or not 0 < pair[0] <= pair[1]:
                raise check.fail(self, field, "a (lowest, highest) pair above 0", pair)
        check.instance(self, "simulated_by", self.simulated_by, Line)


TIERS = (
    Tier(
        name="HBM", medium="interposer wire", distance=(1 * mm, 6 * mm), bandwidth=(8 * TB, 8.2 * TB),
        bandwidth_label="8 TB/s per GPU, read or write", simulated_by=InterposerLine(symbol_rate=8 * GBd, wire="2x1 um"),
        source="B200: 8 stacks x 1024 bit x 8 Gb/s = 8.19 TB/s, sold as 8",
    ),
    Tier(
        name="scale-up", medium="twinax in the rack", distance=(0.1 * m, 2 * m), bandwidth=(1.8 * TB, 1.8 * TB),
        bandwidth_label="1.8 TB/s per GPU, both directions summed", simulated_by=CopperLine(rate="200G"),
        source="NVLink 5: 18 links x 2 lanes x 200 Gb/s each way; cables of 0.1 to 2 m are sold",
    ),
    Tier(
        name="scale-out", medium="fibre with DSP modules", distance=(3 * m, 500 * m), bandwidth=(800 * Gbps, 1600 * Gbps),
        bandwidth_label="800G / 1.6T per module, each way", simulated_by=OpticalLine(rate="224G"),
        source="SR 50-100 m, DR 500 m module classes",
    ),
    Tier(
        name="DCI", medium="coherent fibre", distance=(1 * km, 120 * km), bandwidth=(400 * Gbps, 800 * Gbps),
        bandwidth_label="400ZR / 800ZR per wavelength, each way", simulated_by=CoherentLine(module="400ZR"),
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


def distance_label(length: float) -> str:
    """``length`` [m] to three digits, in mm, m or km."""
    scale, unit = (1 * km, "km") if length >= 1 * km else (1 * m, "m") if length >= 0.05 * m else (1 * mm, "mm")
    return f"{float(f'{length / scale:.3g}'):g} {unit}"


def tier_rows(rows: Sequence[Mapping[str, Any]], reached: Mapping[Line, Reach]) -> list[dict[str, Any]]:
    """The tiers as quoted beside ``reached``, how far simulated links go; scale-up from ``rows`` of the reach study: the fastest lane."""
    rate = max(r["symbol_rate_gbd"] for r in rows)
    fastest = [r for r in rows if r["symbol_rate_gbd"] == rate and r["gauge_awg"] == min(x["gauge_awg"] for x in rows)]
    shortest, longest = min(fastest, key=lambda r: r["reach_m"]), max(fastest, key=lambda r: r["reach_m"])
    table = []
    for tier in TIERS:
        bandwidth = tier.bandwidth_label
        if tier.simulated_by in reached:
            found = reached[tier.simulated_by]
            length, cause, basis = found.length, found.binding, found.basis
            simulated = distance_label(length)
        else:
            length, cause, basis = longest["reach_m"], longest["binding_cause"], longest["basis"]
            simulated = f"{shortest['reach_m']:.2f} m ({shortest['hosts']} hosts)"
            if longest is not shortest:
                simulated += f" to {length:.2f} m ({longest['hosts']})"
            simulated += f" at {rate:.9g} GBd"
            bandwidth = f"{longest['per_gpu_tb_per_s']:g} TB/s per GPU, both directions ({LANES_PER_GPU} lanes each way)"
        table.append({
            "tier": tier.name, "medium": tier.medium, "quoted": " to ".join(map(distance_label, tier.distance)),
            "simulated": simulated, "reach_m": float(f"{length:.3g}"), "binding_cause": cause, "bandwidth": bandwidth,
            "basis": basis, "source": tier.source,
        })  # fmt: skip
    return table
