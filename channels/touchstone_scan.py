"""The text of a Touchstone file cut into tokens: comments, option line, keywords and the rows of each section."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from channels.touchstone_data import NOISE_COLUMNS, Finding, TouchstoneError
from dsp import units

FREQUENCY_UNITS = {"hz": units.Hz, "khz": units.kHz, "mhz": units.MHz, "ghz": units.GHz, "thz": units.THz}
UNIT_NAMES = {"hz": "Hz", "khz": "kHz", "mhz": "MHz", "ghz": "GHz", "thz": "THz"}
FORMATS = ("RI", "MA", "DB")
_DEFAULTS = {"unit": "GHz", "parameter": "S", "format": "MA", "reference": "R 50"}

SHOWN = 120  # characters of a line that a message shows
NO_SIGNAL_DB = -1000.0  # written for |S| = 0 in dB, where -inf would stop most readers
KEYWORDS = {
    "version", "number of ports", "two-port data order", "number of frequencies", "number of noise frequencies", "reference",
    "matrix format", "mixed-mode order", "begin information", "end information", "network data", "noise data", "end",
}  # fmt: skip


@dataclass
class Option:
    """The option line as read; None where the line is silent."""

    unit: str | None = None
    parameter: str | None = None
    format: str | None = None
    reference: tuple[float, ...] | None = None
    in_order: bool = True


@dataclass
class Source:
    """What one pass over the lines collects. ``rows`` hold the number tokens of a section, ``*_lines`` their line numbers."""

    name: str
    findings: list[Finding] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    option: Option | None = None
    option_text: str = ""
    keywords: dict[str, tuple[list[str], int]] = field(default_factory=dict)
    rows: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    noise_rows: list[list[str]] = field(default_factory=list)
    noise_lines: list[int] = field(default_factory=list)
    n_lines: int = 0
    promised: tuple[int | None, int | None] = (None, None)  # frequencies and noise rows that version 2 keywords announce

    def note(self, code: str, message: str, severity: str = "warning") -> None:
        """Add a finding."""
        self.findings.append(Finding(code, message, severity))

    def error(self, line: int | None, cause: str, remedy: str = "") -> TouchstoneError:
        """The error to raise about this file."""
        return TouchstoneError(self.name, line, cause, remedy)


def decode(content: bytes | str, name: str) -> str:
    """Text with line ends of one kind, whatever the encoding of the comments."""
    text = content if isinstance(content, str) else _text(content, name)
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _text(content: bytes, name: str) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", errors="replace")
    if b"\0" in content:
        raise TouchstoneError(name, None, "is a binary file", "export the network as Touchstone text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # every byte is a character: comments may hold anything


def ports_of_name(name: str) -> int | None:
    """Number of ports that the extension .sNp states, if it does."""
    match = re.search(r"\.s(\d{1,3})p$", name, re.IGNORECASE)
    return int(match[1]) if match and int(match[1]) else None


def scan(text: str, name: str) -> Source:
    """One pass: comments, option line, keywords, and the tokens of the data lines."""
    source, section, open_keyword = Source(name), "network", ""
    for number, raw in enumerate(text.split("\n"), 1):
        line, mark, comment = raw.partition("!")
        if mark and (not source.rows or "mpedance" in comment) and len(source.comments) < 1000:
            source.comments.append(comment.strip())
        tokens = line.split()
        if not tokens or section == "end":
            continue
        source.n_lines = number
        first = tokens[0][0]
        if first == "[":
            match = re.fullmatch(r"\s*\[([^\]]*)\]\s*(.*?)\s*", line)
            if not match:
                raise source.error(number, f"keyword without closing bracket: {line.strip()[:60]!r}")
            key, value = " ".join(match[1].lower().split()), match[2].split()
            if not source.keywords and source.rows:
                raise source.error(number, f"keyword [{match[1]}] after version 1 data", "is this two files in one?")
            if key in source.keywords and key not in ("begin information", "end information"):
                raise source.error(number, f"keyword [{match[1]}] for the second time")
            source.keywords[key] = (value, number)
            open_keyword = key if key in ("reference", "mixed-mode order") else ""
            section = {
                "begin information": "information", "network data": "network", "noise data": "noise", "end": "end",
            }.get(key, "header")  # fmt: skip
        elif section == "information":
            continue
        elif first == "#":
            _take_option(source, line, number)
        elif section == "header":
            if not open_keyword:
                raise source.error(number, f"expected a keyword or [Network Data], found {line.strip()[:60]!r}")
            source.keywords[open_keyword][0].extend(tokens)
        else:
            rows, lines = (source.rows, source.lines) if section == "network" else (source.noise_rows, source.noise_lines)
            rows.append(tokens)
            lines.append(number)
    if not source.rows:
        raise source.error(source.n_lines or None, "holds no network data", "is the file empty or cut off?")
    return source


def _take_option(source: Source, line: str, number: int) -> None:
    text = line.strip()[:SHOWN]
    option = _parse_option(source, line.strip()[1:].split(), number, text)
    if source.option is None:
        if source.rows:
            raise source.error(number, "data stand before the option line", "move the line that begins with # to the top")
        source.option, source.option_text = option, text
    elif option != source.option:
        raise source.error(number, f"a second option line {text!r} contradicts the first, {source.option_text!r}")


def _parse_option(source: Source, tokens: list[str], number: int, text: str) -> Option:
    """Tokens in any order. An unknown or repeated one is an error that shows the line."""
    option, sequence, remaining = Option(), [], deque(tokens)

    def put(key: str, value: object) -> None:
        if getattr(option, key) is not None:
            raise source.error(number, f"the option line gives the {key} twice: {text!r}")
        setattr(option, key, value)
        sequence.append(key)

    while remaining:
        token = remaining.popleft()
        low = token.lower()
        if low in FREQUENCY_UNITS:
            put("unit", low)
        elif low in ("s", "y", "z", "g", "h"):
            put("parameter", low.upper())
        elif low.upper() in FORMATS:
            put("format", low.upper())
        elif low[0] == "r":
            numbers = [low[1:]] if low[1:] else []
            while remaining and re.match(r"[-+.\d]", remaining[0]):
                numbers.append(remaining.popleft())
            try:
                reference = tuple(float(x) for x in numbers)
            except ValueError:
                reference = ()
            if not reference or not all(0 < x < np.inf for x in reference):
                cause = f"the option line gives no positive real reference after R: {text!r}"
                raise source.error(number, cause, "write R 50; complex references are not supported: renormalise the data")
            put("reference", reference)
        else:
            raise source.error(
                number, f"cannot read {token[:SHOWN]!r} in the option line {text!r}", "write e.g. # GHz S RI R 50"
            )
    option.in_order = sequence == sorted(sequence, key=list(_DEFAULTS).index)
    return option


def option_of(source: Source) -> Option:
    """The option line, with a finding for each choice it leaves open."""
    option = source.option
    if option is None:
        source.note("no-option-line", "no option line (# ...): read as GHz S MA R 50, the default of the format")
        return Option()
    if not option.in_order:
        source.note("option-line-order", f"option line in unusual order, read by its tokens: {source.option_text!r}")
    silent = [k for k in _DEFAULTS if getattr(option, k) is None and not (k == "reference" and "reference" in source.keywords)]
    if silent:
        taken = ", ".join(f"{k} {_DEFAULTS[k]}" for k in silent)
        source.note("option-line-default", f"option line {source.option_text!r} is silent on: {taken} taken")
    if option.unit == "thz":
        source.note("unit-thz", "frequencies in THz: not a unit of the format, read as written")
    return option


def header(source: Source, n_named: int | None) -> tuple[int, str, str, tuple[float, ...] | None, tuple[str, ...]]:
    """Ports, matrix layout, two-port order ('' where a two-port has none), references and modes of a version 2 file."""

    def value(key: str, choices: tuple[str, ...] = ()) -> str | None:
        if key not in source.keywords:
            return None
        tokens, line = source.keywords[key]
        if len(tokens) != 1 or (choices and tokens[0].lower() not in choices):
            rule = " or ".join(choices) or "one value"
            raise source.error(line, f"[{key.title()}] must be {rule}, found {' '.join(tokens)[:60]!r}")
        return tokens[0].lower()

    def whole(key: str) -> int | None:
        text = value(key)
        if text is not None and not (text.isascii() and text.isdigit() and 0 < int(text) < 10**6):
            raise source.error(source.keywords[key][1], f"[{key.title()}] must be a whole number of 1 or more, found {text!r}")
        return None if text is None else int(text)

    for key, (_, line) in source.keywords.items():
        if key not in KEYWORDS:
            raise source.error(line, f"unknown keyword [{key[:SHOWN]}]", "known are " + ", ".join(sorted(KEYWORDS)))
    if value("version", ("1.0", "2.0", "2.1")) is None:
        source.note("no-version", "keywords of version 2 without [Version]: read as version 2.0")
    n = whole("number of ports")
    if n is None:
        raise source.error(None, "has keywords of version 2 but no [Number of Ports]", "add it")
    if "network data" not in source.keywords:
        raise source.error(None, "has keywords of version 2 but no [Network Data]", "add it above the numbers")
    if n_named not in (None, n):
        source.note("extension", f"the extension says {n_named} ports, [Number of Ports] says {n}: {n} taken")
    layout = value("matrix format", ("full", "lower", "upper")) or "full"
    order = value("two-port data order", ("12_21", "21_12"))
    reference = None
    if "reference" in source.keywords:
        tokens, line = source.keywords["reference"]
        try:
            reference = tuple(float(x) for x in tokens)
        except ValueError:
            reference = ()
        if len(reference) != n or not all(0 < x < np.inf for x in reference):
            raise source.error(line, f"[Reference] must hold {n} positive real numbers, found {' '.join(tokens)[:80]!r}")
    modes = tuple(x.upper() for x in source.keywords.get("mixed-mode order", ([], 0))[0])
    points, noise_points = whole("number of frequencies"), whole("number of noise frequencies")
    source.promised = (points, noise_points)
    return n, layout, (order or ("" if n == 2 and layout == "full" else "12_21")), reference, modes


def _numbers(source: Source, rows: list[list[str]], lines: list[int]) -> np.ndarray:
    """All tokens as floats in one go; the slow search runs only to name the first bad one."""
    try:
        values = np.fromiter(map(float, chain.from_iterable(rows)), float)
        bad = not np.all(np.isfinite(values)) or any("_" in "".join(row) for row in rows)
    except ValueError:
        bad = True
    if bad:
        in_db = source.option is not None and source.option.format == "DB"
        for row, line in zip(rows, lines, strict=True):
            for token in row:
                minus_infinity = in_db and token.lower() in ("-inf", "-infinity", "-1.#inf")
                if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", token, re.IGNORECASE) and not minus_infinity:
                    raise source.error(line, f"{token[:40]!r} is not a number", "repair or remove that point")
        values = np.fromiter((NO_SIGNAL_DB if "i" in t.lower() else float(t) for t in chain.from_iterable(rows)), float)
        if not np.all(np.isfinite(values)):
            raise source.error(None, "holds numbers beyond the floating-point range")
        source.note("minus-infinity", "-inf dB read as |S| = 0")
    return values


def table_of(
    source: Source, n: int | None, layout: str, unit: str, version2: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Rows of one frequency each (f, pairs), the line each began on, the noise rows, and the number of ports.

    A frequency line has an odd number of entries, a continuation line an even one: this finds wrong port counts and cut
    blocks that the total alone would hide.
    """
    values = _numbers(source, source.rows, source.lines)
    counts = np.array([len(row) for row in source.rows])
    lines = np.array(source.lines)
    begin = np.flatnonzero(counts % 2)
    if not begin.size or begin[0] != 0:
        begin = np.insert(begin, 0, 0)
    sizes = np.add.reduceat(counts, begin)
    offsets = np.concatenate([[0], np.cumsum(counts)])[begin]
    n_noise = 0
    if not version2 and n in (None, 2):  # a two-port may end in noise rows of 5 columns
        n_noise = int(np.argmin(np.append(sizes[::-1] == NOISE_COLUMNS, False)))
    if n_noise and n_noise < sizes.size:
        first_noise, last = values[offsets[-n_noise]], values[offsets[-n_noise - 1]]
        if first_noise > last:
            line, cut = lines[begin[-n_noise]], f"{NOISE_COLUMNS} of the 9 numbers of a two-port"
            raise source.error(int(line), f"frequency {first_noise:g} {unit} holds {cut}", "is the row cut off?")
    noise = values[offsets[-n_noise] :].reshape(-1, NOISE_COLUMNS).copy() if n_noise else np.empty((0, NOISE_COLUMNS))
    if source.noise_rows:
        for row, line in zip(source.noise_rows, source.noise_lines, strict=True):
            if len(row) != NOISE_COLUMNS:
                raise source.error(line, f"a noise row holds {len(row)} of {NOISE_COLUMNS} numbers")
        noise = _numbers(source, source.noise_rows, source.noise_lines).reshape(-1, NOISE_COLUMNS)
    keep = sizes.size - n_noise
    values, begin, sizes, offsets = values[: sizes[:keep].sum()], begin[:keep], sizes[:keep], offsets[:keep]
    if not keep:
        raise source.error(int(lines[0]), "holds rows of 5 numbers only: noise data without a network")
    same = int(sizes[0]) if np.all(sizes == sizes[0]) else 0
    implied = round(((same - 1) / 2) ** 0.5) if same > 1 else 0
    implied = implied if same == 1 + 2 * implied**2 else 0
    if n is None:
        if not implied:
            raise source.error(int(lines[0]), "the number of ports is neither in the name nor in the rows", "name it .sNp")
        n = implied
        source.note("ports-from-rows", f"the name does not give the number of ports; rows of {same} numbers: {n} ports", "info")
    size = 1 + 2 * (n * n if layout == "full" else n * (n + 1) // 2)
    if same != size:
        if implied and keep > 1 and layout == "full":
            cause = f"{n} ports need {size} numbers a frequency, but each row here holds {same}, those of {implied} ports"
            raise source.error(int(lines[0]), cause, f"is the extension wrong? Rename to .s{implied}p")
        regular = values[: values.size // size * size].reshape(-1, size)
        if values.size % size or not regular.size or np.any(np.diff(regular[:, 0]) <= 0):
            raise _cut(source, values, counts, begin, sizes, (size, n, unit))
        source.note("line-breaks", f"lines break within pairs; read as {size} numbers a frequency", "info")
        begin = np.searchsorted(np.cumsum(counts), np.arange(len(regular)) * size, side="right")
    table = values.reshape(-1, size)
    for promise, found, what in zip(source.promised, (len(table), len(noise)), ("", "Noise "), strict=True):
        if promise not in (None, found):
            raise source.error(None, f"[Number of {what}Frequencies] says {promise}, the file holds {found}", "is it cut off?")
    if np.any(table[:, 0] < 0):
        i = int(np.argmax(table[:, 0] < 0))
        raise source.error(int(lines[begin[i]]), f"frequency {table[i, 0]:g} {unit} is negative")
    return table, lines[begin], noise, n


def _cut(
    source: Source, values: np.ndarray, counts: np.ndarray, begin: np.ndarray, sizes: np.ndarray, rule: tuple[int, int, str]
) -> TouchstoneError:
    """The error for the first frequency whose numbers do not make a whole row."""
    size, n, unit = rule
    i = int(np.argmax(sizes != size))
    row, start, left = int(begin[i]), int(sizes[:i].sum()), int(sizes[i:].sum())
    held = int(sizes[i])
    whole = np.flatnonzero(np.cumsum(counts[row:])[: counts.size - row] == size)
    if held > size and whole.size:  # this row is whole; the next is cut after an even count and was taken for its continuation
        row, start, left, held = row + int(whole[0]) + 1, start + size, left - size, held - size
    last = left < size  # a pair cut in two makes the last line look like a new frequency
    cause = f"frequency {values[start]:g} {unit} holds {left if last else held} of the {size} numbers of {n} ports"
    cause += f"; the file ends at line {source.n_lines}" if last else ""
    return source.error(source.lines[row], cause, "is the file cut off, or the extension wrong?")
