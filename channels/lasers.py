"""Optical sources that turn a voltage into light: the laser behind a modulator, and what all sources answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from dsp import check
from dsp.units import nm


@final
@dataclass(frozen=True, kw_only=True)
class Laser:
    """Continuous light of ``power`` [W] at ``wavelength`` [m].

    ``rin_db`` [dB/Hz]: relative intensity noise, one-sided, None for none. ``linewidth`` [Hz]: of the Wiener phase noise.
    """

    power: float = 20e-3
    wavelength: float = 1310 * nm
    rin_db: float | None = None
    linewidth: float = 0.0

    def __post_init__(self) -> None:
        check.between(self, "power", self.power, 1e-9, 10, "W", hint="is it in watts? 13 dBm is 20e-3")
        check.between(self, "wavelength", self.wavelength, 600 * nm, 2000 * nm, "m", hint="1310 nm is 1310e-9")
        if self.rin_db is not None:
            check.between(self, "rin_db", self.rin_db, -200, -90, "dB/Hz")
        check.between(self, "linewidth", self.linewidth, 0, 1e10, "Hz")

    @property
    def rin(self) -> float:
        """Relative intensity noise [1/Hz], one-sided."""
        return 0.0 if self.rin_db is None else float(10 ** (self.rin_db / 10))


class Source(ABC):
    """Light whose power follows a voltage about its bias, memoryless behind a filter. ``wavelength`` [m] and ``laser`` say whose.

    Power rises with voltage throughout the range from `lowest` to `highest`.
    """

    laser: Laser

    @abstractmethod
    def field(self, v: np.ndarray) -> np.ndarray:
        """Complex envelope [sqrt(W)] at drive ``v`` [V] about the bias, same shape."""

    @abstractmethod
    def power(self, v: np.ndarray) -> np.ndarray:
        """Power [W], the square of the envelope's magnitude."""

    @abstractmethod
    def drive_for(self, power: np.ndarray) -> np.ndarray:
        """Drive [V] at which `power` has the given value [W]; the ends of the range where it can't be reached."""

    @abstractmethod
    def response(self, f: np.ndarray) -> np.ndarray:
        """Small-signal response of the light to the drive over its static value, complex, shape of ``f`` [Hz]."""

    @property
    @abstractmethod
    def extremes(self) -> tuple[float, float]:
        """Lowest and highest power [W]."""

    @property
    def filtered(self) -> bool:
        """Whether `response` is other than 1."""
        return bool(np.any(self.response(np.array([1e9, 1e12])) != 1))

    def slope(self, v: float = 0.0) -> float:
        """dP/dv [W/V] at drive ``v``."""
        return self._derivatives(v)[0]

    def chirp(self, v: float = 0.0) -> float:
        """Chirp parameter 2 P dphi/dP at drive ``v`` (F. Koyama and K. Iga, JLT 6, 1988)."""
        change, turn = self._derivatives(v)
        return 2 * float(self.power(np.array(v))) * turn / change if change else 0.0

    def _derivatives(self, v: float) -> tuple[float, float]:
        """dP/dv and dphi/dv by central differences; both are smooth functions of order one per volt."""
        step = 1e-5
        low, high = self.field(np.array([v - step, v + step]))
        change = (abs(high) ** 2 - abs(low) ** 2) / (2 * step)
        return float(change), float(np.angle(high * np.conj(low)) / (2 * step))
