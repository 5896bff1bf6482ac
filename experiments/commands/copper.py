"""Copper: how far it goes, what ends it, what moves it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.console import Config, Out, finish, progress, show

commands = typer.Typer()


@commands.command()
def reach(
    rate: Annotated[
        list[str] | None, typer.Option(help="Lane rate: 25G, 50G, 100G (112G), 200G (224G); may be repeated.")
    ] = None,
    gauge: Annotated[list[int] | None, typer.Option(help="Wire gauge, AWG; may be repeated, not with --sensitivity.")] = None,
    margin: Annotated[
        float,
        typer.Option(
            help="SNR to spare, dB: the cable ends where the slicer SNR is still so much above what the error ratio needs."
        ),
    ] = 3.0,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Rank instead what moves the reach, as a tornado plot.")
    ] = False,
    draws: Annotated[
        int | None, typer.Option(help="With --sensitivity: sets of tolerances to draw for percentiles of the reach.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the draws, by default 1.")] = None,
    com: Annotated[
        bool, typer.Option("--com", help="Also where COM of P802.3dj falls to 3 dB, by host pair: a minute more.")
    ] = False,
    config: Config = None,
    error_ratio: Annotated[
        float | None, typer.Option(help="With --config: error ratio of a rate that no standard has; by default the standard's.")
    ] = None,
    out: Out = Path("out/reach"),
) -> None:
    """Reach of passive twinax by lane rate, gauge and host, beside the tiers of a cluster."""
    if draws is not None and not sensitivity:
        raise ValueError("--draws counts only with --sensitivity: add it or leave out --draws")
    if seed is not None and not draws:
        raise ValueError("--seed counts only with --draws: add it or leave out --seed")
    if config is not None:
        if rate or gauge or sensitivity or com:
            raise ValueError("--config describes the whole link: leave out --rate, --gauge, --sensitivity and --com")
        _of_link(config, error_ratio, margin, out)
        return
    if error_ratio is not None:
        raise ValueError("--error-ratio goes with --config: the lane rates have their standard's")
    if sensitivity:
        if com:
            raise ValueError("--com does not go with --sensitivity: leave out one of them")
        if gauge and len(gauge) > 1:
            raise ValueError(f"--sensitivity takes one --gauge, got {', '.join(map(str, gauge))}: run it once for each")
        _sensitivity(rate, gauge, margin, draws, seed, out)
        return
    from experiments.studies import reach as study

    with progress("reach") as report:
        answer = study.run(rate, tuple(gauge) if gauge else study.GAUGES, margin, report)
    if com:
        from experiments import com_lines

        with progress("COM") as report:
            answer = study.with_com(
                answer, com_lines.run(study.HOST_PAIRS, tuple(gauge) if gauge else study.GAUGES[:1], report)
            )
    columns = {
        "lane": "lane", "symbol_rate_gbd": "GBd", "hosts": "hosts", "gauge_awg": "AWG", "reach_m": "reach m",
        "accepted_m": "802.3 objective m", "shipped_m": "sold m", "loss_at_nyquist_db": "loss dB", "binding_cause": "binding cause",
        "per_gpu_tb_per_s": "TB/s",
    }  # fmt: skip
    rows = answer.tables["reach"]
    show(
        rows,
        columns,
        f"Reach of passive twinax, {study.need(list(dict.fromkeys(r['lane'].rstrip('*') for r in rows)), margin)}",
    )
    columns = {
        "cable": "cable", "lane": "lane", "symbol_rate_gbd": "GBd", "hosts": "hosts", "gauge_awg": "AWG", "reach_m": "reach m",
        "shipped_m": "sold m", "binding_cause": "binding cause",
    }  # fmt: skip
    show(answer.tables["active"], columns, "Active cables: ACC has a linear redriver, AEC retimers at both ends")
    columns = {
        "module": "module", "lane": "lane", "symbol_rate_gbd": "GBd", "host_loss_db": "host dB", "fibre": "fibre",
        "reach_m": "reach m", "binding_cause": "ended by", "pj_per_bit": "pJ/bit",
    }  # fmt: skip
    if "optics" in answer.tables:
        show(answer.tables["optics"], columns, f"Light, {margin / 2:g} dB of optical margin, which is {margin:g} dB of SNR")
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
    if com:
        lines = {
            "hosts": "hosts",
            "gauge_awg": "AWG",
            "detector": "detector",
            "reach_m": "COM = 3 dB at m",
            "study_m": "this study m",
            "other_m": "PyChOpMarg m",
        }
        show(answer.tables["com"], lines, "Reach by COM of P802.3dj, 200G, beside the reach by error ratio")
    tiers = {k: k for k in ("tier", "medium", "quoted", "simulated")} | {"binding_cause": "ends by", "bandwidth": "bandwidth"}
    show(answer.tables["tiers"], tiers, "Tiers: distance as quoted and as simulated")
    finish(answer, out)


def _of_link(config: Path, error_ratio: float | None, margin: float, out: Path) -> None:
    from experiments.studies import own_link as study

    with progress("reach") as report:
        answer = study.run(config, error_ratio, margin, report)
    columns = {"link": "link", "symbol_rate_gbd": "GBd", "error_ratio": "error ratio", "reach_m": "reach m",
               "outcome": "outcome", "binding_cause": "most error"}  # fmt: skip
    show(answer.tables["reach"], columns, f"Reach, {margin:g} dB margin")
    finish(answer, out)


def _sensitivity(
    rate: list[str] | None, gauge: list[int] | None, margin: float, draws: int | None, seed: int | None, out: Path
) -> None:
    from experiments.studies import sensitivity as study

    awg = gauge[0] if gauge else study.GAUGE
    with progress("sensitivity") as report:
        answer = study.run(rate or ("100G", "200G"), margin, draws or 0, 1 if seed is None else seed, awg, report)
    columns = {
        "rate": "rate",
        "rank": "rank",
        "factor": "factor",
        "change": "change",
        "reach_m": "reach m",
        "ratio": "x",
        "outcome": "outcome",
    }
    show(answer.tables["sensitivity"], columns, f"What moves the reach, {awg} AWG")
    if "tolerance" in answer.tables:
        rows = answer.tables["tolerance"]
        show(rows, {key: key for key in rows[0]}, "Reach under tolerances")
    finish(answer, out)


@commands.command()
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
        "rate": "rate", "length_m": "m", "loss_at_nyquist_db": "loss dB", "eye_height": "eye (outer level 1)", "snr slicer alone": "none",
        "snr CTLE": "+CTLE", "snr CTLE + FFE": "+FFE", "snr CTLE + FFE + DFE": "+DFE", "required_snr_db": "needed",
    }  # fmt: skip
    few = [row for row in answer.tables["why"] if row["length_m"] in (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0)]
    show(few, columns, "Slicer SNR in dB by equaliser stage; all lengths are in why.csv")
    limits = {
        "rate": "rate", "length_m": "m", "snr CTLE + FFE + DFE": "SNR dB", "required_snr_db": "needed", "salz": "Salz bound",
        "shannon_snr_db": "Shannon needs", "capacity_gbps": "capacity Gb/s", "line_rate_gbps": "line Gb/s",
    }  # fmt: skip
    show(few, limits, "What was got beside the bounds (all impairments but the converter)")
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
