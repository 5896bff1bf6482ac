"""What no receiver can exceed: matched filter, linear and decision-feedback limits of infinite length, capacity.

All follow from the folded signal-to-noise density R(f) = Sx sum_k |H(f + k/T)|^2 / Sn(f + k/T), a filter matched to the
channel before the sampler (J. Salz, BSTJ 52, 1973; J. M. Cioffi et al., IEEE Trans. Commun. 43, 1995).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp.units import db_power
from serdes.link import Link
from serdes.spectra import WINDOW, Spectra, spectra


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Limits of a link. SNRs at the slicer [dB]; ``capacity`` [b/s] for the flat transmitted spectrum.

    ``matched_filter_db``: a single symbol alone. ``linear_db``: infinite feed-forward equaliser, least mean-square error.
    ``salz_db``: infinite feed-forward and error-free feedback equaliser.
    """

    matched_filter_db: float
    linear_db: float
    salz_db: float
    capacity: float


def bounds(link: Link, tx_noise: bool = True, crosstalk: bool = True, jitter: bool = True) -> Bounds:
    """The limits of ``link`` with the impairments asked for; thermal noise always counts, the converter never.

    Transmitter noise and jitter pass through the same channel as the signal, so they cap R(f) whatever the receiver does:
    1/R grows by their ratio to the signal. Crosstalk adds to the noise density. CTLE and transmit taps do not matter.
    """
    return _bounds_of(spectra(link), link, tx_noise, crosstalk, jitter)


def _bounds_of(sp: Spectra, link: Link, tx_noise: bool, crosstalk: bool, jitter: bool) -> Bounds:
    mean_square = link.tx.constellation.mean_square
    noise = sp.noise / 2
    if crosstalk:
        for a in sp.aggressors:
            noise = noise + mean_square * np.abs(a) ** 2 * sp.symbol_rate
    floor = noise.max() * 1e-12 if noise.max() > 0 else np.finfo(float).tiny
    signal = mean_square * np.abs(sp.pulse) ** 2 * sp.symbol_rate
    ratio = _fold_sum(signal / np.maximum(noise, floor))
    with np.errstate(divide="ignore"):
        inverse = 1 / ratio  # infinite where nothing arrives
    if tx_noise and link.tx.snr_db is not None:
        inverse = inverse + 10 ** (-link.tx.snr_db / 10) / mean_square
    if jitter:
        # Slow displacement: the error has the derivative's spectrum (2 pi f T)^2, taken within the first Nyquist band.
        f_relative = np.arange(WINDOW) / WINDOW
        f_relative = np.minimum(f_relative, 1 - f_relative)
        variance = link.tx.jitter.variance_ui2 + link.rx.jitter.variance_ui2
        inverse = inverse + variance * (2 * np.pi * f_relative) ** 2
    r = 1 / inverse
    return Bounds(
        matched_filter_db=float(db_power(np.mean(r))),
        linear_db=float(db_power(1 / np.mean(1 / (1 + r)) - 1)),
        salz_db=float(db_power(np.expm1(np.mean(np.log1p(r))))),
        capacity=float(sp.symbol_rate / 2 * np.mean(np.log2(1 + r))),
    )


def _fold_sum(density: np.ndarray) -> np.ndarray:
    """Sum over aliases of a density of positive frequencies, on the whole circle 0 ... symbol rate, shape (WINDOW,)."""
    n = density.size - 1
    both = np.concatenate([density, density[n - 1 : 0 : -1]])  # 0 ... +B, -B ... 0
    index = np.concatenate([np.arange(n + 1), np.arange(-(n - 1), 0)]) % WINDOW
    return np.bincount(index, weights=both, minlength=WINDOW)
