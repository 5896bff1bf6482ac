"""A random stream as a value: drawing returns the numbers and the stream that follows; a state can be kept or replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dsp.noise import Jitter


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


def uniform(n: int, stream: Stream) -> tuple[np.ndarray, Stream]:
    """``n`` independent numbers from 0 to 1, shape (n,)."""
    rng = _generator(stream)
    draws = rng.random(n)
    return draws, Stream(position=rng.bit_generator.state)


@dataclass(frozen=True, kw_only=True, eq=False)
class JitterStream:
    """Position of a jitter: streams of its random and bounded part, and the last value of each (rms 1, and +-1)."""

    random: Stream
    bounded: Stream
    last: float
    side: float


def start_jitter(rng: np.random.Generator) -> JitterStream:
    """A jitter that is stationary from its first displacement, seeded from ``rng``."""
    random, bounded = start(rng), start(rng)
    last, random = normal((1,), random)
    side, bounded = uniform(1, bounded)
    return JitterStream(random=random, bounded=bounded, last=float(last[0]), side=1.0 if side[0] < 0.5 else -1.0)


def displacements(jitter: Jitter, n: int, stream: JitterStream) -> tuple[np.ndarray, JitterStream]:
    """``n`` displacements [UI], shape (n,): a first-order Gaussian and a two-state process, both of ``jitter.correlation``."""
    from dsp import kernels

    drive, random = normal((n,), stream.random)
    wander = kernels.first_order(drive, jitter.correlation, stream.last)
    draws, bounded = uniform(n, stream.bounded)
    # a two-state process that turns with probability p has correlation 1 - 2 p
    side = stream.side * np.cumprod(np.where(draws < (1 - jitter.correlation) / 2, -1.0, 1.0))
    after = JitterStream(
        random=random,
        bounded=bounded,
        last=float(wander[-1]) if n else stream.last,
        side=float(side[-1]) if n else stream.side,
    )
    return jitter.random_ui * wander + jitter.dual_dirac_ui * side, after
