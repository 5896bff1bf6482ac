"""Errors in bursts: what is measured of an error pattern, the chains that behave alike, and what they do to code words."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.error_chain import ErrorChain, gilbert_elliott, rows
from dsp.fec import count_bounds
from dsp.interleave import Interleaving


def measured_chain(errors: np.ndarray, *, memory: int = 1, n_levels: int = 4, precoded: bool = False) -> ErrorChain:
    """Chain from the signed decision errors of a run, shape (n,), in levels: counted transitions of order ``memory``.

    Errors beyond one level count as one. Histories that never occurred lead on as if nothing had been wrong. ``precoded``: as
    in `dfe_chain`, for errors measured before decoding. Raises ValueError when ``errors`` holds no error.
    """
    check.count("measured_chain", "memory", memory, 1, 6)
    check.count("measured_chain", "n_levels", n_levels, 2)
    e = np.sign(np.asarray(errors, np.int64)) + 1
    if e.ndim != 1 or e.size <= memory or not np.any(e != 1):
        raise check.fail("measured_chain", "errors", f"one axis, longer than {memory}, with an error in it", e.shape)
    n = 3**memory
    weights = 3 ** np.arange(memory)[::-1]  # newest error most significant, as in dfe_chain
    past = sum(int(weights[k]) * e[memory - 1 - k : e.size - 1 - k] for k in range(memory))
    counts = np.bincount(past * 3 + e[memory:], minlength=3 * n).reshape(n, 3).astype(float)
    quiet = counts[int(np.sum(weights))]
    counts[counts.sum(axis=1) == 0] = quiet
    chance = counts / counts.sum(axis=1, keepdims=True)
    right, wrong = np.zeros((n, n)), np.zeros((n, n))
    for s, k in itertools.product(range(n), range(3)):
        newest = s // int(weights[0]) - 1
        bad = (k - 1 + newest) % n_levels != 0 if precoded else k != 1
        (wrong if bad else right)[s, (k * n + s) // 3] += chance[s, k]
    return ErrorChain(right=rows(right), wrong=rows(wrong))


@dataclass(frozen=True, kw_only=True)
class BurstStatistics:
    """What is counted of an error pattern.

    ``symbols``, ``errors``: all and wrong symbols. ``lengths[i]``: bursts i symbols long, from the first wrong symbol to the
    last; ``weights[i]``: bursts with i wrong symbols. ``pairs[k]``: symbols wrong together with the one k + 1 later.
    """

    symbols: int
    errors: int
    lengths: tuple[int, ...]
    weights: tuple[int, ...]
    pairs: tuple[int, ...]

    @property
    def bursts(self) -> int:
        """Number of bursts."""
        return sum(self.lengths)

    @property
    def mean_length(self) -> float:
        """Mean length of a burst [symbols]; nan without any."""
        return sum(i * c for i, c in enumerate(self.lengths)) / self.bursts if self.bursts else float("nan")


def burst_statistics(wrong: np.ndarray, *, guard: int = 1, lags: int = 8) -> BurstStatistics:
    """Counts over ``wrong`` (n,) bool. ``guard`` right symbols or more end a burst; pairs are counted up to ``lags`` apart."""
    wrong = np.asarray(wrong, bool)
    if wrong.ndim != 1:
        raise check.fail("burst_statistics", "wrong", "one axis", wrong.shape)
    check.count("burst_statistics", "guard", guard, 1)
    check.count("burst_statistics", "lags", lags, 2)
    places = np.flatnonzero(wrong)
    first = np.flatnonzero(np.diff(places, prepend=-guard - 1) > guard)
    last = np.append(first[1:], places.size)[: first.size]
    lengths = places[last - 1] - places[first] + 1
    return BurstStatistics(
        symbols=wrong.size,
        errors=places.size,
        lengths=tuple(np.bincount(lengths).tolist()),
        weights=tuple(np.bincount(last - first).tolist()),
        pairs=tuple(int(np.count_nonzero(wrong[k:] & wrong[: max(wrong.size - k, 0)])) for k in range(1, lags + 1)),
    )


def fit_gilbert_elliott(
    statistics: BurstStatistics, *, error_good: float = 0.0, error_ratio: float | None = None
) -> ErrorChain:
    """The Gilbert-Elliott chain with the measured error ratio and covariance of errors at lags 1, 2, ...

    Its covariance at lag k is C_k = pb (1 - pb) (error_bad - error_good)^2 r^k, r = 1 - good_to_bad - bad_to_good, with pb the
    share of the bad state. r is fitted over all lags; the rest follows from the mean and C_1. ``error_good``: known background
    ratio of independent errors. ``error_ratio``: another ratio, with bursts of the same kind. Errors without positive
    correlation give the independent chain.
    """
    n, ratio = statistics.symbols, statistics.errors / max(statistics.symbols, 1)
    check.between("fit_gilbert_elliott", "error_good", error_good, 0, 1)
    if not 0 < ratio < 1:
        raise check.fail("fit_gilbert_elliott", "statistics", "with right and wrong symbols", statistics)
    if error_good >= ratio:
        raise check.fail("fit_gilbert_elliott", "error_good", f"less than the error ratio {ratio:g}", error_good)
    target = ratio if error_ratio is None else error_ratio
    check.between("fit_gilbert_elliott", "error_ratio", target, error_good, 1)
    lags = np.arange(1, len(statistics.pairs) + 1)
    covariance = np.array(statistics.pairs) / (n - lags) - ratio**2
    noise = 3 * ratio / np.sqrt(n)  # three standard deviations of a pair ratio of independent errors
    if covariance[0] <= noise:
        return gilbert_elliott(good_to_bad=0.5, bad_to_good=0.5, error_bad=target, error_good=target)
    kept = int(np.argmin(covariance > noise)) if np.any(covariance <= noise) else covariance.size
    if kept < 2:  # nothing beyond lag 1: bursts shorter than can be resolved
        kept = 2
    decay = float(np.clip(np.sum(covariance[1:kept]) / np.sum(covariance[: kept - 1]), 1e-6, 1 - 1e-9))
    excess = ratio - error_good
    above = min((covariance[0] / decay + excess**2) / excess, 1.0 - error_good)
    share = (target - error_good) / above
    if share >= 1:
        raise check.fail("fit_gilbert_elliott", "error_ratio", f"less than {error_good + above:g}, all bad", target)
    change = 1 - decay
    return gilbert_elliott(
        good_to_bad=change * share, bad_to_good=change * (1 - share), error_bad=error_good + above, error_good=error_good
    )


def failure_bounds(
    statistics: BurstStatistics,
    interleaving: Interleaving,
    *,
    bits_per_symbol: int = 2,
    error_good: float = 0.0,
    confidence: float = 0.95,
) -> tuple[float, float, float]:
    """Codeword failure behind bursts like the measured ones: lower bound, estimate, upper bound.

    Bursts, not errors, are what is counted independently, so their number gets Clopper-Pearson bounds, and the fitted chain
    is evaluated at the error ratios these stand for. The shape of the bursts is taken as known: no bound covers bursts longer
    than any seen.
    """
    low, high = count_bounds(statistics.bursts, statistics.symbols, confidence)
    ratio = statistics.errors / max(statistics.symbols, 1)
    scale = statistics.symbols / max(statistics.bursts, 1)
    ratios = (max(low * scale * ratio, error_good), ratio, high * scale * ratio)
    lower, middle, upper = (
        fit_gilbert_elliott(statistics, error_good=error_good, error_ratio=r).codeword_failure(interleaving, bits_per_symbol)
        for r in ratios
    )
    return lower, middle, upper
