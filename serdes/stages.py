"""How the taps of a run adapt, in terms that hold for any link: normalised steps, stages, a cold start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check
from dsp.constellation import Constellation
from dsp.equalizer import Taps
from dsp.receiver import RULES, Stage
from serdes.operating_point import OperatingPoint


@dataclass(frozen=True, kw_only=True)
class Adaptation:
    """One stage: ``rule`` of `dsp.receiver.Stage` with a ``step`` normalised to the power in the taps, for ``n_symbols``
    (None: to the end).

    Least mean square is unstable from 2 on, long before in the mean square (B. Widrow and S. D. Stearns, Adaptive Signal
    Processing, 1985, ch. 6). ``level_step``: share of its error by which each decision moves the level it names.
    """

    rule: str = "lms"
    step: float = 1e-3
    n_symbols: int | None = None
    level_step: float = 0.0

    def __post_init__(self) -> None:
        check.one_of(self, "rule", self.rule, RULES)
        check.between(self, "step", self.step, 0, 10)
        if self.n_symbols is not None:
            check.count(self, "n_symbols", self.n_symbols, 1)
        check.between(self, "level_step", self.level_step, 0, 0.5)


BLIND = (
    Adaptation(rule="cma", step=2e-3, n_symbols=60_000),
    Adaptation(rule="lms", step=4e-3, n_symbols=60_000),
    Adaptation(rule="lms", step=5e-4),
)
"""From a cold start without known symbols: constant modulus opens the eye, decisions take over, then the step is shifted
down.
"""


def cold_taps(point: OperatingPoint) -> Taps:
    """The main tap alone, as a gain control would set it: the main cursor comes out as 1. No feedback."""
    taps = np.zeros(len(point.taps.feed_forward))
    taps[point.taps.n_precursors] = 1 / point.main_cursor
    return Taps(
        feed_forward=tuple(taps.tolist()), n_precursors=point.taps.n_precursors, feedback=(0.0,) * len(point.taps.feedback)
    )


def loop_stages(
    adaptation: float | tuple[Adaptation, ...], taps: Taps, power: float, constellation: Constellation
) -> tuple[Stage, ...]:
    """Stages of the loop for taps over samples of mean ``power`` [V^2]; a number means least mean square with that step."""
    if not isinstance(adaptation, tuple):
        if adaptation == 0:
            return (Stage(),)
        adaptation = (Adaptation(step=adaptation),)
    n_ffe, n_dfe = len(taps.feed_forward), max(len(taps.feedback), 1)
    gap = float(np.min(np.diff(constellation.array)))
    stages = []
    for a in adaptation:
        size = gap / 4 if a.rule == "sign-lms" else 1.0  # about the error whose sign is taken
        stages.append(
            Stage(
                rule=a.rule,
                feed_forward_step=size * a.step / (n_ffe * power),
                feedback_step=0.0 if a.rule in ("cma", "frozen") else size * a.step / (n_dfe * constellation.mean_square),
                level_step=a.level_step if a.rule in ("lms", "sign-lms") else 0.0,
                n_symbols=a.n_symbols,
            )
        )
    return tuple(stages)
