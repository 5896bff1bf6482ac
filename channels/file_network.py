"""Networks out of Touchstone files: described by content hash and port map, opened with a report of what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeVar, final

import numpy as np

from channels import conditioning, file_data, import_report, network, port_map
from channels.cache import Cache
from channels.conditioning import Conditioned, Conditioning
from channels.import_report import ImportReport
from channels.port_map import PortMap
from channels.time_domain import NYQUIST_MARGIN
from channels.touchstone_data import Finding, TouchstoneData, TouchstoneError
from dsp import check, units

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class _OfFile(network.MultiPort):
    """A network whose numbers lie in a file."""

    path: str = field(compare=False)
    sha256: str
    port_map: PortMap
    conditioning: Conditioning = field(default_factory=Conditioning)

    def __post_init__(self) -> None:
        check.instance(self, "path", self.path, str)
        file_data.check_sha256(self, self.sha256)
        check.instance(self, "port_map", self.port_map, PortMap)
        check.instance(self, "conditioning", self.conditioning, Conditioning)

    @property
    def data(self) -> TouchstoneData:
        """The whole file as numbers, all ports. TouchstoneError if it changed since it was opened."""
        return file_data.recall(self.path, self.sha256)


@final
@dataclass(frozen=True, kw_only=True)
class FileNetwork(_OfFile):
    """A two-port, differential or single-ended, out of a Touchstone file. Make one with `FileNetwork.open`.

    Equal by content hash, port map and conditioning; where the file lies does not count. The file is read when the response is
    first asked for; TouchstoneError if its content is no longer that of ``sha256``. The common mode of a pair is terminated in
    the reference of the file, whatever ``z0`` the differential mode gets: for another one take `FilePorts`.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.port_map.n_lanes != 1:
            raise check.fail(self, "port_map", "a map of one lane", self.port_map, "choose one with port_map.lane(...)")

    @classmethod
    def open(cls, path: str | Path, port_map: PortMap | None = None, conditioning: Conditioning | None = None) -> FileNetwork:
        """Read and check the file; without ``port_map`` take the one its data propose.

        Raises TouchstoneError for a file that cannot be read, has no differential path, or whose map must be stated.
        """
        sha256, data = file_data.load(path)
        if port_map is None:
            port_map = proposed_map(data, path)
            if port_map.n_lanes > 1:
                remedy = f"state one, e.g. port_map.lane(0) of {port_map}"
                raise TouchstoneError(str(path), data.ports_line, f"holds {port_map.n_lanes} lanes", remedy)
        opened = cls(path=str(path), sha256=sha256, port_map=port_map, conditioning=conditioning or Conditioning())
        opened.report  # noqa: B018  a map that does not fit is refused here and not at the first use
        return opened

    @property
    def n_ports(self) -> int:
        """Number of ports: 2."""
        return 2

    @property
    def reference(self) -> float:
        """Reference of the data at the input [ohm]: differential for a pair. The natural ``z0`` to look at them."""
        return port_map.references(self.data, self.port_map)[0]

    @property
    def two_port(self) -> tuple[np.ndarray, tuple[float, ...]]:
        """S (2, 2, n_f) at the points of the file, unconditioned, and its references [ohm]."""
        return _named(self.path, self.data, lambda: port_map.apply(self.data, self.port_map))

    @property
    def report(self) -> ImportReport:
        """What the file holds and how it is taken."""
        known = _REPORTS.get(self)
        if known is None:
            conditioned = self.conditioned if self.data.frequency.size > 1 else None
            built = import_report.build(self.path, self.sha256, self.data, self.port_map, self.two_port[0], conditioned)
            known = _REPORTS.put(self, built)
        return known if known.path == self.path else replace(known, path=self.path)

    @property
    def conditioned(self) -> Conditioned:
        """The conditioned two-port on the references of the file. TouchstoneError for a file of one point."""
        known = _CONDITIONED.get(self)
        if known is None:
            known = _CONDITIONED.put(self, _condition(self.path, self.data, *self.two_port, self.conditioning, ((1, 0),)))
        return known

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        return _renormalised(self.conditioned, f, port_map.references(self.data, self.port_map), z0)


@final
@dataclass(frozen=True, kw_only=True)
class FilePorts(_OfFile):
    """All ends of a port map as single-ended ports, to cascade with mode conversion. Make one with `FilePorts.open`.

    Ports: the inputs lane by lane, + before -, then the outputs in the same order: that of `channels.pair`, so that files and
    `TwinaxPair` chain with ``@``, and `pair.Differential` takes the differential view of the whole. Equal like `FileNetwork`.
    """

    @classmethod
    def open(cls, path: str | Path, port_map: PortMap | None = None, conditioning: Conditioning | None = None) -> FilePorts:
        """Read the file; without ``port_map`` take the one its data propose, all lanes of it. Raises TouchstoneError."""
        sha256, data = file_data.load(path)
        chosen = proposed_map(data, path) if port_map is None else port_map
        opened = cls(path=str(path), sha256=sha256, port_map=chosen, conditioning=conditioning or Conditioning())
        opened.conditioned  # noqa: B018  a map that does not fit is refused here and not at the first use
        return opened

    @property
    def n_ports(self) -> int:
        """Number of ports: 4 a differential lane, 2 a single-ended one."""
        return len(self.port_map.ports)

    def lane(self, victim: int = 0) -> FileNetwork:
        """One lane of the same file as a two-port, with its report."""
        return FileNetwork(
            path=self.path, sha256=self.sha256, port_map=self.port_map.lane(victim), conditioning=self.conditioning
        )

    @property
    def conditioned(self) -> Conditioned:
        """The conditioned ports on the references of the file. TouchstoneError for a file of one point."""
        known = _CONDITIONED.get(self)
        if known is None:
            s, z = _named(self.path, self.data, lambda: port_map.ends(self.data, self.port_map))
            half, choices = self.n_ports // 2, self.conditioning
            if self.port_map.differential:  # the loop resistance is that of both wires
                choices = replace(choices, dc_resistance=choices.dc_resistance / 2)
            paths = tuple((half + k, k) for k in range(half))
            known = _CONDITIONED.put(self, _condition(self.path, self.data, s, z, choices, paths))
        return known

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        z = tuple(self.data.reference[p - 1] for p in self.port_map.ports)
        return _renormalised(self.conditioned, f, z, z0)


class Batch(NamedTuple):
    """Files opened together: those that could be, and (path, why) of those that could not."""

    networks: tuple[FileNetwork, ...]
    failures: tuple[tuple[str, str], ...]


def open_all(paths: Iterable[str | Path], port_map: PortMap | None = None, conditioning: Conditioning | None = None) -> Batch:
    """Open each file; one that fails is named with its cause and the rest are kept. A file of several lanes gives each of them.

    A file in which no through path shows (crosstalk) takes the map of the through files in the same folder with as many ports,
    if they have one.
    """
    opened: dict[int, list[FileNetwork]] = {}
    failed: dict[int, tuple[Path, str]] = {}
    files = [Path(p) for p in paths]

    def attempt(i: int, m: PortMap | None) -> None:
        try:
            chosen = proposed_map(file_data.load(files[i])[1], files[i]) if m is None else m
            opened[i] = [FileNetwork.open(files[i], chosen.lane(k), conditioning) for k in range(chosen.n_lanes)]
            failed.pop(i, None)
        except ValueError as reason:
            failed[i] = (files[i], str(reason))

    for i in range(len(files)):
        attempt(i, port_map)
    through = [n for lanes in opened.values() for n in lanes if len(lanes) == 1 and n.report.is_through]
    for i in list(failed) if port_map is None else ():
        try:
            ports = file_data.load(files[i])[1].n_ports
        except TouchstoneError:
            continue
        beside = (n for n in through if Path(n.path).parent == files[i].parent and n.report.n_ports == ports)
        maps = {n.port_map for n in beside}
        if len(maps) == 1:
            attempt(i, maps.pop())
    return Batch(
        tuple(n for i in sorted(opened) for n in opened[i]),
        tuple((str(failed[i][0]), failed[i][1]) for i in sorted(failed)),
    )


def propose(data: TouchstoneData, path: str) -> port_map.Proposal:
    """`port_map.propose`, with the file named where there is no lane at all."""
    if data.n_ports != 2 and data.n_ports % 4:
        if data.n_ports == 1:
            raise TouchstoneError(path, data.ports_line, "holds one port: a reflection, no path", "export a 2- or 4-port file")
        cause = f"holds {data.n_ports} ports: no differential path and no two-port"
        raise TouchstoneError(path, data.ports_line, cause, "state port_map, or export a 2-, 4- or 8-port file")
    return port_map.propose(data)


def check_rate(report: ImportReport | FileNetwork, symbol_rate: float) -> tuple[Finding, ...]:
    """All findings on a file that is to carry ``symbol_rate`` [Bd]: those of its report and those that depend on the rate."""
    report = report.report if isinstance(report, FileNetwork) else report
    check.symbol_rate("check_rate", "symbol_rate", symbol_rate)
    nyquist, found = symbol_rate / 2, list(report.findings)
    ghz = units.GHz
    both = f"data end at {report.f_max / ghz:.6g} GHz, the Nyquist frequency of {symbol_rate / ghz:.6g} GBd"
    both += f" is {nyquist / ghz:.6g} GHz"
    if report.f_max < nyquist:
        found.append(Finding("below-nyquist", f"{both}: the pulse is wrong in height and shape"))
    elif report.f_max < NYQUIST_MARGIN * nyquist:
        found.append(
            Finding("near-nyquist", f"{both}: less than {NYQUIST_MARGIN:g} of it, the pulse may be a few per cent off")
        )
    return tuple(found)


def refuse_silent(network: FileNetwork) -> None:
    """Raises TouchstoneError, with what the data show, for a path that is to carry the signal and does not."""
    for finding in network.report.findings:
        if finding.code in ("through-open", "no-signal"):
            cause = finding.message.removesuffix(": is the port order wrong?")
            raise TouchstoneError(
                network.path, network.data.ports_line, cause, "state another port order, or let the data say it"
            )


def proposed_map(data: TouchstoneData, path: str | Path) -> PortMap:
    """The map that `propose` finds; TouchstoneError, with the file and the evidence, where it finds none."""
    proposal = propose(data, str(path))
    if proposal.port_map is None:
        raise TouchstoneError(str(path), data.ports_line, proposal.evidence, "state port_map")
    return proposal.port_map


def _named(path: str, data: TouchstoneData, work: Callable[[], T]) -> T:
    """The result of ``work`` on ``data``, whose ValueError becomes one that names the file and where its ports show."""
    try:
        return work()
    except TouchstoneError:
        raise
    except ValueError as reason:
        raise TouchstoneError(path, data.ports_line, str(reason)) from reason


def _condition(
    path: str, data: TouchstoneData, s: np.ndarray, z: tuple[float, ...], choices: Conditioning, paths: conditioning.Paths
) -> Conditioned:
    if data.frequency.size < 2:
        cause = f"holds one frequency ({data.frequency[0]:g} Hz); a response needs at least a grid from near DC"
        raise TouchstoneError(path, data.ports_line, cause, "export a sweep")
    return _named(path, data, lambda: conditioning.condition(data.frequency, s, z, choices, paths))


def _renormalised(conditioned: Conditioned, f: np.ndarray, z: tuple[float, ...], z0: float) -> np.ndarray:
    s = conditioned.response(f)
    if set(z) == {z0}:
        return s
    # beyond the data there is nothing, whatever the reference
    return np.where(f <= conditioned.f_max, network.renormalise(s, z, z0), 0)


_CONDITIONED: Cache[Conditioned] = Cache(2 * file_data.MAX_FILES)
_REPORTS: Cache[ImportReport] = Cache(256)
