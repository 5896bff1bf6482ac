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
from dsp.equalizer import Mmse, Taps
from dsp.noise import autocorrelation
from dsp.units import db_power
from serdes.eye import Eye
from serdes.link import Link
from serdes.noise_free import WARM_UP, Pass, noise_free, optics_in
from serdes.operating_point import OperatingPoint, aggressor_cursors, operating_point, phases
from serdes.result import LinkResult, Lock
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
        r, causes = _covariance(passed, self, spacing)
        base = math.floor(passed.first)
        fine = passed.first - base
        if isinstance(link.rx.clock, IdealClock):
            shifts = np.arange(-(m // 2) - 1, m // 2 + 2)
            errors = np.array([_Fit(passed, link, spacing, base + s, r, passed.y, _SEARCH).error for s in shifts])
            best = int(np.argmin(errors))
            fine = 0.0
            if 0 < best < shifts.size - 1:
                low, mid, high = errors[best - 1 : best + 2]
                bend = low - 2 * mid + high
                fine = 0.5 * (low - high) / bend if bend > 0 else 0.0
            base += int(shifts[best])
        fit = _Fit(passed, link, spacing, base, r, _moved(passed.y, fine), passed.n)
        modulated = _modulated(passed, fit, base + fine)
        steady = fit.w @ causes.pop("all steady") @ fit.w if "all steady" in causes else 0.0
        # behind a photodiode "thermal" is its amplifier's; what comes on top is the electrical receiver's
        variances = {"ISI": float(np.mean((fit.z - fit.d) ** 2)), "receiver" if passed.detected else "thermal": float(steady)}
        variance = np.full(passed.n, float(steady))
        for cause, values in modulated.items():
            variances[cause] = variances.get(cause, 0.0) + float(np.mean(values))
            variance += values
        for cause, matrix in causes.items():
            variances[cause] = float(fit.w @ matrix @ fit.w)
            variance += variances[cause]
        return Settled(
            pass_=passed, feed_forward=fit.w, spacing=spacing, n_precursors=fit.n_precursors, offset=fit.offset, feedback=fit.b,
            at=base + fine, z=fit.z, sigma=np.sqrt(np.maximum(variance, 1e-300)), variances=variances,
        )  # fmt: skip

    def run(self, link: Link) -> LinkResult:
        """Error ratios, SNR, budget and eye of ``link``. A closed eye, an overload or a dead channel is a result with its reason."""
        point = operating_point(link)
        dead = "" if not point.closed else "the pulse response has no main cursor: the channel passes nothing"
        overload = _overload(link)
        if dead or overload:
            return LinkResult(
                link=link, engine=self, operating_point=point, ser=1 - 1 / link.tx.constellation.n, ber=0.5, snr_db=-math.inf,
                eyes={}, lock=Lock(locked=False, reason=dead or overload), outcome="no signal" if dead else "overload",
                reason=dead or overload, post_fec=None if link.fec is None else 1.0,
            )  # fmt: skip
        settled = self.settle(link, point)
        ser, ber = settled.error_ratios()
        gap = float(np.min(np.diff(link.tx.constellation.array)))
        rms = math.sqrt(sum(settled.variances.values()))
        late = (settled.at - settled.pass_.first) / self.samples_per_symbol
        shown = replace(
            point, variances=settled.variances, phase_ui=point.phase_ui + late,
            sampling_time=point.sampling_time + late / link.symbol_rate,
        )  # fmt: skip
        if self.taps_per_symbol == 1:
            taps = Taps(
                feed_forward=tuple(settled.feed_forward.tolist()), n_precursors=settled.n_precursors,
                feedback=tuple(settled.feedback.tolist()),
            )  # fmt: skip
            shown = replace(shown, taps=taps)
        worst = max(settled.variances, key=lambda cause: settled.variances[cause])
        return LinkResult(
            link=link, engine=self, operating_point=shown, ser=ser, ber=ber, snr_db=settled.snr_db,
            eyes={"slicer": self._eye(settled)} if self.eye else {},
            lock=Lock(locked=point.locks, reason="the phase of least error", phase_ui=shown.phase_ui),
            outcome="ok" if rms < gap / 4 else "closed eye",
            reason="" if rms < gap / 4 else f"the rms decision error is {rms:.3g} of the outer level, most of it is {worst}",
            post_fec=None if link.fec is None else float(link.fec.codeword_failure(min(ber, 1.0))),
        )  # fmt: skip

    def _eye(self, settled: Settled) -> Eye:
        """Histogram of the equalised waveform without noise, smoothed by the mean noise of each level."""
        from scipy.ndimage import gaussian_filter1d

        passed, link = settled.pass_, settled.pass_.point.link
        ui = (np.arange(self.n_phases) - self.n_phases // 2) / self.n_phases
        voltage = np.linspace(-2, 2, self.n_bins)
        step = voltage[1] - voltage[0]
        levels = link.tx.constellation.array
        density = np.zeros((levels.size, self.n_phases, self.n_bins))
        for k, u in enumerate(ui):
            z = equalized(settled, _moved(passed.y, u * self.samples_per_symbol))
            bins = np.clip(np.rint((z + 2) / step).astype(int), 0, self.n_bins - 1)
            for level in range(levels.size):
                density[level, k] = np.bincount(bins[settled.sent == level], minlength=self.n_bins)
        for level in range(levels.size):
            rms = float(np.sqrt(np.mean(settled.sigma[settled.sent == level] ** 2)))
            density[level] = gaussian_filter1d(density[level], max(rms / step, 0.3), axis=-1, mode="nearest")
        density /= np.maximum(density.sum(axis=2, keepdims=True), 1e-300)
        return Eye(
            time=ui / link.symbol_rate, voltage=voltage, density=density, levels=levels, symbol_time=1 / link.symbol_rate,
            source="semi-analytic", virtual=True, floor=levels.size / passed.n,
        )  # fmt: skip


def equalized(settled: Settled, y: np.ndarray) -> np.ndarray:
    """Decision variables (n,) of another waveform ``y`` of the same pass, noise included, with the right decisions fed back."""
    passed = settled.pass_
    base = math.floor(settled.at)
    moved = _moved(y, settled.at - base)
    rows = _rows(passed, moved, base, settled.spacing, settled.feed_forward.size, settled.n_precursors, passed.n)
    z = rows @ settled.feed_forward + settled.offset
    d = passed.point.link.tx.constellation.array[passed.sent]
    for i, b in enumerate(settled.feedback, start=1):
        z -= b * d[WARM_UP - i : WARM_UP - i + passed.n]
    return z


def _overload(link: Link) -> str:
    found = optics_in(link.channel)
    return found[1].overload(link.tx.amplitude) if found else ""


def _moved(y: np.ndarray, samples: float) -> np.ndarray:
    """``y`` read ``samples`` later, band-limited; the record is taken as periodic."""
    if samples == 0:
        return y
    f = np.fft.rfftfreq(y.size)
    return np.fft.irfft(np.fft.rfft(y) * np.exp(2j * np.pi * f * samples), y.size)


def _rows(passed: Pass, y: np.ndarray, base: int, spacing: int, n_taps: int, n_precursors: int, n: int) -> np.ndarray:
    """Samples under the taps for each symbol, shape (n, n_taps): column j is spacing * (j - n_precursors) samples earlier."""
    m = passed.grid.samples_per_symbol
    at = base + m * np.arange(n)[:, None] - spacing * (np.arange(n_taps) - n_precursors)
    return y[at]


class _Fit:
    """Least mean-square error at one sampling instant: taps ``w``, ``offset``, feedback ``b``, decision variables ``z``."""

    def __init__(self, passed: Pass, link: Link, spacing: int, base: int, r: np.ndarray, y: np.ndarray, n: int) -> None:
        equalizer, levels = link.rx.equalizer, link.tx.constellation.array
        self.spacing = spacing
        per_symbol = passed.grid.samples_per_symbol // spacing
        n = min(n, passed.n)
        if isinstance(equalizer, Mmse):
            n_taps, q = equalizer.n_taps, equalizer.n_feedback
            self.n_precursors = min(equalizer.n_precursors * per_symbol, (n_taps - 1) // 2 if per_symbol > 1 else n_taps)
        else:
            n_taps, q = len(equalizer.feed_forward), len(equalizer.feedback)
            self.n_precursors = equalizer.n_precursors
        x = _rows(passed, y, base, spacing, n_taps, self.n_precursors, n)
        all_levels = levels[passed.sent]
        d = all_levels[WARM_UP : WARM_UP + n]
        past = np.stack([all_levels[WARM_UP - i : WARM_UP - i + n] for i in range(1, q + 1)], axis=1) if q else np.zeros((n, 0))
        mean_x = x.mean(axis=0)
        centred, wanted, before = x - mean_x, d - d.mean(), past - past.mean(axis=0)
        power = float(wanted @ wanted) / n
        h0 = centred.T @ wanted / (n * power)
        a = centred.T @ centred / n + r[:n_taps, :n_taps]
        if isinstance(equalizer, Mmse):
            hb = centred.T @ before / n
            gram = before.T @ before / n
            self.w, self.b = _solve(a, h0, hb, gram, before.T @ wanted / n, equalizer.feedback_limits)
        else:
            fixed = np.asarray(equalizer.feed_forward)
            cursor = h0 @ fixed
            self.w, self.b = fixed / (cursor if cursor else 1.0), np.asarray(equalizer.feedback)
        self.offset = float(d.mean() - mean_x @ self.w + (past.mean(axis=0) @ self.b if q else 0.0))
        self.z = x @ self.w + self.offset - past @ self.b
        self.d = d
        self.error = float(np.mean((self.z - d) ** 2) + self.w @ r[:n_taps, :n_taps] @ self.w)


def _solve(
    a: np.ndarray, h0: np.ndarray, hb: np.ndarray, gram: np.ndarray, by_chance: np.ndarray, limits: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Taps with unit cursor h0'w = 1 and feedback within limits: minimum of w'Aw - 2 b'Hb'w + b'Gb + 2 b'r.

    ``by_chance`` r: correlation of a symbol with those before it, which a finite pattern has.
    """
    q = hb.shape[1]
    a = a + 1e-12 * np.trace(a) / a.shape[0] * np.eye(a.shape[0])
    inverse = np.linalg.solve(a, np.column_stack((h0, hb)))
    fixed = np.full(q, np.nan)
    while True:
        free = np.isnan(fixed)
        # stationarity: A w = lambda h0 + Hb b, G b = Hb'w - r for the free ones, h0'w = 1
        cross = np.column_stack((h0, hb)).T @ inverse
        system, right = np.eye(1 + q), np.concatenate(([1.0], fixed))
        system[0] = cross[0]
        rows = 1 + np.flatnonzero(free)
        system[rows, 0] = -cross[rows, 0]
        system[np.ix_(rows, np.arange(1, q + 1))] = gram[free] - cross[rows, 1:]
        right[rows] = -by_chance[free]
        weights = np.linalg.solve(system, right)
        b = weights[1:]
        outside = free & ((b < limits[0]) | (b > limits[1]))
        if not np.any(outside):
            return inverse @ weights, b
        fixed[outside] = np.clip(b[outside], *limits)


def _covariance(passed: Pass, engine: SemiAnalytic, spacing: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Covariance of the noise under the taps, and its parts by cause but for those that follow the power."""
    link, grid = passed.point.link, passed.grid
    equalizer = link.rx.equalizer
    n_taps = equalizer.n_taps if isinstance(equalizer, Mmse) else len(equalizer.feed_forward)
    lags = spacing * np.abs(np.subtract.outer(np.arange(n_taps), np.arange(n_taps)))
    parts = {"all steady": _autocovariance(passed.noise, grid.sample_rate)[lags]}
    r = parts["all steady"].copy()
    kept = passed.y.size
    for d in passed.detected:
        mean = float(np.mean(d.detection.density(d.power[WARM_UP * engine.samples_per_symbol : kept])))
        r += _autocovariance(mean * np.abs(d.after) ** 2, grid.sample_rate)[lags]
    for cause, row in _from_linear_face(passed.point, engine.taps_per_symbol).items():
        parts[cause] = row[lags // spacing]
        r += parts[cause]
    return r, parts


def _autocovariance(density: np.ndarray, sample_rate: float) -> np.ndarray:
    return np.fft.irfft(density) * sample_rate / 2


def _from_linear_face(point: OperatingPoint, taps_per_symbol: int) -> dict[str, np.ndarray]:
    """Autocovariance [V^2] at whole symbols of what the pass leaves out: crosstalk, transmitter noise, jitter, converter."""
    link = point.link
    extra = bool(link.aggressors) or link.tx.snr_db is not None or link.tx.jitter.variance_ui2 or link.rx.jitter.variance_ui2
    found: dict[str, np.ndarray] = {}
    if extra:
        if taps_per_symbol > 1:
            raise ValueError(
                "SemiAnalytic.taps_per_symbol must be 1 for a link with crosstalk, transmitter noise or jitter: their covariance "
                "is known at whole symbols only"
            )
        ph = phases(link, point.spectra, LEAST, shift=point.offset_ui / link.symbol_rate)
        found = {cause: np.atleast_2d(r)[0] for cause, r in ph.noise.items() if cause not in ("thermal", "crosstalk")}
        rows = aggressor_cursors(link, point.spectra, point.offset_ui)
        for row, aggressor in zip(rows, link.aggressors, strict=True):
            power = aggressor.tx.constellation.mean_square * autocorrelation(row)
            found["crosstalk"] = found.get("crosstalk", np.zeros(power.size)) + power
    if link.rx.converter is not None and point.full_scale:
        row = np.zeros(point.spectra.window)
        row[0] = link.rx.converter.noise_variance(point.full_scale)
        found["converter"] = row
    return found


def _modulated(passed: Pass, fit: _Fit, at: float) -> dict[str, np.ndarray]:
    """Variance at each decision, by cause, of the noise that follows the power: its density behind the squared response."""
    grid, m = passed.grid, passed.grid.samples_per_symbol
    found: dict[str, np.ndarray] = {}
    places = at + m * np.arange(passed.n)
    for d in passed.detected:
        positions = fit.spacing * (np.arange(fit.w.size) - fit.n_precursors) * grid.dt
        taps = np.exp(-2j * np.pi * np.multiply.outer(grid.f, positions)) @ fit.w
        g = np.fft.irfft(d.after * taps, grid.n) ** 2 * grid.sample_rate / 2
        n_fft = 1 << math.ceil(math.log2(d.power.size + grid.n))
        kernel = np.zeros(n_fft)
        half = grid.n // 2
        kernel[:half], kernel[n_fft - (grid.n - half) :] = g[:half], g[half:]
        spectrum = np.fft.rfft(kernel)
        for cause, density in d.detection.causes(d.power).items():
            variance = np.fft.irfft(np.fft.rfft(density, n_fft) * spectrum, n_fft)[: d.power.size]
            found[cause] = found.get(cause, 0.0) + np.interp(places, np.arange(variance.size), variance)
    return found

