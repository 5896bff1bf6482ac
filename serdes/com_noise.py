"""Interference and noise of COM as one law: which amplitude is exceeded at the target error ratio (93A.1.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dsp.distribution import Interference, q_inv
from serdes.com_dfe import Equalised
from serdes.com_sheet import Sheet

LARGEST_BIN = 10e-6
"""Bins [V] of the laws of (93A-39) to (93A-45): A_s / 1000, at most this (93A.1.7); the task force's script takes the same."""
_DIGITS = 7


@dataclass(frozen=True, kw_only=True, eq=False)
class Law:
    """Independent terms at the decision: named sets of cursors [V] times symbols, and a Gaussian of rms ``sigma`` [V]."""

    cursors: dict[str, np.ndarray]
    levels: np.ndarray
    sigma: float

    @property
    def interference(self) -> Interference:
        """All of it as one sum."""
        parts = [np.zeros(0), *self.cursors.values()]
        return Interference(cursors=np.concatenate(parts), levels=self.levels, sigma=self.sigma)

    def without(self, *names: str) -> Law:
        """The law with some sets of cursors left out."""
        kept = {name: c for name, c in self.cursors.items() if name not in names}
        return Law(cursors=kept, levels=self.levels, sigma=self.sigma)

    def quantile(self, p: float) -> float:
        """The y [V] with P(X > y) = p, exact; the law is symmetric, so it is also -P^-1(p)."""
        return self.interference.quantile(p)

    def tail(self, y: float) -> float:
        """P(X > y)."""
        return float(self.interference.tail(y))

    def binned(self, step: float, p: float) -> np.ndarray:
        """Probabilities on bins of ``step`` [V] centred on 0, as the task force's script makes them: (93A-39) to (93A-43).

        Cursors below one bin are dropped, the others rounded level by level; the Gaussian ends at twice its quantile of ``p``.
        """
        from scipy.signal import fftconvolve

        total = np.ones(1)
        for cursors in self.cursors.values():
            law = np.ones(1)
            for size in np.sort(np.abs(cursors))[::-1]:
                if size < step:
                    break
                places = np.round(size * self.levels / step).astype(int)
                wider = np.zeros(law.size + places[-1] - places[0])
                for place in places - places[0]:
                    wider[place : place + law.size] += law
                law = wider / self.levels.size
            total = fftconvolve(total, law)
        n = round(2 * float(q_inv(p)) * self.sigma / step)
        if n > 0:
            bell = np.exp(-0.5 * (np.arange(-n, n + 1) * step / self.sigma) ** 2)
            total = fftconvolve(total, bell / np.sum(bell))
        return np.maximum(total, 0)

    def amplitude(self, p: float, step: float | None = None) -> float:
        """A_ni [V] (93A-37): exact, or to the nearest bin of ``step`` [V] as the script finds it."""
        if step is None:
            return float(self.quantile(p))
        law = self.binned(step, p)
        return float(abs(int(np.argmax(np.cumsum(law) > p)) - law.size // 2) * step)


def uniform(width: float, n_levels: int) -> np.ndarray:
    """Cursors [V] whose sum over L evenly spaced levels is uniform over ``width`` [V]: its digits in base L."""
    return width * (n_levels - 1) / 2 * float(n_levels) ** -np.arange(1.0, _DIGITS + 1)


def law(sheet: Sheet, e: Equalised, quantiser: Sequence[np.ndarray] = ()) -> Law:
    """The law of a setting: residual interference, dual-Dirac jitter, crosstalk, quantiser, and the Gaussian of (93A-41)."""
    cursors = {"ISI": e.isi, "DD": sheet.A_DD * e.slopes}
    cursors |= {f"XT{k + 1}": c for k, c in enumerate(e.crosstalk)}
    if len(quantiser):
        cursors["Q"] = np.concatenate(list(quantiser))
    v = e.variances
    return Law(cursors=cursors, levels=sheet.levels, sigma=float(np.sqrt(v["N"] + v["TX"] + v["RJ"])))


def bin_step(sheet: Sheet, signal: float) -> float | None:
    """The bin of the script [V], None for the exact law."""
    return min(signal / 1000, LARGEST_BIN) if sheet.pdf == "bins" else None


def signal_amplitude(sheet: Sheet, main: float) -> float:
    """A_s = R_LM h(t_s) / (L - 1) [V] (93A.1.6 c)."""
    return sheet.R_LM * main / (sheet.L - 1)
