"""All studies on one page of HTML that needs nothing else: no network, no script, no file beside it."""

from __future__ import annotations

import base64
import html
import io
import math
import time
import traceback
from collections.abc import Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from experiments.parallel import run_all
from experiments.registry import Study
from experiments.study import Answer, Progress, Row, silent

REPORT = "out/report"
"""Where a study's command looks for files that the report has written; its real folder takes the place of this."""
LARGEST_SVG = 400_000
"""Bytes of a drawing beyond which it is shown as PNG: densities and clouds of points."""
LONG_TEXT = 24
"""Characters from which a column of texts gets room."""
MOST_ROWS = 400
UNITS = {
    "m": "m", "mm": "mm", "km": "km", "nm": "nm", "db": "dB", "dbm": "dBm", "gbd": "GBd", "ghz": "GHz", "mhz": "MHz", "ui": "UI",
    "mv": "mV", "v": "V", "w": "W", "kw": "kW", "ps": "ps", "ns": "ns", "us": "us", "ms": "ms", "s": "s", "ohm": "ohm", "pct": "%",
    "awg": "AWG", "gib": "GiB", "j": "J", "mv_per_v": "mV/V", "gb_per_s": "GB/s", "tb_per_s": "TB/s", "gbps": "Gb/s",
    "tbps": "Tb/s", "pj_per_bit": "pJ/bit", "db_per_m": "dB/m",
}  # fmt: skip
"""Units by the end of a column's name."""
OPEN_ROWS = 14
"""Rows up to which a table is shown at once; a longer one unfolds."""


def write(
    folder: Path, chosen: Sequence[Study], quick: bool = False, progress: Progress = silent, workers: int | None = None
) -> Path:
    """Run ``chosen`` and write ``report.html`` and each study's own files into ``folder``; returns the page's path.

    Studies run beside each other, the longest first, each in one of ``workers`` processes, by default as many as cores. A study
    that raises is a section that says so. Raises OSError where the folder can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    ordered = sorted(chosen, key=lambda study: -study.weight)
    parts = run_all(partial(_run, folder, quick), ordered, progress, workers)
    by_name = dict(zip([study.name for study in ordered], parts, strict=True))
    page = folder / "report.html"
    sections = [by_name[study.name] for study in chosen]
    page.write_text(document(chosen, sections, quick, time.perf_counter() - begin), encoding="utf-8")
    return page


def _run(folder: Path, quick: bool, study: Study) -> str:
    """The section of a study, whose files are written into a folder of its name; runs in a worker."""
    start = time.perf_counter()
    try:
        answer = study.answer(quick, silent)
        answer.write(folder / study.name)
        return section(study, answer, folder / study.name, quick, time.perf_counter() - start)
    except OSError:
        raise
    except Exception as error:
        return failure(study, error)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"Version {version('serdes-reach')}"
    except PackageNotFoundError:
        return "From a checkout"


def document(chosen: Sequence[Study], sections: Sequence[str], quick: bool, seconds: float) -> str:
    """The whole page."""
    style = resources.files("experiments").joinpath("report.css").read_text(encoding="utf-8")
    contents = "".join(f'<li><a href="#{s.name}">{_text(s.question)}</a></li>' for s in chosen)
    toy = "<p class=toy>Toy sizes: fewer rates and gauges than the studies have. Not for conclusions.</p>" if quick else ""
    made = f"{_version()}, {time.strftime('%Y-%m-%d', time.gmtime())}, {seconds:.0f} s of computing."
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>Interconnect and distance</title><style>{style}</style></head><body>"
        "<header><h1>Why interconnect bandwidth is set by distance</h1>"
        f"<p>{_text(made)}</p>{toy}</header><nav aria-label=Contents><ol>{contents}</ol></nav>"
        f"<main>{''.join(sections)}</main></body></html>\n"
    )


def section(study: Study, answer: Answer, folder: Path, quick: bool, seconds: float) -> str:
    """One study, its figures in ``folder``: question, answer, figures, numbers, method, references, how to get it again."""
    parts = [f'<section id="{study.name}"><h2>{_text(study.question)}</h2>']
    sentence = study.sentence(answer)
    parts.append(f"<p class=answer>{_text(sentence)}</p>")
    parts += [
        f'<figure><img alt="{_text(name.replace("_", " "))}" src="{picture(folder / name)}">'
        f"<figcaption>{_text(f'{study.name}/{name}')}.svg and .png beside this page</figcaption></figure>"
        for name in answer.figures
    ]
    notes = [n for n in answer.notes if n != sentence]
    if notes:
        parts.append("<h3>What to read with it</h3><ul>" + "".join(f"<li>{_text(n)}</li>" for n in notes) + "</ul>")
    parts.append("<h3>Numbers</h3>")
    parts += [table(f"{study.name}-{name}", name, rows, i == 0) for i, (name, rows) in enumerate(answer.tables.items())]
    parts.append(f"<h3>Method</h3><p>{_text(study.method)}</p>")
    if study.references:
        parts.append("<h3>References</h3><ul>" + "".join(f"<li>{_text(r)}</li>" for r in study.references) + "</ul>")
    again = f"serdes report --quick --only {study.name}" if quick and study.quick else study.command
    again = again.replace(REPORT, folder.parent.as_posix())
    parts.append(
        f"<h3>Get it again</h3><p>By command, {seconds:.1f} s here:</p><pre>{_text(again)}</pre>"
        f"<p>By script:</p><pre>{_text(study.script(quick))}</pre></section>"
    )
    return "".join(parts)


def failure(study: Study, error: Exception) -> str:
    """The section of a study that raised."""
    trace = "".join(traceback.format_exception(error)[-4:])
    return (
        f'<section id="{study.name}"><h2>{_text(study.question)}</h2>'
        f"<p class=failed>This study failed: {_text(f'{type(error).__name__}: {error}')}</p><pre>{_text(trace)}</pre></section>"
    )


def picture(stem: Path) -> str:
    """The figure ``stem``.svg as a data address, or ``stem``.png where the SVG is large."""
    path = stem.with_name(f"{stem.name}.svg")
    kind = "svg+xml"
    if path.stat().st_size > LARGEST_SVG:
        path, kind = path.with_suffix(".png"), "png"
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def heading(column: str) -> str:
    """A column's name in words, the unit at its end in brackets: "loss_at_nyquist_db" is "loss at nyquist [dB]"."""
    words = column.split("_")
    for n in (3, 2, 1):
        unit = UNITS.get("_".join(words[-n:]))
        if unit and len(words) > (n if n == 1 else n - 1):
            return f"{' '.join(words[:-n])} [{unit}]".strip()
    return " ".join(words)


def table(identity: str, name: str, rows: Sequence[Row], first: bool = True) -> str:
    """Rows as a table that scrolls inside its frame, with the same as a CSV to keep; the ``first`` is open if it is short."""
    if not rows:
        return ""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    numeric = {c: all(_is_number(r.get(c)) for r in rows) for c in columns}
    head = "".join(f"<th{_class(numeric[c])} scope=col>{_text(heading(c))}</th>" for c in columns)
    wide = {c: any(len(shown(r.get(c))) > LONG_TEXT for r in rows[:MOST_ROWS]) for c in columns}
    body = "".join(
        "<tr>" + "".join(f"<td{_class(numeric[c], wide[c])}>{_text(shown(r.get(c)))}</td>" for c in columns) + "</tr>"
        for r in rows[:MOST_ROWS]
    )
    cut = f"<p>The first {MOST_ROWS} of {len(rows)} rows; the file has all.</p>" if len(rows) > MOST_ROWS else ""
    csv = base64.b64encode(_csv(columns, rows).encode()).decode()
    link = f'<a download="{identity}.csv" href="data:text/csv;base64,{csv}">CSV</a>'
    unfolded = " open" if first and len(rows) <= OPEN_ROWS else ""
    title = f"{_text(name.replace('_', ' '))}, {len(rows)} {'row' if len(rows) == 1 else 'rows'}"
    return (
        f"<details{unfolded}><summary>{title}</summary><div class=frame tabindex=0 role=region "
        f'aria-label="{_text(name)}"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{cut}<p>{link}</p>'
        "</details>"
    )


def shown(value: Any) -> str:
    """A value as a table shows it: five digits, or as many as a whole number has."""
    if value is None:
        return ""
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return f"{value:.5g}"
    return str(value)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _class(numeric: bool, wide: bool = False) -> str:
    return " class=n" if numeric else " class=w" if wide else ""


def _csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    import csv

    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _text(value: str) -> str:
    return html.escape(value, quote=True)
