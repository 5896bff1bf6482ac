"""The vertical-cavity laser, modulated by its own current: rate equations for carriers and photons of one mode group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from channels.lasers import Laser, Source
from dsp import check
from dsp.units import GHz, mA, nm, ns, ps

CHARGE = 1.602176634e-19
PLANCK = 6.62607015e-34
SPEED_OF_LIGHT = 299_792_458.0
_STEP = 0.3 * ps
"""Longest step of the integration; the photon lifetime is a few ps."""


@final
@dataclass(frozen=True, kw_only=True)
class Vcsel(Source):
    """Rate equations dN/dt = eta I/(q V) - N/tau_n - G, dS/dt = Gamma G - S/tau_p + Gamma beta N/tau_n with
    G = g0 (N - N_tr) S/(1 + eps S), and P = h nu V S eta_o/(Gamma tau_p) (L. A. Coldren et al., Diode Lasers, ch. 5).

    ``bias`` [A]; a drive of v volts adds v / ``resistance``; ``parasitic`` [Hz]: pole of pad and junction, None for none.
    ``injection`` eta, ``volume`` V [m^3], ``carrier_lifetime``, ``photon_lifetime`` [s], ``gain`` g0 [m^3/s], ``transparency`` N_tr
    [1/m^3], ``compression`` eps [m^3], ``confinement`` Gamma, ``spontaneous`` beta, ``coupling`` eta_o. ``laser``: wavelength and RIN
    only. The defaults are an estimate of a 25 GHz class 850 nm device.
    """

    laser: Laser = Laser(power=1e-3, wavelength=850 * nm, rin_db=-142.0)
    bias: float = 7 * mA
    resistance: float = 70.0
    parasitic: float | None = 28 * GHz
    injection: float = 0.8
    volume: float = 0.9e-18
    carrier_lifetime: float = 2.6 * ns
    photon_lifetime: float = 2 * ps
    gain: float = 1.3e-11
    transparency: float = 2e24
    compression: float = 3e-23
    confinement: float = 0.045
    spontaneous: float = 1e-4
    coupling: float = 0.4

    def __post_init__(self) -> None:
        check.instance(self, "laser", self.laser, Laser)
        check.between(self, "bias", self.bias, 1e-5, 0.1, "A", hint="is it in amperes? 7 mA is 7e-3")
        check.between(self, "resistance", self.resistance, 1, 1e4, "ohm")
        if self.parasitic is not None:
            check.between(self, "parasitic", self.parasitic, 1e6, 1e13, "Hz", hint="is it in hertz? 28 GHz is 28e9")
        for field in ("injection", "confinement", "coupling"):
            check.between(self, field, getattr(self, field), 1e-4, 1)
        check.between(self, "volume", self.volume, 1e-20, 1e-14, "m^3")
        check.between(self, "carrier_lifetime", self.carrier_lifetime, 1e-11, 1e-7, "s")
        check.between(self, "photon_lifetime", self.photon_lifetime, 1e-13, 1e-10, "s")
        check.between(self, "gain", self.gain, 1e-14, 1e-8, "m^3/s")
        check.between(self, "transparency", self.transparency, 1e22, 1e26, "1/m^3")
        check.between(self, "compression", self.compression, 0, 1e-20, "m^3")
        check.between(self, "spontaneous", self.spontaneous, 1e-8, 1)

    def _current_of(self, photons: np.ndarray) -> np.ndarray:
        """Current [A] that holds a photon density, in closed form."""
        carriers, rate = self._carriers(photons)
        return CHARGE * self.volume / self.injection * (carriers / self.carrier_lifetime + rate)

    def _carriers(self, photons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Carrier density and stimulated rate G at rest, from dS/dt = 0."""
        g = self.gain * photons / (1 + self.compression * photons)
        seed = self.confinement * self.spontaneous / self.carrier_lifetime
        top = photons / self.photon_lifetime + self.confinement * g * self.transparency
        carriers = top / (self.confinement * g + seed)
        return carriers, g * (carriers - self.transparency)

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        photons = np.geomspace(1e15, 1e24, 6001)
        current = self._current_of(photons)
        return current, photons

    @property
    def _watts(self) -> float:
        """Power of a unit photon density [W m^3]."""
        energy = PLANCK * SPEED_OF_LIGHT / self.laser.wavelength
        return energy * self.volume * self.coupling / (self.confinement * self.photon_lifetime)

    def _photons(self, current: np.ndarray) -> np.ndarray:
        known, photons = self._table
        wanted = np.maximum(current, known[0])
        s = np.exp(np.interp(wanted, known, np.log(photons)))
        for _ in range(2):  # Newton's method from the table
            here = self._current_of(s)
            slope = (self._current_of(s * (1 + 1e-6)) - here) / (s * 1e-6)
            s = np.maximum(s + (wanted - here) / slope, photons[0])
        return s

    def current(self, v: np.ndarray) -> np.ndarray:
        """Current [A] at drive ``v`` [V]; never below 0."""
        return np.maximum(self.bias + np.asarray(v, float) / self.resistance, 0)

    def power(self, v: np.ndarray) -> np.ndarray:
        """Power [W] at rest, see `Source.power`."""
        return self._watts * self._photons(self.current(v))

    def field(self, v: np.ndarray) -> np.ndarray:
        """Square root of the power; the phase is left out, as multimode fibre works on power."""
        return np.sqrt(self.power(v)).astype(complex)

    def drive_for(self, power: np.ndarray) -> np.ndarray:
        """See `Source.drive_for`."""
        low, high = self.extremes
        photons = np.clip(np.asarray(power, float), low, high) / self._watts
        return (self._current_of(photons) - self.bias) * self.resistance

    def response(self, f: np.ndarray) -> np.ndarray:
        """Small-signal response at the bias over its static value: the linearised rate equations, times the parasitic pole."""
        photons = float(self._photons(np.array(self.bias)))
        carriers = float(self._carriers(np.array(photons))[0])
        squeezed = 1 + self.compression * photons
        by_n = self.gain * photons / squeezed
        by_s = self.gain * (carriers - self.transparency) / squeezed**2
        a = np.array([
            [-1 / self.carrier_lifetime - by_n, -by_s],
            [self.confinement * (by_n + self.spontaneous / self.carrier_lifetime), self.confinement * by_s - 1 / self.photon_lifetime],
        ])  # fmt: skip
        s = 2j * np.pi * np.asarray(f, float)
        determinant = (s - a[0, 0]) * (s - a[1, 1]) - a[0, 1] * a[1, 0]
        h = (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]) / determinant
        return h if self.parasitic is None else h / (1 + 1j * np.asarray(f, float) / self.parasitic)

    @property
    def resonance(self) -> float:
        """Relaxation resonance at the bias [Hz], sqrt(g0 S / tau_p (1 + eps S)) / 2 pi."""
        photons = float(self._photons(np.array(self.bias)))
        return float(np.sqrt(self.gain * photons / (self.photon_lifetime * (1 + self.compression * photons))) / (2 * np.pi))

    @property
    def extremes(self) -> tuple[float, float]:
        """Power at no current and at 100 mA [W]."""
        low, high = self._photons(np.array([0.0, 0.1]))
        return float(self._watts * low), float(self._watts * high)

    def rest(self) -> np.ndarray:
        """State of the rate equations at the bias: carriers, photons [1/m^3] and current [A]."""
        photons = self._photons(np.array(self.bias))
        return np.array([float(self._carriers(photons)[0]), float(photons), self.bias])

    def evolve(self, current: np.ndarray, dt: float, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Power [W] at samples ``dt`` [s] apart of ``current`` [A] (n,), and the state after them."""
        from dsp import kernels

        n_steps = max(1, int(np.ceil(dt / _STEP)))
        parameters = np.array([
            self.injection / (CHARGE * self.volume), 1 / self.carrier_lifetime, 1 / self.photon_lifetime, self.gain,
            self.transparency, self.compression, self.confinement, self.spontaneous,
        ])  # fmt: skip
        photons, after = kernels.rate_equations(np.asarray(current, float), n_steps, dt / n_steps, state, parameters)
        return self._watts * photons, after

    def parasitic_transfer(self, f: np.ndarray) -> Any:
        """The electrical pole alone."""
        f = np.asarray(f, float)
        return np.ones(f.shape, complex) if self.parasitic is None else 1 / (1 + 1j * f / self.parasitic)
