"""Amplitude distributions: Gaussian tails, interference of many cursors, eye densities, error ratios, dual-Dirac jitter.

Nothing here bins what it need not: tails come from an integral that keeps its relative accuracy at any depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dsp import check
from dsp.constellation import Constellation

# Below this share of the rms a law is nearly discrete: few cursors are enumerated, many are smeared to this.
_SMALLEST_SIGMA = 2e-4
_MOST_SUMS = 2**20


def q(x: np.ndarray | float) -> np.ndarray:
    """Tail of the standard Gaussian, P(N > x), by the complementary error function; underflows to 0 beyond x = 38."""
    from scipy.special import erfc

    return erfc(np.asarray(x, float) / np.sqrt(2)) / 2


def log10_q(x: np.ndarray | float) -> np.ndarray:
    """log10 of `q`, finite at any depth."""
    from scipy.special import log_ndtr

    return log_ndtr(-np.asarray(x, float)) / np.log(10)


def q_inv(p: np.ndarray | float) -> np.ndarray:
    """The x with P(N > x) = p, 0 < p < 1; the inverse of `q`."""
    from scipy.special import ndtri

    if np.any((np.asarray(p) <= 0) | (np.asarray(p) >= 1)):
        raise check.fail("q_inv", "p", "between 0 and 1", p)
    return -ndtri(np.asarray(p, float))


def _probability(owner: str, field: str, p: float) -> None:
    check.finite(owner, field, p)
    if not 0 < p < 1:
        raise check.fail(owner, field, "between 0 and 1", p)


@dataclass(frozen=True, kw_only=True, eq=False)
class Interference:
    """X = sum_k cursors[k] a_k + sigma N: independent, equally likely symbols a_k out of ``levels``, plus a Gaussian N.

    ``cursors``: (n,) [V per unit level], read-only; may be empty. ``levels``: (L,), any spacing, any mean. ``sigma`` [V].

    Tails are exact to about 1e-9 relative at any depth for sigma of 2e-4 of the rms or more. Below that, laws of up to 2**20
    equally likely sums (10 cursors of PAM4) are enumerated, exactly; larger ones are those of X with sigma raised to 2e-4 of
    the rms r, which changes a tail of logarithmic slope t = -d log P / dx by about (2e-4 r t)^2 / 2: 1e-6 at P = 1e-12.
    """

    cursors: np.ndarray
    levels: np.ndarray
    sigma: float

    def __post_init__(self) -> None:
        for field, least in (("cursors", 0), ("levels", 1)):
            values = check.array(self, field, getattr(self, field), float)
            if values.ndim != 1 or values.size < least:
                raise check.fail(self, field, f"{least} or more finite numbers in one dimension", getattr(self, field))
            object.__setattr__(self, field, values)
        check.not_negative(self, "sigma", self.sigma, "V")

    @property
    def mean(self) -> float:
        """Mean of X [V]; zero for symmetric levels."""
        return float(np.sum(self.cursors) * np.mean(self.levels))

    @cached_property
    def variance(self) -> float:
        """Variance of X [V^2]."""
        about = self.levels - self.levels.sum() / self.levels.size
        return float((self.cursors @ self.cursors) * (about @ about) / about.size + self.sigma**2)

    @property
    def symmetric(self) -> bool:
        """Whether X and -X have one law whatever the cursors: every level has its negative."""
        levels = sorted(self.levels.tolist())
        return levels == [-x for x in reversed(levels)]

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest sum of the symbols alone [V]: the peak distortion."""
        ends = np.outer((self.levels.min(), self.levels.max()), self.cursors)
        return float(ends.min(axis=0).sum()), float(ends.max(axis=0).sum())

    @cached_property
    def _active(self) -> np.ndarray:
        """The cursors that matter, largest first: products then die early."""
        c = self.cursors[self.cursors != 0]
        return c[np.argsort(-np.abs(c), kind="stable")]

    @cached_property
    def _sums(self) -> np.ndarray | None:
        """Every sum of the symbols alone, sorted, for a nearly discrete law small enough to enumerate; else None."""
        if self.sigma > 0 and self.sigma >= _SMALLEST_SIGMA * np.sqrt(self.variance):
            return None
        if self._active.size * np.log(self.levels.size) > np.log(_MOST_SUMS) + 1e-9:
            return None
        sums = np.zeros(1)
        for cursor in self._active:
            sums = (sums[:, None] + cursor * self.levels).ravel()
        return np.sort(sums)

    def _mirrored(self) -> Interference:
        return Interference(cursors=self.cursors, levels=-self.levels, sigma=self.sigma)

    def _upper(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logarithm of P(X > x), and density over tail for ``x`` at or above the mean, not enumerated."""
        from dsp import kernels

        sigma = max(self.sigma, _SMALLEST_SIGMA * float(np.sqrt(self.variance)))
        return kernels.log_tails(x, self._active, self.levels, sigma)

    def _enumerated(self, x: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """P(X > x) by the sum over every combination of symbols."""
        if self.sigma == 0:
            return 1 - np.searchsorted(sums, x, side="right") / sums.size
        return np.array([np.mean(q((value - sums) / self.sigma)) for value in x])

    def log_tail(self, x: np.ndarray | float) -> np.ndarray:
        """Natural logarithm of P(X > x), any shape of ``x`` [V]; finite where `tail` underflows, -inf where it is exactly 0."""
        x = np.asarray(x, float)
        flat = np.atleast_1d(x).ravel()
        if not np.all(np.isfinite(flat)):
            raise check.fail("Interference.log_tail", "x", "finite [V]", x)
        if self._sums is not None:
            with np.errstate(divide="ignore"):
                return np.log(self._enumerated(flat, self._sums)).reshape(x.shape)
        if self._active.size == 0:
            from scipy.special import log_ndtr

            return log_ndtr(-flat / self.sigma).reshape(x.shape)
        out = np.empty(flat.shape)
        above = flat >= self.mean
        if np.any(above):
            out[above] = self._upper(flat[above])[0]
        if not np.all(above):
            out[~above] = np.log1p(-np.exp(self._mirrored()._upper(-flat[~above])[0]))
        if self.sigma == 0:
            low, high = self.bounds
            out[flat >= high] = -np.inf
            out[flat < low] = 0.0
        lost = np.isnan(out)
        if np.any(lost):
            from scipy.special import log_ndtr

            # 1e8 sigma and more beyond the last sum of the symbols: only the distance to it matters.
            low, high = self.bounds
            sigma = max(self.sigma, _SMALLEST_SIGMA * float(np.sqrt(self.variance)))
            out = np.where(lost & (flat > high), log_ndtr((high - flat) / sigma), np.where(lost & (flat < low), 0.0, out))
        if np.any(np.isnan(out)):
            raise check.fail(
                "Interference.log_tail", "x", "where the tail integral converges", flat[np.isnan(out)], "sigma too small"
            )
        return out.reshape(x.shape)

    def tail(self, x: np.ndarray | float) -> np.ndarray:
        """P(X > x), any shape of ``x`` [V]: contour integral of the moment generating function through the saddle point.

        Accurate to about 1e-9 relative at any depth, on either side of the mean (validity: see the class).
        """
        return np.exp(self.log_tail(x))

    def lower_tail(self, x: np.ndarray | float) -> np.ndarray:
        """P(X < x) [x in V], with its relative accuracy kept where it is small."""
        return self._mirrored().tail(-np.asarray(x, float))

    def quantile_saddle(self, p: float) -> float:
        """The x [V] with P(X > x) = p, approximately: Lugannani and Rice (1980), inverted along the saddle points.

        Fast; within a few per cent in p for many cursors of like size, worse where one large cursor leads: then `quantile`.
        """
        _probability("Interference.quantile_saddle", "p", p)
        if self.variance == 0:
            return self.mean
        if p > 0.5:
            return -self._mirrored().quantile_saddle(1 - p)
        from dsp import kernels

        sigma = max(self.sigma, _SMALLEST_SIGMA * float(np.sqrt(self.variance)))
        return float(kernels.saddle_quantile(float(np.log(p)), float(q_inv(p)), self._active, self.levels, sigma))

    def quantile(self, p: float) -> float:
        """The x [V] with P(X > x) = p: Newton's method on log P(X > x) from `quantile_saddle`, kept inside a bracket.

        For a discrete law (sigma = 0) it is the sum at which the tail steps past ``p``.
        """
        _probability("Interference.quantile", "p", p)
        if self.variance == 0 or self._active.size == 0:
            return float(self.mean + self.sigma * q_inv(p))
        if p > 0.5:
            return -self._mirrored().quantile(1 - p)
        if self._sums is not None and self.sigma == 0:
            sums = self._sums
            return float(sums[min(int(np.ceil((1 - p) * sums.size - 1e-9)), sums.size) - 1])
        rms = float(np.sqrt(self.variance))
        x = self.quantile_saddle(p)
        low, high = self.bounds[0] - 40 * self.sigma - rms, self.bounds[1] + 40 * self.sigma + rms
        goal = np.log(p)
        for _ in range(200):
            if self._sums is None and x >= self.mean:
                value, rate = (float(v[0]) for v in self._upper(np.array([x])))
            else:
                value, rate = float(self.log_tail(x)), 0.0
            low, high = (x, high) if value > goal else (low, x)
            if abs(value - goal) < 1e-9 or high - low < 1e-13 * rms:
                break
            # The tail is log-concave for all but nearly discrete laws; the bracket takes care of those.
            x = x + (value - goal) / rate if rate > 0 else 0.5 * (low + high)
            if not low < x < high:
                x = 0.5 * (low + high)
        return x

    def pmf(self, voltage: np.ndarray) -> np.ndarray:
        """Probability of each bin of a uniform ``voltage`` axis symmetric about 0, by `eye_density`; symmetric levels only."""
        voltage = np.asarray(voltage, float)
        density = eye_density(self.cursors[None, :], self.levels, np.array([self.sigma]), voltage)[0]
        return density * (voltage[1] - voltage[0])


def _cosine_factor(levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(spacings, weights) of `kernels.eye_characteristic` for levels symmetric about 0."""
    levels = np.sort(levels)
    n = levels.size
    gaps = np.diff(levels)
    if n > 1 and n % 2 == 0 and np.ptp(gaps) < 1e-12 * levels[-1]:
        # Even spacing: the mean of cos y, cos 3y ... is one polynomial in cos y, so one recurrence serves every level.
        odd = np.zeros(n)
        odd[1::2] = 2 / n
        return gaps[:1] / 2, np.polynomial.chebyshev.cheb2poly(odd)
    positive = levels[levels > 1e-12 * levels[-1]] if levels[-1] > 0 else levels[:0]
    weights = np.concatenate([[(n - 2 * positive.size) / n], np.full(positive.size, 2 / n)])
    if positive.size < 2:  # a second, empty spacing keeps the kernel off its one-spacing polynomial
        positive = np.concatenate([positive, np.zeros(2 - positive.size)])
        weights = np.concatenate([weights, np.zeros(3 - weights.size)])
    return positive, weights


def eye_density(pulse: np.ndarray, levels: np.ndarray, sigma: np.ndarray, voltage: np.ndarray) -> np.ndarray:
    """Probability density [1/V] of sum_k pulse[p, k] a_k + sigma[p] N at each phase p, shape (n_phases, n_bins).

    ``pulse``: (n_phases, n_cursors) [V per unit level]; with the main cursor it is the density of the whole eye, without it
    that of the interference about any level. ``levels``: (L,), symmetric about 0. ``sigma``: (n_phases,) [V]. ``voltage``:
    (n_bins,) uniform, symmetric about 0 [V]; points of the density, not edges.

    Product of characteristic functions and one inverse FFT a phase. The FFT's period is at least the half span of the axis plus
    the half support: the smaller of peak distortion + 9 sigma and the Hoeffding radius outside which less than 1e-17 lies, so
    nothing folds back. Densities are good to about 1e-12 of their peak; take deeper tails from `Interference`. Moments are
    exact unless the law is too discrete for the bins (it has not died out at the FFT's highest frequency): then it is widened
    by a Gaussian of 1.5 bins rms.
    """
    from scipy.fft import irfft, next_fast_len

    from dsp import kernels

    pulse = np.atleast_2d(np.asarray(pulse, float))
    levels = np.asarray(levels, float)
    voltage = np.asarray(voltage, float)
    n_phases, n_bins = pulse.shape[0], voltage.size
    sigma = np.asarray(sigma, float)
    if sigma.shape != (n_phases,) or np.any(sigma < 0):
        raise check.fail("eye_density", "sigma", f"{n_phases} values of 0 or more, one a phase", sigma)
    if (
        n_bins < 2
        or abs(voltage[0] + voltage[-1]) > 1e-9 * voltage[-1]
        or np.ptp(np.diff(voltage)) > 1e-6 * voltage[-1] / n_bins
    ):
        raise check.fail("eye_density", "voltage", "uniform, rising and symmetric about 0", voltage)
    if levels.size < 1 or np.max(np.abs(np.sort(levels) + np.sort(levels)[::-1])) > 1e-9 * np.max(np.abs(levels)):
        raise check.fail("eye_density", "levels", "symmetric about 0", levels, "Interference.tail takes any levels")
    dv = (voltage[-1] - voltage[0]) / (n_bins - 1)
    outer = np.max(np.abs(levels))
    peak = np.sum(np.abs(pulse), axis=1) * outer + 9 * sigma
    # Hoeffding: P(|X| > y) <= 2 exp(-y^2 / 2 S) with S the sum of squared half ranges.
    hoeffding = 9 * np.sqrt(np.sum(pulse**2, axis=1) * outer**2 + sigma**2)
    support = float(np.max(np.minimum(peak, hoeffding)))
    n_fft = next_fast_len(2 * (int(np.ceil((voltage[-1] + support + 2 * dv) / dv)) // 2 + 1), real=True)
    n_fft = max(n_fft, next_fast_len(n_bins, real=True))
    step = 2 * np.pi / (n_fft * dv)

    lanes = -(-n_phases // 8) * 8
    order = np.argsort(-np.max(np.abs(pulse), axis=0), kind="stable")
    columns = np.zeros((pulse.shape[1], lanes))
    columns[:, :n_phases] = pulse[:, order].T
    columns[:, n_phases:] = columns[:, :1]
    sigmas = np.concatenate([sigma, np.full(lanes - n_phases, sigma[0])])
    spacings, weights = _cosine_factor(levels)
    cf = kernels.eye_characteristic(columns, spacings, weights, sigmas, step, n_fft // 2 + 1, 1.5 * dv)[:n_phases]
    used = int(np.max(np.nonzero(np.any(cf != 0, axis=0))[0])) + 1
    shifted = cf[:, :used] * np.exp(1j * step * voltage[0] * np.arange(used))
    return np.maximum(irfft(shifted, n_fft, axis=1)[:, :n_bins], 0) / dv


def pam_error_ratios(
    constellation: Constellation,
    thresholds: np.ndarray,
    main: float,
    interference: Interference,
    bias: np.ndarray | float | None = None,
) -> tuple[float, float]:
    """Symbol and bit error ratio of threshold decisions on level * main + bias + X, exact over all transitions.

    ``thresholds``: (n - 1,) rising [V]. ``main`` [V per unit level]. ``interference``: X, without the main cursor. ``bias``
    [V]: one offset, or one a level. Every wrong decision counts the Hamming distance of the two labels, over `bits_per_symbol`.
    """
    n = constellation.n
    thresholds = np.asarray(thresholds, float)
    if thresholds.shape != (n - 1,) or np.any(np.diff(thresholds) <= 0):
        raise check.fail("pam_error_ratios", "thresholds", f"{n - 1} rising numbers [V]", thresholds)
    centres = constellation.array * main + (0.0 if bias is None else np.broadcast_to(np.asarray(bias, float), (n,)))
    distance = constellation.bit_distance
    offset = thresholds[None, :] - centres[:, None]
    above = np.arange(n - 1) >= np.arange(n)[:, None]  # thresholds above the sent level: upper tails; below it: lower tails
    beyond = np.empty(offset.shape)
    if interference.symmetric:
        # Symmetric: both tails are one function, and evenly spaced levels ask for it at few places.
        distance_out = np.where(above, offset, -offset)
        places, which = np.unique(np.round(distance_out / main, 13), return_inverse=True)
        beyond = interference.tail(places * main)[which.reshape(offset.shape)]
    else:
        beyond[above] = interference.tail(offset[above])
        beyond[~above] = interference.lower_tail(offset[~above])
    symbols = bits = 0.0
    for sent in range(n):
        # Summed by parts: each threshold passed adds the change of the Hamming distance, so nothing cancels.
        for k in range(sent, n - 1):
            bits += beyond[sent, k] * (distance[sent, k + 1] - distance[sent, k])
        for k in range(sent):
            bits += beyond[sent, k] * (distance[sent, k] - distance[sent, k + 1])
        symbols += (beyond[sent, sent] if sent < n - 1 else 0.0) + (beyond[sent, sent - 1] if sent > 0 else 0.0)
    return float(symbols / n), float(bits / n / constellation.bits_per_symbol)


def dual_dirac_bathtub(x: np.ndarray | float, dj_pp_ui: float, rj_rms_ui: float, density: float = 0.5) -> np.ndarray:
    """Error ratio against sampling position ``x`` [UI], 0 and 1 being the mean crossings: both edges jittered.

    Each edge: two Diracs of weight 1/2 at +-``dj_pp_ui`` / 2, convolved with a Gaussian of rms ``rj_rms_ui`` [UI].
    ``density``: share of unit intervals that have a transition.
    """
    check.not_negative("dual_dirac_bathtub", "dj_pp_ui", dj_pp_ui, "UI")
    check.positive("dual_dirac_bathtub", "rj_rms_ui", rj_rms_ui, "UI")
    check.between("dual_dirac_bathtub", "density", density, 0, 1)
    x = np.asarray(x, float)
    distances = np.stack([side + dirac for side in (x, 1 - x) for dirac in (-dj_pp_ui / 2, dj_pp_ui / 2)])
    return density * q(distances / rj_rms_ui).sum(axis=0) / 2


def dual_dirac_eye_width(ber: float, dj_pp_ui: float, rj_rms_ui: float, density: float = 0.5) -> float:
    """Width [UI] of the eye where `dual_dirac_bathtub` is below ``ber``; 0 where it is nowhere."""
    from scipy.optimize import brentq

    check.positive("dual_dirac_eye_width", "ber", ber)

    def excess(x: float) -> float:
        return float(dual_dirac_bathtub(x, dj_pp_ui, rj_rms_ui, density)) - ber

    if excess(0.5) >= 0 or excess(0.0) <= 0:
        return 0.0 if excess(0.5) >= 0 else 1.0
    return 1 - 2 * float(brentq(excess, 0.0, 0.5, xtol=1e-14))
