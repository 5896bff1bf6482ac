"""A user's own run of nccl-tests beside the model, with the latency and bandwidth that fit it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

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
            "size": _size(float(s) / 8), "size_mib": float(s) / (8 * 2**20), "time_ms": _round(t / ms), "busbw_gb_per_s": _round(b / GB),
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


def _size(octets: float) -> str:
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if octets >= 2**power:
            return f"{octets / 2**power:.3g} {unit}"
    return f"{octets:.3g} B"


def draw(log: NcclLog, rows: Sequence[dict[str, Any]], found: Fit, p: Platform | None) -> Figure:
    """Bus bandwidth, and time, against message size: measured, fitted and modelled."""
    from serdes import plot

    octets = np.array([r["size_mib"] * 2**20 for r in rows])
    fine = np.geomspace(octets[0], octets[-1], 100)
    fitted = (
        found.latency + np.array([float(bus_bandwidth(log.collective, 8 * x, log.ranks, 1.0)) for x in fine]) / found.bandwidth
    )
    label = f"fitted: {found.latency / us:.3g} us, {found.bandwidth / GB:.4g} GB/s"
    curves = [(fitted, label, plot.COLOURS[2], "--")]
    if p is not None:
        modelled = np.array([model_time(log, p, 8 * x)[0] for x in fine])
        curves.append((modelled, f"model, {p.name} with NCCL's constants", plot.COLOURS[1], "-"))
    with plot.figure(11, 4.6, 1, 2) as (fig, (left, right)):
        left.plot(octets, [r["busbw_gb_per_s"] for r in rows], "o", color=plot.COLOURS[0], label="measured, out of place")
        right.plot(octets, [1e3 * r["time_ms"] for r in rows], "o", color=plot.COLOURS[0])
        if any(r["in_place_gb_per_s"] is not None for r in rows):
            inside = [r["in_place_gb_per_s"] for r in rows]
            left.plot(octets, inside, "s", color=plot.COLOURS[5], markerfacecolor="none", label="measured, in place")
        for time, name, colour, style in curves:
            busbw = [float(bus_bandwidth(log.collective, 8 * x, log.ranks, t)) / GB for x, t in zip(fine, time, strict=True)]
            left.plot(fine, busbw, color=colour, linestyle=style, label=name)
            right.plot(fine, time / us, color=colour, linestyle=style)
        left.set(ylabel="bus bandwidth [GB/s]", ylim=(0, None), title=f"{log.collective} on {log.ranks} GPUs")
        right.set(ylabel="time [us]", yscale="log", title="The same as time")
        for ax in (left, right):
            ax.set(xscale="log", xlabel="message size")
            low, high = (int(np.log2(x)) for x in (octets[0], octets[-1]))
            shown = [2.0**k for k in range(low, high + 1, max(1, -(-(high - low) // 6)))]
            ax.set_xticks(shown, [_size(x) for x in shown])
            ax.minorticks_off()
        left.legend(loc="upper left", fontsize=8)
        return fig
