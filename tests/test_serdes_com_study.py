"""The study behind ``serdes com``: parameter sets by name or file, tables, notes, figures."""

import json
from dataclasses import replace

import pytest

from channels.copper import ShuntCapacitor
from channels.lines import StandardLine
from channels.network import Chain
from channels.touchstone_data import Finding
from dsp.units import fF, mm, ns
from experiments.studies import com as study
from experiments.studies import validate_com
from serdes.com_channel import ComChannel
from serdes.com_standards import standard

LINE = StandardLine(length=120 * mm, impedance=95.0, a1=3.8206e-4 * ns**0.5 / mm, a2=9.5909e-5 * ns / mm, tau=5.79e-3 * ns / mm)
CHANNEL = ComChannel(
    thru=Chain((LINE, ShuntCapacitor(capacitance=20 * fF))), name="line", findings=(Finding("odd", "something odd"),)
)
KR = replace(
    standard("802.3ck-kr"), Delta_f=50e6, c_pre=((-0.1, 0.0),), c_post=(), g_DC=(-3.0, 0.0), g_DC2=(-2.0, 0.0), N=200,
    cases=standard("802.3ck-kr").cases[:1],
)  # fmt: skip


def test_parameter_sets_by_name_and_file(tmp_path):
    assert study.parameter_set("802.3dj-kr") == standard("802.3dj-kr")
    path = tmp_path / "mine.toml"
    path.write_text('base = "802.3ck-kr"\n[values]\nL = 4\n', encoding="utf-8")
    assert study.parameter_set(str(path)).name == "mine"
    with pytest.raises(ValueError, match=r"old\.xls: (can't be opened|a binary \.xls needs)"):
        study.parameter_set("old.xls")
    with pytest.raises(ValueError, match="did you mean"):
        study.parameter_set("802.3dj-k")


def test_answer_has_verdict_reasons_and_figures(tmp_path):
    steps = []
    answer = study.answer(study.measure(KR, CHANNEL, None, lambda done, total: steps.append((done, total))))
    assert steps == [(1, 1)]
    assert answer.tables["com"][0]["verdict"] in ("pass", "fail")
    assert answer.tables["why_1"][0]["share"] > 0.1
    parts = {row["part"]: row["setting"] for row in answer.tables["equaliser"]}
    assert {"CTLE", "Tx FFE", "DFE"} <= set(parts)
    assert parts["Tx FFE"].startswith("(-1) -0.1")
    assert "(+12)" in parts["DFE"]
    assert any("one more dB" in note or "no single impairment" in note for note in answer.notes)
    assert answer.notes[-1] == "something odd"
    written = {path.name for path in answer.write(tmp_path)}
    assert {"com.csv", "why_1.csv", "com.json", "com_1.png"} <= written
    record = json.loads((tmp_path / "com.json").read_text())
    assert record["standard"] == "802.3ck-kr"
    why = record["cases"][0]["why"]
    assert [row["symbol"] for row in why] == [row["symbol"] for row in answer.tables["why_1"]]
    assert {"com_dfe_without_db", "for_one_db", "rms_mv", "share"} <= set(why[0])
    assert {"der_mlsd", "added_noise_mv"} <= set(record["cases"][0])


def test_parts_of_the_equaliser_are_those_of_the_set():
    for name, there, absent in (
        ("802.3ck-c2c", "DFE", "floating"),
        ("802.3ck-kr", "DFE, floating", "Rx FFE"),
        ("802.3dj-kr", "Rx FFE, floating", "DFE, floating"),
    ):
        sheet = standard(name)
        sheet = replace(
            sheet, Delta_f=50e6, c_pre=((0.0,),), c_post=(), g_DC=(-3.0,), g_DC2=(-1.0,), N=0, cases=sheet.cases[:1]
        )
        parts = {row["part"] for row in study.equaliser(study.measure(sheet, CHANNEL).cases[0])}
        assert there in parts
        assert not any(absent in part for part in parts)


def test_windowed_sets_and_failures_are_told():
    sheet = replace(KR, T_O=0.05, VEC_max=0.5, H_r="noise")
    answer = study.answer(study.measure(sheet, CHANNEL))
    assert "vec_db" in answer.tables["com"][0]
    assert "fails" in answer.notes[0]
    assert any("receiver filter" in note for note in answer.notes)
    with pytest.raises(ValueError, match="has no case '9'"):
        study.measure(sheet, CHANNEL, ["9"])


def test_validation_asks_for_its_data(tmp_path, monkeypatch):
    monkeypatch.delenv(validate_com.ENVIRONMENT, raising=False)
    with pytest.raises(ValueError, match=r"no com_reference\.json in .*--data.*reference-data\.md"):
        validate_com.folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"{validate_com.ENVIRONMENT} is not set: .*--data"):
        validate_com.folder()


def test_validation_table(channels_dir):
    answer = validate_com.run(channels_dir.parent, chosen=("krfix10", "dj1"))
    assert len(answer.tables["details"]) == len(answer.tables["com"])
    assert all(" / " in told["gains_db"] for told in answer.tables["details"])
    assert len(answer.tables["com"]) == 2
    assert all(abs(row["difference_db"]) < 0.02 for row in answer.tables["com"])


def test_the_second_table_has_gains_and_the_other_figures_of_merit():
    def row(**more):
        return {"channel": "ch", "config": "set", "case": "1", "COM": 5.0, "COM_reference": 5.0, **more}

    both = {"gDC": -6.0, "gDC2": -2.0, "gDC_reference": -5.0, "gDC2_reference": -2.0}
    module = {"VEC": 11.2204, "VEC_reference": 11.2256, "VEO": 16.4, "VEO_reference": 16.39}
    told = validate_com._details(row(**both, **module))
    assert set(told) == set(validate_com.DETAILS)
    assert told["run"] == "ch, set, 1"
    assert (told["gains_db"], told["vec_db"], told["veo_mv"]) == ("-6, -2 / -5, -2", "11.220 / 11.226", "16.40 / 16.39")
    assert told["com_dfe_db"] == ""
    assert validate_com._details(row(COM_DFE=5.315, COM_DFE_reference=5.33))["com_dfe_db"] == "5.315 / 5.330"
