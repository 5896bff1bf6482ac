"""Touchstone 1.x and 2.x files, read to numbers and written from them; what cannot be read is refused with line and cause.

The reader is tolerant of form (tabs, line ends, byte-order mark, any comment bytes, wrapped rows, order of the option line) and
strict about content: every choice it makes for the user is a `Finding` that comes with the data, and no NaN passes.
Source: Touchstone File Format Specification 2.1 (IBIS Open Forum).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from channels.touchstone_data import Finding, TouchstoneData, TouchstoneError
from channels.touchstone_scan import (
    FORMATS,
    FREQUENCY_UNITS,
    NO_SIGNAL_DB,
    UNIT_NAMES,
    Source,
    decode,
    header,
    option_of,
    ports_of_name,
    scan,
    table_of,
)
from dsp import check

__all__ = ["Finding", "TouchstoneData", "TouchstoneError", "parse_touchstone", "read_touchstone", "write_touchstone"]

MAX_FREQUENCY, MAX_NUMBER, MAX_S = 1e15, 1e15, 1e6  # larger ones are garbage, and would overflow
DUPLICATE_TOLERANCE = 1e-3  # two rows of one frequency further apart than this in |S| contradict each other


def read_touchstone(path: str | Path) -> TouchstoneData:
    """Read a Touchstone file. Raises `TouchstoneError` with file, line, cause and remedy."""
    return parse_touchstone(read_bytes(path), str(path))


def read_bytes(path: str | Path) -> bytes:
    """Content of the file at ``path``; TouchstoneError if it cannot be opened."""
    try:
        return Path(path).read_bytes()
    except OSError as reason:
        raise TouchstoneError(str(path), None, f"cannot be opened ({reason.strerror})", "check the path") from reason


def parse_touchstone(content: bytes | str, name: str) -> TouchstoneData:
    """The content of a Touchstone file. ``name`` appears in errors; its extension .sNp gives the ports of a version 1 file.

    Network parameters Z and Y are converted to S; mixed-mode version 2 data to single-ended ports; points are sorted.
    Raises TouchstoneError.
    """
    source = scan(decode(content, name), name)
    option, version2 = option_of(source), bool(source.keywords)
    n: int | None = ports_of_name(name)
    layout, two_port_order = "full", "21_12"
    reference: tuple[float, ...] | None = None
    modes: tuple[str, ...] = ()
    if version2:
        n, layout, two_port_order, reference, modes = header(source, n)
    unit = option.unit or "ghz"
    table, lines, noise, n = table_of(source, n, layout, UNIT_NAMES[unit], version2)
    for block, limit in ((table[:, 0], MAX_FREQUENCY), (table[:, 1:], MAX_NUMBER)):
        if np.max(np.abs(block)) > limit:
            raise source.error(
                None, f"holds a number of {np.max(np.abs(block)):g}, beyond any network", "is the column order right?"
            )
    s = _matrix(table, n, layout, two_port_order, option.format or "MA")
    if reference is None:
        given = option.reference or (50.0,)
        if len(given) not in (1, n):
            raise source.error(None, f"the option line gives {len(given)} references for {n} ports: {source.option_text!r}")
        reference = given * n if len(given) == 1 else given
    if two_port_order == "":
        if not np.allclose(s[0, 1], s[1, 0], rtol=0, atol=1e-9):
            raise source.error(None, "[Two-Port Data Order] is missing and S12 differs from S21", "add it: 12_21 or 21_12")
        source.note("no-two-port-order", "[Two-Port Data Order] is missing; S12 and S21 are equal, so nothing depends on it")
    s = _to_scattering(source, s, option.parameter or "S", reference, normalised=not version2)
    if modes:
        s = _single_ended(source, s, modes, reference)
    if not np.all(np.abs(s) < MAX_S):
        raise source.error(
            None, f"holds |S| of {np.max(np.abs(s)):g}, beyond any network", "is the format DB and not RI or MA?"
        )
    noise[:, 0] *= FREQUENCY_UNITS[unit]
    _port_impedance_comment(source, reference)
    f, s = _sorted(source, table[:, 0] * FREQUENCY_UNITS[unit], s, lines)
    return TouchstoneData(
        frequency=f,
        s=s,
        reference=reference,
        name=name,
        noise=noise,
        comments=tuple(source.comments),
        port_names=_port_names(source.comments, n),
        findings=tuple(source.findings),
        ports_line=source.keywords["number of ports"][1] if "number of ports" in source.keywords else int(lines[0]),
    )


def _matrix(table: np.ndarray, n: int, layout: str, two_port_order: str, number_format: str) -> np.ndarray:
    """Matrices (n, n, n_f) from rows of pairs. Two-ports of version 1 are stored S11 S21 S12 S22, all others row by row."""
    first, second = table[:, 1::2].T, table[:, 2::2].T
    if number_format == "RI":
        pairs = first + 1j * second
    else:
        # clipped: a wild number of decibels is refused below as |S|, and must not overflow first
        magnitude = first if number_format == "MA" else 10 ** (np.minimum(first, 4000.0) / 20)
        pairs = magnitude * np.exp(1j * np.deg2rad(second))
    if layout == "full":
        m = pairs.reshape(n, n, -1)
        return m.swapaxes(0, 1) if n == 2 and two_port_order != "12_21" else m
    i, j = np.tril_indices(n) if layout == "lower" else np.triu_indices(n)
    m = np.empty((n, n, len(table)), complex)
    m[i, j] = m[j, i] = pairs
    return m


def _to_scattering(
    source: Source, m: np.ndarray, parameter: str, reference: tuple[float, ...], *, normalised: bool
) -> np.ndarray:
    """S from Z or Y: S = (z - 1)(z + 1)^-1 with z normalised to the references (in version 1 the file already is)."""
    if parameter == "S":
        return m
    if parameter in "GH":
        raise source.error(None, f"holds {parameter}-parameters", "export S, Z or Y parameters")
    x = np.moveaxis(m, -1, 0)
    if not normalised:
        root = np.sqrt(reference)
        x = x / np.outer(root, root) if parameter == "Z" else x * np.outer(root, root)
    one = np.eye(m.shape[0])
    if np.min(np.abs(np.linalg.det(x + one))) == 0:
        raise source.error(
            None, f"holds {parameter}-parameters that have no S-parameters (singular matrix)", "export S-parameters"
        )
    s = (x - one) @ np.linalg.inv(x + one)
    source.note("converted", f"{parameter}-parameters converted to S", "info")
    return np.moveaxis(s if parameter == "Z" else -s, 0, -1)


def _single_ended(source: Source, s: np.ndarray, modes: tuple[str, ...], reference: tuple[float, ...]) -> np.ndarray:
    """Single-ended S from mixed-mode S by the orthonormal transform d = (a - b) / sqrt 2, c = (a + b) / sqrt 2."""
    n, line = s.shape[0], source.keywords["mixed-mode order"][1]
    transform = np.zeros((n, n))
    if len(modes) != n or len(set(modes)) != n:
        raise source.error(line, f"[Mixed-Mode Order] must name {n} different modes, found {' '.join(modes)!r}")
    for row, mode in enumerate(modes):
        single, pair = re.fullmatch(r"S(\d{1,3})", mode), re.fullmatch(r"([DC])(\d{1,3}),(\d{1,3})", mode)
        ports = [int(single[1])] if single else [int(pair[2]), int(pair[3])] if pair else [0]
        if (
            not all(1 <= p <= n for p in ports)
            or len({reference[p - 1] for p in ports}) != 1
            or (pair and ports[0] == ports[-1])
        ):
            raise source.error(line, f"[Mixed-Mode Order] cannot use mode {mode!r}", "pairs need two ports of one reference")
        transform[row, ports[0] - 1] = 1 if single else 0.5**0.5
        if pair:
            transform[row, ports[1] - 1] = -(0.5**0.5) if pair[1] == "D" else 0.5**0.5
    if not np.allclose(transform @ transform.T, np.eye(n)):
        raise source.error(line, "[Mixed-Mode Order] does not give each pair one D and one C mode")
    source.note("mixed-mode", "mixed-mode data converted to single-ended ports", "info")
    return np.einsum("mi,mnf,nj->ijf", transform, s, transform)


def _sorted(source: Source, f: np.ndarray, s: np.ndarray, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points in ascending order; equal points once, contradicting ones refused."""
    if np.any(np.diff(f) < 0):
        order = np.argsort(f, kind="stable")
        f, s, lines = f[order], s[:, :, order], lines[order]
        source.note("unsorted", "frequencies were not in ascending order: sorted")
    again = np.flatnonzero(np.diff(f) == 0)
    if again.size:
        apart = np.max(np.abs(s[:, :, again + 1] - s[:, :, again]), axis=(0, 1))
        i = int(np.argmax(apart))
        if apart[i] > DUPLICATE_TOLERANCE:
            here, at = f"{f[again[i]]:g} Hz ({f[again[i]] / FREQUENCY_UNITS['ghz']:g} GHz)", lines[again[i]]
            cause = f"two rows for {here} differ by {apart[i]:.3g}; the first is on line {at}"
            raise source.error(int(lines[again[i] + 1]), cause, "keep one of them")
        f, s = np.delete(f, again + 1), np.delete(s, again + 1, axis=2)
        source.note(
            "duplicate-points", f"{again.size} repeated frequencies dropped; their rows differ by {apart[i]:.1e} at most"
        )
    return f, s


def _port_names(comments: list[str], n: int) -> tuple[str, ...]:
    """Names from comments of the form 'Port[1] = name'; empty unless every port has one."""
    found = (re.match(r"port\s*\[?\s*(\d{1,3})\s*\]?\s*[=:]\s*(\S.*)$", c, re.IGNORECASE) for c in comments)
    names = {int(m[1]): m[2].strip() for m in found if m}
    return tuple(names[i] for i in range(1, n + 1)) if set(names) == set(range(1, n + 1)) else ()


def _port_impedance_comment(source: Source, reference: tuple[float, ...]) -> None:
    """A field solver may write the references it used as a comment only; then the option line may be wrong."""
    for comment in source.comments:
        match = re.match(r"port impedance\b[\s:=]*(.*)", comment, re.IGNORECASE)
        numbers = re.findall(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?", match[1]) if match else []
        if len(numbers) != 2 * len(reference):
            continue
        real, imaginary = np.array(numbers, float).reshape(-1, 2).T
        if np.any(np.abs(real - reference) > 0.01 * real) or np.any(np.abs(imaginary) > 0.01 * real):
            text = f"a comment gives the port impedances {comment[14:80].strip()!r}, the data are read on {reference} ohm"
            source.note("port-impedance", text + ": export the file renormalised")
        return


def write_touchstone(
    path: str | Path,
    frequency: np.ndarray,
    s: np.ndarray,
    reference: float | tuple[float, ...] = 50.0,
    *,
    version: int | None = None,
    unit: str = "Hz",
    number_format: str = "RI",
    digits: int = 12,
    comments: tuple[str, ...] = (),
    port_names: tuple[str, ...] = (),
) -> None:
    """Write S-parameters: ``frequency`` (n_f,) [Hz], ``s`` (n, n, n_f), ``reference`` [ohm], one number or one per port.

    ``version`` 1 or 2; None takes 1 where one reference serves all ports and 2 otherwise. The extension of a version 1 file
    must be .sNp. Four pairs a line, ``digits`` significant digits (9 or more). Raises ValueError for what cannot be written.
    """
    n = np.shape(s)[0] if np.ndim(s) == 3 else 0
    references = tuple(float(r) for r in reference) if isinstance(reference, tuple) else (float(reference),) * n
    data = TouchstoneData(frequency=frequency, s=s, reference=references, port_names=port_names)
    version = version or (1 if len(set(references)) == 1 else 2)
    check.one_of("write_touchstone", "version", version, (1, 2))
    check.one_of("write_touchstone", "unit", unit.lower(), tuple(FREQUENCY_UNITS))
    check.one_of("write_touchstone", "number_format", number_format.upper(), FORMATS)
    check.count("write_touchstone", "digits", digits, 9, 17)
    name = str(path)
    if ports_of_name(name) not in ((n,) if version == 1 else (n, None)):
        raise check.fail("write_touchstone", "path", f"a name ending in .s{n}p", name)
    if version == 1 and len(set(references)) > 1:
        raise check.fail("write_touchstone", "reference", "one value in a version 1 file", references, "write version=2")
    lines = [f"! {line}" for text in comments for line in text.splitlines()]
    lines += [f"! Port[{i}] = {port}" for i, port in enumerate(port_names, 1)]
    option = f"# {UNIT_NAMES[unit.lower()]} S {number_format.upper()} R {references[0]:.{digits}g}"
    if version == 1:
        lines.append(option)
    else:
        lines += ["[Version] 2.0", option, f"[Number of Ports] {n}"]
        lines += ["[Two-Port Data Order] 21_12"] if n == 2 else []
        lines += [f"[Number of Frequencies] {data.frequency.size}"]
        lines += ["[Reference] " + " ".join(f"{r:.{digits}g}" for r in references), "[Network Data]"]
    lines += _data_lines(data, FREQUENCY_UNITS[unit.lower()], number_format.upper(), digits)
    lines += ["[End]"] if version == 2 else []
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _data_lines(data: TouchstoneData, unit: float, number_format: str, digits: int) -> Sequence[str]:
    n = data.n_ports
    m = (data.s.swapaxes(0, 1) if n == 2 else data.s).reshape(n * n, -1)
    if number_format == "RI":
        first, second = m.real, m.imag
    else:
        first, second = np.abs(m), np.rad2deg(np.angle(m))
        if number_format == "DB":
            first = 20 * np.log10(np.maximum(first, 10 ** (NO_SIGNAL_DB / 20)))
    columns = np.empty((data.frequency.size, 1 + 2 * n * n))
    columns[:, 0] = data.frequency / unit
    columns[:, 1::2], columns[:, 2::2] = first.T, second.T
    pair = f"%.{digits}g %.{digits}g"
    width = 4 if n > 2 else n * n
    matrix_rows = 1 if n <= 2 else n
    per_row = n * n // matrix_rows
    chunks = ["\n ".join(" ".join([pair] * min(width, per_row - k)) for k in range(0, per_row, width))] * matrix_rows
    template = "%.17g " + "\n ".join(chunks)
    return [template % tuple(row) for row in columns.tolist()]
