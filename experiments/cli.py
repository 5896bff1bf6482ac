"""The command ``serdes``: each study as a command that prints a table and writes PNG, CSV and JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from experiments.study import Answer, Progress, Row

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
Out = Annotated[Path, typer.Option("--out", help="Folder for figures and tables.")]


@app.callback()
def root() -> None:
    """Why interconnect bandwidth is set by distance: links from the wire to the reach."""


@app.command()
def reach(
    rate: Annotated[
        list[str] | None, typer.Option(help="Lane rate: 25G, 50G, 100G (112G), 200G (224G); may be repeated.")
    ] = None,
    gauge: Annotated[list[int] | None, typer.Option(help="Wire gauge, AWG; may be repeated.")] = None,
    margin: Annotated[float, typer.Option(help="Margin of slicer SNR over the need of the error ratio, dB.")] = 3.0,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Rank instead what moves the reach, as a tornado plot.")
    ] = False,
    draws: Annotated[
        int, typer.Option(help="With --sensitivity: sets of tolerances to draw for percentiles of the reach.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 1,
    out: Out = Path("out/reach"),
) -> None:
    """Reach of passive twinax by lane rate, gauge and host, beside the tiers of a cluster."""
    if sensitivity:
        _sensitivity(rate, margin, draws, seed, out)
        return
    from experiments.studies import reach as study

    with progress("reach") as report:
        answer = study.run(rate, tuple(gauge) if gauge else study.GAUGES, margin, report)
    columns = {
        "rate": "rate", "symbol_rate_gbd": "GBd", "hosts": "hosts", "gauge_awg": "AWG", "reach_m": "reach m",
        "accepted_m": "accepted m", "shipped_m": "shipped m", "loss_at_nyquist_db": "loss dB", "binding_cause": "binding cause",
        "per_gpu_tb_per_s": "TB/s per GPU", "basis": "basis",
    }  # fmt: skip
    show(answer.tables["reach"], columns, f"Reach of passive twinax, {margin:g} dB margin")
    columns = {
        "cable": "cable", "rate": "rate", "symbol_rate_gbd": "GBd", "hosts": "hosts", "gauge_awg": "AWG", "reach_m": "reach m",
        "shipped_m": "shipped m", "binding_cause": "binding cause", "basis": "basis",
    }  # fmt: skip
    show(answer.tables["active"], columns, "Active cables: ACC has a linear redriver, AEC retimers at both ends")
    effects = {
        "link": "link",
        "gauge_awg": "AWG",
        "change": "change",
        "reach_m": "reach m",
        "ratio": "x",
        "binding_cause": "binding cause",
    }
    first = min(r["gauge_awg"] for r in answer.tables["definitions"])
    show([r for r in answer.tables["definitions"] if r["gauge_awg"] == first], effects, f"What the reach rests on, {first} AWG")
    show(answer.tables["tiers"], {k: k for k in ("tier", "medium", "distance", "bandwidth", "basis")}, "Tiers")
    finish(answer, out)


def _sensitivity(rate: list[str] | None, margin: float, draws: int, seed: int, out: Path) -> None:
    from experiments.studies import sensitivity as study

    with progress("sensitivity") as report:
        answer = study.run(rate or ("112G", "224G"), margin, draws, seed, report)
    columns = {
        "rate": "rate",
        "rank": "rank",
        "factor": "factor",
        "change": "change",
        "reach_m": "reach m",
        "ratio": "x",
        "outcome": "outcome",
    }
    show(answer.tables["sensitivity"], columns, "What moves the reach, 26 AWG")
    if "tolerance" in answer.tables:
        rows = answer.tables["tolerance"]
        show(rows, {key: key for key in rows[0]}, "Reach under tolerances")
    finish(answer, out)


@app.command()
def why(
    rate: Annotated[list[str] | None, typer.Option(help="Lane rate, may be repeated; by default 56G, 112G and 224G.")] = None,
    gauge: Annotated[int, typer.Option(help="Wire gauge, AWG.")] = 26,
    hosts: Annotated[str, typer.Option(help="Host classes at 224G: transmitter-receiver, of HL, HN, HH.")] = "HN-HH",
    out: Out = Path("out/why"),
) -> None:
    """What closes the eye as a cable grows, in which order, and what each equaliser stage buys."""
    from experiments.studies import why as study

    near, dash, far = hosts.partition("-")
    if not dash:
        raise ValueError(f"--hosts must be two classes joined by a dash, for example HN-HH, got {hosts!r}")
    with progress("why") as report:
        answer = study.run(rate or study.RATES, gauge, (near, far), report)
    columns = {
        "rate": "rate", "length_m": "m", "loss_at_nyquist_db": "loss dB", "eye_height": "eye", "snr slicer alone": "slicer",
        "snr CTLE": "+CTLE", "snr CTLE + FFE": "+FFE", "snr CTLE + FFE + DFE": "+DFE", "required_snr_db": "needed",
        "salz": "bound",
    }  # fmt: skip
    show(answer.tables["why"], columns, "Slicer SNR in dB by equaliser stage")
    order = {
        "rate": "rate",
        "reach_m": "reach m",
        "rank": "rank",
        "cause": "cause",
        "snr_gain_db": "gives back dB",
        "share": "share",
    }
    show(answer.tables["order"], order, "What closes the eye at the reach")
    finish(answer, out)


@app.command()
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
    from serdes.setups import setup

    if file.suffix.lower() == ".toml":
        case = study.from_toml(file, error_ratio or setup(rate).error_ratio)
    else:
        case = study.from_file(file, rate, _port_map(ports), packages, fext or (), next_ or ())
        case = replace(case, error_ratio=error_ratio or case.error_ratio)
    with progress("eye") as report:
        answer = study.run(case, counted, seed, report)
    columns = {"eye": "eye", "height": "height", "height_mv": "mV", "width_ui": "width UI", "state": "state"}
    show(answer.tables["eye"], columns, f"Openings at an error ratio of {case.error_ratio:g}")
    finish(answer, out)


def _port_map(ports: str | None) -> Any:
    from channels.port_map import PortMap

    if ports is None:
        return None
    numbers = [part.strip() for part in ports.split(",")]
    if len(numbers) != 4 or not all(part.isdigit() for part in numbers):
        raise ValueError(f"--ports must be four port numbers in+,in-,out+,out-, for example 1,3,2,4, got {ports!r}")
    a, b, c, d = (int(part) for part in numbers)
    return PortMap(inputs=((a, b),), outputs=((c, d),))


def show(rows: Sequence[Row], columns: dict[str, str], title: str) -> None:
    """Print rows as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for key, heading in columns.items():
        numeric = all(isinstance(r.get(key), int | float) for r in rows)
        table.add_column(heading, justify="right" if numeric else "left")
    for r in rows:
        table.add_row(*[_text(r.get(key)) for key in columns])
    Console().print(table)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if value and abs(value) < 1e-2 else f"{value:.2f}".rstrip("0").rstrip(".")
    return "" if value is None else str(value)


def finish(answer: Answer, out: Path) -> None:
    """Print the notes, write the files, say where they are."""
    for note in answer.notes:
        typer.echo(f"- {note}")
    for path in answer.write(out):
        typer.echo(f"wrote {path}")


@contextmanager
def progress(name: str) -> Iterator[Progress]:
    """A progress bar with the time left, on standard error, from the first report on."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=Console(stderr=True)
    )

    def report(done: int, total: int) -> None:
        if not bar.task_ids:
            bar.add_task(name, total=total)
            bar.start()
        bar.update(bar.task_ids[0], completed=done)

    try:
        yield report
    finally:
        bar.stop()


def main() -> None:
    """Run the command; a wrong input is one clear line and exit status 2, not a traceback."""
    try:
        app(standalone_mode=True)
    except (ValueError, OSError) as error:
        typer.echo(f"serdes: {error}", err=True)
        sys.exit(2)
