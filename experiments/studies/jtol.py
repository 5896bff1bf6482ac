"""How much sinusoidal jitter a receiver follows, against frequency, with the standard's mask and what its loop predicts."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp import check
from dsp.clock import MuellerMuller
from dsp.units import GBd, MHz
from experiments.parallel import run_all
from experiments.studies.eye import from_file, from_toml
from experiments.study import Answer, Progress, silent
from serdes.jitter import CORNER, Tolerance, corner_frequency, decompose, mask, predicted, tolerance, transmitter_edges
from serdes.link import Link
from serdes.setups import setup
from serdes.stream_run import update_of
from serdes.time_domain import TimeDomain
from serdes.transmitter_figures import transmitter_figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "How much sinusoidal jitter does the receiver tolerate?"
FREQUENCIES = (0.04 * MHz, 0.13 * MHz, 0.4 * MHz, 4 / 3 * MHz, 4 * MHz, 12 * MHz, 40 * MHz)
"""Those of the mask's cases and between."""
EDGES = 400_000


@dataclass(frozen=True, kw_only=True)
class Case:
    """A link, the symbol error ratio it is judged by, and the engine that counts."""

    name: str
    link: Link
    target: float
    engine: TimeDomain = TimeDomain(n_symbols=200_000, samples_per_symbol=2, settle=16384, eye_symbols=0)

    def __post_init__(self) -> None:
        check.instance(self, "link", self.link, Link)
        check.between(self, "target", self.target, 1e-9, 0.1)
        check.instance(self, "engine", self.engine, TimeDomain)


def case(
    rate: str, length: float, target: float | None = None, bandwidth: float | None = None, file: Path | None = None
) -> Case:
    """Lane rate ``rate`` over ``length`` [m] of twinax, or through the channel ``file`` (a Touchstone file, or a link in TOML).

    ``target``: symbol error ratio, the standard's by default. ``bandwidth`` [Hz]: one-sided noise bandwidth of the clock loop; by
    default such that its 3 dB corner lies near 4 MHz.
    """
    if file is None:
        s = setup(rate)
        name, link, ratio = f"{s.name}, {length:g} m", s.link(length), s.error_ratio
    else:
        own = from_toml(file, target) if file.suffix.lower() == ".toml" else from_file(file, rate)
        name, link, ratio = own.name, own.link, own.error_ratio
    loop = MuellerMuller(bandwidth=(2.6 * CORNER if bandwidth is None else bandwidth) / link.symbol_rate)
    return Case(name=name, link=link.vary({"rx.clock": loop}), target=ratio if target is None else target)


def run(
    c: Case,
    frequencies: tuple[float, ...] = FREQUENCIES,
    seed: int = 1,
    progress: Progress = silent,
    workers: int | None = None,
) -> Answer:
    """Tolerance of ``c`` at ``frequencies`` [Hz], one search each, in parallel."""
    if not frequencies:
        raise ValueError("frequencies must be one or more, got none")
    work = functools.partial(_point, c, seed)
    points = predicted(c.link, tuple(run_all(work, frequencies, progress, workers)), c.engine)
    rows = [_row(p) for p in points]
    loop = c.link.rx.clock
    corner = corner_frequency(c.link, update_of(c.engine, getattr(loop, "bandwidth", 0.0)))
    displaced, number = transmitter_edges(c.link, EDGES, np.random.default_rng(seed))
    report = decompose(displaced, number) if displaced.size else None
    notes = [
        f"{c.name}, {c.link.symbol_rate / GBd:.9g} GBd, symbol error ratio {c.target:g}, peak-to-peak jitter in UI",
        f"mask: IEEE 802.3 receiver jitter tolerance, corner {CORNER / MHz:g} MHz; values recalled, not read in the standard",
        f"the loop takes 3 dB or more off jitter up to {corner / MHz:.3g} MHz; prediction: phase error borne at "
        f"{max(frequencies) / MHz:g} MHz over |1 - H(f)|",
    ]
    failed = [f"{p.frequency / MHz:g} MHz" for p in points if _margin(p) < 1]
    notes.append(f"below the mask at {', '.join(failed)}" if failed else "the mask is met wherever it is specified")
    dead = [p for p in points if p.amplitude_ui == 0]
    if dead:
        where = "" if len(dead) == len(points) else f" at {', '.join(f'{p.frequency / MHz:g} MHz' for p in dead)}"
        notes.append(
            f"no jitter is borne{where}: the link misses the error ratio of {c.target:g} without any ({dead[0].first_failure})"
        )
    tables: dict[str, Any] = {"jtol": rows}
    figures = transmitter_figures(c.link, np.random.default_rng(seed))
    notes.append(
        f"transmitter: SNDR {figures.sndr_db:.1f} dB, R_LM {figures.level_mismatch or math.nan:.3f}, pulse peak over steady state "
        f"{figures.peak_ratio:.3f}, its taps cost {figures.tap_cost_db:.1f} dB of level at a limited peak"
    )
    tables["transmitter"] = [
        {
            "sndr_db": figures.sndr_db, "level_mismatch": figures.level_mismatch, "peak_ratio": figures.peak_ratio,
            "tap_cost_db": figures.tap_cost_db,
        }
    ]  # fmt: skip
    if report is not None:
        tables["jitter"] = [
            {
                "j_rms_ui": report.rms, "j3u_ui": report.j3u, "j4u_ui": report.j4u, "even_odd_ui": report.even_odd,
                "random_ui": report.random, "dual_dirac_ui": report.dual_dirac, "edges": report.edges,
            }
        ]  # fmt: skip
    return Answer(question=QUESTION, tables=tables, figures={"jtol": lambda: _draw(c, points, corner)}, notes=notes)


def _point(c: Case, seed: int, frequency: float) -> Tolerance:
    return tolerance(c.link, frequency, c.target, c.engine, np.random.default_rng(seed))


def _margin(p: Tolerance) -> float:
    """Tolerated over demanded amplitude; infinite where nothing is demanded."""
    demanded = float(mask(np.array(p.frequency)))
    return 2 * p.amplitude_ui / demanded if np.isfinite(demanded) else float("inf")


def _row(p: Tolerance) -> dict[str, Any]:
    demanded = float(mask(np.array(p.frequency)))
    known = np.isfinite(demanded)
    return {
        "frequency_mhz": p.frequency / MHz,
        "tolerated_ui": 2 * p.amplitude_ui,
        "mask_ui": demanded if known else None,
        "predicted_ui": 2 * p.predicted_ui,
        "margin": _margin(p) if known else None,
        "limit": p.first_failure if p.bounded else "more than was tried",
        "runs": p.runs,
    }


def _draw(c: Case, points: tuple[Tolerance, ...], corner: float) -> Figure:
    from serdes import plot

    ordered = sorted(points, key=lambda p: p.frequency)
    f = np.array([p.frequency for p in ordered])
    fine = np.geomspace(f.min() / 1.5, f.max() * 1.5, 400)
    with plot.figure(7.5, 5.0) as (fig, ax):
        ax.loglog(f / MHz, [2 * p.amplitude_ui for p in ordered], "o-", label="tolerated, counted")
        beyond = [p for p in ordered if not p.bounded]
        if beyond:
            ax.plot(
                [p.frequency / MHz for p in beyond], [2 * p.amplitude_ui for p in beyond], "^", color="k", zorder=3,
                label="tolerated, and more was not tried",
            )  # fmt: skip
        ax.loglog(f / MHz, [2 * p.predicted_ui for p in ordered], "--", label="predicted by the loop")
        ax.loglog(fine / MHz, mask(fine), "k", label="mask, IEEE 802.3")
        if np.isfinite(corner):
            ax.axvline(corner / MHz, color="0.6", linestyle=":", label=f"corner of the loop, {corner / MHz:.2g} MHz")
        ax.set_xlabel("jitter frequency [MHz]")
        ax.set_ylabel("sinusoidal jitter, peak to peak [UI]")
        ax.set_title(f"{c.name}, symbol error ratio {c.target:g}")
        ax.legend()
        return fig
