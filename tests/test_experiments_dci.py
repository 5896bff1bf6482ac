"""The study of kilometres: intensity modulation against coherent."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from channels.fiber import SingleModeFiber
from dsp.units import GBd, km, nm
from experiments.commands.coherent import commands
from experiments.direct_detection import DirectDetection
from experiments.studies import dci

LANE = DirectDetection(symbol_rate=106.25 * GBd, wavelength=1550 * nm)


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    quiet = pytest.MonkeyPatch()
    quiet.setattr("experiments.parallel.os.cpu_count", lambda: 1)
    quiet.setattr(dci, "DISTANCES", (0.5 * km, 2 * km, 80 * km))
    quiet.setattr(dci, "SPAN_COUNTS", (1, 5))
    quiet.setattr(dci, "SPAN_LENGTHS", (80 * km, 120 * km))
    found = dci.run(("400ZR", "800LR"), lanes=(LANE,))
    quiet.undo()
    return found


def test_intensity_modulation_at_1550_ends_by_dispersion():
    """22.9 dB at 1 km behind feedback, next to 23.2 of OptiCommPy; a third of a dB of margin is left before 2 km."""
    assert LANE.margin_db(1 * km) > 4
    assert LANE.margin_db(2 * km) < 0.2
    assert LANE.margin_db(2 * km, dispersion=False) > 8


def test_the_null_comes_at_its_length():
    f = np.array([LANE.symbol_rate / 2])
    fiber = SingleModeFiber(length=LANE.null_at_nyquist())
    assert abs(fiber.intensity_transfer(f, LANE.wavelength, 0.0)[0]) < 1e-6
    assert LANE.null_at_nyquist() == pytest.approx(1.27 * km, rel=0.02)
    assert DirectDetection(symbol_rate=53.125 * GBd, wavelength=1310 * nm).null_at_nyquist() == np.inf


def test_answers_where_each_ends(answer):
    lane = answer.tables["lanes"][0]
    assert lane["limit"] == "dispersion"
    assert 1 < lane["reach_km"] < 2.5
    zr, lr = answer.tables["dci"]
    assert 100 < zr["specified_reach_km"] < zr["amplified_reach_km"]
    assert lr["amplified_reach_km"] == 0
    assert zr["flight_us_at_80_km"] > 90 * zr["code_latency_us"]
    margins = {(r["kind"], r["distance_km"]): r["margin_db"] for r in answer.tables["margins"]}
    assert margins["400ZR, amplified", 80] > 0 > margins[LANE.label, 2.0] - 0.5


def test_margins_fall_with_length_and_number(answer):
    for axis in ("length", "number"):
        rows = [r for r in answer.tables["spans"] if r["axis"] == axis]
        assert rows[0]["margin_db"] > rows[1]["margin_db"]
        assert all(r["best_margin_db"] >= r["margin_db"] for r in rows)


def test_there_is_a_best_launch_power(answer):
    snr = [r["snr_db"] for r in answer.tables["launch"]]
    assert 0 < int(np.argmax(snr)) < len(snr) - 1


def test_signal_run_agrees_with_its_linear_face(answer):
    row = answer.tables["signal"][0]
    assert row["outcome"] == "ok"
    assert row["snr_x_db"] == pytest.approx(row["linear_snr_db"], abs=0.3)


def test_everything_is_written(answer, tmp_path):
    written = {path.name for path in answer.write(tmp_path)}
    assert {"dci.csv", "lanes.csv", "dci_distance.png", "dci_stages.png", "dci_spans.png", "dci_launch.png"} <= written
    assert "coherent" in json.loads((tmp_path / "answer.json").read_text())["question"]


def test_modules_are_named_where_unknown():
    result = CliRunner().invoke(commands, ["--module", "ZR9"])
    assert isinstance(result.exception, ValueError)
    assert "400ZR" in str(result.exception)


@pytest.mark.parametrize(("field", "bad"), [("seed", -1), ("osnr_db", 60.0), ("osnr_db", -50.0)])
def test_bad_arguments_are_named_before_the_work(field, bad):
    with pytest.raises(ValueError, match=field):
        dci.run(("400ZR",), lanes=(), **{field: bad})


@pytest.mark.parametrize(("field", "bad"), [("symbol_rate", 106.25), ("wavelength", 1550.0), ("power_dbm", 90.0)])
def test_bad_values_are_named(field, bad):
    good = {"symbol_rate": 106.25 * GBd, "wavelength": 1550 * nm, "power_dbm": 0.0}
    with pytest.raises(ValueError, match=f"DirectDetection.{field}"):
        DirectDetection(**(good | {field: bad}))
