"""Analogue-to-digital and digital-to-analogue conversion: full scale from a clip probability, step, quantisation noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.distribution import Interference, q_inv


@dataclass(frozen=True, kw_only=True)
class LaneMismatch:
    """What sets the lanes of a time-interleaved converter apart; lane k takes samples k, k + n, k + 2 n ...

    By lane: ``gain``, relative error; ``offset`` over the full scale; ``skew_ui``, its instant late by so much.
    """

    gain: tuple[float, ...]
    offset: tuple[float, ...]
    skew_ui: tuple[float, ...]

    def __post_init__(self) -> None:
        for field, most in (("gain", 0.5), ("offset", 0.5), ("skew_ui", 0.5)):
            values = getattr(self, field)
            check.numbers(self, field, values, 1)
            for i, value in enumerate(values):
                check.between(self, f"{field}[{i}]", value, -most, most)
        check.same_length(self, ("offset", self.offset), ("gain", self.gain))
        check.same_length(self, ("skew_ui", self.skew_ui), ("gain", self.gain))

    @classmethod
    def drawn(
        cls, n_lanes: int, rng: np.random.Generator, gain: float = 0.0, offset: float = 0.0, skew_ui: float = 0.0
    ) -> LaneMismatch:
        """``n_lanes`` lanes whose errors are Gaussian of the given rms, their means taken out."""
        check.count("LaneMismatch.drawn", "n_lanes", n_lanes, 2)
        draws = rng.standard_normal((3, n_lanes))
        draws -= draws.mean(axis=1, keepdims=True)
        rows = draws * np.array([[gain], [offset], [skew_ui]])
        return cls(gain=tuple(rows[0].tolist()), offset=tuple(rows[1].tolist()), skew_ui=tuple(rows[2].tolist()))


@dataclass(frozen=True, kw_only=True)
class Vga:
    """Variable-gain amplifier before a converter of fixed input range ``full_scale`` [V]: gain from ``low_db`` to ``high_db``.

    In steps of ``step_db``, 0 for any gain.
    """

    full_scale: float
    low_db: float = -12.0
    high_db: float = 24.0
    step_db: float = 0.5

    def __post_init__(self) -> None:
        check.positive(self, "full_scale", self.full_scale, "V")
        check.between(self, "low_db", self.low_db, -60, 60, "dB")
        check.between(self, "high_db", self.high_db, self.low_db, 60, "dB")
        check.between(self, "step_db", self.step_db, 0, 20, "dB")

    def gain_db(self, peak: float) -> float:
        """The largest gain [dB] with which ``peak`` [V] does not exceed the full scale; the lowest one where all do."""
        check.positive(self, "peak", peak, "V")
        wanted = 20 * math.log10(self.full_scale / peak)
        if self.step_db:
            wanted = self.low_db + math.floor((wanted - self.low_db) / self.step_db + 1e-9) * self.step_db
        return min(max(wanted, self.low_db), self.high_db)

    def range(self, peak: float) -> float:
        """Full scale referred to the amplifier's input [V] for a signal of ``peak`` [V]."""
        return float(self.full_scale * 10 ** (-self.gain_db(peak) / 20))


@dataclass(frozen=True, kw_only=True)
class Converter:
    """A uniform converter of ``n_bits`` whose range is exceeded with probability ``clip_probability``.

    The probability is two-sided: half of it lies above +V and half below -V (IEEE 802.3dj 178A-28 .. 31, P_qc / 2 a side).
    ``clip_rule``: "signal" takes the true distribution of the signal at the converter, "gaussian" a Gaussian of the same
    rms, as a gain control that only knows the power would; the latter range is the larger for PAM signals. ``enob``: effective
    bits, less than ``n_bits`` by white noise of its own. ``vga``: amplifier in front, None for any gain that is wanted.
    ``mismatch``: of its lanes, known to the signal face alone. Jitter of its aperture is that of the receiver.
    """

    n_bits: int
    clip_probability: float = 1e-7
    clip_rule: str = "signal"
    enob: float | None = None
    vga: Vga | None = None
    mismatch: LaneMismatch | None = None

    def __post_init__(self) -> None:
        check.count(self, "n_bits", self.n_bits, 1, 24)
        check.positive(self, "clip_probability", self.clip_probability)
        check.between(self, "clip_probability", self.clip_probability, 0, 0.5)
        check.one_of(self, "clip_rule", self.clip_rule, ("signal", "gaussian"))
        if self.enob is not None:
            check.between(self, "enob", self.enob, 0.5, self.n_bits)
        if self.vga is not None:
            check.instance(self, "vga", self.vga, Vga)
        if self.mismatch is not None:
            check.instance(self, "mismatch", self.mismatch, LaneMismatch)

    def full_scale(self, signal: Interference, exact: bool = True) -> float:
        """Range V [V] of the converter, -V to V, for a ``signal`` given with its main cursor as one of the cursors.

        ``exact=False`` takes the fast `Interference.quantile_saddle`, for searches.
        """
        wanted = self._peak(signal, exact)
        return self.vga.range(wanted) if self.vga is not None and wanted > 0 else wanted

    def _peak(self, signal: Interference, exact: bool) -> float:
        if self.clip_rule == "gaussian":
            return float(q_inv(self.clip_probability / 2)) * float(np.sqrt(signal.variance + signal.mean**2))
        quantile = signal.quantile if exact else signal.quantile_saddle
        upper = quantile(self.clip_probability / 2)
        if signal.symmetric:
            return upper
        return max(upper, -quantile(1 - self.clip_probability / 2))

    def step(self, full_scale: float) -> float:
        """Distance [V] of neighbouring output levels, 2 V / (2^n - 1): the outer levels are at -V and V (178A-30)."""
        check.positive(self, "full_scale", full_scale, "V")
        return 2 * full_scale / (2**self.n_bits - 1)

    def noise_variance(self, full_scale: float) -> float:
        """Variance [V^2] of all its noise, white; 0 of no signal. The error of a signal that crosses many steps has step^2 /
        12.

        With ``enob`` that of a converter of as many bits: (2 V / (2^enob - 1))^2 / 12.
        """
        if not full_scale:
            return 0.0
        return self.step(full_scale) ** 2 / 12 + self.own_noise(full_scale)

    def own_noise(self, full_scale: float) -> float:
        """Variance [V^2] of what it adds before it rounds, so that it has its effective bits."""
        if self.enob is None:
            return 0.0
        check.positive(self, "full_scale", full_scale, "V")
        return ((2 * full_scale / (2**self.enob - 1)) ** 2 - self.step(full_scale) ** 2) / 12

    def convert(self, x: np.ndarray, full_scale: float) -> np.ndarray:
        """``x`` [V], any shape, rounded to the nearest of the 2^n levels (mid-rise: none is at 0); saturates at +-V."""
        step = self.step(full_scale)
        code = np.clip(np.rint((np.asarray(x, float) + full_scale) / step), 0, 2**self.n_bits - 1)
        return code * step - full_scale
