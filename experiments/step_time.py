"""Time of a training step: compute, what the gradients' all-reduce adds, and which wall is hit first.

Bytes are counted in bits and bandwidths in b/s one way, as everywhere. Symbols: P parameters, T tokens per step over all
GPUs, N GPUs, F FLOP/s of one GPU, mfu the share of F that kernels reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dsp import check
from dsp.units import byte
from experiments.collectives import bus_factor

BACKWARD_SHARE = 2 / 3
"""Backward pass over all compute: two matrix products a layer, forward one."""
VOLUMES = {"data parallel": 1.0, "ZeRO-1/2": 1.0, "ZeRO-3": 1.5}
"""Traffic of the ways to share a model by data, over that of an all-reduce: ZeRO-3 gathers twice and scatters once."""


def compute_time(parameters: float, tokens: npt.ArrayLike, n: npt.ArrayLike, flops: float, mfu: float) -> np.ndarray:
    """Forward and backward pass [s]: 6 P T / (N mfu F)."""
    check.positive("compute_time", "parameters", parameters)
    check.positive("compute_time", "flops", flops, "1/s")
    check.between("compute_time", "mfu", mfu, 1e-6, 1)
    tokens, n = np.asarray(tokens, float), np.asarray(n, float)
    for field, value in (("tokens", tokens), ("n", n)):
        if not np.all(np.isfinite(value) & (value > 0)):
            raise check.fail("compute_time", field, "greater than 0", value)
    return 6 * parameters * tokens / (n * mfu * flops)


def gradient_size(parameters: float, bytes_each: float = 2.0) -> float:
    """Gradients of one replica [bits]; 2 bytes each in bf16, Megatron commonly reduces 4."""
    check.positive("gradient_size", "parameters", parameters)
    check.positive("gradient_size", "bytes_each", bytes_each)
    return parameters * bytes_each * byte


def data_parallel_volume(
    parameters: float, n: npt.ArrayLike, bytes_each: float = 2.0, scheme: str = "data parallel"
) -> np.ndarray:
    """What each GPU sends in a step [bits]: 2(N-1)/N P b, and half as much again with ZeRO-3."""
    check.one_of("data_parallel_volume", "scheme", scheme, tuple(VOLUMES))
    return VOLUMES[scheme] * bus_factor("all-reduce", n) * gradient_size(parameters, bytes_each)


def exposed(communication: npt.ArrayLike, compute: npt.ArrayLike, buckets: int = 25) -> np.ndarray:
    """Communication that overlap with the backward pass does not hide [s].

    t/nb + max(0, t - t_bwd)(1 - 1/nb): the last of nb buckets has nothing left to hide behind.
    """
    check.count("exposed", "buckets", buckets, 1)
    t, backward = np.asarray(communication, float), BACKWARD_SHARE * np.asarray(compute, float)
    if np.any(t < 0) or np.any(backward < 0):
        raise check.fail("exposed", "communication and compute", "0 or more", (communication, compute))
    return t / buckets + np.maximum(0, t - backward) * (1 - 1 / buckets)


def step_mfu(compute: npt.ArrayLike, exposed_time: npt.ArrayLike, mfu: float) -> np.ndarray:
    """Share of F that the whole step reaches: mfu times compute over compute plus exposed communication."""
    check.between("step_mfu", "mfu", mfu, 1e-6, 1)
    compute = np.asarray(compute, float)
    return mfu * compute / (compute + np.asarray(exposed_time, float))


def tensor_parallel_ratio(hidden: int, ways: int, flops: float, bandwidth: float) -> float:
    """Communication over compute of tensor parallelism: (2/9)(t-1) F/(h B), B in bytes; F is what the kernels reach.

    Eight transfers of (t-1)/t h two-byte values a token and layer (2 reduce-scatters and 2 all-gathers each way) over
    72 h^2/t FLOP.
    """
    check.count("tensor_parallel_ratio", "hidden", hidden, 1)
    check.count("tensor_parallel_ratio", "ways", ways, 1)
    check.positive("tensor_parallel_ratio", "flops", flops, "1/s")
    check.positive("tensor_parallel_ratio", "bandwidth", bandwidth, "b/s")
    return 2 / 9 * (ways - 1) * flops / (hidden * bandwidth / byte)


def tensor_parallel_volume(tokens: float, hidden: int, layers: int, ways: int, bytes_each: float = 2.0) -> float:
    """What each GPU of a tensor-parallel group sends in a step [bits] for ``tokens`` of the group."""
    check.count("tensor_parallel_volume", "ways", ways, 1)
    _all_positive("tensor_parallel_volume", tokens=tokens, hidden=hidden, layers=layers, bytes_each=bytes_each)
    return 8 * (ways - 1) / ways * tokens * hidden * layers * bytes_each * byte


def pipeline_volume(tokens: float, hidden: int, bytes_each: float = 2.0) -> float:
    """What crosses one stage boundary in a step [bits]: activations forward, as many gradients back."""
    _all_positive("pipeline_volume", tokens=tokens, hidden=hidden, bytes_each=bytes_each)
    return 2 * tokens * hidden * bytes_each * byte


def pipeline_bubble(stages: int, microbatches: int, interleave: int = 1) -> float:
    """Idle time over busy time of a pipeline, (p-1)/(v m)."""
    check.count("pipeline_bubble", "stages", stages, 1)
    check.count("pipeline_bubble", "microbatches", microbatches, 1)
    check.count("pipeline_bubble", "interleave", interleave, 1)
    return (stages - 1) / (interleave * microbatches)


def expert_volume(
    tokens: float, experts: float, hidden: int, layers: int, bytes_dispatch: float, bytes_combine: float
) -> float:
    """What each GPU sends for a mixture of experts [bits]: each token to ``experts`` experts and back, in every layer."""
    _all_positive("expert_volume", tokens=tokens, experts=experts, hidden=hidden, layers=layers,
                  bytes_dispatch=bytes_dispatch, bytes_combine=bytes_combine)  # fmt: skip
    return tokens * experts * hidden * layers * (bytes_dispatch + bytes_combine) * byte


def ridge(flops: float, memory: float) -> float:
    """FLOP per byte at which memory keeps up with compute."""
    check.positive("ridge", "flops", flops, "1/s")
    check.positive("ridge", "memory", memory, "b/s")
    return flops / (memory / byte)


def weight_read_time(parameters: float, memory: float, bytes_each: float = 2.0) -> float:
    """Time to read all weights once [s]: the least time of a token when a model answers one request."""
    check.positive("weight_read_time", "memory", memory, "b/s")
    return gradient_size(parameters, bytes_each) / memory


@dataclass(frozen=True, kw_only=True)
class Walls:
    """Tokens per GPU and step below which a resource, not compute, sets the time."""

    memory: float
    network: float
    network_overlapped: float

    @property
    def first(self) -> str:
        """What a shrinking batch meets first."""
        return "network" if self.network_overlapped >= self.memory else "memory"


def walls(flops: float, mfu: float, memory: float, network: float, bytes_each: float = 2.0, reads: float = 3.0) -> Walls:
    """The batch per GPU at which memory, the network, and the network behind the backward pass each take as long as compute.

    For a replica per GPU and many GPUs: 6 P T/(mfu F) against ``reads`` P b/memory (forward, two backward products) and
    2 P b/``network`` [b/s].
    """
    _all_positive("walls", flops=flops, memory=memory, network=network, bytes_each=bytes_each, reads=reads)
    check.between("walls", "mfu", mfu, 1e-6, 1)
    per_token = 6 / (mfu * flops)
    gradients = 2 * bytes_each * byte / network / per_token
    return Walls(
        memory=reads * bytes_each * byte / memory / per_token, network=gradients, network_overlapped=gradients / BACKWARD_SHARE
    )


def _all_positive(owner: str, **values: float) -> None:
    for field, value in values.items():
        check.positive(owner, field, value)
