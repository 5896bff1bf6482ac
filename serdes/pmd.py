"""Optical interfaces of the standards as data, and the budget that ties their columns together."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from channels.fiber import MultimodeFiber, SingleModeFiber
from dsp import check
from dsp.units import km, nm, ps
from serdes import toml_text
from serdes.link import suggestion

CODES = {"KP4": 2.4e-4, "KP4 + Hamming(128,120)": 4.85e-3}
"""Bit error ratio before correction that each code bears. The second: Chase decoding of PAM4 turns it into that of the first."""
ZERO_DISPERSION = (1300 * nm, 1324 * nm)
SLOPE = 0.092 * ps / nm**2 / km
"""Range of the zero-dispersion wavelength [m] and largest slope [s/m^3], ITU-T G.652 as IEEE 802.3 uses it."""


@dataclass(frozen=True, kw_only=True)
class Pmd:
    """Limits of one interface; the words of ``standards/pmd.toml``. ``wavelengths`` [m] (shortest, longest), ``length`` [m].

    ``stressed_dbm`` is stated at SECQ = ``tdecq_max_db``, ``sensitivity_dbm`` at TECQ = ``tecq_db`` for the 200G rows.
    ``estimates``: fields that no page seen confirmed.
    """

    name: str
    title: str
    source: str
    basis: str
    estimates: tuple[str, ...]
    symbol_rate: float
    lanes: int
    code: str
    fiber: str
    length: float
    wavelengths: tuple[float, float]
    oma_floor_dbm: float
    oma_minus_tdecq_db: float
    oma_max_dbm: float
    average_min_dbm: float
    average_max_dbm: float
    tdecq_max_db: float
    extinction_min_db: float
    rin_db: float
    sensitivity_dbm: float
    stressed_dbm: float
    insertion_loss_db: float
    allocation_db: float
    tecq_db: float

    def __post_init__(self) -> None:
        check.one_of(self, "basis", self.basis, ("seen", "estimate"))
        names = [f.name for f in fields(self)]
        for field in self.estimates:
            check.one_of(self, "estimates", field, names)
        check.symbol_rate(self, "symbol_rate", self.symbol_rate)
        check.count(self, "lanes", self.lanes, 1, 64)
        check.one_of(self, "code", self.code, CODES)
        check.one_of(self, "fiber", self.fiber, ("single-mode", "multimode"))
        check.between(self, "length", self.length, 1, 1e5, "m")
        check.numbers(self, "wavelengths", self.wavelengths, 2)
        if len(self.wavelengths) != 2 or not 600 * nm < self.wavelengths[0] <= self.wavelengths[1] < 2000 * nm:
            raise check.fail(self, "wavelengths", "two rising numbers [m]", self.wavelengths)
        for field in names[names.index("oma_floor_dbm") :]:
            check.between(self, field, getattr(self, field), -200, 50, "dB")
        if self.average_min_dbm > self.average_max_dbm or self.oma_floor_dbm > self.oma_max_dbm:
            raise check.fail(self, "average_min_dbm", "not above the maximum", self.average_min_dbm)

    @property
    def bit_error_ratio(self) -> float:
        """What the code bears before correction."""
        return CODES[self.code]

    def least_oma_dbm(self, tdecq_db: float) -> float:
        """Least outer OMA [dBm] of a transmitter with that TDECQ. ``ValueError`` above the largest TDECQ."""
        if tdecq_db > self.tdecq_max_db:
            raise check.fail(self, "tdecq_db", f"{self.tdecq_max_db:g} or less [dB]", tdecq_db)
        return max(self.oma_floor_dbm, self.oma_minus_tdecq_db + tdecq_db)

    def received_oma_dbm(self, tdecq_db: float, tecq_db: float | None = None) -> float:
        """What a receiver must bear [dBm]: OMA_min(TDECQ) - IL - (MPI + DGD) - (TDECQ - TECQ); no dispersion where TECQ is None."""
        dispersed = 0.0 if tecq_db is None else tdecq_db - tecq_db
        return self.least_oma_dbm(tdecq_db) - self.insertion_loss_db - self.allocation_db - dispersed

    def worst_fibers(self, length: float | None = None) -> tuple[tuple[SingleModeFiber, float], ...]:
        """(fibre, wavelength [m]) of the most negative and of the most positive dispersion that the interface must bear.

        Fibre of ``length`` [m], None for the longest. ``ValueError`` for multimode fibre.
        """
        if self.fiber == "multimode":
            raise check.fail(self, "fiber", "single-mode", self.fiber)
        total = self.length if length is None else length
        corners = [
            (SingleModeFiber(length=total, zero_dispersion=zero, slope=SLOPE), wavelength)
            for zero in ZERO_DISPERSION
            for wavelength in self.wavelengths
        ]
        corners.sort(key=lambda corner: corner[0].dispersion_at(corner[1]))
        return corners[0], corners[-1]

    def worst_dispersion(self, length: float | None = None) -> tuple[float, float]:
        """Most negative and most positive dispersion D L [s/m] over wavelengths and fibres; 1e-3 s/m is 1 ps/nm."""
        low, high = (fiber.dispersion_at(wavelength) * fiber.length for fiber, wavelength in self.worst_fibers(length))
        return low, high

    def budget(self, fiber: SingleModeFiber | MultimodeFiber, connectors_db: float = 0.0) -> tuple[str, str]:
        """("ok", "") or ("over budget", reason) for a fibre at the worse of the end wavelengths."""
        loss = max(fiber.loss_db(w) for w in self.wavelengths) + connectors_db
        if loss > self.insertion_loss_db + 1e-9:
            return "over budget", f"{loss:.2f} dB of fibre and connectors, {self.insertion_loss_db:g} dB are allotted"
        if fiber.length > self.length:
            return "over budget", f"{fiber.length:g} m of fibre, {self.title} is specified to {self.length:g} m"
        return "ok", ""

    def judge(self, record: dict[str, Any], tdecq_db: float) -> list[str]:
        """What a transmitter of `Waveform.record` and ``tdecq_db`` misses; empty where it complies."""
        missed = []
        if not np.isfinite(tdecq_db) or tdecq_db > self.tdecq_max_db:
            missed.append(f"TDECQ {tdecq_db:.2f} dB, at most {self.tdecq_max_db:g}")
        elif record["oma_dbm"] < self.least_oma_dbm(tdecq_db):
            missed.append(f"OMA {record['oma_dbm']:.2f} dBm, at least {self.least_oma_dbm(tdecq_db):.2f} at this TDECQ")
        if record["oma_dbm"] > self.oma_max_dbm:
            missed.append(f"OMA {record['oma_dbm']:.2f} dBm, at most {self.oma_max_dbm:g}")
        if not self.average_min_dbm <= record["average_dbm"] <= self.average_max_dbm:
            limits = f"{self.average_min_dbm:g} to {self.average_max_dbm:g}"
            missed.append(f"average power {record['average_dbm']:.2f} dBm, must be {limits}")
        if record["extinction_db"] < self.extinction_min_db:
            missed.append(f"extinction {record['extinction_db']:.2f} dB, at least {self.extinction_min_db:g}")
        return missed


def names() -> tuple[str, ...]:
    """Names of the interfaces."""
    return tuple(toml_text.standard("pmd"))


@functools.cache
def pmd(name: str) -> Pmd:
    """The interface called ``name``, for example 400G-DR4. ``ValueError`` with the valid names."""
    if name not in toml_text.standard("pmd"):
        raise ValueError(f"unknown interface {name!r}{suggestion(name, list(names()))}")
    row: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in toml_text.standard("pmd")[name].items()}
    return Pmd(name=name, **row)
