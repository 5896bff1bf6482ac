"""Where intensity modulation ends and coherent light begins, and what a coherent link of kilometres lives on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp import check
from dsp.units import GBd, km, nm, pJ, ps, us
from experiments.coherent_lines import LAUNCH_DBM, amplified_reach, line
from experiments.direct_detection import DirectDetection
from experiments.farthest import LONGEST
from experiments.parallel import run_all
from experiments.study import Answer, Progress, silent
from serdes.coherent import CoherentLink
from serdes.coherent_standards import NAMES, Module, module
from serdes.coherent_statistical import LEFT_OUT, CoherentStatistical, loaded
from serdes.coherent_time_domain import CoherentTimeDomain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "Where does intensity modulation end and coherent begin, and what limits a coherent link?"
LANES = tuple(
    DirectDetection(symbol_rate=rate * GBd, wavelength=w * nm)
    for rate, w in ((53.125, 1310), (53.125, 1550), (106.25, 1310), (106.25, 1271), (106.25, 1550))
)
DISTANCES = tuple(float(x) for x in np.geomspace(0.5 * km, 120 * km, 41))
SPAN_LENGTHS = tuple(float(x) for x in np.arange(40, 151, 10) * km)
SPAN_COUNTS = tuple(range(1, 16))
LAUNCHES_DBM = tuple(float(x) for x in np.arange(-10, 7.01, 1))
FLOOR_DB = -8.0
"""Margin below which a curve is not followed."""


def _work(job: tuple[str, Any]) -> Any:
    """One piece of the study; runs in a worker process."""
    kind, value = job
    if kind == "lane":
        return _lane(value)
    return _stages(*value)


def _lane(lane: DirectDetection) -> dict[str, Any]:
    """Reach and its causes, and the margin against distance as far as it is worth drawing."""
    reach, power, dispersion = lane.reach(), lane.reach(dispersion=False), lane.reach(loss=False)
    return {
        "kind": lane.label,
        "reach_km": reach / km,
        "power_alone_km": power / km,
        "dispersion_alone_km": dispersion / km,
        "null_at_nyquist_km": lane.null_at_nyquist() / km,
        "limit": "dispersion" if dispersion < power else "power",
        "beyond_bracket": reach >= LONGEST,
        "margins": _lane_margins(lane),
    }


def _lane_margins(lane: DirectDetection) -> list[dict[str, Any]]:
    rows = []
    for x in DISTANCES:
        margin = max(lane.margin_db(x), -20.0)
        rows.append({"kind": lane.label, "distance_km": x / km, "margin_db": margin})
        if margin < FLOOR_DB:
            break
    return rows


def _loaded(name: str, osnr_db: float) -> CoherentLink:
    return loaded(module(name).amplified(80 * km, 1, LAUNCH_DBM), osnr_db)


def _stages(name: str, osnr_db: float, seed: int) -> dict[str, Any]:
    """One signal run over 80 km with the module's worst lasers: what each stage leaves."""
    link = _loaded(name, osnr_db)
    result = CoherentTimeDomain(n_symbols=32768).run(link, np.random.default_rng(seed))
    linear = CoherentStatistical().run(link)
    row = {"module": name, "osnr_db": osnr_db, "linear_snr_db": linear.snr_db, **result.record()}
    return {"row": row, "stages": dict(result.stages)}


def _coherent_rows(names: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for m in map(module, names):
        best = m.back_to_back()
        row: dict[str, Any] = {
            "module": m.name, "symbol_rate_gbd": m.symbol_rate / GBd, "code": m.code.name, "threshold": m.code.threshold,
            "ageing_db": m.ageing_db(), "required_osnr_db": m.required_osnr_db, "required_snr_db": best.required_snr_db,
            "amplified_reach_km": 0.0, "specified_reach_km": 0.0, "unamplified_km": m.unamplified_reach() / km,
            "dispersion_km": m.dispersion_reach() / km, "pj_per_bit": m.energy / pJ, "code_latency_us": m.code.latency / us,
            "flight_us_at_80_km": m.amplified(80 * km).channel.flight_time / us if m.spans else None,
            "launch_dbm": m.power_dbm, "receive_dbm": m.sensitivity_dbm, "bare_launch_dbm": m.unamplified_power_dbm,
            "bare_receive_dbm": m.unamplified_sensitivity_dbm, "dispersion_ps_per_nm": m.dispersion / (ps / nm),
            "dgd_ps": m.dgd / ps, "sources": "serdes/standards/coherent.toml",
        }  # fmt: skip
        if m.spans:
            row["amplified_reach_km"] = amplified_reach(m, ageing=False).length / km
            row["specified_reach_km"] = amplified_reach(m).length / km
        rows.append(row)
    return rows


def _margins(m: Module) -> list[dict[str, Any]]:
    """Margin of one span against distance, amplified and of bare fibre, as far as the module takes the dispersion."""
    rows = []
    lines: dict[str, Callable[[float], Any]] = {}
    if m.spans:
        lines[f"{m.name}, amplified"] = lambda x: line(m, x)
    if m.unamplified_power_dbm is not None:
        lines[f"{m.name}, bare fibre"] = m.unamplified
    for kind, made in lines.items():
        for x in DISTANCES:
            if x > m.dispersion_reach():
                break
            margin = CoherentStatistical().run(made(x)).margin_db - m.ageing_db()
            rows.append({"kind": kind, "distance_km": x / km, "margin_db": max(margin, -20.0)})
    return rows


def _spans(m: Module) -> list[dict[str, Any]]:
    """Margin over the specification's need against span length (one span) and number of spans, launch power fixed and best."""
    plan = [("length", x, 1) for x in SPAN_LENGTHS] + [("number", 80 * km, n) for n in SPAN_COUNTS]
    rows = []
    for axis, length, count in plan:
        margins = [(_margin(m, length, count, p), p) for p in LAUNCHES_DBM if p >= m.power_dbm]
        best, power = max(margins)
        fixed = _margin(m, length, count, max(LAUNCH_DBM, m.power_dbm))
        rows.append(
            {
                "module": m.name, "axis": axis, "span_km": length / km, "spans": count, "margin_db": fixed,
                "best_margin_db": best, "best_launch_dbm": power,
            }
        )  # fmt: skip
    return rows


def _margin(m: Module, length: float, count: int, power_dbm: float) -> float:
    return CoherentStatistical().run(line(m, length, count, power_dbm)).margin_db - m.ageing_db()


def _launch(m: Module, spans: int = 5) -> list[dict[str, Any]]:
    """SNR by cause against launch power, ``spans`` of 80 km."""
    rows = []
    for p in LAUNCHES_DBM:
        if p < m.power_dbm:
            continue
        result = CoherentStatistical().run(line(m, 80 * km, spans, p))
        rows.append({"module": m.name, "spans": spans, "launch_dbm": p, "snr_db": result.snr_db, **_causes(result.budget)})
    return rows


def _causes(budget: Mapping[str, float]) -> dict[str, float]:
    return {f"snr {name}": value for name, value in budget.items() if np.isfinite(value)}


def run(
    names: Sequence[str] = NAMES,
    osnr_db: float = 22.0,
    seed: int = 1,
    lanes: Sequence[DirectDetection] = LANES,
    progress: Progress = silent,
) -> Answer:
    """The whole study; ``osnr_db`` [dB, 0.1 nm] of the signal run whose stages are drawn, ``lanes`` of intensity modulation."""
    check.count("dci study", "seed", seed, 0)
    check.between("dci study", "osnr_db", osnr_db, 0, 80, "dB", hint="0.1 nm; a coherent receiver finds nothing below 10 dB")
    modules = [module(name) for name in names]
    amplified = [m for m in modules if m.spans]
    shown = amplified[0].name if amplified else None
    if shown:
        _loaded(shown, osnr_db)  # more than the amplifiers leave is refused before the work
    jobs: list[tuple[str, Any]] = [("stages", (shown, osnr_db, seed))] if shown else []
    jobs += [("lane", lane) for lane in lanes]
    results = run_all(_work, jobs, progress)
    signal = results.pop(0) if shown else None
    margins = [row for lane in results for row in lane["margins"]]
    ends = [{key: value for key, value in lane.items() if key != "margins"} for lane in results]
    margins += [row for m in modules for row in _margins(m)]
    coherent = _coherent_rows(names)
    spans = [row for m in amplified for row in _spans(m)]
    launch = [row for m in amplified for row in _launch(m)]
    tables: dict[str, Sequence[Mapping[str, Any]]] = {
        "dci": coherent,
        "lanes": ends,
        "margins": margins,
        "spans": spans,
        "launch": launch,
    }
    figures: dict[str, Callable[[], Figure]] = {"dci_distance": lambda: _draw_distance(margins, ends)}
    if signal:
        tables["signal"] = [signal["row"]]
        figures |= {
            "dci_spans": lambda: _draw_spans(spans),
            "dci_launch": lambda: _draw_launch(launch),
            "dci_stages": lambda: _draw_stages(signal),
        }
    return Answer(question=QUESTION, tables=tables, figures=figures, notes=_notes(ends, coherent, signal))


def _notes(
    lanes: Sequence[Mapping[str, Any]], coherent: Sequence[Mapping[str, Any]], signal: Mapping[str, Any] | None
) -> list[str]:
    notes = []
    for r in lanes:
        alone = {key: r[f"{key}_alone_km"] for key in ("power", "dispersion")}
        said = ", ".join(f"{key} alone {'beyond ' if x >= LONGEST / km else ''}{x:.2g} km" for key, x in alone.items())
        notes.append(f"{r['kind']}: ends at {r['reach_km']:.2g} km by {r['limit']} ({said}).")
    for r in coherent:
        if r["amplified_reach_km"]:
            notes.append(
                f"{r['module']}: one amplified span of {r['amplified_reach_km']:.0f} km with ideal parts, "
                f"{r['specified_reach_km']:.0f} km with the {r['ageing_db']:.1f} dB kept for implementation, age and path."
            )
        else:
            notes.append(
                f"{r['module']}: {r['unamplified_km']:.0f} km of fibre by power, {r['dispersion_km']:.0f} km by dispersion; no "
                "required OSNR is known, so nothing is kept for ageing."
            )
    if signal:
        row = signal["row"]
        found = (
            f"{min(row['snr_x_db'], row['snr_y_db']):.2f} dB"
            if row["outcome"] in ("ok", "errors beyond the code")
            else row["outcome"]
        )
        notes.append(
            f"{row['module']}, 80 km at {row['osnr_db']:g} dB OSNR: signal face {found}, "
            f"linear face {row['linear_snr_db']:.2f} dB."
        )
    notes.append(
        "PAM4 lanes: +1 dBm, ideal parts without ageing, KP4; 1310 nm is free of dispersion, 1271 nm the edge of CWDM4."
    )
    notes.append("The linear face leaves out: " + ", ".join(LEFT_OUT) + ".")
    notes.append(
        f"Coherent lines: {LAUNCH_DBM:g} dBm a channel behind a booster, the C band full, noise figure 5.5 dB; loss 0.2 dB/km."
    )
    return notes


def _draw_distance(margins: Sequence[Mapping[str, Any]], lanes: Sequence[Mapping[str, Any]]) -> Figure:
    """Margin against distance, intensity modulation (thin, by rate and band) and coherent (thick) on one axis."""
    from serdes import plot

    direct = {r["kind"]: r for r in lanes}
    rates = list(dict.fromkeys(kind.split(",")[0] for kind in direct))
    bands = list(dict.fromkeys(kind.split(",")[1] for kind in direct))
    with plot.figure(10.5, 5.6) as (fig, ax):
        others = 0
        for kind in dict.fromkeys(r["kind"] for r in margins):
            x, y = (np.array([r[key] for r in margins if r["kind"] == kind]) for key in ("distance_km", "margin_db"))
            if kind in direct:
                rate, band = kind.split(",")
                colour, style, width = plot.COLOURS[rates.index(rate)], plot.STYLES[bands.index(band)], 1.5
                null = direct[kind]["null_at_nyquist_km"]
                if x[0] <= null <= DISTANCES[-1] / km:
                    ax.plot(null, FLOOR_DB + 0.35, "v", color=colour, markersize=8)
                    ax.text(null * 1.05, FLOOR_DB + 0.3, band.strip(), fontsize=7, color=colour)
                if direct[kind]["reach_km"] <= DISTANCES[-1] / km:
                    ax.plot(direct[kind]["reach_km"], 0, "o", color=colour, markersize=5)
            else:
                colour, style, width = plot.COLOURS[2 + others], "-" if "amplified" in kind else "--", 3.0
                others += 1
            ax.plot(x, y, label=kind, color=colour, linestyle=style, linewidth=width)
        ax.plot([], [], "v", color="0.4", label="dispersion leaves nothing\nat half the symbol rate")
        ax.axhline(0, color="0.3", linewidth=1)
        ax.set_xscale("log")
        ax.set_xticks([0.5, 1, 2, 5, 10, 20, 50, 100], ["0.5", "1", "2", "5", "10", "20", "50", "100"])
        ax.set(
            xlabel="distance [km]", ylabel="SNR margin [dB], of coherent beyond ageing", ylim=(FLOOR_DB, 13), xlim=(0.5, 120),
            title="Dispersion at 1550 nm and loss at 1310 nm end intensity modulation; coherent goes on",
        )  # fmt: skip
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="thin: intensity modulation\nthick: coherent, DP-16QAM")
        return fig


def _draw_spans(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Margin over the specification against span length and number of spans."""
    from serdes import plot

    with plot.figure(11, 4.6, 1, 2, sharey=True) as (fig, axes):
        for ax, axis, key, label in zip(
            axes, ("length", "number"), ("span_km", "spans"), ("length of one span [km]", "spans of 80 km"), strict=True
        ):
            for k, name in enumerate(dict.fromkeys(r["module"] for r in rows)):
                mine = [r for r in rows if r["module"] == name and r["axis"] == axis]
                x = [r[key] for r in mine]
                ax.plot(x, [r["margin_db"] for r in mine], color=plot.COLOURS[k], label=f"{name}, {LAUNCH_DBM:g} dBm")
                ax.plot(
                    x,
                    [r["best_margin_db"] for r in mine],
                    color=plot.COLOURS[k],
                    linestyle="--",
                    label=f"{name}, best launch power",
                )
            ax.axhline(0, color="0.3", linewidth=1)
            ax.set(xlabel=label)
        axes[0].set(ylabel="margin beyond ageing and implementation [dB]", title="One span")
        axes[1].set(title="Several spans")
        axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return fig


def _draw_launch(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """SNR by cause against launch power, one panel a module."""
    from serdes import plot

    names = list(dict.fromkeys(r["module"] for r in rows))
    with plot.figure(3.6 * len(names) + 1.5, 4.4, 1, len(names), sharey=True, squeeze=False) as (fig, axes):
        for ax, name in zip(axes[0], names, strict=True):
            mine = [r for r in rows if r["module"] == name]
            x = [r["launch_dbm"] for r in mine]
            ax.plot(x, [r["snr_db"] for r in mine], color="0", linewidth=2.4, label="all together")
            best = max(mine, key=lambda r: r["snr_db"])
            ax.plot(best["launch_dbm"], best["snr_db"], "o", color="0", markersize=8, label="best launch power")
            for k, cause in enumerate(key for key in mine[0] if key.startswith("snr ")):
                label = cause.removeprefix("snr ")
                look = {"color": (*plot.COLOURS[:6], "0.6")[k % 7], "linestyle": plot.STYLES[k % len(plot.STYLES)]}
                ax.plot(x, [r[cause] for r in mine], label=label, **look)
            ax.set(xlabel="launch power [dBm a channel]", title=f"{name}, {mine[0]['spans']} x 80 km", ylim=(8, 40))
        axes[0][0].set_ylabel("SNR left by each cause [dB]")
        axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return fig


def _draw_stages(signal: Mapping[str, Any]) -> Figure:
    """Symbols of one polarisation after each stage of the receiver."""
    from serdes import plot

    stages = signal["stages"]
    columns = max(1, len(stages))
    with plot.figure(2.3 * columns, 2.9, 1, columns, squeeze=False) as (fig, axes):
        for ax, (name, y) in zip(axes[0], stages.items(), strict=False):
            ax.plot(y.real, y.imag, ".", markersize=1, color=plot.COLOURS[0], alpha=0.4, rasterized=True)
            ax.set(title=f"after {name}", xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), aspect="equal", xticks=[], yticks=[])
        row = signal["row"]
        fig.suptitle(f"{row['module']} over 80 km at {row['osnr_db']:g} dB OSNR: {row['outcome']}")
        return fig
