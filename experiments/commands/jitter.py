"""Jitter tolerance of a receiver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.console import Out, finish, progress, show

commands = typer.Typer()


@commands.command()
def jtol(
    file: Annotated[
        Path | None, typer.Argument(help="A Touchstone file, or a link in TOML, instead of the standard's twinax.")
    ] = None,
    rate: Annotated[str, typer.Option(help="Lane rate: 56G, 112G, 224G ...")] = "112G",
    length: Annotated[float, typer.Option(help="Length of twinax, m.")] = 1.0,
    target: Annotated[float | None, typer.Option(help="Symbol error ratio; the standard's by default.")] = None,
    bandwidth: Annotated[float | None, typer.Option(help="Noise bandwidth of the clock loop, Hz.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the runs.")] = 1,
    out: Out = Path("out/jtol"),
) -> None:
    """Sinusoidal jitter a receiver tolerates against frequency, with the standard's mask and the loop's prediction."""
    from experiments.studies import jtol as study

    with progress("jtol") as report:
        answer = study.run(study.case(rate, length, target, bandwidth, file), seed=seed, progress=report)
    columns = {
        "frequency_mhz": "MHz", "tolerated_ui": "UI pp", "mask_ui": "mask", "predicted_ui": "predicted", "margin": "margin",
        "limit": "limit",
    }  # fmt: skip
    show(answer.tables["jtol"], columns, "Sinusoidal jitter tolerated")
    finish(answer, out)
