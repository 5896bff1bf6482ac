"""What a file holds and how it was taken: the report of a two-port out of a Touchstone file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from channels import conditioning, port_map, quality
from channels.cache import Cache
from channels.conditioning import Conditioned
from channels.port_map import PortMap
from channels.quality import DcBlock, NoiseFloor, PhaseResidual
from channels.touchstone_data import Finding, TouchstoneData
from dsp import units

RECORD_MARGIN = 1.5
TAIL = 4 * units.ns  # how long a channel goes on after its delay
PHASE_STEP = np.pi / 4
_PASSIVITY: Cache[tuple[float, float, int, tuple[Finding, ...]]] = Cache()
RELEVANT = 0.01  # points with |S21| below this part of its maximum do not count in the phase step


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """What a file holds and how it was taken. Frequencies [Hz], times [s], references [ohm]. None: unknown.

    ``phase_step`` and ``rest_step`` [rad]: largest phase change of S21 between points, as it is and with ``delay`` removed.
    ``delay`` is the bulk (energy) delay, ``leading_edge`` the onset of the step response, ``early_energy`` the share of the
    energy of S21's impulse response before time zero. ``noise``, ``dc_block`` and ``phase_residual`` are those of
    `channels.quality`; ``steps`` say what `channels.conditioning` did, in order.
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
    early_energy: float | None
    phase_step: float
    rest_step: float
    max_singular_value: float
    max_singular_frequency: float
    n_not_passive: int
    noise: NoiseFloor | None
    dc_block: DcBlock | None
    phase_residual: PhaseResidual
    steps: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the findings."""
        return tuple(f.code for f in self.findings)

    @property
    def is_through(self) -> bool:
        """Whether the path carries a signal: no finding says that it is open or silent."""
        return not {"no-through", "through-open", "no-signal"} & set(self.codes)

    @property
    def text(self) -> str:
        """The report for people, one thing a line."""
        m = self.port_map
        step = "non-uniform" if self.f_step is None else f"step {self.f_step / units.MHz:.6g} MHz"
        band = f"{self.f_min / units.GHz:.6g} to {self.f_max / units.GHz:.6g} GHz"
        lines = [
            f"{self.path}: {self.n_ports} ports, {self.n_points} points from {band}, "
            + ("one point" if self.n_points == 1 else step),
            f"references {', '.join(f'{z:g}' for z in self.reference)} ohm",
            f"in {m.inputs[0]}, out {m.outputs[0]} ({self.map_evidence})",
        ]
        if self.delay is not None and self.leading_edge is not None:
            early = "unknown" if self.early_energy is None else f"{self.early_energy:.2g}"
            times = f"delay {self.delay / units.ns:.4g} ns, leading edge {self.leading_edge / units.ns:.4g} ns"
            lines.append(f"{times}, share of the energy before time zero {early}")
        if self.n_points > 1:
            floor = "unknown" if self.noise is None else f"{units.db(self.noise.floor):.0f} dB"
            value, basis = self.phase_residual
            phase = f"unknown ({basis})" if value is None else f"{value:.2g} rad ({basis})"
            lines.append(f"noise floor {floor}; Kramers-Kronig residual {phase}")
        lines += [f"step {step}" for step in self.steps]
        return "\n".join(lines + [f"{f.severity}: {f.message} [{f.code}]" for f in self.findings])


def build(
    path: str, sha256: str, data: TouchstoneData, m: PortMap, two_port: np.ndarray, conditioned: Conditioned | None
) -> ImportReport:
    """The report on ``two_port`` (2, 2, n_f) out of ``data`` by map ``m``; ``conditioned`` is None for a single point."""
    f, n, s21 = data.frequency, data.frequency.size, two_port[1, 0]
    proposal = port_map.propose(data)
    findings = list(data.findings)
    if not m.differential:
        findings.append(Finding("single-ended", "a single-ended path, taken as it is: not a differential pair"))
    found = proposal.port_map
    own = found is not None and any(m == found.lane(k) for k in range(found.n_lanes))
    if own and proposal.confidence == "ambiguous":
        findings.append(Finding("map-ambiguous", f"the port map is a guess: {proposal.evidence}"))
    findings += port_map.check_map(data, m) + port_map.disagreement(m, proposal)
    key = sha256, conditioned is not None and conditioned.choices.clip_passivity  # the same for every lane of a file
    known = _PASSIVITY.get(key)
    passivity = _PASSIVITY.put(key, conditioning.passivity_findings(f, data.s, key[1])) if known is None else known
    largest, where, beyond, not_passive = passivity
    findings += not_passive
    delay = edge = early = noise = block = None
    residual = PhaseResidual(None, "one point")
    dc_method, s21_dc, phase_step, rest_step = "unknown", complex(s21[0]), 0.0, 0.0
    uniform = conditioning.is_uniform(f)
    if conditioned is None:
        findings.append(Finding("single-point", f"one frequency, {f[0]:g} Hz: no time response can be had from it"))
    else:
        delay, edge, dc_method = conditioned.delay, conditioned.leading_edge(), conditioned.dc_method
        findings += conditioned.findings
        s21_dc = complex(conditioned.response(np.zeros(1))[1, 0, 0])
        early = conditioned.early_energy() if np.any(s21) else None
        findings += _time_findings(conditioned, edge, early, s21)
        phase_step, rest_step = _phase_steps(f, s21, delay)
        findings += _step_findings(f, delay, phase_step, rest_step)
        noise, block = quality.noise_floor(f, s21, delay), quality.dc_block(f, s21, delay)
        if rest_step > PHASE_STEP:
            residual = PhaseResidual(None, "the phase between points is a guess")
        else:
            residual = quality.kramers_kronig(f, s21, delay, noise)
        findings += quality.noise_findings(f, noise)
        findings += quality.block_findings(f, block)
        findings += quality.kramers_kronig_findings(residual)
    return ImportReport(
        path=path,
        sha256=sha256,
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
        port_map=m,
        map_evidence=proposal.evidence if own else "as stated",
        delay=delay,
        leading_edge=edge,
        early_energy=early,
        phase_step=phase_step,
        rest_step=rest_step,
        max_singular_value=largest,
        max_singular_frequency=where,
        n_not_passive=beyond,
        noise=noise,
        dc_block=block,
        phase_residual=residual,
        steps=() if conditioned is None else conditioned.steps,
        findings=tuple(findings),
    )


def _time_findings(conditioned: Conditioned, edge: float, early: float | None, transfer: np.ndarray) -> list[Finding]:
    if early is None:
        return [Finding("no-signal", "S21 is 0 at every frequency")]
    found = []
    if np.max(np.abs(transfer)) > quality.THROUGH and conditioned.response(np.zeros(1))[1, 0, 0].real < -quality.THROUGH:
        found.append(Finding("inverted", "S21 is negative at DC: plus and minus are exchanged at one end"))
    if edge < -1 / conditioned.f_max and early > conditioning.EARLY_ENERGY:
        text = f"negative delay: the step response begins {-edge:.3g} s before time zero, {early:.1%} of the energy is early"
        return [*found, Finding("negative-delay", text + " (not causal; over-de-embedded?)")]
    if early > conditioning.EARLY_ENERGY:
        found.append(Finding("not-causal", f"not causal: {early:.1%} of the energy of S21 comes before time zero"))
    return found


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
    uniform, record = conditioning.is_uniform(f), 1 / step
    if uniform and record < RECORD_MARGIN * abs(delay):
        text = f"step {step:g} Hz: the record of {record:.3g} s is shorter than 1.5 times the delay of {delay:.3g} s"
        found.append(Finding("coarse-step", text + ", the tail wraps"))
    elif uniform and phase_step > PHASE_STEP and record < abs(delay) + TAIL:
        text = f"step {step:g} Hz: the record of {record:.3g} s has no room for a tail; a delay of {delay:.3g} s and any "
        text += f"multiple of {record:.3g} s more would look the same: the pulse may be wrapped"
        found.append(Finding("coarse-step", text))
    elif uniform and record < abs(delay) + TAIL:
        text = f"step {step:g} Hz: whole turns of the phase between points do not show, so a delay of {delay:.3g} s and any "
        text += f"multiple of {record:.3g} s more look the same; right only if the channel is shorter than {record:.3g} s"
        found.append(Finding("delay-ambiguous", text))
    if rest_step > PHASE_STEP:
        text = f"the phase of S21 turns by {rest_step:.2g} rad between points with the delay removed: interpolation is a guess"
        found.append(Finding("coarse-phase", text))
    elif phase_step > PHASE_STEP:
        text = f"the phase of S21 turns by {phase_step:.2g} rad between points: the delay is right only if it did not wrap"
        found.append(Finding("phase-step", text, "info"))
    return found
