"""A receiver fitted to a noise-free pass: taps of least mean-square error, and the noise that they let through."""

from __future__ import annotations

import math

import numpy as np

from dsp.equalizer import Mmse
from dsp.noise import autocorrelation
from serdes.front_end import aggressor_cursors, phases
from serdes.link import Link
from serdes.noise_free import WARM_UP, Pass
from serdes.operating_point import OperatingPoint
from serdes.spectra import LEAST


class Fit:
    """Least mean-square error at one sampling instant: taps ``w``, ``offset``, feedback ``b``, decision variables ``z``."""

    def __init__(self, passed: Pass, link: Link, spacing: int, base: int, r: np.ndarray, y: np.ndarray, n: int) -> None:
        equalizer, levels = link.rx.equalizer, link.tx.constellation.array
        self.spacing = spacing
        per_symbol = passed.grid.samples_per_symbol // spacing
        n = min(n, passed.n)
        if isinstance(equalizer, Mmse):
            n_taps, q = equalizer.n_taps, equalizer.n_feedback
            self.n_precursors = min(equalizer.n_precursors * per_symbol, (n_taps - 1) // 2 if per_symbol > 1 else n_taps)
        else:
            n_taps, q = len(equalizer.feed_forward), len(equalizer.feedback)
            self.n_precursors = equalizer.n_precursors
        x = under_taps(passed, y, base, spacing, n_taps, self.n_precursors, n)
        all_levels = levels[passed.sent]
        d = all_levels[WARM_UP : WARM_UP + n]
        past = np.stack([all_levels[WARM_UP - i : WARM_UP - i + n] for i in range(1, q + 1)], axis=1) if q else np.zeros((n, 0))
        mean_x = x.mean(axis=0)
        centred, wanted, before = x - mean_x, d - d.mean(), past - past.mean(axis=0)
        power = float(wanted @ wanted) / n
        h0 = centred.T @ wanted / (n * power)
        a = centred.T @ centred / n + r[:n_taps, :n_taps]
        if isinstance(equalizer, Mmse):
            hb = centred.T @ before / n
            gram = before.T @ before / n
            self.w, self.b = _solve(a, h0, hb, gram, before.T @ wanted / n, equalizer.feedback_limits)
        else:
            fixed = np.asarray(equalizer.feed_forward)
            cursor = h0 @ fixed
            self.w, self.b = fixed / (cursor if cursor else 1.0), np.asarray(equalizer.feedback)
        self.offset = float(d.mean() - mean_x @ self.w + (past.mean(axis=0) @ self.b if q else 0.0))
        self.z = x @ self.w + self.offset - past @ self.b
        self.d = d
        self.error = float(np.mean((self.z - d) ** 2) + self.w @ r[:n_taps, :n_taps] @ self.w)


def moved(y: np.ndarray, samples: float) -> np.ndarray:
    """``y`` read ``samples`` later, band-limited; the record is taken as periodic."""
    if samples == 0:
        return y
    f = np.fft.rfftfreq(y.size)
    return np.fft.irfft(np.fft.rfft(y) * np.exp(2j * np.pi * f * samples), y.size)


def under_taps(passed: Pass, y: np.ndarray, base: int, spacing: int, n_taps: int, n_precursors: int, n: int) -> np.ndarray:
    """Samples under the taps for each symbol, shape (n, n_taps): column j is spacing * (j - n_precursors) samples earlier."""
    m = passed.grid.samples_per_symbol
    at = base + m * np.arange(n)[:, None] - spacing * (np.arange(n_taps) - n_precursors)
    return y[at]


def _solve(
    a: np.ndarray, h0: np.ndarray, hb: np.ndarray, gram: np.ndarray, by_chance: np.ndarray, limits: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Taps with unit cursor h0'w = 1 and feedback within limits: minimum of w'Aw - 2 b'Hb'w + b'Gb + 2 b'r.

    ``by_chance`` r: correlation of a symbol with those before it, which a finite pattern has.
    """
    q = hb.shape[1]
    a = a + 1e-12 * np.trace(a) / a.shape[0] * np.eye(a.shape[0])
    inverse = np.linalg.solve(a, np.column_stack((h0, hb)))
    fixed = np.full(q, np.nan)
    while True:
        free = np.isnan(fixed)
        # stationarity: A w = lambda h0 + Hb b, G b = Hb'w - r for the free ones, h0'w = 1
        cross = np.column_stack((h0, hb)).T @ inverse
        system, right = np.eye(1 + q), np.concatenate(([1.0], fixed))
        system[0] = cross[0]
        rows = 1 + np.flatnonzero(free)
        system[rows, 0] = -cross[rows, 0]
        system[np.ix_(rows, np.arange(1, q + 1))] = gram[free] - cross[rows, 1:]
        right[rows] = -by_chance[free]
        weights = np.linalg.solve(system, right)
        b = weights[1:]
        outside = free & ((b < limits[0]) | (b > limits[1]))
        if not np.any(outside):
            return inverse @ weights, b
        fixed[outside] = np.clip(b[outside], *limits)


def covariance(passed: Pass, taps_per_symbol: int, spacing: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Covariance of the noise under the taps, and its parts by cause but for those that follow the power."""
    link, grid = passed.point.link, passed.grid
    equalizer = link.rx.equalizer
    n_taps = equalizer.n_taps if isinstance(equalizer, Mmse) else len(equalizer.feed_forward)
    lags = spacing * np.abs(np.subtract.outer(np.arange(n_taps), np.arange(n_taps)))
    parts = {"all steady": _autocovariance(passed.noise, grid.sample_rate)[lags]}
    r = parts["all steady"].copy()
    kept = passed.y.size
    for d in passed.detected:
        mean = float(np.mean(d.detection.density(d.power[WARM_UP * grid.samples_per_symbol : kept])))
        r += _autocovariance(mean * np.abs(d.after) ** 2, grid.sample_rate)[lags]
    for cause, row in _from_linear_face(passed.point, taps_per_symbol).items():
        parts[cause] = row[lags // spacing]
        r += parts[cause]
    return r, parts


def _autocovariance(density: np.ndarray, sample_rate: float) -> np.ndarray:
    return np.fft.irfft(density) * sample_rate / 2


def _from_linear_face(point: OperatingPoint, taps_per_symbol: int) -> dict[str, np.ndarray]:
    """Autocovariance [V^2] at whole symbols of what the pass leaves out: crosstalk, transmitter noise, jitter, converter."""
    link = point.link
    extra = bool(link.aggressors) or link.tx.snr_db is not None or link.tx.jitter.variance_ui2 or link.rx.jitter.variance_ui2
    found: dict[str, np.ndarray] = {}
    if extra:
        if taps_per_symbol > 1:
            raise ValueError(
                "SemiAnalytic.taps_per_symbol must be 1 for a link with crosstalk, transmitter noise or jitter: their covariance "
                "is known at whole symbols only"
            )
        ph = phases(link, point.spectra, LEAST, shift=point.offset_ui / link.symbol_rate)
        found = {cause: np.atleast_2d(r)[0] for cause, r in ph.noise.items() if cause not in ("thermal", "crosstalk")}
        rows = aggressor_cursors(link, point.spectra, point.offset_ui)
        for row, aggressor in zip(rows, link.aggressors, strict=True):
            power = aggressor.tx.constellation.mean_square * autocorrelation(row)
            found["crosstalk"] = found.get("crosstalk", np.zeros(power.size)) + power
    if link.rx.converter is not None and point.full_scale:
        row = np.zeros(point.spectra.window)
        row[0] = link.rx.converter.noise_variance(point.full_scale)
        found["converter"] = row
    return found


def modulated(passed: Pass, fit: Fit, at: float) -> dict[str, np.ndarray]:
    """Variance at each decision, by cause, of the noise that follows the power: its density behind the squared response."""
    grid, m = passed.grid, passed.grid.samples_per_symbol
    found: dict[str, np.ndarray] = {}
    places = at + m * np.arange(passed.n)
    for d in passed.detected:
        positions = fit.spacing * (np.arange(fit.w.size) - fit.n_precursors) * grid.dt
        taps = np.exp(-2j * np.pi * np.multiply.outer(grid.f, positions)) @ fit.w
        g = np.fft.irfft(d.after * taps, grid.n) ** 2 * grid.sample_rate / 2
        n_fft = 1 << math.ceil(math.log2(d.power.size + grid.n))
        kernel = np.zeros(n_fft)
        half = grid.n // 2
        kernel[:half], kernel[n_fft - (grid.n - half) :] = g[:half], g[half:]
        spectrum = np.fft.rfft(kernel)
        for cause, density in d.detection.causes(d.power).items():
            variance = np.fft.irfft(np.fft.rfft(density, n_fft) * spectrum, n_fft)[: d.power.size]
            found[cause] = found.get(cause, 0.0) + np.interp(places, np.arange(variance.size), variance)
    return found
