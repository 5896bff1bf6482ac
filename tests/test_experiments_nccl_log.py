"""The table of nccl-tests: as printed, behind launchers' prefixes, cut short, and fitted."""

from dataclasses import replace

import numpy as np
import pytest

from dsp.units import GB, byte, us
from experiments.nccl_log import NcclLog, fit, parse, read
from experiments.platforms import platform
from experiments.studies import allreduce
from experiments.studies.nccl_tests import measured, model_time
from experiments.systems import Wire

HEAD = """\
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
RACKS = (
    "#  Rank 1439 Group  0 Pid  21082 on host-073 device  3 [0x01] NVIDIA GB200\n"
    + HEAD
    + """\
   536870912     134217728     float     sum      -1   7108.4   75.53  150.95      0   7145.8   75.13  150.16      0
  8589934592    2147483648     float     sum      -1    45004  190.87  381.48      0    44930  191.19  382.11      0
 17179869184    4294967296     float     sum      -1    84625  203.01  405.74      0    84828  202.53  404.77      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 297.808
"""
)
"""Rows of the 20-rack run, coreweave/nccl-tests README @cb86553."""


def table(latency, bandwidth, ranks=8, sizes=tuple(2**k for k in range(20, 35, 2)), prefix=""):
    lines = [
        f"{prefix}#  Rank  {r} Group  0 Pid 1 on node{r // 8} device  {r % 8} [0x1b] NVIDIA H100 80GB HBM3"
        for r in range(ranks)
    ]
    lines += [prefix + line for line in HEAD.splitlines()]
    for size in sizes:
        t = latency + 2 * (ranks - 1) / ranks * size * byte / bandwidth
        algbw = size * byte / t / GB
        cells = f"{t / us:.2f} {algbw:.4f} {algbw * 2 * (ranks - 1) / ranks:.4f}"
        lines.append(f"{prefix}  {size} {size // 4} float sum -1 {cells} 0 {cells} N/A")
    return "\n".join(lines)


def test_rows_as_printed():
    log = parse(RACKS)
    assert (log.collective, log.ranks, log.hosts, log.device) == ("all-reduce", 1440, 1, "NVIDIA GB200")
    assert log.platform == "GB200"
    last = log.rows[-1]
    assert last.size == 2**34 * byte
    assert last.time == pytest.approx(84625 * us)
    assert last.busbw == pytest.approx(405.74 * GB)
    assert last.in_place_busbw == pytest.approx(404.77 * GB)


def test_intercept_of_the_20_rack_run():
    """The two largest sizes: 5.38 ms, 1.87 us a ring step, a plateau of 433 GB/s."""
    found = fit(parse(RACKS), largest=2)
    assert found.latency == pytest.approx(5.38e-3, rel=2e-3)
    assert found.hop == pytest.approx(1.87 * us, rel=2e-3)
    assert found.bandwidth == pytest.approx(433 * GB, rel=2e-3)


@pytest.mark.parametrize(
    "prefix", ["", "[1,0]<stdout>:", "[1,0]<stdout>: ", "(head, rank=0, pid=3388) [1,0]<stdout>:", "12:00:01 "]
)
def test_a_fit_finds_what_made_the_table(prefix):
    log = parse(table(80 * us, 370 * GB, 16, prefix=prefix))
    assert (log.ranks, log.hosts, log.platform) == (16, 2, "H100")
    found = fit(log)
    assert found.latency == pytest.approx(80 * us, rel=1e-3)
    assert found.bandwidth == pytest.approx(370 * GB, rel=1e-3)
    assert found.hop == pytest.approx(80 * us / 30, rel=1e-3)
    assert found.worst < 1e-3


def test_a_fitted_latency_is_not_negative():
    text = table(80 * us, 370 * GB)
    log = parse(text)
    faster = tuple(replace(r, time=r.time * (0.5 if r is log.rows[0] else 1)) for r in log.rows)
    assert fit(replace(log, rows=faster)).latency >= 0


def test_older_columns_and_grouped_digits():
    text = "  size  time algbw busbw\n 1_073_741_824 8203.9 130.88 229.04\n 17_179_869_184 127997 134.22 234.89\n"
    log = parse(text, ranks=8)
    assert [r.size for r in log.rows] == [2**30 * byte, 2**34 * byte]
    assert log.rows[0].in_place_time is None
    with pytest.raises(ValueError, match="no in-place"):
        log.series(in_place=True)
    assert fit(log).bandwidth == pytest.approx(235 * GB, rel=0.01)


@pytest.mark.parametrize(
    ("program", "collective"),
    [
        ("alltoall_perf", "all-to-all"),
        ("reduce_scatter_perf", "reduce-scatter"),
        ("reduce_perf", "reduce"),
        ("all_reduce_perf", "all-reduce"),
    ],
)
def test_the_program_names_the_collective(program, collective):
    assert parse(f"# Collective test starting: {program}\n{RACKS}").collective == collective


def test_the_ratio_names_the_collective():
    gather = "  size  time algbw busbw\n 17179869184 41594.9 413.02 361.4\n"
    assert parse(gather, ranks=8).collective == "all-gather"
    assert parse(gather, ranks=8, collective="reduce-scatter").collective == "reduce-scatter"
    with pytest.raises(ValueError, match="give collective or ranks"):
        parse(gather, ranks=3)


def test_from_a_file(tmp_path):
    path = tmp_path / "run.log"
    path.write_bytes(RACKS.encode() + b"\xff\n")
    assert read(path).ranks == 1440
    with pytest.raises(OSError, match="missing"):
        read(tmp_path / "missing.log")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "no table"),
        ("hello\nworld\n", "no table"),
        (HEAD, "no row"),
        (RACKS.replace("# ", "", 1).split("device")[0] + "\n" + HEAD + " 8 2 float sum -1 1 1 1 0 1 1 1 0\n", "number of GPUs"),
        (
            RACKS.replace("381.48      0    44930  191.19  382.11      0", "381.48"),
            r"line 6: a row must have 13 columns, got 8",
        ),
        (RACKS.replace("45004", "abc"), "line 6: time and busbw must be numbers"),
    ],
)
def test_bad_logs(text, match):
    with pytest.raises(ValueError, match=match):
        parse(text)


def test_a_fit_needs_two_sizes_and_growing_times():
    log = parse(table(80 * us, 370 * GB, sizes=(2**30,)))
    with pytest.raises(ValueError, match="two message sizes"):
        fit(log)
    with pytest.raises(ValueError, match="largest"):
        fit(parse(RACKS), largest=9)
    log = parse(RACKS)
    falling = tuple(replace(r, time=t) for r, t in zip(log.rows, (0.3, 0.2, 0.1), strict=True))
    with pytest.raises(ValueError, match="no bandwidth"):
        fit(replace(log, rows=falling))


@pytest.mark.parametrize(("field", "value"), [("collective", "gossip"), ("ranks", 1), ("hosts", 0), ("rows", ())])
def test_bad_values(field, value):
    with pytest.raises(ValueError, match=f"NcclLog.{field}"):
        replace(parse(RACKS), **{field: value})


def test_beside_the_model():
    log = parse(table(60 * us, 365 * GB))
    rows, found = measured(log, platform("H100"))
    assert len(rows) == len(log.rows)
    assert found.bandwidth == pytest.approx(365 * GB, rel=0.01)
    assert rows[-1]["model"] == "in-switch"
    assert rows[-1]["model_gb_per_s"] == pytest.approx(490, rel=0.01)
    plain, _ = measured(log, None)
    assert "model_gb_per_s" not in plain[0]


def test_the_model_takes_the_quickest_way():
    log = NcclLog(collective="all-reduce", ranks=8, hosts=1, device="H100", rows=parse(RACKS).rows)
    small, large = (model_time(log, platform("H100"), size) for size in (1e5, 1e11))
    assert small[1] == "ring, LL"
    assert large[1] == "in-switch"
    assert np.isclose(large[0], (1 + 1 / 8) * 1e11 / (0.85 * 370.8 * GB), rtol=1e-3)


def test_the_study_takes_a_log(monkeypatch):
    wire = Wire(rate="200G", reach=1.45, binding="thermal", domain=72, up=721.8 * GB)
    monkeypatch.setattr(allreduce, "wire", lambda rate, radix: wire)
    answer = allreduce.run(log=parse(RACKS))
    assert len(answer.tables["measured"]) == 3
    assert any("ring step" in note for note in answer.notes)
    figure = answer.figures["measured"]()
    assert figure.axes[0].get_ylabel() == "bus bandwidth [GB/s]"
