"""Parameter sets of the Channel Operating Margin, with the names of IEEE 802.3 Annexes 93A and 178A; values in SI.

A set is TOML: printed numbers beside their unit and the clause they come from (see ``standards/802.3ck-kr.toml``), read by
`com_standards.standard` and `com_standards.load`. The task force's spreadsheets come in through `serdes.com_workbook`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from channels.copper import Die, Package, Trace
from dsp import check
from serdes.com_parts import Case, End, Line

MLSD_FORMS = ("none", "D3.3", "r4.50")
TX_NOISE = ("D3.3", "d0.2")
CROSSTALK = ("power sum", "worst phase")
FLOATING = ("greedy", "best")
PDF = ("exact", "bins")
RECEIVER_FILTER = ("signal and noise", "noise")


# name: unit, lowest and highest value allowed
NUMBERS: dict[str, tuple[str, float, float]] = {
    "f_b": ("Bd", 1e9, 1e12), "Delta_f": ("Hz", 1e5, 1e9), "f_min": ("Hz", 0, 1e9), "f_r": ("f_b", 0.1, 10),
    "T_r": ("s", 0, 1e-10), "R_0": ("ohm", 1, 1000), "A_v": ("V", 1e-3, 5), "A_fe": ("V", 0, 5), "A_ne": ("V", 0, 5),
    "c_0": ("", 0, 1), "f_z": ("Hz", 1e8, 1e12), "f_p1": ("Hz", 1e8, 1e12), "f_p2": ("Hz", 1e8, 1e12),
    "f_LF": ("Hz", 1e6, 1e12), "bmaxg": ("", 0, 10), "B_float_RSS_MAX": ("", 0, 10),
    "w_max": ("", 0, 10), "w_maxg": ("", 0, 10), "eta_0": ("V^2/Hz", 0, 1e-12), "SNR_TX": ("dB", 0, 200),
    "sigma_RJ": ("UI", 0, 0.3), "A_DD": ("UI", 0, 0.5), "R_LM": ("", 0.3, 1), "DER_0": ("", 1e-20, 0.1),
    "P_qc": ("", 1e-15, 0.1), "Delta_COM": ("dB", 0, 20), "COM_min": ("dB", -20, 40), "VEC_max": ("dB", 0, 60),
    "VEO_min": ("V", 0, 1), "VEO_test": ("V", 0, 1), "ERL_min": ("dB", 0, 60), "T_O": ("UI", 0, 0.5), "sigma_r": ("UI", 0, 0.5),
    "f_v": ("f_b", 0.01, 10), "f_f": ("f_b", 0.01, 10), "f_n": ("f_b", 0.01, 10), "f_2": ("Hz", 1e8, 1e12),
    "A_ft": ("V", 0, 5), "A_nt": ("V", 0, 5), "T_r_TDR": ("s", 0, 1e-10), "beta_x": ("dB/s", -1e12, 1e12),
    "rho_x": ("", 0, 1),
}  # fmt: skip
COUNTS: dict[str, tuple[int, int]] = {
    "L": (2, 16), "M": (4, 256), "N_b": (0, 200), "N_bg": (0, 10), "N_bf": (1, 50), "N_f": (0, 300), "N_tail_start": (0, 300),
    "d_w": (0, 100), "N_fix": (0, 200), "N_max": (0, 300), "N_wg": (0, 10), "N_wf": (1, 50), "N_qb": (0, 16),
    "samples_C2M": (10, 1000), "N": (0, 100000), "N_bx": (0, 200), "Local_Search": (0, 50),
}  # fmt: skip
LISTS = ("g_DC", "g_DC2")
PAIRS: dict[str, tuple[str, float, float]] = {
    "R_d": ("ohm", 1, 1000), "C_b": ("F", 0, 1e-9), "C_p": ("F", 0, 1e-9), "t_fx": ("s", 0, 1e-8),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """One parameter set. Names as in the standard (and the task force's sheets), values in SI; suffix-free dB where said.

    ``c_pre``: values of c(-n) .. c(-1), ``c_post``: of c(1) .. ; ``c_0``: the smallest c(0). ``C_d``, ``L_s``: (transmitter,
    receiver), each one value a die stage; ``C_b``, ``C_p``, ``R_d``: (transmitter, receiver). ``G_Qual``/``G2_Qual``: which
    g_DC go with which g_DC2, empty for all. ``N_fix`` 0: no receiver FFE, the fixed equaliser of Annex 93A; else the receiver
    of Annex 178A with ``N_fix`` taps, ``d_w`` of them before the main one, floating groups up to ``N_max``. ``S_tn``: which
    definition of the transmitter noise spectrum: D3.3 takes SNR_TX as peak over rms, noise power 10^(-SNR_TX/10) of an outer
    symbol; d0.2 multiplied that once more by sigma_X^2, the mean square of the symbols, (L + 1) / (3 (L - 1)), so the same
    SNR_TX is 10 lg(9/5) = 2.55 dB less noise for PAM4; ``crosstalk``: of sigma_XT in the search; ``pdf``: the exact law or the bins
    of the script; ``mlsd``: form of the sequence detector; ``H_r``: what the receiver filter acts on (the script leaves it out
    of the signal where it draws no spectra); ``floating``: how groups of feedback taps are placed, as the script does or with
    the most energy removed. ``sample_adjustment`` [samples]: sampling phases searched about the peak (Annex 178A). ``T_O`` 0:
    COM; else VEC and VEO from a window of +-T_O with Gaussian weight ``sigma_r``. ``Local_Search``: 0 every setting; n: the
    task force's search, which skips what is more than n steps from the best so far.
    """

    name: str
    title: str = ""
    source: str = ""
    f_b: float
    Delta_f: float = 10e6
    f_min: float = 50e6
    L: int = 4
    M: int = 32
    R_0: float = 50.0
    R_d: tuple[float, float] = (50.0, 50.0)
    C_d: tuple[tuple[float, ...], tuple[float, ...]]
    L_s: tuple[tuple[float, ...], tuple[float, ...]]
    C_b: tuple[float, float]
    C_p: tuple[float, float]
    packages: tuple[Line, ...]
    board: Line | None = None
    C_0: float = 0.0
    C_1: float = 0.0
    cases: tuple[Case, ...]
    A_v: float
    A_fe: float
    A_ne: float
    T_r: float
    f_r: float
    c_0: float = 0.54
    c_pre: tuple[tuple[float, ...], ...] = ()
    c_post: tuple[tuple[float, ...], ...] = ()
    g_DC: tuple[float, ...] = (0.0,)
    g_DC2: tuple[float, ...] = (0.0,)
    G_Qual: tuple[tuple[float, float], ...] = ()
    G2_Qual: tuple[float, ...] = ()
    f_z: float
    f_p1: float
    f_p2: float
    f_LF: float
    N_b: int = 1
    b_min: tuple[float, ...] = (0.0,)
    b_max: tuple[float, ...] = (0.85,)
    N_bg: int = 0
    N_bf: int = 3
    N_f: int = 0
    bmaxg: float = 0.2
    floating: str = "greedy"
    N_tail_start: int = 0
    B_float_RSS_MAX: float = 0.0
    d_w: int = 0
    N_fix: int = 0
    N_max: int = 0
    w_max: float = 0.7
    N_wg: int = 0
    N_wf: int = 4
    w_maxg: float = 0.05
    sample_adjustment: tuple[int, int] = (-16, 16)
    eta_0: float
    SNR_TX: float
    sigma_RJ: float
    A_DD: float
    R_LM: float
    DER_0: float
    N_qb: int = 0
    P_qc: float = 1e-7
    S_tn: str = "D3.3"
    crosstalk: str = "power sum"
    pdf: str = "exact"
    H_r: str = "signal and noise"
    mlsd: str = "none"
    Delta_COM: float = 3.0
    COM_min: float = 3.0
    VEC_max: float = 12.0
    VEO_min: float = 0.0
    VEO_test: float = 0.0
    ERL_min: float = 0.0
    T_O: float = 0.0
    sigma_r: float = 0.02
    samples_C2M: int = 100
    f_v: float = 0.59357
    f_f: float = 0.59357
    f_n: float = 0.59357
    f_2: float = 40e9
    A_ft: float = 0.6
    A_nt: float = 0.6
    N: int = 0
    N_bx: int = 0
    T_r_TDR: float = 10e-12
    beta_x: float = 0.0
    rho_x: float = 0.618
    t_fx: tuple[float, float] = (0.0, 0.0)
    Tukey: bool = True
    Local_Search: int = 0

    def __post_init__(self) -> None:
        for field in ("name", "title", "source"):
            check.instance(self, field, getattr(self, field), str)
        for field, (unit, low, high) in NUMBERS.items():
            check.between(self, field, getattr(self, field), low, high, unit, _hint(field, getattr(self, field)))
        for field, (least, most) in COUNTS.items():
            check.count(self, field, getattr(self, field), least, most)
        for field, (unit, low, high) in PAIRS.items():
            check.numbers(self, field, getattr(self, field), 2)
            if len(getattr(self, field)) != 2:
                raise check.fail(self, field, "(transmitter, receiver)", getattr(self, field))
            for i, value in enumerate(getattr(self, field)):
                check.between(self, f"{field}[{i}]", value, low, high, unit)
        for field in LISTS:
            check.numbers(self, field, getattr(self, field), 1)
            for value in getattr(self, field):
                check.between(self, field, value, -60, 20, "dB")
        for field, choices in (
            ("S_tn", TX_NOISE),
            ("crosstalk", CROSSTALK),
            ("mlsd", MLSD_FORMS),
            ("floating", FLOATING),
            ("pdf", PDF),
            ("H_r", RECEIVER_FILTER),
        ):
            check.one_of(self, field, getattr(self, field), choices)
        check.instance(self, "Tukey", self.Tukey, bool)
        self._check_network()
        self._check_equalisers()

    def _check_network(self) -> None:
        for field, unit, high in (("C_d", "F", 1e-9), ("L_s", "H", 1e-6)):
            value = getattr(self, field)
            if not isinstance(value, tuple) or len(value) != 2:
                raise check.fail(self, field, "(transmitter, receiver), each a tuple of stages", value)
            for end in value:
                check.numbers(self, field, end, 1)
                for x in end:
                    check.between(self, field, x, 0, high, unit)
        for end in (0, 1):
            check.same_length(self, ("L_s", self.L_s[end]), ("C_d", self.C_d[end]))
        for field in ("C_0", "C_1"):
            check.between(self, field, getattr(self, field), 0, 1e-9, "F")
        check.instance(self, "packages", self.packages, tuple)
        for i, line in enumerate(self.packages):
            check.instance(self, f"packages[{i}]", line, Line)
        if self.board is not None:
            check.instance(self, "board", self.board, Line)
        check.instance(self, "cases", self.cases, tuple)
        if not self.cases:
            raise check.fail(self, "cases", "one test case or more", self.cases)
        for i, case in enumerate(self.cases):
            check.instance(self, f"cases[{i}]", case, Case)
            for side in ("tx", "rx", "fext", "next"):
                self.end(case, side)

    def _check_equalisers(self) -> None:
        for field in ("c_pre", "c_post"):
            value = getattr(self, field)
            check.instance(self, field, value, tuple)
            for i, values in enumerate(value):
                check.numbers(self, f"{field}[{i}]", values, 1)
                for c in values:
                    check.between(self, f"{field}[{i}]", c, -1, 1)
        for field in ("b_min", "b_max"):
            check.numbers(self, field, getattr(self, field))
            if len(getattr(self, field)) != self.N_b:
                raise check.fail(self, field, f"N_b = {self.N_b} numbers", getattr(self, field))
        for i, (low, high) in enumerate(zip(self.b_min, self.b_max, strict=True)):
            check.between(self, f"b_min[{i}]", low, -10, high)
        check.instance(self, "G_Qual", self.G_Qual, tuple)
        for i, pair in enumerate(self.G_Qual):
            check.numbers(self, f"G_Qual[{i}]", pair, 2)
        check.numbers(self, "G2_Qual", self.G2_Qual)
        check.same_length(self, ("G_Qual", self.G_Qual), ("G2_Qual", self.G2_Qual))
        if self.N_bg and self.N_f < self.N_b + self.N_bg * self.N_bf:
            raise check.fail(self, "N_f", f"at least N_b + N_bg N_bf = {self.N_b + self.N_bg * self.N_bf}", self.N_f)
        if self.N_fix and self.d_w >= self.N_fix:
            raise check.fail(self, "d_w", f"below N_fix = {self.N_fix}", self.d_w)
        if self.N_fix and self.N_wg and self.N_max < self.N_fix + self.N_wg * self.N_wf:
            raise check.fail(self, "N_max", f"at least N_fix + N_wg N_wf = {self.N_fix + self.N_wg * self.N_wf}", self.N_max)
        if self.mlsd != "none" and self.N_b < 1:
            raise check.fail(self, "mlsd", "none where N_b is 0", self.mlsd)
        if self.N_fix and self.N_bg:
            raise check.fail(self, "N_bg", "0 with a receiver FFE", self.N_bg)
        if self.N_fix and self.N_b > 1:
            raise check.fail(self, "N_b", "0 or 1 with a receiver FFE", self.N_b)
        value = self.sample_adjustment
        if not isinstance(value, tuple) or len(value) != 2:
            raise check.fail(self, "sample_adjustment", "(first, last) sample", value)
        check.count(self, "sample_adjustment[0]", value[0], -10 * self.M)
        check.count(self, "sample_adjustment[1]", value[1], value[0], 10 * self.M)

    @property
    def mean_square(self) -> float:
        """sigma_X^2 of (93A-29), 5/9 for PAM4."""
        return (self.L**2 - 1) / (3 * (self.L - 1) ** 2)

    @property
    def levels(self) -> np.ndarray:
        """The L symbol values of (93A-39), evenly spaced from -1 to 1."""
        return 2 * np.arange(self.L) / (self.L - 1) - 1

    def end(self, case: Case, side: str) -> tuple[Package | Trace, ...]:
        """Package and host board of one ``side`` (tx, rx, fext, next), circuit side first."""
        end: End = getattr(case, side)
        which = 1 if side == "rx" else 0
        kinds = {line.name: line for line in self.packages}
        if end.package and end.package not in kinds:
            raise check.fail(self, f"case {case.name}.{side}.package", "one of " + ", ".join(kinds), end.package)
        lines = kinds[end.package].sections(end.z_p) if end.package else ()
        die = Die(capacitances=self.C_d[which], inductances=self.L_s[which], bump=self.C_b[which])
        parts: tuple[Package | Trace, ...] = (Package(die=die, lines=lines, ball_capacitance=self.C_p[which]),)
        if end.z_bp > 0:
            if self.board is None:
                raise check.fail(self, f"case {case.name}.{side}.z_bp", "0 where there is no board", end.z_bp)
            parts += (Trace(line=self.board.sections((end.z_bp,))[0], pads=(self.C_0, self.C_1)),)
        return parts

    @property
    def tx_settings(self) -> tuple[np.ndarray, int]:
        """Every allowed transmitter setting, (n, n_taps) with c(0) = 1 - sum |c(i)| >= c_0, and the place of c(0).

        The first tap varies slowest, as in the nested loops of the task force's script.
        """
        pre = len(self.c_pre)
        every = list(product(*self.c_pre, *self.c_post))
        grid = np.array(every, float).reshape(len(every), pre + len(self.c_post))
        main = 1 - np.sum(np.abs(grid), axis=1)
        keep = main >= self.c_0 - 1e-12
        if not np.any(keep):
            raise check.fail(self, "c_0", "small enough for a transmitter setting", self.c_0)
        return np.concatenate([grid[keep, :pre], main[keep, None], grid[keep, pre:]], axis=1), pre

    @property
    def ctle_settings(self) -> tuple[tuple[float, float], ...]:
        """Every (g_DC, g_DC2) to search [dB], g_DC slowest."""
        return tuple((g, g2) for g in self.g_DC for g2 in self.g_DC2 if self._qualified(g, g2))

    @property
    def n_entries(self) -> int:
        """Size of the search: CTLE settings times transmitter settings, with the receiver of Annex 178A times phases."""
        first, last = self.sample_adjustment
        return len(self.ctle_settings) * len(self.tx_settings[0]) * (last - first + 1 if self.N_fix else 1)

    def _qualified(self, g: float, g2: float) -> bool:
        """Whether the pair lies in one of the boxes of G2_Qual (sorted, each from the one above it) and G_Qual."""
        if not self.G_Qual:
            return True
        top = None
        for edge, box in sorted(zip(self.G2_Qual, self.G_Qual, strict=True), reverse=True):
            above = g2 <= edge if top is None else g2 < top
            if above and g2 >= edge and min(box) <= g < max(box):
                return True
            top = edge
        return False


def _hint(field: str, value: Any) -> str:
    if field == "f_b" and isinstance(value, float | int) and 1 < value < 1e4:
        return f"was {value:g} GBd meant? Write {value:g}e9, or the unit beside it"
    return ""
