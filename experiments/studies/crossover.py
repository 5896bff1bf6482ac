"""For each distance and lane rate the technologies that close, what each costs, and what ends it: drawn as a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp import check
from dsp.units import km, ns, pJ
from experiments.optical_lanes import SYMBOL_RATES
from experiments.optical_reach import HOSTS_DB, MARGIN_DB, optical_path, optical_reach
from experiments.parallel import run_all
from experiments.study import Answer, Progress, silent
from serdes.link import Link, RetimedLink
from serdes.modules import ARCHITECTURES
from serdes.modules import Figure as Cost
from serdes.reach import settle
from serdes.setups import setup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "Which technology closes at which distance, and where does copper hand over to light?"
RATES = ("56G", "112G", "224G")
DISTANCES = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 300.0,
             500.0, 1 * km, 2 * km, 3 * km, 4 * km, 6 * km, 10 * km)  # fmt: skip
LONGEST_COPPER = 20.0
"""Copper beyond this is not computed: no lane rate goes half as far."""
COPPER_MARGIN_DB = 2 * MARGIN_DB
"""The same 3 dB of slicer SNR on both media: power of light is voltage."""
WIRE_DELAY, FIBER_DELAY = 4.5 * ns, 4.9 * ns
SHORTEST_FIBER = 1.0
"""No module is sold on less [m]."""
SERDES = Cost(value=5 * pJ, source="estimate")
"""A host's SerDes at both ends of a lane [J/bit]; every technology needs it, so it is left out of the comparison."""


@dataclass(frozen=True, kw_only=True)
class Technology:
    """A way to carry a lane: ``kind`` "passive", "ACC", "AEC", or the name of a module architecture.

    ``hosts``: classes of copper hosts; ``host_loss_db``: per side, of a module's host.
    """

    name: str
    kind: str
    energy: Cost
    latency: float
    hosts: tuple[str, str] | None = None
    host_loss_db: float = 0.0

    @property
    def copper(self) -> bool:
        """Whether it is a wire."""
        return self.kind in ("passive", "ACC", "AEC")


_NOTHING = Cost(value=0.0, source="a wire takes none")
_passive = partial(Technology, kind="passive", energy=_NOTHING, latency=0.0)
COPPER = (
    _passive(name="passive copper, low-loss hosts", hosts=("HL", "HL")),
    _passive(name="passive copper, nominal hosts", hosts=("HN", "HN")),
    _passive(name="passive copper, high-loss host", hosts=("HN", "HH")),
    Technology(
        name="active copper (ACC)", kind="ACC", hosts=("HL", "HL"), energy=Cost(value=3 * pJ, source="estimate"), latency=0.0
    ),
    Technology(
        name="retimed copper (AEC)",
        kind="AEC",
        hosts=("HL", "HL"),
        energy=Cost(value=12 * pJ, source="estimate"),
        latency=100 * ns,
    ),
)
OPTICS = tuple(
    Technology(
        name=f"{ARCHITECTURES[k].title}, {loss:g} dB hosts", kind=k, host_loss_db=loss, energy=ARCHITECTURES[k].energy,
        latency=ARCHITECTURES[k].latency.value,
    )
    for k, losses in HOSTS_DB.items()
    for loss in losses
)  # fmt: skip
TECHNOLOGIES = (*COPPER, *OPTICS)
STANDARD_HOSTS = "passive copper, standard hosts"
"""What passive copper is called at rates whose standard has one kind of host."""
_COPPER_NAMES = (STANDARD_HOSTS, *(t.name for t in COPPER))


@dataclass(frozen=True, kw_only=True)
class Task:
    """One technology at one rate, over all distances."""

    technology: Technology
    rate: str

    @property
    def name(self) -> str:
        """Of the technology at this rate."""
        passive = self.technology.kind == "passive"
        return STANDARD_HOSTS if passive and not setup(self.rate).has_host_classes else self.technology.name


def solve(task: Task) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows of one technology by distance, and its reach, empty for host classes that the rate does not have.

    Runs in a worker process.
    """
    rows = _copper(task) if task.technology.copper else _optics(task)
    return rows, _reach(task, rows) if rows else {}


def _copper(task: Task) -> list[dict[str, Any]]:
    s, technology = setup(task.rate), task.technology
    if not s.has_host_classes and technology.kind == "passive" and technology.hosts != ("HL", "HL"):
        return []
    hosts = technology.hosts if s.has_host_classes else None
    makers: dict[str, Callable[..., Link | RetimedLink]] = {"passive": s.link, "ACC": s.redriven, "AEC": s.retimed}
    make = makers[technology.kind]
    target, rows, like, margin = s.target(COPPER_MARGIN_DB), [], None, 0.0
    for length in DISTANCES:
        if length > LONGEST_COPPER or margin < -25:
            break
        like = settle(make(length, 26, hosts), like=like)
        margin = target.excess_db(*like)
        worst = min(like, key=lambda p: p.snr_db)
        delay = technology.latency + WIRE_DELAY * length
        rows.append(_row(task, length, margin + COPPER_MARGIN_DB, "SNR", margin >= 0, worst.binding, delay))
    return rows


def _optics(task: Task) -> list[dict[str, Any]]:
    technology, rows, margin = task.technology, [], 0.0
    for length in DISTANCES:
        if length < SHORTEST_FIBER or margin <= -20:
            continue
        # up to 20 m any fibre is nothing
        found = optical_path(task.rate, technology.kind, technology.host_loss_db, length if length > 20 else SHORTEST_FIBER)
        margin = max(found.margin_db, -20.0)
        closes = found.outcome == "ok" and margin >= MARGIN_DB
        delay = technology.latency + FIBER_DELAY * length
        rows.append(_row(task, length, margin, "optical power", closes, found.binding, delay))
    return rows


def _row(task: Task, length: float, margin: float, margin_of: str, closes: bool, binding: str, delay: float) -> dict[str, Any]:
    energy = task.technology.energy
    return {
        "rate": task.rate, "distance_m": length, "technology": task.name, "closes": bool(closes),
        "margin_db": round(margin, 2), "margin_of": margin_of, "binding_cause": binding,
        "pj_per_bit": round(energy.value / pJ, 2), "energy_source": energy.source, "latency_ns": round(delay / ns, 2),
    }  # fmt: skip


def run(rates: Sequence[str] = RATES, progress: Progress = silent) -> Answer:
    """The whole map."""
    for rate in rates:
        check.one_of("crossover", "rate", rate, SYMBOL_RATES)
    tasks = [Task(technology=t, rate=rate) for rate in reversed(rates) for t in TECHNOLOGIES]
    tasks.sort(key=lambda task: task.technology.kind not in ("AEC", "ACC"))
    solved = run_all(solve, tasks, progress)
    rows = [row for part, _ in solved for row in part]
    reaches = [reach for _, reach in solved if reach]
    order = {name: i for i, name in enumerate((STANDARD_HOSTS, *(t.name for t in TECHNOLOGIES)))}
    rows.sort(key=lambda r: (rates.index(r["rate"]), r["distance_m"], order[r["technology"]]))
    reaches.sort(key=lambda r: (rates.index(r["rate"]), order[r["technology"]]))
    best = _best(rows, rates)
    return Answer(
        question=QUESTION,
        tables={"crossover": rows, "reaches": reaches, "least_energy": best},
        figures={"crossover": lambda: _draw(reaches, rates)},
        notes=_notes(reaches),
    )


def _reach(task: Task, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Longest distance at which a technology closes, and what ends it: light by its study, wire between two distances."""
    t, longest = task.technology, DISTANCES[-1]
    closing = [r for r in rows if r["closes"]]
    if not closing:
        length, outcome, cause = 0.0, "fails at the shortest", rows[0]["binding_cause"]
    elif t.copper:
        last = closing[-1]
        near = next(r for r in rows if r["distance_m"] > last["distance_m"])
        share = (last["margin_db"] - COPPER_MARGIN_DB) / max(last["margin_db"] - near["margin_db"], 1e-9)
        length = float(last["distance_m"] * (near["distance_m"] / last["distance_m"]) ** np.clip(share, 0, 1))
        outcome, cause = "found", near["binding_cause"]
    else:
        found = optical_reach(task.rate, t.kind, t.host_loss_db)
        length, outcome, cause = (
            min(found.length, longest),
            "found" if found.length < longest else "beyond the map",
            found.binding,
        )
    return {
        "rate": task.rate, "technology": task.name, "reach_m": round(length, 3), "outcome": outcome, "binding_cause": cause,
        "pj_per_bit": round(t.energy.value / pJ, 2), "energy_source": t.energy.source,
        "device_latency_ns": round(t.latency / ns, 1),
    }  # fmt: skip


def _best(rows: Sequence[dict[str, Any]], rates: Sequence[str]) -> list[dict[str, Any]]:
    """The closing technology of least energy at each rate and distance."""
    table = []
    for rate in rates:
        for distance in DISTANCES:
            closing = [r for r in rows if (r["rate"], r["distance_m"]) == (rate, distance) and r["closes"]]
            if closing:
                chosen = min(closing, key=lambda r: (r["pj_per_bit"], r["latency_ns"]))
                others = [r["technology"] for r in closing if r is not chosen]
                table.append({
                    "rate": rate, "distance_m": distance, "technology": chosen["technology"], "pj_per_bit": chosen["pj_per_bit"],
                    "latency_ns": chosen["latency_ns"], "also_closes": ", ".join(others),
                })  # fmt: skip
            else:
                table.append({"rate": rate, "distance_m": distance, "technology": "none", "also_closes": ""})
    return table


def _notes(reaches: Sequence[dict[str, Any]]) -> list[str]:
    notes = [
        f"Closes: {COPPER_MARGIN_DB:g} dB of slicer SNR to spare, which is {MARGIN_DB:g} dB of light. Energy is that of cable or "
        f"modules at both ends; the hosts' SerDes ({SERDES.value / pJ:g} pJ/bit, {SERDES.source}) comes on top everywhere.",
        "Host loss is per side at Nyquist, without reflections and crosstalk: linear modules look better than they are.",
        "Copper wins energy wherever it reaches: a passive wire takes none.",
    ]
    for rate in dict.fromkeys(r["rate"] for r in reaches):
        mine = {r["technology"]: r for r in reaches if r["rate"] == rate}
        steps = [
            f"{name} to {_metres(high)} ({mine[name]['pj_per_bit']:g} pJ/bit)"
            for name, (_, high) in _spans(reaches, rate).items()
        ]
        notes.append(f"{rate}, least energy: {', then '.join(steps)}.")
        notes.append(f"{rate} reaches: {', '.join(_said(r) for r in mine.values())}.")
    return notes


def _said(r: dict[str, Any]) -> str:
    if r["outcome"] == "beyond the map":
        return f"{r['technology']} beyond {_metres(r['reach_m'])}"
    return f"{r['technology']} {_metres(r['reach_m']) if r['reach_m'] else 'nowhere'} ({r['binding_cause']})"


def _draw(reaches: Sequence[dict[str, Any]], rates: Sequence[str]) -> Figure:
    """A bar for each technology and rate, from the shortest distance to its reach; full where it takes the least energy."""
    from serdes import plot

    palette = (plot.COLOURS[0], plot.COLOURS[5], "#88BBDD", plot.COLOURS[2], "#66C2A5", *plot.COLOURS[3:5], plot.COLOURS[1],
               "#E9967A", "#332288", "#8C510A")  # fmt: skip
    colours = dict(zip((t.name for t in TECHNOLOGIES), palette, strict=True))
    with plot.figure(12.5, 0.29 * len(reaches) + 0.6 * len(rates) + 1.6) as (fig, ax):
        y, ticks, labels = 0.0, [], []
        for rate in reversed(rates):
            mine = [r for r in reaches if r["rate"] == rate]
            spans = _spans(reaches, rate)
            for r in reversed(mine):
                _bar(ax, y, r, spans.get(r["technology"]), colours.get(r["technology"], palette[0]))
                ticks.append(y)
                labels.append(r["technology"])
                y += 1
            copper = max((r["reach_m"] for r in mine if r["pj_per_bit"] == 0), default=0.0)
            ax.plot([copper, copper], [y - len(mine) - 0.45, y - 0.45], color="0.2", linewidth=1, linestyle=(0, (4, 2)))
            ax.text(0.1, y - 0.1, f"{rate} lane: a passive wire takes the least energy up to {_metres(copper)}, light from where "
                    "copper ends", fontsize=9.5, fontweight="bold", va="center")  # fmt: skip
            y += 1.4
        for place, title in ((1.045, "pJ/bit"), (1.115, "latency")):
            ax.text(place, y - 1.0, title, transform=ax.get_yaxis_transform(), ha="center", fontsize=9, fontweight="bold")
        ax.set_yticks(ticks, labels, fontsize=8)
        ax.set_xscale("log")
        ax.set_xticks([0.1, 1, 10, 100, 1000, 10000], ["0.1 m", "1 m", "10 m", "100 m", "1 km", "10 km"])
        ax.set(
            xlim=(DISTANCES[0], DISTANCES[-1]), ylim=(-0.7, y - 0.6),
            xlabel="distance      (full colour: least energy of all that close; latency of cable or modules, flight comes on top)\n"
            "* an estimate, other energies with their source in reaches.csv; the hosts' SerDes come on top everywhere",
            title="What closes at which distance, with 3 dB of slicer SNR to spare, and what ends it",
        )  # fmt: skip
        ax.grid(visible=False, axis="y")
        return fig


def _bar(ax: Any, y: float, r: dict[str, Any], span: tuple[float, float] | None, colour: str) -> None:
    """One technology: its stretch, the parts with the least energy, what ends it, and its costs beside the axes."""
    start = DISTANCES[0] if r["technology"] in _COPPER_NAMES else SHORTEST_FIBER
    if r["reach_m"] > start:
        ax.barh(y, r["reach_m"] - start, left=start, height=0.72, color=colour, alpha=0.3)
        if span is not None:
            ax.barh(y, span[1] - span[0], left=span[0], height=0.72, color=colour)
    tip = "10 km and more" if r["outcome"] == "beyond the map" else f"{_metres(r['reach_m'])}, {r['binding_cause']}"
    if not r["reach_m"]:
        tip = f"does not close: {r['binding_cause']}"
    inside = r["reach_m"] > 900
    ax.text(
        r["reach_m"] / 1.1 if inside else max(r["reach_m"], start) * 1.1, y, tip, va="center", ha="right" if inside else "left",
        fontsize=8, bbox={"facecolor": "white", "alpha": 0.6, "linewidth": 0, "pad": 0.8} if inside else None,
    )  # fmt: skip
    star = "*" if r["energy_source"] == "estimate" else ""
    latency = f"{r['device_latency_ns']:g} ns" if r["device_latency_ns"] else "-"
    for place, text in ((1.045, f"{r['pj_per_bit']:g}{star}"), (1.115, latency)):
        ax.text(place, y, text, transform=ax.get_yaxis_transform(), ha="center", va="center", fontsize=8)


def _metres(value: float) -> str:
    return f"{value / km:.3g} km" if value >= km else f"{value:.3g} m"


def _spans(reaches: Sequence[dict[str, Any]], rate: str) -> dict[str, tuple[float, float]]:
    """Stretch [m] on which each technology takes the least energy: the cheapest as far as it goes, the next from there on."""
    spans, covered = {}, DISTANCES[0]
    for r in sorted((r for r in reaches if r["rate"] == rate), key=lambda r: (r["pj_per_bit"], r["device_latency_ns"])):
        low = max(covered, DISTANCES[0] if r["technology"] in _COPPER_NAMES else SHORTEST_FIBER)
        if r["reach_m"] > low:
            spans[r["technology"]] = (low, r["reach_m"])
            covered = r["reach_m"]
    return spans
