"""Conductors and dielectrics as pure functions of frequency: skin effect, roughness, plating, Debye, wire gauge.

Frequencies [Hz] are arrays and may contain 0 except where said. Impedances follow e^{+jwt}: each loss comes with its reactive
partner, so a line that is built from these functions is causal.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from dsp import check
from dsp.units import mm

C0 = 299792458.0  # speed of light [m/s]
MU0 = 4e-7 * np.pi  # permeability of vacuum [H/m]
COPPER = 1.72e-8  # resistivity at 20 C [ohm m]
SILVER = 1.59e-8  # resistivity at 20 C [ohm m]; for plating thicker than two skin depths
Layers: TypeAlias = tuple[tuple[float, float, float], ...]
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
    x = np.asarray((1 + 1j) * (radius / np.sqrt(resistivity / (np.pi * MU0))) * np.sqrt(f))
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


def proximity_factor(diameter: float, spacing: float) -> float:
    """Rise of the high-frequency loss of parallel wires in free space, 1 / sqrt(1 - (d/s)^2); ``spacing`` s of centres [m]."""
    check.positive("proximity_factor", "diameter", diameter, "m")
    check.between("proximity_factor", "spacing", spacing, np.nextafter(diameter, np.inf), 1, "m", "wires may not touch")
    return float(1 / np.sqrt(1 - (diameter / spacing) ** 2))


def layered_surface(f: np.ndarray, layers: Layers, resistivity: float = COPPER) -> np.ndarray:
    """Surface impedance [ohm per square], complex, of flat layers on a thick base of ``resistivity`` [ohm m].

    ``layers`` from the surface inwards, each (thickness [m], resistivity [ohm m], relative permeability). Exact for a plane
    field: each layer transforms what lies below it as a line of impedance sqrt(j w mu rho), Z' = Zl (Z + Zl tanh kt) /
    (Zl + Z tanh kt) with k = sqrt(j w mu / rho) (Ramo, Whinnery, Van Duzer, ch. 6). Nothing is refused: a layer of nickel
    (permeability of tens, 7e-8 ohm m) costs what it costs.
    """
    jw = 1j * (2 * np.pi * MU0) * np.asarray(f, float)
    z = np.sqrt(jw * resistivity)
    for thickness, rho, permeability in reversed(layers):
        own = np.sqrt(jw * (permeability * rho))
        turn = np.tanh(np.sqrt(jw * (permeability / rho)) * thickness)
        # without frequency all three are 0; the impedance stays 0
        z = np.where(jw == 0, 0, own * (z + own * turn) / np.where(jw == 0, 1, own + z * turn))
    return z


def hammerstad(f: np.ndarray, rms: float, resistivity: float = COPPER) -> np.ndarray:
    """Roughness factor on the conductor loss, 1 + (2/pi) atan(1.4 (Rq/delta)^2) (Hammerstad and Jensen 1980); ``rms`` Rq [m].

    Real, without its reactive partner: for a loss budget, not for a waveform; `rough_surface` has the partner. Saturates at 2,
    so rough foil above 10 GHz is beyond it.
    """
    return _hammerstad(rms / skin_depth(f, resistivity))


def groiss(f: np.ndarray, rms: float, resistivity: float = COPPER) -> np.ndarray:
    """Roughness factor on the conductor loss, 1 + exp(-(delta / (2 Rq))^1.6) (Groiss 1996); limits as `hammerstad`."""
    return _groiss(rms / skin_depth(f, resistivity))


def _hammerstad(x: np.ndarray) -> np.ndarray:
    return 1 + 2 / np.pi * np.arctan(1.4 * x**2)


def _groiss(x: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return 1 + np.exp(-((2 * np.asarray(x, float)) ** -1.6))


def reactance_factor(x: np.ndarray, factor: Callable[[np.ndarray], np.ndarray], limit: float) -> np.ndarray:
    """What the reactance of a surface grows by, times sqrt(pi f mu rho), when its loss grows by ``factor``.

    ``x`` is a height over the skin depth, ``factor(x)`` real and within ``limit`` of its end for large x. By Kramers-Kronig
    in w = x^2: X(w) = (2 w / pi) P int D(v) / (v^2 - w^2) dv with D = sqrt(v) (factor - limit), whose rest is limit (1 + j).
    """
    w = np.asarray(x, float) ** 2
    u = np.linspace(-30, 30, 2401)
    v = np.exp(u)
    d = np.sqrt(v) * (factor(np.sqrt(v)) - limit)
    at = np.sqrt(w) * (factor(np.sqrt(w)) - limit)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (d - at[..., None]) / (v**2 - w[..., None] ** 2) * v
    # where a point of the sum meets w, its neighbours stand for it
    middle = (np.roll(ratio, 1, -1) + np.roll(ratio, -1, -1)) / 2
    total = np.trapezoid(np.where(np.abs(v / w[..., None] - 1) < 1e-6, middle, ratio), u, axis=-1)
    ends = np.log((v[-1] - w) / (v[-1] + w)) - np.log((w - v[0]) / (w + v[0]))
    return limit + (2 * w / np.pi * total + at * ends / np.pi) / np.sqrt(w)


def _gradient(x: np.ndarray) -> np.ndarray:
    """Surface impedance over that of a smooth surface, complex: the conductivity rises as a normal distribution over 10 Rq."""
    from scipy.special import ndtr

    edges = np.linspace(-5, 5, 401)
    share = ndtr((edges[1:] + edges[:-1]) / 2)
    # skin depth 1, resistivity 1: 2 pi f mu0 is 2, and the roughness is x
    z = np.full(x.shape, 1 + 1j)
    for conductivity in share[::-1]:
        own = np.sqrt(2j / conductivity)
        turn = np.tanh(np.sqrt(2j * conductivity) * (edges[1] - edges[0]) * x)
        z = own * (z + own * turn) / (own + z * turn)
    return z / (1 + 1j)


@functools.cache
def _rough_table(model: str) -> tuple[np.ndarray, np.ndarray]:
    """Logarithm of x and the complex factor: each model depends on the height over the skin depth alone."""
    x = np.geomspace(1e-3, 1e3, 1201)
    if model == "gradient":
        return np.log(x), _gradient(x)
    shape = {"hammerstad": _hammerstad, "groiss": _groiss}[model]
    return np.log(x), (shape(x) + 1j * reactance_factor(x, shape, 2.0)) / (1 + 1j)


def rough_surface(f: np.ndarray, rms: float, model: str, resistivity: float = COPPER) -> np.ndarray:
    """Complex factor on the surface impedance (1 + j) Rs, causal, for a roughness of ``rms`` Rq [m].

    ``model``: "hammerstad" or "groiss", the real factor with its Kramers-Kronig partner, or "gradient", a conductivity that
    rises as a normal distribution of width Rq (Gold and Helmreich 2017): the only one of the three whose added inductance is
    physics. It is seen from the tips, 5 Rq above the mean plane, from where the thickness of the dielectric then counts.
    From a table in Rq / delta; beyond 1e3 it stays at its end.
    """
    check.one_of("rough_surface", "model", model, ("hammerstad", "groiss", "gradient"))
    x = rms / skin_depth(np.asarray(f, float), resistivity)
    grid, values = _rough_table(model)
    at = np.log(np.maximum(x, 1e-3))
    table = np.interp(at, grid, values.real) + 1j * np.interp(at, grid, values.imag)
    # below the table the surplus is an inductance, in proportion to x
    return 1 + (table - 1) * np.minimum(x * 1e3, 1)


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
