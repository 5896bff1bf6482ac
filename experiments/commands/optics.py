"""Light: transmitters measured, modules with and without a DSP, where copper hands over."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from experiments.console import Out, finish, progress, show

commands = typer.Typer()


@commands.command()
def tdecq(
    waveform: Annotated[Path, typer.Argument(help="A capture: .npz (waveform_w, symbols) or .csv (W, or time and W).")],
    samples_per_ui: Annotated[float | None, typer.Option(help="Samples per unit interval, also fractional.")] = None,
    symbol_rate: Annotated[
        float | None, typer.Option(help="Symbols per second, Bd (53.125e9), where the file does not say.")
    ] = None,
    taps: Annotated[int, typer.Option(help="Taps of the reference equaliser.")] = 5,
    bandwidth: Annotated[float, typer.Option(help="Bandwidth of the reference receiver over the symbol rate.")] = 0.5,
    error_ratio: Annotated[float, typer.Option(help="Target symbol error ratio.")] = 4.8e-4,
    threshold_adjust: Annotated[float, typer.Option(help="Most that thresholds may move, as a share of OMA.")] = 0.0,
    main_tap: Annotated[
        list[int] | None,
        typer.Option(help="Position of the main tap from 1, may be repeated; by default all up to the middle."),
    ] = None,
    criterion: Annotated[str, typer.Option(help="What taps and phase make smallest: tdecq or mse.")] = "tdecq",
    phase: Annotated[
        str, typer.Option(help="Of the histograms: free, or crossing for half way between the crossings.")
    ] = "free",
    filtered: Annotated[bool, typer.Option("--filtered", help="The capture already passed the receiver's filter.")] = False,
    noise: Annotated[float, typer.Option(help="Noise of the instrument, W rms.")] = 0.0,
    interface: Annotated[str | None, typer.Option(help="Judge by an interface, for example 400G-DR4.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON and write nothing.")] = False,
    out: Out = Path("out/tdecq"),
) -> None:
    """TDECQ, OMA, extinction and level mismatch of a measured optical waveform."""
    from experiments.studies import tdecq as study
    from serdes.tdecq import Reference

    reference = Reference(
        bandwidth_ratio=bandwidth, n_taps=taps, main_taps=tuple(main_tap or range(1, max(2, taps // 2 + 2))),
        symbol_error_ratio=error_ratio, threshold_adjust=threshold_adjust, criterion=criterion, phase=phase,
    )  # fmt: skip
    answer = study.run(waveform, samples_per_ui, symbol_rate, reference, filtered, interface, noise)
    if as_json:
        row = answer.tables["tdecq"][0]
        numbers = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
        typer.echo(json.dumps(numbers, allow_nan=False))
        return
    columns = {
        "capture": "capture", "tdecq_db": "TDECQ dB", "oma_dbm": "OMA dBm", "extinction_db": "ER dB", "average_dbm": "avg dBm",
        "level_mismatch": "R_LM", "main_tap": "main tap", "outcome": "outcome",
    }  # fmt: skip
    show(answer.tables["tdecq"], columns, f"{taps} taps, receiver of {bandwidth:g} times the symbol rate")
    finish(answer, out)


@commands.command()
def optics(
    rate: Annotated[list[str] | None, typer.Option(help="Lane rate, may be repeated; by default 112G and 224G.")] = None,
    host: Annotated[
        Path | None, typer.Option(help="Channel file of a host's way to its module, put at both ends: one table more.")
    ] = None,
    out: Out = Path("out/optics"),
) -> None:
    """Where a module needs a DSP: margin against host loss, fibre and bandwidth; what each equaliser stage buys."""
    from experiments.studies import optics as study

    with progress("optics") as report:
        answer = study.run(tuple(rate) if rate else study.RATES, host, report)
    columns = {
        "rate": "rate", "architecture": "module", "host_loss_db": "host dB", "margin_db": "margin dB", "penalty_db": "penalty dB",
        "error_ratio": "error ratio", "codeword_failure": "words lost", "outcome": "outcome", "binding_cause": "binding cause",
    }  # fmt: skip
    show(answer.tables["host"], columns, "Optical margin against host loss per side")
    if host:
        del columns["penalty_db"]
        show(answer.tables["file"], columns, f"With the channel of {host.name} at both hosts")
    stages = {"stage": "receiver", "tx_ghz": "Tx GHz", "rx_ghz": "Rx GHz", "oma_dbm": "OMA dBm", "outcome": "outcome"}
    show(answer.tables["stages"], stages, "OMA needed for 2.4e-4 at 106.25 GBd")
    presets = {
        "interface": "interface", "received_dbm": "received dBm", "stressed_dbm": "stressed dBm", "dispersion_ps_nm": "ps/nm",
        "tdecq_db": "TDECQ dB", "oma_dbm": "OMA dBm", "margin_db": "margin dB", "outcome": "outcome",
    }  # fmt: skip
    show(answer.tables["interfaces"], presets, "Interfaces: what a receiver must bear, and the weakest transmitter simulated")
    finish(answer, out)


@commands.command()
def crossover(
    rate: Annotated[list[str] | None, typer.Option(help="Lane rate, may be repeated; by default 56G, 112G and 224G.")] = None,
    out: Out = Path("out/crossover"),
) -> None:
    """Which technology closes at which distance, with margin, binding cause, energy and latency: drawn as a map."""
    from experiments.studies import crossover as study

    with progress("crossover") as report:
        answer = study.run(tuple(rate) if rate else study.RATES, report)
    columns = {
        "rate": "rate", "technology": "technology", "reach_m": "reach m", "binding_cause": "binding cause", "pj_per_bit": "pJ/bit",
        "energy_source": "energy from",
    }  # fmt: skip
    show(answer.tables["reaches"], columns, "Reach of each technology")
    finish(answer, out)
