"""The eye: one picture and one set of numbers, whichever engine made it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class EyeOpening:
    """One of the L-1 openings at an error ratio. ``height`` [V or symbol units] and ``width_ui``; both 0 when closed."""

    height: float
    width_ui: float
    centre: float
    reason: str = ""

    @property
    def is_open(self) -> bool:
        """Whether there is any opening at the error ratio asked for."""
        return self.height > 0 and self.width_ui > 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Eye:
    """Probability of each voltage at each time within a unit interval.

    ``time`` [s], shape (n_phases,), around the sampling instant at 0; ``voltage``, shape (n_bins,), in units of the outer
    symbol level after gain control, or in volts before it (``unit``). ``density``: shape (L, n_phases, n_bins), given each
    transmitted level; each row sums to 1. ``virtual``: the waveform is not one that exists, but the feed-forward taps of a
    baud-rate receiver applied to the analogue signal. ``source``: the engine. ``floor``: below it the densities carry no
    information (rounding of the transform, or one over the number of symbols counted).
    """

    time: np.ndarray
    voltage: np.ndarray
    density: np.ndarray
    levels: np.ndarray
    symbol_time: float
    source: str
    unit: str = "symbol level"
    virtual: bool = False
    floor: float = 1e-15

    def __post_init__(self) -> None:
        for array in (self.time, self.voltage, self.density, self.levels):
            array.setflags(write=False)

    @property
    def image(self) -> np.ndarray:
        """Density over all levels, shape (n_phases, n_bins), each row summing to 1."""
        return self.density.mean(axis=0)

    @property
    def centre_phase(self) -> int:
        """Row of the sampling instant."""
        return int(np.argmin(np.abs(self.time)))

    def thresholds(self) -> np.ndarray:
        """Decision levels: half way between neighbouring levels, shape (L-1,)."""
        return (self.levels[1:] + self.levels[:-1]) / 2

    def openings(self, error_ratio: float) -> tuple[EyeOpening, ...]:
        """The L-1 openings, lowest first: the contour of the region crossed with probability ``error_ratio`` from each side.

        Height is taken at the sampling instant, width through the centre of that height. Closed is a result with a reason.
        """
        if not self.floor <= error_ratio < 0.5:
            raise ValueError(f"error_ratio must lie between the floor of this eye {self.floor:g} and 0.5, got {error_ratio!r}")
        low, high = self.contours(error_ratio)
        ui = self.time / self.symbol_time
        return tuple(_opening(low[k], high[k], ui, self.centre_phase, error_ratio) for k in range(len(self.levels) - 1))

    def contours(self, error_ratio: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper edges of each opening against time, both of shape (L-1, n_phases).

        The lower edge is exceeded by the level below with probability ``error_ratio``; the upper edge likewise from above.
        Where the lower edge lies above the upper one the eye is closed.
        """
        half = self.density / 2  # the probability of a bin lies about its voltage, half of it on either side
        below = np.cumsum(self.density, axis=2) - half
        above = np.cumsum(self.density[:, :, ::-1], axis=2)[:, :, ::-1] - half
        n = len(self.levels) - 1
        low = np.array([_last_crossing(above[k], self.voltage, error_ratio) for k in range(n)])
        high = np.array([_first_crossing(below[k + 1], self.voltage, error_ratio) for k in range(n)])
        return low, high

    def bathtub(self, opening: int) -> np.ndarray:
        """Probability that a symbol beside the opening is taken for the one across it, against time, shape (n_phases,)."""
        step = self.voltage[1] - self.voltage[0]
        position = (self.thresholds()[opening] - self.voltage[0]) / step + 0.5  # bins below the threshold, the last one in part
        under = int(position)
        part = (position - under) * self.density[[opening, opening + 1], :, under]
        down = self.density[opening + 1, :, :under].sum(axis=1) + part[1]
        up = self.density[opening, :, under:].sum(axis=1) - part[0]
        return np.maximum((down + up) / 2, self.floor)


def _last_crossing(exceed: np.ndarray, voltage: np.ndarray, p: float) -> np.ndarray:
    """Voltage above which probability p remains, per row; log-linear between bins."""
    return _crossing(exceed[:, ::-1], voltage[::-1], p)


def _first_crossing(cumulative: np.ndarray, voltage: np.ndarray, p: float) -> np.ndarray:
    return _crossing(cumulative, voltage, p)


def _crossing(rising: np.ndarray, voltage: np.ndarray, p: float) -> np.ndarray:
    i = np.clip(np.argmax(rising >= p, axis=1), 1, rising.shape[1] - 1)
    row = np.arange(rising.shape[0])
    a, b = np.maximum(rising[row, i - 1], 1e-300), np.maximum(rising[row, i], 1e-300)
    fraction = np.where(b > a, (np.log(p) - np.log(a)) / np.where(b > a, np.log(b) - np.log(a), 1), 0.5)
    return voltage[i - 1] + np.clip(fraction, 0, 1) * (voltage[i] - voltage[i - 1])


def _opening(low: np.ndarray, high: np.ndarray, ui: np.ndarray, centre: int, p: float) -> EyeOpening:
    height = float(high[centre] - low[centre])
    middle = float(high[centre] + low[centre]) / 2
    if height <= 0:
        reason = f"closed at an error ratio of {p:g}: the neighbouring levels overlap by {-height:.3g} at the sampling instant"
        return EyeOpening(height=0.0, width_ui=0.0, centre=middle, reason=reason)
    left = _edge(low, high, ui, middle, range(centre, -1, -1))
    right = _edge(low, high, ui, middle, range(centre, ui.size))
    return EyeOpening(height=height, width_ui=right - left, centre=middle)


def _edge(low: np.ndarray, high: np.ndarray, ui: np.ndarray, level: float, order: range) -> float:
    """Where the contour first crosses ``level`` walking outwards; the end of the record when it never does."""
    gap = np.minimum(high - level, level - low)
    previous = order[0]
    for i in order:
        if gap[i] <= 0:
            share = gap[previous] / (gap[previous] - gap[i]) if i != previous else 0.0
            return float(ui[previous] + share * (ui[i] - ui[previous]))
        previous = i
    return float(ui[order[-1]])
