"""Building blocks of channels that are not linear: short filters, amplifiers, complex convolution. State is passed, never kept."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from channels.channel import Channel
from dsp import check, convolution, filters, streams
from dsp.grid import Grid

TRANSIT = 6e-11
"""Delay [s] of an amplifier: room for the part of a band-limited response that rings before its time."""
SHAPES = ("bessel4", "butterworth4", "gaussian", "two-pole")
_LOST = 1e-3


class Stage(Channel):
    """A channel that is not linear, or whose noise follows the signal: what the semi-analytic engine needs to know of it."""

    @abstractmethod
    def static(self, x: np.ndarray) -> np.ndarray:
        """Output for an input that rests at ``x``, same shape, without noise."""

    @abstractmethod
    def silent(self) -> Channel:
        """The same without anything random."""

    @property
    def stages(self) -> tuple[Channel, ...]:
        """What it consists of, in the order of the signal's way; itself where it is one piece."""
        return (self,)


class QuietStage(Stage):
    """A stage that adds nothing random."""

    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:  # noqa: ARG002
        """Zero, shape of ``f`` [Hz]."""
        return np.zeros(np.shape(f))

    def silent(self) -> Channel:
        """Itself."""
        return self


def compact_taps(response: np.ndarray, grid: Grid, owner: str) -> np.ndarray:
    """Causal taps of a real filter given on ``grid.f``: rolled off over the last fifth of the band, tails below -120 dB cut.

    ``ValueError``: the sampling is too coarse, or the memory too short, to hold all but a thousandth of the energy.
    """
    from scipy import fft

    h = fft.irfft(response * _roll_off(grid.f / grid.f[-1]), grid.n, workers=1)
    causal = h[: grid.n // 2]
    _held(float(np.sum(h**2)), float(np.sum(causal**2)), owner, grid)
    taps = _trimmed(causal)
    total = float(np.sum(taps))
    wanted = float(np.real(response[0]))
    return taps * (wanted / total) if wanted and total else taps


def _roll_off(x: np.ndarray) -> np.ndarray:
    """1 up to four fifths of the band, then a raised cosine to 0 at its end; ``x`` is frequency over the band's end."""
    return np.cos(np.pi / 2 * np.clip((np.abs(x) - 0.8) / 0.2, 0, 1)) ** 2


def _held(all_of_it: float, kept: float, owner: str, grid: Grid) -> None:
    if all_of_it > 0 and kept < (1 - _LOST) * all_of_it:
        raise ValueError(
            f"{owner}: {100 * (1 - kept / all_of_it):.2g} % of the impulse response falls outside a memory of "
            f"{grid.n_symbols} symbols at {grid.samples_per_symbol} samples each; take more of either"
        )


def _trimmed(taps: np.ndarray) -> np.ndarray:
    energy = np.cumsum(np.abs(taps[::-1]) ** 2)[::-1]
    return taps[: max(1, int(np.count_nonzero(energy > 1e-12 * energy[0])))]


@final
@dataclass(frozen=True, kw_only=True)
class Amplifier(Stage):
    """A driver (volts to volts) or a transimpedance amplifier (amperes to volts): filter, noise, saturation.

    ``gain`` [output per input unit]; ``bandwidth`` [Hz], None for none: the 3 dB point, or for "two-pole" the natural frequency
    of 1 / (1 + s/Q + s^2), which peaks for ``quality`` Q above 0.707. ``noise_density``: one-sided, white, at the input
    [V^2/Hz or A^2/Hz]. ``saturation`` [V]: the output is V_s tanh(v / V_s), behind the filter; None for none.
    With a bandwidth its delay is `TRANSIT` beside that of the filter.
    """

    gain: float = 1.0
    bandwidth: float | None = None
    shape: str = "bessel4"
    quality: float = 0.7071
    noise_density: float = 0.0
    saturation: float | None = None

    def __post_init__(self) -> None:
        check.positive(self, "gain", self.gain)
        if self.bandwidth is not None:
            check.between(self, "bandwidth", self.bandwidth, 1e6, 1e13, "Hz", hint="is it in hertz? 40 GHz is 40e9")
        check.one_of(self, "shape", self.shape, SHAPES)
        check.between(self, "quality", self.quality, 0.1, 5)
        check.between(self, "noise_density", self.noise_density, 0, 1e-9, "per Hz", hint="18 pA/rtHz is 3.24e-22 A^2/Hz")
        if self.saturation is not None:
            check.positive(self, "saturation", self.saturation, "V")

    def transfer(self, f: np.ndarray) -> np.ndarray:
        """Small-signal response about 0 [output per input unit], complex, shape of ``f`` [Hz]."""
        f = np.asarray(f, float)
        if self.bandwidth is None:
            return np.full(f.shape, self.gain, complex)
        delayed = self.gain * np.exp(-2j * np.pi * f * TRANSIT)
        if self.shape == "two-pole":
            s = 1j * f / self.bandwidth
            return delayed / (1 + s / self.quality + s**2)
        if self.shape == "gaussian":
            return delayed * np.exp(-np.log(2) / 2 * (f / self.bandwidth) ** 2)
        low_pass = filters.bessel_thomson4 if self.shape == "bessel4" else filters.butterworth4
        return delayed * low_pass(f, self.bandwidth)

    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:  # noqa: ARG002
        """The input noise at the output [V^2/Hz], shape of ``f`` [Hz]."""
        return self.noise_density * np.abs(self.transfer(f)) ** 2

    def static(self, x: np.ndarray) -> np.ndarray:
        """Output [V] at rest."""
        return _limited(self.gain * np.asarray(x, float), self.saturation)

    def silent(self) -> Amplifier:
        """Without noise."""
        return Amplifier(
            gain=self.gain, bandwidth=self.bandwidth, shape=self.shape, quality=self.quality, saturation=self.saturation
        )

    def start(self, grid: Grid, rng: np.random.Generator | None) -> Any:
        """State before the first sample; ``ValueError`` where it makes noise and got no ``rng``."""
        flat = self.bandwidth is None
        taps = np.array([self.gain]) if flat else compact_taps(self.transfer(grid.f), grid, type(self).__name__)
        return convolution.fir_start(taps), noise_source(self, self.noise_density, grid, rng)

    def transmit(self, x: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        """Noise, filter, saturation; see `Channel.transmit`."""
        fir, source = state
        if source is not None:
            rms, stream = source
            white, stream = streams.normal(np.shape(x), stream)
            x, source = x + rms * white, (rms, stream)
        y, fir = convolution.fir_step(x, fir)
        return _limited(y, self.saturation), (fir, source)


def _limited(y: np.ndarray, saturation: float | None) -> np.ndarray:
    return y if saturation is None else saturation * np.tanh(y / saturation)


def noise_source(
    owner: object, density: float, grid: Grid, rng: np.random.Generator | None
) -> tuple[float, streams.Stream] | None:
    """(rms of a sample, stream) of white noise of one-sided ``density``; None where there is none."""
    if not density:
        return None
    if rng is None:
        raise ValueError(f"{type(owner).__name__}.start needs an rng (numpy.random.Generator): the channel adds noise")
    return float(np.sqrt(density * grid.sample_rate / 2)), streams.start(rng)


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldFir:
    """A running convolution of a complex envelope: ``spectrum`` of the taps at ``n_fft`` points, ``history`` of the input."""

    spectrum: np.ndarray
    n_fft: int
    history: np.ndarray


def field_fir(response: np.ndarray, grid: Grid, length: int, owner: str) -> FieldFir:
    """State of a complex filter given at the two-sided FFT frequencies of ``grid``, before the first sample.

    ``length``: taps kept, from time 0 on. ``ValueError`` where they are longer than the grid.
    """
    from scipy import fft

    f = fft.fftfreq(grid.n, grid.dt)
    h = fft.ifft(response * _roll_off(f / (grid.sample_rate / 2)), workers=1)
    if length >= grid.n:
        raise ValueError(
            f"{owner}: dispersion spreads over {length / grid.samples_per_symbol:.0f} symbols, longer than the memory"
        )
    taps = h[:length].copy()
    edge = min(8, length)
    taps[-edge:] *= np.linspace(1, 0, edge + 1)[1:]
    taps *= response[0] / np.sum(taps)  # the carrier keeps its power exactly
    n_fft = max(2048, int(2 ** np.ceil(np.log2(8 * length))))
    return FieldFir(spectrum=fft.fft(taps, n_fft), n_fft=n_fft, history=np.zeros(length - 1, complex))


def field_step(x: np.ndarray, state: FieldFir) -> tuple[np.ndarray, FieldFir]:
    """Next block of the complex envelope ``x`` (n,), by overlap-save, all pieces in one transform."""
    from scipy import fft

    past, n = state.history.size, x.size
    extended = np.concatenate((state.history, x))
    step = state.n_fft - past
    n_pieces = max(1, -(-n // step))
    padded = np.concatenate((extended, np.zeros(n_pieces * step + past - extended.size, complex)))
    pieces = np.lib.stride_tricks.sliding_window_view(padded, state.n_fft)[::step]
    spectrum = fft.fft(pieces, axis=1, workers=1)
    spectrum *= state.spectrum
    y = fft.ifft(spectrum, axis=1, overwrite_x=True, workers=1)[:, past:].reshape(-1)[:n]
    return y, FieldFir(spectrum=state.spectrum, n_fft=state.n_fft, history=extended[n:])
