"""From the samples of a network on any grid to its response at any frequency, each step named, switchable and reported.

Steps, in order: reciprocity, passivity, bulk delay removed, DC point, cubic interpolation, delay restored, taper at the band
edge, nothing beyond it. Sorting is done on reading (`channels.touchstone`). Causality is measured and never repaired.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from channels import causality
from channels.touchstone_data import Finding
from dsp import check, units

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

DC_METHODS = ("auto", "series_resistance", "blocked")
UNIFORM = 1e-6  # relative spread of the steps of a uniform grid
CLIP_LIMIT = 1e-3  # a larger excess over 1 is a wrong measurement: clipping it would hide the fault
PASSIVE, RECIPROCAL = 1e-4, 1e-3
Paths = tuple[tuple[int, int], ...]
EARLY_ENERGY = 0.01  # fraction of the energy before time zero that counts as non-causal
RISING = 0.8  # |S21| starting below this part of its later maximum has no path at DC
DC_BLOCK = 0.5  # |S21(0)| below this part of the first point above is a DC block
LINE = 0.5  # |S21(0)| above which a path is a line with a resistance and no attenuator
NEGATIVE = 0.1  # part of the record that a negative delay may take
N_FIT = 100  # points of the low-frequency fit
N_FILL = 8  # points put below the first one of the data
N_PULSE = 32  # its points that take the place of a step where there is no DC
N_TIME = 4096  # points of the grid that time-domain measures use


@dataclass(frozen=True, kw_only=True)
class Conditioning:
    """Choices of the steps.

    ``dc``: "auto" keeps a DC point that is there and else extrapolates the loss of a line by its skin effect, or takes 0 for a
    path that rises from DC (crosstalk, DC block); "series_resistance" takes S21 = 2 sqrt(z1 z2) / (z1 + z2 + R) with the
    ``dc_resistance`` R [ohm] of the loop, both wires of a pair together; "blocked" an open. ``remove_delay`` before
    interpolation. ``taper``: fraction of the band under a raised-cosine edge, 0 none. ``clip_passivity`` clips singular values
    at 1 where the excess is under 1e-3 and refuses more. ``average_reciprocity`` puts (S12 + S21) / 2 in both.
    """

    dc: str = "auto"
    dc_resistance: float = 0.0
    remove_delay: bool = True
    taper: float = 0.0
    clip_passivity: bool = False
    average_reciprocity: bool = False

    def __post_init__(self) -> None:
        check.one_of(self, "dc", self.dc, DC_METHODS)
        check.not_negative(self, "dc_resistance", self.dc_resistance, "ohm")
        if self.dc_resistance and self.dc != "series_resistance":
            raise check.fail(self, "dc_resistance", "0 unless dc is series_resistance", self.dc_resistance)
        check.between(self, "taper", self.taper, 0, 0.5)
        for name in ("remove_delay", "clip_passivity", "average_reciprocity"):
            check.instance(self, name, getattr(self, name), bool)


@dataclass(frozen=True, kw_only=True, eq=False)
class Conditioned:
    """A network ready for any frequency: ``response(f)``; made by `condition`.

    ``delay`` [s] is the bulk delay, ``removed`` [s] what of it was taken out for interpolation, ``dc_method`` says where S(0)
    comes from, ``steps`` what each step did by the ``choices``, in order. ``path`` is the (out, in) that the measures of delay
    and causality look at.
    """

    f_max: float
    delay: float
    dc_method: str
    choices: Conditioning
    steps: tuple[str, ...]
    findings: tuple[Finding, ...]
    spline: CubicSpline = field(repr=False)
    removed: float
    path: tuple[int, int] = (1, 0)

    @property
    def nbytes(self) -> int:
        """Memory of the interpolation [bytes]."""
        return int(self.spline.c.nbytes)

    def response(self, f: np.ndarray) -> np.ndarray:
        """S (n, n, n_f) at ``f`` [Hz], 0 or more, on the references of the data; 0 beyond the last point of the data."""
        f = np.asarray(f, float)
        s = np.zeros((*self.spline.c.shape[2:], f.size), complex)
        inside = f <= self.f_max * (1 + 1e-12)
        g = np.minimum(f[inside], self.f_max)
        s[:, :, inside] = self.spline(g) * np.exp(-2j * np.pi * g * self.removed)
        if self.choices.taper:
            start = (1 - self.choices.taper) * self.f_max
            s *= np.cos(np.pi / 2 * np.clip((f - start) / (self.f_max - start), 0, 1)) ** 2
        return s

    def leading_edge(self, level: float = 0.05) -> float:
        """Time [s] at which the step response of S21 first reaches ``level`` of its highest value; may be negative.

        The record is centred on the bulk delay, and a Gaussian filter to a third of the band keeps its end from ringing.
        """
        from scipy import fft

        f = np.linspace(0, self.f_max, N_TIME + 1)
        shaped = self.response(f)[self.path] * np.exp(2j * np.pi * f * self.delay - (2 * f / self.f_max) ** 2)
        step = np.cumsum(np.roll(fft.irfft(shaped), N_TIME))
        size = np.abs(shaped)
        if np.max(size) > DC_BLOCK > size[0] / np.max(size):
            # the droop of a DC block is longer than the record, and its end would pass for an early edge: a short pulse instead
            step = step - np.roll(step, N_PULSE)
        goal = level * step[np.argmax(np.abs(step))]
        k = int(np.argmax(step * np.sign(goal) >= abs(goal)))
        before = step[k - 1] if k else 0.0
        position = k - 1 + (goal - before) / (step[k] - before) if step[k] != before else k
        # a sample of the sum holds what has come in until half a step after its time; the filter (standard deviation
        # sqrt(2) / (pi f_max) in time) makes a sharp edge reach the level early by a known amount
        early = NormalDist().inv_cdf(level) * 2**0.5 / (np.pi * self.f_max)
        return float((position + 0.5 - N_TIME) / (2 * self.f_max) + self.delay - early)

    def early_energy(self) -> float:
        """Fraction of the energy of S21's impulse response before time zero (`causality.energy_before_zero`)."""
        step = min(self.f_max / N_TIME, 0.125 / abs(self.delay) if self.delay else np.inf)
        f = np.arange(int(self.f_max / step) + 1) * step
        return causality.energy_before_zero(f, self.response(f)[self.path])


def is_uniform(f: np.ndarray) -> bool:
    """Whether the steps of ``f`` are equal."""
    steps = np.diff(f)
    return bool(steps.size and np.ptp(steps) <= UNIFORM * np.mean(steps))


def bulk_delay(f: np.ndarray, transfer: np.ndarray) -> float:
    """Delay [s] from the phase between neighbouring points, weighted by energy.

    On a uniform grid it is known up to multiples of 1 / step; the value from -0.1 to 0.9 of that is taken.

    First from the finer half of the steps, where the phase cannot have wrapped, then refined with all of them.
    """
    steps = np.diff(f)
    product = transfer[1:] * transfer[:-1].conj()
    fine = steps <= np.median(steps) * (1 + UNIFORM)
    delay = 0.0
    for chosen in (fine, np.ones_like(fine)):
        turned = product * np.exp(2j * np.pi * steps * delay)
        weight = np.abs(product) * chosen
        if np.sum(weight * steps) > 0:
            # the mean vector first: single angles of noisy points wrap, their sum does not
            centre = np.angle(np.sum(turned * chosen))
            angle = centre + np.angle(turned * np.exp(-1j * centre))
            delay -= float(np.sum(weight * angle * steps) / np.sum(weight * steps**2)) / (2 * np.pi)
    if is_uniform(f) and delay < -NEGATIVE / steps[0]:
        delay += 1 / steps[0]  # more likely a long delay that wrapped than a long negative one
    return delay


def passivity_findings(f: np.ndarray, s: np.ndarray, clipped: bool = False) -> tuple[float, float, int, tuple[Finding, ...]]:
    """Largest singular value, the frequency [Hz] where it is, the number of points beyond 1 + 1e-4, and what to say.

    ``clipped``: what is used of ``s`` has its singular values clipped at 1.
    """
    largest = np.linalg.svd(np.moveaxis(s, -1, 0), compute_uv=False)[:, 0]
    k, n = int(np.argmax(largest)), int(np.count_nonzero(largest > 1 + PASSIVE))
    text = f"not passive: largest singular value {largest[k]:.6g} at {f[k]:g} Hz, {n} of {f.size} points beyond 1; "
    if clipped:
        text += "clipped at 1 in what is used"
    elif largest[k] > 1 + CLIP_LIMIT:
        text += "too much to repair: left as they are, losses and eyes are those of data with gain and not to be trusted; measure or export again"
    else:
        text += "left as they are, small enough to repair with clip_passivity"
    finding = Finding("not-passive", text, "info" if clipped else "warning")
    return float(largest[k]), float(f[k]), n, (finding,) if n else ()


def condition(
    f: np.ndarray, s: np.ndarray, reference: tuple[float, ...], choices: Conditioning, paths: Paths = ((1, 0),)
) -> Conditioned:
    """Prepare a network ``s`` (n, n, n_f) on ascending ``f`` [Hz] and real ``reference`` [ohm] for any frequency.

    ``paths``: (out, in) of the through paths from 0; the first gives the delay.
    Raises ValueError for fewer than 2 points and for an excess over passivity that clipping must not hide.
    """
    from scipy.interpolate import CubicSpline

    if f.size < 2:
        raise check.fail("condition", "f", "2 points or more; a time response needs a grid from near DC", f"{f.size} point")
    findings = []
    reciprocity = causality.reciprocity(s)
    if reciprocity > RECIPROCAL:
        findings.append(
            Finding("not-reciprocal", f"|S12 - S21| reaches {reciprocity:.3g}: amplifier, or a port order mixed up?")
        )
    steps = [
        f"reciprocity: {'averaged' if choices.average_reciprocity else 'left as it is'}, |S12 - S21| was up to {reciprocity:.3g}"
    ]
    if choices.average_reciprocity:
        s = (s + s.swapaxes(0, 1)) / 2
    if choices.clip_passivity:
        s, largest = _clipped(s)
        steps.append(f"singular values: clipped at 1, largest {largest:.6g} before and {min(largest, 1.0):.6g} after")
    else:
        steps.append("singular values: left as they are")
    delay = bulk_delay(f, s[paths[0]])
    removed = delay if choices.remove_delay else 0.0
    kept = "removed before interpolation and put back" if choices.remove_delay else "kept"
    steps.append(f"bulk delay: {delay / units.ns:.6g} ns {kept}")
    s = s * np.exp(2j * np.pi * f * removed)
    below, low, method, found = _low_end(f, s, reference, choices, paths)
    findings += found
    if not is_uniform(f):
        findings.append(Finding("non-uniform", "non-uniform frequency grid: resampled by cubic interpolation", "info"))
    edge = f"raised cosine from {(1 - choices.taper) * f[-1] / units.GHz:.6g} GHz" if choices.taper else "none"
    steps += [
        f"DC: S(0) {method}",
        f"interpolation: cubic, {below.size} points from 0 Hz on put below {f[f > 0][0] / units.MHz:.6g} MHz",
        f"taper: {edge}; nothing beyond {f[-1] / units.GHz:.6g} GHz",
    ]
    keep = f > 0
    spline = CubicSpline(np.concatenate([below, f[keep]]), np.concatenate([low, s[:, :, keep]], axis=-1), axis=-1)
    return Conditioned(
        f_max=float(f[-1]),
        delay=delay,
        removed=removed,
        dc_method=method,
        choices=choices,
        steps=tuple(steps),
        findings=tuple(findings),
        spline=spline,
        path=paths[0],
    )


def _clipped(s: np.ndarray) -> tuple[np.ndarray, float]:
    """``s`` with singular values of 1 at most, and the largest that there was."""
    u, values, v = np.linalg.svd(np.moveaxis(s, -1, 0))
    largest = float(np.max(values))
    if largest > 1 + CLIP_LIMIT:
        raise check.fail("Conditioning", "clip_passivity", "off where the excess over 1 exceeds 1e-3", largest)
    return np.moveaxis((u * np.minimum(values, 1)[:, None, :]) @ v, 0, -1), largest


def _low_end(
    f: np.ndarray, s: np.ndarray, reference: tuple[float, ...], choices: Conditioning, paths: Paths
) -> tuple[np.ndarray, np.ndarray, str, list[Finding]]:
    """Points from 0 to below the first positive frequency: real at 0, graded towards it; and how S(0) was found.

    A through path below the first point follows ln S21 = c0 + c1 sqrt(jf) + c2 jf with real c (resistance, skin effect, delay)
    and is scaled to meet the first point. Everything else goes to its DC value with even real and odd imaginary part.
    """
    findings: list[Finding] = []
    positive = f > 0
    fp, sp = f[positive], s[:, :, positive]
    first, has_dc = fp[0], f[0] == 0
    both_ways = [way for out, into in paths for way in ((out, into), (into, out))]
    rising = {way for way in both_ways if np.abs(sp[way][0]) < RISING * np.max(np.abs(sp[way]))}
    if has_dc:
        dc = np.abs(s[:, :, 0]) * np.where(s[:, :, 0].real < 0, -1, 1)
        method = "from the data"
        worst = float(np.max(np.abs(s[:, :, 0].imag)))
        if worst > 1e-3:
            findings.append(Finding("dc-complex", f"S at 0 Hz has imaginary parts up to {worst:.3g}: its magnitude is used"))
    else:
        # even real part: a parabola through the first two points
        dc = sp[:, :, 0].real
        if fp.size > 1:
            dc = dc + (sp[:, :, 0].real - sp[:, :, 1].real) * first**2 / (fp[1] ** 2 - first**2)
        dc = np.clip(dc, -1, 1)
        method = "real part extrapolated evenly (the path rises from DC)"
        for way in rising:
            dc[way] = 0.0
    if choices.dc == "series_resistance":
        dc, r = np.zeros(sp.shape[:2]), choices.dc_resistance
        for out, into in paths:
            z1, z2 = reference[into], reference[out]
            dc[into, into], dc[out, out] = (z2 + r - z1) / (z1 + z2 + r), (z1 + r - z2) / (z1 + z2 + r)
            dc[out, into] = dc[into, out] = 2 * np.sqrt(z1 * z2) / (z1 + z2 + r)
        method = f"series resistance of {r:g} ohm"
    elif choices.dc == "blocked":
        dc, method = np.eye(sp.shape[0]), "blocked (open)"
    x = first * (np.arange(N_FILL) / N_FILL) ** 2
    low = _towards(dc, sp, x / first)
    for way in both_ways if choices.dc != "blocked" else ():
        known = dc[way] if has_dc or choices.dc != "auto" else None
        path = sp[way]
        # a DC block below the first point leaves no line to extrapolate
        is_open = known is not None and abs(known) < DC_BLOCK * abs(path[0])
        if way not in rising and not is_open and np.min(np.abs(path[: min(N_FIT, fp.size)])) > 0:
            dc[way], low[way] = _skin_effect(fp, path, x, known)
    if not has_dc and choices.dc == "auto":
        for out, into in (path for path in paths if path not in rising):
            method = "extrapolated: ln S21 = c0 + c1 sqrt(jf) + c2 jf fitted to the lowest points"
            z1, z2, s21 = reference[into], reference[out], abs(dc[out, into])
            if s21 < LINE:
                continue
            # what is left of a line at DC is its resistance: reflections follow, and nothing couples to other wires
            r = max(2 * np.sqrt(z1 * z2) / s21 - z1 - z2, 0.0)
            for row in (into, out):
                others = [k for k in range(len(dc)) if k not in (into, out)]
                dc[row, others] = dc[others, row] = 0.0
            dc[into, into], dc[out, out] = (z2 + r - z1) / (z1 + z2 + r), (z1 + r - z2) / (z1 + z2 + r)
            method += ", the rest that of a resistance"
        lines = [way for way in both_ways if way not in rising]
        kept = {way: low[way] for way in lines}
        low = _towards(dc, sp, x / first)
        for way in lines:
            low[way] = kept[way]
    excess = float(np.linalg.norm(low[:, :, 0], 2))
    if not has_dc and excess > 1:  # two extrapolations together must not gain
        low = low * (1 + (1 / excess - 1) * (1 - (x / first) ** 2))
        dc = low[:, :, 0].real
    if not has_dc:
        text = f"no DC point, data begin at {f[0]:g} Hz: S(0) {method}, S21(0) = {dc[paths[0]]:.4g}"
        findings.append(Finding("no-dc", text))
    return x, low, method, findings


def _towards(dc: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """From ``dc`` at y = 0 to the first point of ``s`` at y = 1, with even real and odd imaginary part."""
    return dc[:, :, None] + (s[:, :, :1].real - dc[:, :, None]) * y**2 + 1j * s[:, :, :1].imag * y


def _skin_effect(f: np.ndarray, h: np.ndarray, x: np.ndarray, known: float | None) -> tuple[float, np.ndarray]:
    """DC value and values at ``x`` below ``f[0]`` of a path ``h`` with resistance, skin effect and delay."""
    n = min(N_FIT, f.size)
    n = max(2, min(n, int(np.searchsorted(f, 3 * f[0], side="right"))))
    n = min(n, f.size)
    sign = -1.0 if (known if known is not None else h[0].real) < 0 else 1.0
    log = np.log(np.abs(h[:n])) + 1j * np.unwrap(np.angle(sign * h[:n]))
    terms = np.stack([np.ones(n), np.sqrt(1j * f[:n] / f[0]), 1j * f[:n] / f[0]], axis=1)
    target = log
    if known is not None:
        target, terms = log - np.log(abs(known)), terms[:, 1:]
    real = np.linalg.lstsq(np.vstack([terms.real, terms.imag]), np.concatenate([target.real, target.imag]), rcond=None)[0]
    c0, c1, c2 = real if known is None else (np.log(abs(known)), *real)
    c0 = min(c0, 0.0) if known is None else c0  # a passive path does not gain at DC

    def model(g: np.ndarray) -> np.ndarray:
        return c0 + c1 * np.sqrt(1j * g / f[0]) + c2 * 1j * g / f[0]

    # what the model misses at the first point fades out evenly in loss and oddly in phase
    miss = log[0] - model(f[:1])[0]
    y = x / f[0]
    return float(sign * np.exp(c0)), sign * np.exp(model(x) + miss.real * y**2 + 1j * miss.imag * y)
