"""Square QAM in Gaussian noise: bit error ratio, what it needs, and the information that soft decisions carry."""

from __future__ import annotations

import numpy as np

from dsp import check
from dsp import differential as changes
from dsp.constellation import Constellation, pam
from dsp.distribution import q
from dsp.units import from_db_power


def rail(constellation: Constellation) -> Constellation:
    """The pulse-amplitude modulation of one quadrature. ``ValueError`` unless ``constellation`` is a square of two."""
    side = round(np.sqrt(constellation.n))
    if constellation.is_real or side**2 != constellation.n:
        raise check.fail("rail", "constellation", "square QAM", constellation.n)
    return pam(side)


def nearest(values: np.ndarray, constellation: Constellation) -> np.ndarray:
    """Index of the nearest point of square QAM for ``values`` in units of mean power 1."""
    side = rail(constellation).n
    scale = np.sqrt(constellation.mean_square) * (side - 1) / 2
    parts = [np.clip(np.rint(scale * v + (side - 1) / 2), 0, side - 1).astype(np.intp) for v in (values.real, values.imag)]
    return parts[0] * side + parts[1]


def bit_error_ratio(snr_db: float, constellation: Constellation, differential: bool = False) -> float:
    """Bit error ratio of Gray-labelled square QAM at ``snr_db``, every error counted with its bits.

    16QAM: 3/4 Q(a) + 1/2 Q(3 a) - 1/4 Q(5 a), a^2 = SNR / 5 (K. Cho and D. Yoon, IEEE Transactions on Communications 50, 2002).
    ``differential``: quadrants sent as changes (`dsp.differential`), about twice as many errors where they are few.
    """
    one = rail(constellation)
    sigma = np.sqrt(one.mean_square / from_db_power(snr_db))
    edges = np.concatenate(([-np.inf], one.thresholds, [np.inf]))
    above = q((edges[None, :] - one.array[:, None]) / sigma)
    share = above[:, :-1] - above[:, 1:]
    if differential:
        return changes.bit_error_ratio(np.kron(share, share), constellation)
    return float(np.sum(share * one.bit_distance) / one.n / one.bits_per_symbol)


def symbol_error_ratio(snr_db: float, constellation: Constellation) -> float:
    """Symbol error ratio of square QAM at ``snr_db``: either quadrature is wrong (J. G. Proakis, Digital Communications)."""
    one = rail(constellation)
    wrong = 2 * (1 - 1 / one.n) * float(q(np.sqrt(3 * from_db_power(snr_db) / (one.n**2 - 1))))
    return 1 - (1 - wrong) ** 2


def required_snr_db(ber: float, constellation: Constellation, differential: bool = False) -> float:
    """SNR [dB] at which `bit_error_ratio` is ``ber``. ``ValueError`` unless it lies between 1e-15 and 0.3."""
    from scipy.optimize import brentq

    check.between("required_snr_db", "ber", ber, 1e-15, 0.3)

    def excess(snr_db: float) -> float:
        return float(np.log(max(bit_error_ratio(snr_db, constellation, differential), 1e-300) / ber))

    return float(brentq(excess, -20, 80, xtol=1e-6))


def mutual_information(values: np.ndarray, sent: np.ndarray, one: Constellation, sigma: float) -> float:
    """Generalised mutual information of bitwise decoding [bit] a value of one quadrature (A. Alvarado et al., JLT 34, 2016).

    ``values`` (n,): received, in units of ``one``; ``sent`` (n,): indices; ``sigma``: the standard deviation the decoder
    assumes.
    """
    return one.label_bits - float(np.mean(_lost(values, sent, one, sigma)))


def _lost(values: np.ndarray, sent: np.ndarray, one: Constellation, sigma: float) -> np.ndarray:
    """Information that the bits of each value lack [bit], shape (n,)."""
    metric = -((values[:, None] - one.array) ** 2) / (2 * sigma**2)
    weight = np.exp(metric - metric.max(axis=1, keepdims=True))
    total = weight.sum(axis=1)
    labels = np.array(one.labels)
    lost = np.zeros(values.shape)
    for bit in range(one.label_bits):
        ones = ((labels >> bit) & 1).astype(bool)
        matching = np.where(ones[sent], weight[:, ones].sum(axis=1), weight[:, ~ones].sum(axis=1))
        lost += np.log2(total / np.maximum(matching, 1e-300))
    return lost


def gaussian_information(snr_db: float, constellation: Constellation) -> float:
    """`mutual_information` of both quadratures [bit/symbol] in Gaussian noise, by quadrature of 64 points."""
    one = rail(constellation)
    sigma = float(np.sqrt(one.mean_square / from_db_power(snr_db)))
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    values = (one.array[:, None] + sigma * nodes).ravel()
    lost = _lost(values, np.repeat(np.arange(one.n), nodes.size), one, sigma).reshape(one.n, -1)
    return 2 * (one.label_bits - float(np.mean(lost @ weights) / weights.sum()))
