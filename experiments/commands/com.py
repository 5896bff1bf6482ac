"""Channel Operating Margin, and our COM beside other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.files import port_map
from experiments.console import Out, finish, progress, show

commands = typer.Typer()
COLUMNS = {
    "case": "case", "verdict": "verdict", "com_db": "COM dB", "com_dfe_db": "of the DFE", "mlsd_db": "MLSD", "vec_db": "VEC dB",
    "veo_mv": "VEO mV", "A_s_mv": "A_s mV", "A_ni_mv": "A_ni mV", "fom_db": "FOM dB", "equaliser": "equaliser",
}  # fmt: skip


@commands.command()
def com(
    thru: Annotated[
        Path, typer.Argument(help="Touchstone file of the through path, ball to ball (or test point to test point).")
    ],
    fext: Annotated[list[Path] | None, typer.Option(help="Far-end crosstalk file; may be repeated.")] = None,
    next_: Annotated[list[Path] | None, typer.Option("--next", help="Near-end crosstalk file; may be repeated.")] = None,
    standard: Annotated[
        str, typer.Option(help="Parameter set: 802.3ck-kr, -cr, -c2c, -c2m, 802.3dj-kr, ...; or a .toml, .xlsx or .xls file.")
    ] = "802.3ck-kr",
    case: Annotated[list[str] | None, typer.Option(help="Test case by name; may be repeated; all by default.")] = None,
    ports: Annotated[
        str | None, typer.Option(help="Port order in+,in-,out+,out-, counted from 1; by default found in the data.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print every number as JSON and nothing else.")] = False,
    out: Out = Path("out/com"),
) -> None:
    """Channel Operating Margin: verdict, equaliser, and why."""
    from experiments.studies import com as study

    with progress("com") as report:
        answer = study.run(thru, fext or (), next_ or (), standard, case, port_map(ports), report)
    if json_:
        typer.echo(answer.texts["com.json"], nl=False)
        answer.write(out)
        return
    rows = answer.tables["com"]
    show(
        rows,
        {k: v for k, v in COLUMNS.items() if any(r.get(k) not in (None, "") for r in rows)},
        f"COM of {thru.stem} by {standard}",
    )
    why = {
        "cause": "impairment",
        "rms_mv": "rms mV",
        "share": "share",
        "com_dfe_without_db": "COM of the DFE without it",
        "for_one_db": "1 dB more takes dB less",
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
