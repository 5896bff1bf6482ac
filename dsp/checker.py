"""Error checker: finds a test pattern in received symbols without help, counts errors, and says when it cannot."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dsp import check
from dsp.constellation import decode_precoded, pam
from dsp.patterns import LONGEST, Pattern, check_pattern
from dsp.sequences import TAPS

_WINDOW = LONGEST
_SHORTEST_CHUNK = 256


@dataclass(frozen=True, kw_only=True)
class Position:
    """Where a receiver stands in the pattern.

    ``phase``: index in the pattern of the next symbol, or the shift register before it (PRBS23, PRBS31, PRBS31Q).
    ``inverted``: the levels arrive upside down. ``previous``: the last received symbol, which precoding needs. ``recent``:
    symbols compared and wrong ones in the stretch under way.
    """

    phase: int
    inverted: bool
    previous: int | None = None
    recent: tuple[int, int] = (0, 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Checked:
    """Outcome of a check, errors counted wherever the pattern was found.

    ``aligned``: the pattern was held at the end, else ``reason`` says why not. ``position``: that of the symbol after the last.
    ``start``: index of the first symbol compared (-1: none). ``compared``, ``symbol_errors``, ``bits``, ``bit_errors``: counts.
    ``realignments``: how often the pattern was found anew after it was lost (a slip). ``difference``: received less expected
    index, int8, one for each received symbol, 0 where nothing was compared.
    """

    aligned: bool
    reason: str
    position: Position | None
    start: int
    compared: int
    symbol_errors: int
    bits: int
    bit_errors: int
    realignments: int
    difference: np.ndarray

    @property
    def inverted(self) -> bool | None:
        """Whether the levels were upside down at the end; None when not aligned."""
        return self.position.inverted if self.position is not None else None

    def and_then(self, later: Checked, symbols: int) -> Checked:
        """Counts of this and of what was checked after its ``symbols``; without `difference`, to stay small."""
        return replace(
            later,
            start=self.start if self.start >= 0 else later.start + symbols if later.start >= 0 else -1,
            compared=self.compared + later.compared,
            symbol_errors=self.symbol_errors + later.symbol_errors,
            bits=self.bits + later.bits,
            bit_errors=self.bit_errors + later.bit_errors,
            realignments=self.realignments + later.realignments,
            difference=np.zeros(0, np.int8),
        )


@dataclass(frozen=True, kw_only=True)
class ErrorChecker:
    """Compares received symbols with ``pattern``, a name out of `PATTERNS` or one period as a tuple of indices.

    Phase and polarity (of PAM: levels upside down) are found from the symbols themselves, and anew after a slip.
    ``precoded``: the symbols are 1/(1+D) precoded (802.3 120.5.7.2) and decoded before they are compared, so one isolated wrong
    decision counts twice; a precoded NRZ stream shows no polarity and counts as upright. ``max_error_ratio``: a stretch of 256
    symbols or more (see `shortest`) with more symbol errors than that is not this pattern, its errors are not counted; the
    default is far from both a working link and chance (1/2 for NRZ, 3/4 for PAM4).
    """

    pattern: str | tuple[int, ...]
    precoded: bool = False
    max_error_ratio: float = 0.25

    def __post_init__(self) -> None:
        check_pattern(self, "pattern", self.pattern)
        check.instance(self, "precoded", self.precoded, bool)
        check.between(self, "max_error_ratio", self.max_error_ratio, 0, 0.4)

    @property
    def n_levels(self) -> int:
        """Levels of a symbol, see `Pattern`."""
        return self._pattern.n_levels

    @property
    def _pattern(self) -> Pattern:
        return Pattern(of=self.pattern)

    @property
    def shortest(self) -> int:
        """Symbols needed to tell the pattern from chance, with less than 1e-9 probability of a false find (Chernoff bound)."""
        trials = 2 * (self._pattern.length + 1)
        chance, most = 1 - 1 / self.n_levels, self.max_error_ratio
        gap = (1 - most) * math.log((1 - most) / (1 - chance)) + (most * math.log(most / chance) if most > 0 else 0.0)
        per_symbol = 2 if self.pattern == "PRBS31Q" else 1
        return max(math.ceil((math.log(trials) + 21) / gap), 2 * self._pattern.order // per_symbol)

    def check(self, symbols: np.ndarray) -> Checked:
        """Checks one whole record of received indices, shape (n,)."""
        return self.step(symbols, None)[0]

    def step(self, symbols: np.ndarray, position: Position | None) -> tuple[Checked, Position | None]:
        """Checks a block of received indices from ``position`` (None: not aligned yet) and returns that after it, too."""
        symbols = np.asarray(symbols)
        if symbols.ndim != 1 or symbols.dtype.kind not in "iu":
            raise check.fail(self, "symbols", "whole numbers on one axis", f"{symbols.dtype} {symbols.shape}")
        if symbols.size and (symbols.min() < 0 or symbols.max() >= self.n_levels):
            raise check.fail(self, "symbols", f"from 0 to {self.n_levels - 1}", (symbols.min(), symbols.max()))
        symbols = symbols.astype(np.uint8)
        difference = np.zeros(symbols.size, np.int8)
        labels = pam(self.n_levels)
        reason = "nothing received"
        lost_at = -1
        found_before = position is not None
        at, start, compared, bit_errors, realignments = 0, -1, 0, 0, 0
        while at < symbols.size:
            fresh = position is None
            if position is None:
                position, at, reason = self._align(symbols, at)
                if position is None:
                    break
                realignments += found_before
                found_before = True
            received, expected, after = self._compare(symbols[at:], position)
            wrong = received != expected
            good, recent = self._held(wrong, position.recent)
            position = replace(after, recent=recent) if good == wrong.size else None
            if good > 0:
                start = at if start < 0 else start
                difference[at : at + good] = received[:good].astype(np.int8) - expected[:good].astype(np.int8)
                places = np.flatnonzero(wrong[:good])
                bit_errors += int(labels.bit_distance[received[places], expected[places]].sum())
                compared += good
            at += good
            if position is None:
                lost_at = at
                at += self._chunk if fresh and good == 0 else 0  # the slip lies in this stretch: go past it
        if position is None and lost_at >= 0:
            reason = f"lost the pattern at symbol {lost_at}; after that " + (reason or "too few symbols")
        result = Checked(
            aligned=position is not None,
            reason=reason if position is None else "",
            position=position,
            start=start,
            compared=compared,
            symbol_errors=int(np.count_nonzero(difference)),
            bits=compared * labels.label_bits,
            bit_errors=bit_errors,
            realignments=realignments,
            difference=difference,
        )
        return result, position

    @property
    def _chunk(self) -> int:
        """Symbols of a stretch that is judged as a whole."""
        return max(_SHORTEST_CHUNK, self.shortest)

    def _held(self, wrong: np.ndarray, recent: tuple[int, int]) -> tuple[int, tuple[int, int]]:
        """Symbols before the first stretch with too many errors, and the counts of the stretch left open at the end.

        ``recent``: counts of the stretch left open by the block before.
        """
        chunk = self._chunk
        if recent[0] + wrong.size < chunk:
            return wrong.size, (recent[0] + wrong.size, recent[1] + int(np.count_nonzero(wrong)))
        head = chunk - recent[0]
        whole = (wrong.size - head) // chunk
        errors = np.count_nonzero(wrong[head : head + whole * chunk].reshape(whole, chunk), axis=1)
        errors = np.append(recent[1] + np.count_nonzero(wrong[:head]), errors)
        bad = np.flatnonzero(errors > self.max_error_ratio * chunk)
        if bad.size:
            return (0 if bad[0] == 0 else head + (int(bad[0]) - 1) * chunk), (0, 0)
        rest = wrong[head + whole * chunk :]
        return wrong.size, (rest.size, int(np.count_nonzero(rest)))

    def _plain(self, symbols: np.ndarray, inverted: bool, previous: int | None) -> np.ndarray:
        """Symbols the right way up and without precoding; the first is unreliable when ``previous`` is unknown."""
        upright = self.n_levels - 1 - symbols if inverted else symbols
        if not self.precoded:
            return upright
        before = 0 if previous is None else int(self.n_levels - 1 - previous if inverted else previous)
        return decode_precoded(upright, self.n_levels, before).astype(np.uint8)

    @property
    def _polarities(self) -> tuple[bool, ...]:
        """(1+D) mod 2 is the same either way up: a precoded NRZ stream has no polarity to find."""
        return (False,) if self.precoded and self.n_levels == 2 else (False, True)

    def _compare(self, symbols: np.ndarray, position: Position) -> tuple[np.ndarray, np.ndarray, Position]:
        received = self._plain(symbols, position.inverted, position.previous)
        previous = int(symbols[-1]) if symbols.size else position.previous
        expected, phase = self._pattern.block(symbols.size, position.phase)
        if self.precoded and position.previous is None and symbols.size:
            received = received.copy()
            received[0] = expected[0]  # decoded against an unknown symbol
        return received, expected, replace(position, phase=int(phase), previous=previous)

    def _align(self, symbols: np.ndarray, at: int) -> tuple[Position | None, int, str]:
        """The position at the first stretch from ``at`` on that holds the pattern, where it begins, or why there is none."""
        pattern = self._pattern
        size = 2**14 if pattern.order else max(min(pattern.length, _WINDOW), 4 * self.shortest)
        reason = ""
        while at < symbols.size:
            window = symbols[at : at + size]
            if window.size < self.shortest:
                short = f"too short: {window.size} symbols, {pattern.name} takes {self.shortest}"
                return None, at, reason or short
            if np.all(window == window[0]):
                reason = f"the symbols from {at} on are all {int(window[0])}"
            else:
                position, reason = self._register(window) if pattern.order else self._correlate(window)
                if position is not None:
                    return position, at, ""
            at += window.size
        return None, at, reason

    def _nothing(self, best: float) -> str:
        return f"not {self._pattern.name}: the best phase leaves {100 * best:.0f} % of the symbols wrong"

    def _correlate(self, window: np.ndarray) -> tuple[Position | None, str]:
        """The phase and polarity of highest circular correlation, if they leave few errors and no others do as well."""
        period = self._pattern.table
        n = period.size
        spectrum = np.fft.rfft(2.0 * period - (self.n_levels - 1))
        fits: list[tuple[float, bool, int]] = []
        for inverted in self._polarities:
            plain = 2.0 * self._plain(window, inverted, None) - (self.n_levels - 1)
            if self.precoded:
                plain[0] = 0.0
            folded = np.bincount(np.arange(plain.size) % n, weights=plain, minlength=n)
            match = np.rint(np.fft.irfft(spectrum * np.conj(np.fft.rfft(folded)), n))
            for phase in np.flatnonzero(match == match.max())[:2]:
                received, expected, _ = self._compare(window, Position(phase=int(phase), inverted=inverted))
                fits.append((float(np.mean(received != expected)), inverted, int(phase)))
        fits.sort()
        best, inverted, phase = fits[0]
        if best > self.max_error_ratio:
            return None, self._nothing(best)
        for ratio, other, elsewhere in fits[1:]:
            same = other == inverted and np.array_equal(np.roll(period, -phase), np.roll(period, -elsewhere))
            mirrored = (
                not self.precoded
                and other != inverted
                and np.array_equal(np.roll(period, -phase), self.n_levels - 1 - np.roll(period, -elsewhere))
            )
            if ratio == best and not same and not mirrored:
                return None, f"ambiguous: {self._pattern.name} holds these {window.size} symbols twice"
        return Position(phase=phase, inverted=inverted), ""

    def _register(self, window: np.ndarray) -> tuple[Position | None, str]:
        """The shift register before the window, from a stretch of bits that obeys the recurrence."""
        from dsp import kernels

        order = self._pattern.order
        taps = np.array(TAPS[order], np.int64)
        best = 1.0
        for inverted in self._polarities:
            plain = self._plain(window, inverted, None)
            bits = 1 - pam(4).bits_of(plain) if self.n_levels == 4 else plain
            fit = bits[order:] == np.bitwise_xor.reduce([bits[order - k : bits.size - k] for k in taps])
            # Runs that obey the recurrence, longest first: bits in a long one are very likely right.
            edges = np.flatnonzero(np.diff(np.concatenate([[0], fit.astype(np.int8), [0]])))
            runs = sorted(zip(edges[1::2] - edges[::2], edges[::2], strict=True), reverse=True)[:8]
            for length, first in runs:
                place = int(first + length // 2)  # bits place ... place + order - 1 fill the register
                state = 0
                for bit in bits[place : place + order]:
                    state = (state << 1) | int(bit)
                if state == 0:
                    continue
                # Backwards in time the recurrence is that of the reciprocal polynomial.
                mirror = int(f"{state:0{order}b}"[::-1], 2)
                back = np.array([order, *(order - k for k in taps if k != order)], np.int64)
                _, mirror = kernels.lfsr(place + order, mirror, back, order)
                phase = int(f"{mirror:0{order}b}"[::-1], 2)
                received, expected, _ = self._compare(window, Position(phase=phase, inverted=inverted))
                ratio = float(np.mean(received != expected))
                best = min(best, ratio)
                if ratio <= self.max_error_ratio:
                    return Position(phase=phase, inverted=inverted), ""
        return None, self._nothing(best)
