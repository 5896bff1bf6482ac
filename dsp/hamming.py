"""The inner code of 200 Gb/s optical lanes, Hamming(128,120) on PAM4, with soft Chase decoding."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.constellation import Constellation, pam

N_DATA = 120
"""Data bits of a word."""
N_CODED = 128
"""Bits of a word on the line: 64 PAM4 symbols."""

# Generator of the (127,119) even-weight subcode of the cyclic Hamming code: x^8 + x^7 + x^4 + x^3 + x + 1 = (x + 1) times a
# primitive polynomial of degree 7. Shortened to (68,60) its parity matrix is that of IEEE P802.3dj (draft 0.1, 177.5) and of
# W. Bliss et al., bliss_3df_01_220929, IEEE 802.3df, 2022.
_PAIRS_GENERATOR = 0b110011011


def _pair_columns() -> list[int]:
    """x^-60 ... x^-1 modulo the generator for the 60 pairs, 1 ... x^7 for the parity bits."""
    powers = [1]
    for _ in range(126):
        power = powers[-1] << 1
        powers.append(power ^ _PAIRS_GENERATOR if power >> 8 else power)
    return powers[127 - 60 :] + powers[:8]


def _extended_columns() -> list[int]:
    """The 120 bytes of odd weight above 1 in rising order for the data, the 8 of weight 1 for the parity bits."""
    return [v for v in range(256) if v.bit_count() % 2 and v.bit_count() > 1] + [1 << i for i in range(8)]


@functools.lru_cache(maxsize=2)
def _columns(pairs: bool) -> tuple[np.ndarray, np.ndarray]:
    """Syndrome of each coded bit, and the bit for each syndrome (-1 where there is none)."""
    columns = np.array(_pair_columns() if pairs else _extended_columns(), np.int64)
    place_of = np.full(256, -1, np.int64)
    place_of[columns] = np.arange(columns.size)
    columns.setflags(write=False)
    place_of.setflags(write=False)
    return columns, place_of


@dataclass(frozen=True, kw_only=True, eq=False)
class InnerDecoded:
    """``bits`` (..., 120) uint8: the decoded data. ``failed`` (...): no code word was found, the bits are plain decisions."""

    bits: np.ndarray
    failed: np.ndarray


@dataclass(frozen=True, kw_only=True)
class InnerCode:
    """Hamming(128,120): 120 data bits, then 8 parity bits; corrects one error, detects two (distance 4).

    ``pairs`` True is the form of IEEE P802.3dj 177.5 (draft 0.1): the two bits of each of the 60 data symbols are added
    modulo 2, and a (68,60) code protects the 60 sums. A sum is the level's parity, so it changes from each level to the next; a
    symbol with known parity leaves levels two steps apart. ``pairs`` False is the textbook extended Hamming code on all 128
    bits. ``test_bits``: weakest bits on which the decoder tries every pattern (D. Chase, IEEE Trans. Inf. Theory 18, 1972,
    algorithm 2).
    """

    pairs: bool = True
    test_bits: int = 6

    def __post_init__(self) -> None:
        check.instance(self, "pairs", self.pairs, bool)
        check.count(self, "test_bits", self.test_bits, 0, 12)

    @property
    def rate(self) -> float:
        """Data bits over all bits, 15/16."""
        return N_DATA / N_CODED

    def encode(self, bits: np.ndarray) -> np.ndarray:
        """Words of ``bits`` (0 or 1), shape (..., 120) -> (..., 128), uint8."""
        bits = np.asarray(bits)
        if bits.ndim == 0 or bits.shape[-1] != N_DATA:
            raise check.fail(self, "bits", f"{N_DATA} long in the last axis", bits.shape)
        if not np.all((bits == 0) | (bits == 1)):
            raise check.fail(self, "bits", "0 or 1", "other values")
        bits = bits.astype(np.uint8)
        columns, _ = _columns(self.pairs)
        table = ((columns[:-8, None] >> np.arange(8)) & 1).astype(np.float32)  # sums of 120 are exact
        coded = bits[..., 0::2] ^ bits[..., 1::2] if self.pairs else bits
        parity = (coded.astype(np.float32) @ table).astype(np.int64) & 1
        return np.concatenate([bits, parity.astype(np.uint8)], axis=-1)

    def decode(self, y: np.ndarray, noise_rms: float, constellation: Constellation | None = None) -> InnerDecoded:
        """Data bits of received samples ``y``, shape (..., 64), in units of ``constellation`` (default PAM4, outer levels +-1).

        ``noise_rms``: Gaussian noise in the same unit, for the exact log-likelihood ratios.
        """
        from dsp import kernels

        check.positive(self, "noise_rms", noise_rms)
        constellation = pam(4) if constellation is None else constellation
        if constellation.n != 4 or not constellation.is_real:
            raise check.fail(self, "constellation", "of 4 real levels", constellation.points)
        y = np.asarray(y, float)
        if y.ndim == 0 or y.shape[-1] != N_CODED // 2 or not np.all(np.isfinite(y)):
            raise check.fail(self, "y", f"finite and {N_CODED // 2} long in the last axis", y.shape)
        labels = constellation.bits_of(np.arange(4)).reshape(4, 2)
        flat = y.reshape(-1, N_CODED // 2)
        distance = (flat[..., None] - constellation.array) ** 2
        size = distance / (-2 * noise_rms**2)
        likelihood = np.exp(size - size.max(axis=-1, keepdims=True))

        def ratio(part: np.ndarray, bit: np.ndarray) -> np.ndarray:
            tiny = np.finfo(float).tiny
            return np.log(np.maximum(part @ (1.0 - bit), tiny)) - np.log(np.maximum(part @ (1.0 * bit), tiny))

        both = np.stack([ratio(likelihood, labels[:, 0]), ratio(likelihood, labels[:, 1])], axis=-1)
        llr = both.reshape(-1, N_CODED)
        if self.pairs:
            odd = labels[:, 0] ^ labels[:, 1]
            llr = np.concatenate([ratio(likelihood[:, :60], odd), llr[:, N_DATA:]], axis=1)
        columns, place_of = _columns(self.pairs)
        coded, found = kernels.chase(llr, columns, place_of, self.test_bits)
        bits = coded[:, :N_DATA]
        if self.pairs:  # the nearest level with the decoded parity
            apart = np.where(odd == coded[:, :60, None], distance[:, :60], np.inf)
            bits = labels[np.argmin(apart, axis=-1)].reshape(-1, N_DATA)
        shape = y.shape[:-1]
        return InnerDecoded(bits=np.ascontiguousarray(bits).reshape(*shape, N_DATA), failed=~found.reshape(shape))
