"""Public measurements of collectives and of training at scale, beside models; nothing is fitted unless it says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dsp import check
from dsp.units import GB, byte
from experiments.collectives import (
    COLLECTIVES,
    bus_bandwidth,
    bus_factor,
    in_switch_all_reduce,
    multirail_ring,
    nccl_ring,
    nodes_of,
)
from experiments.platforms import IN_SWITCH_HOP, platform
from experiments.step_time import data_parallel_volume, pipeline_bubble

_GIB = 2.0**30 * byte
ALGORITHMS = ("ring", "in-switch", "dispatch")
STAS = "stas00/ml-engineering network chapter @744d01e [S]"
COREWEAVE = "coreweave/nccl-tests README @cb86553, PR 43, 48 [P]"
DEEPEP = "deepseek-ai/DeepEP README @dd758ca [P]"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One measured collective: ``ranks`` GPUs in domains of ``domain``, ``size`` [bit] or None where it is not told.

    ``busbw`` [b/s] as printed. ``aside``: why it is left out of the mean of 20, decided after the fact.
    """

    point: str
    platform: str
    collective: str
    algorithm: str
    ranks: int
    domain: int
    size: float | None
    busbw: float
    source: str
    aside: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        platform(self.platform)
        check.one_of(self, "collective", self.collective, COLLECTIVES)
        check.one_of(self, "algorithm", self.algorithm, ALGORITHMS)
        check.count(self, "ranks", self.ranks, 2)
        check.count(self, "domain", self.domain, 1)
        if self.size is not None:
            check.positive(self, "size", self.size, "bit")
        check.positive(self, "busbw", self.busbw, "b/s")

    @property
    def title(self) -> str:
        """What was measured, in a few words."""
        nodes = int(nodes_of(self.ranks, self.domain))
        shape = f"{nodes} x {self.ranks // nodes}" if nodes > 1 else f"x{self.ranks}"
        return f"{self.platform} {shape} {self.collective}, {self.algorithm}"


def _m(point: str, gpu: str, algorithm: str, ranks: int, gib: float | None, busbw: float, source: str, domain: int = 8,
       collective: str = "all-reduce", aside: str = "", note: str = "") -> Measured:  # fmt: skip
    return Measured(
        point=point, platform=gpu, collective=collective, algorithm=algorithm, ranks=ranks, domain=domain,
        size=None if gib is None else gib * _GIB, busbw=busbw * GB, source=source, aside=aside, note=note,
    )  # fmt: skip


_NVL72_SLIDE = "NVIDIA's own slide has 850 for it"
_TREE = "two racks: a tree past the ring is what NCCL takes there (NVIDIA, nccl-tests issue 196)"
_NO_NVLS = "run after NVLS was switched off in the job (commit a736384)"
MEASURED = (
    _m("A1", "A100", "ring", 8, 16, 234.9, STAS),
    _m("A2", "H200", "ring", 8, 16, 367.6, STAS),
    _m("A3", "H200", "ring", 8, 16, 361.4, STAS, collective="all-gather"),
    _m("A4", "H200", "ring", 8, 16, 362.9, STAS, collective="reduce-scatter"),
    _m("A5", "H200", "in-switch", 5, 8, 414.2, STAS),
    _m("A6", "H200", "in-switch", 6, 8, 435.6, STAS),
    _m("A7", "H200", "in-switch", 7, 8, 460.0, STAS),
    _m("A8", "H200", "in-switch", 8, 16, 482.3, STAS),
    _m("A9", "H100", "in-switch", 8, 2, 472.4, "Azure/AI-benchmarking-guide @8fd0c6e [P]"),
    _m("A10", "B200", "ring", 8, 8, 682.2, STAS),
    _m("A11", "B200", "in-switch", 6, 8, 778.2, STAS),
    _m("A12", "B200", "in-switch", 7, 8, 811.2, STAS),
    _m("A13", "B200", "in-switch", 8, 16, 845.7, STAS),
    _m("A14", "H200", "ring", 32, 4, 364.9, STAS),
    _m("A15", "B200", "ring", 32, 16, 381.8, STAS),
    _m("A16", "H100", "ring", 64, 8, 386.6, COREWEAVE, note="ran SHARP (COLLNETCHAIN), modelled as a ring"),
    _m("A17", "GB200", "ring", 72, None, 680.0, "NVIDIA GTC25 S72583, in " + STAS, domain=72),
    _m("A18", "GB200", "in-switch", 72, 8, 846.8, COREWEAVE, domain=72, aside="unexplained", note=_NVL72_SLIDE),
    _m("A19", "H100", "dispatch", 16, None, 90.0, DEEPEP, collective="all-to-all"),
    _m("A20", "H100", "dispatch", 32, None, 61.0, DEEPEP, collective="all-to-all"),
    _m("A21", "B200", "dispatch", 8, None, 726.0, DEEPEP, collective="all-to-all"),
    _m("A22", "GB200", "ring", 144, 16, 820.4, COREWEAVE, domain=72, aside="help of the switch is not in the ring", note=_TREE),
    _m("A23", "GB200", "ring", 1440, 16, 405.7, COREWEAVE, domain=72, aside="unexplained plateau of 433", note=_NO_NVLS),
)
"""The 23 public points; 5 to 1,440 GPUs, large messages only, several from one mechanism: not 23 independent tests."""


def plateau(m: Measured) -> float:
    """Bus bandwidth [b/s] of the simple model: port and NIC bandwidth, NCCL's efficiencies, no latency."""
    p, size = platform(m.platform), m.size or _GIB
    if m.algorithm == "dispatch":
        # a dispatch is counted in bytes over time, without a bus factor
        k = float(nodes_of(m.ranks, m.domain))
        return p.up if k == 1 else min(p.up, p.nic_usable / (1 - 1 / k))
    if m.algorithm == "in-switch":
        time = float(in_switch_all_reduce(size, m.ranks, p.up, 0.0, p.in_switch or 1.0))
    else:
        time = float(multirail_ring(m.collective, size, m.ranks, m.domain, p.up, p.nic_usable))
    return float(bus_bandwidth(m.collective, size, m.ranks, time))


def with_latency(m: Measured) -> tuple[float, str]:
    """Bus bandwidth [b/s] with NCCL's published hop latencies and the quickest of its ring protocols; its name."""
    p = platform(m.platform)
    if m.size is None or m.algorithm == "dispatch":
        return plateau(m), "size not told"
    if m.algorithm == "in-switch":
        time = float(in_switch_all_reduce(m.size, m.ranks, p.up, IN_SWITCH_HOP / 2, p.in_switch or 1.0))
        return float(bus_bandwidth(m.collective, m.size, m.ranks, time)), "in-switch"
    nodes = int(nodes_of(m.ranks, m.domain))
    bandwidth = p.up if nodes == 1 else min(p.up, m.domain * p.nic_usable)
    time, protocol = nccl_ring(m.collective, m.size, m.ranks, nodes, bandwidth)
    return float(bus_bandwidth(m.collective, m.size, m.ranks, time)), protocol


def in_switch_efficiency(m: Measured) -> float:
    """The efficiency of reduction in the switch that a measured point shows: (1+1/n) S/t over the port."""
    per_size = m.busbw / float(bus_factor("all-reduce", m.ranks))
    return (1 + 1 / m.ranks) * per_size / platform(m.platform).up


def racks_by_tree(m: Measured, efficiency: float) -> float:
    """Bus bandwidth [b/s] if domains reduce in their switches and the network, by a tree, is not the limit."""
    size = m.size or _GIB
    time = float(in_switch_all_reduce(size, m.domain, platform(m.platform).up, 0.0, efficiency))
    return float(bus_bandwidth("all-reduce", size, m.ranks, time))


def point(name: str) -> Measured:
    """The measured point called ``name``, A1 to A23."""
    for m in MEASURED:
        if m.point == name:
            return m
    raise ValueError(f"unknown point {name!r}, known are A1 to A{len(MEASURED)}")


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """Seconds per step of Megatron-LM with 175e9 parameters on A100: MegaScale (NSDI'24) Table 2 [S].

    ``batch`` sequences on ``gpus`` GPUs; 8-way tensor and 8-way pipeline parallel with 6 interleaved stages.
    """

    gpus: int
    batch: int
    seconds: float


SCALING = (
    TrainingRun(gpus=256, batch=768, seconds=40.0),
    TrainingRun(gpus=512, batch=768, seconds=21.2),
    TrainingRun(gpus=768, batch=768, seconds=15.2),
    TrainingRun(gpus=1024, batch=768, seconds=11.9),
    TrainingRun(gpus=3072, batch=6144, seconds=29.02),
    TrainingRun(gpus=6144, batch=6144, seconds=14.78),
    TrainingRun(gpus=8192, batch=6144, seconds=12.24),
    TrainingRun(gpus=12288, batch=6144, seconds=8.57),
)
FITTED_RUN = SCALING[4]
"""The run that fixes the one fitted constant, GPU seconds per sequence."""
_TENSOR, _STAGES, _INTERLEAVE = 8, 8, 6
GRADIENT_TIME = float(data_parallel_volume(175e9 / (_TENSOR * _STAGES), 10**9, 4.0)) / (25 * GB)
"""Reduction of fp32 gradients by a 200G port per GPU [s], both assumed: 0.875 s, not overlapped."""


def scaling_time(run: TrainingRun, per_sequence: float) -> float:
    """Seconds per step: C batch/N (1 + bubble) + the gradients; ``per_sequence`` is C [GPU seconds]."""
    check.positive("scaling_time", "per_sequence", per_sequence, "s")
    microbatches = run.batch * _TENSOR * _STAGES // run.gpus
    bubble = pipeline_bubble(_STAGES, microbatches, _INTERLEAVE)
    return per_sequence * run.batch / run.gpus * (1 + bubble) + GRADIENT_TIME


def fitted_constant(run: TrainingRun = FITTED_RUN) -> float:
    """GPU seconds per sequence that make `scaling_time` right for ``run``: the one fitted number."""
    bare = scaling_time(replace(run), 1.0) - GRADIENT_TIME
    return (run.seconds - GRADIENT_TIME) / bare


def mean_error(errors: Sequence[float]) -> float:
    """Mean of the magnitudes."""
    if not errors:
        raise ValueError("mean_error needs one error or more, got none")
    return sum(map(abs, errors)) / len(errors)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """All-reduce time [s] against ``sizes`` [bit], out of place, as printed by nccl-tests; ``like`` is its largest point."""

    name: str
    like: str
    sizes: tuple[float, ...]
    times: tuple[float, ...]


def _sweep(name: str, like: str, *microseconds: float) -> Sweep:
    sizes = tuple(0.5 * _GIB * 2**i for i in range(len(microseconds)))
    return Sweep(name=name, like=like, sizes=sizes, times=tuple(t * 1e-6 for t in microseconds))


SWEEPS = (
    _sweep("A100 x8", "A1", 4218.4, 8203.9, 16240, 32136, 64074, 127997),
    _sweep("H100 8 x 8 (SHARP job)", "A16", 2984.6, 5808.0, 11163, 22181, 43980),
    _sweep("GB200, one rack (72)", "A18", 1806.7, 3108.8, 5589.1, 10094, 20299),
    _sweep("GB200, 2 racks (144)", "A22", 2156.8, 3574.4, 6264.0, 11469, 21493, 42067),
    _sweep("GB200, 20 racks (1,440)", "A23", 7108.4, 9805.7, 14980, 24782, 45004, 84625),
)
"""From 512 MiB in steps of two; sources as of the points."""
