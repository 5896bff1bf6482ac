"""Multipath interference: light that is reflected twice arrives late and beats with the signal."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from dsp import check
from dsp.units import GHz, ns


@final
@dataclass(frozen=True, kw_only=True)
class Multipath:
    """Echoes of the field by ``levels_db``, each an echo's power against the signal's [dB], ``delays`` [s] later.

    The linear face takes the beat as noise of random phase with a Lorentzian spectrum of half width ``beat_bandwidth`` [Hz]. The
    true width is twice the laser's linewidth; far below the symbol rate the width does not matter.
    """

    levels_db: tuple[float, ...]
    delays: tuple[float, ...]
    beat_bandwidth: float = 1 * GHz

    def __post_init__(self) -> None:
        check.numbers(self, "levels_db", self.levels_db, 1)
        for i, level in enumerate(self.levels_db):
            check.between(self, f"levels_db[{i}]", level, -200, -3, "dB")
        check.numbers(self, "delays", self.delays, 1)
        check.same_length(self, ("delays", self.delays), ("levels_db", self.levels_db))
        for i, delay in enumerate(self.delays):
            check.between(self, f"delays[{i}]", delay, 0, 1e-5, "s", hint="is it in seconds? 50 ns is 50e-9")
        check.between(self, "beat_bandwidth", self.beat_bandwidth, 1e3, 1e12, "Hz")

    @property
    def amplitudes(self) -> np.ndarray:
        """Field amplitudes eps over the signal's, shape (n,)."""
        return 10 ** (np.array(self.levels_db) / 20)

    def beat_density(self, f: np.ndarray) -> np.ndarray:
        """One-sided density [1/Hz] of the beat over (signal power x mean power); its integral is 2 sum eps^2."""
        width = self.beat_bandwidth
        return 2 * np.sum(self.amplitudes**2) * 2 / np.pi * width / (np.asarray(f, float) ** 2 + width**2)


def of_connectors(reflectances_db: Sequence[float], losses_db: Sequence[float], spacing: float = 10 * ns) -> Multipath:
    """The echoes between every pair of connectors: sqrt(R_i R_j) times the loss between them, passed twice.

    ``reflectances_db`` of n connectors, negative; ``losses_db`` of the n - 1 sections between them; ``spacing`` [s]: flight time
    of one section.
    """
    check.same_length("of_connectors", ("losses_db", losses_db), ("reflectances_db", reflectances_db[1:]))
    levels, delays = [], []
    for i, j in itertools.combinations(range(len(reflectances_db)), 2):
        levels.append(float(reflectances_db[i] + reflectances_db[j] - 2 * sum(losses_db[i:j])))
        delays.append(2 * (j - i) * spacing)
    return Multipath(levels_db=tuple(levels), delays=tuple(delays))


def penalty_bound_db(paths: Multipath, extinction_db: float, n_levels: int = 4) -> float:
    """Most that echoes can cost: all in phase and at the top level. Closure 4 (L - 1) eps ER/(ER - 1), 12 eps ... for PAM4.

    Infinite where they close the eye.
    """
    return _penalty_db(float(np.sum(paths.amplitudes)), extinction_db, n_levels)


def penalty_quantile_db(
    paths: Multipath,
    extinction_db: float,
    rng: np.random.Generator,
    share: float = 1e-3,
    draws: int = 200_000,
    n_levels: int = 4,
) -> float:
    """Penalty [dB] that a ``share`` of links exceeds, each with phases of its own drawn at random.

    Method of the IEEE 802.3bm study (farhood_01_1112): the sum of eps cos(phase), the eye closed at its worst level.
    """
    check.between("penalty_quantile_db", "share", share, 10 / draws, 0.5, hint="draws must be ten times its inverse or more")
    total = np.zeros(draws)
    for amplitude in paths.amplitudes:
        total += amplitude * np.cos(2 * np.pi * rng.random(draws))
    return _penalty_db(float(np.quantile(np.abs(total), 1 - share)), extinction_db, n_levels)


def _penalty_db(amplitude: float, extinction_db: float, n_levels: int) -> float:
    ratio = 10 ** (extinction_db / 10)
    closure = 4 * (n_levels - 1) * amplitude * ratio / (ratio - 1)
    return float(-10 * np.log10(1 - closure)) if closure < 1 else np.inf
