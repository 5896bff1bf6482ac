"""Amplified spans of single-mode fibre between a coherent transmitter and receiver: fields of two polarisations in and out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import final

import numpy as np

from channels import nonlinear
from channels.amplifier import Edfa, noise_density_of, osnr_of
from channels.channel import Channel
from channels.fiber import SingleModeFiber
from channels.nonlinear import Comb
from channels.polarization import Polarization, turned
from dsp import check, dispersion, streams
from dsp.grid import Grid
from dsp.units import from_db, from_db_power, nm, ps

_REST = 200 * ps


@final
@dataclass(frozen=True, kw_only=True)
class Span:
    """A fibre, connectors of ``connector_loss_db`` at each end, and the amplifier behind it, None for none.

    ``kerr`` [1/(W m)]: nonlinear coefficient gamma, 0 for a linear fibre.
    """

    fiber: SingleModeFiber
    amplifier: Edfa | None = None
    connector_loss_db: float = 0.0
    kerr: float = 1.3e-3

    def __post_init__(self) -> None:
        check.instance(self, "fiber", self.fiber, SingleModeFiber)
        if self.amplifier is not None:
            check.instance(self, "amplifier", self.amplifier, Edfa)
        check.between(self, "connector_loss_db", self.connector_loss_db, 0, 10, "dB")
        check.between(self, "kerr", self.kerr, 0, 0.1, "1/(W m)", hint="1.3 /W/km is 1.3e-3")

    def loss_db(self, wavelength: float) -> float:
        """Loss in front of the amplifier [dB]."""
        return self.fiber.loss_db(wavelength) + 2 * self.connector_loss_db

    def gain_db(self, wavelength: float) -> float:
        """Gain of the amplifier [dB], 0 where there is none."""
        if self.amplifier is None:
            return 0.0
        return self.loss_db(wavelength) if self.amplifier.gain_db is None else self.amplifier.gain_db

    def net_db(self, wavelength: float) -> float:
        """Power behind the span over power in front of it [dB]."""
        return self.gain_db(wavelength) - self.loss_db(wavelength)


@dataclass(frozen=True, kw_only=True, eq=False)
class CoherentState:
    """Where a coherent channel stands: the running convolution, the noise's stream and its standard deviation.

    ``axis``: that polarisation turns about, None where it is still; ``sample_rate`` [Hz] and ``sent``, samples so far, for it.
    """

    signal: dispersion.OverlapState
    stream: streams.Stream
    noise: float
    axis: np.ndarray | None
    sample_rate: float
    sent: int = 0


@final
@dataclass(frozen=True, kw_only=True)
class CoherentChannel(Channel):
    """``spans`` in series at ``wavelength`` [m]; no span is back to back.

    Waveforms are complex envelopes (2, n) [sqrt(W)]; frequencies count from the carrier with either sign; noise densities are
    those of one polarisation [W/Hz]. The linear face leaves polarisation out. The signal face is linear as well, ``comb`` and
    ``kerr`` enter it in `propagate` alone. The time of flight is left out (see `channels.fiber`); the fibres' lead is kept.
    """

    spans: tuple[Span, ...] = ()
    wavelength: float = 1550 * nm
    polarization: Polarization = field(default_factory=Polarization)
    comb: Comb | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.spans, tuple):
            raise check.fail(self, "spans", "a tuple of Span", self.spans)
        for i, span in enumerate(self.spans):
            check.instance(self, f"spans[{i}]", span, Span)
        check.between(self, "wavelength", self.wavelength, 1260 * nm, 1675 * nm, "m", hint="1550 nm is 1550e-9")
        check.instance(self, "polarization", self.polarization, Polarization)
        if self.comb is not None:
            check.instance(self, "comb", self.comb, Comb)

    @property
    def length(self) -> float:
        """Length of all fibres [m]."""
        return sum(span.fiber.length for span in self.spans)

    @property
    def flight_time(self) -> float:
        """Latency of all fibres [s]."""
        return sum(span.fiber.flight_time for span in self.spans)

    @property
    def betas(self) -> tuple[float, float]:
        """Second and third derivative of the phase over the whole way [s^2], [s^3]."""
        pairs = [span.fiber.betas(self.wavelength) for span in self.spans]
        return sum(p[0] for p in pairs), sum(p[1] for p in pairs)

    @property
    def lead(self) -> float:
        """Delay of the carrier in waveforms [s]: what arrives before it arrives after time 0."""
        return sum(span.fiber.lead(self.wavelength) for span in self.spans) + self._slack

    @property
    def _slack(self) -> float:
        """For the early part of polarisation-mode dispersion and of the band's limit [s]."""
        return 2 * self.polarization.dgd + _REST

    @property
    def net_db(self) -> float:
        """Power at the far end over power launched [dB]."""
        return sum(span.net_db(self.wavelength) for span in self.spans)

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Response of the field without polarisation, complex, shape of ``f`` [Hz]."""
        total = np.full(np.shape(f), complex(from_db(self.net_db)))
        for span in self.spans:
            total = total * span.fiber.field_transfer(f, self.wavelength)
        return total * np.exp(-2j * np.pi * np.asarray(f, float) * self._slack)

    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:  # noqa: ARG002
        """Spontaneous emission at the far end in one polarisation [W/Hz], shape of ``f``."""
        total = 0.0
        for span in self.spans:
            total = total * float(from_db_power(span.net_db(self.wavelength))) + self._own_noise(span)
        return np.full(np.shape(f), total)

    def _own_noise(self, span: Span) -> float:
        if span.amplifier is None:
            return 0.0
        return span.amplifier.noise_density(span.gain_db(self.wavelength), self.wavelength)

    def osnr_db(self, power: float) -> float:
        """OSNR [dB, 0.1 nm] at the far end of ``power`` [W] launched, from amplifiers alone; infinite without any."""
        return osnr_of(power * float(from_db_power(self.net_db)), float(self.noise_psd(np.zeros(1))[0]))

    @property
    def without_closed_form(self) -> int | None:
        """Place of the first span whose fibre has a Kerr effect but too little dispersion for the Gaussian noise model, or None."""
        for i, span in enumerate(self.spans):
            kerr = span.kerr > 0 and span.fiber.length > 0
            if kerr and abs(span.fiber.betas(self.wavelength)[0]) / span.fiber.length < nonlinear.LEAST_BETA2:
                return i
        return None

    def nonlinear_snr_db(self, power: float, symbol_rate: float, coherent: bool | None = None) -> float:
        """Signal over nonlinear interference [dB] by the Gaussian noise model at ``power`` [W] launched; infinite without Kerr.

        ``coherent``: whether the interference of the spans is in step, which it is for one channel alone; None takes that for
        one channel and independent spans for more (P. Poggiolini, JLT 30, 2012).
        """
        comb = self.comb or Comb(symbol_rate=symbol_rate)
        coherent = comb.channels == 1 if coherent is None else coherent
        share, level, growth, n = 0.0, power, 0.0, 0
        for span in self.spans:
            entering = level * float(from_db_power(-span.connector_loss_db))
            if span.kerr > 0 and span.fiber.length > 0:
                share += nonlinear.nonlinear_noise(span.fiber, span.kerr, entering, comb, self.wavelength) / entering
                growth += nonlinear.coherence(span.fiber, comb, self.wavelength)
                n += 1
            level *= float(from_db_power(span.net_db(self.wavelength)))
        if share == 0:
            return float("inf")
        return float(-10 * np.log10(share * (n ** (growth / n) if coherent else 1)))

    def start(self, grid: Grid, rng: np.random.Generator | None) -> CoherentState:
        """State before the first sample: one fibre drawn from ``rng``. ``grid.n_symbols`` is the memory.

        The band ends smoothly between 0.85 and 1 of half the sample rate.
        ``ValueError``: no ``rng``, or a memory shorter than twice the `lead`.
        """
        from scipy import fft

        if rng is None:
            raise ValueError("CoherentChannel.start needs an rng (numpy.random.Generator): polarisation and noise are random")
        if grid.duration < 2 * self.lead:
            raise ValueError(
                f"Grid.n_symbols must cover twice the lead of the fibre, {2 * self.lead * grid.symbol_rate:.0f} symbols, "
                f"got {grid.n_symbols}"
            )
        f = fft.fftfreq(grid.n, grid.dt)
        matrices = self.polarization.matrices(f, rng) * self.transfer(f) * band_edge(f, grid.sample_rate)
        response = fft.ifft(matrices, axis=-1, workers=1)
        noise = float(np.sqrt(self.noise_psd(np.zeros(1))[0] * grid.sample_rate / 2))
        axis = self.polarization.axis(rng) if self.polarization.turning else None
        return CoherentState(
            signal=dispersion.overlap_start(response), stream=streams.start(rng), noise=noise, axis=axis,
            sample_rate=grid.sample_rate,
        )  # fmt: skip

    def transmit(self, x: np.ndarray, state: CoherentState) -> tuple[np.ndarray, CoherentState]:
        """Next block: fields ``x`` (2, n) in, fields of the same shape out; see `Channel.transmit`."""
        y, signal = dispersion.overlap_step(np.asarray(x, complex), state.signal)
        if state.axis is not None:
            y = turned(y, state.axis, state.sample_rate, state.sent)
        stream = state.stream
        if state.noise:
            white, stream = streams.normal((4, y.shape[-1]), state.stream)
            y += state.noise * (white[:2] + 1j * white[2:])
        return y, replace(state, signal=signal, stream=stream, sent=state.sent + x.shape[-1])

    def propagate(self, x: np.ndarray, sample_rate: float, rng: np.random.Generator, step_phase: float = 0.02) -> np.ndarray:
        """The whole record ``x`` (2, n) with Kerr effect (`nonlinear.split_step`), taken as periodic; spans one by one.

        The plates of ``polarization`` lie along the fibres: nonlinear interference meets part of them. Only this channel's own
        interference: neighbours of ``comb`` are not in the waveform. The fibres' lead is kept.
        """
        from scipy import fft

        f = fft.fftfreq(x.shape[-1], 1 / sample_rate)
        turns = self.polarization.draw(rng)
        plates = [partial(self.polarization.plate, f=f, turn=turn) for turn in turns[1 : self.polarization.plates + 1]]
        waiting = [(self.length * (k + 1) / len(plates), plate) for k, plate in enumerate(plates)]
        x, begin = turns[0] @ np.asarray(x, complex), 0.0
        for span in self.spans:
            length = span.fiber.length
            here = [(min(place - begin, length), plate) for place, plate in waiting if place <= begin + length]
            waiting, begin = waiting[len(here) :], begin + length
            x = x * from_db(-span.connector_loss_db)
            if span.kerr > 0 and length > 0:
                x = nonlinear.split_step(x, sample_rate, span.fiber, span.kerr, self.wavelength, step_phase, here)
            else:
                x = fft.ifft(_through(fft.fft(x, axis=-1) * _linear(span, f, self.wavelength), here), axis=-1)
            x = x * from_db(span.gain_db(self.wavelength) - span.connector_loss_db)
            x = x + white_field(x.shape[-1], self._own_noise(span), sample_rate, rng)
        spectrum = self.polarization.end(_through(fft.fft(x, axis=-1), waiting), turns)
        y = fft.ifft(spectrum * np.exp(-2j * np.pi * f * self.lead), axis=-1)
        return turned(y, self.polarization.axis(rng), sample_rate) if self.polarization.turning else y


def _through(spectrum: np.ndarray, plates: Sequence[tuple[float, Callable[[np.ndarray], np.ndarray]]]) -> np.ndarray:
    for _, plate in plates:
        spectrum = plate(spectrum)
    return spectrum


def _linear(span: Span, f: np.ndarray, wavelength: float) -> np.ndarray:
    """The fibre of one span with its loss, without its lead."""
    late = np.exp(2j * np.pi * f * span.fiber.lead(wavelength))
    return span.fiber.field_transfer(f, wavelength) * late * from_db(-span.fiber.loss_db(wavelength))


def band_edge(f: np.ndarray, sample_rate: float) -> np.ndarray:
    """1 up to 0.85 of half the sample rate, falling to 0 there; shape of ``f`` [Hz]."""
    return np.cos(np.pi / 2 * np.clip((2 * np.abs(f) / sample_rate - 0.85) / 0.15, 0, 1)) ** 2


def white_field(n: int, density: float, sample_rate: float, rng: np.random.Generator) -> np.ndarray:
    """Circular Gaussian fields (2, n) [sqrt(W)] of ``density`` [W/Hz] in each polarisation."""
    parts = rng.standard_normal((2, 2, n)) * np.sqrt(density * sample_rate / 2)
    return parts[0] + 1j * parts[1]


def load_noise(x: np.ndarray, osnr_db: float, sample_rate: float, rng: np.random.Generator) -> np.ndarray:
    """Fields ``x`` (2, n) with white noise added down to ``osnr_db`` [dB, 0.1 nm], the power of ``x`` taken as signal."""
    power = float(np.mean(np.sum(np.abs(x) ** 2, axis=0)))
    return x + white_field(x.shape[-1], noise_density_of(power, osnr_db), sample_rate, rng)
