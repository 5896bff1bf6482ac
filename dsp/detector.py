"""Decisions: samples to symbol indices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp.constellation import Constellation


@dataclass(frozen=True, kw_only=True)
class Slicer:
    """Decides each sample by itself for the nearest point of the constellation."""

    def decide(self, x: np.ndarray, constellation: Constellation) -> np.ndarray:
        """Indices of the points nearest to ``x``, same shape; ``x`` is in units of the constellation (outer levels at +-1).

        A real sample on a threshold goes to the lower level.
        """
        if constellation.is_real:
            return np.searchsorted(constellation.thresholds, np.asarray(x, float))
        return np.argmin(np.abs(np.asarray(x)[..., None] - constellation.array), axis=-1)
