"""The interfaces of the standards as simulated links: the weakest transmitter allowed, the worst fibre, all of the loss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from channels.fiber import MultimodeFiber, SingleModeFiber
from channels.imdd import ImddChannel
from dsp.equalizer import Mmse
from dsp.units import GBd, db_power, dbm, from_dbm, km, nm, ps
from experiments.optical_lanes import SYMBOL_RATES, OpticalLane, laser_of, single_mode
from serdes.link import Link, Receiver, Transmitter
from serdes.optical_penalties import transmitter_closure
from serdes.pmd import Pmd, pmd
from serdes.semi_analytic import SemiAnalytic
from serdes.sensitivity import sensitivity
from serdes.tdecq import HALF_BAUD, Reference

_ENGINE = SemiAnalytic(n_symbols=4096, taps_per_symbol=2)
_RECEIVER = Receiver(equalizer=Mmse(n_taps=21, n_precursors=5, n_feedback=0))
_WIDTH = 0.1
"""A transmitter's OMA counts as met within this [dB]."""


def reference_of(interface: Pmd) -> Reference:
    """The reference receiver of TDECQ: five taps at 100 Gb/s a lane, fifteen (an estimate) at 200, target by the code."""
    if interface.symbol_rate < 100 * GBd:
        return HALF_BAUD
    return Reference(n_taps=15, main_taps=(4, 5, 6), symbol_error_ratio=2 * interface.bit_error_ratio)


def channels_of(interface: Pmd, length: float | None = None) -> list[tuple[float, ImddChannel]]:
    """(dispersion [s/m], optics) at the ends of the interface's dispersion; one of modal dispersion for multimode fibre.

    Over ``length`` [m] of fibre, None for the longest.

    Parts of `experiments.optical_lanes`; all of the insertion loss and of what is allotted to echoes and group delay is there.
    """
    loss = interface.insertion_loss_db + interface.allocation_db
    if interface.fiber == "multimode":
        rate = next(name for name, symbol_rate in SYMBOL_RATES.items() if symbol_rate == interface.symbol_rate)
        optics = OpticalLane(rate=rate, wavelength=850 * nm).multimode(interface.length if length is None else length)
        return [(0.0, _with_loss(optics, loss, 850 * nm))]
    found = []
    for fiber, wavelength in interface.worst_fibers(length):
        optics = single_mode(interface.symbol_rate, laser_of(0.0, wavelength, interface.rin_db), fiber, 0.0)
        found.append((fiber.dispersion_at(wavelength) * fiber.length, _with_loss(optics, loss, wavelength)))
    return found


def _with_loss(optics: ImddChannel, loss_db: float, wavelength: float) -> ImddChannel:
    own = 0.0 if optics.fiber is None else optics.fiber.loss_db(wavelength)
    return replace(optics, loss_db=loss_db - own)


def row(name: str, length: float | None = None) -> dict[str, Any]:
    """What the interface called ``name`` asks of a receiver, and what a simulated one makes of its weakest transmitter.

    Over ``length`` [m] of fibre, None for the longest that it is specified for; more is an outcome, "over budget".
    """
    p = pmd(name)
    worst = _over_budget(p, length) or min(
        (_corner(p, d, optics) for d, optics in channels_of(p, length)), key=lambda r: r["margin_db"]
    )
    return {
        "interface": name, "symbol_rate_gbd": p.symbol_rate / GBd, "code": p.code, "length_km": (p.length if length is None else length) / km,
        "insertion_loss_db": p.insertion_loss_db, "received_dbm": round(p.received_oma_dbm(p.tdecq_max_db), 2),
        "stressed_dbm": p.stressed_dbm, **worst, "estimates": ", ".join(p.estimates) if p.basis == "seen" else "all",
    }  # fmt: skip


def _over_budget(p: Pmd, length: float | None) -> dict[str, Any]:
    """The outcome where the fibre is more than is allotted; empty where it is not."""
    total = p.length if length is None else length
    fiber = MultimodeFiber(length=total) if p.fiber == "multimode" else SingleModeFiber(length=total)
    outcome, reason = p.budget(fiber)
    if outcome == "ok":
        return {}
    return {
        "dispersion_ps_nm": None,
        "tdecq_db": None,
        "oma_dbm": None,
        "margin_db": None,
        "outcome": outcome,
        "reason": reason,
    }


def _corner(p: Pmd, dispersion: float, optics: ImddChannel) -> dict[str, Any]:
    link = Link(symbol_rate=p.symbol_rate, tx=Transmitter(amplitude=1.0), channel=optics, rx=_RECEIVER)
    closure = transmitter_closure(link, reference_of(p)).tdecq_db
    shown: dict[str, Any] = {"dispersion_ps_nm": round(dispersion / (ps / nm), 2), "tdecq_db": round(min(closure, 99.0), 2)}
    if not closure <= p.tdecq_max_db:
        reason = f"TDECQ {shown['tdecq_db']:g} dB is more than the {p.tdecq_max_db:g} allowed"
        return shown | {"oma_dbm": None, "margin_db": -99.0, "outcome": "over the limit", "reason": reason}
    found = sensitivity(link, p.bit_error_ratio, _ENGINE)
    launched = optics.launch_power(np.array([-1.0, 1.0]))
    extra = p.least_oma_dbm(closure) - float(dbm(launched[1] - launched[0]))
    margin = found.margin_db + extra
    top = float(launched[1]) * optics.path.gain * float(from_dbm(extra) / from_dbm(0.0))
    works = found.outcome != "fails" and margin > -_WIDTH
    outcome, reason = ("ok", "") if works else ("fails", found.reason or f"{-margin:.1f} dB of light are missing")
    if top > optics.photodiode.max_power:
        over = float(db_power(top / optics.photodiode.max_power))
        outcome, reason = "overload", f"{over:.1f} dB over the photodiode's limit"
    return shown | {
        "oma_dbm": round(p.least_oma_dbm(closure), 2), "margin_db": round(margin, 2), "outcome": outcome, "reason": reason,
    }  # fmt: skip
