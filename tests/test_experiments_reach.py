"""What stands beside the reach: what ships by gauge, the error ratio, the lines of COM."""

import pytest

from experiments import com_lines, reach_figures
from experiments.optical_reach import rows_of
from experiments.studies import reach
from experiments.study import Answer
from serdes.com import com_case
from serdes.com_reach import cable_channel
from serdes.com_standards import standard
from serdes.setups import setup


def test_every_table_calls_a_lane_rate_by_its_payload():
    rows = rows_of((setup(name).symbol_rate for name in ("50G", "100G", "200G")), 1.5)
    assert {setup(row.rate).name for row in rows} == {"50G", "100G", "200G"}
    assert rows[0].solve()["lane"] == "50G"


def row(rate, gauge, length, hosts="standard", cable=None):
    s = setup(rate)
    pair = None if hosts == "standard" else tuple(hosts.split("-"))
    task = reach.Task(rate=s.name, hosts=pair, gauge=gauge, margin_db=3.0, kind=cable or "passive")
    return {
        "rate": s.title, "lane": s.name, "hosts": hosts, "gauge_awg": gauge, "reach_m": length, "binding_cause": "thermal",
        "shipped_m": reach._shipped(s, task), "accepted_m": s.accepted_reach[1], "margin_db": 3.0, "cable": cable,
    }  # fmt: skip


def test_shipped_lengths_go_by_gauge_and_none_is_invented():
    shipped = {
        ("100G", 26): "2-3", ("100G", 30): "1-1.5", ("50G", 30): "1-1.5", ("25G", 30): "3-5",
    }  # fmt: skip
    assert {key: row(*key, 1.0)["shipped_m"] for key in shipped} == shipped
    assert [row("200G", 26, 1.0, hosts)["shipped_m"] for hosts in ("HL-HL", "HL-HN", "HN-HH")] == ["2+ shown", "", ""]
    assert [row("100G", g, 1.0, cable="ACC")["shipped_m"] for g in (26, 30)] == ["5", "3-4"]
    assert row("100G", 26, 1.0, cable="AEC")["shipped_m"] == ""
    assert row("200G", 26, 1.0, "HL-HL", "ACC")["shipped_m"] == ""


def test_a_reach_outside_the_usual_class_is_told():
    active = [row("100G", g, x, cable="ACC") for g, x in ((26, 4.6), (30, 3.1))]
    passive = [row("200G", 26, 3.1, "HL-HL"), row("200G", 26, 1.5, "HN-HH")]
    shown, redriven = reach._market(passive, active)
    assert "4.6 m on 26 AWG is above it (sold: 5 m); 3.1 m on 30 AWG is inside it (sold: 3-4 m)" in redriven
    assert "2 m and more was shown with low-loss hosts" in shown
    assert reach._market([row("100G", 26, 3.2)], []) == []


def test_titles_state_margin_and_error_ratio():
    assert reach.need(["200G"], 3.0) == "3 dB margin at a detector error ratio of 2e-4"
    every = reach.need(["25G", "50G", "100G", "200G"], 2.5)
    assert every == "2.5 dB margin at a detector error ratio of 1e-5 (25G), 1e-4 (50G, 100G), 2e-4 (200G)"
    rows = [row("100G", 26, 3.2), row("100G", 30, 2.2), row("200G", 26, 3.1, "HL-HL"), row("200G", 30, 2.1, "HL-HL")]
    (ax,) = reach_figures.bars(rows, [row("100G", 26, 4.6, cable="ACC")], reach.ACTIVE, every).axes
    assert "binding cause" in ax.get_title()
    assert every in ax.get_title()
    lines = {tuple(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 2}
    assert {(2.0, 3.0), (1.0, 1.5), (2.0, 2.0)} <= lines


@pytest.fixture
def lines():
    return [
        {
            "hosts": "HN-HH", "gauge_awg": 26, "detector": d, "com_limit_db": 3.0, "reach_m": x, "outcome": "found",
            "other_m": y, "curve": [{"length_m": z, "com_dfe_db": 5 - z, "com_mlsd_db": 6 - z} for z in (0.5, 2.0, 4.0)],
        }
        for d, x, y in (("DFE", 2.0, 1.3), ("MLSD", 3.0, 1.7))
    ]  # fmt: skip


def test_com_lines_join_the_reach(lines):
    answer = Answer(question="?", tables={"reach": [row("200G", 26, 1.46, "HN-HH")]}, figures={}, notes=["first"])
    joined = reach.with_com(answer, lines)
    assert [r["study_m"] for r in joined.tables["com"]] == [1.46] * 2
    assert "curve" not in joined.tables["com"][0]
    assert joined.figures["reach_com"]().axes
    assert joined.notes[0] == "first"
    assert any("HN-HH DFE 2.00 for 1.3 m, HN-HH MLSD 3.00 for 1.7 m" in note for note in joined.notes)


def test_how_much_of_the_search_is_left_is_told(lines):
    notes = com_lines.notes([{**line, "other_m": None} for line in lines])
    assert any("37,752 of 6.3 million entries" in note for note in notes)
    assert not any("another program" in note for note in notes)
    old = standard("802.3ck-kr")
    assert old.n_entries == len(old.ctle_settings) * len(old.tx_settings[0])


def test_the_other_program_s_search_takes_a_tenth_of_a_metre():
    """The figures of the note, at the ends that it states: COM of the reduced search is the limit there."""
    sheet = com_lines.reduced(standard(com_lines.STANDARD))
    assert sheet.n_entries == 3 * 33
    case = next(c for c in sheet.cases if c.name == "HN-HH")
    found = [com_case(sheet, case, cable_channel(x, 26, ("HN", "HH"))) for x in (1.57, 1.99)]
    assert found[0].com_dfe_db == pytest.approx(3.0, abs=0.05)
    assert found[1].com_db == pytest.approx(3.0, abs=0.05)
