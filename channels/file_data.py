"""Files read once: content by path and SHA-256, the last few kept in memory."""

from __future__ import annotations

import hashlib
from pathlib import Path

from channels.cache import Cache
from channels.touchstone import parse_touchstone, read_bytes
from channels.touchstone_data import TouchstoneData, TouchstoneError
from dsp import check

MAX_FILES = 8
_FILES: Cache[TouchstoneData] = Cache(MAX_FILES)


def load(path: str | Path) -> tuple[str, TouchstoneData]:
    """SHA-256 and numbers of the file as it is now. Raises TouchstoneError."""
    check.instance("Touchstone file", "path", path, (str, Path))
    content = read_bytes(path)
    sha256 = hashlib.sha256(content).hexdigest()
    data = _FILES.get(sha256)
    return sha256, _FILES.put(sha256, parse_touchstone(content, str(path))) if data is None else data


def recall(path: str, sha256: str) -> TouchstoneData:
    """Numbers of the file that had ``sha256`` when it was opened. Raises TouchstoneError if it holds something else now."""
    data = _FILES.get(sha256)
    if data is None:
        found, data = load(path)
        if found != sha256:
            cause = f"has changed: its SHA-256 is {found[:12]}..., not {sha256[:12]}..."
            raise TouchstoneError(path, None, cause, "open it again")
    return data


def check_sha256(owner: object, value: object) -> None:
    """``value`` is a SHA-256 as hexadecimal text."""
    check.instance(owner, "sha256", value, str)
    if not isinstance(value, str) or len(value) != 64 or not set(value) <= set("0123456789abcdef"):
        raise check.fail(owner, "sha256", "64 hexadecimal digits", value, "use open(path)")
