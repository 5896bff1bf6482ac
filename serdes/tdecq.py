"""TDECQ and TECQ: how much worse than an ideal one a transmitter is for a receiver with a short feed-forward equaliser.

IEEE 802.3 121.8.5.3. The taps, and the phase, are those that make the figure itself smallest, not the mean-square error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check, filters
from dsp.constellation import pam
from dsp.distribution import q, q_inv
from dsp.units import db_power
from serdes.optical_waveform import Waveform

_HISTOGRAM = 0.02
"""Half the width of a histogram [UI]."""
_FEW = 8192
"""Symbols by which phase and taps are found before all of a longer pattern settle the taps."""
_TURNS, _SETTLED = 8, 1e-3
"""Most turns by which taps and crossings settle, and the change of phase [UI] at which they have."""
_BAND = 4.0
"""Highest frequency of the noise spectrum, in symbol rates."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The reference receiver and the rules of the measurement.

    ``bandwidth_ratio``: 3 dB point of its Bessel-Thomson filter over the symbol rate. ``n_taps`` of the T-spaced equaliser, the
    main one at one of ``main_taps`` (from 1). ``symbol_error_ratio``: for which noise is added. ``histograms`` [UI] after the
    crossing. ``threshold_adjust``: most that each threshold may move, as a share of OMA. ``criterion``: what taps and phase make
    smallest, "tdecq" itself or "mse", the mean-square error with the noise that is then allowed. ``phase``: "free", or "crossing",
    half a unit interval after the mean crossing of the average power by the equalised waveform.
    """

    bandwidth_ratio: float = 0.5
    n_taps: int = 5
    main_taps: tuple[int, ...] = (1, 2, 3)
    symbol_error_ratio: float = 4.8e-4
    histograms: tuple[float, float] = (0.45, 0.55)
    threshold_adjust: float = 0.0
    criterion: str = "tdecq"
    phase: str = "free"

    def __post_init__(self) -> None:
        check.between(self, "bandwidth_ratio", self.bandwidth_ratio, 0.1, 4)
        check.count(self, "n_taps", self.n_taps, 1, 64)
        if not isinstance(self.main_taps, tuple) or not self.main_taps:
            raise check.fail(self, "main_taps", "a tuple of one or more positions", self.main_taps)
        for i, position in enumerate(self.main_taps):
            check.count(self, f"main_taps[{i}]", position, 1, self.n_taps)
        check.between(self, "symbol_error_ratio", self.symbol_error_ratio, 1e-12, 0.1)
        check.numbers(self, "histograms", self.histograms, 2)
        if len(self.histograms) != 2 or not 0 < self.histograms[0] < self.histograms[1] < 1:
            raise check.fail(self, "histograms", "two rising numbers between 0 and 1", self.histograms)
        check.between(self, "threshold_adjust", self.threshold_adjust, 0, 0.1)
        check.one_of(self, "criterion", self.criterion, ("tdecq", "mse"))
        check.one_of(self, "phase", self.phase, ("free", "crossing"))

    @property
    def q_factor(self) -> float:
        """Q of the target for an ideal PAM4 signal: 3.414 for 4.8e-4."""
        return float(q_inv(self.symbol_error_ratio * 2 / 3))


HALF_BAUD = Reference()
"""IEEE 802.3cd and later, half the symbol rate."""
DRAFT_BS = Reference(bandwidth_ratio=38.68 / 53.125, main_taps=(2, 3, 4), criterion="mse", phase="crossing")
"""IEEE P802.3bs draft 2.2: a 38.68 GHz receiver at 53.125 GBd, histograms placed by the crossings.

That the instruments of its time settle taps by mean-square error is inferred: with that, and the crossings, the figures of three
captures at three main taps come out 0.20 dB rms from an instrument's; with a free phase and the smallest figure, 0.34 dB.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tdecq:
    """The figure [dB], the receiver that gives it, and what was measured on the way.

    ``taps`` sum to 1. ``phase_ui``: of the middle between the histograms after the symbol's centre. ``noise_gain`` C_eq. ``sigma``
    [W]: rms of the noise that may be added at the receiver's input. ``outcome``: "ok", or "closed eye" with its reason.
    """

    tdecq_db: float
    taps: tuple[float, ...]
    main_tap: int
    phase_ui: float
    noise_gain: float
    sigma: float
    waveform: Waveform
    outcome: str = "ok"
    reason: str = ""

    def record(self) -> dict[str, object]:
        """Flat, for a table or JSON."""
        return {
            "tdecq_db": round(self.tdecq_db, 3) if np.isfinite(self.tdecq_db) else None,
            "outcome": self.outcome,
            "reason": self.reason,
            "main_tap": self.main_tap,
            "taps": [round(t, 5) for t in self.taps],
            "noise_gain_db": round(2 * float(db_power(self.noise_gain)), 3),
            "phase_ui": round(self.phase_ui, 4),
            **self.waveform.record(),
        }


def tdecq(
    waveform: Waveform, reference: Reference = HALF_BAUD, filtered: bool = False, noise_bandwidth: float | None = None
) -> Tdecq:
    """The transmitter and dispersion eye closure of ``waveform``; of one taken without fibre it is the TECQ.

    ``filtered``: the capture already passed the receiver's filter. ``noise_bandwidth`` [Hz]: of the filter that shapes the added
    noise, where the capture passed another than the reference's. A closed eye is a result with its reason.
    """
    rate = waveform.symbol_rate
    seen = waveform if filtered else waveform.filtered(reference.bandwidth_ratio * rate)
    # the amplitude is that of the waveform as the receiver sees it
    measure = _Measure(seen, reference, noise_bandwidth or reference.bandwidth_ratio * rate)
    starts = {main: measure.begin(main) for main in reference.main_taps}
    if reference.phase == "crossing":
        crossed = {main: measure.at_crossing(main, *starts[main][1:]) for main in reference.main_taps}
        main = min(crossed, key=lambda m: crossed[m][0])
        return measure.result(*crossed[main], main)
    least = min(value for value, _, _ in starts.values())
    if reference.criterion == "tdecq":
        near = [main for main, start in starts.items() if start[0] <= least + 1.0]
        starts = {main: measure.optimise(main, *starts[main][1:], measure.few) for main in near}
    main = min(starts, key=lambda m: starts[m][0])
    value, phase, w = starts[main]
    if seen.symbols.size > measure.few:
        x = measure.under_taps(phase, main)
        value = measure.figure(x, w)[0]
        if reference.criterion == "tdecq":
            value, phase, w = measure.optimise(main, phase, w, seen.symbols.size, (0.0,))
    return measure.result(value, phase, w, main)


class _Measure:
    """One waveform, prepared: samples under the taps at any phase, and the cost with its gradient."""

    def __init__(self, waveform: Waveform, reference: Reference, noise_bandwidth: float) -> None:
        self.waveform, self.reference = waveform, reference
        self.oma, self.average = waveform.oma, waveform.average
        self.m = waveform.samples_per_symbol
        self.rho = _noise_correlation(reference.n_taps, noise_bandwidth / waveform.symbol_rate)
        self.few = min(_FEW, waveform.symbols.size)
        self.target = self.average + self.oma / 2 * pam(4).array[waveform.symbols]
        low, high = reference.histograms
        half = (high - low) / 2
        # two points stand for the width of a histogram (Gauss-Legendre)
        self.places = np.array([side * half + end * _HISTOGRAM / np.sqrt(3) for side in (-1, 1) for end in (-1, 1)])

    def under_taps(self, phase: float, main: int, n: int | None = None) -> np.ndarray:
        """Power under the taps at the four places around ``phase`` [UI] after the symbols' centres, (4, n, n_taps).

        Of all symbols or the first ``n``; column j is the sample j - (main - 1) symbols earlier.
        """
        n_taps, size = self.reference.n_taps, n or self.waveform.symbols.size
        wanted = np.arange(-n_taps, size + n_taps)
        rows = np.array([self.waveform.after_centre(place + phase, wanted) for place in self.places])
        at = n_taps + np.arange(size)[:, None] - (np.arange(n_taps) - (main - 1))
        return np.ascontiguousarray(rows[:, at])

    def least_squares(self, x: np.ndarray, noise: float) -> tuple[np.ndarray, float]:
        """Taps of least mean-square error that sum to 1, for ``noise`` [W] rms at the input, and that error [W^2]."""
        n_taps = x.shape[-1]
        flat = x.reshape(-1, n_taps)
        target = np.tile(self.target[: x.shape[1]], x.shape[0])
        system = np.zeros((n_taps + 1, n_taps + 1))
        covariance = flat.T @ flat / flat.shape[0] + noise**2 * self.rho
        system[:n_taps, :n_taps] = covariance
        system[:n_taps, n_taps] = self.oma**2
        system[n_taps, :n_taps] = 1
        cross = flat.T @ target / flat.shape[0]
        w = np.linalg.solve(system, np.append(cross, 1.0))[:n_taps]
        return w, float(w @ covariance @ w - 2 * w @ cross + np.mean(target**2))

    def begin(self, main: int) -> tuple[float, float, np.ndarray]:
        """(figure, phase, taps) of least mean-square error, for the noise that the figure itself allows."""
        noise, value = self.oma / (6 * self.reference.q_factor * 1.5), np.inf
        phases = np.arange(-0.5, 0.5, 0.125)
        phase, w = 0.0, np.eye(self.reference.n_taps)[main - 1]
        for step in (0.125, 0.03, 0.01):
            errors = [self.least_squares(self.under_taps(float(p), main, self.few), noise)[1] for p in phases]
            phase = float(phases[int(np.argmin(errors))])
            x = self.under_taps(phase, main, self.few)
            w = self.least_squares(x, noise)[0]
            value = self.figure(x, w)[0]
            noise = self.noise_for(value)
            phases = phase + step * np.array([-0.67, -0.33, 0, 0.33, 0.67])
        return value, phase, w

    def at_crossing(self, main: int, phase: float, w: np.ndarray) -> tuple[float, float, np.ndarray]:
        """(figure, phase, taps) where the phase is that of the crossings, which the taps move: settled in turn."""
        n, value = self.waveform.symbols.size, np.inf
        for _ in range(_TURNS):
            x = self.under_taps(phase, main)
            if self.reference.criterion == "tdecq":
                value, _, w = self.optimise(main, phase, w, n, (0.0,))
            else:
                w = self.least_squares(x, self.noise_for(self.figure(x, w)[0]))[0]
                value = self.figure(x, w)[0]
            after = self.crossing(w, main)
            if abs(after - phase) < _SETTLED:
                break
            phase = after
        return value, phase, w

    def crossing(self, w: np.ndarray, main: int) -> float:
        """Half a unit interval after the mean instant [UI] at which the equalised waveform crosses the average power."""
        m, power = self.m, self.waveform.power
        y = np.sum([tap * np.roll(power, (j - (main - 1)) * m) for j, tap in enumerate(w)], axis=0) - self.average
        before = np.flatnonzero((y > 0) != (np.roll(y, -1) > 0))
        at = (before + y[before] / (y[before] - y[(before + 1) % y.size])) / m
        around = float(np.angle(np.mean(np.exp(2j * np.pi * at)))) / (2 * np.pi)
        mean = around + float(np.mean((at - around + 0.5) % 1 - 0.5))
        return mean % 1 - 0.5

    def noise_for(self, value: float) -> float:
        """Noise [W] rms at the input that a figure of ``value`` [dB] allows."""
        return self.oma / (6 * self.reference.q_factor * 10 ** (min(value, 6.0) / 10))

    def optimise(
        self, main: int, phase: float, w: np.ndarray, n: int, steps: tuple[float, ...] = (0.03, 0.015, 0.0)
    ) -> tuple[float, float, np.ndarray]:
        """(figure, phase, taps) of the smallest figure near a start: taps by gradient, phase by line search, in turn.

        By the first ``n`` symbols; ``steps`` of the phase [UI], the last of which leaves it.
        """
        from scipy.optimize import minimize

        n_taps = self.reference.n_taps
        keep = np.delete(np.arange(n_taps), main - 1)

        def whole(free: np.ndarray) -> np.ndarray:
            taps = np.empty(n_taps)
            taps[keep], taps[main - 1] = free, 1 - np.sum(free)
            return taps

        def cost(free: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.figure(x, whole(free))
            return value, gradient[keep] - gradient[main - 1]

        value = np.inf
        for step in steps:
            x = self.under_taps(phase, main, n)
            if n_taps > 1:
                w = whole(minimize(cost, w[keep], jac=True, method="BFGS", options={"gtol": 3e-3, "maxiter": 25}).x)
            value = self.figure(x, w)[0]
            near = [self.figure(self.under_taps(phase + d, main, n), w)[0] for d in (-step, step)] if step else []
            if near and min(near) < value:
                phase += step if near[1] < near[0] else -step
        return value, phase, w

    def result(self, value: float, phase: float, w: np.ndarray, main: int) -> Tdecq:
        """The figure as a record; more than 50 dB is a closed eye."""
        closed = not value < 50
        return Tdecq(
            tdecq_db=np.inf if closed else value, taps=tuple(w.tolist()), main_tap=main, phase_ui=phase,
            noise_gain=float(np.sqrt(w @ self.rho @ w)),
            sigma=0.0 if closed else self.oma / (6 * self.reference.q_factor * 10 ** (value / 10)), waveform=self.waveform,
            outcome="closed eye" if closed else "ok",
            reason=f"symbol errors exceed {self.reference.symbol_error_ratio:g} at every phase without added noise" if closed else "",
        )  # fmt: skip

    def figure(self, x: np.ndarray, w: np.ndarray) -> tuple[float, np.ndarray]:
        """TDECQ [dB] and its gradient by the taps; where the eye is closed, 100 dB and more that fall towards opening."""
        half = x.shape[0] // 2
        sides = [self._sigma(part, w) for part in (x[:half], x[half:])]
        sigma, gradient = min(sides, key=lambda side: side[0])
        noise = self.rho @ w
        gain2 = float(w @ noise)
        if sigma <= 0:
            return 100.0 - 1e3 * sigma / self.oma, -1e3 / self.oma * gradient
        allowed2 = sigma**2 / gain2
        total2 = allowed2 + self.waveform.noise_rms**2
        value = float(db_power(self.oma / (6 * self.reference.q_factor * np.sqrt(total2))))
        by_allowed2 = 2 * sigma * gradient / gain2 - 2 * sigma**2 * noise / gain2**2
        return value, -5 / np.log(10) * by_allowed2 / total2

    def _sigma(self, x: np.ndarray, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Largest noise behind the taps that keeps the error ratio of one histogram, and its gradient.

        Negative where errors are too many without noise: the mean depth of the deepest ones. Distances to the thresholds are
        taken in bins of a fortieth of that noise or less.
        """
        from dsp import kernels

        symbols, n = self.waveform.symbols[: x.shape[1]], x.shape[0] * x.shape[1]
        thresholds = self._thresholds(x, w)
        place = (x, w, symbols, thresholds, -self.oma / 3, self.oma / 2000)
        counts = kernels.threshold_histogram(*place, 1200)
        centres = place[4] + place[5] * (np.arange(counts.size) + 0.5)
        share, target = counts / n, self.reference.symbol_error_ratio
        wrong = float(np.sum(share[centres < 0]))
        if wrong >= target:
            deep = np.cumsum(share) <= max(target, share[np.argmax(share > 0)])
            total = float(np.sum(counts[deep]))
            gradient = kernels.threshold_gradient(*place, deep.astype(float)) / total
            return float(centres[deep] @ counts[deep]) / total, gradient
        sigma = _noise_allowed(centres[counts > 0], share[counts > 0], target, self.oma)
        weights = np.exp(-0.5 * (centres / sigma) ** 2)
        by_sigma = float(counts @ (weights * centres)) / sigma
        return sigma, kernels.threshold_gradient(*place, weights) / by_sigma

    def _thresholds(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Average power and a third of the amplitude to either side, moved towards the middle of the levels as far as allowed."""
        thresholds = self.average + self.oma * np.array([-1 / 3, 0.0, 1 / 3])
        most = self.reference.threshold_adjust * self.oma
        if not most:
            return thresholds
        z = x @ w
        means = np.array([float(np.mean(z[:, self.waveform.symbols[: x.shape[1]] == k])) for k in range(4)])
        return thresholds + np.clip((means[1:] + means[:-1]) / 2 - thresholds, -most, most)


def _noise_allowed(centres: np.ndarray, share: np.ndarray, target: float, scale: float) -> float:
    """The sigma at which the sum of ``share`` times Q(centres / sigma) is ``target``: Newton on the logarithm in a bracket."""
    sigma, low, high = scale / 30, 0.0, scale
    for _ in range(60):
        ratio = float(share @ q(centres / sigma))
        low, high = (sigma, high) if ratio < target else (low, sigma)
        slope = float(share @ (centres * np.exp(-0.5 * (centres / sigma) ** 2))) / (np.sqrt(2 * np.pi) * sigma**2)
        step = (np.log(target) - np.log(ratio)) * ratio / slope if slope > 0 and ratio > 0 else np.inf
        after = sigma + step if low < sigma + step < high else (low + high) / 2
        if abs(after - sigma) < 1e-9 * scale:
            return float(after)
        sigma = after
    return float(sigma)


def _noise_correlation(n_taps: int, bandwidth: float) -> np.ndarray:
    """Correlation of white noise behind the Bessel-Thomson filter between the taps, shape (n_taps, n_taps); bandwidth in baud."""
    f = np.linspace(0, _BAND, 4001)
    density = np.abs(filters.bessel_thomson4(f, bandwidth)) ** 2
    lags = np.array([float(np.sum(density * np.cos(2 * np.pi * f * k))) for k in range(n_taps)]) / float(np.sum(density))
    return lags[np.abs(np.subtract.outer(np.arange(n_taps), np.arange(n_taps)))]
