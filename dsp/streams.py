"""A random stream as a value: drawing returns the numbers and the stream that follows; a state can be kept or replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False)
class Stream:
    """Position of a random stream. Drawing n numbers and then m gives the same numbers as drawing n + m at once."""

    position: Any


def start(rng: np.random.Generator) -> Stream:
    """A stream of its own, seeded from ``rng`` (which advances by four words)."""
    seed = rng.integers(0, 2**32, size=4, dtype=np.uint64)
    return Stream(position=np.random.SFC64(seed).state)


def _generator(stream: Stream) -> np.random.Generator:
    bits = np.random.SFC64(0)
    bits.state = stream.position
    return np.random.Generator(bits)


def normal(shape: tuple[int, ...], stream: Stream) -> tuple[np.ndarray, Stream]:
    """Independent standard normal numbers, shape (..., n). Last axis time: all lanes of one instant are drawn together."""
    rng = _generator(stream)
    draws = rng.standard_normal((shape[-1], *shape[:-1]))
    return np.moveaxis(draws, 0, -1), Stream(position=rng.bit_generator.state)


def integers(n_values: int, n: int, stream: Stream) -> tuple[np.ndarray, Stream]:
    """``n`` independent whole numbers 0 ... n_values - 1, shape (n,), uint8 (so ``n_values`` is 256 or less)."""
    rng = _generator(stream)
    draws = rng.integers(0, n_values, size=n, dtype=np.uint32).astype(np.uint8)
    return draws, Stream(position=rng.bit_generator.state)
