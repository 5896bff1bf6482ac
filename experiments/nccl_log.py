"""The table that nccl-tests prints, read back: time against message size, with a fitted latency and bandwidth."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsp import check
from dsp.units import GB, byte, us
from experiments.collectives import COLLECTIVES, bus_factor
from experiments.platforms import PLATFORMS

_PROGRAMS = {
    "all_reduce": "all-reduce", "reduce_scatter": "reduce-scatter", "all_gather": "all-gather", "alltoall": "all-to-all",
    "broadcast": "broadcast", "reduce": "reduce",
}  # fmt: skip
_RANK = re.compile(r"#\s*Rank\s+(\d+)\s.*?\bon\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(.*)$")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One message size [bit]: times [s] and printed bus bandwidths [b/s], out of place and in place (None if not printed)."""

    size: float
    time: float
    busbw: float
    in_place_time: float | None
    in_place_busbw: float | None


@dataclass(frozen=True, kw_only=True)
class NcclLog:
    """A table with what the log tells of the job: ``ranks`` GPUs on ``hosts`` machines, ``device`` the GPU's name or ""."""

    collective: str
    ranks: int
    hosts: int
    device: str
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        check.one_of(self, "collective", self.collective, COLLECTIVES)
        check.count(self, "ranks", self.ranks, 2)
        check.count(self, "hosts", self.hosts, 1)
        if not self.rows:
            raise check.fail(self, "rows", "one message size or more", self.rows)

    @property
    def platform(self) -> str | None:
        """The known platform that the device's name contains, or None."""
        found = [name for name in PLATFORMS if name in self.device.upper()]
        return max(found, key=len) if found else None

    def series(self, in_place: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sizes [bit], times [s] and bus bandwidths [b/s] of the rows that have them, by rising size."""
        picked = [
            (r.size, r.in_place_time if in_place else r.time, r.in_place_busbw if in_place else r.busbw) for r in self.rows
        ]
        rows = sorted(p for p in picked if p[1] is not None and p[1] > 0 and p[0] > 0)
        if not rows:
            raise ValueError(f"the log has no {'in-place' if in_place else 'out-of-place'} times")
        size, time, busbw = np.array(rows, float).T
        return size, time, busbw


@dataclass(frozen=True, kw_only=True)
class Fit:
    """``latency`` [s] and ``bandwidth`` [b/s] of t = latency + bus factor S / bandwidth.

    ``hop``: the latency per ring step; ``mean`` and ``worst`` relative deviation of the fitted times over ``points`` sizes.
    """

    latency: float
    bandwidth: float
    hop: float
    mean: float
    worst: float
    points: int


def fit(log: NcclLog, in_place: bool = False, largest: int | None = None) -> Fit:
    """Least squares of relative deviations over all sizes, or the ``largest`` few; latency is kept at 0 or more.

    NCCL changes algorithm with size, so one line through all sizes is a summary, not a law.
    """
    size, time, _ = log.series(in_place)
    if largest is not None:
        check.count("fit", "largest", largest, 2, size.size)
        size, time = size[-largest:], time[-largest:]
    if size.size < 2 or size[0] == size[-1]:
        raise ValueError(f"a fit needs two message sizes or more, the log has {size.size}")
    moved = float(bus_factor(log.collective, log.ranks)) * size
    scale = moved.max()
    latency, slope = np.linalg.lstsq(np.column_stack([1 / time, moved / scale / time]), np.ones(size.size), rcond=None)[0]
    if latency < 0:
        latency, slope = 0.0, float(np.sum(moved / scale / time) / np.sum((moved / scale / time) ** 2))
    if slope <= 0:
        raise ValueError("times do not grow with size, so no bandwidth fits them")
    deviation = np.abs((latency + slope * moved / scale) / time - 1)
    steps = (2 if log.collective == "all-reduce" else 1) * (log.ranks - 1)
    return Fit(
        latency=float(latency), bandwidth=float(scale / slope), hop=float(latency) / steps, mean=float(deviation.mean()),
        worst=float(deviation.max()), points=int(size.size),
    )  # fmt: skip


def read(path: Path, ranks: int | None = None, collective: str | None = None) -> NcclLog:
    """Read the log at ``path``; `parse` says the rest. Raises OSError where it can't be read."""
    return parse(path.read_text(encoding="utf-8", errors="replace"), path.name, ranks, collective)


def parse(text: str, name: str = "log", ranks: int | None = None, collective: str | None = None) -> NcclLog:
    """Read what nccl-tests printed: columns by their heading, any prefix that a launcher puts before a line.

    ``ranks``, ``collective``: for logs that do not tell. Raises ValueError naming the file, the line and what is missing.
    """
    heading: list[str] | None = None
    rows, found, hosts, device = [], set(), set(), ""
    for number, line in enumerate(text.splitlines(), start=1):
        match = _RANK.search(line)
        if match:
            found.add(int(match[1]))
            hosts.add(match[2])
            device = match[3].strip()
            continue
        words = line.split()
        if {"size", "time", "algbw", "busbw"} <= {w.lstrip("#") for w in words}:
            heading = list(words[[w.lstrip("#") for w in words].index("size") :])
        elif heading is not None:
            row = _row(words, heading, f"{name}, line {number}")
            if row is not None:
                rows.append(row)
    if heading is None:
        raise ValueError(f"{name} has no table of nccl-tests: no line with size, time, algbw and busbw")
    if not rows:
        raise ValueError(f"{name} has the heading of nccl-tests but no row of numbers below it")
    count = ranks if ranks is not None else (max(found) + 1 if found else None)
    if count is None:
        raise ValueError(f"{name} does not tell the number of GPUs (no '# Rank' lines): give ranks")
    kind = collective or _collective(text, rows, count, name)
    return NcclLog(collective=kind, ranks=count, hosts=max(1, len(hosts)), device=device, rows=tuple(rows))


def _row(words: Sequence[str], heading: Sequence[str], where: str) -> Row | None:
    starts = [i for i in range(min(2, len(words))) if words[i].replace("_", "").isdigit()]
    values = list(words[-len(heading) :])
    if values:
        values[0] = values[0].rpartition(">:")[2]  # a launcher's prefix without a space
    if len(words) < len(heading) or not values[0].replace("_", "").isdigit():
        if starts and len(words) >= 3:
            raise ValueError(f"{where}: a row must have {len(heading)} columns, got {len(words)}: {' '.join(words)[:60]!r}")
        return None
    columns = {key: [v for h, v in zip(heading, values, strict=True) if h == key] for key in ("time", "busbw")}
    try:
        times = [float(v) * us for v in columns["time"]]
        busbw = [float(v) * GB for v in columns["busbw"]]
        size = int(values[0]) * byte
    except ValueError:
        raise ValueError(f"{where}: time and busbw must be numbers, got {columns}") from None
    return Row(
        size=size, time=times[0], busbw=busbw[0], in_place_time=times[1] if len(times) > 1 else None,
        in_place_busbw=busbw[1] if len(busbw) > 1 else None,
    )  # fmt: skip


def _collective(text: str, rows: Sequence[Row], ranks: int, name: str) -> str:
    match = re.search(r"\b(all_reduce|reduce_scatter|all_gather|alltoall|broadcast|reduce)_perf", text)
    if match:
        return _PROGRAMS[match[1]]
    largest = max(rows, key=lambda r: r.size)
    ratio = largest.busbw * largest.time / largest.size
    known = {"all-reduce": 2 * (ranks - 1) / ranks, "all-gather": (ranks - 1) / ranks, "broadcast": 1.0}
    best = min(known, key=lambda kind: abs(known[kind] - ratio))
    if abs(known[best] - ratio) > 0.02:
        raise ValueError(
            f"{name}: busbw over algbw is {ratio:.3f}, that of no collective of {ranks} GPUs: give collective or ranks"
        )
    return best
