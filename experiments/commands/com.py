"""Channel Operating Margin, and our COM beside other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.commands.files import port_map
from experiments.console import Config, Out, finish, progress, show

commands = typer.Typer()
COLUMNS = {
    "case": "case", "verdict": "verdict", "com_db": "COM dB", "com_dfe_db": "COM of DFE alone, dB", "mlsd_db": "MLSD adds dB", "vec_db": "VEC dB",
    "veo_mv": "VEO mV", "A_s_mv": "A_s mV", "A_ni_mv": "A_ni mV", "fom_db": "FOM dB", "equaliser": "equaliser",
}  # fmt: skip


@commands.command()
def com(
    thru: Annotated[
        Path | None,
        typer.Argument(
            help="Touchstone file of the through path, ball to ball (or test point to test point); or a link in TOML."
        ),
    ] = None,
    config: Config = None,
    fext: Annotated[list[Path] | None, typer.Option(help="Far-end crosstalk file; may be repeated.")] = None,
    next_: Annotated[list[Path] | None, typer.Option("--next", help="Near-end crosstalk file; may be repeated.")] = None,
    standard: Annotated[
        str | None,
        typer.Option(
            help="Parameter set: 802.3ck-kr, -cr, -c2c, -c2m, 802.3dj-kr, ...; or a .toml, .xlsx or .xls file. "
            "By default 802.3ck-kr, or that of the link's rate."
        ),
    ] = None,
    case: Annotated[list[str] | None, typer.Option(help="Test case by name; may be repeated; all by default.")] = None,
    ports: Annotated[
        str | None, typer.Option(help="Port order in+,in-,out+,out-, counted from 1; by default found in the data.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print every number as JSON and nothing else.")] = False,
    out: Out = Path("out/com"),
) -> None:
    """Channel Operating Margin: verdict, equaliser, and why."""
    from experiments.studies import com as study

    if (thru is None) == (config is None):
        raise typer.BadParameter("one of a through file and --config is needed")
    if thru is not None and thru.suffix.lower() == ".toml":
        thru, config = None, thru
    with progress("com") as report:
        if thru is not None:
            name, standard = thru.stem, standard or "802.3ck-kr"
            answer = study.run(thru, fext or (), next_ or (), standard, case, port_map(ports), report)
        else:
            name, standard, answer = _of_link(config, fext or next_ or ports, standard, case, report)
    if json_:
        typer.echo(answer.texts["com.json"], nl=False)
        answer.write(out)
        return
    rows = answer.tables["com"]
    show(
        rows,
        {k: v for k, v in COLUMNS.items() if any(r.get(k) not in (None, "") for r in rows)},
        f"COM of {name} by {standard}",
    )
    why = {
        "cause": "impairment",
        "rms_mv": "rms mV",
        "share": "share",
        "com_dfe_without_db": "COM without it, DFE alone, dB",
        "for_one_db": "for 1 dB more COM it must be lower by dB",
    }
    show(
        answer.tables["equaliser"],
        {"case": "case", "part": "part", "setting": "setting"},
        "Chosen equaliser; taps by place [UI]",
    )
    for name, table in answer.tables.items():
        if name.startswith("why"):
            show(table, why, f"Case {name.removeprefix('why_')}: what is in the way")
    finish(answer, out)


def _of_link(config: Any, beside: Any, standard: str | None, case: list[str] | None, report: Any) -> tuple[str, str, Any]:
    """(name, parameter set, answer) of a link in a file, from package to package, with its own crosstalk."""
    from experiments.studies import com as study
    from experiments.studies import own_link

    if beside:
        raise ValueError("--fext, --next and --ports go with a through file, not with a link in TOML")
    channel, of_rate = own_link.com_channel(config)
    chosen = standard or of_rate
    if not chosen:
        raise ValueError(f"{config}: no parameter set has the symbol rate of this link: state --standard")
    return channel.name, chosen, study.answer(study.measure(study.parameter_set(chosen), channel, case, report))
