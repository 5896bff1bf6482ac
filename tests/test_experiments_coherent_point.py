"""Coherent links in sweeps."""

import dataclasses

import numpy as np
import pytest
import tomli_w

from dsp.units import km
from experiments import sweep_file
from experiments.coherent_point import CoherentPoint
from experiments.executors import Here
from experiments.sweep import sweep
from serdes.coherent_standards import module
from serdes.serialize import to_dict

pytest.importorskip("xarray")
LINK = module("400ZR").amplified(80 * km, 1, 0.0)
POINT = CoherentPoint(base=LINK, outputs=("ber", "snr_db", "margin_db", "snr_amplifiers_db", "outcome"))


def study(tmp_path, **changes):
    table = {
        "outputs": ["snr_db", "margin_db"], "link": to_dict(LINK),
        "axes": {"channel.spans.1.fiber.length": {"values": [60e3, 80e3, 120e3], "unit": "m"}},
        "plots": {"margin": {"y": "margin_db", "x": "channel.spans.1.fiber.length"}},
    } | changes  # fmt: skip
    path = tmp_path / "zr.toml"
    path.write_text(tomli_w.dumps(table))
    return path


def test_a_file_sweeps_a_coherent_link(tmp_path):
    wanted = sweep_file.read(study(tmp_path))
    found = sweep(wanted.point, wanted.axes, Here(), tmp_path / "sweep.db")
    margin = found["margin_db"].values
    assert np.all(np.diff(margin) < 0)
    assert margin[1] == pytest.approx(POINT({}, np.random.default_rng(1))["margin_db"])
    assert wanted.description["link"]["type"] == "CoherentLink"
    assert sweep_file.draw(found, wanted.plots[0]).axes


def test_both_engines_agree():
    counted = dataclasses.replace(POINT, engine="counted", n_symbols=16_384)
    change = {"osnr_db": 22.0}
    linear, seen = (p(change, np.random.default_rng(1)) for p in (POINT, counted))
    assert seen["snr_db"] == pytest.approx(linear["snr_db"], abs=0.3)
    assert seen["ber"] == pytest.approx(linear["ber"], rel=0.2)
    assert seen["snr_amplifiers_db"] is None
    assert linear["snr_amplifiers_db"] > linear["snr_db"]
    assert counted({"osnr_db": 60.0}, np.random.default_rng(1))["ber"] is None


def test_it_has_no_eye(tmp_path):
    with pytest.raises(ValueError, match="coherent"):
        sweep_file.load_point(study(tmp_path))


@pytest.mark.parametrize(
    ("field", "value"), [("outputs", ("eye_height",)), ("base", None), ("engine", "guess"), ("n_symbols", 10)]
)
def test_bad_values_are_named(field, value):
    with pytest.raises(ValueError, match=field):
        dataclasses.replace(POINT, **{field: value})


def test_wrong_paths_and_outputs_are_errors_of_the_file(tmp_path):
    with pytest.raises(ValueError, match=r"zr\.toml.*fibre"):
        sweep_file.read(study(tmp_path, axes={"channel.fibre": [1, 2]}))
    with pytest.raises(ValueError, match=r"zr\.toml.*snr"):
        sweep_file.read(study(tmp_path, outputs=["snr"]))
