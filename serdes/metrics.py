"""Error ratios, what they need, and how sure a count is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.constellation import Constellation
from dsp.distribution import q, q_inv
from dsp.units import db, db_power


@dataclass(frozen=True, kw_only=True)
class ErrorCount:
    """``errors`` among ``trials`` decisions, with Clopper-Pearson bounds: never a bare zero."""

    errors: int
    trials: int

    def __post_init__(self) -> None:
        check.count(self, "trials", self.trials, 0)
        check.count(self, "errors", self.errors, 0, self.trials)

    @property
    def ratio(self) -> float:
        """Counted ratio; nan when nothing was counted."""
        return self.errors / self.trials if self.trials else float("nan")

    @property
    def clean(self) -> bool:
        """Whether something was counted and nothing was wrong: the ratio then has an upper bound and no value."""
        return self.trials > 0 and self.errors == 0

    def text(self, what: str = "symbols") -> str:
        """The count in words, with its bound where there was no error and its interval where there was."""
        if not self.trials:
            return f"no {what} counted"
        if self.clean:
            return f"no error in {self.trials} {what}, below {self.upper():.2g} (95 %)"
        low, high = self.interval()
        noun = "error" if self.errors == 1 else "errors"
        return f"{self.errors} {noun} in {self.trials} {what}: {self.ratio:.3g}, 95 % confidence {low:.3g} to {high:.3g}"

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Two-sided Clopper-Pearson interval (C. J. Clopper and E. S. Pearson, Biometrika 26, 1934)."""
        check.between(self, "confidence", confidence, 0.5, 1 - 1e-12)
        return self.lower((1 + confidence) / 2), self.upper((1 + confidence) / 2)

    def upper(self, confidence: float = 0.95) -> float:
        """One-sided upper bound: with no error among n it is 1 - (1 - confidence)^(1/n), about 3/n at 95 %."""
        from scipy.special import betaincinv

        if self.errors >= self.trials:
            return 1.0
        return float(betaincinv(self.errors + 1, self.trials - self.errors, confidence))

    def lower(self, confidence: float = 0.95) -> float:
        """One-sided lower bound; 0 when nothing was wrong."""
        from scipy.special import betaincinv

        if self.errors == 0:
            return 0.0
        return float(betaincinv(self.errors, self.trials - self.errors + 1, 1 - confidence))


def required_snr_db(symbol_error_ratio: float, constellation: Constellation) -> float:
    """Slicer SNR [dB] at which Gaussian noise alone gives the symbol error ratio.

    SNR is mean(level^2) / variance. With uneven levels (R_LM < 1) the smallest gap stands for all, as 802.3 does by scaling
    A_s with R_LM (93A.1.6): SNR = mean(level^2) (2 Qinv(p L / (2 (L-1))) / gap)^2, which for even PAM-L is
    (L^2-1)/3 Qinv(...)^2. Raises ValueError unless 0 < symbol_error_ratio < (L-1)/L.

    >>> from dsp.constellation import pam
    >>> round(required_snr_db(1e-4, pam(4)), 1)
    18.6
    """
    n = constellation.n
    if not 0 < symbol_error_ratio < (n - 1) / n:
        raise ValueError(f"symbol_error_ratio must lie between 0 and {(n - 1) / n:g}, got {symbol_error_ratio!r}")
    levels = np.sort(np.real(constellation.array))
    gap = float(np.min(np.diff(levels)))
    q = float(q_inv(symbol_error_ratio * n / (2 * (n - 1))))
    return float(db_power(constellation.mean_square * (2 * q / gap) ** 2))


def symbol_error_ratio(snr_db: float, constellation: Constellation) -> float:
    """Symbol error ratio of Gaussian noise at a slicer SNR [dB]; the inverse of `required_snr_db`."""
    n = constellation.n
    gap = float(np.min(np.diff(np.sort(np.real(constellation.array)))))
    return float(2 * (n - 1) / n * q(gap / 2 * np.sqrt(10 ** (snr_db / 10) / constellation.mean_square)))


def vertical_eye_closure_db(height: float, amplitude: float) -> float:
    """VEC [dB], 20 log10 of the level spacing over the eye height; infinite for a closed eye (802.3 120G)."""
    return float(db(amplitude / height)) if height > 0 else float("inf")
