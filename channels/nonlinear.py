"""Kerr nonlinearity of single-mode fibre: the Gaussian noise model in closed form, and the Manakov equation step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from channels.fiber import SPEED_OF_LIGHT, SingleModeFiber
from dsp import check
from dsp.units import GHz, from_db_power, km, nm

LEAST_BETA2 = 1e-28
"""Dispersion [s^2/m] below which the closed form is not used: 0.1 ps/nm/km."""
_LONG_DB = 16.0
"""Loss of a span from which on the published length is used."""


@final
@dataclass(frozen=True, kw_only=True)
class Comb:
    """Channels of equal power beside each other: ``channels`` of ``symbol_rate`` [Bd] at a distance of ``spacing`` [Hz]."""

    symbol_rate: float
    channels: int = 1
    spacing: float = 75 * GHz

    def __post_init__(self) -> None:
        check.symbol_rate(self, "symbol_rate", self.symbol_rate)
        check.count(self, "channels", self.channels, 1, 1000)
        if self.channels > 1:
            check.between(self, "spacing", self.spacing, self.symbol_rate, 1e13, "Hz", hint="channels must not overlap")
        check.positive(self, "spacing", self.spacing, "Hz")


def kerr_coefficient(effective_area: float, wavelength: float, index: float = 2.6e-20) -> float:
    """Gamma = 2 pi n2 / (lambda A_eff) [1/(W m)]; ``index`` n2 [m^2/W], ``effective_area`` [m^2], ``wavelength`` [m]."""
    return 2 * np.pi * index / (wavelength * effective_area)


def nonlinear_noise(fiber: SingleModeFiber, gamma: float, power: float, comb: Comb, wavelength: float) -> float:
    """Power [W] of nonlinear interference that one span adds to a channel of ``power`` [W], both in ``comb.symbol_rate``.

    Gaussian noise model, closed form for the centre of a comb (P. Poggiolini, JLT 30, 2012, eq. 13 and 15):
    G = 8/27 gamma^2 G_s^3 L_eff^2 asinh(pi^2/2 |beta2| L_a R^2 N^(2 R / spacing)) / (pi |beta2| L_a). L_a: see
    `asymptotic_length`.

    ``gamma`` [1/(W m)]; ``power`` enters the fibre. Raises ValueError for a fibre without dispersion, where the model has no
    answer.
    """
    beta2 = abs(fiber.betas(wavelength)[0]) / fiber.length
    if beta2 < LEAST_BETA2:
        raise ValueError("nonlinear_noise needs a fibre with dispersion, got one of less than 0.1 ps/nm/km")
    effective = effective_length(fiber, wavelength)
    rate = comb.symbol_rate
    spread = np.pi * beta2 * asymptotic_length(fiber, wavelength)
    density = 8 / 27 * gamma**2 * (power / rate) ** 3 * effective**2 * np.arcsinh(np.pi / 2 * spread * _band(comb)) / spread
    return float(density * rate)


def effective_length(fiber: SingleModeFiber, wavelength: float) -> float:
    """(1 - e^{-alpha L}) / alpha [m], the whole length without loss."""
    share = fiber.loss_db(wavelength) * np.log(10) / 10
    return float(fiber.length * (-np.expm1(-share) / share if share > 0 else 1.0))


def asymptotic_length(fiber: SingleModeFiber, wavelength: float) -> float:
    """Length [m] that sets how far apart waves still mix: 1 / alpha from 16 dB of loss on (ibid.).

    Less loss takes L_eff / (1 + e^{-alpha L}), by which the integral of the mixing efficiency over all distances of waves is kept
    (Parseval), L / 2 without any, times what joins the two at 16 dB, 1.05. Within 0.5 dB of the model's integral from no loss on.
    """
    loss_db = fiber.loss_db(wavelength)
    if loss_db >= _LONG_DB:
        return fiber.length / (loss_db * np.log(10) / 10)
    join = from_db_power(-_LONG_DB)
    kept = effective_length(fiber, wavelength) / (1 + from_db_power(-loss_db))
    return float(kept * (1 + join) / (1 - join))


def coherence(fiber: SingleModeFiber, comb: Comb, wavelength: float) -> float:
    """Exponent beyond 1 of the number of equal spans in the growth of noise, where spans are in step (ibid., eq. 20)."""
    beta2 = abs(fiber.betas(wavelength)[0]) / fiber.length
    effective = effective_length(fiber, wavelength)
    argument = np.arcsinh(np.pi**2 / 2 * beta2 * effective * _band(comb))
    return float(0.3 * np.log1p(6 * effective / (fiber.length * argument)))


def _band(comb: Comb) -> float:
    """Square of the width [Hz^2] that a comb counts for."""
    return comb.symbol_rate**2 * float(comb.channels) ** (2 * comb.symbol_rate / comb.spacing)


def split_step(
    x: np.ndarray, sample_rate: float, fiber: SingleModeFiber, gamma: float, wavelength: float, step_phase: float = 0.02,
    between: Sequence[tuple[float, Callable[[np.ndarray], np.ndarray]]] = (),
) -> np.ndarray:  # fmt: skip
    """Fields (2, n) [sqrt(W)] behind the fibre, loss included, in the frame of the carrier's group; the record is periodic.

    Manakov equation (D. Marcuse et al., JLT 15, 1997) dA/dz = -alpha/2 A + D A - j 8/9 gamma (|A_x|^2 + |A_y|^2) A, e^{+jwt},
    by symmetric split steps, each of ``step_phase`` [rad] at the highest power (O. V. Sinkin et al., JLT 21, 2003). ``between``:
    places [m], rising, and what happens to the spectrum (2, n) there: something linear that commutes with dispersion and loss.
    ``ValueError``: the sampling is too narrow for what three waves of the band make.
    """
    from scipy import fft

    check.between("split_step", "step_phase", step_phase, 1e-4, 0.5, "rad")
    spectrum = fft.fft(np.asarray(x, complex), axis=-1, workers=1)
    _check_band(spectrum, sample_rate)
    f = fft.fftfreq(x.shape[-1], 1 / sample_rate)
    w = 2 * np.pi * f
    b2, b3 = (b / fiber.length for b in fiber.betas(wavelength))
    alpha = fiber.loss_db(wavelength) / fiber.length * np.log(10) / 10
    phase = b2 * w**2 / 2 + b3 * w**3 / 6
    at, field = 0.0, np.asarray(x, complex)
    coefficient = 8 / 9 * gamma
    pending = 0.0
    for place, act in (*between, (fiber.length, None)):
        while at < place:
            power = np.abs(field[0]) ** 2 + np.abs(field[1]) ** 2
            # The peak before dispersion of the pending half step; it moves little in half a step.
            step = min(_step(step_phase / (coefficient * float(power.max()) + 1e-300), alpha), place - at)
            spectrum = spectrum * np.exp(-(1j * phase + alpha / 2) * (pending + step / 2))
            field = fft.ifft(spectrum, axis=-1, workers=1)
            power = np.abs(field[0]) ** 2 + np.abs(field[1]) ** 2
            # Power halfway stands for the whole step: its loss enters as the mean over the step.
            mean = np.sinh(alpha * step / 2) / (alpha / 2) if alpha > 0 else step
            field = field * np.exp(-1j * coefficient * mean * power)
            spectrum = fft.fft(field, axis=-1, workers=1)
            pending, at = step / 2, place if step == place - at else at + step
        spectrum = spectrum if act is None else act(spectrum)
    return fft.ifft(spectrum * np.exp(-(1j * phase + alpha / 2) * pending), axis=-1, workers=1)


def _step(length: float, alpha: float) -> float:
    """Length of fibre with the effective length ``length``, no more than 20 km."""
    longest = 20 * km
    share = alpha * length
    return min(longest, -float(np.log1p(-share)) / alpha) if 0 < share < 1 else min(longest, length)


def _check_band(spectrum: np.ndarray, sample_rate: float) -> None:
    """Three waves of a band B spread over 3 B; what folds must stay out of the band itself, so B is below half the rate."""
    power = np.sum(np.abs(np.fft.fftshift(spectrum, axes=-1)) ** 2, axis=0)
    n = power.size
    edge = power[: n // 8].sum() + power[-(n // 8) :].sum()
    if edge > 1e-2 * power.sum():
        raise ValueError(
            f"split_step needs a sample rate of about twice the signal's bandwidth, got {sample_rate / GHz:g} GHz with "
            f"{100 * edge / power.sum():.0f} % of the power in the outer quarter (raise samples_per_symbol)"
        )


def wavelength_of(frequency: float) -> float:
    """Wavelength [m] of light of ``frequency`` [Hz]; ``ValueError`` outside 1260 to 1675 nm."""
    wavelength = SPEED_OF_LIGHT / frequency
    check.between("wavelength_of", "wavelength", wavelength, 1260 * nm, 1675 * nm, "m", hint="193.7 THz is 193.7e12")
    return wavelength
