"""Active copper: the linear redriver in the connector of an active cable. A retimer is not a channel: it ends a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from channels.channel import LinearChannel
from dsp import check
from dsp.units import from_db


@final
@dataclass(frozen=True, kw_only=True)
class Redriver(LinearChannel):
    """A unilateral linear amplifier with peaking.

    H = g (1 + (p - 1) (s + s^2) / (1 + s + s^2)) / (1 + j f / f_2) with s = j f / f_0:
    ``gain_db`` g at DC, ``peaking_db`` p over it well above ``peak_frequency`` f_0 [Hz]; ``bandwidth`` f_2 [Hz] ends it.
    ``noise_density`` [V^2/Hz], one-sided, white, at the input. Both ends are matched, so reflections do not pass; clipping is
    left out: keep the swing in mind where the gain is above the loss before it.
    """

    gain_db: float
    peaking_db: float
    peak_frequency: float
    bandwidth: float
    noise_density: float

    def __post_init__(self) -> None:
        check.between(self, "gain_db", self.gain_db, -20, 40, "dB")
        check.between(self, "peaking_db", self.peaking_db, 0, 40, "dB")
        check.between(self, "peak_frequency", self.peak_frequency, 1e6, 1e13, "Hz", hint="is it in hertz? 20 GHz is 20e9")
        check.between(self, "bandwidth", self.bandwidth, 1e6, 1e13, "Hz", hint="is it in hertz? 60 GHz is 60e9")
        check.between(self, "noise_density", self.noise_density, 0, 1e-12, "V^2/Hz", hint="1e-8 V^2/GHz is 1e-17 V^2/Hz")

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Small-signal voltage transfer, complex, shape of ``f`` [Hz]."""
        s = 1j * np.asarray(f, float) / self.peak_frequency
        rise = (s + s**2) / (1 + s + s**2)
        gain, peak = from_db(self.gain_db), from_db(self.peaking_db)
        return gain * (1 + (peak - 1) * rise) / (1 + 1j * np.asarray(f, float) / self.bandwidth)

    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:  # noqa: ARG002
        """One-sided density at the output [V^2/Hz]: the input noise through the transfer."""
        return self.noise_density * np.abs(self.transfer(f)) ** 2
