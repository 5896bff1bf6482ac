"""The statistical engine: linear faces only, no symbol is ever sent, no error ratio is too small."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.distribution import Interference, eye_density, pam_error_ratios
from dsp.equalizer import Taps
from serdes.dead_links import dead
from serdes.eye import Eye
from serdes.front_end import Phases, phases, with_transmit_taps
from serdes.link import Link
from serdes.noise_free import is_nonlinear
from serdes.operating_point import OperatingPoint, interference, operating_point
from serdes.result import BasebandResult, Lock
from serdes.spectra import LEAST

SMALL_SIGNAL = (
    "small signals about the bias only; SemiAnalytic and TimeDomain know compression and noise that follows the power"
)
"""What is said of a link whose channel is not linear."""
JITTER = ("Tx jitter", "Rx jitter")
FLOOR = 1e-13
"""Probability below which rounding in the transforms of the eye shows."""
NARROWEST = 2.5
"""Least rms of the Gaussian part in bins of the eye: a narrower one would ring at 1e-5 and close the eye of a quiet link."""


@dataclass(frozen=True, kw_only=True)
class Statistical:
    """Error ratios from the exact distribution of interference, crosstalk, bounded jitter and Gaussian noise.

    The eye that goes with them takes crosstalk, its phase averaged, and all jitter as Gaussian.

    ``n_phases`` across a unit interval and ``n_bins`` of voltage for the eye; ``max_cursors`` carry their own distribution in
    the eye, the largest first, and smaller ones join its Gaussian (the error ratio at the decision uses all that matter).
    ``eye``: whether to draw one at all; a sweep needs none.
    """

    n_phases: int = 64
    n_bins: int = 2000
    max_cursors: int = 300
    eye: bool = True

    def __post_init__(self) -> None:
        check.count(self, "n_phases", self.n_phases, LEAST, hint="fewer can't carry the band of the signal")
        check.count(self, "n_bins", self.n_bins, 16)
        check.count(self, "max_cursors", self.max_cursors, 1)
        check.instance(self, "eye", self.eye, bool)

    def run(self, link: Link, like: OperatingPoint | None = None) -> BasebandResult:
        """Error ratios, SNR, budget and eye of ``link``. A closed eye, an overload or a dead channel is a result with its reason.

        A channel that is not linear is taken by its linear face: the ``reason`` says so where the outcome is "ok".

        ``like``: where a similar link has settled, from which the search for this one may start.
        """
        point = operating_point(link, like)
        if (failure := dead(self, point)) is not None:
            return failure
        noise = at_slicer(point)
        ser, ber = pam_error_ratios(link.tx.constellation, link.tx.constellation.thresholds, 1.0, noise)
        eyes = {"slicer": statistical_eye(point, self.n_phases, self.n_bins, self.max_cursors)} if self.eye else {}
        outcome, reason = _outcome(point)
        return BasebandResult(
            link=link,
            engine=self,
            operating_point=point,
            ser=ser,
            ber=ber,
            snr_db=point.snr_db,
            eyes=eyes,
            lock=Lock(locked=point.locks, reason="the clock settles here" if point.locks else reason, phase_ui=point.phase_ui),
            outcome=outcome,
            reason=reason,
            post_fec=None if link.fec is None else float(link.fec.codeword_failure(ber)),
        )


def _outcome(point: OperatingPoint) -> tuple[str, str]:
    """(outcome, reason): "ok", "no lock" where the clock has nowhere to settle, "closed eye" where the levels run together."""
    if not point.locks:
        return (
            "no lock",
            "the timing detector has no stable zero near the peak of the pulse; the phase of least error stands in",
        )
    rms = math.sqrt(point.mean_square_error)
    gap = float(np.min(np.diff(point.link.tx.constellation.array)))
    if rms < gap / 4:
        return "ok", SMALL_SIGNAL if is_nonlinear(point.link.channel) else ""
    return "closed eye", (
        f"the rms decision error is {rms:.3g} of the outer level, more than a quarter of the level spacing {gap:.3g}; "
        f"most of it is {point.binding} ({100 * point.shares()[point.binding]:.0f} %)"
    )


def at_slicer(point: OperatingPoint) -> Interference:
    """Distribution of the decision error about a level, in symbol units.

    Independent symbols times what is left of the pulse, the aggressors' symbols times their equalised cursors, and bounded
    jitter as symbols times A_DD times the slope (93A-43); thermal, transmitter, converter noise and random jitter as Gaussian.
    """
    link, taps = point.link, point.taps
    cursors = [point.residual]
    for row, aggressor in zip(point.crosstalk, link.aggressors, strict=True):
        scale = math.sqrt(aggressor.tx.constellation.mean_square / link.tx.constellation.mean_square)
        cursors.append(scale * taps.equalize(row))
    bounded = bounded_jitter(point)
    gaussian = sum(v for cause, v in point.variances.items() if cause not in ("ISI", "crosstalk"))
    gaussian -= sum(float(link.tx.constellation.mean_square * np.sum(c**2)) for c in bounded)
    cursors += bounded
    return interference(link, np.concatenate(cursors), max(gaussian, 0.0))


def bounded_jitter(point: OperatingPoint) -> list[np.ndarray]:
    """Cursors that stand for the dual-Dirac jitter, of the shape of the equalised slope and the variance it really has."""
    link = point.link
    edge = point.spectra.response(point.spectra.edge, LEAST, point.offset_ui / link.symbol_rate).phases()[0]
    # An edge moved is a unit step's worth of slope: up at the start of a symbol, down at its end.
    slope = point.taps.equalize(with_transmit_taps(edge - np.roll(edge, 1), link))
    power = float(link.tx.constellation.mean_square * np.sum(slope**2))
    rows = []
    for cause, jitter in zip(JITTER, (link.tx.jitter, link.rx.jitter), strict=True):
        if jitter.dual_dirac_ui and power:
            share = jitter.dual_dirac_ui**2 / jitter.variance_ui2
            rows.append(slope * math.sqrt(share * point.variances[cause] / power))
    return rows


def statistical_eye(point: OperatingPoint, n_phases: int = 64, n_bins: int = 2000, max_cursors: int = 300) -> Eye:
    """The eye at the slicer over one unit interval around the sampling instant.

    With a baud-rate receiver it is virtual: the taps applied to the waveform between the samples. Feedback is constant over
    the unit interval; voltage in outer symbol levels. Noise of less than `NARROWEST` bins rms is widened to that.
    """
    link = point.link
    ui = (np.arange(n_phases) - n_phases // 2) / n_phases
    # The window's first phase is about half a unit interval before the sampling instant.
    ph = phases(link, point.spectra, n_phases, (point.offset_ui + ui[0]) / link.symbol_rate)
    p = point.taps.equalize(ph.h)
    main = p[:, point.main].copy()
    p[:, point.main] = 0
    for k, b in enumerate(point.taps.feedback, start=1):
        p[:, (point.main + k) % p.shape[1]] -= b
    sigma2 = _variances(point.taps, ph)
    if "converter" in point.variances:
        sigma2 = sigma2 + point.variances["converter"]
    order = np.argsort(-np.max(np.abs(p), axis=0))
    sigma2 = sigma2 + link.tx.constellation.mean_square * np.sum(p[:, order[max_cursors:]] ** 2, axis=1)
    cursors = p[:, order[:max_cursors]]
    voltage = _voltage_axis(main, cursors, sigma2, n_bins)
    levels = link.tx.constellation.array
    narrowest = NARROWEST * (voltage[1] - voltage[0])
    about = eye_density(cursors, levels, np.sqrt(np.maximum(sigma2, narrowest**2)), voltage)
    return Eye(
        time=ui / link.symbol_rate,
        voltage=voltage,
        density=_about_levels(about, np.multiply.outer(levels, main), voltage),
        levels=levels,
        symbol_time=1 / link.symbol_rate,
        source="statistical",
        virtual=True,
        floor=FLOOR,
    )


def _variances(taps: Taps, ph: Phases) -> np.ndarray:
    """Variance behind the taps of all noise, by phase, shape (n_phases,)."""
    w = np.asarray(taps.feed_forward)
    lags = np.correlate(w, w, "full")[w.size - 1 :]
    lags[1:] *= 2
    total = ph.total_noise()[:, : lags.size]
    return total @ lags[: total.shape[1]]


def _voltage_axis(main: np.ndarray, cursors: np.ndarray, sigma2: np.ndarray, n_bins: int) -> np.ndarray:
    """Bins that hold the outer levels and eight times the rms of what surrounds them."""
    rms = math.sqrt(float(np.max(sigma2 + np.sum(cursors**2, axis=1))))
    span = min(float(np.max(np.abs(main))) + 8 * rms, 4.0)
    return np.linspace(-span, span, n_bins)


def _about_levels(about: np.ndarray, centre: np.ndarray, voltage: np.ndarray) -> np.ndarray:
    """Densities (n_phases, n_bins) about 0 moved to ``centre`` (L, n_phases): (L, n_phases, n_bins), rows summing to 1.

    Levels, axis and densities are symmetric about 0, so the upper half of the levels mirrors the lower one.
    """
    from scipy import fft

    lower = (len(centre) + 1) // 2
    step = voltage[1] - voltage[0]
    n = fft.next_fast_len(2 * voltage.size, real=True)
    spectrum = fft.rfft(about, n, axis=1)
    moved = _turns(-2 * np.pi / n * centre[:lower] / step, spectrum.shape[1])
    moved *= spectrum
    rows = fft.irfft(moved, n, axis=2, overwrite_x=True)[..., : voltage.size]
    np.maximum(rows, 0, out=rows)
    rows /= np.maximum(rows.sum(axis=2, keepdims=True), 1e-300)
    return np.concatenate([rows, rows[: len(centre) - lower][::-1, :, ::-1]])


def _turns(angle: np.ndarray, n: int) -> np.ndarray:
    """exp(j k angle) for k = 0 ... n-1 along a new last axis; from two short tables, which is several times faster."""
    low = np.exp(1j * np.multiply.outer(angle, np.arange(64)))
    high = np.exp(1j * np.multiply.outer(angle, 64 * np.arange(-(-n // 64))))
    return (high[..., :, None] * low[..., None, :]).reshape(*angle.shape, -1)[..., :n]
