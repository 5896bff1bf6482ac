import functools
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from experiments.axes import (
    Axis,
    Choice,
    Normal,
    Uniform,
    Values,
    axes_of,
    draws,
    from_description,
    linspace,
    listed,
    logspace,
    zipped,
)
from experiments.dataset import to_csv, to_netcdf
from experiments.executors import Here
from experiments.records import Field, digest, name_of, record_of, rng_of
from experiments.sweep import sweep

xr = pytest.importorskip("xarray")


def product(p):
    return {"y": p["a"] * p["b"], "name": f"{p['a']:g}", "big": p["a"] > 1}


def noisy(p, rng):
    return {"z": rng.standard_normal() * p["a"]}


def curve(p):
    f = np.linspace(0, 1, int(p.get("n", 4)))
    return {"h": Field(values=p["a"] * f, dims=("f",), coords={"f": f}, unit="V"), "loss_db": 1.0}


def fragile(p):
    if p["a"] == 2:
        raise ZeroDivisionError("a is 2")
    return {"y": 1.0}


def deadly(p):
    if p["a"] == 2:
        os._exit(1)
    return {"y": p["a"]}


def same(a, b):
    xr.testing.assert_identical(a.drop_vars("seconds").drop_attrs(), b.drop_vars("seconds").drop_attrs())


AXES = {"a": linspace(0.5, 2, 4, "m"), "b": [1, 2, 3]}


def test_a_sweep_is_the_function_at_every_point():
    found = sweep(product, AXES, Here())
    assert dict(found.sizes) == {"a": 4, "b": 3}
    np.testing.assert_array_equal(found.y, np.outer(found.a, found.b))
    assert (found.a.attrs["units"], found.big.dtype, found.name.dtype.kind) == ("m", bool, "U")
    assert set(found.status.values.ravel()) == {"ok"}


def test_zips_and_draws_are_one_dimension_of_several_parameters():
    axes = {"corner": zipped(a=[1, 2], b=[10, 20]), "part": draws(3, seed=1, c=Uniform(low=0, high=1, unit="V"))}
    found = sweep(lambda p: {"y": p["a"] + p["b"]}, axes, Here())
    assert found.y.dims == ("corner", "part")
    np.testing.assert_array_equal(found.y[:, 0], [11, 22])
    assert (found.a.dims, found.c.dims, found.c.attrs["units"]) == (("corner",), ("part",), "V")


def test_more_draws_keep_the_first_and_laws_do_not_disturb_each_other():
    a = draws(3, seed=1, x=Normal(mean=0, std=1), y=Choice(values=("u", "v")))
    b = draws(9, seed=1, y=Choice(values=("u", "v")), x=Normal(mean=0, std=1))
    assert dict(a.columns)["x"] == dict(b.columns)["x"][:3]
    assert dict(a.columns)["y"] == dict(b.columns)["y"][:3]
    assert dict(draws(3, seed=2, x=Normal(mean=0, std=1)).columns)["x"] != dict(a.columns)["x"]


def test_laws_have_their_moments_and_bounds():
    rng = np.random.default_rng(1)
    x = np.array([Normal(mean=3, std=2, limit=2).draw(rng) for _ in range(4000)])
    assert np.abs(x - 3).max() <= 4
    assert x.mean() == pytest.approx(3, abs=0.1)
    u = np.array([Uniform(low=1e-3, high=10, log=True).draw(rng) for _ in range(4000)])
    assert np.log10(u).mean() == pytest.approx(-1, abs=0.08)
    assert (u.min() >= 1e-3, u.max() <= 10) == (True, True)


def test_spaces_have_their_ends():
    assert linspace(1, 3, 3).values == (1.0, 2.0, 3.0)
    assert logspace(1, 100, 3).values == pytest.approx((1, 10, 100))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: listed([]), "values"),
        (lambda: listed([None]), "value 0"),
        (lambda: Values(values=(1,), unit=3), "unit"),
        (lambda: linspace(0, np.inf, 3), "end"),
        (lambda: linspace(0, 1, 0), "linspace.n"),
        (lambda: logspace(0, 1, 3), "start"),
        (lambda: logspace(1, -1, 3), "stop"),
        (lambda: Normal(mean=np.nan, std=1), "mean"),
        (lambda: Normal(mean=0, std=0), "std"),
        (lambda: Normal(mean=0, std=1, limit=0.01), "limit"),
        (lambda: Uniform(low=np.nan, high=1), "low"),
        (lambda: Uniform(low=2, high=1), "high"),
        (lambda: Uniform(low=-1, high=1, log=True), "low"),
        (lambda: Choice(values=()), "values"),
        (lambda: draws(0, seed=1, a=Normal(mean=0, std=1)), "draws.n"),
        (lambda: draws(1, seed=-1, a=Normal(mean=0, std=1)), "seed"),
        (lambda: draws(1, seed=1, a=3), "a must be"),
        (lambda: draws(1, seed=1), "columns"),
        (lambda: zipped(a=[1, 2], b=[1]), "same length"),
        (lambda: zipped(a=3), "list of values"),
        (lambda: Axis(columns=(("a", (1,)),), units=(("b", "V"),)), "units"),
        (lambda: axes_of({"a": "abc"}), "list of values"),
        (lambda: axes_of({"a": [1], "z": zipped(a=[1])}), "two axes"),
        (lambda: axes_of({"a": [1], "b": zipped(c=[1]), "c": [1]}), "two axes|name of a parameter"),
        (lambda: sweep(product, {"a": [1]}, Here(), fixed={"a": 1}), "both fixed"),
        (lambda: sweep(product, {"a": [1]}, Here(), fixed={"b": [1]}), "fixed"),
        (lambda: sweep(product, {"a": [1]}, Here(), seed=-1), "seed"),
    ],
)  # fmt: skip
def test_wrong_axes_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_axes_come_back_from_their_description():
    axes = axes_of({**AXES, "c": zipped(d=[1.5, 2.5], e=["x", "y"])})
    assert from_description(axes.describe()) == axes


def test_numbers_are_the_same_in_any_order_by_any_workers():
    values = np.linspace(1, 2, 12).tolist()
    forward = sweep(noisy, {"a": values}, Here(), seed=7)
    backward = sweep(noisy, {"a": values[::-1]}, Here(), seed=7)
    np.testing.assert_array_equal(forward.z, backward.z[::-1])
    with ThreadPoolExecutor(3) as pool:
        same(forward, sweep(noisy, {"a": values}, pool, seed=7))
    assert not np.any(sweep(noisy, {"a": values}, Here(), seed=8).z == forward.z)
    assert np.unique(forward.z / forward.a).size == 12


def test_numbers_are_the_same_on_any_machine():
    # Of another interpreter, on another day: a change of the seeding changes published studies.
    assert digest({"a": 2, "b": "x"}) == digest({"b": "x", "a": 2.0}) == "03e5a8ed471fa826dcaf82b53809fb12"
    assert rng_of(7, {"length": 1.0}).integers(10**6) == rng_of(7, {"length": 1}).integers(10**6) == 588365
    assert digest({"a": 1}) != digest({"a": "1"})
    assert digest({"a": 1}) != digest({"a": True})
    assert digest(2**60) != digest(2**60 + 1)


def test_processes_give_the_same_and_a_dead_one_is_one_failed_point():
    found = sweep(deadly, {"a": [0, 1, 2, 3, 4, 5]})
    assert found.status.values.tolist() == ["ok", "ok", "failed", "ok", "ok", "ok"]
    assert "WorkerDied" in str(found.error[2].item())
    np.testing.assert_array_equal(found.y[[0, 1, 3, 4, 5]], [0, 1, 3, 4, 5])


def test_an_executor_of_the_caller_that_breaks_is_an_error():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(RuntimeError, match="broke"):
        sweep(deadly, {"a": [2]}, pool)


def leaving(p):
    if p["a"] == 2:
        sys.exit(3)
    return {"y": p["a"]}


def test_a_point_that_leaves_the_program_is_one_failed_point():
    with ThreadPoolExecutor(2) as threads:
        for executor in (Here(), threads, None):
            found = sweep(leaving, {"a": [1, 2, 3]}, executor)
            assert found.status.values.tolist() == ["ok", "failed", "ok"]
            assert "SystemExit: 3 [test_experiments_sweep.py" in str(found.error[1].item())


def test_ctrl_c_in_a_point_still_cancels():
    def pressed(p):
        if p["a"] == 2:
            raise KeyboardInterrupt
        return {"y": p["a"]}

    found = sweep(pressed, {"a": [1, 2, 3]}, Here())
    assert found.attrs["cancelled"] == "true"
    assert "failed" not in found.status.values


@pytest.mark.parametrize("name", ["status", "error", "seconds"])
def test_reserved_names_are_refused(name):
    """Before anything is computed where an axis or a parameter has one; a record's is that point's failure."""
    never = lambda p: pytest.fail("was computed")  # noqa: E731
    for axes, fixed in (
        ({name: [1]}, {}),
        ({name: zipped(a=[1])}, {}),
        ({"b": zipped(**{name: [1]})}, {}),
        ({"a": [1]}, {name: 1}),
    ):
        with pytest.raises(ValueError, match=name):
            sweep(never, axes, Here(), fixed=fixed)
    f = np.arange(2.0)
    for record in ({name: 1.0}, {"h": Field(values=f, dims=(name,), coords={name: f})}):
        found = sweep(lambda p, record=record: record, {"a": [1]}, Here())
        assert found.status.item() == "failed"
        assert name in str(found.error.item())


def test_a_text_among_numbers_is_one_ragged_point():
    found = sweep(
        lambda p: {"y": "none" if p["a"] == 2 else 1.5 * p["a"], "z": None if p["a"] == 1 else "t"}, {"a": [1, 2, 3]}, Here()
    )
    assert found.status.values.tolist() == ["ok", "ragged", "ok"]
    assert str(found.error[1].item()).startswith("y: a text")
    np.testing.assert_array_equal(found.y, [1.5, np.nan, 4.5])
    assert found.z.values.tolist() == ["", "", "t"]


_DRIVER = """
import os, sys, time
from multiprocessing import active_children
from pathlib import Path
from experiments.executors import Pool
if __name__ == "__main__":
    pool = Pool(None, 2)
    pool.executor.submit(time.sleep, 600)
    print(*[p.pid for p in active_children()], flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="looks for processes by /proc or kill")
def test_workers_end_with_a_killed_driver(tmp_path):
    (tmp_path / "driver.py").write_text(_DRIVER)
    root = Path(__file__).parent.parent
    driver = subprocess.Popen(
        [sys.executable, str(tmp_path / "driver.py")], stdout=subprocess.PIPE, text=True, cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    try:
        workers = [int(pid) for pid in driver.stdout.readline().split()]
        assert workers
    finally:
        driver.kill()
        driver.wait()
        driver.stdout.close()
    until = time.monotonic() + 20
    while (left := [pid for pid in workers if _runs(pid)]) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left


def _runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


class Costly:
    """A point whose ``a`` is expensive to change."""

    def __init__(self):
        self.order = []

    def shared(self, p):
        return p["a"]

    def __call__(self, p):
        self.order.append(p["a"])
        return {"y": p["a"] * p["b"]}


def test_points_that_share_something_costly_are_computed_together():
    point = Costly()
    found = sweep(point, {"b": [1, 2, 3], "a": [5, 7]}, Here())
    assert point.order == [5, 5, 5, 7, 7, 7]
    np.testing.assert_array_equal(found.y, np.outer([1, 2, 3], [5, 7]))


def test_nothing_starts_where_nothing_is_to_compute(tmp_path, monkeypatch):
    sweep(product, AXES, Here(), tmp_path / "s.db")
    monkeypatch.setattr("experiments.executors.Pool._start", lambda self: pytest.fail("workers were started"))
    assert sweep(product, AXES, None, tmp_path / "s.db").y.sum() == np.outer([0.5, 1, 1.5, 2], [1, 2, 3]).sum()


def test_failed_points_are_records():
    states = []
    found = sweep(fragile, {"a": [1, 2, 3]}, Here(), progress=states.append)
    assert found.status.values.tolist() == ["ok", "failed", "ok"]
    assert "ZeroDivisionError: a is 2 [test_experiments_sweep.py" in str(found.error[1].item())
    assert np.isnan(found.y[1])
    last = states[-1]
    assert (last.done, last.total, last.failed, last.resumed, last.eta) == (3, 3, 1, 0, 0)


def test_arrays_bring_their_dimensions():
    found = sweep(curve, {"a": [1.0, 2.0]}, Here())
    assert found.h.dims == ("a", "f")
    np.testing.assert_array_equal(found.h, np.outer(found.a, found.f))
    assert (found.h.attrs["units"], found.loss_db.attrs["units"]) == ("V", "dB")


def test_ragged_arrays_are_refused_by_name():
    found = sweep(curve, {"n": [4, 5, 4]}, Here(), fixed={"a": 1.0})
    assert found.status.values.tolist() == ["ok", "ragged", "ok"]
    assert "h: f=5" in str(found.error[1].item())


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (3, "flat dictionary"),
        ({1: 2}, "names"),
        ({"x": [1, 2]}, "declare its dimensions"),
        ({"x": np.ones(2)}, "declare its dimensions"),
        ({"x": {"y": 1}}, "number, a text"),
    ],
)
def test_wrong_records_are_named(returned, words):
    with pytest.raises(TypeError, match=words):
        record_of(returned)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"values": np.array([object(), 1])}, "values"),
        ({"dims": ()}, "dims"),
        ({"coords": {}}, "coords"),
        ({"coords": {"f": np.ones(3)}}, "coords"),
    ],
)
def test_wrong_fields_are_named(changes, words):
    with pytest.raises(ValueError, match=f"Field.{words}"):
        Field(**{"values": np.ones(2), "dims": ("f",), "coords": {"f": np.arange(2)}, **changes})


def test_a_record_may_repeat_a_parameter_but_not_change_it():
    assert sweep(lambda p: {**p, "y": 1}, {"a": [1]}, Here()).y.item() == 1
    assert "is a parameter" in str(sweep(lambda p: {"a": 3}, {"a": [1]}, Here()).error[0].item())


def test_cancelling_keeps_results():
    seen = []

    def slow(p):
        time.sleep(0.11)
        return {"y": p["a"]}

    found = sweep(slow, {"a": list(range(6))}, Here(), progress=seen.append, stop=lambda: bool(seen) and seen[-1].done >= 2)
    assert found.attrs["cancelled"] == "true"
    assert found.status.values.tolist()[:2] == ["ok", "ok"]
    assert found.status.values.tolist()[-1] == "missing"


def test_ctrl_c_keeps_results():
    def press(state):
        if state.done == 2 and not pressed:
            pressed.append(state)
            raise KeyboardInterrupt

    def slow(p):
        time.sleep(0.11)
        return {"y": p["a"]}

    pressed = []
    found = sweep(slow, {"a": [0, 1, 2, 3]}, Here(), progress=press)
    assert found.attrs["cancelled"] == "true"
    assert found.status.values.tolist() == ["ok", "ok", "missing", "missing"]


def test_hidden_values_are_refused_where_they_would_be_kept(tmp_path):
    k = 3
    with pytest.raises(ValueError, match=r"functools\.partial"):
        sweep(lambda p: {"y": k}, {"a": [1]}, Here(), tmp_path / "s.db")
    assert name_of(functools.partial(product, b=2)) != name_of(functools.partial(product, b=3))


def many_kinds(p):
    f = np.arange(3.0)
    return {"n": 2**40, "ok": True, "s": "abc", "z": Field(values=1j * f * p["a"], dims=("f",), coords={"f": f})}


@pytest.mark.parametrize("modern", [True, False])
def test_every_kind_of_value_survives_netcdf(tmp_path, monkeypatch, modern):
    if not modern:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = sweep(many_kinds, {"a": [1, 2]}, Here())
    with xr.open_dataset(to_netcdf(found, tmp_path / "x.nc")) as back:
        assert back.n.values.tolist() == [2**40] * 2
        assert (back.ok.values.tolist(), back.s.values.tolist()) == ([True] * 2, ["abc"] * 2)
        np.testing.assert_array_equal(back.z_im, np.imag(found.z))


def test_files(tmp_path):
    found = sweep(curve, {"a": [1.0, 2.0]}, Here())
    with xr.open_dataset(to_netcdf(found, tmp_path / "x.nc")) as back:
        np.testing.assert_array_equal(back.h, found.h)
        assert back.attrs["description"] == found.attrs["description"]
    scalars, arrays = to_csv(found, tmp_path / "x.csv")
    assert scalars.read_text().splitlines()[0] == "a,loss_db,status,error,seconds"
    assert len(arrays.read_text().splitlines()) == 1 + 8
