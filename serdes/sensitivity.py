"""How much optical loss a link still bears: sensitivity, margin, penalties."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dsp import check
from dsp.distribution import q_inv
from dsp.units import dbm
from serdes.dead_links import outer_drive
from serdes.link import Link
from serdes.noise_free import Pass, noise_free, optics_in
from serdes.operating_point import OperatingPoint, operating_point
from serdes.semi_analytic import SemiAnalytic, Settled

MOST_DB, MOST_LIGHT_DB = 60.0, 20.0
"""Attenuation beyond which no link is expected to work, and light beyond what there is that could help one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sensitivity:
    """The optical power at which a link just meets a bit error ratio.

    ``margin_db``: loss that may be added to the link as it stands, negative where it fails as it stands. ``oma``, ``average_power``
    [W] at the photodiode then. ``outcome``: "found", "beyond bracket" (met with all of `MOST_DB`), "fails" (not met however much
    light, up to `MOST_LIGHT_DB` more than there is). ``settled``: the receiver there; ``standing``: the one without added loss.
    """

    margin_db: float
    oma: float
    average_power: float
    outcome: str
    reason: str
    settled: Settled
    standing: Settled

    @property
    def oma_dbm(self) -> float:
        """Outer optical modulation amplitude [dBm]."""
        return float(dbm(self.oma))

    @property
    def average_power_dbm(self) -> float:
        """Mean of the two outer powers [dBm]."""
        return float(dbm(self.average_power))


def sensitivity(
    link: Link, bit_error_ratio: float, engine: SemiAnalytic | None = None, point: OperatingPoint | None = None
) -> Sensitivity:
    """The attenuation at which ``link`` just meets ``bit_error_ratio``, by root finding on one noise-free pass.

    ``ValueError`` for a link without optics, or whose amplifier saturates (its waveform depends on the power).
    """
    engine = engine or SemiAnalytic()
    check.between("sensitivity", "bit_error_ratio", bit_error_ratio, 1e-15, 0.1)
    found = optics_in(link.channel)
    if found is None:
        raise ValueError("sensitivity needs a link with optics (an ImddChannel), got one without")
    optics = found[1]
    if optics.tia.saturation is not None:
        raise ValueError("sensitivity needs an amplifier without saturation: the waveform would depend on the power")
    point = point or operating_point(link)
    passed = noise_free(link, point, engine.n_symbols, engine.samples_per_symbol)
    low, high = optics.received_power(outer_drive(link) * np.array([-1.0, 1.0]))
    return _search(passed, bit_error_ratio, engine, float(abs(high - low)), float(high + low) / 2)


def _search(passed: Pass, bit_error_ratio: float, engine: SemiAnalytic, oma: float, mean: float) -> Sensitivity:
    from scipy.optimize import brentq

    wanted = float(q_inv(min(bit_error_ratio, 0.25)))
    seen: dict[float, Settled] = {}

    def surplus(loss_db: float) -> float:
        seen[loss_db] = engine.fit(passed.attenuated(loss_db))
        ber = seen[loss_db].error_ratios()[1]
        return float(q_inv(min(max(ber, 1e-300), 0.49))) - wanted

    def result(loss_db: float, outcome: str, reason: str = "") -> Sensitivity:
        a = 10 ** (-loss_db / 10)
        return Sensitivity(
            margin_db=loss_db, oma=a * oma, average_power=a * mean, outcome=outcome, reason=reason, settled=seen[loss_db],
            standing=seen[0.0],
        )  # fmt: skip

    at, here = 0.0, surplus(0.0)
    step = 4.0 if here > 0 else -4.0
    if here <= 0 and surplus(-MOST_LIGHT_DB) < 0:
        ratio = seen[-MOST_LIGHT_DB].error_ratios()[1]
        return result(
            -MOST_LIGHT_DB, "fails", f"{ratio:.2g} even with {MOST_LIGHT_DB:g} dB more light: interference, not noise"
        )
    while True:
        beyond = at + step
        if beyond > MOST_DB:
            return result(at, "beyond bracket", f"still met with {at:g} dB more loss")
        there = surplus(beyond)
        if there * here <= 0:
            break
        at, here = beyond, there
    loss = float(brentq(surplus, min(at, beyond), max(at, beyond), xtol=2e-3))
    surplus(loss)
    return result(loss, "found")


def with_loss(link: Link, loss_db: float) -> Link:
    """``link`` with ``loss_db`` more optical loss, made up for by the gain of its amplifier."""
    found = optics_in(link.channel)
    if found is None:
        raise ValueError("with_loss needs a link with optics (an ImddChannel), got one without")
    path, optics = found
    louder = replace(optics.tia, gain=optics.tia.gain * 10 ** (loss_db / 10))
    return link.vary({f"channel{path}": replace(optics, loss_db=optics.loss_db + loss_db, tia=louder)})
