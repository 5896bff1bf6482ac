"""How far does passive twinax go at each lane rate, and which tier can that serve?"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dsp.noise import Jitter
from dsp.units import TB, GBd, GHz, db, db_power
from experiments import com_lines, reach_figures
from experiments.lines import CopperLine, Line, OpticalLine
from experiments.lines import Reach as LineReach
from experiments.optical_reach import Row as OpticalRow
from experiments.optical_reach import note as optical_note
from experiments.optical_reach import rows_of
from experiments.parallel import run_all
from experiments.study import Answer, Progress, silent
from experiments.tiers import LANES_PER_GPU, TIERS, scale_up_bandwidth, tier_rows
from serdes.bounds import bounds
from serdes.link import Link
from serdes.operating_point import operating_point
from serdes.reach import Reach, Target, reach
from serdes.setups import Setup, names, setup

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
ACC_CLASS = (3.0, 4.0)
"""What is usually said of linear active cables at 100G [m]; that of 30 AWG, while 26 AWG is sold at 5 m."""


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


def _work(task: Task | OpticalRow | Line) -> Any:
    if isinstance(task, Line):
        return task.reach()
    return task.solve() if isinstance(task, OpticalRow) else solve(task)


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
        "hosts": "-".join(task.hosts) if task.hosts else "standard",
        "gauge_awg": task.gauge,
        "reach_m": round(found.length, 3),
        "outcome": found.outcome,
        "reason": found.reason,
        "binding_cause": found.binding,
        "snr_db": round(found.point.snr_db, 2),
        "margin_db": task.margin_db,
        "error_ratio": s.error_ratio,
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
        "accepted_m": s.accepted_reach[1],
        "shipped_m": _shipped(s, task),
        "per_gpu_tb_per_s": round(scale_up_bandwidth(s.payload) / TB, 3),
        "basis": "modelled" if s.verified else "modelled, parameters unverified",
    } | {f"share {cause}": round(share, 4) for cause, share in shares.items()}


def _shipped(s: Setup, task: Task) -> str:
    """Cables on the market by gauge [m], or what was shown between low-loss hosts; "" where no page names one."""
    found = s.shipped(task.gauge, redriven=task.kind == "ACC") if task.kind in ("passive", "ACC") else None
    if found is None:
        shown = s.shown_reach if task.kind == "passive" and task.hosts == HOST_PAIRS[0] else None
        return "" if shown is None else f"{shown:g}+ shown"
    return f"{found[0]:g}-{found[1]:g}" if found[0] < found[1] else f"{found[0]:g}"


def _active_row(task: Task, s: Setup, found: Reach) -> dict[str, Any]:
    return {
        "cable": task.kind,
        "what": ACTIVE[task.kind],
        **_found(task, s, found),
        "shipped_m": _shipped(s, task),
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
    copper = tasks(rates or names(), gauges, margin_db)
    light = rows_of((setup(task.rate).symbol_rate for task in reversed(copper)), margin_db / 2)
    lines = [OpticalLine(rate=row.rate, architecture=row.architecture, host_loss_db=row.host_loss_db) for row in light]
    rest = [
        tier.simulated_by for tier in TIERS if not isinstance(tier.simulated_by, CopperLine) and tier.simulated_by not in lines
    ]
    jobs: list[Task | OpticalRow | Line] = [*copper, *light, *rest]
    found = run_all(_work, jobs, progress)
    solved, optics, reached = (
        found[: len(copper)],
        found[len(copper) : -len(rest)],
        dict(zip(rest, found[-len(rest) :], strict=True)),
    )
    for line, row in zip(lines, optics, strict=True):
        reached[line] = LineReach(length=row["reach_m"], binding=row["binding_cause"], basis=row["basis"])
    optics.sort(key=lambda row: row["symbol_rate_gbd"])
    order = {name: i for i, name in enumerate(names())}
    pairs = {pair: i for i, pair in enumerate((None, *HOST_PAIRS))}
    solved.sort(key=lambda r: (order[r["task"].rate], r["task"].gauge, pairs[r["task"].hosts]))
    active = [r["row"] for r in solved if r["task"].kind != "passive"]
    active.sort(key=lambda row: (row["symbol_rate_gbd"], row["hosts"], row["cable"], row["gauge_awg"]))
    solved = [r for r in solved if r["task"].kind == "passive"]
    rows = [r["row"] for r in solved]
    effects, tiers = _effects(solved), tier_rows(rows, reached)
    simulated = {row["tier"]: row["reach_m"] for row in tiers}
    margins = [
        {"link": r["task"].label, "gauge_awg": r["task"].gauge, "length_m": round(x, 4), "margin_db": round(m, 3)}
        for r in solved
        for x, m in zip(LENGTHS, r["margins"], strict=True)
    ]
    lanes = list(dict.fromkeys(r["task"].rate for r in solved))
    return Answer(
        question=QUESTION,
        tables={
            "reach": rows,
            "active": active,
            **({"optics": optics} if optics else {}),
            "definitions": effects,
            "margin": margins,
            "tiers": tiers,
        },
        figures={
            "reach": lambda: reach_figures.margins(solved, simulated, LENGTHS, need(lanes, margin_db), margin_db),
            "reach_bars": lambda: reach_figures.bars(rows, active, ACTIVE, need(lanes, margin_db)),
        },
        notes=_notes(solved) + _market(rows, active) + ([optical_note(margin_db)] if optics else []),
    )


def need(rates: Sequence[str], margin_db: float) -> str:
    """What a reach is measured by, for titles: the margin over the need of each rate's detector error ratio."""
    by: dict[float, list[str]] = {}
    for s in map(setup, rates):
        by.setdefault(s.error_ratio, []).append(s.name)
    ratios = ", ".join(f"{_short(ratio)} ({', '.join(lanes)})" if len(by) > 1 else _short(ratio) for ratio, lanes in by.items())
    return f"{margin_db:g} dB margin at a detector error ratio of {ratios}"


def _short(ratio: float) -> str:
    return f"{ratio:.0e}".replace("e-0", "e-")


def _market(rows: Sequence[Mapping[str, Any]], active: Sequence[Mapping[str, Any]]) -> list[str]:
    """What to know of the lengths that are on the market."""
    notes = []
    if any("shown" in r["shipped_m"] for r in rows):
        notes.append(
            "200G: 2 m and more was shown with low-loss hosts on silicon, the gauge not stated; no page names a length that ships."
        )
    redriven = [r for r in active if r["cable"] == "ACC" and r["rate"] == setup("100G").title and r["shipped_m"]]
    if redriven:
        low, high = ACC_CLASS
        told = []
        for r in redriven:
            side = "inside" if low <= r["reach_m"] <= high else "above" if r["reach_m"] > high else "below"
            told.append(f"{r['reach_m']:.1f} m on {r['gauge_awg']} AWG is {side} it (sold: {r['shipped_m']} m)")
        notes.append(f"ACC at 100G, usually called a {low:g}-{high:g} m class: {'; '.join(told)}.")
    return notes


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
        figures={**answer.figures, "reach_com": lambda: reach_figures.com(lines, by)},
        notes=[*answer.notes, *com_lines.notes(lines)],
    )


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


def _notes(solved: Sequence[dict[str, Any]]) -> list[str]:
    notes = [
        "Reach: the longest cable whose slicer SNR exceeds what the detector error ratio needs by the margin.",
        "Connectors, paddle cards and crosstalk levels are estimates; parameters of lanes marked * are recalled, not read.",
        "Loss is die to die at the Nyquist frequency. The objectives of the standards are shorter: they leave room for the spread "
        "of parts, temperature and age, and for worse hosts.",
        "Hosts by P802.3dj, die to connector at 53 GHz: HL 3.3 dB, HN 8.3 dB, HH 13.2 dB; others have one host (standard).",
        f"TB/s: what {LANES_PER_GPU} such lanes each way give one GPU, both directions summed.",
        "Tiers: quoted distances are those of classes that are sold, with room for the worst parts, age and connectors; simulated "
        "ones are of typical parts, 400ZR with its ageing kept aside. `serdes tiers` has every interconnect.",
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
