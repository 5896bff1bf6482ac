"""Where a module needs a DSP: error ratio and margin against host loss, fibre and bandwidth, and what each equaliser stage buys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from channels.channel import Channel
from channels.copper import CopperChannel
from channels.file_network import FileNetwork
from channels.imdd import ImddChannel
from channels.lasers import Laser
from channels.modulators import Mzm
from channels.optical_path import Photodiode
from channels.stages import Amplifier
from dsp import check
from dsp.equalizer import FixedTaps, Mmse
from dsp.inner_ratio import OVERHEAD
from dsp.units import GBd, GHz, db, dbm, km, mW, nm
from experiments import interfaces, optics_figures
from experiments.optical_lanes import NOISE, OpticalLane
from experiments.optical_reach import MARGIN_DB
from experiments.parallel import run_all
from experiments.study import Answer, Progress, silent
from serdes import pmd
from serdes.link import Link, Receiver, Transmitter
from serdes.modules import ARCHITECTURES, PathResult, run_path
from serdes.semi_analytic import SemiAnalytic
from serdes.sensitivity import sensitivity
from serdes.sequence_gain import sequence_gain

QUESTION = "Where does an optical module need a DSP, and what ends each architecture?"
RATES = ("112G", "224G")
COMPARED = ("retimed", "LRO", "LPO", "CPO", "slicer")
HOST_LOSSES = (0.0, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0)
PENALTY_LOSSES = (0.0, 4.0, 8.0, 12.0, 16.0, 18.0, 20.0)
HOSTS_DB = {"retimed": 8.0, "LRO": 8.0, "LPO": 8.0, "CPO": 4.0, "slicer": 0.0}
"""Host loss per side while something else is swept."""
SHORT = 500.0
LENGTHS = (0.5 * km, 1 * km, 1.4 * km, 2 * km, 3 * km, 4 * km, 6 * km, 8 * km, 10 * km)
WAVELENGTHS = (1304.5 * nm, 1264.5 * nm, 1550 * nm)
BANDWIDTHS = (0.5, 0.6, 0.7, 0.8, 1.0, 1.2, 1.5)
STAGES: dict[str, tuple[Mmse | FixedTaps, int]] = {
    "slicer alone": (FixedTaps(), 1),
    "FFE, 5 taps": (Mmse(n_taps=5, n_precursors=2, n_feedback=0), 1),
    "FFE, 21 taps": (Mmse(n_taps=21, n_precursors=8, n_feedback=0), 1),
    "FFE, 21 taps at T/2": (Mmse(n_taps=21, n_precursors=5, n_feedback=0), 2),
    "FFE 21 + DFE 1": (Mmse(n_taps=21, n_precursors=8, n_feedback=1), 1),
}
SEQUENCE = "FFE, 21 taps at T/2"
"""The stage that sequence detection is put behind."""
STAGE_BANDWIDTHS = ((70.0, 70.0), (50.0, 50.0), (38.0, 45.0))
"""Transmitter and receiver [GHz] at 106.25 GBd."""
CODE_BANDWIDTHS = (55.0, 60.0)
FASTEST = 106.25 * GBd


@dataclass(frozen=True, kw_only=True)
class Task:
    """One point of one sweep: ``sweep`` says of what. ``file``: of a host's channel, in the place of a loss."""

    sweep: str
    rate: str
    architecture: str
    host_loss_db: float = 8.0
    length: float = SHORT
    wavelength: float = WAVELENGTHS[0]
    bandwidth: float = 1.0
    bandwidths: tuple[float, float] = STAGE_BANDWIDTHS[0]
    file: str = ""


def host_of(task: Task) -> Channel:
    """One side's electrical way: the file, or a line of the loss."""
    if task.file:
        return CopperChannel(parts=(FileNetwork.open(task.file),))
    return OpticalLane(rate=task.rate).host(task.host_loss_db)


def host_loss_db(host: Channel, symbol_rate: float) -> float:
    """Loss [dB] at Nyquist; infinite where a file holds nothing there."""
    return abs(float(db(host.transfer(np.array([symbol_rate / 2])))[0]))


def path(task: Task) -> PathResult:
    """The whole path of a point."""
    lane = OpticalLane(rate=task.rate, wavelength=task.wavelength, bandwidth=task.bandwidth)
    optics = quiet_optics(lane) if task.sweep == "penalty" else lane.optics(task.length)
    return run_path(ARCHITECTURES[task.architecture], lane.lane(), host_of(task), optics)


def quiet_optics(lane: OpticalLane) -> ImddChannel:
    """No fibre, thermal noise only: what host loss alone costs."""
    return replace(lane.optics(0.0, rin_db=None), photodiode=Photodiode(shot=False))


def solve(task: Task) -> dict[str, Any]:
    """One row; runs in a worker process."""
    if task.sweep in _BARE:
        return {"sweep": task.sweep, **_BARE[task.sweep](task)}
    found, symbol_rate = path(task), OpticalLane(rate=task.rate).symbol_rate
    works = found.outcome == "ok"
    return {
        "sweep": task.sweep,
        "rate": task.rate,
        "symbol_rate_gbd": symbol_rate / GBd,
        "architecture": task.architecture,
        "host_loss_db": round(host_loss_db(host_of(task), symbol_rate), 2),
        "length_m": task.length,
        "wavelength_nm": round(task.wavelength / nm, 2),
        "bandwidth": task.bandwidth,
        "margin_db": round(found.margin_db, 2),
        "error_ratio": found.pre_fec,
        "codeword_failure": found.post_fec,
        "outcome": found.outcome if not works or found.margin_db >= MARGIN_DB else "short of margin",
        "binding_cause": found.binding,
        "reason": found.reason,
    }


def bare_link(bandwidths: tuple[float, float], equalizer: Mmse | FixedTaps, symbol_rate: float = FASTEST) -> Link:
    """Optics alone with a receiver: bandwidths in GHz, thermal noise only, levels pre-distorted, extinction 5 dB, no fibre."""
    optics: ImddChannel = replace(
        quiet_optics(OpticalLane(rate="224G")),
        source=Mzm(laser=Laser(power=1 * mW), extinction_db=100.0),
        driver=Amplifier(bandwidth=bandwidths[0] * GHz),
        loss_db=0.0,
        tia=Amplifier(gain=1e3, bandwidth=bandwidths[1] * GHz, shape="butterworth4", noise_density=NOISE),
    )
    return Link(symbol_rate=symbol_rate, tx=Transmitter(amplitude=1.0), channel=optics, rx=Receiver(equalizer=equalizer))


def _stage_row(task: Task) -> dict[str, Any]:
    equalizer, per_symbol = STAGES[task.architecture]
    found = sensitivity(bare_link(task.bandwidths, equalizer), 2.4e-4, SemiAnalytic(taps_per_symbol=per_symbol))
    return {
        "tx_ghz": task.bandwidths[0], "rx_ghz": task.bandwidths[1], "stage": task.architecture,
        "oma_dbm": round(found.oma_dbm, 3) if found.outcome == "found" else None, "outcome": found.outcome,
    }  # fmt: skip


def _sequence_row(task: Task) -> dict[str, Any]:
    equalizer, per_symbol = STAGES[SEQUENCE]
    link = bare_link(task.bandwidths, equalizer)
    gain = sequence_gain(link, 2.4e-4, SemiAnalytic(n_symbols=65536, taps_per_symbol=per_symbol), np.random.default_rng(1))
    return {
        "tx_ghz": task.bandwidths[0], "rx_ghz": task.bandwidths[1], "memory": round(gain.memory, 3),
        "ffe_oma_dbm": round(float(dbm(gain.without)), 3), "oma_dbm": round(float(dbm(gain.with_)), 3), "gain_db": round(gain.gain_db, 3),
    }  # fmt: skip


def _code_row(task: Task) -> dict[str, Any]:
    """What light a code asks for, at the symbol rate that it makes."""
    equalizer, per_symbol = STAGES[SEQUENCE]
    rate = FASTEST * (OVERHEAD if "Hamming" in task.architecture else 1.0)
    limit = pmd.CODES[task.architecture]
    found = sensitivity(bare_link(task.bandwidths, equalizer, rate), limit, SemiAnalytic(taps_per_symbol=per_symbol))
    return {
        "code": task.architecture, "symbol_rate_gbd": rate / GBd, "error_ratio": limit, "tx_ghz": task.bandwidths[0],
        "rx_ghz": task.bandwidths[1], "oma_dbm": round(found.oma_dbm, 3),
    }  # fmt: skip


_BARE: dict[str, Callable[[Task], dict[str, Any]]] = {
    "stages": _stage_row,
    "sequence": _sequence_row,
    "codes": _code_row,
    "interfaces": lambda task: interfaces.row(task.architecture),
}
_SWEEPS = ("host", "penalty", "fibre", "bandwidth", *_BARE)


def tasks(rates: Sequence[str], file: str = "", thin: int = 1) -> list[Task]:
    """Every ``thin``-th point of each curve; with ``file`` those of the hosts' channel it holds, too."""
    points = [
        Task(sweep=sweep, rate=rate, architecture=name, host_loss_db=loss)
        for rate in rates
        for sweep, losses in (("host", HOST_LOSSES[::thin]), ("penalty", PENALTY_LOSSES[::thin]))
        for name in COMPARED
        for loss in losses
        if name != "CPO" or loss <= 8
    ]
    others = [(rate, name, HOSTS_DB[name]) for rate in rates for name in COMPARED]
    points += [
        Task(sweep="fibre", rate=rate, architecture=name, host_loss_db=loss, length=length, wavelength=wavelength)
        for rate, name, loss in others
        for wavelength in WAVELENGTHS
        for length in LENGTHS[::thin]
    ]
    points += [
        Task(sweep="bandwidth", rate=rate, architecture=name, host_loss_db=loss, bandwidth=share)
        for rate, name, loss in others
        for share in BANDWIDTHS[::thin]
    ]
    if file:
        points += [Task(sweep="file", rate=rate, architecture=name, file=file) for rate, name, _ in others]
    fast = partial(Task, rate="224G")
    points += [fast(sweep="stages", architecture=stage, bandwidths=b) for b in STAGE_BANDWIDTHS[::thin] for stage in STAGES]
    points += [fast(sweep="codes", architecture=code, bandwidths=CODE_BANDWIDTHS) for code in pmd.CODES]
    points += [fast(sweep="interfaces", architecture=name) for name in pmd.names()[::thin]]
    return [fast(sweep="sequence", architecture="MLSD", bandwidths=b) for b in STAGE_BANDWIDTHS[::thin]] + points


def run(rates: Sequence[str] = RATES, host: Path | None = None, progress: Progress = silent, thin: int = 1) -> Answer:
    """The whole study; ``host``: a channel file for both hosts' way to their modules; ``thin``: every so many points, for a look.

    ``ValueError`` for a rate that optics do not have or a file that is no channel.
    """
    check.count("optics", "thin", thin, 1)
    lanes = [OpticalLane(rate=rate) for rate in rates]
    short: list[str] = []
    if host is not None:
        channel = CopperChannel(parts=(FileNetwork.open(host),))
        short = [lane.rate for lane in lanes if np.isinf(host_loss_db(channel, lane.symbol_rate))]
    rows = run_all(
        solve, [t for t in tasks(rates, str(host or ""), thin) if t.sweep != "file" or t.rate not in short], progress
    )
    sweeps = (*_SWEEPS, "file") if host else _SWEEPS
    tables = {name: [{k: v for k, v in r.items() if k != "sweep"} for r in rows if r["sweep"] == name] for name in sweeps}
    for name in ("host", "penalty"):
        _add_penalty(tables[name])
    fastest = max(rates, key=lambda rate: OpticalLane(rate=rate).symbol_rate)
    return Answer(
        question=QUESTION,
        tables=tables,
        figures={
            "optics_host": lambda: optics_figures.host(tables["host"]),
            "optics_fibre": lambda: optics_figures.fibre(tables["fibre"], fastest),
            "optics_bandwidth": lambda: optics_figures.bandwidth(tables["bandwidth"]),
            "optics_stages": lambda: optics_figures.stages(tables["stages"], tables["sequence"]),
        },
        notes=_notes(tables) + [f"{rate} is left out for {host}: the file ends below its Nyquist frequency." for rate in short],
    )


def _add_penalty(rows: list[dict[str, Any]]) -> None:
    """Penalty over the retimed module at the same rate and host loss; None where there is no solution."""
    retimed = {(r["rate"], r["host_loss_db"]): r["margin_db"] for r in rows if r["architecture"] == "retimed"}
    for r in rows:
        base = retimed[r["rate"], r["host_loss_db"]]
        r["penalty_db"] = None if optics_figures.hopeless(r) else round(base - r["margin_db"], 2)


def _notes(tables: dict[str, list[dict[str, Any]]]) -> list[str]:
    notes = [
        "Margin: optical loss that may be added until the bit error ratio before KP4 reaches 2.4e-4, retimed segments included; "
        f"a link is asked for {MARGIN_DB:g} dB, which is 3 dB of slicer SNR.",
        "Host loss is that of one side at Nyquist, without reflections and crosstalk: linear modules look better than they are.",
    ]
    for rate in dict.fromkeys(r["rate"] for r in tables["host"]):
        for name in COMPARED:
            mine = [r for r in tables["host"] if (r["rate"], r["architecture"]) == (rate, name)]
            notes.append(f"{rate} {ARCHITECTURES[name].title}: {_end(mine)}.")
    notes += [
        f"Hosts of the file, {r['host_loss_db']:.1f} dB at {r['symbol_rate_gbd'] / 2:g} GHz, {r['rate']}, "
        f"{ARCHITECTURES[r['architecture']].title}: {r['outcome']}, {r['reason'] or format(r['margin_db'], '.1f') + ' dB of margin'}."
        for r in tables.get("file", [])
    ]
    notes += [
        f"Sequence detection at {r['tx_ghz']:g}/{r['rx_ghz']:g} GHz, 106.25 GBd: gains {r['gain_db']:.2f} dB (1 + {r['memory']:.2f} D)."
        for r in tables["sequence"]
    ]
    short = [f"{r['interface']} ({r['reason']})" for r in tables["interfaces"] if r["outcome"] != "ok"]
    notes.append(
        f"{', '.join(r['interface'] for r in tables['interfaces'])} with the weakest transmitter, all of the loss and the worst "
        "dispersion: " + (f"{', '.join(short)} fail." if short else "a receiver of 18 pA/rtHz closes each.")
    )
    alone, inner = tables["codes"]
    notes.append(
        f"The inner code takes {alone['oma_dbm'] - inner['oma_dbm']:.2f} dB less light at {inner['symbol_rate_gbd']:g} GBd than KP4 "
        f"alone at {alone['symbol_rate_gbd']:g}, in parts of {alone['tx_ghz']:g}/{alone['rx_ghz']:g} GHz."
    )
    return notes


def _end(rows: Sequence[dict[str, Any]]) -> str:
    """Where an architecture stops by host loss, and why."""
    good = [r["host_loss_db"] for r in rows if r["outcome"] == "ok"]
    after = [r for r in rows if r["host_loss_db"] > max(good, default=-1)]
    if not after:
        return f"works at every host loss tried, up to {max(good):g} dB per side"
    first = after[0]
    why = first["reason"] or f"{first['margin_db']:.1f} dB of margin"
    upto = f"works up to {max(good):g} dB per side, then" if good else "works nowhere:"
    return f"{upto} {first['binding_cause']} ends it ({why})"
