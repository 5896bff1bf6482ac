"""How far an optical lane goes: a module's whole path over fibre, until the margin is used up, and what used it up."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from channels.imdd import ImddChannel
from dsp import check, fec
from dsp.units import GBd, m, nm, pJ
from experiments.farthest import LONGEST, farthest
from experiments.optical_lanes import SYMBOL_RATES, OpticalLane
from serdes.modules import ARCHITECTURES, PathResult, run_path
from serdes.semi_analytic import SemiAnalytic
from serdes.setups import setup

MARGIN_DB = 1.5
"""Optical margin that is asked for [dB]: 3 dB of slicer SNR, as of copper."""
SHORTEST = 1 * m
WAVELENGTH = 1304.5 * nm
"""Edge of the DR window where dispersion is largest."""
SHORT_WAVELENGTH = 850 * nm
MULTIMODE = "AOC"
"""The architecture that goes over multimode fibre from VCSELs."""
LINEAR_HOST_DB, RETIMED_HOST_DB = 8.0, 16.0
"""Host loss per side at Nyquist for a linear and for a DSP module: an estimate of what each is sold for."""
HOSTS_DB = {
    "CPO": (4.0,),
    "LRO": (LINEAR_HOST_DB,),
    "LPO": (LINEAR_HOST_DB, RETIMED_HOST_DB),
    "retimed": (RETIMED_HOST_DB,),
    MULTIMODE: (RETIMED_HOST_DB,),
}
"""Architectures that reaches are given for, with the losses per side of their hosts."""
_ENGINE = SemiAnalytic(n_symbols=2048, taps_per_symbol=2)


@dataclass(frozen=True, kw_only=True)
class OpticalReach:
    """``length`` [m] at which the margin is used up, and ``binding``: what took most of it.

    ``start_db``: margin without fibre; ``loss_db`` and ``dispersion_db``: what the fibre at ``length`` took by each.
    """

    length: float
    binding: str
    basis: str
    start_db: float
    loss_db: float = 0.0
    dispersion_db: float = 0.0


@functools.cache
def optical_reach(
    rate: str, architecture: str = "retimed", host_loss_db: float = 16.0, margin_db: float = MARGIN_DB
) -> OpticalReach:
    """Reach of a lane of ``rate`` through modules of ``architecture`` with ``host_loss_db`` at Nyquist on either side.

    Parts of `experiments.optical_lanes` with their connectors and ``margin_db`` to spare; `LONGEST` at most. What the fibre takes
    beside its loss is "dispersion", of multimode fibre by modes and wavelengths with its partition noise.
    """
    check.between("optical_reach", "margin_db", margin_db, 0, 20, "dB")

    def spare(length: float) -> float:
        return max(optical_path(rate, architecture, host_loss_db, length).margin_db, -20.0) - margin_db

    bare = optical_path(rate, architecture, host_loss_db, SHORTEST)
    basis = "simulated, parts are estimates"
    if bare.outcome != "ok" or bare.margin_db < margin_db:
        return OpticalReach(length=0.0, binding=bare.reason or bare.binding, basis=basis, start_db=bare.margin_db)
    per_metre = _loss_per_metre(rate, architecture)
    # What loss alone would allow: dispersion shortens it.
    guess = 1.05 * (bare.margin_db - margin_db) / per_metre + 10 * m
    length = farthest(spare, SHORTEST, guess, xtol=0.1, rtol=1e-3)
    if length == LONGEST:
        return OpticalReach(length=LONGEST, binding="beyond the range", basis=basis, start_db=bare.margin_db)
    loss = per_metre * (length - SHORTEST)
    dispersion = bare.margin_db - loss - margin_db
    binding = "fibre loss" if loss >= dispersion else "dispersion"
    return OpticalReach(
        length=length, binding=binding, basis=basis, start_db=bare.margin_db, loss_db=loss, dispersion_db=dispersion,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table of reaches: modules of ``architecture`` between hosts of ``host_loss_db`` on either side."""

    rate: str
    architecture: str
    host_loss_db: float
    margin_db: float = MARGIN_DB

    def solve(self) -> dict[str, Any]:
        """The row; runs in a worker process."""
        found, a = (
            optical_reach(self.rate, self.architecture, self.host_loss_db, self.margin_db),
            ARCHITECTURES[self.architecture],
        )
        return {
            "module": a.title, "lane": setup(self.rate).name, "symbol_rate_gbd": SYMBOL_RATES[self.rate] / GBd,
            "host_loss_db": self.host_loss_db, "fibre": "OM4" if self.architecture == MULTIMODE else "single-mode, 1304.5 nm",
            "reach_m": round(found.length, 1), "binding_cause": found.binding, "pj_per_bit": round(a.energy.value / pJ, 2),
            "energy_source": a.energy.source, "basis": found.basis,
        }  # fmt: skip


def rows_of(symbol_rates: Iterable[float], margin_db: float = MARGIN_DB) -> list[Row]:
    """Rows for those of ``symbol_rates`` [Bd] that optical lanes have."""
    rates = [name for rate in dict.fromkeys(symbol_rates) for name, known in SYMBOL_RATES.items() if known == rate]
    return [
        Row(rate=rate, architecture=name, host_loss_db=loss, margin_db=margin_db)
        for rate in rates
        for name, losses in HOSTS_DB.items()
        for loss in losses
    ]


def note(margin_db: float) -> str:
    """What to know of rows with ``margin_db`` of slicer SNR to spare."""
    return (
        f"Light, with the same {margin_db:g} dB of SNR, {margin_db / 2:g} dB of optical power: a module's whole path, host to host, "
        "over worst-case fibre, parts estimated; host loss is per side at Nyquist. `serdes crossover` maps both media."
    )


@functools.lru_cache(maxsize=512)
def optical_path(rate: str, architecture: str, host_loss_db: float, length: float) -> PathResult:
    """The path of a lane of ``rate`` over ``length`` [m] of the fibre that goes with ``architecture``."""
    lane = _lane(rate, architecture)
    return run_path(
        ARCHITECTURES[architecture], lane.lane(), lane.host(host_loss_db), _optics(lane, architecture, length), _ENGINE
    )


def _lane(rate: str, architecture: str) -> OpticalLane:
    check.one_of("optical_reach", "rate", rate, SYMBOL_RATES)
    check.one_of("optical_reach", "architecture", architecture, ARCHITECTURES)
    return OpticalLane(rate=rate, wavelength=SHORT_WAVELENGTH if architecture == MULTIMODE else WAVELENGTH)


def _optics(lane: OpticalLane, architecture: str, length: float) -> ImddChannel:
    return lane.multimode(length) if architecture == MULTIMODE else lane.optics(length)


def _loss_per_metre(rate: str, architecture: str) -> float:
    lane = _lane(rate, architecture)
    fiber = _optics(lane, architecture, 1 * m).fiber
    return fiber.loss_db(lane.wavelength) if fiber is not None else 0.0


def optical_bit_error_ratio(
    rate: str, length: float, architecture: str = "retimed", host_loss_db: float = 16.0, spent_margin_db: float = 0.0
) -> float:
    """Bit error ratio before the code of the whole path at ``length`` [m], ``spent_margin_db`` of light given away first."""
    check.positive("optical_bit_error_ratio", "length", length, "m")
    check.not_negative("optical_bit_error_ratio", "spent_margin_db", spent_margin_db, "dB")
    found = optical_path(rate, architecture, host_loss_db, length)
    if not spent_margin_db:
        return found.pre_fec
    settled = _ENGINE.fit(found.optical.settled.pass_.attenuated(spent_margin_db - found.margin_db))
    return float(settled.error_ratios()[1] + sum(found.electrical))


def optical_frame_loss(ratio: float, octets: int) -> float:
    """Loss of frames of ``octets`` behind KP4 at a bit error ratio of ``ratio`` before it, errors independent."""
    code = fec.KP4
    return fec.frame_loss_ratio(float(code.codeword_failure(ratio)), code.k * code.symbol_bits, octets)
