"""For each distance and lane rate the technologies that close, what each costs, and what ends it: drawn as a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp.units import km, nm, ns, pJ
from experiments.optical_lanes import OpticalLane
from experiments.parallel import run_all
from experiments.study import Answer, Progress, silent
from serdes.link import Link, RetimedLink
from serdes.modules import ARCHITECTURES, run_path
from serdes.modules import Figure as Cost
from serdes.reach import settle
from serdes.semi_analytic import SemiAnalytic
from serdes.setups import setup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "Which technology closes at which distance, and where does copper hand over to light?"
RATES = ("56G", "112G", "224G")
DISTANCES = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 300.0,
             500.0, 1 * km, 2 * km, 3 * km, 4 * km, 6 * km, 10 * km)  # fmt: skip
LONGEST_COPPER = 20.0
"""Copper beyond this is not computed: no lane rate goes half as far."""
OPTICAL_MARGIN_DB, COPPER_MARGIN_DB = 1.5, 3.0
"""The same 3 dB of slicer SNR on both media."""
LINEAR_HOST_DB, RETIMED_HOST_DB = 8.0, 16.0
"""Host loss per side at Nyquist for a linear and for a DSP module: an estimate of what each is sold for."""
WIRE_DELAY, FIBER_DELAY = 4.5 * ns, 4.9 * ns
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
COPPER = (
    Technology(name="passive copper", kind="passive", hosts=("HL", "HL"), energy=_NOTHING, latency=0.0),
    Technology(name="passive copper, lossy hosts", kind="passive", hosts=("HN", "HH"), energy=_NOTHING, latency=0.0),
    Technology(name="ACC", kind="ACC", hosts=("HL", "HL"), energy=Cost(value=3 * pJ, source="estimate"), latency=0.0),
    Technology(name="AEC", kind="AEC", hosts=("HL", "HL"), energy=Cost(value=12 * pJ, source="estimate"), latency=100 * ns),
)
_HOSTS = {
    "CPO": (("", 4.0),),
    "LRO": ((f", {LINEAR_HOST_DB:g} dB hosts", LINEAR_HOST_DB),),
    "LPO": ((f", {LINEAR_HOST_DB:g} dB hosts", LINEAR_HOST_DB), (f", {RETIMED_HOST_DB:g} dB hosts", RETIMED_HOST_DB)),
    "retimed": ((f", {RETIMED_HOST_DB:g} dB hosts", RETIMED_HOST_DB),),
}
OPTICS = tuple(
    Technology(
        name=f"{ARCHITECTURES[k].title}{label}", kind=k, host_loss_db=loss, energy=ARCHITECTURES[k].energy,
        latency=ARCHITECTURES[k].latency.value,
    )
    for k, hosts in _HOSTS.items()
    for label, loss in hosts
)  # fmt: skip
TECHNOLOGIES = (*COPPER, *OPTICS)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One technology at one rate, over all distances."""

    technology: Technology
    rate: str


def solve(task: Task) -> list[dict[str, Any]]:
    """Rows of one technology; runs in a worker process."""
    return _copper(task) if task.technology.copper else _optics(task)


def _copper(task: Task) -> list[dict[str, Any]]:
    s, technology = setup(task.rate), task.technology
    if technology.name.endswith("lossy hosts") and not s.has_host_classes:
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
    technology, lane = task.technology, OpticalLane(rate=task.rate, wavelength=1304.5 * nm)
    architecture = ARCHITECTURES[technology.kind]
    rows, found = [], None
    for length in DISTANCES:
        if length < 1:
            continue
        # up to 100 m the fibre is nothing
        if found is None or length > 100:
            engine = SemiAnalytic(n_symbols=2048, taps_per_symbol=2)
            found = run_path(architecture, lane.lane(), lane.host(technology.host_loss_db), lane.optics(length), engine)
        closes = found.outcome == "ok" and found.margin_db >= OPTICAL_MARGIN_DB
        delay = technology.latency + FIBER_DELAY * length
        rows.append(_row(task, length, max(found.margin_db, -20.0), "optical power", closes, found.binding, delay))
    return rows


def _row(task: Task, length: float, margin: float, margin_of: str, closes: bool, binding: str, delay: float) -> dict[str, Any]:
    energy = task.technology.energy
    return {
        "rate": task.rate, "distance_m": length, "technology": task.technology.name, "closes": bool(closes),
        "margin_db": round(margin, 2), "margin_of": margin_of, "binding_cause": binding,
        "pj_per_bit": round(energy.value / pJ, 2), "energy_source": energy.source, "latency_ns": round(delay / ns, 2),
    }  # fmt: skip


def run(rates: Sequence[str] = RATES, progress: Progress = silent) -> Answer:
    """The whole map."""
    tasks = [Task(technology=t, rate=rate) for rate in reversed(rates) for t in TECHNOLOGIES]
    tasks.sort(key=lambda task: task.technology.kind not in ("AEC", "ACC"))
    rows = [row for part in run_all(solve, tasks, progress) for row in part]
    order = {t.name: i for i, t in enumerate(TECHNOLOGIES)}
    rows.sort(key=lambda r: (rates.index(r["rate"]), r["distance_m"], order[r["technology"]]))
    reaches = _reaches(rows, rates)
    best = _best(rows, rates)
    return Answer(
        question=QUESTION,
        tables={"crossover": rows, "reaches": reaches, "least_energy": best},
        figures={"crossover": lambda: _draw(reaches, best, rates)},
        notes=_notes(reaches, best),
    )


def _reaches(rows: Sequence[dict[str, Any]], rates: Sequence[str]) -> list[dict[str, Any]]:
    """Longest distance at which each technology closes, by interpolation of its margin on the logarithm of distance."""
    table = []
    for rate in rates:
        for t in TECHNOLOGIES:
            mine = [r for r in rows if (r["rate"], r["technology"]) == (rate, t.name)]
            if not mine:
                continue
            needed = COPPER_MARGIN_DB if t.copper else OPTICAL_MARGIN_DB
            closing = [r for r in mine if r["closes"]]
            reach, cause, end = 0.0, mine[0]["binding_cause"], "fails at the shortest"
            if closing:
                last = closing[-1]
                after = [r for r in mine if r["distance_m"] > last["distance_m"]]
                reach, cause, end = last["distance_m"], last["binding_cause"], "beyond the map"
                if after:
                    near, end, cause = after[0], "found", after[0]["binding_cause"]
                    share = (last["margin_db"] - needed) / max(last["margin_db"] - near["margin_db"], 1e-9)
                    reach = float(last["distance_m"] * (near["distance_m"] / last["distance_m"]) ** np.clip(share, 0, 1))
            table.append({
                "rate": rate, "technology": t.name, "reach_m": round(reach, 3), "outcome": end, "binding_cause": cause,
                "pj_per_bit": round(t.energy.value / pJ, 2), "energy_source": t.energy.source,
                "device_latency_ns": round(t.latency / ns, 1),
            })  # fmt: skip
    return table


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


def _notes(reaches: Sequence[dict[str, Any]], best: Sequence[dict[str, Any]]) -> list[str]:
    notes = [
        "Closes: 3 dB of slicer SNR to spare, which is 1.5 dB of light. Energy is that of cable or modules at both ends; "
        f"the hosts' SerDes ({SERDES.value / pJ:g} pJ/bit, {SERDES.source}) comes on top everywhere.",
        "Host loss is per side at Nyquist, without reflections and crosstalk: linear modules look better than they are.",
    ]
    for rate in dict.fromkeys(r["rate"] for r in reaches):
        mine = [r for r in best if r["rate"] == rate]
        wires = [r["distance_m"] for r in mine if "passive" in r["technology"]]
        if wires:
            notes.append(
                f"{rate}: passive copper wins energy wherever it reaches, here to {max(wires):g} m of the distances tried."
            )
        ends = ", ".join(f"{r['technology']} {r['reach_m']:g} m ({r['binding_cause']})" for r in reaches if r["rate"] == rate)
        notes.append(f"{rate}: {ends}.")
    return notes


def _draw(reaches: Sequence[dict[str, Any]], best: Sequence[dict[str, Any]], rates: Sequence[str]) -> Figure:
    """A bar for each technology and rate, from the shortest distance to its reach; the one of least energy is full."""
    from serdes import plot

    names = [t.name for t in TECHNOLOGIES]
    palette = (*plot.COLOURS[:6], "#332288", "#332288", "#8C510A")
    colours = dict(zip(names, palette, strict=True))
    with plot.figure(11.5, 8.6) as (fig, ax):
        y, ticks, labels = 0.0, [], []
        for rate in reversed(rates):
            mine = [r for r in reaches if r["rate"] == rate]
            for r in reversed(mine):
                start = 0.1 if r["technology"] in [t.name for t in COPPER] else 1.0
                if r["reach_m"] > start:
                    ax.barh(y, r["reach_m"] - start, left=start, height=0.75, color=colours[r["technology"]], alpha=0.3)
                    for low, high in _spans(best, rate, r["technology"], r["reach_m"]):
                        ax.barh(y, high - low, left=low, height=0.75, color=colours[r["technology"]])
                star = "*" if r["energy_source"] == "estimate" else ""
                beyond = " and more" if r["outcome"] == "beyond the map" else f", {r['binding_cause']}"
                text = (
                    f"{r['pj_per_bit']:g} pJ/bit{star}, {_metres(r['reach_m'])}{beyond}"
                    if r["reach_m"]
                    else f"does not close: {r['binding_cause']}"
                )
                inside = r["reach_m"] > 200
                ax.text(
                    r["reach_m"] / 1.08 if inside else max(r["reach_m"], 0.1) * 1.08, y, text, va="center",
                    ha="right" if inside else "left", fontsize=8,
                )  # fmt: skip
                ticks.append(y)
                labels.append(r["technology"])
                y += 1
            ax.text(0.075, y - 0.35, f"{rate} lane", fontsize=10, fontweight="bold", ha="right", va="center")
            y += 1
        ax.set_yticks(ticks, labels, fontsize=8)
        ax.set_xscale("log")
        ax.set(
            xlim=(0.1, 12 * km), ylim=(-0.8, y - 0.4),
            xlabel="distance [m]\n* an estimate; the other energies with their source in crossover.csv; the hosts' SerDes come on top",
            title="What closes at which distance: full colour where it takes the least energy",
        )  # fmt: skip
        ax.grid(visible=False, axis="y")
        return fig


def _metres(value: float) -> str:
    return f"{value / km:.3g} km" if value >= km else f"{value:.3g} m"


def _spans(best: Sequence[dict[str, Any]], rate: str, name: str, reach: float) -> list[tuple[float, float]]:
    """Stretches of distance on which a technology takes the least energy."""
    mine = [r for r in best if r["rate"] == rate]
    spans: list[tuple[float, float]] = []
    for i, r in enumerate(mine):
        if r["technology"] != name:
            continue
        low = mine[i]["distance_m"] if i == 0 else (mine[i - 1]["distance_m"] * r["distance_m"]) ** 0.5
        high = reach if i == len(mine) - 1 else min((mine[i + 1]["distance_m"] * r["distance_m"]) ** 0.5, reach)
        spans.append((low, high))
    return spans
