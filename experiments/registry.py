"""The studies of the report: one record each. A further study is one more entry of `STUDIES`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dsp import check
from experiments.studies import allreduce, domain, path, reach, sensitivity, tiers, validate_tiers, why
from experiments.study import Answer, Progress
from serdes.link import suggestion


def first_note(answer: Answer) -> str:
    """The first note of an answer, for a study that says the essential there."""
    return answer.notes[0] if answer.notes else ""


def note_with(words: str) -> Callable[[Answer], str]:
    """The first note that holds ``words``; the first of all where none does."""

    def sentence(answer: Answer) -> str:
        return next((note for note in answer.notes if words in note), first_note(answer))

    return sentence


@dataclass(frozen=True, kw_only=True, eq=False)
class Study:
    """A question with the function that answers it.

    ``sentence``: the answer in one sentence, from what was found. ``command``: what to type; ``arguments`` of ``run`` for the
    whole study, ``quick`` for a toy of it. ``method``: how the numbers come about. ``references``: what it rests on.
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

    def __post_init__(self) -> None:
        for name in ("name", "question", "command", "method"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise check.fail(self, name, "a text", getattr(self, name))
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
        given = ", ".join(f"{k}={v!r}" for k, v in (self.quick if quick else self.arguments).items())
        package, _, name = module.rpartition(".")
        return (
            f"from pathlib import Path\nfrom {package} import {name}\n\n"
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


_802_3 = "IEEE 802.3-2022 Annexes 93A and 162; P802.3dj Annex 178A (operating margin, reference receivers)"
STUDIES = (
    Study(
        name="reach", question=reach.QUESTION, run=reach.run, command="serdes reach", sentence=_reach,
        quick={"rates": ("100G",), "gauges": (26,)},
        method="Circuit model of host, connector and cable from die to die; statistical link (CTLE, feed-forward and decision "
        "feedback taps of least mean-square error, jitter, crosstalk, converter); the length at which the slicer's SNR has "
        "just the margin over what the standard's error ratio needs.",
        references=(_802_3, "J. Cioffi et al., MMSE decision-feedback equalizers and coding, IEEE Trans. Commun. 43, 1995"),
    ),
    Study(
        name="why", question=why.QUESTION, run=why.run, command="serdes why", sentence=_why, quick={"rates": ("112G",)},
        method="The links of the reach study at growing length, settled with one equaliser stage more each time; the share of "
        "each cause in the decision error; and each cause taken away alone at the reach.",
        references=(_802_3, "J. Salz, Optimum mean-square decision feedback equalization, Bell Syst. Tech. J. 52, 1973"),
    ),
    Study(
        name="sensitivity", question=sensitivity.QUESTION, run=sensitivity.run, command="serdes reach --sensitivity",
        sentence=_sensitivity, quick={"rates": ("112G",)},
        method="The reach again with one thing changed at a time; the widest change of reach ranks what was changed.",
        references=(_802_3,),
    ),
    Study(
        name="tiers", question=tiers.QUESTION, run=tiers.run, command="serdes tiers",
        sentence=note_with("passive copper ends"),
        method="Copper distances from the reach study, on-package wires from their circuit, optical ones as quoted; energy of "
        "both ends over the rate of a lane.",
        references=("Sources of each row stand in the table.",),
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
)  # fmt: skip


def studies(only: Sequence[str] | None = None) -> tuple[Study, ...]:
    """The studies, or those named. Raises ValueError with the nearest name."""
    names = [s.name for s in STUDIES]
    for name in only or ():
        if name not in names:
            raise ValueError(f"unknown study {name!r}{suggestion(name, names)}")
    return tuple(s for s in STUDIES if not only or s.name in only)
