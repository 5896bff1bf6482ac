"""A link as a sweep point: parameters by path in, chosen results out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp import check
from dsp.units import db
from experiments.records import Field
from serdes.link import Link, suggestion
from serdes.operating_point import operating_point
from serdes.setups import Setup, setup
from serdes.statistical import Statistical

if TYPE_CHECKING:
    from serdes.operating_point import OperatingPoint
    from serdes.result import BasebandResult

ENGINES = ("statistical", "counted")
SETUP = "setup."
OF_RECORD = {
    "ser": "", "ber": "", "post_fec": "", "snr_db": "dB", "outcome": "", "reason": "", "locked": "", "sampling_phase_ui": "UI",
    "ctle_gain_db": "dB", "ctle_low_gain_db": "dB", "main_cursor": "V", "symbol_rate": "Bd", "symbols": "", "symbol_errors": "",
    "ser_low": "", "ser_high": "", "bits": "", "bit_errors": "", "ber_low": "", "ber_high": "", "counted": "",
}  # fmt: skip
"""Outputs that are entries of a result's record, with their units. ``share_...`` (of the decision error) is one, too."""
EXTRA = {"eye_height": "outer levels", "eye_width_ui": "UI", "loss_at_nyquist_db": "dB", "margin_db": "dB", "bathtub": ""}
UNITS = {name: unit for name, unit in {**OF_RECORD, **EXTRA}.items() if unit}
_OF_EYE = ("eye_height", "eye_width_ui", "bathtub")


def check_outputs(outputs: Sequence[str]) -> None:
    """Raises ValueError for an output that does not exist, with the nearest that does."""
    valid = [*OF_RECORD, *EXTRA]
    for name in outputs:
        if name not in valid and not str(name).startswith("share_"):
            raise ValueError(f"outputs: unknown {name!r}{suggestion(str(name), valid)}")


def setup_arguments(table: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a set-up's link, checked: rate, length, gauge, hosts ("HN-HH"), crosstalk."""
    valid = {"rate", *(k for k in inspect.signature(Setup.link).parameters if k not in ("self", "cable", "extra"))}
    for key in table:
        if key not in valid:
            raise ValueError(f"setup: unknown key {key!r}{suggestion(key, sorted(valid))}")
    return dict(table)


@dataclass(frozen=True, kw_only=True)
class LinkPoint:
    """A point function: a base link changed by parameters, run, and the ``outputs`` asked for.

    The base is a link, or, as ``setup`` (pairs of name and value), a lane rate with its cable. Parameters are paths into the
    link ("rx.equalizer.n_taps"), or "setup.length" and the like. ``engine``: "statistical", or "counted" over ``n_symbols`` in
    the time domain. ``error_ratio``: for eyes and margins, by default the lane rate's own.

    The continuous-time equaliser's gains are searched from those of a link that differs from the base by the channel's
    parameters alone: found once for all points of that channel, and the same whoever comes first.
    """

    outputs: tuple[str, ...]
    base: Link | None = None
    setup: tuple[tuple[str, Any], ...] = ()
    engine: str = "statistical"
    n_symbols: int = 100_000
    error_ratio: float | None = None

    def __post_init__(self) -> None:
        check_outputs(self.outputs)
        check.one_of(self, "engine", self.engine, ENGINES)
        check.count(self, "n_symbols", self.n_symbols, 1)
        if (self.base is None) == (not self.setup):
            raise ValueError("LinkPoint: needs either base or setup")
        if self.error_ratio is not None:
            check.between(self, "error_ratio", self.error_ratio, 1e-30, 0.4)
        if self.error_ratio is None and not self.setup and {"margin_db", *_OF_EYE} & set(self.outputs):
            raise ValueError("error_ratio: needed for eyes and margins of a link that is no set-up")

    def link(self, parameters: Mapping[str, Any]) -> Link:
        """The link at ``parameters``. Raises ValueError for a path that does not exist."""
        inside = {k.removeprefix(SETUP): v for k, v in parameters.items() if k.startswith(SETUP)}
        if inside and self.base is not None:
            raise ValueError(f"{SETUP}{next(iter(inside))}: the file describes a whole link, not a set-up")
        base = self.base or _link_of(tuple(sorted(setup_arguments({**dict(self.setup), **inside}).items())))
        return base.vary({k: v for k, v in parameters.items() if not k.startswith(SETUP)})

    def __call__(self, parameters: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        """The outputs at ``parameters``; ``rng`` is for the counted engine alone."""
        link = self.link(parameters)
        if self.engine == "counted":
            from serdes.time_domain import TimeDomain

            return self._record(TimeDomain(n_symbols=self.n_symbols).run(link, rng))
        engine = Statistical(eye=bool(set(_OF_EYE) & set(self.outputs)))
        return self._record(engine.run(link, like=_base(self, self.shared(parameters))))

    def shared(self, parameters: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """The parameters that make the channel: points alike in these share its responses, so a sweep takes them together."""
        return tuple(
            sorted((k, v) for k, v in parameters.items() if k.startswith((SETUP, "channel", "aggressors", "symbol_rate")))
        )

    def _record(self, result: BasebandResult) -> dict[str, Any]:
        point = result.operating_point
        known = result.entries()
        row: dict[str, Any] = {name: known.get(name) for name in self.outputs if name not in EXTRA}
        if "loss_at_nyquist_db" in self.outputs:
            row["loss_at_nyquist_db"] = -float(db(result.link.channel.transfer(np.array([result.link.nyquist])))[0])
        if "margin_db" in self.outputs:
            from serdes.reach import Target

            row["margin_db"] = Target(error_ratio=self._error_ratio(), margin_db=0).excess_db(point)
        if set(_OF_EYE) & set(self.outputs):
            row |= {k: v for k, v in self._eye(result).items() if k in self.outputs}
        return row

    def _eye(self, result: BasebandResult) -> dict[str, Any]:
        if not result.eyes:
            phase = (np.arange(64) - 32) / 64
            closed = Field(values=np.full(phase.size, np.nan), dims=("phase_ui",), coords={"phase_ui": phase})
            return {"eye_height": 0.0, "eye_width_ui": 0.0, "bathtub": closed}
        eye = result.eye
        worst = min(eye.openings(max(self._error_ratio(), eye.floor)), key=lambda o: o.height)
        error = np.max([eye.bathtub(k) for k in range(len(eye.levels) - 1)], axis=0)
        bathtub = Field(values=error, dims=("phase_ui",), coords={"phase_ui": eye.time / eye.symbol_time})
        return {"eye_height": worst.height, "eye_width_ui": worst.width_ui, "bathtub": bathtub}

    def _error_ratio(self) -> float:
        return self.error_ratio or setup(dict(self.setup)["rate"]).error_ratio


@functools.lru_cache(maxsize=64)
def _link_of(arguments: tuple[tuple[str, Any], ...]) -> Link:
    given = dict(arguments)
    s = setup(str(given.pop("rate", "112G")))
    if isinstance(given.get("hosts"), str):
        near, dash, far = given["hosts"].partition("-")
        if not dash:
            raise ValueError(f"setup.hosts must be two classes joined by a dash, for example HN-HH, got {given['hosts']!r}")
        given["hosts"] = (near, far)
    return s.link(**{"length": 1.0, **given})


@functools.lru_cache(maxsize=16)
def _base(point: LinkPoint, channel: tuple[tuple[str, Any], ...]) -> OperatingPoint:
    return operating_point(point.link(dict(channel)))
