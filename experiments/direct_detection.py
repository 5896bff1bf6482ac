"""How far intensity modulation goes: PAM4 on a fibre with loss and dispersion, behind the best linear equaliser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import numpy as np

from channels.fiber import SingleModeFiber
from channels.optical_path import Photodiode
from channels.vcsel import CHARGE
from dsp import check
from dsp.units import db_power, from_db_power, from_dbm, km


@final
@dataclass(frozen=True, kw_only=True)
class DirectDetection:
    """A PAM4 lane of intensity modulation.

    ``power_dbm``: average, into the fibre. ``wavelength`` [m]. ``extinction_db``: outer levels. ``chirp``: of the modulator.
    ``noise_density`` [A^2/Hz]: of the amplifier. ``bandwidth`` [Hz]: of all parts together, Gaussian, None for none.
    """

    symbol_rate: float
    wavelength: float
    power_dbm: float = 0.0
    extinction_db: float = 5.0
    chirp: float = 0.0
    noise_density: float = 3.24e-22
    bandwidth: float | None = None
    connector_loss_db: float = 0.5
    photodiode: Photodiode = field(default_factory=Photodiode)

    def __post_init__(self) -> None:
        check.symbol_rate(self, "symbol_rate", self.symbol_rate)
        check.between(self, "wavelength", self.wavelength, 1260e-9, 1675e-9, "m", hint="1310 nm is 1310e-9")
        check.between(self, "power_dbm", self.power_dbm, -40, 20, "dBm")
        check.between(self, "extinction_db", self.extinction_db, 0.1, 40, "dB")
        check.between(self, "chirp", self.chirp, -10, 10)
        check.between(self, "noise_density", self.noise_density, 1e-26, 1e-18, "A^2/Hz")
        if self.bandwidth is not None:
            check.between(self, "bandwidth", self.bandwidth, 1e6, 1e13, "Hz", hint="is it in hertz? 55 GHz is 55e9")
        check.between(self, "connector_loss_db", self.connector_loss_db, 0, 10, "dB")
        check.instance(self, "photodiode", self.photodiode, Photodiode)

    def snr_db(self, length: float) -> float:
        """SNR [dB] behind the linear equaliser of least mean square error, without limit of length (J. Salz, BSTJ 52, 1973).

        Small-signal dispersion (`SingleModeFiber.intensity_transfer`), thermal and shot noise; intensity noise, converters
        and jitter are left out, so it is a bound.
        """
        fiber = SingleModeFiber(length=length)
        loss = fiber.loss_db(self.wavelength) + (2 * self.connector_loss_db if length else 0.0)
        power = float(from_dbm(self.power_dbm - loss))
        ratio = float(from_db_power(self.extinction_db))
        current = self.photodiode.responsivity * power
        outer = current * (ratio - 1) / (ratio + 1)
        noise = self.noise_density + 2 * CHARGE * current
        f = (np.arange(1024) + 0.5) / 2048 * self.symbol_rate
        images = np.concatenate([f[None] + k * self.symbol_rate for k in (-1, 0, 1)])
        shape = np.sinc(images / self.symbol_rate) * np.abs(fiber.intensity_transfer(images, self.wavelength, self.chirp))
        if self.bandwidth is not None:
            shape = shape * np.exp(-np.log(2) / 2 * (images / self.bandwidth) ** 2)
        folded = 5 / 9 * outer**2 / self.symbol_rate / (noise / 2) * np.sum(shape**2, axis=0)
        return float(db_power(1 / np.mean(1 / (1 + folded)) - 1))

    def reach(self, required_snr_db: float, longest: float = 150 * km) -> float:
        """Length [m] up to which the SNR is ``required_snr_db`` or more; 0 where it never is, ``longest`` at most."""
        return _first_failure(lambda length: self.snr_db(length) - required_snr_db, longest)

    def without_dispersion(self, required_snr_db: float, longest: float = 150 * km) -> float:
        """The reach [m] of loss and noise alone."""
        start = self.snr_db(0.0)

        def spare(length: float) -> float:
            less = SingleModeFiber(length=length).loss_db(self.wavelength) + (2 * self.connector_loss_db if length else 0.0)
            return start - 2 * less - required_snr_db

        return _first_failure(spare, longest)


def _first_failure(spare: Callable[[float], float], longest: float) -> float:
    """First zero of ``spare`` from the near end on, in steps of 5 %: beyond a null of the dispersion there may be another window."""
    from scipy.optimize import brentq

    lengths = np.geomspace(10.0, longest, 200)
    before = 0.0
    for length in lengths:
        if spare(float(length)) < 0:
            return 0.0 if spare(before) < 0 else float(brentq(spare, before, float(length), xtol=0.1))
        before = float(length)
    return longest
