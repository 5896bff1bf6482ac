"""The cluster that wires make possible: tiers, collectives, domains, paths, and how far off the models are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from experiments.console import Out, finish, progress, show

commands = typer.Typer()


def _spaced(names: Iterable[str]) -> dict[str, str]:
    return {name: name.replace("_", " ") for name in names}


@commands.command()
def tiers(out: Out = Path("out/tiers")) -> None:
    """Distance, bandwidth, energy and latency of each interconnect of a cluster, copper's reach from its simulation."""
    from experiments.studies import tiers as study

    with progress("tiers") as report:
        answer = study.run(report)
    columns = {
        "interconnect": "interconnect", "low_m": "from m", "high_m": "quoted m", "reach_m": "simulated m", "binding_cause": "binding cause",
        "lanes": "lanes", "symbol_rate_gbd": "GBd", "modulation": "mod.", "one_way_gb_per_s": "GB/s one way",
        "usable_gb_per_s": "usable", "both_ways_gb_per_s": "both ways", "energy_pj_per_bit": "pJ/bit",
        "energy_basis": "energy is",
    }  # fmt: skip
    show(answer.tables["tiers"], columns, "Interconnects by distance")
    more = {
        "interconnect": "interconnect", "latency": "latency", "latency_basis": "latency is", "fec_wait_ns": "code ns",
        "flight_ns": "flight ns", "edge_gb_per_s_per_mm": "GB/s/mm one way", "edge_basis": "edge is", "code": "raw BER, code",
    }  # fmt: skip
    show(answer.tables["tiers"], more, "Latency, edge and code")
    expected = {"interconnect": "interconnect", "expected_distance": "distance", "expected_bandwidth": "as quoted",
                "model_tb_per_s": "model TB/s", "ratio": "ratio"}  # fmt: skip
    show(answer.tables["expected"], expected, "Beside the tiers as usually quoted")
    package = ("interconnect", "wire", "symbol_rate_gbd", "length_mm", "eye", "closed_by_isi", "closed_by_crosstalk", "asked_for",
               "reach_mm")  # fmt: skip
    show(answer.tables["in_package"], _spaced(package), "Worst eye of the wires in the package, of the swing")
    domains = ("rate", "cable", "hosts", "reach_m", "racks", "gpus", "gpus_one_tier_of_72_ports", "basis")
    show(answer.tables["copper_domain"], _spaced(domains), "GPUs that copper joins")
    least = {"length_m": "m"} | {f"{r}{s}": f"{r}{s}" for r in study.RATES for s in ("", " without CPO")}
    show(answer.tables["least_energy"], least, "Medium of least energy by length and lane rate")
    show(answer.tables["nvl72"], _spaced(("count", "value", "published", "basis")), "NVL72")
    optics = ("gpus", "host_to_leaf", "tiers", "switches", "links", "transceivers", "w_per_gpu")
    show(answer.tables["optics"], _spaced(optics), "Optics of the network outside the racks")
    finish(answer, out)


@commands.command()
def allreduce(
    rate: Annotated[str, typer.Option(help="Lane rate of the scale-up copper: 56G, 112G, 224G, ...")] = "224G",
    gpu: Annotated[str, typer.Option(help="GPU: A100, H100, H200, B200, GB200.")] = "B200",
    parameters: Annotated[float, typer.Option(help="Parameters of the model.")] = 70e9,
    batch: Annotated[float, typer.Option(help="Tokens a step over all GPUs.")] = 4.19e6,
    tokens: Annotated[float, typer.Option(help="Tokens a step per GPU, for the second pair of curves.")] = 4096,
    mfu: Annotated[float, typer.Option(help="Share of dense bf16 that the kernels reach.")] = 0.5,
    nccl_tests: Annotated[Path | None, typer.Option("--nccl-tests", help="Log of nccl-tests to draw beside the model.")] = None,
    ranks: Annotated[int | None, typer.Option(help="GPUs of the log, where it does not tell.")] = None,
    gpu_of_log: Annotated[str | None, typer.Option("--gpu-of-log", help="GPU of the log, where its name is not known.")] = None,
    out: Out = Path("out/allreduce"),
) -> None:
    """Communication over compute against the number of GPUs, the worked example, and your own nccl-tests log."""
    from experiments.nccl_log import read
    from experiments.studies import allreduce as study

    log = read(nccl_tests, ranks) if nccl_tests is not None else None
    load = study.Workload(parameters=parameters, batch=batch, tokens=tokens, mfu=mfu)
    answer = study.run(rate, gpu, load, log, platform_of_log=gpu_of_log)
    example = {"case": "case", "seconds": "s", "volume_gb": "GB per GPU",
               "tokens_per_gpu_where_equal": "tokens per GPU where equal", "remark": "remark"}  # fmt: skip
    show(answer.tables["example"], example, "One all-reduce over 1,024 GPUs")
    ratio = {"system": "system", "gpus": "GPUs", "compute_s": "compute s", "all_reduce_s": "all-reduce s", "ratio": "ratio",
             "exposed_over_compute": "exposed", "step_mfu": "step MFU"}  # fmt: skip
    show(answer.tables["ratio"], ratio, "Communication over compute, without and with overlap")
    show(answer.tables["walls"], _spaced(answer.tables["walls"][0]), "Tokens per GPU below which a wall is met")
    show(answer.tables["parallelism"], _spaced(answer.tables["parallelism"][0]), "What each kind of parallelism sends")
    show(answer.tables["roofline"], _spaced(answer.tables["roofline"][0]), "Memory roofline")
    lost = ("margin_spent_db", "pre_fec_ber", "frame_loss", "p_any_retry_in_step", "bandwidth_selective")
    show(answer.tables["retries"], _spaced(lost), "Lost frames of the simulated link, by margin used up")
    if log is not None:
        columns = [name for name in answer.tables["measured"][0] if name != "size_mib"]
        show(answer.tables["measured"], _spaced(columns), "Measured beside modelled")
    finish(answer, out)


@commands.command()
def domain(
    gpus: Annotated[int, typer.Option(help="GPUs of the all-reduce.")] = 4096,
    group: Annotated[int, typer.Option(help="GPUs of the all-to-all.")] = 256,
    exchange: Annotated[float, typer.Option(help="Bytes per GPU of the all-to-all, GB.")] = 1.0,
    radix: Annotated[int | None, typer.Option(help="Ports of a scale-up switch, to bound the domain.")] = None,
    out: Out = Path("out/domain"),
) -> None:
    """All-reduce and all-to-all by lane rate and domain size: where is the optimum?"""
    from dsp.units import GB
    from experiments.studies import domain as study

    with progress("domain") as report:
        answer = study.run(gpus, group, exchange * GB, radix=radix, progress=report)
    columns = {
        "rate": "rate", "cable": "cable", "hosts": "hosts", "reach_m": "reach m", "binding_cause": "binding cause", "domain_gpus": "GPUs",
        "bound": "bound", "up_gb_per_s": "GB/s", "all_reduce_ring_s": "all-reduce s", "all_to_all_ms": "all-to-all ms",
        "exchange_that_leaves": "leaves", "basis": "basis",
    }  # fmt: skip
    show(answer.tables["domain"], columns, "The largest domain of each cable")
    finish(answer, out)


@commands.command()
def path(
    start: Annotated[int, typer.Argument(help="GPU that reads, from 0.")] = 4071,
    stop: Annotated[int, typer.Argument(help="GPU that writes, from 0.")] = 88213,
    gpus: Annotated[int, typer.Option(help="GPUs of the cluster.")] = 131_072,
    radix: Annotated[int, typer.Option(help="Ports of a scale-out switch.")] = 144,
    out: Out = Path("out/path"),
) -> None:
    """From one GPU to another hop by hop, latency and energy summed."""
    from experiments.paths import Cluster
    from experiments.studies import path as study

    answer = study.run(start, stop, Cluster(gpus=gpus, radix=radix))
    columns = {"hop": "hop", "medium": "medium", "length_m": "m", "latency_us": "us", "energy_pj_per_bit": "pJ/bit",
               "latency_so_far_us": "us so far", "energy_so_far_pj_per_bit": "pJ/bit so far", "basis": "basis"}  # fmt: skip
    show(answer.tables["path"], columns, f"GPU {start} to GPU {stop}")
    show(answer.tables["compared"], _spaced(answer.tables["compared"][0]), "And to nearer GPUs")
    finish(answer, out)
