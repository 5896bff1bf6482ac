import tomllib
from contextlib import contextmanager

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments import axis_units, registry, sweep_file
from experiments.commands.sweep import commands
from experiments.executors import Here
from experiments.link_point import LinkPoint
from experiments.registry import Study
from experiments.study import Answer
from experiments.sweep import sweep
from serdes import serialize
from serdes.setups import setup
from serdes.statistical import Statistical

xr = pytest.importorskip("xarray")

STUDY = """
outputs = ["ser", "snr_db", "loss_at_nyquist_db", "share_ISI"]
[setup]
rate = "112G"
length = 1.0
[axes]
"rx.noise_density" = {logspace = [8e-18, 1e-16, 2], unit = "V^2/Hz"}
"setup.length" = {values = [0.5, 1.0], unit = "m"}
[plots.error]
y = "ser"
x = "setup.length"
by = "rx.noise_density"
"""


@pytest.fixture
def study(tmp_path):
    def make(text):
        path = tmp_path / "study.toml"
        path.write_text(text)
        return path

    return make


def test_a_sweep_in_a_file_gives_what_the_engine_gives(study):
    wanted = sweep_file.read(study(STUDY))
    assert list(wanted.axes) == ["rx.noise_density", "setup.length"]
    found = sweep(wanted.point, wanted.axes, Here(), description=wanted.description)
    link = setup("112G").link(0.5).vary({"rx.noise_density": float(found["rx.noise_density"][1])})
    alone = Statistical(eye=False).run(link)
    assert found.ser[1, 0].item() == pytest.approx(alone.ser, rel=1e-9)
    assert found.snr_db[1, 0].item() == pytest.approx(alone.snr_db)
    assert np.all(found.loss_at_nyquist_db[:, 1] > found.loss_at_nyquist_db[:, 0])
    figure = sweep_file.draw(found, wanted.plots[0])
    assert figure.axes[0].get_xlabel() == "setup.length [m]"


def test_the_base_of_a_sweep_file_is_a_link_for_other_commands(study):
    assert sweep_file.load_link(study(STUDY)) == setup("112G").link(1.0)
    link = setup("112G").link(2.0)
    assert sweep_file.load_link(study(serialize.to_toml(link))) == link


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"ser", ', '"sser", ', "did you mean 'ser'"),
        ("[plots.error]", "[plot.error]", "did you mean 'plots'"),
        ("rx.noise_density\" = {l", "rx.noise_densit\" = {l", "did you mean 'noise_density'"),
        ("logspace = [8e-18, 1e-16, 2]", "logspace = [8e-18, 1e-16]", "first, last, how many"),
        ("logspace", "lin", "must be a list or a table"),
        ('x = "setup.length"', 'x = "length"', "plots.error: x"),
        ("length = 1.0", "lenght = 1.0", "did you mean 'length'"),
        ("[setup]\nrate", "[other]\nrate", "unknown key 'other'"),
        ('rate = "112G"', 'rate = "113X"', "unknown rate"),
        ("outputs = [", "seed = -1\noutputs = [", "seed"),
        ("outputs = [", "engine = 'x'\noutputs = [", "engine"),
        ("[axes]", "[axes", "not TOML"),
    ],
)  # fmt: skip
def test_wrong_files_are_named(study, old, new, words):
    assert old in STUDY
    with pytest.raises(ValueError, match=rf"study.toml.*{words}"):
        sweep_file.read(study(STUDY.replace(old, new)))


def test_an_axis_in_a_file_may_be_a_zip_or_draws(study):
    text = STUDY.replace('"setup.length" = {values = [0.5, 1.0], unit = "m"}', (
        'corner = {zip = {"setup.length" = [0.5, 1.0], "tx.amplitude" = [0.4, 0.41]}}\n'
        'part = {draws = 3, seed = 2, "tx.snr_db" = {normal = [33.0, 0.5], unit = "dB"}, '
        '"rx.equalizer.n_taps" = {choice = [16, 20]}}'
    ))  # fmt: skip
    wanted = sweep_file.read(study(text.replace('x = "setup.length"', 'x = "corner"')))
    assert list(wanted.axes) == ["rx.noise_density", "corner", "part"]


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ('"setup.length" = {values = [0.5, 1.0], unit = "km"}', r"axes.setup.length: .* in m: 'km' is not that unit"),
        ('"setup.length" = {linspace = [0.5, 1.0, 3], unit = "GHz"}', "in m: 'GHz'"),
        ('"tx.snr_db" = {values = [30, 33], unit = "V"}', "in dB: 'V'"),
        ('part = {draws = 3, "tx.amplitude" = {normal = [400, 10], unit = "mV"}}', r"axes.part.tx.amplitude: .* in V: 'mV'"),
        ('both = {zip = {"rx.noise_density" = {values = [8, 9], unit = "V^2/GHz"}}}', "in V.2/Hz: 'V.2/GHz'"),
        ('"rx.ctle.stages" = {values = [1, 2], unit = "um"}', "in SI: 'um'"),
    ],
)
def test_a_unit_that_the_values_are_not_in_is_refused(axis, words):
    axes = {name: sweep_file._axis(name, given) for name, given in tomllib.loads(axis).items()}
    with pytest.raises(ValueError, match=words):
        axis_units.of_axes(axes)


def test_the_file_of_an_axis_in_kilometres_is_named_and_a_known_unit_needs_no_words(study):
    with pytest.raises(ValueError, match=r"study.toml: axes.setup.length: .*'km'"):
        sweep_file.read(study(STUDY.replace('unit = "m"', 'unit = "km"')))
    wanted = sweep_file.read(study(STUDY.replace('{values = [0.5, 1.0], unit = "m"}', "[0.5, 1.0]")))
    assert wanted.units == {"rx.noise_density": "V^2/Hz", "setup.length": "m"}


def test_what_is_not_on_the_plot_is_a_band():
    def point(p):
        return {"snr_db": p["a"] + p["b"] + p["c"]}

    found = sweep(point, {"a": [1, 2, 3], "b": [0, 10], "c": [0, 1, 5]}, Here())
    (ax,) = sweep_file.draw(found, sweep_file.Plot(name="x", y="snr_db", x="a", by="b")).axes
    assert [line.get_ydata().tolist() for line in ax.lines] == [[2, 3, 4], [12, 13, 14]]
    edges = [c.get_paths()[0].vertices[:, 1] for c in ax.collections]
    assert [(e.min(), e.max()) for e in edges] == [(1, 8), (11, 18)]
    assert ax.get_title() == "median and range over c"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"outputs": ("x",)}, "outputs"),
        ({"setup": ()}, "base or setup"),
        ({"engine": "x"}, "engine"),
        ({"n_symbols": 0}, "n_symbols"),
        ({"error_ratio": 2.0}, "error_ratio"),
        ({"base": setup("112G").link(1.0), "setup": (), "outputs": ("margin_db",)}, "error_ratio"),
    ],
)
def test_wrong_link_points_are_named(changes, words):
    with pytest.raises(ValueError, match=words):
        LinkPoint(**{"outputs": ("ser",), "setup": (("rate", "112G"),), **changes})


def test_the_command_writes_everything_and_goes_on_where_it_stopped(study, tmp_path):
    path, out = study(STUDY), tmp_path / "out"
    first = CliRunner().invoke(commands, ["sweep", str(path), "--workers", "1", "--out", str(out)])
    assert first.exit_code == 0, first.output
    assert {p.name for p in out.iterdir()} >= {"sweep.db", "sweep.nc", "sweep.csv", "error.png", "error.svg"}
    path.write_text(STUDY.replace("values = [0.5, 1.0]", "values = [0.5, 1.0, 1.5]"))
    again = CliRunner().invoke(commands, ["sweep", str(path), "--workers", "1", "--out", str(out)])
    assert again.exit_code == 0, again.output
    assert "6 ok" in again.output
    assert "axes have changed" in again.output
    path.write_text(STUDY.replace("length = 1.0", "length = 1.0\ngauge = 30"))
    other = CliRunner().invoke(commands, ["sweep", str(path), "--workers", "1", "--out", str(out)])
    assert isinstance(other.exception, ValueError)
    assert "results of another sweep are here" in str(other.exception)


def test_ctrl_c_keeps_what_is_there_and_says_how_to_go_on(study, tmp_path, monkeypatch):
    @contextmanager
    def interrupted(name):
        pressed = []

        def report(state):
            if state.done and not pressed:
                pressed.append(True)
                raise KeyboardInterrupt

        yield report

    with monkeypatch.context() as patched:
        patched.setattr("experiments.commands.sweep._bar", interrupted)
        done = CliRunner().invoke(commands, ["sweep", str(study(STUDY)), "--workers", "1", "--out", str(tmp_path / "out")])
    assert done.exit_code == 130
    assert "the same command goes on where this one stopped" in done.output
    again = CliRunner().invoke(commands, ["sweep", str(study(STUDY)), "--workers", "1", "--out", str(tmp_path / "out")])
    assert (again.exit_code, "4 ok" in again.output) == (0, True)


def test_the_report_command_writes_a_page(tmp_path, monkeypatch):
    toy = Study(name="toy", question="?", run=lambda: Answer(question="?", tables={}, figures={}), command="x", method="y")
    monkeypatch.setattr(registry, "STUDIES", (toy,))
    done = CliRunner().invoke(commands, ["report", "--quick", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "report.html").read_text().startswith("<!doctype html>")


def test_a_point_counted_without_an_error_is_below_all_others_in_a_plot():
    data = xr.Dataset(
        {"ser": (("x", "seed"), [[np.nan, np.nan, 1e-3], [1e-4, np.nan, 1e-3]]), "status": (("x", "seed"), [["ok"] * 3] * 2)},
        {"x": [1.0, 2.0], "seed": [1, 2, 3]},
    )
    (line,) = sweep_file.draw(data, sweep_file.Plot(name="p", y="ser", x="x", by="")).axes[0].lines
    np.testing.assert_array_equal(line.get_ydata(), [np.nan, 1e-4])
