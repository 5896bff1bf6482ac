"""Markov chains of symbol errors: Gilbert-Elliott, decision feedback; exact distribution of wrong symbols in a code word."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.interleave import Interleaving

Matrix = tuple[tuple[float, ...], ...]


def rows(matrix: np.ndarray) -> Matrix:
    """An array as the tuples that `ErrorChain` holds."""
    return tuple(tuple(float(x) for x in row) for row in matrix)


@dataclass(frozen=True, kw_only=True)
class ErrorChain:
    """Markov chain that makes one line symbol a step, right or wrong.

    ``right[i][j]``, ``wrong[i][j]``: probability to go from state i to j and the symbol to be right or wrong; together each
    row sums to 1. One class of states must be reachable from all others (a unique steady state).
    """

    right: Matrix
    wrong: Matrix

    def __post_init__(self) -> None:
        for field in ("right", "wrong"):
            matrix = getattr(self, field)
            square = (
                isinstance(matrix, tuple) and matrix and all(isinstance(r, tuple) and len(r) == len(matrix) for r in matrix)
            )
            if not square:
                raise check.fail(self, field, "a square tuple of tuples", matrix)
            for i, j in itertools.product(range(len(matrix)), repeat=2):
                check.between(self, f"{field}[{i}][{j}]", matrix[i][j], 0, 1)
        check.same_length(self, ("wrong", self.wrong), ("right", self.right))
        sums = np.sum(np.array(self.right) + np.array(self.wrong), axis=1)
        if np.any(np.abs(sums - 1) > 1e-9):
            raise check.fail(self, "wrong", "such that each row of right + wrong sums to 1", tuple(sums))
        if self._meeting_state is None:
            raise check.fail(self, "right", "a chain with one steady state: some state reachable from all", self.right)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.right)

    @functools.cached_property
    def _meeting_state(self) -> int | None:
        """The first state that every state can reach."""
        reach = np.eye(self.n_states) + np.array(self.right) + np.array(self.wrong) > 0
        for _ in range(self.n_states.bit_length()):
            reach = reach.astype(float) @ reach > 0
        common = np.flatnonzero(reach.all(axis=0))
        return int(common[0]) if common.size else None

    @functools.cached_property
    def steady(self) -> np.ndarray:
        """Steady-state probabilities, shape (n_states,).

        States are eliminated one by one without a subtraction, so the rarest keep their relative accuracy (W. K. Grassmann,
        M. I. Taksar and D. P. Heyman, Oper. Res. 33, 1985).
        """
        order = np.roll(np.arange(self.n_states), -(self._meeting_state or 0))  # the state that all reach is left at the end
        p = (np.array(self.right) + np.array(self.wrong))[np.ix_(order, order)]
        for k in range(self.n_states - 1, 0, -1):
            p[:k, k] /= p[k, :k].sum()
            p[:k, :k] += np.outer(p[:k, k], p[k, :k])
        share = np.ones(self.n_states)
        for k in range(1, self.n_states):
            share[k] = share[:k] @ p[:k, k]
        out = np.empty(self.n_states)
        out[order] = share / share.sum()
        out.setflags(write=False)
        return out

    @property
    def symbol_error_ratio(self) -> float:
        """Share of wrong line symbols."""
        return float(self.steady @ np.array(self.wrong).sum(axis=1))

    def run_lengths(self, longest: int) -> np.ndarray:
        """Probability that a run of wrong symbols is 1, 2 ... ``longest`` long, shape (longest,)."""
        check.count(self, "longest", longest, 1)
        right, wrong = np.array(self.right), np.array(self.wrong)
        v = self.steady @ right @ wrong
        out = np.empty(longest)
        start = v.sum()
        for i in range(longest):
            out[i] = (v @ right).sum() / start
            v = v @ wrong
        return out

    def pair_ratio(self, lag: int) -> float:
        """Probability that two symbols ``lag`` apart are both wrong."""
        check.count(self, "lag", lag, 1)
        wrong = np.array(self.wrong)
        step = np.linalg.matrix_power(np.array(self.right) + wrong, lag - 1)
        return float((self.steady @ wrong @ step @ wrong).sum())

    def simulate(self, n: int, rng: np.random.Generator, state: int | None = None) -> tuple[np.ndarray, int]:
        """``n`` symbols, True where wrong, and the state after them. ``state`` None starts in the steady state."""
        from dsp import kernels

        check.count(self, "n", n)
        if state is None:
            state = int(rng.choice(self.n_states, p=self.steady))
        check.count(self, "state", state, 0, self.n_states - 1)
        cumulative = np.cumsum(np.hstack([self.right, self.wrong]), axis=1)
        wrong, after = kernels.error_walk(rng.random(n), cumulative, int(state))
        return wrong, int(after)

    def wrong_symbols(self, interleaving: Interleaving, bits_per_symbol: int = 2) -> np.ndarray:
        """Exact distribution of the number of wrong code symbols in a word: P(0), ..., P(t), P(more than t), shape (t + 2,).

        Each line runs its own chain in steady state. The word's symbols on a line are steps of the chain (wrong if any of their
        line symbols is), what lies between them powers of the transition matrix, and lines are convolved. Needs whole code
        symbols on the line (``mux`` "symbol") of a whole number of line symbols. The words of a group are alike, though not
        independent of each other: a group fails at most ``ways`` times as often as a word.
        """
        code = interleaving.code
        check.count(self, "bits_per_symbol", bits_per_symbol, 1)
        if code.symbol_bits % bits_per_symbol:
            raise check.fail(self, "bits_per_symbol", f"a divisor of the code's {code.symbol_bits}", bits_per_symbol)
        if interleaving.mux != "symbol":
            raise check.fail(self, "interleaving.mux", "symbol", interleaving.mux, "count simulated errors for other orders")
        length = code.symbol_bits // bits_per_symbol
        one = np.array(self.right) + np.array(self.wrong)
        right = np.linalg.matrix_power(np.array(self.right), length)
        step = np.linalg.matrix_power(one, length)
        # Wrong symbols summed as right^k wrong one^(length-1-k): no difference of nearly equal numbers.
        wrong = sum(
            np.linalg.matrix_power(np.array(self.right), k) @ np.array(self.wrong) @ np.linalg.matrix_power(one, length - 1 - k)
            for k in range(length)
        )
        words = interleaving.line_map[:, :: code.symbol_bits] // code.symbol_bits // code.n
        total = np.zeros(code.t + 2)
        total[0] = 1.0
        for line in words:
            gaps = np.diff(np.flatnonzero(line == 0)) - 1
            between = {g: np.linalg.matrix_power(step, g) for g in set(gaps.tolist())}
            v = np.zeros((code.t + 2, self.n_states))
            v[0] = self.steady
            for i in range(np.count_nonzero(line == 0)):
                if i > 0:
                    v = v @ between[gaps[i - 1]]
                more = v @ wrong
                last = more[-1].copy()
                v = v @ right
                v[1:] += more[:-1]
                v[-1] += last
            full = np.convolve(total, v.sum(axis=1))
            total = np.append(full[: code.t + 1], full[code.t + 1 :].sum())
        return total

    def codeword_failure(self, interleaving: Interleaving, bits_per_symbol: int = 2) -> float:
        """Probability of more than t wrong symbols in a word, exact (see `wrong_symbols`)."""
        return float(self.wrong_symbols(interleaving, bits_per_symbol)[-1])


def gilbert_elliott(*, good_to_bad: float, bad_to_good: float, error_bad: float = 0.5, error_good: float = 0.0) -> ErrorChain:
    """Two states, good (0) and bad (1), each with its own error ratio (E. O. Elliott, Bell Syst. Tech. J. 42, 1963).

    The symbol is drawn in the state that the chain arrives in.
    """
    for field, value in (
        ("good_to_bad", good_to_bad),
        ("bad_to_good", bad_to_good),
        ("error_bad", error_bad),
        ("error_good", error_good),
    ):
        check.between("gilbert_elliott", field, value, 0, 1)
    if good_to_bad == 0 and bad_to_good == 0:
        raise check.fail("gilbert_elliott", "good_to_bad", "above 0 where bad_to_good is 0", good_to_bad)
    step = np.array([[1 - good_to_bad, good_to_bad], [bad_to_good, 1 - bad_to_good]])
    error = np.array([error_good, error_bad])
    return ErrorChain(right=rows(step * (1 - error)), wrong=rows(step * error))


def dfe_chain(
    *, taps: tuple[float, ...], noise_rms: float, n_levels: int = 4, precoded: bool = False, reach: int = 1,
    precursor: float = 0.0, correlation: tuple[float, ...] = (),
) -> ErrorChain:  # fmt: skip
    """Error propagation in a decision-feedback equaliser: states are the last len(taps) decision errors.

    ``taps``: feedback taps over the main cursor; ``noise_rms``: Gaussian noise (all else that disturbs the slicer) over half
    the level spacing. A past error of e levels moves the sample by -2 tap e half spacings; the next error follows from all
    (equally likely) levels and thresholds, so the chain is exact for white Gaussian noise. Errors beyond ``reach`` levels count
    as that many. ``precursor``: what the equaliser left of the next symbol, over the main cursor. It matters more than its
    power: the next symbol helped to make the error, so it is rarely the outer one that would end the burst. ``correlation`` of
    the noise at lags 1, 2, ... symbols: what the errors in a state say of its last noise is carried on as mean and covariance,
    Gaussian although right decisions cut it off at the thresholds. So even without taps the ratio lies above that of the noise
    alone: by 0.2 % at a correlation of 0.3, 4 % at 0.6, 0.3, 0.1, and 18 % at 0.8 (around a ratio of 1e-3, where it is worst).
    ``precoded``: 1/(1+D) precoding (802.3 120.5.7.2), a decoded symbol being wrong unless an error follows its opposite or
    nothing.
    """
    check.numbers("dfe_chain", "taps", taps)
    check.positive("dfe_chain", "noise_rms", noise_rms)
    check.count("dfe_chain", "n_levels", n_levels, 2)
    check.count("dfe_chain", "reach", reach, 1, n_levels - 1)
    check.between("dfe_chain", "precursor", precursor, -1, 1)
    check.numbers("dfe_chain", "correlation", correlation)
    memory_of_noise, step, fresh = _autoregression(correlation, noise_rms)
    memory = max(len(taps), 1)
    size = 2 * reach + 1
    n_next = n_levels if precursor else 1
    if size**memory * n_next > 400:
        raise check.fail("dfe_chain", "taps", f"few enough for 400 states with {size} errors each", taps)
    errors = range(-reach, reach + 1)
    # newest error first, then the level of the symbol to be decided, where the one before knows something of it
    states = [(*past, own) for past in itertools.product(errors, repeat=memory) for own in range(n_next)]
    index = {s: i for i, s in enumerate(states)}
    order = step.shape[0]
    mean, spread = np.zeros((len(states), order)), np.tile(memory_of_noise, (len(states), 1, 1))
    rounds = 6 if any(correlation) else 1
    for left in reversed(range(rounds)):
        right, wrong = np.zeros((len(states), len(states))), np.zeros((len(states), len(states)))
        first, second = np.zeros((len(states), len(states), order)), np.zeros((len(states), len(states), order, order))
        for s, state in enumerate(states):
            past, owns = state[:-1], range(n_levels) if n_next == 1 else (state[-1],)
            centre, before = step @ mean[s], step @ spread[s] @ step.T
            before[0, 0] += fresh
            rms = math.sqrt(before[0, 0])
            gain = before[:, 0] / before[0, 0]
            for following in range(n_next):
                shift = precursor * (2 * following - n_levels + 1) - 2 * sum(b * e for b, e in zip(taps, past, strict=False))
                chance, off, square = _decisions(n_levels, shift + centre[0], rms)
                for i, j in itertools.product(owns, range(n_levels)):
                    e = int(np.clip(j - i, -reach, reach))
                    bad = (e + past[0]) % n_levels != 0 if precoded else e != 0
                    to = index[(e, *past[:-1], following)]
                    (wrong if bad else right)[s, to] += chance[i, j]
                    if left:
                        known = centre + gain * off[i, j]
                        left_over = before + np.outer(gain, gain) * (square[i, j] - off[i, j] ** 2 - before[0, 0])
                        first[s, to] += chance[i, j] * known
                        second[s, to] += chance[i, j] * (left_over + np.outer(known, known))
        total = (right + wrong).sum(axis=1, keepdims=True)
        chain = ErrorChain(right=rows(right / total), wrong=rows(wrong / total))
        if left:
            came = chain.steady / total[:, 0]
            arrived = np.maximum(came @ (right + wrong), 1e-300)[:, None]
            mean = np.einsum("s,stk->tk", came, first) / arrived
            spread = np.einsum("s,stkl->tkl", came, second) / arrived[:, :, None] - mean[:, :, None] * mean[:, None, :]
    return chain


def _autoregression(correlation: tuple[float, ...], rms: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Covariance of the last values of a noise of ``rms``, the matrix that leads on to the next, and the variance of what is new.

    Yule and Walker's equations for ``correlation`` at lags 1, 2, ...; ValueError where no noise has it.
    """
    order = max(len(correlation), 1)
    r = np.array([1.0, *(correlation or (0.0,))])
    covariance = r[np.abs(np.subtract.outer(np.arange(order), np.arange(order)))]
    step = np.eye(order, k=-1)
    step[0] = np.linalg.lstsq(covariance, r[1:], rcond=None)[0]
    fresh = 1 - float(step[0] @ r[1:])
    if np.any(np.linalg.eigvalsh(covariance) <= 0) or fresh <= 0:
        raise check.fail("dfe_chain", "correlation", "that of a noise", correlation)
    return rms**2 * covariance, step, rms**2 * fresh


def _decisions(n_levels: int, shift: float, rms: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probability to decide level j when i was sent, in half spacings; then mean and mean square of the Gaussian noise.

    The sample is moved by ``shift``.
    """
    from dsp.distribution import q

    edges = np.concatenate([[-np.inf], 2.0 * np.arange(1, n_levels) - n_levels, [np.inf]])
    levels = 2 * np.arange(n_levels) - (n_levels - 1)
    z = (edges[None, :] - levels[:, None] - shift) / rms
    above, below = q(z), q(-z)  # from the smaller tail: no cancellation
    chance = np.where(z[:, :-1] > 0, above[:, :-1] - above[:, 1:], below[:, 1:] - below[:, :-1])
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    slope = np.where(np.isfinite(z), z, 0.0) * density
    one = density[:, :-1] - density[:, 1:]
    two = chance + slope[:, :-1] - slope[:, 1:]
    some = np.maximum(chance, 1e-300)
    return chance, rms * one / some, rms**2 * two / some
