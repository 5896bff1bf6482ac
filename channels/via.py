"""A differential via with its pads and the stub that back-drilling leaves."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import final

import numpy as np

from channels import materials
from channels.lines import DIELECTRIC_REFERENCE, uniform_line_s
from channels.network import MultiPort, star
from channels.surface import surface_impedance
from dsp import check
from dsp.units import mm, um


@final
@dataclass(frozen=True, kw_only=True)
class Via(MultiPort):
    """Two plated barrels from a pad down to an inner layer, with what is left of them below it, as a differential two-port.

    ``length`` [m] of the barrel that carries the signal, ``stub`` [m] below the exit, differential ``impedance`` [ohm] and
    effective ``permittivity`` of the barrels (that of the board, or 5 to 7 where inner pads load them), ``loss_tangent`` at
    10 GHz, drill ``diameter`` [m] and thickness of its ``wall`` [m], single-ended ``pads`` [F] at entry and exit,
    ``resistivity`` [ohm m]. The stub is an open lossy line, Y = tanh(gamma L) / Z_c, across the exit. Left out: the return
    path through the planes and its cavity resonances.
    """

    length: float
    impedance: float
    permittivity: float
    stub: float = 0.0
    loss_tangent: float = 0.002
    diameter: float = 0.2 * mm
    wall: float = 20 * um
    pads: tuple[float, float] = (0.0, 0.0)
    resistivity: float = materials.COPPER

    def __post_init__(self) -> None:
        for field in ("length", "stub"):
            value = getattr(self, field)
            check.between(self, field, value, 0, 0.05, "m", f"was {value} mm meant? Write {value} * mm")
        check.between(self, "impedance", self.impedance, 10, 1000, "ohm")
        check.between(self, "permittivity", self.permittivity, 1, 50)
        check.between(self, "loss_tangent", self.loss_tangent, 0, 0.1)
        check.between(self, "diameter", self.diameter, 1e-6, 0.01, "m", f"was {self.diameter} mm meant?")
        check.between(self, "wall", self.wall, 1e-7, self.diameter / 2, "m", f"was {self.wall} um meant?")
        check.numbers(self, "pads", self.pads, 2)
        if len(self.pads) != 2:
            raise check.fail(self, "pads", "two capacitances", self.pads)
        for i, pad in enumerate(self.pads):
            check.between(self, f"pads[{i}]", pad, 0, 1e-9, "F", f"was {pad} fF meant? Write {pad} * fF")
        check.between(self, "resistivity", self.resistivity, 1e-9, 1e-6, "ohm m")

    @property
    def n_ports(self) -> int:
        """Two."""
        return 2

    @property
    def stub_resonance(self) -> float:
        """Frequency [Hz] at which the stub is a quarter wave, c / (4 L sqrt(er)): keep it above 2.5 times Nyquist."""
        return materials.C0 / (4 * self.stub * float(np.sqrt(self.permittivity))) if self.stub else np.inf

    def immittances(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Series impedance [ohm/m] and shunt admittance [S/m] of both barrels per metre, complex, shape of ``f`` [Hz]."""
        delay = np.sqrt(self.permittivity) / materials.C0
        w = 2j * np.pi * f
        around = np.pi * self.diameter / 2  # half: there and back
        resistance = self.resistivity / (around * self.wall)
        z = np.sqrt(resistance**2 + (surface_impedance(f, self.resistivity) / around) ** 2) + w * (self.impedance * delay)
        eps = materials.wideband_debye(f, self.permittivity, self.loss_tangent, DIELECTRIC_REFERENCE)
        return z, w * (delay / self.impedance / self.permittivity) * eps

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        z, y = self.immittances(f)
        entry, leave = (1j * np.pi * f * pad for pad in self.pads)  # w C / 2: the pads are single-ended
        turn = np.sqrt(z * y) * self.stub
        leave = leave + y * self.stub * np.where(turn == 0, 1, np.tanh(turn) / np.where(turn == 0, 1, turn))
        parts = (_shunt_s(entry, z0), uniform_line_s(z, y, self.length, z0), _shunt_s(leave, z0))
        return functools.reduce(star, parts)


def _shunt_s(y: np.ndarray, z0: float) -> np.ndarray:
    x = y * z0
    return np.array([[-x, np.full_like(x, 2)], [np.full_like(x, 2), -x]]) / (2 + x)
