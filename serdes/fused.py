"""From symbols to the sampler's waveform where everything between is linear: one convolution for transmitter, channel and
front end.

The pulses are those of the operating point, so both faces of the link speak of the same ones; `serdes.waveform` is the way for
channels that are not linear. Noise of the receiver and the channel is made at the sampling instants, where alone it is seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from channels.channel import Cascade, Channel, LinearChannel
from dsp import polyphase
from dsp.edge_jitter import EdgeJitter
from dsp.equalizer import FixedTaps
from dsp.noise import Jitter, autocovariance
from dsp.patterns import Pattern
from serdes.link import Link, Transmitter
from serdes.operating_point import OperatingPoint
from serdes.source import SymbolState, moves_edges, send_symbols, start_symbols
from serdes.spectra import LEAST

TAIL = 1e-7
"""Share of a pulse's energy that may be cut off: 70 dB below the signal."""
NOISE_TAIL = 1e-6
"""Share of the noise power that may be cut off with the ends of its shaping filter."""


def is_linear(channel: Channel) -> bool:
    """Whether a channel's linear face says everything about it."""
    if isinstance(channel, Cascade):
        return all(is_linear(part) for part in channel.parts)
    return isinstance(channel, LinearChannel)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fused:
    """The way of all symbols to the sampler. ``main``: symbols from a symbol's entry to its main cursor in the waveform."""

    filters: polyphase.Polyphase
    main: int
    edges: bool
    aggressors: tuple[Transmitter, ...]


def fuse(point: OperatingPoint, samples_per_symbol: int, phases: Mapping[int, float]) -> Fused:
    """The responses of ``point`` at ``samples_per_symbol``, the settled sampling instant on the first sample of a symbol.

    ``phases`` [UI]: by number, of those aggressors that have the victim's symbol rate.
    """
    link, sp, m = point.link, point.spectra, samples_per_symbol
    rate = link.symbol_rate
    fine = m if m >= LEAST else m * math.ceil(LEAST / m)
    shift = point.offset_ui / rate

    def response(spectrum: np.ndarray, later: float = 0.0) -> np.ndarray:
        return sp.response(spectrum, fine, shift - later / rate).phases()[:: fine // m]

    rows = [response(sp.pulse)]
    edges = moves_edges(link.tx, rate)
    if edges:
        rows.append(response(sp.edge))
    rows += [response(sp.aggressors[i], phase) for i, phase in phases.items()]
    filters, first = polyphase.prepare(np.stack(rows), TAIL)
    return Fused(
        filters=filters,
        main=point.main - first + link.tx.ffe.n_precursors,
        edges=edges,
        aggressors=tuple(
            replace(a.tx, snr_db=None, jitter=Jitter(), edges=EdgeJitter(), ffe=FixedTaps())
            for a in (link.aggressors[i] for i in phases)
        ),
    )


def noise_shape(point: OperatingPoint, per_symbol: int, extra_variance: float) -> np.ndarray:
    """Taps that make of white noise that of receiver and channel at ``per_symbol`` instants a symbol, and of the converter.

    Zero-phase root of the spectrum, its ends cut; one tap of 0 where there is no noise.
    """
    sp = point.spectra
    window = sp.window * per_symbol
    r = autocovariance(sp.noise, sp.symbol_rate / sp.window, 1 / (sp.symbol_rate * per_symbol), window // 2 + 1)
    r[0] += extra_variance
    density = np.maximum(np.fft.rfft(np.concatenate([r, r[-2:0:-1]])).real, 0.0)
    if not np.any(density > 0):
        return np.zeros(1)
    taps = np.roll(np.fft.irfft(np.sqrt(density), window), window // 2)
    first, last = polyphase.support(taps[None, None], NOISE_TAIL)
    return taps[first:last] * math.sqrt(r[0] / np.sum(taps[first:last] ** 2))


@dataclass(frozen=True, kw_only=True, eq=False)
class FusedState:
    """All symbols under way, and the convolution."""

    own: SymbolState
    others: tuple[SymbolState, ...]
    convolution: polyphase.PolyphaseState


def start(fused: Fused, link: Link, rng: np.random.Generator, pattern: Pattern | None = None) -> FusedState:
    """Before the first symbol. ``pattern``: what is sent, None for random symbols."""
    return FusedState(
        own=start_symbols(link.tx, rng, pattern),
        others=tuple(start_symbols(tx, rng) for tx in fused.aggressors),
        convolution=polyphase.start(fused.filters),
    )


def advance(fused: Fused, link: Link, n: int, state: FusedState) -> tuple[np.ndarray, np.ndarray, FusedState]:
    """``n`` more symbols: their indices, and as much waveform [V] as is complete."""
    rate = link.symbol_rate
    index, level, area, own = send_symbols(link.tx, n, rate, link.rx.high_pass or 0.0, state.own)
    inputs = [level]
    if fused.edges:
        inputs.append(np.zeros(n) if area is None else area)
    others = []
    for tx, before in zip(fused.aggressors, state.others, strict=True):
        _, sent, _, after = send_symbols(tx, n, rate, 0.0, before)
        inputs.append(sent)
        others.append(after)
    wave, now = polyphase.step(fused.filters, tuple(inputs), state.convolution)
    return index, wave, FusedState(own=own, others=tuple(others), convolution=now)
