"""Reach of a tier's wire from its simulation: copper by the link simulator, interposer wires by their worst eye."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from channels.catalog import INTERPOSERS
from channels.interposer import InterposerChannel, worst_eye
from dsp import check, fec
from dsp.units import db, fF, mm
from serdes.link import Link, RetimedLink
from serdes.metrics import symbol_error_ratio
from serdes.reach import reach, settle
from serdes.setups import Setup, setup

CABLES = ("passive", "ACC", "AEC")
BRACKET = (0.05, 40.0)
HARD_HOSTS, EASY_HOSTS = ("HN", "HH"), ("HL", "HL")
"""A nominal beside a high-loss host, the most lossy pair, and two low-loss hosts, where a rate has classes."""
FRAME_OCTETS = 4096 + 58
"""Payload and headers of a large RoCE frame."""


@dataclass(frozen=True, kw_only=True)
class SimulatedReach:
    """``length`` [m] and what ends it; ``loss_db`` at Nyquist there (of a retimed cable: of its longest segment)."""

    rate: str
    cable: str
    hosts: str
    length: float
    binding: str
    loss_db: float
    payload: float
    symbol_rate: float
    basis: str


@functools.cache
def copper_reach(
    rate: str, cable: str = "passive", hosts: tuple[str, str] = HARD_HOSTS, gauge: int = 26, margin_db: float = 3.0
) -> SimulatedReach:
    """How far a lane of ``rate`` goes on a passive, redriven (ACC) or retimed (AEC) cable; ``hosts`` where it has classes."""
    make, s, pair = _maker(rate, cable, hosts, gauge)
    found = reach(make, s.target(margin_db), BRACKET)
    nyquist = np.array([s.symbol_rate / 2])
    losses = [-float(db(p.link.channel.transfer(nyquist))[0]) for p in found.points]
    estimate = {"passive": "", "ACC": ", redriver is an estimate", "AEC": ""}[cable]
    return SimulatedReach(
        rate=s.name, cable=cable, hosts="-".join(pair) if pair else "standard", length=found.length, binding=found.binding,
        loss_db=max(losses), payload=s.payload, symbol_rate=s.symbol_rate,
        basis="simulated" + ("" if s.verified else ", parameters unverified") + estimate,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PostFec:
    """Errors of a link: ``pre_fec_ber`` at the detector, ``post_fec_ber`` after KP4, ``frame_loss`` of frames."""

    pre_fec_ber: float
    post_fec_ber: float
    frame_loss: float
    octets: int


@functools.cache
def post_fec(
    rate: str, length: float, cable: str = "passive", hosts: tuple[str, str] = HARD_HOSTS, gauge: int = 26,
    spent_margin_db: float = 0.0, octets: int = FRAME_OCTETS,
) -> PostFec:  # fmt: skip
    """Errors of a lane at ``length`` [m] as simulated, with ``spent_margin_db`` of its SNR given away first.

    Gray labels: half of a PAM4 symbol's two bits are wrong in a symbol error. Errors are taken as independent; bursts of the
    feedback equaliser would make the loss larger.
    """
    check.positive("post_fec", "length", length, "m")
    check.not_negative("post_fec", "spent_margin_db", spent_margin_db, "dB")
    make, _, _ = _maker(rate, cable, hosts, gauge)
    link = make(length)
    ratio = 0.0
    for p in settle(link):
        bits = p.link.tx.constellation.bits_per_symbol
        ratio += float(symbol_error_ratio(p.snr_db - spent_margin_db, p.link.tx.constellation)) / bits
    code = link.fec if link.fec is not None else fec.KP4
    failure = float(code.codeword_failure(ratio))
    return PostFec(
        pre_fec_ber=ratio, post_fec_ber=float(code.post_fec_ber(ratio)),
        frame_loss=fec.frame_loss_ratio(failure, code.k * code.symbol_bits, octets), octets=octets,
    )  # fmt: skip


def _maker(
    rate: str, cable: str, hosts: tuple[str, str], gauge: int
) -> tuple[Callable[[float], Link | RetimedLink], Setup, tuple[str, str] | None]:
    check.one_of("copper_reach", "cable", cable, CABLES)
    s = setup(rate)
    pair = hosts if s.has_host_classes else None
    build: dict[str, Callable[..., Link | RetimedLink]] = {"passive": s.link, "ACC": s.redriven, "AEC": s.retimed}
    return (lambda length: build[cable](length, gauge, pair)), s, pair


EYE_LIMIT = 0.3
"""Smallest worst-case eye, of the swing, that an unequalised receiver is taken to need; an estimate."""


def interposer_eye(
    symbol_rate: float, length: float, wire: str = "2x1 um", coupling: float = 0.15,
    pads: tuple[float, float] = (250 * fF, 300 * fF), with_crosstalk: bool = True,
) -> float:  # fmt: skip
    """Worst eye of the middle of three unterminated wires of ``length`` [m], a fraction of the swing; below 0 it is closed.

    Two-level data, ``pads`` [F] of sender and receiver, neighbours switching or quiet; peak distortion.
    """
    check.symbol_rate("interposer_eye", "symbol_rate", symbol_rate)
    check.one_of("interposer_eye", "wire", wire, tuple(INTERPOSERS))
    wires = replace(INTERPOSERS[wire].value, length=length, n_wires=3, coupling=coupling)
    channel = InterposerChannel(wires=wires, driven=1, observed=1, tx_capacitance=pads[0], rx_capacitance=pads[1])
    return worst_eye(channel, symbol_rate, with_crosstalk=with_crosstalk)


@functools.cache
def interposer_reach(
    symbol_rate: float, wire: str = "2x1 um", coupling: float = 0.15, pads: tuple[float, float] = (250 * fF, 300 * fF),
    eye: float = EYE_LIMIT,
) -> float:  # fmt: skip
    """Length [m] at which `interposer_eye` with its neighbours switching shrinks to ``eye``.

    Wire, coupling and limit are estimates.
    """
    from scipy.optimize import brentq

    check.between("interposer_reach", "eye", eye, 0, 0.99)

    def spare(length: float) -> float:
        return interposer_eye(symbol_rate, length, wire, coupling, pads) - eye

    low, high = 0.1 * mm, 50 * mm
    if spare(low) <= 0:
        return 0.0
    return float(brentq(spare, low, high, xtol=1e-6))
