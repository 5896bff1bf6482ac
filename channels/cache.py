"""Bounded stores of computed values; one of them, of frequency responses, is shared by everything in `channels`."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeAlias, TypeVar

import numpy as np

V = TypeVar("V")
MAX_ENTRIES = 64
MAX_BYTES = 256 * 2**20


def digest(f: np.ndarray) -> bytes:
    """Content hash of a frequency axis: equal axes share their responses, whoever built them."""
    return hashlib.blake2b(np.ascontiguousarray(f).data, digest_size=16).digest()


class Cache(Generic[V]):
    """Values by hashable key, the least recently used dropped first; safe between threads. Arrays become read-only.

    A value counts with its ``nbytes``, or 0 where it has none.
    """

    def __init__(self, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self.max_entries, self.max_bytes = max_entries, max_bytes
        self.n_bytes = 0
        self._entries: OrderedDict[Hashable, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> V | None:
        """The value under ``key``, or None."""
        with self._lock:
            value = self._entries.get(key)
            if value is not None:
                self._entries.move_to_end(key)
            return value

    def put(self, key: Hashable, value: V) -> V:
        """Keep ``value`` and return it. One larger than the whole store is returned but not kept."""
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        with self._lock:
            old = self._entries.pop(key, None)
            self.n_bytes -= _size(old)
            if _size(value) <= self.max_bytes:
                self._entries[key] = value
                self.n_bytes += _size(value)
            while len(self._entries) > self.max_entries or self.n_bytes > self.max_bytes:
                self.n_bytes -= _size(self._entries.popitem(last=False)[1])
        return value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self.n_bytes = 0


def _size(value: object) -> int:
    return int(getattr(value, "nbytes", 0))


ResponseCache: TypeAlias = Cache[np.ndarray]
responses: ResponseCache = Cache()
