"""TOML in: text, files and the package's own ``standards``, with the place in every error."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any


@contextmanager
def within(place: str | Path) -> Iterator[None]:
    """A ``ValueError`` raised inside begins with ``place``, if that is not empty."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place}: {error}" if str(place) else str(error)) from error


def parse(text: str) -> dict[str, Any]:
    """The table that TOML ``text`` holds; ``ValueError`` where it is no TOML."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"not TOML: {error}") from error


def read(path: str | Path) -> str:
    """Text of a file; ``ValueError`` that names it where it is not UTF-8, OSError with a remedy where it can't be opened."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise type(error)(f"{path}: can't be opened ({error.strerror}); check the path") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text: {error}") from error


@functools.cache
def standard(name: str) -> dict[str, Any]:
    """The table of ``standards/name.toml``; not to be changed."""
    return parse(resources.files("serdes.standards").joinpath(f"{name}.toml").read_text(encoding="utf-8"))
