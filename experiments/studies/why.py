"""What closes the eye as a cable grows, in which order, and what each equaliser stage buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp.equalizer import FixedTaps
from dsp.noise import Jitter
from dsp.units import GBd, Gbps, db
from experiments.parallel import run_all
from experiments.study import Answer, Progress, silent
from serdes.bounds import bounds, shannon_snr_db
from serdes.link import Link
from serdes.operating_point import OperatingPoint, operating_point
from serdes.reach import reach
from serdes.setups import setup
from serdes.statistical import statistical_eye

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "What closes the eye as the cable grows, in which order, and what does each equaliser stage buy?"
RATES = ("56G", "112G", "224G")
HOSTS = ("HN", "HH")
LENGTHS = tuple(float(x) for x in np.concatenate([np.arange(0.25, 3, 0.25), np.arange(3, 8.01, 0.5)]))
STAGES: dict[str, dict[str, Any]] = {
    "slicer alone": {"rx.ctle": None, "rx.equalizer": FixedTaps()},
    "CTLE": {"rx.equalizer": FixedTaps()},
    "CTLE + FFE": {"rx.equalizer.n_feedback": 0},
    "CTLE + FFE + DFE": {},
}
REMOVED: dict[str, dict[str, Any]] = {
    "thermal": {"rx.noise_density": 0.0},
    "crosstalk": {"aggressors": ()},
    "Tx noise": {"tx.snr_db": None},
    "Tx jitter": {"tx.jitter": Jitter()},
    "converter": {"rx.converter": None},
    "ISI": {"rx.equalizer.n_taps": 100, "rx.equalizer.n_precursors": 30},
}
"""What is taken away to see what each cause costs; residual ISI by an equaliser of 100 taps."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One rate at one length."""

    rate: str
    gauge: int
    hosts: tuple[str, str]
    length: float

    def link(self) -> Link:
        """The link of the reach study at this length."""
        s = setup(self.rate)
        return s.link(self.length, self.gauge, self.hosts if s.has_host_classes else None)


def at_length(task: Task) -> dict[str, Any]:
    """Loss, eye, SNR by stage, budget and bounds at one length; runs in a worker process."""
    s, link = setup(task.rate), task.link()
    points = {name: operating_point(link.vary(changes)) for name, changes in STAGES.items()}
    point = points["CTLE + FFE + DFE"]
    quiet, everything = bounds(link, tx_noise=False, crosstalk=False, jitter=False), bounds(link)
    opening = _worst_opening(point, s.error_ratio)
    return {
        "rate": s.name,
        "symbol_rate_gbd": s.symbol_rate / GBd,
        "length_m": task.length,
        "loss_at_nyquist_db": -float(db(link.channel.transfer(np.array([s.symbol_rate / 2])))[0]),
        "required_snr_db": s.target().required_snr_db(link),
        "eye_height": opening[0],
        "eye_width_ui": opening[1],
        "eye": opening[2],
        **{f"snr {name}": _finite(p.snr_db) for name, p in points.items()},
        "salz thermal only": quiet.salz_db,
        "salz": everything.salz_db,
        "linear bound": everything.linear_db,
        "matched filter": everything.matched_filter_db,
        "shannon_snr_db": shannon_snr_db(link.tx.constellation.bits_per_symbol),
        "line_rate_gbps": s.symbol_rate * link.tx.constellation.bits_per_symbol / Gbps,
        "capacity_gbps": everything.capacity / Gbps,
        "capacity thermal only_gbps": quiet.capacity / Gbps,
        **{f"share {cause}": share for cause, share in point.shares().items()},
    }


def _finite(value: float) -> float:
    """An SNR for a table: a link that gets no signal shows -99 dB."""
    return value if np.isfinite(value) else -99.0


def _worst_opening(point: OperatingPoint, error_ratio: float) -> tuple[float, float, str]:
    """Height in symbol levels, width [UI] and state of the smallest of the openings."""
    if point.closed:
        return 0.0, 0.0, "no signal"
    worst = min(statistical_eye(point).openings(error_ratio), key=lambda o: o.height)
    return worst.height, worst.width_ui, "open" if worst.is_open else worst.reason


def order(task: Task) -> list[dict[str, Any]]:
    """What each cause costs at the reach of a rate: the gain in SNR when it alone is taken away, largest first."""
    s = setup(task.rate)
    hosts = task.hosts if s.has_host_classes else None
    found = reach(lambda x: s.link(x, task.gauge, hosts), s.target(), (0.05, 40.0))
    link = s.link(found.length, task.gauge, hosts)
    rows: list[dict[str, Any]] = [
        {
            "rate": s.name,
            "reach_m": round(found.length, 3),
            "cause": cause,
            "snr_gain_db": round(operating_point(link.vary(changes), like=found.point).snr_db - found.point.snr_db, 3),
            "share": round(found.point.shares().get(cause, 0.0), 4),
        }
        for cause, changes in REMOVED.items()
    ]
    rows.sort(key=lambda row: -row["snr_gain_db"])
    return [{**row, "rank": i} for i, row in enumerate(rows, start=1)]


def _work(job: tuple[str, Task]) -> Any:
    what, task = job
    return order(task) if what == "order" else at_length(task)


def run(rates: Sequence[str] = RATES, gauge: int = 26, hosts: tuple[str, str] = HOSTS, progress: Progress = silent) -> Answer:
    """The whole study; ``hosts`` counts only where the rate has host classes."""
    wanted = [setup(rate).name for rate in rates]
    lengths = [("length", Task(rate=r, gauge=gauge, hosts=hosts, length=x)) for r in wanted for x in LENGTHS]
    orders = [("order", Task(rate=r, gauge=gauge, hosts=hosts, length=1.0)) for r in wanted]
    results = run_all(_work, [*orders, *lengths], progress)
    costs = [row for rows in results[: len(orders)] for row in rows]
    rows = results[len(orders) :]
    named = {r: _name(r, gauge, hosts) for r in wanted}
    return Answer(
        question=QUESTION,
        tables={"why": rows, "order": costs},
        figures={
            "why_snr": lambda: _draw_snr(rows, named),
            "why_budget": lambda: _draw_budget(rows, named),
            "why_loss_and_eye": lambda: _draw_loss(rows, named),
        },
        notes=_notes(costs, rows),
    )


def _name(rate: str, gauge: int, hosts: tuple[str, str]) -> str:
    s = setup(rate)
    return f"{s.title}, {s.symbol_rate / GBd:.9g} GBd, {gauge} AWG" + (f", {'-'.join(hosts)}" if s.has_host_classes else "")


def _notes(costs: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> list[str]:
    notes = []
    for rate in dict.fromkeys(r["rate"] for r in costs):
        listed = ", ".join(f"{r['cause']} {r['snr_gain_db']:.2f} dB" for r in costs if r["rate"] == rate)
        at = next(r["reach_m"] for r in costs if r["rate"] == rate)
        notes.append(f"{rate} at its reach of {at:.2f} m, taken away alone each cause gives back: {listed}.")
    for rate in dict.fromkeys(r["rate"] for r in rows):
        mine = [r for r in rows if r["rate"] == rate]
        last = {
            name: max((r["length_m"] for r in mine if r[f"snr {name}"] >= r["required_snr_db"]), default=0.0) for name in STAGES
        }
        listed = ", ".join(f"{name} {x:g} m" if x else f"{name} nowhere" for name, x in last.items())
        notes.append(f"{rate} meets its error ratio without margin up to: {listed}.")
        need, limit, line = (mine[0][key] for key in ("required_snr_db", "shannon_snr_db", "line_rate_gbps"))
        within = max((r["length_m"] for r in mine if r["capacity_gbps"] >= line), default=0.0)
        notes.append(
            f"{rate}: by Shannon {limit:.1f} dB would carry its {line:g} Gb/s, {need - limit:.1f} dB less than its levels need "
            f"without a code; the Salz bound (all but the converter) has that much up to {within:g} m"
            f"{', the longest looked at' if within == mine[-1]['length_m'] else ''}."
        )
    return notes


def _by_rate(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {rate: [r for r in rows if r["rate"] == rate] for rate in dict.fromkeys(r["rate"] for r in rows)}


def _column(rows: Sequence[dict[str, Any]], key: str) -> np.ndarray:
    return np.array([r.get(key, 0.0) for r in rows])


def _draw_snr(rows: Sequence[dict[str, Any]], named: dict[str, str]) -> Figure:
    """SNR of each stage and the bounds against length, one panel a rate."""
    from serdes import plot

    groups = _by_rate(rows)
    with plot.figure(4.6 * len(groups) + 1.2, 5.0, 1, len(groups), sharey=True, squeeze=False) as (fig, axes):
        for ax, (rate, mine) in zip(axes[0], groups.items(), strict=True):
            x = _column(mine, "length_m")
            ax.plot(x, _column(mine, "salz thermal only"), color="0.55", linestyle=":", label="Salz bound, thermal noise alone")
            ax.plot(x, _column(mine, "salz"), color="0.2", linestyle="--", label="Salz bound, all but the converter")
            for k, name in enumerate(STAGES):
                y = _column(mine, f"snr {name}")
                ax.plot(
                    x,
                    np.where(y < -5, np.nan, y),
                    color=plot.COLOURS[k],
                    linestyle=plot.STYLES[k],
                    marker="o",
                    markersize=3,
                    label=name,
                )
            first = mine[0]
            for level, text, colour in (
                (first["required_snr_db"], "needed", plot.COLOURS[1]),
                (first["shannon_snr_db"], f"Shannon, {first['line_rate_gbps']:g} Gb/s", plot.COLOURS[4]),
            ):
                ax.axhline(level, color=colour, linewidth=1)
                box = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1}
                ax.text(x[-1], level + 0.5, text, ha="right", fontsize=8, color=colour, bbox=box)
            ax.set(xlabel="cable length [m]", title=named[rate].replace(", ", "\n", 1), ylim=(0, 45))
        axes[0][0].set_ylabel("slicer SNR [dB]")
        axes[0][-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return fig


def _draw_budget(rows: Sequence[dict[str, Any]], named: dict[str, str]) -> Figure:
    """Shares of the decision error against length, one panel a rate."""
    from serdes import plot

    groups = _by_rate(rows)
    with plot.figure(4.4 * len(groups) + 1.4, 4.4, 1, len(groups), sharey=True, squeeze=False) as (fig, axes):
        for ax, (rate, mine) in zip(axes[0], groups.items(), strict=True):
            causes = [k for k in mine[0] if k.startswith("share ")]
            shares = {k.removeprefix("share "): _column(mine, k) for k in causes}
            plot.budget(ax, _column(mine, "length_m"), shares, "cable length [m]", named[rate].replace(", ", "\n", 1))
            ax.get_legend().set_visible(ax is axes[0][-1])
            ax.set_ylabel("share of the decision error [%]" if ax is axes[0][0] else "")
        return fig


def _draw_loss(rows: Sequence[dict[str, Any]], named: dict[str, str]) -> Figure:
    """Loss at Nyquist and the smallest eye opening against length."""
    from serdes import plot

    with plot.figure(11, 4.6, 1, 2) as (fig, (left, right)):
        for k, (rate, mine) in enumerate(_by_rate(rows).items()):
            x = _column(mine, "length_m")
            style = {"color": plot.COLOURS[k], "linestyle": plot.STYLES[k], "label": named[rate]}
            left.plot(x, _column(mine, "loss_at_nyquist_db"), **style)
            right.plot(x, 100 * _column(mine, "eye_height"), marker="o", markersize=3, **style)
        left.set(xlabel="cable length [m]", ylabel="loss die to die at Nyquist [dB]", title="Loss grows linearly with length")
        left.legend()
        right.set(
            xlabel="cable length [m]", ylabel="height of the smallest eye [% of the outer level]",
            title="The eye closes while signal is still there", ylim=(0, None),
        )  # fmt: skip
        return fig
