import csv
import json
from contextlib import contextmanager

import numpy as np
import pytest
import typer
from optical_links import lane
from typer.testing import CliRunner

from channels.copper import Twinax
from channels.lasers import Laser
from channels.modulators import Mzm
from channels.touchstone import write_touchstone
from experiments import cli
from experiments.commands import files
from experiments.commands.files import commands
from experiments.console import whole
from experiments.studies import eye

F = np.arange(0, 401) * 100e6
N = 20_000


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A short cable as a single-ended file up to 40 GHz."""
    path = tmp_path_factory.mktemp("eye") / "short.s2p"
    write_touchstone(path, F, Twinax(length=0.2).s(F, 100.0), 100.0)
    return path


def titles(figure):
    return [ax.get_title() for ax in figure.axes]


def test_no_error_is_told_as_a_bound_everywhere(short, tmp_path):
    result = CliRunner().invoke(
        commands, ["eye", str(short), "--rate", "56G", "--counted", str(N), "--out", str(tmp_path)], catch_exceptions=False
    )
    bound = f"no error in {N} symbols, below {3 / N:.2g} (95 %)"
    assert bound in " ".join(result.output.split())
    assert "ratio 0" not in result.output
    with (tmp_path / "result.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["ser"], row["ber"], row["counted"]) == ("", "", bound)
    (told,) = json.loads((tmp_path / "answer.json").read_text(encoding="utf-8"))["tables"]["result"]
    assert (told["ser"], told["ber"], told["counted"]) == (None, None, bound)


@pytest.fixture
def pair(tmp_path):
    """Two wires of their own, 1 to 3 and 2 to 4."""
    s = np.zeros((4, 4, F.size), complex)
    wire = Twinax(length=0.2).s(F, 50.0)
    for a, b in ((0, 2), (1, 3)):
        s[np.ix_((a, b), (a, b))] = wire
    write_touchstone(tmp_path / "pair.s4p", F, s, 50.0)
    return tmp_path / "pair.s4p"


@pytest.mark.parametrize("command", ["eye", "channel", "com"])
def test_stated_ports_without_a_signal_end_with_the_reason(pair, command, tmp_path):
    done = CliRunner().invoke(cli.app, [command, str(pair), "--ports", "1,3,2,4", "--out", str(tmp_path / "out")])
    assert isinstance(done.exception, ValueError)  # status 2 of the command line
    assert "pair.s4p" in str(done.exception)
    assert "from port 1 the signal goes to port 3" in str(done.exception)
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("ports", ["0,1,2,3", "1,2,3", "1,1,2,3", "a,b,c,d"])
def test_wrong_ports_name_the_option(pair, ports, tmp_path):
    done = CliRunner().invoke(cli.app, ["eye", str(pair), "--ports", ports, "--out", str(tmp_path)])
    assert str(done.exception).startswith("--ports must be four different port numbers")


def test_a_file_with_gain_is_said_to_be_left_as_it_is(pair, tmp_path):
    write_touchstone(tmp_path / "gain.s2p", F, 1.4 * Twinax(length=0.2).s(F, 100.0), 100.0)
    (told,) = [note for note in eye.from_file(tmp_path / "gain.s2p", "56G").notes if "not-passive" in note]
    assert "left as they are, losses and eyes are those of data with gain and not to be trusted" in told


@contextmanager
def interrupted(name):
    """In place of a progress bar: Ctrl-C after the first block."""

    def report(*state):
        raise KeyboardInterrupt

    yield report


def test_ctrl_c_ends_a_count_with_what_was_counted_and_says_so(short, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "progress", interrupted)
    done = CliRunner().invoke(commands, ["eye", str(short), "--rate", "56G", "--counted", "1e6", "--out", str(tmp_path)])
    assert done.exit_code == 130
    assert "cancelled: stopped by the user" in done.output
    assert "Openings at an error ratio of 0.0001, cancelled" in " ".join(done.output.split())
    (told,) = json.loads((tmp_path / "answer.json").read_text(encoding="utf-8"))["tables"]["result"]
    assert told["outcome"] == "cancelled"
    with interrupted("") as report:
        answer = eye.run(eye.from_file(short, "56G"), counted=N, progress=report)
    assert any("cancelled" in title for title in titles(answer.figures["eye"]()))


@pytest.mark.parametrize(("text", "value"), [("1e6", 1_000_000), ("20_000", 20_000), ("5", 5), ("12.0", 12)])
def test_whole_numbers_as_people_write_them(text, value):
    assert whole(text) == value


@pytest.mark.parametrize("text", ["1.5", "1e-3", "many", "inf", "nan", ""])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(typer.BadParameter, match="whole number"):
        whole(text)


def test_no_error_is_told_as_a_bound_in_the_figure(short):
    answer = eye.run(eye.from_file(short, "56G"), counted=N)
    assert any(f"no error in {N} symbols, below" in title for title in titles(answer.figures["eye"]()))
    assert eye.run(eye.from_file(short, "56G")).tables["result"][0]["ser"] > 0  # computed, however small


def test_a_file_that_ends_below_nyquist_has_no_loss_there(short):
    answer = eye.run(eye.from_file(short, "224G"))
    assert any("53.125 GHz: unknown, data end at 40 GHz" in note for note in answer.notes)
    drawn = titles(answer.figures["eye"]())
    assert any("unknown, data end at 40 GHz" in title for title in drawn)
    assert not any("inf" in text for text in (*answer.notes, *drawn))


def test_the_loss_of_a_file_that_reaches_nyquist(short):
    bare = eye.run(eye.from_file(short, "56G", packages=False))
    loss = -20 * np.log10(abs(Twinax(length=0.2).s(np.array([13.28125e9]), 100.0)[1, 0, 0]))
    (note,) = (n for n in bare.notes if n.startswith("loss die to die"))
    assert float(note.split(": ")[1].removesuffix(" dB")) == pytest.approx(loss, abs=0.15)


def test_a_counted_pattern_has_its_checker_and_its_pictures(short, tmp_path):
    result = CliRunner().invoke(
        commands,
        ["eye", str(short), "--rate", "56G", "--counted", "9000", "--pattern", "PRBS13Q", "--blind", "--out", str(tmp_path)],
        catch_exceptions=False,
    )
    assert result.exit_code == 0, result.output
    assert "checker: PRBS13Q found, 0 symbol and 0 bit errors in 9000 symbols" in " ".join(result.output.split())
    for name in ("eye", "stages", "taps"):
        assert (tmp_path / f"{name}.png").stat().st_size > 20_000


def test_a_pattern_without_a_count_is_refused(short):
    with pytest.raises(ValueError, match="pattern and blind belong to a counted run"):
        eye.run(eye.from_file(short, "56G"), pattern="PRBS13Q")


@pytest.mark.parametrize(("loss_db", "outcome"), [(50.0, "no signal"), (0.0, "overload")])
def test_a_dead_link_is_drawn_without_empty_axes(loss_db, outcome):
    """What there is of it: the reason, its pulse and its loss."""
    link = lane(source=Mzm(laser=Laser(power=50e-3))).vary({"channel.loss_db": loss_db})
    answer = eye.run(eye.Case(name="dead", link=link, error_ratio=1e-4))
    assert any(note.startswith(f"{outcome}: ") for note in answer.notes)
    axes = answer.figures["eye"]().axes
    assert outcome in axes[0].get_title()
    assert [ax.axison for ax in axes] == [False, False, True, True]
