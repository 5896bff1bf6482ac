"""The semi-analytic engine: a noise-free pass through the signal faces, and the noise covariance of the linear faces.

For what is nonlinear but not random: modulators, square-law detection behind dispersion, saturation. Noise behind a
photodiode follows the instantaneous power, symbol by symbol.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dsp import check
from dsp.clock import IdealClock
from dsp.constellation import Constellation
from dsp.distribution import q
from dsp.equalizer import Taps
from dsp.units import db_power
from serdes.dead_links import dead
from serdes.eye import Eye
from serdes.link import Link
from serdes.noise_free import WARM_UP, Pass, noise_free
from serdes.operating_point import OperatingPoint, operating_point
from serdes.pattern_fit import Fit, covariance, modulated, moved, under_taps
from serdes.result import BasebandResult, Lock
from serdes.spectra import LEAST

_SEARCH = 2048
"""Symbols by which the sampling phase is chosen."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Settled:
    """A receiver fitted to a `Pass`.

    ``feed_forward`` [1/V], ``spacing`` samples apart, ``n_precursors`` of them before the sampling instant; ``offset`` added, ``feedback``
    subtracted. ``at``: position of the first counted symbol's sampling instant in ``pass_.y``. ``z`` (n,): decision variables
    without noise; ``sigma`` (n,): rms of the noise at each. ``variances``: of the decision error by cause.
    """

    pass_: Pass
    feed_forward: np.ndarray
    spacing: int
    n_precursors: int
    offset: float
    feedback: np.ndarray
    at: float
    z: np.ndarray
    sigma: np.ndarray
    variances: dict[str, float]

    @property
    def sent(self) -> np.ndarray:
        """Indices of the counted symbols, shape (n,)."""
        return self.pass_.sent[self.pass_.counted]

    @property
    def snr_db(self) -> float:
        """Mean square of the levels over the variance of the decision error [dB]."""
        constellation = self.pass_.point.link.tx.constellation
        return float(db_power(constellation.mean_square / sum(self.variances.values())))

    @property
    def point(self) -> OperatingPoint:
        """That of the linear face with what was found here: variances, sampling instant and, spaced by a symbol, the taps."""
        linear, m = self.pass_.point, self.pass_.grid.samples_per_symbol
        late = (self.at - self.pass_.first) / m
        shown = replace(
            linear, variances=self.variances, phase_ui=linear.phase_ui + late,
            sampling_time=linear.sampling_time + late / linear.link.symbol_rate,
        )  # fmt: skip
        if self.spacing != m:
            return shown
        taps = Taps(
            feed_forward=tuple(self.feed_forward.tolist()),
            n_precursors=self.n_precursors,
            feedback=tuple(self.feedback.tolist()),
        )
        return replace(shown, taps=taps)

    def error_ratios(self) -> tuple[float, float]:
        """(symbol, bit) error ratio of threshold decisions: the mean over the pattern of Gaussian tails at each symbol."""
        return error_ratios(self.z, self.sigma, self.sent, self.pass_.point.link.tx.constellation)


def error_ratios(z: np.ndarray, sigma: np.ndarray, sent: np.ndarray, constellation: Constellation) -> tuple[float, float]:
    """(symbol, bit) error ratio of samples ``z`` with Gaussian noise ``sigma``, every wrong decision by its Hamming distance."""
    distance, thresholds = constellation.bit_distance, constellation.thresholds
    symbols = bits = 0.0
    for level in range(constellation.n):
        mine = sent == level
        if not np.any(mine):
            continue
        for k, threshold in enumerate(thresholds):
            away = threshold - z[mine] if k >= level else z[mine] - threshold
            beyond = float(np.sum(q(away / sigma[mine])))
            near, far = (k, k + 1) if k >= level else (k + 1, k)
            bits += beyond * (distance[level, far] - distance[level, near])
            symbols += beyond if k in (level, level - 1) else 0.0
    return symbols / z.size, bits / z.size / constellation.bits_per_symbol


@dataclass(frozen=True, kw_only=True)
class SemiAnalytic:
    """``n_symbols`` of a fixed pattern (or one period of ``pattern``), Gaussian noise added in closed form.

    ``samples_per_symbol``: of the waveforms. ``taps_per_symbol``: 1 as the receiver of a link has them; 2 spaces its feed-forward
    taps by half a symbol. Error ratios much below one over the number of symbols know the worst patterns that occurred only.
    ``eye``: whether to draw one.
    """

    n_symbols: int = 8192
    samples_per_symbol: int = 8
    taps_per_symbol: int = 1
    eye: bool = False
    n_phases: int = 32
    n_bins: int = 256

    def __post_init__(self) -> None:
        check.count(self, "n_symbols", self.n_symbols, 1024)
        check.count(self, "samples_per_symbol", self.samples_per_symbol, LEAST, 64, "fewer do not hold the band of the link")
        check.count(self, "taps_per_symbol", self.taps_per_symbol, 1, 4)
        if self.samples_per_symbol % self.taps_per_symbol:
            raise check.fail(self, "taps_per_symbol", "a divisor of samples_per_symbol", self.taps_per_symbol)
        check.instance(self, "eye", self.eye, bool)
        check.count(self, "n_phases", self.n_phases, 2)
        check.count(self, "n_bins", self.n_bins, 16)

    def settle(self, link: Link, point: OperatingPoint | None = None, attenuation_db: float = 0.0) -> Settled:
        """The receiver fitted to the pass; ``point``: the linear face's, where it is known. ``ValueError`` as in `noise_free`."""
        point = point or operating_point(link)
        passed = noise_free(link, point, self.n_symbols, self.samples_per_symbol)
        return self.fit(passed.attenuated(attenuation_db) if attenuation_db else passed)

    def fit(self, passed: Pass) -> Settled:
        """Sampling phase, taps and offset of least mean-square error, and the noise behind them."""
        link = passed.point.link
        m = self.samples_per_symbol
        spacing = m // self.taps_per_symbol
        r, causes = covariance(passed, self.taps_per_symbol, spacing)
        base = math.floor(passed.first)
        fine = passed.first - base
        if isinstance(link.rx.clock, IdealClock) and link.rx.clock.phase_ui is None:
            shifts = np.arange(-(m // 2) - 1, m // 2 + 2)
            errors = np.array([Fit(passed, link, spacing, base + int(s), r, passed.y, _SEARCH).error for s in shifts])
            best = int(np.argmin(errors))
            fine = 0.0
            if 0 < best < shifts.size - 1:
                low, mid, high = errors[best - 1 : best + 2]
                bend = low - 2 * mid + high
                fine = 0.5 * (low - high) / bend if bend > 0 else 0.0
            base += int(shifts[best])
        fit = Fit(passed, link, spacing, base, r, moved(passed.y, fine), passed.n)
        following = modulated(passed, fit, base + fine)
        steady = fit.w @ causes.pop("all steady") @ fit.w if "all steady" in causes else 0.0
        # behind a photodiode "thermal" is its amplifier's; what comes on top is the electrical receiver's
        variances = {"ISI": float(np.mean((fit.z - fit.d) ** 2)), "receiver" if passed.detected else "thermal": float(steady)}
        variance = np.full(passed.n, float(steady))
        for cause, values in following.items():
            variances[cause] = variances.get(cause, 0.0) + float(np.mean(values))
            variance += values
        for cause, matrix in causes.items():
            variances[cause] = float(fit.w @ matrix @ fit.w)
            variance += variances[cause]
        return Settled(
            pass_=passed, feed_forward=fit.w, spacing=spacing, n_precursors=fit.n_precursors, offset=fit.offset, feedback=fit.b,
            at=base + fine, z=fit.z, sigma=np.sqrt(np.maximum(variance, 1e-300)), variances=variances,
        )  # fmt: skip

    def run(self, link: Link) -> BasebandResult:
        """Error ratios, SNR, budget and eye of ``link``. A closed eye, an overload or a dead channel is a result with its reason."""
        point = operating_point(link)
        if (failure := dead(self, point)) is not None:
            return failure
        settled = self.settle(link, point)
        ser, ber = settled.error_ratios()
        gap = float(np.min(np.diff(link.tx.constellation.array)))
        rms = math.sqrt(sum(settled.variances.values()))
        shown = settled.point
        worst = max(settled.variances, key=lambda cause: settled.variances[cause])
        return BasebandResult(
            link=link, engine=self, operating_point=shown, ser=ser, ber=ber, snr_db=settled.snr_db,
            eyes={"slicer": waveform_eye(settled, self.n_phases, self.n_bins)} if self.eye else {},
            lock=Lock(locked=point.locks, reason="the phase of least error", phase_ui=shown.phase_ui),
            outcome="ok" if rms < gap / 4 else "closed eye",
            reason="" if rms < gap / 4 else f"the rms decision error is {rms:.3g} of the outer level, most of it is {worst}",
            post_fec=None if link.fec is None else float(link.fec.codeword_failure(min(ber, 1.0))),
        )  # fmt: skip


def equalized(settled: Settled, y: np.ndarray) -> np.ndarray:
    """Decision variables (n,) of another waveform ``y`` of the same pass, noise included, with the right decisions fed back."""
    passed = settled.pass_
    base = math.floor(settled.at)
    shifted = moved(y, settled.at - base)
    rows = under_taps(passed, shifted, base, settled.spacing, settled.feed_forward.size, settled.n_precursors, passed.n)
    z = rows @ settled.feed_forward + settled.offset
    d = passed.point.link.tx.constellation.array[passed.sent]
    for i, b in enumerate(settled.feedback, start=1):
        z -= b * d[WARM_UP - i : WARM_UP - i + passed.n]
    return z


def waveform_eye(settled: Settled, n_phases: int, n_bins: int) -> Eye:
    """Histogram of the equalised waveform without noise, smoothed by the mean noise of each level."""
    from scipy.ndimage import gaussian_filter1d

    passed, link = settled.pass_, settled.pass_.point.link
    ui = (np.arange(n_phases) - n_phases // 2) / n_phases
    voltage = np.linspace(-2, 2, n_bins)
    step = voltage[1] - voltage[0]
    levels = link.tx.constellation.array
    density = np.zeros((levels.size, n_phases, n_bins))
    for k, u in enumerate(ui):
        z = equalized(settled, moved(passed.y, u * passed.grid.samples_per_symbol))
        bins = np.clip(np.rint((z + 2) / step).astype(int), 0, n_bins - 1)
        for level in range(levels.size):
            density[level, k] = np.bincount(bins[settled.sent == level], minlength=n_bins)
    for level in range(levels.size):
        rms = float(np.sqrt(np.mean(settled.sigma[settled.sent == level] ** 2)))
        density[level] = gaussian_filter1d(density[level], max(rms / step, 0.3), axis=-1, mode="nearest")
    density /= np.maximum(density.sum(axis=2, keepdims=True), 1e-300)
    return Eye(
        time=ui / link.symbol_rate, voltage=voltage, density=density, levels=levels, symbol_time=1 / link.symbol_rate,
        source="semi-analytic", virtual=True, floor=levels.size / passed.n,
    )  # fmt: skip
