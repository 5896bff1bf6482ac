"""What a sequence detector adds to COM: 178A.1.10 of P802.3dj/D3.3, and the older form of the script r4.50."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from serdes.com_bank import receiver_lags
from serdes.com_dfe import Equalised
from serdes.com_noise import Law, signal_amplitude
from serdes.com_sheet import Sheet

_ENOUGH = 1e-4
_MOST_TERMS = 100
_ETA = 1e-17  # any density [V^2/Hz]: only the shape it gets is used


@dataclass(frozen=True, kw_only=True)
class Mlsd:
    """``gain_db`` over the DFE (0 or more), ``error_ratio`` of the detector, ``added_noise`` [V] rms at the decision that the
    rule of 178A.1.10.1 puts in, ``terms`` of the sum.
    """

    gain_db: float
    error_ratio: float
    added_noise: float = 0.0
    terms: int = 0


def mlsd(sheet: Sheet, e: Equalised, law: Law) -> Mlsd:
    """The gain by ``sheet.mlsd``; ``law``: interference and noise at the decision."""
    if sheet.mlsd == "none" or not e.feedback:
        return Mlsd(gain_db=0.0, error_ratio=sheet.DER_0)
    return _draft(sheet, e, law) if sheet.mlsd == "D3.3" else _script(sheet, e, law)


def _script(sheet: Sheet, e: Equalised, law: Law) -> Mlsd:
    """r4.50, MLSE 1: error ratio 2 sum j ((L-1)/L)^j P(X > A_s sqrt(1 + (j-1)(1-b)^2 + b^2)), turned back into an amplitude."""
    signal, b, n = signal_amplitude(sheet, e.main), e.feedback[0], sheet.L
    if signal < law.quantile(sheet.DER_0):
        return Mlsd(gain_db=0.0, error_ratio=sheet.DER_0)
    total, j = 0.0, 0
    while j < _MOST_TERMS:
        j += 1
        term = 2 * j * ((n - 1) / n) ** j * law.tail(signal * np.sqrt(1 + (j - 1) * (1 - b) ** 2 + b**2))
        total += term
        if term <= 1e-3 * total:
            break
    ratio = 0.5 * total * (n / (n - 1) - law.tail((1 - 2 * b) * signal))
    return Mlsd(gain_db=float(20 * np.log10(law.quantile(ratio) / signal)), error_ratio=float(total), terms=j)


def added_noise(sheet: Sheet, law: Law) -> float:
    """Variance [V^2] of the Gaussian noise that raises the amplitude at DER_0 by ``Delta_COM`` (178A.1.10.1).

    It is g_an times the receiver's, whose shape it takes; in the limit of none, what the rule comes to.
    """
    from scipy.optimize import brentq

    now = law.quantile(sheet.DER_0)
    goal = now * 10 ** (sheet.Delta_COM / 20)
    if sheet.Delta_COM == 0:
        return 0.0
    high = now**2
    while louder(law, high).quantile(sheet.DER_0) < goal:
        high *= 4
    return float(brentq(lambda v: louder(law, v).quantile(sheet.DER_0) / goal - 1, 0.0, high, xtol=1e-9 * high, rtol=1e-6))


def louder(law: Law, variance: float) -> Law:
    """The law with Gaussian noise of ``variance`` [V^2] added."""
    return Law(cursors=law.cursors, levels=law.levels, sigma=float(np.sqrt(law.sigma**2 + variance)))


def behind(taps: np.ndarray, lags: np.ndarray, n: int) -> np.ndarray:
    """Autocovariance at lags 0 .. n - 1 behind ``taps`` of noise with autocovariance ``lags``, zero beyond those given."""
    own = np.correlate(taps, taps, "full")
    both = np.concatenate([lags[:0:-1], lags])
    out = np.convolve(both, own)
    middle = lags.size - 1 + taps.size - 1
    return out[middle : middle + n]


def _draft(sheet: Sheet, e: Equalised, law: Law) -> Mlsd:
    signal, b = signal_amplitude(sheet, e.main), e.feedback[0]
    added = added_noise(sheet, law)
    noisy = louder(law, added)
    taps = np.array(e.feed_forward)
    n = _MOST_TERMS + 1
    shape = receiver_lags(replace(sheet, eta_0=_ETA), e.g_DC, e.g_DC2, e.spectra.receiver.size)
    r = behind(taps, e.spectra.total + added * shape / behind(taps, shape, 1)[0], n)
    period = 2 ** int(np.ceil(np.log2(e.isi.size + n)))
    r = r + sheet.mean_square * np.fft.irfft(np.abs(np.fft.rfft(e.isi, period)) ** 2, period)[:n]
    rho = r / r[0]
    total, j = 0.0, 0
    while j < _MOST_TERMS:
        j += 1
        # the error event of length j: 1, -(1 - b), +(1 - b) ..., +-b (178A-51)
        u = np.concatenate([[1.0], (1 - b) * (-1.0) ** np.arange(1, j), [(-1.0) ** (j + 1) * b]])
        v = rho[np.abs(np.subtract.outer(np.arange(j + 1), np.arange(j + 1)))]
        x = signal * (u @ u) ** 1.5 / np.sqrt(u @ v @ u)
        term = ((sheet.L - 1) / sheet.L) ** (j - 1) * _event(noisy, b, j).tail(x)
        total += term
        if term <= _ENOUGH * total:
            break
    gain = 20 * np.log10(noisy.quantile(total) / signal) if 0 < total < 0.5 else 0.0
    return Mlsd(gain_db=max(0.0, float(gain)), error_ratio=float(total), added_noise=float(np.sqrt(added)), terms=j)


def _event(law: Law, b: float, j: int) -> Law:
    """p_j of (178A-54), (178A-55): the law times 1, b and j - 1 times (1 - b), all independent."""
    scales = np.array([1.0, b, *([1 - b] * (j - 1))])
    every = np.concatenate(list(law.cursors.values()))
    every = every[np.abs(every) > 1e-4 * np.max(np.abs(every), initial=0.0)]
    return Law(
        cursors={"all": np.outer(scales, every).ravel()}, levels=law.levels, sigma=float(law.sigma * np.sqrt(np.sum(scales**2)))
    )
