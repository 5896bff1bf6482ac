"""How one GPU gets data from another at the far side of the cluster: each hop, its latency and its energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dsp.units import GB, pJ, us
from experiments.interconnects import interconnect
from experiments.paths import Cluster, Hop, total
from experiments.step_time import gradient_size
from experiments.study import Answer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "How does one GPU get gradients from another across the cluster, and what does each hop cost?"
START, STOP = 4071, 88213
MEETING = ("one scale-up domain", "a leaf", "a spine", "a core switch", "a super-core switch")


def run(a: int = START, b: int = STOP, cluster: Cluster | None = None) -> Answer:
    """The path from GPU ``a`` to GPU ``b`` hop by hop, beside those to a neighbour in the domain and under the same leaf."""
    c = cluster or Cluster()
    hops = c.path(a, b)
    nearer = _nearer(c, a, c.meeting_tier(a, b))
    compared = [_summary(c, x, y) for x, y in ((a, b), *nearer)]
    return Answer(
        question=QUESTION,
        tables={"path": _rows(hops), "compared": compared},
        figures={
            "path": lambda: _draw(hops, f"GPU {a} to GPU {b}, {c.gpus:,} GPUs, {c.network.tiers} tiers of {c.radix} ports")
        },
        notes=_notes(c, a, b, nearer),
    )


def _nearer(c: Cluster, a: int, tier: int) -> list[tuple[int, int]]:
    """A GPU to meet at each tier below ``tier``, where there is one."""
    found: dict[int, int] = {}
    half = c.radix // 2
    for candidate in (a ^ 1, a // c.domain * c.domain, *((a + c.domain * half**i) % c.gpus for i in range(c.network.tiers))):
        if candidate != a and candidate < c.gpus:
            found.setdefault(c.meeting_tier(a, candidate), candidate)
    return [(a, found[t]) for t in sorted(found, reverse=True) if t < tier]


def _summary(c: Cluster, a: int, b: int) -> dict[str, Any]:
    hops = c.path(a, b)
    length, latency, energy = total(hops)
    return {
        "from": a, "to": b, "meet_at": MEETING[c.meeting_tier(a, b)], "hops": len(hops), "length_m": round(length, 2),
        "latency_us": round(latency / us, 3), "energy_pj_per_bit": round(energy / pJ, 1),
        "energy_of_140_gb_j": round(energy * gradient_size(70e9), 1),
    }  # fmt: skip


def _rows(hops: Sequence[Hop]) -> list[dict[str, Any]]:
    rows, latency, energy = [], 0.0, 0.0
    for hop in hops:
        latency += hop.latency
        energy += hop.energy or 0.0
        rows.append({
            "hop": hop.name, "medium": hop.medium, "length_m": hop.length, "latency_us": round(hop.latency / us, 4),
            "energy_pj_per_bit": None if hop.energy is None else round(hop.energy / pJ, 2),
            "latency_so_far_us": round(latency / us, 4), "energy_so_far_pj_per_bit": round(energy / pJ, 2), "basis": hop.basis,
        })  # fmt: skip
    length, _, _ = total(hops)
    summed = {"latency_us": round(latency / us, 4), "energy_pj_per_bit": round(energy / pJ, 2)}
    rows.append({"hop": "sum", "medium": "", "length_m": length, **summed})
    return rows


def _notes(c: Cluster, a: int, b: int, nearer: Sequence[tuple[int, int]]) -> list[str]:
    length, latency, energy = total(c.path(a, b))
    link, scale_up, size = interconnect(c.link), interconnect(c.scale_up), gradient_size(70e9)
    meeting = MEETING[c.meeting_tier(a, b)]
    notes = [
        f"GPU {a} is in domain {a // c.domain}, GPU {b} in domain {b // c.domain}; they meet at {meeting}.",
        f"{length:.0f} m, {latency / us:.2f} us and {energy / pJ:.0f} pJ/bit: {energy * size:.0f} J for 140 GB, sent in "
        f"{size / link.usable:.2f} s at {link.usable / GB:.0f} GB/s.",
        "Latency of NICs, software and switches is derived from measured 64-byte latencies; lengths of links, HBM's energy "
        "and latency are estimates; the energy of the host's side of a NIC was not found and is left out.",
        "GPUs are numbered through racks and leaves in a row. A rail-optimised network puts GPU i of each rack on leaf i: "
        "that changes which pairs share a leaf, not the length of the longest path.",
    ]
    for x, y in nearer:
        if c.meeting_tier(x, y) == 0:
            _, time, spent = total(c.path(x, y))
            notes.append(
                f"Inside the domain it is {time / us:.2f} us and {spent / pJ:.0f} pJ/bit. Outside it takes "
                f"{latency / time:.1f} times as long and {energy / spent:.0f} times the energy, and the port is "
                f"{scale_up.payload / link.payload:.0f} times slower ({link.payload / GB:.0f} and "
                f"{scale_up.payload / GB:.0f} GB/s one way)."
            )
    return notes


def _draw(hops: Sequence[Hop], title: str) -> Figure:
    """Latency and energy of each hop, one above the other."""
    from serdes import plot

    kinds = list(dict.fromkeys(h.medium for h in hops))
    with plot.figure(11, 0.34 * len(hops) + 1.6, 1, 2, sharey=True) as (fig, (left, right)):
        so_far = [0.0, 0.0]
        for i, h in enumerate(hops):
            k = kinds.index(h.medium)
            look = {"color": plot.COLOURS[k], "edgecolor": "white", "hatch": ("", "//", "..", "xx", "\\\\")[k % 5]}
            for j, (ax, value, unit) in enumerate(((left, h.latency, us), (right, h.energy, pJ))):
                if value is None:
                    ax.text(so_far[j] / unit, i, " not found", va="center", fontsize=8, color="0.35")
                    continue
                ax.barh(i, value / unit, 0.7, left=so_far[j] / unit, **look)
                so_far[j] += value
                text = f"{value / unit:.2f}" if j == 0 else f"{value / unit:.1f}"
                ax.text(so_far[j] / unit, i, " " + text, va="center", fontsize=8)
        for k, kind in enumerate(kinds):
            right.barh(0, 0, color=plot.COLOURS[k], edgecolor="white", hatch=("", "//", "..", "xx", "\\\\")[k % 5], label=kind)
        left.set_yticks(range(len(hops)), [h.name + (f" ({h.length:g} m)" if h.length else "") for h in hops])
        left.invert_yaxis()
        left.set(xlabel="latency, summed [us]", xlim=(0, 1.12 * so_far[0] / us), title="Latency")
        right.set(xlabel="energy, summed [pJ/bit]", xlim=(0, 1.14 * so_far[1] / pJ), title="Energy (partly estimated)")
        right.legend(loc="upper right")
        fig.suptitle(title, fontsize=10)
        return fig
