"""The paths of a COM channel: networks between packages, to impulse responses on the grid of the standard.

The task force's script works on the frequencies of the file and carries the whole voltage transfer to the FFT grid; so does
this.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from channels.channel import LinearChannel
from channels.copper import CopperChannel
from channels.file_network import FileNetwork, check_rate, refuse_silent
from channels.network import MultiPort
from channels.port_map import PortMap
from channels.touchstone_data import Finding
from dsp import check, filters
from dsp.units import GHz
from serdes.com_parts import Case
from serdes.com_sheet import Sheet

TRUNCATION = 1e-3
"""Impulse responses end after the last sample above this part of their peak. (93A-23, -24) give the pulse response no end; this
is that of the task force's script."""
NOT_PASSIVE = 1.02
"""Largest singular value of S that is still taken for measurement noise."""
SMALLEST = np.finfo(float).eps
LONGEST_DELAY = 0.45
"""Largest delay in steps of 1 / Delta_f: beyond half a turn a step the phase is lost."""
AMPLITUDES = {"thru": "A_v", "fext": "A_fe", "next": "A_ne"}


@dataclass(frozen=True, kw_only=True)
class ComChannel:
    """What is between the packages (or host boards): through path, far-end and near-end aggressors, differential two-ports.

    Models or files, in any order of aggressors. An aggressor may also be a channel from its transmitter's circuit to the
    receiver's, packages included. ``findings``: what was noticed about files on the way in.
    """

    thru: MultiPort
    fext: tuple[MultiPort | LinearChannel, ...] = ()
    next: tuple[MultiPort | LinearChannel, ...] = ()
    name: str = "channel"
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        check.instance(self, "thru", self.thru, MultiPort)
        for field in ("fext", "next"):
            check.instance(self, field, getattr(self, field), tuple)
            for i, part in enumerate(getattr(self, field)):
                check.instance(self, f"{field}[{i}]", part, (MultiPort, LinearChannel))
        for part in (self.thru, *self.fext, *self.next):
            if isinstance(part, MultiPort) and part.n_ports != 2:
                raise check.fail(self, "thru, fext, next", "differential two-ports", f"{part.n_ports} ports")
        check.instance(self, "name", self.name, str)
        check.instance(self, "findings", self.findings, tuple)

    @property
    def paths(self) -> tuple[tuple[str, MultiPort | LinearChannel], ...]:
        """(kind, network) of the through path and every aggressor."""
        return (("thru", self.thru), *(("fext", n) for n in self.fext), *(("next", n) for n in self.next))


def open_channel(
    sheet: Sheet, thru: str | Path, fext: tuple[str | Path, ...] = (), next_: tuple[str | Path, ...] = (),
    port_map: PortMap | None = None,
) -> ComChannel:  # fmt: skip
    """The channel out of Touchstone files. ``port_map``: that of every file, else what the through file proposes.

    Raises ValueError that names the file: missing, unreadable, below the Nyquist frequency, or not passive. Data that end
    below the full band f_b are a finding.
    """
    through = FileNetwork.open(thru, port_map)
    refuse_silent(through)
    files = {"thru": (through,), "fext": (), "next": ()}
    for kind, paths in (("fext", fext), ("next", next_)):
        files[kind] = tuple(FileNetwork.open(path, port_map or through.port_map) for path in paths)
    findings: list[Finding] = []
    for group in files.values():
        for network in group:
            findings += _judge(sheet, network)
    return ComChannel(
        thru=through, fext=files["fext"], next=files["next"], name=Path(thru).stem, findings=tuple(findings)
    )  # fmt: skip


def _judge(sheet: Sheet, network: FileNetwork) -> list[Finding]:
    """What there is to say about a file; raises where COM of it would mean nothing."""
    report, name = network.report, Path(network.path).name
    if report.n_points < 16:
        raise ValueError(f"{name}: {report.n_points} frequencies are too few for COM")
    if report.f_max < sheet.f_b / 2:
        raise ValueError(
            f"{name}: data end at {report.f_max / GHz:g} GHz, below the Nyquist frequency"
            f" {sheet.f_b / 2 / GHz:g} GHz of {sheet.name}"
        )
    if report.max_singular_value > NOT_PASSIVE:
        raise ValueError(
            f"{name}: not passive, singular value {report.max_singular_value:.4g}"
            f" at {report.max_singular_frequency / GHz:g} GHz"
        )
    if report.n_not_passive:
        text = f"{name}: singular value up to {report.max_singular_value:.4g}, taken for measurement noise below {NOT_PASSIVE}"
        small = [Finding("not-passive", text)]
    else:
        small = []
    found = small + [
        Finding(f.code, f"{name}: {f.message}", f.severity)
        for f in check_rate(network, sheet.f_b)
        if f.severity == "warning" and f.code not in ("near-nyquist", "not-passive")
    ]
    if report.f_max < sheet.f_b:
        text = f"{name}: data end at {report.f_max / GHz:g} GHz, below f_b = {sheet.f_b / GHz:g} GHz: the rest is extrapolated"
        found.append(Finding("below-full-band", text))
    if report.f_min > sheet.f_min * (1 + 1e-9):
        found.append(
            Finding("late-start", f"{name}: data begin at {report.f_min / GHz:g} GHz, f_min is {sheet.f_min / GHz:g} GHz")
        )
    if report.f_step is not None and report.f_step > sheet.Delta_f * (1 + 1e-6):
        text = f"{name}: step {report.f_step / GHz:g} GHz, Delta_f is {sheet.Delta_f / GHz:g} GHz"
        found.append(Finding("wide-step", text, "info"))
    return found


def frequencies(sheet: Sheet, network: MultiPort | LinearChannel) -> np.ndarray:
    """Where the network is evaluated [Hz], from 0: the points of its file, else steps of Delta_f to f_b."""
    if isinstance(network, FileNetwork):
        f = network.data.frequency
        return f if f[0] == 0 else np.concatenate([[0.0], f])
    return np.arange(round(sheet.f_b / sheet.Delta_f) + 1) * sheet.Delta_f


def voltage_transfer(sheet: Sheet, case: Case, kind: str, network: MultiPort | LinearChannel) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and H21 (93A-18) from circuit to circuit, packages and boards included."""
    f = frequencies(sheet, network)
    if isinstance(network, LinearChannel):
        return f, network.transfer(f)
    near = sheet.end(case, {"thru": "tx"}.get(kind, kind))
    far = tuple(part.flipped for part in reversed(sheet.end(case, "rx")))
    path = CopperChannel(parts=(*near, network, *far), source_resistance=sheet.R_d[0], load_resistance=sheet.R_d[1])
    if not isinstance(network, FileNetwork):
        _fits(sheet, path)
    return f, path.transfer(f)


def _fits(sheet: Sheet, path: CopperChannel) -> None:
    """A model's delay must turn the phase by less than half a turn a step of Delta_f; a file's report has told already."""
    probe = sheet.f_b / 8 + np.array([0.0, 1e-4 * sheet.Delta_f])
    first, second = path.transfer(probe)
    delay = float(-np.angle(second * np.conj(first)) / (2 * np.pi * (probe[1] - probe[0])))
    if delay * sheet.Delta_f > LONGEST_DELAY:
        raise check.fail(
            "Sheet",
            "Delta_f",
            f"below {LONGEST_DELAY / delay:.3g} Hz for a channel with a delay of {delay:.3g} s",
            sheet.Delta_f,
        )


def filtered(sheet: Sheet, f: np.ndarray, h: np.ndarray) -> np.ndarray:
    """H_t H21 H_r: transition time (93A-46), held back by 3 T_r so that it is causal, and receiver noise filter (93A-20)."""
    delay = np.exp(-6j * np.pi * f * sheet.T_r)
    out = h * filters.gaussian_edge(f, sheet.T_r) * delay
    return out if sheet.H_r == "noise" else out * filters.butterworth4(f, sheet.f_r * sheet.f_b)


def impulse_response(sheet: Sheet, f: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Samples of the impulse response at M a symbol, from time 0 to the last one above 1e-3 of the peak; unit: that of ``h``.

    ``h`` goes to the FFT grid by linear interpolation of magnitude and unwrapped phase. Beyond the data the magnitude falls
    along the trend of the upper half of the band and the phase runs on: the rules of the task force's script.
    """
    from scipy.fft import irfft

    top = sheet.M * sheet.f_b / 2
    step = f[3] - f[2]
    n = round(top / step)
    grid = np.linspace(0, top, n + 1)
    size, phase = np.maximum(np.abs(h), SMALLEST), np.unwrap(np.angle(h))
    inside = int(np.searchsorted(grid, f[-1] * (1 + 1e-12), side="right"))
    magnitude = np.empty(n + 1)
    angle = np.empty(n + 1)
    magnitude[:inside] = np.interp(grid[:inside], f, size)
    angle[:inside] = np.interp(grid[:inside], f, phase)
    if inside <= n:
        upper = f.size // 2
        slope, offset = np.polyfit(f[upper:] / GHz, size[upper:], 1)
        end = float(np.clip(slope * top / GHz + offset, SMALLEST, size[-1]))
        magnitude[inside:] = np.interp(grid[inside:], [f[-1], top], [size[-1], end])
        angle[inside:] = phase[-1] + (grid[inside:] - f[-1]) * (phase[-1] - phase[-2]) / (f[-1] - f[-2])
    spectrum = magnitude * np.exp(1j * angle)
    spectrum[[0, -1]] = spectrum[[0, -1]].real
    response = irfft(spectrum, 2 * n)
    strong = np.flatnonzero(np.abs(response) > TRUNCATION * np.max(np.abs(response)))
    return response[: strong[-1] + 1]


@dataclass(frozen=True, kw_only=True, eq=False)
class ComPath:
    """One path ready for equalisation: ``kind``, transfer ``h`` at ``f`` [V/V] and ``impulse`` [V], both with H_t and H_r."""

    kind: str
    f: np.ndarray
    h: np.ndarray
    impulse: np.ndarray


def prepare(sheet: Sheet, case: Case, channel: ComChannel) -> tuple[ComPath, ...]:
    """Every path of a test case, the through path first. ``impulse`` includes the amplitude A_v, A_fe or A_ne."""
    made = []
    for kind, network in channel.paths:
        f, h21 = voltage_transfer(sheet, case, kind, network)
        h = filtered(sheet, f, h21)
        made.append(ComPath(kind=kind, f=f, h=h, impulse=impulse_response(sheet, f, h) * getattr(sheet, AMPLITUDES[kind])))
    return tuple(made)


def pulse_behind_ctle(sheet: Sheet, impulse: np.ndarray, g_DC: float, g_DC2: float) -> np.ndarray:
    """Pulse response [V] behind one CTLE setting, as long as ``impulse``: held one symbol (93A-23, -24), through (93A-22).

    The CTLE acts by the bilinear transform at M samples a symbol: exact at DC, within 0.3 % in frequency at f_b.
    """
    from scipy.signal import bilinear, lfilter

    held = np.cumsum(impulse)
    held[sheet.M :] -= np.cumsum(impulse)[: -sheet.M]
    w = 2 * np.pi
    gain, low = 10 ** (g_DC / 20), 10 ** (g_DC2 / 20)
    high = ([1 / (w * sheet.f_z), gain], np.convolve([1 / (w * sheet.f_p1), 1], [1 / (w * sheet.f_p2), 1]))
    out = lfilter(*bilinear(*high, fs=sheet.M * sheet.f_b), held)
    if g_DC2 == 0:
        return out
    shelf = ([1 / (w * sheet.f_LF), low], [1 / (w * sheet.f_LF), 1])
    return lfilter(*bilinear(*shelf, fs=sheet.M * sheet.f_b), out)
