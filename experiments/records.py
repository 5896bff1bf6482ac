"""What a sweep point returns, what it is known by, and what makes its numbers the same anywhere."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.axes import Scalar, plain

Point = Callable[..., Mapping[str, Any]]
"""``point(parameters)`` or ``point(parameters, rng=...)``: a flat dictionary in, a flat dictionary out."""
KINDS = "biufcU"
RESERVED = ("status", "error", "seconds")
"""Names that a sweep keeps for what became of a point."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Field:
    """An array in a record: ``values`` with the name of each dimension, and ``coords`` along them; ``unit`` of the values.

    Every point of a sweep must return the same dimensions, lengths and coordinates under one name.
    """

    values: np.ndarray
    dims: tuple[str, ...]
    coords: Mapping[str, np.ndarray]
    unit: str = ""

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        if values.dtype.kind not in KINDS:
            raise ValueError(f"Field.values must be an array of numbers or texts, got {self.values!r}")
        dims = tuple(self.dims)
        if values.ndim != len(dims) or len(set(dims)) != len(dims) or not dims:
            raise ValueError(f"Field.dims must name the {values.ndim} dimensions of values, got {self.dims!r}")
        coords = {dim: np.asarray(self.coords[dim]) for dim in dims if dim in self.coords}
        for dim, n in zip(dims, values.shape, strict=True):
            if dim not in coords or coords[dim].shape != (n,):
                got = coords[dim].shape if dim in coords else "none"
                raise ValueError(f"Field.coords[{dim!r}] must be an array of length {n}, got {got}")
        for name, value in (("values", values), ("dims", dims), ("coords", coords)):
            object.__setattr__(self, name, value)

    @property
    def shape_of(self) -> tuple[Any, ...]:
        """What must be alike in all points: dimensions, lengths, coordinates."""
        return self.dims, self.values.shape, tuple(digest(self.coords[d].tolist()) for d in self.dims)


Record = dict[str, Scalar | Field | None]


def record_of(returned: Any) -> Record:
    """``returned`` checked: a mapping from names to scalars, None or `Field`. Raises TypeError that names the entry."""
    if not isinstance(returned, Mapping):
        raise TypeError(f"a point must return a flat dictionary, got a {type(returned).__name__}")
    record: Record = {}
    for name, value in returned.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"a record's names must be texts, got {name!r}")
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, np.ndarray | list | tuple):
            raise TypeError(f"{name}: an array must declare its dimensions: Field(values=..., dims=..., coords=...)")
        if value is not None and not isinstance(value, bool | int | float | str | Field):
            raise TypeError(f"{name}: must be a number, a text, None or a Field, got a {type(value).__name__}")
        record[name] = value
    return record


def digest(value: Any) -> str:
    """32 hex digits of plain data: the same for 2 and 2.0, in any key order, on any machine."""
    text = json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _canonical(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {str(k): _canonical(v) for k, v in item.items()}
    if isinstance(item, list | tuple):
        return [_canonical(v) for v in item]
    if isinstance(item, bool) or item is None:
        return item
    if isinstance(item, int | float):
        number = float(item)
        # A whole number too long for a float keeps its digits.
        return f"#{number + 0.0!r}" if math.isnan(number) or number == item else f"#{item}"
    return f"'{item}"


def point_key(study: str, parameters: Mapping[str, Scalar]) -> str:
    """What a point is known by in a store; ``study`` is the digest of everything that its parameters don't say."""
    return hashlib.sha256(f"{study}:{digest(parameters)}".encode()).hexdigest()[:32]


def rng_of(seed: int, parameters: Mapping[str, Scalar]) -> np.random.Generator:
    """The generator of a point: depends on the study's seed and the point's content alone."""
    key = digest(parameters)
    return np.random.default_rng([seed, *(int(key[i : i + 8], 16) for i in range(0, 32, 8))])


def wants_rng(point: Point) -> bool:
    """Whether ``point`` takes a generator, in a parameter named ``rng``."""
    return "rng" in inspect.signature(point).parameters


def name_of(point: Point, strict: bool = True) -> str:
    """What a point function is called in a description: its module and name, with the arguments it is bound to.

    ``strict``: raise ValueError where hidden values (a closure, an object without a content repr) would change the numbers
    unseen.
    """
    if isinstance(point, functools.partial):
        bound = {"args": [repr(a) for a in point.args], **{k: repr(v) for k, v in sorted(point.keywords.items())}}
        text = f"{name_of(point.func, strict)}{json.dumps(bound)}"
    elif inspect.isfunction(point):
        if point.__closure__ and strict:
            raise ValueError(
                f"{point.__qualname__} takes values from around it, which its name does not tell: make them parameters "
                "or bind them with functools.partial"
            )
        text = f"{point.__module__}.{point.__qualname__}"
    else:
        text = repr(point)
    if " at 0x" in text and strict:
        raise ValueError(f"the point function can't be told by its content: {text}; use a function or a frozen dataclass")
    return text


def source_of(point: Point) -> str:
    """Digest of the file that defines ``point``, or "" where there is none."""
    inner = point
    while isinstance(inner, functools.partial):
        inner = inner.func
    try:
        path = inspect.getsourcefile(inner if inspect.isfunction(inner) else type(inner))
    except TypeError:
        path = None
    if path is None or not Path(path).is_file():
        return ""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


@functools.cache
def _library() -> dict[str, str]:
    """Versions that the numbers rest on; of the libraries the digest of all their source."""
    from importlib.metadata import version

    root = Path(__file__).parent.parent
    total = hashlib.sha256()
    for package in ("dsp", "channels", "serdes"):
        for path in sorted((root / package).rglob("*")):
            if path.suffix in (".py", ".toml"):
                total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return {
        "library": total.hexdigest()[:16],
        **{name: version(name) for name in ("numpy", "scipy", "numba")},
        "python": ".".join(map(str, sys.version_info[:2])),
    }


def code_version(point: Point) -> dict[str, str]:
    """What the numbers of a point function rest on beside its parameters."""
    return {"point function": source_of(point), **_library()}


def checked_fixed(fixed: Mapping[str, Any]) -> dict[str, Scalar]:
    """Parameters that all points share, checked."""
    return {name: plain(value, f"fixed[{name!r}]") for name, value in fixed.items()}
