"""The equalised eye of somebody's own channel file, or of a link described in TOML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from channels.copper import CopperChannel
from channels.file_network import FileNetwork, check_rate, refuse_silent
from channels.network import MultiPort
from channels.port_map import PortMap
from dsp import check
from dsp.clock import Gardner, MuellerMuller
from dsp.units import GBd, GHz, db
from experiments.studies.own_link import ratio_of
from experiments.study import Answer
from experiments.sweep_file import load_point
from serdes import serialize, toml_text
from serdes.link import Aggressor, Link
from serdes.setups import Setup, setup
from serdes.simulate import simulate
from serdes.statistical import Statistical

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from serdes.count_detail import CountDetail
    from serdes.result import BasebandResult

QUESTION = "What does the receiver's eye look like behind this channel?"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A link to look at, the error ratio its eye is judged by, and what was noticed on the way in."""

    name: str
    link: Link
    error_ratio: float
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check.between(self, "error_ratio", self.error_ratio, 1e-30, 0.4)


def from_file(
    path: Path, rate: str, port_map: PortMap | None = None, packages: bool = True,
    far_end: Sequence[Path] = (), near_end: Sequence[Path] = (),
) -> Case:  # fmt: skip
    """A channel file between the transmitter and receiver of lane rate ``rate``.

    ``packages``: the standard's die and package at both ends. ``far_end``, ``near_end``: crosstalk files, from the aggressor's
    transmitter to the victim's receiver. Raises ValueError that names the file, line and cause, for one without a signal, too.
    """
    s = setup(rate)
    through = FileNetwork.open(path, port_map)
    refuse_silent(through)
    notes = _findings(through, s)
    aggressors = []
    for file, amplitude in [(f, s.far_end_amplitude) for f in far_end] + [(f, s.near_end_amplitude) for f in near_end]:
        network = FileNetwork.open(file, port_map or through.port_map)
        notes += _findings(network, s)
        aggressors.append(_aggressor(s, network, amplitude, packages))
    link = s.around((through,), tuple(aggressors), packages)
    ends = "with the standard's packages at both ends" if packages else "without packages"
    return Case(name=path.name, link=link, error_ratio=s.error_ratio, notes=(f"{path.name} {ends}", *notes))


def from_toml(path: Path, error_ratio: float | None) -> Case:
    """A link described in a TOML file, itself or as the base of a sweep, judged by ``error_ratio`` or, where that is None, by
    the file's own or by the standard of its symbol rate.
    """
    point = load_point(path)
    link = point.link({})
    with toml_text.within(path):
        judged = ratio_of(point, link) if error_ratio is None else error_ratio
    return Case(name=path.name, link=link, error_ratio=judged, notes=(f"judged at an error ratio of {judged:g}",))


def _findings(network: FileNetwork, s: Setup) -> list[str]:
    return [f"{Path(network.path).name}: {f.severity}: {f.message} [{f.code}]" for f in check_rate(network, s.symbol_rate)]


def _aggressor(s: Setup, network: MultiPort, amplitude: float, packages: bool) -> Aggressor:
    parts = (s.package("tx"), network, s.package("rx").flipped) if packages else (network,)
    coupling = CopperChannel(parts=parts, source_resistance=s.termination, load_resistance=s.termination)
    return Aggressor(tx=replace(s.tx, amplitude=amplitude, snr_db=None), coupling=coupling)


def run(
    case: Case, counted: int | None = None, seed: int = 1, progress: Any = None, pattern: str | None = None, blind: bool = False
) -> Answer:
    """The eye of ``case`` by the statistical engine, or counted over ``counted`` symbols with the sampling clock closed.

    Of a counted run: ``pattern`` to send (`dsp.patterns.PATTERNS`) instead of random symbols; ``blind`` starts the equaliser
    from its main tap alone, without known symbols. ValueError where they are asked of the statistical engine.
    """
    if counted is None and (pattern is not None or blind):
        raise ValueError("pattern and blind belong to a counted run: state how many symbols to count")
    if counted is None:
        result = simulate(case.link, Statistical())
    else:
        from serdes.stages import BLIND
        from serdes.time_domain import TimeDomain

        # a blind start has no decisions to recover the clock by
        loop = Gardner() if blind else MuellerMuller()
        case = replace(case, link=case.link.vary({"rx.clock": loop}))
        engine = TimeDomain(n_symbols=counted, pattern=pattern)
        if blind:
            engine = replace(engine, cold=True, adaptation=BLIND, settle=150_000)
        result = engine.run(case.link, np.random.default_rng(seed), progress)
        same = simulate(case.link, Statistical(eye=False))
        text = (
            f"clock loop closed ({type(loop).__name__}), sampling {result.lock.phase_ui:+.3f} UI from the peak of the pulse; the "
            f"statistical engine with this clock: slicer SNR {same.snr_db:.2f} dB, symbol error ratio {same.ser:.3g}{_propagated(same)}"
        )
        case = replace(case, notes=(*case.notes, text))
    openings = _openings(result, case.error_ratio)
    record = {"channel": case.name, "symbol_rate_gbd": case.link.symbol_rate / GBd, **result.record()}
    if result.outcome == "cancelled":
        case = replace(case, name=f"{case.name}, cancelled")
    figures = {"eye": lambda: _draw(result, case)}
    detail = result.detail
    if detail is not None:
        figures["stages"] = lambda: _draw_stages(result, detail, case)
        figures["taps"] = lambda: _draw_taps(detail, case)
    record["worst_height"] = min((row["height"] for row in openings), default=0.0)
    return Answer(
        question=QUESTION,
        tables={"eye": openings, "result": [record]},
        figures=figures,
        notes=_notes(result, case),
        texts={"link.toml": serialize.to_toml(case.link)},
    )


def _openings(result: BasebandResult, error_ratio: float) -> list[Mapping[str, Any]]:
    if "slicer" not in result.eyes:
        return []
    labels = ("lower", "middle", "upper") if len(result.eye.levels) == 4 else None
    return [
        {
            "eye": labels[i] if labels else str(i + 1),
            "error_ratio": max(error_ratio, result.eye.floor),
            "height": round(o.height, 4),
            "width_ui": round(o.width_ui, 4),
            "state": "open" if o.is_open else o.reason,
        }
        for i, o in enumerate(result.eye.openings(max(error_ratio, result.eye.floor)))
    ]


def _notes(result: BasebandResult, case: Case) -> list[str]:
    point = result.operating_point
    notes = [*case.notes, f"loss die to die at the Nyquist frequency, {case.link.nyquist / GBd:.6g} GHz: {_loss(case.link)}"]
    if result.symbols is not None:
        notes.append(f"{result.symbols.text()}; {result.lock.reason}")
        notes += _checker_notes(result)
    else:
        notes.append(f"symbol error ratio {result.ser:.3g}, bit error ratio {result.ber:.3g} before FEC{_propagated(result)}")
    shares = ", ".join(f"{cause} {100 * share:.0f} %" for cause, share in point.shares().items())
    notes.append(f"slicer SNR {result.snr_db:.2f} dB; decision error: {shares}")
    if result.outcome != "ok":
        notes.append(f"{result.outcome}: {result.reason}")
    elif result.reason:
        notes.append(result.reason)
    return notes


def _loss(link: Link) -> str:
    """Loss of the channel at Nyquist in words; unknown where a file of it ends below."""
    parts = link.channel.parts if isinstance(link.channel, CopperChannel) else ()
    ends = [part.report.f_max for part in parts if isinstance(part, FileNetwork)]
    if ends and min(ends) < link.nyquist:
        return f"unknown, data end at {min(ends) / GHz:.6g} GHz"
    level = float(np.abs(link.channel.transfer(np.array([link.nyquist])))[0])
    return f"{-db(level):.1f} dB" if level > 0 else "nothing passes"


def _propagated(result: BasebandResult) -> str:
    """The error ratio with wrong decisions fed back, for a sentence; empty where there is nothing to say."""
    from serdes.propagation import error_chain

    if not result.operating_point.taps.feedback or not 1e-15 < result.ser < 0.1:
        return ""
    return f"; with wrong decisions fed back {error_chain(result).symbol_error_ratio:.3g}"


def _checker_notes(result: BasebandResult) -> list[str]:
    found = None if result.detail is None else result.detail.checked
    if found is None:
        return []
    name = result.engine.pattern
    if not found.aligned:
        return [f"checker: {name} not aligned, {found.reason}"]
    return [
        f"checker: {name} found{' upside down' if found.inverted else ''}, {found.symbol_errors} symbol and {found.bit_errors} "
        f"bit errors in {found.compared} symbols, {found.realignments} slips"
    ]


def _draw_stages(result: BasebandResult, detail: CountDetail, case: Case) -> Figure:
    """The eyes before and behind the equalisers, of the same symbols."""
    from serdes import plot

    names = {
        "sampler": "at the sampler", "equalizer": "behind the feed-forward taps", "slicer": "at the slicer, with feedback"
    }  # fmt: skip
    with plot.figure(15.5, 4.6, 1, 3) as (fig, axes):
        for ax, (stage, name) in zip(axes, names.items(), strict=True):
            if stage in result.eyes:
                plot.eye(ax, result.eyes[stage], title=name, seams=stage == "slicer")
        n = min(result.engine.eye_symbols, detail.trials)
        fig.suptitle(f"{case.name}: the same {n} symbols at every stage")
        return fig


def _draw_taps(detail: CountDetail, case: Case) -> Figure:
    """How the receiver converged, and its taps beside those solved for."""
    from serdes import plot

    with plot.figure(12.5, 4.6, 1, 2) as (fig, (left, right)):
        plot.convergence(left, detail, case.link.tx.constellation.mean_square, "Convergence")
        plot.taps(right, detail, "Taps at the end")
        return fig


def _draw(result: BasebandResult, case: Case) -> Figure:
    """Eye, bathtub, pulse and loss of one channel."""
    from serdes import plot

    link, point = case.link, result.operating_point
    f = np.linspace(0, link.symbol_rate, 1001)
    with plot.figure(12.5, 8.6, 2, 2) as (fig, axes):
        (top_left, top_right), (low_left, low_right) = axes
        title = (
            f"{case.name}, {link.symbol_rate / GBd:.9g} GBd, {result.eyes['slicer'].source if result.eyes else result.outcome}"
        )
        if result.eyes:
            error_ratio = max(case.error_ratio, result.eye.floor)
            plot.eye(top_left, result.eye, error_ratio, title)
            clean = result.symbols is not None and result.symbols.clean
            ser = result.symbols.text() + "\n" if clean and result.symbols is not None else f"SER {result.ser:.2g}, "
            plot.bathtub(top_right, result.eye, error_ratio, f"{ser}slicer SNR {result.snr_db:.1f} dB")
        else:
            top_left.text(0.5, 0.5, result.reason, ha="center", va="center", wrap=True, transform=top_left.transAxes)
            top_left.set_title(title)
            for empty in (top_left, top_right):
                empty.set_axis_off()
        if point.closed:
            low_left.set_axis_off()
        else:
            plot.pulse(low_left, point, title="Pulse response")
        curves = {"through, die to die": link.channel.transfer(f)}
        curves |= {f"aggressor {k}": a.coupling.transfer(f) for k, a in enumerate(link.aggressors, start=1)}
        plot.insertion_loss(low_right, f, curves, link.nyquist, f"Loss at Nyquist, {link.nyquist / GBd:.6g} GHz: {_loss(link)}")
        return fig
