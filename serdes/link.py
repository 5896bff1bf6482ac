"""A link: what transmits, what lies between, what receives. Values only; the engines do the work."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from channels.channel import Channel
from dsp import check
from dsp.clock import BangBang, Gardner, IdealClock, MuellerMuller
from dsp.constellation import Constellation, pam
from dsp.converter import Converter
from dsp.detector import Slicer
from dsp.edge_jitter import EdgeJitter
from dsp.equalizer import FixedTaps, Mmse
from dsp.fec import Fec
from dsp.filters import Ctle
from dsp.mlsd import Mlsd
from dsp.noise import Jitter

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Transmitter:
    """Driver of one lane.

    ``amplitude`` [V]: peak differential level into a matched load (A_v of 802.3 Annex 93A). ``rise_time`` [s]: 20-80 %
    (93A-46), 0 for an ideal edge. ``ffe``: feed-forward taps used as given. ``snr_db``: SNR_TX, peak amplitude squared over
    the variance of white noise sent with every symbol (93A-30, 178A-21), None for none. ``jitter``: of the edges; it passes
    through the channel. ``edges``: jitter that is not random; ``offset_ppm``: by which its symbol rate is above the receiver's;
    ``precoded``: 1/(1+D) precoding (802.3 120.5.7.2). The last three are known to the signal face alone.
    """

    amplitude: float
    constellation: Constellation = field(default_factory=lambda: pam(4))
    rise_time: float = 0.0
    ffe: FixedTaps = FixedTaps()
    snr_db: float | None = None
    jitter: Jitter = Jitter()
    edges: EdgeJitter = EdgeJitter()
    offset_ppm: float = 0.0
    precoded: bool = False

    def __post_init__(self) -> None:
        check.positive(self, "amplitude", self.amplitude, "V")
        check.instance(self, "constellation", self.constellation, Constellation)
        check.between(self, "rise_time", self.rise_time, 0, 1e-6, "s", hint="is it in seconds? 4 ps is 4e-12")
        check.instance(self, "ffe", self.ffe, FixedTaps)
        if self.snr_db is not None:
            check.between(self, "snr_db", self.snr_db, -20, 200, "dB")
        check.instance(self, "jitter", self.jitter, Jitter)
        check.instance(self, "edges", self.edges, EdgeJitter)
        check.between(self, "offset_ppm", self.offset_ppm, -1000, 1000, "ppm")
        check.instance(self, "precoded", self.precoded, bool)


@dataclass(frozen=True, kw_only=True)
class Aggressor:
    """A neighbour's transmitter and the way its signal reaches the victim's receiver.

    ``phase_ui``: its symbol boundaries against the victim's, 0 to 1; None takes the worst phase in the linear face and a
    random one in the time domain. ``offset_ppm``: difference of its symbol rate.
    """

    tx: Transmitter
    coupling: Channel
    phase_ui: float | None = None
    offset_ppm: float = 0.0

    def __post_init__(self) -> None:
        check.instance(self, "tx", self.tx, Transmitter)
        check.instance(self, "coupling", self.coupling, Channel)
        if self.phase_ui is not None:
            check.between(self, "phase_ui", self.phase_ui, 0, 1, "UI")
        check.between(self, "offset_ppm", self.offset_ppm, -1000, 1000, "ppm")


@dataclass(frozen=True, kw_only=True)
class Receiver:
    """Receiver of one lane, in the order of the signal's way.

    ``noise_density`` [V^2/Hz], one-sided, white, at the input (eta_0). ``bandwidth`` [Hz]: of the fourth-order Butterworth
    noise filter (93A-20), None for none. ``ctle``: continuous-time equaliser, its gains chosen among its candidates.
    ``jitter``: of the sampling instants. ``converter``: between sampler and equaliser, None for ideal. ``high_pass`` [Hz]:
    corner of the coupling capacitor, None for direct coupling; known to the signal face alone, as its baseline wander is 40 dB
    and more below the signal.
    """

    noise_density: float = 0.0
    bandwidth: float | None = None
    ctle: Ctle | None = None
    jitter: Jitter = Jitter()
    converter: Converter | None = None
    equalizer: Mmse | FixedTaps = Mmse()
    clock: IdealClock | MuellerMuller | Gardner | BangBang = IdealClock()
    detector: Slicer | Mlsd = Slicer()
    high_pass: float | None = None

    def __post_init__(self) -> None:
        check.not_negative(self, "noise_density", self.noise_density, "V^2/Hz")
        if self.noise_density > 1e-12:
            hint = "the standards give V^2/GHz: 7.5e-9 V^2/GHz is 7.5e-18 V^2/Hz"
            raise check.fail(self, "noise_density", "below 1e-12 [V^2/Hz]", self.noise_density, hint)
        if self.bandwidth is not None:
            check.between(self, "bandwidth", self.bandwidth, 1e6, 1e13, "Hz", hint="is it in hertz? 40 GHz is 40e9")
        if self.ctle is not None:
            check.instance(self, "ctle", self.ctle, Ctle)
        check.instance(self, "jitter", self.jitter, Jitter)
        if self.converter is not None:
            check.instance(self, "converter", self.converter, Converter)
        check.instance(self, "equalizer", self.equalizer, (Mmse, FixedTaps))
        check.instance(self, "clock", self.clock, (IdealClock, MuellerMuller, Gardner, BangBang))
        check.instance(self, "detector", self.detector, (Slicer, Mlsd))
        if self.high_pass is not None:
            check.between(self, "high_pass", self.high_pass, 1e3, 1e9, "Hz", hint="is it in hertz? 100 kHz is 1e5")


@dataclass(frozen=True, kw_only=True)
class Link:
    """One lane end to end. ``symbol_rate`` [Bd]; ``fec`` None means the error ratio stands uncorrected."""

    symbol_rate: float
    tx: Transmitter
    channel: Channel
    rx: Receiver
    aggressors: tuple[Aggressor, ...] = ()
    fec: Fec | None = None

    def __post_init__(self) -> None:
        check.symbol_rate(self, "symbol_rate", self.symbol_rate)
        check.instance(self, "tx", self.tx, Transmitter)
        check.instance(self, "channel", self.channel, Channel)
        check.instance(self, "rx", self.rx, Receiver)
        if not isinstance(self.aggressors, tuple):
            raise check.fail(self, "aggressors", "a tuple of Aggressor", self.aggressors)
        for i, aggressor in enumerate(self.aggressors):
            check.instance(self, f"aggressors[{i}]", aggressor, Aggressor)
        if self.fec is not None:
            check.instance(self, "fec", self.fec, Fec)

    @property
    def nyquist(self) -> float:
        """Half the symbol rate [Hz]."""
        return self.symbol_rate / 2

    @property
    def line_rate(self) -> float:
        """Line rate [b/s]: symbol rate times bits per symbol."""
        return self.symbol_rate * self.tx.constellation.bits_per_symbol

    def vary(self, changes: Mapping[str, Any]) -> Link:
        """A copy with values changed by dotted path: ``{"rx.equalizer.n_taps": 30, "channel.parts.4.length": 2.0}``."""
        return vary(self, changes)


@dataclass(frozen=True, kw_only=True)
class RetimedLink:
    """Links in series, each ended by a retimer that decides and sends anew: error ratios add, the outer FEC sees their sum.

    An active electrical cable or a module with a DSP is three segments: host to retimer, between retimers, retimer to host.
    """

    segments: tuple[Link, ...]
    fec: Fec | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.segments, tuple) or not self.segments:
            raise check.fail(self, "segments", "a tuple of one or more Link", self.segments)
        for i, segment in enumerate(self.segments):
            check.instance(self, f"segments[{i}]", segment, Link)
        if self.fec is not None:
            check.instance(self, "fec", self.fec, Fec)

    def vary(self, changes: Mapping[str, Any]) -> RetimedLink:
        """A copy with values changed by dotted path, for example ``{"segments.1.rx.converter.n_bits": 7}``."""
        return vary(self, changes)


def vary(value: T, changes: Mapping[str, Any]) -> T:
    """A copy of a frozen value with fields replaced by dotted path; numbers in a path index tuples.

    Raises ValueError for a path that does not exist, with the nearest valid name.

    >>> vary(Transmitter(amplitude=0.4), {"jitter.random_ui": 0.01}).jitter.random_ui
    0.01
    """
    for path, new in changes.items():
        check.instance("vary", "path", path, str)
        value = _replace(value, path.split("."), new, path)
    return value


def _replace(value: Any, keys: list[str], new: Any, path: str) -> Any:
    if not keys:
        return new
    key, rest = keys[0], keys[1:]
    if isinstance(value, tuple):
        if not key.lstrip("-").isdigit() or not -len(value) <= int(key) < len(value):
            raise ValueError(f"path {path!r}: {key!r} must be an index from 0 to {len(value) - 1}")
        i = int(key) % len(value)
        return (*value[:i], _replace(value[i], rest, new, path), *value[i + 1 :])
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        raise ValueError(f"path {path!r}: {type(value).__name__} has no field {key!r}")
    names = [f.name for f in dataclasses.fields(value) if f.init]
    if key not in names:
        raise ValueError(f"path {path!r}: {type(value).__name__} has no field {key!r}{suggestion(key, names)}")
    return dataclasses.replace(value, **{key: _replace(getattr(value, key), rest, new, path)})


def suggestion(name: str, valid: list[str]) -> str:
    """', did you mean ...?' when a valid name is near, else the list of them."""
    near = difflib.get_close_matches(name, valid, n=1, cutoff=0.5)
    return f", did you mean {near[0]!r}?" if near else f"; it has {', '.join(valid)}"
