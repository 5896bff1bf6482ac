"""The linear face of a link as spectra: everything up to the continuous-time equaliser, whose gains are still open."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from channels.channel import Channel
from dsp import filters
from dsp.grid import Grid
from dsp.noise import autocovariance
from dsp.response import PulseResponse, pulse_response
from serdes.link import Link, Receiver, Transmitter

WINDOW = 2048
"""Length of the pulse window in symbols: longer than the echoes and the skin-effect tail of any cable that still works."""
BAND = 2
"""Highest frequency carried, in symbol rates. Above it edge, channel and receive filter leave less than 1e-4."""
LEAST = 2 * BAND
"""Fewest samples per symbol that hold the band."""
PROBE = 1e6
"""Distance [Hz] of the frequencies between which the delay is measured: unambiguous up to half a microsecond."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Spectra:
    """Spectra from 0 in steps of symbol rate / `window` up to `BAND` symbol rates, without CTLE.

    ``pulse`` [V s]: of one unit symbol, without transmit taps. ``edge`` [V s per UI]: of one unit step moved by one unit
    interval. ``taps``: transfer of the transmit taps. ``aggressors`` [V s]: of their unit symbols, their taps included.
    ``noise`` [V^2/Hz]: one-sided density of receiver and channel noise. ``delay`` [s]: arrival of the victim's energy.
    """

    symbol_rate: float
    f: np.ndarray
    pulse: np.ndarray
    edge: np.ndarray
    taps: np.ndarray
    aggressors: tuple[np.ndarray, ...]
    noise: np.ndarray
    delay: float

    def filtered(self, ctle: np.ndarray) -> Spectra:
        """The same behind a continuous-time equaliser of transfer ``ctle``."""
        return replace(
            self,
            pulse=self.pulse * ctle,
            edge=self.edge * ctle,
            aggressors=tuple(a * ctle for a in self.aggressors),
            noise=self.noise * np.abs(ctle) ** 2,
        )

    @property
    def window(self) -> int:
        """Length of the pulse window in symbols."""
        return (self.f.size - 1) // BAND

    def thinned(self, step: int) -> Spectra:
        """Every ``step``-th frequency: a window that much shorter, into which longer responses fold."""
        return replace(
            self,
            f=self.f[::step],
            pulse=self.pulse[::step],
            edge=self.edge[::step],
            taps=self.taps[::step],
            aggressors=tuple(a[::step] for a in self.aggressors),
            noise=self.noise[::step],
        )

    def grid(self, samples_per_symbol: int) -> Grid:
        """The time grid of the window."""
        return Grid(symbol_rate=self.symbol_rate, samples_per_symbol=samples_per_symbol, n_symbols=self.window)

    def response(self, spectrum: np.ndarray, samples_per_symbol: int, shift: float = 0.0) -> PulseResponse:
        """One of the spectra in time, on a window placed around the victim's arrival and moved later by ``shift`` [s]."""
        grid = self.grid(samples_per_symbol)
        moved = spectrum * np.exp(2j * np.pi * self.f * shift) if shift else spectrum
        p = pulse_response(moved, grid, self.delay)
        return PulseResponse(samples=p.samples, grid=grid, start=p.start + shift)

    def noise_autocovariance(self) -> np.ndarray:
        """Autocovariance [V^2] of the receiver's and channel's noise at lags 0, 1, ... symbols, shape (window,), periodic."""
        return self._at_symbols(self.noise)

    def crosstalk_autocovariance(self, mean_squares: list[float]) -> np.ndarray:
        """Autocovariance [V^2] of all aggressors with their sampling phase averaged, shape (window,), periodic."""
        sent = zip(self.aggressors, mean_squares, strict=True)
        return self._at_symbols(sum(2 * ms * np.abs(a) ** 2 * self.symbol_rate for a, ms in sent))

    def _at_symbols(self, density: np.ndarray) -> np.ndarray:
        r = autocovariance(density, self.symbol_rate / self.window, 1 / self.symbol_rate, self.window // 2 + 1)
        return np.concatenate([r, r[-2:0:-1]])


def spectra(link: Link) -> Spectra:
    """The spectra of ``link``. Raises ValueError when the channel's transfer is not finite."""
    rate = link.symbol_rate
    f = np.arange(BAND * WINDOW + 1) * (rate / WINDOW)
    receive = receive_filter(link.rx, f)
    through = link.channel.transfer(f)
    if not np.all(np.isfinite(through)):
        bad = f[~np.isfinite(through)][0]
        raise ValueError(f"{type(link.channel).__name__}.transfer is not finite at {bad:g} Hz")
    hold = filters.zero_order_hold(f, 1 / rate) * np.exp(-1j * np.pi * f / rate)
    driven = _drive(link.tx, f) / rate * through * receive
    return Spectra(
        symbol_rate=rate,
        f=f,
        pulse=driven * hold,
        edge=driven,
        taps=_taps(link.tx, f / rate),
        aggressors=tuple(
            _drive(a.tx, f) / rate * _taps(a.tx, f / rate) * hold * a.coupling.transfer(f) * receive for a in link.aggressors
        ),
        noise=(link.rx.noise_density + link.channel.noise_psd(f)) * np.abs(receive) ** 2,
        delay=delay_of(link.channel, rate) + 0.5 / rate,
    )


def receive_filter(rx: Receiver, f: np.ndarray) -> np.ndarray:
    """Transfer of the noise filter at ``f``, 1 where there is none."""
    return np.ones(f.size, complex) if rx.bandwidth is None else filters.butterworth4(f, rx.bandwidth)


def delay_of(channel: Channel, symbol_rate: float) -> float:
    """Group delay [s] of a channel, averaged over its power from 2 to 40 % of the symbol rate."""
    f = np.repeat(np.linspace(0.02, 0.4, 16) * symbol_rate, 2)
    f[1::2] += PROBE
    h = channel.transfer(f)
    step = np.sum(h[1::2] * np.conj(h[::2]))
    return 0.0 if step == 0 else float(-np.angle(step) / (2 * np.pi * PROBE))


def _drive(tx: Transmitter, f: np.ndarray) -> np.ndarray:
    return tx.amplitude * filters.gaussian_edge(f, tx.rise_time)


def _taps(tx: Transmitter, f_relative: np.ndarray) -> np.ndarray:
    from dsp.equalizer import transfer

    if len(tx.ffe.feed_forward) == 1:
        return np.full(f_relative.size, tx.ffe.feed_forward[0], complex)
    return transfer(np.asarray(tx.ffe.feed_forward), tx.ffe.n_precursors, f_relative)
