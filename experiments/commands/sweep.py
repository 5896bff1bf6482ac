"""Sweeps described in a file, and the report of all studies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.console import INTERRUPTED, Out, progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from experiments.sweep import State

commands = typer.Typer()


@commands.command()
def sweep(
    study: Annotated[Path, typer.Argument(help="A TOML file: link or set-up, axes, outputs, plots.")],
    store: Annotated[
        Path | None, typer.Option(help="SQLite file that keeps results; by default sweep.db in the output folder.")
    ] = None,
    changed: Annotated[
        str, typer.Option(help="When code or description have changed since the store was written: refuse, redo or keep.")
    ] = "refuse",
    retry: Annotated[bool, typer.Option("--retry", help="Compute failed points again.")] = False,
    workers: Annotated[int | None, typer.Option(help="Processes; by default as many as cores.")] = None,
    out: Out = Path("out/sweep"),
) -> None:
    """Run a sweep described in a file; a second run goes on where the first stopped."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from experiments import coherent_point, link_point, sweep_file
    from experiments import dataset as files
    from experiments.executors import Here, worker_start
    from experiments.study import save
    from experiments.sweep import sweep as run

    wanted = sweep_file.read(study)
    out.mkdir(parents=True, exist_ok=True)
    executor: Any = None
    if workers == 1:
        executor = Here()
    elif workers is not None:
        if workers < 1:
            raise ValueError(f"--workers must be 1 or more, got {workers}")
        executor = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=worker_start)
    try:
        with _bar(wanted.name) as report:
            found = run(
                wanted.point, wanted.axes, executor, store or out / "sweep.db", seed=wanted.seed, units=coherent_point.UNITS | link_point.UNITS | dict(wanted.units),
                description=wanted.description, changed=changed, retry=retry, progress=report,
            )  # fmt: skip
    finally:
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)
    _summary(found)
    written = [files.to_netcdf(found, out / "sweep.nc"), *files.to_csv(found, out / "sweep.csv")]
    for plot in wanted.plots:
        written += save(sweep_file.draw(found, plot), out / plot.name)
    for path in written:
        typer.echo(f"wrote {path}")
    if found.attrs["cancelled"] == "true":
        typer.echo("cancelled: the same command goes on where this one stopped")
        raise typer.Exit(INTERRUPTED)


def _summary(found: Any) -> None:
    import json

    import numpy as np

    names, counts = np.unique(found["status"].values, return_counts=True)
    typer.echo(", ".join(f"{n} {name}" for name, n in zip(names.tolist(), counts.tolist(), strict=True)))
    for notice in json.loads(found.attrs["notices"]):
        typer.echo(f"- {notice}")
    errors, counts = np.unique(found["error"].values, return_counts=True)
    failures = sorted(((n, e) for e, n in zip(errors.tolist(), counts.tolist(), strict=True) if e), reverse=True)
    for n, error in failures[:5]:
        typer.echo(f"- {n} x {error}")


@contextmanager
def _bar(name: str) -> Iterator[Callable[[State], None]]:
    """Progress with rate, time left and failures, on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[more]}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None, more="")

        def report(state: State) -> None:
            left = "" if state.eta == float("inf") else f", {state.eta:.0f} s left"
            failed = f", {state.failed} failed" if state.failed else ""
            resumed = f", {state.resumed} from the store" if state.resumed else ""
            bar.update(task, total=state.total, completed=state.done, more=f"{state.rate:.3g}/s{left}{failed}{resumed}")

        yield report


@commands.command()
def report(
    out: Out = Path("out/report"),
    quick: Annotated[bool, typer.Option("--quick", help="Toy sizes: the whole page in under a minute.")] = False,
    only: Annotated[list[str] | None, typer.Option(help="Name of a study; may be repeated. By default all.")] = None,
) -> None:
    """Run every study and write one page: question, answer, figure, numbers, method, how to reproduce it."""
    from experiments.registry import studies
    from experiments.report import write

    chosen = studies(only)
    with progress("report") as bar:
        page = write(out, chosen, quick, bar)
    typer.echo(f"wrote {page}")
