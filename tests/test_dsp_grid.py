import json
import math

import numpy as np
import pytest

from dsp.grid import Grid


@pytest.mark.parametrize(("m", "n"), [(2, 1), (4, 7), (5, 9), (32, 64)])
def test_axes_are_those_of_the_real_fft(m, n):
    grid = Grid(symbol_rate=26.5625e9, samples_per_symbol=m, n_symbols=n)
    assert grid.n == m * n
    assert grid.t.shape == (grid.n,)
    assert grid.f == pytest.approx(np.fft.rfftfreq(grid.n, grid.dt))
    assert np.fft.rfft(np.zeros(grid.n)).shape == grid.f.shape
    assert grid.t[0] == 0
    assert grid.f[0] == 0


def test_lengths_and_steps_hang_together():
    grid = Grid(symbol_rate=50e9, samples_per_symbol=16, n_symbols=128)
    assert grid.duration * grid.df == pytest.approx(1)
    assert grid.dt * grid.sample_rate == pytest.approx(1)
    assert grid.duration == pytest.approx(grid.n * grid.dt)
    assert grid.t[grid.samples_per_symbol] * grid.symbol_rate == pytest.approx(1)
    assert grid.f[-1] == pytest.approx(grid.sample_rate / 2)


def test_equal_by_value():
    assert Grid(symbol_rate=1e9) == Grid(symbol_rate=1e9)
    assert len({Grid(symbol_rate=1e9), Grid(symbol_rate=1e9), Grid(symbol_rate=2e9)}) == 2


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("symbol_rate", 53.125, "GBd meant"),
        ("symbol_rate", math.nan, "finite"),
        ("symbol_rate", -1e9, "from 1e"),
        ("samples_per_symbol", 0, "2 or more"),
        ("samples_per_symbol", 2.5, "whole number"),
        ("n_symbols", 0, "1 or more"),
        ("n_symbols", 8.0, "whole number"),
    ],
)
def test_wrong_values_are_refused(field, value, rule):
    with pytest.raises(ValueError, match=rule) as caught:
        Grid(**{"symbol_rate": 50e9, field: value})
    assert f"Grid.{field}" in str(caught.value)
    assert repr(value) in str(caught.value)


def test_too_few_samples_names_the_minimum(cases_dir):
    runs = json.loads((cases_dir / "bad_run_configurations.json").read_text(encoding="utf-8"))["runs"]
    run = next(r for r in runs if r["id"] == "b")
    with pytest.raises(ValueError, match=r"samples_per_symbol must be a whole number of 2 or more, got 1 .*at least 2"):
        Grid(symbol_rate=run["symbol_rate_baud"], samples_per_symbol=run["samples_per_ui"])
