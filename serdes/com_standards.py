"""The parameter sets in ``standards/*.toml``, and those of users: TOML with the standard's names, unit and clause beside.

A value is ``[number, "unit", "clause"]``; without a unit it is SI, and a unit of another dimension is refused. Numbers may be lists, or ranges "start:step:stop". ``base``
names a set whose values hold where the file says nothing.
"""

from __future__ import annotations

import difflib
import functools
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from dsp.units import GBd, GHz, V, fF, m, mm, mV, ns, ohm, pF, pH, ps
from serdes import toml_text
from serdes.com_parts import Case, End, Line
from serdes.com_sheet import LISTS, NUMBERS, PAIRS, Sheet

NAMES = (
    "802.3ck-kr", "802.3ck-cr", "802.3ck-c2c", "802.3ck-c2m", "802.3dj-kr", "802.3dj-cr", "802.3dj-c2c", "802.3dj-c2m",
)  # fmt: skip
_SCALES: dict[str, dict[str, float]] = {
    "": {"": 1.0}, "Bd": {"Bd": 1.0, "GBd": GBd}, "Hz": {"GHz": GHz, "MHz": 1e6, "Hz": 1.0}, "V": {"V": V, "mV": mV},
    "s": {"s": 1.0, "ns": ns, "ps": ps}, "m": {"m": m, "mm": mm}, "ohm": {"ohm": ohm}, "F": {"F": 1.0, "fF": fF, "pF": pF},
    "H": {"H": 1.0, "pH": pH, "nH": 1e-9}, "dB": {"dB": 1.0}, "UI": {"UI": 1.0}, "f_b": {"f_b": 1.0},
    "V^2/Hz": {"V^2/Hz": 1.0, "V^2/GHz": 1e-9}, "1/m": {"1/m": 1.0, "1/mm": 1 / mm},
    "s^0.5/m": {"s^0.5/m": 1.0, "ns^0.5/mm": ns**0.5 / mm}, "s/m": {"s/m": 1.0, "ns/mm": ns / mm}, "dB/s": {"dB/s": 1.0, "dB/ns": 1 / ns},
}  # fmt: skip
UNITS = {unit: factor for units in _SCALES.values() for unit, factor in units.items()}
_SI_OF = (
    {key: rule[0] for key, rule in (NUMBERS | PAIRS).items()}
    | dict.fromkeys((*LISTS, "G_Qual", "G2_Qual"), "dB")
    | {
        "C_d": "F",
        "C_0": "F",
        "C_1": "F",
        "L_s": "H",
        "Z_c": "ohm",
        "gamma0": "1/m",
        "a1": "s^0.5/m",
        "a2": "s/m",
        "tau": "s/m",
    }
    | {"z_p": "m", "z_bp": "m"}
)
"""SI unit of each entry that has one; the rest are plain numbers."""
_TAPS = {f"c({n})": n for n in (-4, -3, -2, -1, 1, 2, 3)}
_FIELDS = {field.name for field in fields(Sheet)} - {"packages", "board", "cases", "c_pre", "c_post", "name", "c_0"}
KEYS = (*sorted(_FIELDS), "c(0)", *_TAPS)
"""Names a table of values may hold."""
_LISTS = ("g_DC", "g_DC2", "b_min", "b_max", "G2_Qual")
_WHOLE = {field.name for field in fields(Sheet) if field.type in ("int", "tuple[int, int]")}


@functools.cache
def standard(name: str) -> Sheet:
    """A parameter set of the standards, by name. ValueError with the nearest name for another."""
    key = name.strip().lower()
    if key not in NAMES:
        near = difflib.get_close_matches(key, NAMES, 1, 0.4)
        raise ValueError(
            f"unknown parameter set {name!r}" + (f", did you mean {near[0]!r}?" if near else f"; there are {', '.join(NAMES)}")
        )
    return _sheet(toml_text.standard(key), key)


def load(path: str | Path) -> Sheet:
    """The parameter set in a TOML file of a user. ValueError that names file and key; OSError where it can't be opened."""
    path = Path(path)
    return from_toml(toml_text.read(path), path.stem, str(path))


def from_toml(text: str, name: str, where: str = "") -> Sheet:
    """The parameter set that ``text`` describes; ``where`` (a file) begins the error messages."""
    with toml_text.within(where):
        return _sheet(toml_text.parse(text), name)


def clauses(name: str) -> dict[str, str]:
    """Where each value of a standard's own set comes from, by key; those of its base included."""
    table = toml_text.standard(name)
    found = clauses(table["base"]) if "base" in table else {}
    return found | {key: row[2] for key, row in table.get("values", {}).items() if _is_row(row) and len(row) > 2}


def _is_row(value: Any) -> bool:
    return isinstance(value, list) and 2 <= len(value) <= 3 and isinstance(value[1], str) and not _is_range(value[1])


def _is_range(text: str) -> bool:
    return ":" in text


def _refuse(key: str, known: tuple[str, ...] | set[str], where: str) -> ValueError:
    near = difflib.get_close_matches(key, known, 1, 0.5)
    return ValueError(f"{where}: unknown key {key!r}" + (f", did you mean {near[0]!r}?" if near else ""))


def _number(value: Any, key: str) -> Any:
    """A value in SI: numbers, tuples of numbers, or text as it is."""
    unit = 1.0
    if _is_row(value):
        if value[1] not in UNITS:
            near = difflib.get_close_matches(value[1], UNITS, 1, 0.4)
            raise ValueError(f"{key}: unknown unit {value[1]!r}" + (f", did you mean {near[0]!r}?" if near else ""))
        fitting = _SCALES[_SI_OF.get(key, "")]
        if value[1] and value[1] not in fitting:
            rule = f"one of {', '.join(fitting)}" if _SI_OF.get(key) else "left out: the value is a plain number"
            raise ValueError(f"{key}: unit must be {rule}, got {value[1]!r}")
        unit = UNITS[value[1]]
        value = value[0]

    def scaled(item: Any) -> Any:
        if isinstance(item, bool):
            return item
        if isinstance(item, str) and _is_range(item):
            from serdes.com_keywords import matlab

            return tuple(x * unit for x in matlab(item).ravel().tolist())
        if isinstance(item, int | float):
            return item * unit if unit != 1.0 or isinstance(item, float) else item
        if isinstance(item, list):
            return tuple(scaled(x) for x in item)
        return item

    return scaled(value)


def _line(row: dict[str, Any], name: str) -> Line:
    known = {"name", "Z_c", "gamma0", "a1", "a2", "tau"}
    for key in row:
        if key not in known:
            raise _refuse(key, known, f"line {name}")
    values = {key: _number(value, key) for key, value in row.items() if key != "name"}
    for key in ("Z_c", "a1", "a2", "tau"):
        if key not in values:
            raise ValueError(f"line {name}: {key} is missing")
    z = values.pop("Z_c")
    return Line(name=name, Z_c=z if isinstance(z, tuple) else (z,), **{key: float(value) for key, value in values.items()})


def _end(row: dict[str, Any], where: str) -> End:
    known = {"package", "z_p", "z_bp"}
    for key in row:
        if key not in known:
            raise _refuse(key, known, where)
    z_p = _number(row.get("z_p", []), "z_p")
    return End(
        package=row.get("package", ""), z_p=tuple(float(z) for z in z_p), z_bp=float(_number(row.get("z_bp", 0.0), "z_bp"))
    )


def _case(row: dict[str, Any]) -> Case:
    known = {"name", "tx", "rx", "fext", "next"}
    for key in row:
        if key not in known:
            raise _refuse(key, known, "case")
    for key in ("name", "tx", "rx"):
        if key not in row:
            raise ValueError(f"case: {key} is missing")
    name = str(row["name"])
    ends = {side: _end(row[side], f"case {name}.{side}") for side in ("tx", "rx", "fext", "next") if side in row}
    return Case(name=name, tx=ends["tx"], rx=ends["rx"], fext=ends.get("fext", ends["tx"]), next=ends.get("next", ends["rx"]))


def _sheet(table: dict[str, Any], name: str) -> Sheet:
    known = {"title", "source", "base", "values", "package", "board", "case"}
    for key in table:
        if key not in known:
            raise _refuse(key, known | set(KEYS), name)
    values: dict[str, Any] = {key: table[key] for key in ("title", "source") if key in table}
    before: dict[int, tuple[float, ...]] = {}
    for key, raw in table.get("values", {}).items():
        if key not in KEYS:
            raise _refuse(key, KEYS, name)
        value = _number(raw, key)
        if key in _TAPS:
            before[_TAPS[key]] = value if isinstance(value, tuple) else (float(value),)
        elif key == "c(0)":
            values["c_0"] = float(value)
        elif key in _LISTS:
            values[key] = tuple(float(x) for x in value) if isinstance(value, tuple) else (float(value),)
        else:
            values[key] = (
                float(value) if isinstance(value, int) and not isinstance(value, bool) and key not in _WHOLE else value
            )
    if "package" in table:
        values["packages"] = tuple(_line(row, row.get("name", "")) for row in table["package"])
    if "board" in table:
        values["board"] = _line(table["board"], "board")
    if "case" in table:
        values["cases"] = tuple(_case(row) for row in table["case"])
    base = standard(table["base"]) if "base" in table else None
    if before or base is None:
        values |= _taps(before, base)
    values["name"] = name
    if base is not None:
        return replace(base, **values)
    try:
        return Sheet(**values)
    except TypeError as error:
        raise ValueError(f"{name}: {str(error).partition(') ')[2] or error}") from None


def _taps(given: dict[int, tuple[float, ...]], base: Sheet | None) -> dict[str, Any]:
    """c_pre and c_post from the keys c(n), those of the base where a key is not given."""
    every = dict(given)
    if base is not None:
        every = (
            {k - len(base.c_pre): v for k, v in enumerate(base.c_pre)} | {k + 1: v for k, v in enumerate(base.c_post)} | given
        )
    first, last = min([0, *every]), max([0, *every])
    return {
        "c_pre": tuple(every.get(n, (0.0,)) for n in range(first, 0)), "c_post": tuple(every.get(n,
        (0.0,)) for n in range(1, last + 1))
    }  # fmt: skip
