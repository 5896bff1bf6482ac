"""What an engine returns: one family for all links and engines; a failed link is a result with a reason."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from serdes.eye import Eye
from serdes.link import Link
from serdes.metrics import ErrorCount

if TYPE_CHECKING:
    from serdes.count_detail import CountDetail
    from serdes.operating_point import OperatingPoint


NO_SIGNAL = "no signal", "the pulse response has no main cursor: the channel passes nothing in the band of the symbol rate"
"""Outcome and reason of a dead channel."""


@dataclass(frozen=True, kw_only=True)
class Lock:
    """State of the clock recovery. ``phase_ui``: mean sampling phase after the pulse's peak; ``jitter_ui``: its rms wander.

    ``cycle_slips``: whole unit intervals by which the phase went astray, over the whole run.
    """

    locked: bool
    reason: str
    phase_ui: float = 0.0
    jitter_ui: float = 0.0
    lock_time_symbols: int = 0
    cycle_slips: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkResult:
    """The answer to "how well does this link work?", of any link.

    ``ser``, ``ber``: symbol and bit error ratio before FEC. ``snr_db``: mean square of the constellation over the variance of
    the decision error. ``symbols``, ``bits``: errors counted, None for engines that do not count. ``outcome``: "ok" or what
    went wrong, with ``reason``; that of an "ok" says what was left out. Amplitude links return a `BasebandResult`,
    coherent ones a `serdes.coherent.CoherentResult`.
    """

    link: Any
    engine: Any
    ser: float
    ber: float
    snr_db: float
    lock: Lock
    outcome: str = "ok"
    reason: str = ""
    symbols: ErrorCount | None = None
    bits: ErrorCount | None = None

    def record(self) -> dict[str, Any]:
        """A flat dictionary for a table: the hash of the link, the engine and `entries`."""
        from serdes.serialize import content_hash

        return {"link": content_hash(self.link), "engine": type(self.engine).__name__, **self.entries()}

    def entries(self) -> dict[str, Any]:
        """What was found, flat. A ratio counted without an error is None: ``ser_high`` and ``counted`` say what it is below."""
        symbols, bits = self.symbols, self.bits
        row: dict[str, Any] = {
            "symbol_rate": self.link.symbol_rate,
            "outcome": self.outcome,
            "reason": self.reason,
            "ser": None if symbols is not None and symbols.clean else self.ser,
            "ber": None if bits is not None and bits.clean else self.ber,
            "snr_db": self.snr_db,
            "locked": self.lock.locked,
        }
        for name, ratio, count in (("symbol", "ser", symbols), ("bit", "ber", bits)):
            if count is not None:
                low, high = count.interval()
                row |= {f"{name}s": count.trials, f"{name}_errors": count.errors, f"{ratio}_low": low, f"{ratio}_high": high}
        if symbols is not None:
            row["counted"] = symbols.text()
        return row


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class BasebandResult(LinkResult):
    """Of a link of amplitude levels, by wire or by intensity of light.

    ``operating_point``: where its equalisers and clock settled. ``eyes``: by name. ``post_fec``: codeword failure ratio, None
    without FEC. ``detail``: of a counted run, else None.
    """

    link: Link
    operating_point: OperatingPoint
    eyes: dict[str, Eye]
    post_fec: float | None = None
    detail: CountDetail | None = None

    @classmethod
    def failed(
        cls, link: Link, engine: Any, point: OperatingPoint, outcome: str, reason: str, count: int | None = None
    ) -> BasebandResult:
        """A link that carries nothing: decisions by chance. ``count``: of symbols counted, None for engines that don't."""
        counted = None if count is None else ErrorCount(errors=0, trials=count)
        return cls(
            link=link, engine=engine, operating_point=point, ser=1 - 1 / link.tx.constellation.n, ber=0.5, snr_db=-math.inf,
            eyes={}, lock=Lock(locked=False, reason=reason), outcome=outcome, reason=reason, symbols=counted, bits=counted,
            post_fec=None if link.fec is None else 1.0,
        )  # fmt: skip

    @property
    def eye(self) -> Eye:
        """The eye at the slicer."""
        return self.eyes["slicer"]

    def entries(self) -> dict[str, Any]:
        """`LinkResult.entries` and where the link settled."""
        point = self.operating_point
        return {
            **super().entries(),
            "post_fec": self.post_fec,
            "cycle_slips": self.lock.cycle_slips,
            "sampling_phase_ui": point.phase_ui,
            "ctle_gain_db": point.gain_db,
            "ctle_low_gain_db": point.low_gain_db,
            "main_cursor": point.main_cursor,
            **{f"share_{name}": share for name, share in point.shares().items()},
        }
