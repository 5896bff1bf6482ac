"""When does the all-reduce of the gradients, and not the arithmetic, set the time of a training step?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp import check
from dsp.units import GB, ms, us
from experiments.collectives import (
    any_retry,
    hierarchical_all_reduce,
    in_switch_all_reduce,
    multirail_ring,
    ring,
    with_retries,
)
from experiments.nccl_log import NcclLog
from experiments.platforms import PLATFORMS, Platform, platform
from experiments.simulated_reach import FRAME_OCTETS, post_fec
from experiments.step_time import (
    BACKWARD_SHARE,
    compute_time,
    exposed,
    gradient_size,
    ridge,
    step_mfu,
    walls,
    weight_read_time,
)
from experiments.studies import nccl_tests, parallelism
from experiments.study import Answer
from experiments.systems import System, Wire, exports, systems, wire

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "From how many GPUs on does the network, and not the arithmetic, set the time of a training step?"
SIZES = np.unique(np.concatenate([2 ** np.arange(3, 20), 8 * np.round(np.geomspace(1, 1e6 / 8, 160))]).astype(int))
"""Whole nodes of 8 GPUs: a node partly filled holds up the others and would make the curves ragged."""
SHOWN = (8, 64, 256, 1024, 2048, 4096, 8192, 16384, 131_072, 1_000_000)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A dense model trained with data parallelism alone: the communication of gradients at its largest.

    ``parameters``; ``bytes_each`` per gradient; ``batch`` tokens per step over all GPUs (strong scaling) and ``tokens`` per GPU
    (weak scaling); ``mfu`` of the kernels; ``buckets`` that the gradients are reduced in.
    """

    parameters: float = 70e9
    bytes_each: float = 2.0
    batch: float = 4.19e6
    tokens: float = 4096.0
    mfu: float = 0.5
    buckets: int = 25

    def __post_init__(self) -> None:
        for field in ("parameters", "bytes_each", "batch", "tokens"):
            check.positive(self, field, getattr(self, field))
        check.between(self, "mfu", self.mfu, 0.01, 1)
        check.count(self, "buckets", self.buckets, 1)

    @property
    def size(self) -> float:
        """Gradients of a replica [bit]."""
        return gradient_size(self.parameters, self.bytes_each)


def run(
    rate: str = "224G", gpu: str = "B200", workload: Workload | None = None, log: NcclLog | None = None, radix: int = 72,
    platform_of_log: str | None = None,
) -> Answer:  # fmt: skip
    """Ratio of communication to compute over the number of GPUs, the worked example, and a measured log beside the model."""
    load, p, w = workload or Workload(), platform(gpu), wire(rate, radix)
    ways = systems(w, p)
    tables: dict[str, Sequence[dict[str, Any]]] = {
        "ratio": _ratios(ways, load, p), "example": _example(load, p), "walls": _walls(w, p, load),
        "parallelism": parallelism.table(load.tokens, load.mfu, p, w.up), "roofline": _roofline(load),
        "retries": _retries(w, load),
    }  # fmt: skip
    figures: dict[str, Callable[[], Figure]] = {
        "allreduce": lambda: _draw(ways, load, p),
        "example": lambda: _draw_example(tables["example"], load),
        "parallelism": lambda: parallelism.draw(tables["parallelism"], load.tokens),
    }
    notes = _notes(ways, load, p, w)
    if log is not None:
        name = platform_of_log or log.platform
        gpu_of_log = platform(name) if name else None
        rows, found = nccl_tests.measured(log, gpu_of_log)
        tables["measured"] = rows
        figures["measured"] = lambda: nccl_tests.draw(log, rows, found, gpu_of_log)
        notes.append(
            f"The log fits a latency of {found.latency / us:.4g} us ({found.hop / us:.3g} us a ring step) and "
            f"{found.bandwidth / GB:.4g} GB/s of bus bandwidth, mean deviation {100 * found.mean:.1f} %, worst "
            f"{100 * found.worst:.1f} %."
            + ("" if name else " The GPU is not a known one, so no model is drawn: name it with --gpu-of-log.")
        )
    return Answer(question=QUESTION, tables=tables, figures=figures, notes=notes, texts=exports(w, p))


def curves(way: System, load: Workload, p: Platform, n: np.ndarray, strong: bool = True) -> dict[str, np.ndarray]:
    """Compute, communication and exposed time [s], their ratios and the step's MFU over ``n`` GPUs."""
    tokens = load.batch if strong else load.tokens * n
    compute = compute_time(load.parameters, tokens, n, p.flops, load.mfu)
    communication = way.time(load.size, n)
    open_time = exposed(communication, compute, load.buckets)
    return {
        "compute": compute, "communication": communication, "ratio": communication / compute, "exposed": open_time,
        "exposed ratio": open_time / compute, "mfu": step_mfu(compute, open_time, load.mfu),
    }  # fmt: skip


def _ratios(ways: Sequence[System], load: Workload, p: Platform) -> list[dict[str, Any]]:
    n = np.array(SHOWN)
    rows = []
    for way in ways:
        found = curves(way, load, p, n)
        rows += [
            {
                "system": way.name, "gpus": int(size), "compute_s": _r(found["compute"][i]),
                "all_reduce_s": _r(found["communication"][i]), "ratio": _r(found["ratio"][i]),
                "exposed_s": _r(found["exposed"][i]), "exposed_over_compute": _r(found["exposed ratio"][i]),
                "step_mfu": _r(found["mfu"][i]), "basis": way.basis,
            }
            for i, size in enumerate(SHOWN)
        ]  # fmt: skip
    return rows


def _r(value: float) -> float:
    return float(f"{value:.4g}")


def _example(load: Workload, p: Platform) -> list[dict[str, Any]]:
    """The gradients of one step on 1,024 GPUs, by what is assumed of the wires."""
    n, size, b200, h100, nvl = 1024, load.size, platform("B200"), platform("H100"), platform("GB200")
    volume = 2 * (n - 1) / n * size
    two_stage: dict[str, Any] = {"n": n, "domain": 8, "up": h100.up, "nic": h100.nic_usable}
    cases = [
        ("flat ring, one 50 GB/s NIC per GPU", ring("all-reduce", size, n, h100.nic), "assumes nodes of one GPU"),
        ("sums in the network, the same NIC", in_switch_all_reduce(size, n, h100.nic), "bound, SHARP-like"),
        ("8 x H100 a node, 8 NICs", multirail_ring("all-reduce", size, n, 8, h100.up, h100.nic_usable), "measured to 387 GB/s"),
        ("8 x H100, two stages overlapped", hierarchical_all_reduce(size, **two_stage), "bound"),
        ("8 x H100, two stages in turn", hierarchical_all_reduce(size, **two_stage, overlapped=False), "no overlap of stages"),
        ("8 x B200 a node, 8 NICs", multirail_ring("all-reduce", size, n, 8, b200.up, b200.nic_usable), "NIC-bound"),
        ("racks of 72, 72 NICs", multirail_ring("all-reduce", size, n, 72, nvl.up, nvl.nic_usable), "bound: see 0.69 s below"),
        ("the same at the 406 GB/s seen on 1,440", ring("all-reduce", size, n, 405.7 * GB), "measured busbw, A23"),
        (f"compute, {load.tokens:g} tokens per GPU, 40 % of {p.name}",
         compute_time(load.parameters, load.tokens, 1, p.flops, 0.4), ""),
    ]  # fmt: skip
    return [
        {
            "case": name, "seconds": round(float(t), 4), "volume_gb": round(volume / GB, 4) if "compute" not in name else None,
            "tokens_per_gpu_where_equal": round(float(t) / (6 * load.parameters / (0.4 * p.flops))), "remark": remark,
        }
        for name, t, remark in cases
    ]  # fmt: skip


def _walls(w: Wire, p: Platform, load: Workload) -> list[dict[str, Any]]:
    rows = []
    for name, bandwidth in (
        ("one NIC per GPU", p.nic), ("8 rails", min(w.up, 8 * p.nic_usable)),
        (f"domain of {w.domain}", min(w.up, w.domain * p.nic_usable)),
    ):  # fmt: skip
        found = walls(p.flops, load.mfu, p.memory, bandwidth, load.bytes_each)
        rows.append({
            "network": name, "bandwidth_gb_per_s": round(bandwidth / GB, 1),
            "network_wall_tokens_per_gpu": round(found.network),
            "network_wall_with_overlap": round(found.network_overlapped), "memory_wall_tokens_per_gpu": round(found.memory),
            "met_first": found.first,
        })  # fmt: skip
    return rows


def _roofline(load: Workload) -> list[dict[str, Any]]:
    return [
        {
            "gpu": p.name, "dense_bf16_tflops": p.flops / 1e12, "memory_tb_per_s": p.memory / (1000 * GB),
            "ridge_flop_per_byte": round(ridge(p.flops, p.memory)),
            "read_all_weights_ms": _r(weight_read_time(load.parameters, p.memory) / ms),
        }
        for p in PLATFORMS.values()
    ]  # fmt: skip


def _retries(w: Wire, load: Workload) -> list[dict[str, Any]]:
    """What lost frames cost the step on 1,024 GPUs, from a link at its reach to links beyond it."""
    bits = 2 * 1023 / 1024 * load.size * 1024
    frames = bits / (8 * FRAME_OCTETS)
    rows = []
    for spent in (0.0, 3.0, 4.0, 4.5, 5.0, 5.5):
        e = post_fec(w.rate, w.reach, spent_margin_db=spent)
        rows.append({
            "length_m": round(w.reach, 4), "margin_spent_db": spent, "pre_fec_ber": _r(e.pre_fec_ber),
            "post_fec_ber": _r(e.post_fec_ber), "frame_loss": _r(e.frame_loss),
            "p_any_retry_in_step": _r(any_retry(e.frame_loss, frames)), "retries_per_step": _r(e.frame_loss * frames),
            "bandwidth_selective": _r(with_retries(1.0, e.frame_loss)),
            "bandwidth_go_back_1000": _r(with_retries(1.0, e.frame_loss, 1000)),
            "basis": "simulated link, KP4, independent errors",
        })  # fmt: skip
    return rows


def _notes(ways: Sequence[System], load: Workload, p: Platform, w: Wire) -> list[str]:
    crossing = []
    for way in ways:
        ratio = curves(way, load, p, SIZES)["ratio"]
        over = SIZES[ratio > BACKWARD_SHARE]
        crossing.append(f"{way.name}: {'never' if over.size == 0 else f'{int(over[0]):,} GPUs'}")
    token = float(compute_time(load.parameters, 1, 1, p.flops, 0.4))
    return [
        f"Domain and scale-up bandwidth come from the wire: {w.rate} lanes reach {w.reach:.2f} m ({w.binding}), {w.domain} "
        f"GPUs, {w.up / GB:.0f} GB/s usable one way.",
        f"Overlap with the backward pass hides the network until communication is {BACKWARD_SHARE:.2f} of compute. At "
        f"{load.batch / 1e6:.3g} million tokens a step that is reached at " + "; ".join(crossing) + ".",
        "5.6 s for 70e9 parameters in bf16 holds only if each GPU's one NIC is the whole path. The 8 NICs of a node carry the "
        "ring side by side: about 0.75 s, a factor of 7.4.",
        f"Compute below 1 s needs a small batch: at 40 % of {p.name} one second is {1 / token:,.0f} tokens per GPU.",
        "Larger domains do not shorten a ring once the NICs of a domain exceed its scale-up port: co-packaged optics buy "
        "domain size, which the all-to-all needs (see the domain study).",
        "The curves are bounds without contention. The one public run on 1,440 GPUs in racks of 72 took 1.8 times the "
        "model's time.",
        "All times take pure data parallelism; 70e9 parameters do not fit one GPU, so real runs divide the gradients by "
        "tensor and pipeline ways.",
    ]


def _draw(ways: Sequence[System], load: Workload, p: Platform) -> Figure:
    """Ratio without and with overlap, for a fixed batch and for a fixed batch per GPU."""
    from serdes import plot

    with plot.figure(12, 8.2, 2, 2, sharex=True) as (fig, axes):
        for row, strong in zip(axes, (True, False), strict=True):
            for ax, key in zip(row, ("ratio", "exposed ratio"), strict=True):
                for k, way in enumerate(ways):
                    y = curves(way, load, p, SIZES, strong)[key]
                    width = 4.0 if k == 3 else 1.8  # the next curve lies on it
                    ax.plot(SIZES, y, color=plot.COLOURS[k], linestyle=plot.STYLES[k], linewidth=width, label=way.name)
                ax.set(xscale="log", yscale="log", ylim=(1e-3, 1e3) if strong else (1e-3, 1e1))
                ax.axhline(1, color="0.5", linewidth=0.8)
                if key == "ratio":
                    ax.axhline(BACKWARD_SHARE, color="0.5", linewidth=0.8, linestyle="--")
                    if strong:
                        ax.text(1e6, BACKWARD_SHARE * 0.9, "overlap hides what is below", fontsize=8, va="top", ha="right")
            batch = f"{load.batch / 1e6:.3g} M tokens a step in all" if strong else f"{load.tokens:g} tokens a step per GPU"
            row[0].set(ylabel="all-reduce over compute", title=f"Without overlap, {batch}")
            row[1].set(ylabel="exposed all-reduce over compute", title=f"With overlap, {batch}")
        for ax in axes[1]:
            ax.set_xlabel("GPUs")
        axes[0][0].legend(loc="upper left")
        fig.suptitle(
            f"{load.parameters / 1e9:g}e9 parameters, {p.name} at {100 * load.mfu:g} % of dense bf16: modelled, no contention",
            fontsize=10,
        )
        return fig


def _draw_example(rows: Sequence[dict[str, Any]], load: Workload) -> Figure:
    """The worked example as bars."""
    from serdes import plot

    with plot.figure(9.5, 4.2) as (fig, ax):
        for i, r in enumerate(rows):
            compute = r["case"].startswith("compute")
            ax.barh(
                i,
                r["seconds"],
                0.65,
                color=plot.COLOURS[1] if compute else plot.COLOURS[0],
                hatch="//" if compute else None,
                edgecolor="white",
            )
            ax.text(
                r["seconds"] + 0.05,
                i,
                f"{r['seconds']:.2f} s" + (f"  ({r['remark']})" if r["remark"] else ""),
                va="center",
                fontsize=8.5,
            )
        ax.set_yticks(range(len(rows)), [r["case"] for r in rows])
        ax.invert_yaxis()
        ax.grid(visible=False, axis="y")
        ax.set(xlim=(0, 1.5 * max(r["seconds"] for r in rows)), xlabel="time of a step's gradients or compute [s]",
               title=f"One all-reduce of {load.size / GB:g} GB over 1,024 GPUs: what is assumed decides")  # fmt: skip
        return fig
