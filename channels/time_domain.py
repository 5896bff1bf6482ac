"""What the step and the pulse do on a network known up to some frequency: impedance profile, step and pulse response.

A band that ends is a filter: the step gets a Gaussian edge that is gone where the data end, so that nothing rings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from channels.channel import Channel, mean_delay
from channels.network import MultiPort
from channels.quality import THROUGH
from channels.touchstone_data import Finding
from dsp import check, filters, units
from dsp.grid import Grid
from dsp.response import PulseResponse, pulse_response

NYQUIST_MARGIN = 1.25  # the data are to reach this far beyond the Nyquist frequency
RECEIVER = 0.75  # bandwidth of the receiver's filter in symbol rates, IEEE 802.3 f_r
WINDOW = 100 * units.ns  # shortest window of a pulse: room for the echoes and the tail of metres of cable
BAND = 2  # highest frequency of a pulse in symbol rates: receiver and symbol leave less than 1e-4 above
FINER = 4  # samples a Nyquist interval, so that edges are drawn and measured, not guessed
SHORTER, CHANGE, MUCH = (
    0.8,
    0.02,
    0.05,
)  # a peak that depends on the last fifth of the band by this much depends on what is missing too
ENDS = ("left", "right")
LARGEST_STEP = 0.98  # reflections beyond this are an open or a short: the impedance is out of range


@dataclass(frozen=True, kw_only=True, eq=False)
class StepResponse:
    """Response to a unit step at time 0 with a Gaussian edge of ``rise_time`` [s] (20 to 80 %): ``time`` [s] and ``value``."""

    time: np.ndarray
    value: np.ndarray
    rise_time: float

    def __post_init__(self) -> None:
        for array in (self.time, self.value):
            array.setflags(write=False)


def step_response(
    part: MultiPort, out: int, into: int, *, f_max: float, duration: float, z0: float = 100.0, rise_time: float | None = None
) -> StepResponse:
    """Step response of S[out, in] (ports from 0) of ``part`` on ``z0`` [ohm], known up to ``f_max`` [Hz].

    The record is at least twice ``duration`` [s], and starts an eighth of it before time 0; what lasts longer folds back.
    ``rise_time`` [s] by default 1 / f_max, for which the edge's spectrum is 1e-3 at ``f_max``; a shorter one rings.
    """
    check.positive("step_response", "f_max", f_max, "Hz")
    check.positive("step_response", "duration", duration, "s")
    rise = 1 / f_max if rise_time is None else rise_time
    check.positive("step_response", "rise_time", rise, "s")
    for field, port in (("out", out), ("into", into)):
        check.count("step_response", field, port, 0, part.n_ports - 1)
    n = 2 ** int(np.ceil(np.log2(max(4 * duration * f_max, 64))))
    f = np.linspace(0, f_max, n // 2 + 1)
    spectrum = part.s(f, z0)[out, into] * filters.gaussian_edge(f, rise)
    spectrum[-1] = 0  # the last point would alias onto itself in the finer record
    fine = n * FINER
    impulse = np.roll(np.fft.irfft(spectrum, fine), fine // 8)
    # the integral up to the middle of a sample
    value = np.cumsum(impulse) - impulse / 2
    time = (np.arange(fine) - fine // 8) / (2 * f_max * FINER)
    return StepResponse(time=time, value=value, rise_time=rise)


@dataclass(frozen=True, kw_only=True, eq=False)
class ImpedanceProfile:
    """What a time-domain reflectometer shows: ``impedance`` [ohm] against round-trip ``time`` [s].

    Z = z0 (1 + rho) / (1 - rho) from the step response rho of the reflection at ``end``: exact up to the first mismatch, behind
    it as an instrument shows it, with the echoes in it and the loss of the line as a rise. |rho| is taken as 0.98 at most.
    ``rise_time`` [s] (20 to 80 %) tells what it resolves.
    """

    time: np.ndarray
    impedance: np.ndarray
    rise_time: float
    reference: float
    end: str

    def __post_init__(self) -> None:
        for array in (self.time, self.impedance):
            array.setflags(write=False)

    def between(self, start: float, stop: float) -> float:
        """Median impedance [ohm] from ``start`` to ``stop`` [s], round trip."""
        inside = (self.time >= start) & (self.time <= stop)
        if not np.any(inside):
            raise check.fail(self, "between", f"within {self.time[0]:g} to {self.time[-1]:g} s", (start, stop))
        return float(np.median(self.impedance[inside]))


def impedance_profile(
    part: MultiPort, *, f_max: float, duration: float, end: str = "left", z0: float = 100.0, rise_time: float | None = None
) -> ImpedanceProfile:
    """Impedance profile of a two-port seen from its ``end``, the other in ``z0`` [ohm], over ``duration`` [s] of round trip."""
    check.one_of("impedance_profile", "end", end, ENDS)
    if part.n_ports != 2:
        raise check.fail("impedance_profile", "part", "a two-port", f"{part.n_ports} ports")
    port = ENDS.index(end)
    step = step_response(part, port, port, f_max=f_max, duration=duration, z0=z0, rise_time=rise_time)
    shown = (step.time >= -2 * step.rise_time) & (step.time <= duration)
    rho = np.clip(step.value[shown], -LARGEST_STEP, LARGEST_STEP)
    return ImpedanceProfile(
        time=step.time[shown].copy(), impedance=z0 * (1 + rho) / (1 - rho), rise_time=step.rise_time, reference=z0, end=end
    )


def highest_rate(f_max: float) -> float:
    """Symbol rate [Bd] for which data up to ``f_max`` [Hz] still reach 1.25 times the Nyquist frequency."""
    check.positive("highest_rate", "f_max", f_max, "Hz")
    return 2 * f_max / NYQUIST_MARGIN


def pulse(
    channel: Channel, symbol_rate: float, *, samples_per_symbol: int = 32, bandwidth: float | None = None,
    f_max: float | None = None,
) -> PulseResponse:  # fmt: skip
    """Response to one symbol of 1 V through ``channel`` and a receiver's fourth-order Butterworth filter (93A-20), delay kept.

    ``bandwidth`` [Hz] of that filter, 0.75 of ``symbol_rate`` [Bd] by default. Nothing is taken above ``f_max`` [Hz].
    """
    check.symbol_rate("pulse", "symbol_rate", symbol_rate)
    check.count("pulse", "samples_per_symbol", samples_per_symbol, 2 * BAND)
    n_symbols = 2 ** int(np.ceil(np.log2(max(WINDOW * symbol_rate, 64))))
    grid = Grid(symbol_rate=symbol_rate, samples_per_symbol=samples_per_symbol, n_symbols=n_symbols)
    f = np.arange(BAND * n_symbols + 1) * grid.df
    hold = filters.zero_order_hold(f, 1 / symbol_rate) * np.exp(-1j * np.pi * f / symbol_rate) / symbol_rate
    received = filters.butterworth4(f, RECEIVER * symbol_rate if bandwidth is None else bandwidth)
    spectrum = channel.transfer(f) * hold * received
    if f_max is not None:
        spectrum = np.where(f <= f_max, spectrum, 0)
    return pulse_response(spectrum, grid, mean_delay(channel, grid))


def pulse_findings(channel: Channel, symbol_rate: float, f_max: float) -> tuple[Finding, ...]:
    """What to say of the pulse of a through path known up to ``f_max`` [Hz]: inverted, or made by the end of the band.

    Nothing of crosstalk, whose pulse may have either sign and whose band is that of its rise.
    """
    if np.max(np.abs(channel.transfer(np.linspace(0, symbol_rate / 2, 65)))) < THROUGH:
        return ()
    whole = pulse(channel, symbol_rate)
    shorter = pulse(channel, symbol_rate, f_max=SHORTER * f_max)
    height = float(np.abs(whole.samples[whole.peak]))
    found = []
    if whole.polarity < 0:
        found.append(Finding("inverted", "the pulse is negative: plus and minus are exchanged at one end"))
    change = float(np.abs(shorter.samples[shorter.peak])) / height - 1
    if abs(change) > CHANGE:
        text = f"the pulse at {symbol_rate / units.GBd:.6g} GBd changes by {change:+.1%} without the last fifth of the band"
        severity = "warning" if abs(change) > MUCH else "info"
        found.append(Finding("band-edge", text + ": what lies above the data counts", severity))
    return tuple(found)
