"""Clock recovery: where a timing loop settles, how fast it follows, and how it is known to have settled.

Phases are in unit intervals after the peak of the pulse; frequencies are relative to the symbol rate. The detector is
``e[k] = y[k] a[k-1] - y[k-1] a[k]`` (K. H. Mueller and M. Muller, IEEE Trans. Commun. 24, 1976): positive means too early.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dsp import check

SCAN = 32
"""Points per unit interval among which the zeros of the S-curve are looked for."""
REACH = 3
"""Unit intervals to either side of the peak that are searched."""

Pulse = Callable[[np.ndarray], np.ndarray]


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
class MuellerMuller:
    """Second-order loop around the Mueller-Muller detector, on samples before the feed-forward equaliser.

    ``bandwidth``: one-sided noise bandwidth of the loop over the symbol rate, B_n T. ``damping``: 1 is critical. ``latency``:
    symbols by which the correction is late, besides the wait for the decision. All delay times bandwidth beyond about 0.1
    peaks, beyond about 0.3 oscillates.
    """

    bandwidth: float = 1e-4
    damping: float = 1.0
    latency: int = 0

    def __post_init__(self) -> None:
        check.between(
            self, "bandwidth", self.bandwidth, 1e-8, 0.1, hint="relative to the symbol rate: 4 MHz at 53 GBd is 7.5e-5"
        )
        check.between(self, "damping", self.damping, 0.1, 20)
        check.count(self, "latency", self.latency, 0, 4096)

    def sampling_phase(self, pulse: np.ndarray, samples_per_symbol: int) -> float | None:
        """Phase [UI] after the largest sample where the loop settles: pre- and post-cursor are equal there.

        ``pulse``: upright, one period of a periodic pulse at ``samples_per_symbol``. Of several stable zeros the nearest to
        the peak; None where there is none within `REACH`, as when no signal arrives.
        """
        peak = int(np.argmax(np.abs(pulse))) / samples_per_symbol
        found = lock_phase(lambda tau: sampled_pulse(pulse, samples_per_symbol, tau), peak)
        return None if found is None else found - peak

    def gains(self, detector_gain: float) -> tuple[float, float]:
        """Proportional and integral gain [UI per detector unit, the latter per symbol] for a ``detector_gain`` [unit per UI].

        From noise bandwidth and damping (M. Rice, Digital Communications: A Discrete-Time Approach, C.61; the continuous-time
        form B_n = w_n (damping + 1/(4 damping)) / 2 is F. M. Gardner's, Phaselock Techniques, 3rd ed., 6.2).
        """
        check.positive(self, "detector_gain", detector_gain, hint="at a stable zero the S-curve falls")
        theta = self.bandwidth / (self.damping + 1 / (4 * self.damping))
        scale = 1 + 2 * self.damping * theta + theta**2
        return 4 * self.damping * theta / scale / detector_gain, 4 * theta**2 / scale / detector_gain

    def jitter_transfer(self, f_relative: np.ndarray, decision_delay: int = 0) -> np.ndarray:
        """Complex transfer from the phase of the data to that of the samples, shape of ``f_relative`` = f / symbol rate.

        G / (1 + G) with G = (k_p + k_i / (1 - z^-1)) z^-(1 + delay) / (1 - z^-1), delay = `latency` + ``decision_delay``;
        for small jitter. 1 at f = 0.
        """
        proportional, integral = self.gains(1.0)
        z1 = np.exp(-2j * np.pi * np.asarray(f_relative, float))
        forward = (proportional * (1 - z1) + integral) * z1 ** (1 + self.latency + decision_delay)
        return forward / ((1 - z1) ** 2 + forward)


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


def lock_phase(pulse_at: Pulse, peak: float) -> float | None:
    """Stable zero of the S-curve nearest ``peak`` [UI], where it falls through zero; None if there is none within `REACH`."""
    tau = peak + np.arange(-REACH * SCAN, REACH * SCAN + 1) / SCAN
    curve = s_curve(pulse_at, tau, 1.0)
    falls = np.flatnonzero((curve[:-1] > 0) & (curve[1:] <= 0))
    if falls.size == 0:
        return None
    zeros = [_bisect(pulse_at, float(tau[i]), float(tau[i + 1])) for i in falls]
    return min(zeros, key=lambda zero: abs(zero - peak))


def detector_gain(pulse_at: Pulse, tau: float, mean_square: float) -> float:
    """Answer of the detector to sampling early, -dS/dtau [unit of the pulse per UI] at ``tau`` [UI]; mean over 1/16 UI."""
    early, late = s_curve(pulse_at, np.array([tau - 1 / 32, tau + 1 / 32]), mean_square)
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


def _bisect(pulse_at: Pulse, low: float, high: float) -> float:
    for _ in range(math.ceil(math.log2(1e12 / SCAN))):
        middle = (low + high) / 2
        if s_curve(pulse_at, np.array([middle]), 1.0)[0] > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
