"""Sweeps: overhead of a trivial point, a statistical point over six axes, a store of a million points."""

import numpy as np
import pytest

from experiments.axes import axes_of, linspace
from experiments.executors import Here
from experiments.link_point import LinkPoint
from experiments.records import point_key
from experiments.store import Outcome, Store
from experiments.sweep import sweep

POINT = LinkPoint(setup=(("length", 1.0), ("rate", "112G")), outputs=("ser", "snr_db"))
SIX = {
    "setup.length": linspace(0.9, 1.1, 3, "m"),
    "tx.snr_db": linspace(31, 34, 5),
    "rx.noise_density": linspace(0.8e-17, 1.6e-17, 5),
    "rx.equalizer.n_taps": [16, 20, 24, 28],
    "tx.amplitude": linspace(0.36, 0.44, 5),
    "rx.converter.n_bits": [6, 7],
}


def trivial(p):
    return {"y": p["a"] * p["b"]}


@pytest.mark.parametrize("stored", [False, True])
def test_two_thousand_trivial_points(benchmark, tmp_path, stored):
    """Divide by 2000 for the overhead of a point."""
    numbers = iter(range(100))

    def run():
        store = tmp_path / f"{next(numbers)}.db" if stored else None
        sweep(trivial, {"a": linspace(0, 1, 40), "b": linspace(0, 1, 50)}, Here(), store)

    benchmark.pedantic(run, rounds=3, warmup_rounds=1)


def test_a_statistical_point_of_six_axes(benchmark):
    """Of a 1 m 112G link, the channel known; in the order of a sweep."""
    points = list(axes_of(SIX).points({}))[::7]
    rng = np.random.default_rng(1)
    numbers = iter(range(10**6))
    benchmark.pedantic(lambda: POINT(points[next(numbers) % 30], rng), rounds=30, warmup_rounds=2)


def test_ten_thousand_statistical_points_on_all_cores(benchmark, tmp_path):
    axes = {
        **SIX,
        "setup.length": linspace(0.9, 1.1, 4, "m"),
        "rx.converter.n_bits": [5, 6, 7, 8],
        "rx.equalizer.n_taps": [16, 20, 22, 24, 28],
    }
    assert axes_of(axes).size == 10_000
    found = benchmark.pedantic(lambda: sweep(POINT, axes, store=tmp_path / "s.db"), rounds=1)
    assert set(found.status.values.ravel()) == {"ok"}


def test_opening_a_store_of_a_million_points(benchmark, tmp_path):
    path = tmp_path / "million.db"
    with Store(path) as store:
        store.begin({}, {})
        for i in range(1_000_000):
            store.put(point_key("s", {"a": i}), Outcome(parameters={"a": i}, status="ok", record={"y": 2.0 * i}))

    def open_it():
        with Store(path) as store:
            return store.counts()

    assert benchmark.pedantic(open_it, rounds=3) == {"ok": 1_000_000}
