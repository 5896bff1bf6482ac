"""A two-port out of a Touchstone file: described by content hash and port map, opened with a report of what was found."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar, final

import numpy as np

from channels import conditioning, network, port_map
from channels.conditioning import Conditioned, Conditioning
from channels.port_map import PortMap
from channels.touchstone import parse_touchstone, read_bytes
from channels.touchstone_data import Finding, TouchstoneData, TouchstoneError
from dsp import check, units

MAX_FILES, MAX_BYTES = 8, 256 * 2**20
NYQUIST_MARGIN = 1.25
RECORD_MARGIN = 1.5
PHASE_STEP = np.pi / 4
RELEVANT = 0.01  # points with |S21| below this part of its maximum do not count in the phase step


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """What a file holds and how it was taken. Frequencies [Hz], times [s], references [ohm]. None: unknown.

    ``phase_step`` and ``rest_step`` [rad]: largest phase change of S21 between points, as it is and with ``delay`` removed.
    ``delay`` is the bulk (energy) delay, ``leading_edge`` the onset of the step response.
    """

    path: str
    sha256: str
    n_ports: int
    n_points: int
    f_min: float
    f_max: float
    f_step: float | None
    uniform: bool
    has_dc: bool
    dc_method: str
    s21_dc: complex
    reference: tuple[float, ...]
    port_map: PortMap
    map_evidence: str
    delay: float | None
    leading_edge: float | None
    phase_step: float
    rest_step: float
    max_singular_value: float
    max_singular_frequency: float
    n_not_passive: int
    findings: tuple[Finding, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the findings."""
        return tuple(f.code for f in self.findings)

    @property
    def text(self) -> str:
        """The report for people, one thing a line."""
        m = self.port_map
        grid = "one point" if self.n_points == 1 else f"step {self.f_step:g} Hz" if self.uniform else "non-uniform"
        lines = [
            f"{self.path}: {self.n_ports} ports, {self.n_points} points from {self.f_min:g} to {self.f_max:g} Hz, {grid}",
            f"references {', '.join(f'{z:g}' for z in self.reference)} ohm; S(0) {self.dc_method}",
            f"in {m.inputs[0]}, out {m.outputs[0]} ({self.map_evidence})",
        ]
        if self.delay is not None and self.leading_edge is not None:
            lines.append(f"delay {self.delay:.4g} s, leading edge {self.leading_edge:.4g} s")
        return "\n".join(lines + [f"{f.severity}: {f.message} [{f.code}]" for f in self.findings])


@final
@dataclass(frozen=True, kw_only=True)
class FileNetwork(network.MultiPort):
    """A two-port, differential or single-ended, out of a Touchstone file. Make one with `FileNetwork.open`.

    Equal by content hash, port map and conditioning; where the file lies does not count. The file is read when the response is
    first asked for; TouchstoneError if its content is no longer that of ``sha256``.
    """

    path: str = field(compare=False)
    sha256: str
    port_map: PortMap
    conditioning: Conditioning = field(default_factory=Conditioning)

    def __post_init__(self) -> None:
        check.instance(self, "path", self.path, str)
        check.instance(self, "sha256", self.sha256, str)
        if len(self.sha256) != 64 or not set(self.sha256) <= set("0123456789abcdef"):
            raise check.fail(self, "sha256", "64 hexadecimal digits", self.sha256, "use FileNetwork.open(path)")
        check.instance(self, "port_map", self.port_map, PortMap)
        if self.port_map.n_lanes != 1:
            raise check.fail(self, "port_map", "a map of one lane", self.port_map, "choose one with port_map.lane(...)")
        check.instance(self, "conditioning", self.conditioning, Conditioning)

    @classmethod
    def open(cls, path: str | Path, port_map: PortMap | None = None, conditioning: Conditioning | None = None) -> FileNetwork:
        """Read and check the file; without ``port_map`` take the one its data propose.

        Raises TouchstoneError for a file that cannot be read, has no differential path, or whose map must be stated.
        """
        content = read_bytes(path)
        sha256 = hashlib.sha256(content).hexdigest()
        data = _FILES.get(sha256)
        if data is None:
            data = _FILES.put(sha256, parse_touchstone(content, str(path)))
        if port_map is None:
            proposal = propose(data, str(path))
            port_map = proposal.port_map
            if port_map is None:
                raise TouchstoneError(str(path), None, proposal.evidence, "state port_map")
            if port_map.n_lanes > 1:
                remedy = f"state one, e.g. port_map.lane(0) of {port_map}"
                raise TouchstoneError(str(path), None, f"holds {port_map.n_lanes} lanes ({proposal.evidence})", remedy)
        opened = cls(path=str(path), sha256=sha256, port_map=port_map, conditioning=conditioning or Conditioning())
        opened.report  # noqa: B018  a map that does not fit is refused here and not at the first use
        return opened

    @property
    def n_ports(self) -> int:
        """Number of ports: 2."""
        return 2

    @property
    def data(self) -> TouchstoneData:
        """The whole file as numbers, all ports. TouchstoneError if it changed since it was opened."""
        data = _FILES.get(self.sha256)
        if data is not None:
            return data
        content = read_bytes(self.path)
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            cause = f"has changed: its SHA-256 is {found[:12]}..., not {self.sha256[:12]}..."
            raise TouchstoneError(self.path, None, cause, "open it again with FileNetwork.open")
        return _FILES.put(self.sha256, parse_touchstone(content, self.path))

    @property
    def report(self) -> ImportReport:
        """What the file holds and how it is taken."""
        known = _REPORTS.get(self)
        if known is None:
            known = _REPORTS.put(self, _report(self))
        return known if known.path == self.path else replace(known, path=self.path)

    @property
    def conditioned(self) -> Conditioned:
        """The conditioned two-port on the references of the file. TouchstoneError for a file of one point."""
        known = _CONDITIONED.get(self)
        if known is not None:
            return known
        data = self.data
        if data.frequency.size < 2:
            cause = f"holds one frequency ({data.frequency[0]:g} Hz); a response needs at least a grid from near DC"
            raise TouchstoneError(self.path, None, cause, "export a sweep")
        s, z = _two_port(self, data)
        try:
            return _CONDITIONED.put(self, conditioning.condition(data.frequency, s, (z[0], z[1]), self.conditioning))
        except ValueError as reason:
            raise TouchstoneError(self.path, None, str(reason)) from reason

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        s = self.conditioned.response(f)
        _, z = _two_port(self, self.data)
        if z == (z0, z0):
            return s
        # beyond the data there is nothing, whatever the reference
        return np.where(f <= self.conditioned.f_max, network.renormalise(s, z, z0), 0)


def propose(data: TouchstoneData, path: str) -> port_map.Proposal:
    """`port_map.propose`, with the file named where there is no lane at all."""
    if data.n_ports != 2 and data.n_ports % 4:
        cause = f"holds {data.n_ports} ports: no differential path and no two-port"
        raise TouchstoneError(path, None, cause, "state port_map, or export a 2-, 4- or 8-port file")
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


def _two_port(net: FileNetwork, data: TouchstoneData) -> tuple[np.ndarray, tuple[float, ...]]:
    try:
        return port_map.apply(data, net.port_map)
    except ValueError as reason:
        raise TouchstoneError(net.path, None, str(reason)) from reason


def _report(net: FileNetwork) -> ImportReport:
    data = net.data
    f, n = data.frequency, data.frequency.size
    s, _ = _two_port(net, data)
    proposal = port_map.propose(data)
    findings = list(data.findings)
    if not net.port_map.differential:
        findings.append(Finding("single-ended", "a single-ended path, taken as it is: not a differential pair"))
    own = proposal.port_map == net.port_map
    if own and proposal.confidence == "ambiguous":
        findings.append(Finding("map-ambiguous", f"the port map is a guess: {proposal.evidence}"))
    findings += port_map.check_map(data, net.port_map)
    largest, where, beyond, not_passive = conditioning.passivity_findings(f, data.s)
    findings += not_passive
    delay = edge = None
    dc_method, s21_dc, phase_step, rest_step = "unknown", complex(s[1, 0, 0]), 0.0, 0.0
    uniform = conditioning.is_uniform(f)
    if n == 1:
        findings.append(Finding("single-point", f"one frequency, {f[0]:g} Hz: no time response can be had from it"))
    else:
        conditioned = net.conditioned
        delay, edge, dc_method = conditioned.delay, conditioned.leading_edge(), conditioned.dc_method
        findings += conditioned.findings
        s21_dc = complex(conditioned.response(np.zeros(1))[1, 0, 0])
        findings += _time_findings(conditioned, edge, s[1, 0])
        phase_step, rest_step = _phase_steps(f, s[1, 0], delay)
        findings += _step_findings(f, delay, phase_step, rest_step)
    return ImportReport(
        path=net.path,
        sha256=net.sha256,
        n_ports=data.n_ports,
        n_points=n,
        f_min=float(f[0]),
        f_max=float(f[-1]),
        f_step=float((f[-1] - f[0]) / (n - 1)) if uniform else None,
        uniform=uniform,
        has_dc=bool(f[0] == 0),
        dc_method=dc_method,
        s21_dc=s21_dc,
        reference=data.reference,
        port_map=net.port_map,
        map_evidence=proposal.evidence if own else "as stated",
        delay=delay,
        leading_edge=edge,
        phase_step=phase_step,
        rest_step=rest_step,
        max_singular_value=largest,
        max_singular_frequency=where,
        n_not_passive=beyond,
        findings=tuple(findings),
    )


def _time_findings(conditioned: Conditioned, edge: float, transfer: np.ndarray) -> list[Finding]:
    if not np.any(transfer):
        return [Finding("no-signal", "S21 is 0 at every frequency")]
    early = conditioned.early_energy()
    if edge < -1 / conditioned.f_max:
        text = f"negative delay: the step response begins {-edge:.3g} s before time zero, {early:.1%} of the energy is early"
        return [Finding("negative-delay", text + " (not causal; over-de-embedded?)")]
    if early > conditioning.EARLY_ENERGY:
        return [Finding("not-causal", f"not causal: {early:.1%} of the energy of S21 comes before time zero")]
    return []


def _phase_steps(f: np.ndarray, transfer: np.ndarray, delay: float) -> tuple[float, float]:
    product = transfer[1:] * transfer[:-1].conj()
    strong = np.abs(transfer) >= RELEVANT * np.max(np.abs(transfer))
    product = product[strong[1:] & strong[:-1]]
    if not product.size:
        return 0.0, 0.0
    steps = np.diff(f)[strong[1:] & strong[:-1]]
    rest = np.abs(np.angle(product * np.exp(2j * np.pi * steps * delay)))
    return float(np.percentile(np.abs(np.angle(product)), 95)), float(np.percentile(rest, 95))


def _step_findings(f: np.ndarray, delay: float, phase_step: float, rest_step: float) -> list[Finding]:
    """A uniform step must leave room for the delay and its tail; a phase that turns fast between points hides what is there."""
    found, step = [], float(np.median(np.diff(f)))
    if conditioning.is_uniform(f) and 1 / step < RECORD_MARGIN * abs(delay):
        text = f"step {step:g} Hz: the record of {1 / step:.3g} s is shorter than 1.5 times the delay of {delay:.3g} s"
        found.append(Finding("coarse-step", text + ", the tail wraps"))
    if rest_step > PHASE_STEP:
        text = f"the phase of S21 turns by {rest_step:.2g} rad between points with the delay removed: interpolation is a guess"
        found.append(Finding("coarse-phase", text))
    elif phase_step > PHASE_STEP:
        text = f"the phase of S21 turns by {phase_step:.2g} rad between points: the delay is right only if it did not wrap"
        found.append(Finding("phase-step", text, "info"))
    return found


K = TypeVar("K")
V = TypeVar("V")


class _Kept(Generic[K, V]):
    """The values used last, as many as fit in ``n`` and in ``n_bytes``; safe between threads."""

    def __init__(self, n: int, n_bytes: float = np.inf, size: Callable[[V], int] = lambda _: 0) -> None:
        self.n, self.n_bytes, self.size, self.lock = n, n_bytes, size, threading.Lock()
        self.values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        with self.lock:
            if key in self.values:
                self.values.move_to_end(key)
            return self.values.get(key)

    def put(self, key: K, value: V) -> V:
        with self.lock:
            self.values[key] = value
            while len(self.values) > self.n or sum(map(self.size, self.values.values())) > self.n_bytes:
                self.values.popitem(last=False)
        return value


_FILES: _Kept[str, TouchstoneData] = _Kept(MAX_FILES, MAX_BYTES, lambda data: data.s.nbytes)
_CONDITIONED: _Kept[FileNetwork, Conditioned] = _Kept(2 * MAX_FILES)
_REPORTS: _Kept[FileNetwork, ImportReport] = _Kept(256)
