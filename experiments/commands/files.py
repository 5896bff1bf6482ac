"""Somebody's own channel files: what is in them, and the eye behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.console import INTERRUPTED, Config, Out, finish, progress, show, whole

commands = typer.Typer()


@commands.command()
def channel(
    file: Annotated[list[Path], typer.Argument(help="Touchstone files (.s4p, .s2p, .sNp, .ts), or folders of them.")],
    rate: Annotated[str | None, typer.Option(help="Lane rate of the pulse; by default the highest the data allow.")] = None,
    ports: Annotated[
        str | None, typer.Option(help="Port order in+,in-,out+,out-, counted from 1; by default found in the data.")
    ] = None,
    ieee370: Annotated[bool, typer.Option("--ieee370", help="Also the quality figures of IEEE 370 (scikit-rf).")] = False,
    dc: Annotated[
        str, typer.Option(help="The point at 0 Hz: auto (of the data, or extrapolated), series_resistance, or blocked.")
    ] = "auto",
    dc_resistance: Annotated[float, typer.Option(help="Loop resistance [ohm] for --dc series_resistance.")] = 0.0,
    taper: Annotated[float, typer.Option(help="Fraction of the band under a raised-cosine edge; 0 to 0.5.")] = 0.0,
    clip_passivity: Annotated[bool, typer.Option("--clip-passivity", help="Clip a small gain over 1.")] = False,
    average_reciprocity: Annotated[
        bool, typer.Option("--average-reciprocity", help="Take the mean of S12 and S21 for both.")
    ] = False,
    keep_delay: Annotated[
        bool, typer.Option("--keep-delay", help="Interpolate without taking the bulk delay out first.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print files, findings and failures as JSON; write nothing.")] = False,
    out: Out = Path("out/channel"),
) -> None:
    """What is in a channel file: import report, losses, mode conversion, impedance profile, pulse."""
    from channels.conditioning import Conditioning
    from experiments.studies import channel as study

    choices = Conditioning(
        dc=dc, dc_resistance=dc_resistance, remove_delay=not keep_delay, taper=taper,
        clip_passivity=clip_passivity, average_reciprocity=average_reciprocity,
    )  # fmt: skip
    with progress("channel") as report:
        answer = study.run(file, rate, port_map(ports), ieee370, choices, report)
    if as_json:
        typer.echo(study.to_json(answer))
    else:
        columns = {
            "name": "file", "kind": "kind", "f_max_ghz": "GHz", "delay_ns": "delay ns", "symbol_rate_gbd": "GBd",
            "loss_at_nyquist_db": "loss dB", "pulse_peak_mv_per_v": "pulse mV/V", "impedance_left_ohm": "Z in",
            "impedance_right_ohm": "Z out", "findings": "findings",
        }  # fmt: skip
        show(answer.tables["files"], columns, "Channel files")
        sums = {
            "victim": "through", "psfext_loss_at_nyquist_db": "PSFEXT dB", "psnext_loss_at_nyquist_db": "PSNEXT dB",
            "psxt_loss_at_nyquist_db": "PSXT dB", "icr_at_nyquist_db": "ICR dB", "icn_mv": "ICN mV",
        }  # fmt: skip
        if "set" in answer.tables:
            show(answer.tables["set"], sums, "Crosstalk into the through path, at its Nyquist frequency")
        finish(answer, out)
    if answer.tables["failures"]:
        raise typer.Exit(1)


@commands.command()
def eye(
    file: Annotated[Path | None, typer.Argument(help="A Touchstone file (.s4p, .s2p, .ts), or a link in TOML.")] = None,
    config: Config = None,
    rate: Annotated[str, typer.Option(help="Lane rate whose transmitter and receiver are used: 56G, 112G, 224G, ...")] = "112G",
    ports: Annotated[
        str | None, typer.Option(help="Port order in+,in-,out+,out-, counted from 1; by default found in the data.")
    ] = None,
    packages: Annotated[bool, typer.Option(help="Put the standard's die and package at both ends.")] = True,
    fext: Annotated[list[Path] | None, typer.Option(help="Far-end crosstalk file; may be repeated.")] = None,
    next_: Annotated[list[Path] | None, typer.Option("--next", help="Near-end crosstalk file; may be repeated.")] = None,
    counted: Annotated[
        int | None,
        typer.Option(
            parser=whole,
            metavar="INTEGER",
            help="Count errors over so many symbols, clock loop closed, instead of the statistical engine.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the counted run.")] = 1,
    pattern: Annotated[
        str | None,
        typer.Option(help="Counted run: test pattern to send, PRBS13Q, PRBS31Q, SSPRQ ..., instead of random symbols."),
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Counted run: start from the main tap alone and adapt without known symbols.")
    ] = False,
    error_ratio: Annotated[
        float | None, typer.Option(help="Error ratio the eye is judged by; by default the standard's.")
    ] = None,
    out: Out = Path("out/eye"),
) -> None:
    """The equalised eye of a channel file, or of a link described in TOML."""
    from dataclasses import replace

    from experiments.studies import eye as study

    given = [path for path in (file, config) if path is not None]
    if len(given) != 1:
        raise typer.BadParameter("one of a file and --config is needed")
    path = given[0]
    if file is None or path.suffix.lower() == ".toml":
        case = study.from_toml(path, error_ratio)
    else:
        case = study.from_file(path, rate, port_map(ports), packages, fext or (), next_ or ())
        case = case if error_ratio is None else replace(case, error_ratio=error_ratio)
    with progress("eye") as report:
        answer = study.run(case, counted, seed, report, pattern, blind)
    columns = {"eye": "eye", "height": "height, outer level 1", "width_ui": "width UI", "state": "state"}
    cancelled = any(row["outcome"] == "cancelled" for row in answer.tables["result"])
    show(
        answer.tables["eye"], columns, f"Openings at an error ratio of {case.error_ratio:g}{', cancelled' if cancelled else ''}"
    )
    finish(answer, out)
    if cancelled:
        raise typer.Exit(INTERRUPTED)


def port_map(ports: str | None) -> Any:
    """The port map written as in+,in-,out+,out-; None where none is stated."""
    from channels.port_map import PortMap

    if ports is None:
        return None
    numbers = [part.strip() for part in ports.split(",")]
    if len(set(numbers)) != 4 or len(numbers) != 4 or not all(part.isdecimal() and int(part) > 0 for part in numbers):
        raise ValueError(
            f"--ports must be four different port numbers in+,in-,out+,out-, counted from 1, for example 1,3,2,4, got {ports!r}"
        )
    a, b, c, d = (int(part) for part in numbers)
    return PortMap(inputs=((a, b),), outputs=((c, d),))
