"""A transmitter's symbols: what is sent, with noise, taps, displaced edges and baseline wander; the state is passed, never
kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dsp import convolution, streams
from dsp.constellation import precode
from dsp.patterns import Pattern
from dsp.units import from_db
from serdes.link import Transmitter


@dataclass(frozen=True, kw_only=True, eq=False)
class SymbolState:
    """A transmitter's symbols under way: ``last`` level sent, edges so far, what was lost of the mean by a high-pass.

    ``pattern`` sent instead of random symbols, its next ``place``, and the symbol sent ``before``, which precoding needs.
    """

    symbols: streams.Stream
    pattern: Pattern | None
    place: int
    before: int
    noise: streams.Stream
    jitter: streams.JitterStream
    bounded: streams.Stream
    ffe: convolution.FirState
    last: float
    sent: int
    wander: float


def start_symbols(tx: Transmitter, rng: np.random.Generator, pattern: Pattern | None = None) -> SymbolState:
    """Before the first symbol, silent. ``pattern``: what is sent, precoded where ``tx`` precodes; None for random symbols."""
    return SymbolState(
        symbols=streams.start(rng), pattern=pattern, place=0 if pattern is None else pattern.first, before=0, noise=streams.start(rng), jitter=streams.start_jitter(rng), bounded=streams.start(rng),
        ffe=convolution.fir_start(np.asarray(tx.ffe.feed_forward)), last=0.0, sent=0, wander=0.0,
    )  # fmt: skip


def moves_edges(tx: Transmitter, symbol_rate: float) -> bool:
    """Whether the edges of a transmitter are displaced one by one."""
    return tx.jitter.variance_ui2 > 0 or tx.edges.moves_edges(symbol_rate)


def _indices(tx: Transmitter, n: int, state: SymbolState) -> tuple[np.ndarray, SymbolState]:
    """The next ``n`` symbol indices on the line, uint8."""
    if state.pattern is None:
        # what a precoder makes of random symbols is as random
        index, symbols = streams.integers(tx.constellation.n, n, state.symbols)
        return index, replace(state, symbols=symbols)
    index, place = state.pattern.block(n, state.place)
    if tx.precoded:
        index = precode(index, tx.constellation.n, state.before).astype(np.uint8)
    return index, replace(state, place=place, before=int(index[-1]) if n else state.before)


def send_symbols(
    tx: Transmitter, n: int, symbol_rate: float, high_pass: float, state: SymbolState
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, SymbolState]:
    """The next ``n`` symbols: indices, levels with taps and noise, and the areas [UI] that displaced edges add (None: none).

    ``high_pass`` [Hz], 0 for none: first order, anywhere in the link, as it is linear. Levels are in outer levels, and late by
    the pre-cursor taps.
    """
    from dsp import kernels

    index, state = _indices(tx, n, state)
    level = kernels.look_up(index, tx.constellation.array)
    ffe, noise, jitter, bounded, area = state.ffe, state.noise, state.jitter, state.bounded, None
    if len(tx.ffe.feed_forward) > 1 or tx.ffe.feed_forward[0] != 1.0:
        level, ffe = convolution.fir_step(level, ffe)
    last = float(level[-1]) if n else state.last
    if moves_edges(tx, symbol_rate):
        moved = np.zeros(n)
        if tx.jitter.variance_ui2:
            moved, jitter = streams.displacements(tx.jitter, n, jitter)
        if tx.edges.moves_edges(symbol_rate):
            more, bounded = tx.edges.displacements(np.diff(level, prepend=state.last), state.sent, symbol_rate, bounded)
            moved = moved + more
        # an edge that comes later by J takes the area J T (a_n - a_{n-1}) away at the time of the edge
        area = kernels.edge_areas(level, state.last, moved)
    if tx.snr_db is not None:
        white, noise = streams.normal((n,), noise)
        white *= from_db(-tx.snr_db)
        white += level
        level = white
    wander = state.wander
    if high_pass:
        level, wander = kernels.baseline(level, 1 - math.exp(-2 * math.pi * high_pass / symbol_rate), wander)
    after = replace(
        state, noise=noise, jitter=jitter, bounded=bounded, ffe=ffe, last=last, sent=state.sent + n,
        wander=float(wander),
    )  # fmt: skip
    return index, level, area, after


def edge_displacements(tx: Transmitter, n: int, symbol_rate: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Displacements [UI] of the edges in ``n`` symbols, and the numbers of their symbol boundaries; no edge where levels
    repeat.
    """
    state = start_symbols(tx, rng)
    index, _ = streams.integers(tx.constellation.n, n, state.symbols)
    steps = np.diff(tx.constellation.array[index], prepend=0.0)
    moved = np.zeros(n)
    if tx.jitter.variance_ui2:
        moved, _ = streams.displacements(tx.jitter, n, state.jitter)
    more, _ = tx.edges.displacements(steps, 0, symbol_rate, state.bounded)
    at = np.flatnonzero(steps)
    return (moved + more)[at], at
