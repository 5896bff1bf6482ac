"""What every channel answers: a linear face (transfer, noise) and a signal face (start, transmit)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from dsp import check, convolution, streams
from dsp.grid import Grid


class Channel(ABC):
    """Everything between the transmitter's output and the receiver's input.

    Delay is kept. Complex amplitudes have the sign of time e^{+jwt}; noise densities are one-sided.
    """

    @abstractmethod
    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Small-signal response at the operating point, complex [V/V or the medium's units], shape of ``f`` [Hz]."""

    @abstractmethod
    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:
        """One-sided density of the noise that the channel adds at its output [V^2/Hz], shape of ``f`` [Hz].

        ``drive`` is the instantaneous input [V]; None means the average one.
        """

    @abstractmethod
    def start(self, grid: Grid, rng: np.random.Generator | None) -> Any:
        """State before the first sample, for waveforms sampled on ``grid``. ``rng`` is needed only by a noisy channel."""

    @abstractmethod
    def transmit(self, x: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        """Next block: input ``x`` (..., n) [V] -> output (..., n) and the state for the block after it.

        Neither ``x`` nor ``state`` changes. Any division into blocks gives the same output.
        """


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearState:
    """Where a linear channel stands: the running convolution, and that of the noise where there is any."""

    signal: convolution.FirState
    noise: convolution.FirState | None = None
    stream: streams.Stream | None = None
    primed: bool = False


States = tuple[tuple[Channel, Any], ...]
"""Parts in the order of the signal's way, each with where it stands."""


class LinearChannel(Channel):
    """A channel that is linear and does not change with time: `transfer` and `noise_psd` say everything.

    Its signal face convolves with the impulse response of `transfer` on ``grid.f``. The grid is the caller's choice:

    - ``grid.n_symbols`` is the memory. The response must fit into it, delay included; what does not fit appears folded.
    - What `transfer` does above half the sample rate is not there. Where it is not small at that edge, the response rings,
      and the part that rings before time zero appears at the end of the memory.
    - Noise is Gaussian, with the density of `noise_psd` up to half the sample rate, independent between leading axes.
    """

    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:  # noqa: ARG002
        """Zero [V^2/Hz], shape of ``f`` [Hz]: a channel that adds noise says so in its own."""
        return np.zeros(np.shape(f))

    @final
    def start(self, grid: Grid, rng: np.random.Generator | None) -> LinearState:
        """State before the first sample: the past is zero, the noise already stationary.

        ``ValueError``: the delay exceeds the grid's memory, a response is not finite, or a noisy channel got no ``rng``.
        """
        signal = convolution.fir_start(convolution.trim_tail(impulse_response(self, grid)))
        density = np.asarray(self.noise_psd(grid.f), float)
        _finite(self, "noise_psd", density)
        if not np.any(density > 0):
            return LinearState(signal=signal)
        if rng is None:
            raise ValueError(f"{type(self).__name__}.start needs an rng (numpy.random.Generator): the channel adds noise")
        shaping = convolution.fir_start(_noise_response(density, grid))
        return LinearState(signal=signal, noise=shaping, stream=streams.start(rng))

    @final
    def transmit(self, x: np.ndarray, state: LinearState) -> tuple[np.ndarray, LinearState]:
        """Convolution with the impulse response, plus noise; see `Channel.transmit`."""
        y, signal = convolution.fir_step(x, state.signal)
        if state.noise is None or state.stream is None:
            return y, LinearState(signal=signal)
        shaping, stream = state.noise, state.stream
        if not state.primed:
            past, stream = streams.normal((*y.shape[:-1], shaping.response.size - 1), stream)
            _, shaping = convolution.fir_step(past, shaping)
        white, stream = streams.normal(y.shape, stream)
        noise, shaping = convolution.fir_step(white, shaping)
        return y + noise, LinearState(signal=signal, noise=shaping, stream=stream, primed=True)


@final
@dataclass(frozen=True, kw_only=True)
class Cascade(Channel):
    """Channels one after the other, the first at the transmitter.

    The noise of each part is filtered by all the parts behind it. A given ``drive`` reaches a part times the static gains
    (real part of `transfer` at 0 Hz) of the parts before it, which is exact for linear parts.
    """

    parts: tuple[Channel, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple) or not self.parts:
            raise check.fail(self, "parts", "a tuple of one or more channels", self.parts)
        for i, part in enumerate(self.parts):
            check.instance(self, f"parts[{i}]", part, Channel)

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Product of the transfers of all parts, complex, shape of ``f`` [Hz]."""
        return _transfer_of(self.parts, f)

    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:
        """Sum of the parts' densities [V^2/Hz], each filtered by the parts behind it; shape of ``f`` [Hz]."""
        return _noise_of(self.parts, f, drive)

    def start(self, grid: Grid, rng: np.random.Generator | None) -> States:
        """State before the first sample. Neighbouring linear parts become one convolution."""
        return tuple((part, part.start(grid, rng)) for part in _fused(_flattened(self.parts)))

    def transmit(self, x: np.ndarray, state: States) -> tuple[np.ndarray, States]:
        """Next block through all parts; see `Channel.transmit`."""
        return transmit_all(x, state)


@final
@dataclass(frozen=True, kw_only=True)
class _LinearRun(LinearChannel):
    """Neighbouring linear parts of a cascade as one channel."""

    parts: tuple[Channel, ...]

    def transfer(self, f: np.ndarray) -> np.ndarray:
        return _transfer_of(self.parts, f)

    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:
        return _noise_of(self.parts, f, drive)


def transmit_all(x: np.ndarray, state: States) -> tuple[np.ndarray, States]:
    """Next block through the parts of ``state`` in their order; see `Channel.transmit`."""
    after = []
    for part, before in state:
        x, now = part.transmit(x, before)
        after.append((part, now))
    return x, tuple(after)


def impulse_response(channel: Channel, grid: Grid) -> np.ndarray:
    """Response of the linear face to one input sample [output per input sample], shape (grid.n,), delay kept.

    ``ValueError``: the delay exceeds ``grid.duration``, or the transfer is not finite.
    """
    from scipy import fft

    response = np.asarray(channel.transfer(grid.f), complex)
    _finite(channel, "transfer", response)
    delay = mean_delay(channel, grid)
    if delay >= grid.duration:
        raise ValueError(
            f"Grid.n_symbols must cover the delay of {type(channel).__name__}, {delay * grid.symbol_rate:.1f} symbols, "
            f"got {grid.n_symbols} (the response would appear folded, at a wrong and believable place)"
        )
    return np.asarray(fft.irfft(response, grid.n, workers=1))


def mean_delay(channel: Channel, grid: Grid) -> float:
    """Mean group delay [s], weighted by power over the lower half of the band; 0 where nothing passes.

    From the phase over a 64th of the grid's frequency step, so delays up to 32 times ``grid.duration`` are seen.
    """
    step = grid.df / 64
    low = np.linspace(0, grid.sample_rate / 4, 33)[1:]
    pairs = np.asarray(channel.transfer(np.sort(np.concatenate((low, low + step)))), complex)
    turned = np.sum(pairs[1::2] * np.conj(pairs[::2]))
    return float(-np.angle(turned) / (2 * np.pi * step)) if turned != 0 else 0.0


def _finite(channel: Channel, name: str, values: np.ndarray) -> None:
    if not np.all(np.isfinite(values)):
        raise ValueError(f"{type(channel).__name__}.{name} must be finite at every frequency of the grid, got inf or nan")


def _noise_response(density: np.ndarray, grid: Grid) -> np.ndarray:
    """Linear-phase taps that turn white samples (density 2 / sample rate) into ``density``; tails below -100 dB are cut."""
    from scipy import fft

    taps = np.roll(fft.irfft(np.sqrt(density * grid.sample_rate / 2), grid.n, workers=1), grid.n // 2)
    energy = taps**2
    limit = 0.5e-10 * np.sum(energy)
    first = int(np.searchsorted(np.cumsum(energy), limit))
    last = energy.size - int(np.searchsorted(np.cumsum(energy[::-1]), limit))
    return taps[first:last]


def _transfer_of(parts: tuple[Channel, ...], f: np.ndarray) -> np.ndarray:
    total = np.ones(np.shape(f), complex)
    for part in parts:
        total = total * part.transfer(f)
    return total


def _noise_of(parts: tuple[Channel, ...], f: np.ndarray, drive: float | None) -> np.ndarray:
    total = np.zeros(np.shape(f))
    for part in parts:
        total = total * np.abs(part.transfer(f)) ** 2 + part.noise_psd(f, drive)
        if drive is not None:
            drive = float(drive * np.real(part.transfer(np.zeros(1)))[0])
    return total


def _flattened(parts: tuple[Channel, ...]) -> tuple[Channel, ...]:
    flat: list[Channel] = []
    for part in parts:
        flat.extend(_flattened(part.parts) if isinstance(part, Cascade) else (part,))
    return tuple(flat)


def _fused(parts: tuple[Channel, ...]) -> tuple[Channel, ...]:
    runs: list[Channel] = []
    waiting: list[Channel] = []
    for part in parts:
        if isinstance(part, LinearChannel):
            waiting.append(part)
            continue
        if waiting:
            runs.append(_LinearRun(parts=tuple(waiting)))
            waiting = []
        runs.append(part)
    if waiting:
        runs.append(_LinearRun(parts=tuple(waiting)))
    return tuple(runs)
