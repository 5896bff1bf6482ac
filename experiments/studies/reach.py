"""How far does passive twinax go at each lane rate, and which tier can that serve?"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp.noise import Jitter
from dsp.units import TB, GBd, GHz, db, db_power
from experiments.parallel import run_all
from experiments.study import Answer, Progress, silent
from experiments.tiers import LANES_PER_GPU, TIERS, scale_up_bandwidth
from serdes.bounds import bounds
from serdes.link import Link
from serdes.operating_point import operating_point
from serdes.reach import Reach, Target, reach
from serdes.setups import Setup, names, setup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "Why does copper stop after a few metres, sooner with every doubling of the lane rate?"
HOST_PAIRS = (("HL", "HL"), ("HL", "HN"), ("HN", "HN"), ("HN", "HH"))
GAUGES = (26, 30)
BRACKET = (0.05, 40.0)
LENGTHS = (0.1, 0.3, 0.7, 1.0, 1.4, 1.9, 2.5, 3.2, 4.2, 5.5, 7.2, 9.5, 12.5, 16.0)
IDEAL: dict[str, Any] = {"tx.snr_db": None, "tx.jitter": Jitter(), "rx.converter": None}
"""The link without transmitter noise, jitter and converter."""
IDEAL_TITLES = {
    "ideal": "no Tx noise, jitter, converter",
    "ideal, 100 taps": "no Tx noise, jitter, converter; 100 taps",
    "ideal, bound": "no Tx noise, jitter, converter; infinite equaliser",
}
LONG: dict[str, Any] = {"rx.equalizer.n_taps": 100, "rx.equalizer.n_precursors": 30}
"""An equaliser long enough to leave no reflection behind."""


ACTIVE = {"ACC": "linear redriver at the receiver's end", "AEC": "retimers at both ends"}
"""Active cables by the trade's names."""
ACTIVE_PAIRS = (("HL", "HL"), ("HN", "HH"))
SHIPPED_ACTIVE = {("ACC", "100G"): "3-5"}
"""Lengths [m] of active cables on the market that a vendor's page names."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One row of the study: a rate, a pair of hosts where the rate has them, a gauge, a kind of cable."""

    rate: str
    hosts: tuple[str, str] | None
    gauge: int
    margin_db: float
    kind: str = "passive"

    @property
    def label(self) -> str:
        """A short name for tables and legends."""
        hosts = f" {'-'.join(self.hosts)}" if self.hosts else ""
        return f"{self.rate}{hosts}"


def tasks(rates: Sequence[str], gauges: Sequence[int] = GAUGES, margin_db: float = 3.0) -> list[Task]:
    """Every row asked for, the slowest to compute first."""
    rows = []
    for s in map(setup, rates):
        for kind in ("passive", *ACTIVE):
            with_classes = HOST_PAIRS if kind == "passive" else ACTIVE_PAIRS
            pairs = with_classes if s.has_host_classes else (None,)
            rows += [Task(rate=s.name, hosts=p, gauge=g, margin_db=margin_db, kind=kind) for g in gauges for p in pairs]
    return sorted(rows, key=lambda task: (task.kind != "passive", -setup(task.rate).symbol_rate))


def definitions(s: Setup) -> dict[str, dict[str, Any]]:
    """The other readings of the standards' numbers that are in use, as changes to the link."""
    changes: dict[str, dict[str, Any]] = {}
    if s.tx.snr_db is not None:
        power = float(db_power(1 / s.tx.constellation.mean_square))
        changes["SNR_TX against signal power"] = {"tx.snr_db": s.tx.snr_db + power}
    return changes | {
        "Gaussian clip, 5.33 sigma": {"rx.converter.clip_rule": "gaussian"},
        "every edge jitters alone": {"tx.jitter.correlation": 0.0},
    }


def solve(task: Task) -> dict[str, Any]:
    """All numbers of one row; runs in a worker process."""
    s = setup(task.rate)
    target = s.target(task.margin_db)
    if task.kind != "passive":
        make = s.redriven if task.kind == "ACC" else s.retimed
        return {"task": task, "row": _active_row(task, s, reach(lambda x: make(x, task.gauge, task.hosts), target, BRACKET))}

    def link_at(length: float, changes: dict[str, Any] | None = None) -> Link:
        link = s.link(length, task.gauge, task.hosts)
        return link.vary(changes) if changes else link

    base = reach(link_at, target, BRACKET)
    variants, bound = {"ideal": reach(lambda x: link_at(x, IDEAL), target, BRACKET)}, {}
    if task.gauge == GAUGES[0]:
        variants["ideal, 100 taps"] = reach(lambda x: link_at(x, IDEAL | LONG), target, BRACKET)
        bound = {"ideal, bound": (bound_reach(link_at, target), "found", "thermal")}
        for name, changes in definitions(s).items():
            variants[name] = reach(functools.partial(link_at, changes=changes), target, BRACKET)
    margins, like = [], base.point
    for length in LENGTHS:
        like = operating_point(link_at(length), like=like)
        margins.append(target.excess_db(like) + task.margin_db)
    return {
        "task": task,
        "row": _row(task, s, base, link_at(base.length)),
        "variants": {name: (r.length, r.outcome, r.binding) for name, r in variants.items()} | bound,
        "margins": margins,
    }


def bound_reach(link_at: Callable[[float], Link], target: Target) -> float:
    """Length [m] at which the infinite equaliser with ideal feedback (Salz) just meets ``target``.

    Against thermal noise and crosstalk alone: no transmitter noise, jitter or converter.
    """
    from scipy.optimize import brentq

    def excess(length: float) -> float:
        link = link_at(length)
        return bounds(link, tx_noise=False, jitter=False).salz_db - target.required_snr_db(link) - target.margin_db

    return float(brentq(excess, *BRACKET, rtol=1e-3))


def _found(task: Task, s: Setup, found: Reach) -> dict[str, Any]:
    """What every row says, whatever the cable."""
    return {
        "lane": task.rate + ("" if s.verified else "*"),
        "rate": s.title,
        "symbol_rate_gbd": s.symbol_rate / GBd,
        "hosts": "-".join(task.hosts) if task.hosts else "std",
        "gauge_awg": task.gauge,
        "reach_m": round(found.length, 3),
        "outcome": found.outcome,
        "reason": found.reason,
        "binding_cause": found.binding,
        "snr_db": round(found.point.snr_db, 2),
        "margin_db": task.margin_db,
    }


def _row(task: Task, s: Setup, found: Reach, link: Link) -> dict[str, Any]:
    loss = -float(db(link.channel.transfer(np.array([s.symbol_rate / 2])))[0])
    shares = found.point.shares()
    return {
        **_found(task, s, found),
        "binding_share": round(shares.get(found.binding, 1.0), 3),
        "loss_at_nyquist_db": round(loss, 2),
        "nyquist_ghz": s.symbol_rate / 2 / GHz,
        "required_snr_db": round(s.target(0).required_snr_db(link), 2),
        "error_ratio": s.error_ratio,
        "accepted_m": s.accepted_reach[1],
        "shipped_m": f"{s.shipped_reach[0]:g}-{s.shipped_reach[1]:g}",
        "per_gpu_tb_per_s": round(scale_up_bandwidth(s.payload) / TB, 3),
        "basis": "modelled" if s.verified else "modelled, parameters unverified",
    } | {f"share {cause}": round(share, 4) for cause, share in shares.items()}


def _active_row(task: Task, s: Setup, found: Reach) -> dict[str, Any]:
    return {
        "cable": task.kind,
        "what": ACTIVE[task.kind],
        **_found(task, s, found),
        "shipped_m": SHIPPED_ACTIVE.get((task.kind, task.rate), ""),
        "basis": ", ".join(
            ["modelled", "ends and crosstalk are estimates"]
            + ["redriver is an estimate"] * (task.kind == "ACC")
            + ["parameters unverified"] * (not s.verified)
        ),
    }


def run(
    rates: Sequence[str] | None = None, gauges: Sequence[int] = GAUGES, margin_db: float = 3.0, progress: Progress = silent
) -> Answer:
    """Solve every row on all cores and lay the reaches beside the standards, the market and the tiers."""
    solved = run_all(solve, tasks(rates or names(), gauges, margin_db), progress)
    order = {name: i for i, name in enumerate(names())}
    pairs = {pair: i for i, pair in enumerate((None, *HOST_PAIRS))}
    solved.sort(key=lambda r: (order[r["task"].rate], r["task"].gauge, pairs[r["task"].hosts]))
    active = [r["row"] for r in solved if r["task"].kind != "passive"]
    active.sort(key=lambda row: (row["symbol_rate_gbd"], row["hosts"], row["cable"], row["gauge_awg"]))
    solved = [r for r in solved if r["task"].kind == "passive"]
    rows = [r["row"] for r in solved]
    effects = _effects(solved)
    margins = [
        {"link": r["task"].label, "gauge_awg": r["task"].gauge, "length_m": round(x, 4), "margin_db": round(m, 3)}
        for r in solved
        for x, m in zip(LENGTHS, r["margins"], strict=True)
    ]
    return Answer(
        question=QUESTION,
        tables={"reach": rows, "active": active, "definitions": effects, "margin": margins, "tiers": _tier_rows(rows)},
        figures={"reach": lambda: _draw(solved, margin_db), "reach_bars": lambda: _draw_bars(rows, active)},
        notes=_notes(solved),
    )


def with_com(answer: Answer, lines: Sequence[dict[str, Any]]) -> Answer:
    """``answer`` with a table and a figure of where COM falls to its limit, beside the reach by error ratio."""
    by = {(r["hosts"], r["gauge_awg"]): r["reach_m"] for r in answer.tables["reach"]}
    rows = [
        {**{k: v for k, v in line.items() if k != "curve"}, "study_m": by.get((line["hosts"], line["gauge_awg"]))}
        for line in lines
    ]
    return replace(
        answer,
        tables={**answer.tables, "com": rows},
        figures={**answer.figures, "reach_com": lambda: _draw_com(lines, by)},
        notes=[
            *answer.notes,
            "COM uses the receiver of P802.3dj D3.3: floating taps, one feedback tap, with MLSD where named.",
        ],
    )


def _draw_com(lines: Sequence[dict[str, Any]], by: Mapping[tuple[str, int], float]) -> Figure:
    """COM against length by host pair, with both detectors, and the reach by error ratio as a mark."""
    from serdes import plot

    with plot.figure(9.5, 5.2) as (fig, ax):
        pairs = list(dict.fromkeys((line["hosts"], line["gauge_awg"]) for line in lines))
        for k, (hosts, gauge) in enumerate(pairs):
            curve = next(line["curve"] for line in lines if (line["hosts"], line["gauge_awg"]) == (hosts, gauge))
            x = [p["length_m"] for p in curve]
            ax.plot(x, [p["com_dfe_db"] for p in curve], "-", color=plot.COLOURS[k % 8], label=f"{hosts}, {gauge} AWG, DFE")
            ax.plot(
                x, [p["com_mlsd_db"] for p in curve], "--", color=plot.COLOURS[k % 8], label=f"{hosts}, {gauge} AWG, with MLSD"
            )
            if (hosts, gauge) in by:
                ax.plot(by[hosts, gauge], lines[0]["com_limit_db"], "D", color=plot.COLOURS[k % 8])
        ax.axhline(lines[0]["com_limit_db"], color="0.3", linewidth=1)
        ax.set(
            xlabel="cable length [m]",
            ylabel="COM [dB]",
            title="COM of 200G PAM4 cables (diamonds: reach by error ratio)",
            ylim=(-2, 8),
        )
        ax.legend(ncols=2)
        return fig


def _effects(solved: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reach of each variant and its ratio to the base."""
    rows = []
    for r in solved:
        base = r["row"]["reach_m"]
        for name, (length, outcome, binding) in r["variants"].items():
            title = IDEAL_TITLES.get(name, name)
            rows.append({
                "link": r["task"].label, "gauge_awg": r["task"].gauge, "change": title, "reach_m": round(length, 3),
                "ratio": round(length / base, 3), "outcome": outcome, "binding_cause": binding,
            })  # fmt: skip
    return rows


def _tier_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tiers, the scale-up row with the distance that the model gives."""
    rate = max(r["symbol_rate_gbd"] for r in rows)
    fastest = [r for r in rows if r["symbol_rate_gbd"] == rate and r["gauge_awg"] == min(x["gauge_awg"] for x in rows)]
    shortest, longest = min(fastest, key=lambda r: r["reach_m"]), max(fastest, key=lambda r: r["reach_m"])
    table = []
    for tier in TIERS:
        low, high = tier.distance
        distance = f"{low:g}-{high:g} m" if high < 1000 else f"{low / 1000:g}-{high / 1000:g} km"
        bandwidth, basis = tier.bandwidth_label, tier.basis
        if tier.basis == "modelled":
            ends = f"{shortest['reach_m']:.2f} m ({shortest['hosts']} hosts)"
            if longest is not shortest:
                ends += f" to {longest['reach_m']:.2f} m ({longest['hosts']})"
            distance = f"{ends} at {rate:.9g} GBd"
            bandwidth = f"{longest['per_gpu_tb_per_s']:g} TB/s per GPU, both directions ({LANES_PER_GPU} lanes each way)"
        table.append({
            "tier": tier.name, "medium": tier.medium, "distance": distance, "bandwidth": bandwidth, "basis": basis,
            "source": tier.source,
        })  # fmt: skip
    return table


def _notes(solved: Sequence[dict[str, Any]]) -> list[str]:
    notes = [
        "Reach: the longest cable whose slicer SNR exceeds what the detector error ratio needs by the margin.",
        "Connectors, paddle cards and crosstalk levels are estimates; parameters of lanes marked * are recalled, not read.",
        "Loss is die to die at the Nyquist frequency. The objectives of the standards are shorter: they leave room for the spread "
        "of parts, temperature and age, and for worse hosts.",
        "Hosts by P802.3dj, die to connector at 53 GHz: HL 3.3 dB, HN 8.3 dB, HH 13.2 dB; others have one host (std).",
        f"TB/s: what {LANES_PER_GPU} such lanes each way give one GPU, both directions summed.",
    ]
    grown = []
    for r in solved:
        if r["task"].gauge == GAUGES[0] and r["row"]["outcome"] == "found":
            parts = (r["variants"][name][0] / r["row"]["reach_m"] for name in ("ideal", "ideal, 100 taps", "ideal, bound"))
            grown.append(f"{r['task'].label} " + " / ".join(f"{x:.2f}" for x in parts))
    if grown:
        shares = [sum(r["row"].get(f"share {c}", 0.0) for c in ("Tx noise", "Tx jitter", "converter")) for r in solved]
        notes.append(
            "Without Tx noise, jitter and converter the reach grows by these factors, with 22 taps / 100 taps / the equaliser of "
            f"infinite length: {', '.join(grown)}. At the reach those three are {100 * min(shares):.0f}-{100 * max(shares):.0f} % "
            f"of the error, worth {-10 * np.log10(1 - min(shares)):.1f}-{-10 * np.log10(1 - max(shares)):.1f} dB; what remains is "
            "mostly thermal noise, which a finite equaliser enhances."
        )
    return notes


def _draw(solved: Sequence[dict[str, Any]], margin_db: float) -> Figure:
    """Margin against length: on the axis of all tiers, and close by."""
    from serdes import plot

    shown = [r for r in solved if r["task"].gauge == GAUGES[0]] or list(solved)
    with plot.figure(14, 5.6, 1, 2, width_ratios=(1.15, 1), sharey=True) as (fig, (left, right)):
        shades = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7")
        for tier, shade in zip(TIERS, shades, strict=True):
            end = _fastest(shown) if tier.basis == "modelled" else tier.distance[1]
            left.axvspan(tier.distance[0], end, color=shade, alpha=0.16, linewidth=0)
            centre = float(np.sqrt(tier.distance[0] * end))
            label = f"{tier.name}\n{_short(tier.bandwidth_label)}" + ("\n(quoted)" if tier.basis == "quoted" else "")
            left.text(centre, 0.985, label, transform=left.get_xaxis_transform(), ha="center", va="top", fontsize=8)
        for k, r in enumerate(shown):
            rate = f"{r['row']['symbol_rate_gbd']:.9g} GBd"
            for ax in (left, right):
                ax.plot(
                    LENGTHS, np.maximum(r["margins"], -16), color=plot.COLOURS[k % 8], linestyle=plot.STYLES[k % 6],
                    label=f"{r['task'].label}, {rate}: {r['row']['reach_m']:.2f} m",
                )  # fmt: skip
        for ax in (left, right):
            ax.axhline(margin_db, color="0.25", linewidth=1)
            ax.set(xlabel="distance [m]")
        left.text(1.2e-3, margin_db + 0.25, f"{margin_db:g} dB margin", fontsize=8, color="0.25")
        left.set_xscale("log")
        gauge = shown[0]["task"].gauge
        left.set(
            xlim=(1e-3, 2e5), ylim=(-12, 14), ylabel="slicer SNR beyond the need of the error ratio [dB]",
            title=f"Passive twinax, {gauge} AWG, against the tiers of a cluster",
        )  # fmt: skip
        right.set(xlim=(0, 9), title="The same close by")
        right.legend(loc="upper right", title="lane rate, hosts: reach")
        return fig


def _fastest(solved: Sequence[dict[str, Any]]) -> float:
    """Longest reach [m] of the fastest lane."""
    return max((r["row"]["symbol_rate_gbd"], r["row"]["reach_m"]) for r in solved)[1]


def _short(label: str) -> str:
    return label.split(",")[0]


def _draw_bars(rows: Sequence[dict[str, Any]], active: Sequence[dict[str, Any]]) -> Figure:
    """Reach of every row beside the accepted and the shipped reach, passive and active cables of the first gauge."""
    from serdes import plot

    gauges = sorted({r["gauge_awg"] for r in rows})
    groups = list(dict.fromkeys((r["rate"], r["hosts"]) for r in rows))
    with plot.figure(10.5, 0.8 * len(groups) + 1.8) as (fig, ax):
        for i, group in enumerate(groups):
            mine = [r for r in rows if (r["rate"], r["hosts"]) == group]
            for r in mine:
                thick = r["gauge_awg"] == gauges[0]
                y = i - 0.25 if thick else i
                ax.barh(
                    y, r["reach_m"], 0.22, color=plot.COLOURS[0 if thick else 5], hatch=None if thick else "//",
                    edgecolor="white", label=f"passive, {r['gauge_awg']} AWG" if i == 0 else None,
                )  # fmt: skip
                ax.text(r["reach_m"] + 0.08, y, f"{r['reach_m']:.2f} m, {r['binding_cause']}", va="center", fontsize=8)
            for below, kind, marker in ((0.2, "ACC", "^"), (0.36, "AEC", "s")):
                found = [r for r in active if (r["rate"], r["hosts"], r["cable"], r["gauge_awg"]) == (*group, kind, gauges[0])]
                for r in found:
                    ax.plot(r["reach_m"], i + below, marker, color=plot.COLOURS[2], markersize=6)
                    ax.text(r["reach_m"] + 0.12, i + below, f"{kind} {r['reach_m']:.2f} m", va="center", fontsize=8)
            low, high = (float(x) for x in mine[0]["shipped_m"].split("-"))
            ax.plot([low, high], [i - 0.125] * 2, color="black", linewidth=2.2, label="shipped, passive" if i == 0 else None)
            ax.plot(
                mine[0]["accepted_m"],
                i - 0.125,
                "D",
                color=plot.COLOURS[1],
                markersize=6,
                label="accepted reach" if i == 0 else None,
            )
        for kind, marker in (("ACC", "^"), ("AEC", "s")):
            ax.plot([], [], marker, color=plot.COLOURS[2], label=f"{kind}, {gauges[0]} AWG: {ACTIVE[kind]}")
        ax.set_yticks(
            range(len(groups)),
            [f"{rate}, {hosts} hosts" if hosts != "std" else f"{rate}, standard hosts" for rate, hosts in groups],
        )
        ax.invert_yaxis()
        ax.set(xlabel="reach [m]", title="Reach with margin, and the largest share of the error there")
        ax.set_xlim(0, 1.3 * max([r["reach_m"] for r in [*rows, *active]]) + 0.5)
        ax.grid(visible=False, axis="y")
        ax.legend(loc="lower right")
        return fig
