"""Analogue-to-digital and digital-to-analogue conversion: full scale from a clip probability, step, quantisation noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.distribution import Interference, q_inv


@dataclass(frozen=True, kw_only=True)
class Converter:
    """A uniform converter of ``n_bits`` whose range is exceeded with probability ``clip_probability``.

    The probability is two-sided: half of it lies above +V and half below -V (IEEE 802.3dj 178A-28 .. 31, P_qc / 2 a side).
    ``clip_rule``: "signal" takes the true distribution of the signal at the converter, "gaussian" a Gaussian of the same
    rms, as a gain control that only knows the power would; the latter range is the larger for PAM signals.
    """

    n_bits: int
    clip_probability: float = 1e-7
    clip_rule: str = "signal"

    def __post_init__(self) -> None:
        check.count(self, "n_bits", self.n_bits, 1, 24)
        check.positive(self, "clip_probability", self.clip_probability)
        check.between(self, "clip_probability", self.clip_probability, 0, 0.5)
        check.one_of(self, "clip_rule", self.clip_rule, ("signal", "gaussian"))

    def full_scale(self, signal: Interference, exact: bool = True) -> float:
        """Range V [V] of the converter, -V to V, for a ``signal`` given with its main cursor as one of the cursors.

        ``exact=False`` takes the fast `Interference.quantile_saddle`, for searches.
        """
        if self.clip_rule == "gaussian":
            return float(q_inv(self.clip_probability / 2)) * float(np.sqrt(signal.variance + signal.mean**2))
        quantile = signal.quantile if exact else signal.quantile_saddle
        upper = quantile(self.clip_probability / 2)
        if np.array_equal(np.sort(signal.levels), -np.sort(signal.levels)[::-1]):
            return upper
        return max(upper, -quantile(1 - self.clip_probability / 2))

    def step(self, full_scale: float) -> float:
        """Distance [V] of neighbouring output levels, 2 V / (2^n - 1): the outer levels are at -V and V (178A-30)."""
        check.positive(self, "full_scale", full_scale, "V")
        return 2 * full_scale / (2**self.n_bits - 1)

    def noise_variance(self, full_scale: float) -> float:
        """Variance [V^2] of the quantisation error of a signal that crosses many steps, step^2 / 12, white; 0 of no signal."""
        return self.step(full_scale) ** 2 / 12 if full_scale else 0.0

    def convert(self, x: np.ndarray, full_scale: float) -> np.ndarray:
        """``x`` [V], any shape, rounded to the nearest of the 2^n levels (mid-rise: none is at 0); saturates at +-V."""
        step = self.step(full_scale)
        code = np.clip(np.rint((np.asarray(x, float) + full_scale) / step), 0, 2**self.n_bits - 1)
        return code * step - full_scale
