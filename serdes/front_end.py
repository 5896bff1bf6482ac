"""The waveforms in front of the converter, computed once for all links that share them: amplitude, noise, taps may differ."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from channels.cache import Cache
from dsp.noise import autocorrelation, edge_jitter_autocovariance, sampling_jitter_autocovariance
from dsp.response import PulseResponse
from serdes.link import Link, Receiver, Transmitter
from serdes.spectra import LEAST, Spectra, receive_filter, spectra

FINE = 32
"""Samples per symbol among which the sampling phase is chosen."""
THIN = 4
"""How much shorter the window is while gains and phase are searched."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Phases:
    """Responses at all phases of a unit interval, rows phases, columns whole symbols; and the noise they bring.

    ``h`` [V]: pulse with transmit taps; ``noise``: by cause, autocovariance [V^2] of shape (window,) or, where the phase
    matters, (n_phases, window).
    """

    h: np.ndarray
    noise: dict[str, np.ndarray]

    def total_noise(self) -> np.ndarray:
        """Sum over causes, shape (n_phases, window)."""
        return np.zeros(self.h.shape) + sum(self.noise.values())


@dataclass(frozen=True, kw_only=True, eq=False)
class _Unit(Phases):
    """Of a front end's own link; ``white``: autocovariance that 1 V^2/Hz at the receiver's input would have."""

    white: np.ndarray

    @property
    def nbytes(self) -> int:
        return self.h.nbytes + self.white.nbytes + sum(r.nbytes for r in self.noise.values())


@dataclass(frozen=True, kw_only=True, eq=False)
class _Kept:
    """Arrays with their size, for a cache."""

    value: tuple[np.ndarray, ...]

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in self.value)


def with_transmit_taps(h: np.ndarray, link: Link) -> np.ndarray:
    """Periodic convolution of ``h`` (last axis whole symbols) with the transmit feed-forward taps."""
    ffe = link.tx.ffe
    if ffe.feed_forward == (1.0,):
        return h
    sent = np.zeros_like(h)
    for i, c in enumerate(ffe.feed_forward):
        sent += c * np.roll(h, i - ffe.n_precursors, axis=-1)
    return sent


def phases(link: Link, sp: Spectra, samples_per_symbol: int, shift: float = 0.0) -> Phases:
    """Responses and noise of filtered spectra at ``samples_per_symbol`` phases, the first at ``shift`` [s] into the window."""
    mean_square = link.tx.constellation.mean_square
    bare = sp.response(sp.pulse, samples_per_symbol, shift).phases()
    h = with_transmit_taps(bare, link)
    noise = {"thermal": sp.noise_autocovariance()}
    if sp.aggressors:
        noise["crosstalk"] = sp.crosstalk_autocovariance([a.tx.constellation.mean_square for a in link.aggressors])
    if link.tx.snr_db is not None:
        noise["Tx noise"] = 10 ** (-link.tx.snr_db / 10) * autocorrelation(bare)
    if link.tx.jitter.variance_ui2 or link.rx.jitter.variance_ui2:  # [V per UI]
        edge = sp.response(sp.edge, samples_per_symbol, shift).phases()
    if link.tx.jitter.variance_ui2:
        noise["Tx jitter"] = edge_jitter_autocovariance(edge, link.tx.jitter, mean_square, link.tx.ffe.feed_forward)
    if link.rx.jitter.variance_ui2:
        slope = with_transmit_taps(edge - np.roll(edge, 1, axis=1), link)
        noise["Rx jitter"] = sampling_jitter_autocovariance(slope, link.rx.jitter, mean_square)
    return Phases(h=h, noise=noise)


def aggressor_cursors(link: Link, sp: Spectra, offset: float) -> list[np.ndarray]:
    """Samples [V] of each aggressor's pulse at the victim's sampling instants, each of shape (window,)."""
    rows = []
    thin = sp.thinned(THIN)
    for aggressor, spectrum, short in zip(link.aggressors, sp.aggressors, thin.aggressors, strict=True):
        if aggressor.phase_ui is None:  # the phase of largest variance (93A-33)
            table = thin.response(short, FINE, offset / link.symbol_rate).phases()
            shift = (offset + int(np.argmax(np.sum(table**2, axis=1))) / FINE) / link.symbol_rate
        else:
            shift = (offset - aggressor.phase_ui) / link.symbol_rate
        rows.append(sp.response(spectrum, LEAST, shift).phases()[0])
    return rows


def fine_pulse(link: Link, sp: Spectra, offset: float) -> PulseResponse:
    """The pulse with transmit taps at `FINE` samples a symbol, the first ``offset`` [UI] into the window."""
    bare = sp.response(sp.pulse, FINE, offset / link.symbol_rate)
    return PulseResponse(samples=with_transmit_taps(bare.phases(), link).T.reshape(-1), grid=bare.grid, start=bare.start)


@dataclass(frozen=True, kw_only=True, eq=False)
class FrontEnd:
    """What links have in common that differ in amplitude, noise levels, converter, equaliser, clock and detector alone.

    ``link``: one of them, with a transmitter of 1 V at 0 dB of SNR and no receiver noise. Everything is linear in these levels:
    `phases` and the rest scale what was computed once. One object stands for all equal ones, so that it is its own key.
    """

    link: Link

    @cached_property
    def base(self) -> Spectra:
        """Without continuous-time equaliser, of `link`."""
        return spectra(self.link)

    @cached_property
    def white(self) -> np.ndarray:
        """Power transfer of the receive filter: what the receiver's noise density is multiplied by."""
        return np.abs(receive_filter(self.link.rx, self.base.f)) ** 2

    def _ctle(self, link: Link, gains: tuple[float, float], f: np.ndarray) -> np.ndarray | None:
        return None if link.rx.ctle is None else link.rx.ctle.transfer(f, *gains)

    def _key(self, kind: str, link: Link, gains: tuple[float, float], *more: float) -> Hashable:
        c = link.rx.ctle
        poles = None if c is None else (c.zero, c.pole1, c.pole2, c.low_frequency_pole)
        return kind, self, poles, gains, *more

    def behind(self, link: Link, gains: tuple[float, float], step: int = 1) -> Spectra:
        """Spectra of ``link`` behind its continuous-time equaliser at ``gains`` [dB], every ``step``-th frequency."""
        sp = self.base.thinned(step) if step > 1 else self.base
        a = link.tx.amplitude
        sp = replace(sp, pulse=a * sp.pulse, edge=a * sp.edge, noise=sp.noise + link.rx.noise_density * self.white[::step])
        h = self._ctle(link, gains, sp.f)
        return sp if h is None else sp.filtered(h)

    def phases(
        self, link: Link, gains: tuple[float, float], samples_per_symbol: int, step: int = 1, offset: float = 0.0
    ) -> Phases:
        """`phases` of ``link`` behind its equaliser at ``gains`` [dB], the first ``offset`` [UI] into the window."""
        key = self._key("phases", link, gains, samples_per_symbol, step, offset)
        unit = waveforms.get(key) or waveforms.put(key, self._unit(link, gains, samples_per_symbol, step, offset))
        a = link.tx.amplitude
        scale = {"Tx jitter": a**2, "Rx jitter": a**2}
        if link.tx.snr_db is not None:
            scale["Tx noise"] = a**2 * 10 ** (-link.tx.snr_db / 10)
        noise = {"thermal": unit.noise["thermal"] + link.rx.noise_density * unit.white}
        noise |= {cause: r for cause, r in unit.noise.items() if cause == "crosstalk"}
        noise |= {cause: scale[cause] * r for cause, r in unit.noise.items() if cause in scale}
        return Phases(h=a * unit.h, noise=noise)

    def _unit(self, link: Link, gains: tuple[float, float], samples_per_symbol: int, step: int, offset: float) -> _Unit:
        sp = self.base.thinned(step) if step > 1 else self.base
        h = self._ctle(link, gains, sp.f)
        white = self.white[::step]
        if h is not None:
            sp, white = sp.filtered(h), white * np.abs(h) ** 2
        found = phases(self.link, sp, samples_per_symbol, offset / link.symbol_rate)
        return _Unit(h=found.h, noise=found.noise, white=replace(sp, noise=white).noise_autocovariance())

    def aggressor_cursors(self, link: Link, gains: tuple[float, float], offset: float) -> tuple[np.ndarray, ...]:
        """`aggressor_cursors` behind the equaliser at ``gains`` [dB]."""
        if not link.aggressors:
            return ()
        key = self._key("aggressors", link, gains, offset)
        kept = cursors.get(key)
        if kept is None:
            rows = aggressor_cursors(self.link, self.behind(link, gains), offset)
            kept = cursors.put(key, _Kept(value=tuple(rows)))
        return kept.value

    def peak(self, link: Link, gains: tuple[float, float], offset: float) -> tuple[int, float]:
        """(index of the largest sample, start of the window [s]) of `fine_pulse`: no level moves them."""
        key = self._key("peak", link, gains, offset)
        found = peaks.get(key)
        if found is None:
            pulse = fine_pulse(self.link, self.behind(link, gains), offset)
            found = peaks.put(key, (pulse.peak, pulse.start))
        return found


def front_end(link: Link) -> FrontEnd:
    """The front end of ``link``, the same object for every link that shares it."""
    tx, rx = link.tx, link.rx
    shared = (tx.rise_time, tx.ffe, tx.constellation, tx.jitter, rx.bandwidth, rx.jitter)
    key = link.symbol_rate, link.channel, link.aggressors, shared
    known = front_ends.get(key)
    if known is None:
        unit = Transmitter(
            amplitude=1.0, constellation=tx.constellation, rise_time=tx.rise_time, ffe=tx.ffe, snr_db=0.0, jitter=tx.jitter
        )
        quiet = Receiver(bandwidth=rx.bandwidth, jitter=rx.jitter)
        known = front_ends.put(
            key,
            FrontEnd(
                link=Link(symbol_rate=link.symbol_rate, tx=unit, channel=link.channel, rx=quiet, aggressors=link.aggressors)
            ),
        )
    return known


front_ends: Cache[FrontEnd] = Cache(max_entries=16)
waveforms: Cache[_Unit] = Cache(max_entries=1024, max_bytes=96 * 2**20)
cursors: Cache[_Kept] = Cache(max_entries=256, max_bytes=32 * 2**20)
peaks: Cache[tuple[int, float]] = Cache(max_entries=1024)
