"""The electrical way from a host to its module as one number: the loss at a frequency, with the shape of a board."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from channels.channel import LinearChannel
from dsp import check
from dsp.units import THz, ns

_TOP = 1 * THz


@final
@dataclass(frozen=True, kw_only=True)
class HostLoss(LinearChannel):
    """A matched, causal line of ``loss_db`` at ``frequency`` [Hz]: loss (s sqrt(x) + (1 - s) x), x = f / ``frequency``, s ``skin``.

    Skin effect lags by as much as it attenuates; dielectric loss lags by 2/pi ln(f_top / f) of it (Kramers and Kronig), which is
    a constant loss tangent up to 1 THz. ``delay`` [s] comes on top. No reflections, no crosstalk.
    """

    loss_db: float
    frequency: float
    skin: float = 0.5
    delay: float = 1 * ns

    def __post_init__(self) -> None:
        check.between(self, "loss_db", self.loss_db, 0, 100, "dB")
        check.between(self, "frequency", self.frequency, 1e6, 1e13, "Hz", hint="is it in hertz? 53 GHz is 53e9")
        check.between(self, "skin", self.skin, 0, 1)
        check.between(self, "delay", self.delay, 0, 1e-6, "s", hint="is it in seconds? 1 ns is 1e-9")

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Complex, shape of ``f`` [Hz]."""
        f = np.asarray(f, float)
        x = f / self.frequency
        neper = self.loss_db * np.log(10) / 20
        skin = neper * self.skin * np.sqrt(x) * (1 + 1j)
        lag = 2 / np.pi * np.log(_TOP / np.maximum(f, 1.0))
        return np.exp(-skin - neper * (1 - self.skin) * x * (1 + 1j * lag) - 2j * np.pi * f * self.delay)
