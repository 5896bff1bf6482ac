"""A user's own run of nccl-tests beside the model, with the latency and bandwidth that fit it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dsp.units import GB, ms, us
from experiments.collectives import bus_bandwidth, in_switch_all_reduce, nccl_ring, nodes_of
from experiments.nccl_log import Fit, NcclLog, fit
from experiments.platforms import IN_SWITCH_HOP, Platform

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def measured(log: NcclLog, p: Platform | None) -> tuple[list[dict[str, Any]], Fit]:
    """The log's rows beside the fit and, where the GPU is known, the model with NCCL's constants."""
    size, time, busbw = log.series()
    found = fit(log)
    inside = dict(zip(*log.series(in_place=True)[::2], strict=True)) if any(r.in_place_time for r in log.rows) else {}
    rows = []
    for s, t, b in zip(size, time, busbw, strict=True):
        fitted = found.latency + float(bus_bandwidth(log.collective, s, log.ranks, 1.0)) / found.bandwidth
        row: dict[str, Any] = {
            "size_mib": float(s) / (8 * 2**20), "time_ms": _round(t / ms), "busbw_gb_per_s": _round(b / GB),
            "in_place_gb_per_s": _round(inside[s] / GB) if s in inside else None,
            "fitted_gb_per_s": _round(float(bus_bandwidth(log.collective, s, log.ranks, fitted)) / GB),
        }  # fmt: skip
        if p is not None:
            modelled, how = model_time(log, p, float(s))
            row |= {"model_gb_per_s": _round(float(bus_bandwidth(log.collective, s, log.ranks, modelled)) / GB), "model": how}
            row["model_error_pct"] = round(100 * (float(t) / modelled - 1), 1)
        rows.append(row)
    return rows, found


def model_time(log: NcclLog, p: Platform, size: float) -> tuple[float, str]:
    """Time [s] of one collective of the log by NCCL's constants, and the way that is quickest."""
    nodes = int(nodes_of(log.ranks, p.domain))
    bandwidth = p.up if nodes == 1 else min(p.up, p.domain * p.nic_usable)
    time, how = nccl_ring(log.collective, size, log.ranks, nodes, bandwidth)
    choices = {f"ring, {how}": time}
    if log.collective == "all-reduce" and nodes == 1 and p.in_switch is not None:
        choices["in-switch"] = float(in_switch_all_reduce(size, log.ranks, p.up, IN_SWITCH_HOP / 2, p.in_switch))
    best = min(choices, key=lambda name: choices[name])
    return choices[best], best


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def _size(mib: float) -> str:
    if mib < 1:
        return f"{1024 * mib:.3g} KiB"
    return f"{mib:.3g} MiB" if mib < 1024 else f"{mib / 1024:.3g} GiB"


def draw(log: NcclLog, rows: Sequence[dict[str, Any]], found: Fit, name: str | None) -> Figure:
    """Bus bandwidth against message size: measured, fitted and modelled."""
    from serdes import plot

    size = [r["size_mib"] for r in rows]
    with plot.figure(8.5, 4.8) as (fig, ax):
        ax.plot(size, [r["busbw_gb_per_s"] for r in rows], "o", color=plot.COLOURS[0], label="measured, out of place")
        if any(r["in_place_gb_per_s"] is not None for r in rows):
            ax.plot(
                size,
                [r["in_place_gb_per_s"] for r in rows],
                "s",
                color=plot.COLOURS[5],
                markerfacecolor="none",
                label="measured, in place",
            )
        label = f"fitted: {found.latency / us:.3g} us, {found.bandwidth / GB:.4g} GB/s"
        ax.plot(size, [r["fitted_gb_per_s"] for r in rows], color=plot.COLOURS[2], linestyle="--", label=label)
        if name:
            ax.plot(
                size, [r["model_gb_per_s"] for r in rows], color=plot.COLOURS[1], label=f"model, {name} with NCCL's constants"
            )
        ax.set(xscale="log", xlabel="message size", ylabel="bus bandwidth [GB/s]", ylim=(0, None),
               title=f"{log.collective} on {log.ranks} GPUs")  # fmt: skip
        shown = size[:: max(1, len(size) // 10)]
        ax.set_xticks(shown, [_size(mib) for mib in shown])
        ax.minorticks_off()
        ax.legend(loc="lower right")
        return fig
