"""Differential board traces from their cross-section: stripline and microstrip, rough copper, wideband-Debye laminate."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from channels import materials
from channels.lines import DIELECTRIC_REFERENCE, LONGEST_TRACE, LOSS_TANGENT_COEFFICIENT, uniform_line_s
from channels.network import MultiPort
from channels.surface import Plating, Roughness, surface_impedance
from dsp import check
from dsp.units import db, um

ETA0 = materials.MU0 * materials.C0  # impedance of vacuum [ohm]
LAYOUTS = ("stripline", "microstrip")


@final
@dataclass(frozen=True, kw_only=True)
class BoardLine(MultiPort):
    """An edge-coupled pair of traces on a board, as a differential two-port; causal, and exact at DC.

    ``width``, ``spacing`` (edge to edge) and ``thickness`` of the traces [m]; ``height`` [m] is the distance between the planes
    of a stripline, or trace to plane of a microstrip. ``permittivity`` and ``loss_tangent`` hold at 10 GHz and 20 C;
    ``resistivity`` [ohm m] at 20 C; ``roughness`` and ``plating`` are those of traces and planes alike; ``temperature`` [C].

    Impedance: stripline by Cohn (1954, 1955), within 1 % of finite differences where the spacing is 5 thicknesses or more;
    microstrip by Hammerstad and Jensen (1980) with the coupling 1 - 0.48 exp(-0.96 s / h) of the IPC rule, within some 5 %.
    The microstrip's field share is that of a single strip: in a tight pair its delay is up to 4 % too long. Conductors:
    Wheeler's incremental inductance with the complex surface impedance, so loss and internal inductance come together, joined
    to the DC resistance. Left out: dispersion, radiation and solder mask of the microstrip, weave skew.
    """

    length: float
    width: float
    spacing: float
    height: float
    permittivity: float
    loss_tangent: float
    thickness: float = 15 * um
    layout: Literal["stripline", "microstrip"] = "stripline"
    roughness: Roughness | None = None
    plating: Plating | None = None
    resistivity: float = materials.COPPER
    temperature: float = 20.0

    def __post_init__(self) -> None:
        hint = f"was {self.length} mm meant? Write {self.length} * mm"
        check.between(self, "length", self.length, 0, LONGEST_TRACE, "m", hint)
        for field in ("width", "spacing", "height", "thickness"):
            value = getattr(self, field)
            check.between(self, field, value, 1e-6, 1e-2, "m", f"was {value} um meant? Write {value} * um")
        check.between(self, "permittivity", self.permittivity, 1.01, 20)
        check.between(self, "loss_tangent", self.loss_tangent, 0, 0.1)
        check.one_of(self, "layout", self.layout, LAYOUTS)
        if self.layout == "stripline" and self.thickness > self.height / 2:
            raise check.fail(self, "thickness", "half of the stripline's height or less", self.thickness)
        if self.roughness is not None:
            check.instance(self, "roughness", self.roughness, Roughness)
        if self.plating is not None:
            check.instance(self, "plating", self.plating, Plating)
        check.between(self, "resistivity", self.resistivity, 1e-9, 1e-6, "ohm m")
        check.between(self, "temperature", self.temperature, -100, 300, "C")

    @property
    def n_ports(self) -> int:
        """Two."""
        return 2

    @property
    def impedance(self) -> float:
        """Differential impedance [ohm] at 10 GHz, without loss and inductance inside the conductors."""
        return self._cross_section[0] / float(np.sqrt(self.effective_permittivity))

    @property
    def effective_permittivity(self) -> float:
        """Relative permittivity that the wave sees at 10 GHz."""
        return 1 + self._cross_section[1] * (self.permittivity - 1)

    @functools.cached_property
    def _cross_section(self) -> tuple[float, float, float]:
        """Differential impedance in vacuum [ohm], share of the field in the dielectric, conductor factor [1/m].

        The factor times the surface impedance is the series impedance of both traces with their planes: Wheeler's rule, the
        derivative of the inductance as every surface recedes.
        """
        vacuum = _stripline if self.layout == "stripline" else _microstrip
        share = 1.0 if self.layout == "stripline" else _filling(self.width, self.height, self.thickness, self.permittivity)
        step = self.thickness * 1e-4
        low, high = (
            vacuum(self.width - 2 * n, self.spacing + 2 * n, self.height + 2 * n, self.thickness - 2 * n) for n in (-step, step)
        )
        factor = (high - low) / (2 * step) / ETA0
        return 2 * vacuum(self.width, self.spacing, self.height, self.thickness), share, 2 * factor

    def immittances(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Series impedance [ohm/m] and shunt admittance [S/m] per metre, complex, shape of ``f`` [Hz]."""
        vacuum, share, factor = self._cross_section
        w = 2j * np.pi * f
        surface = surface_impedance(f, self.resistivity, self.roughness, self.plating, self.temperature)
        resistance = 2 * materials.resistivity_at(self.temperature, self.resistivity) / (self.width * self.thickness)
        z = np.sqrt(resistance**2 + (surface * factor) ** 2) + w * (vacuum / materials.C0)
        tangent = self.loss_tangent * (1 + LOSS_TANGENT_COEFFICIENT * (self.temperature - 20))
        eps = materials.wideband_debye(f, self.permittivity, tangent, DIELECTRIC_REFERENCE)
        return z, w * (1 + share * (eps - 1)) / (materials.C0 * vacuum)

    def attenuation_db(self, f: np.ndarray) -> np.ndarray:
        """Attenuation of a matched length [dB/m], shape of ``f`` [Hz]."""
        z, y = self.immittances(np.asarray(f, float))
        return db(np.e) * np.sqrt(z * y).real

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        return uniform_line_s(*self.immittances(f), self.length, z0)


def _mean(a: float, b: float) -> float:
    """Arithmetic-geometric mean: K(k')/K(k) = M(1, k') / M(1, k)."""
    for _ in range(40):
        a, b = (a + b) / 2, np.sqrt(a * b)
    return a


def _thin(k: float) -> float:
    return ETA0 / 4 * _mean(1, np.sqrt(1 - k**2)) / _mean(1, k)


def _stripline(width: float, spacing: float, height: float, thickness: float) -> float:
    """Odd-mode impedance in vacuum [ohm] of a pair between planes (Cohn 1955): fringing of thin traces, scaled by thickness."""

    def fringe(x: float) -> float:
        y = 1 / (1 - x)
        inner = (y - 1) * np.log(y**2 - 1) if x else 0.0
        return (2 * y * np.log(y + 1) - inner) / np.pi

    x = thickness / height
    single = ETA0 / 4 / (width / height / (1 - x) + fringe(x))
    k = np.tanh(np.pi * width / (2 * height))
    coupled = 1 / _thin(k / np.tanh(np.pi * (width + spacing) / (2 * height))) - 1 / _thin(k)
    return float(1 / (1 / single + fringe(x) / fringe(0.0) * coupled))


def _microstrip(width: float, spacing: float, height: float, thickness: float) -> float:
    """Odd-mode impedance in vacuum [ohm] of a pair over a plane."""
    u = width / height + _widening(width / height, thickness / height)
    return float(_wire(u) * (1 - 0.48 * np.exp(-0.96 * spacing / height)))


def _wire(u: float) -> float:
    """Impedance in vacuum [ohm] of a strip of width over height ``u`` (Hammerstad and Jensen 1980, eq. 1, 2)."""
    f = 6 + (2 * np.pi - 6) * np.exp(-((30.666 / u) ** 0.7528))
    return float(ETA0 / (2 * np.pi) * np.log(f / u + np.sqrt(1 + (2 / u) ** 2)))


def _widening(u: float, t: float) -> float:
    """What the thickness adds to the width, in vacuum (eq. 6)."""
    return float(t / np.pi * np.log(1 + 4 * np.e / (t / np.tanh(np.sqrt(6.517 * u)) ** 2)))


def _filling(width: float, height: float, thickness: float, permittivity: float) -> float:
    """Share of the field in the dielectric, from the effective permittivity of a strip (eq. 3 to 9)."""
    u = width / height
    in_vacuum = u + _widening(u, thickness / height)
    u += (1 + 1 / np.cosh(np.sqrt(permittivity - 1))) / 2 * _widening(u, thickness / height)
    a = 1 + np.log((u**4 + (u / 52) ** 2) / (u**4 + 0.432)) / 49 + np.log(1 + (u / 18.1) ** 3) / 18.7
    b = 0.564 * ((permittivity - 0.9) / (permittivity + 3)) ** 0.053
    effective = (permittivity + 1) / 2 + (permittivity - 1) / 2 * (1 + 10 / u) ** (-a * b)
    effective *= (_wire(in_vacuum) / _wire(u)) ** 2
    return float((effective - 1) / (permittivity - 1))
