"""What impairments of an optical link cost, and how it does with a stressed transmitter: penalties as optical power, by re-solving."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from channels.channel import Cascade, Channel
from channels.fiber import MultimodeFiber, SingleModeFiber
from channels.imdd import ImddChannel, flattened, without_noise
from channels.optical_path import Detection
from dsp import check, convolution
from serdes import waveform
from serdes.link import Link
from serdes.noise_free import WARM_UP, optics_in, symbols
from serdes.optical_waveform import FINE, Waveform, aligned
from serdes.semi_analytic import SemiAnalytic
from serdes.sensitivity import Sensitivity, sensitivity
from serdes.tdecq import HALF_BAUD, Reference, Tdecq, tdecq

EFFECTS = ("dispersion", "group delay", "RIN", "multipath", "mode partition", "shot")


def without(optics: ImddChannel, effect: str) -> ImddChannel:
    """``optics`` with one of `EFFECTS` taken out; itself where it has none of it."""
    check.one_of("without", "effect", effect, EFFECTS)
    fiber, laser = optics.fiber, optics.source.laser
    if effect == "RIN":
        return replace(optics, source=replace(optics.source, laser=replace(laser, rin_db=None)))  # type: ignore[type-var]
    if effect == "multipath":
        return replace(optics, multipath=None)
    if effect == "shot":
        return replace(optics, photodiode=replace(optics.photodiode, shot=False))
    if isinstance(fiber, SingleModeFiber):
        if effect == "dispersion":
            return replace(optics, fiber=replace(fiber, dispersion=0.0, slope=0.0))
        if effect == "group delay":
            return replace(optics, fiber=replace(fiber, dgd=0.0))
    if isinstance(fiber, MultimodeFiber):
        if effect == "dispersion":  # what is left has no modal limit and no spectral width: loss alone
            return replace(optics, fiber=replace(fiber, spectral_width=0.0, modal_bandwidth=1e14))
        if effect == "mode partition":
            return replace(optics, fiber=replace(fiber, partition=0.0))
    return optics


def penalties(
    link: Link, bit_error_ratio: float, engine: SemiAnalytic | None = None, effects: tuple[str, ...] = EFFECTS
) -> dict[str, float]:
    """What each of ``effects`` costs [dB of OMA at the photodiode]: the sensitivity with all of them less that without the one.

    Effects that the link does not have are left out. Infinite where the link fails with it and works without.
    ``ValueError`` for a link without optics.
    """
    path, optics = _optics(link, "penalties")
    whole, found = sensitivity(link, bit_error_ratio, engine), {}
    for effect in effects:
        better = without(optics, effect)
        if better == optics:
            continue
        alone = sensitivity(link.vary({f"channel{path}": better}), bit_error_ratio, engine)
        found[effect] = _difference(whole, alone)
    return found


def _difference(whole: Sensitivity, alone: Sensitivity) -> float:
    if whole.outcome == "fails":
        return np.nan if alone.outcome == "fails" else np.inf
    return float(whole.oma_dbm - alone.oma_dbm)


def _optics(link: Link, owner: str) -> tuple[str, ImddChannel]:
    found = optics_in(link.channel)
    if found is None:
        raise ValueError(f"{owner} needs a link with optics (an ImddChannel), got one without")
    return found


def light(link: Link, pattern: np.ndarray | None = None) -> Waveform:
    """The power at the photodiode over one period of ``pattern`` (level indices; by default 4096 symbols with level runs).

    Without anything random. ``ValueError`` for a link without optics or not of four levels.
    """
    _optics(link, "light")
    constellation = link.tx.constellation
    if constellation.n != 4:
        raise ValueError(f"light needs a transmitter of 4 levels, got {constellation.n}")
    sent = _with_runs(symbols(constellation, 4096)) if pattern is None else np.asarray(pattern)
    grid = waveform.memory(link.channel, link.symbol_rate, FINE)
    driver = waveform.Driver(rise_time=link.tx.rise_time, sample_time=grid.dt, delay=waveform.LEAD / link.symbol_rate)
    parts: list[Channel] = [driver]
    for piece in flattened(link.channel):
        if isinstance(piece, Detection):
            break
        parts.append(without_noise(piece))
    chain = Cascade(parts=tuple(parts))
    turns = np.concatenate((sent[np.arange(-WARM_UP, 0) % sent.size], sent))
    extended = np.concatenate((turns, sent[np.arange(grid.n_symbols) % sent.size]))
    levels, _ = convolution.fir_step(constellation.array[extended], convolution.fir_start(np.asarray(link.tx.ffe.feed_forward)))
    y, _ = chain.transmit(link.tx.amplitude * np.repeat(levels, FINE), chain.start(grid, None))
    late = WARM_UP + grid.n_symbols - 1  # the response has settled
    return aligned(y[late * FINE :][: sent.size * FINE], FINE, link.symbol_rate, sent)


def _with_runs(sent: np.ndarray) -> np.ndarray:
    """The pattern with the runs of SSPRQ by which the outer levels are measured."""
    found = sent.copy()
    found[100:107], found[200:206] = 3, 0
    return found


def transmitter_closure(link: Link, reference: Reference = HALF_BAUD, pattern: np.ndarray | None = None) -> Tdecq:
    """TDECQ of the light at the photodiode; TECQ for a link without fibre."""
    return tdecq(light(link, pattern), reference)


@dataclass(frozen=True, kw_only=True, eq=False)
class Stressed:
    """``sensitivity`` with a transmitter slowed to ``bandwidth`` [Hz] of its driver, which gives ``secq_db``. ``outcome``: "found", or
    "cannot be stressed" with its ``reason``: the transmitter closes the eye more than that by itself.
    """

    sensitivity: Sensitivity | None
    bandwidth: float
    secq_db: float
    outcome: str
    reason: str = ""


def stressed_sensitivity(
    link: Link, secq_db: float, bit_error_ratio: float, engine: SemiAnalytic | None = None, reference: Reference = HALF_BAUD
) -> Stressed:
    """Sensitivity of ``link``'s receiver to a signal of stressed eye closure ``secq_db`` (after IEEE 802.3 121.8.9).

    The stress is the low-pass filter alone, the driver's bandwidth; the standard adds noise and a sinusoid to it.
    ``ValueError`` for a link without optics.
    """
    from scipy.optimize import brentq

    check.between("stressed_sensitivity", "secq_db", secq_db, 0, 10, "dB")
    path, optics = _optics(link, "stressed_sensitivity")
    pattern = _with_runs(symbols(link.tx.constellation, 2048))

    def slowed(bandwidth: float) -> Link:
        return link.vary({f"channel{path}": replace(optics, driver=replace(optics.driver, bandwidth=bandwidth))})

    def excess(log_bandwidth: float) -> float:
        return min(transmitter_closure(slowed(float(np.exp(log_bandwidth))), reference, pattern).tdecq_db, 20.0) - secq_db

    low, high = (float(np.log(share * link.symbol_rate)) for share in (0.15, 3.0))
    least = excess(high)
    if least > 0:
        reason = f"TECQ is {secq_db + least:.2f} dB with the fastest driver already"
        return Stressed(
            sensitivity=None,
            bandwidth=float(np.exp(high)),
            secq_db=secq_db + least,
            outcome="cannot be stressed",
            reason=reason,
        )
    bandwidth = float(np.exp(brentq(excess, low, high, xtol=5e-3)))
    return Stressed(
        sensitivity=sensitivity(slowed(bandwidth), bit_error_ratio, engine),
        bandwidth=bandwidth,
        secq_db=secq_db,
        outcome="found",
    )
