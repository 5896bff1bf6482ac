"""A coherent link and what its engines return: the same idea as `serdes.link`, for fields of two polarisations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from channels.coherent import CoherentChannel
from channels.coherent_optics import AnaloguePaths, CoherentFrontEnd, IqModulator
from dsp import check
from dsp.butterfly import Butterfly
from dsp.carrier import BlindPhaseSearch, Pilots
from dsp.constellation import Constellation, qam
from dsp.converter import Converter
from dsp.tone import ToneTiming
from dsp.training import Training
from dsp.units import GHz, db_power, from_db_power, mW, nm
from serdes.coherent_metrics import rail, required_snr_db
from serdes.link import vary
from serdes.result import LinkResult, Lock

CREST = 3.5
"""Range of a converter over the rms of what it converts."""


@final
@dataclass(frozen=True, kw_only=True)
class SoftFec:
    """A soft-decision code as a threshold: it works where the bit error ratio before it is ``threshold`` or less.

    ``rate``: data over all bits; ``latency`` [s]: of encoder and decoder; ``source``: of the numbers.
    """

    name: str
    threshold: float
    rate: float
    latency: float = 0.0
    source: str = ""

    def __post_init__(self) -> None:
        check.instance(self, "name", self.name, str)
        check.between(self, "threshold", self.threshold, 1e-15, 0.1)
        check.between(self, "rate", self.rate, 0.3, 1)
        check.between(self, "latency", self.latency, 0, 1e-3, "s", hint="4 us are 4e-6")
        check.instance(self, "source", self.source, str)


@final
@dataclass(frozen=True, kw_only=True)
class CoherentTransmitter:
    """``power`` [W] launched in both polarisations; root-raised-cosine shaping of ``roll_off``; laser of ``linewidth`` [Hz].

    ``converter``: None for ideal; its range is 3.5 times the rms. ``paths``: from it to the modulator.
    """

    power: float = 1 * mW
    constellation: Constellation = field(default_factory=lambda: qam(16))
    roll_off: float = 0.2
    linewidth: float = 100e3
    modulator: IqModulator = IqModulator()
    converter: Converter | None = None
    paths: AnaloguePaths = AnaloguePaths()

    def __post_init__(self) -> None:
        check.between(self, "power", self.power, 1e-6, 1, "W", hint="is it in watts? 0 dBm is 1e-3")
        check.instance(self, "constellation", self.constellation, Constellation)
        rail(self.constellation)
        check.between(self, "roll_off", self.roll_off, 0.05, 0.8)
        check.between(self, "linewidth", self.linewidth, 0, 1e8, "Hz")
        check.instance(self, "modulator", self.modulator, IqModulator)
        if self.converter is not None:
            check.instance(self, "converter", self.converter, Converter)
        check.instance(self, "paths", self.paths, AnaloguePaths)


@final
@dataclass(frozen=True, kw_only=True)
class CoherentReceiver:
    """Front end and signal processing, in the order of the signal's way.

    ``offset`` [Hz]: of the transmitter's laser from the oscillator's; ``linewidth`` [Hz]: of the latter; ``clock_ppm``: by
    which its sampling is slow. ``converter`` as in the transmitter, ``paths`` to it. ``dispersion_share``: of the channel's dispersion that
    the fixed equaliser undoes, 1 where it is known exactly; the butterfly gets the rest. ``training``: known symbols that
    the butterfly starts from, None for a blind start.
    """

    front_end: CoherentFrontEnd = field(default_factory=CoherentFrontEnd)
    offset: float = 0.0
    linewidth: float = 100e3
    clock_ppm: float = 0.0
    converter: Converter | None = None
    paths: AnaloguePaths = AnaloguePaths()
    dispersion_share: float = 1.0
    timing: ToneTiming = ToneTiming()
    butterfly: Butterfly = Butterfly()
    phase: BlindPhaseSearch = BlindPhaseSearch()
    pilots: Pilots = Pilots()
    training: Training | None = None

    def __post_init__(self) -> None:
        check.instance(self, "front_end", self.front_end, CoherentFrontEnd)
        check.between(self, "offset", self.offset, -20e9, 20e9, "Hz", hint="is it in hertz? 1.8 GHz is 1.8e9")
        check.between(self, "linewidth", self.linewidth, 0, 1e8, "Hz")
        check.between(self, "clock_ppm", self.clock_ppm, -200, 200, "ppm")
        if self.converter is not None:
            check.instance(self, "converter", self.converter, Converter)
        check.instance(self, "paths", self.paths, AnaloguePaths)
        check.between(self, "dispersion_share", self.dispersion_share, 0, 2)
        check.instance(self, "timing", self.timing, ToneTiming)
        check.instance(self, "butterfly", self.butterfly, Butterfly)
        check.instance(self, "phase", self.phase, BlindPhaseSearch)
        check.instance(self, "pilots", self.pilots, Pilots)
        if self.training is not None:
            check.instance(self, "training", self.training, Training)

    def payload(self, n: int) -> np.ndarray:
        """Which of ``n`` symbols carry data, (n,): neither training nor pilots."""
        k = np.arange(n)
        return (k % self.pilots.period != 0) & (k >= (0 if self.training is None else self.training.n_symbols))


@final
@dataclass(frozen=True, kw_only=True)
class CoherentLink:
    """One wavelength end to end. ``symbol_rate`` [Bd].

    ``osnr_db``: noise loaded in front of the receiver to this OSNR [dB, 0.1 nm], beside that of amplifiers; None for none.
    ``implementation_snr_db``: all that the parts leave out, as noise at the transmitter, None for nothing. ``differential``:
    quadrants are sent as changes, and pilots serve to align alone: a cycle slip costs one symbol and needs no repair.
    """

    symbol_rate: float
    tx: CoherentTransmitter = field(default_factory=CoherentTransmitter)
    channel: CoherentChannel = field(default_factory=CoherentChannel)
    rx: CoherentReceiver = field(default_factory=CoherentReceiver)
    osnr_db: float | None = None
    implementation_snr_db: float | None = None
    fec: SoftFec | None = None
    differential: bool = False

    def __post_init__(self) -> None:
        check.symbol_rate(self, "symbol_rate", self.symbol_rate)
        check.instance(self, "tx", self.tx, CoherentTransmitter)
        check.instance(self, "channel", self.channel, CoherentChannel)
        check.instance(self, "rx", self.rx, CoherentReceiver)
        for name in ("osnr_db", "implementation_snr_db"):
            if getattr(self, name) is not None:
                check.between(self, name, getattr(self, name), -10, 80, "dB")
        if self.fec is not None:
            check.instance(self, "fec", self.fec, SoftFec)
        check.instance(self, "differential", self.differential, bool)

    @property
    def line_rate(self) -> float:
        """Bits of both polarisations [b/s], code and pilots included."""
        return 2 * self.symbol_rate * self.tx.constellation.bits_per_symbol

    @property
    def required_snr_db(self) -> float:
        """SNR [dB] at the threshold of the code; ``ValueError`` without one."""
        if self.fec is None:
            raise check.fail(self, "fec", "given, to require an SNR", self.fec)
        return required_snr_db(self.fec.threshold, self.tx.constellation, self.differential)

    def vary(self, changes: Mapping[str, Any]) -> CoherentLink:
        """A copy with values changed by dotted path: ``{"tx.power": 2e-3, "channel.spans.0.fiber.length": 80e3}``."""
        return vary(self, changes)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class CoherentResult(LinkResult):
    """How well a coherent link works, both polarisations together; ``snr_db`` is that of the worse, nan where none was recovered.

    ``polarizations_db``: SNR of each; ``information`` [bit/symbol] of each (GMI). ``budget``: SNR [dB] left by each cause alone
    (linear face). ``stages``: symbols of the first polarisation after each stage, complex. ``slips``: cycle slips that the
    pilots found and undid.
    """

    link: CoherentLink
    ser: float = float("nan")
    ber: float = float("nan")
    snr_db: float = field(init=False)
    lock: Lock = field(init=False)
    polarizations_db: tuple[float, float] = (float("nan"), float("nan"))
    information: tuple[float, float] = (float("nan"), float("nan"))
    budget: Mapping[str, float] = field(default_factory=dict)
    slips: int = 0
    offset: float = float("nan")
    clock_ppm: float = float("nan")
    stages: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        worse = min(self.polarizations_db)
        locked = bool(np.isfinite(worse))
        lock = Lock(locked=locked, reason="every stage handed on" if locked else f"{self.outcome}: {self.reason}")
        object.__setattr__(self, "snr_db", worse)
        object.__setattr__(self, "lock", lock)

    @property
    def margin_db(self) -> float:
        """SNR of the worse polarisation over what the code requires [dB]; nan where the link failed or has no code."""
        if self.link.fec is None or not np.isfinite(self.snr_db):
            return float("nan")
        return self.snr_db - self.link.required_snr_db

    def entries(self) -> dict[str, Any]:
        """`LinkResult.entries`, each polarisation, what the receiver found, and the budget."""
        return {
            **super().entries(),
            "snr_x_db": self.polarizations_db[0], "snr_y_db": self.polarizations_db[1], "gmi_x": self.information[0],
            "gmi_y": self.information[1], "margin_db": self.margin_db, "slips": self.slips, "offset": self.offset,
            "clock_ppm": self.clock_ppm, **{f"snr_{name}_db": value for name, value in self.budget.items()},
        }  # fmt: skip


def verdict(link: CoherentLink, ber: float) -> tuple[str, str]:
    """Outcome and reason of a link that works so far: its receiver's band, its code's threshold. Without a code any ratio is "ok"."""
    if aliased := beyond_band(link):
        return aliased
    if link.fec is None or ber <= link.fec.threshold:
        return "ok", ""
    return starved(link) or (
        "errors beyond the code", f"bit error ratio {ber:.3g} is above the {link.fec.threshold:g} of {link.fec.name}"
    )  # fmt: skip


def beyond_band(link: CoherentLink) -> tuple[str, str] | None:
    """Outcome and reason where shaping and offset reach beyond what two samples a symbol tell apart, else None."""
    reaches = (1 + link.tx.roll_off) / 2 * link.symbol_rate + abs(link.rx.offset)
    if reaches <= link.symbol_rate:
        return None
    return "band", (
        f"the signal reaches {reaches / GHz:.1f} GHz from the oscillator, two samples a symbol take {link.symbol_rate / GHz:.1f} GHz"
    )


def unmodelled(link: CoherentLink) -> tuple[str, str] | None:
    """Outcome and reason where the closed form of the nonlinear noise has no answer, else None."""
    span = link.channel.without_closed_form
    if span is None:
        return None
    return "no dispersion", (
        f"the fibre of spans[{span}] has less than 0.1 ps/nm/km at {link.channel.wavelength / nm:g} nm, where the Gaussian noise "
        'model has no answer: count with kerr="split step" or "none", or set kerr to 0'
    )


def starved(link: CoherentLink) -> tuple[str, str] | None:
    """Outcome and reason where a line without amplifiers leaves the front end too little light for the code, else None."""
    spans = link.channel.spans
    if link.fec is None or not spans or any(span.amplifier is not None for span in spans):
        return None
    left = float(db_power(link.rx.front_end.snr(link.tx.power * float(from_db_power(link.channel.net_db)), link.symbol_rate)))
    if left >= link.required_snr_db:
        return None
    return "no amplifier", (
        f"{-link.channel.net_db:.1f} dB of line without an amplifier leave {left:.1f} dB of SNR at the front end, "
        f"{link.fec.name} requires {link.required_snr_db:.1f} dB"
    )  # fmt: skip
