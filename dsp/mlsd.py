"""Sequence detection behind an adaptive equaliser: the target is what the feedback filter would have subtracted."""

from __future__ import annotations

from dataclasses import dataclass

from dsp import check
from dsp.detector import SequenceDetector
from dsp.equalizer import Taps


@dataclass(frozen=True, kw_only=True)
class Mlsd:
    """Maximum-likelihood sequence detector for 1 + b1 D + ... + bm D^m, b the first ``memory`` feedback taps of the equaliser.

    Those taps are not subtracted before it; clock and adaptation go on with the decisions of the feedback equaliser. ``lag``:
    of the decisions [symbols], None for all that `dsp.detector.SequenceDetector` can hold.
    """

    memory: int = 1
    lag: int | None = None

    def __post_init__(self) -> None:
        check.count(self, "memory", self.memory, 1, 3)
        if self.lag is not None:
            check.count(self, "lag", self.lag, self.memory, 61)

    def detector(self, taps: Taps) -> SequenceDetector:
        """The detector for settled ``taps``. Raises ValueError where they have fewer than ``memory`` feedback taps."""
        if len(taps.feedback) < self.memory:
            rule = f"{len(taps.feedback)} or less, the equaliser's feedback taps make the target"
            raise check.fail(self, "memory", rule, self.memory)
        return SequenceDetector(target=(1.0, *taps.feedback[: self.memory]), lag=self.lag)
