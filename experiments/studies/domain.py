"""Faster lanes reach less far and join fewer GPUs: which lane rate and which domain size serve a collective best?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp import check
from dsp.units import GB, ms
from experiments.cluster import copper_domain
from experiments.collectives import all_to_all, hierarchical_all_reduce, multirail_ring
from experiments.parallel import run_all
from experiments.platforms import HOP, NETWORK_HOP, UP_EFFICIENCY, platform
from experiments.simulated_reach import CABLES, EASY_HOSTS, HARD_HOSTS, SimulatedReach, copper_reach
from experiments.step_time import gradient_size
from experiments.study import Answer, Progress, silent
from experiments.tiers import LANES_PER_GPU

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "Doubling the lane rate roughly halves the reach: where is the optimum of lane rate and domain size?"
RATES = ("50G", "100G", "200G")
GROUP = 256
"""GPUs that exchange tokens: one for each routed expert of DeepSeek-V3."""
SIZES = tuple(int(x) for x in np.unique(np.round(np.geomspace(8, 2304, 60)).astype(int)))


def run(
    gpus: int = 4096, group: int = GROUP, exchange: float = 1 * GB, parameters: float = 70e9, radix: int | None = None,
    progress: Progress = silent, reaches: Sequence[SimulatedReach] | None = None,
) -> Answer:  # fmt: skip
    """All-reduce of the gradients over ``gpus``, all-to-all of ``exchange`` [bit] per GPU over ``group``, by lane rate.

    ``radix``: ports of a scale-up switch, which bounds a single tier; None for more tiers or ports. ``reaches``: simulated
    already.
    """
    check.count("domain study", "gpus", gpus, 2)
    check.count("domain study", "group", group, 2, gpus)
    check.positive("domain study", "exchange", exchange, "bit")
    if radix is not None:
        check.count("domain study", "radix", radix, 1)
    found = list(reaches) if reaches is not None else run_all(_reach, copper_links(), progress)
    rows = [_row(f, gpus, group, exchange, parameters, radix) for f in found]
    sweep = _sweep(found, gpus, group, exchange, parameters)
    return Answer(
        question=QUESTION,
        tables={"domain": rows, "sweep": sweep},
        figures={"domain": lambda: _draw(sweep, rows, gpus, group, exchange, parameters)},
        notes=_notes(rows, gpus, group),
    )


def copper_links() -> list[tuple[str, str, tuple[str, str]]]:
    """Every copper link whose reach the study needs: lane rate, cable, host classes."""
    return [(rate, cable, HARD_HOSTS) for rate in RATES for cable in CABLES] + [("200G", "passive", EASY_HOSTS)]


def _reach(key: tuple[str, str, tuple[str, str]]) -> SimulatedReach:
    return copper_reach(*key)


def up_bandwidth(payload: float) -> float:
    """Usable scale-up bandwidth of a GPU one way [b/s] with lanes of ``payload`` [b/s]."""
    check.positive("up_bandwidth", "payload", payload, "b/s")
    return LANES_PER_GPU * payload * UP_EFFICIENCY


def times(payload: float, domain: int, gpus: int, group: int, exchange: float, parameters: float) -> tuple[float, float, float]:
    """Ring all-reduce, all-reduce in two stages in turn, and all-to-all [s], domains of ``domain`` GPUs with 400G NICs."""
    nic, up, size = platform("GB200").nic_usable, up_bandwidth(payload), gradient_size(parameters)
    ring = multirail_ring("all-reduce", size, gpus, domain, up, nic, HOP, NETWORK_HOP)
    staged = hierarchical_all_reduce(size, gpus, domain, up, nic, overlapped=False, hop=HOP, network_hop=NETWORK_HOP)
    return float(ring), float(staged), float(all_to_all(exchange, group, domain, up, nic, HOP))


def _row(found: SimulatedReach, gpus: int, group: int, exchange: float, parameters: float, radix: int | None) -> dict[str, Any]:
    domain = copper_domain(found.length, radix=radix)
    size = max(1, min(domain.gpus, gpus))
    ring, staged, exchanged = times(found.payload, size, gpus, group, exchange, parameters)
    return {
        "rate": found.rate, "cable": found.cable, "hosts": found.hosts, "reach_m": round(found.length, 4),
        "binding_cause": found.binding, "racks": domain.racks, "domain_gpus": size, "bound": domain.bound,
        "up_gb_per_s": round(up_bandwidth(found.payload) / GB, 1),
        "all_reduce_ring_s": round(ring, 4), "all_reduce_staged_s": round(staged, 4), "all_to_all_ms": round(exchanged / ms, 3),
        "exchange_that_leaves": round(1 - 1 / int(np.ceil(group / size)), 4), "basis": found.basis,
    }  # fmt: skip


def _sweep(found: Sequence[SimulatedReach], gpus: int, group: int, exchange: float, parameters: float) -> list[dict[str, Any]]:
    rows = []
    for rate in dict.fromkeys(f.rate for f in found):
        mine = [f for f in found if f.rate == rate]
        limits = {c: max((copper_domain(f.length).gpus for f in mine if f.cable == c), default=0) for c in CABLES}
        for size in sorted({*SIZES, group - 1, group, *(x for x in limits.values() if x)}):
            if size > gpus:
                continue
            ring, staged, exchanged = times(mine[0].payload, size, gpus, group, exchange, parameters)
            by = next((c for c in CABLES if size <= limits[c]), "optics")
            rows.append({
                "rate": rate, "domain_gpus": size, "reached_by": by, "all_reduce_ring_s": ring, "all_reduce_staged_s": staged,
                "all_to_all_ms": exchanged / ms,
            })  # fmt: skip
    return rows


def best(rows: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
    """The row of the shortest time; of those within 1 % of it the smallest domain, then the fastest lanes."""
    least = min(r[key] for r in rows)
    return min((r for r in rows if r[key] <= 1.01 * least), key=lambda r: (r["domain_gpus"], -r["up_gb_per_s"]))


def _notes(rows: Sequence[dict[str, Any]], gpus: int, group: int) -> list[str]:
    passive = [r for r in rows if r["cable"] == "passive" and r["hosts"] != "HL-HL"]
    steps = [f"{b['rate']} over {a['rate']}: {b['reach_m'] / a['reach_m']:.2f}" for a, b in pairwise(passive)]
    reduce, exchange = best(passive, "all_reduce_ring_s"), best(passive, "all_to_all_ms")
    return [
        "Reach of passive copper against the rate below it, " + ", ".join(steps) + ".",
        f"Of passive cables between standard hosts, at 200G HN-HH, the all-reduce over {gpus:,} GPUs is fastest with {_label(reduce)}: "
        f"{reduce['all_reduce_ring_s']:.3f} s. The all-to-all over {group} GPUs is fastest with {_label(exchange)}: "
        f"{exchange['all_to_all_ms']:.2f} ms.",
        "A ring is bound by the slower of the scale-up port and all NICs of a domain, so beyond about 16 GPUs at 200G lanes a "
        "larger domain gives it nothing and the lane rate everything. An all-to-all sends (1-1/k) of its bytes out of the "
        "domain through one NIC per GPU: the best lane rate is the fastest whose reach still holds the whole group.",
        "A switch of 72 ports bounds a single tier at 72 GPUs whatever the reach: larger domains need more ports or a second "
        f"tier, whose latency and cost are not counted. {LANES_PER_GPU} lanes a GPU and 400G NICs throughout.",
        "Hosts by P802.3dj: HL low-loss, HN nominal, HH high-loss; slower rates have one standard host.",
    ]


def _label(r: dict[str, Any]) -> str:
    return f"{r['rate']} lanes ({r['hosts']} hosts) in domains of {r['domain_gpus']}"


def _draw(
    sweep: Sequence[dict[str, Any]],
    rows: Sequence[dict[str, Any]],
    gpus: int,
    group: int,
    exchange: float,
    parameters: float,
) -> Figure:
    """Time of both collectives against domain size, a curve for each lane rate, broken where copper ends."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from serdes import plot

    panels = (
        (
            "all_reduce_ring_s",
            "ring all-reduce [s]",
            f"All-reduce of {gradient_size(parameters) / GB:g} GB: the lane rate decides",
        ),
        ("all_to_all_ms", "all-to-all [ms]", f"All-to-all of {exchange / GB:g} GB per GPU over {group}: the domain decides"),
    )
    markers = {"passive": "o", "ACC": "^", "AEC": "s"}
    with plot.figure(12, 5.0, 1, 2) as (fig, axes):
        for ax, (key, label, title) in zip(axes, panels, strict=True):
            for k, rate in enumerate(dict.fromkeys(r["rate"] for r in sweep)):
                mine = [r for r in sweep if r["rate"] == rate]
                x, y = np.array([r["domain_gpus"] for r in mine]), np.array([r[key] for r in mine])
                copper = np.array([r["reached_by"] != "optics" for r in mine])
                ax.plot(
                    x[copper], y[copper], color=plot.COLOURS[k], linestyle="-", label=f"{rate} lanes, within copper's reach"
                )
                last = int(np.flatnonzero(copper)[-1]) if copper.any() else 0
                ax.plot(x[last:], y[last:], color=plot.COLOURS[k], linestyle=":", label=f"{rate} lanes, optics needed")
                for r in rows:
                    if r["rate"] == rate and r["domain_gpus"] < gpus:
                        value = r[key]
                        full = "none" if r["hosts"] == "HL-HL" else plot.COLOURS[k]
                        ax.plot(
                            r["domain_gpus"],
                            value,
                            markers[r["cable"]],
                            color=plot.COLOURS[k],
                            markerfacecolor=full,
                            markersize=7,
                        )
            chosen = best([r for r in rows if r["cable"] == "passive" and r["hosts"] != "HL-HL"], key)
            ax.plot(chosen["domain_gpus"], chosen[key], "*", color="gold", markersize=17, markeredgecolor="black", zorder=5)
            ax.set(xscale="log", yscale="log", xlabel="GPUs in a scale-up domain", ylabel=label, title=title)
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            ax.yaxis.set_minor_formatter(NullFormatter())
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes[1].plot([], [], "o", color="0.3", label="ends passive copper (hollow: HL-HL hosts)")
        axes[1].plot([], [], "^", color="0.3", label="ends ACC (redriver estimated)")
        axes[1].plot([], [], "s", color="0.3", label="ends AEC")
        axes[1].plot(
            [],
            [],
            "*",
            color="gold",
            markersize=13,
            markeredgecolor="black",
            label="best of passive copper, 200G between HN-HH hosts",
        )
        handles, labels = axes[1].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
        fig.suptitle(
            f"{gpus:,} GPUs with {LANES_PER_GPU} lanes and one 400G NIC each; reach simulated, times modelled", fontsize=10
        )
        return fig
