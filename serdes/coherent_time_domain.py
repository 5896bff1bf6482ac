"""The signal face of a coherent link: symbols to fields, fields to currents, currents to decisions; errors counted."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from channels.coherent import load_noise
from dsp import check
from dsp import differential as changes
from dsp.converter import Converter
from dsp.dispersion import root_raised_cosine
from dsp.grid import Grid
from dsp.tone import resampled
from dsp.units import db_power, from_db_power
from serdes.coherent import CREST, CoherentLink, CoherentResult, beyond_band, starved, unmodelled, verdict
from serdes.coherent_metrics import mutual_information, nearest, rail
from serdes.coherent_receiver import Failure, Received, receive
from serdes.metrics import ErrorCount

EDGE = 128
"""Symbols at either end of a record that are not counted: the equalisers see zeros there."""


@dataclass(frozen=True, kw_only=True)
class CoherentTimeDomain:
    """Sends ``n_symbols`` in each polarisation, receives them without knowing more than pilots and training, and counts bit errors.

    ``kerr``: "gaussian" adds the nonlinear interference of the closed form as noise, "split step" solves the Manakov equation
    over the record with ``step_phase`` [rad] a step, "none" leaves it out. ``samples_per_symbol``: 2, which the receiver
    works on.
    """

    n_symbols: int = 65536
    kerr: str = "gaussian"
    step_phase: float = 0.02

    def __post_init__(self) -> None:
        check.count(self, "n_symbols", self.n_symbols, 1024, 2**22)
        check.one_of(self, "kerr", self.kerr, ("gaussian", "split step", "none"))
        check.between(self, "step_phase", self.step_phase, 1e-4, 0.5, "rad")

    def run(self, link: CoherentLink, rng: np.random.Generator) -> CoherentResult:
        """One record through the whole chain. A stage that fails is the result's outcome."""
        if refused := beyond_band(link) or (unmodelled(link) if self.kerr == "gaussian" else None):
            return CoherentResult(link=link, engine=self, outcome=refused[0], reason=refused[1])
        pilots = link.rx.pilots.draw(self.n_symbols, rng)
        indices = rng.integers(0, link.tx.constellation.n, (2, self.n_symbols))
        points = link.tx.constellation.array / np.sqrt(link.tx.constellation.mean_square)
        coded = _coded(indices, link) if link.differential else indices
        sent = link.rx.pilots.insert(points[coded], pilots)
        header = None
        if link.rx.training is not None:
            # The corners of the constellation: the phase search takes them for what they are.
            header = np.max(np.abs(points)) * link.rx.training.draw(rng)[:, : self.n_symbols]
            sent[:, : header.shape[-1]] = header
            pilots[:, : -(-header.shape[-1] // link.rx.pilots.period)] = header[:, :: link.rx.pilots.period]
        currents = self._to_currents(link, sent, rng)
        try:
            got = receive(link, currents, pilots, header)
        except Failure as failure:
            outcome, reason = starved(link) or (failure.stage, failure.reason)
            return CoherentResult(link=link, engine=self, outcome=outcome, reason=reason, stages=failure.stages)
        return self._count(link, got, sent, indices)

    def _to_currents(self, link: CoherentLink, sent: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What the receiver's converters deliver, (2, 2 n) complex."""
        n, rate = 2 * sent.shape[-1], 2 * link.symbol_rate
        x = _convert(shaped(sent, link.symbol_rate, link.tx.roll_off), link.tx.converter, rng)
        x = link.tx.modulator.modulate(link.tx.paths.carry(x, rate), link.tx.power)
        if link.implementation_snr_db is not None:
            x = x + _noise(x, link.implementation_snr_db - float(db_power(2)), rng)
        x = x * np.exp(1j * _phase_noise(n, link.tx.linewidth, rate, rng))
        if self.kerr == "split step":
            x = link.channel.propagate(x, rate, rng, self.step_phase)
        else:
            memory = 2 ** math.ceil(math.log2(2 * link.channel.lead * link.symbol_rate + 64))
            grid = Grid(symbol_rate=link.symbol_rate, samples_per_symbol=2, n_symbols=memory)
            x, _ = link.channel.transmit(x, link.channel.start(grid, rng))
            snr = link.channel.nonlinear_snr_db(link.tx.power, link.symbol_rate) if self.kerr == "gaussian" else math.inf
            if math.isfinite(snr):
                x = x + _noise(x, snr - float(db_power(2)), rng)
        if link.osnr_db is not None:
            x = load_noise(x, link.osnr_db, rate, rng)
        turned = 2 * np.pi * link.rx.offset / rate * np.arange(n) + _phase_noise(n, link.rx.linewidth, rate, rng)
        y = link.rx.paths.carry(link.rx.front_end.detect(x * np.exp(1j * turned), rate, rng), rate)
        if link.rx.clock_ppm:
            y = resampled(y, np.arange(n) * (1 + 1e-6 * link.rx.clock_ppm))
        return _convert(y, link.rx.converter, rng)

    def _count(self, link: CoherentLink, got: Received, sent: np.ndarray, indices: np.ndarray) -> CoherentResult:
        constellation, payload = link.tx.constellation, link.rx.payload(sent.shape[-1])
        one, n = rail(constellation), sent.shape[-1]
        # A slow clock runs over the end of the record, a fast one does not reach it.
        edge = EDGE + math.ceil(1e-6 * abs(link.rx.clock_ppm) * n)
        scale = np.sqrt(constellation.mean_square)
        errors, trials, wrong, decisions, snrs, information = 0, 0, 0, 0, [0.0, 0.0], [0.0, 0.0]
        labelled = changes.differential(constellation) if link.differential else constellation
        for symbols, turns, source, delay in zip(got.symbols, got.turns, got.sources, got.delays, strict=True):
            k = np.arange(max(0, -delay) + edge, min(n, n - delay) - edge)
            k = k[payload[k]]
            values, true = symbols[k + delay], sent[source, k]
            gain = np.vdot(true, values) / np.vdot(true, true)
            values = values / gain
            noise = float(np.mean(np.abs(values - true) ** 2))
            snrs[source] = float(-db_power(noise))
            wanted = indices[source, k]
            if link.differential:
                decided = changes.decode(nearest(values * 1j ** turns[k + delay], constellation), constellation)
                counted = wanted[1:]
            else:
                decided, counted = nearest(values, constellation), wanted
            errors += int(labelled.bit_distance[counted, decided].sum())
            trials += counted.size * constellation.label_bits
            wrong += int(np.count_nonzero(counted != decided))
            decisions += counted.size
            sigma = float(np.sqrt(noise / 2)) * scale
            rows, columns = nearest(true, constellation) // one.n, nearest(true, constellation) % one.n
            parts = ((values.real, rows), (values.imag, columns))
            information[source] = sum(mutual_information(scale * v, i, one, sigma) for v, i in parts)
        outcome, reason = verdict(link, errors / trials)
        return CoherentResult(
            link=link, engine=self, outcome=outcome, reason=reason, polarizations_db=(snrs[0], snrs[1]), ber=errors / trials,
            ser=wrong / decisions, symbols=ErrorCount(errors=wrong, trials=decisions),
            information=(information[0], information[1]), bits=ErrorCount(errors=errors, trials=trials), slips=got.slips,
            offset=got.offset, clock_ppm=got.clock_ppm, stages=got.stages,
        )  # fmt: skip


def shaped(symbols: np.ndarray, symbol_rate: float, roll_off: float) -> np.ndarray:
    """Periodic root-raised-cosine waveform of ``symbols`` (..., n), two samples a symbol, (..., 2 n), of unit mean power."""
    from scipy import fft

    spectrum = fft.fft(symbols, axis=-1, workers=1)
    f = fft.fftfreq(2 * symbols.shape[-1], 0.5 / symbol_rate)
    doubled = np.concatenate((spectrum, spectrum), axis=-1) * root_raised_cosine(f, symbol_rate, roll_off)
    x = fft.ifft(doubled, axis=-1, overwrite_x=True, workers=1)
    return x / np.sqrt(np.mean(np.abs(x) ** 2))


def _coded(indices: np.ndarray, link: CoherentLink) -> np.ndarray:
    """Changes of quadrant made quadrants, from one payload symbol to the next; pilots stand apart."""
    payload = link.rx.payload(indices.shape[-1])
    coded = indices.copy()
    coded[:, payload] = changes.encode(indices[:, payload], link.tx.constellation)
    return coded


def _noise(x: np.ndarray, snr_db: float, rng: np.random.Generator) -> np.ndarray:
    """White noise over the whole sampled band with ``snr_db`` to the power of ``x``, alike in both polarisations."""
    power = float(np.mean(np.abs(x) ** 2) / from_db_power(snr_db) / 2)
    parts = rng.standard_normal((2, *x.shape)) * np.sqrt(power)
    return parts[0] + 1j * parts[1]


def _phase_noise(n: int, linewidth: float, sample_rate: float, rng: np.random.Generator) -> np.ndarray:
    """Phase of a laser [rad]: a walk of variance 2 pi linewidth a second."""
    if not linewidth:
        return np.zeros(n)
    return np.cumsum(rng.standard_normal(n)) * np.sqrt(2 * np.pi * linewidth / sample_rate)


def _convert(x: np.ndarray, converter: Converter | None, rng: np.random.Generator) -> np.ndarray:
    """Both quadratures rounded, with a range of `CREST` times their rms, the converter's own noise included."""
    if converter is None:
        return x
    full_scale = CREST * float(np.sqrt(np.mean(np.abs(x) ** 2) / 2))
    own = rng.standard_normal((2, *x.shape)) * np.sqrt(converter.own_noise(full_scale))
    return converter.convert(x.real + own[0], full_scale) + 1j * converter.convert(x.imag + own[1], full_scale)
