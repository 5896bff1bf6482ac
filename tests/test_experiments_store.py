import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from experiments import store as module
from experiments.dataset import load
from experiments.executors import Here
from experiments.records import Field, code_version, point_key
from experiments.store import Outcome, Store
from experiments.sweep import sweep

xr = pytest.importorskip("xarray")
CALLS = []


def counted(p):
    CALLS.append(p["a"])
    if p["a"] == 3 and p.get("fragile", False):
        raise ValueError("three")
    f = np.arange(3.0)
    return {"y": 2 * p["a"], "far": float("inf"), "h": Field(values=f * p["a"], dims=("f",), coords={"f": f})}


@pytest.fixture
def path(tmp_path):
    CALLS.clear()
    return tmp_path / "sweep.db"


def values(dataset):
    return dataset.drop_vars("seconds").drop_attrs()


def test_a_second_run_computes_only_what_is_new(path):
    first = sweep(counted, {"a": [1, 2, 3]}, Here(), path)
    again = sweep(counted, {"a": [1, 2, 3]}, Here(), path)
    xr.testing.assert_identical(values(first), values(again))
    assert CALLS == [1, 2, 3]
    wider = sweep(counted, {"a": [0, 1, 2, 3, 4]}, Here(), path)
    assert CALLS == [1, 2, 3, 0, 4]
    np.testing.assert_array_equal(wider.y, [0, 2, 4, 6, 8])
    assert wider.attrs["notices"] == '["axes have changed"]'
    xr.testing.assert_identical(values(load(path)), values(wider))
    xr.testing.assert_identical(values(load(path, run=1)), values(first))


def test_failures_are_kept_and_computed_again_on_demand(path):
    axes = {"a": [1, 2, 3]}
    found = sweep(counted, axes, Here(), path, fixed={"fragile": True})
    assert found.status.values.tolist() == ["ok", "ok", "failed"]
    assert "ValueError: three" in str(sweep(counted, axes, Here(), path, fixed={"fragile": True}).error[2].item())
    assert len(CALLS) == 3
    sweep(counted, axes, Here(), path, fixed={"fragile": True}, retry=True)
    assert CALLS[3:] == [3]
    with Store(path) as store:
        assert store.counts() == {"ok": 2, "failed": 1}


def test_another_description_is_named(path):
    sweep(counted, {"a": [1]}, Here(), path, description={"link": {"rate": "112G"}})
    with pytest.raises(ValueError, match=r'description: study: link: rate was "112G", is "224G"'):
        sweep(counted, {"a": [1]}, Here(), path, description={"link": {"rate": "224G"}})
    with pytest.raises(ValueError, match="description: seed was 0, is 5"):
        sweep(counted, {"a": [1]}, Here(), path, description={"link": {"rate": "112G"}}, seed=5)
    found = sweep(counted, {"a": [1]}, Here(), path, description={"link": {"rate": "224G"}}, changed="keep")
    assert "224G" in found.attrs["notices"]
    assert CALLS == [1, 1]  # another description is another point


def test_other_code_is_named_and_its_results_used_or_not(path, monkeypatch):
    sweep(counted, {"a": [1, 2]}, Here(), path)
    version = code_version(counted)
    monkeypatch.setattr("experiments.sweep.code_version", lambda point: {**version, "library": "0123"})
    with pytest.raises(ValueError, match=r'code: library was .*, is "0123"'):
        sweep(counted, {"a": [1, 2]}, Here(), path)
    found = sweep(counted, {"a": [1, 2]}, Here(), path, changed="keep")
    assert len(CALLS) == 2
    assert "0123" in found.attrs["notices"]
    monkeypatch.setattr("experiments.sweep.code_version", lambda point: {**version, "library": "4567"})
    sweep(counted, {"a": [1, 2]}, Here(), path, changed="redo")
    assert len(CALLS) == 4
    with Store(path) as store:
        assert store.counts() == {"ok": 2}


def test_wrong_ways_to_change_are_named(path):
    with Store(path) as store, pytest.raises(ValueError, match="changed"):
        store.begin({}, {}, "perhaps")
    with pytest.raises(ValueError, match="status"):
        Outcome(parameters={}, status="good", record={})


def test_a_file_of_something_else_is_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to have a header" * 10)
    with pytest.raises(ValueError, match=r"notes\.txt: not a store"):
        Store(text)
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE x (y)")
    connection.commit()
    connection.close()
    with pytest.raises(ValueError, match=r"other\.db: not a store"):
        Store(other)
    with pytest.raises(FileNotFoundError, match="no folder"):
        Store(tmp_path / "absent" / "s.db")
    with pytest.raises(FileNotFoundError, match="no such store"):
        load(tmp_path / "absent.db")
    with Store(tmp_path / "empty.db"):
        pass
    with pytest.raises(ValueError, match="no sweep has run"):
        load(tmp_path / "empty.db")


def test_an_absent_run_is_named(path):
    sweep(counted, {"a": [1]}, Here(), path)
    with pytest.raises(ValueError, match="no run 7; it has 1"):
        load(path, run=7)


def test_results_wait_at_most_a_period(path, monkeypatch):
    monkeypatch.setattr(module, "PERIOD", 0.05)
    with Store(path) as store, sqlite3.connect(path) as reader:
        store.begin({}, {})
        store.put(point_key("s", {"a": 1}), Outcome(parameters={"a": 1}, status="ok", record={}))
        assert reader.execute("SELECT count(*) FROM points").fetchone() == (0,)
        time.sleep(0.06)
        assert store.due <= 0
        store.put(point_key("s", {"a": 2}), Outcome(parameters={"a": 2}, status="ok", record={}))
        assert reader.execute("SELECT count(*) FROM points").fetchone() == (2,)
    reader.close()


CHILD = """
import sys, time
from experiments import store
from experiments.executors import Here
from experiments.sweep import sweep
store.PERIOD = 0.2

def point(p):
    time.sleep(0.02)
    return {"y": p["a"] ** 2}

def report(state):
    print(state.done, time.monotonic(), flush=True)

if __name__ == "__main__":
    found = sweep(point, {"a": list(range(int(sys.argv[2])))}, Here(), sys.argv[1], progress=report)
    print("sum", float(found.y.sum()), flush=True)
"""


def test_kill_9_loses_at_most_what_is_in_flight_and_a_period(path, tmp_path):
    script = tmp_path / "study.py"
    script.write_text(textwrap.dedent(CHILD))
    root = str(Path(__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))}
    command = [sys.executable, str(script), str(path), "60"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    lines = []
    while not lines or int(lines[-1][0]) < 50:
        lines.append(child.stdout.readline().split())
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    death = time.monotonic()
    with Store(path) as store:
        kept = sum(store.counts().values())
    # done a period (and the length of a chunk, 0.2 s) before the end: on disk
    assert kept >= max(int(n) for n, at in lines if float(at) < death - 0.45)
    again = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    first = int(again.stdout.split()[0])
    assert first == kept
    assert f"sum {sum(a * a for a in range(60))}.0" in again.stdout


def nap(p):
    time.sleep(0.02)
    return {"y": p["a"] + 1}


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_of_two_workers_one_of_them_killed_midway(path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        killed = []

        def kill_once(state):
            if state.done >= 10 and not killed:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

        found = sweep(nap, {"a": list(range(100))}, client.get_executor(), path, progress=kill_once)
    assert killed
    np.testing.assert_array_equal(found.y, np.arange(100) + 1)
    assert set(found.status.values) == {"ok"}
