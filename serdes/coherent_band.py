"""What converters of finite bandwidth and skewed quadratures cost a coherent link behind an ideal linear equaliser."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dsp.dispersion import root_raised_cosine
from dsp.units import db_power, from_db_power
from serdes.coherent import CoherentLink

_POINTS = 128
"""Frequencies over one symbol rate."""


def at_converter(link: CoherentLink, samples_per_symbol: int) -> tuple[float, float]:
    """Power of a signal of 1, and of white noise of density 1 over the symbol rate, at the receiver's converter."""
    f, pulse = _folded(link, samples_per_symbol)
    front = np.abs(link.rx.paths.transfer(f)) ** 2
    inside = np.abs(f) < samples_per_symbol / 2 * link.symbol_rate
    sent = np.abs(pulse * _limit(link, f, pulse)) ** 2
    return float(np.sum(sent * front)) / _POINTS, float(np.sum(front[inside])) / _POINTS


def equalized(link: CoherentLink, parts: Mapping[str, float]) -> dict[str, float]:
    """SNR [dB] of each of ``parts`` behind the linear equaliser of least mean square error, and of the interference it leaves.

    ``parts``: SNR [dB] of each cause in the band of the pulse before any limit. The converter of the transmitter makes noise in
    front of its band limit, that of the receiver behind it, all others between the two. The SNR is without bias:
    1 / mean(1 / (1 + S)) - 1 with S the folded ratio of spectra (J. Salz, Bell System Technical Journal 52, 1973).
    """
    if link.tx.paths.bandwidth is None and link.rx.paths.bandwidth is None:
        return {**parts, "band limits": math.inf}
    f, pulse = _folded(link, 2)
    limit, front = _limit(link, f, pulse), link.rx.paths.transfer(f)
    sent = pulse * limit
    shapes = {"transmit converter": limit * front, "receive converter": np.ones(f.shape)}
    noises = {name: float(from_db_power(-value)) * np.abs(shapes.get(name, front)) ** 2 for name, value in parts.items()}
    total = sum(noises.values(), np.zeros(f.shape))
    if not np.any(total):
        return {**parts, "band limits": math.inf}
    whole = np.sum(np.abs(sent * front) ** 2 / total, axis=0)
    weight = np.abs(sent * front) ** 2 / total**2 / (1 + whole) ** 2
    response = whole / (1 + whole)
    gain = np.mean(response)
    left = {name: np.mean(np.sum(weight * noise, axis=0)) for name, noise in noises.items()}
    left["band limits"] = np.mean((response - gain) ** 2)
    with np.errstate(divide="ignore"):
        return {name: float(-db_power(noise / gain**2)) for name, noise in left.items()}


def skew_db(link: CoherentLink) -> float:
    """Signal over the conjugate images that skew between quadratures makes at both ends [dB], infinite without any.

    A skew tau turns X(f) into cos(pi f tau) X(f) + j sin(pi f tau) X*(-f). The receiver's image meets the dispersion of the
    line a second time in the equaliser instead of none.
    """
    f, pulse = _folded(link, 2)
    spread = link.rx.dispersion_share * link.channel.betas[0] * (2 * np.pi * f) ** 2
    ratio = 0.0
    for skew, phase in ((link.tx.paths.skew, np.zeros(f.shape)), (link.rx.paths.skew, spread)):
        direct = np.sum(pulse**2 * np.cos(np.pi * f * skew), axis=0)
        image = np.sum(pulse**2 * np.sin(np.pi * f * skew) * np.exp(1j * phase), axis=0)
        ratio += float(np.mean(np.abs(image) ** 2) / np.mean(direct) ** 2)
    with np.errstate(divide="ignore"):
        return float(-db_power(ratio))


def _folded(link: CoherentLink, samples_per_symbol: int) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [image, f] that one symbol a sample takes for the same [Hz], and the pulse there."""
    images = np.arange(-(samples_per_symbol // 2), samples_per_symbol // 2 + 1)
    f = link.symbol_rate * ((np.arange(_POINTS) + 0.5) / _POINTS - 0.5 + images[:, None])
    return f, root_raised_cosine(f, link.symbol_rate, link.tx.roll_off)


def _limit(link: CoherentLink, f: np.ndarray, pulse: np.ndarray) -> np.ndarray:
    """The transmitter's band limit, scaled so that ``pulse`` keeps its power: the launched power is given."""
    limit = link.tx.paths.transfer(f)
    return limit * np.sqrt(np.sum(pulse**2) / np.sum(np.abs(pulse * limit) ** 2))
