"""An output folder that cannot be had is found before any command begins its work."""

import pytest
import typer
from typer.testing import CliRunner

from experiments import cli, console


def commands(group, names=()):
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*names, name))
        else:
            yield (*names, name), command


EVERY = dict(commands(typer.main.get_command(cli.app)))


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_tries_its_folder_first(words, tmp_path, monkeypatch):
    """With arguments that are no files at all: what fails first is the folder."""
    parameters = EVERY[words].params
    assert any("--out" in p.opts for p in parameters), "a command without --out writes nobody knows where"
    needed = [word for p in parameters if p.required and p.param_type_name == "argument" for word in ["9"]]
    (tmp_path / "file").write_text("in the way")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=r"--out file.sub: can't be made or written .*name another folder"):
        CliRunner().invoke(cli.app, [*words, *needed, "--out", "file/sub"], catch_exceptions=False)


@pytest.mark.parametrize("name", ["x" * 300, "file", "file/a/b"])
def test_folders_that_cannot_be_made(tmp_path, name):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="can't be made or written"):
        console._folder(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_can_be_made_is_left_as_it_was(tmp_path):
    console._folder(tmp_path / "a" / "b c" / "ü")
    assert not list(tmp_path.iterdir())
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "kept").write_text("x")
    console._folder(tmp_path / "a")
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["kept"]


@pytest.mark.parametrize(
    "words",
    [("eye", "none.toml"), ("sweep", "none.toml"), ("com", "none.s4p"), ("eye", "none.s4p"), ("tdecq", "none.csv"),
     ("com", "x.s4p", "--standard", "none.toml"), ("com", "x.s4p", "--standard", "none.xlsx")],
    ids=" ".join,
)  # fmt: skip
def test_a_missing_file_is_named_with_its_remedy(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["serdes", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    said = capsys.readouterr().err
    (name,) = (word for word in words if word.startswith("none"))
    assert f"serdes: {name}: can" in said
    assert "be opened" in said
    assert said.rstrip().endswith("check the path")
    assert "Errno" not in said
