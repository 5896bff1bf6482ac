"""What sets each bandwidth tier of a cluster apart: how far its wire goes, what it carries, what it costs in energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp.units import GB, TB, GBd, Gbps, Tbps, W, mm, ns, pJ, us
from experiments.cluster import NVL72, ScaleUpDomain, copper_domain, smallest_fat_tree
from experiments.interconnects import INTERCONNECTS, MEDIA, Interconnect, copper_energy
from experiments.parallel import run_all
from experiments.simulated_reach import (
    CABLES,
    EASY_HOSTS,
    EYE_LIMIT,
    HARD_HOSTS,
    SimulatedReach,
    copper_reach,
    interposer_reach,
)
from experiments.study import Answer, Progress, silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

kW = 1000 * W
QUESTION = "Which distance does each technology serve, with what bandwidth, and what ends it?"
RATES = ("50G", "100G", "200G")
LENGTHS = (0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 20.0, 50.0, 200.0, 500.0, 2000.0, 80e3)
CLUSTERS = (72, 576, 4_608, 10_368, 41_472, 131_072, 1_000_000)
Reaches = Mapping[tuple[str, str, tuple[str, str]], SimulatedReach]
SHADES = {"in package": "#56B4E9", "scale-up": "#E69F00", "scale-out": "#009E73", "DCI": "#CC79A7"}
EXPECTED = {
    "HBM3E (B200)": ("mm", "8 TB/s", 8 * TB, False),
    "NVLink 5": ("below 1 m to a rack", "1.8 TB/s per GPU, both directions", 1.8 * TB, True),
    "800G 2xDR4": ("3-500 m", "800G", 800 * Gbps, False),
    "1.6T DR8": ("3-500 m", "1.6T", 1600 * Gbps, False),
    "400ZR": ("km to 100 km", "400G", 400 * Gbps, False),
    "800ZR": ("km to 100 km", "800G", 800 * Gbps, False),
}
"""The tiers as usually quoted: distance, bandwidth, its value [b/s], whether it sums both directions."""


def copper_links() -> list[tuple[str, str, tuple[str, str]]]:
    """Every copper link whose reach the study needs: lane rate, cable, host classes."""
    hard = [(rate, cable, HARD_HOSTS) for rate in RATES for cable in CABLES]
    return [*hard, *(("200G", cable, EASY_HOSTS) for cable in CABLES)]


def _reach(key: tuple[str, str, tuple[str, str]]) -> SimulatedReach:
    return copper_reach(*key)


def simulate(progress: Progress = silent) -> dict[tuple[str, str, tuple[str, str]], SimulatedReach]:
    """The reach of every copper link, on all cores."""
    wanted = copper_links()
    return dict(zip(wanted, run_all(_reach, wanted, progress), strict=True))


def run(progress: Progress = silent, reaches: Reaches | None = None) -> Answer:
    """The whole study; ``reaches``: simulated already."""
    found = simulate(progress) if reaches is None else reaches
    rows = [_row(i, found) for i in INTERCONNECTS]
    media = _media(found)
    return Answer(
        question=QUESTION,
        tables={
            "tiers": rows, "expected": _expected(), "media": media, "least_energy": least_energy(media),
            "copper_domain": _domains(found), "optics": _optics(), "nvl72": _nvl72(),
        },
        figures={
            "tiers": lambda: _draw(rows), "media": lambda: _draw_media(media), "optics": lambda: _draw_optics(),
        },
        notes=_notes(rows),
    )  # fmt: skip


def _row(i: Interconnect, reaches: Reaches) -> dict[str, Any]:
    reach, cause, loss = None, "", None
    if i.rate and i.cable:
        found = reaches[i.rate, i.cable, HARD_HOSTS]
        reach, cause, loss = found.length, found.binding, found.loss_db
    elif i.wire and i.pads:
        reach, cause = interposer_reach(i.symbol_rate, i.wire, pads=i.pads), "RC and crosstalk"
    energy = "not found" if i.energy is None else "-".join(dict.fromkeys(f"{x / pJ:g}" for x in i.energy))
    return {
        "interconnect": i.name, "tier": i.tier, "medium": i.medium,
        "low_m": i.distance[0], "high_m": i.distance[1],
        "reach_m": None if reach is None else round(reach, 5), "ends_by": cause or "quoted", "distance_basis": i.basis,
        "lanes": i.lanes, "symbol_rate_gbd": round(i.symbol_rate / GBd, 5), "modulation": i.modulation,
        "line_gbps": round(i.line / Gbps, 3), "one_way_gb_per_s": round(i.payload / GB, 3),
        "usable_gb_per_s": round(i.usable / GB, 1), "efficiency_basis": i.efficiency_basis,
        "both_ways_gb_per_s": round(i.both_ways / GB, 1), "energy_pj_per_bit": energy, "energy_basis": i.energy_basis,
        "copper_energy_pj_per_bit": None if loss is None else round(2 * copper_energy(loss) / pJ, 1),
        "latency": "not found" if i.latency is None else " to ".join(dict.fromkeys(map(_time, i.latency))),
        "latency_basis": i.latency_basis, "fec_wait_ns": round(i.block_time / ns, 2),
        "flight_ns": round(i.delay * (reach or i.distance[1]) / ns, 3),
        "edge_gb_per_s_per_mm": None if i.shoreline is None else round(i.shoreline * mm / GB, 1), "edge_basis": i.edge_basis,
        "code": i.code, "note": i.note, "source": i.source,
    }  # fmt: skip


def _time(seconds: float) -> str:
    return f"{seconds / us:g} us" if seconds >= 1 * us else f"{seconds / ns:g} ns"


def _expected() -> list[dict[str, Any]]:
    rows = []
    for i in INTERCONNECTS:
        if i.name in EXPECTED:
            distance, label, value, both = EXPECTED[i.name]
            model = i.both_ways if both else i.payload
            rows.append({
                "interconnect": i.name, "expected_distance": distance, "expected_bandwidth": label,
                "model_tb_per_s": round(model / TB, 4), "ratio": round(model / value, 4),
            })  # fmt: skip
    return rows


def _media(reaches: Reaches) -> list[dict[str, Any]]:
    rows = []
    for medium in MEDIA:
        for rate in RATES:
            found = reaches[rate, medium.cable, HARD_HOSTS] if medium.cable else None
            length = found.length if found else medium.reach
            rows.append({
                "medium": medium.name, "rate": rate, "reach_m": None if length is None else round(length, 5),
                "basis": found.basis if found else "quoted", "ends_by": found.binding if found else "",
                "energy_pj_per_bit": None if medium.energy is None else round(medium.energy / pJ, 1),
                "energy_basis": medium.energy_basis, "source": medium.source,
            })  # fmt: skip
    return rows


def least_energy(media: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each length and rate: the medium of least energy that reaches, with and without CPO; ACC has no known energy."""
    rows = []
    for length in LENGTHS:
        row: dict[str, Any] = {"length_m": length}
        for rate in dict.fromkeys(m["rate"] for m in media):
            usable = [m for m in media if m["rate"] == rate and m["reach_m"] >= length]
            known = [m for m in usable if m["energy_pj_per_bit"] is not None]
            for label, choice in ((rate, known), (f"{rate} without CPO", [m for m in known if m["medium"] != "CPO"])):
                best = min(choice, key=lambda m: m["energy_pj_per_bit"], default=None)
                row[label] = "none" if best is None else f"{best['medium']}, {best['energy_pj_per_bit']:g} pJ/bit"
            row[f"{rate} reaching"] = ", ".join(m["medium"] for m in usable)
        rows.append(row)
    return rows


def _domains(reaches: Reaches) -> list[dict[str, Any]]:
    rows = []
    for (rate, cable, hosts), found in reaches.items():
        free, one_tier = copper_domain(found.length), copper_domain(found.length, radix=72)
        rows.append({
            "rate": rate, "cable": cable, "hosts": "-".join(hosts) if rate == "200G" else "standard",
            "reach_m": round(found.length, 4), "racks": free.racks, "gpus": free.gpus,
            "gpus_one_tier_of_72_ports": one_tier.gpus, "bound": one_tier.bound, "basis": found.basis,
        })  # fmt: skip
    return rows


def _optics() -> list[dict[str, Any]]:
    rows = []
    for gpus in CLUSTERS:
        for optical in (True, False):
            tree = smallest_fat_tree(gpus, 144, optical)
            rows.append({
                "gpus": gpus, "host_to_leaf": "optical" if optical else "copper", "tiers": tree.tiers,
                "switches": tree.switches, "links": tree.links, "inside_the_copper_domains": 0,
                "transceivers": tree.transceivers(),
                "modules_twin_port": tree.transceivers(twin_ports=True), "ends_per_gpu": tree.optical_ends_per_host,
                "w_per_gpu": tree.power_per_host(), "basis": "144-port 800G switches, one port per GPU, 17 W an end",
            })  # fmt: skip
    return rows


def _nvl72() -> list[dict[str, Any]]:
    domain = ScaleUpDomain()
    rows: list[tuple[str, float, str, str]] = [
        ("differential pairs", domain.pairs, "5,184", "derived, confirmed by wheelersnetwork [S]"),
        ("mean cable, m", round(NVL72.mean_cable, 3), "0.621", "2 miles over 5,184 pairs; the lateral run is set to it"),
        ("longest cable, m", round(NVL72.longest_cable, 3), "about 1", "predicted"),
        ("one way, all GPUs, Tb/s", domain.bandwidth / Tbps, "518.4", "derived"),
        ("modules if it were optical", domain.optical_modules(), "648", "1.6T at both ends"),
        ("their power, kW", domain.optical_power() / kW, "about 20", "30 W a module; NVIDIA's saving"),
    ]
    rows += [
        (f"all lanes over {m.name}, kW", round(domain.power(m.energy) / kW, 1), "", f"energy {m.energy_basis}")
        for m in MEDIA
        if m.energy is not None and m.name != "coherent"
    ]
    return [{"count": name, "value": value, "published": known, "basis": basis} for name, value, known, basis in rows]


def _notes(rows: Sequence[dict[str, Any]]) -> list[str]:
    by = {r["interconnect"]: r for r in rows}
    nvlink, hbm = by["NVLink 5"], by["HBM3E (B200)"]
    return [
        "NVLink 5 is 900 GB/s one way; the 1.8 TB/s of data sheets sums both directions, and NCCL counts on 722 GB/s.",
        f"At 224G passive copper ends at {nvlink['reach_m']:.2f} m between demanding hosts ({nvlink['ends_by']}): one rack. "
        f"A switch of 72 ports gives the same bound by itself.",
        f"HBM wires keep {EYE_LIMIT:.0%} of the swing open to {hbm['reach_m'] / mm:.1f} mm at 8 Gb/s with both neighbours "
        "switching (wire, coupling and limit are estimates).",
        "Optical and coherent distances are quoted, copper and interposer ones simulated. Energies of links count both ends "
        "and the power of both directions over the rate of one; host circuits of 5 pJ/bit an end are an estimate.",
        "Copper has the least energy wherever it reaches, so no crossover in energy ends it: reach does.",
    ]


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    """Distance against bandwidth, both logarithmic: a bar for each interconnect."""
    from serdes import plot

    lifted = {"scale-up AEC": 1.42, "scale-up CPO": 2.0, "row-scale photonic fabric": 2.8, "800G LPO": 1.36, "800ZR": 1.0}
    with plot.figure(11.5, 6.6) as (fig, ax):
        for r in rows:
            y = r["one_way_gb_per_s"] * lifted.get(r["interconnect"], 1.0)
            low, quoted = r["low_m"], r["high_m"]
            high = r["reach_m"] if r["reach_m"] is not None else quoted
            simulated = r["distance_basis"] == "simulated"
            ax.plot([low, high], [y, y], color=SHADES[r["tier"]], linewidth=5, solid_capstyle="butt",
                    linestyle="-" if simulated else (0, (1.2, 0.5)))  # fmt: skip
            if simulated:
                ax.plot(high, y, "D", color="black", markersize=5)
            shown = f"{r['interconnect']}: {_length(high)}" + (f", {r['ends_by']}" if simulated else ", quoted")
            ax.text(np.sqrt(low * high), y * 1.08, shown, fontsize=8, ha="center", va="bottom")
        for tier, shade in SHADES.items():
            ax.plot([], [], color=shade, linewidth=5, label=tier)
        ax.plot([], [], color="0.4", linewidth=5, label="distance simulated")
        ax.plot([], [], color="0.4", linewidth=5, linestyle=(0, (1.2, 0.5)), label="distance quoted")
        ax.plot([], [], "D", color="black", markersize=5, linestyle="none", label="simulated end, cause named")
        ax.set(
            xscale="log", yscale="log", xlim=(5e-5, 4e5), ylim=(30, 2e4), xlabel="distance [m]",
            ylabel="payload of one GPU or port, one way [GB/s]",
            title="Bandwidth falls as distance grows: the tiers of a cluster",
        )  # fmt: skip
        ax.text(0.01, 0.02, "three scale-up bars at 900 GB/s, and LPO at 100 GB/s, are raised to be told apart",
                transform=ax.transAxes, fontsize=7.5, color="0.35")  # fmt: skip
        ax.legend(loc="upper right", ncols=1)
        return fig


def _length(metres: float) -> str:
    if metres < 0.1:
        return f"{metres * 1e3:.2g} mm"
    return f"{metres / 1e3:g} km" if metres >= 1000 else f"{metres:.3g} m"


def _draw_media(media: Sequence[dict[str, Any]]) -> Figure:
    """Reach of each medium at each lane rate, with its energy."""
    from serdes import plot

    names = list(dict.fromkeys(m["medium"] for m in media))
    rates = list(dict.fromkeys(m["rate"] for m in media))
    with plot.figure(10, 5.4) as (fig, ax):
        for k, rate in enumerate(rates):
            for i, name in enumerate(names):
                m = next(x for x in media if (x["medium"], x["rate"]) == (name, rate))
                y = i + 0.26 * (k - 1)
                quoted = m["basis"] == "quoted"
                look = {"alpha": 0.45, "hatch": "//"} if quoted else {}
                ax.barh(y, m["reach_m"], 0.23, color=plot.COLOURS[k], edgecolor="white", **look,
                        label=f"{rate} lanes" if i == 0 else None)  # fmt: skip
                if not quoted or k == 1:
                    ax.text(
                        m["reach_m"] * 1.08,
                        y,
                        f"{_length(m['reach_m'])}" + (" quoted" if quoted else ""),
                        va="center",
                        fontsize=8,
                    )
        labels = []
        for name in names:
            m = next(x for x in media if x["medium"] == name)
            known = m["energy_pj_per_bit"]
            labels.append(f"{name}\n" + ("energy not found" if known is None else f"{known:g} pJ/bit, {m['energy_basis']}"))
        ax.set_yticks(range(len(names)), labels)
        ax.invert_yaxis()
        ax.set(
            xscale="log",
            xlim=(0.3, 1e6),
            xlabel="reach [m]",
            title="Least energy first: copper until its reach ends, then light",
        )
        ax.grid(visible=False, axis="y")
        ax.legend(loc="upper right")
        return fig


def _draw_optics() -> Figure:
    """Optical power per GPU of the network against the size of the cluster."""
    from serdes import plot

    sizes = np.unique(np.round(np.geomspace(72, 1e6, 240)).astype(int))
    with plot.figure(10, 4.4, 1, 2, sharey=True) as (fig, axes):
        for ax, optical in zip(axes, (True, False), strict=True):
            for k, radix in enumerate((64, 144, 512)):
                watts = [smallest_fat_tree(int(n), radix, optical).power_per_host() for n in sizes]
                ax.step(
                    sizes, watts, where="post", color=plot.COLOURS[k], linestyle=plot.STYLES[k], linewidth=4.5 - 1.5 * k,
                    label=f"switches of {radix} ports",
                )  # fmt: skip
            ax.set(xscale="log", xlabel="GPUs", ylim=(0, 160), title=f"Host to leaf {'optical' if optical else 'copper'}")
        axes[0].set_ylabel("optical link ends, power per GPU [W]")
        axes[0].legend(loc="lower right", title="17 W an end at 800G: two ends a switch tier")
        return fig
