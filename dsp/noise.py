"""Noise spectra to autocovariances at the symbol rate, and jitter to amplitude noise.

Spectra are one-sided power spectral densities [V^2/Hz] of real signals on a uniform grid that starts at f = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check


def _weighted(psd: np.ndarray, df: float) -> np.ndarray:
    """The power in each grid cell [V^2] by the trapezoid rule: half cells at both ends."""
    power = np.asarray(psd, float) * df
    if power.shape[-1] < 2:
        raise check.fail("psd", "length", "2 or more points", power.shape[-1])
    power[..., 0] /= 2
    power[..., -1] /= 2
    return power


def _symbols_in_record(df: float, symbol_time: float) -> int:
    """N where the grid has exactly N steps in the symbol rate (df * T = 1/N); 0 where it has not."""
    ratio = 1 / (df * symbol_time)
    whole = round(ratio)
    return whole if whole >= 1 and abs(ratio - whole) < 1e-9 * whole else 0


def _aliased(power: np.ndarray, period: int) -> np.ndarray:
    """Sum of the cells that fall on one another when frequency is taken modulo the symbol rate, shape (..., period)."""
    n_f = power.shape[-1]
    padded = np.zeros((*power.shape[:-1], -(-n_f // period) * period))
    padded[..., :n_f] = power
    return padded.reshape(*power.shape[:-1], -1, period).sum(axis=-2)


def fold(psd: np.ndarray, df: float, symbol_time: float) -> np.ndarray:
    """PSD [V^2/Hz] of the noise sampled once a symbol: every alias folded into 0 .. half the symbol rate.

    ``psd``: (..., n_f) from f = 0 in steps of ``df`` [Hz]. The grid must have a whole, even number N of steps in the symbol
    rate. Returns (..., N // 2 + 1), one-sided; its trapezoid integral is that of ``psd``, the variance.
    """
    check.positive("fold", "df", df, "Hz")
    check.positive("fold", "symbol_time", symbol_time, "s")
    period = _symbols_in_record(df, symbol_time)
    if period < 2 or period % 2:
        raise check.fail("fold", "df", "the symbol rate over an even number", df, f"1/(df T) = {1 / (df * symbol_time):g}")
    full = _aliased(_weighted(psd, df), period)
    half = period // 2
    folded = full[..., : half + 1].copy()
    folded[..., 1:half] += full[..., :half:-1]
    # The two ends are half cells of the folded grid: give them the density of a whole one.
    folded[..., 0] *= 2
    folded[..., half] *= 2
    return folded / df


def autocovariance(psd: np.ndarray, df: float, symbol_time: float, n_lags: int) -> np.ndarray:
    """Autocovariance r[k] [V^2] of the noise at lags 0, T .. (n_lags - 1) T: the integral of psd(f) cos(2 pi f k T).

    ``psd``: (..., n_f) from f = 0 in steps of ``df`` [Hz]; trapezoid rule, r[0] is the variance (Wiener-Khinchin). By FFT where
    the grid fits the symbol rate, else by direct sums. The longest lag must be at most half of 1/df: beyond it the sampled
    spectrum repeats itself.
    """
    check.positive("autocovariance", "df", df, "Hz")
    check.positive("autocovariance", "symbol_time", symbol_time, "s")
    check.count("autocovariance", "n_lags", n_lags, 1)
    if (n_lags - 1) * symbol_time * df > 0.5 + 1e-9:
        raise check.fail("autocovariance", "n_lags", f"at most {int(0.5 / (symbol_time * df)) + 1} on this grid", n_lags)
    power = _weighted(psd, df)
    period = _symbols_in_record(df, symbol_time)
    if period:
        return np.fft.fft(_aliased(power, period)).real[..., :n_lags]
    turns = np.arange(power.shape[-1]) * (df * symbol_time)
    return np.stack([power @ np.cos(2 * np.pi * k * turns) for k in range(n_lags)], axis=-1)


@dataclass(frozen=True, kw_only=True)
class Jitter:
    """Displacement of an edge or a sampling instant [UI]: Gaussian of rms ``random_ui`` plus two Diracs at +-``dual_dirac_ui``.

    These are sigma_RJ and A_DD of IEEE 802.3 Annex 93A; the peak-to-peak dual-Dirac jitter is 2 A_DD. ``correlation``: of two
    displacements one symbol apart, its k-th power k symbols apart; 0 is jitter afresh each symbol, near 1 slow wander.
    """

    random_ui: float = 0.0
    dual_dirac_ui: float = 0.0
    correlation: float = 0.0

    def __post_init__(self) -> None:
        check.between(self, "random_ui", self.random_ui, 0, 0.5, "UI")
        check.between(self, "dual_dirac_ui", self.dual_dirac_ui, 0, 0.5, "UI")
        check.between(self, "correlation", self.correlation, 0, 0.9999)

    @property
    def variance_ui2(self) -> float:
        """Variance A_DD^2 + sigma_RJ^2 [UI^2] (93A-32)."""
        return self.dual_dirac_ui**2 + self.random_ui**2


def autocorrelation(h: np.ndarray) -> np.ndarray:
    """Periodic autocorrelation sum_n h[n] h[n + k] along the last axis, the same shape."""
    return np.fft.irfft(np.abs(np.fft.rfft(h, axis=-1)) ** 2, h.shape[-1], axis=-1)


def _correlation(jitter: Jitter, n: int) -> np.ndarray:
    """Correlation of the jitter over 0, 1, ... symbols, mirrored about n/2 to multiply a periodic autocovariance."""
    k = np.arange(n)
    return jitter.correlation ** np.minimum(k, n - k)


def sampling_jitter_autocovariance(slopes: np.ndarray, jitter: Jitter, mean_square: float) -> np.ndarray:
    """Autocovariance [V^2], shape (..., n) periodic, of the amplitude noise of jittered sampling instants.

    A displacement moves the whole waveform: noise[k] = J_k sum_n a_n h'(kT - nT). ``slopes`` [V/UI], shape (..., n): slope
    of the pulse response at the sampling instants (93A-28), a window that holds all of it. ``mean_square``: of the
    independent symbols a_n. Lag 0 is (93A-32); with slow jitter the whole is S_jn of (178A-23).
    """
    return mean_square * jitter.variance_ui2 * _correlation(jitter, slopes.shape[-1]) * autocorrelation(slopes)


def edge_jitter_autocovariance(
    edge_response: np.ndarray, jitter: Jitter, mean_square: float, transmit_taps: tuple[float, ...] = (1.0,)
) -> np.ndarray:
    """Autocovariance [V^2], shape (..., n) periodic, of the noise that jittered transmit edges make.

    Each edge is displaced and the channel answers with its impulse response: noise = sum_n J_n d_n g(t - nT), d the steps of
    the transmitted waveform. ``edge_response`` [V/UI], shape (..., n): g at the sampling instants, a window that holds all of
    it. The covariance of J_n d_n is the product of theirs: independent edges leave lag 0 alone; where edges move together the
    steps turn g into the slope of the pulse, g(t) - g(t - T), and this becomes `sampling_jitter_autocovariance`.
    """
    n = edge_response.shape[-1]
    taps = np.zeros(n)
    taps[: len(transmit_taps)] = transmit_taps
    steps = mean_square * autocorrelation(taps - np.roll(taps, 1))
    source = jitter.variance_ui2 * _correlation(jitter, n) * steps
    power = np.abs(np.fft.rfft(edge_response, axis=-1)) ** 2 * np.fft.rfft(source).real
    return np.fft.irfft(power, n, axis=-1)
