"""The keywords of the task force's script, with their MATLAB values, as a parameter set.

They mean what the script r4.50 does with them: its definition of the transmitter noise, its search.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from dsp.units import GHz, mm, mV, ns
from serdes.com_parts import Case, End, Line
from serdes.com_sheet import Sheet

_ENDS = ("(TX)", "(RX)", "(FEXT)", "(NEXT)")
# keyword: (field of Sheet, factor to SI)
_NUMBERS = {
    "f_b": ("f_b", GHz), "Delta_f": ("Delta_f", GHz), "f_min": ("f_min", GHz), "R_0": ("R_0", 1.0), "A_v": ("A_v", 1.0),
    "A_fe": ("A_fe", 1.0), "A_ne": ("A_ne", 1.0), "f_r": ("f_r", 1.0), "c(0)": ("c_0", 1.0), "f_z": ("f_z", GHz),
    "f_p1": ("f_p1", GHz), "f_p2": ("f_p2", GHz), "f_HP_PZ": ("f_LF", GHz), "eta_0": ("eta_0", 1e-9), "SNR_TX": ("SNR_TX", 1.0),
    "sigma_RJ": ("sigma_RJ", 1.0), "A_DD": ("A_DD", 1.0), "R_LM": ("R_LM", 1.0), "DER_0": ("DER_0", 1.0),
    "COM Pass threshold": ("COM_min", 1.0), "ERL Pass threshold": ("ERL_min", 1.0), "VEC Pass threshold": ("VEC_max", 1.0),
    "EH_min": ("VEO_min", mV), "Min_VEO_Test": ("VEO_test", mV), "f_v": ("f_v", 1.0), "f_f": ("f_f", 1.0), "f_n": ("f_n", 1.0),
    "f_2": ("f_2", GHz), "A_ft": ("A_ft", 1.0), "A_nt": ("A_nt", 1.0), "TR_TDR": ("T_r_TDR", ns), "beta_x": ("beta_x", 1e9),
    "rho_x": ("rho_x", 1.0), "sigma_r": ("sigma_r", 1.0), "bmaxg": ("bmaxg", 1.0),
    "B_float_RSS_MAX": ("B_float_RSS_MAX", 1.0),
}  # fmt: skip
_COUNTS = {
    "L": "L", "M": "M", "N_b": "N_b", "N_bg": "N_bg", "N_bf": "N_bf", "N_f": "N_f", "N_tail_start": "N_tail_start",
    "N": "N", "N_bx": "N_bx", "Local Search": "Local_Search", "samples_for_C2M": "samples_C2M",
}  # fmt: skip
_OWN = (
    "T_r", "FORCE_TR", "Include PCB", "package_tl_gamma0_a1_a2", "package_tl_tau", "package_Z_c", "board_tl_gamma0_a1_a2",
    "board_tl_tau", "board_Z_c", "C_d", "L_s", "C_b", "C_p", "C_0", "C_1", "R_d", "z_p select", "g_DC", "g_DC_HP",
    "G_Qual", "G2_Qual",
    "b_max(1)", "b_min(1)", "b_max(2..N_b)", "b_min(2..N_b)", "T_O", "PMD_type", "fixture delay time", "Tukey_Window", "MLSE",
    "ffe_pre_tap_len", "ffe_post_tap_len", "ffe_pre_tap1_max", "ffe_post_tap1_max", "ffe_tapn_max", "sample_adjustment",
    "N_bmax", "ts_anchor", "Display frequency domain",
    *(f"z_p {end}" for end in _ENDS), *(f"z_bp {end}" for end in _ENDS),
    *(f"c({n})" for n in (-4, -3, -2, -1, 1, 2, 3)),
)  # fmt: skip
# Keywords whose other values this project does not know: (value it takes, what it is)
_MUST_BE: dict[str, tuple[tuple[Any, ...], str]] = {
    "RX_CALIBRATION": ((0,), "receiver calibration"), "Raised_Cosine": ((0,), "raised-cosine receiver"),
    "Bessel_Thomson": ((0,), "Bessel-Thomson receiver"), "IDEAL_TX_TERM": ((0,), "ideal termination"),
    "IDEAL_RX_TERM": ((0,), "ideal termination"), "AC_CM_RMS": ((0,), "common-mode noise"), "N_b_step": ((0,),
    "quantised DFE taps"),
    "ffe_tap_step_size": ((0,), "quantised FFE taps"), "INCLUDE_CTLE": ((1,), "no CTLE"), "INC_PACKAGE": ((1,), "no packages"),
    "INCLUDE_TX_RX_FILTER": ((1,), "no filters"), "FFE_OPT_METHOD": (("MMSE",), "another FFE adaptation"),
    "TS_SRCH_MODE": (("full-sweep",), "another phase search"), "CTLE_type": (("CL120d",), "another CTLE"),
    "GDC_MIN": ((0,), "a limit of g_DC + g_DC2"), "Histogram_Window_Weight": (("Gaussian", "gaussian"), "another window"),
    "f_HP_Z": ((), "a CTLE by lists of poles"), "SNR_TXwC0": ((0,), "SNR_TX scaled by c(0)"),
}  # fmt: skip
IGNORED = (
    "DIAGNOSTICS", "DISPLAY_WINDOW", "CSV_REPORT", "SAVE_FIGURES", "SAVE_FIGURE_to_CSV", "SAVE_TD", "SAVE_CONFIG2MAT",
    "PLOT_CM",
    "BREAD_CRUMBS", "COM_CONTRIBUTION", "Port Order", "Sigma BBN step", "TDR", "ERL", "ERL_ONLY", "EW", "TDR_W_TXPKG",
    "RESULT_DIR",
    "ffe_main_cursor_min", "N-g", "N-max", "nF", "nH", "mm", "Ohm", "dB", "V", "UI", "GHz", "ns",
    "N_v", "D_p", "f_hp", "T_k", "Grr", "RUNTAG", "FORCE_PDF", "COMPUTE_TDILN", "COMPUTE_RILN",
)  # fmt: skip
"""What says how the script prints and plots, or how ports are numbered, which is read from the data here."""
KNOWN = (*_NUMBERS, *_COUNTS, *_OWN, *_MUST_BE, *IGNORED)
REQUIRED = (
    "f_b",
    "A_v",
    "A_fe",
    "A_ne",
    "f_r",
    "f_z",
    "f_p1",
    "f_p2",
    "eta_0",
    "SNR_TX",
    "sigma_RJ",
    "A_DD",
    "R_LM",
    "DER_0",
    "g_DC",
)


def matlab(text: Any) -> np.ndarray:
    """The two-dimensional array that a MATLAB expression of numbers, ranges, ``ones(1, n)`` and arithmetic describes."""
    if isinstance(text, int | float):
        return np.array([[float(text)]])
    body = str(text).strip()
    if body.startswith("[") and body.endswith("]"):
        body = body[1:-1]
    rows = []
    for row in body.split(";"):
        tight = re.sub(r"\s*([*:/^,(])\s*", r"\1", row.strip())
        # inside brackets "a - b" is a difference and "a -b" are two numbers
        tight = re.sub(r"(?<=[\w.)])\s+([-+])\s+(?=[\w.(])", r"\1", tight)
        parts = [p for p in re.split(r"[\s,]+(?![^()]*\))", tight) if p]
        rows.append([x for part in parts for x in _element(part, str(text))])
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"{text!r} has rows of different length")
    return np.array(rows, float)


def _element(part: str, text: str) -> list[float]:
    pieces = re.split(r":(?![^()]*\))", part)
    if len(pieces) > 3:
        raise ValueError(f"{text!r} is not a range: start:step:stop")
    if len(pieces) > 1:
        ends = [_arithmetic(p, text)[0] for p in pieces]
        start, step, stop = ends if len(ends) == 3 else (ends[0], 1.0, ends[1])
        if step == 0:
            return [start] if start == stop else []
        return [start + k * step for k in range(int(np.floor((stop - start) / step + 1e-9)) + 1)]
    return _arithmetic(part, text)


def _arithmetic(part: str, text: str) -> list[float]:
    def value(node: ast.AST) -> np.ndarray:
        if isinstance(node, ast.Expression):
            return value(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return np.array([float(node.value)])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            return -value(node.operand) if isinstance(node.op, ast.USub) else value(node.operand)
        if isinstance(node, ast.BinOp):
            a, b = value(node.left), value(node.right)
            for kind, function in ((ast.Add, np.add), (ast.Sub, np.subtract), (ast.Mult, np.multiply), (ast.Div, np.divide)):
                if isinstance(node.op, kind):
                    return function(a, b)
            if isinstance(node.op, ast.Pow):
                return a**b
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("ones", "zeros")
            and len(node.args) == 2
        ):
            one, n = (int(value(arg)[0]) for arg in node.args)
            if one == 1:
                return np.full(n, float(node.func.id == "ones"))
        raise ValueError(f"{text!r} is not a number, a range or ones(1, n)")

    try:
        tree = ast.parse(part.replace("^", "**").lstrip(), mode="eval")
    except SyntaxError:
        raise ValueError(f"{text!r} is not a number, a range or ones(1, n)") from None
    return value(tree).tolist()


def from_keywords(keywords: Mapping[str, Any], name: str = "sheet") -> Sheet:
    """The parameter set that the keywords of the task force's script describe.

    Raises ValueError that names the keyword: unknown (with a suggestion), missing, not a value, or an option not known here.
    """
    for key in keywords:
        if key not in KNOWN:
            near = difflib.get_close_matches(key, KNOWN, 1, 0.5)
            raise ValueError(f"{name}: unknown keyword {key!r}" + (f", did you mean {near[0]!r}?" if near else ""))
    for key in REQUIRED:
        if key not in keywords:
            raise ValueError(f"{name}: keyword {key!r} is missing")
    k = _Reader(keywords, name)
    for key, (allowed, what) in _MUST_BE.items():
        if key in keywords and not _is_one_of(keywords[key], allowed):
            raise ValueError(f"{name}: {key} = {keywords[key]!r} is not supported ({what})")
    values: dict[str, Any] = {field: k.number(key) * factor for key, (field, factor) in _NUMBERS.items() if key in keywords}
    values |= {field: int(k.number(key)) for key, field in _COUNTS.items() if key in keywords}
    values.setdefault("f_LF", values["f_b"] / 80)
    values["T_r"] = k.number("T_r", 0.0) * ns if k.number("FORCE_TR", 0.0) else 0.0
    values |= _network(k) | _equalisers(k, values)
    values["t_fx"] = tuple(k.pair("fixture delay time", 0.0))
    values["Tukey"] = bool(k.number("Tukey_Window", 0.0))
    if str(keywords.get("PMD_type", "C2C")) == "C2M":
        values["T_O"] = k.number("T_O", 0.0) / 1000
    for field in ("N_bx",):
        values.setdefault(field, values.get("N_b", 0))
    return Sheet(name=name, **values)


def _is_one_of(value: Any, allowed: tuple[Any, ...]) -> bool:
    try:
        number = float(matlab(value).ravel()[0])
    except (ValueError, IndexError):
        return value in allowed
    return number in allowed


class _Reader:
    """Keywords as numbers; errors name the keyword."""

    def __init__(self, keywords: Mapping[str, Any], name: str) -> None:
        self.keywords, self.name = keywords, name

    def array(self, key: str, default: Any = None) -> np.ndarray:
        value = self.keywords.get(key, default)
        if value is None:
            raise ValueError(f"{self.name}: keyword {key!r} is missing")
        try:
            return matlab(value)
        except ValueError as error:
            raise ValueError(f"{self.name}: {key}: {error}") from None

    def number(self, key: str, default: Any = None) -> float:
        array = self.array(key, default)
        if array.size < 1:
            raise ValueError(f"{self.name}: {key}: no number in {self.keywords.get(key)!r}")
        return float(array.flat[0])

    def list(self, key: str, default: Any = None) -> tuple[float, ...]:
        return tuple(self.array(key, default).ravel().tolist())

    def pair(self, key: str, default: Any = None) -> tuple[float, float]:
        values = self.list(key, default)
        return (values[0], values[0]) if len(values) == 1 else (values[0], values[1])


def _stages(k: _Reader, key: str, factor: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Die elements: a row [Tx Rx] of one stage each, or one row of stages an end."""
    array = k.array(key) * factor
    if array.shape[0] == 1:
        row = array[0] if array.shape[1] > 1 else np.repeat(array[0], 2)
        return (float(row[0]),), (float(row[1]),)
    return tuple(array[0].tolist()), tuple(array[1].tolist())


def _network(k: _Reader) -> dict[str, Any]:
    gamma0, a1, a2 = k.list("package_tl_gamma0_a1_a2")
    root, per = ns**0.5 / mm, ns / mm
    impedances = k.array("package_Z_c")
    # rows are sections, columns ends; or one row per end of four sections
    ends = impedances.T if impedances.shape[1] <= 2 else impedances
    line = {"gamma0": gamma0 / mm, "a1": a1 * root, "a2": a2 * per, "tau": k.number("package_tl_tau") * per}
    packages = tuple(
        Line(name=side, Z_c=tuple(ends[min(i, len(ends) - 1)].tolist()), **line) for i, side in enumerate(("Tx", "Rx"))
    )
    lengths = {end: k.array(f"z_p {end}") * mm for end in _ENDS}
    boards = int(k.number("Include PCB", 0.0))
    cases = []
    for column in (int(c) for c in k.list("z_p select", 1.0)):
        made = {}
        for end, side in zip(_ENDS, ("tx", "rx", "fext", "next"), strict=True):
            table = lengths[end]
            if not 1 <= column <= table.shape[1]:
                raise ValueError(f"{k.name}: z_p select {column} is not a column of z_p {end}")
            z = np.zeros(len(packages[0].Z_c))
            z[: table.shape[0]] = table[:, column - 1]
            board = k.number(f"z_bp {end}", 0.0) * mm if boards == 1 or (boards == 2 and end == "(RX)") else 0.0
            made[side] = End(package="Rx" if end == "(RX)" else "Tx", z_p=tuple(z.tolist()), z_bp=board)
        cases.append(Case(name=str(column), **made))
    found: dict[str, Any] = {
        "packages": packages, "cases": tuple(cases), "R_d": k.pair("R_d", 50.0),
        "C_d": _stages(k, "C_d", 1e-9), "L_s": _stages(k, "L_s", 1e-9),
        "C_b": tuple(c * 1e-9 for c in k.pair("C_b", 0.0)), "C_p": tuple(c * 1e-9 for c in k.pair("C_p", 0.0)),
    }  # fmt: skip
    if boards:
        g, b1, b2 = k.list("board_tl_gamma0_a1_a2")
        found["board"] = Line(
            name="board",
            Z_c=(k.number("board_Z_c"),),
            gamma0=g / mm,
            a1=b1 * root,
            a2=b2 * per,
            tau=k.number("board_tl_tau") * per,
        )
        found |= {"C_0": k.number("C_0", 0.0) * 1e-9, "C_1": k.number("C_1", 0.0) * 1e-9}
    return found


def _equalisers(k: _Reader, values: dict[str, Any]) -> dict[str, Any]:
    pre = [k.list(f"c({n})") for n in (-4, -3, -2, -1) if f"c({n})" in k.keywords]
    post = [k.list(f"c({n})") for n in (1, 2, 3) if f"c({n})" in k.keywords]
    n_b = values.get("N_b", 0)

    def limits(side: str, first: Any, rest: Any) -> tuple[float, ...]:
        if n_b == 0:
            return ()
        tail = k.list(f"{side}(2..N_b)", rest) if n_b > 1 else ()
        tail = tail * (n_b - 1) if len(tail) == 1 else tail
        return (k.number(f"{side}(1)", first), *tail[: n_b - 1])

    high = limits("b_max", None, 0.2)
    made: dict[str, Any] = {
        "c_pre": tuple(pre), "c_post": tuple(post), "g_DC": k.list("g_DC"), "g_DC2": k.list("g_DC_HP", 0.0), "b_max": high,
        "b_min": limits("b_min", -high[0] if high else 0.0, f"[{' '.join(str(-b) for b in high[1:])}]" if n_b > 1 else 0.0),
        "S_tn": "d0.2", "pdf": "bins",
        # r4.50 applies H_r to the signal only in the branch that also draws the spectra
        "H_r": "signal and noise" if k.number("Display frequency domain", 1.0) else "noise",
    }  # fmt: skip
    if "G_Qual" in k.keywords:
        made["G_Qual"] = tuple((float(a), float(b)) for a, b in k.array("G_Qual"))
        made["G2_Qual"] = k.list("G2_Qual")
    before, after = int(k.number("ffe_pre_tap_len", 0.0)), int(k.number("ffe_post_tap_len", 0.0))
    mlse = int(k.number("MLSE", 0.0))
    if mlse not in (0, 1):
        raise ValueError(f"{k.name}: MLSE = {mlse} is not supported; 0 and 1 are")
    anchor = int(k.number("ts_anchor", 0.0))
    if anchor != int(bool(before or after)):
        raise ValueError(f"{k.name}: ts_anchor = {anchor} is not supported: 1 (peak) with a receiver FFE, 0 without")
    made["mlsd"] = "r4.50" if mlse else "none"
    if before or after:
        limits_w = {k.number(key, 0.7) for key in ("ffe_pre_tap1_max", "ffe_post_tap1_max", "ffe_tapn_max")}
        if len(limits_w) > 1:
            raise ValueError(f"{k.name}: limits of the receiver FFE that differ ({sorted(limits_w)}) are not supported")
        groups = values.pop("N_bg", 0)
        span = values.pop("N_f", after)
        made |= {
            "d_w": before, "N_fix": before + 1 + after, "w_max": limits_w.pop(), "N_wg": groups, "N_wf": values.pop("N_bf", 4),
            "N_max": before + 1 + max(span, after) if groups else before + 1 + after, "w_maxg": values.pop("bmaxg", 0.05),
            "sample_adjustment": tuple(int(x) for x in k.list("sample_adjustment", "[0 0]")),
        }  # fmt: skip
        for key in ("N_tail_start", "B_float_RSS_MAX"):
            values.pop(key, None)
    return made
