"""What each way to split a training step over GPUs sends, and whether the scale-up port or a NIC can carry it behind compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp import check
from dsp.units import GB
from experiments.platforms import Platform
from experiments.step_time import (
    BACKWARD_SHARE,
    compute_time,
    data_parallel_volume,
    expert_volume,
    pipeline_volume,
    tensor_parallel_volume,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A model as parallelism sees it: ``active`` parameters a token passes, ``hidden`` width, ``layers`` that communicate."""

    name: str
    active: float
    hidden: int
    layers: int

    def __post_init__(self) -> None:
        check.positive(self, "active", self.active)
        check.count(self, "hidden", self.hidden, 1)
        check.count(self, "layers", self.layers, 1)


DENSE = Shape(name="Llama 70B", active=70e9, hidden=8192, layers=80)
EXPERTS = Shape(name="DeepSeek-V3", active=37e9, hidden=7168, layers=58)
"""Shapes of the published models; 58 of DeepSeek-V3's 61 layers have experts, 8 of which each token visits."""
WAYS, VISITED, REPLICAS = 8, 8, 1024


def table(tokens: float, mfu: float, p: Platform, up: float) -> list[dict[str, Any]]:
    """One step of ``tokens`` a GPU, kernels at ``mfu`` of ``p``, scale-up ports of ``up`` [b/s] one way, NICs of ``p``.

    A group of `WAYS` GPUs works on `WAYS` times the tokens. Volumes are what one GPU sends.
    """
    group = WAYS * tokens
    sent: tuple[tuple[str, str, Shape, float], ...] = (
        ("data, a replica a GPU", "all-reduce", DENSE, float(data_parallel_volume(DENSE.active, REPLICAS))),
        ("data, ZeRO-3", "all-gather twice, reduce-scatter", DENSE, float(data_parallel_volume(DENSE.active, REPLICAS, 2.0, "ZeRO-3"))),
        (f"data, replicas of {WAYS} x {WAYS}", "all-reduce", DENSE, float(data_parallel_volume(DENSE.active / WAYS**2, REPLICAS))),
        (f"tensor, {WAYS} ways", "all-gather, reduce-scatter", DENSE, tensor_parallel_volume(group, DENSE.hidden, DENSE.layers, WAYS)),
        (f"pipeline, {WAYS} stages", "send", DENSE, pipeline_volume(group, DENSE.hidden)),
        (f"expert, {VISITED} a token", "all-to-all, forward and back", EXPERTS,
         2 * expert_volume(tokens, VISITED, EXPERTS.hidden, EXPERTS.layers, 1, 2)),
    )  # fmt: skip
    rows = []
    for name, collective, shape, bits in sent:
        compute = float(compute_time(shape.active, tokens, 1, p.flops, mfu))
        port, nic = bits / up / compute, bits / p.nic_usable / compute
        rows.append({
            "parallelism": name, "collective": collective, "model": shape.name, "gb_per_step": round(bits / GB, 2),
            "compute_s": round(compute, 3), "over_compute_on_scale_up": float(f"{port:.3g}"),
            "over_compute_on_nic": float(f"{nic:.3g}"), "hidden_on_one_nic": "no" if nic > BACKWARD_SHARE else "yes",
        })  # fmt: skip
    return rows


def draw(rows: Sequence[dict[str, Any]], tokens: float) -> Figure:
    """Communication over compute of each, by the scale-up port and by the NIC."""
    from serdes import plot

    places = np.arange(len(rows))
    with plot.figure(9.5, 4.2) as (fig, ax):
        for k, (key, label) in enumerate((("over_compute_on_scale_up", "scale-up port"), ("over_compute_on_nic", "one NIC"))):
            bars = ax.barh(places + 0.38 * k - 0.19, [r[key] for r in rows], 0.36, color=plot.COLOURS[k], label=label)
            ax.bar_label(bars, [f"{r[key]:.2g}" for r in rows], fontsize=8, padding=3)
        ax.axvline(BACKWARD_SHARE, color="0.3", linewidth=1)
        ax.text(BACKWARD_SHARE * 1.05, 3.62, "more than the\nbackward pass hides", fontsize=8, color="0.3", va="center")
        ax.set_yticks(places, [f"{r['parallelism']}\n{r['gb_per_step']:,.3g} GB a step" for r in rows])
        ax.invert_yaxis()
        ax.set(xscale="log", xlabel="communication over compute", xlim=(5e-4, 60),
               title=f"Which parallelism needs the copper domain, {tokens:,.0f} tokens a GPU")  # fmt: skip
        ax.grid(visible=False, axis="y")
        ax.legend(loc="lower right")
        return fig
