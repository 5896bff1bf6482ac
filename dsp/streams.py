"""A random stream as a value: drawing returns the numbers and the stream that follows; a state can be kept or replayed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsp.noise import Jitter

_BLOCK = 1024
"""Normal numbers that the kernel makes at a time."""
_NORMAL, _WHOLE, _EVEN = 0, 0x5851F42D4C957F2D, 0x14057B7EF767814F


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Position of a random stream: where it began and how many numbers were drawn.

    Drawing n numbers and then m gives the same numbers as drawing n + m at once. Kinds of numbers are independent of each
    other.
    """

    key: int
    place: int = 0

    def after(self, n: int) -> Stream:
        """The stream ``n`` numbers on."""
        return Stream(key=self.key, place=self.place + n)

    def seed(self, kind: int) -> Any:
        """Seed of the numbers of one kind."""
        return np.uint64(self.key ^ kind)


def start(rng: np.random.Generator) -> Stream:
    """A stream of its own, seeded from ``rng`` (which advances by one word)."""
    return Stream(key=int(rng.integers(0, 2**64, dtype=np.uint64)))


def _words(n: int, stream: Stream, kind: int, per_word: int) -> np.ndarray:
    """The 64-bit words that hold the next ``n`` numbers, ``per_word`` in each."""
    from dsp import kernels

    first, last = stream.place // per_word, -(-(stream.place + n) // per_word)
    words = np.empty(last - first, np.uint64)
    kernels.splitmix(stream.seed(kind), first, words)
    return words


def normal(shape: tuple[int, ...], stream: Stream) -> tuple[np.ndarray, Stream]:
    """Independent standard normal numbers, shape (..., n). Last axis time: all lanes of one instant are drawn together."""
    from dsp import kernels

    n = math.prod(shape)
    first, last = stream.place // _BLOCK, -(-(stream.place + n) // _BLOCK)
    draws = np.empty((last - first) * _BLOCK)
    kernels.gaussian(stream.seed(_NORMAL), first, draws)
    skip = stream.place - first * _BLOCK
    return np.moveaxis(draws[skip : skip + n].reshape(shape[-1], *shape[:-1]), 0, -1), stream.after(n)


def integers(n_values: int, n: int, stream: Stream) -> tuple[np.ndarray, Stream]:
    """``n`` independent whole numbers 0 ... n_values - 1, shape (n,), uint8 (so ``n_values`` is 256 or less)."""
    if n_values & (n_values - 1) == 0:
        skip = stream.place % 8
        draws = _words(n, stream, _WHOLE, 8).view(np.uint8)[skip : skip + n] & np.uint8(n_values - 1)
    else:
        skip = stream.place % 2  # 32 bits a number: the values are even to 2^-24
        draws = (_words(n, stream, _WHOLE, 2).view(np.uint32)[skip : skip + n] * np.float64(n_values / 2**32)).astype(np.uint8)
    return draws, stream.after(n)


def uniform(n: int, stream: Stream) -> tuple[np.ndarray, Stream]:
    """``n`` independent numbers from 0 to 1, shape (n,)."""
    return (_words(n, stream, _EVEN, 1) >> np.uint64(11)) * 2.0**-53, stream.after(n)


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
    words, bounded = _words(n, stream.bounded, _EVEN, 1), stream.bounded.after(n)
    moved, last, side = kernels.jitter_walk(
        drive, words, jitter.correlation, jitter.random_ui, jitter.dual_dirac_ui, stream.last, stream.side
    )
    return moved, JitterStream(random=random, bounded=bounded, last=float(last), side=float(side))
