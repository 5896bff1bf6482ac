"""What commands print and write: tables, notes, files, progress."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from experiments.study import Answer, Progress, Row


def _folder(path: Path) -> Path:
    """A folder that can't be made or written is an error before the work, not after it: it is tried, and removed again."""
    made: list[Path] = []
    try:
        for folder in (*reversed(path.absolute().parents), path.absolute()):
            if not folder.exists():
                folder.mkdir(exist_ok=True)
                made.append(folder)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as reason:
        raise OSError(f"--out {path}: can't be made or written ({reason.strerror}): name another folder") from reason
    finally:
        for folder in reversed(made):
            with suppress(OSError):  # somebody else has put something there by now
                folder.rmdir()
    return path


Out = Annotated[Path, typer.Option("--out", help="Folder for figures and tables.", callback=_folder)]


INTERRUPTED = 130
"""Exit status of a command that Ctrl-C ended, with what was there written."""


def whole(text: str) -> int:
    """A whole number as people write it: 1000000, 1_000_000 or 1e6."""
    try:
        number = float(text)
        if not number.is_integer():
            raise ValueError
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"must be a whole number, for example 1000000 or 1e6, got {text!r}") from None
    return int(number) if "e" in text.lower() else int(text.partition(".")[0])


_NARROWEST = 14
"""Columns of text are not wrapped below this many characters."""


Config = Annotated[Path | None, typer.Option("--config", help="Take the link from a TOML file, a link or the base of a sweep.")]


def show(rows: Sequence[Row], columns: dict[str, str], title: str) -> None:
    """Print rows as a table; where the terminal is too narrow for all columns, as several, each with the first column."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    roomy = console.width >= 100
    console.print(title, style="italic", highlight=False, markup=False)
    for part in _parts(rows, columns, console.width, 3 if roomy else 1):
        table = Table(padding=(0, 1 if roomy else 0), pad_edge=roomy)
        for key in part:
            numeric, short = _kind(rows, key)
            table.add_column(
                columns[key], justify="right" if numeric else "left", no_wrap=short, overflow="fold",
                min_width=_least(rows, key, columns[key]),
            )  # fmt: skip
        for r in rows:
            table.add_row(*[_cell(r, key) for key in part])
        console.print(table)


def _kind(rows: Sequence[Row], key: str) -> tuple[bool, bool]:
    """Whether a column holds numbers alone, and whether its cells stay on one line."""
    numeric = all(isinstance(r.get(key), int | float) for r in rows)
    return numeric, numeric or all(len(_cell(r, key)) <= 12 for r in rows)


def _cell(row: Row, key: str) -> str:
    return _text(row.get(key), 5 if key.endswith("_gbd") else 2)


def _least(rows: Sequence[Row], key: str, heading: str) -> int:
    """Characters that a column needs: all of short cells and their heading, of longer ones `_NARROWEST`."""
    longest = max((len(_cell(r, key)) for r in rows), default=0)
    return max(longest, len(heading)) if _kind(rows, key)[1] else min(longest, _NARROWEST)


def _parts(rows: Sequence[Row], columns: dict[str, str], width: int, frame: int) -> list[list[str]]:
    """Keys of the columns in as many groups as it takes to fit ``width`` characters; the first key leads each.

    ``frame``: characters around a cell.
    """
    first, *others = columns
    least = {key: frame + _least(rows, key, heading) for key, heading in columns.items()}
    parts, used = [[first]], 1 + least[first]
    for key in others:
        if used + least[key] > width and len(parts[-1]) > 1:
            parts.append([first])
            used = 1 + least[first]
        parts[-1].append(key)
        used += least[key]
    return parts


def _text(value: Any, digits: int = 2) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if value and abs(value) < 1 else f"{value:.{digits}f}".rstrip("0").rstrip(".")
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
