"""Axes of a sweep: what is varied, along which dimension, over which values.

An axis is a list of numbers or texts, or is made by `linspace`, `logspace`, `zipped` (several parameters that move together) or
`draws` (several parameters drawn at random). A sweep takes the product of its axes.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsp import check

Scalar = bool | int | float | str


def plain(value: Any, where: str) -> Scalar:
    """``value`` as a Python scalar. Raises ValueError, named by ``where``, for anything else and for nan."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, bool | int | float | str) or (isinstance(value, float) and math.isnan(value)):
        raise ValueError(f"{where} must be a number or a text, got {value!r}")
    return value


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One dimension. ``columns``: by parameter, as many values each; ``units``: of the parameters that have one."""

    columns: tuple[tuple[str, tuple[Scalar, ...]], ...]
    units: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.columns:
            raise check.fail(self, "columns", "one parameter or more", self.columns)
        lengths = {name: len(values) for name, values in self.columns}
        if len(lengths) != len(self.columns):
            raise check.fail(self, "columns", "of different names", [name for name, _ in self.columns])
        if len(set(lengths.values())) != 1 or 0 in lengths.values():
            raise check.fail(self, "columns", "of the same length, one or more", lengths)
        for name, values in self.columns:
            for i, value in enumerate(values):
                plain(value, f"{name}[{i}]")
        for name, unit in self.units:
            check.one_of(self, "units", name, tuple(lengths))
            check.instance(self, f"units[{name}]", unit, str)

    def __len__(self) -> int:
        return len(self.columns[0][1])

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters along this axis."""
        return tuple(name for name, _ in self.columns)

    def at(self, i: int) -> dict[str, Scalar]:
        """The parameters of position ``i``."""
        return {name: values[i] for name, values in self.columns}


def _some(owner: object, values: object) -> None:
    if not isinstance(values, tuple) or not values:
        raise check.fail(owner, "values", "a tuple of one value or more", values)


@dataclass(frozen=True, kw_only=True)
class Values:
    """Values of one parameter, to be named by the axis they are given for; ``unit`` for plots and tables."""

    values: tuple[Scalar, ...]
    unit: str = ""

    def __post_init__(self) -> None:
        _some(self, self.values)
        check.instance(self, "unit", self.unit, str)


def listed(values: Sequence[Any], unit: str = "") -> Values:
    """The values as they are."""
    return Values(values=tuple(plain(v, f"value {i}") for i, v in enumerate(values)), unit=unit)


def linspace(start: float, stop: float, n: int, unit: str = "") -> Values:
    """``n`` values at equal distances, both ends included."""
    check.count("linspace", "n", n, 1)
    return Values(values=tuple(float(x) for x in np.linspace(_real(start), _real(stop), n)), unit=unit)


def logspace(start: float, stop: float, n: int, unit: str = "") -> Values:
    """``n`` values at equal ratios, both ends included; ``start`` and ``stop`` are the values themselves."""
    check.positive("logspace", "start", start)
    check.positive("logspace", "stop", stop)
    check.count("logspace", "n", n, 1)
    return Values(values=tuple(float(x) for x in np.geomspace(start, stop, n)), unit=unit)


def _real(value: Any) -> float:
    check.finite("linspace", "end", value)
    return float(value)


def zipped(**columns: Values | Sequence[Any]) -> Axis:
    """Parameters that move together along one dimension. Names with dots: ``zipped(**{"rx.bandwidth": [...], ...})``."""
    return _axis({name: _values(v) for name, v in columns.items()})


@dataclass(frozen=True, kw_only=True)
class Normal:
    """Gaussian of ``mean`` and ``std``, cut off beyond ``limit`` standard deviations by drawing again."""

    mean: float
    std: float
    limit: float = math.inf
    unit: str = ""

    def __post_init__(self) -> None:
        check.finite(self, "mean", self.mean)
        check.positive(self, "std", self.std)
        if not self.limit >= 0.1:
            raise check.fail(self, "limit", "0.1 or more", self.limit)

    def draw(self, rng: np.random.Generator) -> float:
        """One value."""
        while abs(z := rng.standard_normal()) > self.limit:
            pass
        return float(self.mean + self.std * z)


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """Uniform from ``low`` to ``high``; ``log``: of the logarithm."""

    low: float
    high: float
    log: bool = False
    unit: str = ""

    def __post_init__(self) -> None:
        check.finite(self, "low", self.low)
        check.finite(self, "high", self.high)
        if self.high <= self.low:
            raise check.fail(self, "high", f"greater than low ({self.low:g})", self.high)
        if self.log:
            check.positive(self, "low", self.low)

    def draw(self, rng: np.random.Generator) -> float:
        """One value."""
        if self.log:
            return float(math.exp(rng.uniform(math.log(self.low), math.log(self.high))))
        return float(rng.uniform(self.low, self.high))


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of ``values``, all alike."""

    values: tuple[Scalar, ...]
    unit: str = ""

    def __post_init__(self) -> None:
        _some(self, self.values)

    def draw(self, rng: np.random.Generator) -> Scalar:
        """One value."""
        return self.values[int(rng.integers(len(self.values)))]


def draws(n: int, seed: int, **laws: Normal | Uniform | Choice) -> Axis:
    """``n`` independent sets of parameters. Each value depends on seed, name and position alone: more draws keep the first."""
    check.count("draws", "n", n, 1)
    check.count("draws", "seed", seed)
    columns, units = [], []
    for name, law in laws.items():
        check.instance("draws", name, law, (Normal, Uniform, Choice))
        word = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        values = tuple(law.draw(np.random.default_rng([seed, word, i])) for i in range(n))
        columns.append((name, values))
        units.append((name, law.unit))
    return Axis(columns=tuple(columns), units=tuple((name, unit) for name, unit in units if unit))


def _values(given: Values | Sequence[Any]) -> Values:
    if isinstance(given, Values):
        return given
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise ValueError(f"an axis must be a list of values, linspace, logspace, zipped or draws, got {given!r}")
    return listed(given)


def _axis(columns: Mapping[str, Values]) -> Axis:
    units = tuple((name, v.unit) for name, v in columns.items() if v.unit)
    return Axis(columns=tuple((name, v.values) for name, v in columns.items()), units=units)


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The dimensions of a sweep by name; the last varies fastest."""

    dims: tuple[tuple[str, Axis], ...]

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for dim, axis in self.dims:
            for name in axis.names:
                if name in seen:
                    raise ValueError(f"parameter {name!r} is on two axes, {seen[name]!r} and {dim!r}")
                seen[name] = dim
            if dim in seen and seen[dim] != dim:
                raise ValueError(f"axis {dim!r} has the name of a parameter of axis {seen[dim]!r}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each dimension."""
        return tuple(len(axis) for _, axis in self.dims)

    @property
    def size(self) -> int:
        """Number of points; 1 without any axis."""
        return math.prod(self.shape)

    @property
    def names(self) -> tuple[str, ...]:
        """All parameters that are varied."""
        return tuple(name for _, axis in self.dims for name in axis.names)

    def points(self, fixed: Mapping[str, Scalar]) -> Iterator[dict[str, Scalar]]:
        """Parameters of every point, in order, ``fixed`` ones included."""
        for index in itertools.product(*map(range, self.shape)):
            point = dict(fixed)
            for i, (_, axis) in zip(index, self.dims, strict=True):
                point.update(axis.at(i))
            yield point

    def describe(self) -> dict[str, Any]:
        """The axes as plain data, from which `from_description` makes them again."""
        return {dim: {"columns": {n: list(v) for n, v in axis.columns}, "units": dict(axis.units)} for dim, axis in self.dims}


def from_description(table: Mapping[str, Any]) -> Axes:
    """The axes that `Axes.describe` described."""
    return Axes(
        dims=tuple(
            (dim, Axis(columns=tuple((n, tuple(v)) for n, v in a["columns"].items()), units=tuple(a["units"].items())))
            for dim, a in table.items()
        )
    )


def axes_of(given: Mapping[str, Axis | Values | Sequence[Any]]) -> Axes:
    """Axes by dimension name; a list stands for the parameter of that name."""
    return Axes(dims=tuple((dim, a if isinstance(a, Axis) else _axis({dim: _values(a)})) for dim, a in given.items()))
