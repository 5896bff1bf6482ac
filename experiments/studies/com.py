"""Channel Operating Margin of a channel, explained: verdict, equaliser, every impairment and what one more dB would take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from channels.port_map import PortMap
from dsp.distribution import eye_density
from dsp.units import mV
from experiments.study import Answer, Progress, silent
from serdes import com_standards
from serdes.com import CAUSES, CaseResult, ComResult, com_case
from serdes.com_channel import ComChannel, open_channel
from serdes.com_loss import losses
from serdes.com_sheet import Sheet
from serdes.com_workbook import read_workbook

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTION = "Does this channel meet the standard, by how much, and what stands in the way?"
SHORT = {
    "ISI": "ISI",
    "XT": "crosstalk",
    "TX": "Tx noise",
    "N": "Rx noise",
    "RJ": "random jitter",
    "DD": "bounded jitter",
    "Q": "quantiser",
}


def parameter_set(name: str) -> Sheet:
    """A standard's set by name, or that of a file: .toml of one's own, .xlsx of the task force."""
    path = Path(name)
    if path.suffix.lower() in (".xlsx", ".xls"):
        return read_workbook(path)
    if path.suffix.lower() == ".toml":
        return com_standards.load(path)
    return com_standards.standard(name)


def run(
    thru: Path, fext: Sequence[Path] = (), next_: Sequence[Path] = (), standard: str = "802.3ck-kr",
    cases: Sequence[str] | None = None,
    port_map: PortMap | None = None, progress: Progress = silent,
) -> Answer:  # fmt: skip
    """COM of Touchstone files by a parameter set; tables, figures and the record of all numbers."""
    sheet = parameter_set(standard)
    channel = open_channel(sheet, thru, tuple(fext), tuple(next_), port_map)
    return answer(measure(sheet, channel, cases, progress))


def measure(sheet: Sheet, channel: ComChannel, cases: Sequence[str] | None = None, progress: Progress = silent) -> ComResult:
    """`serdes.com.com`, case by case with progress. ValueError that names a case the set does not have."""
    names = [case.name for case in sheet.cases]
    for name in cases or ():
        if name not in names:
            raise ValueError(f"{sheet.name} has no case {name!r}; it has {', '.join(names)}")
    chosen = [case for case in sheet.cases if not cases or case.name in cases]
    results = []
    for k, case in enumerate(chosen):
        results.append(com_case(sheet, case, channel))
        progress(k + 1, len(chosen))
    return ComResult(
        sheet=sheet, channel=channel.name, cases=tuple(results), losses=losses(sheet, channel),
        findings=tuple(f.message for f in channel.findings),
    )  # fmt: skip


def answer(result: ComResult) -> Answer:
    """Tables, notes and figures of a result."""
    import json

    tables: dict[str, list[dict[str, Any]]] = {"com": [summary(case) for case in result.cases]}
    tables["equaliser"] = [row for case in result.cases for row in equaliser(case)]
    for case in result.cases:
        tables[f"why_{case.case.name}"] = case.why()
    figures = {
        f"com_{case.case.name}": (lambda case=case: draw(case, result.channel))
        for case in result.cases
        if case.setting is not None
    }
    text = json.dumps(result.record(), indent=1, default=_plain)
    return Answer(question=QUESTION, tables=tables, figures=figures, notes=notes(result), texts={"com.json": text + "\n"})


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def summary(case: CaseResult) -> dict[str, Any]:
    """One row of the verdict table."""
    e = case.setting
    row: dict[str, Any] = {
        "case": case.case.name, "verdict": "pass" if case.passes else "fail", "com_db": case.com_db,
        "com_dfe_db": case.com_dfe_db, "mlsd_db": case.detector.gain_db,
        "A_s_mv": case.signal / mV, "A_ni_mv": case.noise / mV,
    }  # fmt: skip
    if case.opening is not None:
        row |= {"vec_db": case.opening.closure_db, "veo_mv": case.opening.height / mV}
    if e is None:
        return row | {"equaliser": "none: no setting has a sampling point"}
    return row | {"fom_db": e.fom, "candidates": e.n_candidates, "solved": e.n_evaluated}


def equaliser(case: CaseResult) -> list[dict[str, Any]]:
    """The chosen equaliser, one row for each of its parts; taps by their place, 0 the main one."""
    e, sheet = case.setting, case.sheet
    if e is None:
        return []

    def taps(values: Sequence[float], first: int) -> str:
        return ", ".join(f"({k:+d}) {v:.4g}" if k else f"(0) {v:.4g}" for k, v in enumerate(values, first) if v)

    parts = {
        "CTLE": f"g_DC {e.g_DC:g} dB, g_DC2 {e.g_DC2:g} dB",
        "Tx FFE": taps(e.tx, -e.before),
        "Rx FFE": taps(e.feed_forward[: sheet.N_fix], -e.n_precursors) if sheet.N_fix else "",
        "Rx FFE, floating": taps(e.feed_forward[sheet.N_fix :], sheet.N_fix - e.n_precursors) if sheet.N_wg else "",
        "DFE": taps(e.feedback[: sheet.N_b], 1),
        "DFE, floating": taps(e.feedback[sheet.N_b :], sheet.N_b + 1) if sheet.N_bg else "",
    }
    return [{"case": case.case.name, "part": part, "setting": text} for part, text in parts.items() if text]


def notes(result: ComResult) -> list[str]:
    """What to read with the tables."""
    worst, sheet = result.worst, result.sheet
    if sheet.T_O > 0:
        verdict = f"{result.channel}: {'passes' if result.passes else 'fails'} {sheet.name}"
    else:
        margin = result.com_db - sheet.COM_min
        word = "passes" if result.passes else "fails"
        verdict = f"{result.channel}: COM {result.com_db:.3f} dB, {word} {sheet.name} by {abs(margin):.3f} dB"
    out = [f"{verdict}; case {worst.case.name} decides"]
    if sheet.title:
        out.append(f"parameter set: {sheet.title}")
    rows = worst.why()
    if rows:
        out.append("; ".join(f"{SHORT[r['symbol']]} {r['share']:.0%}" for r in rows) + " of the noise power")
        helps = [r for r in rows if r["for_one_db"] is not None]
        took = [f"{SHORT[r['symbol']]} by {r['for_one_db']:.1f} dB" for r in helps]
        out.append(
            f"one more dB, the equaliser as it is, would take less {', or '.join(took)}"
            if took
            else "no single impairment is worth 1 dB"
        )
    if result.losses is not None:
        here = result.losses
        text = f"loss {here.insertion_loss_db:.2f} dB at Nyquist (fitted {here.fitted_loss_db:.2f})"
        text += f", FOM_ILD {here.deviation_db:.3f} dB, ICN {here.crosstalk / mV:.3f} mV"
        if here.erl_db is not None:
            text += f", ERL of the bare channel {here.erl_db[0]:.2f} and {here.erl_db[1]:.2f} dB (limit {sheet.ERL_min:g})"
        out.append(text)
    if sheet.N_fix and sheet.S_tn == "d0.2":
        out.append("transmitter noise as in d0.2: a power of 10^(-SNR_TX/10) sigma_X^2, for PAM4 2.55 dB below that of D3.3")
    if sheet.H_r == "noise":
        out.append("the receiver filter acts on noise alone, as the script does where it draws no spectra: not the standard")
    return out + list(result.findings)


def draw(case: CaseResult, name: str) -> Figure:
    """Pulse and cursors, shares, law of the noise with A_s and A_ni, and the equalised eye."""
    from serdes.plot import figure

    with figure(11.0, 7.5, 2, 2) as (fig, axes):
        _pulse(axes[0, 0], case)
        _shares(axes[0, 1], case)
        _law(axes[1, 0], case)
        _eye(axes[1, 1], case)
        fig.suptitle(f"{name}, case {case.case.name}: COM {case.com_db:.2f} dB ({'pass' if case.passes else 'fail'})")
    return fig


def _pulse(ax: Axes, case: CaseResult) -> None:
    e, m = case.setting, case.sheet.M
    if e is None:
        return
    index = np.arange(max(e.at - 6 * m, 0), min(e.at + 24 * m + 1, e.pulse.size))
    ax.plot((index - e.at) / m, e.pulse[index] / mV, color="#0072B2", label="pulse, linear equalisers in")
    ui = np.arange(-6, 25)
    whole = e.at + ui * m
    keep = (whole >= 0) & (whole < e.pulse.size)
    ax.plot(ui[keep], e.pulse[whole[keep]] / mV, "o", color="#0072B2", markersize=4, label="cursors")
    k = e.at // m
    left = e.isi[k + ui[keep]].copy()
    left[ui[keep] == 0] = e.main
    ax.plot(ui[keep], left / mV, "s", color="#D55E00", markersize=4, markerfacecolor="none", label="after feedback")
    ax.set(xlabel="time [UI] after the sampling point", ylabel="response to one symbol [mV]", title="Pulse at the decision")
    ax.legend()


def _shares(ax: Axes, case: CaseResult) -> None:
    sigmas = {name: value for name, value in case.sigmas.items() if value > 0}
    order = sorted(sigmas, key=lambda n: sigmas[n])
    bars = ax.barh([CAUSES[n] for n in order], [sigmas[n] / mV for n in order], color="#0072B2")
    for bar, name in zip(bars, order, strict=True):
        ax.text(bar.get_width(), bar.get_y() + bar.get_height() / 2, f" {case.shares[name]:.0%}", va="center", fontsize=9)
    ax.set(xlabel="rms [mV]; share of the power", title="What is in the way")
    ax.grid(visible=False, axis="y")


def _law(ax: Axes, case: CaseResult) -> None:
    if case.law is None:
        return
    reach = 1.3 * max(case.signal, case.noise)
    y = np.linspace(-reach, 0, 160)
    tails = case.law.interference.log_tail(-y) / np.log(10)
    ax.plot(y / mV, tails, color="#0072B2", label="noise and interference below y")
    ax.axhline(np.log10(case.sheet.DER_0), color="0.4", linewidth=0.9, linestyle="--", label=f"DER_0 = {case.sheet.DER_0:g}")
    ax.axvline(
        -case.noise / mV,
        color="#D55E00",
        linestyle="-.",
        label=f"-A_ni = {-case.noise / mV:.3f} mV" + (" (of the window)" if case.opening else ""),
    )
    ax.axvline(-case.signal / mV, color="#009E73", label=f"-A_s = {-case.signal / mV:.3f} mV")
    ax.set(
        xlabel="y [mV]",
        ylabel="log10 probability",
        title="Tail of noise and interference" + (", at the sampling point" if case.opening else ""),
        ylim=(max(np.log10(case.sheet.DER_0) * 2.5, -20), 0),
    )
    ax.legend(loc="lower right", frameon=True, framealpha=0.9, edgecolor="none")


def _eye(ax: Axes, case: CaseResult) -> None:
    e, sheet = case.setting, case.sheet
    if e is None or case.law is None:
        return
    m = sheet.M
    offsets = np.arange(-m // 2, m // 2 + 1)
    k = e.at // m
    rows = np.arange(2, e.pulse.size // m - 2)
    pulse = e.pulse[(rows * m + e.at % m)[None, :] + offsets[:, None]].copy()
    b = np.array(e.feedback)
    pulse[:, k - 2 + 1 : k - 2 + 1 + b.size] -= b * e.main
    keep = np.max(np.abs(pulse), axis=0) > 1e-4 * e.main
    slopes = sheet.A_DD * e.slopes
    extra = np.concatenate([slopes[np.abs(slopes) > 1e-4 * e.main], *e.crosstalk])
    full = np.concatenate([pulse[:, keep], np.broadcast_to(extra, (offsets.size, extra.size))], axis=1)
    voltage = np.linspace(-1, 1, 401) * 1.6 * e.main
    density = eye_density(full, sheet.levels, np.full(offsets.size, case.law.sigma), voltage)
    image = np.log10(np.maximum(density, 1e-9 * density.max()))
    top = float(image.max())
    ax.pcolormesh(offsets / m, voltage / mV, image.T, cmap="magma", vmin=top - 6, vmax=top, shading="nearest", rasterized=True)
    ax.set(xlabel="time [UI] from the sampling point", ylabel="voltage [mV]", title="Equalised eye, log10 density")
    ax.grid(visible=False)
