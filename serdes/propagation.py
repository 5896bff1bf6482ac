"""What wrong decisions that are fed back make of an error ratio that takes them as right."""

from __future__ import annotations

import math

import numpy as np

from dsp import check
from dsp.error_chain import ErrorChain, dfe_chain
from serdes.operating_point import OperatingPoint
from serdes.result import BasebandResult

_ERRORS = 2
"""Decision errors that the chain remembers, so that many feedback taps: later ones are small."""
_LAGS = 3
"""Symbols over which it knows the noise to be correlated."""


def error_chain(result: BasebandResult) -> ErrorChain:
    """Chain of the decision errors of ``result``, of an engine whose error ratio takes all decisions fed back as right.

    Feedback taps and the residual pre-cursor of the settled link; all else that disturbs the slicer is Gaussian with the
    correlation it has there, and of that size at which right feedback gives the result's error ratio. Levels count as even. Its
    `ErrorChain.symbol_error_ratio` is what a run counts. ValueError for a link without errors or without a signal.
    """
    check.instance("error_chain", "result", result, BasebandResult)
    point, tx = result.operating_point, result.link.tx
    n = tx.constellation.n
    if point.closed or not 0 < result.ser < 1 - 1 / n:
        raise check.fail("error_chain", "result", f"one with an error ratio between 0 and {1 - 1 / n:g}", result.ser)
    precursor = float(point.residual[point.main - 1])

    def right_feedback(log_rms: float) -> float:
        chain = dfe_chain(taps=(), noise_rms=math.exp(log_rms), n_levels=n, precursor=precursor)
        return chain.symbol_error_ratio

    low, high = math.log(1e-3), math.log(1e3)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if right_feedback(middle) < result.ser else (low, middle)
    taps = (point.taps.feedback + (0.0,) * _ERRORS)[:_ERRORS]
    correlation = _correlation(point, tx.constellation.mean_square)

    def chain(taps: tuple[float, ...], log_rms: float, precoded: bool) -> ErrorChain:
        return dfe_chain(
            taps=taps, noise_rms=math.exp(log_rms), n_levels=n, precoded=precoded, precursor=precursor, correlation=correlation
        )

    # The chain takes coloured noise behind right decisions as Gaussian: the size at which it meets the ratio is a little less.
    size, slope = high, (math.log(right_feedback(high + 1e-3)) - math.log(right_feedback(high))) / 1e-3
    for _ in range(2):
        size -= math.log(chain((0.0,) * _ERRORS, size, precoded=False).symbol_error_ratio / result.ser) / slope
    return chain(taps, size, tx.precoded)


def _correlation(point: OperatingPoint, mean_square: float) -> tuple[float, ...]:
    """Of all that disturbs the slicer but the pre-cursor, at lags 1, 2 ... symbols."""
    w = np.asarray(point.taps.feed_forward)
    through = np.correlate(w, w, "full")
    lags = np.arange(_LAGS + 1)[:, None] + np.arange(w.size - 1, -w.size, -1)
    noise = point.noise[np.abs(lags) % point.noise.size] @ through
    rest = point.residual.copy()
    rest[point.main - 1] = 0.0
    left = mean_square * np.array([rest @ np.roll(rest, lag) for lag in range(_LAGS + 1)])
    total = noise + left
    return tuple((total[1:] / total[0]).tolist())
