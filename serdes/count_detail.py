"""What a counted run tells besides error ratios: bursts, code words, how the taps converged, why it stopped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.bursts import BurstStatistics, burst_statistics, measured_chain
from dsp.checker import Checked
from dsp.equalizer import Taps
from dsp.error_chain import ErrorChain
from dsp.fec import Fec
from dsp.interleave import WordCount, count_words

_GAP = 64
"""Right symbols between two errors beyond which their number does not matter to any statistics of bursts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Convergence:
    """Taps along a run: after ``symbols`` (n,) decisions ``feed_forward`` (n, n_taps), ``feedback`` (n, n_feedback).

    ``mean_square_error`` (n_windows,): of the decision error by window of the lock detector, each ``window`` decisions.
    """

    symbols: np.ndarray
    feed_forward: np.ndarray
    feedback: np.ndarray
    mean_square_error: np.ndarray
    window: int


@dataclass(frozen=True, kw_only=True, eq=False)
class CountDetail:
    """``stopped``: "all symbols", "errors", "confidence" or "cancelled". ``places`` (n,): numbers of the wrong decisions among
    the ``trials`` counted ones, ``signed`` (n,): by how many levels, both before precoding is undone and of the first million
    at most, then ``trials`` ends with them. ``adapted``: taps at the end, ``ideal``: those that were solved for. ``levels``
    (n,): between which decisions were made at the end. ``lost``: share of the pulse's energy left out by a finite memory. ``checked``: what a
    checker of the run's pattern found, None for random symbols.
    """

    stopped: str
    trials: int
    places: np.ndarray
    signed: np.ndarray
    n_levels: int
    bits_per_symbol: float
    precoded: bool
    adapted: Taps
    ideal: Taps
    levels: np.ndarray
    convergence: Convergence
    lost: float
    checked: Checked | None = None

    def wrong(self) -> np.ndarray:
        """Numbers of the wrong symbols after precoding is undone, sorted."""
        if not self.precoded or self.places.size == 0:
            return self.places
        near = np.unique(np.concatenate((self.places, self.places + 1)))
        near = near[near < self.trials]
        return near[(self._error(near) + self._error(near - 1)) % self.n_levels != 0]

    def _error(self, at: np.ndarray) -> np.ndarray:
        i = np.minimum(np.searchsorted(self.places, at), self.places.size - 1)
        return np.where(self.places[i] == at, self.signed[i].astype(np.int64), 0)

    def bursts(self, guard: int = 1, lags: int = 8) -> BurstStatistics:
        """Statistics of the wrong symbols; ``guard`` right ones end a burst."""
        check.count(self, "guard", guard, 1, _GAP - lags - 1)
        wrong = self.wrong()
        short = np.minimum(np.diff(wrong, prepend=-_GAP), _GAP)
        pattern = np.zeros(int(short.sum()) + _GAP, bool)
        pattern[np.cumsum(short) - 1] = True
        found = burst_statistics(pattern, guard=guard, lags=lags)
        return BurstStatistics(
            symbols=self.trials, errors=found.errors, lengths=found.lengths, weights=found.weights, pairs=found.pairs
        )

    def chain(self, memory: int = 1) -> ErrorChain:
        """Markov chain with the transitions that were counted (`dsp.bursts.measured_chain`). ValueError without errors."""
        dense = np.zeros(self.trials, np.int8)
        dense[self.places] = self.signed
        return measured_chain(dense, memory=memory, n_levels=self.n_levels, precoded=self.precoded)

    def words(self, code: Fec, ways: int = 1) -> WordCount:
        """Whole code words of ``code`` along the counted symbols, ``ways`` of them taking turns, by their number of wrong
        symbols.

        All on one lane, symbol by symbol: the worst case of bursts; `dsp.interleave` knows the other orders.
        """
        check.instance(self, "code", code, Fec)
        check.one_of(self, "ways", ways, (1, 2, 4))
        bits = round(self.bits_per_symbol)
        size = code.n * ways
        groups = self.trials * bits // code.symbol_bits // size
        symbols = np.unique(self.wrong() * bits // code.symbol_bits)
        group, place = np.divmod(symbols, size)
        inside = group < groups
        flat = group[inside] * ways + place[inside] % ways
        return count_words(np.bincount(flat, minlength=groups * ways).reshape(-1, ways), code.t)
