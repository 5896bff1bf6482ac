"""Loops of the codes: Reed-Solomon, the inner code, chains of errors."""

from __future__ import annotations

import numpy as np
from numba import njit

# --- Reed-Solomon codes (dsp.reed_solomon) ---
# exp[i] is a^i for i up to twice the group order, zeros beyond; log[0] points into the zeros, so a product with 0 is 0.


@njit(nogil=True, cache=True)
def reed_solomon_remainders(words: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Remainders of ``words`` (n_words, n), highest power first, by the generator polynomial: (n_words, n_parity), uint16.

    ``table[f]``: symbol ``f`` times the generator below its leading one, shape (2^symbol_bits, n_parity).
    """
    n_words, n = words.shape
    n_parity = table.shape[1]
    out = np.empty((n_words, n_parity), np.uint16)
    work = np.empty(n, np.uint16)
    for w in range(n_words):
        work[:] = words[w]
        for i in range(n - n_parity):
            row = table[work[i]]
            part = work[i + 1 : i + 1 + n_parity]
            for j in range(n_parity):
                part[j] ^= row[j]
        out[w] = work[n - n_parity :]
    return out


@njit(nogil=True, cache=True)
def reed_solomon_locator(syndromes: np.ndarray, exp: np.ndarray, log: np.ndarray, locator: np.ndarray) -> int:
    """Berlekamp-Massey: fills the error locator polynomial, lowest power first, and returns the length of its recurrence."""
    n = syndromes.size
    order = (exp.size - 3) // 4
    before = np.zeros(n + 1, np.int64)
    kept = np.zeros(n + 1, np.int64)
    locator[:] = 0
    locator[0] = 1
    before[0] = 1
    length = 0
    gap = 1
    last = np.int64(1)
    for i in range(n):
        d = syndromes[i]
        for j in range(1, length + 1):
            d ^= exp[log[locator[j]] + log[syndromes[i - j]]]
        if d == 0:
            gap += 1
            continue
        scale = log[d] - log[last]
        if scale < 0:
            scale += order
        grow = 2 * length <= i
        if grow:
            kept[:] = locator
        for j in range(n + 1 - gap):
            locator[j + gap] ^= exp[scale + log[before[j]]]
        if grow:
            length = i + 1 - length
            before[:] = kept
            last = d
            gap = 1
        else:
            gap += 1
    return length


@njit(nogil=True, cache=True)
def reed_solomon_correct(words: np.ndarray, remainders: np.ndarray, exp: np.ndarray, log: np.ndarray, t: int) -> np.ndarray:
    """Corrects ``words`` (n_words, n) in place: symbols changed in each, or -1 and no change where none is within ``t``.

    ``remainders``: by the generator with roots a^0, a^1, ..., (n_words, n_parity).
    """
    n_words, n = words.shape
    n_parity = remainders.shape[1]
    order = (exp.size - 3) // 4
    found = np.zeros(n_words, np.int64)
    syndromes = np.empty(n_parity, np.int64)
    locator = np.empty(n_parity + 1, np.int64)
    powers = np.empty(n_parity + 1, np.int64)
    places = np.empty(n_parity + 1, np.int64)
    evaluator = np.empty(n_parity, np.int64)
    for w in range(n_words):
        dirty = False
        for j in range(n_parity):
            dirty = dirty or remainders[w, j] != 0
        if not dirty:
            continue
        for i in range(n_parity):
            s = np.int64(remainders[w, 0])
            for j in range(1, n_parity):
                s = exp[log[s] + i] ^ np.int64(remainders[w, j])
            syndromes[i] = s
        length = reed_solomon_locator(syndromes, exp, log, locator)
        if length > t:
            found[w] = -1
            continue
        # Chien search: locator(a^-d) for the symbol at x^d. Each term's logarithm falls by its power from one d to the next.
        for j in range(length + 1):
            powers[j] = log[locator[j]]
        roots = 0
        for d in range(n):
            value = np.int64(0)
            for j in range(length + 1):
                value ^= exp[powers[j]]
                p = powers[j] - j
                if p < 0:
                    p += order
                powers[j] = p if locator[j] != 0 else powers[j]
            if value == 0:
                places[roots] = d
                roots += 1
                if roots == length:
                    break
        if roots != length:
            found[w] = -1
            continue
        # Forney: the error at x^d is a^d evaluator(a^-d) / locator'(a^-d), evaluator = syndromes * locator.
        for i in range(length):
            e = np.int64(0)
            for j in range(i + 1):
                e ^= exp[log[locator[j]] + log[syndromes[i - j]]]
            evaluator[i] = e
        for r in range(length):
            d = places[r]
            back = (order - d) % order
            top = np.int64(0)
            for j in range(length):
                top ^= exp[log[evaluator[j]] + (back * j) % order]
            slope = np.int64(0)
            for j in range(1, length + 1, 2):
                slope ^= exp[log[locator[j]] + (back * (j - 1)) % order]
            words[w, n - 1 - d] ^= np.uint16(exp[(log[top] + d + order - log[slope]) % order])
        found[w] = length
    return found


# --- inner code (dsp.hamming) ---


@njit(nogil=True, cache=True)
def chase(llr: np.ndarray, columns: np.ndarray, place_of: np.ndarray, n_test: int) -> tuple[np.ndarray, np.ndarray]:
    """Chase decoding of a code that corrects one error: bits (n_words, n) uint8, and whether a code word was found.

    ``llr`` (n_words, n): positive for 0. ``columns[i]``: syndrome of bit i alone; ``place_of[syndrome]``: that bit, or -1.
    All patterns on the ``n_test`` weakest bits are tried, in Gray order so that one bit changes at a time.
    """
    n_words, n = llr.shape
    bits = np.empty((n_words, n), np.uint8)
    found = np.zeros(n_words, np.bool_)
    weak = np.zeros(n_test, np.int64)
    flipped = np.zeros(n, np.bool_)
    for w in range(n_words):
        syndrome = np.int64(0)
        filled = 0
        for i in range(n):
            wrong = llr[w, i] < 0
            bits[w, i] = wrong
            flipped[i] = False
            if wrong:
                syndrome ^= columns[i]
            size = abs(llr[w, i])
            if filled < n_test:
                j = filled
                filled += 1
            elif n_test > 0 and size < abs(llr[w, weak[n_test - 1]]):
                j = n_test - 1
            else:
                continue
            while j > 0 and abs(llr[w, weak[j - 1]]) > size:
                weak[j] = weak[j - 1]
                j -= 1
            weak[j] = i
        cost = 0.0
        best = np.inf
        best_test = 0
        best_place = -1
        for test in range(1 << n_test):
            if test > 0:
                k = 0
                while not (test >> k) & 1:
                    k += 1
                size = abs(llr[w, weak[k]])
                cost += -size if flipped[weak[k]] else size
                flipped[weak[k]] = not flipped[weak[k]]
                syndrome ^= columns[weak[k]]
            total = cost
            place = -1
            if syndrome != 0:
                place = place_of[syndrome]
                if place < 0:
                    continue
                size = abs(llr[w, place])
                total += -size if flipped[place] else size
            if total < best:
                best = total
                best_test = test ^ (test >> 1)
                best_place = place
        if best < np.inf:
            found[w] = True
            for k in range(n_test):
                bits[w, weak[k]] ^= (best_test >> k) & 1
            if best_place >= 0:
                bits[w, best_place] ^= 1
    return bits, found


# --- chains of errors (dsp.bursts) ---


@njit(nogil=True, cache=True)
def error_walk(draws: np.ndarray, cumulative: np.ndarray, state: int) -> tuple[np.ndarray, int]:
    """Errors along a Markov chain, one per uniform draw, and the state after them.

    ``cumulative`` (n, 2n): running sums of the probabilities of (next state, right) and then (next state, wrong).
    """
    n = cumulative.shape[0]
    wrong = np.empty(draws.size, np.bool_)
    s = state
    for i in range(draws.size):
        k = 0
        while k < 2 * n - 1 and draws[i] >= cumulative[s, k]:
            k += 1
        wrong[i] = k >= n
        s = k - n if k >= n else k
    return wrong, s
