"""Uniform lines as two-ports: the analytic line of the Ethernet standards and the shielded parallel pair of cables.

What the pair leaves out as a two-port, skew and mode conversion, is in `pair`; board lines are in `pcb`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from channels import materials
from channels.network import MultiPort
from channels.surface import Plating, surface_impedance
from dsp import check
from dsp.units import GHz, db

LONGEST_CABLE, LONGEST_TRACE = 100.0, 5.0  # plausible lengths [m]
LOSS_TANGENT_COEFFICIENT = 0.002  # relative change of the loss tangent of cable foam [1/K]; an estimate
DIELECTRIC_REFERENCE = 10 * GHz  # where permittivity and loss tangent of a cable hold


def series_resistance_s(resistance: float | np.ndarray, z0: float) -> np.ndarray:
    """Scattering matrix, shape (2, 2, ...), of a series impedance [ohm]: the DC limit of a line."""
    x = np.asarray(resistance) / z0
    return np.array([[x, np.full_like(x, 2)], [np.full_like(x, 2), x]]) / (2 + x)


def uniform_line_s(z: np.ndarray, y: np.ndarray, length: float, z0: float, extra: np.ndarray | float = 0.0) -> np.ndarray:
    """Scattering matrix, shape (2, 2, n_f), of a uniform line from its impedance [ohm/m] and admittance [S/m] per metre.

    Exact also where the admittance is 0, at DC. ``extra`` [1/m] is added to the propagation constant.
    """
    static = y == 0
    y = np.where(static, 1, y)  # any value: replaced below
    zc = np.sqrt(z / y)
    wave = np.exp((-length) * (y * zc + extra))
    # divided through by (Zc + z0)^2 this is the form of (93A-13); so it stays exact where Zc grows towards DC
    lost = 1 - wave * wave
    inner = 1 / (4 * z0 * zc + (zc - z0) ** 2 * lost)
    s = np.empty((2, 2, y.size), complex)
    s[0, 0] = s[1, 1] = (zc**2 - z0**2) * lost * inner
    s[0, 1] = s[1, 0] = 4 * z0 * zc * wave * inner
    s[..., static] = series_resistance_s(z[static] * length, z0)
    return s


@final
@dataclass(frozen=True, kw_only=True)
class StandardLine(MultiPort):
    """The analytic line of IEEE 802.3 (93A-9) to (93A-14): package, board, or any line with fitted coefficients.

    gamma(f) = gamma0 + a1 (1 + j) sqrt(f) + f (a2 (1 - j (2/pi) ln(f / GHz)) + j 2 pi tau). ``length`` [m], differential
    ``impedance`` [ohm], ``gamma0`` [1/m], ``a1`` [sqrt(s)/m], ``a2`` [s/m], ``tau`` [s/m]. The standards print them per mm and
    GHz: write ``a1=8.9e-4 * ns**0.5 / mm, a2=2e-4 * ns / mm``. The impedance is real and constant, an approximation below about
    100 MHz; the resistance at DC is whatever gamma0 makes of it.
    """

    length: float
    impedance: float
    gamma0: float = 0.0
    a1: float = 0.0
    a2: float = 0.0
    tau: float = 0.0

    def __post_init__(self) -> None:
        hint = f"was {self.length} mm meant? Write {self.length} * mm"
        check.between(self, "length", self.length, 0, LONGEST_TRACE, "m", hint)
        check.between(self, "impedance", self.impedance, 1, 1000, "ohm")
        check.between(self, "gamma0", self.gamma0, 0, 1e3, "1/m")
        check.between(self, "a1", self.a1, 0, 5e-4, "sqrt(s)/m", "the standard's number is per mm: times ns**0.5 / mm")
        check.between(self, "a2", self.a2, 0, 1e-7, "s/m", "the standard's number is per mm: times ns / mm")
        check.between(self, "tau", self.tau, 0, 1e-7, "s/m", "the standard's number is per mm: times ns / mm")

    @property
    def n_ports(self) -> int:
        """Two."""
        return 2

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        root, log = np.sqrt(f), np.log(np.where(f > 0, f, GHz) / GHz)
        loss = (-self.length) * (self.gamma0 + self.a1 * root + self.a2 * f)
        turn = (-self.length) * (self.a1 * root + f * (2 * np.pi * self.tau - self.a2 * 2 / np.pi * log))
        wave = np.empty(f.shape, complex)
        amplitude = np.exp(loss)
        wave.real, wave.imag = amplitude * np.cos(turn), amplitude * np.sin(turn)
        rho = (self.impedance - z0) / (self.impedance + z0)
        s = np.zeros((2, 2, f.size), complex)
        if rho == 0:
            s[0, 1] = s[1, 0] = wave
            return s
        twice = wave * wave
        inner = 1 / (1 - rho**2 * twice)
        s[0, 0] = s[1, 1] = rho * (1 - twice) * inner
        s[0, 1] = s[1, 0] = (1 - rho**2) * wave * inner
        return s


@final
@dataclass(frozen=True, kw_only=True)
class StopBand:
    """Suck-out of a spiral-wrapped shield: a resonance added to the propagation constant, causal and passive, nothing at DC.

    (A / 8.686) 2 b s / (s^2 + 2 b s + f_s^2) with s = j f and b = f_s / Q: within 1 / Q of a pair of poles at +-f_s,
    1 / (1 + j (f - f_s) / b) + 1 / (1 + j (f + f_s) / b), which would leave some loss at DC. ``frequency`` f_s [Hz], see
    `wrap_frequency`; ``peak_db`` A [dB/m] there; ``q`` f_s over the half width.
    It absorbs; a real one also reflects.
    """

    frequency: float
    peak_db: float
    q: float = 25.0

    def __post_init__(self) -> None:
        hint = f"was {self.frequency} GHz meant? Write {self.frequency} * GHz"
        check.between(self, "frequency", self.frequency, 1e6, 1e13, "Hz", hint)
        check.between(self, "peak_db", self.peak_db, 0, 1000, "dB/m")
        check.between(self, "q", self.q, 1, 1e4)

    def propagation(self, f: np.ndarray) -> np.ndarray:
        """What the propagation constant gains [1/m], complex, shape of ``f`` [Hz]."""
        s = 1j * np.asarray(f, float) / self.frequency
        return self.peak_db / db(np.e) * 2 * s / self.q / (s * s + 2 * s / self.q + 1)


def wrap_frequency(pitch: float, permittivity: float = 1.70, order: int = 1) -> float:
    """Where a shield wrapped with ``pitch`` [m] blocks [Hz]: order x v / (2 pitch), Bragg's condition."""
    check.positive("wrap_frequency", "pitch", pitch, "m")
    check.between("wrap_frequency", "permittivity", permittivity, 1, 20)
    check.count("wrap_frequency", "order", order, 1)
    return float(order * materials.C0 / (2 * pitch * np.sqrt(permittivity)))


@final
@dataclass(frozen=True, kw_only=True)
class Twinax(MultiPort):
    """Shielded parallel pair: exact round-wire conductors, wideband-Debye foam; causal, and exact at DC.

    Z = 2 Z_wire + (Kp - 1) 2 (1 + j) Rs / (pi d) + j w L,  Y = j w C eps(f) / eps(f0),  with C = sqrt(er) / (c Z_d) and
    L = Z_d sqrt(er) / c. ``length`` [m], ``gauge`` [AWG], differential ``impedance`` Z_d [ohm]; ``permittivity`` and
    ``loss_tangent`` hold at 10 GHz and 20 C; ``conductor_factor`` Kp gathers proximity, shield current, plating and roughness
    and acts on the skin-effect term only; ``resistivity`` [ohm m] at 20 C; ``temperature`` [C].

    Kp 1.28, er 1.70 and tan d 3e-4 were fitted to two published points, 7.14 and 10.23 dB/m at 53 GHz for 26 and 30 AWG; other
    gauges and frequencies are predictions, +-8 %. ``plating`` multiplies the conductors' impedance by its flat-surface ratio
    and leaves DC alone; Kp already holds that of the fitted cables. ``stop_bands`` are the suck-outs of a spiral-wrapped
    shield; cable for 100 Gb/s and above has its foil along the pair and none. Left out: mode conversion by skew (no two-port
    can hold it, see `pair.TwinaxPair`) and higher modes above about 100 GHz in thick pairs.
    """

    length: float
    gauge: float = 26
    impedance: float = 100.0
    permittivity: float = 1.70
    loss_tangent: float = 3e-4
    conductor_factor: float = 1.28
    resistivity: float = materials.COPPER
    temperature: float = 20.0
    plating: Plating | None = None
    stop_bands: tuple[StopBand, ...] = ()

    def __post_init__(self) -> None:
        hint = f"was {self.length} mm meant? Write {self.length} * mm"
        check.between(self, "length", self.length, 0, LONGEST_CABLE, "m", hint)
        check.between(self, "gauge", self.gauge, 18, 44, "AWG")
        check.between(self, "impedance", self.impedance, 10, 1000, "ohm")
        check.between(self, "permittivity", self.permittivity, 1, 20)
        check.between(self, "loss_tangent", self.loss_tangent, 0, 0.1)
        check.between(self, "conductor_factor", self.conductor_factor, 1, 5)
        check.between(self, "resistivity", self.resistivity, 1e-9, 1e-6, "ohm m")
        check.between(self, "temperature", self.temperature, -100, 300, "C")
        if self.plating is not None:
            check.instance(self, "plating", self.plating, Plating)
        check.instance(self, "stop_bands", self.stop_bands, tuple)
        for i, band in enumerate(self.stop_bands):
            check.instance(self, f"stop_bands[{i}]", band, StopBand)

    @property
    def n_ports(self) -> int:
        """Two."""
        return 2

    @property
    def diameter(self) -> float:
        """Diameter of each conductor [m]."""
        return materials.wire_diameter(self.gauge)

    @property
    def nominal_delay(self) -> float:
        """Delay [s/m] of the pair at 10 GHz without the inductance inside the wires."""
        return float(np.sqrt(self.permittivity)) / materials.C0

    @property
    def loop_resistance(self) -> float:
        """DC resistance of both conductors [ohm/m] at ``temperature``."""
        return 8 * materials.resistivity_at(self.temperature, self.resistivity) / (np.pi * self.diameter**2)

    def immittances(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Series impedance [ohm/m] and shunt admittance [S/m] per metre, complex, shape of ``f`` [Hz]."""
        rho = materials.resistivity_at(self.temperature, self.resistivity)
        tangent = self.loss_tangent * (1 + LOSS_TANGENT_COEFFICIENT * (self.temperature - 20))
        w = 2 * np.pi * f
        delay = self.nominal_delay
        skin = materials.surface_resistance(f, rho) * (2 * (self.conductor_factor - 1) / (np.pi * self.diameter))
        z = 2 * materials.round_wire(f, self.diameter, rho) + (1 + 1j) * skin
        if self.plating is not None:
            smooth = surface_impedance(f, self.resistivity, temperature=self.temperature)
            plated = surface_impedance(f, self.resistivity, plating=self.plating, temperature=self.temperature)
            z = np.where(smooth == 0, z, z * plated / np.where(smooth == 0, 1, smooth))
        z = z + 1j * w * (self.impedance * delay)
        eps = materials.wideband_debye(f, self.permittivity, tangent, DIELECTRIC_REFERENCE)
        y = 1j * w * (delay / self.impedance / self.permittivity) * eps
        for band in self.stop_bands:
            # in both, so that the impedance stays; each alone has no negative real part: passive
            z = z + band.propagation(f) * self.impedance
            y = y + band.propagation(f) / self.impedance
        return z, y

    def attenuation_db(self, f: np.ndarray) -> np.ndarray:
        """Attenuation of a matched length [dB/m], shape of ``f`` [Hz]."""
        z, y = self.immittances(np.asarray(f, float))
        return db(np.e) * np.sqrt(z * y).real

    def phase_delay(self, f: np.ndarray) -> np.ndarray:
        """Phase delay [s/m], shape of ``f`` [Hz], for f > 0."""
        z, y = self.immittances(np.asarray(f, float))
        return np.sqrt(z * y).imag / (2 * np.pi * np.asarray(f))

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        return uniform_line_s(*self.immittances(f), self.length, z0)
