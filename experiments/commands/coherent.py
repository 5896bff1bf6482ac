"""Coherent light: where it begins, and what it lives on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.console import Out, finish, progress, show

commands = typer.Typer()


@commands.command()
def dci(
    module: Annotated[
        list[str] | None, typer.Option(help="400ZR, OpenZR+, 800ZR, 800LR; may be repeated; all by default.")
    ] = None,
    osnr: Annotated[float, typer.Option(help="OSNR of the signal run whose stages are drawn, dB in 0.1 nm.")] = 22.0,
    seed: Annotated[int, typer.Option(help="Seed of the signal run.")] = 1,
    out: Out = Path("out/dci"),
) -> None:
    """Where intensity modulation ends and coherent begins; margin by spans, best launch power, energy, receiver stages."""
    from experiments.studies import dci as study

    with progress("dci") as report:
        answer = study.run(module or study.NAMES, osnr, seed, progress=report)
    lanes = {
        "kind": "lane",
        "reach_km": "km",
        "limit": "limit",
        "power_alone_km": "loss alone",
        "dispersion_alone_km": "dispersion alone",
    }
    show(answer.tables["lanes"], lanes, "Intensity modulation, direct detection: reach in km")
    reach = {
        "module": "module", "symbol_rate_gbd": "GBd", "required_osnr_db": "OSNR dB", "amplified_reach_km": "ideal km",
        "specified_reach_km": "km", "unamplified_km": "bare km", "dispersion_km": "dispersion km", "pj_per_bit": "pJ/bit",
        "code_latency_us": "code us", "flight_us_at_80_km": "80 km us",
    }  # fmt: skip
    show(answer.tables["dci"], reach, "Coherent modules, one span; energy of one module")
    budget = {
        "module": "module", "code": "code", "threshold": "BER before it", "launch_dbm": "launch dBm", "receive_dbm": "receive dBm",
        "bare_launch_dbm": "bare launch", "bare_receive_dbm": "bare receive", "dispersion_ps_per_nm": "ps/nm", "dgd_ps": "DGD ps",
    }  # fmt: skip
    show(answer.tables["dci"], budget, "What they promise (sources: serdes/standards/coherent.toml)")
    finish(answer, out)
