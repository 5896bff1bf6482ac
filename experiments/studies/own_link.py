"""How far a link goes, and what COM it has, that somebody has described in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from channels.channel import LinearChannel
from channels.copper import CopperChannel, Package
from channels.crosstalk import FarEndCrosstalk
from channels.lines import Twinax
from channels.network import Chain
from dsp.units import GBd
from experiments import sweep_file
from experiments.study import Answer, Progress, silent
from serdes import serialize, toml_text
from serdes.com_channel import ComChannel
from serdes.link import Link
from serdes.operating_point import operating_point
from serdes.reach import Target, reach
from serdes.setups import names, setup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments.link_point import LinkPoint

QUESTION = "How far does this link go, and what ends it?"
BRACKET = (0.1, 16.0)
COM_OF_RATE = {"100G": "802.3ck-kr", "200G": "802.3dj-kr"}
"""Parameter sets from package to package, which is what a link has between its packages."""


def run(path: Path, error_ratio: float | None = None, margin_db: float = 3.0, progress: Progress = silent) -> Answer:
    """Reach of the link in ``path``, a link or a sweep; its cable is what grows.

    ``error_ratio``: at the detector, by default that of the lane rate. Raises ValueError that names the file for a link without
    one cable whose length may grow.
    """
    point = sweep_file.load_point(path)
    link_at, link = with_length(point), point.link({})
    with toml_text.within(path):
        target = Target(error_ratio=ratio_of(point, link) if error_ratio is None else error_ratio, margin_db=margin_db)
    found = reach(link_at, target, BRACKET)
    curve = []
    lengths = np.linspace(BRACKET[0], max(1.6 * found.length, 1.0), 16)
    for k, length in enumerate(lengths):
        at = operating_point(link_at(float(length)), like=found.point)
        margin = target.excess_db(at) + margin_db
        curve.append(
            {"length_m": round(float(length), 4), "margin_db": margin, "snr_db": at.snr_db, "binding_cause": at.binding}
        )
        progress(k + 1, len(lengths))
    row = {
        "link": path.stem, "symbol_rate_gbd": link.symbol_rate / GBd, "error_ratio": target.error_ratio, "margin_db": margin_db,
        "reach_m": round(found.length, 4), "outcome": found.outcome, "binding_cause": found.binding,
    }  # fmt: skip
    return Answer(
        question=QUESTION,
        tables={"reach": [row], "margin": curve},
        figures={"reach": lambda: _draw(row, curve)},
        notes=[f"{found.outcome}: {found.reason}", f"judged at an error ratio of {target.error_ratio:g}"],
        texts={"link.toml": serialize.to_toml(link)},
    )


def ratio_of(point: LinkPoint, link: Link) -> float:
    """The error ratio a file is judged by: its own, or that of the lane rate of this symbol rate."""
    if point.error_ratio is not None:
        return point.error_ratio
    same = [s.error_ratio for s in map(setup, names()) if s.symbol_rate == link.symbol_rate]
    if not same:
        raise ValueError(
            f"no standard has {link.symbol_rate:g} Bd: state --error-ratio, for example 1e-4, or error_ratio in the file of a sweep"
        )
    return same[0]


def with_length(point: LinkPoint) -> Callable[[float], Link]:
    """The link of ``point`` at any length of its cable; far-end crosstalk that follows the cable follows its length."""
    if point.setup:
        return lambda length: point.link({"setup.length": length})
    link = point.link({})
    parts = link.channel.parts if isinstance(link.channel, CopperChannel) else ()
    wires = [i for i, part in enumerate(parts) if isinstance(part, Twinax)]
    if len(wires) != 1:
        raise ValueError(f"a reach needs one twinax among the channel's parts, this link has {len(wires)}")

    def at(length: float) -> Link:
        grown = {f"channel.parts.{wires[0]}.length": length}
        for i, a in enumerate(link.aggressors):
            if isinstance(a.coupling, FarEndCrosstalk) and a.coupling.through == link.channel:
                grown[f"aggressors.{i}.coupling.through.parts.{wires[0]}.length"] = length
        return link.vary(grown)

    return at


def com_channel(path: Path) -> tuple[ComChannel, str]:
    """What the link in ``path`` has between its packages, for COM, and the parameter set of its rate.

    Raises ValueError for a link that is not copper between packages, "" as the set where no standard has its rate.
    """
    link = sweep_file.load_link(path)
    if not isinstance(link.channel, CopperChannel):
        raise ValueError(f"{path}: COM needs a copper channel, got a {type(link.channel).__name__}")
    parts = link.channel.parts
    ends = [parts[0], parts[-1].flipped] if len(parts) > 2 else []
    if not ends or not all(isinstance(end, Package) for end in ends):
        raise ValueError(f"{path}: COM puts packages of its own at the ends; the channel must begin and end with a package")
    coupled = [a.coupling for a in link.aggressors if isinstance(a.coupling, LinearChannel)]
    far = tuple(c for c in coupled if isinstance(c, FarEndCrosstalk))
    near = tuple(c for c in coupled if not isinstance(c, FarEndCrosstalk))
    rates = [s.name for s in map(setup, names()) if s.symbol_rate == link.symbol_rate]
    standard = COM_OF_RATE.get(rates[0], "") if rates else ""
    return ComChannel(thru=Chain(parts[1:-1]), fext=far, next=near, name=path.stem), standard


def _draw(row: dict[str, Any], curve: Sequence[dict[str, Any]]) -> Figure:
    """Margin against length, with the reach."""
    from serdes import plot

    with plot.figure(7.5, 4.8) as (fig, ax):
        x, y = ([r[key] for r in curve] for key in ("length_m", "margin_db"))
        ax.plot(x, y, color=plot.COLOURS[0], marker="o", markersize=3)
        ax.axhline(row["margin_db"], color="0.25", linewidth=1)
        ax.text(0, row["margin_db"], f" {row['margin_db']:g} dB margin", fontsize=8, color="0.25", va="bottom")
        if row["outcome"] == "found":
            ax.plot(row["reach_m"], row["margin_db"], "D", color=plot.COLOURS[1], label=f"{row['reach_m']:.2f} m")
            ax.legend(title="reach")
        ax.set(
            xlabel="length of the cable [m]", ylabel="slicer SNR beyond the need of the error ratio [dB]", xlim=(0, x[-1]),
            ylim=(max(min(y), -12), max(y) + 2), title=f"{row['link']}, {row['symbol_rate_gbd']:.9g} GBd",
        )  # fmt: skip
        return fig
