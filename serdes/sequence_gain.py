"""What sequence detection gains over a slicer, counted on noisy waveforms behind the same feed-forward equaliser."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from channels.channel import Cascade
from dsp import check
from dsp.detector import SequenceDetector
from dsp.distribution import q_inv
from serdes import waveform
from serdes.link import Link
from serdes.semi_analytic import SemiAnalytic, Settled, equalized
from serdes.sensitivity import sensitivity, with_loss


@dataclass(frozen=True, kw_only=True)
class SequenceGain:
    """Amplitudes [W] at which both meet the error ratio; ``memory`` a of the target 1 + a D at the last point."""

    without: float
    with_: float
    memory: float

    @property
    def gain_db(self) -> float:
        """Optical gain [dB]."""
        return float(10 * np.log10(self.without / self.with_))


def count(settled: Settled, link: Link, rng: np.random.Generator) -> tuple[float, float, float]:
    """(bit error ratio of the slicer, of the sequence detector, memory a) counted over the settled pattern with noise added.

    The noise of the equalised samples is whitened by 1 + a D, a = -r1 / r0 of their error; four states for PAM4 (Viterbi).
    """
    passed, constellation = settled.pass_, link.tx.constellation
    m, grid = passed.grid.samples_per_symbol, passed.grid
    driver = waveform.Driver(rise_time=link.tx.rise_time, sample_time=grid.dt, delay=waveform.LEAD / link.symbol_rate)
    front = waveform.FrontEnd(point=passed.point, noise_density=link.rx.noise_density)
    chain = Cascade(parts=(driver, link.channel, front))
    held = link.tx.amplitude * np.repeat(constellation.array[passed.sent], m)
    y, _ = chain.transmit(held, chain.start(grid, rng))
    z = equalized(settled, y)
    sent = settled.sent
    error = z - constellation.array[sent]
    error = error - error.mean()
    a = float(-(error[1:] @ error[:-1]) / (error @ error))
    distance = constellation.bit_distance

    def ratio(decided: np.ndarray) -> float:
        return float(np.sum(distance[sent[: decided.size], decided])) / (sent.size * constellation.bits_per_symbol)

    shaped = z.copy()
    shaped[1:] += a * z[:-1]
    detector = SequenceDetector(target=(1.0, a))
    return ratio(np.searchsorted(constellation.thresholds, z)), ratio(detector.decide(shaped, constellation)), a


def sequence_gain(
    link: Link, bit_error_ratio: float, engine: SemiAnalytic, rng: np.random.Generator, rounds: int = 3
) -> SequenceGain:
    """Optical gain of sequence detection at ``bit_error_ratio``: counted at powers around it, interpolated in Q.

    ``rounds`` passes of the engine's pattern at each power. ``ValueError`` for a link without optics.
    """
    check.count("sequence_gain", "rounds", rounds, 1)
    start = sensitivity(link, bit_error_ratio, SemiAnalytic(n_symbols=8192, taps_per_symbol=engine.taps_per_symbol))
    offsets = np.array([-0.6, -0.2, 0.2, 0.6])
    slicer, detector, memory = [], [], 0.0
    for offset in offsets:
        quieter = with_loss(link, start.margin_db + float(offset))
        settled = engine.settle(quieter)
        counted = np.array([count(settled, quieter, rng) for _ in range(rounds)])
        memory = float(counted[:, 2].mean())
        least = 0.5 / (settled.sent.size * rounds)
        slicer.append(float(q_inv(max(counted[:, 0].mean(), least))))
        detector.append(float(q_inv(max(counted[:, 1].mean(), least))))
    wanted = float(q_inv(bit_error_ratio))
    at = [float(np.polyval(np.polyfit(np.array(values) - wanted, offsets, 1), 0.0)) for values in (slicer, detector)]
    oma = start.oma * 10 ** (-np.array(at) / 10)
    if not all(math.isfinite(v) for v in oma):
        raise ValueError("sequence_gain: no error ratio near the wanted one")
    return SequenceGain(without=float(oma[0]), with_=float(oma[1]), memory=memory)
