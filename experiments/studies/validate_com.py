"""COM beside the task force's own script and an independent implementation, channel by channel."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dsp.units import mV
from experiments.comparison import ENVIRONMENT
from experiments.study import Answer, Progress, silent
from serdes import com_standards
from serdes.com import CaseResult, com_case
from serdes.com_channel import open_channel
from serdes.com_keywords import from_keywords
from serdes.com_sheet import Sheet

QUESTION = "Does our COM agree with the task force's script?"
SCRIPT, INDEPENDENT = "IEEE COM r4.50", "PyChOpMarg 3.4.0"
CONFIGS = {
    "KR sheet, full grid": "kr3ck", "krsmall": "kr_small_nofloat", "krsmall, FORCE_TR 0": "kr_small_nofloat",
    "krfix10": "kr_fix10",
    "dj1, SNR_TX 30.947": "dj1snr", "dj12 + MLSE 1": "dj12_mlse", "dj12 + MLSE 1 + floating": "dj12_mlse_fl",
}  # fmt: skip
_DPO4, _CA, _SYNTH = "ck_backplane_dpo4in/DPO_4in_Meg7_", "ck_cable_ca19p75/CA_19p75dB_", "synthetic_224g/synth224_300mm_"
_C2M = "ck_c2m_il14/C2M__Z100_IL14_WC_BOR_H_L_H_"
CHANNELS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "DPO_10in thru only": ("ck_backplane_dpo10in/DPO_10in_Meg7_THRU.s4p", (), ()),
    "DPO_4in + FENG89 + NENF1112": (_DPO4 + "THRU.s4p", (_DPO4 + "FENG89.s4p",), (_DPO4 + "NENF1112.s4p",)),
    "CA_19p75dB + fext1 + next2 + next7": (_CA + "thru.s4p", (_CA + "fext1.s4p",), (_CA + "next2.s4p", _CA + "next7.s4p")),
    "CA_19p75dB thru only": (_CA + "thru.s4p", (), ()),
    "C2C_PCB_SYSVIA thru only": ("ck_c2c_sysvia/C2C_PCB_SYSVIA_12dB_thru.s4p", (), ()),
    "C2M IL14 + FEXT1": (_C2M + "THRU.s4p", (_C2M + "FEXT1.s4p",), ()),
    "synth224_300mm thru": (_SYNTH + "thru.s4p", (), ()),
    "synth224_300mm + fext1 + next1": (_SYNTH + "thru.s4p", (_SYNTH + "fext1.s4p",), (_SYNTH + "next1.s4p",)),
}
"""Channels of the reference by name: through, far-end, near-end files."""


_PAIRS = {
    "gains_db": (("gDC", "gDC2"), 0), "com_dfe_db": (("COM_DFE",), 3), "vec_db": (("VEC",), 3), "veo_mv": (("VEO",), 2),
}  # fmt: skip
DETAILS = {
    "run": "channel, configuration, case", "gains_db": "g_DC, g_DC2 dB", "com_dfe_db": "COM of DFE dB", "vec_db": "VEC dB",
    "veo_mv": "VEO mV",
}  # fmt: skip
"""Columns of the second table, each cell ours / theirs."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A run of another program: its name, channel, configuration, parameter set, case, and what it found (dB, mV)."""

    tool: str
    channel: str
    config: str
    sheet: Sheet
    case: str
    found: Mapping[str, float]


def folder(given: Path | None = None) -> Path:
    """Where com_reference.json and the folder ``channels`` lie. ValueError that says how to name it."""
    named = os.environ.get(ENVIRONMENT, "")
    path = given or Path(named) / "data"
    if not (path / "com_reference.json").is_file():
        where = f"no com_reference.json in {path}" if given or named else f"{ENVIRONMENT} is not set"
        raise ValueError(
            f"{where}: results of other COM programs and their channels are not shipped with the project; name the folder that "
            f"holds com_reference.json with --data, or the one above it with {ENVIRONMENT}. Where they come from: "
            "docs/howto/reference-data.md"
        )
    return path


def references(data: Path, slow: bool = True) -> Iterator[Reference]:
    """Every run with a channel that is here. ``slow`` False: without the full grids."""
    book = json.loads((data / "com_reference.json").read_text(encoding="utf-8"))
    rows = [row for row in book["results"] if row["channel"] in CHANNELS]
    # printed by the script's first run of the full sheet, result file not kept
    rows += [
        {"channel": "DPO_10in thru only", "config": "KR sheet, full grid", "zp": zp, "COM": value}
        for zp, value in ((12, 6.143), (31, 5.224))
    ]
    for row in rows:
        if row["config"].endswith("full grid") and not slow:
            continue
        keywords = dict(book["configs"][CONFIGS.get(row["config"], row["config"])])
        if "FORCE_TR 0" in row["config"]:
            keywords["FORCE_TR"] = 0
        sheet = from_keywords(keywords, row["config"])
        case = next(c.name for c in sheet.cases if abs(c.tx.z_p[0] * 1e3 - row["zp"]) < 1e-6)
        found = {key: float(row[key]) for key in ("COM", "FOM", "As", "gDC", "gDC2", "ICN") if key in row}
        if sheet.T_O:
            found |= {"VEC": float(row["VEC"]), "VEO": float(row["VEO"])}
        yield Reference(tool=SCRIPT, channel=row["channel"], config=row["config"], sheet=sheet, case=case, found=found)
    draft = com_standards.standard("802.3dj-kr")
    draft = replace(draft, c_pre=((0.0,), (-0.04, 0.0)), c_post=((0.0,),), g_DC=(-2.0, 0.0), g_DC2=(-2.0,))
    for name, case, channel, gains in (
        ("D3.3 KR A2 synth300 thru", "A2", "synth224_300mm thru", (-2.0, 0.0)),
        ("D3.3 KR A2 synth300 fext next", "A2", "synth224_300mm + fext1 + next1", (0.0,)),
        ("D3.3 KR B1 synth300 thru", "B1", "synth224_300mm thru", (-2.0, 0.0)),
    ):
        row = next(r for r in book["pychopmarg_3_4_0"] if r["name"] == name)
        found = {
            "COM": row["COM"],
            "COM_DFE": row["COM_DFE"],
            "FOM": row["FOM"],
            "As": row["As_mV"],
            "gDC": row["gDC"],
            "gDC2": row["gDC2"],
        }
        yield Reference(
            tool=INDEPENDENT, channel=channel, config=f"D3.3 KR {case}, g_DC {' '.join(f'{g:g}' for g in gains)}",
            sheet=replace(draft, g_DC=gains), case=case, found=found,
        )  # fmt: skip


def compare(data: Path, reference: Reference) -> dict[str, Any]:
    """Our run of a reference and both numbers side by side."""
    thru, fext, next_ = CHANNELS[reference.channel]
    place = data / "channels"
    channel = open_channel(reference.sheet, place / thru, tuple(place / f for f in fext), tuple(place / f for f in next_))
    case = next(c for c in reference.sheet.cases if c.name == reference.case)
    return row_of(reference, com_case(reference.sheet, case, channel))


def row_of(reference: Reference, ours: CaseResult) -> dict[str, Any]:
    """One row of the table."""
    row: dict[str, Any] = {
        "tool": reference.tool,
        "channel": reference.channel,
        "config": reference.config,
        "case": reference.case,
    }
    mine = {"COM": ours.com_db, "COM_DFE": ours.com_dfe_db, "As": ours.signal / mV}
    if ours.setting is not None:
        mine |= {"FOM": ours.setting.fom, "gDC": ours.setting.g_DC, "gDC2": ours.setting.g_DC2}
    if ours.opening is not None:
        mine |= {"VEC": ours.opening.closure_db, "VEO": ours.opening.height / mV}
    for key in ("COM", "COM_DFE", "FOM", "As", "gDC", "gDC2", "VEC", "VEO"):
        if key in reference.found and key in mine:
            row[key], row[f"{key}_reference"] = mine[key], reference.found[key]
    row["difference_db"] = mine["COM"] - reference.found["COM"]
    return row


def run(data: Path | None = None, slow: bool = True, progress: Progress = silent, chosen: Sequence[str] = ()) -> Answer:
    """The whole table. ``slow`` False leaves the full grids out; ``chosen``: configurations only."""
    place = folder(data)
    every = [r for r in references(place, slow) if not chosen or r.config in chosen]
    rows = []
    for k, reference in enumerate(every):
        rows.append(compare(place, reference))
        progress(k + 1, len(every))
    worst = max(rows, key=lambda r: abs(r["difference_db"]))
    notes = [
        f"{len(rows)} runs; the largest difference is {worst['difference_db']:+.3f} dB ({worst['channel']}, {worst['config']})",
        "the 802.3dj runs of the script left the receiver filter out of the signal, having drawn no spectra; so do ours",
        "its chip-to-module sheet has no FORCE_TR, so the script leaves the transition time out; the set 802.3ck-c2m has it",
    ]
    return Answer(question=QUESTION, tables={"com": rows, "details": [_details(row) for row in rows]}, figures={}, notes=notes)


def _details(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a run reports beside COM, "ours / theirs", in the columns of `DETAILS`; empty where the reference has no number."""
    pairs = {}
    for name, (keys, digits) in _PAIRS.items():
        both = [[row[key + end] for key in keys if key + end in row] for end in ("", "_reference")]
        pairs[name] = " / ".join(", ".join(f"{value:.{digits}f}" for value in side) for side in both) if both[0] else ""
    return {"run": f"{row['channel']}, {row['config']}, {row['case']}", **pairs}
