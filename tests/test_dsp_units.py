import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsp import units
from dsp.units import db, db_power, dbm, from_db, from_db_power, from_dbm, mW

decibels = st.floats(-300, 300)


@settings(deadline=None, max_examples=50, derandomize=True)
@given(decibels)
def test_decibels_there_and_back(x):
    assert db(from_db(x)) == pytest.approx(x, abs=1e-10)
    assert db_power(from_db_power(x)) == pytest.approx(x, abs=1e-10)
    assert dbm(from_dbm(x)) == pytest.approx(x, abs=1e-10)
    assert from_db(x) ** 2 == pytest.approx(from_db_power(x), rel=1e-6, abs=0)


def test_amplitude_and_power_conventions():
    assert db([10.0, -10.0, 10j]) == pytest.approx([20, 20, 20])
    assert db_power(10.0) == pytest.approx(10)
    assert dbm(1 * mW) == pytest.approx(0)
    assert dbm(1.0) == pytest.approx(30)


def test_silence_is_minus_infinity_without_a_warning():
    assert db(0.0) == -np.inf
    assert db_power(0.0) == -np.inf
    assert dbm(0.0) == -np.inf
    assert from_db(-np.inf) == 0


def test_published_conversions(cases_dir):
    case = json.loads((cases_dir / "com_and_optical_unit_conversions.json").read_text(encoding="utf-8"))
    com, light = case["com"], case["optical"]
    assert db(com["signal_mV"] / com["noise_at_target_mV"]) == pytest.approx(4.601976500835583, rel=1e-8)
    average, ratio = from_dbm(light["average_power_dBm"]), from_db_power(light["outer_extinction_ratio_dB"])
    low = 2 * average / (1 + ratio)
    modulation = low * (ratio - 1)
    assert low / mW == pytest.approx(0.7398616482684695, rel=1e-8)
    assert low * ratio / mW == pytest.approx(2.0852134409770393, rel=1e-8)
    assert modulation / mW == pytest.approx(1.3453517927085699, rel=1e-8)
    assert dbm(modulation) == pytest.approx(1.28835861777177, rel=1e-8)
    assert from_db(case["s21_db"]) == pytest.approx(0.5, rel=1e-8)


@pytest.mark.parametrize(
    ("typed", "si"),
    [
        (53.125 * units.GBd, 53.125e9),
        (4 * units.ps, 4e-12),
        (1 * units.inch, 1000 * units.mil),
        (12 * units.inch, 0.3048),
        (18 * units.fF, 18e-15),
        (130 * units.pH, 130e-12),
        (8 * units.TB, 64 * units.Tbps),
        (1 * units.GB, 8 * units.Gbps),
        (2 * units.km, 2e6 * units.mm),
        (7.5e-9 * units.V**2 / units.GHz, 7.5e-18),
        (100 * units.percent, 1.0),
        (100 * units.ppm, 1e-4),
        (4 * units.pJ, 4000 * units.fJ),
    ],
)
def test_multipliers(typed, si):
    assert typed == pytest.approx(si, rel=1e-14, abs=0)
