"""What ends a link before a symbol is decided, the same for every engine: nothing arrives, or too much light does."""

from __future__ import annotations

from typing import Any

import numpy as np

from channels.imdd import flattened
from channels.stages import Stage
from serdes.link import Link
from serdes.noise_free import optics_in
from serdes.operating_point import OperatingPoint
from serdes.result import NO_SIGNAL, BasebandResult

FAINTEST_DB = -20.0
"""Slicer SNR [dB] below which nothing is said to arrive: a hundredth of the power of what covers it."""


def dead(engine: Any, point: OperatingPoint, count: int | None = None) -> BasebandResult | None:
    """The result of a link that ``point`` or its light says to be dead, None for one that lives.

    ``count``: of symbols counted, None for engines that don't. "no signal": no main cursor, or one `FAINTEST_DB` below noise and
    interference. "overload": more light than the photodiode bears.
    """
    if point.closed:
        return BasebandResult.failed(point.link, engine, point, *NO_SIGNAL, count)
    if point.snr_db < FAINTEST_DB:
        reason = f"what arrives is {-point.snr_db:.0f} dB below noise and interference, most of which is {point.binding}"
        return BasebandResult.failed(point.link, engine, point, NO_SIGNAL[0], reason, count)
    if reason := overload(point.link):
        return BasebandResult.failed(point.link, engine, point, "overload", reason, count)
    return None


def overload(link: Link) -> str:
    """Why the first photodiode of ``link`` gets more light than it bears, empty where it does not or there is none."""
    found = optics_in(link.channel)
    return found[1].overload(outer_drive(link)) if found else ""


def outer_drive(link: Link) -> float:
    """Input [V] of the first optics while the transmitter holds its outermost level."""
    drive = link.tx.amplitude * float(np.sum(link.tx.ffe.feed_forward)) * float(np.max(np.abs(link.tx.constellation.array)))
    for piece in flattened(link.channel):
        if isinstance(piece, Stage):
            return drive
        drive *= float(np.real(piece.transfer(np.zeros(1)))[0])
    return drive
