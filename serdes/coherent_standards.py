"""Presets of coherent modules from ``standards/coherent.toml``, and the links they are made for."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, final

from channels.amplifier import Edfa, snr_from_osnr
from channels.coherent import CoherentChannel, Span
from channels.fiber import SingleModeFiber
from channels.nonlinear import Comb
from channels.polarization import Polarization
from dsp import check
from dsp.converter import Converter
from dsp.units import GBd, Gbps, GHz, from_dbm, kHz, km, nm, ps, us
from serdes import toml_text
from serdes.coherent import CoherentLink, CoherentReceiver, CoherentTransmitter, SoftFec
from serdes.coherent_statistical import required_osnr_db

NAMES = ("400ZR", "OpenZR+", "800ZR", "800LR")
_UNITS = {
    "": 1.0,
    "us": us,
    "Gb/s": Gbps,
    "GBd": GBd,
    "GHz": GHz,
    "dBm": 1.0,
    "dB": 1.0,
    "ps/nm": ps / nm,
    "ps": ps,
    "kHz": kHz,
    "W": 1.0,
}
_BITS = Converter(n_bits=8, enob=5.5)
"""Converters of all presets: 5 to 5.5 effective bits at the Nyquist frequency (estimate)."""


@final
@dataclass(frozen=True, kw_only=True)
class Module:
    """What a class of module promises; None where its specification says nothing.

    ``required_osnr_db``: at the end of life, with ageing and path penalties. ``dispersion`` [s/m]; ``spans``: in which it is
    sold, 0 for unamplified alone. ``power_dbm`` goes into the amplified line, ``unamplified_power_dbm`` into the bare fibre.
    """

    name: str
    title: str
    code: SoftFec
    net_rate: float
    symbol_rate: float
    spacing: float
    power_dbm: float
    dispersion: float
    dgd: float
    linewidth: float
    offset: float
    transmit_osnr_db: float
    module_power: float
    spans: int
    sensitivity_dbm: float | None = None
    unamplified_power_dbm: float | None = None
    unamplified_sensitivity_dbm: float | None = None
    required_osnr_db: float | None = None

    def __post_init__(self) -> None:
        for text in ("name", "title"):
            check.instance(self, text, getattr(self, text), str)
        check.instance(self, "code", self.code, SoftFec)
        check.positive(self, "net_rate", self.net_rate, "b/s")
        check.symbol_rate(self, "symbol_rate", self.symbol_rate)
        check.between(self, "spacing", self.spacing, self.symbol_rate, 1e12, "Hz")
        check.between(self, "power_dbm", self.power_dbm, -30, 20, "dBm")
        check.between(self, "dispersion", self.dispersion, 0, 100, "s/m", hint="2400 ps/nm are 2.4")
        check.between(self, "dgd", self.dgd, 0, 1e-10, "s")
        check.between(self, "linewidth", self.linewidth, 0, 1e8, "Hz")
        check.between(self, "offset", self.offset, 0, 20e9, "Hz")
        check.between(self, "transmit_osnr_db", self.transmit_osnr_db, 10, 80, "dB")
        check.between(self, "module_power", self.module_power, 0.1, 1000, "W")
        check.count(self, "spans", self.spans, 0, 100)
        for field in ("sensitivity_dbm", "unamplified_power_dbm", "unamplified_sensitivity_dbm"):
            if getattr(self, field) is not None:
                check.between(self, field, getattr(self, field), -40, 20, "dBm")
        if self.required_osnr_db is not None:
            check.between(self, "required_osnr_db", self.required_osnr_db, 5, 60, "dB")

    @property
    def energy(self) -> float:
        """Energy of a net bit in one module [J]."""
        return self.module_power / self.net_rate

    def back_to_back(self) -> CoherentLink:
        """Transmitter and receiver without a line, with the module's power, lasers, converters and in-band noise."""
        return CoherentLink(
            symbol_rate=self.symbol_rate,
            tx=CoherentTransmitter(power=float(from_dbm(self.power_dbm)), linewidth=self.linewidth, converter=_BITS),
            rx=CoherentReceiver(linewidth=self.linewidth, offset=self.offset, converter=_BITS),
            implementation_snr_db=snr_from_osnr(self.transmit_osnr_db, self.symbol_rate),
            fec=self.code,
        )

    def ageing_db(self) -> float:
        """Margin for implementation, age and path [dB]: required OSNR over that of `back_to_back`."""
        if self.required_osnr_db is None:
            return 0.0
        return self.required_osnr_db - required_osnr_db(self.back_to_back())

    def amplified(
        self, length: float, spans: int = 1, power_dbm: float | None = None, channels: int = 1, noise_figure_db: float = 5.5
    ) -> CoherentLink:
        """``spans`` of ``length`` [m] each, an amplifier behind each, ``channels`` beside each other.

        ``power_dbm``: into each span, None for the module's own; more takes a booster, whose noise is added to the line's.
        The last amplifier gives the receiver the same power. ``ValueError`` for a module without an amplified class, or less
        power than its own.
        """
        launched = self.power_dbm if power_dbm is None else power_dbm
        if self.spans == 0 or launched < self.power_dbm:
            raise ValueError(
                f"{self.name} has {self.spans} amplified spans from {self.power_dbm:g} dBm on, asked for {launched!r} dBm"
            )
        fiber = SingleModeFiber(length=length)
        span = Span(fiber=fiber, amplifier=Edfa(noise_figure_db=noise_figure_db), connector_loss_db=0.25)
        gain = launched - self.power_dbm
        first: tuple[Span, ...] = ()
        power = launched
        if gain > 0:
            booster = Span(fiber=SingleModeFiber(length=0.0), amplifier=Edfa(noise_figure_db=noise_figure_db, gain_db=gain))
            first, power = (booster,), self.power_dbm
        comb = Comb(symbol_rate=self.symbol_rate, channels=channels, spacing=self.spacing)
        line = CoherentChannel(spans=(*first, *(span,) * spans), polarization=Polarization(dgd=self.dgd), comb=comb)
        return self.back_to_back().vary({"channel": line, "tx.power": float(from_dbm(power))})

    def unamplified(self, length: float) -> CoherentLink:
        """Bare fibre of ``length`` [m]; ``ValueError`` for a module that gives no power for it."""
        if self.unamplified_power_dbm is None:
            raise ValueError(f"{self.name} is not sold for unamplified lines: its budget needs an amplifier")
        span = Span(fiber=SingleModeFiber(length=length), connector_loss_db=0.25)
        line = CoherentChannel(spans=(span,), polarization=Polarization(dgd=self.dgd))
        return self.back_to_back().vary({"channel": line, "tx.power": float(from_dbm(self.unamplified_power_dbm))})

    def unamplified_reach(self) -> float:
        """Length [m] whose loss is the budget of launch power over sensitivity; 0 for a module without one."""
        if self.unamplified_power_dbm is None or self.unamplified_sensitivity_dbm is None:
            return 0.0
        budget = self.unamplified_power_dbm - self.unamplified_sensitivity_dbm
        per_metre = SingleModeFiber(length=1 * km).loss_db(1550 * nm) / km
        return max(0.0, budget - 0.5) / per_metre

    def dispersion_reach(self, wavelength: float = 1550 * nm) -> float:
        """Length [m] of standard fibre whose dispersion is the limit of the specification."""
        return self.dispersion / SingleModeFiber(length=1.0).dispersion_at(wavelength)


@functools.cache
def module(name: str) -> Module:
    """A preset by name; ``ValueError`` for another."""
    check.one_of("module", "name", name, NAMES)
    table = toml_text.standard("coherent")
    entry = {key: _value(row) for key, row in table[name].items()}
    code = {key: _value(row) for key, row in table["codes"][entry["code"]].items()}
    source = table["codes"][entry["code"]]["threshold"][2]
    entry["code"] = SoftFec(name=entry["code"], source=source, **code)
    entry["spans"] = int(entry["spans"])
    return Module(name=name, **entry)


def sources(name: str) -> dict[str, str]:
    """Where each value of a preset comes from."""
    check.one_of("sources", "name", name, NAMES)
    return {key: row[2] for key, row in toml_text.standard("coherent")[name].items() if isinstance(row, list)}


def _value(row: Any) -> Any:
    return row[0] * _UNITS[row[1]] if isinstance(row, list) else row
