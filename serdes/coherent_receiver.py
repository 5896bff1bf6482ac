"""The signal processing of a coherent receiver in order: each stage either hands on or is named as the one that failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dsp import carrier
from dsp.butterfly import Butterfly, Equalized
from dsp.dispersion import DispersionEqualizer
from dsp.training import Training
from serdes.coherent import CoherentLink
from serdes.coherent_metrics import nearest

SHOWN = 4096
"""Symbols of each stage that are kept for pictures."""
MOST_LIKENESS = 0.5
LEAST_TONE = 1.5
LEAST_PILOTS = 8.0
LEAST_HEADER = 8.0
MOST_SLIPS = 0.02
"""Limits: likeness of the two outputs, contrast of the clock tone, of pilots and training, slips a pilot."""


class Failure(Exception):  # noqa: N818
    """A stage that did not do its work: an outcome, caught by the engine. ``stages``: what was there up to then."""

    def __init__(self, stage: str, reason: str, stages: Mapping[str, np.ndarray]) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage, self.reason, self.stages = stage, reason, dict(stages)


@dataclass(frozen=True, kw_only=True, eq=False)
class Received:
    """``symbols`` (2, n) of unit power without phase; output i is polarisation ``sources[i]``, ``delays[i]`` symbols late.

    ``turns`` (2, n): the quarter turns that the pilots took away.
    """

    symbols: np.ndarray
    turns: np.ndarray
    sources: tuple[int, int]
    delays: tuple[int, int]
    slips: int
    offset: float
    clock_ppm: float
    stages: Mapping[str, np.ndarray]


def receive(link: CoherentLink, x: np.ndarray, pilots: np.ndarray, header: np.ndarray | None = None) -> Received:
    """Symbols of currents ``x`` (2, 2 n), two samples a symbol, any unit. Raises `Failure` with the stage.

    ``header`` (2, m): known symbols at the head of the record, where the link has training.
    """
    rx, constellation, rate = link.rx, link.tx.constellation, link.symbol_rate
    n = x.shape[-1] // 2
    stages: dict[str, np.ndarray] = {}

    def keep(name: str, y: np.ndarray) -> None:
        start = max(0, (y.shape[-1] - SHOWN) // 2)
        stages[name] = _unit(y[0, start : start + SHOWN])

    needed = shortest(link)
    if n < needed:
        raise Failure("record too short", f"equalisers and timing need {needed} symbols, got {n}", stages)
    keep("converter", x[:, ::2])
    x = carrier.whitened(x)
    coarse = carrier.centre_frequency(x, 2 * rate)
    x = carrier.shifted(x, coarse, 2 * rate)
    x = dispersion_equalizer(link).apply(x, rate, 2 * rate)
    timing = rx.timing.measure(x)
    if timing.contrast < LEAST_TONE:
        raise Failure(
            "timing", f"the clock tone is {timing.contrast:.2f} of what noise makes, less than {LEAST_TONE:g}", stages
        )
    x = _unit(rx.timing.correct(x, timing))
    keep("dispersion, timing", x[:, ::2])
    start = None if rx.training is None or header is None else _trained(rx.training, rx.butterfly, x, header, stages)
    equalized = rx.butterfly.equalize(x, constellation, start)
    if equalized.likeness > MOST_LIKENESS:
        reason = f"both outputs carry the same polarisation (correlation of their taps {equalized.likeness:.2f})"
        raise Failure("butterfly", reason, stages)
    y = _unit(equalized.symbols)
    keep("butterfly", y)
    fine = carrier.fourth_power_frequency(y, rate)
    y = carrier.shifted(y, fine, rate)
    keep("frequency", y)
    y, phase = _derotated(link, y)
    # Decisions, wrong ones too, make a better equaliser than the rings: it is solved anew, on the waveform with its rotation.
    wanted = _decided(y, link) * np.exp(1j * phase)
    refined: Equalized = rx.butterfly.refine(x, carrier.shifted(wanted, -fine, rate))
    y, phase = _derotated(link, _unit(carrier.shifted(refined.symbols, fine, rate)))
    keep("phase", y)
    found = rx.pilots.align(y * np.exp(1j * phase), pilots)
    if found.contrast < LEAST_PILOTS:
        raise Failure(
            "pilots", f"pilots stand out by {found.contrast:.1f}, less than {LEAST_PILOTS:g}: no signal was recovered", stages
        )
    if found.sources[0] == found.sources[1]:
        raise Failure("butterfly", "the pilots of one polarisation are in both outputs", stages)
    turns = np.stack([_quarters(link, y[i], pilots[found.sources[i]], found.delays[i]) for i in range(2)])
    slipped = carrier.slips(turns)
    if slipped > max(2, MOST_SLIPS * 2 * n / rx.pilots.period):
        raise Failure("phase", f"{slipped} cycle slips in {n} symbols", stages)
    # What the transmitter's quadratures lack, and what its modulator leaks, stands still only here.
    y = carrier.whitened(y * (-1j) ** turns)
    keep("pilots", y)
    return Received(
        symbols=y,
        turns=turns,
        sources=found.sources,
        delays=found.delays,
        slips=slipped,
        offset=coarse + fine,
        clock_ppm=-timing.ppm,
        stages=stages,
    )


def _trained(
    training: Training, butterfly: Butterfly, x: np.ndarray, header: np.ndarray, stages: Mapping[str, np.ndarray]
) -> np.ndarray:
    found = training.locate(x, header)
    if found.contrast < LEAST_HEADER:
        raise Failure("training", f"known symbols stand out by {found.contrast:.1f}, less than {LEAST_HEADER:g}", stages)
    return training.taps(x, header, found, butterfly)


def dispersion_equalizer(link: CoherentLink) -> DispersionEqualizer:
    """The fixed equaliser of the link's dispersion, or of the share of it that the receiver is told."""
    beta2, beta3 = link.channel.betas
    share = link.rx.dispersion_share
    return DispersionEqualizer(beta2=share * beta2, beta3=share * beta3, roll_off=link.tx.roll_off)


def shortest(link: CoherentLink) -> int:
    """Symbols that the receiver needs: for timing, for the butterfly's start, for dispersion.

    The last are four times its equaliser and twice the delay of the line, in which the record holds no signal.
    """
    equalizer = dispersion_equalizer(link).n_taps(link.symbol_rate, 2 * link.symbol_rate)
    late = int(2 * link.channel.lead * link.symbol_rate)
    return max(2 * link.rx.timing.block, 4096, 4 * equalizer // 2 + late, 64 * link.rx.butterfly.n_taps)


def _derotated(link: CoherentLink, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    phase = link.rx.phase.phase(y, link.tx.constellation)
    return y * np.exp(-1j * phase), phase


def _decided(y: np.ndarray, link: CoherentLink) -> np.ndarray:
    points = link.tx.constellation.array / np.sqrt(link.tx.constellation.mean_square)
    return points[nearest(y, link.tx.constellation)]


def _quarters(link: CoherentLink, y: np.ndarray, pilots: np.ndarray, delay: int) -> np.ndarray:
    """Quarter turns of one output whose first sent symbol is at ``delay``, negative where the record starts later."""
    period = link.rx.pilots.period
    skipped = max(0, -(delay // period)) if delay < 0 else 0
    first = delay + skipped * period
    count = min(pilots.size - skipped, -(-(y.size - first) // period))
    return link.rx.pilots.quarters(y, pilots[skipped : skipped + count], first)


def _unit(x: np.ndarray) -> np.ndarray:
    """``x`` of unit mean power in each row."""
    return x / np.sqrt(np.mean(np.abs(x) ** 2, axis=-1, keepdims=True))
