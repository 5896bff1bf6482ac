"""What moves the reach, and how far a stated spread of everything spreads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from channels.catalog import CABLES, LINES
from channels.copper import Trace
from channels.network import MultiPort
from channels.pair import Differential, TwinaxPair
from dsp import check
from dsp.units import mm, ps
from experiments.parallel import run_all
from experiments.study import Answer, Progress, silent
from serdes.link import Link
from serdes.reach import Target, reach
from serdes.setups import Setup, setup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "What moves the reach of passive copper most?"
BRACKET = (0.02, 40.0)
HOSTS = ("HN", "HH")
GAUGE = 26


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A reach set-up with something changed; None for gauge or hosts: the study's.

    ``link``: changes by path; ``cable``: fields of the twinax; ``loss_factor`` multiplies conductor factor and loss tangent;
    ``skew`` [s/m]; ``crosstalk_db`` added to both couplings, None for no crosstalk; ``error_factor`` multiplies the target
    error ratio; ``board`` [m] of extra host board at each end.
    """

    link: Mapping[str, Any] = field(default_factory=dict)
    cable: Mapping[str, Any] = field(default_factory=dict)
    loss_factor: float = 1.0
    skew: float = 0.0
    gauge: int | None = None
    hosts: tuple[str, str] | None = None
    crosstalk_db: float | None = 0.0
    error_factor: float = 1.0
    board: float = 0.0

    def reach(self, s: Setup, margin_db: float, gauge: int = GAUGE) -> tuple[float, str]:
        """(reach [m], outcome) of this scenario in a study of ``gauge``."""
        if self.crosstalk_db is not None:
            s = replace(
                s,
                far_end_loss_db=s.far_end_loss_db - self.crosstalk_db,
                near_end_loss_db=s.near_end_loss_db - self.crosstalk_db,
            )
        target = Target(error_ratio=s.error_ratio * self.error_factor, margin_db=margin_db)
        gauge = self.gauge or gauge
        found = reach(lambda length: self._link(s, gauge, length), target, BRACKET)
        return (0.0 if found.outcome == "too short" else found.length), found.outcome

    def _link(self, s: Setup, gauge: int, length: float) -> Link:
        board: tuple[MultiPort, ...] = ()
        if self.board:
            line = LINES["dj board" if s.has_host_classes else "ck board"].value
            board = (Trace(line=replace(line, length=self.board)),)
        hosts = (self.hosts or HOSTS) if s.has_host_classes else None
        link = s.link(length, gauge, hosts, self.crosstalk_db is not None, self._wire(gauge, length), board)
        return link.vary(self.link) if self.link else link

    def _wire(self, gauge: int, length: float) -> MultiPort:
        plain = CABLES[gauge].value
        loss = self.loss_factor
        factors = {"conductor_factor": plain.conductor_factor * loss, "loss_tangent": plain.loss_tangent * loss}
        wire = replace(plain, length=length, **{**factors, **self.cable})
        return Differential(pair=TwinaxPair(cable=wire, skews=(self.skew,))) if self.skew else wire


def factors(s: Setup, gauge: int = GAUGE) -> dict[str, dict[str, Scenario]]:
    """The changes from a cable of ``gauge``, by what is changed; each a pair of worse and better, or of steps away."""
    tx, rx = s.tx, s.rx
    snr = tx.snr_db if tx.snr_db is not None else 60.0
    jitter = tx.jitter

    def scaled(power: float) -> dict[str, Any]:
        k = float(np.sqrt(power))
        return {"tx.jitter": replace(jitter, random_ui=k * jitter.random_ui, dual_dirac_ui=k * jitter.dual_dirac_ui)}

    changes = {
        "converter bits": {
            "5 bits": Scenario(link={"rx.converter.n_bits": 5}),
            "7 bits": Scenario(link={"rx.converter.n_bits": 7}),
        },
        "target error ratio": {"1e-2 of it": Scenario(error_factor=1e-2), "10 times": Scenario(error_factor=10)},
        "Tx noise": {
            "SNR_TX -3 dB": Scenario(link={"tx.snr_db": snr - 3}),
            "SNR_TX +3 dB": Scenario(link={"tx.snr_db": snr + 3}),
        },
        "jitter power": {"x2": Scenario(link=scaled(2)), "x0.25": Scenario(link=scaled(0.25))},
        "receiver noise": {
            "eta_0 x2": Scenario(link={"rx.noise_density": 2 * rx.noise_density}),
            "eta_0 x0.5": Scenario(link={"rx.noise_density": rx.noise_density / 2}),
        },
        "host board": {"+25 mm each": Scenario(board=25 * mm)},
        "wire gauge": {f"{other} AWG": Scenario(gauge=other) for other in (30, 26, 24) if other != gauge},
        "cable loss": {"+10 %": Scenario(loss_factor=1.1), "-10 %": Scenario(loss_factor=0.9)},
        "loss tangent": {"6e-4": Scenario(cable={"loss_tangent": 6e-4}), "1.5e-4": Scenario(cable={"loss_tangent": 1.5e-4})},
        "skew": {"5 ps/m": Scenario(skew=5 * ps), "2 ps/m": Scenario(skew=2 * ps)},
        "crosstalk": {"+6 dB": Scenario(crosstalk_db=6.0), "none": Scenario(crosstalk_db=None)},
        "temperature": {"75 C": Scenario(cable={"temperature": 75.0}), "0 C": Scenario(cable={"temperature": 0.0})},
    }
    if s.has_host_classes:
        changes["host class"] = {"HL-HL": Scenario(hosts=("HL", "HL")), "HN-HN": Scenario(hosts=("HN", "HN"))}
    return changes


SPREAD = {
    "cable loss": "conductor factor and loss tangent, factor of normal spread 3 %",
    "cable impedance": "normal, 100 ohm, 2 ohm",
    "skew": "magnitude of a normal of 2 ps/m",
    "temperature": "uniform from 20 to 70 C",
    "SNR_TX": "normal about the standard's value, 0.5 dB",
    "receiver noise": "normal in dB about the standard's value, 0.5 dB",
    "jitter": "rms and dual-Dirac alike, factor of normal spread 10 %",
    "crosstalk": "normal about the estimate, 2 dB",
    "host board": "extra length uniform from 0 to 15 mm a side",
}
"""The stated distributions of a tolerance run; all are estimates."""


def draw(s: Setup, rng: np.random.Generator) -> Scenario:
    """One set of tolerances, drawn from `SPREAD`."""
    jitter, factor = s.tx.jitter, max(0.1, rng.normal(1, 0.1))
    changes: dict[str, Any] = {
        "rx.noise_density": s.rx.noise_density * 10 ** (rng.normal(0, 0.5) / 10),
        "tx.jitter": replace(jitter, random_ui=factor * jitter.random_ui, dual_dirac_ui=factor * jitter.dual_dirac_ui),
    }
    if s.tx.snr_db is not None:
        changes["tx.snr_db"] = s.tx.snr_db + rng.normal(0, 0.5)
    return Scenario(
        link=changes,
        loss_factor=max(0.8, rng.normal(1, 0.03)),
        cable={"impedance": rng.normal(100, 2), "temperature": rng.uniform(20, 70)},
        skew=abs(rng.normal(0, 2 * ps)),
        crosstalk_db=rng.normal(0, 2),
        board=rng.uniform(0, 15 * mm),
    )


def _work(task: tuple[str, Scenario, float, int]) -> tuple[float, str]:
    name, scenario, margin_db, gauge = task
    return scenario.reach(setup(name), margin_db, gauge)


def run(
    rates: Sequence[str] = ("112G", "224G"), margin_db: float = 3.0, draws: int = 0, seed: int = 1, gauge: int = GAUGE,
    progress: Progress = silent,
) -> Answer:  # fmt: skip
    """Reach of a cable of ``gauge`` with each change alone, and over ``draws`` sets of tolerances drawn with ``seed``."""
    check.count("sensitivity", "draws", draws)
    check.one_of("sensitivity", "gauge", gauge, tuple(CABLES))
    labels, tasks = [], []
    for s in map(setup, rates):
        labels.append((s.name, "base", ""))
        tasks.append((s.name, Scenario(), margin_db, gauge))
        for what, options in factors(s, gauge).items():
            for label, scenario in options.items():
                labels.append((s.name, what, label))
                tasks.append((s.name, scenario, margin_db, gauge))
        rng = np.random.default_rng([seed, int(s.symbol_rate)])
        for i in range(draws):
            labels.append((s.name, "tolerance", str(i)))
            tasks.append((s.name, draw(s, rng), margin_db, gauge))
    found = run_all(_work, tasks, progress)
    base = {rate: length for (rate, what, _), (length, _) in zip(labels, found, strict=True) if what == "base"}
    rows = [
        {
            "rate": rate, "factor": what, "change": label, "reach_m": round(length, 3),
            "ratio": round(length / base[rate], 3) if base[rate] else None, "base_m": round(base[rate], 3), "outcome": outcome,
        }
        for (rate, what, label), (length, outcome) in zip(labels, found, strict=True)
    ]  # fmt: skip
    single = [r for r in rows if r["factor"] not in ("base", "tolerance")]
    spread = {r: np.array([row["reach_m"] for row in rows if row["rate"] == r and row["factor"] == "tolerance"]) for r in base}
    percentiles = [
        {
            "rate": r,
            "draws": draws,
            "seed": seed,
            **{f"p{p}_m": round(float(np.percentile(x, p)), 3) for p in (5, 25, 50, 75, 95)},
        }
        for r, x in spread.items()
        if x.size
    ]
    figures = {}
    if drawn := {rate: length for rate, length in base.items() if length}:
        figures["sensitivity"] = lambda: _draw(single, drawn, gauge)
    if percentiles:
        figures["tolerance"] = lambda: _draw_spread(spread, base, gauge)
    return Answer(
        question=QUESTION,
        tables={"sensitivity": _ranked(single), **({"tolerance": percentiles} if percentiles else {})},
        figures=figures,
        notes=_notes(base, margin_db, draws, gauge),
    )


def _ranked(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with the rank of their factor within the rate, by the largest change of reach that it makes; equals share a rank."""
    ranked = []
    for rate in dict.fromkeys(r["rate"] for r in rows):
        mine = [r for r in rows if r["rate"] == rate]
        swing = {f: max(abs(r["reach_m"] - r["base_m"]) for r in mine if r["factor"] == f) for f in {r["factor"] for r in mine}}
        rank = {f: 1 + sum(other > swing[f] for other in swing.values()) for f in swing}
        rows_of_rate = ({**r, "rank": rank[r["factor"]]} for r in mine)
        ranked += sorted(rows_of_rate, key=lambda r: (r["rank"], r["factor"], r["change"]))
    return ranked


def _notes(base: Mapping[str, float], margin_db: float, draws: int, gauge: int) -> list[str]:
    notes = [f"Each change is made alone to {gauge} AWG; skew takes an uncoupled pair, which is the pessimistic case."]
    notes += [
        f"{rate}: no cable meets the error ratio with {margin_db:g} dB margin, so there is no reach to compare with; the table "
        "shows which changes give one. Take a smaller --margin."
        for rate, length in base.items()
        if not length
    ]
    if draws:
        listed = "; ".join(f"{name}: {law}" for name, law in SPREAD.items())
        notes.append(f"Tolerances, all estimates: {listed}.")
    return notes


def _draw(rows: Sequence[dict[str, Any]], base: Mapping[str, float], gauge: int) -> Figure:
    """Tornado: reach with each change, the widest on top, one panel a rate."""
    from serdes import plot

    ranked = _ranked(rows)
    with plot.figure(7.2 * len(base), 6.4, 1, len(base), squeeze=False) as (fig, axes):
        for ax, (rate, length) in zip(axes[0], base.items(), strict=True):
            mine = [r for r in ranked if r["rate"] == rate]
            names = list(dict.fromkeys(r["factor"] for r in mine))
            for r in mine:
                y, longer = names.index(r["factor"]), r["reach_m"] >= length
                ax.barh(y, r["reach_m"] - length, 0.6, left=length, color=plot.COLOURS[0] if longer else plot.COLOURS[1],
                        hatch=None if longer else "//", edgecolor="white")  # fmt: skip
                ax.annotate(r["change"], (r["reach_m"], y), (4 if longer else -4, 0), textcoords="offset points",
                            ha="left" if longer else "right", va="center", fontsize=8,
                            bbox={"facecolor": "white", "alpha": 0.8, "pad": 0.8, "edgecolor": "none"})  # fmt: skip
            ax.axvline(length, color="0.2", linewidth=1)
            ax.set_yticks(range(len(names)), names)
            ax.invert_yaxis()
            s = setup(rate)
            hosts = f", {'-'.join(HOSTS)} hosts" if s.has_host_classes else ""
            ax.set(xlabel="reach [m]", title=f"{s.title}, {gauge} AWG{hosts}: {length:.2f} m")
            low, high = min(r["reach_m"] for r in mine), max(r["reach_m"] for r in mine)
            room = max(0.22 * (high - low), 0.1 * length)
            ax.set_xlim(max(low - room, -room), high + room)
            ax.grid(visible=False, axis="y")
        return fig


def _draw_spread(spread: Mapping[str, np.ndarray], base: Mapping[str, float], gauge: int) -> Figure:
    """Share of the drawn links that reach at least a length."""
    from serdes import plot

    with plot.figure(8, 4.8) as (fig, ax):
        for k, (rate, lengths) in enumerate(spread.items()):
            x = np.sort(lengths)
            share = 100 * (1 - np.arange(x.size) / x.size)
            ax.step(
                x,
                share,
                where="pre",
                color=plot.COLOURS[k],
                linestyle=plot.STYLES[k],
                label=f"{setup(rate).title}, {x.size} draws",
            )
            ax.axvline(base[rate], color=plot.COLOURS[k], linewidth=0.8, linestyle=":")
        ax.set(
            xlabel="length [m]",
            ylabel="links that reach it [%]",
            title=f"Reach of {gauge} AWG under the stated tolerances (dotted: all nominal, 20 C, no skew)",
            ylim=(0, 101),
        )
        ax.legend()
        return fig
