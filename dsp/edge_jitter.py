"""Jitter of a transmitter that is not random: sinusoidal, bounded, duty-cycle, even-odd, spread spectrum, frequency offset.

Displacements are in unit intervals, later is positive. What is slow against the response of a channel moves the whole
waveform, by any number of unit intervals (`pace`); what is fast moves each edge by itself (`displacements`), to first order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check, streams

SLOW = 1e-3
"""Frequency over the symbol rate up to which jitter moves the whole waveform."""
LARGEST_FAST = 0.25
"""Largest amplitude [UI] of fast jitter: beyond it the first order in the displacement no longer describes an edge."""


@dataclass(frozen=True, kw_only=True)
class Sinusoid:
    """Sinusoidal jitter of peak ``amplitude_ui`` at ``frequency`` [Hz], that begins at ``phase`` turns."""

    amplitude_ui: float
    frequency: float
    phase: float = 0.0

    def __post_init__(self) -> None:
        check.between(self, "amplitude_ui", self.amplitude_ui, 0, 1e4, "UI")
        check.between(self, "frequency", self.frequency, 1, 1e12, "Hz", hint="is it in hertz? 4 MHz is 4e6")
        check.finite(self, "phase", self.phase)

    def at(self, time: np.ndarray) -> np.ndarray:
        """Displacement [UI] at ``time`` [s]."""
        return self.amplitude_ui * np.sin(2 * np.pi * (self.frequency * time + self.phase))


@dataclass(frozen=True, kw_only=True)
class SpreadSpectrum:
    """The symbol rate swings in a triangle of ``frequency`` [Hz] by ``depth_ppm`` from peak to peak.

    From the nominal rate down, or ``centred`` about it (Serial ATA and PCI Express: 5000 ppm down at 30 to 33 kHz).
    """

    depth_ppm: float = 5000.0
    frequency: float = 31.5e3
    centred: bool = False

    def __post_init__(self) -> None:
        check.between(self, "depth_ppm", self.depth_ppm, 0, 9000, "ppm", hint="the loops follow up to 1 %")
        check.between(self, "frequency", self.frequency, 1, 1e9, "Hz")
        check.instance(self, "centred", self.centred, bool)

    def rate(self, time: np.ndarray) -> np.ndarray:
        """Relative deviation of the symbol rate at ``time`` [s]; begins at the nominal rate and falls."""
        start = 0.25 if self.centred else 0.0
        turn = (self.frequency * time + start) % 1.0
        fall = 1 - np.abs(2 * turn - 1)
        return 1e-6 * self.depth_ppm * ((0.5 if self.centred else 0.0) - fall)


@dataclass(frozen=True, kw_only=True)
class EdgeJitter:
    """All that displaces a transmitter's edges and is not random.

    ``sinusoids``; ``bounded_ui``: uniform, afresh each edge, within +-bounded_ui; ``duty_cycle_ui``: rising edges come half of
    it late, falling ones half of it early; ``even_odd_ui``: even edges half of it late, odd ones half of it early, as of a
    clock of half the rate (peak to peak it is EOJ of IEEE 802.3 120D.3.1.8.2); ``spread``: spread-spectrum clocking.
    """

    sinusoids: tuple[Sinusoid, ...] = ()
    bounded_ui: float = 0.0
    duty_cycle_ui: float = 0.0
    even_odd_ui: float = 0.0
    spread: SpreadSpectrum | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.sinusoids, tuple):
            raise check.fail(self, "sinusoids", "a tuple of Sinusoid", self.sinusoids)
        for i, sinusoid in enumerate(self.sinusoids):
            check.instance(self, f"sinusoids[{i}]", sinusoid, Sinusoid)
        for field in ("bounded_ui", "duty_cycle_ui", "even_odd_ui"):
            check.between(self, field, getattr(self, field), 0, LARGEST_FAST, "UI")
        if self.spread is not None:
            check.instance(self, "spread", self.spread, SpreadSpectrum)

    def slow(self, symbol_rate: float) -> tuple[Sinusoid, ...]:
        """The sinusoids that move the whole waveform."""
        return tuple(s for s in self.sinusoids if s.frequency <= SLOW * symbol_rate)

    def fast(self, symbol_rate: float) -> tuple[Sinusoid, ...]:
        """The sinusoids that move edges. Raises ValueError for one too large to be of first order."""
        found = tuple(s for s in self.sinusoids if s.frequency > SLOW * symbol_rate)
        for s in found:
            if s.amplitude_ui > LARGEST_FAST:
                rule = f"{LARGEST_FAST:g} UI or less at {s.frequency:g} Hz, above {SLOW:g} of the symbol rate"
                raise check.fail(self, "sinusoids", rule, s.amplitude_ui)
        return found

    def moves_edges(self, symbol_rate: float) -> bool:
        """Whether `displacements` are other than zero."""
        return bool(self.fast(symbol_rate)) or self.bounded_ui > 0 or self.duty_cycle_ui > 0 or self.even_odd_ui > 0

    def displacements(
        self, steps: np.ndarray, first: int, symbol_rate: float, stream: streams.Stream
    ) -> tuple[np.ndarray, streams.Stream]:
        """Of the edges ``first``, ``first`` + 1 ... [UI], shape of ``steps``, the change of level at each; and the stream
        after.
        """
        n = steps.size
        k = first + np.arange(n)
        moved = np.zeros(n)
        for sinusoid in self.fast(symbol_rate):
            moved += sinusoid.at(k / symbol_rate)
        if self.bounded_ui:
            draws, stream = streams.uniform(n, stream)
            moved += self.bounded_ui * (2 * draws - 1)
        if self.duty_cycle_ui:
            moved += 0.5 * self.duty_cycle_ui * np.sign(steps)
        if self.even_odd_ui:
            moved += self.even_odd_ui * (0.5 - (k & 1))
        return moved, stream

    def paced(self, offset_ppm: float, symbol_rate: float) -> bool:
        """Whether `pace` is other than zero."""
        return bool(self.slow(symbol_rate)) or self.spread is not None or offset_ppm != 0

    def pace(self, first: int, n: int, offset_ppm: float, symbol_rate: float) -> np.ndarray:
        """By how much more than 1 UI the waveform advances from receiver symbol ``first``, ``first`` + 1 ... to the next, (n,)
        [UI].

        ``offset_ppm``: by which the transmitter is faster. A wave displaced by J is read at t - J.
        """
        time = (first + np.arange(n + 1)) / symbol_rate
        step = np.full(n, 1e-6 * offset_ppm)
        for sinusoid in self.slow(symbol_rate):
            step -= np.diff(sinusoid.at(time))
        if self.spread is not None:
            step += self.spread.rate(time[:-1])
        return step
