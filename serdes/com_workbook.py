"""The task force's workbooks: .xlsx, strict or transitional, by the standard library alone; .xls by xlrd, an optional extra."""

from __future__ import annotations

import difflib
import re
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from serdes.com_keywords import IGNORED, KNOWN, REQUIRED, from_keywords
from serdes.com_sheet import Sheet


def read_workbook(path: str | Path) -> Sheet:
    """The parameter set of a task-force workbook: .xlsx, transitional or strict Office Open XML, or binary .xls.

    Raises ValueError that names the file and what is wrong.
    """
    path = Path(path)
    return from_keywords(workbook_keywords(path), path.stem)


def workbook_keywords(path: str | Path) -> dict[str, Any]:
    """Every known keyword in the workbook with the cell to its right. ValueError for one that is nearly known."""
    rows = _binary_cells(Path(path)) if Path(path).suffix.lower() == ".xls" else _cells(Path(path))
    found: dict[str, Any] = {}
    others: set[str] = set()
    for row in rows.values():
        for column, text in sorted(row.items()):
            key = text.strip() if isinstance(text, str) else None
            if key == ".START":
                raise ValueError(f"{path}: package blocks (.START ... .END) are not read; put their values in the sheet itself")
            value = row.get(column + 1)
            if key in KNOWN and key not in IGNORED and key not in found and value not in (None, ""):
                found[key] = value
            elif key and key not in KNOWN and value not in (None, ""):
                others.add(key)
    for key in REQUIRED:
        if key not in found:
            near = difflib.get_close_matches(key, others, 1, 0.7)
            raise ValueError(f"{path}: keyword {key!r} is missing" + (f"; {near[0]!r} is there, was it meant?" if near else ""))
    absent = {_bare(key): key for key in KNOWN if key not in found and key not in IGNORED}
    for other in sorted(others):
        near = difflib.get_close_matches(_bare(other), absent, 1, 0.9)
        if near:
            raise ValueError(f"{path}: unknown keyword {other!r}, did you mean {absent[near[0]]!r}?")
    return found


def _bare(key: str) -> str:
    """A keyword without what is easily written another way."""
    return re.sub(r"[\s_]+", "_", key.lower())


def _tag(node: ElementTree.Element) -> str:
    return node.tag.rpartition("}")[2]


def _binary_cells(path: Path) -> dict[int, dict[int, Any]]:
    """Cells of a binary .xls, the sheet as in `_cells`."""
    try:
        import xlrd
    except ImportError as error:
        raise ValueError(f"{path}: a binary .xls needs the package xlrd (pip install xlrd); or save it as .xlsx") from error
    try:
        book = xlrd.open_workbook(str(path))
        names = book.sheet_names()
        sheet = book.sheet_by_name("COM_Settings") if "COM_Settings" in names else book.sheet_by_index(0)
    except OSError as error:
        raise ValueError(f"{path}: can't be opened ({error.strerror or error}); check the path") from error
    except (xlrd.XLRDError, AssertionError, IndexError) as error:
        raise ValueError(f"{path}: not a workbook: {error}") from error
    return {i: {j: v for j, v in enumerate(sheet.row_values(i)) if v != ""} for i in range(sheet.nrows)}


def _cells(path: Path) -> dict[int, dict[int, Any]]:
    """Cells of the sheet COM_Settings (else of the first) by row and column; strict and transitional namespaces alike."""
    try:
        with zipfile.ZipFile(path) as book:
            parts = {name: book.read(name) for name in book.namelist() if name.endswith((".xml", ".rels"))}
    except OSError as error:
        raise ValueError(f"{path}: can't be opened ({error.strerror or error}); check the path") from error
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path}: not a workbook: {error}") from error
    try:
        strings: list[str] = []
        if "xl/sharedStrings.xml" in parts:
            table = ElementTree.fromstring(parts["xl/sharedStrings.xml"])  # noqa: S314
            strings = ["".join(node.text or "" for node in item.iter() if _tag(node) == "t") for item in table]
        book_root = ElementTree.fromstring(parts["xl/workbook.xml"])  # noqa: S314
        sheets = [node for node in book_root.iter() if _tag(node) == "sheet"]
        chosen = next((s for s in sheets if s.get("name") == "COM_Settings"), sheets[0])
        link = next(value for key, value in chosen.attrib.items() if key.endswith("}id"))
        relations = ElementTree.fromstring(parts["xl/_rels/workbook.xml.rels"])  # noqa: S314
        target = next(r.get("Target", "") for r in relations if r.get("Id") == link)
        root = ElementTree.fromstring(parts["xl/" + target.removeprefix("/xl/")])  # noqa: S314
    except (KeyError, StopIteration, IndexError, ElementTree.ParseError) as error:
        raise ValueError(f"{path}: not a workbook of COM settings: {error!r}") from error
    rows: dict[int, dict[int, Any]] = {}
    for cell in (node for node in root.iter() if _tag(node) == "c"):
        place = re.fullmatch(r"([A-Z]+)(\d+)", cell.get("r", ""))
        value = _cell_value(cell, strings)
        if place is None or value is None:
            continue
        column = 0
        for letter in place[1]:
            column = 26 * column + ord(letter) - 64
        rows.setdefault(int(place[2]), {})[column] = value
    return rows


def _cell_value(cell: ElementTree.Element, strings: list[str]) -> Any:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return "".join(node.text or "" for node in cell.iter() if _tag(node) == "t")
    text = next((node.text for node in cell if _tag(node) == "v"), None)
    if text is None:
        return None
    if kind == "s":
        return strings[int(text)]
    if kind in ("str", "e"):
        return text
    return float(text)
