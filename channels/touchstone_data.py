"""What a Touchstone file holds once it is numbers, what there is to say about it, and the error of one that cannot be used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dsp import check

SEVERITIES = ("info", "warning")
NOISE_COLUMNS = 5


class TouchstoneError(ValueError):
    """A file that cannot be used: says ``file``, ``line`` (None where there is none), ``cause`` and ``remedy``."""

    def __init__(self, file: str, line: int | None, cause: str, remedy: str = "") -> None:
        self.file, self.line, self.cause, self.remedy = file, line, cause, remedy
        where = file if line is None else f"{file}, line {line}"
        super().__init__(f"{where}: {cause}" + (f"; {remedy}" if remedy else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return TouchstoneError, (self.file, self.line, self.cause, self.remedy)


@dataclass(frozen=True)
class Finding:
    """Something the user is to know about data that was accepted: ``code`` for programs, ``message`` for people."""

    code: str
    message: str
    severity: str = "warning"

    def __post_init__(self) -> None:
        check.instance(self, "code", self.code, str)
        check.instance(self, "message", self.message, str)
        check.one_of(self, "severity", self.severity, SEVERITIES)


@dataclass(frozen=True, kw_only=True, eq=False)
class TouchstoneData:
    """The content of one file: S-parameters on the reference of each port.

    ``frequency`` (n_f,) ascending [Hz]; ``s`` (n, n, n_f), s[out, in, f]; ``reference`` one real value per port [ohm];
    ``noise`` (rows, 5): f [Hz], minimum noise figure [dB], |Gamma_opt|, its angle [deg], noise resistance as printed.
    ``ports_line``: line of the file that states or first shows its ports, None for data from elsewhere. The arrays are
    read-only copies.
    """

    frequency: np.ndarray
    s: np.ndarray
    reference: tuple[float, ...]
    name: str = "data"
    noise: np.ndarray = field(default_factory=lambda: np.empty((0, NOISE_COLUMNS)))
    comments: tuple[str, ...] = ()
    port_names: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    ports_line: int | None = None

    def __post_init__(self) -> None:
        for key, kind in (("frequency", float), ("s", complex), ("noise", float)):
            object.__setattr__(self, key, check.array(self, key, getattr(self, key), kind))
        f, s, n = self.frequency, self.s, len(self.reference)
        if f.ndim != 1 or not f.size or f[0] < 0 or np.any(np.diff(f) <= 0):
            raise check.fail(self, "frequency", "1-D, not empty, 0 or more and ascending [Hz]", f)
        if s.shape != (n, n, f.size) or not n:
            raise check.fail(self, "s", f"of shape (ports, ports, frequencies) = ({n}, {n}, {f.size})", s.shape)
        if self.noise.ndim != 2 or self.noise.shape[1] != NOISE_COLUMNS:
            raise check.fail(self, "noise", f"of shape (rows, {NOISE_COLUMNS})", self.noise.shape)
        check.numbers(self, "reference", self.reference)
        for i, value in enumerate(self.reference):
            check.positive(self, f"reference[{i}]", value, "ohm")
        check.instance(self, "name", self.name, str)
        check.instance(self, "comments", self.comments, tuple)
        check.instance(self, "findings", self.findings, tuple)
        if self.ports_line is not None:
            check.count(self, "ports_line", self.ports_line, 1)
        if self.port_names and len(self.port_names) != n:
            raise check.fail(self, "port_names", f"empty or one name per port ({n})", self.port_names)

    @property
    def n_ports(self) -> int:
        """Number of ports."""
        return len(self.reference)

    @property
    def nbytes(self) -> int:
        """Memory of the matrices [bytes]."""
        return self.s.nbytes
