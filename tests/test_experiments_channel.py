import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from channels.copper import Twinax
from channels.pair import TwinaxPair
from channels.port_map import PortMap
from channels.touchstone import write_touchstone
from experiments.commands.files import commands
from experiments.studies import channel
from experiments.study import MOST_ROWS

F = np.arange(0, 801) * 50e6
ODD = np.ix_((0, 2, 1, 3), (0, 2, 1, 3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A pair with skew, crosstalk on its port order, a single-ended file behind a capacitor, and one that is cut off."""
    path = tmp_path_factory.mktemp("board ü")
    s = TwinaxPair(cable=Twinax(length=0.3), skews=(10e-12,)).s(F, 50.0)[ODD]
    write_touchstone(path / "a_THRU.s4p", F, s)
    quiet = 0.01 * s * F / F[-1]
    quiet[[0, 1, 2, 3], [0, 1, 2, 3]] = 0
    write_touchstone(path / "b_FEXT.s4p", F, quiet)
    one = Twinax(length=0.3).s(F, 100.0) * np.array([[0, 1], [1, 0]])[:, :, None] * 1j * F / (1j * F + 200e6)
    write_touchstone(path / "c_coupled.s2p", F, one)
    (path / "d_cut.s4p").write_text("\n".join((path / "a_THRU.s4p").read_text().splitlines()[:30]))
    return path


@pytest.fixture(scope="module")
def answer(folder):
    return channel.run([folder])


def rows(answer, table, name):
    return [row for row in answer.tables[table] if name in row["file"]]


def test_each_file_is_reported_and_a_failure_named(answer):
    assert [row["name"] for row in answer.tables["files"]] == ["a_THRU", "b_FEXT", "c_coupled"]
    (failure,) = answer.tables["failures"]
    assert "d_cut.s4p" in failure["file"]
    assert "line" in failure["cause"]
    assert any("d_cut.s4p" in note for note in answer.notes)


def test_what_the_report_says(answer):
    ((through,), (far,), (blocked,)) = (rows(answer, "files", name) for name in ("a_THRU", "b_FEXT", "c_coupled"))
    assert (through["kind"], far["kind"], blocked["kind"]) == ("through", "crosstalk", "through")
    assert (through["in"], through["out"], through["reference_ohm"]) == ([1, 3], [2, 4], 100.0)
    assert (far["in"], far["out"]) == ([1, 3], [2, 4])
    assert through["symbol_rate_gbd"] == pytest.approx(53.125)
    passed = Twinax(length=0.3).s(np.array([26.5625e9]), 100.0)[1, 0, 0] * np.cos(np.pi * 26.5625e9 * 3e-12)
    assert through["loss_at_nyquist_db"] == pytest.approx(-20 * np.log10(abs(passed)), rel=0.01)
    assert through["impedance_left_ohm"] == pytest.approx(100.0, abs=1.5)
    assert through["delay_ns"] == pytest.approx(0.3 * 1.7**0.5 / 0.299792458, rel=0.02)
    assert blocked["droop_time_ns"] == pytest.approx(1e9 / (2 * np.pi * 200e6), rel=0.15)
    assert blocked["wander_100_symbols"] == pytest.approx(1 - np.exp(-100 / (53.125 * blocked["droop_time_ns"])))
    assert "ac-coupled" in blocked["findings"]
    assert {row["code"] for row in rows(answer, "findings", "b_FEXT")} == {"no-through"}


def test_mode_conversion_and_profile_are_in_the_tables(answer):
    table = answer.tables["a_THRU_frequency"]
    last = table[-1]
    skewed = 20 * np.log10(abs(np.tan(np.pi * last["f_ghz"] * 1e9 * 3e-12)))
    assert last["scd21_db"] - last["s21_db"] == pytest.approx(skewed, abs=0.1)
    assert "scd21_db" not in answer.tables["c_coupled_frequency"][0]
    assert all(len(answer.tables[name]) <= MOST_ROWS for name in answer.tables)
    profile = answer.tables["a_THRU_tdr"]
    assert profile[-1]["round_trip_ns"] > 2 * 1.3
    peak = max(answer.tables["a_THRU_pulse"], key=lambda row: row["pulse_mv_per_v"])
    assert peak["time_ns"] == pytest.approx(rows(answer, "files", "a_THRU")[0]["pulse_peak_ns"], abs=1e-3)


def test_files_are_written_where_asked(folder, tmp_path):
    written = channel.run([folder / "c_coupled.s2p"]).write(tmp_path / "out é")
    assert [p.name for p in written if p.suffix == ".png"] == ["c_coupled.png"]
    assert written[-1].stat().st_size > 10_000
    with (tmp_path / "out é" / "files.csv").open(encoding="utf-8") as file:
        assert [row["name"] for row in csv.DictReader(file)] == ["c_coupled"]


def test_several_files_are_compared(answer):
    assert set(answer.figures) == {"a_THRU", "b_FEXT", "c_coupled", "compared"}
    transfer, pulses = answer.figures["compared"]().axes
    assert len(transfer.lines) == 3
    assert len(pulses.lines) == 2, "the pulse of crosstalk is on another scale"


def test_json_for_scripts(answer):
    told = json.loads(channel.to_json(answer))
    assert set(told) == {"files", "findings", "failures"}
    assert told["files"][0]["in"] == [1, 3]
    assert 0 <= told["files"][0]["early_energy"] < 1e-3


def test_rate_ports_and_quality_on_request(folder):
    path = folder / "a_THRU.s4p"
    one = channel.run([path], rate="56G", ports=PortMap(inputs=((3, 1),), outputs=((4, 2),)), ieee370=True)
    (row,) = one.tables["files"]
    assert (row["symbol_rate_gbd"], row["in"], row["port_evidence"]) == (26.5625, [3, 1], "as stated")
    assert row["ieee370_passivity"] == 100.0
    assert any("IEEE 370" in note for note in one.notes)
    fast = channel.run([path], rate="224G")
    assert "below-nyquist" in fast.tables["files"][0]["findings"]
    assert fast.tables["files"][0]["loss_at_nyquist_db"] is None
    fast.figures["a_THRU"]()


def test_quality_figures_that_cannot_be_had_say_why_and_keep_the_file(tmp_path):
    f = np.geomspace(1e6, 40e9, 400)
    write_touchstone(tmp_path / "log.s2p", f, Twinax(length=0.1).s(f, 100.0))
    uneven = channel.run([tmp_path / "log.s2p"], ieee370=True)
    (row,) = uneven.tables["files"]
    assert "uniform grid" in row["ieee370_refused"]
    assert "ieee370_causality" not in row
    assert any("IEEE 370 initial quality: none" in note for note in uneven.notes)


def test_conditioning_by_flags_of_the_command(folder):
    """Each flag reaches its step, and the level at Nyquist falls by the cosine squared of the taper."""
    path = str(folder / "a_THRU.s4p")
    flags = ["--dc", "series_resistance", "--dc-resistance", "2", "--taper", "0.25"]
    flags += ["--clip-passivity", "--average-reciprocity", "--keep-delay"]
    told = [CliRunner().invoke(commands, ["channel", path, "--json", "--rate", "112G", *more]) for more in ([], flags)]
    assert [result.exit_code for result in told] == [0, 0]
    plain, chosen = (json.loads(result.stdout)["files"][0] for result in told)
    assert sum(a != b for a, b in zip(plain["steps"], chosen["steps"], strict=True)) == 5  # interpolation has no switch
    for words in ("reciprocity: averaged", "clipped at 1", "kept", "series resistance of 2 ohm", "raised cosine from 30 GHz"):
        assert words in "\n".join(chosen["steps"])
        assert words not in "\n".join(plain["steps"])
    assert (plain["s21_dc"], chosen["s21_dc"]) == (pytest.approx(1, abs=2e-3), pytest.approx(200 / 202))
    late = CliRunner().invoke(commands, ["channel", path, "--json", "--rate", "112G", "--taper", "0.5"])
    fell = json.loads(late.stdout)["files"][0]["loss_at_nyquist_db"] - plain["loss_at_nyquist_db"]
    assert fell == pytest.approx(-40 * np.log10(np.cos(np.pi / 2 * (26.5625 - 20) / 20)), abs=1e-6)
    wrong = CliRunner().invoke(commands, ["channel", path, "--dc", "guess"])
    assert "Conditioning.dc must be one of" in str(wrong.exception)


def test_each_lane_of_a_wide_file_is_shown(tmp_path):
    s, h = np.zeros((8, 8, F.size), complex), Twinax(length=0.1).s(F, 100.0)[1, 0]
    for a in (0, 2, 4, 6):
        s[a, a + 1] = s[a + 1, a] = h
    write_touchstone(tmp_path / "wide.s8p", F, s)
    two = channel.run([tmp_path / "wide.s8p"])
    assert [row["name"] for row in two.tables["files"]] == ["wide", "wide_in5_out6"]
    assert all("largest |S|" in row["port_evidence"] for row in two.tables["files"])


def test_two_files_of_one_name_are_kept_apart(folder, tmp_path):
    (tmp_path / "a_THRU.s4p").write_bytes((folder / "a_THRU.s4p").read_bytes())
    two = channel.run([folder / "a_THRU.s4p", tmp_path / "a_THRU.s4p"])
    names = [row["name"] for row in two.tables["files"]]
    assert len(set(names)) == 2
    assert {f"{name}_tdr" for name in names} <= set(two.tables)


def test_nothing_to_show_is_an_error_that_says_why(folder, tmp_path):
    with pytest.raises(ValueError, match=r"d_cut\.s4p"):
        channel.run([folder / "d_cut.s4p"])
    with pytest.raises(ValueError, match="no Touchstone file"):
        channel.run([tmp_path])
    with pytest.raises(ValueError, match="unknown rate"):
        channel.run([folder], rate="99G")
    single = tmp_path / "point.s2p"
    write_touchstone(single, F[5:6], np.full((2, 2, 1), 0.1))
    with pytest.raises(ValueError, match="one frequency"):
        channel.run([single])
