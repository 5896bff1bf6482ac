"""Collectives, training steps and counts beside what others measured and published."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from dsp.units import GB
from experiments.comparison import Comparison
from experiments.measurements import (
    FITTED_RUN,
    MEASURED,
    SCALING,
    Measured,
    TrainingRun,
    fitted_constant,
    scaling_time,
    with_latency,
)
from experiments.studies import validate_tiers

COLLECTIVES, TRAINING, COUNTS = "Collectives", "Training", "Counts and identities"
_COUNTS_TEST = "test_experiments_tiers::test_validation_shows_its_misses"


def comparisons() -> Iterator[Comparison]:
    """All of them: the points that the study of the tiers shows."""
    for m in MEASURED:
        yield Comparison(
            section=COLLECTIVES, what=f"{m.point}: {m.title}, bus bandwidth", unit="GB/s", reference=m.busbw / GB,
            allowed=0.1 * m.busbw / GB, source=m.source, ours=partial(_bandwidth, m), miss=m.aside,
            test="test_experiments_collectives::test_published_latencies_bring_the_model_closer",
        )  # fmt: skip
    for r in SCALING:
        fitted = " (the one constant is fitted here)" if r is FITTED_RUN else ""
        yield Comparison(
            section=TRAINING, what=f"Megatron-LM, 175e9 parameters, {r.gpus:,} GPUs, batch {r.batch}{fitted}, a step", unit="s",
            reference=r.seconds, allowed=0.08 * r.seconds, source="MegaScale (NSDI'24) Table 2", ours=partial(_step, r),
            test="test_experiments_step_time::test_megatron_scaling_table",
        )  # fmt: skip
    for row in validate_tiers.counts():
        rough = any(word in row["source"] for word in ("about", "saves"))
        yield Comparison(
            section=COUNTS, what=row["count"], unit="", reference=row["published"], source=row["source"], test=_COUNTS_TEST,
            allowed=(0.03 if rough else 0.005) * row["published"], ours=partial(_said, row, "model"),
            miss="the source counts whole pods" if "whole pods" in row["source"] else "",
        )  # fmt: skip
    for row in validate_tiers.identities():
        yield Comparison(
            section=COUNTS, what=row["identity"], unit="", reference=row["published"], source=row["basis"], test=_COUNTS_TEST,
            allowed=0.01 * row["published"], ours=partial(_said, row, "model"),
        )  # fmt: skip


def _said(row: dict[str, Any], key: str) -> float:
    return float(row[key])


def _bandwidth(m: Measured) -> float:
    return with_latency(m)[0] / GB


def _step(run: TrainingRun) -> float:
    return scaling_time(run, fitted_constant())
