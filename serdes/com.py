"""Channel Operating Margin of IEEE 802.3: Annex 93A (802.3ck) and Annex 178A (P802.3dj), and why it is what it is.

>>> from channels.lines import Twinax
>>> from serdes.com_standards import standard
>>> result = com(standard("802.3ck-c2c"), ComChannel(thru=Twinax(length=1.0)), cases=["1"])
>>> round(result.com_db, 1), result.passes
(6.7, True)

A channel out of files: ``serdes.com_channel.open_channel(sheet, "thru.s4p", fext=("fext.s4p",))``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsp import check
from serdes import com_dfe, com_eye, com_ffe
from serdes.com_channel import ComChannel, prepare
from serdes.com_dfe import Equalised
from serdes.com_eye import Opening
from serdes.com_loss import Losses, losses
from serdes.com_mlsd import Mlsd, mlsd
from serdes.com_noise import Law, bin_step, law, signal_amplitude, uniform
from serdes.com_parts import Case
from serdes.com_sheet import Sheet

LOWEST = -100.0
"""COM [dB] where no setting finds a sampling point."""
CAUSES = {
    "ISI": "residual interference", "XT": "crosstalk", "TX": "transmitter noise", "N": "receiver noise", "RJ": "random jitter",
    "DD": "bounded jitter", "Q": "quantiser",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class CaseResult:
    """COM of one package test case. Amplitudes [V]; ``setting`` None where no setting has a sampling point.

    ``signal`` A_s, ``noise`` A_ni; ``com_dfe_db`` without the sequence detector; ``opening`` for chip-to-module.
    """

    case: Case
    sheet: Sheet
    setting: Equalised | None
    law: Law | None
    signal: float
    noise: float
    com_dfe_db: float
    detector: Mlsd
    opening: Opening | None = None

    @property
    def com_db(self) -> float:
        """COM [dB]."""
        return self.com_dfe_db + self.detector.gain_db

    @property
    def passes(self) -> bool:
        """Whether COM, or VEC and VEO, meet their limits."""
        if self.opening is not None:
            return self.opening.closure_db <= self.sheet.VEC_max and self.opening.height >= self.sheet.VEO_min
        return self.com_db >= self.sheet.COM_min

    @property
    def sigmas(self) -> dict[str, float]:
        """Rms of every impairment at the decision [V] by its symbol, as in the law that COM is taken from."""
        if self.law is None or self.setting is None:
            return dict.fromkeys(CAUSES, 0.0)
        square = self.sheet.mean_square
        rms = {name: float(np.sqrt(square * np.sum(c**2))) for name, c in self.law.cursors.items()}
        crosstalk = float(np.sqrt(sum(v**2 for name, v in rms.items() if name.startswith("XT"))))
        gaussian = {name: float(np.sqrt(self.setting.variances[name])) for name in ("TX", "N", "RJ")}
        return {"ISI": rms["ISI"], "XT": crosstalk, **gaussian, "DD": rms["DD"], "Q": rms.get("Q", 0.0)}

    @property
    def shares(self) -> dict[str, float]:
        """Part of the noise power by impairment; their sum is 1."""
        power = {name: value**2 for name, value in self.sigmas.items()}
        total = sum(power.values())
        return {name: value / total for name, value in power.items()} if total else power

    def scaled(self, cause: str, factor: float) -> Law:
        """The law with the rms of one impairment times ``factor``, the equaliser as it is."""
        if self.law is None or self.setting is None:
            raise check.fail("CaseResult.scaled", "cause", "one of a case that has a setting", cause)
        check.one_of("CaseResult.scaled", "cause", cause, CAUSES)
        cursors = {
            name: c * factor if name == cause or (cause == "XT" and name.startswith("XT")) else c
            for name, c in self.law.cursors.items()
        }
        variance = self.law.sigma**2
        if cause in ("TX", "N", "RJ"):
            variance += self.setting.variances[cause] * (factor**2 - 1)
        return Law(cursors=cursors, levels=self.law.levels, sigma=float(np.sqrt(max(variance, 0.0))))

    def without(self, cause: str) -> float:
        """COM of the DFE receiver [dB] were one impairment not there, the equaliser as it is."""
        return float(20 * np.log10(self.signal / self.noise_with(cause, 0.0)))

    def noise_with(self, cause: str, factor: float) -> float:
        """A_ni [V] with the rms of one impairment times ``factor``, the equaliser as it is: exact, or of the window's eye."""
        law = self.scaled(cause, factor)
        if self.opening is not None and self.setting is not None:
            return com_eye.opening(self.sheet, self.setting, {cause: factor}).noise
        return law.quantile(self.sheet.DER_0)

    def for_one_db(self, cause: str, more_db: float = 1.0) -> float | None:
        """By how many dB the rms of one impairment must fall for ``more_db`` of COM; None: its going would not do.

        The equaliser stays as it is.
        """
        from scipy.optimize import brentq

        goal = self.noise_with(cause, 1.0) * 10 ** (-more_db / 20)
        if self.noise_with(cause, 0.0) >= goal:
            return None
        factor = brentq(lambda x: self.noise_with(cause, x) / goal - 1, 1e-9, 1.0, xtol=1e-6)
        return float(-20 * np.log10(factor))

    def why(self) -> list[dict[str, Any]]:
        """Rows for a table, the largest impairment first: rms, share, COM of the DFE without it, and by how many dB
        it must fall for one more dB of that COM. What the sequence detector gains on top is left as it is.
        """
        if self.law is None:
            return []
        sigmas, shares = self.sigmas, self.shares
        return [
            {
                "cause": CAUSES[name], "symbol": name, "rms_mv": sigmas[name] * 1e3, "share": shares[name],
                "com_dfe_without_db": self.without(name), "for_one_db": self.for_one_db(name),
            }
            for name in sorted(CAUSES, key=lambda n: -sigmas[n])
            if sigmas[name] > 0
        ]  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class ComResult:
    """COM of a channel: every test case, the losses beside it, and what was noticed about the files."""

    sheet: Sheet
    channel: str
    cases: tuple[CaseResult, ...]
    losses: Losses | None
    findings: tuple[str, ...] = ()

    @property
    def worst(self) -> CaseResult:
        """The case that decides: lowest COM, or highest VEC."""
        return min(self.cases, key=lambda c: c.com_db)

    @property
    def com_db(self) -> float:
        """The lowest COM of all cases [dB]."""
        return self.worst.com_db

    @property
    def passes(self) -> bool:
        """Whether every case passes: COM, or VEC and VEO."""
        return all(case.passes for case in self.cases)

    @property
    def return_loss_passes(self) -> bool | None:
        """Whether both ends of the bare channel meet the limit of ERL; None where it is not reckoned."""
        erl = self.losses.erl_db if self.losses else None
        return None if erl is None else min(erl) >= self.sheet.ERL_min

    def record(self) -> dict[str, Any]:
        """All of it as plain numbers, for JSON."""
        out: dict[str, Any] = {
            "standard": self.sheet.name, "channel": self.channel, "passes": self.passes, "com_db": self.com_db,
            "limit_db": self.sheet.COM_min, "findings": list(self.findings),
            "cases": [case_record(case) for case in self.cases],
        }  # fmt: skip
        if self.losses is not None:
            out |= {
                "insertion_loss_db": self.losses.insertion_loss_db, "fitted_loss_db": self.losses.fitted_loss_db,
                "fom_ild_db": self.losses.deviation_db, "icn_mv": self.losses.crosstalk * 1e3,
                "erl_db": list(self.losses.erl_db) if self.losses.erl_db else None,
                "erl_passes": self.return_loss_passes,
            }  # fmt: skip
        return out


def case_record(case: CaseResult) -> dict[str, Any]:
    """One test case as plain numbers."""
    e = case.setting
    out: dict[str, Any] = {
        "case": case.case.name, "passes": case.passes, "com_db": case.com_db, "com_dfe_db": case.com_dfe_db,
        "mlsd_gain_db": case.detector.gain_db, "A_s_mv": case.signal * 1e3, "A_ni_mv": case.noise * 1e3,
    }  # fmt: skip
    if e is None:
        return out
    out |= {
        "fom_db": e.fom, "g_DC_db": e.g_DC, "g_DC2_db": e.g_DC2, "tx_taps": list(e.tx), "tx_main": e.before,
        "dfe_taps": list(e.feedback),
        "ffe_taps": list(e.feed_forward), "ffe_main": e.n_precursors, "candidates": e.n_candidates, "evaluated": e.n_evaluated,
        "sigma_mv": {name: value * 1e3 for name, value in case.sigmas.items()}, "shares": case.shares, "why": case.why(),
        "der_mlsd": case.detector.error_ratio, "added_noise_mv": case.detector.added_noise * 1e3,
    }  # fmt: skip
    if case.opening is not None:
        out |= {"veo_mv": case.opening.height * 1e3, "vec_db": case.opening.closure_db}
    return out


def com(
    sheet: Sheet, channel: ComChannel, cases: Sequence[str] | None = None, beside: bool = True, prune: bool = True
) -> ComResult:
    """Channel Operating Margin of ``channel`` by the parameter set ``sheet``.

    ``cases``: names of test cases, all by default. ``beside``: also loss, ICN and ERL. ``prune`` False: solve every candidate
    of Annex 178A, for tests. ValueError for a case that is not there.
    """
    names = [case.name for case in sheet.cases]
    for name in cases or ():
        check.one_of("com", "cases", name, names)
    chosen = [case for case in sheet.cases if cases is None or case.name in cases]
    results = tuple(com_case(sheet, case, channel, prune) for case in chosen)
    return ComResult(
        sheet=sheet, channel=channel.name, cases=results, losses=losses(sheet, channel) if beside else None,
        findings=tuple(f.message for f in channel.findings),
    )  # fmt: skip


def com_case(sheet: Sheet, case: Case, channel: ComChannel, prune: bool = True) -> CaseResult:
    """COM of one test case."""
    paths = prepare(sheet, case, channel)
    quantiser: list[np.ndarray] = []
    setting: Equalised | None
    if sheet.N_fix:
        _, setting = com_ffe.search(sheet, paths, prune)
        if setting.spectra.step:
            quantiser = [uniform(abs(w) * setting.spectra.step, sheet.L) for w in setting.feed_forward if w]
    elif sheet.T_O > 0:
        setting = com_eye.search(sheet, paths)
    else:
        setting = com_dfe.search(sheet, paths)
    if setting is None:
        nothing = Mlsd(gain_db=0.0, error_ratio=1.0)
        return CaseResult(
            case=case, sheet=sheet, setting=None, law=None, signal=0.0, noise=0.0, com_dfe_db=LOWEST, detector=nothing
        )  # fmt: skip
    return judge(sheet, case, setting, quantiser)


def judge(sheet: Sheet, case: Case, setting: Equalised, quantiser: Sequence[np.ndarray] = ()) -> CaseResult:
    """COM (93A-36 to -45) of a chosen setting."""
    noise_law = law(sheet, setting, quantiser)
    signal = signal_amplitude(sheet, setting.main)
    opening = com_eye.opening(sheet, setting) if sheet.T_O > 0 else None
    noise = opening.noise if opening else noise_law.amplitude(sheet.DER_0, bin_step(sheet, signal))
    detector = mlsd(sheet, setting, noise_law) if opening is None else Mlsd(gain_db=0.0, error_ratio=sheet.DER_0)
    return CaseResult(
        case=case, sheet=sheet, setting=setting, law=noise_law, signal=signal, noise=noise,
        com_dfe_db=float(20 * np.log10(signal / noise)), detector=detector, opening=opening,
    )  # fmt: skip
