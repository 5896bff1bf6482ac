"""What sits in the module: a DSP both ways, in one direction, or none. Architectures as data, and the path of a lane through them.

A segment ends where a DSP decides and sends anew. Error ratios of the segments add; the outer code is the hosts' and sees the sum;
an inner code is the modules' and works on the segment with the light alone.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np

from channels.channel import Cascade, Channel
from channels.imdd import ImddChannel
from channels.stages import Amplifier
from dsp import check
from dsp.equalizer import FixedTaps, Mmse
from dsp.fec import KP4, Fec
from dsp.grid import Grid
from dsp.inner_ratio import OVERHEAD, after_inner, before_inner
from dsp.units import ns
from serdes import waveform
from serdes.dead_links import overload
from serdes.link import Link, Receiver, RetimedLink, Transmitter
from serdes.noise_free import symbols
from serdes.semi_analytic import SemiAnalytic
from serdes.sensitivity import Sensitivity, sensitivity
from serdes.statistical import Statistical

_LEAST_SHARE = 0.01
"""Share of the error ratio that is left to the light where electrical segments use up more than the rest: it fails anyway."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number with where it comes from; ``source`` is the word "estimate" where there is none."""

    value: float
    source: str

    def __post_init__(self) -> None:
        check.not_negative(self, "value", self.value)
        if not self.source:
            raise check.fail(self, "source", "a source, or the word estimate", self.source)


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """What a module does with the signal on its way to the light (``transmit``) and back (``receive``): "retimed" or "linear".

    ``equalized``: whether host and module equalise at all. ``host_loss_db``: electrical loss per side that it is made for, None
    for any. ``extra_loss_db``: optical, of remote laser and coupling. ``energy`` [J/bit] of both ends of a lane, host SerDes
    left out; ``latency`` [s] of both modules.
    """

    name: str
    title: str
    transmit: str
    receive: str
    equalized: bool = True
    host_loss_db: float | None = None
    extra_loss_db: float = 0.0
    energy: Figure
    latency: Figure

    def __post_init__(self) -> None:
        for field in ("transmit", "receive"):
            check.one_of(self, field, getattr(self, field), ("retimed", "linear"))
        check.instance(self, "equalized", self.equalized, bool)
        if self.host_loss_db is not None:
            check.between(self, "host_loss_db", self.host_loss_db, 0, 60, "dB")
        check.between(self, "extra_loss_db", self.extra_loss_db, 0, 20, "dB")
        check.instance(self, "energy", self.energy, Figure)
        check.instance(self, "latency", self.latency, Figure)


_PJ = 1e-12
ARCHITECTURES: dict[str, Architecture] = {
    a.name: a
    for a in (
        Architecture(
            name="retimed", title="DSP module", transmit="retimed", receive="retimed",
            energy=Figure(value=17 * _PJ, source="800G retimed, 5 nm DSP, 13-14 W: FiberMall on Marvell"),
            latency=Figure(value=150 * ns, source="estimate"),
        ),
        Architecture(
            name="LRO", title="half a DSP (LRO/TRO)", transmit="retimed", receive="linear",
            energy=Figure(value=10 * _PJ, source="1.6T TRO below 16 W: Marvell (X. Wang)"),
            latency=Figure(value=75 * ns, source="estimate"),
        ),
        Architecture(
            name="LPO", title="linear module (LPO)", transmit="linear", receive="linear",
            energy=Figure(value=10.5 * _PJ, source="800G LPO, 8-9 W: Axiom"),
            latency=Figure(value=5 * ns, source="estimate"),
        ),
        Architecture(
            name="CPO", title="co-packaged (CPO)", transmit="linear", receive="linear", host_loss_db=4.0, extra_loss_db=4.5,
            energy=Figure(value=5.6 * _PJ, source="9 W a 1.6T port, electrical loss 4 dB: NVIDIA via Particle/Tianfeng"),
            latency=Figure(value=5 * ns, source="estimate"),
        ),
        Architecture(
            name="AOC", title="active optical cable (AOC)", transmit="retimed", receive="retimed",
            energy=Figure(value=20 * _PJ, source="400G SR4, 8 W: Ascent"),
            latency=Figure(value=150 * ns, source="estimate"),
        ),
        Architecture(
            name="slicer", title="linear module, bare slicer", transmit="linear", receive="linear", equalized=False,
            energy=Figure(value=5 * _PJ, source="estimate"), latency=Figure(value=2 * ns, source="estimate"),
        ),
    )
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Lane:
    """The electronics around the optics at one symbol rate of the hosts.

    ``fec``: the hosts' outer code, which bears ``bit_error_ratio`` before it. ``inner``: whether Hamming(128,120) protects the
    optical segment, which then runs faster (`optical_rate`). ``host_noise_db``: rms noise of a host's receiver behind a linear
    module against its outer level, white up to the symbol rate. ``noise_density`` [V^2/Hz] of the receivers that end electrical
    segments. ``host_taps``: feed-forward taps of both, with one feedback tap.
    """

    symbol_rate: float
    fec: Fec = KP4
    inner: bool = False
    bit_error_ratio: float = 2.4e-4
    host_tx: Transmitter = Transmitter(amplitude=0.4)
    host_noise_db: float = -32.0
    noise_density: float = 2e-17
    host_taps: int = 31
    module_rx: Receiver = Receiver(equalizer=Mmse(n_taps=21, n_precursors=8, n_feedback=0))

    def __post_init__(self) -> None:
        check.symbol_rate(self, "symbol_rate", self.symbol_rate)
        check.instance(self, "fec", self.fec, Fec)
        check.instance(self, "inner", self.inner, bool)
        check.between(self, "bit_error_ratio", self.bit_error_ratio, 1e-15, 0.01)
        check.instance(self, "host_tx", self.host_tx, Transmitter)
        check.between(self, "host_noise_db", self.host_noise_db, -100, 0, "dB")
        check.between(self, "noise_density", self.noise_density, 0, 1e-12, "V^2/Hz", hint="1e-8 V^2/GHz is 1e-17 V^2/Hz")
        check.count(self, "host_taps", self.host_taps, 1)
        check.instance(self, "module_rx", self.module_rx, Receiver)

    @property
    def optical_rate(self) -> float:
        """Symbols per second on the fibre [Bd]."""
        return self.symbol_rate * (OVERHEAD if self.inner else 1.0)

    def optical_limit(self, electrical: float) -> float:
        """Bit error ratio that the light may have where the electrical segments have ``electrical`` in all."""
        left = max(self.bit_error_ratio - electrical, _LEAST_SHARE * self.bit_error_ratio)
        return before_inner(left) if self.inner else left

    def decoded(self, optical: float) -> float:
        """What the outer code sees of an ``optical`` bit error ratio."""
        return after_inner(optical) if self.inner else optical

    def host_rx(self, level: float, equalized: bool = True) -> Receiver:
        """The host's receiver behind a linear module whose outer level is ``level`` [V] without copper."""
        density = (level * 10 ** (self.host_noise_db / 20)) ** 2 / self.symbol_rate
        return replace(self.electrical_rx(), noise_density=density, equalizer=self._equalizer() if equalized else FixedTaps())

    def electrical_rx(self) -> Receiver:
        """The receiver that ends an electrical segment."""
        return Receiver(noise_density=self.noise_density, bandwidth=0.75 * self.symbol_rate, equalizer=self._equalizer())

    def _equalizer(self) -> Mmse:
        return Mmse(n_taps=self.host_taps, n_precursors=self.host_taps // 3, n_feedback=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class PathResult:
    """A module's path, host to host.

    ``link``: its segments. ``optical``: margin and sensitivity of the one with the light; ``electrical``: bit error ratios of the
    others. ``pre_fec``: what the outer code sees as the path stands, ``post_fec``: share of its words that fail then (independent
    errors). ``outcome``: "ok", "overload", or "fails" with the cause in ``reason``.
    """

    link: Link | RetimedLink
    optical: Sensitivity
    electrical: tuple[float, ...]
    pre_fec: float
    post_fec: float
    outcome: str
    reason: str

    @property
    def margin_db(self) -> float:
        """Optical loss [dB] that may be added until the path's error ratio is reached."""
        return self.optical.margin_db

    @property
    def binding(self) -> str:
        """The largest part of the decision error at the limit."""
        variances = self.optical.settled.variances
        return max(variances, key=lambda cause: variances[cause])


def path_link(architecture: Architecture, lane: Lane, host: Channel, optics: ImddChannel) -> Link | RetimedLink:
    """The segments of a path in series; one link where nothing in between decides. ``host``: one side's electrical way."""
    light = optical_link(architecture, lane, host, optics)
    if architecture.transmit == architecture.receive == "linear":
        return replace(light, fec=lane.fec)
    wire = electrical_link(lane, host)
    before, after = (
        (wire,) if way == "retimed" else () for way in (architecture.transmit, architecture.receive)
    )  # fmt: skip
    return RetimedLink(segments=(*before, light, *after), fec=lane.fec)


def run_path(
    architecture: Architecture, lane: Lane, host: Channel, optics: ImddChannel, engine: SemiAnalytic | None = None
) -> PathResult:
    """The whole path: what the electrical segments use up of the error ratio is not there for the light."""
    engine = engine or SemiAnalytic(n_symbols=4096, taps_per_symbol=2)
    link = path_link(architecture, lane, host, optics)
    segments = link.segments if isinstance(link, RetimedLink) else (link,)
    light = segments[1 if architecture.transmit == "retimed" else 0]
    electrical = tuple(_electrical_ratio(segment) for segment in segments if segment is not light)
    used = sum(electrical)
    found = sensitivity(light, lane.optical_limit(used), engine)
    pre_fec = min(lane.decoded(found.standing.error_ratios()[1]) + used, 0.5)
    if used >= lane.bit_error_ratio:
        outcome, reason = "fails", f"host to module alone has a bit error ratio of {electrical[0]:.2g}"
    elif too_bright := overload(light):
        outcome, reason = "overload", too_bright
    elif found.outcome == "fails" or found.margin_db < 0:
        outcome = "fails"
        reason = found.reason or f"{-found.margin_db:.1f} dB of light are missing"
    else:
        outcome, reason = "ok", ""
    return PathResult(
        link=link, optical=found, electrical=electrical, pre_fec=pre_fec, post_fec=float(lane.fec.codeword_failure(pre_fec)),
        outcome=outcome, reason=reason,
    )  # fmt: skip


def optical_link(architecture: Architecture, lane: Lane, host: Channel, optics: ImddChannel) -> Link:
    """The segment that carries the light: from module or host to module or host. ``host``: one side's electrical way.

    ``optics.predistortion`` sets the extinction; a linear module has none, and its driver's gain is what brings the 99.5 % point
    of the drive to the swing of that extinction.
    """
    rule = optics.predistortion
    if rule is None:
        raise check.fail(optics, "predistortion", "given: it states the extinction", rule)
    optics = replace(optics, loss_db=optics.loss_db + architecture.extra_loss_db)
    low, high = optics.received_power(np.array([-rule.full_scale, rule.full_scale]))
    level = float(high - low) / 2 * optics.photodiode.responsivity * optics.tia.gain
    parts: tuple[Channel, ...] = ()
    if architecture.transmit == "retimed":
        tx = Transmitter(amplitude=rule.full_scale, constellation=lane.host_tx.constellation)
    else:
        taps = transmit_taps(lane.optical_rate, host, optics.driver) if architecture.equalized else FixedTaps()
        tx = replace(lane.host_tx, ffe=taps)
        top = float(optics.source.drive_for(rule.powers(np.array(rule.full_scale), optics.source)))
        peak = drive_peak(lane.optical_rate, tx, host, optics.driver)
        driver = replace(optics.driver, gain=optics.driver.gain * top / peak)
        optics, parts = replace(optics, driver=driver, predistortion=None), (host,)
    behind: tuple[Channel, ...] = ()
    if architecture.receive == "retimed":
        rx = lane.module_rx
    else:
        rx, behind = lane.host_rx(level, architecture.equalized), (host,)
    channel = Cascade(parts=(*parts, optics, *behind)) if parts or behind else optics
    return Link(symbol_rate=lane.optical_rate, tx=tx, channel=channel, rx=rx)


def electrical_link(lane: Lane, host: Channel) -> Link:
    """A segment between host and retimer: transmit taps of the host, receiver of the module's host side."""
    taps = transmit_taps(lane.symbol_rate, host, Amplifier())
    return Link(symbol_rate=lane.symbol_rate, tx=replace(lane.host_tx, ffe=taps), channel=host, rx=lane.electrical_rx())


@functools.lru_cache(maxsize=256)
def _electrical_ratio(segment: Link) -> float:
    return Statistical(eye=False).run(segment).ber


@functools.lru_cache(maxsize=256)
def transmit_taps(
    symbol_rate: float, host: Channel, driver: Amplifier, n_taps: int = 5, regularisation: float = 0.02
) -> FixedTaps:
    """Taps of the host that pre-equalise its way to the modulator: least squares, the sum of magnitudes 1.

    ``regularisation``: weight of the taps' power against that of the pulse; it bounds the loss of swing.
    """
    grid = waveform.memory(host, symbol_rate, 8)
    f = grid.f
    spectrum = host.transfer(f) * driver.transfer(f) * np.sinc(f / symbol_rate)
    pulse = np.fft.irfft(spectrum, grid.n)
    peak = int(np.argmax(np.abs(pulse)))
    h = np.roll(pulse, 64 * 8 - peak)[: 160 * 8 : 8]
    main = n_taps // 2
    columns = np.column_stack([np.roll(h, k - main) for k in range(n_taps)])
    target = np.zeros(h.size)
    target[64] = 1
    a = columns.T @ columns
    w = np.linalg.solve(a + regularisation * np.trace(a) / n_taps * np.eye(n_taps), columns.T @ target)
    w /= np.sum(np.abs(w))
    return FixedTaps(feed_forward=tuple(w.tolist()), n_precursors=main)


def drive_peak(symbol_rate: float, tx: Transmitter, host: Channel, driver: Amplifier, share: float = 0.995) -> float:
    """Drive [V] at the modulator that a ``share`` of the time is not exceeded, driver as it stands, without its saturation."""
    grid: Grid = waveform.memory(host, symbol_rate, 8)
    sent = tx.constellation.array[symbols(tx.constellation, 4096)]
    taps = np.asarray(tx.ffe.feed_forward)
    level = np.convolve(sent, taps)[: sent.size]
    f = np.fft.rfftfreq(8 * sent.size, grid.dt)
    held = np.fft.rfft(np.repeat(tx.amplitude * level, 8))
    return float(np.quantile(np.abs(np.fft.irfft(held * host.transfer(f) * driver.transfer(f), 8 * sent.size)), share))
