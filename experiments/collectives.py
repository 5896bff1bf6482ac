"""Time of a collective in closed form: bytes over the slowest wire, plus hops.

Sizes in bits, bandwidths one way [b/s], times [s]. ``n`` (GPUs) may be an array; what is returned has its shape. S is what
each GPU holds. Ring and bus factors: nccl-tests doc/PERFORMANCE.md @a0b82b2. All are lower bounds without contention.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dsp import check
from experiments.platforms import RING_PROTOCOLS, TREE_SHARE, Protocol

COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce")


def bus_factor(collective: str, n: npt.ArrayLike) -> np.ndarray:
    """What nccl-tests multiplies size over time by to get its "busbw": 2(n-1)/n, (n-1)/n or 1 (of one GPU, too)."""
    check.one_of("bus_factor", "collective", collective, COLLECTIVES)
    n = _ranks("bus_factor", n)
    if collective in ("broadcast", "reduce"):
        return np.ones(n.shape)
    return (2 if collective == "all-reduce" else 1) * (n - 1) / n


def bus_bandwidth(collective: str, size: float, n: npt.ArrayLike, time: npt.ArrayLike) -> np.ndarray:
    """Bus bandwidth [b/s] of a collective that took ``time``. With reduction in the switch it exceeds the wire."""
    _positive("bus_bandwidth", size=size, time=time)
    return bus_factor(collective, n) * size / np.asarray(time, float)


def ring(
    collective: str, size: float, n: npt.ArrayLike, bandwidth: npt.ArrayLike, hop: float = 0.0, nodes: npt.ArrayLike = 1,
    network_hop: float | None = None,
) -> np.ndarray:  # fmt: skip
    """Ring: bus factor times S/B, and 2(n-1) or n-1 hops, of which 2(k-1) or k-1 cross between the k ``nodes``.

    A broadcast or reduction down a chain has n-1 hops. ``network_hop``: those between nodes, by default as ``hop``.
    """
    n, k = _ranks("ring", n), _ranks("ring", nodes, "nodes")
    across = hop if network_hop is None else network_hop
    _sound("ring", (hop, across), size=size, bandwidth=bandwidth)
    if np.any(k > n):
        raise check.fail("ring", "nodes", "at most n", nodes)
    passes = 2 if collective == "all-reduce" else 1
    latency = passes * ((n - k) * hop + (k - 1) * across)
    return latency + np.where(n == 1, 0.0, bus_factor(collective, n) * size / np.asarray(bandwidth, float))


def tree_all_reduce(
    size: float, n: npt.ArrayLike, bandwidth: npt.ArrayLike, hop: float = 0.0, share: float = TREE_SHARE
) -> np.ndarray:
    """Double binary tree: 2 ceil(log2 n) hops and 2 S/B; NCCL counts on a ``share`` of 0.92."""
    n = _ranks("tree_all_reduce", n)
    _sound("tree_all_reduce", (hop,), size=size, bandwidth=bandwidth, share=share)
    alone = n == 1
    moved = 2 * size / (np.asarray(bandwidth, float) * share)
    return np.where(alone, 0.0, 2 * np.ceil(np.log2(n)) * hop + moved)


def in_switch_all_reduce(
    size: float, n: npt.ArrayLike, bandwidth: npt.ArrayLike, hop: float = 0.0, efficiency: float = 1.0
) -> np.ndarray:
    """Reduction in the switch (NVLink SHARP, SHARP): each port carries S(1+1/n) each way, and there are 2 hops.

    The gain over a ring is 2(n-1)/(n+1) at the same efficiency.
    """
    n = _ranks("in_switch_all_reduce", n)
    _sound("in_switch_all_reduce", (hop,), size=size, bandwidth=bandwidth)
    check.between("in_switch_all_reduce", "efficiency", efficiency, 1e-3, 1)
    moved = (1 + 1 / n) * size / (np.asarray(bandwidth, float) * efficiency)
    return np.where(n == 1, 0.0, 2 * hop + moved)


def multirail_ring(
    collective: str, size: float, n: npt.ArrayLike, domain: int, up: float, nic: float, hop: float = 0.0,
    network_hop: float | None = None,
) -> np.ndarray:  # fmt: skip
    """Ring over domains whose GPUs each have a port: all ports of a domain carry it side by side, B = min(up, domain nic).

    Within one domain the ports do not count. The ports of the `smallest_domain` carry all that the ring moves, so it holds up the
    rest.
    """
    n, k = _ranks("multirail_ring", n), nodes_of(n, domain)
    _sound("multirail_ring", (), size=size, up=up, nic=nic)
    bandwidth = np.where(k == 1, up, np.minimum(up, smallest_domain(n, domain) * nic))
    return ring(collective, size, n, bandwidth, hop, k, network_hop)


def hierarchical_all_reduce(
    size: float, n: npt.ArrayLike, domain: int, up: float, nic: float, *, overlapped: bool = True, hop: float = 0.0,
    network_hop: float | None = None, in_switch: float | None = None, in_network: bool = False,
) -> np.ndarray:  # fmt: skip
    """Reduce-scatter in the domain, all-reduce of S/g across the k domains on every port at once, all-gather in the domain.

    ``overlapped``: chunks in a pipeline, the slowest stage counts (and all latencies); else the sum. ``in_switch``: efficiency
    of reduction in the domain's switch, in place of the two rings inside. ``in_network``: reduction in the network's
    switches, too. The `smallest_domain` of r GPUs has r ports for all of S, S/r each.
    """
    n, k = _ranks("hierarchical_all_reduce", n), nodes_of(n, domain)
    across = hop if network_hop is None else network_hop
    _sound("hierarchical_all_reduce", (hop, across), size=size, up=up, nic=nic)
    g = np.ceil(n / k)
    ports = smallest_domain(n, domain)
    if in_switch is None:
        inside = ring("all-reduce", size, g, up)
        latency = 2 * (g - 1) * hop
    else:
        inside = in_switch_all_reduce(size, g, up, 0.0, in_switch)
        latency = 2.0 * hop * (g > 1)
    if in_network:
        between = in_switch_all_reduce(size, k, nic) / ports
        latency = latency + 2.0 * across * (k > 1)
    else:
        between = ring("all-reduce", size, k, nic) / ports
        latency = latency + 2 * (k - 1) * across
    return latency + (np.maximum(inside, between) if overlapped else inside + between)


def all_to_all(size: float, n: npt.ArrayLike, domain: int, up: float, nic: float, hop: float = 0.0) -> np.ndarray:
    """All-to-all of S per GPU: (n-1)/n S over the scale-up port, of which (1-r/n) S leaves the domain by the GPU's own NIC.

    r: GPUs of the smallest domain, 1-r/n is 1-1/k where all of the k domains are full. The slower of the two counts; ``hop`` is
    paid log2 n times.
    """
    n = _ranks("all_to_all", n)
    _sound("all_to_all", (hop,), size=size, up=up, nic=nic)
    return np.ceil(np.log2(n)) * hop + size * np.maximum((n - 1) / n / up, (1 - smallest_domain(n, domain) / n) / nic)


def nccl_ring(
    collective: str, size: float, n: int, nodes: int, bandwidth: float, protocols: Sequence[Protocol] = RING_PROTOCOLS
) -> tuple[float, str]:
    """Time [s] and protocol of the quickest ring by NCCL's own constants: start, hops, the share of a transfer that is data.

    Its limits per channel are left out.
    """
    check.count("nccl_ring", "n", n, 2)
    times = {
        p.name: p.start + float(ring(collective, size, n, bandwidth * p.share, p.hop, nodes, p.network_hop)) for p in protocols
    }
    best = min(times, key=lambda name: times[name])
    return times[best], best


def nodes_of(n: npt.ArrayLike, domain: int) -> np.ndarray:
    """Fewest domains that hold ``n`` GPUs."""
    check.count("nodes_of", "domain", domain, 1)
    return np.ceil(_ranks("nodes_of", n) / domain)


def smallest_domain(n: npt.ArrayLike, domain: int) -> np.ndarray:
    """GPUs of the smallest of the fewest domains over which ``n`` GPUs spread as evenly as they can, which is their best place."""
    return np.floor(_ranks("smallest_domain", n) / nodes_of(n, domain))


def with_retries(bandwidth: float, frame_loss: float, window: int = 1) -> float:
    """Bandwidth [b/s] left when a share ``frame_loss`` of frames is sent again, each with the ``window`` frames after it.

    B (1-p) / (1-p+pW); W = 1 is selective repeat, B (1-p).
    """
    check.positive("with_retries", "bandwidth", bandwidth, "b/s")
    check.between("with_retries", "frame_loss", frame_loss, 0, 1)
    check.count("with_retries", "window", window, 1)
    good = 1 - frame_loss
    return bandwidth * good / (good + frame_loss * window)


def any_retry(frame_loss: float, frames: float) -> float:
    """Probability that one frame or more of ``frames`` is lost, 1-(1-p)^frames: then the whole collective waits for it."""
    check.between("any_retry", "frame_loss", frame_loss, 0, 1)
    check.not_negative("any_retry", "frames", frames)
    if frame_loss == 1:
        return 1.0 if frames else 0.0
    return float(-np.expm1(frames * np.log1p(-frame_loss)))


def _ranks(owner: str, n: npt.ArrayLike, field: str = "n") -> np.ndarray:
    values = np.asarray(n)
    if values.size == 0 or values.dtype.kind not in "iuf":
        raise check.fail(owner, field, "a whole number of 1 or more, or an array of them", n)
    values = values.astype(float)
    if not np.all(np.isfinite(values) & (values >= 1) & (values == np.floor(values))):
        raise check.fail(owner, field, "a whole number of 1 or more", n)
    return values


def _sound(owner: str, hops: Sequence[float], **values: npt.ArrayLike) -> None:
    """Sizes and bandwidths are above 0, latencies 0 or more: ``hops`` are ``hop`` and ``network_hop``."""
    _positive(owner, **values)
    for field, value in zip(("hop", "network_hop"), hops, strict=False):
        check.not_negative(owner, field, value, "s")


def _positive(owner: str, **values: npt.ArrayLike) -> None:
    for field, value in values.items():
        if not np.all(np.isfinite(np.asarray(value, float)) & (np.asarray(value, float) > 0)):
            raise check.fail(owner, field, "greater than 0", value)
