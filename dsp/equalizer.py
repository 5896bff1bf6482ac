"""Linear equalisers with decision feedback: parameters in, settled taps out.

Taps run from the earliest pre-cursor to the last post-cursor: the equalised pulse is
``p[n] = sum_j w[j] h[n - (j - n_precursors)]``, the equalised sample ``z[k] = sum_j w[j] x[k - (j - n_precursors)]``.
Feedback taps are what is subtracted. An equalised symbol has its nominal value: the main cursor is 1 after the taps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.noise import autocorrelation


@dataclass(frozen=True, kw_only=True)
class Taps:
    """Settled coefficients. ``feed_forward`` [1/V] makes the main cursor 1; ``feedback`` is relative to it."""

    feed_forward: tuple[float, ...]
    n_precursors: int
    feedback: tuple[float, ...] = ()

    def equalize(self, h: np.ndarray) -> np.ndarray:
        """Periodic convolution of a pulse with the feed-forward taps along the last axis; the same length and position."""
        n = h.shape[-1]
        taps = np.zeros(n)
        np.add.at(taps, (np.arange(len(self.feed_forward)) - self.n_precursors) % n, self.feed_forward)
        return np.fft.irfft(np.fft.rfft(h, axis=-1) * np.fft.rfft(taps), n, axis=-1)

    def variance(self, autocovariance: np.ndarray) -> float:
        """Variance behind the feed-forward taps of noise with the given autocovariance at lags 0, 1, 2, ... symbols."""
        w = np.asarray(self.feed_forward)
        lags = np.correlate(w, w, "full")[w.size - 1 :]
        n = min(lags.size, autocovariance.size)
        return float(lags[0] * autocovariance[0] + 2 * np.dot(lags[1:n], autocovariance[1:n]))


def transfer(taps: np.ndarray, n_precursors: int, f_relative: np.ndarray) -> np.ndarray:
    """Transfer function of symbol-spaced taps at ``f_relative`` = f / symbol rate, (93A-21) with the main tap at time 0."""
    position = np.arange(len(taps)) - n_precursors
    return np.exp(-2j * np.pi * np.multiply.outer(f_relative, position)) @ np.asarray(taps)


_LEAST = 1e-100
"""Smallest cursor [V] that is one: squares of smaller ones, and taps that make them 1, run out of the numbers there are."""


@dataclass(frozen=True, kw_only=True)
class FixedTaps:
    """Taps as given, relative to the main tap; a gain control then makes the main cursor 1."""

    feed_forward: tuple[float, ...] = (1.0,)
    n_precursors: int = 0
    feedback: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check.numbers(self, "feed_forward", self.feed_forward, at_least=1)
        check.count(self, "n_precursors", self.n_precursors, 0, len(self.feed_forward) - 1, hint="a tap must be the main one")
        check.numbers(self, "feedback", self.feedback)

    def solve(self, h: np.ndarray, main: int, noise: np.ndarray, mean_square: float) -> tuple[Taps, float]:
        """Taps scaled to the pulse ``h``, and the mean-square error; arguments as in `Mmse.solve`."""
        w = np.asarray(self.feed_forward)
        cursor = _window(h, main, w.size, self.n_precursors) @ w
        if abs(cursor) < _LEAST:
            return Taps(feed_forward=self.feed_forward, n_precursors=self.n_precursors, feedback=self.feedback), np.inf
        taps = Taps(feed_forward=tuple(w / cursor), n_precursors=self.n_precursors, feedback=self.feedback)
        return taps, mean_square_error(taps, h, main, noise, mean_square)

    def errors(self, h: np.ndarray, main: np.ndarray, noise: np.ndarray, mean_square: float) -> np.ndarray:
        """Mean-square errors at many sampling phases, shape (n_phases,); arguments as in `Mmse.errors`."""
        return np.array([self.solve(*row, mean_square)[1] for row in zip(h, main, noise, strict=True)])


@dataclass(frozen=True, kw_only=True)
class Mmse:
    """Least mean-square error feed-forward and feedback taps, solved together (IEEE P802.3dj 178A.1.8).

    ``n_taps`` feed-forward taps of which ``n_precursors`` come before the main one; ``n_feedback`` feedback taps within
    ``feedback_limits`` (relative to the main cursor); each feed-forward tap within ``tap_limit`` times the main tap.
    """

    n_taps: int = 22
    n_precursors: int = 6
    n_feedback: int = 1
    feedback_limits: tuple[float, float] = (0.0, 0.85)
    tap_limit: float | None = None

    def __post_init__(self) -> None:
        check.count(self, "n_taps", self.n_taps, 1, hint="the feed-forward equaliser needs its main tap")
        check.count(self, "n_precursors", self.n_precursors, 0, self.n_taps - 1, hint="a tap must be the main one")
        check.count(self, "n_feedback", self.n_feedback, 0)
        check.numbers(self, "feedback_limits", self.feedback_limits, at_least=2)
        if len(self.feedback_limits) != 2 or self.feedback_limits[0] > self.feedback_limits[1]:
            raise check.fail(self, "feedback_limits", "a (lowest, highest) pair", self.feedback_limits)
        if self.tap_limit is not None:
            check.positive(self, "tap_limit", self.tap_limit)

    def solve(self, h: np.ndarray, main: int, noise: np.ndarray, mean_square: float) -> tuple[Taps, float]:
        """The taps for one sampling phase, and the mean-square error behind them.

        ``h``: the pulse at one sample a symbol [V], taken as periodic; ``main``: index of its main cursor; ``noise``:
        autocovariance of everything that is not the victim's own symbols at lags 0, 1, ... [V^2]; ``mean_square``: of the
        symbols. The error is that of the decision variable, whose main cursor is 1; it is infinite where the pulse has no
        main cursor to be found.
        """
        from scipy.linalg import solve_toeplitz

        n, q = self.n_taps, self.n_feedback
        r = _autocorrelation(h, n) + noise_lags(noise, n) / mean_square
        h0 = _window(h, main, n, self.n_precursors)
        hb = np.array([_window(h, main + k, n, self.n_precursors) for k in range(1, q + 1)]).reshape(q, n)
        if np.max(np.abs(h0)) < _LEAST:
            silent = Taps(feed_forward=(0.0,) * n, n_precursors=self.n_precursors, feedback=(0.0,) * q)
            return silent, np.inf
        r[0] *= 1 + 1e-13  # keeps the noiseless case solvable
        columns = np.concatenate([h0[:, None], hb.T], axis=1)
        inverse = solve_toeplitz(r, columns, check_finite=False)
        gram = columns.T @ inverse
        low, high = self.feedback_limits
        weights, b = _joint(gram, np.full(q, np.nan))
        if np.any((b < low) | (b > high)):
            weights, b = _joint(gram, _within_limits(gram, low, high))
        w = inverse @ weights
        if self.tap_limit is not None:
            bound = self.tap_limit * abs(w[self.n_precursors])
            limited = np.clip(w, -bound, bound)
            limited[self.n_precursors] = w[self.n_precursors]
            if np.any(limited != w) and h0 @ limited != 0:
                w = limited / (h0 @ limited)
                b = np.clip(hb @ w, low, high)
        taps = Taps(feed_forward=tuple(w.tolist()), n_precursors=self.n_precursors, feedback=tuple(b.tolist()))
        error = _quadratic(r, w) - 2 * (h0 @ w) - 2 * b @ (hb @ w) + b @ b + 1
        return taps, float(mean_square * max(error, 0.0))

    def errors(self, h: np.ndarray, main: np.ndarray, noise: np.ndarray, mean_square: float) -> np.ndarray:
        """Mean-square errors at many sampling phases at once, shape (n_phases,): those that `solve` gives, faster.

        ``h`` and ``noise`` (n_phases, window), ``main`` (n_phases,).
        """
        if self.tap_limit is not None or self.n_feedback > 1:
            return np.array([self.solve(*row, mean_square)[1] for row in zip(h, main, noise, strict=True)])
        from dsp import kernels

        lags = autocorrelation(h)[:, : self.n_taps] + noise[:, : self.n_taps] / mean_square
        lags[lags[:, 0] == 0, 0] = 1
        lags[:, 0] *= 1 + 1e-13
        g0, g, gb = kernels.phase_grams(h, main, lags, self.n_precursors).T
        alive = g0 > 0
        g0 = np.where(alive, g0, 1.0)
        if self.n_feedback == 0:
            return mean_square * np.where(alive, np.maximum(1 / g0 - 1, 0), np.inf)
        # One feedback tap: the error is a parabola in it, so the limit nearest its minimum is the constrained minimum.
        b = np.clip((g / g0) / (1 - gb + g**2 / g0), *self.feedback_limits)
        error = (1 - g * b) ** 2 / g0 + b**2 * (1 - gb) - 1
        return mean_square * np.where(alive, np.maximum(error, 0), np.inf)


def zero_forcing(h: np.ndarray, main: int, n_taps: int, n_precursors: int) -> Taps:
    """Feed-forward taps that leave 1 at the main cursor and 0 at the ``n_taps - 1`` cursors around it (Lucky 1965)."""
    rows = np.array([_window(h, main + k - n_precursors, n_taps, n_precursors) for k in range(n_taps)])
    target = np.zeros(n_taps)
    target[n_precursors] = 1
    return Taps(feed_forward=tuple(np.linalg.solve(rows, target).tolist()), n_precursors=n_precursors)


def mean_square_error(taps: Taps, h: np.ndarray, main: int, noise: np.ndarray, mean_square: float) -> float:
    """Mean-square error of the decision variable for any taps: residual interference, main-cursor error and noise."""
    residual = residual_interference(taps, h, main)
    return float(mean_square * np.sum(residual**2) + taps.variance(noise))


def residual_interference(taps: Taps, h: np.ndarray, main: int) -> np.ndarray:
    """Equalised pulse minus what feedback cancels minus the unit main cursor, shape of ``h``."""
    p = taps.equalize(h).copy()
    p[main] -= 1
    for k, b in enumerate(taps.feedback, start=1):
        p[(main + k) % p.size] -= b
    return p


def noise_lags(noise: np.ndarray, n: int) -> np.ndarray:
    """The first ``n`` lags of an autocovariance, zeros beyond those given."""
    lags = np.zeros(n)
    lags[: min(n, noise.size)] = noise[:n]
    return lags


def _joint(gram: np.ndarray, fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights of w over the columns R^-1 [h0, Hb'], and the feedback taps, that minimise the error with h0'w = 1.

    ``gram``: [h0, Hb']' R^-1 [h0, Hb']. ``fixed``: feedback taps held at a limit, nan where free. At the minimum
    R w = lambda h0 + Hb' b and b = Hb w for the free taps: a linear system in (lambda, b) alone.
    """
    q = fixed.size
    free = np.isnan(fixed)
    a, y = np.eye(1 + q), np.concatenate([[1.0], fixed])
    a[0] = gram[0]
    rows = 1 + np.flatnonzero(free)
    a[rows] -= gram[rows]
    y[rows] = 0
    x = np.linalg.solve(a, y)
    return x, x[1:]


def _within_limits(gram: np.ndarray, low: float, high: float) -> np.ndarray:
    """Feedback taps of least error inside the limits, the feed-forward taps free: a small bounded least-squares problem.

    With w at its best for given b the error is (1 - g'b)^2 / g0 + b'(I - G) b + const, [g0 g'; g G] = ``gram``. Taps at a
    limit are held there one by one as they meet it and let go where the error falls inwards (C. L. Lawson and R. J. Hanson,
    Solving Least Squares Problems, 23.3): to clip all that lie outside at once is not the minimum when there are two or more.
    """
    g = gram[0, 1:] / gram[0, 0]
    a = np.eye(g.size) - gram[1:, 1:] + np.outer(g, gram[0, 1:])
    b = np.full(g.size, float(np.clip(0.0, low, high)))
    free = np.zeros(g.size, bool)
    for _ in range(20 * g.size):  # far more than it takes: each round lowers the error
        slope = a @ b - g
        inwards = ~free & (((slope < 0) & (b < high)) | ((slope > 0) & (b > low)))
        downhill = np.where(inwards, np.abs(slope), 0.0)
        if np.max(downhill) <= 1e-12:
            break
        free[np.argmax(downhill)] = True
        while np.any(free):
            goal = np.linalg.lstsq(a[np.ix_(free, free)], (g - a[:, ~free] @ b[~free])[free], rcond=None)[0]
            move = goal - b[free]
            edge = np.where(move > 0, high, low)
            room = np.where(move == 0, 1.0, (edge - b[free]) / np.where(move == 0, 1.0, move))
            share = min(1.0, float(np.min(room)))
            b[free] = np.where(room <= share, edge, b[free] + share * move) if share < 1 else goal
            if share == 1:
                break
            free[np.flatnonzero(free)[room <= share]] = False
    return b


def _quadratic(lags: np.ndarray, w: np.ndarray) -> float:
    """The product w'Rw for the symmetric Toeplitz R with first row ``lags``."""
    own = np.correlate(w, w, "full")[w.size - 1 :]
    return float(own[0] * lags[0] + 2 * own[1:] @ lags[1:])


def _window(h: np.ndarray, centre: int, n: int, n_precursors: int) -> np.ndarray:
    return h[(centre + n_precursors - np.arange(n)) % h.size]


def _autocorrelation(h: np.ndarray, n: int) -> np.ndarray:
    lags = np.fft.irfft(np.abs(np.fft.rfft(h)) ** 2, h.size)
    return lags[np.arange(n) % h.size]
