"""Figures of the library: each function draws on axes it is given. The only file here that knows matplotlib.

Colours are those of Okabe and Ito, told apart by the colour-blind, and always backed by line style, marker or label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp.units import GHz, db, db_power, mV, ps
from serdes.eye import Eye

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from serdes.count_detail import CountDetail
    from serdes.operating_point import OperatingPoint

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = ("o", "^", "s", "v", "D", "P")
CAUSES = {
    "ISI": COLOURS[0],
    "thermal": COLOURS[1],
    "crosstalk": COLOURS[2],
    "Tx noise": COLOURS[3],
    "Tx jitter": COLOURS[4],
    "Rx jitter": "#F0E442",
    "converter": COLOURS[5],
}
_STYLE: Any = {
    "figure.dpi": 110,
    "savefig.dpi": 160,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
}


@contextmanager
def figure(
    width: float = 8.0, height: float = 5.0, rows: int = 1, columns: int = 1, **options: Any
) -> Iterator[tuple[Figure, Any]]:
    """A figure [inch] and its axes in the house style, drawn without a display and without touching global state."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        fig = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(fig)
        yield fig, fig.subplots(rows, columns, **options)


def eye(ax: Axes, shown: Eye, error_ratio: float | None = None, title: str = "", seams: bool = True) -> None:
    """The eye as log10 probability density with contours at ``error_ratio`` and below it, as far as the eye is resolved.

    Two unit intervals; one of a virtual eye whose feedback switches between symbols and leaves ``seams`` there.
    """
    ui, period = shown.time / shown.symbol_time, shown.time.size
    span = 0.5 if shown.virtual and seams else 1.0
    three = np.concatenate([ui - 1, ui, ui + 1])
    keep = (three >= -span - 1e-9) & (three < span - 1e-9)
    volts = shown.voltage
    step = volts[1] - volts[0]
    image = np.log10(np.maximum(np.tile(shown.image, (3, 1))[keep] / step, 1e-12))
    top = float(image.max())
    half = 0.5 / period
    mesh = ax.imshow(
        image.T, origin="lower", aspect="auto", cmap="magma", vmin=top - 8, vmax=top, interpolation="bilinear",
        extent=(three[keep][0] - half, three[keep][-1] + half, volts[0] - step / 2, volts[-1] + step / 2),
    )  # fmt: skip
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.01, fraction=0.05)
    bar.set_label("log10 of the probability density")
    ax.set(xlabel="time after the decision instant [UI]", ylabel=f"voltage [{shown.unit}]", title=title)
    ax.grid(visible=False)
    seen = np.abs(volts[np.any(image >= top - 6, axis=0)])
    limit = 1.08 * max(float(np.max(np.abs(shown.levels))) * 1.25, float(seen.max()))
    ax.set(xlim=(three[keep][0] - half, three[keep][-1] + half), ylim=(-limit, limit))
    ax.axvline(0, color="white", linewidth=0.6, alpha=0.5)
    note = "virtual eye: taps of a baud-rate receiver on the analogue waveform" if shown.virtual else ""
    if error_ratio is not None:
        drawn = []
        for k, ratio in enumerate(
            r for r in dict.fromkeys((error_ratio, 1e-6, 1e-9, 1e-12)) if shown.floor <= r <= error_ratio
        ):
            if _contour(ax, shown, ratio, width=1.5 - 0.3 * k):
                drawn.append(f"{ratio:.2g}")
        if drawn:
            note = f"contours, from the outside in, at an error ratio of {', '.join(drawn)}" + (f"\n{note}" if note else "")
    if note:
        box = {"facecolor": "black", "alpha": 0.6, "linewidth": 0, "pad": 2}
        ax.text(0.01, 0.025, note, transform=ax.transAxes, fontsize=7, color="white", bbox=box)


def _contour(ax: Axes, shown: Eye, error_ratio: float, width: float) -> bool:
    """The openings at ``error_ratio`` as lines; false where all are closed."""
    ui, centre = shown.time / shown.symbol_time, shown.centre_phase
    found = False
    for low, high in zip(*shown.contours(error_ratio), strict=True):
        shut = np.flatnonzero(high <= low)
        if centre in shut:
            continue
        start = int(np.max(shut[shut < centre], initial=-1))
        stop = int(np.min(shut[shut > centre], initial=ui.size))
        at = np.arange(start + 1, stop)
        t, bottom, lid = ui[at], low[at], high[at]
        for end, beyond in ((0, start), (-1, stop)):  # to the point where the two edges meet
            if 0 <= beyond < ui.size:
                gap, lack = high[at[end]] - low[at[end]], low[beyond] - high[beyond]
                share = gap / (gap + lack)
                tip = (low[at[end]] + high[at[end]]) / 2
                t = np.insert(t, 0 if end == 0 else t.size, ui[at[end]] + share * (ui[beyond] - ui[at[end]]))
                bottom, lid = (np.insert(v, 0 if end == 0 else v.size, tip) for v in (bottom, lid))
        ax.fill_between(t, bottom, lid, facecolor="none", edgecolor=COLOURS[5], linewidth=width)
        found = True
    return found


def bathtub(ax: Axes, shown: Eye, error_ratio: float | None = None, title: str = "") -> None:
    """Error ratio of each opening against sampling time, down to what the eye resolves."""
    ui = shown.time / shown.symbol_time
    names = ("lower", "middle", "upper") if len(shown.levels) == 4 else [str(k + 1) for k in range(len(shown.levels) - 1)]
    for k, name in enumerate(names):
        ax.semilogy(ui, shown.bathtub(k), color=COLOURS[k], linestyle=STYLES[k], label=f"{name} eye")
    ax.axhspan(shown.floor / 10, shown.floor, color="0.9", linewidth=0)
    ax.text(-0.48, shown.floor / 3, f"not resolved below {shown.floor:.1g}", fontsize=8, color="0.3", va="center")
    if error_ratio is not None:
        ax.axhline(error_ratio, color="0.4", linewidth=0.9)
        ax.text(-0.48, error_ratio * 1.3, f"asked of the detector: {error_ratio:g}", fontsize=8, color="0.3")
    ax.set(
        xlabel="sampling time after the decision instant [UI]", ylabel="error ratio of the opening", title=title,
        xlim=(-0.5, 0.5), ylim=(shown.floor / 10, 1),
    )  # fmt: skip
    ax.legend(loc="center right")


def pulse(ax: Axes, point: OperatingPoint, before: int = 6, after: int = 16, title: str = "") -> None:
    """Pulse response at the sampler with its cursors and what the equaliser leaves of them; its taps in an inset."""
    m = point.pulse.grid.samples_per_symbol
    centre = point.main * m
    index = np.arange(centre - before * m, centre + after * m + 1)
    ui = (index - centre) / m
    ax.plot(ui, point.pulse.samples[index] / mV, color=COLOURS[0], label="pulse at the sampler")
    whole = index[::m]
    cursors = point.pulse.samples[whole] / mV
    ax.vlines((whole - centre) / m, 0, cursors, color=COLOURS[0], linewidth=0.8, alpha=0.6)
    ax.plot((whole - centre) / m, cursors, "o", color=COLOURS[0], markersize=5, label="cursors")
    left = point.residual[np.arange(point.main - before, point.main + after + 1)].copy()
    left[before] += 1
    ax.plot(
        np.arange(-before, after + 1), left * point.main_cursor / mV, "s", color=COLOURS[1], markersize=4,
        markerfacecolor="none", label="behind the equaliser",
    )  # fmt: skip
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.set(xlabel="time after the decision instant [UI]", ylabel="response to one symbol [mV]", title=title)
    ax.legend(loc="upper left", bbox_to_anchor=(0.42, 1.0))
    _taps(ax.inset_axes((0.5, 0.27, 0.48, 0.36)), point)


def _taps(ax: Axes, point: OperatingPoint) -> None:
    """Feed-forward taps over the main one, and feedback taps over the main cursor."""
    taps = point.taps
    w = np.asarray(taps.feed_forward)
    ax.bar(
        np.arange(w.size) - taps.n_precursors, w / (w[taps.n_precursors] or 1.0), 0.6, color=COLOURS[2], label="feed-forward"
    )
    if taps.feedback:
        ax.bar(
            np.arange(len(taps.feedback)) + 1.35, taps.feedback, 0.35, color=COLOURS[3], edgecolor="black", linewidth=0.5,
            label="feedback",
        )  # fmt: skip
    ax.axhline(0, color="0.6", linewidth=0.6)
    ax.set_xlabel("tap [UI]", fontsize=8, labelpad=1)
    ax.set_ylabel("over the main", fontsize=8)
    ax.tick_params(labelsize=8)
    ax.legend(fontsize=7, loc="upper right")


def convergence(ax: Axes, detail: CountDetail, levels_mean_square: float, title: str = "") -> None:
    """Decision error [dB, over the mean square of the levels] by windows of a counted run, and how far the taps are from ideal.

    The distance is the rms over all taps of adapted less ideal, over the main tap.
    """
    run = detail.convergence
    done = run.window * (1 + np.arange(run.mean_square_error.size))
    error = db_power(np.maximum(run.mean_square_error, 1e-12) / levels_mean_square)
    ax.plot(done, error, color=COLOURS[0], label="decision error")
    if run.symbols.size > 2:
        scale = max(abs(tap) for tap in detail.ideal.feed_forward)
        off = (run.feed_forward - np.array(detail.ideal.feed_forward)) / scale
        rms = np.sqrt(np.mean(off**2, axis=1))
        ax.plot(
            np.maximum(run.symbols, run.window), db(np.maximum(rms, 1e-6)), color=COLOURS[1], linestyle="--",
            label="feed-forward taps less ideal ones, rms over the main tap",
        )  # fmt: skip
    ax.set(xlabel="decisions", ylabel="[dB]", title=title, xscale="log")
    ax.margins(y=0.15)
    ax.legend(loc="lower left")


def taps(ax: Axes, detail: CountDetail, title: str = "") -> None:
    """Adapted taps beside the solved ones, over the largest solved one; feedback behind the post-cursors."""
    scale = max(abs(tap) for tap in detail.ideal.feed_forward)
    n, first = len(detail.ideal.feed_forward), -detail.ideal.n_precursors
    at = first + np.arange(n)
    ax.bar(at - 0.2, np.array(detail.ideal.feed_forward) / scale, 0.4, color=COLOURS[0], label="feed-forward, solved")
    ax.bar(at + 0.2, np.array(detail.adapted.feed_forward) / scale, 0.4, color=COLOURS[4], label="feed-forward, adapted")
    if detail.ideal.feedback:
        back = at[-1] + 2 + np.arange(len(detail.ideal.feedback))
        ax.bar(back - 0.2, detail.ideal.feedback, 0.4, color=COLOURS[2], hatch="//", label="feedback, solved")
        ax.bar(back + 0.2, detail.adapted.feedback, 0.4, color=COLOURS[3], hatch="//", label="feedback, adapted")
    ax.axhline(0, color="0.4", linewidth=0.8)
    ax.set(xlabel="tap [UI after the main one]; feedback to the right", ylabel="tap over the main one", title=title)
    ax.legend()


def budget(ax: Axes, x: np.ndarray, shares: Mapping[str, np.ndarray], xlabel: str, title: str = "") -> None:
    """Shares of the decision error by cause, stacked, against ``x``."""
    names = list(shares)
    colours = [CAUSES.get(name, "0.7") for name in names]
    ax.stackplot(x, *[100 * shares[n] for n in names], labels=names, colors=colours, edgecolor="white", linewidth=0.5)
    ax.set(
        xlabel=xlabel,
        ylabel="share of the decision error [%]",
        title=title,
        ylim=(0, 100),
        xlim=(float(np.min(x)), float(np.max(x))),
    )
    ax.grid(visible=False)
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5))


def insertion_loss(
    ax: Axes, f: np.ndarray, curves: Mapping[str, np.ndarray], nyquist: float | None = None, title: str = ""
) -> None:
    """Loss [dB, positive] of named transfers against frequency."""
    for k, (name, h) in enumerate(curves.items()):
        with np.errstate(divide="ignore"):
            loss = -20 * np.log10(np.abs(h))
        ax.plot(f / GHz, loss, color=COLOURS[k % 8], linestyle=STYLES[k % 6], label=name)
    if nyquist is not None:
        ax.axvline(nyquist / GHz, color="0.4", linewidth=0.9)
        ax.text(nyquist / GHz, 0.02, " Nyquist", transform=ax.get_xaxis_transform(), fontsize=8, color="0.3")
    ax.invert_yaxis()
    ax.set(xlabel="frequency [GHz]", ylabel="insertion loss [dB]", title=title)
    ax.legend()


def time_label(seconds: float) -> str:
    """A symbol time for a caption, in picoseconds."""
    return f"{seconds / ps:.2f} ps"
