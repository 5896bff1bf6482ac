"""Conductors and dielectrics as pure functions of frequency: skin effect, roughness, wideband Debye, temperature, wire gauge.

Frequencies [Hz] are arrays and may contain 0 except where said. Impedances follow e^{+jwt}: each loss comes with its reactive
partner, so a line that is built from these functions is causal.
"""

from __future__ import annotations

import numpy as np

from dsp import check
from dsp.units import mm

C0 = 299792458.0  # speed of light [m/s]
MU0 = 4e-7 * np.pi  # permeability of vacuum [H/m]
COPPER = 1.72e-8  # resistivity at 20 C [ohm m]
SILVER = 1.59e-8  # resistivity at 20 C [ohm m]; for plating thicker than two skin depths
TEMPERATURE_COEFFICIENT = 0.0039  # of the resistivity of copper, from 20 C [1/K]
# Argument above which the round wire uses its asymptotic series; both agree to 1e-8 there.
BESSEL_LIMIT = 60.0


def resistivity_at(temperature: float, at_20: float = COPPER) -> float:
    """Resistivity [ohm m] at ``temperature`` [C]: rho_20 (1 + 0.0039 dT)."""
    return at_20 * (1 + TEMPERATURE_COEFFICIENT * (temperature - 20))


def wire_diameter(gauge: float) -> float:
    """Diameter [m] of a solid conductor of American wire gauge (ASTM B258): 0.127 mm x 92^((36 - gauge) / 39)."""
    check.between("wire_diameter", "gauge", gauge, 0, 50, "AWG")
    return 0.127 * mm * 92 ** ((36 - gauge) / 39)


def surface_resistance(f: np.ndarray, resistivity: float = COPPER) -> np.ndarray:
    """Skin-effect resistance of a thick smooth surface [ohm per square], sqrt(pi f mu_0 rho)."""
    return np.sqrt((np.pi * MU0 * resistivity) * np.asarray(f, float))


def skin_depth(f: np.ndarray, resistivity: float = COPPER) -> np.ndarray:
    """Skin depth [m], sqrt(rho / (pi f mu_0)); infinite at f = 0."""
    with np.errstate(divide="ignore"):
        return np.sqrt(resistivity / (np.pi * MU0 * np.asarray(f, float)))


def round_wire(f: np.ndarray, diameter: float, resistivity: float = COPPER) -> np.ndarray:
    """Internal impedance of a round wire alone [ohm/m], complex: k rho J0(ka) / (2 pi a J1(ka)) with k = (1 - j) / delta.

    Holds the DC resistance, the skin effect and the internal inductance together (Ramo, Whinnery, Van Duzer, ch. 3).
    """
    f = np.asarray(f, float)
    radius = diameter / 2
    resistance = resistivity / (np.pi * radius**2)
    z = np.full(f.shape, resistance, complex)
    # x = (1 + j) a / delta; J0(ka) / J1(ka) is j I0(x) / I1(x) and the impedance is resistance x I0(x) / (2 I1(x))
    x = (1 + 1j) * (radius / np.sqrt(resistivity / (np.pi * MU0))) * np.sqrt(f)
    bessel = (f > 0) & (np.abs(x) <= BESSEL_LIMIT)
    if bessel.any():
        from scipy.special import ive

        z[bessel] *= x[bessel] / 2 * ive(0, x[bessel]) / ive(1, x[bessel])
    high = np.abs(x) > BESSEL_LIMIT
    xh = x[high]
    z[high] *= xh / 2 + 1 / 4 + (3 / 16 + (3 / 16 + 63 / 256 / xh) / xh) / xh
    return z


def wideband_debye(
    f: np.ndarray, permittivity: float, loss_tangent: float, f0: float, low: float = 4.0, high: float = 12.5
) -> np.ndarray:
    """Relative permittivity, complex (er' - j er''), nearly constant loss tangent (Djordjevic et al. 2001).

    ``permittivity`` and ``loss_tangent`` hold at ``f0`` [Hz]. The poles spread evenly over the decades 10^low to 10^high [Hz]:
    outside of them the loss falls to zero. Do not use above 10^high.
    """

    def poles(at: np.ndarray) -> np.ndarray:
        return np.log10((10**high + 1j * at) / (10**low + 1j * at)) / (high - low)

    anchor = complex(poles(np.array(f0)))
    step = -permittivity * loss_tangent / anchor.imag
    return (permittivity - step * anchor.real) + step * poles(np.asarray(f, float))


def hammerstad(f: np.ndarray, rms: float, resistivity: float = COPPER) -> np.ndarray:
    """Roughness factor on the conductor loss, 1 + (2/pi) atan(1.4 (Rq/delta)^2) (Hammerstad and Jensen 1980); ``rms`` Rq [m].

    Real, without its reactive partner: for a loss budget, not for a waveform. Saturates at 2, so rough foil above 10 GHz is
    beyond it.
    """
    return 1 + 2 / np.pi * np.arctan(1.4 * (rms / skin_depth(f, resistivity)) ** 2)


def groiss(f: np.ndarray, rms: float, resistivity: float = COPPER) -> np.ndarray:
    """Roughness factor on the conductor loss, 1 + exp(-(delta / (2 Rq))^1.6) (Groiss 1996); limits as `hammerstad`."""
    return 1 + np.exp(-((skin_depth(f, resistivity) / (2 * rms)) ** 1.6))


def huray(f: np.ndarray, radius: float, area_ratio: float, resistivity: float = COPPER) -> np.ndarray:
    """Complex roughness factor for the surface impedance (1 + j) Rs, spheres of ``radius`` [m] on a flat surface.

    1 + c / (1 + (1 - j) delta / (2 r)) with c = ``area_ratio``, 1.5 x total sphere surface over flat area. The real part of
    (1 + j) times this factor is Huray's 1 + c / (1 + delta/r + delta^2/(2 r^2)); the imaginary part is its causal partner
    (Huray 2009; Bracken 2012).
    """
    delta = skin_depth(np.where(np.asarray(f) > 0, f, np.finfo(float).tiny), resistivity)
    return 1 + area_ratio / (1 + (0.5 - 0.5j) * delta / radius)


def cannonball(f: np.ndarray, rz: float, resistivity: float = COPPER) -> np.ndarray:
    """Complex `huray` factor from one data-sheet number, the ten-point height ``rz`` [m] (Simonovich, cannonball stack).

    14 equal spheres stacked on a 36 r^2 tile, as high as the rms height Rz / (2 sqrt 3): r = Rz / (4 sqrt 3 (1 + sqrt 2)), that
    is Rz / 16.73, and c = 1.5 x 14 x 4 pi / 36 = 7.33.
    """
    return huray(f, rz / (4 * np.sqrt(3) * (1 + np.sqrt(2))), 1.5 * 14 * 4 * np.pi / 36, resistivity)
