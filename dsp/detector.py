"""Decisions: samples to symbol indices, one at a time or as the most likely sequence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dsp import check
from dsp.constellation import Constellation

_MOST_STATES = 4096


@dataclass(frozen=True, kw_only=True)
class Slicer:
    """Decides each sample by itself for the nearest point of the constellation."""

    def decide(self, x: np.ndarray, constellation: Constellation) -> np.ndarray:
        """Indices of the points nearest to ``x``, same shape; ``x`` is in units of the constellation (outer levels at +-1).

        A real sample on a threshold goes to the lower level.
        """
        if constellation.is_real:
            return np.searchsorted(constellation.thresholds, np.asarray(x, float))
        return np.argmin(np.abs(np.asarray(x)[..., None] - constellation.array), axis=-1)


@dataclass(frozen=True, kw_only=True, eq=False)
class SequenceState:
    """Where a `SequenceDetector` stands between blocks. Unchanged by use: the same state can be continued twice."""

    constellation: Constellation
    metrics: np.ndarray
    history: np.ndarray
    pending: int


@lru_cache(maxsize=32)
def _branches(target: tuple[float, ...], points: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """What each state's symbols add to the next sample (oldest symbol most significant), and what each new symbol adds."""
    levels = np.array(points)
    n, memory = levels.size, len(target) - 1
    state = np.arange(n**memory)
    tails = np.zeros(state.size)
    for k in range(1, memory + 1):
        tails += target[k] * levels[(state // n ** (k - 1)) % n]
    return tails, target[0] * levels


@dataclass(frozen=True, kw_only=True)
class SequenceDetector:
    """Maximum-likelihood sequence detector (MLSD) for samples shaped to a known target, white Gaussian noise (Viterbi).

    ``target``: what one symbol makes of the samples, cursor first: (1, a) is 1 + a D; up to three taps after the cursor.
    ``lag``: a symbol is decided this many samples after its own, by the best path of that moment (G. D. Forney, Proc. IEEE 61,
    1973). Default: all that 62 bits of history hold (30 symbols of PAM4, 61 of NRZ, 19 of PAM8). Decisions do not depend on how
    the samples come in blocks.
    """

    target: tuple[float, ...]
    lag: int | None = None

    def __post_init__(self) -> None:
        check.numbers(self, "target", self.target, 2)
        if len(self.target) > 4:
            raise check.fail(self, "target", "the cursor and at most three taps after it", self.target)
        if self.target[0] == 0:
            raise check.fail(self, "target[0]", "other than 0", self.target[0])
        if self.lag is not None:
            check.count(self, "lag", self.lag, len(self.target) - 1, 61)

    def lag_of(self, constellation: Constellation) -> int:
        """Delay of the decisions [symbols]."""
        most = 62 // constellation.label_bits - 1
        if self.lag is None:
            return most
        check.count(self, "lag", self.lag, 0, most, hint=f"{constellation.n} levels")
        return self.lag

    def start(self, constellation: Constellation) -> SequenceState:
        """The state before the first sample: nothing is known of the symbols before it."""
        if not constellation.is_real:
            raise check.fail(self, "constellation", "real", constellation.points)
        n_states = constellation.n ** (len(self.target) - 1)
        if n_states > _MOST_STATES:
            raise check.fail(self, "target", f"short enough for {_MOST_STATES} states at {constellation.n} levels", self.target)
        self.lag_of(constellation)
        return SequenceState(
            constellation=constellation, metrics=np.zeros(n_states), history=np.zeros(n_states, np.int64), pending=0
        )

    def step(self, x: np.ndarray, state: SequenceState) -> tuple[np.ndarray, SequenceState]:
        """Decides the symbols of samples ``x``, shape (n,), in units of the constellation: indices (uint8) and the state after.

        The first ``lag`` symbols after `start` are still open, so as many fewer come out; `finish` gives the last ones.
        """
        from dsp import kernels

        x = np.asarray(x, float)
        if x.ndim != 1 or not np.all(np.isfinite(x)):
            raise check.fail(self, "x", "one axis of finite numbers", x.shape)
        constellation = state.constellation
        bits, lag = constellation.label_bits, self.lag_of(constellation)
        tails, steps = _branches(self.target, tuple(float(p.real) for p in constellation.points))
        metrics, history = state.metrics.copy(), state.history.copy()
        if constellation.n == 4 and metrics.size == 4:
            decided = kernels.viterbi_pam4(x, tails, steps, metrics, history, bits * lag)
        else:
            decided = kernels.viterbi(x, tails, steps, metrics, history, bits * lag, bits)
        pending = min(state.pending + x.size, lag)
        after = SequenceState(constellation=constellation, metrics=metrics, history=history, pending=pending)
        return decided[x.size - (x.size + state.pending - pending) :], after

    def finish(self, state: SequenceState) -> np.ndarray:
        """The symbols still open, from the best path at the end of the samples."""
        bits = state.constellation.label_bits
        word = int(state.history[np.argmin(state.metrics)])
        return np.array([(word >> (bits * k)) & (2**bits - 1) for k in reversed(range(state.pending))], np.uint8)

    def decide(self, x: np.ndarray, constellation: Constellation) -> np.ndarray:
        """Indices of the symbols of all of ``x``, shape (n,), as `Slicer.decide` gives them."""
        decided, state = self.step(x, self.start(constellation))
        return np.concatenate([decided, self.finish(state)])
