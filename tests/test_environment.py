"""Headless machines, other locales, paths with blanks and letters beyond ASCII: the same program."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from channels.touchstone import write_touchstone

ROOT = Path(__file__).parent.parent
MODULES = (
    "dsp channels serdes serdes.link serdes.setups serdes.plot channels.file_network channels.channel_set channels.quality "
    "experiments.cli experiments.studies.eye experiments.studies.channel experiments.studies.reach experiments.studies.why"
)


def run(code, *arguments, **environment):
    """Standard output of a fresh interpreter without a display."""
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND", "LC_ALL", "LANG")}
    env |= {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))), **environment}
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout.decode("utf-8")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A pair in a folder whose name has a blank and a letter beyond ASCII."""
    folder = tmp_path_factory.mktemp("Kanal größe") / "mit Leerzeichen"
    folder.mkdir()
    path, f = folder / "übertragung 1.s4p", np.arange(0, 401) * 100e6
    s, h = np.zeros((4, 4, f.size), complex), np.exp(-3e-6 * np.sqrt(2j * np.pi * f) - 2j * np.pi * f * 1e-9)
    for a, b in ((0, 1), (2, 3)):
        s[a, b] = s[b, a] = h
    write_touchstone(path, f, s, comments=("Dämpfung",))
    return path


def test_import_without_display_draws_nothing_and_leaves_the_backend():
    code = f"""
import sys, importlib
import matplotlib
before = dict.__getitem__(matplotlib.rcParams, "backend")  # asking the usual way would choose one
for name in {MODULES.split()!r}:
    importlib.import_module(name)
assert dict.__getitem__(matplotlib.rcParams, "backend") is before
print([name for name in sys.modules if name.startswith("tkinter") or name == "matplotlib.pyplot"])
"""
    assert run(code).strip() == "[]"


def test_figures_without_display_and_to_a_path_beyond_ascii(file):
    code = """
import sys, pathlib, matplotlib
from experiments.studies import channel, eye
style = {key: dict.__getitem__(matplotlib.rcParams, key) for key in matplotlib.rcParams}
answer = channel.run([pathlib.Path(sys.argv[1])])
written = answer.write(pathlib.Path(sys.argv[2]))
assert all(path.stat().st_size for path in written)
assert style == {key: dict.__getitem__(matplotlib.rcParams, key) for key in matplotlib.rcParams}
assert "matplotlib.pyplot" not in sys.modules and not any(m.startswith("tkinter") for m in sys.modules)
"""
    out = file.parent / "Bilder é"
    run(code, file, out)
    assert {p.suffix for p in out.iterdir()} == {".png", ".svg", ".csv", ".json"}


READ_AND_WRITE = """
import sys, json, hashlib, locale
locale.setlocale(locale.LC_ALL, "")
from channels.file_network import FileNetwork
from channels.touchstone import write_touchstone
net = FileNetwork.open(sys.argv[1])
write_touchstone(sys.argv[2], net.data.frequency, net.data.s, comments=net.data.comments)
content = open(sys.argv[2], "rb").read()
told = [net.report.text.splitlines()[1:], net.s(net.data.frequency)[1, 0, 7].real, hashlib.sha256(content).hexdigest()]
print(json.dumps([locale.localeconv()["decimal_point"], told]))
"""


@pytest.fixture(scope="module")
def comma_locale(tmp_path_factory):
    """Environment of a locale with a decimal comma: compiled here where the machine has none."""
    folder, name = tmp_path_factory.mktemp("locales"), "de_DE.UTF-8"
    compiler = shutil.which("localedef")
    if compiler is None:
        pytest.skip("no localedef to compile a locale with a decimal comma")
    made = subprocess.run([compiler, "-i", "de_DE", "-f", "UTF-8", str(folder / name)], capture_output=True, check=False)
    if not (folder / name).exists():
        pytest.skip(f"localedef: {made.stderr.decode(errors='replace').strip()}")
    return {"LOCPATH": str(folder), "LC_ALL": name}


def test_the_same_numbers_and_the_same_file_with_a_decimal_comma(file, tmp_path, comma_locale):
    point, plain = json.loads(run(READ_AND_WRITE, file, tmp_path / "a.s4p", LC_ALL="C"))
    comma, other = json.loads(run(READ_AND_WRITE, file, tmp_path / "b.s4p", **comma_locale))
    assert (point, comma) == (".", ",")
    assert other == plain


def test_the_command_writes_to_a_path_beyond_ascii_without_display(file, monkeypatch, capsys):
    from experiments import cli

    monkeypatch.delenv("DISPLAY", raising=False)
    out = file.parent / "Auge ø"
    monkeypatch.setattr("sys.argv", ["serdes", "eye", str(file), "--rate", "56G", "--out", str(out)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    assert "Auge ø" in capsys.readouterr().out
    assert (out / "eye.png").stat().st_size > 10_000
