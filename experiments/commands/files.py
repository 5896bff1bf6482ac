"""Somebody's own channel files: what is in them, and the eye behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.console import Out, finish, progress, show

commands = typer.Typer()


@commands.command()
def channel(
    file: Annotated[list[Path], typer.Argument(help="Touchstone files (.s4p, .s2p, .sNp, .ts), or folders of them.")],
    rate: Annotated[str | None, typer.Option(help="Lane rate of the pulse; by default the highest the data allow.")] = None,
    ports: Annotated[
        str | None, typer.Option(help="Port order in+,in-,out+,out-, counted from 1; by default found in the data.")
    ] = None,
    ieee370: Annotated[bool, typer.Option("--ieee370", help="Also the quality figures of IEEE 370 (scikit-rf).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print files, findings and failures as JSON; write nothing.")] = False,
    out: Out = Path("out/channel"),
) -> None:
    """What is in a channel file: import report, losses, mode conversion, impedance profile, pulse."""
    from experiments.studies import channel as study

    with progress("channel") as report:
        answer = study.run(file, rate, port_map(ports), ieee370, report)
    if as_json:
        typer.echo(study.to_json(answer))
    else:
        columns = {
            "name": "file", "kind": "kind", "f_max_ghz": "GHz", "delay_ns": "delay ns", "symbol_rate_gbd": "GBd",
            "loss_at_nyquist_db": "loss dB", "pulse_peak_mv_per_v": "pulse mV/V", "impedance_left_ohm": "Z in",
            "impedance_right_ohm": "Z out", "findings": "findings",
        }  # fmt: skip
        show(answer.tables["files"], columns, "Channel files")
        finish(answer, out)
    if answer.tables["failures"]:
        raise typer.Exit(1)


@commands.command()
def eye(
    file: Annotated[Path, typer.Argument(help="A Touchstone file (.s4p, .s2p, .ts), or a link in TOML.")],
    rate: Annotated[str, typer.Option(help="Lane rate whose transmitter and receiver are used: 56G, 112G, 224G, ...")] = "112G",
    ports: Annotated[
        str | None, typer.Option(help="Port order in+,in-,out+,out-, counted from 1; by default found in the data.")
    ] = None,
    packages: Annotated[bool, typer.Option(help="Put the standard's die and package at both ends.")] = True,
    fext: Annotated[list[Path] | None, typer.Option(help="Far-end crosstalk file; may be repeated.")] = None,
    next_: Annotated[list[Path] | None, typer.Option("--next", help="Near-end crosstalk file; may be repeated.")] = None,
    counted: Annotated[
        int | None,
        typer.Option(help="Count errors over so many symbols, clock loop closed, instead of the statistical engine."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the counted run.")] = 1,
    error_ratio: Annotated[
        float | None, typer.Option(help="Error ratio the eye is judged by; by default the standard's.")
    ] = None,
    out: Out = Path("out/eye"),
) -> None:
    """The equalised eye of a channel file, or of a link described in TOML."""
    from dataclasses import replace

    from experiments.studies import eye as study

    if file.suffix.lower() == ".toml":
        case = study.from_toml(file, error_ratio)
    else:
        case = study.from_file(file, rate, port_map(ports), packages, fext or (), next_ or ())
        case = replace(case, error_ratio=error_ratio or case.error_ratio)
    with progress("eye") as report:
        answer = study.run(case, counted, seed, report)
    columns = {"eye": "eye", "height": "height, outer level 1", "width_ui": "width UI", "state": "state"}
    show(answer.tables["eye"], columns, f"Openings at an error ratio of {case.error_ratio:g}")
    finish(answer, out)


def port_map(ports: str | None) -> Any:
    """The port map written as in+,in-,out+,out-; None where none is stated."""
    from channels.port_map import PortMap

    if ports is None:
        return None
    numbers = [part.strip() for part in ports.split(",")]
    if len(numbers) != 4 or not all(part.isdigit() for part in numbers):
        raise ValueError(f"--ports must be four port numbers in+,in-,out+,out-, for example 1,3,2,4, got {ports!r}")
    a, b, c, d = (int(part) for part in numbers)
    return PortMap(inputs=((a, b),), outputs=((c, d),))
