import csv
import dataclasses
import json
import math
import operator
import os
import struct
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from dsp.units import TB, Gbps
from experiments import cli
from experiments.parallel import run_all
from experiments.studies import reach as reach_study
from experiments.studies import sensitivity as sensitivity_study
from experiments.studies import why as why_study
from experiments.studies.sensitivity import Scenario
from experiments.study import Answer, silent, write_csv
from experiments.tiers import TIERS, Tier, scale_up_bandwidth
from serdes.setups import setup

AWKWARD = "Größen, 2 m"
"""A folder with a blank and letters beyond ASCII."""


def png_size(path):
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:24])


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def one_process():
    """Everything in this process, at few lengths."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "cpu_count", lambda: 1)
        patch.setattr(reach_study, "LENGTHS", (0.5, 3.0, 12.0))
        patch.setattr(why_study, "LENGTHS", (1.0, 6.0))
        yield


@pytest.fixture(scope="module")
def reach_run(one_process, tmp_path_factory):
    return run_command(tmp_path_factory.mktemp("reach") / AWKWARD, "reach", "--rate", "28G", "--gauge", "26")


@pytest.fixture(scope="module")
def why_run(one_process, tmp_path_factory):
    return run_command(tmp_path_factory.mktemp("why") / AWKWARD, "why", "--rate", "56G")


def run_command(out, *arguments):
    pyplot = "matplotlib.pyplot" in sys.modules
    result = CliRunner().invoke(cli.app, [*arguments, "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert ("matplotlib.pyplot" in sys.modules) == pyplot
    answer = json.loads((out / "answer.json").read_text(encoding="utf-8"))
    return SimpleNamespace(out=out, text=result.output, answer=answer)


# serdes reach


def test_reach_writes_tables_and_figures(reach_run):
    assert {p.name for p in reach_run.out.iterdir()} == {
        "answer.json", "reach.csv", "active.csv", "definitions.csv", "margin.csv", "tiers.csv", "reach.png",
        "reach.svg", "reach_bars.png", "reach_bars.svg",
    }  # fmt: skip
    for name in ("reach.png", "reach_bars.png"):
        width, height = png_size(reach_run.out / name)
        assert width > 800
        assert height > 200
    for path in reach_run.out.iterdir():
        assert f"wrote {path}" in reach_run.text.replace("\n", "")


def test_reach_rows_say_all_there_is_to_say(reach_run):
    (row,) = rows_of(reach_run.out / "reach.csv")
    assert float(row["symbol_rate_gbd"]) == 25.78125
    assert row["rate"] == "25G NRZ"
    assert row["gauge_awg"] == "26"
    assert row["outcome"] == "found"
    assert row["accepted_m"] == "5.0"
    assert row["shipped_m"] == "3-5"
    assert row["basis"] == "modelled, parameters unverified"
    assert float(row["reach_m"]) > 5
    assert float(row["snr_db"]) == pytest.approx(float(row["required_snr_db"]) + 3, abs=0.15)
    shares = {key.removeprefix("share "): float(value) for key, value in row.items() if key.startswith("share ")}
    assert sum(shares.values()) == pytest.approx(1, abs=1e-3)
    assert shares[row["binding_cause"]] == max(shares.values())
    assert float(row["per_gpu_tb_per_s"]) == pytest.approx(2 * 36 * 25 / 8000)
    # The same in the record.
    assert reach_run.answer["tables"]["reach"][0]["reach_m"] == float(row["reach_m"])
    assert reach_run.answer["question"].endswith("?")
    assert "25G*" in reach_run.text


def test_reach_shows_what_it_rests_on(reach_run):
    rows = {r["change"]: r for r in rows_of(reach_run.out / "definitions.csv")}
    assert set(rows) == {
        "no Tx noise, jitter, converter", "no Tx noise, jitter, converter; 100 taps", "no Tx noise, jitter, converter; infinite equaliser", "SNR_TX against signal power", "Gaussian clip, 5.33 sigma",
        "every edge jitters alone",
    }  # fmt: skip
    assert float(rows["no Tx noise, jitter, converter"]["ratio"]) > 1.1
    assert float(rows["Gaussian clip, 5.33 sigma"]["ratio"]) < 1
    # NRZ has its mean square at its peak square: the two readings are one.
    assert float(rows["SNR_TX against signal power"]["ratio"]) == pytest.approx(1, abs=1e-3)


def test_margins_fall_with_length(reach_run):
    rows = rows_of(reach_run.out / "margin.csv")
    margins = [float(r["margin_db"]) for r in rows]
    assert [float(r["length_m"]) for r in rows] == [0.5, 3.0, 12.0]
    assert margins[0] > margins[1] > 3 > 0 > margins[2]


def test_tiers_stand_as_quoted_and_as_simulated(reach_run):
    rows = {r["tier"]: r for r in rows_of(reach_run.out / "tiers.csv")}
    assert list(rows) == ["HBM", "scale-up", "scale-out", "DCI"]
    assert [r["quoted"] for r in rows.values()] == ["1 mm to 6 mm", "0.1 m to 2 m", "3 m to 500 m", "1 km to 120 km"]
    assert "25.78125 GBd" in rows["scale-up"]["simulated"]
    for tier in TIERS:
        name = tier.name
        if name != "scale-up":
            assert float(rows[name]["reach_m"]) == pytest.approx(tier.simulated_by.reach().length, rel=5e-3)
            assert rows[name]["basis"].startswith("simulated")
        assert rows[name]["binding_cause"]
    assert all(r["source"] for r in rows.values())


def test_active_cables_reach_further(reach_run):
    passive = float(rows_of(reach_run.out / "reach.csv")[0]["reach_m"])
    active = {r["cable"]: float(r["reach_m"]) for r in rows_of(reach_run.out / "active.csv")}
    assert active["AEC"] > active["ACC"] > passive


def test_every_row_once_the_slowest_first():
    rows = reach_study.tasks(("25G", "200G", "100G"))
    assert len(rows) == len(set(rows))
    passive = [t for t in rows if t.kind == "passive"]
    assert [t.rate for t in passive] == ["200G"] * 8 + ["100G"] * 2 + ["25G"] * 2
    assert {t.hosts for t in passive if t.rate == "200G"} == set(reach_study.HOST_PAIRS)
    assert reach_study.tasks(("112G",), (30,))[0].label == "100G"
    assert reach_study.Task(rate="200G", hosts=("HN", "HH"), gauge=26, margin_db=3.0).label == "200G HN-HH"


def test_a_rate_that_never_gets_there_is_a_row_too(one_process):
    answer = reach_study.run(("200G",), (30,), margin_db=12.0)
    outcomes = {row["outcome"] for row in answer.tables["reach"]}
    assert outcomes == {"too short"}
    assert all("missed at every length" in row["reason"] for row in answer.tables["reach"])
    for draw in answer.figures.values():
        assert draw().axes


def test_sensitivity_is_of_the_gauge_asked_for(one_process, monkeypatch, tmp_path):
    monkeypatch.setattr(sensitivity_study, "factors", lambda s, gauge: {"wire gauge": {"26": Scenario(gauge=26)}})
    ran = run_command(tmp_path, "reach", "--sensitivity", "--rate", "112G", "--gauge", "30")
    (row,) = ran.answer["tables"]["sensitivity"]
    assert row["ratio"] > 1.2
    assert "What moves the reach, 30 AWG" in ran.text
    assert (
        sensitivity_study.run(("112G",), gauge=30).figures["sensitivity"]().axes[0].get_title().startswith("100G PAM4, 30 AWG")
    )


# serdes why


def test_why_writes_tables_and_figures(why_run):
    assert {p.name for p in why_run.out.iterdir()} == {
        "answer.json", "why.csv", "order.csv", "why_snr.png", "why_budget.png", "why_loss_and_eye.png",
        "why_snr.svg", "why_budget.svg", "why_loss_and_eye.svg",
    }  # fmt: skip
    for path in why_run.out.glob("*.png"):
        assert png_size(path)[0] > 500


def test_each_equaliser_stage_buys_something(why_run):
    for row in rows_of(why_run.out / "why.csv"):
        stages = [float(row[f"snr {name}"]) for name in why_study.STAGES]
        assert stages == sorted(stages)
        bounds = [float(row[name]) for name in ("linear bound", "salz", "matched filter")]
        assert bounds == sorted(bounds)
        assert stages[-1] < float(row["salz"]) < float(row["salz thermal only"])
        shares = [float(value) for key, value in row.items() if key.startswith("share ")]
        assert sum(shares) == pytest.approx(1)


def test_shannon_stands_beside_the_result(why_run):
    for row in rows_of(why_run.out / "why.csv"):
        line, capacity, salz = float(row["line_rate_gbps"]), float(row["capacity_gbps"]), float(row["salz"])
        assert line == 53.125
        assert capacity == pytest.approx(line / 4 * math.log2(1 + 10 ** (salz / 10)))  # the bound on SNR is the one on rate
        assert float(row["shannon_snr_db"]) == pytest.approx(10 * math.log10(15))
        assert (capacity > line) == (salz > float(row["shannon_snr_db"]))
        if float(row["snr CTLE + FFE + DFE"]) > float(row["required_snr_db"]):
            assert capacity > line
        assert capacity < float(row["capacity thermal only_gbps"])
    assert "Shannon" in why_run.text


def test_the_eye_closes_with_length(why_run):
    near, far = rows_of(why_run.out / "why.csv")
    assert float(near["eye_height"]) > float(far["eye_height"])
    assert float(near["loss_at_nyquist_db"]) < float(far["loss_at_nyquist_db"])


def test_causes_are_ranked_by_what_they_give_back(why_run):
    rows = rows_of(why_run.out / "order.csv")
    assert [int(r["rank"]) for r in rows] == list(range(1, len(why_study.REMOVED) + 1))
    gains = [float(r["snr_gain_db"]) for r in rows]
    assert gains == sorted(gains, reverse=True)
    assert gains[-1] > 0
    assert {r["cause"] for r in rows} == set(why_study.REMOVED)
    assert any("gives back" in note for note in why_run.answer["notes"])


# Errors of the command.


def fails(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["serdes", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err + captured.out
    return ended.value.code, captured.err.strip()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reach", "--rate", "400G"), "serdes: unknown rate '400G', did you mean '200G'?"),
        (("why", "--rate", "fast"), "serdes: unknown rate 'fast'; it has 25G, 28G, 50G, 56G, 100G, 112G, 200G, 224G"),
        (("why", "--hosts", "HN"), "serdes: --hosts must be two classes joined by a dash, for example HN-HH, got 'HN'"),
        (("reach", "--rate", "25G", "--gauge", "26", "--margin", "nan"),
         "serdes: Target.margin_db must be a finite number [dB], got nan"),
        (("reach", "--sensitivity", "--com"), "serdes: --com does not go with --sensitivity: leave out one of them"),
        (("reach", "--draws", "5"), "serdes: --draws counts only with --sensitivity: add it or leave out --draws"),
        (("reach", "--sensitivity", "--seed", "5"), "serdes: --seed counts only with --draws: add it or leave out --seed"),
        (("reach", "--sensitivity", "--gauge", "26", "--gauge", "30"),
         "serdes: --sensitivity takes one --gauge, got 26, 30: run it once for each"),
        (("eye", "no such file.s4p"), "serdes: no such file.s4p: cannot be opened (No such file or directory); check the path"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line_and_status_two(one_process, monkeypatch, capsys, tmp_path, arguments, message):
    code, err = fails(monkeypatch, capsys, *arguments, "--out", str(tmp_path / "never"))
    assert (code, err) == (2, message)
    assert not (tmp_path / "never").exists()


def test_wrong_gauge_and_hosts(one_process, monkeypatch, capsys, tmp_path):
    code, err = fails(monkeypatch, capsys, "reach", "--rate", "100G", "--gauge", "25", "--out", str(tmp_path))
    assert code == 2
    assert err.startswith("serdes: setup 100G.gauge must be one of 24, 26,")
    code, err = fails(monkeypatch, capsys, "why", "--rate", "224G", "--hosts", "HX-HN", "--out", str(tmp_path))
    assert code == 2
    assert err == "serdes: setup 200G.host must be one of HL, HN, HH, got 'HX'"


def test_usage_errors_have_status_two(monkeypatch, capsys):
    for arguments in (("reach", "--bogus"), ("bogus",), ("eye",), ("reach", "--gauge", "thin")):
        code, err = fails(monkeypatch, capsys, *arguments)
        assert code == 2
        assert "Error" in err


def test_help_of_every_command():
    for command in ([], ["reach"], ["why"], ["eye"]):
        result = CliRunner().invoke(cli.app, [*command, "--help"])
        assert result.exit_code == 0
        assert "--help" in result.output


# Answers and tables.


def test_an_answer_is_written_as_it_is(tmp_path):
    answer = Answer(
        question="Why?",
        tables={"a": [{"x": np.float64(1.5), "n": np.int64(3)}, {"x": math.inf, "y": "größer, als"}], "none": []},
        figures={},
        notes=("one",),
        texts={"link.toml": "a = 1\n"},
    )
    folder = tmp_path / "new" / AWKWARD
    written = answer.write(folder)
    assert [p.name for p in written] == ["a.csv", "none.csv", "answer.json", "link.toml"]
    assert all(p.exists() for p in written)
    assert rows_of(folder / "a.csv") == [{"x": "1.5", "n": "3", "y": ""}, {"x": "inf", "n": "", "y": "größer, als"}]
    content = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    assert (content["question"], content["notes"]) == ("Why?", ["one"])
    assert content["tables"] == {"a": [{"x": 1.5, "n": 3}, {"x": "inf", "y": "größer, als"}], "none": []}
    assert answer.write(folder) == written


def test_a_folder_that_is_a_file_is_an_error_with_its_path(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(OSError, match="taken"):
        Answer(question="", tables={}, figures={}).write(tmp_path / "taken")


def test_columns_in_order_of_appearance(tmp_path):
    write_csv(tmp_path / "t.csv", [{"b": 1, "a": 2}, {"c": 3, "a": 4}])
    assert (tmp_path / "t.csv").read_text().splitlines() == ["b,a,c", "1,2,", ",4,3"]


# Parallel runs.


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_tasks(workers):
    seen = []
    found = run_all(math.sqrt, [16.0, 9.0, 4.0, 1.0], lambda done, total: seen.append((done, total)), workers)
    assert found == [4.0, 3.0, 2.0, 1.0]
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_failure_ends_the_run(workers):
    with pytest.raises(ValueError, match="math domain error"):
        run_all(math.sqrt, [4.0, -1.0, 9.0], silent, workers)


def test_no_tasks_no_processes():
    assert run_all(operator.neg, []) == []
    assert run_all(operator.neg, [1]) == [-1]


# Tiers.


def test_tiers_go_outwards():
    assert [t.distance[0] for t in TIERS] == sorted(t.distance[0] for t in TIERS)
    assert all(a.bandwidth[1] >= b.bandwidth[1] for a, b in pairwise(TIERS[:3]))
    assert all(t.source for t in TIERS)


def test_lanes_times_rate():
    assert scale_up_bandwidth(200 * Gbps) == pytest.approx(1.8 * TB)
    assert scale_up_bandwidth(setup("100G").payload) == pytest.approx(0.9 * TB)
    assert scale_up_bandwidth(100 * Gbps, 1) == 200 * Gbps
    for payload, lanes in ((0.0, 36), (-1.0, 36), (1e9, 0), (1e9, 1.5)):
        with pytest.raises(ValueError, match="scale_up_bandwidth"):
            scale_up_bandwidth(payload, lanes)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("distance", (2.0, 1.0)),
        ("distance", (0.0, 1.0)),
        ("distance", 1.0),
        ("bandwidth", (1.0,)),
        ("bandwidth", (1.0, math.nan)),
        ("bandwidth", (1.0, 2.0, 3.0)),
        ("simulated_by", "a wire"),
    ],
)
def test_wrong_tiers_are_refused(field, value):
    good = {f.name: getattr(TIERS[0], f.name) for f in dataclasses.fields(Tier)}
    assert Tier(**good) == TIERS[0]
    with pytest.raises(ValueError, match=f"Tier.{field}"):
        Tier(**{**good, field: value})
