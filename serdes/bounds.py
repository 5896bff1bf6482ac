"""What no receiver can exceed: matched filter, linear and decision-feedback limits of infinite length, capacity.

All follow from the folded signal-to-noise density R(f) = Sx sum_k |H(f + k/T)|^2 / Sn(f + k/T), a filter matched to the
channel before the sampler (J. Salz, BSTJ 52, 1973; J. M. Cioffi et al., IEEE Trans. Commun. 43, 1995).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.units import db_power
from serdes.link import Link
from serdes.spectra import BAND, WINDOW, spectra


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Limits of a link. SNRs at the slicer [dB]; ``capacity`` [b/s] for the flat transmitted spectrum.

    ``matched_filter_db``: a single symbol alone. ``linear_db``: infinite feed-forward equaliser, least mean-square error.
    ``salz_db``: infinite feed-forward and error-free feedback equaliser; the same SNR gives the capacity of a symbol.
    """

    matched_filter_db: float
    linear_db: float
    salz_db: float
    capacity: float


def bounds(link: Link, tx_noise: bool = True, crosstalk: bool = True, jitter: bool = True) -> Bounds:
    """The limits of ``link`` with the impairments asked for; thermal noise always counts, the converter never.

    Transmitter noise and jitter pass through the same channel as the signal, so they cap R(f) whatever the receiver does:
    1/R grows by their ratio to the signal. Jitter counts as slow: a common displacement makes an error with the spectrum of the
    derivative, one direction among the aliases of each frequency, which a receiver with enough bandwidth can partly avoid.
    Crosstalk counts as stationary noise. CTLE and transmit taps do not matter.
    """
    sp = spectra(link)
    mean_square = link.tx.constellation.mean_square
    noise = sp.noise / 2
    if crosstalk:
        for a, aggressor in zip(sp.aggressors, link.aggressors, strict=True):
            noise = noise + aggressor.tx.constellation.mean_square * np.abs(a) ** 2 * sp.symbol_rate
    signal = mean_square * np.abs(sp.pulse) ** 2 * sp.symbol_rate
    floor = max(noise.max() * 1e-12, signal.max() * 1e-30, np.finfo(float).tiny)  # keeps the noiseless case finite
    density = signal / np.maximum(noise, floor)
    aliases, f_relative = _aliases(density)
    ratio = aliases.sum(axis=0)
    if jitter:
        # h* (S + v d d*)^-1 h with d = f T h, by the Sherman-Morrison formula in a form that does not cancel
        v = (2 * np.pi) ** 2 * (link.tx.jitter.variance_ui2 + link.rx.jitter.variance_ui2)
        pairs = [(i, k) for i in range(len(aliases)) for k in range(i)]
        apart = sum(aliases[i] * aliases[k] * (f_relative[i] - f_relative[k]) ** 2 for i, k in pairs)
        ratio = (ratio + v * apart) / (1 + v * np.sum(f_relative**2 * aliases, axis=0))
    with np.errstate(divide="ignore"):
        inverse = 1 / ratio  # infinite where nothing arrives
    if tx_noise and link.tx.snr_db is not None:
        inverse = inverse + 10 ** (-link.tx.snr_db / 10) / mean_square
    r = 1 / inverse
    return Bounds(
        matched_filter_db=float(db_power(np.mean(r))),
        linear_db=float(db_power(1 / np.mean(1 / (1 + r)) - 1)),
        salz_db=float(db_power(np.expm1(np.mean(np.log1p(r))))),
        capacity=float(sp.symbol_rate / 2 * np.mean(np.log2(1 + r))),
    )


def shannon_snr_db(bits_per_symbol: float) -> float:
    """SNR [dB] at which the capacity of a symbol, log2(1 + SNR) / 2, is ``bits_per_symbol`` (C. E. Shannon, BSTJ 27, 1948)."""
    check.positive("shannon_snr_db", "bits_per_symbol", bits_per_symbol)
    return float(db_power(4**bits_per_symbol - 1))


def _aliases(density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An even density, given at positive frequencies up to `BAND` symbol rates, alias by alias: values and f T.

    Both of shape (2 BAND, WINDOW): row by row the stretches of one symbol rate from -BAND on.
    """
    k = np.arange(-BAND * WINDOW, BAND * WINDOW)
    return density[np.abs(k)].reshape(2 * BAND, WINDOW), (k / WINDOW).reshape(2 * BAND, WINDOW)
