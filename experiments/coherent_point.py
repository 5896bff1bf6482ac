"""A coherent link as a sweep point: parameters by path in, chosen entries of its result out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsp import check
from serdes.coherent import CoherentLink
from serdes.coherent_statistical import CoherentStatistical
from serdes.coherent_time_domain import CoherentTimeDomain
from serdes.link import suggestion

ENGINES = ("statistical", "counted")
OUTPUTS = {
    "ser": "", "ber": "", "snr_db": "dB", "snr_x_db": "dB", "snr_y_db": "dB", "gmi_x": "bit", "gmi_y": "bit", "margin_db": "dB",
    "outcome": "", "reason": "", "locked": "", "slips": "", "offset": "Hz", "clock_ppm": "ppm", "symbol_rate": "Bd",
    "symbols": "", "symbol_errors": "", "ser_low": "", "ser_high": "", "bits": "", "bit_errors": "", "ber_low": "", "ber_high": "",
    "counted": "",
}  # fmt: skip
"""Entries of a result's record, with their units. ``snr_..._db`` of a cause (linear face) is one, too."""
UNITS = {name: unit for name, unit in OUTPUTS.items() if unit}


@dataclass(frozen=True, kw_only=True)
class CoherentPoint:
    """A point function: a coherent ``base`` changed by parameters, run, and the ``outputs`` asked for.

    Parameters are paths into the link ("tx.power", "channel.spans.0.fiber.length"). ``engine``: "statistical", its linear
    face, or "counted" over ``n_symbols`` in each polarisation.
    """

    outputs: tuple[str, ...]
    base: CoherentLink
    engine: str = "statistical"
    n_symbols: int = 65_536

    def __post_init__(self) -> None:
        for name in self.outputs:
            if name not in OUTPUTS and not (name.startswith("snr_") and name.endswith("_db")):
                raise ValueError(f"outputs: unknown {name!r}{suggestion(name, list(OUTPUTS))}")
        check.instance(self, "base", self.base, CoherentLink)
        check.one_of(self, "engine", self.engine, ENGINES)
        check.count(self, "n_symbols", self.n_symbols, 1024)

    def link(self, parameters: Mapping[str, Any]) -> CoherentLink:
        """The link at ``parameters``. Raises ValueError for a path that does not exist."""
        return self.base.vary(parameters)

    def __call__(self, parameters: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        """The outputs at ``parameters``; ``rng`` is for the counted engine alone."""
        link = self.link(parameters)
        if self.engine == "counted":
            record = CoherentTimeDomain(n_symbols=self.n_symbols).run(link, rng).entries()
        else:
            record = CoherentStatistical().run(link).entries()
        return {name: record.get(name) for name in self.outputs}
