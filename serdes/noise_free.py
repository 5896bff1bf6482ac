"""The noise-free pass of a link: its signal faces with everything random left out, and where the noise enters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from channels.channel import Cascade, Channel, LinearChannel
from channels.imdd import ImddChannel, flattened, without_noise
from channels.optical_path import Detection
from channels.stages import Stage
from dsp import convolution, sequences
from dsp.constellation import Constellation
from dsp.grid import Grid
from serdes import waveform
from serdes.link import Link
from serdes.operating_point import OperatingPoint

WARM_UP = 512
"""Symbols before those that count, so that what came before the pass no longer matters."""
_COOL_DOWN = 64
"""Symbols after them, beside the delay, for taps that look ahead."""
_SEED = 0x2545F491


@dataclass(frozen=True, kw_only=True, eq=False)
class Detected:
    """One photodiode on the way: the ``power`` [W] at it, and the transfer from its current to the sampler on ``grid.f``."""

    detection: Detection
    power: np.ndarray
    after: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Pass:
    """What arrives at the sampler without noise.

    ``sent``: symbol indices, of which ``n`` from `WARM_UP` on count. ``y`` [V]: samples. ``first``: position
    in ``y`` of the instant at which the linear face samples the first counted symbol. ``noise`` [V^2/Hz] on ``grid.f``: what
    does not depend on the signal. ``detected``: where noise follows the power.
    """

    point: OperatingPoint
    grid: Grid
    n: int
    sent: np.ndarray
    y: np.ndarray
    first: float
    noise: np.ndarray
    detected: tuple[Detected, ...]

    @property
    def counted(self) -> slice:
        """The counted symbols among those sent."""
        return slice(WARM_UP, WARM_UP + self.n)

    def attenuated(self, decibels: float) -> Pass:
        """The same with ``decibels`` more optical loss, made up for by the gain of the amplifier behind the photodiode.

        So only the noise that enters at the photodiode grows against the signal. Exact for an amplifier that does not saturate.
        """
        a = 10 ** (-decibels / 10)
        detected = tuple(
            replace(d, power=a * d.power, after=d.after / a, detection=d.detection.attenuated(a)) for d in self.detected
        )
        return replace(self, detected=detected)


def symbols(constellation: Constellation, n: int) -> np.ndarray:
    """``n`` symbol indices from PRBS31, sixteen bits a symbol: the same each time."""
    bits, _ = sequences.prbs_block(31, 16 * n, _SEED)
    words = bits.reshape(n, 16).astype(np.int64) @ (1 << np.arange(16))
    return (words % constellation.n).astype(np.intp)


def noise_free(
    link: Link, point: OperatingPoint, n_symbols: int, samples_per_symbol: int, sent: np.ndarray | None = None
) -> Pass:
    """Send ``n_symbols`` (or the pattern ``sent``) through the signal faces of ``link``, settled at ``point``.

    ``ValueError`` for a channel that can't be silenced.
    """
    m, rate = samples_per_symbol, link.symbol_rate
    pattern = symbols(link.tx.constellation, n_symbols) if sent is None else np.asarray(sent)
    late = point.sampling_time * rate + link.tx.ffe.n_precursors + waveform.LEAD
    extended = _extended(pattern, math.ceil(late) + _COOL_DOWN)
    grid = waveform.memory(link.channel, rate, m)
    driver = waveform.Driver(rise_time=link.tx.rise_time, sample_time=grid.dt, delay=waveform.LEAD / rate)
    front = waveform.FrontEnd(point=point, noise_density=0.0)
    pieces: tuple[Channel, ...] = (driver, *flattened(link.channel), front)
    level, _ = convolution.fir_step(
        link.tx.constellation.array[extended], convolution.fir_start(np.asarray(link.tx.ffe.feed_forward))
    )
    y = link.tx.amplitude * np.repeat(level, m)
    after = _transfers_after(pieces, grid.f)
    noise = link.rx.noise_density * np.abs(front.transfer(grid.f)) ** 2
    detected: list[Detected] = []
    waiting: list[Channel] = []
    for k, piece in enumerate(pieces):
        if isinstance(piece, Detection):
            y = _through(waiting, y, grid)
            waiting = [without_noise(piece)]
            detected.append(Detected(detection=piece, power=y, after=after[k]))
            continue
        noise = noise + piece.noise_psd(grid.f) * np.abs(after[k]) ** 2
        waiting.append(without_noise(piece))
    return Pass(
        point=point, grid=grid, n=pattern.size, sent=extended, y=_through(waiting, y, grid), first=(WARM_UP + late) * m, noise=noise,
        detected=tuple(detected),
    )  # fmt: skip


def _extended(pattern: np.ndarray, after: int) -> np.ndarray:
    """The periodic pattern with `WARM_UP` symbols before one period and ``after`` behind it."""
    return pattern[np.arange(-WARM_UP, pattern.size + after) % pattern.size]


def _through(parts: list[Channel], y: np.ndarray, grid: Grid) -> np.ndarray:
    chain = Cascade(parts=tuple(parts))
    return chain.transmit(y, chain.start(grid, None))[0]


def _transfers_after(pieces: tuple[Channel, ...], f: np.ndarray) -> list[np.ndarray]:
    """Transfer from the output of each piece to the sampler, at its operating point."""
    after = [np.ones(f.size, complex)]
    for piece in pieces[:0:-1]:
        after.append(after[-1] * piece.transfer(f))
    return after[::-1]


def is_nonlinear(channel: Channel) -> bool:
    """Whether the linear face leaves something out that a noise-free pass knows: one of the pieces is a `Stage`."""
    pieces = flattened(channel)
    known = all(isinstance(piece, LinearChannel | Stage) for piece in pieces)
    return known and any(isinstance(piece, Stage) for piece in pieces)


def optics_in(channel: Channel) -> tuple[str, ImddChannel] | None:
    """(dotted path below the channel, the optics) of the first optical part, None where there is none."""
    if isinstance(channel, ImddChannel):
        return "", channel
    if isinstance(channel, Cascade):
        for i, part in enumerate(channel.parts):
            found = optics_in(part)
            if found is not None:
                return f".parts.{i}{found[0]}", found[1]
    return None
