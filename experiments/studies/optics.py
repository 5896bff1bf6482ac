"""Where a module needs a DSP: error ratio and margin against host loss, fibre and bandwidth, and what each equaliser stage buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from channels.imdd import ImddChannel
from dsp.equalizer import FixedTaps, Mmse
from dsp.units import GBd, dbm, km, nm
from experiments.optical_lanes import OpticalLane
from experiments.parallel import run_all
from experiments.study import Answer, Progress, silent
from serdes.link import Link, Receiver, Transmitter
from serdes.modules import ARCHITECTURES, PathResult, run_path
from serdes.semi_analytic import SemiAnalytic
from serdes.sensitivity import sensitivity
from serdes.sequence_gain import sequence_gain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTION = "Where does an optical module need a DSP, and what ends each architecture?"
RATES = ("112G", "224G")
COMPARED = ("retimed", "LRO", "LPO", "slicer")
HOST_LOSSES = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 17.0, 18.0, 20.0)
PENALTY_LOSSES = (0.0, 4.0, 8.0, 12.0, 16.0, 20.0)
SHORT = 500.0
LENGTHS = (0.5 * km, 1 * km, 2 * km, 3 * km, 4 * km, 6 * km, 8 * km, 10 * km)
WAVELENGTHS = {"1304.5 nm": 1304.5 * nm, "1264.5 nm": 1264.5 * nm, "1550 nm": 1550 * nm}
BANDWIDTHS = (0.5, 0.6, 0.7, 0.8, 1.0, 1.2, 1.5)
TYPICAL_HOST_DB = 8.0
NEEDED_DB = 1.5
"""Optical margin [dB] that a link is asked for: 3 dB of slicer SNR."""
STAGES: dict[str, tuple[Mmse | FixedTaps, int]] = {
    "slicer alone": (FixedTaps(), 1),
    "FFE, 5 taps": (Mmse(n_taps=5, n_precursors=2, n_feedback=0), 1),
    "FFE, 21 taps": (Mmse(n_taps=21, n_precursors=8, n_feedback=0), 1),
    "FFE, 21 taps at T/2": (Mmse(n_taps=21, n_precursors=5, n_feedback=0), 2),
    "FFE 21 + DFE 1": (Mmse(n_taps=21, n_precursors=8, n_feedback=1), 1),
}
STAGE_BANDWIDTHS = ((70.0, 70.0), (50.0, 50.0), (38.0, 45.0))
"""Transmitter and receiver [GHz] at 106.25 GBd."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One point of one sweep: ``sweep`` says of what."""

    sweep: str
    rate: str
    architecture: str
    host_loss_db: float = TYPICAL_HOST_DB
    length: float = SHORT
    wavelength: float = 1304.5 * nm
    bandwidth: float = 1.0
    bandwidths: tuple[float, float] = (70.0, 70.0)


def path(task: Task) -> PathResult:
    """The whole path of a point."""
    lane = OpticalLane(rate=task.rate, wavelength=task.wavelength, bandwidth=task.bandwidth)
    optics = quiet_optics(lane) if task.sweep == "penalty" else lane.optics(task.length)
    return run_path(ARCHITECTURES[task.architecture], lane.lane(), lane.host(task.host_loss_db), optics)


def quiet_optics(lane: OpticalLane) -> ImddChannel:
    """No fibre, thermal noise only: what host loss alone costs."""
    from dataclasses import replace

    from channels.optical_path import Photodiode

    return replace(lane.optics(0.0, rin_db=None), photodiode=Photodiode(shot=False))


def solve(task: Task) -> dict[str, Any]:
    """One row; runs in a worker process."""
    if task.sweep == "stages":
        return _stage_row(task)
    if task.sweep == "sequence":
        return _sequence_row(task)
    found = path(task)
    settled = SemiAnalytic(n_symbols=4096, taps_per_symbol=2).fit(found.optical.settled.pass_.attenuated(-found.margin_db))
    works = found.outcome == "ok"
    return {
        "sweep": task.sweep,
        "rate": task.rate,
        "symbol_rate_gbd": OpticalLane(rate=task.rate).symbol_rate / GBd,
        "architecture": task.architecture,
        "host_loss_db": task.host_loss_db,
        "length_m": task.length,
        "wavelength_nm": round(task.wavelength / nm, 2),
        "bandwidth": task.bandwidth,
        "margin_db": round(found.margin_db, 2),
        "error_ratio": float(settled.error_ratios()[1] + sum(found.electrical)),
        "outcome": found.outcome if not works or found.margin_db >= NEEDED_DB else "short of margin",
        "binding_cause": found.binding,
        "reason": found.reason,
    }


def bare_link(bandwidths: tuple[float, float], equalizer: Mmse | FixedTaps, symbol_rate: float = 106.25 * GBd) -> Link:
    """Optics alone with a receiver: bandwidths in GHz, thermal noise only, levels pre-distorted, extinction 5 dB, no fibre."""
    from dataclasses import replace

    from channels.lasers import Laser
    from channels.modulators import Mzm
    from channels.optical_path import Photodiode
    from channels.stages import Amplifier
    from dsp.units import GHz

    lane = OpticalLane(rate="224G")
    optics: ImddChannel = replace(
        lane.optics(0.0, rin_db=None),
        source=Mzm(laser=Laser(power=1e-3), extinction_db=100.0),
        driver=Amplifier(bandwidth=bandwidths[0] * GHz),
        photodiode=Photodiode(shot=False),
        loss_db=0.0,
        tia=Amplifier(gain=1e3, bandwidth=bandwidths[1] * GHz, shape="butterworth4", noise_density=3.24e-22),
    )
    return Link(symbol_rate=symbol_rate, tx=Transmitter(amplitude=1.0), channel=optics, rx=Receiver(equalizer=equalizer))


def _stage_row(task: Task) -> dict[str, Any]:
    equalizer, per_symbol = STAGES[task.architecture]
    found = sensitivity(bare_link(task.bandwidths, equalizer), 2.4e-4, SemiAnalytic(taps_per_symbol=per_symbol))
    return {
        "sweep": "stages", "tx_ghz": task.bandwidths[0], "rx_ghz": task.bandwidths[1], "stage": task.architecture,
        "oma_dbm": round(found.oma_dbm, 3) if found.outcome == "found" else 99.0, "outcome": found.outcome,
    }  # fmt: skip


def _sequence_row(task: Task) -> dict[str, Any]:
    equalizer, per_symbol = STAGES["FFE, 21 taps at T/2"]
    link = bare_link(task.bandwidths, equalizer)
    gain = sequence_gain(link, 2.4e-4, SemiAnalytic(n_symbols=65536, taps_per_symbol=per_symbol), np.random.default_rng(1))
    return {
        "sweep": "sequence", "tx_ghz": task.bandwidths[0], "rx_ghz": task.bandwidths[1], "memory": round(gain.memory, 3),
        "ffe_oma_dbm": round(float(dbm(gain.without)), 3), "oma_dbm": round(float(dbm(gain.with_)), 3), "gain_db": round(gain.gain_db, 3),
    }  # fmt: skip


def tasks(rates: Sequence[str]) -> list[Task]:
    """All points."""
    points = [
        Task(sweep="host", rate=rate, architecture=name, host_loss_db=loss)
        for rate in rates
        for name in COMPARED
        for loss in HOST_LOSSES
    ]
    points += [
        Task(sweep="penalty", rate=rate, architecture=name, host_loss_db=loss, length=0.0)
        for rate in rates
        for name in COMPARED
        for loss in PENALTY_LOSSES
    ]
    points += [Task(sweep="host", rate=rate, architecture="CPO", host_loss_db=4.0) for rate in rates]
    points += [
        Task(sweep="fibre", rate=rate, architecture=name, length=length, wavelength=wavelength)
        for rate in rates
        for name in ("retimed", "LPO")
        for wavelength in WAVELENGTHS.values()
        for length in LENGTHS
    ]
    points += [
        Task(sweep="bandwidth", rate=rate, architecture=name, bandwidth=share)
        for rate in rates
        for name in ("retimed", "LRO", "LPO")
        for share in BANDWIDTHS
    ]
    points += [
        Task(sweep="stages", rate="224G", architecture=stage, bandwidths=b) for b in STAGE_BANDWIDTHS for stage in STAGES
    ]
    points += [Task(sweep="sequence", rate="224G", architecture="MLSD", bandwidths=b) for b in STAGE_BANDWIDTHS]
    return points


def run(rates: Sequence[str] = RATES, progress: Progress = silent) -> Answer:
    """The whole study."""
    rows = run_all(solve, tasks(rates), progress)
    tables = {name: [{k: v for k, v in r.items() if k != "sweep"} for r in rows if r["sweep"] == name] for name in _SWEEPS}
    _add_penalty(tables["host"])
    _add_penalty(tables["penalty"])
    return Answer(
        question=QUESTION,
        tables=tables,
        figures={
            "optics_host": lambda: _draw_host(tables["host"]),
            "optics_fibre": lambda: _draw_fibre(tables["fibre"], tables["bandwidth"]),
            "optics_stages": lambda: _draw_stages(tables["stages"], tables["sequence"]),
        },
        notes=_notes(tables),
    )


_SWEEPS = ("host", "penalty", "fibre", "bandwidth", "stages", "sequence")


def _add_penalty(rows: list[dict[str, Any]]) -> None:
    """Penalty over the retimed module at the same rate and host loss; 99 where there is no solution."""
    retimed = {(r["rate"], r["host_loss_db"]): r["margin_db"] for r in rows if r["architecture"] == "retimed"}
    for r in rows:
        fails = r["outcome"] == "fails" and r["margin_db"] <= -20 + 1e-9
        base = retimed.get((r["rate"], r["host_loss_db"]), r["margin_db"])
        r["penalty_db"] = 99.0 if fails else round(base - r["margin_db"], 2)


def _notes(tables: dict[str, list[dict[str, Any]]]) -> list[str]:
    notes = [
        "Margin: optical loss that may be added until the bit error ratio reaches 2.4e-4, retimed segments included; "
        f"a link is asked for {NEEDED_DB:g} dB, which is 3 dB of slicer SNR.",
        "Host loss is that of one side at Nyquist, without reflections and crosstalk: linear modules look better than they are.",
    ]
    for rate in dict.fromkeys(r["rate"] for r in tables["host"]):
        for name in COMPARED:
            mine = [r for r in tables["host"] if (r["rate"], r["architecture"]) == (rate, name)]
            good = [r["host_loss_db"] for r in mine if r["outcome"] == "ok"]
            after = [r for r in mine if r["host_loss_db"] > max(good, default=-1)]
            if not after:
                notes.append(f"{rate} {name}: works at every host loss up to {max(good):g} dB per side.")
                continue
            first = after[0]
            why = first["reason"] or f"{first['margin_db']:.1f} dB of margin"
            upto = f"works up to {max(good):g} dB per side, then" if good else "works nowhere:"
            notes.append(f"{rate} {name}: {upto} {first['binding_cause']} ends it ({why}).")
    notes += [
        f"Sequence detection at {r['tx_ghz']:g}/{r['rx_ghz']:g} GHz, 106.25 GBd: gains {r['gain_db']:.2f} dB (1 + {r['memory']:.2f} D)."
        for r in tables["sequence"]
    ]
    return notes


def _shown(rows: Sequence[dict[str, Any]], x: str) -> tuple[np.ndarray, np.ndarray]:
    """Margins of the points that have a solution, nan for the others."""
    margins = [r["margin_db"] if r["margin_db"] > -19 else np.nan for r in rows]
    return np.array([r[x] for r in rows]), np.array(margins)


def _line(ax: Axes, x: np.ndarray, y: np.ndarray, colour: int, style: int, label: str) -> None:
    from serdes import plot

    ax.plot(x, y, color=plot.COLOURS[colour], linestyle=plot.STYLES[style], marker="o", markersize=3.5, label=label)


def _draw_host(rows: Sequence[dict[str, Any]]) -> Figure:
    """Margin against host loss, one panel a rate."""
    from serdes import plot

    rates = list(dict.fromkeys(r["rate"] for r in rows))
    with plot.figure(5.2 * len(rates) + 0.6, 4.8, 1, len(rates), sharey=True, squeeze=False) as (fig, axes):
        for ax, rate in zip(axes[0], rates, strict=True):
            for k, name in enumerate(COMPARED):
                mine = [r for r in rows if (r["rate"], r["architecture"]) == (rate, name)]
                x, y = _shown(mine, "host_loss_db")
                _line(ax, x, y, k, k, ARCHITECTURES[name].title)
                last = np.flatnonzero(np.isfinite(y))
                if last.size and last[-1] < y.size - 1:
                    ax.plot(x[last[-1]], y[last[-1]], "x", color=plot.COLOURS[k], markersize=10, markeredgewidth=2)
            for r in rows:
                if (r["rate"], r["architecture"]) == (rate, "CPO"):
                    ax.plot(
                        4, r["margin_db"], "D", color=plot.COLOURS[4], label="CPO, 4 dB electrical, 4.5 dB more optical loss"
                    )
            ax.text(0.1, NEEDED_DB + 0.1, "asked for", fontsize=8, color="0.3")
            ax.axhline(NEEDED_DB, color="0.3", linewidth=1)
            gbd = next(r["symbol_rate_gbd"] for r in rows if r["rate"] == rate)
            ax.set(
                xlabel="host loss per side at Nyquist [dB]", title=f"{rate}, {gbd:g} GBd, 500 m at 1304.5 nm", ylim=(-3, None)
            )
        axes[0][0].set_ylabel("optical margin [dB]")
        axes[0][0].legend(loc="lower left", fontsize=8)
        axes[0][-1].text(
            0.98,
            0.97,
            "x: beyond it no amount of light helps",
            transform=axes[0][-1].transAxes,
            ha="right",
            va="top",
            fontsize=8,
        )
        return fig


def _draw_fibre(fibre: Sequence[dict[str, Any]], bandwidth: Sequence[dict[str, Any]]) -> Figure:
    """Margin against fibre length and against component bandwidth at the fastest rate."""
    from serdes import plot

    rate = max((r["rate"] for r in fibre), key=lambda name: next(r["symbol_rate_gbd"] for r in fibre if r["rate"] == name))
    with plot.figure(11.5, 4.6, 1, 2) as (fig, (left, right)):
        for i, (label, wavelength) in enumerate(WAVELENGTHS.items()):
            for k, name in enumerate(("retimed", "LPO")):
                mine = [
                    r for r in fibre
                    if (r["rate"], r["architecture"]) == (rate, name) and abs(r["wavelength_nm"] - wavelength / nm) < 0.1
                ]  # fmt: skip
                x, y = _shown(mine, "length_m")
                _line(left, x / km, y, i, k, f"{label}, {ARCHITECTURES[name].title}")
        left.set(
            xlabel="fibre [km]",
            ylabel="optical margin [dB]",
            title=f"{rate}: dispersion and loss",
            ylim=(-6, None),
            xscale="log",
        )
        left.set_xticks([0.5, 1, 2, 4, 10], ["0.5", "1", "2", "4", "10"])
        left.legend(fontsize=8)
        for k, name in enumerate(("retimed", "LRO", "LPO")):
            mine = [r for r in bandwidth if (r["rate"], r["architecture"]) == (rate, name)]
            x, y = _shown(mine, "bandwidth")
            _line(right, x, y, k, k, ARCHITECTURES[name].title)
        for ax in (left, right):
            ax.axhline(NEEDED_DB, color="0.3", linewidth=1)
        right.set(
            xlabel="bandwidth of driver and receiver over today's (58, 64 GHz at 106.25 GBd)", ylabel="optical margin [dB]",
            title=f"{rate}: components, 500 m, {TYPICAL_HOST_DB:g} dB host loss per side",
        )  # fmt: skip
        right.legend(fontsize=8)
        return fig


def _draw_stages(stages: Sequence[dict[str, Any]], sequence: Sequence[dict[str, Any]]) -> Figure:
    """Sensitivity by equaliser stage and component bandwidth."""
    from serdes import plot

    names = [*STAGES, "FFE T/2 + MLSD"]
    with plot.figure(10, 4.6) as (fig, ax):
        width = 0.8 / len(STAGE_BANDWIDTHS)
        for k, (tx, rx) in enumerate(STAGE_BANDWIDTHS):
            values = {r["stage"]: r["oma_dbm"] for r in stages if (r["tx_ghz"], r["rx_ghz"]) == (tx, rx)}
            values["FFE T/2 + MLSD"] = next(r["oma_dbm"] for r in sequence if (r["tx_ghz"], r["rx_ghz"]) == (tx, rx))
            x = np.arange(len(names)) + (k - 1) * width
            for place, name in zip(x, names, strict=True):
                if values[name] > 50:
                    ax.text(place, -11.9, "fails", rotation=90, ha="center", va="bottom", fontsize=8)
            heights = [12 + values[n] if values[n] < 50 else 0 for n in names]
            bars = ax.bar(x, heights, 0.9 * width, bottom=-12, color=plot.COLOURS[k], label=f"{tx:g} / {rx:g} GHz")
            ax.bar_label(
                bars, [f"{values[n]:.2f}" if values[n] < 50 else "" for n in names], fontsize=7, rotation=90, padding=2
            )
        ax.set_xticks(range(len(names)), names, fontsize=8)
        ax.set(
            ylabel="OMA needed for 2.4e-4 [dBm], lower is better",
            title="What each equaliser stage buys, 106.25 GBd",
            ylim=(-12, -3),
        )
        ax.legend(title="transmitter / receiver bandwidth")
        return fig
