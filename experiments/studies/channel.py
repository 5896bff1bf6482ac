"""What is in a channel file: the import report, losses, mode conversion, impedance profile, pulse, of one file or of many."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from channels import port_map, quality, time_domain
from channels.channel_set import touchstone_files
from channels.conditioning import Conditioning
from channels.copper import CopperChannel
from channels.file_network import FileNetwork, check_rate, open_all, refuse_silent
from channels.port_map import PortMap
from channels.time_domain import ImpedanceProfile, StepResponse
from channels.touchstone_data import Finding
from dsp.response import PulseResponse
from dsp.units import GBd, GHz, MHz, db, mV, ns
from experiments import crosstalk_sums
from experiments.study import Answer, Progress, Row, curve_rows, silent
from serdes.setups import names, setup

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTION = "What is in this channel file, and what may be done with it?"
RUN = 100  # symbols without a transition for which the baseline wander is told
LONG_RECORD = 2**17  # samples of the long step response
LOWEST_DB = -150.0  # lower levels are drawn here
ROOM = 2.5  # length of an impedance profile in delays: both ways, and the far end with it


@dataclass(frozen=True, kw_only=True, eq=False)
class Look:
    """Everything that is shown of one file. Curves are on the points of the file ``f`` [Hz] and on its own references."""

    name: str
    network: FileNetwork
    symbol_rate: float
    findings: tuple[Finding, ...]
    f: np.ndarray
    curves: Mapping[str, np.ndarray]
    profiles: tuple[ImpedanceProfile, ...]
    pulse: PulseResponse
    step: StepResponse
    ieee370: quality.Ieee370 | str | None  # or why there is none


def run(
    paths: Sequence[Path], rate: str | None = None, ports: PortMap | None = None, ieee370: bool = False,
    conditioning: Conditioning | None = None, progress: Progress = silent,
) -> Answer:  # fmt: skip
    """Look at each Touchstone file of ``paths``; a folder stands for the files in it, a file of several
    lanes for each of them.

    ``rate``: lane rate of the pulse, by default the highest that the data of each file allow. ``ieee370``: also the quality
    figures of IEEE 370. ``conditioning``: how the data become a response. A file that fails, or has no signal by ``ports``, is a row of the table "failures",
    the others are kept; ValueError if none is left.
    """
    symbol_rate = None if rate is None else setup(rate).symbol_rate
    files = [file for path in paths for file in (touchstone_files(path) if path.is_dir() else [path])]
    batch = open_all(files, ports, conditioning)
    failures: list[tuple[str, str]] = list(batch.failures)
    looks: list[Look] = []
    for done, network in enumerate(batch.networks, start=1):
        try:
            if ports is not None:
                refuse_silent(network)
            looks.append(_look(network, _unique(network, looks), symbol_rate, ieee370))
        except ValueError as reason:
            failures.append((network.path, str(reason)))
        progress(done, len(batch.networks))
    sums, without = crosstalk_sums.find([(look.network, look.symbol_rate) for look in looks])
    if not looks:
        raise ValueError("; ".join(why for _, why in failures) or f"no Touchstone file in {', '.join(map(str, paths))}")
    tables: dict[str, Sequence[Row]] = {
        "files": [_row(look, sums) for look in looks],
        "findings": [_finding(look, finding) for look in looks for finding in look.findings],
        "failures": [{"file": path, "cause": why} for path, why in failures],
    }
    figures: dict[str, Callable[[], Figure]] = {look.name: partial(_draw, look) for look in looks}
    for look in looks:
        tables |= _tables(look)
    if len(looks) > 1:
        figures["compared"] = partial(_compare, looks)
    notes = [line for look in looks for line in _notes(look)] + without
    if sums is not None:
        tables |= {"set": [sums.row], "crosstalk": sums.table}
        figures["crosstalk"] = partial(crosstalk_sums.draw, sums)
        notes.append(sums.note)
    return Answer(question=QUESTION, tables=tables, figures=figures, notes=notes + [f"left out: {why}" for _, why in failures])


def to_json(answer: Answer) -> str:
    """Files, findings, failures and crosstalk sums as JSON text for scripts, without the curves."""
    names = [name for name in ("files", "findings", "failures", "set") if name in answer.tables]
    tables = {name: [dict(row) for row in answer.tables[name]] for name in names}
    return json.dumps(tables, indent=1, ensure_ascii=False, allow_nan=False)


def _unique(network: FileNetwork, looks: Sequence[Look]) -> str:
    """A name for tables and figures: the file's, with its ports, its folder or a number where that is taken."""
    path, taken = (
        Path(network.path),
        {look.name for look in looks} | {"files", "findings", "failures", "compared", "set", "crosstalk"},
    )
    m = network.port_map
    lane = f"{path.stem}_in{m.inputs[0][0]}_out{m.outputs[0][0]}"
    beside = any(look.network.path == network.path for look in looks)
    choices = [
        lane if beside else path.stem,
        f"{path.parent.name}_{path.stem}",
        lane,
        *(f"{path.stem}_{i}" for i in range(2, len(taken) + 3)),
    ]
    return next(name for name in choices if name not in taken)


def _rate(f_max: float) -> float:
    """The fastest of the standards' symbol rates that data up to ``f_max`` carry, or what they carry at most."""
    limit = time_domain.highest_rate(f_max)
    return max((r for r in (setup(name).symbol_rate for name in names()) if r <= limit), default=limit)


def _look(network: FileNetwork, name: str, symbol_rate: float | None, ieee370: bool) -> Look:
    data, report, z0 = network.data, network.report, network.reference
    f, f_max = data.frequency, report.f_max
    two_port, references = network.two_port
    rate = symbol_rate or _rate(f_max)
    channel = CopperChannel(parts=(network,), source_resistance=z0 / 2, load_resistance=z0 / 2)
    curves = {"s21": two_port[1, 0], "s11": two_port[0, 0], "s22": two_port[1, 1]}
    if network.port_map.differential:
        blocks, _ = port_map.modes(data, network.port_map)
        curves |= {"scd21": blocks.cd[1, 0], "sdc21": blocks.dc[1, 0], "scd11": blocks.cd[0, 0]}
    findings = check_rate(report, rate)
    pulse = time_domain.pulse(channel, rate)
    found = {f.code for f in findings}
    findings += tuple(f for f in time_domain.pulse_findings(channel, rate, f_max) if f.code not in found)
    arrival = max(abs(report.leading_edge or 0), 8 / f_max)
    profiles = tuple(
        time_domain.impedance_profile(network, f_max=f_max, duration=ROOM * arrival, end=end, z0=z0) for end in time_domain.ENDS
    )
    droop = report.dc_block.droop_time if report.dc_block else None
    duration = max(4 * arrival, 200 / rate, 5 * (droop or 0))
    top = min(f_max, LONG_RECORD / (4 * duration))
    step = time_domain.step_response(network, 1, 0, f_max=top, duration=duration, z0=z0)
    figures: quality.Ieee370 | str | None = None
    if ieee370:
        try:
            figures = quality.ieee370(f, two_port, references)
        except ValueError as reason:
            figures = str(reason)
    return Look(
        name=name, network=network, symbol_rate=rate, findings=findings, f=f, curves=curves, profiles=profiles,
        pulse=pulse, step=step, ieee370=figures,
    )  # fmt: skip


def _row(look: Look, sums: crosstalk_sums.Sums | None) -> Row:
    """One line about one file."""
    kind = "through" if look.network.report.is_through else "crosstalk"
    if sums is not None:
        kind = "fext" if look.network in sums.found.far_end else "next" if look.network in sums.found.near_end else kind
    r, m, pulse = look.network.report, look.network.port_map, look.pulse
    loss = -db(look.network.s(np.array([look.symbol_rate / 2]), look.network.reference)[1, 0])[0]
    block, value = r.dc_block, r.phase_residual.value
    row: dict[str, Any] = {
        "file": r.path, "name": look.name, "kind": kind, "ports": r.n_ports,
        "points": r.n_points, "f_min_ghz": r.f_min / GHz, "f_max_ghz": r.f_max / GHz,
        "step_mhz": None if r.f_step is None else r.f_step / MHz, "in": list(m.inputs[0]), "out": list(m.outputs[0]),
        "port_evidence": r.map_evidence, "reference_ohm": look.network.reference, "dc": r.dc_method, "steps": list(r.steps),
        "s21_dc": r.s21_dc.real, "delay_ns": _scaled(r.delay, ns), "leading_edge_ns": _scaled(r.leading_edge, ns),
        "early_energy": r.early_energy,
        "symbol_rate_gbd": look.symbol_rate / GBd, "loss_at_nyquist_db": float(loss) if np.isfinite(loss) else None,
        "pulse_peak_mv_per_v": float(pulse.samples[pulse.peak]) / mV, "pulse_peak_ns": float(pulse.t[pulse.peak]) / ns,
        **{f"impedance_{p.end}_ohm": p.between(0, p.time[-1] / ROOM) for p in look.profiles},
        "max_singular_value": r.max_singular_value, "noise_floor_db": None,
        "kramers_kronig_rad": value, "kramers_kronig_basis": r.phase_residual.basis,
        "droop_time_ns": None if block is None else _scaled(block.droop_time, ns),
        f"wander_{RUN}_symbols": None if block is None else block.wander(RUN / look.symbol_rate),
        "findings": " ".join(f.code for f in look.findings), "sha256": r.sha256,
    }  # fmt: skip
    if r.noise is not None and r.noise.floor > 0:
        row["noise_floor_db"] = float(db(r.noise.floor))
    if isinstance(q := look.ieee370, quality.Ieee370):
        row |= {"ieee370_causality": q.causality, "ieee370_passivity": q.passivity, "ieee370_reciprocity": q.reciprocity}
    elif q is not None:
        row["ieee370_refused"] = q
    return row


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _finding(look: Look, finding: Finding) -> Row:
    return {
        "file": look.network.path, "severity": finding.severity, "code": finding.code, "message": finding.message,
    }  # fmt: skip


def _notes(look: Look) -> list[str]:
    r, pulse = look.network.report, look.pulse
    own = [f"{f.severity}: {f.message} [{f.code}]" for f in look.findings if f not in r.findings]
    peak = f"pulse at {look.symbol_rate / GBd:.6g} GBd: {pulse.samples[pulse.peak] / mV:.4g} mV/V"
    peak += f" at {pulse.t[pulse.peak] / ns:.4g} ns"
    lines = [r.text, peak, *own]
    if isinstance(q := look.ieee370, str):
        lines.append(f"IEEE 370 initial quality: none, {q}")
    elif q is not None:
        figures = f"causality {q.causality:.4g} %, passivity {q.passivity:.4g} %, reciprocity {q.reciprocity:.4g} %"
        lines.append(f"IEEE 370 initial quality: {figures}")
    return ["\n  ".join("\n".join(lines).splitlines())]


def _tables(look: Look) -> dict[str, Sequence[Row]]:
    """Curves of one file."""
    decibels = {"f_ghz": look.f / GHz, **{f"{key}_db": db(curve) for key, curve in look.curves.items()}}
    left, right = look.profiles
    tdr = {"round_trip_ns": left.time / ns, "left_ohm": left.impedance, "right_ohm": right.impedance}
    pulse = look.pulse
    m, k = pulse.grid.samples_per_symbol, pulse.peak
    near = slice(max(0, k - 8 * m), k + 23 * m)
    shown = {"time_ns": pulse.t[near] / ns, "pulse_mv_per_v": pulse.samples[near] / mV}
    return {
        f"{look.name}_frequency": curve_rows(decibels),
        f"{look.name}_tdr": curve_rows(tdr),
        f"{look.name}_pulse": curve_rows(shown),
        f"{look.name}_step": curve_rows({"time_ns": look.step.time / ns, "step": look.step.value}),
    }


def _draw(look: Look) -> Figure:
    """Six views of one file."""
    from serdes import plot

    r, nyquist = look.network.report, look.symbol_rate / 2
    d = "dd" if look.network.port_map.differential else ""
    with plot.figure(15.5, 8.6, 2, 3) as (fig, axes):
        fig.suptitle(
            f"{Path(r.path).name}   in {r.port_map.inputs[0]}, out {r.port_map.outputs[0]}, {look.network.reference:g} ohm"
        )
        what = "Insertion loss" if r.is_through else "Coupling"
        loss = float(-db(look.network.s(np.array([nyquist]), look.network.reference)[1, 0])[0])
        at = (
            f"{what}: {loss:.1f} dB at Nyquist, {nyquist / GHz:.6g} GHz" if np.isfinite(loss) else f"{what}: no data at Nyquist"
        )
        plot.insertion_loss(axes[0, 0], look.f, {f"S{d}21": look.curves["s21"]}, nyquist, at)
        _decibels(axes[0, 1], look, {f"S{d}11": "s11", f"S{d}22": "s22"}, "Return loss")
        _decibels(axes[0, 2], look, {"Scd21": "scd21", "Sdc21": "sdc21", "Scd11": "scd11"}, "Mode conversion")
        for k, profile in enumerate(look.profiles):
            label = f"from the {'input' if profile.end == 'left' else 'output'}"
            axes[1, 0].plot(profile.time / ns, profile.impedance, color=plot.COLOURS[k], linestyle=plot.STYLES[k], label=label)
        axes[1, 0].axhline(look.network.reference, color="0.6", linewidth=0.8)
        axes[1, 0].set(
            xlabel="round-trip time [ns]", ylabel="impedance [ohm]",
            title=f"Impedance profile, edge {1e12 * look.profiles[0].rise_time:.3g} ps (20-80 %)",
        )  # fmt: skip
        axes[1, 0].legend()
        _draw_pulse(axes[1, 1], look)
        _draw_step(axes[1, 2], look)
        return fig


def _decibels(ax: Axes, look: Look, curves: Mapping[str, str], title: str) -> None:
    from serdes import plot

    for k, (label, key) in enumerate(curves.items()):
        if key in look.curves and np.any(db(look.curves[key]) > LOWEST_DB):
            level = np.maximum(db(look.curves[key]), LOWEST_DB)
            ax.plot(look.f / GHz, level, color=plot.COLOURS[k], linestyle=plot.STYLES[k], label=label, linewidth=1.2)
    ax.set(xlabel="frequency [GHz]", ylabel="magnitude [dB]", title=title)
    if ax.lines:
        ax.legend()
    else:
        why = f"none above {LOWEST_DB:g} dB" if look.network.port_map.differential else "single-ended ports: no modes"
        ax.text(0.5, 0.5, why, ha="center", va="center", transform=ax.transAxes)


def _draw_pulse(ax: Axes, look: Look) -> None:
    from serdes import plot

    pulse = look.pulse
    m, k = pulse.grid.samples_per_symbol, pulse.peak
    index = np.arange(max(0, k - 6 * m), min(pulse.samples.size, k + 16 * m + 1))
    ax.plot((index - k) / m, pulse.samples[index] / mV, color=plot.COLOURS[0])
    whole = index[(index - k) % m == 0]
    ax.plot((whole - k) / m, pulse.samples[whole] / mV, "o", color=plot.COLOURS[0], markersize=4)
    ax.axhline(0, color="0.6", linewidth=0.8)
    title = f"Pulse at {look.symbol_rate / GBd:.6g} GBd, peak at {pulse.t[k] / ns:.4g} ns"
    ax.set(xlabel="time after the peak [UI]", ylabel="response to one symbol of 1 V [mV]", title=title)


def _draw_step(ax: Axes, look: Look) -> None:
    from serdes import plot

    step, r = look.step, look.network.report
    since = step.time - (r.leading_edge or 0)
    shown = (since > 0.25 / look.symbol_rate) & (since < step.time[-1] / 2)
    ax.semilogx(since[shown] / ns, step.value[shown], color=plot.COLOURS[0])
    ax.axhline(r.s21_dc.real, color="0.4", linewidth=0.9, linestyle="--")
    ax.text(0.02, r.s21_dc.real, "S21(0)", fontsize=8, color="0.3", va="bottom", transform=ax.get_yaxis_transform())
    title = "Step response"
    if r.dc_block is not None:
        time = r.dc_block.droop_time
        title += ": AC-coupled, droop unknown" if time is None else f": AC-coupled, 1/e in {time / ns:.4g} ns"
    ax.set(xlabel="time after the leading edge [ns]", ylabel="response to a step of 1 V [V]", title=title)


def _compare(looks: Sequence[Look]) -> Figure:
    """Transfers of all files, pulses of the through paths (of all where there is none)."""
    from serdes import plot

    with plot.figure(12.5, 5.2, 1, 2) as (fig, axes):
        for k, look in enumerate(looks):
            style = {"color": plot.COLOURS[k % 8], "linestyle": plot.STYLES[k // 8 % 6], "label": look.name, "linewidth": 1.2}
            axes[0].plot(look.f / GHz, np.maximum(db(look.curves["s21"]), LOWEST_DB), **style)
            if any(x.network.report.is_through for x in looks) and not look.network.report.is_through:
                continue
            p = look.pulse
            near = np.arange(max(0, p.peak - 6 * p.grid.samples_per_symbol), min(p.samples.size, p.peak + 512))
            axes[1].plot((near - p.peak) / p.grid.samples_per_symbol, p.samples[near] / mV, **style)
        axes[0].set(xlabel="frequency [GHz]", ylabel="|S21| [dB]", title="Transfer")
        axes[1].set(
            xlabel="time after the peak [UI of each file]",
            ylabel="response to one symbol of 1 V [mV]",
            title="Pulses of through paths",
        )
        axes[0].legend(fontsize=7)
        return fig
