"""Channel Operating Margin beside the task force's own script and an independent program, run by run."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from experiments.comparison import Comparison, data_folder
from experiments.studies.validate_com import INDEPENDENT, SCRIPT, Reference, compare, references

SECTION = "Channel Operating Margin"
_SCRIPT_TEST, _FULL_TEST = "test_serdes_com::test_searches_of_the_script", "test_serdes_com::test_the_full_sheet_of_the_script"
_KRNF_TEST = "test_experiments_comparisons::test_runs_of_the_script_without_floating_taps"
_FIXED_TEST = "test_serdes_com::test_fixed_equaliser_of_the_script"
_FFE_TEST = "test_serdes_com_ffe::test_numbers_of_other_programs"
_DPO10, _DPO4, _SYSVIA = "DPO_10in thru only", "DPO_4in + FENG89 + NENF1112", "C2C_PCB_SYSVIA thru only"
_CA, _SYNTH, _SYNTH_X = "CA_19p75dB + fext1 + next2 + next7", "synth224_300mm thru", "synth224_300mm + fext1 + next1"
RUNS: tuple[tuple[str, str, str, float, float, str], ...] = (
    (_DPO10, "krref", "1", 4.4805, 0.03, _SCRIPT_TEST),
    (_DPO10, "krref", "2", 3.8900, 0.03, _SCRIPT_TEST),
    (_DPO4, "krref", "1", 5.2561, 0.03, _SCRIPT_TEST),
    (_DPO4, "krref", "2", 5.3169, 0.03, _SCRIPT_TEST),
    (_CA, "crref", "1", 4.4225, 0.03, _SCRIPT_TEST),
    (_CA, "crref", "2", 3.4526, 0.03, _SCRIPT_TEST),
    (_SYSVIA, "krref", "1", 8.0888, 0.03, _SCRIPT_TEST),
    (_SYSVIA, "krref", "2", 7.8282, 0.03, _SCRIPT_TEST),
    (_DPO10, "krnf", "1", 3.9994, 0.03, _SCRIPT_TEST),
    (_DPO4, "krnf", "1", 4.5517, 0.03, _KRNF_TEST),
    (_SYSVIA, "krnf", "1", 7.6733, 0.03, _KRNF_TEST),
    (_DPO10, "krsmall", "1", 3.9036, 0.03, _SCRIPT_TEST),
    (_DPO10, "krsmall, FORCE_TR 0", "1", 4.5389, 0.03, _SCRIPT_TEST),
    (_DPO10, "krfix10", "1", 2.3041, 0.01, _FIXED_TEST),
    ("C2M IL14 + FEXT1", "c2msmall", "1", 2.7885, 0.03, _SCRIPT_TEST),
    (_SYNTH, "dj1", "1", 5.5755, 0.02, _FFE_TEST),
    (_SYNTH, "dj1, SNR_TX 30.947", "1", 5.1202, 0.03, _FFE_TEST),
    (_SYNTH, "dj12", "1", 5.5755, 0.02, _FFE_TEST),
    (_SYNTH_X, "dj12", "1", 5.4420, 0.03, _FFE_TEST),
    (_SYNTH, "dj12 + MLSE 1", "1", 6.2310, 0.02, _FFE_TEST),
    (_SYNTH, "dj12 + MLSE 1 + floating", "1", 9.7623, 0.05, _FFE_TEST),
    ("CA_19p75dB thru only", "dj12", "1", -3.6540, 0.01, _FFE_TEST),
    (_DPO10, "KR sheet, full grid", "1", 6.1430, 0.03, _FULL_TEST),
    (_DPO10, "KR sheet, full grid", "2", 5.2240, 0.03, _FULL_TEST),
    (_SYNTH, "D3.3 KR A2, g_DC -2 0", "A2", 6.4974, 0.05, _FFE_TEST),
    (_SYNTH_X, "D3.3 KR A2, g_DC 0", "A2", 6.0173, 0.05, _FFE_TEST),
    (_SYNTH, "D3.3 KR B1, g_DC -2 0", "B1", 0.7943, 0.15, _FFE_TEST),
)  # fmt: skip
"""Channel, configuration, case, their COM [dB], what is allowed [dB], the test: all runs of which the other's inputs are known."""


def comparisons() -> Iterator[Comparison]:
    """All of them. Their values stand here; channels and configurations are in the reference data."""
    for channel, config, case, value, allowed, test in RUNS:
        yield Comparison(
            section=SECTION, what=f"{channel}; {config}; case {case}", unit="dB", reference=value, allowed=allowed,
            source=INDEPENDENT if config.startswith("D3.3") else SCRIPT, needs="data/com_reference.json", test=test,
            ours=partial(_com, channel, config, case),
        )  # fmt: skip


def _com(channel: str, config: str, case: str) -> float:
    data = data_folder()
    if data is None:
        raise ValueError("the folder of reference data has gone")
    return float(compare(data / "data", _references(data / "data")[channel, config, case])["COM"])


@functools.cache
def _references(data: Path) -> dict[tuple[str, str, str], Reference]:
    return {(r.channel, r.config, r.case): r for r in references(data)}
