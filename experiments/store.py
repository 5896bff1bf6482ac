"""The points of sweeps in one SQLite file, so that nothing is computed twice and nothing computed is lost."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from dsp import check
from experiments.records import Field, Record, digest

APPLICATION = 0x53525253
"""Mark in the file's header: a store of sweeps."""
SCHEMA = 1
BATCH = 2000
"""Most points in one transaction."""
PERIOD = 1.0
"""Longest time [s] that a result waits for its transaction."""
CHANGED = ("refuse", "redo", "keep")
_TABLES = """
CREATE TABLE runs (id INTEGER PRIMARY KEY, started TEXT NOT NULL, version TEXT NOT NULL, description TEXT NOT NULL);
CREATE TABLE points (key BLOB PRIMARY KEY, run INTEGER NOT NULL, status TEXT NOT NULL, parameters TEXT NOT NULL,
    record TEXT NOT NULL, arrays BLOB, error TEXT NOT NULL, seconds REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE coords (digest TEXT PRIMARY KEY, header TEXT NOT NULL, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE counts (run INTEGER, status TEXT, n INTEGER NOT NULL, PRIMARY KEY (run, status)) WITHOUT ROWID;
"""
_INFINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What became of a point. ``status``: "ok" or "failed"; ``error``: type, message and place in the code of a failure."""

    parameters: Mapping[str, Any]
    status: str
    record: Record
    error: str = ""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        check.one_of(self, "status", self.status, ("ok", "failed"))


class Store:
    """One file, WAL mode, written by the process that drives the sweep as results arrive; workers never see it.

    Results are committed together, at most `PERIOD` seconds after they came. Not for a network file system, which WAL can't
    use. Raises ValueError for a file that is something else, OSError for one that can't be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.run = 0
        self._waiting: list[tuple[Any, ...]] = []
        self._since = 0.0
        self._coords: set[str] = set()
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"{self.path}: no folder {self.path.parent}")
        try:
            connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path}: {error}") from error
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            mark, schema = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
            empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if empty:
                for statement in filter(str.strip, _TABLES.split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id={APPLICATION}")
                connection.execute(f"PRAGMA user_version={SCHEMA}")
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            connection.close()
            raise OSError(f"{self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            connection.close()
            raise ValueError(f"{self.path}: not a store of sweeps: {error}") from error
        if not empty and (mark, schema) != (APPLICATION, SCHEMA):
            connection.close()
            raise ValueError(f"{self.path}: not a store of sweeps of schema {SCHEMA}")
        return connection

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Commit what waits and close the file."""
        self.flush()
        self._connection.close()

    def runs(self) -> list[dict[str, Any]]:
        """Every run that wrote here, oldest first: ``id``, ``started``, ``version``, ``description``."""
        rows = self._connection.execute("SELECT id, started, version, description FROM runs ORDER BY id")
        return [
            {"id": i, "started": started, "version": json.loads(v), "description": json.loads(d)} for i, started, v, d in rows
        ]

    def counts(self) -> dict[str, int]:
        """Points by status."""
        return dict(self._connection.execute("SELECT status, sum(n) FROM counts GROUP BY status HAVING sum(n) > 0"))

    def begin(self, version: Mapping[str, str], description: Mapping[str, Any], changed: str = "refuse") -> list[str]:
        """Start a run and return what differs from the last one, in words.

        ``changed``: what to do when code or description have changed since: "refuse" raises ValueError that names the changes,
        "redo" takes only results of exactly this code, "keep" takes the old ones. Further axes are no such change.
        """
        check.one_of("Store.begin", "changed", changed, CHANGED)
        runs = self.runs()
        notices, grown = [], []
        for known in runs[-1:]:
            notices = _differences(known["version"], version, "code")
            before, now = ({k: v for k, v in d.items() if k != "axes"} for d in (known["description"], description))
            notices += _differences(before, now, "description")
            if digest(known["description"].get("axes")) != digest(description.get("axes")):
                grown.append("axes have changed")
        if notices and changed == "refuse":
            raise ValueError(
                f"{self.path}: results of another sweep are here: {'; '.join(notices)}. Say changed='redo' to compute again, "
                "'keep' to use the old results, or take another file"
            )
        self._valid = None if changed == "keep" else [r["id"] for r in runs if r["version"] == dict(version)]
        text = json.dumps(description), json.dumps(dict(version))
        cursor = self._connection.execute(
            "INSERT INTO runs (started, description, version) VALUES (?, ?, ?)",
            (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), *text),
        )
        self.run = int(cursor.lastrowid or 0)
        if self._valid is not None:
            self._valid.append(self.run)
        return notices + grown

    def known(self, keys: Sequence[str], retry: bool = False) -> set[str]:
        """Those of ``keys`` that need no computing; with ``retry``, failed ones do."""
        found: set[str] = set()
        for i in range(0, len(keys), 500):
            part = [bytes.fromhex(k) for k in keys[i : i + 500]]
            marks = ",".join("?" * len(part))
            rows = self._connection.execute(f"SELECT key, run, status FROM points WHERE key IN ({marks})", part)  # noqa: S608
            for key, run, status in rows:
                if (self._valid is None or run in self._valid) and not (retry and status == "failed"):
                    found.add(key.hex())
        return found

    def put(self, key: str, outcome: Outcome) -> None:
        """Keep a result; it is on disk after the next `flush`, which comes by itself when `due`."""
        if not self._waiting:
            self._since = time.monotonic()
        record, arrays = self._encoded(outcome.record)
        parameters = json.dumps(_jsonable(outcome.parameters))
        row = bytes.fromhex(key), self.run, outcome.status, parameters, record, arrays, outcome.error, outcome.seconds
        self._waiting.append(row)
        if len(self._waiting) >= BATCH or self.due <= 0:
            self.flush()

    @property
    def due(self) -> float:
        """Seconds until what waits should be flushed; `PERIOD` when nothing waits."""
        return self._since + PERIOD - time.monotonic() if self._waiting else PERIOD

    def flush(self) -> None:
        """Commit what waits, as one transaction."""
        if not self._waiting:
            return
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        for row in self._waiting:
            for run, status in execute("SELECT run, status FROM points WHERE key = ?", row[:1]).fetchall():
                execute("UPDATE counts SET n = n - 1 WHERE run = ? AND status = ?", (run, status))
            execute("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            execute("INSERT INTO counts VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1", row[1:3])
        execute("COMMIT")
        self._waiting.clear()

    def get(self, keys: Iterable[str]) -> Iterator[tuple[str, Outcome]]:
        """Outcomes of those of ``keys`` that are here."""
        self.flush()
        coords: dict[str, np.ndarray] = {}
        for key in keys:
            row = self._connection.execute(
                "SELECT status, parameters, record, arrays, error, seconds FROM points WHERE key = ?", (bytes.fromhex(key),)
            ).fetchone()
            if row is not None:
                status, parameters, record, arrays, error, seconds = row
                yield (
                    key,
                    Outcome(
                        parameters=_finite(json.loads(parameters)), status=status,
                        record=self._decoded(record, arrays, coords), error=error, seconds=seconds,
                    ),
                )  # fmt: skip

    def _encoded(self, record: Record) -> tuple[str, bytes | None]:
        """The record as JSON, and its arrays as bytes one after the other; coordinates go to their own table, once each."""
        table: dict[str, Any] = {}
        blobs: list[bytes] = []
        start = 0
        for name, value in record.items():
            if isinstance(value, Field):
                header = {"dtype": value.values.dtype.str, "shape": value.values.shape, "dims": value.dims, "unit": value.unit}
                coords = {dim: self._keep_coordinate(c) for dim, c in value.coords.items()}
                blobs.append(value.values.tobytes())
                table[name] = {"field": {**header, "coords": coords, "start": start}}
                start += len(blobs[-1])
            else:
                table[name] = value
        return json.dumps(_jsonable(table)), b"".join(blobs) if blobs else None

    def _keep_coordinate(self, values: np.ndarray) -> str:
        header = json.dumps({"dtype": values.dtype.str, "shape": values.shape})
        data = values.tobytes()
        key = digest([header, data.hex()])
        if key not in self._coords:
            self._connection.execute("INSERT OR IGNORE INTO coords VALUES (?, ?, ?)", (key, header, data))
            self._coords.add(key)
        return key

    def _decoded(self, text: str, arrays: bytes | None, coords: dict[str, np.ndarray]) -> Record:
        record: Record = {}
        for name, value in _finite(json.loads(text)).items():
            if not isinstance(value, dict):
                record[name] = value
                continue
            header = value["field"]
            for key in header["coords"].values():
                if key not in coords:
                    row = self._connection.execute("SELECT header, data FROM coords WHERE digest = ?", (key,)).fetchone()
                    coords[key] = _array(json.loads(row[0]), row[1], 0)
            record[name] = Field(
                values=_array(header, arrays or b"", header["start"]), dims=tuple(header["dims"]), unit=header["unit"],
                coords={dim: coords[key] for dim, key in header["coords"].items()},
            )  # fmt: skip
        return record


def _array(header: Mapping[str, Any], data: bytes, start: int) -> np.ndarray:
    shape, dtype = tuple(header["shape"]), np.dtype(header["dtype"])
    return np.frombuffer(data, dtype, math.prod(shape), start).reshape(shape)


def _jsonable(table: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no infinity and no nan: they are written as a table."""
    return {k: {"float": str(v)} if isinstance(v, float) and not math.isfinite(v) else v for k, v in table.items()}


def _finite(table: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _INFINITE[v["float"]] if isinstance(v, dict) and "float" in v else v for k, v in table.items()}


def _differences(before: Mapping[str, Any], now: Mapping[str, Any], what: str) -> list[str]:
    """What has changed, one phrase an entry."""
    phrases = []
    for key in dict.fromkeys([*before, *now]):
        old, new = before.get(key), now.get(key)
        if old == new or digest(old) == digest(new):
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            phrases += _differences(old, new, f"{what}: {key}")
        else:
            phrases.append(f"{what}: {key} was {_short(old)}, is {_short(new)}")
    return phrases


def _short(value: Any) -> str:
    text = "absent" if value is None else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
