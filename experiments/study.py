"""A study: a question, a run that answers it in tables, and figures drawn from them."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

MOST_ROWS = 1001
Row = Mapping[str, Any]
Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a study found. ``tables``: rows by name; ``figures``: a drawing function by name; ``notes``: what to read with them;
    ``texts``: further files by name, such as the link that was run.
    """

    question: str
    tables: Mapping[str, Sequence[Row]]
    figures: Mapping[str, Callable[[], Figure]]
    notes: Sequence[str] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> list[Path]:
        """Write each table as CSV, all tables in one JSON, each figure as PNG and SVG, each text as it is. Returns the paths.

        Raises OSError, with the path, where the folder can't be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name, rows in self.tables.items():
            path = folder / f"{name}.csv"
            write_csv(path, rows)
            written.append(path)
        summary = folder / "answer.json"
        content = {
            "question": self.question,
            "notes": list(self.notes),
            "tables": {k: list(map(dict, v)) for k, v in self.tables.items()},
        }
        summary.write_text(json.dumps(_plain(content), indent=1, allow_nan=False) + "\n", encoding="utf-8")
        written.append(summary)
        for name, text in self.texts.items():
            (folder / name).write_text(text, encoding="utf-8")
            written.append(folder / name)
        for name, draw in self.figures.items():
            written += save(draw(), folder / name)
        return written


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write ``figure`` as ``stem``.png and ``stem``.svg, the same bytes each time. Returns the paths."""
    import matplotlib as mpl

    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    figure.savefig(paths[0])
    with mpl.rc_context({"svg.hashsalt": "serdes", "svg.fonttype": "path"}):
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Rows of one shape as CSV with a header; the columns are those of all rows, in order of appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def curve_rows(columns: Mapping[str, np.ndarray]) -> list[Row]:
    """Curves of one length as rows, no more than `MOST_ROWS` of them: every so many points; a figure shows all."""
    size = next(iter(columns.values())).size
    stride = -(-size // MOST_ROWS)
    kept = {key: column[::stride].tolist() for key, column in columns.items()}
    return [dict(zip(kept, values, strict=True)) for values in zip(*kept.values(), strict=True)]


def _plain(item: Any) -> Any:
    """The same with numpy numbers as Python's and what JSON can't say (infinity, nan) as text."""
    if isinstance(item, Mapping):
        return {str(k): _plain(v) for k, v in item.items()}
    if isinstance(item, list | tuple):
        return [_plain(v) for v in item]
    if hasattr(item, "item") and not isinstance(item, str):
        item = item.item()
    if isinstance(item, float) and not math.isfinite(item):
        return str(item)
    return item


def silent(done: int, total: int) -> None:
    """A progress report that says nothing."""
    del done, total
