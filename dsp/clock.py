"""Clock recovery: where a timing loop settles, how fast it follows, and how it is known to have settled.

Phases are in unit intervals after the peak of the pulse; frequencies are relative to the symbol rate. The usual detector is
``e[k] = y[k] a[k-1] - y[k-1] a[k]`` (K. H. Mueller and M. Muller, IEEE Trans. Commun. 24, 1976): positive means too early.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from dsp import check

SCAN = 32
"""Points per unit interval among which the zeros of the S-curve are looked for."""
REACH = 3
"""Unit intervals to either side of the peak that are searched."""

Pulse = Callable[[np.ndarray], np.ndarray]
Curve = Callable[[Pulse, np.ndarray], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class IdealClock:
    """Samples without a loop at ``phase_ui`` after the peak of the pulse; None takes the phase of least mean-square error."""

    phase_ui: float | None = None

    def __post_init__(self) -> None:
        if self.phase_ui is not None:
            check.between(self, "phase_ui", self.phase_ui, -1, 1, "UI")

    def sampling_phase(self, pulse: np.ndarray, samples_per_symbol: int) -> float | None:  # noqa: ARG002
        """`phase_ui`, whatever the pulse."""
        return self.phase_ui


@dataclass(frozen=True, kw_only=True)
class TimingLoop(ABC):
    """A second-order loop around a timing-error detector that looks at samples before the feed-forward equaliser.

    ``bandwidth``: one-sided noise bandwidth of the loop over the symbol rate, B_n T. ``damping``: 1 is critical. ``latency``:
    symbols by which the correction is late, besides the wait for the decision. All delay times bandwidth beyond about 0.1
    peaks, beyond about 0.3 oscillates. ``acquire_bandwidth``, where wider, holds while the decision error says that the
    loop has not locked: a narrow one would slip over a frequency offset. ``skew_ui``: where it settles after the zero of the S-curve, by a constant
    taken from the detector's output; None: at the phase of least decision error, as a receiver finds it by trying.
    """

    bandwidth: float = 1e-4
    damping: float = 1.0
    latency: int = 0
    acquire_bandwidth: float = 1.5e-3
    skew_ui: float | None = 0.0

    def __post_init__(self) -> None:
        check.between(
            self, "bandwidth", self.bandwidth, 1e-8, 0.1, hint="relative to the symbol rate: 4 MHz at 53 GBd is 7.5e-5"
        )
        check.between(self, "damping", self.damping, 0.1, 20)
        check.count(self, "latency", self.latency, 0, 4096)
        check.between(self, "acquire_bandwidth", self.acquire_bandwidth, 1e-8, 0.1, hint="relative to the symbol rate")
        if self.skew_ui is not None:
            check.between(self, "skew_ui", self.skew_ui, -0.5, 0.5, "UI")

    @property
    @abstractmethod
    def detector(self) -> str:
        """Name of the detector, one of `dsp.receiver.DETECTORS`."""

    @abstractmethod
    def s_curve(self, pulse_at: Pulse, tau: np.ndarray, levels: np.ndarray, sigma: float = 0.0) -> np.ndarray:
        """Mean output of the detector at sampling times ``tau`` [UI] for independent symbols ``levels``; shape of ``tau``.

        Positive means too early; ``sigma``: rms of the noise, in the unit of the pulse. Decisions are right.
        """

    @final
    def sampling_phase(self, pulse: np.ndarray, samples_per_symbol: int) -> float | None:
        """Phase [UI] after the largest sample where the loop settles: a stable zero of the S-curve, and `skew_ui` (None: 0).

        ``pulse``: upright, one period of a periodic pulse at ``samples_per_symbol``. Of several stable zeros the nearest to
        the peak; None where there is none within `REACH`, as when no signal arrives.
        """
        peak = int(np.argmax(np.abs(pulse))) / samples_per_symbol
        pair = np.array([-1.0, 1.0])
        found = lock_phase(
            lambda tau: sampled_pulse(pulse, samples_per_symbol, tau), peak, lambda at, tau: self.s_curve(at, tau, pair)
        )
        return None if found is None else found - peak + (self.skew_ui or 0.0)

    @final
    def gains(self, detector_gain: float, bandwidth: float | None = None) -> tuple[float, float]:
        """Proportional and integral gain [UI per detector unit, the latter per symbol] for a ``detector_gain`` [unit per UI].

        ``bandwidth``: another than the loop's own.
        From noise bandwidth and damping (M. Rice, Digital Communications: A Discrete-Time Approach, C.61; the continuous-time
        form B_n = w_n (damping + 1/(4 damping)) / 2 is F. M. Gardner's, Phaselock Techniques, 3rd ed., 6.2).
        """
        check.positive(self, "detector_gain", detector_gain, hint="at a stable zero the S-curve falls")
        theta = (bandwidth or self.bandwidth) / (self.damping + 1 / (4 * self.damping))
        scale = 1 + 2 * self.damping * theta + theta**2
        return 4 * self.damping * theta / scale / detector_gain, 4 * theta**2 / scale / detector_gain

    @final
    def jitter_transfer(self, f_relative: np.ndarray, decision_delay: int = 0, update: int = 1) -> np.ndarray:
        """Complex transfer from the phase of the data to that of the samples, shape of ``f_relative`` = f / symbol rate.

        G / (1 + G) with G = (k_p + k_i / (1 - z^-1)) z^-(update + delay) A / (1 - z^-1), delay = `latency` +
        ``decision_delay``; A = (sin(pi f update) / (update sin(pi f)))^2 for the mean over an ``update`` of several symbols
        and its even use over the next one. For small jitter. 1 at f = 0.
        """
        proportional, integral = self.gains(1.0)
        f = np.asarray(f_relative, float)
        z1 = np.exp(-2j * np.pi * f)
        mean = (np.sinc(f * update) / np.sinc(f)) ** 2
        forward = (proportional * (1 - z1) + integral) * z1 ** (update + self.latency + decision_delay) * mean
        return forward / ((1 - z1) ** 2 + forward)


@final
@dataclass(frozen=True, kw_only=True)
class MuellerMuller(TimingLoop):
    """Mueller-Muller: one sample a symbol. Settles where pre- and post-cursor are equal."""

    @property
    def detector(self) -> str:
        """Its name."""
        return "mueller-muller"

    def s_curve(self, pulse_at: Pulse, tau: np.ndarray, levels: np.ndarray, sigma: float = 0.0) -> np.ndarray:  # noqa: ARG002
        """Mean of y[k] a[k-1] - y[k-1] a[k], the `s_curve` of this module."""
        return s_curve(pulse_at, tau, float(np.mean(np.square(levels))))


@final
@dataclass(frozen=True, kw_only=True)
class Gardner(TimingLoop):
    """Gardner: ``e[k] = y[k - 1/2] (y[k-1] - y[k])``, no decisions (F. M. Gardner, IEEE Trans. Commun. 34, 1986)."""

    @property
    def detector(self) -> str:
        """Its name."""
        return "gardner"

    def s_curve(self, pulse_at: Pulse, tau: np.ndarray, levels: np.ndarray, sigma: float = 0.0) -> np.ndarray:  # noqa: ARG002
        """E[a^2] sum_n h(tau + n - 1/2) (h(tau + n - 1) - h(tau + n)), over the symbols from 16 before to 64 after."""
        n = np.arange(-16, 65)
        at = np.asarray(tau, float)[..., None] + n
        total = np.sum(pulse_at(at - 0.5) * (pulse_at(at - 1) - pulse_at(at)), axis=-1)
        return float(np.mean(np.square(levels))) * total


@final
@dataclass(frozen=True, kw_only=True)
class BangBang(TimingLoop):
    """Bang-bang: the sign of the sample half way between two symbols of opposite level (J. D. H. Alexander, Electron. Lett.
    11, 1975).

    Its gain depends on noise and interference at that sample: the bandwidth holds for the small-signal gain with them as
    Gaussian.
    """

    @property
    def detector(self) -> str:
        """Its name."""
        return "bang-bang"

    def s_curve(self, pulse_at: Pulse, tau: np.ndarray, levels: np.ndarray, sigma: float = 0.0) -> np.ndarray:
        """Mean sign, interference of all other symbols (16 before to 64 after) and noise taken as Gaussian."""
        from scipy.special import erf

        tau = np.asarray(tau, float)
        levels = np.asarray(levels, float)
        n = np.arange(-16, 65)
        others = n[(n != 0) & (n != 1)]
        spread = np.mean(levels**2) * np.sum(pulse_at(tau[..., None] - 0.5 + others) ** 2, axis=-1) + sigma**2
        step = pulse_at(tau - 0.5) - pulse_at(tau + 0.5)
        total = np.zeros(tau.shape)
        for level in levels[levels > 0]:
            if np.any(levels == -level):
                total -= 2 / levels.size**2 * erf(level * step / np.sqrt(2 * np.maximum(spread, 1e-300)))
        return total


@dataclass(frozen=True, kw_only=True)
class LockDetector:
    """What a receiver can know about its own lock, judged over windows of ``window`` symbols.

    A window is good when the mean square of the decision error is below ``error_ratio`` times that of an error without any
    relation to the levels (gap^2 / 12; PAM4 reaches it at an error ratio near 0.1), and the sampling phase stays within
    ``wander_ui`` rms of its mean.
    """

    window: int = 1024
    error_ratio: float = 1.0
    wander_ui: float = 0.15

    def __post_init__(self) -> None:
        check.count(self, "window", self.window, 16)
        check.between(self, "error_ratio", self.error_ratio, 0, 4)
        check.between(self, "wander_ui", self.wander_ui, 0, 1, "UI")

    def judge(self, error_power: np.ndarray, wander_ui: np.ndarray, gap: float) -> tuple[bool, int, str]:
        """(locked, windows until lock, reason) from the mean-square decision error and the rms wander of each window.

        ``gap``: smallest distance of neighbouring levels. Locked means good from some window to the last one.
        """
        if error_power.size == 0:
            return False, 0, "no complete window of symbols to judge by"
        ratio = np.asarray(error_power) / (gap**2 / 12)
        quiet, steady = ratio < self.error_ratio, np.asarray(wander_ui) <= self.wander_ui
        bad = np.flatnonzero(~(quiet & steady))
        until = int(bad[-1]) + 1 if bad.size else 0
        if until < ratio.size:
            return True, until, "locked"
        if not quiet[-1]:
            return False, until, f"the decision error is {ratio[-1]:.2f} of a random one, the limit is {self.error_ratio:g}"
        return False, until, f"the sampling phase wanders by {wander_ui[-1]:.2g} UI rms, the limit is {self.wander_ui:g} UI"


def s_curve(pulse_at: Pulse, tau: np.ndarray, mean_square: float) -> np.ndarray:
    """Mean output of the Mueller-Muller detector at sampling times ``tau`` [UI]: E[a^2] (h(tau + 1) - h(tau - 1)).

    For independent symbols of ``mean_square`` and right decisions; unit of the pulse, shape of ``tau``.
    """
    tau = np.asarray(tau, float)
    return mean_square * (pulse_at(tau + 1) - pulse_at(tau - 1))


def lock_phase(pulse_at: Pulse, peak: float, curve: Curve | None = None) -> float | None:
    """Stable zero of an S-curve nearest ``peak`` [UI], where it falls through zero; None if there is none within `REACH`.

    ``curve(pulse_at, tau)``: by default that of the Mueller-Muller detector.
    """

    def output(tau: np.ndarray) -> np.ndarray:
        return s_curve(pulse_at, tau, 1.0) if curve is None else curve(pulse_at, tau)

    tau = peak + np.arange(-REACH * SCAN, REACH * SCAN + 1) / SCAN
    values = output(tau)
    falls = np.flatnonzero((values[:-1] > 0) & (values[1:] <= 0))
    if falls.size == 0:
        return None
    zeros = [_bisect(output, float(tau[i]), float(tau[i + 1])) for i in falls]
    return min(zeros, key=lambda zero: abs(zero - peak))


def detector_gain(pulse_at: Pulse, tau: float, mean_square: float) -> float:
    """Answer of the Mueller-Muller detector to sampling early, -dS/dtau [unit of the pulse per UI] at ``tau`` [UI]; mean over
    1/16 UI.
    """
    return slope(lambda x: s_curve(pulse_at, x, mean_square), tau)


def slope(curve: Callable[[np.ndarray], np.ndarray], tau: float) -> float:
    """Fall of an S-curve at ``tau`` [UI], per UI; mean over 1/16 UI."""
    early, late = curve(np.array([tau - 1 / 32, tau + 1 / 32]))
    return float((early - late) * 16)


def sampled_pulse(pulse: np.ndarray, samples_per_symbol: int, tau: np.ndarray) -> np.ndarray:
    """A periodic sampled pulse between its samples, at ``tau`` [UI] after the first one: cubic through the four nearest."""
    position = np.asarray(tau, float) * samples_per_symbol
    i = np.floor(position).astype(np.intp)
    u = position - i
    before, here, there, beyond = (pulse[(i + k) % pulse.size] for k in (-1, 0, 1, 2))
    return (
        -u * (u - 1) * (u - 2) / 6 * before
        + (u + 1) * (u - 1) * (u - 2) / 2 * here
        - (u + 1) * u * (u - 2) / 2 * there
        + (u + 1) * u * (u - 1) / 6 * beyond
    )


def _bisect(curve: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> float:
    for _ in range(math.ceil(math.log2(1e12 / SCAN))):
        middle = (low + high) / 2
        if curve(np.array([middle]))[0] > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
