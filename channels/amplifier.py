"""Optical amplifiers, their noise, and the optical signal-to-noise ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from channels.fiber import SPEED_OF_LIGHT
from channels.vcsel import PLANCK
from dsp import check
from dsp.units import GHz, db_power, from_db_power

OSNR_BANDWIDTH = 12.5 * GHz
"""Bandwidth [Hz] in which the noise of an OSNR is counted, 0.1 nm at 1550 nm, both polarisations."""


@final
@dataclass(frozen=True, kw_only=True)
class Edfa:
    """Amplifier of ``noise_figure_db``. ``gain_db``: None makes up the loss in front of it. It never saturates."""

    noise_figure_db: float = 5.5
    gain_db: float | None = None

    def __post_init__(self) -> None:
        check.between(self, "noise_figure_db", self.noise_figure_db, 3, 20, "dB", hint="an ideal amplifier has 3 dB")
        if self.gain_db is not None:
            check.between(self, "gain_db", self.gain_db, 0, 60, "dB")

    def noise_density(self, gain_db: float, wavelength: float) -> float:
        """Density of its spontaneous emission at its output in one polarisation [W/Hz], F G h nu / 2.

        F is taken as stated at this gain and the 1 in F = 2 n_sp (G - 1) / G + 1 / G is left out: too much noise by 0.02 dB at a
        gain of 17 dB, 0.7 dB at 3 dB. Without any gain there is no amplifier and no noise.
        """
        if gain_db == 0:
            return 0.0
        return float(from_db_power(self.noise_figure_db + gain_db)) * PLANCK * SPEED_OF_LIGHT / wavelength / 2


def osnr_of(power: float, noise_density: float) -> float:
    """OSNR [dB, 0.1 nm] of ``power`` [W] in both polarisations over ``noise_density`` [W/Hz] in each of them."""
    with np.errstate(divide="ignore"):
        return float(db_power(np.divide(power, 2 * noise_density * OSNR_BANDWIDTH)))


def noise_density_of(power: float, osnr_db: float) -> float:
    """Noise [W/Hz] in each polarisation that gives ``osnr_db`` [dB, 0.1 nm] to ``power`` [W]; the inverse of `osnr_of`."""
    return float(power / (2 * OSNR_BANDWIDTH * from_db_power(osnr_db)))


def snr_from_osnr(osnr_db: float, symbol_rate: float) -> float:
    """SNR [dB] of each polarisation after a matched filter at ``symbol_rate`` [Bd] (R.-J. Essiambre et al., JLT 28, 2010)."""
    check.symbol_rate("snr_from_osnr", "symbol_rate", symbol_rate)
    return float(osnr_db + db_power(OSNR_BANDWIDTH / symbol_rate))


def osnr_from_snr(snr_db: float, symbol_rate: float) -> float:
    """OSNR [dB, 0.1 nm] at which noise alone leaves ``snr_db``; the inverse of `snr_from_osnr`."""
    check.symbol_rate("osnr_from_snr", "symbol_rate", symbol_rate)
    return float(snr_db + db_power(symbol_rate / OSNR_BANDWIDTH))


def combined_db(*ratios_db: float) -> float:
    """Ratio [dB] of a signal to the sum of independent noises, each given as its own ratio [dB]."""
    with np.errstate(divide="ignore"):
        return float(-db_power(np.sum(from_db_power(-np.asarray(ratios_db, float)))))
