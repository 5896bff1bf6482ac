"""Optical fibre: loss, dispersion and its slope, polarisation-mode dispersion; modes and partition noise of multimode fibre.

Time runs in the frame of the carrier's group: the flight time (`flight_time`, 4.9 us/km) is latency, not part of a waveform.
A fixed `lead` of it is kept, so that the components which arrive before the carrier arrive after time 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from dsp import check
from dsp.units import GHz, MHz, km, nm, ps

SPEED_OF_LIGHT = 299_792_458.0
_GROUP_INDEX = 1.468
_BAND = 400 * GHz
"""Distance from the carrier [Hz] up to which components keep their place in time."""
_REST = 60 * ps


class _Fiber:
    """What both kinds share: the range of wavelengths of the model, the dispersion law and the flight time."""

    length: float
    zero_dispersion: float
    slope: float
    _range: ClassVar[tuple[float, float]]
    _longest: ClassVar[float]

    def _check_glass(self) -> None:
        check.between(self, "length", self.length, 0, self._longest, "m", hint="is it in metres? 2 km is 2000")
        check.between(self, "zero_dispersion", self.zero_dispersion, 1250 * nm, 1600 * nm, "m", hint="1310 nm is 1310e-9")
        check.between(self, "slope", self.slope, 0, 300, "s/m^3", hint="0.092 ps/nm^2/km is 92 s/m^3")

    def check_wavelength(self, wavelength: float) -> None:
        """``ValueError`` for a ``wavelength`` [m] outside the range of the model."""
        low, high = self._range
        if not low <= wavelength <= high:
            raise check.fail(self, "wavelength", f"from {low / nm:g} to {high / nm:g} nm, the range of the model", wavelength)

    def dispersion_at(self, wavelength: float) -> float:
        """Chromatic dispersion D [s/m^2] at ``wavelength`` [m] (ITU-T G.652); 1e-6 s/m^2 is 1 ps/nm/km."""
        self.check_wavelength(wavelength)
        return self.slope / 4 * (wavelength - self.zero_dispersion**4 / wavelength**3)

    @property
    def flight_time(self) -> float:
        """Time the carrier's group takes [s]; not in the waveforms."""
        return self.length * _GROUP_INDEX / SPEED_OF_LIGHT


@final
@dataclass(frozen=True, kw_only=True)
class SingleModeFiber(_Fiber):
    """Single-mode fibre of ``length`` [m] (G.652), linear: fields below about 10 dBm.

    Dispersion D = S0/4 (lambda - lambda0^4 / lambda^3) from ``zero_dispersion`` lambda0 [m] and ``slope`` S0 [s/m^3], or
    ``dispersion`` D [s/m^2] as given. ``loss_db_per_km``: None takes 0.35 dB/km below 1400 nm and 0.2 above.
    ``dgd`` [s]: first-order differential group delay, power shared evenly, which is the worst case.
    """

    length: float
    zero_dispersion: float = 1310 * nm
    slope: float = 0.092 * ps / nm**2 / km
    dispersion: float | None = None
    loss_db_per_km: float | None = None
    dgd: float = 0.0
    _range = (1260 * nm, 1675 * nm)
    _longest = 200 * km

    def __post_init__(self) -> None:
        self._check_glass()
        if self.dispersion is not None:
            hint = "17 ps/nm/km is 17e-6 s/m^2"
            check.between(self, "dispersion", self.dispersion, -1e-3, 1e-3, "s/m^2", hint=hint)
        if self.loss_db_per_km is not None:
            check.between(self, "loss_db_per_km", self.loss_db_per_km, 0, 10, "dB/km")
        check.between(self, "dgd", self.dgd, 0, 1e-10, "s", hint="is it in seconds? 2 ps is 2e-12")

    def dispersion_at(self, wavelength: float) -> float:
        """As given, else by the law [s/m^2] at ``wavelength`` [m]; 1e-6 s/m^2 is 1 ps/nm/km."""
        by_law = super().dispersion_at(wavelength)
        return by_law if self.dispersion is None else self.dispersion

    def loss_db(self, wavelength: float) -> float:
        """Loss of the whole length [dB]."""
        per_km = self.loss_db_per_km
        if per_km is None:
            per_km = 0.35 if wavelength < 1400 * nm else 0.2
        return per_km * self.length / km

    def betas(self, wavelength: float) -> tuple[float, float]:
        """Second and third derivative of the phase over the whole length [s^2], [s^3].

        beta2 = -D lambda^2 / (2 pi c), beta3 = (lambda^2 / (2 pi c))^2 (S + 2 D / lambda).
        """
        d = self.dispersion_at(wavelength)
        slope = self.slope / 4 * (1 + 3 * (self.zero_dispersion / wavelength) ** 4)
        scale = wavelength**2 / (2 * np.pi * SPEED_OF_LIGHT)
        return -d * scale * self.length, scale**2 * (slope + 2 * d / wavelength) * self.length

    def lead(self, wavelength: float) -> float:
        """Delay kept [s]: the fastest component within 400 GHz of the carrier arrives after time 0."""
        b2, b3 = self.betas(wavelength)
        w = 2 * np.pi * _BAND
        return abs(b2) * w + abs(b3) * w**2 / 2 + _REST

    def field_transfer(self, f: np.ndarray, wavelength: float) -> np.ndarray:
        """Transfer of the field's envelope at ``f`` [Hz] from the carrier, either sign, loss left out.

        exp(-j beta2 w^2 / 2 - j beta3 w^3 / 6) in the basis e^{+jwt}, times the delay `lead`.
        """
        w = 2 * np.pi * np.asarray(f, float)
        b2, b3 = self.betas(wavelength)
        return np.exp(-1j * (b2 * w**2 / 2 + b3 * w**3 / 6 + w * self.lead(wavelength)))

    def intensity_transfer(self, f: np.ndarray, wavelength: float, chirp: float) -> np.ndarray:
        """Small-signal transfer of the intensity, loss left out: cos(theta) - chirp sin(theta), theta = pi lambda^2 D L f^2 / c.

        For a source whose phase follows its power by ``chirp`` = 2 P dphi/dP (J. Wang and K. Petermann, JLT 10, 1992). The
        slope of the dispersion and `lead` are delays here.
        """
        w = 2 * np.pi * np.asarray(f, float)
        b2, b3 = self.betas(wavelength)
        theta = -b2 * w**2 / 2
        return (np.cos(theta) - chirp * np.sin(theta)) * np.exp(-1j * (b3 * w**3 / 6 + w * self.lead(wavelength)))

    def power_transfer(self, f: np.ndarray) -> np.ndarray:
        """What the two principal states of polarisation do to the detected power; 60 ps of delay come with it."""
        w = 2 * np.pi * np.asarray(f, float)
        return (1 + np.exp(-1j * w * self.dgd)) / 2 * np.exp(-1j * w * (_REST if self.dgd else 0.0))


@final
@dataclass(frozen=True, kw_only=True)
class MultimodeFiber(_Fiber):
    """Multimode fibre of ``length`` [m] in the power domain.

    ``modal_bandwidth`` [Hz m]: bandwidth times length at which the detected power falls to half. ``spectral_width`` [m] rms of
    the source. ``zero_dispersion`` [m], ``slope`` [s/m^3] as in `SingleModeFiber`. ``partition`` k of the mode partition noise at
    ``partition_rate`` [Bd]; 0 for none.
    """

    length: float
    modal_bandwidth: float = 4700 * MHz * km
    spectral_width: float = 0.6 * nm
    zero_dispersion: float = 1316 * nm
    slope: float = 0.10275 * ps / nm**2 / km
    loss_db_per_km: float = 3.0
    partition: float = 0.0
    partition_rate: float = 53.125 * GHz
    _range = (840 * nm, 953 * nm)
    _longest = 5 * km

    def __post_init__(self) -> None:
        self._check_glass()
        check.between(self, "modal_bandwidth", self.modal_bandwidth, 1e10, 1e14, "Hz m", hint="4700 MHz km is 4.7e12 Hz m")
        check.between(self, "spectral_width", self.spectral_width, 0, 5 * nm, "m", hint="0.6 nm is 0.6e-9")
        check.between(self, "loss_db_per_km", self.loss_db_per_km, 0, 20, "dB/km")
        check.between(self, "partition", self.partition, 0, 1)
        check.symbol_rate(self, "partition_rate", self.partition_rate)

    def loss_db(self, wavelength: float) -> float:
        """Loss of the whole length [dB]."""
        self.check_wavelength(wavelength)
        return self.loss_db_per_km * self.length / km

    def spread(self, wavelength: float) -> float:
        """Rms spread of arrival by wavelength [s], D L sigma_lambda."""
        return abs(self.dispersion_at(wavelength)) * self.length * self.spectral_width

    def lead(self, wavelength: float) -> float:
        """Delay kept [s]: the symmetric response begins after time 0."""
        return 4 * self.spread(wavelength) + 0.6 * self.length / self.modal_bandwidth + _REST

    def power_transfer(self, f: np.ndarray, wavelength: float) -> np.ndarray:
        """Transfer of the detected power, loss left out: Gaussian modal and chromatic responses, times the delay `lead`."""
        f = np.asarray(f, float)
        modal = np.exp(-np.log(2) * (f * self.length / self.modal_bandwidth) ** 2)
        chromatic = np.exp(-((2 * np.pi * f * self.spread(wavelength)) ** 2) / 2)
        return modal * chromatic * np.exp(-2j * np.pi * f * self.lead(wavelength))

    def partition_rms(self, wavelength: float) -> float:
        """Rms of the mode partition noise over the modulated power, k/sqrt2 (1 - exp(-(pi B D L sigma)^2)) (K. Ogawa, JQE 18, 1982)."""
        spread = np.pi * self.partition_rate * self.spread(wavelength)
        return float(self.partition / np.sqrt(2) * -np.expm1(-(spread**2)))


def dispersion_null(fiber: SingleModeFiber, wavelength: float, frequency: float) -> float:
    """Length [m] at which dispersion leaves no intensity modulation at ``frequency`` [Hz] of light without chirp.

    c / (2 |D| (lambda f)^2); infinite without dispersion, to the 1e-3 ps/nm/km that a fibre's zero is known to.
    """
    d = abs(fiber.dispersion_at(wavelength))
    return float(SPEED_OF_LIGHT / (2 * d * (wavelength * frequency) ** 2)) if d > 1e-9 else float("inf")


OM3, OM4, OM5 = 2000 * MHz * km, 4700 * MHz * km, 4700 * MHz * km
"""Effective modal bandwidth at 850 nm [Hz m], TIA-492AAAC, -AAAD, -AAAE as restated by the TIA Fiber Optics Tech Consortium."""
