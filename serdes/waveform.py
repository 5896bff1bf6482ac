"""Waveforms of a link, block by block: what each transmitter sends and what arrives at the sampler.

Transmitters are of the linear kind of `serdes.spectra`: symbols held for a unit interval, an edge filter, edges displaced
to first order. The state is passed, never kept; the division into blocks does not matter.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from channels.channel import Cascade, LinearChannel
from dsp import filters, timing
from dsp.edge_jitter import EdgeJitter
from dsp.grid import Grid
from dsp.noise import Jitter
from dsp.patterns import Pattern
from serdes.link import Aggressor, Transmitter
from serdes.operating_point import OperatingPoint
from serdes.source import SymbolState, send_symbols, start_symbols
from serdes.spectra import WINDOW, delay_of

LEAD = 32
"""Symbols of extra delay in front, so that a band-limited response that rings before its time is not cut off."""
TAIL = WINDOW - WINDOW // 8
"""Symbols kept after the arrival of the signal; the linear face keeps as many."""
_EDGE_TAPS = 4
"""Samples to either side of an edge over which its displacement is spread."""


@final
@dataclass(frozen=True, kw_only=True)
class Driver(LinearChannel):
    """From held samples to the transmitter's output: edge filter, the hold between samples, and a ``delay`` [s]."""

    rise_time: float
    sample_time: float
    delay: float

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Complex, shape of ``f`` [Hz]. Samples held for ``sample_time`` [s] are what makes a held symbol exact."""
        hold = filters.zero_order_hold(f, self.sample_time)
        return filters.gaussian_edge(f, self.rise_time) * hold * np.exp(-2j * np.pi * f * (self.delay + self.sample_time / 2))


@final
@dataclass(frozen=True, kw_only=True)
class FrontEnd(LinearChannel):
    """From the receiver's input to the sampler: noise of ``noise_density`` [V^2/Hz], receive filter, CTLE, as settled."""

    point: OperatingPoint
    noise_density: float

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Complex, shape of ``f`` [Hz]."""
        rx = self.point.link.rx
        receive = np.ones(np.shape(f), complex) if rx.bandwidth is None else filters.butterworth4(f, rx.bandwidth)
        return receive if rx.ctle is None else receive * rx.ctle.transfer(f, self.point.gain_db, self.point.low_gain_db)

    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:  # noqa: ARG002
        """The receiver's own noise at the sampler [V^2/Hz], shape of ``f`` [Hz]."""
        return self.noise_density * np.abs(self.transfer(f)) ** 2


@dataclass(frozen=True, kw_only=True, eq=False)
class SourceState:
    """A transmitter under way; ``row``: the samples of its last symbol, still open to the edge that ends it."""

    symbols: SymbolState
    row: np.ndarray


def start_source(
    tx: Transmitter, samples_per_symbol: int, rng: np.random.Generator, pattern: Pattern | None = None
) -> SourceState:
    """A transmitter before its first symbol, silent until then."""
    return SourceState(symbols=start_symbols(tx, rng, pattern), row=np.zeros(samples_per_symbol))


def source_delay(tx: Transmitter) -> int:
    """Symbols by which `send` is late: the pre-cursor taps, and the symbol that waits for its closing edge."""
    return tx.ffe.n_precursors + 1


def send(
    tx: Transmitter, n: int, symbol_rate: float, state: SourceState, high_pass: float = 0.0
) -> tuple[np.ndarray, np.ndarray, SourceState]:
    """The next ``n`` symbols: their indices (n,) and held samples [V] (n * samples_per_symbol,), late by `source_delay`."""
    m = state.row.size
    index, held, area, symbols = send_symbols(tx, n, symbol_rate, high_pass, state.symbols)
    rows = np.concatenate((state.row[None], np.repeat(held[:, None], m, axis=1)))
    if area is not None:
        edge = np.multiply.outer(area, _edge_taps(m))
        rows[:-1, m - _EDGE_TAPS :] += edge[:, :_EDGE_TAPS]
        rows[1:, :_EDGE_TAPS] += edge[:, _EDGE_TAPS:]
    return index, tx.amplitude * rows[:-1].reshape(-1), SourceState(symbols=symbols, row=rows[-1].copy())


@functools.cache
def _edge_taps(samples_per_symbol: int) -> np.ndarray:
    """Held samples -4 ... 3 that make an impulse of area one unit interval at the start of sample 0, shape (8,).

    Least-squares inverse of the hold, half a sample of delay included, up to the symbol rate.
    """
    f = np.linspace(0, min(1 / samples_per_symbol, 0.3), 400)
    k = np.arange(-_EDGE_TAPS, _EDGE_TAPS)
    basis = np.exp(-2j * np.pi * np.outer(f, k + 0.5)) * np.sinc(f)[:, None]
    wanted = np.ones(f.size)
    taps = np.linalg.lstsq(np.concatenate((basis.real, basis.imag)), np.concatenate((wanted, np.zeros(f.size))), rcond=1e-10)[0]
    return samples_per_symbol * taps / taps.sum()


def memory(channel: Any, symbol_rate: float, samples_per_symbol: int) -> Grid:
    """The grid of a channel's response: lead, delay and tail, in a number of symbols that suits the transform."""
    from scipy import fft

    n = LEAD + math.ceil(max(delay_of(channel, symbol_rate), 0.0) * symbol_rate) + TAIL
    return Grid(symbol_rate=symbol_rate, samples_per_symbol=samples_per_symbol, n_symbols=fft.next_fast_len(n, real=True))


@dataclass(frozen=True, kw_only=True, eq=False)
class AggressorState:
    """A neighbour under way. ``wave`` [V]: its signal on its own time axis from sample ``first``; ``n``: samples delivered."""

    source: SourceState
    chain: Any
    wave: np.ndarray
    first: int
    n: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Neighbour:
    """One aggressor as it arrives at the victim's sampler, with its own data, phase and symbol rate; its symbols only."""

    tx: Transmitter
    chain: Cascade
    grid: Grid
    offset: float

    def start(self, rng: np.random.Generator) -> AggressorState:
        """State at the victim's time zero, silent before."""
        source = start_source(self.tx, self.grid.samples_per_symbol, rng)
        return AggressorState(source=source, chain=self.chain.start(self.grid, rng), wave=np.zeros(0), first=0, n=0)

    def arrive(self, n: int, state: AggressorState) -> tuple[np.ndarray, AggressorState]:
        """The next ``n`` samples [V] on the victim's time axis, shape (n,)."""
        m = self.grid.samples_per_symbol
        place = state.n + np.arange(n)
        missing = math.ceil((state.n + n) * (1 + self.offset)) + timing.N_TAPS - state.first - state.wave.size
        wave, source, chain = state.wave, state.source, state.chain
        if missing > 0:
            _, sent, source = send(self.tx, math.ceil(missing / m), self.grid.symbol_rate, source)
            arrived, chain = self.chain.transmit(sent, chain)
            wave = np.concatenate((wave, arrived))
        if self.offset:
            y = timing.interpolate(wave, place - state.first, place * self.offset, m)
        else:
            y = wave[state.n - state.first : state.n - state.first + n]
        drop = min(max(math.floor((state.n + n) * (1 + self.offset)) - timing.N_TAPS - state.first, 0), wave.size)
        return y, AggressorState(source=source, chain=chain, wave=wave[drop:], first=state.first + drop, n=state.n + n)


def neighbour(aggressor: Aggressor, point: OperatingPoint, samples_per_symbol: int, rng: np.random.Generator) -> Neighbour:
    """The way of ``aggressor`` to the sampler; a phase that is not given is drawn from ``rng``."""
    phase = rng.random() if aggressor.phase_ui is None else aggressor.phase_ui
    rate = point.link.symbol_rate * (1 + 1e-6 * aggressor.offset_ppm)
    grid = memory(aggressor.coupling, rate, samples_per_symbol)
    quiet = replace(aggressor.tx, snr_db=None, jitter=Jitter(), edges=EdgeJitter())
    driver = Driver(rise_time=quiet.rise_time, sample_time=grid.dt, delay=(LEAD + phase) / rate)
    chain = Cascade(parts=(driver, aggressor.coupling, FrontEnd(point=point, noise_density=0.0)))
    return Neighbour(tx=quiet, chain=chain, grid=grid, offset=1e-6 * aggressor.offset_ppm)
