"""Where code symbols travel: interleaving of code words, lanes and multiplexing as pure index maps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.fec import Fec


def bits_of_symbols(symbols: np.ndarray, symbol_bits: int) -> np.ndarray:
    """Bits of code symbols, least significant first as on the line, shape (..., n) -> (..., n * symbol_bits), uint8."""
    check.count("bits_of_symbols", "symbol_bits", symbol_bits, 1, 32)
    symbols = np.asarray(symbols)
    bits = (symbols[..., None] >> np.arange(symbol_bits, dtype=symbols.dtype)) & 1
    return bits.astype(np.uint8).reshape(*symbols.shape[:-1], -1)


def symbols_of_bits(bits: np.ndarray, symbol_bits: int) -> np.ndarray:
    """Code symbols of bits, the inverse of `bits_of_symbols`, shape (..., n * symbol_bits) -> (..., n), int64."""
    check.count("symbols_of_bits", "symbol_bits", symbol_bits, 1, 32)
    bits = np.asarray(bits)
    if bits.ndim == 0 or bits.shape[-1] % symbol_bits:
        raise check.fail("symbols_of_bits", "bits", f"a multiple of {symbol_bits} in length", bits.shape)
    return bits.reshape(*bits.shape[:-1], -1, symbol_bits).astype(np.int64) @ (1 << np.arange(symbol_bits))


@dataclass(frozen=True, kw_only=True)
class Interleaving:
    """``ways`` code words share a group, spread over ``pcs_lanes`` lanes that are merged onto ``line_lanes`` lines.

    Symbols are dealt to the PCS lanes row by row. Row r, lane l takes the next symbol of word (l + r) mod ways where the lanes
    are a multiple of ``ways`` (two ways: the checkerboard of IEEE 802.3 119.2.4.6, so every lane carries all words), else of
    word (r pcs_lanes + l) mod ways, plain turns. Neighbouring PCS lanes are merged onto one line, ``mux`` "symbol" whole
    symbols in turn (200 Gb/s lanes of 802.3dj) or "bit" single bits in turn (802.3 bit multiplexing).
    A symbol is named by w n + s, symbol s of word w; its bits by (w n + s) symbol_bits + b.
    """

    code: Fec
    ways: int = 1
    pcs_lanes: int = 1
    line_lanes: int = 1
    mux: str = "symbol"

    def __post_init__(self) -> None:
        check.instance(self, "code", self.code, Fec)
        check.one_of(self, "ways", self.ways, (1, 2, 4))
        check.count(self, "pcs_lanes", self.pcs_lanes, 1)
        if (self.ways * self.code.n) % self.pcs_lanes:
            raise check.fail(self, "pcs_lanes", f"a divisor of the {self.ways * self.code.n} symbols", self.pcs_lanes)
        check.count(self, "line_lanes", self.line_lanes, 1)
        if self.pcs_lanes % self.line_lanes:
            raise check.fail(self, "line_lanes", f"a divisor of the {self.pcs_lanes} PCS lanes", self.line_lanes)
        check.one_of(self, "mux", self.mux, ("symbol", "bit"))

    @property
    def bits_per_line(self) -> int:
        """Bits of one group on each line."""
        return self.ways * self.code.n * self.code.symbol_bits // self.line_lanes

    @property
    def pcs_map(self) -> np.ndarray:
        """Names of the symbols on each PCS lane in order of time, shape (pcs_lanes, ways n / pcs_lanes)."""
        lanes, n = self.pcs_lanes, self.code.n
        turn = np.arange(self.ways * n).reshape(-1, lanes)
        if lanes % self.ways == 0:
            row, lane = np.divmod(turn, lanes)
            word = (lane + row) % self.ways
            symbol = row * (lanes // self.ways) + lane // self.ways
        else:
            symbol, word = np.divmod(turn, self.ways)
        return np.ascontiguousarray((word * n + symbol).T)

    @property
    def line_map(self) -> np.ndarray:
        """Names of the bits on each line in order of time, shape (line_lanes, bits_per_line)."""
        m = self.code.symbol_bits
        merged = self.pcs_lanes // self.line_lanes
        bits = self.pcs_map[:, :, None] * m + np.arange(m)  # (lane, row, bit)
        if self.mux == "bit":
            return bits.reshape(self.line_lanes, merged, -1).swapaxes(1, 2).reshape(self.line_lanes, -1)
        return bits.reshape(self.line_lanes, merged, -1, m).swapaxes(1, 2).reshape(self.line_lanes, -1)

    def to_lines(self, words: np.ndarray) -> np.ndarray:
        """Bits on the lines of groups of code words, shape (..., ways, n) -> (..., line_lanes, bits_per_line), uint8."""
        words = np.asarray(words)
        if words.shape[-2:] != (self.ways, self.code.n):
            raise check.fail(self, "words", f"(..., {self.ways}, {self.code.n}) in shape", words.shape)
        bits = bits_of_symbols(words.reshape(*words.shape[:-2], -1), self.code.symbol_bits)
        return bits[..., self.line_map]

    def from_lines(self, bits: np.ndarray) -> np.ndarray:
        """Groups of code words from the bits on the lines, the inverse of `to_lines`, int64."""
        named = self._named("bits", bits)
        return symbols_of_bits(named, self.code.symbol_bits).reshape(*named.shape[:-1], self.ways, self.code.n)

    def wrong_symbols(self, wrong_bits: np.ndarray) -> np.ndarray:
        """Number of wrong symbols in each word, shape (..., line_lanes, bits_per_line) bool -> (..., ways)."""
        named = self._named("wrong_bits", np.asarray(wrong_bits, bool))
        per_symbol = named.reshape(*named.shape[:-1], self.ways, self.code.n, self.code.symbol_bits).any(axis=-1)
        return per_symbol.sum(axis=-1)

    def _named(self, field: str, bits: np.ndarray) -> np.ndarray:
        """Line bits in the order of their names, shape (..., bits of a group)."""
        bits = np.asarray(bits)
        if bits.shape[-2:] != (self.line_lanes, self.bits_per_line):
            raise check.fail(self, field, f"(..., {self.line_lanes}, {self.bits_per_line}) in shape", bits.shape)
        flat = bits.reshape(*bits.shape[:-2], -1)
        place = np.empty(flat.shape[-1], np.intp)
        place[self.line_map.ravel()] = np.arange(place.size)
        return flat[..., place]


@dataclass(frozen=True, kw_only=True)
class WordCount:
    """Code words counted by their number of wrong symbols.

    ``histogram[i]``: words with i wrong symbols. ``failed``: words with more than t. ``groups``, ``groups_failed``: groups of
    interleaved words, and those with a failed word in them.
    """

    histogram: tuple[int, ...]
    words: int
    failed: int
    groups: int
    groups_failed: int

    def failure_bounds(self, confidence: float = 0.95) -> tuple[float, float]:
        """Two-sided Clopper-Pearson bounds of the ratio of failed words, taking words as independent."""
        from dsp.fec import count_bounds

        return count_bounds(self.failed, self.words, confidence)


def count_words(wrong_symbols: np.ndarray, t: int) -> WordCount:
    """Counts over groups of words: ``wrong_symbols`` (n_groups, ways) as `Interleaving.wrong_symbols` gives them."""
    wrong = np.asarray(wrong_symbols)
    if wrong.ndim != 2 or wrong.dtype.kind not in "iu":
        raise check.fail(
            "count_words", "wrong_symbols", "whole numbers of shape (n_groups, ways)", f"{wrong.dtype} {wrong.shape}"
        )
    check.count("count_words", "t", t)
    failed = wrong > t
    return WordCount(
        histogram=tuple(np.bincount(wrong.ravel()).tolist()),
        words=wrong.size,
        failed=int(failed.sum()),
        groups=wrong.shape[0],
        groups_failed=int(failed.any(axis=1).sum()),
    )
