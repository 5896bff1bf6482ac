"""Checks for constructors: each failure names the field, the rule and the value, and the remedy where one is likely."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

SLOWEST_SYMBOL_RATE = 1e6
FASTEST_SYMBOL_RATE = 1e12


def fail(owner: object, field: str, rule: str, value: Any, hint: str = "") -> ValueError:
    """The error to raise for ``owner.field``: names class, field, rule and value; ``hint`` is the likely remedy."""
    name = owner if isinstance(owner, str) else type(owner).__name__
    return ValueError(f"{name}.{field} must be {rule}, got {value!r}" + (f" ({hint})" if hint else ""))


def finite(owner: object, field: str, value: Any, unit: str = "") -> None:
    """``value`` is a finite real number."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise fail(owner, field, "a finite number" + (f" [{unit}]" if unit else ""), value)


def positive(owner: object, field: str, value: Any, unit: str = "", hint: str = "") -> None:
    """``value`` is finite and greater than zero."""
    finite(owner, field, value, unit)
    if value <= 0:
        raise fail(owner, field, "greater than 0" + (f" [{unit}]" if unit else ""), value, hint)


def not_negative(owner: object, field: str, value: Any, unit: str = "", hint: str = "") -> None:
    """``value`` is finite and at least zero."""
    finite(owner, field, value, unit)
    if value < 0:
        raise fail(owner, field, "0 or more" + (f" [{unit}]" if unit else ""), value, hint)


def between(owner: object, field: str, value: Any, low: float, high: float, unit: str = "", hint: str = "") -> None:
    """``low <= value <= high``, finite. A ``hint`` that asks for another unit ("was ... meant?") is for a positive value alone."""
    finite(owner, field, value, unit)
    if not low <= value <= high:
        hint = "" if value <= 0 and hint.startswith("was ") else hint
        raise fail(owner, field, f"from {low:g} to {high:g}" + (f" [{unit}]" if unit else ""), value, hint)


def count(owner: object, field: str, value: Any, low: int = 0, high: int | None = None, hint: str = "") -> None:
    """``value`` is a whole number, ``low`` or more (and ``high`` or less)."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or int(value) < low or (high is not None and int(value) > high):
        rule = f"a whole number from {low} to {high}" if high is not None else f"a whole number of {low} or more"
        raise fail(owner, field, rule, value, hint)


def one_of(owner: object, field: str, value: Any, choices: Collection[Any]) -> None:
    """``value`` is one of ``choices``."""
    if value not in choices:
        raise fail(owner, field, "one of " + ", ".join(map(str, choices)), value)


def instance(owner: object, field: str, value: Any, kinds: type | tuple[type, ...]) -> None:
    """``value`` is of one of the classes ``kinds``."""
    if not isinstance(value, kinds):
        names = " or ".join(k.__name__ for k in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise fail(owner, field, f"a {names}", value)


def numbers(owner: object, field: str, value: Any, at_least: int = 0) -> None:
    """``value`` is a tuple of finite real numbers, ``at_least`` of them."""
    if not isinstance(value, tuple):
        raise fail(owner, field, "a tuple of numbers", value, "lists are not hashable; write (a, b)")
    if len(value) < at_least:
        raise fail(owner, field, f"a tuple of {at_least} or more numbers", value)
    for i, item in enumerate(value):
        finite(owner, f"{field}[{i}]", item)


def array(owner: object, field: str, value: Any, kind: type[float] | type[complex]) -> np.ndarray:
    """``value`` as an array of finite ``kind``, a read-only copy."""
    rule = f"an array of finite {'complex' if kind is complex else 'real'} numbers"
    try:
        found = np.array(value, kind)
    except (TypeError, ValueError) as error:
        raise fail(owner, field, rule, value) from error
    if not np.all(np.isfinite(found)):
        raise fail(owner, field, rule, "NaN or infinity")
    found.setflags(write=False)
    return found


def symbol_rate(owner: object, field: str, value: Any) -> None:
    """A plausible symbol rate [Bd]; a number that looks like gigabaud is an error that asks whether GBd was meant."""
    finite(owner, field, value, "Bd")
    if SLOWEST_SYMBOL_RATE <= value <= FASTEST_SYMBOL_RATE:
        return
    hint = ""
    if 0 < value < 1e4:
        hint = f"was {value:g} GBd meant? Write {value:g} * GBd, that is {value:g}e9"
    raise fail(owner, field, f"from {SLOWEST_SYMBOL_RATE:g} to {FASTEST_SYMBOL_RATE:g} [Bd]", value, hint)


def same_length(owner: object, first: tuple[str, Sequence[Any]], second: tuple[str, Sequence[Any]]) -> None:
    """Two sequences, given as (field, value), have the same length; the error names both lengths."""
    if len(first[1]) != len(second[1]):
        raise fail(owner, first[0], f"as long as {second[0]} ({len(second[1])})", f"length {len(first[1])}")
