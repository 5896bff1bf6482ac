"""Every comparison with a reference, and the page of the documentation that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.comparison import ABSENT, ENVIRONMENT, MISS, OUTSIDE, WITHIN, Comparison, data_folder
from experiments.comparisons import cluster, coherent, com, copper, link, optics, parts
from experiments.study import Answer, Progress, silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "How far are our numbers from those of others?"
SUBJECTS = {
    "copper": copper,
    "parts": parts,
    "link": link,
    "com": com,
    "optics": optics,
    "coherent": coherent,
    "cluster": cluster,
}
"""Modules of comparisons by the name that ``--only`` takes."""


def registry(only: Sequence[str] | None = None) -> tuple[Comparison, ...]:
    """Every comparison, or those of the subjects named. Raises ValueError with the subjects for another."""
    for name in only or ():
        if name not in SUBJECTS:
            raise ValueError(f"unknown subject {name!r}, there are {', '.join(SUBJECTS)}")
    return tuple(c for name, subject in SUBJECTS.items() if not only or name in only for c in subject.comparisons())


def run(only: Sequence[str] | None = None, progress: Progress = silent) -> Answer:
    """Compare. Rows whose reference data are not on this machine say so."""
    data, every, rows = data_folder(), registry(only), []
    for k, comparison in enumerate(every):
        rows.append(comparison.row(data))
        progress(k + 1, len(every))
    return Answer(
        question=QUESTION, tables={"comparisons": rows}, figures={"differences": partial(_draw, rows)}, notes=list(_notes(rows)),
        texts={"validation.md": document(rows)},
    )  # fmt: skip


def failures(answer: Answer) -> list[str]:
    """What lies outside its allowed difference without being a known miss."""
    return [str(row["what"]) for row in answer.tables["comparisons"] if row["verdict"] == OUTSIDE]


def _notes(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    count = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in (WITHIN, MISS, OUTSIDE, ABSENT)}
    parts = [f"{count[WITHIN]} within their allowed difference", f"{count[MISS]} known misses", f"{count[OUTSIDE]} outside"]
    parts += [f"{count[ABSENT]} whose reference data are not on this machine"] * (count[ABSENT] > 0)
    yield f"{len(rows)} comparisons: {', '.join(parts)}"
    if count[ABSENT]:
        yield f"to see those too, set {ENVIRONMENT} to the folder with the reference data (docs/howto/reference-data.md says whose)"


HEAD = """# Validation

<!-- Written by `serdes validate all --page docs/validation.md`: change experiments/comparisons, not this file. -->

Each row is a number of ours beside the same number by others: published measurements, other programs, closed forms, or exact
enumeration. *Allowed* is the largest difference that this command lets pass; the named test holds the same number. A *known
miss* lies outside and says why. {summary}.

Make this page again with `serdes validate all`; it ends with status 1 when a row lies outside. {absent}

![How much of its allowance each comparison uses, by section](images/validation.png)
"""
INTRODUCTIONS = {
    "Copper": "Cables, hosts and whole channels, without a transmitter or receiver.",
    "Packages, boards, surfaces": "What lies around the cable, and wires on an interposer.",
    "Link": "Error ratios, clocks, codes and bounds: a receiver behind a known pulse.",
    "Reach": "The weakest section: a reach has no public measurement, so ours is only held to be longer than what the standards ask.",
    "Channel Operating Margin": "COM is the figure by which the standards pass or fail a channel. The channels are measured or "
    'simulated files of the task forces; "krref", "dj12" and so on are parameter sets of the reference runs, "case" is the length '
    "of the packages.",
    "Optics": "Fibre, modulators, and the transmitter figure TDECQ.",
    "Coherent": "Noise and nonlinear interference of amplified lines, and the whole chain of signals with a receiver that knows its "
    "pilots alone.",
    "Collectives": "Bandwidth of GPUs that exchange data, as measured in public. Nothing is fitted. A1 to A23 name the measurements; "
    "[P] is a primary source, [S] a secondary one.",
    "Training": "Time of a training step. One constant is fitted to the run that says so.",
    "Counts and identities": "Switches, cables and watts of published clusters, and numbers that follow from others by arithmetic.",
}
"""What a reader should know before a section's table."""
TAIL = """
## Compared once, by hand

An independent program (own twinax, pulse, taps and noise) gave each cause of the decision error of one operating point, 200G over
1 m, within 0.03 dB of ours. PyChOpMarg 3.4.0 with our taps gave a decision error of 3.75e-3 and 3.82e-3 at the reach of HN-HH and
HL-HL hosts; ours are 3.78e-3 and 3.77e-3. No command repeats these two.

## What no row can show

* **Nobody measured our reach.** The rows under *Reach* only say that it is longer than the objectives of the standards, which leave
  room for the spread of parts, temperature and age. It rests on readings of the standards that move it:
  [what the reach rests on](explanation/readings.md).
* **Two cable losses are the fit's own anchors.** 26 and 30 AWG at 53 GHz were used to set the cable law. The other gauges and
  frequencies are predictions.
* **Connector and crosstalk levels are estimates.** No public measurement of ours stands behind them.
* **A row inside its tolerance is not independent of its neighbours.** The 23 collectives come from a few mechanisms; the COM runs
  from three channels and one script.
* **Bins are for pictures.** Error ratios come from an integral without bins; the two rows with echoes hold to 1e-9. Of the binned
  eye the first (0.0797) comes out 1.008, 1.015 and 1.001 times that with 512, 2048 and 8192 whole bins, and within 2e-4 where the
  bin at the threshold counts in part, as the bathtub does. The second (1.02e-14) comes out 1.17, 1.11 and 1.09 times with 1024,
  4096 and 16384 bins: rounding of the transform, outside 5 % (`test_dsp_distribution`).
* **Where the engines part.** Wrong decisions fed back make bursts, which the statistical engine leaves out. At a feedback tap of
  0.85 the counted error ratio is up to four times larger (`test_engines`).
"""


def document(rows: Sequence[dict[str, Any]]) -> str:
    """The page: a table for each section, its sources below it."""
    summary, *rest = _notes(rows)
    absent = f"Rows marked *{ABSENT}* need reference data that the project does not ship: {rest[0]}." if rest else (
        "The COM results and optical captures that it compares with are not shipped; without them their rows say so."
    )  # fmt: skip
    parts = [HEAD.format(summary=summary[0].upper() + summary[1:], absent=absent)]
    parts += [_section(name, list(some)) for name, some in groupby(rows, key=lambda row: str(row["section"]))]
    return "".join(parts) + TAIL


def _section(name: str, rows: Sequence[dict[str, Any]]) -> str:
    sources = list(dict.fromkeys(str(row["source"]) for row in rows))
    lines = [
        f"\n## {name}\n\n{INTRODUCTIONS[name]}\n",
        "| what | ours | reference | difference | allowed | verdict | source | test |",
        "|" + " --- |" * 8,
    ]
    for row in rows:
        note = f" ({row['note']})" if row["note"] and row["verdict"] in (MISS, ABSENT) else ""
        file, _, function = str(row["test"]).partition("::")
        cells = (
            row["what"], _number(row["ours"], row["unit"]), _reference(row), _signed(row["difference"]),
            f"{row['allowed']:.2g}", f"{row['verdict']}{note}", str(sources.index(row["source"]) + 1),
            f"`{file}` `{function}`",
        )  # fmt: skip
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    lines += ["", "Sources:\n", *(f"{k}. {source}" for k, source in enumerate(sources, start=1))]
    return "\n".join(lines).rstrip() + "\n"


def _number(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:.5g} {unit}".rstrip()


def _reference(row: dict[str, Any]) -> str:
    low, high, unit = row["reference_low"], row["reference_high"], row["unit"]
    if low == high:
        return _number(low, unit)
    return f"{low:g} {unit} or more" if high == float("inf") else f"{low:g} to {high:g} {unit}"


def _signed(value: float | None) -> str:
    return "" if value is None else "0" if value == 0 else f"{value:+.2g}"


def _shares(rows: Iterable[dict[str, Any]]) -> list[tuple[str, float]]:
    """(section, difference over what is allowed) of the rows that have both."""
    return [
        (str(r["section"]), abs(r["difference"]) / r["allowed"])
        for r in rows
        if r["difference"] is not None and r["allowed"] > 0
    ]


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    """How much of its allowance each comparison uses, by section."""
    from serdes import plot

    shares = _shares(rows)
    sections = list(dict.fromkeys(section for section, _ in shares))
    with plot.figure(8, 0.55 * len(sections) + 1.6) as (fig, ax):
        for k, section in enumerate(sections):
            mine = sorted(share for name, share in shares if name == section)
            spread = [k + 0.28 * ((i * 0.618) % 1 - 0.5) for i in range(len(mine))]  # so that equal ones are told apart
            ax.plot(
                [max(share, 1e-4) for share in mine],
                spread,
                "o",
                markersize=5,
                alpha=0.75,
                color=plot.COLOURS[k % 8],
                clip_on=False,
            )
        ax.axvline(1, color="0.2", linewidth=1)
        ax.text(1, -0.75, " allowed", fontsize=8, color="0.2", va="center")
        ax.set_yticks(range(len(sections)), sections)
        ax.set(xscale="log", xlim=(1e-4, 30), xlabel="difference over what is allowed (smaller ones at 1e-4)",
               ylim=(len(sections) - 0.5, -1.0), title="Each comparison, one point")  # fmt: skip
        ax.grid(visible=False, axis="y")
        return fig


def write(page: Path, answer: Answer) -> Path:
    """Write the page of the documentation and, beside it, its picture. Raises OSError with its path."""
    picture = page.parent / "images" / "validation.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(answer.texts["validation.md"], encoding="utf-8")
    answer.figures["differences"]().savefig(picture)
    return page
