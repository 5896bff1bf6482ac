"""What the crosstalk files of a through path add up to: power sums, insertion loss to crosstalk ratio, ICN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from channels.channel_set import ChannelSet
from channels.conditioning import is_uniform
from channels.crosstalk import crosstalk_ratio_db, power_sum
from channels.file_network import Batch, FileNetwork
from channels.touchstone_data import TouchstoneError
from dsp.units import GBd, GHz, db, db_power, mV
from experiments.study import Row, curve_rows
from serdes import com_loss, com_standards
from serdes.com_channel import ComChannel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOWEST_DB = -150.0
SHEETS = ("802.3ck-kr", "802.3dj-kr")
"""Parameter sets whose amplitudes and filters weigh the integrated noise, by their symbol rate."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sums:
    """Transfers of a set on common points ``f`` [Hz], between the reference of the through path, and what they add up to.

    ``aggressors``: kind, name and transfer of each. ``icn`` [V rms] is None where ``icn_basis`` says why.
    """

    found: ChannelSet
    symbol_rate: float
    f: np.ndarray
    through: np.ndarray
    aggressors: tuple[tuple[str, str, np.ndarray], ...]
    icn: float | None
    icn_basis: str

    @property
    def icr_db(self) -> np.ndarray:
        """Insertion loss to crosstalk ratio [dB] at ``f``."""
        return crosstalk_ratio_db(self.through, (h for _, _, h in self.aggressors))

    def power_db(self, *kinds: str) -> np.ndarray | None:
        """Power sum [dB] of the aggressors of these kinds at ``f``, of all by default; None where there are none."""
        chosen = [h for kind, _, h in self.aggressors if kind in (kinds or ("fext", "next"))]
        if not chosen:
            return None
        with np.errstate(divide="ignore"):
            return np.asarray(db_power(power_sum(chosen)))

    def at_nyquist(self, curve: np.ndarray | None) -> float | None:
        """Value of a curve at the Nyquist frequency; None where there is no data, or nothing arrives."""
        nyquist = self.symbol_rate / 2
        if curve is None or nyquist > self.f[-1]:
            return None
        value = float(np.interp(nyquist, self.f, curve))
        return value if np.isfinite(value) else None

    @property
    def row(self) -> Row:
        """One line for a table. Losses are positive, as everywhere."""
        row = {
            "victim": Path(self.found.victim.path).name,
            "far_end": [name for kind, name, _ in self.aggressors if kind == "fext"],
            "near_end": [name for kind, name, _ in self.aggressors if kind == "next"],
            "symbol_rate_gbd": self.symbol_rate / GBd,
        }
        for key, kinds in (("psfext", ("fext",)), ("psnext", ("next",)), ("psxt", ())):
            level = self.at_nyquist(self.power_db(*kinds))
            row[f"{key}_loss_at_nyquist_db"] = None if level is None else -level
        icn = None if self.icn is None else self.icn / mV
        return row | {"icr_at_nyquist_db": self.at_nyquist(self.icr_db), "icn_mv": icn, "icn_basis": self.icn_basis}

    @property
    def table(self) -> list[Row]:
        """Curves against frequency, thinned."""
        columns = {"f_ghz": self.f / GHz, "through_db": db(self.through)}
        sums = {"psfext_db": self.power_db("fext"), "psnext_db": self.power_db("next"), "psxt_db": self.power_db()}
        columns |= {key: level for key, level in sums.items() if level is not None} | {"icr_db": self.icr_db}
        return curve_rows({key: np.maximum(column, LOWEST_DB) for key, column in columns.items()})

    @property
    def note(self) -> str:
        """The set in words, with why each file was taken for what."""
        row, nyquist = self.row, f"{self.symbol_rate / 2 / GHz:.6g} GHz"
        lines = [f"{row['victim']} with its crosstalk: FEXT {_listed(row['far_end'])}; NEXT {_listed(row['near_end'])}"]
        words = {"psfext": "PSFEXT", "psnext": "PSNEXT", "psxt": "PSXT"}
        losses = [(words[key], row[f"{key}_loss_at_nyquist_db"]) for key in words]
        told = [f"{name} {value:.1f} dB" for name, value in losses if value is not None]
        if row["icr_at_nyquist_db"] is not None:
            lines.append(f"losses at {nyquist}: {', '.join(told)}; ICR {row['icr_at_nyquist_db']:.1f} dB")
        else:
            lines.append(f"no common data, or no crosstalk, at {nyquist}")
        lines.append(f"ICN {row['icn_mv']:.3f} mV ({self.icn_basis})" if self.icn is not None else f"no ICN: {self.icn_basis}")
        return "\n  ".join([*lines, *self.found.evidence])


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def find(rates: Sequence[tuple[FileNetwork, float]]) -> tuple[Sums | None, list[str]]:
    """The sums of the crosstalk files among networks and their symbol rates [Bd], and what to say of those not in them.

    None where there is no crosstalk, or not exactly one through path that it could belong to.
    """
    networks = tuple(network for network, _ in rates)
    if all(network.report.is_through for network in networks):
        return None, []
    try:
        found = ChannelSet.of_batch(Batch(networks, ()))
    except TouchstoneError as reason:
        return None, [f"no crosstalk sums: {reason.cause}"] if len(networks) > 1 else []
    left_out = [f"not in the crosstalk sums: {Path(path).name}, {why}" for path, why in found.failures]
    rate = next(rate for network, rate in rates if network == found.victim)
    return sums(found, rate) if len(found.networks) > 1 else None, left_out


def sums(found: ChannelSet, symbol_rate: float) -> Sums:
    """The crosstalk of ``found`` on the points of its through path, up to where all files have data."""
    z0, f = found.victim.reference, found.victim.data.frequency
    f = f[f <= min(network.report.f_max for network in found.networks)]
    sides = [("fext", n) for n in found.far_end] + [("next", n) for n in found.near_end]
    icn, basis = _icn(found, symbol_rate)
    return Sums(
        found=found, symbol_rate=symbol_rate, f=f, through=found.victim.s(f, z0)[1, 0],
        aggressors=tuple((kind, Path(n.path).name, n.s(f, z0)[1, 0]) for kind, n in sides), icn=icn, icn_basis=basis,
    )  # fmt: skip


def _icn(found: ChannelSet, symbol_rate: float) -> tuple[float | None, str]:
    """Integrated crosstalk noise [V] as COM reports it, and by which set; None and why not."""
    sheet = next((s for s in map(com_standards.standard, SHEETS) if s.f_b == symbol_rate), None)
    if sheet is None:
        return None, f"no parameter set weighs it at {symbol_rate / GBd:.6g} GBd"
    for network in found.networks[1:]:
        if not is_uniform(network.data.frequency):
            return None, f"{Path(network.path).name} is not on a uniform grid"
    channel = ComChannel(thru=found.victim, fext=found.far_end, next=found.near_end)
    end = min([sheet.f_2, *(network.report.f_max for network in found.networks[1:])])
    basis = f"by {sheet.name}, {sheet.A_ft:g} V far and {sheet.A_nt:g} V near, up to {end / GHz:.4g} GHz"
    return com_loss.integrated_crosstalk_noise(sheet, channel), basis


def draw(s: Sums) -> Figure:
    """Through path, every aggressor and the power sums; the ratio of loss to crosstalk."""
    from serdes import plot

    nyquist = s.symbol_rate / 2
    with plot.figure(12.5, 5.2, 1, 2) as (fig, axes):
        left, right = axes
        for kind, name, h in s.aggressors:
            colour = plot.COLOURS[1] if kind == "fext" else plot.COLOURS[2]
            left.plot(s.f / GHz, np.maximum(db(h), LOWEST_DB), color=colour, linewidth=0.7, alpha=0.5, label=name)
        left.plot(s.f / GHz, np.maximum(db(s.through), LOWEST_DB), color=plot.COLOURS[0], label="through")
        total = s.power_db()
        if total is not None:
            left.plot(s.f / GHz, np.maximum(total, LOWEST_DB), color="0.2", linewidth=1.0, label="power sum")
        left.set(xlabel="frequency [GHz]", ylabel="|S21| [dB]", title=f"{Path(s.found.victim.path).stem} and its crosstalk")
        left.legend(fontsize=8)
        right.plot(s.f / GHz, np.minimum(s.icr_db, -LOWEST_DB), color=plot.COLOURS[0])
        icr = s.at_nyquist(s.icr_db)
        title = f"Loss to crosstalk ratio: {'unknown' if icr is None else f'{icr:.1f} dB'} at {nyquist / GHz:.6g} GHz"
        if s.icn is not None:
            title += f", ICN {s.icn / mV:.3g} mV"
        right.set(xlabel="frequency [GHz]", ylabel="ICR [dB]", title=title)
        for ax in axes:
            ax.axvline(nyquist / GHz, color="0.4", linewidth=0.9)
            ax.text(nyquist / GHz, 0.02, " Nyquist", transform=ax.get_xaxis_transform(), fontsize=8, color="0.3")
        return fig
