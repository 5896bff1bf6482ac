"""The wires and fibres behind the interconnects of a cluster, each a value that knows how to find its own reach."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from channels.catalog import INTERPOSERS
from dsp import check
from dsp.units import fF
from experiments.coherent_lines import specified_reach
from experiments.optical_lanes import SYMBOL_RATES
from experiments.optical_reach import MARGIN_DB, optical_reach
from experiments.simulated_reach import CABLES, HARD_HOSTS, copper_reach, interposer_eye, interposer_reach
from serdes.coherent_standards import NAMES
from serdes.modules import ARCHITECTURES


@dataclass(frozen=True, kw_only=True)
class Reach:
    """``length`` [m], what ends it, and how: ``basis``. ``loss_db``: of a wire at Nyquist there, None for light."""

    length: float
    binding: str
    basis: str
    loss_db: float | None = None


class Line(ABC):
    """Something whose reach a simulation gives."""

    @abstractmethod
    def reach(self) -> Reach:
        """How far it goes and why no further."""


@final
@dataclass(frozen=True, kw_only=True)
class CopperLine(Line):
    """A lane of ``rate`` on a ``cable`` "passive", "ACC" or "AEC"; ``hosts``: classes, where the rate has them."""

    rate: str
    cable: str = "passive"
    hosts: tuple[str, str] = HARD_HOSTS

    def __post_init__(self) -> None:
        check.instance(self, "rate", self.rate, str)
        check.one_of(self, "cable", self.cable, CABLES)
        check.instance(self, "hosts", self.hosts, tuple)

    def reach(self) -> Reach:
        """By the link simulator with 3 dB of SNR to spare."""
        found = copper_reach(self.rate, self.cable, self.hosts)
        return Reach(length=found.length, binding=found.binding, basis=found.basis, loss_db=found.loss_db)


@final
@dataclass(frozen=True, kw_only=True)
class InterposerLine(Line):
    """Two-level data of ``symbol_rate`` [Bd] on a ``wire`` of the catalogue with ``pads`` (sender, receiver) [F]."""

    symbol_rate: float
    wire: str
    pads: tuple[float, float] = (250 * fF, 300 * fF)

    def __post_init__(self) -> None:
        check.symbol_rate(self, "symbol_rate", self.symbol_rate)
        check.one_of(self, "wire", self.wire, tuple(INTERPOSERS))
        check.numbers(self, "pads", self.pads, 2)
        if len(self.pads) != 2:
            raise check.fail(self, "pads", "two capacitances", self.pads)

    def eye(self, length: float, with_crosstalk: bool = True) -> float:
        """Worst eye of the middle of three wires of ``length`` [m], a fraction of the swing; below 0 it is closed."""
        return interposer_eye(self.symbol_rate, length, self.wire, pads=self.pads, with_crosstalk=with_crosstalk)

    def reach(self) -> Reach:
        """By the worst eye; what closes more of it there, the wire itself or its neighbours, ends it."""
        length = interposer_reach(self.symbol_rate, self.wire, pads=self.pads)
        alone = self.eye(max(length, 1e-6), with_crosstalk=False)
        coupled = alone - self.eye(max(length, 1e-6))
        return Reach(
            length=length, binding="ISI" if 1 - alone >= coupled else "crosstalk", basis="simulated, wires are estimates"
        )


@final
@dataclass(frozen=True, kw_only=True)
class OpticalLine(Line):
    """A PAM4 lane of ``rate`` by light between modules of ``architecture`` with ``host_loss_db`` on either side."""

    rate: str
    architecture: str = "retimed"
    host_loss_db: float = 16.0

    def __post_init__(self) -> None:
        check.one_of(self, "rate", self.rate, SYMBOL_RATES)
        check.one_of(self, "architecture", self.architecture, ARCHITECTURES)
        check.between(self, "host_loss_db", self.host_loss_db, 0, 60, "dB")

    def reach(self) -> Reach:
        """By the module's whole path, host to host, with 1.5 dB of light to spare."""
        found = optical_reach(self.rate, self.architecture, self.host_loss_db, MARGIN_DB)
        return Reach(length=found.length, binding=found.binding, basis=found.basis)


@final
@dataclass(frozen=True, kw_only=True)
class CoherentLine(Line):
    """One amplified span between coherent modules of a preset."""

    module: str

    def __post_init__(self) -> None:
        check.one_of(self, "module", self.module, NAMES)

    def reach(self) -> Reach:
        """By the linear face of the link with what the specification keeps for implementation, age and path."""
        length, cause = specified_reach(self.module)
        return Reach(length=length, binding=cause, basis="simulated")
