"""Links to and from plain dictionaries and TOML, with a content hash. One schema for scripts, command line and sweeps.

A value becomes a table with a ``type`` and its fields. Reading, ``type`` may be left out where only one class fits, a
constellation may be a name ("PAM4"), numbers may be whole. Unknown keys are refused with a suggestion.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import json
import types
import typing
from numbers import Complex, Integral, Real
from pathlib import Path
from typing import Any

from serdes import toml_text
from serdes.link import Link, suggestion

_MODULES = {
    "serdes.link": ("Link", "RetimedLink", "Transmitter", "Receiver", "Aggressor"),
    "dsp.clock": ("IdealClock", "MuellerMuller", "Gardner", "BangBang"),
    "dsp.constellation": ("Constellation",),
    "dsp.converter": ("Converter", "LaneMismatch", "Vga"),
    "dsp.detector": ("Slicer",),
    "dsp.edge_jitter": ("EdgeJitter", "Sinusoid", "SpreadSpectrum"),
    "dsp.equalizer": ("FixedTaps", "Mmse"),
    "dsp.fec": ("Fec",),
    "dsp.filters": ("Ctle",),
    "dsp.mlsd": ("Mlsd",),
    "dsp.noise": ("Jitter",),
    "channels.active": ("Redriver",),
    "channels.channel": ("Cascade",),
    "channels.network": ("Chain", "Flipped"),
    "channels.copper": ("CopperChannel", "Die", "Package", "Trace", "Connector", "ShuntCapacitor", "SeriesInductor"),
    "channels.lines": ("StandardLine", "Twinax", "StopBand"),
    "channels.surface": ("Roughness", "Plating"),
    "channels.pair": ("Balanced", "Pair", "Differential", "TwinaxPair"),
    "channels.pcb": ("BoardLine",),
    "channels.via": ("Via",),
    "channels.interposer": ("InterposerWires", "InterposerChannel"),
    "channels.crosstalk": ("FarEndCrosstalk", "NearEndCrosstalk"),
    "channels.conditioning": ("Conditioning",),
    "channels.file_network": ("FileNetwork", "FilePorts"),
    "channels.port_map": ("PortMap",),
    "serdes.coherent": ("CoherentLink", "CoherentTransmitter", "CoherentReceiver", "SoftFec"),
    "channels.coherent": ("CoherentChannel", "Span"),
    "channels.amplifier": ("Edfa",),
    "channels.nonlinear": ("Comb",),
    "channels.polarization": ("Polarization",),
    "channels.coherent_optics": ("AnaloguePaths", "IqModulator", "CoherentFrontEnd"),
    "dsp.butterfly": ("Butterfly",),
    "dsp.carrier": ("BlindPhaseSearch", "Pilots"),
    "dsp.tone": ("ToneTiming",),
    "dsp.training": ("Training",),
    "channels.imdd": ("ImddChannel", "Predistortion"),
    "channels.stages": ("Amplifier",),
    "channels.optical_path": ("Photodiode",),
    "channels.multipath": ("Multipath",),
    "channels.fiber": ("SingleModeFiber", "MultimodeFiber"),
    "channels.lasers": ("Laser",),
    "channels.modulators": ("Mzm", "Eml"),
    "channels.vcsel": ("Vcsel",),
    "channels.host": ("HostLoss",),
}
TYPES = {name: module for module, names in _MODULES.items() for name in names}
NONE = "none"
"""How an absent value is written where the field's default is something else (TOML has no null)."""


def to_dict(value: Any, known_only: bool = True) -> Any:
    """``value`` as dictionaries, lists, numbers and strings. Raises TypeError for what no record can hold.

    ``known_only`` False also takes frozen classes of the user's own, by their full name: to be hashed, not to be read back.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        known = TYPES.get(name) == type(value).__module__
        if not known and not known_only:
            name = f"{type(value).__module__}.{type(value).__qualname__}"
        elif not known:
            raise TypeError(f"{name} is not part of the link schema: {', '.join(sorted(TYPES))}")
        table: dict[str, Any] = {"type": name}
        for f in dataclasses.fields(value):
            item = getattr(value, f.name)
            if f.init and item is not None:
                table[f.name] = to_dict(item, known_only)
            elif f.init and f.default is not None:
                table[f.name] = NONE
        return table
    if isinstance(value, tuple):
        return [to_dict(item, known_only) for item in value]
    if isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Complex):
        return {"re": float(value.real), "im": float(value.imag)}
    raise TypeError(f"a {type(value).__name__} has no place in a record: {value!r}")


def from_dict(table: Any, kind: type | None = Link, path: str = "") -> Any:
    """The value that ``table`` describes. ``kind``: the class expected at the top.

    Raises ValueError that names the path, for an unknown key or type (with a suggestion), a missing field, or a value that
    the class itself refuses.
    """
    path = path or (kind.__name__ if kind else "value")
    value = _decode(table, kind, path)
    if kind is not None and not isinstance(value, kind):
        raise ValueError(f"{path}: must be a table that describes a {kind.__name__}, got {table!r}")
    return value


def to_toml(link: Any) -> str:
    """``link`` as TOML text."""
    import tomli_w

    return tomli_w.dumps(to_dict(link))


def from_toml(text: str, kind: type | None = Link, name: str = "") -> Any:
    """The value described by TOML ``text``; ``name`` (a file) begins the error messages."""
    with toml_text.within(name):
        return from_dict(toml_text.parse(text), kind)


def load(path: str | Path, kind: type | None = Link) -> Any:
    """The value in a TOML file. Raises ValueError that names the file, or OSError when it can't be opened."""
    return from_toml(toml_text.read(path), kind, str(path))


def content_hash(value: Any) -> str:
    """Sixteen hex digits that depend on the content alone: the same on any machine, for 2 and 2.0, in any key order."""
    text = json.dumps(_canonical(to_dict(value, known_only=False)), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _canonical(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _canonical(v) for key, v in item.items() if not (key == "path" and "sha256" in item)}
    if isinstance(item, list):
        return [_canonical(v) for v in item]
    return repr(float(item) + 0.0) if isinstance(item, int | float) and not isinstance(item, bool) else item


@functools.cache
def _resolve(name: str) -> type:
    return getattr(importlib.import_module(TYPES[name]), name)


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _classes(hint: Any) -> list[type]:
    """The dataclasses a type hint admits."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [c for part in typing.get_args(hint) for c in _classes(part)]
    return [hint] if isinstance(hint, type) and dataclasses.is_dataclass(hint) else []


def _item_hint(hint: Any, i: int) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next((_item_hint(h, i) for h in typing.get_args(hint) if typing.get_origin(h) is tuple), None)
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is not tuple or not arguments:
        return None
    return arguments[0] if len(arguments) == 2 and arguments[1] is Ellipsis else arguments[min(i, len(arguments) - 1)]


def _decode(item: Any, hint: Any, path: str) -> Any:
    if isinstance(item, dict):
        if set(item) == {"re", "im"}:
            return complex(item["re"], item["im"])
        return _decode_table(item, hint, path)
    if isinstance(item, list | tuple):
        return tuple(_decode(v, _item_hint(hint, i), f"{path}[{i}]") for i, v in enumerate(item))
    if item == NONE:
        return None
    if isinstance(item, str) and [c.__name__ for c in _classes(hint)] == ["Constellation"]:
        from dsp.constellation import named

        return _built(lambda: named(item), path)
    return item


def _decode_table(table: dict[str, Any], hint: Any, path: str) -> Any:
    admitted = _classes(hint)
    name = table.get("type")
    if name is None and len(admitted) == 1:
        cls = admitted[0]
    elif name is None:
        choices = [c.__name__ for c in admitted] or sorted(TYPES)
        raise ValueError(f"{path}: needs a 'type', one of {', '.join(choices)}")
    elif name not in TYPES:
        raise ValueError(f"{path}: unknown type {name!r}{suggestion(str(name), sorted(TYPES))}")
    else:
        cls = _resolve(name)
    if admitted and not any(issubclass(cls, c) for c in admitted):
        raise ValueError(f"{path}: type {name!r} does not fit here, expected {' or '.join(c.__name__ for c in admitted)}")
    fields = [f for f in dataclasses.fields(cls) if f.init]
    names = [f.name for f in fields]
    for key in table:
        if key != "type" and key not in names:
            raise ValueError(f"{path}: unknown key {key!r}{suggestion(key, names)}")
    required = [f.name for f in fields if f.default is f.default_factory is dataclasses.MISSING]
    missing = [key for key in required if key not in table]
    make: typing.Callable[..., Any] = cls
    if missing and "path" in table and hasattr(cls, "open"):
        make = cls.open  # a file by its path alone: its hash and port map are found
    elif missing:
        raise ValueError(f"{path}: {missing[0]!r} is missing")
    hints = _hints(cls)
    arguments = {k: _decode(v, hints.get(k), f"{path}.{k}") for k, v in table.items() if k != "type"}
    return _built(lambda: make(**arguments), path)


def _built(make: typing.Callable[[], Any], path: str) -> Any:
    try:
        return make()
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
