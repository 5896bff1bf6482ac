"""A sweep described in one TOML file, for people who do not script: a link, axes, outputs, plots.

::

    question = "How do taps and noise move the error ratio?"
    outputs = ["ser", "snr_db", "eye_height"]
    seed = 1

    [setup]                 # or [link], a whole link as `serdes.serialize` writes it
    rate = "112G"
    length = 1.0

    [axes]
    "setup.length" = {linspace = [0.5, 3.0, 6], unit = "m"}
    "rx.equalizer.n_taps" = [10, 20, 30]
    corner = {zip = {"tx.snr_db" = [30.0, 33.0], "rx.noise_density" = [1.2e-17, 0.8e-17]}}
    part = {draws = 50, seed = 3, "tx.amplitude" = {normal = [0.4, 0.01]}}

    [plots.error]
    y = "ser"
    x = "setup.length"
    by = "rx.equalizer.n_taps"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import axis_units
from experiments.axes import Axis, Choice, Normal, Uniform, Values, draws, linspace, listed, logspace, zipped
from experiments.coherent_point import CoherentPoint
from experiments.link_point import ENGINES, LinkPoint, setup_arguments
from serdes import serialize, toml_text
from serdes.coherent import CoherentLink
from serdes.link import Link, suggestion

if TYPE_CHECKING:
    import xarray as xr

KEYS = ("question", "name", "setup", "link", "engine", "n_symbols", "error_ratio", "outputs", "seed", "axes", "plots")
_SPACES = {"linspace": linspace, "logspace": logspace}


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A curve of ``y`` over ``x``, one line for each value of ``by``; all others reduced to their median and range."""

    name: str
    y: str
    x: str
    by: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepFile:
    """What a file asks for."""

    name: str
    question: str
    point: LinkPoint | CoherentPoint
    axes: Mapping[str, Axis | Values]
    units: Mapping[str, str]
    seed: int
    plots: tuple[Plot, ...]

    @property
    def description(self) -> dict[str, Any]:
        """The effective configuration: the base link in full and everything asked of it."""
        base = self.point.link({})
        return {"name": self.name, "question": self.question, "link": serialize.to_dict(base)}


def read(path: str | Path) -> SweepFile:
    """The sweep in a TOML file. Raises ValueError that names the file and the entry, OSError when it can't be opened."""
    path = Path(path)
    text = toml_text.read(path)
    with toml_text.within(path):
        return _sweep(toml_text.parse(text), path.stem)


def load_link(path: str | Path) -> Link:
    """The link a file describes, whether the file is a link or a sweep: what a sweep takes as its base."""
    return load_point(path).link({})


def load_point(path: str | Path) -> LinkPoint:
    """The same as a point function, whose link may still change by path."""
    text = toml_text.read(path)
    with toml_text.within(path):
        table = toml_text.parse(text)
        if set(table) & {"setup", "link", "axes"}:
            point = _point(table, ("ser",))
            if isinstance(point, CoherentPoint):
                raise ValueError("link: is coherent: it has no eye and no cable, sweep it with `serdes sweep`")
            point.link({})  # a wrong value in it is an error of the file
            return point
        return LinkPoint(base=serialize.from_dict(table, Link, "Link"), outputs=("ser",))


def _sweep(table: Mapping[str, Any], stem: str) -> SweepFile:
    _known("the file", table, KEYS)
    outputs = table.get("outputs", ["ser", "snr_db"])
    if not isinstance(outputs, list) or not outputs:
        raise ValueError(f"outputs must be a list of names, got {outputs!r}")
    seed = table.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"seed must be a whole number of 0 or more, got {seed!r}")
    given = table.get("axes", {})
    if not isinstance(given, dict) or not given:
        raise ValueError("axes: needs a table with one axis or more")
    point = _point(table, tuple(outputs))
    axes = {name: _axis(name, a) for name, a in given.items()}
    units = axis_units.of_axes(axes)
    first: dict[str, Any] = {}
    for name, axis in axes.items():
        first |= axis.at(0) if isinstance(axis, Axis) else {name: axis.values[0]}
    point.link(first)  # a path that does not exist is an error of the file, not of every point
    plots = tuple(_plot(name, p, outputs, tuple(first), tuple(axes)) for name, p in table.get("plots", {}).items())
    name = table.get("name", stem)
    return SweepFile(
        name=str(name), question=str(table.get("question", name)), point=point, axes=axes, units=units, seed=seed, plots=plots
    )


def _known(where: str, table: Mapping[str, Any], keys: Sequence[str]) -> None:
    for key in table:
        if key not in keys:
            raise ValueError(f"{where}: unknown key {key!r}{suggestion(key, list(keys))}")


def _point(table: Mapping[str, Any], outputs: tuple[str, ...]) -> LinkPoint | CoherentPoint:
    if ("setup" in table) == ("link" in table):
        raise ValueError("needs either [setup], a lane rate and its cable, or [link], a whole link")
    engine = table.get("engine", "statistical")
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if isinstance(table.get("link"), dict) and table["link"].get("type") == "CoherentLink":
        coherent = serialize.from_dict(table["link"], CoherentLink, "link")
        return CoherentPoint(base=coherent, outputs=outputs, engine=engine, n_symbols=table.get("n_symbols", 65_536))
    setup = tuple(sorted(setup_arguments(table["setup"]).items())) if "setup" in table else ()
    base = serialize.from_dict(table["link"], Link, "link") if "link" in table else None
    return LinkPoint(
        base=base, setup=setup, outputs=outputs, engine=engine, n_symbols=table.get("n_symbols", 100_000),
        error_ratio=table.get("error_ratio"),
    )  # fmt: skip


def _axis(name: str, given: Any) -> Axis | Values:
    try:
        if isinstance(given, list):
            return listed(given)
        if isinstance(given, dict):
            kinds = [k for k in ("values", "linspace", "logspace", "zip", "draws") if k in given]
            if len(kinds) == 1:
                return _axis_of(kinds[0], given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"axes.{name}: {error}") from error
    raise ValueError(
        f"axes.{name}: must be a list or a table with one of values, linspace, logspace, zip, draws, got {given!r}"
    )


def _axis_of(kind: str, given: Mapping[str, Any]) -> Axis | Values:
    if kind == "zip":
        _known("zip", given, ("zip",))
        columns: dict[str, Any] = {n: _axis(n, v) for n, v in given["zip"].items()}
        return zipped(**columns)
    if kind == "draws":
        laws = {n: _law(n, law) for n, law in given.items() if n not in ("draws", "seed")}
        return draws(given["draws"], given.get("seed", 0), **laws)
    _known(kind, given, (kind, "unit"))
    if kind == "values":
        return listed(given["values"], given.get("unit", ""))
    numbers = given[kind]
    if not isinstance(numbers, list) or len(numbers) != 3:
        raise ValueError(f"{kind} must be [first, last, how many], got {numbers!r}")
    first, last, n = numbers
    return _SPACES[kind](first, last, n, given.get("unit", ""))


def _law(name: str, law: Any) -> Normal | Uniform | Choice:
    if not isinstance(law, dict):
        raise ValueError(f"{name}: must be a table with normal, uniform, loguniform or choice, got {law!r}")
    unit = law.get("unit", "")
    match [(k, v) for k, v in law.items() if k != "unit"]:
        case [("normal", [mean, std, *limit])] if len(limit) < 2:
            return Normal(mean=mean, std=std, unit=unit, **({"limit": limit[0]} if limit else {}))
        case [("uniform" | "loguniform" as kind, [low, high])]:
            return Uniform(low=low, high=high, log=kind == "loguniform", unit=unit)
        case [("choice", list(values))]:
            return Choice(values=tuple(values), unit=unit)
    raise ValueError(f"{name}: must be normal = [mean, std], uniform = [low, high], loguniform or choice = [...], got {law!r}")


def _plot(name: str, given: Any, outputs: Sequence[str], parameters: Sequence[str], dims: Sequence[str]) -> Plot:
    if not isinstance(given, dict):
        raise ValueError(f"plots.{name}: must be a table with y and x, got {given!r}")
    _known(f"plots.{name}", given, ("y", "x", "by"))
    for key in ("y", "x"):
        if key not in given:
            raise ValueError(f"plots.{name}: {key!r} is missing")
    for key, valid in (("y", list(outputs)), ("x", [*parameters, *dims]), ("by", [*parameters, *dims])):
        if key in given and given[key] not in valid:
            raise ValueError(f"plots.{name}: {key} = {given[key]!r} is not there{suggestion(str(given[key]), valid)}")
    return Plot(name=name, y=given["y"], x=given["x"], by=given.get("by", ""))


def draw(dataset: xr.Dataset, plot: Plot) -> Any:
    """The figure of ``plot``: y over x, a line for each value of ``by``: the median over all other axes, in a band of their range."""
    import numpy as np

    from serdes import plot as style

    y, x = dataset[plot.y], dataset[plot.x]
    if plot.y in ("ser", "ber"):  # counted without an error: below all others in the median, and not drawn
        y = y.fillna(0).where(dataset["status"] == "ok")
    along = str(x.dims[0])
    by = dataset[plot.by] if plot.by else None
    keep = {along, *(map(str, by.dims) if by is not None else ())}
    others = [d for d in y.dims if str(d) not in keep]
    curves = [y.median(others), y.min(others), y.max(others)] if others else [y]
    logarithmic = plot.y.startswith(("ser", "ber", "post_fec"))
    with style.figure(7.5, 4.8) as (fig, ax):
        values = by.values.tolist() if by is not None else [None]
        for k, value in enumerate(values):
            drawn = [c if by is None else c.isel({by.dims[0]: k}) for c in curves]
            points, *band = (np.asarray(c.values, float) for c in drawn)
            if logarithmic:  # what is 0 can't be drawn
                points, *band = (np.where(p > 0, p, np.nan) for p in (points, *band))
            label = (
                None if value is None else f"{plot.by} = {value:.6g}" if isinstance(value, float) else f"{plot.by} = {value}"
            )
            look = {"color": style.COLOURS[k % 8], "linestyle": style.STYLES[k % 6], "marker": "o", "markersize": 3}
            ax.plot(x.values, points, label=label, **look)
            if band:
                ax.fill_between(x.values, *band, color=style.COLOURS[k % 8], alpha=0.15, linewidth=0)
        if logarithmic:
            ax.set_yscale("log")
        ax.set(xlabel=_labelled(x, plot.x), ylabel=_labelled(y, plot.y))
        if others:
            ax.set_title(f"median and range over {', '.join(map(str, others))}")
        if by is not None:
            ax.legend()
        return fig


def _labelled(variable: Any, name: str) -> str:
    unit = variable.attrs.get("units")
    return f"{name} [{unit}]" if unit else name
