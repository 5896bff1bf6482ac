"""Intensity-modulated lanes on single-mode fibre, to set beside coherent ones: margin at a distance, and what ends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from channels.fiber import SingleModeFiber, dispersion_null
from dsp import check
from dsp.constellation import pam
from dsp.equalizer import Mmse
from dsp.fec import KP4
from dsp.units import GBd, nm
from experiments.farthest import farthest
from experiments.optical_lanes import laser_of, single_mode
from serdes.link import Link, Receiver, Transmitter
from serdes.metrics import required_snr_db
from serdes.semi_analytic import SemiAnalytic

KP4_BER = 2.4e-4


@final
@dataclass(frozen=True, kw_only=True)
class DirectDetection:
    """A PAM4 lane with a Mach-Zehnder modulator and an equaliser of 21 taps and one of feedback, behind KP4.

    ``power_dbm``: average, into the fibre. The parts are those of `experiments.optical_lanes`, with 1 dB of connectors.
    """

    symbol_rate: float
    wavelength: float
    power_dbm: float = 1.0

    def __post_init__(self) -> None:
        check.symbol_rate(self, "symbol_rate", self.symbol_rate)
        check.between(self, "wavelength", self.wavelength, 1260 * nm, 1675 * nm, "m", hint="1310 nm is 1310e-9")
        check.between(self, "power_dbm", self.power_dbm, -40, 20, "dBm")

    @property
    def label(self) -> str:
        """Rate and wavelength for a legend."""
        return f"PAM4 {self.symbol_rate / GBd:g} GBd, {self.wavelength / nm:g} nm"

    def link(self, length: float, dispersion: bool = True, loss: bool = True) -> Link:
        """The link over ``length`` [m]; either property of the fibre may be left out."""
        flat = {} if dispersion else {"dispersion": 0.0, "slope": 0.0}
        fiber = SingleModeFiber(length=length, loss_db_per_km=None if loss else 0.0, **flat)
        channel = single_mode(self.symbol_rate, laser_of(self.power_dbm, self.wavelength), fiber, loss_db=1.0)
        equalizer = Mmse(n_taps=21, n_precursors=8, n_feedback=1)
        return Link(
            symbol_rate=self.symbol_rate,
            tx=Transmitter(amplitude=1.0),
            channel=channel,
            rx=Receiver(equalizer=equalizer),
            fec=KP4,
        )

    def margin_db(self, length: float, dispersion: bool = True, loss: bool = True) -> float:
        """SNR [dB] over what Gaussian noise alone needs for 2.4e-4; -20 where there is no signal."""
        result = SemiAnalytic(n_symbols=2048).run(self.link(length, dispersion, loss))
        needed = required_snr_db(2 * KP4_BER, pam(4))
        return result.snr_db - needed if np.isfinite(result.snr_db) else -20.0

    def reach(self, dispersion: bool = True, loss: bool = True) -> float:
        """First length [m] at which the margin is gone, `LONGEST` at most."""
        return farthest(lambda x: self.margin_db(x, dispersion, loss), 0.0, 500.0, xtol=10.0, rtol=0.01)

    def null_at_nyquist(self) -> float:
        """Length [m] at which dispersion leaves no modulation at half the symbol rate; infinite without dispersion."""
        return dispersion_null(SingleModeFiber(length=1.0), self.wavelength, self.symbol_rate / 2)
