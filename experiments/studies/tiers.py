"""What sets each bandwidth tier of a cluster apart: how far its wire goes, what it carries, what it costs in energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp.units import GB, TB, GBd, Gbps, Tbps, W, mm, ns, pJ, us
from experiments.cluster import NVL72, ScaleUpDomain, copper_domain, smallest_fat_tree
from experiments.interconnects import INTERCONNECTS, MEDIA, RATES, Interconnect, copper_energy
from experiments.lines import CopperLine, InterposerLine, Line, Reach
from experiments.parallel import run_all
from experiments.simulated_reach import CABLES, EASY_HOSTS, EYE_LIMIT
from experiments.study import Answer, Progress, silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

kW = 1000 * W
QUESTION = "Which distance does each technology serve, with what bandwidth, and what ends it?"
LENGTHS = (0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 20.0, 50.0, 200.0, 500.0, 2000.0, 80e3)
CLUSTERS = (72, 576, 4_608, 10_368, 41_472, 131_072, 1_000_000)
BESIDE = 1.19  # ratio between the places of bars that have one bandwidth
Reaches = Mapping[Line, Reach]
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


def lines() -> list[Line]:
    """Every line whose reach the study needs, the slowest to find first."""
    easy = [CopperLine(rate="200G", cable=cable, hosts=EASY_HOSTS) for cable in CABLES]
    wanted = [*(line for medium in MEDIA for line in medium.lines), *easy, *(i.simulated_by for i in INTERCONNECTS)]
    return sorted(dict.fromkeys(wanted), key=lambda line: not isinstance(line, CopperLine))


def _reach(line: Line) -> Reach:
    return line.reach()


def simulate(progress: Progress = silent) -> dict[Line, Reach]:
    """The reach of every line, on all cores."""
    wanted = lines()
    return dict(zip(wanted, run_all(_reach, wanted, progress), strict=True))


def run(progress: Progress = silent, reaches: Reaches | None = None) -> Answer:
    """The whole study; ``reaches``: simulated already."""
    found = simulate(progress) if reaches is None else reaches
    rows = [_row(i, found[i.simulated_by]) for i in INTERCONNECTS]
    media, eyes = _media(found), _eyes()
    return Answer(
        question=QUESTION,
        tables={
            "tiers": rows, "expected": _expected(), "in_package": _in_package(), "eyes": eyes, "media": media,
            "least_energy": least_energy(media), "copper_domain": _domains(found), "optics": _optics(), "nvl72": _nvl72(),
        },
        figures={
            "tiers": lambda: _draw(rows), "in_package": lambda: _draw_eyes(eyes), "media": lambda: _draw_media(media),
            "optics": lambda: _draw_optics(),
        },
        notes=_notes(rows),
    )  # fmt: skip


def _row(i: Interconnect, reach: Reach) -> dict[str, Any]:
    energy = "not found" if i.energy is None else "-".join(dict.fromkeys(f"{x / pJ:g}" for x in i.energy))
    loss = reach.loss_db
    return {
        "interconnect": i.name, "tier": i.tier, "medium": i.medium,
        "low_m": i.distance[0], "high_m": i.distance[1],
        "reach_m": float(f"{reach.length:.3g}"), "binding_cause": reach.binding, "distance_basis": reach.basis,
        "lanes": i.lanes, "symbol_rate_gbd": round(i.symbol_rate / GBd, 5), "modulation": i.modulation,
        "line_gbps": round(i.line / Gbps, 3), "one_way_gb_per_s": round(i.payload / GB, 3),
        "usable_gb_per_s": round(i.usable / GB, 1), "efficiency_basis": i.efficiency_basis,
        "both_ways_gb_per_s": round(i.both_ways / GB, 1), "energy_pj_per_bit": energy, "energy_basis": i.energy_basis,
        "copper_energy_pj_per_bit": None if loss is None else round(2 * copper_energy(loss) / pJ, 1),
        "latency": "not found" if i.latency is None else " to ".join(dict.fromkeys(map(_time, i.latency))),
        "latency_basis": i.latency_basis, "fec_wait_ns": round(i.block_time / ns, 2),
        "flight_ns": round(i.delay * min(reach.length, i.distance[1]) / ns, 3),
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


def _wires() -> dict[str, InterposerLine]:
    return {i.name: i.simulated_by for i in INTERCONNECTS if isinstance(i.simulated_by, InterposerLine)}


def _in_package() -> list[dict[str, Any]]:
    """The worst eye of the wires in the package where they are used at their longest, and what closes it."""
    rows = []
    for name, line in _wires().items():
        longest = next(i.distance[1] for i in INTERCONNECTS if i.name == name)
        alone, eye = line.eye(longest, with_crosstalk=False), line.eye(longest)
        rows.append({
            "interconnect": name, "wire": line.wire, "symbol_rate_gbd": line.symbol_rate / GBd, "length_mm": longest / mm,
            "eye": round(eye, 3), "closed_by_isi": round(1 - alone, 3), "closed_by_crosstalk": round(alone - eye, 3),
            "asked_for": EYE_LIMIT, "reach_mm": round(line.reach().length / mm, 2), "basis": "wire, coupling, limit: estimates",
        })  # fmt: skip
    return rows


def _eyes() -> list[dict[str, Any]]:
    return [
        {
            "interconnect": name,
            "length_mm": x / mm,
            "eye": line.eye(x),
            "eye_neighbours_quiet": line.eye(x, with_crosstalk=False),
        }
        for name, line in _wires().items()
        for x in np.linspace(0.25 * mm, 10 * mm, 79)
    ]


def _media(reaches: Reaches) -> list[dict[str, Any]]:
    rows = []
    for medium in MEDIA:
        for rate, line in zip(RATES, medium.lines, strict=True):
            found = reaches[line]
            rows.append({
                "medium": medium.name, "rate": rate, "reach_m": float(f"{found.length:.3g}"), "basis": found.basis,
                "binding_cause": found.binding, "energy_pj_per_bit": None if medium.energy is None else round(medium.energy / pJ, 1),
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
    for line, found in reaches.items():
        if not isinstance(line, CopperLine):
            continue
        free, one_tier = copper_domain(found.length), copper_domain(found.length, radix=72)
        rows.append({
            "rate": line.rate, "cable": line.cable, "hosts": "-".join(line.hosts) if line.rate == "200G" else "standard",
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
    nvlink, hbm, dr, zr = by["NVLink 5"], by["HBM3E (B200)"], by["1.6T DR8"], by["400ZR"]
    return [
        "NVLink 5 is 900 GB/s one way; the 1.8 TB/s of data sheets sums both directions, and NCCL counts on 722 GB/s.",
        f"At 200G passive copper ends at {nvlink['reach_m']:.2f} m between HN-HH hosts ({nvlink['binding_cause']}): one rack. "
        f"A switch of 72 ports gives the same bound by itself.",
        f"HBM wires keep {EYE_LIMIT:.0%} of the swing open to {hbm['reach_m'] / mm:.1f} mm at 8 Gb/s with both neighbours "
        "switching (wire, coupling and limit are estimates).",
        f"Optics of typical parts with 3 dB of SNR to spare go much further than they are sold for: 1.6T DR8 "
        f"{dr['reach_m'] / 1e3:.0f} km by {dr['binding_cause']}, where its class promises 500 m with the worst parts, ageing and "
        "connectors. Where copper hands over to light is the copper's doing; where light is sold to is a choice of cost.",
        f"400ZR reaches {zr['reach_m'] / 1e3:.0f} km in one amplified span ({zr['binding_cause']}), ageing kept aside; quoted to 120 km.",
        "The row-scale fabric and CPO are one optical line: NVLink-class lanes between linear modules with 4 dB of wire on "
        "either side. Host losses are without reflections and crosstalk, so linear modules look better than they are.",
        "Energies of links count both ends and the power of both directions over the rate of one; host circuits of 5 pJ/bit an "
        "end are an estimate. Copper has the least energy wherever it reaches, so no crossover in energy ends it: reach does.",
    ]


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    """Distance against bandwidth, both logarithmic: as quoted a pale bar, as simulated a full one with its end and cause."""
    from serdes import plot

    bandwidths = {r["one_way_gb_per_s"]: [x for x in rows if x["one_way_gb_per_s"] == r["one_way_gb_per_s"]] for r in rows}
    with plot.figure(12, 6.6) as (fig, ax):
        for own, mine in bandwidths.items():
            for k, r in enumerate(sorted(mine, key=lambda r: r["low_m"], reverse=True)):
                y = own * BESIDE ** (k - (len(mine) - 1) / 2)
                shade, farthest = SHADES[r["tier"]], max(r["reach_m"], r["high_m"])
                ax.plot([r["low_m"], r["high_m"]], [y, y], color=shade, linewidth=9, alpha=0.35, solid_capstyle="butt")
                ax.plot([r["low_m"], r["reach_m"]], [y, y], color=shade, linewidth=3, solid_capstyle="butt")
                ax.plot(r["reach_m"], y, "D", color="black", markersize=4.5)
                text = f"{r['interconnect']}, {own:g} GB/s: {_length(r['reach_m'])}, {r['binding_cause']}"
                ax.annotate(text, (farthest, y), xytext=(6, 0), textcoords="offset points", fontsize=8, va="center")
        for tier, shade in SHADES.items():
            ax.plot([], [], color=shade, linewidth=5, label=tier)
        ax.plot([], [], color="0.4", linewidth=9, alpha=0.3, label="distance as quoted")
        ax.plot([], [], color="0.4", linewidth=3, marker="D", markeredgecolor="black", markerfacecolor="black", markersize=4.5,
                markevery=[-1], label="as simulated, with what ends it")  # fmt: skip
        ax.set(
            xscale="log", yscale="log", xlim=(5e-5, 1e8), ylim=(30, 2e4), xlabel="distance [m]",
            ylabel="payload of one GPU or port, one way [GB/s]", title="Bandwidth against distance: the tiers of a cluster",
        )  # fmt: skip
        ax.text(0.01, 0.015, "bars of one bandwidth stand above each other",
                transform=ax.transAxes, fontsize=7.5, color="0.35")  # fmt: skip
        ax.legend(loc="upper right")
        return fig


def _draw_eyes(eyes: Sequence[dict[str, Any]]) -> Figure:
    """Worst eye of the wires in the package against their length, neighbours switching and quiet."""
    from serdes import plot

    with plot.figure(7.6, 4.4) as (fig, ax):
        for k, (name, line) in enumerate(_wires().items()):
            mine = [r for r in eyes if r["interconnect"] == name]
            x = [r["length_mm"] for r in mine]
            label = f"{name}, {line.symbol_rate / GBd:g} Gb/s, {line.wire}"
            ax.plot(x, [r["eye"] for r in mine], color=plot.COLOURS[k], label=label)
            quiet = [r["eye_neighbours_quiet"] for r in mine]
            ax.plot(x, quiet, color=plot.COLOURS[k], linestyle="--", label="neighbours quiet")
            longest = next(i.distance[1] for i in INTERCONNECTS if i.name == name) / mm
            ax.plot(longest, line.eye(longest * mm), "o", color=plot.COLOURS[k], label=f"longest in use, {longest:g} mm")
        ax.axhline(EYE_LIMIT, color="0.3", linewidth=1)
        ax.text(0.1, EYE_LIMIT + 0.015, "asked for (estimate)", fontsize=8, color="0.3")
        ax.set(xlabel="length [mm]", ylabel="worst eye over swing", xlim=(0, 10), ylim=(0, 1),
               title="Wires on the interposer: no equaliser, so millimetres")  # fmt: skip
        ax.legend(fontsize=8)
        return fig


def _length(metres: float) -> str:
    if metres < 0.1:
        return f"{metres * 1e3:.2g} mm"
    return f"{metres / 1e3:.3g} km" if metres >= 1000 else f"{metres:.3g} m"


def _draw_media(media: Sequence[dict[str, Any]]) -> Figure:
    """Reach of each medium at each lane rate, with what ends it and its energy."""
    from serdes import plot

    names, rates = (list(dict.fromkeys(m[key] for m in media)) for key in ("medium", "rate"))
    with plot.figure(10, 6) as (fig, ax):
        for m in media:
            i, k = names.index(m["medium"]), rates.index(m["rate"])
            y = i + 0.26 * (k - 1)
            ax.barh(
                y, m["reach_m"], 0.23, color=plot.COLOURS[k], edgecolor="white", label=f"{m['rate']} lanes" if i == 0 else None
            )
            if m["medium"] != "coherent" or k == 1:
                ax.text(m["reach_m"] * 1.1, y, f"{_length(m['reach_m'])}, {m['binding_cause']}", va="center", fontsize=8)
        labels = []
        for name in names:
            m = next(x for x in media if x["medium"] == name)
            known = m["energy_pj_per_bit"]
            labels.append(f"{name}\n" + ("energy not found" if known is None else f"{known:g} pJ/bit, {m['energy_basis']}"))
        ax.set_yticks(range(len(names)), labels)
        ax.invert_yaxis()
        ax.set(xscale="log", xlim=(0.3, 1e7), xlabel="simulated reach [m]",
               title="Least energy first: copper until its reach ends, then light")  # fmt: skip
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
