"""Multipliers for people who type numbers, and the decibel in both its meanings.

Everything inside the library is SI. Write ``length=2 * m``, ``symbol_rate=53.125 * GBd``. These are the only powers of ten.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Hz, kHz, MHz, GHz, THz = 1.0, 1e3, 1e6, 1e9, 1e12
Bd, MBd, GBd = 1.0, 1e6, 1e9
bps, Gbps, Tbps = 1.0, 1e9, 1e12
s, ms, us, ns, ps, fs = 1.0, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15
m, cm, mm, um, nm, km = 1.0, 1e-2, 1e-3, 1e-6, 1e-9, 1e3
inch, mil = 25.4e-3, 25.4e-6
V, mV, uV = 1.0, 1e-3, 1e-6
A, mA, uA, pA = 1.0, 1e-3, 1e-6, 1e-12
W, mW, uW, nW, pW = 1.0, 1e-3, 1e-6, 1e-9, 1e-12
J, pJ, fJ = 1.0, 1e-12, 1e-15
F, nF, pF, fF = 1.0, 1e-9, 1e-12, 1e-15
H, uH, nH, pH = 1.0, 1e-6, 1e-9, 1e-12
ohm, mohm = 1.0, 1e-3
byte, GB, TB = 8.0, 8e9, 8e12
percent, ppm = 1e-2, 1e-6


def db(ratio: npt.ArrayLike) -> np.ndarray:
    """Decibels of an amplitude ratio, 20 log10 |ratio|: voltages, S-parameters, COM. Zero gives -inf without a warning.

    >>> float(db(0.1))
    -20.0
    """
    with np.errstate(divide="ignore"):
        return 20 * np.log10(np.abs(ratio))


def db_power(ratio: npt.ArrayLike) -> np.ndarray:
    """Decibels of a power ratio, 10 log10 (ratio): optical power, SNR of variances. Zero gives -inf without a warning."""
    with np.errstate(divide="ignore"):
        return 10 * np.log10(ratio)


def from_db(decibels: npt.ArrayLike) -> np.ndarray:
    """Amplitude ratio of ``decibels``; the inverse of `db`."""
    return 10 ** (np.asarray(decibels, float) / 20)


def from_db_power(decibels: npt.ArrayLike) -> np.ndarray:
    """Power ratio of ``decibels``; the inverse of `db_power`."""
    return 10 ** (np.asarray(decibels, float) / 10)


def dbm(power: npt.ArrayLike) -> np.ndarray:
    """Power [W] in dBm, 10 log10 (power / 1 mW)."""
    return db_power(np.asarray(power, float) / mW)


def from_dbm(power_dbm: npt.ArrayLike) -> np.ndarray:
    """Power [W] of ``power_dbm``; the inverse of `dbm`."""
    return mW * from_db_power(power_dbm)
