"""One bounded store of computed frequency responses, shared by everything in `channels` and by every thread."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable

import numpy as np

MAX_ENTRIES = 64
MAX_BYTES = 256 * 2**20


def digest(f: np.ndarray) -> bytes:
    """Content hash of a frequency axis: equal axes share their responses, whoever built them."""
    return hashlib.blake2b(np.ascontiguousarray(f).data, digest_size=16).digest()


class ResponseCache:
    """Arrays by hashable key, the least recently used dropped first. Entries are read-only."""

    def __init__(self, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self.max_entries, self.max_bytes = max_entries, max_bytes
        self.n_bytes = 0
        self._entries: OrderedDict[Hashable, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> np.ndarray | None:
        """The array under ``key``, or None."""
        with self._lock:
            value = self._entries.get(key)
            if value is not None:
                self._entries.move_to_end(key)
            return value

    def put(self, key: Hashable, value: np.ndarray) -> np.ndarray:
        """Keep ``value``, make it read-only and return it. An array larger than the whole store is returned but not kept."""
        value.setflags(write=False)
        with self._lock:
            old = self._entries.pop(key, None)
            self.n_bytes -= 0 if old is None else old.nbytes
            if value.nbytes <= self.max_bytes:
                self._entries[key] = value
                self.n_bytes += value.nbytes
            while len(self._entries) > self.max_entries or self.n_bytes > self.max_bytes:
                self.n_bytes -= self._entries.popitem(last=False)[1].nbytes
        return value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self.n_bytes = 0


responses = ResponseCache()
