"""Wires on an interposer (HBM, UCIe): short, thin, side by side, driven by a resistor and ending in a capacitor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from channels import materials
from channels.channel import LinearChannel, mean_delay
from channels.lines import DIELECTRIC_REFERENCE, uniform_line_s
from channels.network import MultiPort
from dsp import check
from dsp.grid import Grid
from dsp.response import PulseResponse, pulse_response
from dsp.units import fF, mm, nH, pF

LONGEST_WIRE = 0.1  # plausible length [m]


@final
@dataclass(frozen=True, kw_only=True)
class InterposerWires(MultiPort):
    """Equal single-ended wires side by side over a common return, as a 2n-port: left ends first, in the order of the wires.

    Z = sqrt(R^2 + 2 j w mu_0 rho / P^2) + j w L with R = rho / (w t) and P = 2 (w + t); Y = j w C eps(f) / eps(f_0).
    ``length``, ``width`` w and ``thickness`` t [m]; ``capacitance`` C [F/m] of a wire to everything else; ``inductance`` L
    [H/m]; ``resistivity`` [ohm m], 2.2e-8 with barrier and size effect; ``loss_tangent`` at 10 GHz (0.002).

    ``coupling`` is C_m / C to each direct neighbour, 0.15 to 0.3 without shields (an estimate), and less than 0.5. The
    dielectric is taken as homogeneous, L C the same for every mode; then the modes of the wires do not depend on frequency:
    mode i has C_i = C (1 - 2 k cos(i pi / (n + 1))) and L_i = L C / C_i.
    """

    length: float
    width: float
    thickness: float
    n_wires: int = 1
    coupling: float = 0.0
    capacitance: float = 0.22 * pF / mm
    inductance: float = 0.33 * nH / mm
    resistivity: float = 2.2e-8
    loss_tangent: float = 0.002

    def __post_init__(self) -> None:
        hint = f"was {self.length} mm meant? Write {self.length} * mm"
        check.between(self, "length", self.length, 0, LONGEST_WIRE, "m", hint)
        for field in ("width", "thickness"):
            value = getattr(self, field)
            check.between(self, field, value, 1e-8, 1e-3, "m", f"was {value} um meant? Write {value} * um")
        check.count(self, "n_wires", self.n_wires, 1, 64)
        check.between(self, "coupling", self.coupling, 0, 0.499)
        check.between(self, "capacitance", self.capacitance, 1e-12, 1e-8, "F/m", "the usual number is per mm: times pF / mm")
        check.between(self, "inductance", self.inductance, 1e-9, 1e-4, "H/m", "the usual number is per mm: times nH / mm")
        check.between(self, "resistivity", self.resistivity, 1e-9, 1e-6, "ohm m")
        check.between(self, "loss_tangent", self.loss_tangent, 0, 0.1)

    @property
    def n_ports(self) -> int:
        """Two for each wire."""
        return 2 * self.n_wires

    @property
    def resistance(self) -> float:
        """DC resistance of a wire [ohm/m]."""
        return self.resistivity / (self.width * self.thickness)

    @property
    def modes(self) -> np.ndarray:
        """Orthogonal symmetric matrix, shape (n_wires, n_wires): row i is the voltage of mode i on the wires."""
        i = np.arange(1, self.n_wires + 1)
        return np.sqrt(2 / (self.n_wires + 1)) * np.sin(np.outer(i, i) * np.pi / (self.n_wires + 1))

    def immittances(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Series impedance [ohm/m] and shunt admittance [S/m] of each mode, shape (n_wires, n_f)."""
        w = 2j * np.pi * np.asarray(f, float)
        share = 1 - 2 * self.coupling * np.cos(np.arange(1, self.n_wires + 1) * np.pi / (self.n_wires + 1))[:, None]
        around = 2 * (self.width + self.thickness)
        inside = np.sqrt(self.resistance**2 + 2 * w * (materials.MU0 * self.resistivity / around**2))
        eps = materials.wideband_debye(f, 1.0, self.loss_tangent, DIELECTRIC_REFERENCE)
        return inside + w * self.inductance / share, w * (self.capacitance * share) * eps

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        n, modes = self.n_wires, self.modes
        of_modes = np.array([uniform_line_s(z, y, self.length, z0) for z, y in zip(*self.immittances(f), strict=True)])
        return np.einsum("im,mabf,mj->aibjf", modes, of_modes, modes).reshape(2 * n, 2 * n, -1)


@final
@dataclass(frozen=True, kw_only=True)
class InterposerChannel(LinearChannel):
    """From the open-circuit voltage of one driver to the voltage at one receiver of a bus of interposer wires.

    Every wire has a driver of ``driver_resistance`` [ohm] behind ``tx_capacitance`` [F], idle ones at 0 V, and a receiver of
    ``rx_capacitance`` [F], with ``termination`` [ohm] to the middle of the swing or none. ``driven`` and ``observed`` count
    the wires from 0; where they differ this is crosstalk. Unterminated the transfer is 1 at DC, so the swing at the receiver
    is that of the driver.
    """

    wires: InterposerWires
    driven: int = 0
    observed: int = 0
    driver_resistance: float = 40.0
    tx_capacitance: float = 250 * fF
    rx_capacitance: float = 300 * fF
    termination: float | None = None

    def __post_init__(self) -> None:
        check.instance(self, "wires", self.wires, InterposerWires)
        check.count(self, "driven", self.driven, 0, self.wires.n_wires - 1)
        check.count(self, "observed", self.observed, 0, self.wires.n_wires - 1)
        check.between(self, "driver_resistance", self.driver_resistance, 0.1, 1e4, "ohm")
        for field in ("tx_capacitance", "rx_capacitance"):
            value = getattr(self, field)
            check.between(self, field, value, 0, 1e-9, "F", f"was {value} fF meant? Write {value} * fF")
        if self.termination is not None:
            check.between(self, "termination", self.termination, 1, 1e6, "ohm")

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Receiver's voltage over the driver's open-circuit voltage, complex [V/V], shape of ``f`` [Hz]."""
        f = np.asarray(f, float)
        modes = self.wires.modes
        weights = modes[self.observed] * modes[:, self.driven]
        return np.einsum("m,mf->f", weights, self._of_modes(f))

    def _of_modes(self, f: np.ndarray) -> np.ndarray:
        # the chain matrix of the line between its ends, divided by its growing exponential
        z, y = self.wires.immittances(f)
        w, length, source = 2j * np.pi * f, self.wires.length, self.driver_resistance
        near, far = w * self.tx_capacitance, w * self.rx_capacitance + (0 if self.termination is None else 1 / self.termination)
        static = y == 0
        zc = np.sqrt(z / np.where(static, 1, y))
        p = np.exp(-length * np.where(static, 1, y) * zc)
        even, odd = 1 + p * p, 1 - p * p
        bottom = (1 + source * near) * (even + zc * far * odd) + source * (odd / zc + far * even)
        return np.where(static, 1 / (1 + far * (source + z * length)), 2 * p / bottom)

    @property
    def aggressors(self) -> tuple[InterposerChannel, ...]:
        """The channels from every other driver to the same receiver."""
        return tuple(replace(self, driven=i) for i in range(self.wires.n_wires) if i != self.observed)

    @property
    def total_capacitance(self) -> float:
        """Capacitance that the driver charges [F]: wire and both ends."""
        return self.wires.capacitance * self.wires.length + self.tx_capacitance + self.rx_capacitance

    @property
    def elmore_delay(self) -> float:
        """First moment of the unterminated line as an RC line [s]: R C l^2 / 2 + R_on (C_tx + C l + C_rx) + R l C_rx."""
        along = self.wires.resistance * self.wires.length
        return self.driver_resistance * self.total_capacitance + along * (
            self.wires.capacitance * self.wires.length / 2 + self.rx_capacitance
        )

    def energy_per_bit(self, swing: float, activity: float = 0.25) -> float:
        """Energy [J/bit] from a supply of ``swing`` [V]: activity C V^2; a quarter of random bits charge the line."""
        check.positive("energy_per_bit", "swing", swing, "V")
        check.between("energy_per_bit", "activity", activity, 0, 1)
        return activity * self.total_capacitance * swing**2


def pulse(
    channel: LinearChannel, symbol_rate: float, edge_ui: float = 0.25, *, samples: int = 32, symbols: int = 128
) -> PulseResponse:
    """What one bit becomes: a trapezoid of 1 V, one unit interval wide at half height, with linear edges of ``edge_ui``.

    ``samples`` per unit interval and ``symbols`` set the grid.
    """
    check.between("pulse", "edge_ui", edge_ui, 0, 1, "UI")
    grid = Grid(symbol_rate=symbol_rate, samples_per_symbol=samples, n_symbols=symbols)
    u = grid.f / symbol_rate
    spectrum = channel.transfer(grid.f) * np.sinc(u) * np.sinc(u * edge_ui) / symbol_rate
    return pulse_response(spectrum, grid, mean_delay(channel, grid))


def worst_eye(channel: InterposerChannel, symbol_rate: float, edge_ui: float = 0.25, *, with_crosstalk: bool = False) -> float:
    """Smallest eye height of two-level data at the best sampling instant, a fraction of the driver's swing; < 0 is closed.

    Peak distortion: the main cursor less the sum of all others by magnitude, and with crosstalk less the sum of the pulses of
    all other wires at that instant, as they stand (the wires switch together).
    """
    victim = np.abs(pulse(channel, symbol_rate, edge_ui).phases())
    eye = 2 * victim.max(axis=1) - victim.sum(axis=1)
    if with_crosstalk:
        # windows begin on whole unit intervals, so equal rows are equal instants
        for other in channel.aggressors:
            eye = eye - np.abs(pulse(other, symbol_rate, edge_ui).phases()).sum(axis=1)
    return float(eye.max())
