"""From a voltage to the light at the far end: source, phase noise, fibre, echoes. And from light to current: the photodiode."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from channels.fiber import MultimodeFiber, SingleModeFiber
from channels.lasers import Source
from channels.multipath import Multipath
from channels.stages import TRANSIT, Stage, compact_taps, field_fir, field_step
from channels.vcsel import CHARGE, Vcsel
from dsp import check, convolution, streams
from dsp.grid import Grid
from dsp.units import mW, uA


@final
@dataclass(frozen=True, kw_only=True)
class Photodiode:
    """``responsivity`` [A/W] at the module's input, coupling included; ``dark_current`` [A]; ``bandwidth`` [Hz] of its single
    pole, None for none; ``max_power`` [W]: beyond it the current no longer follows. ``shot``: whether shot noise counts.
    """

    responsivity: float = 0.8
    dark_current: float = 0.01 * uA
    bandwidth: float | None = None
    max_power: float = 5 * mW
    shot: bool = True

    def __post_init__(self) -> None:
        check.between(self, "responsivity", self.responsivity, 1e-3, 100, "A/W")
        check.between(self, "dark_current", self.dark_current, 0, 1e-3, "A")
        if self.bandwidth is not None:
            check.between(self, "bandwidth", self.bandwidth, 1e6, 1e13, "Hz", hint="is it in hertz? 60 GHz is 60e9")
        check.between(self, "max_power", self.max_power, 1e-9, 1, "W", hint="is it in watts? 5 mW is 5e-3")
        check.instance(self, "shot", self.shot, bool)


@final
@dataclass(frozen=True, kw_only=True)
class OpticalPath(Stage):
    """Volts to watts at the photodiode. ``loss_db``: of connectors and attenuators, beside that of the fibre."""

    source: Source
    fiber: SingleModeFiber | MultimodeFiber | None = None
    multipath: Multipath | None = None
    loss_db: float = 0.0

    @property
    def gain(self) -> float:
        """Power at the far end over power launched."""
        fiber = self.fiber.loss_db(self.source.laser.wavelength) if self.fiber else 0.0
        return float(10 ** (-(self.loss_db + fiber) / 10))

    def static(self, x: np.ndarray) -> np.ndarray:
        """Power [W] at the far end for a drive that rests."""
        return self.gain * self.source.power(np.asarray(x, float))

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Small-signal response about the bias [W/V], complex, shape of ``f`` [Hz]."""
        f = np.asarray(f, float)
        response = self.gain * self.source.slope() * self.source.response(f) * np.exp(-2j * np.pi * f * self._transit)
        wavelength = self.source.laser.wavelength
        if isinstance(self.fiber, SingleModeFiber):
            response = (
                response * self.fiber.intensity_transfer(f, wavelength, self.source.chirp()) * self.fiber.power_transfer(f)
            )
        elif self.fiber is not None:
            response = response * self.fiber.power_transfer(f, wavelength)
        return response

    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:
        """Density [W^2/Hz] of what echoes beat with the signal; intensity noise is added where it is detected."""
        if self.multipath is None:
            return np.zeros(np.shape(f))
        signal, mean = float(self.static(np.array(drive or 0.0))), float(self.static(np.zeros(())))
        return signal * mean * self.multipath.beat_density(f)

    def silent(self) -> OpticalPath:
        """Without echoes and phase noise."""
        return replace(self, multipath=None, source=replace(self.source, laser=replace(self.source.laser, linewidth=0.0)))  # type: ignore[type-var]

    @property
    def _transit(self) -> float:
        """Delay [s] of the source's filter; none where there is no filter."""
        return TRANSIT if self.source.filtered else 0.0

    @property
    def _on_field(self) -> bool:
        """Whether the phase of the light matters on the way."""
        return self.multipath is not None or self._dispersive

    @property
    def _dispersive(self) -> bool:
        return isinstance(self.fiber, SingleModeFiber) and self.fiber.length > 0

    def start(self, grid: Grid, rng: np.random.Generator | None) -> dict[str, Any]:
        """State before the first sample: the light at its bias power. ``ValueError`` where randomness needs an ``rng``."""
        source, wavelength = self.source, self.source.laser.wavelength
        state: dict[str, Any] = {"dt": grid.dt}
        delay = np.exp(-2j * np.pi * grid.f * self._transit)
        if isinstance(source, Vcsel):
            electrical, state["laser"] = source.parasitic_transfer(grid.f), source.rest()
        else:
            electrical = source.response(grid.f)
        taps = compact_taps(electrical * delay, grid, type(source).__name__) if source.filtered else np.ones(1)
        state["drive"] = convolution.fir_start(taps)
        random = self._on_field and source.laser.linewidth > 0
        if (random or self.multipath) and rng is None:
            raise ValueError("OpticalPath.start needs an rng (numpy.random.Generator): phases are random")
        state["phase"] = (
            (np.sqrt(2 * np.pi * source.laser.linewidth * grid.dt), 0.0, streams.start(rng)) if random and rng else None
        )
        at_rest = complex(source.field(np.zeros(1))[0]) * np.sqrt(self.gain)
        if self.multipath is not None and rng is not None:
            lags = tuple(round(d / grid.dt) for d in self.multipath.delays)
            turns = self.multipath.amplitudes * np.exp(2j * np.pi * rng.random(len(lags)))
            state["echo"] = (lags, turns, np.full(max(lags), at_rest))
        f = np.fft.fftfreq(grid.n, grid.dt)
        state["power"] = None
        if isinstance(self.fiber, SingleModeFiber):
            if self._dispersive:
                length = int(np.ceil(2 * self.fiber.lead(wavelength) / grid.dt)) + 8
                fir = field_fir(self.fiber.field_transfer(f, wavelength), grid, length, "SingleModeFiber")
                state["fiber"] = replace(fir, history=np.full(length - 1, at_rest))
            else:
                state["power"] = _power_fir(self.fiber.field_transfer(grid.f, wavelength), grid, self, "SingleModeFiber")
            if self.fiber.dgd:
                state["dgd"] = _power_fir(self.fiber.power_transfer(grid.f), grid, self, "SingleModeFiber.dgd")
        elif self.fiber is not None:
            state["power"] = _power_fir(self.fiber.power_transfer(grid.f, wavelength), grid, self, "MultimodeFiber")
        return state

    def transmit(self, x: np.ndarray, state: dict[str, Any]) -> tuple[np.ndarray, dict[str, Any]]:
        """Next block: drive [V] (n,) to power [W] (n,); see `Channel.transmit`."""
        after = dict(state)
        v, after["drive"] = convolution.fir_step(x, state["drive"])
        if isinstance(self.source, Vcsel):
            power, after["laser"] = self.source.evolve(self.source.current(v), state["dt"], state["laser"])
            y = self.gain * power
        elif not self._on_field:
            y = self.gain * self.source.power(v)
        else:
            y = self._through_field(v, state, after)
        for filtered in ("power", "dgd"):
            if state.get(filtered) is not None:
                y, after[filtered] = convolution.fir_step(y, state[filtered])
        return y, after

    def _through_field(self, v: np.ndarray, state: dict[str, Any], after: dict[str, Any]) -> np.ndarray:
        field = self.source.field(v) * np.sqrt(self.gain)
        if state["phase"] is not None:
            step, phase, stream = state["phase"]
            white, stream = streams.normal(v.shape, stream)
            turned = phase + np.cumsum(step * white)
            field = field * np.exp(1j * turned)
            after["phase"] = (step, float(turned[-1]) if turned.size else phase, stream)
        if "fiber" in state:
            field, after["fiber"] = field_step(field, state["fiber"])
        if "echo" in state:
            lags, turns, past = state["echo"]
            extended = np.concatenate((past, field))
            n = field.size
            for lag, turn in zip(lags, turns, strict=True):
                field = field + turn * extended[past.size - lag : past.size - lag + n]
            after["echo"] = (lags, turns, extended[n:])
        return field.real**2 + field.imag**2


def _power_fir(response: np.ndarray, grid: Grid, path: OpticalPath, owner: str) -> convolution.FirState:
    """A filter of the power, with the light at its bias power in the past."""
    fir = convolution.fir_start(compact_taps(response, grid, owner))
    return replace(fir, history=np.full(fir.history.shape, float(path.static(np.zeros(())))))


@final
@dataclass(frozen=True, kw_only=True)
class Detection(Stage):
    """Watts to amperes about the current at ``rest`` [W], with white noise that follows the instantaneous power.

    S_i = 2 q (R P + I_d) + RIN (R P)^2 + ``partition`` (R (P - ``pedestal``))^2 + ``noise_density`` [A^2/Hz], one-sided.
    ``partition`` [1/Hz]: what modes of a laser share out at random; steady light of ``pedestal`` [W] has none of it.
    """

    photodiode: Photodiode
    rest: float
    rin: float = 0.0
    partition: float = 0.0
    pedestal: float = 0.0
    noise_density: float = 0.0

    def causes(self, power: np.ndarray) -> dict[str, np.ndarray]:
        """Density of the noise [A^2/Hz] by cause at ``power`` [W], each of the same shape; those that are not 0."""
        current = self.photodiode.responsivity * np.asarray(power, float)
        found = {}
        if self.noise_density:
            found["thermal"] = np.full(current.shape, self.noise_density)
        if self.photodiode.shot:
            found["shot"] = 2 * CHARGE * (current + self.photodiode.dark_current)
        if self.rin:
            found["RIN"] = self.rin * current**2
        if self.partition:
            found["mode partition"] = self.partition * (current - self.photodiode.responsivity * self.pedestal) ** 2
        return found

    def attenuated(self, share: float) -> Detection:
        """The same where ``share`` of the light arrives."""
        return replace(self, rest=share * self.rest, pedestal=share * self.pedestal)

    def density(self, power: np.ndarray) -> np.ndarray:
        """Density of the noise [A^2/Hz] at ``power`` [W], same shape."""
        return np.zeros(np.shape(power)) + sum(self.causes(power).values())

    def static(self, x: np.ndarray) -> np.ndarray:
        """Current [A] about that at rest."""
        return self.photodiode.responsivity * (np.asarray(x, float) - self.rest)

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """The responsivity [A/W]; the pole of the photodiode comes with the amplifier."""
        return np.full(np.shape(f), self.photodiode.responsivity, complex)

    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:
        """Density [A^2/Hz], white; ``drive`` [W], None for the power at rest."""
        return np.full(np.shape(f), float(self.density(np.array(self.rest if drive is None else drive))))

    def silent(self) -> Detection:
        """Without noise."""
        quiet = replace(self.photodiode, shot=False)
        return Detection(photodiode=quiet, rest=self.rest)

    @property
    def _noisy(self) -> bool:
        return self.photodiode.shot or self.rin > 0 or self.partition > 0 or self.noise_density > 0

    def start(self, grid: Grid, rng: np.random.Generator | None) -> Any:
        """State before the first sample; ``ValueError`` where it makes noise and got no ``rng``."""
        if not self._noisy:
            return None
        if rng is None:
            raise ValueError("Detection.start needs an rng (numpy.random.Generator): the photodiode adds noise")
        return grid.sample_rate / 2, streams.start(rng)

    def transmit(self, x: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        """Next block: power [W] to current [A]; see `Channel.transmit`."""
        y = self.static(x)
        if state is None:
            return y, None
        half_rate, stream = state
        white, stream = streams.normal(np.shape(x), stream)
        white *= np.sqrt(half_rate * self.density(x))
        return y + white, (half_rate, stream)
