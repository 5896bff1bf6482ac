"""Pulses and noise of every CTLE setting, ready for the search of Annex 178A.

Every noise spectrum is kept as an autocorrelation over sigma_X^2 at whole symbols, so a candidate is one Toeplitz matrix,
whose entries are quadratic in the transmitter's taps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dsp import filters
from dsp.noise import autocovariance
from serdes.com_channel import ComPath, pulse_behind_ctle
from serdes.com_dfe import ctle_transfer, slope_of
from serdes.com_sheet import Sheet


def n_taps(sheet: Sheet) -> int:
    """How far the receiver FFE reaches, first to last tap."""
    return sheet.N_max if sheet.N_wg else sheet.N_fix


def spare(sheet: Sheet) -> int:
    """Symbols of zeros that taps of both FFEs need on each side of a pulse."""
    return n_taps(sheet) + len(sheet.c_pre) + len(sheet.c_post) + 16


def n_large(sheet: Sheet) -> int:
    """How many largest samples together are surely exceeded with the clipping probability: L^-n >= P_qc."""
    return int(np.floor(-np.log(sheet.P_qc) / np.log(sheet.L)))


def quantiser_scale(sheet: Sheet) -> float:
    """Noise over sigma_X^2 per squared range V_qc: Delta^2 / 12, Delta = 2 V_qc / (2^N_qb - 1) (178A-28, -29); 0: none."""
    return 4 / (2**sheet.N_qb - 1) ** 2 / 12 / sheet.mean_square if sheet.N_qb else 0.0


def wide(sheet: Sheet, pulse: np.ndarray, n_ui: int) -> np.ndarray:
    """The pulse with zeros on both sides, ``n_ui`` symbols in all."""
    out = np.zeros(n_ui * sheet.M)
    start = spare(sheet) * sheet.M
    out[start : start + pulse.size] = pulse
    return out


@dataclass(frozen=True, kw_only=True, eq=False)
class Bank:
    """Every CTLE setting ready for the search: pulses (n_ctle, n) and autocorrelations by phase, over sigma_X^2.

    ``signal``, ``jitter`` (n_ctle, M, n_lags); ``rest`` (n_ctle, n_w): receiver noise and near-end crosstalk; ``far`` (n_ctle,
    n_fext, M, n_lags). ``transmitter``: transmitter noise as a share of ``signal``. ``receiver`` (n_ctle, n_w): receiver noise.
    """

    sheet: Sheet
    settings: tuple[tuple[float, float], ...]
    taps: np.ndarray
    before: int
    pulses: np.ndarray
    signal: np.ndarray
    jitter: np.ndarray
    rest: np.ndarray
    far: np.ndarray
    receiver: np.ndarray
    transmitter: float

    @property
    def autos(self) -> np.ndarray:
        """Autocorrelation of each transmitter setting, (n, n_taps)."""
        n = self.taps.shape[1]
        return np.stack([np.sum(self.taps[:, k:] * self.taps[:, : n - k], axis=1) for k in range(n)], axis=1)


def receiver_lags(sheet: Sheet, g_DC: float, g_DC2: float, n: int) -> np.ndarray:
    """Autocovariance [V^2] of the receiver noise at lags 0 .. n - 1 symbols: S_rn of (178A-19), folded at all M / 2 aliases."""
    points = 2048
    f = np.arange(points * sheet.M // 2 + 1) * (sheet.f_b / points)
    h = filters.butterworth4(f, sheet.f_r * sheet.f_b) * ctle_transfer(sheet, f, g_DC, g_DC2)
    return autocovariance(sheet.eta_0 * np.abs(h) ** 2, sheet.f_b / points, 1 / sheet.f_b, n)


def bank(sheet: Sheet, paths: Sequence[ComPath], settings: Sequence[tuple[float, float]] | None = None) -> Bank:
    """Pulses and autocorrelations of every CTLE setting, or of ``settings``."""
    chosen = tuple(settings) if settings is not None else sheet.ctle_settings
    taps, before = sheet.tx_settings
    n_w, n_lags = n_taps(sheet), n_taps(sheet) + taps.shape[1]
    n_ui = 2 * spare(sheet) + max(-(-path.impulse.size // sheet.M) for path in paths)
    far = [path for path in paths if path.kind == "fext"]
    near = [path for path in paths if path.kind == "next"]
    n_c, m = len(chosen), sheet.M
    made = {
        "pulses": np.empty((n_c, n_ui * m)), "signal": np.empty((n_c, m, n_lags)), "jitter": np.empty((n_c, m, n_lags)),
        "rest": np.empty((n_c, n_w)), "far": np.zeros((n_c, len(far), m, n_lags)), "receiver": np.empty((n_c, n_w)),
    }  # fmt: skip
    moved = sheet.A_DD**2 + sheet.sigma_RJ**2
    period = 2 ** int(np.ceil(np.log2(n_ui + n_lags)))

    def products(x: np.ndarray, n: int) -> np.ndarray:
        """sum_n x[n] x[n - k] at each phase, (M, n)."""
        power = np.abs(np.fft.rfft(x.reshape(-1, m).T, period, axis=1)) ** 2
        return np.fft.irfft(power, period, axis=1)[:, :n]

    for c, (g, g2) in enumerate(chosen):
        x = wide(sheet, pulse_behind_ctle(sheet, paths[0].impulse, g, g2), n_ui)
        made["pulses"][c] = x
        made["signal"][c] = products(x, n_lags)
        made["jitter"][c] = moved * products(slope_of(sheet, x), n_lags)
        made["receiver"][c] = receiver_lags(sheet, g, g2, n_w) / sheet.mean_square
        made["rest"][c] = made["receiver"][c]
        for path in near:
            y = products(wide(sheet, pulse_behind_ctle(sheet, path.impulse, g, g2), n_ui), n_w)
            made["rest"][c] += y[int(np.argmax(y[:, 0]))]
        for k, path in enumerate(far):
            y = wide(sheet, pulse_behind_ctle(sheet, path.impulse, g, g2), n_ui)
            made["far"][c, k] = products(y, n_lags)
    share = 10 ** (-sheet.SNR_TX / 10) * (1.0 if sheet.S_tn == "d0.2" else 1 / sheet.mean_square)
    return Bank(sheet=sheet, settings=chosen, taps=taps, before=before, transmitter=share, **made)
