"""The eye of chip-to-module links: VEO and VEC of a histogram over a window about the sampling point (120G, 176D).

``samples_C2M`` phases a symbol within +-T_O, each with its own interference, jitter and signal, weighted by a Gaussian of
``sigma_r``; the lowest of the L - 1 openings at DER_0 counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from dsp.distribution import eye_density
from serdes.com_channel import ComPath
from serdes.com_dfe import Equalised, equalise, figures
from serdes.com_noise import signal_amplitude
from serdes.com_sheet import Sheet

MOST_EYES = 400
"""How many settings have their eye drawn, the best by (93A-36) first; all of a grid smaller than that."""
_BINS = 3001


@dataclass(frozen=True, kw_only=True)
class Opening:
    """``height`` VEO [V] and ``closure_db`` VEC [dB] of the worst opening; ``signal`` A_s at the sampling point [V]."""

    height: float
    signal: float

    @property
    def closure_db(self) -> float:
        """VEC = 20 log10 (2 A_s / VEO); infinite for a closed eye."""
        return float(20 * np.log10(2 * self.signal / self.height)) if self.height > 0 else np.inf

    @property
    def noise(self) -> float:
        """A_ni = A_s - VEO / 2 [V]."""
        return self.signal - self.height / 2


def _at(sheet: Sheet, e: Equalised, offsets: np.ndarray) -> np.ndarray:
    """Cursors of the through pulse at ``offsets`` [samples of M] from the sampling point, interpolated: (n_offsets, n_ui)."""
    index = np.arange(e.at % sheet.M + sheet.M, e.pulse.size - 2 * sheet.M, sheet.M)[None, :] + offsets[:, None]
    whole = np.floor(index).astype(int)
    part = index - whole
    return e.pulse[whole] * (1 - part) + e.pulse[whole + 1] * part


def opening(sheet: Sheet, e: Equalised, scale: Mapping[str, float] = MappingProxyType({})) -> Opening:
    """VEO and VEC of one setting. ``scale``: factors on the rms of ISI, XT (at its worst phase), DD, TX, N, RJ."""
    f = {name: scale.get(name, 1.0) for name in ("ISI", "XT", "DD", "TX", "N", "RJ")}
    reach = int(np.floor(sheet.T_O * sheet.samples_C2M + 1e-9))
    steps = np.arange(-reach, reach + 1)
    fine = sheet.M / sheet.samples_C2M
    h = _at(sheet, e, steps * fine)
    slopes = (_at(sheet, e, (steps + 1) * fine) - _at(sheet, e, (steps - 1) * fine)) / 2 * sheet.samples_C2M
    k = e.at // sheet.M - 1
    signals = sheet.R_LM * h[:, k].copy()
    h[:, k] = 0
    h[:, k + 1 : k + 1 + len(e.feedback)] -= np.array(e.feedback) * e.main
    # outer levels are +-R_LM h, the inner ones a third of that
    moved = sheet.mean_square * np.sum(slopes**2, axis=1) * (f["RJ"] * sheet.sigma_RJ) ** 2
    sigma = np.sqrt(moved + f["N"] ** 2 * e.variances["N"] + f["TX"] ** 2 * e.variances["TX"])
    cursors = np.concatenate([f["ISI"] * h, f["DD"] * sheet.A_DD * slopes], axis=1)
    if f["XT"] and e.crosstalk:
        extra = f["XT"] * np.concatenate(e.crosstalk)
        cursors = np.concatenate([cursors, np.broadcast_to(extra, (steps.size, extra.size))], axis=1)
    cursors = cursors[:, np.max(np.abs(cursors), axis=0) > 1e-5 * e.main]
    spread = float(np.sqrt(np.max(sheet.mean_square * np.sum(cursors**2, axis=1) + sigma**2)))
    voltage = np.linspace(-1, 1, _BINS) * 8 * spread
    density = eye_density(cursors, sheet.levels, sigma, voltage)
    tails = np.cumsum(density[:, ::-1], axis=1)[:, ::-1] * (voltage[1] - voltage[0])
    tails -= 0.5 * density * (voltage[1] - voltage[0])
    weights = (
        np.exp(-0.5 * (steps / sheet.samples_C2M / sheet.sigma_r) ** 2) if sheet.sigma_r > 0 else (steps == 0).astype(float)
    )
    weights /= np.sum(weights)

    def beyond(y: np.ndarray, level: float, sign: float) -> np.ndarray:
        """P of the histogram of ``level`` beyond ``y``, upwards (sign 1) or downwards (sign -1)."""
        total = np.zeros(y.shape)
        for j in range(steps.size):
            total += weights[j] * np.interp(sign * (y - level * signals[j]), voltage, tails[j], left=1.0, right=0.0)
        return total

    def past(level: float, sign: float) -> float:
        """How far beyond 0 the histogram of ``level`` reaches with DER_0, upwards or downwards."""
        centre = sign * level * signals[reach]
        return _crossing(lambda y: beyond(sign * y, level, sign), centre - 8 * spread, centre + 8 * spread, sheet.DER_0)

    pairs = zip(sheet.levels[:-1], sheet.levels[1:], strict=True)
    heights = [-past(float(high), -1.0) - past(float(low), 1.0) for low, high in pairs]
    return Opening(height=min(heights), signal=signal_amplitude(sheet, e.main))


def _crossing(tail: Callable[[np.ndarray], np.ndarray], low: float, high: float, p: float) -> float:
    """Where a falling tail passes ``p``: grids refined about it, interpolated in the logarithm."""
    for _ in range(3):
        y = np.linspace(low, high, 65)
        values = tail(y)
        k = int(np.argmax(values < p))
        if k == 0:
            return high if values[0] >= p else low
        low, high = y[k - 1], y[k]
    a, b = np.log(max(values[k - 1], 1e-300)), np.log(max(values[k], 1e-300))
    return float(low + (high - low) * (a - np.log(p)) / (a - b)) if a > b else float(high)


def search(sheet: Sheet, paths: Sequence[ComPath]) -> Equalised | None:
    """The setting with the best eye without crosstalk, 20 log10 (A_s / (A_s - VEO / 2)), whose VEO passes ``VEO_test``.

    Where none passes, the best of all. Eyes are drawn of the `MOST_EYES` best by (93A-36).
    """
    from dataclasses import replace

    settings = sheet.ctle_settings
    fom, at = figures(sheet, paths, settings)
    order = [int(i) for i in np.argsort(-fom, axis=None, kind="stable")[:MOST_EYES] if np.isfinite(fom.flat[i])]
    best: tuple[tuple[bool, float], Equalised] | None = None
    for i in order:
        c, s = divmod(i, fom.shape[1])
        e = equalise(sheet, paths[:1], settings[c], s, int(at[c, s]), fom.size)
        seen = opening(sheet, e)
        rank = (seen.height > sheet.VEO_test, float(20 * np.log10(seen.signal / seen.noise)))
        if best is None or rank > best[0]:
            best = (
                rank,
                replace(equalise(sheet, paths, settings[c], s, int(at[c, s]), fom.size), fom=rank[1], n_evaluated=len(order)),
            )
    return best[1] if best else None
