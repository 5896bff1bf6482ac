"""Figures of the optics study: margin and error ratio side by side, one line a module architecture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from channels.fiber import dispersion_null
from dsp.units import km, nm
from experiments.optical_lanes import DRIVER_BANDWIDTH, RECEIVER_BANDWIDTH, OpticalLane
from experiments.optical_reach import MARGIN_DB
from serdes.modules import ARCHITECTURES
from serdes.sensitivity import MOST_LIGHT_DB

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]
_ORDER = ("retimed", "LRO", "LPO", "CPO", "slicer")
_MARKERS = "osD^v"
_LIMIT = 2.4e-4
_MARGINS = (-4.0, 10.5)
_RATIOS = (1e-12, 0.6)
"""Ranges of the axes; much below the inverse of the engine's pattern length a ratio rests on Gaussian tails alone."""


def hopeless(row: Row) -> bool:
    """Whether no amount of light helps."""
    return bool(row["margin_db"] <= -MOST_LIGHT_DB + 1e-9)


def host(rows: Sequence[Row]) -> Figure:
    """Against host loss, one column a rate."""
    rates = list(dict.fromkeys(r["rate"] for r in rows))
    columns = [
        (f"{rate}, {_gbd(rows, rate):g} GBd, 500 m at 1304.5 nm", [r for r in rows if r["rate"] == rate]) for rate in rates
    ]
    return _panels(
        columns,
        "host_loss_db",
        "host loss per side at Nyquist [dB]",
        lambda ax, _: ax.set_xticks(range(0, 21, 4)),
        (0, "lower left"),
    )


def fibre(rows: Sequence[Row], rate: str) -> Figure:
    """Against length of fibre at one rate, one column a wavelength."""
    mine = [r | {"length_km": r["length_m"] / km} for r in rows if r["rate"] == rate]
    columns = [
        (f"{rate}, {colour:g} nm", [r for r in mine if r["wavelength_nm"] == colour])
        for colour in dict.fromkeys(r["wavelength_nm"] for r in mine)
    ]

    def axis(ax: Axes, rows: Sequence[Row]) -> None:
        ax.set_xscale("log")
        ax.set_xticks([0.5, 1, 2, 4, 10], ["0.5", "1", "2", "4", "10"])
        ax.minorticks_off()
        lane = OpticalLane(rate=rate, wavelength=rows[0]["wavelength_nm"] * nm)
        null = dispersion_null(lane.optics(1.0).fiber, lane.wavelength, lane.symbol_rate / 2) / km  # type: ignore[arg-type]
        if null < 10:
            ax.axvline(null, color="0.3", linewidth=1, linestyle=":")
            ax.text(0.96 * null, 2e-11, "null of dispersion at Nyquist", rotation=90, fontsize=8, color="0.3", ha="right")

    return _panels(columns, "length_km", "fibre [km]", axis, legend=(2, "upper right"))


def bandwidth(rows: Sequence[Row]) -> Figure:
    """Against the bandwidth of driver and receiver, one column a rate."""
    rates = list(dict.fromkeys(r["rate"] for r in rows))
    columns = []
    for rate in rates:
        gbd = _gbd(rows, rate)
        title = f"{rate}, 500 m; 1 is {DRIVER_BANDWIDTH * gbd:.0f} and {RECEIVER_BANDWIDTH * gbd:.0f} GHz"
        columns.append((title, [r for r in rows if r["rate"] == rate]))
    return _panels(columns, "bandwidth", "bandwidth of driver and receiver over today's", legend=(0, "lower right"))


def _gbd(rows: Sequence[Row], rate: str) -> float:
    return float(next(r["symbol_rate_gbd"] for r in rows if r["rate"] == rate))


def _panels(
    columns: Sequence[tuple[str, Sequence[Row]]], x: str, xlabel: str, axis: Callable[[Axes, Sequence[Row]], Any] | None = None,
    legend: tuple[int, str] = (0, "best"),
) -> Figure:  # fmt: skip
    """Margin above, error ratio below."""
    from serdes import plot

    with plot.figure(4.1 * len(columns) + 1.4, 7.4, 2, len(columns), sharex="col", sharey="row", squeeze=False) as (fig, axes):
        for (title, rows), (upper, lower) in zip(columns, axes.T, strict=True):
            names = [name for name in _ORDER if any(r["architecture"] == name for r in rows)]
            for name in names:
                mine = [r for r in rows if r["architecture"] == name]
                k = _ORDER.index(name)
                style = {"color": plot.COLOURS[k], "linestyle": plot.STYLES[k], "marker": _MARKERS[k], "markersize": 4}
                place = np.array([r[x] for r in mine])
                margin = np.array([np.nan if hopeless(r) else r["margin_db"] for r in mine])
                upper.plot(place, margin, label=_label(mine, x), **style)
                _cliff(upper, place, margin, plot.COLOURS[k])
                ratio = np.clip([r["error_ratio"] for r in mine], _RATIOS[0], 1)
                lower.semilogy(place, ratio, **style)
            upper.axhline(MARGIN_DB, color="0.3", linewidth=1)
            lower.axhline(_LIMIT, color="0.3", linewidth=1)
            upper.set(title=title, ylim=_MARGINS)
            lower.set(xlabel=xlabel, ylim=(0.4 * _RATIOS[0], _RATIOS[1]))
            if axis is not None:
                axis(lower, rows)
        first, second = axes[:, 0]
        first.set_ylabel("optical margin [dB]")
        second.set_ylabel("bit error ratio before KP4")
        first.text(
            0.99, MARGIN_DB + 0.12, "asked for", transform=first.get_yaxis_transform(), fontsize=8, color="0.3", ha="right"
        )
        second.text(0.99, 1.5 * _LIMIT, "limit", transform=second.get_yaxis_transform(), fontsize=8, color="0.3", ha="right")
        axes[1, -1].text(
            0.99,
            0.05,
            "lowest points: 1e-12 or less",
            transform=axes[1, -1].transAxes,
            fontsize=8,
            color="0.3",
            ha="right",
        )
        handles, labels = axes[0, legend[0]].get_legend_handles_labels()
        axes[0, legend[0]].legend(handles, labels, loc=legend[1], fontsize=8)
        return fig


def _label(rows: Sequence[Row], x: str) -> str:
    """Its title, with the host loss where that stands still."""
    title = ARCHITECTURES[rows[0]["architecture"]].title
    return title if x == "host_loss_db" else f"{title}, {rows[0]['host_loss_db']:g} dB hosts"


def _cliff(ax: Axes, x: np.ndarray, margin: np.ndarray, colour: str) -> None:
    """A fall to the bottom where the next point has no solution, on whichever side it lies."""
    good = np.isfinite(margin)
    for i in range(x.size - 1):
        if good[i] == good[i + 1]:
            continue
        here, there = (i, i + 1) if good[i] else (i + 1, i)
        ax.plot([x[here], x[there]], [margin[here], _MARGINS[0] - 1], color=colour, linewidth=1, linestyle=(0, (1, 1.5)))


def stages(rows: Sequence[Row], sequence: Sequence[Row]) -> Figure:
    """Sensitivity by equaliser stage, one line a pair of component bandwidths."""
    from serdes import plot

    names = [*dict.fromkeys(r["stage"] for r in rows), "FFE at T/2 + MLSD"]
    with plot.figure(9.5, 4.8) as (fig, ax):
        pairs = list(dict.fromkeys((r["tx_ghz"], r["rx_ghz"]) for r in rows))
        top = -5.0
        for k, pair in enumerate(pairs):
            values = {r["stage"]: r["oma_dbm"] for r in rows if (r["tx_ghz"], r["rx_ghz"]) == pair}
            values[names[-1]] = next(r["oma_dbm"] for r in sequence if (r["tx_ghz"], r["rx_ghz"]) == pair)
            y = np.array([np.nan if values[name] is None else values[name] for name in names])
            x = np.arange(len(names)) + 0.06 * (k - 1)
            style = {"color": plot.COLOURS[k], "marker": _MARKERS[k], "linestyle": plot.STYLES[k]}
            ax.plot(x, y, **style, label=f"{pair[0]:g} / {pair[1]:g} GHz")
            for place, value in zip(x, y, strict=True):
                if np.isfinite(value):
                    ax.text(place + 0.07, value + 0.06, f"{value:.2f}", fontsize=7.5, color=plot.COLOURS[k])
            missing = ~np.isfinite(y)
            ax.plot(x[missing] + 0.1 * k, np.full(int(missing.sum()), top - 0.25), "x", color=plot.COLOURS[k], markersize=8)
        ax.text(0.35, top - 0.25, "x: no amount of light helps", fontsize=8, va="center")
        ax.set_xticks(range(len(names)), [name.replace(", ", ",\n").replace(" + ", "\n+ ") for name in names], fontsize=9)
        ax.set(
            ylabel="OMA needed for 2.4e-4 [dBm]: lower is better", title="What each equaliser stage buys, 106.25 GBd, no fibre",
            ylim=(-9.6, top), xlim=(-0.4, len(names) - 0.3),
        )  # fmt: skip
        ax.legend(title="transmitter / receiver bandwidth", loc="upper right")
        return fig
