"""External modulators: Mach-Zehnder and electro-absorption, each with its laser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from channels.lasers import Laser, Source
from dsp import check, filters


def _common(owner: Mzm | Eml) -> None:
    check.instance(owner, "laser", owner.laser, Laser)
    check.between(owner, "insertion_loss_db", owner.insertion_loss_db, 0, 40, "dB")
    if owner.bandwidth is not None:
        check.between(owner, "bandwidth", owner.bandwidth, 1e6, 1e13, "Hz", hint="is it in hertz? 40 GHz is 40e9")


def _band(f: np.ndarray, bandwidth: float | None) -> np.ndarray:
    return np.ones(np.shape(f), complex) if bandwidth is None else filters.bessel_thomson4(f, bandwidth)


@final
@dataclass(frozen=True, kw_only=True)
class Mzm(Source):
    """Mach-Zehnder modulator biased at quadrature: E = sqrt(P)/2 (e^{j phi1} + g e^{j phi2}), optics of two arms.

    ``v_pi`` [V]: drive for a phase difference of pi. ``extinction_db``: static extinction at full swing, which sets the
    imbalance g = (sqrt(ER) - 1)/(sqrt(ER) + 1). ``chirp_parameter``: alpha = (v1 + v2)/(v1 - v2) of the arm drives, 0 for
    push-pull. ``insertion_loss_db``: of the light at full transmission. ``bandwidth`` [Hz]: where the detected current has fallen
    by 3 dB (Bessel, fourth order); the optical power, by 1.5 dB.
    """

    laser: Laser = Laser()
    v_pi: float = 2.0
    extinction_db: float = 30.0
    chirp_parameter: float = 0.0
    insertion_loss_db: float = 0.0
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        _common(self)
        check.between(self, "v_pi", self.v_pi, 0.01, 100, "V")
        check.between(self, "extinction_db", self.extinction_db, 3, 100, "dB")
        check.between(self, "chirp_parameter", self.chirp_parameter, -10, 10)

    @property
    def _balance(self) -> float:
        root = 10 ** (self.extinction_db / 20)
        return (root - 1) / (root + 1)

    @property
    def _full(self) -> float:
        return self.laser.power * 10 ** (-self.insertion_loss_db / 10)

    def field(self, v: np.ndarray) -> np.ndarray:
        """See `Source.field`."""
        turn = np.pi * np.asarray(v, float) / self.v_pi
        g, half = self._balance, (turn - np.pi / 2) / 2
        arms = (1 + g) * np.cos(half) + 1j * (1 - g) * np.sin(half)
        if self.chirp_parameter:
            arms = arms * np.exp(0.5j * self.chirp_parameter * turn)
        return np.sqrt(self._full) / 2 * arms

    def power(self, v: np.ndarray) -> np.ndarray:
        """See `Source.power`: P/4 (1 + g^2 + 2 g sin(pi v / V_pi))."""
        g = self._balance
        return self._full / 4 * (1 + g**2 + 2 * g * np.sin(np.pi * np.asarray(v, float) / self.v_pi))

    def drive_for(self, power: np.ndarray) -> np.ndarray:
        """See `Source.drive_for`."""
        g = self._balance
        sine = (4 * np.asarray(power, float) / self._full - 1 - g**2) / (2 * g)
        return np.arcsin(np.clip(sine, -1, 1)) * self.v_pi / np.pi

    def response(self, f: np.ndarray) -> np.ndarray:
        """See `Source.response`."""
        return _band(f, self.bandwidth)

    @property
    def extremes(self) -> tuple[float, float]:
        """See `Source.extremes`."""
        g = self._balance
        return self._full / 4 * (1 - g) ** 2, self._full / 4 * (1 + g) ** 2


@final
@dataclass(frozen=True, kw_only=True)
class Eml(Source):
    """Electro-absorption modulator: P = P0 10^(-A(u)/10) at the reverse voltage u = ``bias`` - v.

    ``absorption_db``: coefficients of u, u^2, u^3 of A [dB]. ``chirp_coefficients``: alpha(u) = a0 + a1 u; the phase is the
    integral of alpha/2 d ln P (F. Koyama and K. Iga, JLT 6, 1988). Outside 0 to ``largest`` [V] of u the curve ends. The
    defaults are an estimate: alpha falls from 2 without voltage through 1 at the bias to below 0.
    """

    laser: Laser = Laser()
    bias: float = 1.25
    absorption_db: tuple[float, float, float] = (2.0, 1.2, -0.1)
    chirp_coefficients: tuple[float, float] = (2.0, -0.8)
    largest: float = 4.0
    insertion_loss_db: float = 0.0
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        _common(self)
        check.between(self, "largest", self.largest, 0.01, 20, "V")
        check.between(self, "bias", self.bias, 0, self.largest, "V")
        for field in ("absorption_db", "chirp_coefficients"):
            check.numbers(self, field, getattr(self, field), 1)
        if len(self.absorption_db) != 3:
            raise check.fail(self, "absorption_db", "three coefficients", self.absorption_db)
        if len(self.chirp_coefficients) != 2:
            raise check.fail(self, "chirp_coefficients", "two coefficients", self.chirp_coefficients)
        if np.any(self._rate(np.linspace(0, self.largest, 401)) <= 0):
            raise check.fail(self, "absorption_db", "a curve that rises up to 'largest'", self.absorption_db)

    def _rate(self, u: np.ndarray) -> np.ndarray:
        a, b, c = self.absorption_db
        return a + 2 * b * u + 3 * c * u**2

    def _reverse(self, v: np.ndarray) -> np.ndarray:
        return np.clip(self.bias - np.asarray(v, float), 0, self.largest)

    def _absorption(self, u: np.ndarray) -> np.ndarray:
        a, b, c = self.absorption_db
        return u * (a + u * (b + u * c))

    def power(self, v: np.ndarray) -> np.ndarray:
        """See `Source.power`."""
        full = self.laser.power * 10 ** (-self.insertion_loss_db / 10)
        return full * np.exp(-np.log(10) / 10 * self._absorption(self._reverse(v)))

    def field(self, v: np.ndarray) -> np.ndarray:
        """See `Source.field`. The phase is -ln(10)/20 times the integral of (a0 + a1 u) A'(u)."""
        u = self._reverse(v)
        a, b, c = self.absorption_db
        a0, a1 = self.chirp_coefficients
        phase = a0 * self._absorption(u) + a1 * u**2 * (a / 2 + u * (2 * b / 3 + u * 3 * c / 4))
        return np.sqrt(self.power(v)) * np.exp(-1j * np.log(10) / 20 * phase)

    def drive_for(self, power: np.ndarray) -> np.ndarray:
        """See `Source.drive_for`; from a fine table of the curve, refined by Newton's method."""
        full = self.laser.power * 10 ** (-self.insertion_loss_db / 10)
        wanted = 10 * np.log10(full / np.maximum(np.asarray(power, float), 1e-300))
        table = np.linspace(0, self.largest, 1025)
        u = np.interp(wanted, self._absorption(table), table)
        for _ in range(2):
            u = np.clip(u - (self._absorption(u) - wanted) / self._rate(u), 0, self.largest)
        return self.bias - u

    def response(self, f: np.ndarray) -> np.ndarray:
        """See `Source.response`."""
        return _band(f, self.bandwidth)

    @property
    def extremes(self) -> tuple[float, float]:
        """See `Source.extremes`."""
        low, high = self.power(np.array([self.bias - self.largest, self.bias]))
        return float(low), float(high)
