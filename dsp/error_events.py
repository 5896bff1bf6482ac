"""How a sequence detector errs: the error events of a target and the union bound they give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check


@dataclass(frozen=True, kw_only=True)
class ErrorEvents:
    """Error events of a target, nearest first.

    ``distance``: Euclidean length of the event's samples, in level spacings; ``symbols``: wrong symbols in it; ``chance``:
    probability that equally likely symbols allow it, both signs together.
    """

    distance: tuple[float, ...]
    symbols: tuple[int, ...]
    chance: tuple[float, ...]

    def symbol_error_ratio(self, noise_rms: float, spacing: float) -> float:
        """Union bound, the sum of symbols * chance * Q(distance spacing / (2 noise_rms)); tight where errors are rare.

        ``noise_rms`` and ``spacing`` of neighbouring levels in the same unit, white Gaussian noise at the samples. For 1 + aD
        the alternating event of j symbols has distance^2 = 1 + (j - 1)(1 - a)^2 + a^2 and chance 2 ((L - 1)/L)^j: the events
        of IEEE 802.3 178A-51. 178A-50 weighs them by ((L - 1)/L)^(j - 1), without the number of wrong symbols.
        """
        from dsp.distribution import q

        check.positive(self, "noise_rms", noise_rms)
        check.positive(self, "spacing", spacing)
        tails = q(np.array(self.distance) * spacing / (2 * noise_rms))
        return float(np.sum(np.array(self.symbols) * np.array(self.chance) * tails))


def error_events(target: tuple[float, ...], n_levels: int, *, reach: float = 1.3, longest: int = 16) -> ErrorEvents:
    """Error events of ``target`` (cursor first), at most ``longest`` symbols and ``reach`` times as far as one error by itself.

    An event starts with a wrong symbol and ends before the first len(target) - 1 right ones in a row; errors are whole numbers
    of levels. Depth-first search; the distance never shrinks from symbol to symbol, so branches end early.
    """
    check.numbers("error_events", "target", target, 1)
    if target[0] == 0:
        raise check.fail("error_events", "target[0]", "other than 0", target[0])
    check.count("error_events", "n_levels", n_levels, 2)
    check.positive("error_events", "reach", reach)
    check.count("error_events", "longest", longest, 1, 100)
    memory = len(target) - 1
    taps = target[::-1]
    limit = (reach**2 + 1e-9) * float(np.sum(np.square(target)))
    found: list[tuple[float, int, float]] = []
    # (the last len(target) errors, square so far, symbols so far, wrong ones, chance); the negative of an event is one, too.
    stack = [((0,) * memory + (e,), (target[0] * e) ** 2, 1, 1, 2 * (n_levels - e) / n_levels) for e in range(1, n_levels)]
    while stack:
        recent, square, length, wrong, chance = stack.pop()
        if square > limit:
            continue
        if not any(recent[1:]):
            found.append((float(np.sqrt(square)), wrong, chance))
            continue
        for e in range(1 - n_levels, n_levels):
            if e != 0 and length >= longest:
                continue
            ahead = (*recent[1:], e)
            sample = sum(h * x for h, x in zip(taps, ahead, strict=True))
            room = (n_levels - abs(e)) / n_levels
            stack.append((ahead, square + sample**2, length + 1, wrong + (e != 0), chance * room))
    found.sort()
    return ErrorEvents(
        distance=tuple(f[0] for f in found), symbols=tuple(f[1] for f in found), chance=tuple(f[2] for f in found)
    )
