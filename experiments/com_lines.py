"""The second measure of reach: where the Channel Operating Margin of P802.3dj falls to its limit, by host pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.parallel import run_all
from experiments.study import Progress, silent
from serdes.com_reach import DETECTORS, cable_channel, com_reach, sparse
from serdes.com_standards import standard

STANDARD = "802.3dj-cr"
BRACKET = (0.2, 6.0)


def solve(task: tuple[tuple[str, str], int]) -> list[dict[str, Any]]:
    """Both detectors for one (hosts, gauge); runs in a worker process."""
    hosts, gauge = task
    sheet = sparse(standard(STANDARD))
    case = next(c for c in sheet.cases if c.name == "-".join(hosts))
    known: dict[float, Any] = {}
    rows = []
    for detector in DETECTORS:
        found = com_reach(sheet, case, lambda x: cable_channel(x, gauge, hosts), BRACKET, detector, known=known)
        rows.append({
            "hosts": "-".join(hosts), "gauge_awg": gauge, "detector": detector, "com_limit_db": sheet.COM_min,
            "reach_m": round(found.length, 3), "outcome": found.outcome,
        })  # fmt: skip
    curve = [{"length_m": x, "com_dfe_db": dfe, "com_mlsd_db": mlsd} for x, dfe, mlsd in found.curve]
    return [{**row, "curve": curve} for row in rows]


def run(pairs: Sequence[tuple[str, str]], gauges: Sequence[int], progress: Progress = silent) -> list[dict[str, Any]]:
    """One row for each host pair, gauge and detector. The search over equaliser settings is thinned (`com_reach.sparse`)."""
    tasks = [(pair, gauge) for gauge in gauges for pair in pairs]
    return [row for rows in run_all(solve, tasks, progress) for row in rows]
