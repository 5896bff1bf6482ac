"""How good are the data of a through path? Noise floor, DC block and droop, causality by Kramers-Kronig, IEEE 370 figures.

Each measure says None, and why, where the data do not carry it. Nothing here repairs anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from channels import causality
from channels.conditioning import DC_BLOCK, RISING, is_uniform
from channels.touchstone_data import Finding
from dsp import check, units

THROUGH = 0.5  # |S21| that a through path reaches somewhere
CLEARANCE = 10**0.5  # |S21| is to stay 10 dB above the noise floor
SMOOTH_PHASE = 0.3  # [rad] phase step, delay removed, above which the curvature of S21 looks like noise
KK_LOSS = 10**-1.5  # Kramers-Kronig uses S21 up to 30 dB of loss: beyond, notches and what they leave decide
KK_CLEAR = 500.0  # and as long as S21 is this far above the noise, whose phase would count
KK_POINTS = 64
ECHOES = 4.5  # the first echo comes after twice the delay, and must lie in the first half of the record
TOP = 0.1  # part of the band from which the noise is taken


class NoiseFloor(NamedTuple):
    """``floor``: rms of the noise of S21 per point; ``clear_to`` [Hz]: |S21| stays 10 dB above it up to there."""

    floor: float
    clear_to: float


def noise_floor(f: np.ndarray, transfer: np.ndarray, delay: float) -> NoiseFloor | None:
    """Noise of a measured path ``transfer`` (n_f,) on ``f`` [Hz]; None where the grid is too coarse or uneven to tell.

    From third differences over the top tenth of the band, ``delay`` [s] removed: they take out all that is smooth, and leave
    sqrt(20) times noise that is independent from point to point.
    """
    if f.size < 2 * KK_POINTS or not is_uniform(f):
        return None
    smooth = transfer * np.exp(2j * np.pi * f * delay)
    n = max(KK_POINTS, int(TOP * f.size))
    top = smooth[-n:]
    product = top[1:] * top[:-1].conj()
    if np.any(top) and np.median(np.abs(np.angle(product))) > SMOOTH_PHASE and np.max(np.abs(top)) > KK_LOSS:
        return None  # a strong signal that turns fast is not noise
    floor = float(np.sqrt(np.mean(np.abs(np.diff(top, 3)) ** 2) / 20))
    # power averaged over a hundredth of the band, so that a notch is no noise
    width = max(f.size // 100, 3)
    power = np.convolve(np.pad(np.abs(transfer) ** 2, width, mode="edge"), np.full(2 * width + 1, 1 / (2 * width + 1)), "valid")
    buried = power < (CLEARANCE * floor) ** 2
    # near 0 Hz a blocked path is small without being noisy
    buried[: int(np.argmax(power))] = False
    return NoiseFloor(floor, float(f[np.argmax(buried) - 1] if np.any(buried) else f[-1]))


def noise_findings(f: np.ndarray, noise: NoiseFloor | None) -> tuple[Finding, ...]:
    """What to say where S21 comes within 10 dB of the noise."""
    if noise is None or noise.clear_to >= f[-1]:
        return ()
    at = f"{noise.clear_to / units.GHz:.4g} GHz"
    text = f"noise floor {units.db(noise.floor):.0f} dB: |S21| is less than 10 dB above it from {at} on"
    return (Finding("noise-floor", text + "; fits to the loss and return-loss measures are wrong there, pulses hardly"),)


@dataclass(frozen=True, kw_only=True)
class DcBlock:
    """A path through a capacitor. ``corner`` [Hz] of the high pass, ``droop_time`` [s] in which a level decays to 1/e.

    Both None where the data begin above the corner.
    """

    corner: float | None

    @property
    def droop_time(self) -> float | None:
        """1 / (2 pi corner) [s]."""
        return None if self.corner is None else 1 / (2 * np.pi * self.corner)

    def wander(self, duration: float) -> float | None:
        """Part of a level that is lost after ``duration`` [s] without a transition: 1 - exp(-duration / droop_time)."""
        return None if self.droop_time is None else float(-np.expm1(-duration / self.droop_time))


def dc_block(f: np.ndarray, transfer: np.ndarray, delay: float) -> DcBlock | None:
    """The DC block in a through path, None where there is none (or where the data do not reach down to it).

    A path that passes more than half somewhere and goes to 0 towards DC. The corner f_c is fitted to
    1 / H = (1 + f_c / (jf)) / H_0, ``delay`` [s] removed, over the points up to the first where |H|
    has reached 80 % of its largest value.
    """
    size, positive = np.abs(transfer), f > 0
    if np.count_nonzero(positive) < 2 or np.max(size) < THROUGH:
        return None
    fp, hp = f[positive], transfer[positive] * np.exp(2j * np.pi * f[positive] * delay)
    level = np.max(np.abs(hp))
    if size[0] >= (DC_BLOCK if f[0] == 0 else RISING) * level:
        return None
    reached = int(np.argmax(np.abs(hp) >= RISING * level))
    used = (fp <= fp[reached]) & (hp != 0)
    if reached < 2 or np.count_nonzero(used) < 3:
        return DcBlock(corner=None)
    g, weight = fp[used], np.abs(hp[used]) ** 2
    target = weight / hp[used]
    terms = np.stack([weight + 0j, weight / (1j * g)], axis=1)
    a, b = np.linalg.lstsq(np.vstack([terms.real, terms.imag]), np.concatenate([target.real, target.imag]), rcond=None)[0]
    return DcBlock(corner=float(b / a)) if a * b > 0 else DcBlock(corner=None)


def block_findings(f: np.ndarray, block: DcBlock | None) -> tuple[Finding, ...]:
    """What to say of a path without DC."""
    if block is None:
        return ()
    if block.corner is None or block.droop_time is None:
        first = f[f > 0][0]
        text = "AC-coupled: no path at DC, the corner lies below the points that would show it "
        text += f"(the first is {first / units.MHz:g} MHz): droop unknown"
    else:
        text = f"AC-coupled: corner {block.corner / units.MHz:.4g} MHz, a level droops to 1/e in "
        text += f"{block.droop_time / units.ns:.4g} ns (baseline wander)"
    return (Finding("ac-coupled", text),)


class PhaseResidual(NamedTuple):
    """``value`` [rad] as `causality.phase_residual`, None where it cannot be had; ``basis``: from which data, or why not."""

    value: float | None
    basis: str


def kramers_kronig(f: np.ndarray, transfer: np.ndarray, delay: float, noise: NoiseFloor | None) -> PhaseResidual:
    """Phase that the loss does not explain, on the part of the data where that can be said.

    The part: from the bottom to the first point with 30 dB of loss or within 54 dB of the noise. Not for grids that are not
    uniform from DC on, paths blocked at DC, crosstalk, and where ``noise`` is unknown. An echo that is stronger than the direct
    path makes a real channel look non-causal; copper that carries data has none.
    """
    if noise is None or not is_uniform(f):
        return PhaseResidual(None, "the grid is not uniform, or too coarse")
    step = (f[-1] - f[0]) / (f.size - 1)
    if f[0] > 2.001 * step:
        return PhaseResidual(None, f"data begin {f[0] / step:.0f} steps above DC")
    if np.min(np.abs(transfer[:3])) < THROUGH:
        return PhaseResidual(None, "not a through path from DC on")
    if 1 / step < ECHOES * abs(delay):
        return PhaseResidual(None, f"the record of {1 / step:.3g} s is too short for echoes of a delay of {delay:.3g} s")
    low = np.abs(transfer) < max(KK_LOSS, KK_CLEAR * noise.floor)
    n = int(np.argmax(low)) if np.any(low) else f.size
    if n < KK_POINTS:
        return PhaseResidual(None, f"{n} clean points, fewer than {KK_POINTS}")
    removed = transfer * np.exp(2j * np.pi * f * delay)
    return PhaseResidual(causality.phase_residual(f[:n], removed[:n]), f"data up to {f[n - 1] / units.GHz:.4g} GHz")


def kramers_kronig_findings(residual: PhaseResidual) -> tuple[Finding, ...]:
    """What to say of a phase that the loss does not explain."""
    if residual.value is None or residual.value <= causality.RESIDUAL_LIMIT:
        return ()
    text = (
        f"phase and loss of S21 do not belong together: Kramers-Kronig residual {residual.value:.3g} rad, copper stays below "
    )
    text += f"{causality.RESIDUAL_LIMIT:g} ({residual.basis}): a constant loss tangent, or resistance without its inductance?"
    return (Finding("kramers-kronig", text),)


@dataclass(frozen=True, kw_only=True)
class Ieee370:
    """Quality figures of IEEE 370-2020: initial ones [%], 100 is best, and application-based ones [V], 0 is best, or None."""

    causality: float
    passivity: float
    reciprocity: float
    causality_error: float | None = None
    passivity_error: float | None = None
    reciprocity_error: float | None = None


def ieee370(f: np.ndarray, s: np.ndarray, reference: tuple[float, ...], symbol_rate: float | None = None) -> Ieee370:
    """IEEE 370-2020 figures of a two-port ``s`` (2, 2, n_f), computed by scikit-rf (``IEEEP370_FD_QM`` and ``IEEEP370_TD_QM``).

    With ``symbol_rate`` [Bd] also the application-based ones, for a Gaussian pulse at that rate (a few seconds). Raises
    ValueError where they cannot be had: fewer than 3 points, an uneven grid (the causality figure counts the turns of S from
    point to point, which an uneven step bends), data that end below 1.5 times the rate.
    """
    import skrf
    from skrf.calibration import deembedding

    if s.shape[:2] != (2, 2) or f.size < 3:
        raise check.fail("ieee370", "s", "a two-port of 3 points or more", s.shape)
    if not is_uniform(f):
        steps = np.diff(f)
        got = f"{f.size} points with steps from {np.min(steps):g} to {np.max(steps):g} Hz"
        raise check.fail("ieee370", "f", "a uniform grid [Hz]: the causality figure compares neighbouring points", got)
    network = skrf.Network(f=f, f_unit="Hz", s=np.moveaxis(s, -1, 0), z0=np.array(reference))
    with np.errstate(invalid="ignore", divide="ignore"):  # of an entry on a straight line scikit-rf takes the 0 / 0 as 0 %
        initial = deembedding.IEEEP370_FD_QM().check_se_quality(network)
    figures = {name: float(initial[name]["value"]) for name in ("causality", "passivity", "reciprocity")}
    if symbol_rate is None:
        return Ieee370(**figures)
    check.symbol_rate("ieee370", "symbol_rate", symbol_rate)
    if f[-1] < 1.5 * symbol_rate:
        raise check.fail("ieee370", "symbol_rate", f"{f[-1] / 1.5:g} Bd or less for data up to {f[-1]:g} Hz", symbol_rate)
    judge = deembedding.IEEEP370_TD_QM(data_rate=symbol_rate, sample_per_UI=32, rise_time_per=0.35)
    applied = judge.check_se_quality(network)
    errors = {f"{name}_error": float(applied[name]["value"]) * units.mV for name in ("causality", "passivity", "reciprocity")}
    return Ieee370(**figures, **errors)
