"""Where a link settles: equaliser gains, sampling phase, taps and noise. The shared start of every engine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dsp.clock import IdealClock, TimingLoop, sampled_pulse, slope
from dsp.distribution import Interference
from dsp.equalizer import Taps, residual_interference
from dsp.noise import autocorrelation
from dsp.response import PulseResponse
from dsp.units import db_power
from serdes.front_end import FINE, THIN, FrontEnd, Phases, fine_pulse, front_end
from serdes.link import Link
from serdes.spectra import LEAST, Spectra

COARSE = 8
"""Samples per symbol while the gains of the continuous-time equaliser are searched."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OperatingPoint:
    """A settled link.

    ``gain_db``, ``low_gain_db``: of the CTLE. ``sampling_time`` [s]: from the start of a symbol at the transmitter to its
    decision sample; ``phase_ui``: the same after the peak of the pulse; ``offset_ui``: after a whole number of symbols from
    the start of the window. ``main_cursor`` [V]: pulse at that instant.
    ``taps``: of the receiver. ``full_scale`` [V]: of the converter, None without one. ``variances``: of the decision error
    by cause, in squared symbol units. ``noise`` [V^2]: autocovariance of all noise before the taps at lags 0, 1, ... symbols,
    shape (window,), periodic. ``residual``: interference left by the taps at whole symbols, shape (window,), main cursor at
    ``main``.
    ``locks``: whether the clock has a phase to settle at; where not, the phase of least error stands in.
    """

    link: Link
    spectra: Spectra
    gain_db: float
    low_gain_db: float
    sampling_time: float
    phase_ui: float
    offset_ui: float
    main: int
    main_cursor: float
    taps: Taps
    full_scale: float | None
    variances: dict[str, float]
    noise: np.ndarray
    residual: np.ndarray
    crosstalk: tuple[np.ndarray, ...]
    locks: bool

    @cached_property
    def pulse(self) -> PulseResponse:
        """At the sampler, `FINE` samples a symbol, sample ``main`` * `FINE` at the sampling instant."""
        return fine_pulse(self.link, self.spectra, self.offset_ui)

    @property
    def closed(self) -> bool:
        """Whether nothing was found to decide on: no signal arrives."""
        return not np.isfinite(self.mean_square_error)

    @property
    def mean_square_error(self) -> float:
        """Variance of the decision error in squared symbol units."""
        return sum(self.variances.values())

    @property
    def snr_db(self) -> float:
        """Slicer SNR [dB]: mean square of the levels over the variance of the decision error."""
        error = self.mean_square_error
        if not np.isfinite(error):
            return -math.inf
        return float(db_power(self.link.tx.constellation.mean_square / error)) if error else math.inf

    def shares(self) -> dict[str, float]:
        """Share of each cause in the variance of the decision error."""
        total = self.mean_square_error
        known = total > 0 and np.isfinite(total)
        return {cause: v / total if known else 0.0 for cause, v in self.variances.items()}

    @property
    def binding(self) -> str:
        """The cause with the largest share."""
        return "no signal" if self.closed else max(self.variances, key=lambda cause: self.variances[cause])


def operating_point(link: Link, like: OperatingPoint | None = None) -> OperatingPoint:
    """Settle ``link``: best CTLE gains, sampling phase by its clock, converter range, taps.

    The CTLE gains are searched until no neighbour on their grid has a smaller decision error: from the middle of the grid with
    shrinking steps, or from the gains of ``like``, the settled point of a similar link, which is faster. Raises ValueError when
    the channel's transfer is not finite.
    """
    front = front_end(link)
    gains = _best_gains(link, front, like)
    # The best of the phases shows in the shorter window already; a clock is asked with the whole pulse.
    upright = _upright(front.phases(link, gains, FINE)) if _has_phase_of_its_own(link.rx.clock) else None
    recovered = None if upright is None else _recovered_phase(link, *upright)
    if recovered is None or _asked_phase(link.rx.clock) is None:
        offset = _best_phase(link, front.phases(link, gains, FINE, THIN))[0] / FINE
    else:
        offset = recovered
    locks = upright is None or (recovered is not None and _is_stable(link, *upright, offset))
    return _settle(link, front, gains, offset, locks)


def _settle(link: Link, front: FrontEnd, gains: tuple[float, float], offset: float, locks: bool) -> OperatingPoint:
    """The operating point at a sampling phase ``offset`` [UI] into the window."""
    sp, ph = front.behind(link, gains), front.phases(link, gains, LEAST, offset=offset)
    mean_square = link.tx.constellation.mean_square
    h = ph.h[0]
    main = int(np.argmax(np.abs(h)))
    noise = {cause: np.atleast_2d(r)[0] for cause, r in ph.noise.items()}
    rows = front.aggressor_cursors(link, gains, offset)
    if rows:
        noise["crosstalk"] = _crosstalk(link, rows)
    total = np.zeros(sp.window) + sum(noise.values())
    full_scale = None
    if link.rx.converter is not None:
        full_scale = link.rx.converter.full_scale(at_converter(link, h, total[0]))
        noise["converter"] = np.eye(1, sp.window)[0] * link.rx.converter.noise_variance(full_scale)
        total = total + noise["converter"]
    taps, error = link.rx.equalizer.solve(h, main, total, mean_square)
    if np.isfinite(error):
        residual = residual_interference(taps, h, main)
        variances = {"ISI": float(mean_square * np.sum(residual**2))}
        variances |= {cause: taps.variance(r) for cause, r in noise.items()}
    else:
        residual = np.zeros(sp.window)
        variances = {"no signal": math.inf}
    peak, start = front.peak(link, gains, offset)
    return OperatingPoint(
        link=link,
        spectra=sp,
        gain_db=gains[0],
        low_gain_db=gains[1],
        sampling_time=start + main / link.symbol_rate,
        phase_ui=main - peak / FINE,
        offset_ui=offset,
        main=main,
        main_cursor=float(h[main]),
        taps=taps,
        full_scale=full_scale,
        variances=variances,
        noise=total,
        residual=residual,
        crosstalk=rows,
        locks=locks,
    )


def _best_gains(link: Link, front: FrontEnd, like: OperatingPoint | None) -> tuple[float, float]:
    """CTLE gains of least decision error, by descent over the grid of candidates."""
    ctle = link.rx.ctle
    if ctle is None:
        return 0.0, 0.0
    gains, lows = sorted(ctle.gains_db), sorted(ctle.low_gains_db)
    known: dict[tuple[int, int], float] = {}

    def error(i: int, j: int) -> float:
        if (i, j) not in known:
            known[i, j] = _best_phase(link, front.phases(link, (gains[i], lows[j]), COARSE, THIN))[1]
        return known[i, j]

    here, step = (len(gains) // 2, len(lows) // 2), max(1, len(gains) // 4)
    if like is not None and like.gain_db in gains and like.low_gain_db in lows:
        here, step = (gains.index(like.gain_db), lows.index(like.low_gain_db)), 1
    while True:
        # Along the grid first, and only where that leads nowhere across it: a step across is rarely the better one.
        for moves in (((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)), ((0, 0), (-1, -1), (-1, 1), (1, -1), (1, 1))):
            around = [(here[0] + step * a, here[1] + b) for a, b in moves]
            best = min(((i, j) for i, j in around if 0 <= i < len(gains) and 0 <= j < len(lows)), key=lambda at: error(*at))
            if error(*best) < error(*here):
                break
        if error(*best) < error(*here):
            here = best
        elif step > 1:
            step = max(1, step // 2)
        else:
            return gains[here[0]], lows[here[1]]


def _best_phase(link: Link, ph: Phases) -> tuple[int, float]:
    """(phase, mean-square decision error) of least error.

    The range of the converter depends on the phase: it is taken at the peak of the pulse first, then at the best phase found.
    """
    mean_square = link.tx.constellation.mean_square
    total = ph.total_noise()
    mains = np.argmax(np.abs(ph.h), axis=1)
    best = int(np.argmax(np.abs(ph.h[np.arange(len(mains)), mains])))
    converter, quiet = link.rx.converter, total[:, 0].copy()
    for _ in range(1 if converter is None else 2):
        if converter is not None:
            signal = at_converter(link, ph.h[best], quiet[best])
            total[:, 0] = quiet + converter.noise_variance(converter.full_scale(signal, exact=False))
        errors = link.rx.equalizer.errors(ph.h, mains, total, mean_square)
        before, best = best, int(np.argmin(errors))
        if best == before:
            break
    return best, float(errors[best])


def _asked_phase(clock: IdealClock | TimingLoop) -> float | None:
    """The phase that a clock is told to have or to add to its own, None where it is to find the best."""
    return clock.phase_ui if isinstance(clock, IdealClock) else clock.skew_ui


def _has_phase_of_its_own(clock: IdealClock | TimingLoop) -> bool:
    """Whether the pulse alone says where a clock settles."""
    return not isinstance(clock, IdealClock) or clock.phase_ui is not None


def _upright(ph: Phases) -> tuple[np.ndarray, int]:
    """The pulse at `FINE` samples a symbol, its peak turned positive, and where that is."""
    wave = ph.h.T.reshape(-1)
    peak = int(np.argmax(np.abs(wave)))
    return wave * (np.sign(wave[peak]) or 1.0), peak


def _recovered_phase(link: Link, wave: np.ndarray, peak: int) -> float | None:
    """Sampling phase [UI] into the window at which the link's clock settles, None where it names none."""
    phase = link.rx.clock.sampling_phase(wave, FINE)
    return None if phase is None else (peak / FINE + phase) % 1


def _is_stable(link: Link, wave: np.ndarray, peak: int, offset: float) -> bool:
    """Whether the detector of the link's loop tells early from late at ``offset`` [UI] into the window."""
    loop = link.rx.clock
    if isinstance(loop, IdealClock) or loop.skew_ui == 0:
        return True
    levels = link.tx.constellation.array

    def curve(tau: np.ndarray) -> np.ndarray:
        return loop.s_curve(lambda t: sampled_pulse(wave, FINE, t), tau, levels)

    return slope(curve, offset + round(peak / FINE - offset)) > 0


def at_converter(link: Link, h: np.ndarray, variance: float) -> Interference:
    """Distribution of the signal at the converter: symbols times the whole pulse, all noise as Gaussian."""
    return interference(link, h, variance)


def interference(link: Link, cursors: np.ndarray, variance: float) -> Interference:
    """Independent symbols times ``cursors`` plus Gaussian noise; cursors too small to matter join the noise.

    Left to the Gaussian is the smallest part of the cursors that together holds less than 1e-4 of the variance.
    """
    constellation = link.tx.constellation
    ordered = np.ravel(cursors)[np.argsort(np.abs(cursors), axis=None)]
    power = np.cumsum(ordered**2) * constellation.mean_square
    small = int(np.searchsorted(power, 1e-4 * (variance + power[-1])))
    rest = power[small - 1] if small else 0.0
    return Interference(cursors=ordered[small:][::-1], levels=constellation.array, sigma=math.sqrt(variance + rest))


def _crosstalk(link: Link, rows: tuple[np.ndarray, ...]) -> np.ndarray:
    """Autocovariance [V^2] of the aggressors at their own phases: as given, or the phase of largest variance (93A-33)."""
    total = np.zeros(rows[0].size)
    for row, aggressor in zip(rows, link.aggressors, strict=True):
        total += aggressor.tx.constellation.mean_square * autocorrelation(row)
    return total
