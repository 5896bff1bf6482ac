"""Filters as functions of frequency: receiver noise filters, the transmitted edge, the held symbol, the CTLE.

Each takes ``f`` [Hz], any shape, and answers the transfer function there, dimensionless, e^{+jwt}.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check

# Frequency scale that puts the 3 dB point of 105 / (105 + 105 y + 45 y^2 + 10 y^3 + y^4) at y = j * this.
_BESSEL4_SCALE = 2.113917674904216


def butterworth4(f: np.ndarray, bandwidth: float) -> np.ndarray:
    """Fourth-order Butterworth low pass with its 3 dB point at ``bandwidth`` [Hz]: H_r of IEEE 802.3 (93A-20)."""
    check.positive("butterworth4", "bandwidth", bandwidth, "Hz")
    s = 1j * np.asarray(f, float) / bandwidth
    return 1 / (1 + s * (2.613126 + s * (3.414214 + s * (2.613126 + s))))


def bessel_thomson4(f: np.ndarray, bandwidth: float) -> np.ndarray:
    """Fourth-order Bessel-Thomson low pass with its 3 dB point at ``bandwidth`` [Hz] (ITU-T G.957, IEEE 802.3 TDECQ receiver).

    Group delay at f = 0: 2.1139 / (2 pi bandwidth), kept.
    """
    check.positive("bessel_thomson4", "bandwidth", bandwidth, "Hz")
    y = _BESSEL4_SCALE * 1j * np.asarray(f, float) / bandwidth
    return 105 / (105 + y * (105 + y * (45 + y * (10 + y))))


def gaussian_edge(f: np.ndarray, rise_time: float) -> np.ndarray:
    """Gaussian edge filter exp(-2 (pi f T_r / 1.6832)^2), IEEE 802.3 (93A-46); real, no delay.

    ``rise_time`` T_r [s]: 20 % to 80 % of a step. Zero is no filter.
    """
    check.not_negative("gaussian_edge", "rise_time", rise_time, "s")
    return np.exp(-2 * (np.pi * np.asarray(f, float) * rise_time / 1.6832) ** 2)


def zero_order_hold(f: np.ndarray, symbol_time: float) -> np.ndarray:
    """Spectrum of a rectangle of length ``symbol_time`` [s] over its area: sin(pi f T) / (pi f T), the X of (93A-23) over T.

    The rectangle is centred on t = 0, so the spectrum is real and has no half-symbol delay.
    """
    check.positive("zero_order_hold", "symbol_time", symbol_time, "s")
    return np.sinc(np.asarray(f, float) * symbol_time)


@dataclass(frozen=True, kw_only=True)
class Ctle:
    """Continuous-time linear equaliser with two gain stages, IEEE 802.3 (93A-22), and the settings it may take.

    ``zero``, ``pole1``, ``pole2``: f_z, f_p1, f_p2 [Hz]. ``low_frequency_pole``: f_LF [Hz], pole and (at 0 dB) zero of the
    second stage. ``gains_db``, ``low_gains_db``: the values of g_DC and g_DC2 to choose from [dB]; one of each is a fixed
    equaliser. A low gain of 0 dB makes the second stage exactly 1.
    """

    zero: float
    pole1: float
    pole2: float
    low_frequency_pole: float
    gains_db: tuple[float, ...]
    low_gains_db: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        for field in ("zero", "pole1", "pole2", "low_frequency_pole"):
            check.positive(self, field, getattr(self, field), "Hz")
        check.numbers(self, "gains_db", self.gains_db, 1)
        check.numbers(self, "low_gains_db", self.low_gains_db, 1)

    @property
    def candidates(self) -> tuple[tuple[float, float], ...]:
        """Every pair (gain_db, low_gain_db)."""
        return tuple((gain, low) for gain in self.gains_db for low in self.low_gains_db)

    def transfer(self, f: np.ndarray, gain_db: float, low_gain_db: float = 0.0) -> np.ndarray:
        """H_ctf of (93A-22) at ``f`` for one setting; at f = 0 it is the sum of both gains in dB."""
        jf = 1j * np.asarray(f, float)
        peaking = (10 ** (gain_db / 20) + jf / self.zero) / ((1 + jf / self.pole1) * (1 + jf / self.pole2))
        low = (10 ** (low_gain_db / 20) + jf / self.low_frequency_pole) / (1 + jf / self.low_frequency_pole)
        return peaking * low
