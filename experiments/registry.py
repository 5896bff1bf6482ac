"""The studies of the report: one record each. A further study is one more entry of `STUDIES`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dsp import check
from experiments import report_cases
from experiments.studies import (
    allreduce,
    channel,
    com,
    crossover,
    dci,
    domain,
    eye,
    jtol,
    optics,
    path,
    reach,
    sensitivity,
    tdecq,
    tiers,
    validate_all,
    validate_tiers,
    why,
)  # fmt: skip
from experiments.study import Answer, Progress
from serdes.link import suggestion


def first_note(answer: Answer) -> str:
    """The first note of an answer, for a study that says the essential there."""
    return answer.notes[0] if answer.notes else ""


def note_with(words: str) -> Callable[[Answer], str]:
    """The first note that holds ``words``; the first of all where none does."""
    return functools.partial(_note_with, words)


def _note_with(words: str, answer: Answer) -> str:
    return next((note for note in answer.notes if words in note), first_note(answer))


@dataclass(frozen=True, kw_only=True, eq=False)
class Study:
    """A question with the function that answers it.

    ``sentence``: the answer in one sentence, from what was found. ``command``: what to type; ``arguments`` of ``run`` for the
    whole study, ``quick`` for a toy of it. ``method``: how the numbers come about. ``references``: what it rests on. ``weight``:
    about how long it takes beside others.
    """

    name: str
    question: str
    run: Callable[..., Answer]
    command: str
    method: str
    sentence: Callable[[Answer], str] = first_note
    arguments: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("name", "question", "command", "method"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise check.fail(self, name, "a text", getattr(self, name))
        check.positive(self, "weight", self.weight)
        known = inspect.signature(self.run).parameters
        for name in ("arguments", "quick"):
            for key in getattr(self, name):
                check.one_of(self, name, key, tuple(known))

    def answer(self, quick: bool, progress: Progress) -> Answer:
        """Run it."""
        given = dict(self.quick if quick else self.arguments)
        if "progress" in inspect.signature(self.run).parameters:
            given["progress"] = progress
        return self.run(**given)

    def script(self, quick: bool) -> str:
        """Lines of Python that give the same."""
        module = self.run.__module__
        arguments = self.quick if quick else self.arguments
        given = ", ".join(f"{k}={v!r}" for k, v in arguments.items())
        package, _, name = module.rpartition(".")
        kinds = {type(item) for v in arguments.values() for item in (v if isinstance(v, tuple) else (v,))}
        needed = sorted(f"from {k.__module__} import {k.__qualname__}\n" for k in kinds if k.__module__ != "builtins")
        return (
            f"from pathlib import Path\n{''.join(needed)}from {package} import {name}\n\n"
            f'if __name__ == "__main__":\n    {name}.{self.run.__name__}({given}).write(Path("out/{self.name}"))\n'
        )


def _reach(answer: Answer) -> str:
    rows = [r for r in answer.tables["reach"] if r["outcome"] == "found"]
    parts = []
    for rate in dict.fromkeys(r["rate"] for r in rows):
        mine = [r for r in rows if r["rate"] == rate]
        low, high = min(r["reach_m"] for r in mine), max(r["reach_m"] for r in mine)
        parts.append(f"{rate} {low:.1f} m" if high - low < 0.1 else f"{rate} {low:.1f} to {high:.1f} m")
    if not parts:
        return "No passive cable meets the error ratio with this margin."
    return f"Passive twinax reaches, by gauge and host: {', '.join(parts)}; what ends it stands beside each row."


def _why(answer: Answer) -> str:
    first = [r for r in answer.tables["order"] if r["rank"] == 1]
    return "Taken away alone, most is given back by: " + "; ".join(
        f"{r['rate']} at its reach of {r['reach_m']:.2f} m, {r['cause']} ({r['snr_gain_db']:.1f} dB)" for r in first
    ) + "."  # fmt: skip


def _sensitivity(answer: Answer) -> str:
    rows, parts = [r for r in answer.tables["sensitivity"] if r["ratio"] is not None], []
    for rate in dict.fromkeys(r["rate"] for r in rows):
        top = [r for r in rows if r["rate"] == rate and r["rank"] <= 3]
        swings = {
            r["factor"]: max((abs(o["ratio"] - 1), o["ratio"]) for o in top if o["factor"] == r["factor"])[1] for r in top
        }
        parts.append(f"{rate}: " + ", ".join(f"{name} (to {ratio:.2f} of the reach)" for name, ratio in swings.items()))
    if not parts:
        return "No passive cable meets the error ratio with this margin."
    return "What moves the reach most, in this order: " + "; ".join(parts) + "."


def _optics(answer: Answer) -> str:
    found = [note.removesuffix(".") for note in answer.notes if "LPO" in note and " works " in note]
    return f"Where the hosts lose much, and on longer fibre: {'; '.join(found)}." if found else first_note(answer)


def _dci(answer: Answer) -> str:
    ends = [r["reach_km"] for r in answer.tables["lanes"]]
    spans = [r["specified_reach_km"] for r in answer.tables["dci"] if r["specified_reach_km"]]
    parts = [f"intensity modulation ends at {min(ends):.0f} to {max(ends):.0f} km, by power or by dispersion"] * bool(ends)
    parts += [f"coherent light goes {min(spans):.0f} to {max(spans):.0f} km in one amplified span"] * bool(spans)
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else first_note(answer)


def _eye(answer: Answer) -> str:
    result, rows = answer.tables["result"][0], answer.tables["eye"]
    if not rows:
        return f"It is closed: {result['reason']}."
    worst = min(rows, key=lambda r: r["height"])
    return (
        f"Open: at {result['channel']} the {worst['eye']} eye is the smallest, {worst['height']:.3f} of the outer level high and "
        f"{worst['width_ui']:.2f} UI wide; slicer SNR {result['snr_db']:.1f} dB, symbol error ratio {result['ser']:.1e}."
    )


def _channel(answer: Answer) -> str:
    parts = [
        f"{r['name']}: {r['loss_at_nyquist_db']:.1f} dB at {r['symbol_rate_gbd'] / 2:.1f} GHz, {r['delay_ns']:.2f} ns, "
        f"{r['impedance_left_ohm']:.0f} ohm, {r['findings'] or 'no'} findings"
        for r in answer.tables["files"]
    ]
    return "; ".join(parts) + "."


def _jtol(answer: Answer) -> str:
    parts = [
        f"{r['tolerated_ui']:.2f} UI at {r['frequency_mhz']:.3g} MHz"
        + ("" if r["mask_ui"] is None else f" ({r['mask_ui']:.2f} asked)")
        for r in answer.tables["jtol"]
    ]
    return f"Peak to peak, {', '.join(parts)}."


def _tdecq(answer: Answer) -> str:
    r = answer.tables["tdecq"][0]
    return (
        f"TDECQ {r['tdecq_db']:.2f} dB at an OMA of {r['oma_dbm']:.2f} dBm and {r['extinction_db']:.1f} dB of extinction: "
        + (f"{r['interface']} {r['verdict']}.")
    )


def _crossover(answer: Answer) -> str:
    rows, parts = answer.tables["least_energy"], []
    for rate in dict.fromkeys(r["rate"] for r in rows):
        chain = dict.fromkeys(str(r["technology"]) for r in rows if r["rate"] == rate and r["technology"] != "none")
        parts.append(f"{rate}: {', then '.join(chain)}")
    return "Of least energy where it closes, from near to far: " + "; ".join(parts) + "."


_802_3 = "IEEE 802.3-2022 Annexes 93A and 162; P802.3dj Annex 178A (operating margin, reference receivers)"
_FILES = "the report writes the file it is about into its folder"
STUDIES = (
    Study(
        name="reach", question=reach.QUESTION, run=reach.run, command="serdes reach", sentence=_reach,
        quick={"rates": ("100G",), "gauges": (26,)},
        method="Circuit model of host, connector and cable from die to die; statistical link (CTLE, feed-forward and decision "
        "feedback taps of least mean-square error, jitter, crosstalk, converter); the length at which the slicer's SNR has "
        "just the margin over what the standard's error ratio needs.",
        references=(_802_3, "J. Cioffi et al., MMSE decision-feedback equalizers and coding, IEEE Trans. Commun. 43, 1995"),
        weight=40.0,
    ),
    Study(
        name="why", question=why.QUESTION, run=why.run, command="serdes why", sentence=_why, quick={"rates": ("112G",)},
        method="The links of the reach study at growing length, settled with one equaliser stage more each time; the share of "
        "each cause in the decision error; and each cause taken away alone at the reach.",
        references=(_802_3, "J. Salz, Optimum mean-square decision feedback equalization, Bell Syst. Tech. J. 52, 1973"),
        weight=20.0,
    ),
    Study(
        name="sensitivity", question=sensitivity.QUESTION, run=sensitivity.run, command="serdes reach --sensitivity",
        sentence=_sensitivity, quick={"rates": ("112G",)},
        method="The reach again with one thing changed at a time; the widest change of reach ranks what was changed.",
        references=(_802_3,),
        weight=30.0,
    ),
    Study(
        name="eye", question=eye.QUESTION, run=report_cases.eye, command="serdes eye out/report/eye/link.toml", sentence=_eye,
        method="The exact distribution of symbols times cursors, crosstalk, jitter and noise at every phase of a unit interval, "
        "by characteristic functions; the openings are those at the error ratio the standard asks of the detector.",
        references=(_802_3, "B. K. Casper et al., An accurate and efficient analysis method, Symp. VLSI Circuits, 2002"),
    ),
    Study(
        name="channel", question=channel.QUESTION, run=report_cases.channel, sentence=_channel,
        command="serdes channel out/report/channel/cable.s4p",
        method=f"Ports told from the data, passivity, reciprocity and causality checked, losses and mode conversion read off, "
        f"impedance by the step response: {_FILES}, a simulated assembly with 2 ps of skew.",
        references=("Touchstone File Format Specification 2.1, IBIS Open Forum, 2024", "IEEE 370-2020"),
    ),
    Study(
        name="com", question=com.QUESTION, run=report_cases.com, quick={"cases": ("1",)},
        command="serdes com out/report/com/cable.s4p --standard 802.3ck-cr",
        method=f"Annex 93A from the same parts as the links of the other studies, every equaliser setting of the standard "
        f"searched: {_FILES}, the same assembly, without crosstalk.",
        references=(_802_3,),
        weight=15.0,
    ),
    Study(
        name="jtol", question=jtol.QUESTION, run=report_cases.jtol, command="serdes jtol", sentence=_jtol,
        quick={"frequencies": (4e6,), "n_symbols": 60_000},
        method="Errors counted symbol by symbol with the clock loop closed, the amplitude of the sinusoid halved in on; beside "
        "it the mask of the standard and what the linear loop predicts.",
        references=("IEEE 802.3 receiver jitter tolerance (120D, 162); the mask is recalled, not read there",),
        weight=20.0,
    ),
    Study(
        name="tdecq", question=tdecq.QUESTION, run=report_cases.tdecq, sentence=_tdecq,
        command="serdes tdecq out/report/tdecq/capture.csv --samples-per-ui 16 --symbol-rate 53.125e9 --interface 400G-DR4",
        method=f"The reference equaliser's taps and phase that need the least noise margin, by histograms left and right of the "
        f"centre: {_FILES}, PRBS13Q behind a 28 GHz Bessel-Thomson filter.",
        references=("IEEE 802.3-2022 121.8.5 (TDECQ)",),
    ),
    Study(
        name="optics", question=optics.QUESTION, run=optics.run, command="serdes optics", sentence=_optics, quick={"rates": ("112G",), "thin": 6},
        method="Host copper, driver, modulator, fibre, photodiode and host copper as one link, retimed at both ends, at one, or "
        "nowhere; margin in optical power until the detector's error ratio is met.",
        references=("IEEE 802.3-2022 clauses 124 and 140; OIF-CEI-112G-LINEAR",),
        weight=60.0,
    ),
    Study(
        name="crossover", question=crossover.QUESTION, run=crossover.run, command="serdes crossover", sentence=_crossover,
        quick={"rates": ("112G",)},
        method="Every technology is simulated at every distance with the same pass criterion; among those that close, the one "
        "of least energy takes the distance.",
        references=("Sources of energy and latency stand in the table.",),
        weight=50.0,
    ),
    Study(
        name="dci", question=dci.QUESTION, run=dci.run, command="serdes dci", sentence=_dci, quick={"names": ("400ZR",), "lanes": dci.LANES[1:2]},
        method="Intensity modulation with direct detection by the optical links of the study above at growing length; coherent "
        "modules by the Gaussian noise model of fibre and amplifiers; one signal run through the receiver's stages.",
        references=("P. Poggiolini et al., The GN-model of fiber non-linear propagation, J. Lightwave Technol. 32, 2014",
                    "OIF-400ZR-02.0; OpenZR+ MSA 3.0"),
        weight=20.0,
    ),
    Study(
        name="tiers", question=tiers.QUESTION, run=tiers.run, command="serdes tiers",
        sentence=note_with("passive copper ends"),
        method="Distances of copper, optics and coherent light from their links, on-package wires from their circuit; energy of "
        "both ends over the rate of a lane.",
        references=("Sources of each row stand in the table.",),
        weight=40.0,
    ),
    Study(
        name="domain", question=domain.QUESTION, run=domain.run, command="serdes domain",
        sentence=note_with("is fastest with"),
        method="The simulated reach bounds the racks of a scale-up domain; its size and the lanes' rate give the time of "
        "all-reduce and all-to-all across and inside it.",
    ),
    Study(
        name="allreduce", question=allreduce.QUESTION, run=allreduce.run, command="serdes allreduce",
        sentence=note_with("hides the network until"),
        method="Volume of a ring or staged all-reduce over the slower of scale-up port and NICs, against the arithmetic of the "
        "step, with overlap.",
        references=("P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms, J. Parallel Distrib. Comput. 69, 2009",),
    ),
    Study(
        name="path", question=path.QUESTION, run=path.run, command="serdes path",
        sentence=note_with("pJ/bit:"),
        method="A cluster as a fat tree of copper domains; the hops between two GPUs with length, latency and energy of each.",
    ),
    Study(
        name="validate-tiers", question=validate_tiers.QUESTION, run=validate_tiers.run, command="serdes validate tiers",
        method="Published measurements of collectives and training steps beside the model, nothing fitted to them unless said.",
        references=("Sources of each row stand in the table.",),
    ),
    Study(
        name="validate-all", question=validate_all.QUESTION, run=validate_all.run, command="serdes validate all",
        quick={"only": ("cluster",)},
        method="Each number beside the reference it is held to, with what is allowed and the test that guards it.",
        references=("Sources of each row stand in the table.",),
    ),
)  # fmt: skip


def studies(only: Sequence[str] | None = None) -> tuple[Study, ...]:
    """The studies, or those named. Raises ValueError with the nearest name."""
    names = [s.name for s in STUDIES]
    for name in only or ():
        if name not in names:
            raise ValueError(f"unknown study {name!r}{suggestion(name, names)}")
    return tuple(s for s in STUDIES if not only or s.name in only)
