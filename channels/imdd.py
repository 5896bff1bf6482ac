"""Intensity modulation, direct detection: driver, source, fibre, photodiode and amplifier as one channel, volts to volts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from channels.channel import Cascade, Channel, LinearChannel, transmit_all
from channels.fiber import MultimodeFiber, SingleModeFiber
from channels.lasers import Source
from channels.modulators import Mzm
from channels.multipath import Multipath
from channels.optical_path import Detection, OpticalPath, Photodiode
from channels.stages import TRANSIT, Amplifier, QuietStage, Stage, compact_taps
from dsp import check, convolution
from dsp.grid import Grid
from dsp.units import GHz


@final
@dataclass(frozen=True, kw_only=True)
class Predistortion:
    """Drive levels chosen so that power is linear in the input: ``extinction_db`` between -``full_scale`` and +``full_scale`` [V].

    The mean of the two outer powers is that at the bias. What lies beyond the source's range is clipped.
    """

    full_scale: float
    extinction_db: float = 5.0

    def __post_init__(self) -> None:
        check.between(self, "full_scale", self.full_scale, 1e-6, 1e3, "V")
        check.between(self, "extinction_db", self.extinction_db, 0.1, 40, "dB")

    def powers(self, x: np.ndarray, source: Source) -> np.ndarray:
        """Power [W] wanted at input ``x`` [V]."""
        ratio = 10 ** (self.extinction_db / 10)
        depth = (ratio - 1) / (ratio + 1)
        return source.power(np.zeros(())) * (1 + depth / self.full_scale * np.asarray(x, float))


@final
@dataclass(frozen=True, kw_only=True)
class _Predistorter(QuietStage):
    """`Predistortion` in front of a driver of gain ``gain``; memoryless."""

    rule: Predistortion
    source: Source
    gain: float

    def static(self, x: np.ndarray) -> np.ndarray:
        return self.source.drive_for(self.rule.powers(x, self.source)) / self.gain

    def transfer(self, f: np.ndarray) -> np.ndarray:
        step = 1e-6 * self.rule.full_scale
        low, high = self.static(np.array([-step, step]))
        return np.full(np.shape(f), (high - low) / (2 * step), complex)

    def start(self, grid: Grid, rng: np.random.Generator | None) -> Any:  # noqa: ARG002
        return None

    def transmit(self, x: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        return self.static(x), state


@final
@dataclass(frozen=True, kw_only=True)
class _Pole(QuietStage):
    """The single pole of the photodiode."""

    bandwidth: float

    def static(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x, float)

    def transfer(self, f: np.ndarray) -> np.ndarray:
        f = np.asarray(f, float)
        return np.exp(-2j * np.pi * f * TRANSIT) / (1 + 1j * f / self.bandwidth)

    def start(self, grid: Grid, rng: np.random.Generator | None) -> Any:  # noqa: ARG002
        return convolution.fir_start(compact_taps(self.transfer(grid.f), grid, "Photodiode"))

    def transmit(self, x: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        return convolution.fir_step(x, state)


@final
@dataclass(frozen=True, kw_only=True)
class ImddChannel(Stage):
    """From the voltage at the module's driver to the voltage behind its transimpedance amplifier.

    ``predistortion``: levels chosen for the source's curve, as a DSP does; None drives it with what comes. ``tia``: gain in ohm,
    noise in A^2/Hz. ``loss_db``: of connectors and attenuators. The output is about its value at rest (AC coupling). Noise
    behind the photodiode is Gaussian, white and of the instantaneous power. Flight time: see `channels.fiber`.
    """

    source: Source = Mzm()
    driver: Amplifier = Amplifier(bandwidth=55 * GHz)
    predistortion: Predistortion | None = None
    fiber: SingleModeFiber | MultimodeFiber | None = None
    multipath: Multipath | None = None
    loss_db: float = 0.0
    photodiode: Photodiode = Photodiode()
    tia: Amplifier = field(
        default_factory=lambda: Amplifier(gain=1e3, bandwidth=60 * GHz, shape="butterworth4", noise_density=3.24e-22)
    )

    def __post_init__(self) -> None:
        check.instance(self, "source", self.source, Source)
        check.instance(self, "driver", self.driver, Amplifier)
        if self.predistortion is not None:
            check.instance(self, "predistortion", self.predistortion, Predistortion)
        if self.fiber is not None:
            check.instance(self, "fiber", self.fiber, (SingleModeFiber, MultimodeFiber))
            self.fiber.check_wavelength(self.source.laser.wavelength)
        if self.multipath is not None:
            check.instance(self, "multipath", self.multipath, Multipath)
        check.between(self, "loss_db", self.loss_db, 0, 100, "dB")
        check.instance(self, "photodiode", self.photodiode, Photodiode)
        check.instance(self, "tia", self.tia, Amplifier)

    @property
    def path(self) -> OpticalPath:
        """The optical part alone."""
        return OpticalPath(source=self.source, fiber=self.fiber, multipath=self.multipath, loss_db=self.loss_db)

    @property
    def detection(self) -> Detection:
        """The photodiode with all noise that enters there, the amplifier's included."""
        path, rule, partition, pedestal = self.path, self.predistortion, 0.0, 0.0
        if isinstance(self.fiber, MultimodeFiber):
            # variance over the band of the symbol rate, one value a symbol
            partition = self.fiber.partition_rms(self.source.laser.wavelength) ** 2 / (self.fiber.partition_rate / 2)
            lowest = 0.0 if rule is None else float(rule.powers(np.array(-rule.full_scale), self.source))
            pedestal = path.gain * max(lowest, 0.0)
        return Detection(
            photodiode=self.photodiode, rest=float(path.static(np.zeros(()))), rin=self.source.laser.rin, partition=partition,
            pedestal=pedestal, noise_density=self.tia.noise_density,
        )  # fmt: skip

    @property
    def stages(self) -> tuple[Channel, ...]:
        """Its parts as channels in the order of the signal's way."""
        first: tuple[Channel, ...] = ()
        if self.predistortion is not None:
            first = (_Predistorter(rule=self.predistortion, source=self.source, gain=self.driver.gain),)
        pole = self.photodiode.bandwidth
        middle: tuple[Channel, ...] = () if pole is None else (_Pole(bandwidth=pole),)
        return (*first, self.driver, self.path, self.detection, *middle, self.tia.silent())

    def static(self, x: np.ndarray) -> np.ndarray:
        """Output [V] for an input that rests."""
        for stage in self.stages:
            x = stage.static(x)  # type: ignore[attr-defined]
        return x

    def received_power(self, x: np.ndarray) -> np.ndarray:
        """Power [W] at the photodiode for an input that rests at ``x`` [V]."""
        for stage in self.stages:
            x = stage.static(x)  # type: ignore[attr-defined]
            if isinstance(stage, OpticalPath):
                break
        return x

    def launch_power(self, x: np.ndarray) -> np.ndarray:
        """Power [W] into the fibre for an input that rests at ``x`` [V]."""
        return self.received_power(x) / self.path.gain

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Small-signal voltage response at the bias, complex, shape of ``f`` [Hz]."""
        return Cascade(parts=self.stages).transfer(f)

    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:
        """Density at the output [V^2/Hz]; ``drive`` [V] rests at the input, None is the power at the bias."""
        total, x = np.zeros(np.shape(f)), None if drive is None else np.array(float(drive))
        for stage in self.stages:
            total = total * np.abs(stage.transfer(f)) ** 2 + stage.noise_psd(f, None if x is None else float(x))
            if x is not None:
                x = stage.static(x)  # type: ignore[attr-defined]
        return total

    def silent(self) -> ImddChannel:
        """Without anything random."""
        laser = replace(self.source.laser, linewidth=0.0, rin_db=None)
        fiber = replace(self.fiber, partition=0.0) if isinstance(self.fiber, MultimodeFiber) else self.fiber
        return replace(
            self, source=replace(self.source, laser=laser), fiber=fiber, multipath=None, driver=self.driver.silent(),  # type: ignore[type-var]
            photodiode=replace(self.photodiode, shot=False), tia=self.tia.silent(),
        )  # fmt: skip

    def overload(self, amplitude: float) -> str:
        """Why the receiver is overloaded by inputs of up to ``amplitude`` [V], empty where it is not."""
        top = float(np.max(self.received_power(np.array([-amplitude, amplitude]))))
        if top <= self.photodiode.max_power:
            return ""
        return f"{1e3 * top:.3g} mW at the photodiode, more than its limit of {1e3 * self.photodiode.max_power:.3g} mW"

    def start(self, grid: Grid, rng: np.random.Generator | None) -> Any:
        """State before the first sample; ``ValueError`` where it makes noise and got no ``rng``."""
        return tuple((stage, stage.start(grid, rng)) for stage in self.stages)

    def transmit(self, x: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        """Next block: voltage in, voltage out; see `Channel.transmit`."""
        return transmit_all(x, state)


@final
@dataclass(frozen=True, kw_only=True)
class _Silent(LinearChannel):
    """A linear channel without its noise."""

    channel: Channel

    def transfer(self, f: np.ndarray) -> np.ndarray:
        return self.channel.transfer(f)


def flattened(channel: Channel) -> tuple[Channel, ...]:
    """The pieces of a channel in the order of the signal's way, cascades and optics taken apart."""
    parts = channel.parts if isinstance(channel, Cascade) else channel.stages if isinstance(channel, Stage) else ()
    if not parts or parts == (channel,):
        return (channel,)
    return tuple(piece for part in parts for piece in flattened(part))


def without_noise(channel: Channel) -> Channel:
    """One piece of `flattened` without anything random. ``ValueError`` for a kind of channel that can't be silenced."""
    if isinstance(channel, LinearChannel):
        return _Silent(channel=channel)
    if isinstance(channel, Stage):
        return channel.silent()
    raise ValueError(f"{type(channel).__name__} is neither linear nor a Stage: nothing says what it is without noise")
