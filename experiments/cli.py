"""The command ``serdes``: each study as a command that prints a table and writes PNG, CSV and JSON."""

from __future__ import annotations

import sys

import typer

from experiments.commands import cluster, coherent, com, copper, files, jitter, optics, sweep, validate

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
for group in (copper, files, jitter, com, optics, coherent, cluster, sweep, validate):
    app.add_typer(group.commands)


@app.callback()
def root() -> None:
    """Why interconnect bandwidth is set by distance: links from the wire to the reach."""


def main() -> None:
    """Run the command; a wrong input is one clear line and exit status 2, not a traceback."""
    try:
        app(standalone_mode=True)
    except (ValueError, OSError) as error:
        typer.echo(f"serdes: {told(error)}", err=True)
        sys.exit(2)


def told(error: Exception) -> str:
    """An error in words: where the system gives but a number and a file, the file, the cause and what to do."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: can't be opened or written ({error.strerror}); check the path"
    return str(error)
