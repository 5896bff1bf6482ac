"""Crosstalk where no coupled measurement exists: estimated coupling channels, and the sums that standards report.

Both channels are estimates: a level at the Nyquist frequency that rises 20 dB per decade. They are complex and causal, so an
aggressor's waveform may pass through them. A measured response, where there is one, is better.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from channels.channel import LinearChannel
from channels.network import Chain, MultiPort
from dsp import check
from dsp.units import db, db_power, from_db

FLAT_ABOVE = 1.5  # near-end coupling stops rising here, in reference frequencies


@final
@dataclass(frozen=True, kw_only=True)
class FarEndCrosstalk(LinearChannel):
    """Far-end coupling estimate: H_through(f) 10^(-loss_db / 20) (j f / f_N).

    ``loss_db`` below the through channel at ``reference_frequency`` f_N [Hz]; 42 dB is an estimate for cables and connectors.
    """

    through: LinearChannel
    reference_frequency: float
    loss_db: float = 42.0

    def __post_init__(self) -> None:
        check.instance(self, "through", self.through, LinearChannel)
        _estimate(self, self.reference_frequency, self.loss_db)

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Aggressor's transmitter to victim's receiver, complex [V/V], shape of ``f`` [Hz]."""
        f = np.asarray(f, float)
        return self.through.transfer(f) * (1j * from_db(-self.loss_db) / self.reference_frequency * f)


@final
@dataclass(frozen=True, kw_only=True)
class NearEndCrosstalk(LinearChannel):
    """Near-end coupling estimate: S_tx S_rx 10^(-loss_db / 20) times (j f / f_N), flat above 1.5 f_N by one pole.

    ``tx_side`` leads from the aggressor's transmitter to the place of coupling, ``rx_side`` on to the victim's receiver.
    The coupling has ``loss_db`` at ``reference_frequency`` f_N [Hz]; 46 dB is an estimate. Resistances [ohm] are the
    single-ended R_d; reflections at the place of coupling are left out.
    """

    tx_side: tuple[MultiPort, ...]
    rx_side: tuple[MultiPort, ...]
    reference_frequency: float
    loss_db: float = 46.0
    source_resistance: float = 50.0
    load_resistance: float = 50.0

    def __post_init__(self) -> None:
        for field in ("tx_side", "rx_side"):
            parts = getattr(self, field)
            check.instance(self, field, parts, tuple)
            for i, part in enumerate(parts):
                check.instance(self, f"{field}[{i}]", part, MultiPort)
                if part.n_ports != 2:
                    raise check.fail(self, f"{field}[{i}]", "a balanced two-port", f"{part.n_ports} ports")
        _estimate(self, self.reference_frequency, self.loss_db)
        check.between(self, "source_resistance", self.source_resistance, 1, 1000, "ohm")
        check.between(self, "load_resistance", self.load_resistance, 1, 1000, "ohm")

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Aggressor's transmitter to victim's receiver, complex [V/V], shape of ``f`` [Hz]."""
        f = np.asarray(f, float)
        corner = 1j * f / (FLAT_ABOVE * self.reference_frequency)
        # the pole takes 20 log10 |1 + j / 1.5| at f_N, which this gives back
        coupling = corner / (1 + corner) * (from_db(-self.loss_db) * FLAT_ABOVE * abs(1 + 1j / FLAT_ABOVE))
        for parts, resistance in ((self.tx_side, self.source_resistance), (self.rx_side, self.load_resistance)):
            if parts:
                coupling = coupling * Chain(parts).s(f, 2 * resistance)[1, 0]
        return coupling


def _estimate(owner: object, reference_frequency: float, loss_db: float) -> None:
    check.between(
        owner, "reference_frequency", reference_frequency, 1e6, 1e12, "Hz",
        f"was {reference_frequency} GHz meant? Write {reference_frequency} * GHz",
    )  # fmt: skip
    check.between(owner, "loss_db", loss_db, 0, 200, "dB")


def power_sum(transfers: Iterable[np.ndarray]) -> np.ndarray:
    """Sum of |H|^2 over independent aggressors, shape (n_f,); `ValueError` if there is none."""
    powers = [np.abs(transfer) ** 2 for transfer in transfers]
    if not powers:
        raise check.fail("power_sum", "transfers", "one or more", ())
    return np.sum(powers, axis=0)


def crosstalk_ratio_db(through: np.ndarray, transfers: Iterable[np.ndarray]) -> np.ndarray:
    """Insertion loss to crosstalk ratio [dB], shape (n_f,): |H_through|^2 over the `power_sum` of the aggressors.

    Complex transfers on one axis and between the same terminations. Infinite where no crosstalk arrives; `ValueError` if
    there is no aggressor.
    """
    through, power = np.asarray(through), power_sum(transfers)
    if power.shape != through.shape:
        raise check.fail("crosstalk_ratio_db", "transfers", f"of the shape of through {through.shape}", power.shape)
    with np.errstate(divide="ignore"):
        return db(through) - db_power(power)


def integrated_noise(
    f: np.ndarray, power: np.ndarray, *, symbol_rate: float, amplitude: float, rise_time: float, bandwidth: float
) -> float:
    """Integrated crosstalk noise [V rms]: sqrt(2 df sum W(f) |MDXT(f)|^2), after IEEE 802.3 (92-46), from memory.

    W = A^2 / (4 f_b) sinc^2(f / f_b) / ((1 + (f/f_t)^4) (1 + (f/f_r)^8)) with f_t = 0.2365 / T_r. ``f`` [Hz] uniform, ``power``
    from `power_sum`, ``symbol_rate`` f_b [Bd], ``amplitude`` A [V], ``rise_time`` T_r [s], receiver ``bandwidth`` f_r [Hz].
    """
    f = np.asarray(f, float)
    steps = np.diff(f)
    if f.ndim != 1 or f.size < 2 or np.ptp(steps) > 1e-6 * np.mean(steps):
        raise check.fail("integrated_noise", "f", "a uniform axis of two or more frequencies [Hz]", f)
    check.symbol_rate("integrated_noise", "symbol_rate", symbol_rate)
    check.not_negative("integrated_noise", "amplitude", amplitude, "V")
    check.positive("integrated_noise", "rise_time", rise_time, "s")
    check.positive("integrated_noise", "bandwidth", bandwidth, "Hz")
    weight = amplitude**2 / (4 * symbol_rate) * np.sinc(f / symbol_rate) ** 2
    weight = weight / ((1 + (f * rise_time / 0.2365) ** 4) * (1 + (f / bandwidth) ** 8))
    return float(np.sqrt(2 * np.mean(steps) * np.sum(weight * power)))
