"""Models beside what others computed, measured or published."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from experiments.console import Out, finish, progress, show

commands = typer.Typer()
validate = typer.Typer(no_args_is_help=True, help="Models beside what others computed, measured or published.")
commands.add_typer(validate, name="validate")


def _spaced(names: Iterable[str]) -> dict[str, str]:
    return {name: name.replace("_", " ") for name in names}


@validate.command("tiers")
def validate_tiers(out: Out = Path("out/validate_tiers")) -> None:
    """23 public collective measurements, a training scaling table and published counts beside the model."""
    from experiments.studies import validate_tiers as study

    answer = study.run()
    columns = {
        "point": "", "what": "what", "message_gib": "GiB", "measured_gb_per_s": "measured GB/s", "model_gb_per_s": "model",
        "error_pct": "error %", "error_with_latency_pct": "with latency %", "miss": "miss", "note": "note",
    }  # fmt: skip
    show(answer.tables["collectives"], columns, "Collectives; nothing fitted")
    titles = {"errors": "Mean errors", "scaling": "Megatron-LM scaling; one constant fitted", "counts": "Counts",
              "identities": "Identities"}  # fmt: skip
    for name, title in titles.items():
        show(answer.tables[name], _spaced(answer.tables[name][0]), title)
    finish(answer, out)


@validate.command("com")
def validate_com(
    data: Annotated[Path | None, typer.Option(help="Folder with com_reference.json and channels.")] = None,
    slow: Annotated[bool, typer.Option(help="The full 802.3ck grids too.")] = True,
    out: Out = Path("out/validate_com"),
) -> None:
    """COM channel by channel beside the task force's script and an independent implementation."""
    from experiments.studies import validate_com as study

    with progress("validate com") as report:
        answer = study.run(data, slow, report)
    columns = {
        "tool": "reference", "channel": "channel", "config": "configuration", "case": "case", "COM": "COM", "COM_reference": "theirs",
        "FOM": "FOM", "FOM_reference": "theirs", "As": "A_s", "As_reference": "theirs", "difference_db": "difference dB",
    }  # fmt: skip
    show(answer.tables["com"], columns, "COM, ours and theirs")
    show(answer.tables["details"], study.DETAILS, "The same runs: CTLE gains, COM of the DFE, VEC and VEO")
    finish(answer, out)


@validate.command("all")
def validate_all(
    only: Annotated[
        list[str] | None, typer.Option(help="Subject: copper, parts, link, com, optics, coherent, cluster.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Also write the page of the documentation here.")] = None,
    out: Out = Path("out/validate_all"),
) -> None:
    """Every comparison with a reference: ours, theirs, the difference, what is allowed. Status 1 when one lies outside."""
    from experiments.studies import validate_all as study

    with progress("validate all") as report:
        answer = study.run(only, report)
    columns = {
        "what": "what", "unit": "", "ours": "ours", "reference_low": "reference", "difference": "difference",
        "allowed": "allowed", "verdict": "verdict",
    }  # fmt: skip
    show(answer.tables["comparisons"], columns, "Ours and theirs")
    finish(answer, out)
    if page is not None:
        typer.echo(f"wrote {study.write(page, answer)}")
    outside = study.failures(answer)
    for what in outside:
        typer.echo(f"outside: {what}", err=True)
    if outside:
        raise typer.Exit(1)
