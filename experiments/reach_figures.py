"""Pictures of the reach study: margin against length beside the tiers, reach as bars, COM against length."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.tiers import TIERS, distance_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def margins(
    solved: Sequence[Mapping[str, Any]], reaches: Mapping[str, float], lengths: Sequence[float], need: str, margin_db: float
) -> Figure:
    """Margin against length: on the axis of all tiers, and close by, there with bands over all gauges and hosts of a rate.

    ``reaches`` [m]: simulated, by the tier's name.
    """
    from serdes import plot

    gauges = sorted({r["task"].gauge for r in solved})
    shown = [r for r in solved if r["task"].gauge == gauges[0]]
    rates = list(dict.fromkeys(r["task"].rate for r in solved))
    with plot.figure(14, 5.6, 1, 2, width_ratios=(1.15, 1), sharey=True) as (fig, (left, right)):
        shades = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7")
        for tier, shade in zip(TIERS, shades, strict=True):
            low, high = tier.distance
            left.axvspan(low, high, color=shade, alpha=0.16, linewidth=0)
            centre = float(np.sqrt(low * high))
            ends = f"quoted {distance_label(high)}\nsimulated {distance_label(reaches[tier.name])}"
            label = f"{tier.name}\n{_short(tier.bandwidth_label)}\n{ends}"
            left.text(centre, 0.985, label, transform=left.get_xaxis_transform(), ha="center", va="top", fontsize=8)
        for k, rate in enumerate(rates):
            every = [np.maximum(r["margins"], -16) for r in solved if r["task"].rate == rate]
            if len(every) > 1:
                right.fill_between(lengths, np.min(every, 0), np.max(every, 0), color=plot.COLOURS[k], alpha=0.15, linewidth=0)
            for i, r in enumerate(r for r in shown if r["task"].rate == rate):
                symbols = f"{r['row']['symbol_rate_gbd']:.9g} GBd"
                for ax in (left, right):
                    ax.plot(
                        lengths, np.maximum(r["margins"], -16), color=plot.COLOURS[k % 8], linestyle=plot.STYLES[i % 6],
                        marker=plot.MARKERS[k % 6], markersize=3,
                        label=f"{r['task'].label}, {symbols}: {r['row']['reach_m']:.2f} m",
                    )  # fmt: skip
        for ax in (left, right):
            ax.axhline(margin_db, color="0.25", linewidth=1)
            ax.set(xlabel="distance [m]")
        left.text(2.6e-4, margin_db - 0.2, textwrap.fill(need, 28), fontsize=8, color="0.25", va="top")
        left.set_xscale("log")
        left.set(
            xlim=(2e-4, 2e5), ylim=(-12, 14), ylabel="slicer SNR beyond the need of the error ratio [dB]",
            title=f"Passive twinax, {gauges[0]} AWG, against the tiers of a cluster",
        )  # fmt: skip
        spread = [f"{gauges[0]} to {gauges[-1]} AWG"] * (len(gauges) > 1) + ["all hosts"] * (len(shown) > len(rates))
        right.set(xlim=(0, 9), title="Close by" + (f"; bands: {', '.join(spread)}" if spread else ""))
        right.legend(loc="upper right", title=f"lane rate, hosts: reach with {gauges[0]} AWG")
        return fig


def _short(label: str) -> str:
    return label.split(",")[0]


def bars(rows: Sequence[Mapping[str, Any]], active: Sequence[Mapping[str, Any]], kinds: Mapping[str, str], need: str) -> Figure:
    """Reach of every row beside the accepted and the shipped reach, passive and active cables of the first gauge."""
    from serdes import plot

    gauges = sorted({r["gauge_awg"] for r in rows})
    groups = list(dict.fromkeys((r["rate"], r["hosts"]) for r in rows))
    with plot.figure(10.5, 0.8 * len(groups) + 2.4) as (fig, ax):
        for i, group in enumerate(groups):
            mine = [r for r in rows if (r["rate"], r["hosts"]) == group]
            for r in mine:
                thick = r["gauge_awg"] == gauges[0]
                y = i - 0.25 if thick else i
                ax.barh(
                    y, r["reach_m"], 0.22, color=plot.COLOURS[0 if thick else 5], hatch=None if thick else "//",
                    edgecolor="white", label=f"passive, {r['gauge_awg']} AWG" if i == 0 else None,
                )  # fmt: skip
                end = max(r["reach_m"], _draw_shipped(ax, r["shipped_m"], y))
                ax.text(end + 0.08, y, f"{r['reach_m']:.2f} m, {r['binding_cause']}", va="center", fontsize=8)
            for below, kind, marker in ((0.2, "ACC", "^"), (0.36, "AEC", "s")):
                found = [r for r in active if (r["rate"], r["hosts"], r["cable"], r["gauge_awg"]) == (*group, kind, gauges[0])]
                for r in found:
                    ax.plot(r["reach_m"], i + below, marker, color=plot.COLOURS[2], markersize=6)
                    ax.text(r["reach_m"] + 0.12, i + below, f"{kind} {r['reach_m']:.2f} m", va="center", fontsize=8)
            ax.plot(
                mine[0]["accepted_m"],
                i - 0.125,
                "D",
                color=plot.COLOURS[1],
                markersize=6,
                label="accepted reach" if i == 0 else None,
            )
        ax.plot([], [], color="black", linewidth=2.2, label="shipped, passive, of that gauge (arrow: shown, not shipped)")
        for kind, marker in (("ACC", "^"), ("AEC", "s")):
            ax.plot([], [], marker, color=plot.COLOURS[2], label=f"{kind}, {gauges[0]} AWG: {kinds[kind]}")
        ax.set_yticks(
            range(len(groups)),
            [f"{rate}, {hosts} hosts" for rate, hosts in groups],
        )
        ax.invert_yaxis()
        ax.set(xlabel="reach [m]", title=f"Reach of twinax, and the binding cause there\n{need}")
        ax.set_xlim(0, 1.3 * max([r["reach_m"] for r in [*rows, *active]]) + 0.5)
        ax.grid(visible=False, axis="y")
        fig.legend(loc="outside lower center", ncols=2)
        return fig


def _draw_shipped(ax: Axes, shipped: str, y: float) -> float:
    """A line from the shortest to the longest cable on the market, or an arrow from what was shown; where it ends [m]."""
    if not shipped:
        return 0.0
    ends = [float(x) for x in shipped.removesuffix("+ shown").split("-")]
    ax.plot([ends[0], ends[-1]], [y, y], ">-" if "shown" in shipped else "|-", color="black", linewidth=2.2, markersize=5)
    return ends[-1]


def com(lines: Sequence[Mapping[str, Any]], by: Mapping[tuple[str, int], float]) -> Figure:
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
