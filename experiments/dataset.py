"""The result of a sweep as an `xarray.Dataset`, and on to netCDF and CSV."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.axes import Axes, from_description
from experiments.records import RESERVED, Field, digest, point_key
from experiments.store import Outcome, Store

if TYPE_CHECKING:
    import xarray as xr

SUFFIXES = {"_db": "dB", "_dbm": "dBm", "_ui": "UI", "_ppm": "ppm", "_m": "m"}
"""Units told by the end of a name where none is given."""


def assemble(
    axes: Axes, outcomes: Sequence[Outcome | None], units: Mapping[str, str], attributes: Mapping[str, Any]
) -> xr.Dataset:
    """A dataset of ``outcomes``, one a point in the order of `Axes.points`, None for one not computed.

    Missing numbers are nan, missing texts empty. ``status`` of each point is ok, failed, missing or ragged, the last for one
    whose arrays have not the dimensions and coordinates of the first good point, or that has a text where that has a number or
    the other way round; ``error`` says more; ``seconds`` of computing.
    """
    import xarray as xr

    dims = tuple(dim for dim, _ in axes.dims)
    given = dict(itertools.chain.from_iterable(axis.units for _, axis in axes.dims)) | dict(units)

    def attrs(name: str, own: str = "") -> dict[str, str]:
        unit = given.get(name) or own or next((u for end, u in SUFFIXES.items() if name.endswith(end)), "")
        return {"units": unit} if unit else {}

    coords: dict[str, Any] = {}
    for dim, axis in axes.dims:
        for name, values in axis.columns:
            coords[name] = (dim, _array(values), attrs(name))
        coords.setdefault(dim, (dim, np.arange(len(axis))))
    status, error = _states(outcomes)
    good = [o for o, s in zip(outcomes, status, strict=True) if s == "ok" and o is not None]
    names = [n for n in dict.fromkeys(itertools.chain.from_iterable(o.record for o in good)) if n not in RESERVED]
    data: dict[str, Any] = {}
    for name in names:
        column = [o.record.get(name) if s == "ok" and o else None for o, s in zip(outcomes, status, strict=True)]
        first = next((v for v in column if isinstance(v, Field)), None)
        if first is None:
            data[name] = (dims, _array(column).reshape(axes.shape), attrs(name))
            continue
        data[name] = (
            (*dims, *first.dims),
            _stack(column, first).reshape(axes.shape + first.values.shape),
            attrs(name, first.unit),
        )
        for dim in first.dims:
            coords[dim] = (dim, first.coords[dim], attrs(dim))
    data["status"] = (dims, np.array(status).reshape(axes.shape))
    data["error"] = (dims, np.array(error).reshape(axes.shape))
    seconds = [o.seconds if o else np.nan for o in outcomes]
    data["seconds"] = (dims, np.array(seconds, float).reshape(axes.shape), {"units": "s"})
    texts = {k: v if isinstance(v, str) else json.dumps(v, sort_keys=True) for k, v in attributes.items()}
    return xr.Dataset(data, coords, texts)


def _states(outcomes: Sequence[Outcome | None]) -> tuple[list[str], list[str]]:
    """Status and error of every point; arrays and kinds that are not like those of the first good point make one ragged."""
    shapes: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    status, error = [], []
    for outcome in outcomes:
        state, why = (outcome.status, outcome.error) if outcome else ("missing", "")
        for name, value in outcome.record.items() if outcome and state == "ok" else ():
            shape = value.shape_of if isinstance(value, Field) else None
            mine = [(name, shape), *(((("dim", d), s) for d, s in zip(shape[0], shape[2], strict=True)) if shape else ())]
            wrong = [key for key, s in mine if s is not None and shapes.setdefault(key, s) != s]
            kind = "" if value is None else "a text" if _is_text(value) else "a number"
            if kind and kinds.setdefault(name, kind) != kind:
                state, why = "ragged", f"{name}: {kind}, but the first point that has it gives {kinds[name]}"
                break
            if wrong:
                state, why = "ragged", f"{name}: {_words(shape)}, but the first point has {_words(shapes.get(name))}"
                break
        status.append(state)
        error.append(why)
    return status, error


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, Field) and value.values.dtype.kind == "U")


def _words(shape: Any) -> str:
    if shape is None:
        return "no array"
    return " x ".join(f"{d}={n}" for d, n in zip(shape[0], shape[1], strict=True)) + f" (coordinates {shape[2][0][:6]})"


def _array(column: Sequence[Any]) -> np.ndarray:
    """Scalars as an array of the narrowest kind that holds them all."""
    present = [v for v in column if v is not None]
    complete = len(present) == len(column)
    if complete and present and all(isinstance(v, bool) for v in present):
        return np.array(column, bool)
    if complete and present and all(isinstance(v, int) and not isinstance(v, bool) for v in present):
        big = max(map(abs, present)) >= 2**63
        return np.array(column, float if big else np.int64)
    if any(isinstance(v, str) for v in present):
        return np.array(["" if v is None else str(v) for v in column])
    return np.array([np.nan if v is None else float(v) for v in column])


def _stack(column: Sequence[Any], first: Field) -> np.ndarray:
    text = first.values.dtype.kind == "U"
    present = [v.values for v in column if isinstance(v, Field)]
    kind = np.result_type(*present)
    if not text and len(present) < len(column) and kind.kind in "biu":
        kind = np.dtype(float)
    stacked = np.full((len(column), *first.values.shape), "" if text else 0 if kind.kind in "biu" else np.nan, kind)
    for i, value in enumerate(column):
        if isinstance(value, Field):
            stacked[i] = value.values
    return stacked


def load(path: str | Path, run: int | None = None, units: Mapping[str, str] | None = None) -> xr.Dataset:
    """The dataset of a run in a store, the last by default, of whatever has been computed of it."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such store")
    with Store(path) as store:
        runs = {r["id"]: r for r in store.runs()}
        if not runs:
            raise ValueError(f"{path}: no sweep has run into this store")
        number = max(runs) if run is None else run
        if number not in runs:
            raise ValueError(f"{path}: no run {run}; it has {', '.join(map(str, runs))}")
        d = runs[number]["description"]
        axes = from_description(d["axes"])
        study = digest({"point": d["point"], "seed": d["seed"], "study": d.get("study", {})})
        keys = [point_key(study, p) for p in axes.points(d["fixed"])]
        found = dict(store.get(dict.fromkeys(keys)))
    attributes = {"version": runs[number]["version"], "notices": [], "cancelled": False, "description": d}
    return assemble(axes, [found.get(k) for k in keys], units or {}, attributes)


def to_netcdf(dataset: xr.Dataset, path: str | Path) -> Path:
    """Write netCDF, version 4 where h5netcdf or netCDF4 is installed, else 3. A complex array becomes two, _re and _im."""
    import importlib.util

    for name in [str(n) for n, v in dataset.variables.items() if v.dtype.kind == "c"]:
        v = dataset[name]
        dataset = dataset.assign({f"{name}_re": v.real, f"{name}_im": v.imag}).drop_vars(name)
    modern = [e for e in ("h5netcdf", "netCDF4") if importlib.util.find_spec(e)]
    engine: Any = {"h5netcdf": "h5netcdf", "netCDF4": "netcdf4"}[modern[0]] if modern else "scipy"
    if not modern:  # version 3 has no whole numbers of 64 bits
        wide = [n for n, v in dataset.variables.items() if v.dtype == np.int64 and np.any(np.abs(v.values) >= 2**31)]
        dataset = dataset.assign({n: dataset[n].astype(float) for n in wide})
    dataset.to_netcdf(path, engine=engine)
    return Path(path)


def to_csv(dataset: xr.Dataset, path: str | Path) -> list[Path]:
    """One row a point with parameters and scalars; each array in a file of its own beside it, one row a value."""
    path = Path(path)
    dims = [str(d) for d in dataset["status"].dims]
    varied = [str(n) for n, c in dataset.coords.items() if set(map(str, c.dims)) <= set(dims)]
    scalars = [str(n) for n, v in dataset.data_vars.items() if tuple(map(str, v.dims)) == tuple(dims)]
    arrays = [str(n) for n in dataset.data_vars if n not in scalars]
    _table(dataset, path, dims, varied, scalars)
    written = [path]
    for name in arrays:
        own = [str(d) for d in dataset[name].dims]
        beside = path.with_name(f"{path.stem}.{name}.csv")
        coords = [str(n) for n, c in dataset.coords.items() if set(map(str, c.dims)) <= set(own)]
        _table(dataset, beside, own, coords, [name])
        written.append(beside)
    return written


def _table(dataset: xr.Dataset, path: Path, dims: Sequence[str], coords: Sequence[str], names: Sequence[str]) -> None:
    shape = tuple(dataset.sizes[d] for d in dims)
    columns = []
    for name in (*coords, *names):
        variable = dataset[name].variable
        full = variable.set_dims(dict(zip(dims, shape, strict=True))).transpose(*dims)
        columns.append(full.values.ravel().tolist())
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*coords, *names])
        writer.writerows(zip(*columns, strict=True))
