"""The ends of a coherent link: paths of its converters, modulator of two quadratures, hybrid with balanced photodiodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from channels.optical_path import Photodiode
from channels.vcsel import CHARGE
from dsp import check
from dsp.filters import bessel_thomson4
from dsp.units import from_db, from_db_power, mW


@final
@dataclass(frozen=True, kw_only=True)
class AnaloguePaths:
    """The four electrical paths between converters and optics, two quadratures of two polarisations.

    ``bandwidth`` [Hz]: 3 dB point of converter and amplifier together (Bessel, fourth order), None for no limit. ``skew`` [s]: by
    which quadratures are late against in-phase parts, ``polarization_skew`` [s]: y against x; what calibration has left of them.
    """

    bandwidth: float | None = None
    skew: float = 0.0
    polarization_skew: float = 0.0

    def __post_init__(self) -> None:
        if self.bandwidth is not None:
            check.between(self, "bandwidth", self.bandwidth, 1e8, 1e13, "Hz", hint="is it in hertz? 40 GHz is 40e9")
        for name in ("skew", "polarization_skew"):
            check.between(self, name, getattr(self, name), -1e-10, 1e-10, "s", hint="is it in seconds? 1 ps is 1e-12")

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Response of each path without its skew, shape of ``f`` [Hz]."""
        return np.ones(np.shape(f), complex) if self.bandwidth is None else bessel_thomson4(f, self.bandwidth)

    def carry(self, x: np.ndarray, sample_rate: float) -> np.ndarray:
        """What arrives of ``x`` (2, n), complex, of the same shape; the record is taken as periodic."""
        if self == AnaloguePaths():
            return x
        from scipy import fft

        n = x.shape[-1]
        f = fft.rfftfreq(n, 1 / sample_rate)
        late = np.array([[-1, 1], [-1, 1]]) * self.skew / 2 + np.array([[-1], [1]]) * self.polarization_skew / 2
        paths = fft.rfft(np.stack((x.real, x.imag), axis=1), axis=-1, workers=1)
        y = fft.irfft(paths * self.transfer(f) * np.exp(-2j * np.pi * f * late[:, :, None]), n, axis=-1, workers=1)
        return y[:, 0] + 1j * y[:, 1]


@final
@dataclass(frozen=True, kw_only=True)
class IqModulator:
    """Two nested Mach-Zehnder modulators at the null, in quadrature, for each polarisation.

    E = sin(pi v_I / 2 V_pi + bias) + j e^{j angle} g sin(pi v_Q / 2 V_pi + bias). ``depth``: rms of each drive over V_pi,
    which makes the distortion; ``imbalance_db``: 20 log10 g; ``angle_error`` [rad] from quadrature; ``bias_error`` [rad] from
    the null.
    """

    depth: float = 0.1
    imbalance_db: float = 0.0
    angle_error: float = 0.0
    bias_error: float = 0.0

    def __post_init__(self) -> None:
        check.between(self, "depth", self.depth, 1e-3, 0.5)
        check.between(self, "imbalance_db", self.imbalance_db, -6, 6, "dB")
        check.between(self, "angle_error", self.angle_error, -0.8, 0.8, "rad", hint="5 degrees are 0.087")
        check.between(self, "bias_error", self.bias_error, -0.8, 0.8, "rad")

    def modulate(self, x: np.ndarray, power: float) -> np.ndarray:
        """Fields (2, n) [sqrt(W)] of ``power`` [W] in all for drives ``x`` (2, n), complex, of any size."""
        rms = np.sqrt(np.mean(np.abs(x) ** 2) / 2)
        drive = np.pi / 2 * self.depth / rms * x
        g = from_db(self.imbalance_db) * np.exp(1j * (np.pi / 2 + self.angle_error))
        y = np.sin(drive.real + self.bias_error) + g * np.sin(drive.imag + self.bias_error)
        return y * np.sqrt(power / np.mean(np.sum(np.abs(y) ** 2, axis=0)))


@final
@dataclass(frozen=True, kw_only=True)
class CoherentFrontEnd:
    """A 90 degree hybrid and balanced photodiodes for each polarisation, with the local oscillator.

    ``oscillator_power`` [W]: of both polarisations, at the module's hybrid. ``photodiode``: its responsivity includes the
    hybrid's excess loss, its pole is left out. ``noise_density`` [A^2/Hz]: of each amplifier, one-sided. ``imbalance_db``,
    ``angle_error`` [rad]: of the quadrature against the in-phase output. ``rejection_db``: by which a balanced pair takes away
    what both photodiodes see (common-mode rejection), None for all of it: the rest is the signal's own power, which the linear
    face leaves out, and the oscillator's intensity noise ``oscillator_rin_db`` [dB/Hz].
    """

    oscillator_power: float = 20 * mW
    photodiode: Photodiode = field(default_factory=lambda: Photodiode(responsivity=0.7))
    noise_density: float = 4e-22
    imbalance_db: float = 0.0
    angle_error: float = 0.0
    rejection_db: float | None = None
    oscillator_rin_db: float = -150.0

    def __post_init__(self) -> None:
        check.between(self, "oscillator_power", self.oscillator_power, 1e-6, 1, "W", hint="is it in watts? 13 dBm is 20e-3")
        check.instance(self, "photodiode", self.photodiode, Photodiode)
        check.between(self, "noise_density", self.noise_density, 0, 1e-18, "A^2/Hz", hint="20 pA/sqrt(Hz) is 4e-22")
        check.between(self, "imbalance_db", self.imbalance_db, -6, 6, "dB")
        check.between(self, "angle_error", self.angle_error, -0.8, 0.8, "rad", hint="5 degrees are 0.087")
        if self.rejection_db is not None:
            check.between(self, "rejection_db", self.rejection_db, 0, 80, "dB")
        check.between(self, "oscillator_rin_db", self.oscillator_rin_db, -200, -100, "dB/Hz")

    @property
    def gain(self) -> float:
        """Current of a balanced pair over the field that beats [A/sqrt(W)]."""
        return float(self.photodiode.responsivity * np.sqrt(self.oscillator_power / 2))

    @property
    def current_noise(self) -> float:
        """Density of the noise of each of the four currents [A^2/Hz], one-sided: amplifier, shot and intensity noise."""
        shot = CHARGE * self.photodiode.responsivity * self.oscillator_power / 2 if self.photodiode.shot else 0.0
        steady = self._common * self.photodiode.responsivity * self.oscillator_power / 4
        return self.noise_density + shot + float(from_db_power(self.oscillator_rin_db)) * steady**2

    @property
    def _common(self) -> float:
        """What is left of the sum of a pair's currents in their difference."""
        return 0.0 if self.rejection_db is None else float(from_db(-self.rejection_db))

    def snr(self, power: float, symbol_rate: float) -> float:
        """SNR (a ratio) in each polarisation of ``power`` [W] received in both, from this noise alone."""
        noise = self.current_noise * symbol_rate
        return float(np.divide(self.gain**2 * power / 2, noise)) if noise > 0 else float("inf")

    def detect(self, x: np.ndarray, sample_rate: float, rng: np.random.Generator) -> np.ndarray:
        """Currents [A] for fields ``x`` (2, n) that beat with the oscillator: in-phase + j quadrature, shape of ``x``."""
        clean = self.gain * x
        turned = clean.imag * np.cos(self.angle_error) + clean.real * np.sin(self.angle_error)
        y = clean.real + 1j * from_db(self.imbalance_db) * turned
        if self._common:
            own = self._common * self.photodiode.responsivity * np.abs(x) ** 2 / 2
            y = y + own + 1j * own
        noise = rng.standard_normal((2, *x.shape)) * np.sqrt(self.current_noise * sample_rate / 2)
        return y + noise[0] + 1j * noise[1]
