"""The linear face of a coherent link: SNR by cause, error ratio and information of Gaussian noise, launch power, reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from channels.amplifier import combined_db, snr_from_osnr
from dsp.converter import Converter
from dsp.units import db_power, dbm, from_db_power, from_dbm
from serdes.coherent import CREST, CoherentLink, CoherentResult, unmodelled, verdict
from serdes.coherent_band import at_converter, equalized, skew_db
from serdes.coherent_metrics import bit_error_ratio, gaussian_information, symbol_error_ratio

LEFT_OUT = (
    "phase noise and cycle slips",
    "equaliser and timing that are not ideal",
    "polarisation-dependent loss",
    "distortion and errors of modulator and hybrid",
    "what a balanced pair leaves of the signal's own power",
    "interference that is not Gaussian",
)
"""Penalties that the linear face does not know."""


@dataclass(frozen=True, kw_only=True)
class CoherentStatistical:
    """Every noise as Gaussian and independent, the receiver ideal. ``samples_per_symbol``: of the converters."""

    samples_per_symbol: int = 2

    def run(self, link: CoherentLink) -> CoherentResult:
        """SNR of each cause and all together; both polarisations are alike."""
        if refused := unmodelled(link):
            return CoherentResult(link=link, engine=self, outcome=refused[0], reason=refused[1])
        parts = self.budget(link)
        snr = combined_db(*parts.values())
        if not np.isfinite(snr):
            return CoherentResult(
                link=link, engine=self, outcome="no noise", reason="no part of the link makes noise", budget=parts
            )
        ber = bit_error_ratio(snr, link.tx.constellation, link.differential)
        information = gaussian_information(snr, link.tx.constellation)
        outcome, reason = verdict(link, ber)
        if outcome == "errors beyond the code":
            worst = min(parts, key=lambda name: parts[name])
            reason += f"; most of the noise is from: {worst}"
        return CoherentResult(
            link=link, engine=self, outcome=outcome, reason=reason, polarizations_db=(snr, snr), ber=ber,
            ser=symbol_error_ratio(snr, link.tx.constellation),
            information=(information, information), budget=parts,
        )  # fmt: skip

    def budget(self, link: CoherentLink) -> dict[str, float]:
        """SNR [dB] in each polarisation that each cause alone would leave; infinite where there is no such cause."""
        channel, power = link.channel, link.tx.power
        received = power * float(from_db_power(channel.net_db))
        amplifiers = snr_from_osnr(channel.osnr_db(power), link.symbol_rate)
        loading = float("inf") if link.osnr_db is None else snr_from_osnr(link.osnr_db, link.symbol_rate)
        with np.errstate(divide="ignore"):
            front = float(db_power(link.rx.front_end.snr(received, link.symbol_rate)))
        own = float("inf") if link.implementation_snr_db is None else link.implementation_snr_db
        # White noise over the whole sampled band enters the converter beside the signal.
        before = combined_db(amplifiers, loading, front)
        signal, white = at_converter(link, self.samples_per_symbol)
        seen = signal + white * float(from_db_power(-before))
        parts = {
            "amplifiers": amplifiers,
            "loading": loading,
            "nonlinear": channel.nonlinear_snr_db(power, link.symbol_rate),
            "front end": front,
            "transmit converter": self._converter_db(link.tx.converter, 1.0),
            "receive converter": self._converter_db(link.rx.converter, seen),
            "oscillator in dispersion": self._oscillator_db(link),
            "implementation": own,
        }
        return {**equalized(link, parts), "skew": skew_db(link)}

    @staticmethod
    def _oscillator_db(link: CoherentLink) -> float:
        """Phase noise of the oscillator that the dispersion equaliser turns into noise [dB]: pi^2 |beta2 L| linewidth rate.

        W. Shieh and K.-P. Ho, Optics Express 16, 2008: pi lambda^2 D L linewidth rate / (2 c).
        """
        spread = np.pi**2 * abs(link.rx.dispersion_share * link.channel.betas[0])
        with np.errstate(divide="ignore"):
            return float(-db_power(spread * link.rx.linewidth * link.symbol_rate))

    def _converter_db(self, converter: Converter | None, power: float) -> float:
        """Signal of 1 over what rounding at a total of ``power`` makes in the signal's band [dB]."""
        if converter is None:
            return float("inf")
        return float(-db_power(converter.noise_variance(CREST * np.sqrt(power)) / self.samples_per_symbol))


def required_osnr_db(link: CoherentLink) -> float:
    """OSNR [dB, 0.1 nm] to load so that the linear face meets the code's threshold; infinite where nothing may be added."""
    from channels.amplifier import osnr_from_snr

    rest = CoherentStatistical().budget(link.vary({"osnr_db": None}))
    free = from_db_power(-link.required_snr_db) - from_db_power(-combined_db(*rest.values()))
    return float("inf") if free <= 0 else osnr_from_snr(float(-db_power(free)), link.symbol_rate)


@dataclass(frozen=True, kw_only=True)
class Launch:
    """``power_dbm`` of the best margin and that ``margin_db``."""

    power_dbm: float
    margin_db: float


def best_launch(link: CoherentLink, low_dbm: float = -15.0, high_dbm: float = 15.0) -> Launch:
    """Power of the transmitter with the most margin: amplifiers' noise falls with power, the nonlinear one rises."""
    from scipy.optimize import minimize_scalar

    def loss(power_dbm: float) -> float:
        return -CoherentStatistical().run(link.vary({"tx.power": float(from_dbm(power_dbm))})).margin_db

    found = minimize_scalar(loss, bounds=(low_dbm, high_dbm), method="bounded", options={"xatol": 0.01})
    return Launch(power_dbm=float(found.x), margin_db=-float(found.fun))


@dataclass(frozen=True, kw_only=True)
class CoherentReach:
    """``length`` [m] at which the margin is gone; ``outcome`` "ok", "none" or "beyond" the bracket, with ``reason``."""

    length: float
    outcome: str
    reason: str = ""


def coherent_reach(
    link_at: Callable[[float], CoherentLink],
    bracket: tuple[float, float],
    margin_db: float = 0.0,
    sensitivity: float | None = None,
) -> CoherentReach:
    """Longest link that keeps ``margin_db`` and receives ``sensitivity`` [W] or more, where given."""
    from scipy.optimize import brentq

    def spare(length: float) -> float:
        link = link_at(length)
        result = CoherentStatistical().run(link)
        power = (
            float("inf") if sensitivity is None else float(dbm(link.tx.power)) + link.channel.net_db - float(dbm(sensitivity))
        )
        return min(result.margin_db - margin_db, power, 1e3)

    low, high = bracket
    if refused := unmodelled(link_at(low)):
        return CoherentReach(length=0.0, outcome="none", reason=refused[1])
    if spare(low) < 0:
        return CoherentReach(
            length=0.0, outcome="none", reason=f"margin is {spare(low):.2f} dB short at {low / 1e3:g} km already"
        )
    if spare(high) >= 0:
        return CoherentReach(
            length=high, outcome="beyond", reason=f"margin is left at {high / 1e3:g} km, the end of the bracket"
        )
    return CoherentReach(length=float(brentq(spare, low, high, xtol=1.0)), outcome="ok")


def loaded(link: CoherentLink, osnr_db: float) -> CoherentLink:
    """``link`` with as much noise added before the receiver as makes its OSNR, amplifiers included, ``osnr_db`` [dB, 0.1 nm].

    ``ValueError`` where the amplifiers alone leave less.
    """
    own = link.channel.osnr_db(link.tx.power)
    rest = from_db_power(-osnr_db) - from_db_power(-own)
    if rest <= 0:
        raise ValueError(f"loaded: osnr_db must be below the {own:.2f} dB that the amplifiers leave, got {osnr_db!r}")
    return link.vary({"osnr_db": float(-db_power(rest))})
