"""TDECQ of a measured capture, and the optical figures read off it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dsp.units import mW
from experiments.study import Answer
from serdes.optical_waveform import Waveform, read, resampled
from serdes.pmd import pmd
from serdes.tdecq import HALF_BAUD, Reference, Tdecq, tdecq

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "How good is this optical transmitter for a receiver with a short equaliser?"


def run(
    path: Path, samples_per_ui: float | None = None, symbol_rate: float | None = None, reference: Reference = HALF_BAUD,
    filtered: bool = False, interface: str | None = None, noise_rms: float = 0.0,
) -> Answer:  # fmt: skip
    """Measure the capture in ``path``; ``interface``: one of `serdes.pmd`, to judge it by.

    ``ValueError`` that names the file for one that can't be read or in which no pattern is found.
    """
    from dataclasses import replace

    waveform = read(path, samples_per_ui, symbol_rate)
    if noise_rms:
        waveform = replace(waveform, noise_rms=noise_rms)
    result = tdecq(waveform, reference, filtered)
    row = {"capture": path.name, **result.record()}
    notes = []
    if result.outcome != "ok":
        notes.append(f"{result.outcome}: {result.reason}")
    if interface is not None:
        limits = pmd(interface)
        missed = limits.judge(row, result.tdecq_db)
        row["interface"], row["verdict"] = interface, "; ".join(missed) or "complies"
        notes.append(f"{limits.title}: {row['verdict']}")
    return Answer(question=QUESTION, tables={"tdecq": [row]}, figures={"tdecq": lambda: _draw(waveform, result)}, notes=notes)


_SHOWN, _DARK = 64, "#000004"
"""Samples per symbol of the picture, and the colour where nothing is."""


def _draw(waveform: Waveform, result: Tdecq) -> Figure:
    """The eye before and behind the equaliser, with thresholds and histograms."""
    from serdes import plot

    with plot.figure(11.5, 4.8, 1, 2, sharey=True) as (fig, (left, right)):
        seen = result.waveform
        _eye(left, seen.power, seen)
        m, main = seen.samples_per_symbol, result.main_tap - 1
        equalized = np.sum([w * np.roll(seen.power, (j - main) * m) for j, w in enumerate(result.taps)], axis=0)
        _eye(right, equalized, seen)
        for level in (-1, 0, 1):
            height = (seen.average + level * seen.oma / 3) / mW
            right.axhline(height, color="white", linewidth=1, linestyle="--")
        right.text(0.74, (seen.average + seen.oma / 3) / mW, "threshold", fontsize=8, color="white", va="bottom", ha="right")
        for side in (-0.05, 0.05):
            right.axvspan(
                result.phase_ui + side - 0.02, result.phase_ui + side + 0.02, color=plot.COLOURS[5], alpha=0.55, linewidth=0
            )
        top = right.get_ylim()[1]
        right.text(result.phase_ui, top, "histograms", fontsize=8, color="white", va="top", ha="center")
        text = f"TDECQ {result.tdecq_db:.2f} dB" if result.outcome == "ok" else result.outcome
        right.set_title(f"behind {len(result.taps)} taps: {text}")
        record: dict[str, Any] = waveform.record()
        left.set_title(
            f"received: OMA {record['oma_dbm']:.2f} dBm, ER {record['extinction_db']:.2f} dB, R_LM {record['level_mismatch']:.3f}"
        )
        left.set_ylabel("optical power [mW]")
        return fig


def _eye(ax: Any, power: np.ndarray, of: Waveform) -> None:
    """Density of ``power`` over one and a half unit intervals about the symbols' centres, brought to a fine grid."""
    fine = resampled(power, of.symbols.size * _SHOWN).reshape(-1, _SHOWN)
    phases = np.arange(-3 * _SHOWN // 4, 3 * _SHOWN // 4 + 1)
    low, high = float(power.min()), float(power.max())
    edges = np.linspace(low - 0.08 * (high - low), high + 0.08 * (high - low), 241)
    counts = np.array([np.histogram(fine[:, p % _SHOWN], edges)[0] for p in phases], float)
    image = np.log10(np.maximum(counts, 0.3))
    ax.set_facecolor(_DARK)
    ax.pcolormesh(phases / _SHOWN, (edges[1:] + edges[:-1]) / 2 / mW, image.T, cmap="magma", shading="nearest", rasterized=True)
    ax.set(xlabel="time after the symbol's centre [UI]")
    ax.grid(visible=False)


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The one row, for JSON on standard output."""
    return dict(rows[0])
