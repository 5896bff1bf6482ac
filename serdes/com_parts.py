"""Pieces of a COM parameter set: kinds of line, the ends of a path, test cases."""

from __future__ import annotations

from dataclasses import dataclass

from channels.copper import StandardLine
from dsp import check


@dataclass(frozen=True, kw_only=True)
class Line:
    """A kind of line of (93A-9): coefficients, and the impedance of each section in order. All SI, differential ohm."""

    name: str
    Z_c: tuple[float, ...]
    gamma0: float = 0.0
    a1: float
    a2: float
    tau: float

    def __post_init__(self) -> None:
        check.instance(self, "name", self.name, str)
        check.numbers(self, "Z_c", self.Z_c, 1)
        self.sections((0.0,) * len(self.Z_c))

    def sections(self, lengths: tuple[float, ...]) -> tuple[StandardLine, ...]:
        """The sections at ``lengths`` [m]; those of no length fall away."""
        check.same_length(f"line {self.name}", ("z_p", lengths), ("Z_c", self.Z_c))
        made = tuple(
            StandardLine(length=z, impedance=zc, gamma0=self.gamma0, a1=self.a1, a2=self.a2, tau=self.tau)
            for z, zc in zip(lengths, self.Z_c, strict=True)
        )
        return tuple(line for line in made if line.length > 0)


@dataclass(frozen=True, kw_only=True)
class End:
    """One end of a test case: its ``package`` line, the lengths ``z_p`` [m], and the length ``z_bp`` [m] of its host board."""

    package: str
    z_p: tuple[float, ...]
    z_bp: float = 0.0

    def __post_init__(self) -> None:
        check.instance(self, "package", self.package, str)
        check.numbers(self, "z_p", self.z_p)
        for i, length in enumerate(self.z_p):
            check.between(self, f"z_p[{i}]", length, 0, 1, "m", "was mm meant?")
        check.between(self, "z_bp", self.z_bp, 0, 2, "m", "was mm meant?")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A package test case: the transmitter, the receiver, and the transmitters of far-end and near-end aggressors."""

    name: str
    tx: End
    rx: End
    fext: End
    next: End

    def __post_init__(self) -> None:
        check.instance(self, "name", self.name, str)
        for field in ("tx", "rx", "fext", "next"):
            check.instance(self, field, getattr(self, field), End)
