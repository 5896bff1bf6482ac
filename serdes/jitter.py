"""Jitter of a link: how much sinusoidal jitter a receiver tolerates, and what a transmitter's jitter is made of."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace

import numpy as np

from dsp import check
from dsp.clock import TimingLoop
from dsp.distribution import q_inv
from dsp.edge_jitter import LARGEST_FAST, SLOW, Sinusoid
from serdes.link import Link
from serdes.source import edge_displacements
from serdes.stream_run import update_of
from serdes.time_domain import UNLOCKED, TimeDomain

CORNER = 4e6
"""Corner frequency [Hz] of the clock recovery that IEEE 802.3 assumes at 26 GBd and above."""
FLOOR_UI = 0.05
"""Peak-to-peak amplitude [UI] of the mask above its corner."""
LARGEST_UI = 50.0
"""Peak amplitude [UI] up to which tolerance is looked for."""


def mask(f: np.ndarray, corner: float = CORNER) -> np.ndarray:
    """Peak-to-peak sinusoidal jitter [UI] to be tolerated at ``f`` [Hz]; nan where nothing is specified.

    0.05 UI from ``corner`` to ten times it, rising as 1 / f below down to a hundredth of it (5 UI). With 4 MHz these are cases
    A to E of the receiver jitter tolerance of IEEE 802.3 (120D, 162): 5 UI at 40 kHz, 0.15 at 1.333 MHz, 0.05 at 4, 12 and 40
    MHz; with symbol rate / 6640 that of OIF-CEI-56G and 112G PAM4. Recalled and cross-read in a vendor's guide, not in the
    standards.
    """
    f = np.asarray(f, float)
    check.positive("mask", "corner", corner, "Hz")
    inside = (f >= corner / 100 * (1 - 1e-9)) & (f <= 10 * corner * (1 + 1e-9))
    return np.where(inside, FLOOR_UI * np.maximum(corner / np.maximum(f, 1e-300), 1.0), np.nan)


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """One point: largest peak ``amplitude_ui`` at ``frequency`` [Hz] with the error ratio at or below the target.

    ``bounded`` False: the search met its limit, the true tolerance is at least this. ``predicted_ui``: see `predicted`.
    ``first_failure``: outcome one step above.
    """

    frequency: float
    amplitude_ui: float
    predicted_ui: float
    bounded: bool
    first_failure: str
    runs: int


def error_transfer(link: Link, f: np.ndarray, update: int = 1) -> np.ndarray:
    """Magnitude of 1 - H at ``f`` [Hz]: share of slow jitter that the sampling phase does not follow; 1 without a loop."""
    loop = link.rx.clock
    f = np.asarray(f, float)
    if not isinstance(loop, TimingLoop):
        return np.ones(f.shape)
    wait = getattr(link.rx.equalizer, "n_precursors", 0) if loop.detector != "gardner" else 0
    return np.abs(1 - loop.jitter_transfer(f / link.symbol_rate, wait, update))


def corner_frequency(link: Link, update: int = 1) -> float:
    """Highest frequency [Hz] at which the loop still takes 3 dB off the jitter; nan without a loop."""
    f = np.geomspace(1e-7, 0.2, 4001) * link.symbol_rate
    follows = error_transfer(link, f, update) < math.sqrt(0.5)
    return float(f[np.flatnonzero(follows)[-1]]) if np.any(follows) and not np.all(follows) else float("nan")


def passes(link: Link, sinusoid: Sinusoid, target: float, engine: TimeDomain, rng: np.random.Generator) -> tuple[bool, str]:
    """Whether ``link`` keeps the symbol error ratio ``target`` under ``sinusoid``, and the outcome of the run.

    The count covers a whole period and twenty expected errors, and stops as soon as it has too many. ``rng`` is copied: each
    call has the same symbols and noise.
    """
    period = math.ceil(link.symbol_rate / sinusoid.frequency)
    n = max(engine.n_symbols, math.ceil(20 / target), math.ceil(1.05 * period))
    limit = max(math.ceil(target * n), 1)
    jittered = replace(link, tx=replace(link.tx, edges=replace(link.tx.edges, sinusoids=(*link.tx.edges.sinusoids, sinusoid))))
    result = replace(engine, n_symbols=n, max_errors=limit + 1, eye_symbols=0).run(jittered, copy.deepcopy(rng))
    if result.outcome == "cancelled":
        raise KeyboardInterrupt
    bad = result.outcome in UNLOCKED or result.symbols is None or result.symbols.errors > limit
    return not bad, result.outcome if result.outcome in UNLOCKED else "errors"


def tolerance(
    link: Link, frequency: float, target: float, engine: TimeDomain, rng: np.random.Generator, resolution: float = 1.1
) -> Tolerance:
    """Jitter tolerance of ``link`` at ``frequency`` [Hz] for a symbol error ratio ``target``.

    Bisection in the logarithm of the amplitude to a factor of ``resolution``, all runs with the same symbols and noise. An
    amplitude of 0 means that the link misses the target without any jitter of this kind.
    """
    check.between("tolerance", "target", target, 1e-9, 0.1)
    check.between("tolerance", "resolution", resolution, 1.001, 2)
    largest = LARGEST_UI if frequency <= SLOW * link.symbol_rate else LARGEST_FAST
    runs, why = 0, ""

    def holds(amplitude: float) -> bool:
        nonlocal runs, why
        runs += 1
        good, outcome = passes(link, Sinusoid(amplitude_ui=amplitude, frequency=frequency, phase=0.25), target, engine, rng)
        why = why if good else outcome
        return good

    start = min(max(0.15 / max(float(error_transfer(link, np.array(frequency))), 1e-6), 0.02), largest)
    low, high = 0.0, math.inf
    trial = start
    while low == 0 or not math.isfinite(high):
        if holds(trial):
            low = trial
            if low >= largest:
                break
            trial = min(2 * trial, largest)
        else:
            high = trial
            if trial < 1e-3:
                break
            trial = trial / 2
    while low > 0 and math.isfinite(high) and high > low * resolution:
        trial = math.sqrt(low * high)
        if holds(trial):
            low = trial
        else:
            high = trial
    return Tolerance(
        frequency=frequency, amplitude_ui=low, predicted_ui=math.nan, bounded=math.isfinite(high), first_failure=why, runs=runs
    )


def predicted(link: Link, points: tuple[Tolerance, ...], engine: TimeDomain) -> tuple[Tolerance, ...]:
    """The points with what the loop predicts from the highest frequency: there the tolerance is a phase error the eye can bear.

    amplitude(f) = phase error / |1 - H(f)|, the phase error taken from the point of the highest frequency.
    """
    if not points:
        return ()
    loop = link.rx.clock
    update = update_of(engine, loop.bandwidth if isinstance(loop, TimingLoop) else 0.0)
    last = max(points, key=lambda p: p.frequency)
    bear = last.amplitude_ui * float(error_transfer(link, np.array(last.frequency), update))
    return tuple(
        replace(p, predicted_ui=bear / max(float(error_transfer(link, np.array(p.frequency), update)), 1e-12)) for p in points
    )


@dataclass(frozen=True, kw_only=True)
class JitterReport:
    """What jitter is made of, all in UI (after IEEE 802.3 120D.3.1.8 and 162.9.4.5, from edges instead of a histogram).

    ``rms``: J_RMS, without even-odd jitter; ``j3u``, ``j4u``: spread of all but 1e-3 and 1e-4 of the edges, half on either
    side, None where there are too few edges; ``even_odd``: difference of the means of even and odd edges; ``random``,
    ``dual_dirac``: sigma and peak-to-peak distance of a dual-Dirac law with the same tails.
    """

    rms: float
    j3u: float | None
    j4u: float | None
    even_odd: float
    random: float
    dual_dirac: float
    edges: int


def decompose(displacement: np.ndarray, number: np.ndarray) -> JitterReport:
    """Report on edges displaced by ``displacement`` (n,) [UI], which have the ``number`` (n,) of their symbol boundaries."""
    x, k = np.asarray(displacement, float), np.asarray(number)
    if x.ndim != 1 or x.shape != k.shape or x.size < 100 or not np.all(np.isfinite(x)):
        raise check.fail("decompose", "displacement", "100 or more finite numbers, as many as numbers of edges", x.shape)
    x = x - np.mean(x)
    even, odd = x[k % 2 == 0], x[k % 2 == 1]
    eoj = float(np.mean(even) - np.mean(odd)) if even.size and odd.size else 0.0
    still = np.sort(np.concatenate((even - np.mean(even) if even.size else even, odd - np.mean(odd) if odd.size else odd)))
    sigma, distance = _dual_dirac(still)
    return JitterReport(
        rms=float(np.std(still)), j3u=_spread(still, 1e-3), j4u=_spread(still, 1e-4), even_odd=abs(eoj), random=sigma,
        dual_dirac=distance, edges=x.size,
    )  # fmt: skip


def _spread(ordered: np.ndarray, share: float) -> float | None:
    if ordered.size * share < 10:
        return None
    low, high = np.quantile(ordered, [share / 2, 1 - share / 2])
    return float(high - low)


def _dual_dirac(ordered: np.ndarray) -> tuple[float, float]:
    """Sigma and distance: straight lines through both tails on the scale of Gaussian quantiles, from 1 % to 20 edges deep."""
    deepest = max(20 / ordered.size, 1e-6)
    p = np.geomspace(0.01, min(deepest, 0.008), 16)
    z = np.array([float(q_inv(2 * v)) for v in p])  # half of the edges belong to each Dirac
    left = np.polyfit(z, np.quantile(ordered, p), 1)
    right = np.polyfit(z, np.quantile(ordered, 1 - p), 1)
    return float((right[0] - left[0]) / 2), float(max(right[1] - left[1], 0.0))


def transmitter_edges(link: Link, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Displacements [UI] of the transmitter's edges, and their numbers, over ``n`` symbols. Slow sinusoids and spread are
    tracked out.
    """
    return edge_displacements(link.tx, n, link.symbol_rate, rng)
