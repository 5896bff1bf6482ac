"""Run descriptions that people get wrong: each is refused with what is wrong and what would be right, or is solved."""

import json

import numpy as np
import pytest

from channels.channel import impulse_response
from channels.copper import CopperChannel, Twinax
from channels.file_network import FileNetwork
from channels.nonlinear import Comb
from channels.touchstone_data import TouchstoneData
from dsp.distribution import Interference
from dsp.equalizer import Mmse
from dsp.grid import Grid
from dsp.response import PulseResponse
from serdes.serialize import from_dict, to_dict
from serdes.setups import setup
from serdes.simulate import simulate
from serdes.statistical import Statistical
from serdes.time_domain import TimeDomain

GRID = Grid(symbol_rate=53.125e9, samples_per_symbol=4, n_symbols=16)


@pytest.fixture(scope="module")
def runs(cases_dir):
    return {run["id"]: run for run in json.loads((cases_dir / "bad_run_configurations.json").read_text())["runs"]}


def table(**changes):
    return {**to_dict(setup("112G").link(1.0)), **changes}


def test_a_symbol_rate_without_its_unit(runs):
    with pytest.raises(ValueError, match=r"symbol_rate.*53\.125 GBd meant"):
        from_dict(table(symbol_rate=runs["a"]["symbol_rate"]))


def test_too_few_samples_a_symbol(runs):
    samples = runs["b"]["samples_per_ui"]
    with pytest.raises(ValueError, match="2 or more"):
        Grid(symbol_rate=runs["b"]["symbol_rate_baud"], samples_per_symbol=samples)
    with pytest.raises(ValueError, match="samples_per_symbol must be from 2 to 64"):
        TimeDomain(samples_per_symbol=samples)


def test_a_record_shorter_than_the_response(runs):
    rate, run = 53.125e9, runs["c"]
    delay = run["impulse_length_ui"] / rate
    cable = Twinax(length=1.0)
    long = CopperChannel(parts=(Twinax(length=delay / cable.nominal_delay),))
    grid = Grid(symbol_rate=rate, samples_per_symbol=4, n_symbols=run["n_symbols"])
    with pytest.raises(ValueError, match=rf"delay of CopperChannel, 40\d\.\d symbols, got {run['n_symbols']}"):
        impulse_response(long, grid)


def test_an_equaliser_without_taps(runs):
    with pytest.raises(ValueError, match="n_taps must be a whole number of 1 or more"):
        Mmse(n_taps=runs["d"]["rx_ffe_taps"])
    one = setup("112G").link(0.3).vary({"rx.equalizer": Mmse(n_taps=1, n_precursors=0, n_feedback=0)})
    taps = simulate(one, Statistical(eye=False)).operating_point.taps
    assert np.any(np.array(taps.feed_forward))


def test_a_misspelt_key(runs):
    wrong = table()
    wrong["rx"]["equalizer"]["n_tapz"] = runs["e"]["dfe_tapz"]
    with pytest.raises(ValueError, match=r"Link\.rx\.equalizer: unknown key 'n_tapz'.*n_taps"):
        from_dict(wrong)
    assert "dfe_tapz" in runs["e"]
    with pytest.raises(ValueError, match="unknown key 'dfe_tapz'"):
        from_dict({**table(), "dfe_tapz": 4})


def test_a_symbol_rate_that_is_no_number(runs):
    for value in (runs["f"]["symbol_rate_baud"], float(runs["f"]["symbol_rate_baud"])):
        with pytest.raises(ValueError, match="symbol_rate must be a finite number"):
            from_dict(table(symbol_rate=value))


def test_the_command_line_says_it_in_one_line(tmp_path, capsys, monkeypatch):
    from experiments import cli

    path = tmp_path / "link.toml"
    path.write_text("symbol_rate = 53.125\n")
    monkeypatch.setattr("sys.argv", ["serdes", "eye", str(path), "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    said = capsys.readouterr().err
    assert stop.value.code != 0
    assert "Traceback" not in said
    assert "link.toml" in said


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Statistical(eye="no"), r"Statistical\.eye must be a bool, got 'no'"),
        (lambda: Statistical(eye=np.nan), r"Statistical\.eye"),
        (lambda: simulate("a link", Statistical()), r"simulate\.link must be a Link.*, got 'a link'"),
        (lambda: simulate(setup("112G").link(1.0), "fast"), r"simulate\.engine must be a Statistical or"),
        (lambda: setup("112G").link(1.0).vary({3: 3}), r"vary\.path must be a str, got 3"),
        (lambda: FileNetwork.open(None), r"path must be a str or Path, got None"),
        (lambda: PulseResponse(samples=np.zeros(8), grid=None, start=0.0), r"PulseResponse\.grid must be a Grid"),
        (lambda: PulseResponse(samples=np.zeros(64), grid=GRID, start=None), r"PulseResponse\.start must be a finite"),
        (lambda: PulseResponse(samples=np.zeros(7), grid=GRID, start=0.0), r"PulseResponse\.samples must be of shape \(64,\)"),
        (lambda: PulseResponse(samples="x", grid=GRID, start=0.0), r"PulseResponse\.samples must be an array of finite real"),
        (lambda: Interference(cursors=None, levels="x", sigma=0.1), r"Interference\.(cursors|levels) must be"),
        (
            lambda: TouchstoneData(frequency="x", s=1, reference=(50.0,)),
            r"TouchstoneData\.frequency must be an array of finite",
        ),
        (lambda: Comb(symbol_rate=60e9, spacing=-1.0), r"Comb\.spacing must be greater than 0"),
    ],
)
def test_wrong_values_name_field_rule_and_value(make, field):
    with pytest.raises(ValueError, match=field):
        make()
