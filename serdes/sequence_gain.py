"""What sequence detection gains over a slicer, counted on noisy waveforms behind the same feed-forward equaliser."""

from __future__ import annotations

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
    """Optical gain of sequence detection at ``bit_error_ratio``: counted at powers below the slicer's, interpolated in Q.

    The slicer's power is that of the semi-analytic engine.

    ``rounds`` passes of the engine's pattern at each power. ``ValueError`` for a link without optics.
    """
    check.count("sequence_gain", "rounds", rounds, 1)
    start = sensitivity(link, bit_error_ratio, SemiAnalytic(n_symbols=8192, taps_per_symbol=engine.taps_per_symbol))
    offsets = np.array([-0.2, 0.2, 0.5, 0.8])
    q_factors, weights, memory = [], [], 0.0
    for offset in offsets:
        quieter = with_loss(link, start.margin_db + float(offset))
        settled = engine.settle(quieter)
        counted = np.array([count(settled, quieter, rng) for _ in range(rounds)])
        memory = float(counted[:, 2].mean())
        bits = settled.sent.size * rounds * link.tx.constellation.bits_per_symbol
        errors = max(float(counted[:, 1].mean()) * bits, 0.5)
        q_factors.append(float(q_inv(errors / bits)))
        weights.append(np.sqrt(errors))
    # over a decibel Q falls along a straight line; a point weighs as much as its errors make it certain
    slope, height = np.polyfit(offsets, q_factors, 1, w=np.minimum(weights, 20.0))
    if slope >= 0:
        raise ValueError("sequence_gain: error ratios do not rise with attenuation, count more symbols")
    gain = (float(q_inv(bit_error_ratio)) - height) / slope
    return SequenceGain(without=start.oma, with_=start.oma * 10 ** (-gain / 10), memory=memory)
