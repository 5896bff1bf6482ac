"""The surface of a conductor as data: how rough it is, what it is plated with, and the impedance that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, final

import numpy as np

from channels import materials
from dsp import check

RoughnessModel: TypeAlias = Literal["cannonball", "huray", "gradient", "hammerstad", "groiss"]
MODELS = ("cannonball", "huray", "gradient", "hammerstad", "groiss")


@final
@dataclass(frozen=True, kw_only=True)
class Roughness:
    """A rough surface; every model is causal here.

    ``height`` [m] is the ten-point height Rz ("cannonball"), the sphere radius ("huray") or the rms height Rq (the others).
    ``area_ratio`` belongs to "huray" alone: 1.5 x total sphere surface over flat area. See `materials` for each model.
    """

    height: float
    model: RoughnessModel = "cannonball"
    area_ratio: float | None = None

    def __post_init__(self) -> None:
        check.between(self, "height", self.height, 0, 1e-4, "m", f"was {self.height} um meant? Write {self.height} * um")
        check.one_of(self, "model", self.model, MODELS)
        if self.model == "huray":
            check.between(self, "area_ratio", self.area_ratio, 0, 100)
        elif self.area_ratio is not None:
            raise check.fail(self, "area_ratio", 'left out unless the model is "huray"', self.area_ratio)

    def factor(self, f: np.ndarray, resistivity: float = materials.COPPER) -> np.ndarray:
        """Complex factor on the surface impedance (1 + j) Rs, shape of ``f`` [Hz]; 1 at f = 0."""
        f = np.asarray(f, float)
        if self.height == 0:
            return np.ones(f.shape, complex)
        if self.model == "cannonball":
            return materials.cannonball(f, self.height, resistivity)
        if self.model == "huray":
            return materials.huray(f, self.height, float(self.area_ratio or 0), resistivity)
        return materials.rough_surface(f, self.height, self.model, resistivity)


@final
@dataclass(frozen=True, kw_only=True)
class Plating:
    """A layer on a conductor: ``thickness`` [m], ``resistivity`` [ohm m] at 20 C, relative ``permeability``.

    Silver gains up to 4 % of conductor loss once it is two skin depths thick. Nickel (permeability of tens, 7e-8 ohm m) and
    tin (1.1e-7 ohm m) cost a multiple; nothing here refuses them. The permeability is constant with frequency, which that of
    nickel is not above some GHz.
    """

    thickness: float
    resistivity: float = materials.SILVER
    permeability: float = 1.0

    def __post_init__(self) -> None:
        hint = f"was {self.thickness} um meant? Write {self.thickness} * um"
        check.between(self, "thickness", self.thickness, 0, 1e-3, "m", hint)
        check.between(self, "resistivity", self.resistivity, 1e-9, 1e-5, "ohm m")
        check.between(self, "permeability", self.permeability, 1, 1e5)


def surface_impedance(
    f: np.ndarray,
    resistivity: float = materials.COPPER,
    roughness: Roughness | None = None,
    plating: Plating | None = None,
    temperature: float = 20.0,
) -> np.ndarray:
    """Impedance [ohm per square] of a thick conductor, complex, shape of ``f`` [Hz]; 0 at f = 0.

    (1 + j) Rs, through the plating if there is one, times the factor of the roughness, whose skin depth is that of the base.
    Both resistivities [ohm m] are at 20 C and rise with the coefficient of copper.
    """
    f = np.asarray(f, float)
    rho = materials.resistivity_at(temperature, resistivity)
    if plating is None or plating.thickness == 0:
        z = (1 + 1j) * materials.surface_resistance(f, rho)
    else:
        layer = (plating.thickness, materials.resistivity_at(temperature, plating.resistivity), plating.permeability)
        z = materials.layered_surface(f, (layer,), rho)
    return z if roughness is None else z * roughness.factor(f, rho)
