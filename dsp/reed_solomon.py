"""Reed-Solomon encoder and decoder: the code words behind the closed forms of `dsp.fec`, many per call."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.fec import Fec

KP4_POLYNOMIAL = 0b10000001001
"""x^10 + x^3 + 1, the field of both RS(544,514) and RS(528,514) (IEEE 802.3 91.5.2.7)."""


@functools.lru_cache(maxsize=16)
def _field(symbol_bits: int, polynomial: int) -> tuple[np.ndarray, np.ndarray]:
    """Powers of a and their logarithms as the kernels want them: products with zero land among zeros."""
    order = 2**symbol_bits - 1
    exp = np.zeros(4 * order + 3, np.int64)
    log = np.full(order + 1, 2 * order + 1, np.int64)
    power = 1
    for i in range(order):
        exp[i] = exp[i + order] = power
        log[power] = i
        power <<= 1
        if power >> symbol_bits:
            power ^= polynomial
    exp.setflags(write=False)
    log.setflags(write=False)
    return exp, log


@functools.lru_cache(maxsize=16)
def _generator(symbol_bits: int, polynomial: int, n_parity: int) -> np.ndarray:
    """Product of (x - a^i), i = 0 ... n_parity - 1, highest power first."""
    exp, log = _field(symbol_bits, polynomial)
    product = np.array([1], np.int64)
    for i in range(n_parity):
        product = np.append(product, 0) ^ np.append(0, exp[log[product] + i])
    product.setflags(write=False)
    return product


@functools.lru_cache(maxsize=16)
def _table(symbol_bits: int, polynomial: int, n_parity: int) -> np.ndarray:
    """Every symbol times the generator below its leading one, shape (2^symbol_bits, n_parity)."""
    exp, log = _field(symbol_bits, polynomial)
    table = exp[log[:, None] + log[_generator(symbol_bits, polynomial, n_parity)[None, 1:]]].astype(np.uint16)
    table.setflags(write=False)
    return table


@dataclass(frozen=True, kw_only=True, eq=False)
class Decoded:
    """What the decoder made of received words.

    ``words`` (..., n) uint16: corrected, or as received where decoding failed. ``corrected`` (...): symbols changed, 0 for a
    failed word. ``failed`` (...): no code word lies within t symbols.
    """

    words: np.ndarray
    corrected: np.ndarray
    failed: np.ndarray

    def wrong(self, sent: np.ndarray) -> np.ndarray:
        """Words that are not what was ``sent``, (...) bool: the failed and the miscorrected ones."""
        return np.any(self.words != sent, axis=-1)

    def miscorrected(self, sent: np.ndarray) -> np.ndarray:
        """Words turned into another valid code word than the one ``sent``, (...) bool. The decoder itself cannot know."""
        return self.wrong(sent) & ~self.failed


@dataclass(frozen=True, kw_only=True)
class ReedSolomon:
    """Systematic (shortened) Reed-Solomon code ``code``, generator roots a^0 ... a^(n-k-1) (IEEE 802.3 91.5.2.7, 91-1).

    A word is ``n`` symbols, data first, the first being the coefficient of the highest power. Decoding is of bounded distance
    ``t``. ``polynomial``: primitive polynomial of the field as a whole number, bit i being the coefficient of x^i. At most 12
    bits a symbol.
    """

    code: Fec
    polynomial: int = KP4_POLYNOMIAL

    def __post_init__(self) -> None:
        check.instance(self, "code", self.code, Fec)
        m = self.code.symbol_bits
        if m > 12:
            raise check.fail(self, "code.symbol_bits", "12 or less", m)
        check.count(self, "polynomial", self.polynomial, 2**m, 2 ** (m + 1) - 1, hint=f"degree {m}")
        exp, _ = _field(m, self.polynomial)
        if np.unique(exp[: 2**m - 1]).size != 2**m - 1:
            raise check.fail(self, "polynomial", "primitive", self.polynomial)

    @property
    def _key(self) -> tuple[int, int, int]:
        return self.code.symbol_bits, self.polynomial, self.code.n - self.code.k

    @property
    def generator(self) -> np.ndarray:
        """Generator polynomial, highest power first, shape (n - k + 1,)."""
        return _generator(*self._key)

    def _symbols(self, field: str, values: np.ndarray, width: int) -> np.ndarray:
        values = np.asarray(values)
        if values.ndim == 0 or values.shape[-1] != width or values.dtype.kind not in "iu":
            raise check.fail(self, field, f"whole numbers, the last axis {width} long", f"{values.dtype} {values.shape}")
        if values.size and (values.min() < 0 or values.max() >= 2**self.code.symbol_bits):
            raise check.fail(self, field, f"from 0 to {2**self.code.symbol_bits - 1}", (values.min(), values.max()))
        return values.astype(np.uint16)

    def encode(self, data: np.ndarray) -> np.ndarray:
        """Code words of ``data``, shape (..., k) -> (..., n), uint16."""
        from dsp import kernels

        data = self._symbols("data", data, self.code.k)
        words = np.zeros((*data.shape[:-1], self.code.n), np.uint16)
        words[..., : self.code.k] = data
        flat = words.reshape(-1, self.code.n)
        flat[:, self.code.k :] = kernels.reed_solomon_remainders(flat, _table(*self._key))
        return words

    def decode(self, received: np.ndarray) -> Decoded:
        """Nearest code words of ``received``, shape (..., n), where one lies within ``t`` symbols."""
        from dsp import kernels

        received = self._symbols("received", received, self.code.n)
        words = received.reshape(-1, self.code.n).copy()
        exp, log = _field(self.code.symbol_bits, self.polynomial)
        remainders = kernels.reed_solomon_remainders(words, _table(*self._key))
        found = kernels.reed_solomon_correct(words, remainders, exp, log, self.code.t).reshape(received.shape[:-1])
        return Decoded(words=words.reshape(received.shape), corrected=np.maximum(found, 0), failed=found < 0)
