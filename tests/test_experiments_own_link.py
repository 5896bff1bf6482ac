import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from channels.channel import Cascade
from experiments import cli
from experiments.studies import own_link
from serdes import serialize
from serdes.com_channel import ComChannel
from serdes.com_standards import standard
from serdes.link import Link
from serdes.reach import reach
from serdes.setups import setup

SETUP = '[setup]\nrate = "112G"\nlength = 1.0\n'


@pytest.fixture
def file(tmp_path):
    def write(text, name="mine.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(a) for a in arguments])


def test_a_setup_and_its_link_written_out_go_as_far_as_the_study_says(file):
    s = setup("112G")
    found = reach(lambda x: s.link(x), s.target(), own_link.BRACKET)
    for text in (SETUP, serialize.to_toml(s.link(1.0))):
        answer = own_link.run(file(text))
        (row,) = answer.tables["reach"]
        assert row["reach_m"] == pytest.approx(found.length, rel=2e-3)
        assert (row["outcome"], row["binding_cause"]) == ("found", found.binding)
        curve = answer.tables["margin"]
        at = np.interp(row["reach_m"], [r["length_m"] for r in curve], [r["margin_db"] for r in curve])
        assert at == pytest.approx(3.0, abs=0.2)
        assert answer.figures["reach"]().axes[0].get_xlabel() == "length of the cable [m]"


def test_a_longer_cable_takes_its_crosstalk_along():
    from experiments.link_point import LinkPoint

    link = setup("112G").link(1.0)
    at = own_link.with_length(LinkPoint(base=link, outputs=("ser",)))
    assert at(2.0) == setup("112G").link(2.0)


def test_com_sees_what_is_between_the_packages(file):
    channel, standard = own_link.com_channel(file(SETUP))
    link = setup("112G").link(1.0)
    assert isinstance(channel, ComChannel)
    assert (standard, len(channel.fext), len(channel.next)) == ("802.3ck-kr", 1, 1)
    assert channel.thru.parts == link.channel.parts[1:-1]
    assert own_link.com_channel(file(SETUP.replace("112G", "56G")))[1] == ""


def test_links_that_have_no_reach_or_com_are_named(file):
    link = setup("112G").link(1.0)
    bare = link.vary({"channel.parts": link.channel.parts[1:-1], "aggressors": ()})
    with pytest.raises(ValueError, match=r"mine\.toml: COM puts packages"):
        own_link.com_channel(file(serialize.to_toml(bare)))
    twice = link.vary({"channel.parts": (*link.channel.parts, link.channel.parts[3])})
    with pytest.raises(ValueError, match=r"needs one twinax .* has 2"):
        own_link.run(file(serialize.to_toml(twice)))
    with pytest.raises(ValueError, match="copper"):
        own_link.com_channel(file(serialize.to_toml(link.vary({"channel": Cascade(parts=(link.channel,)), "aggressors": ()}))))
    with pytest.raises(ValueError, match=r"mine\.toml: no standard has 5e\+10 Bd: state --error-ratio"):
        own_link.run(file(serialize.to_toml(link.vary({"symbol_rate": 5e10}))))
    with pytest.raises(ValueError, match=r"mine\.toml: Link: type 'Jitter' does not fit"):
        own_link.run(file(serialize.to_toml(link.tx.jitter)))


def test_a_rate_of_no_standard_is_judged_by_the_ratio_that_is_stated(file, tmp_path):
    mine = file(serialize.to_toml(setup("112G").link(1.0).vary({"symbol_rate": 5e10})))
    for command in ("eye", "reach"):
        refused = run(command, "--config", mine, "--out", tmp_path / "out")
        assert "state --error-ratio" in str(refused.exception)
        wrong = run(command, "--config", mine, "--error-ratio", "0", "--out", tmp_path / "out")
        assert "error_ratio" in str(wrong.exception)
    easy, hard = (own_link.run(mine, ratio).tables["reach"][0] for ratio in (1e-4, 1e-5))
    assert (easy["error_ratio"], hard["error_ratio"]) == (1e-4, 1e-5)
    assert easy["reach_m"] > hard["reach_m"] > 1
    done = run("reach", "--config", mine, "--error-ratio", "1e-4", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "judged at an error ratio of 0.0001" in done.output


def test_one_file_serves_eye_com_and_reach(file, tmp_path, monkeypatch):
    sheet = standard("802.3ck-kr")  # one setting of the equaliser: COM of a whole search takes half a minute
    one = replace(sheet, g_DC=(-8.0,), g_DC2=(-2.0,), c_pre=((0.0,),) * len(sheet.c_pre), c_post=((0.0,),) * len(sheet.c_post))
    monkeypatch.setattr("experiments.studies.com.parameter_set", lambda name: one)
    study = file(SETUP + '[axes]\n"tx.amplitude" = [0.3, 0.4]\n', "study.toml")
    for command, more in (
        ("eye", ("--config",)),
        ("reach", ("--config",)),
        ("com", ("--standard", "802.3ck-kr", "--case", "1", "--config")),
        ("com", ("--standard", "802.3ck-kr", "--case", "1")),
    ):
        done = run(command, *more, study, "--out", tmp_path / command)
        assert done.exit_code == 0, (command, done.output, done.exception)
        assert list(Path(tmp_path / command).glob("*.svg"))
    assert serialize.load(tmp_path / "eye" / "link.toml") == setup("112G").link(1.0)
    assert isinstance(serialize.load(tmp_path / "reach" / "link.toml"), Link)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("eye",), "one of a file and --config"),
        (("eye", "a.s4p", "--config", "study.toml"), "one of a file and --config"),
        (("com",), "one of a through file and --config"),
        (("com", "--config", "study.toml", "--fext", "x.s4p"), "with a through file"),
        (("reach", "--config", "study.toml", "--rate", "56G"), "leave out --rate"),
        (("com", "--config", "absent.toml"), "absent.toml"),
        (("com", "absent.toml"), "absent.toml"),
        (("com", "absent.toml", "--ports", "1,2,3,4"), "with a through file"),
        (("reach", "--error-ratio", "1e-4"), "--error-ratio goes with --config"),
    ],
)
def test_what_does_not_go_together_is_named(arguments, words, tmp_path):
    done = run(*arguments, "--out", tmp_path / "out")
    assert done.exit_code != 0
    assert words in re.sub(r"[\s│]+", " ", done.output) + str(done.exception)
