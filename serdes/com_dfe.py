"""The receiver of IEEE 802.3 Annex 93A: sampling point, feedback taps, figure of merit, and the search over every setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsp import filters
from serdes.com_channel import ComPath, pulse_behind_ctle
from serdes.com_sheet import Sheet

PAD = 24
"""Symbols of zeros before a pulse: room for taps that shift it."""
_BINS = 256


@dataclass(frozen=True, kw_only=True, eq=False)
class Equalised:
    """A chosen setting and what it leaves. Voltages [V].

    ``pulse``: through pulse behind CTLE, transmitter taps (and receiver FFE, main cursor unchanged), M samples a symbol;
    ``at``: index of the sampling point. ``main``: h(t_s). ``feedback``: taps relative to it. ``isi``: every cursor left,
    ``slopes``: h_J [V/UI], ``crosstalk``: cursors of each aggressor at its worst phase. ``variances`` [V^2]: N, TX, J (random
    and dual-Dirac), RJ, ISI, XT as the figure of merit has them. ``feed_forward``: receiver taps, main one 1; ``spectra``:
    noise before them (`com_ffe.Spectra`), None without.
    """

    g_DC: float
    g_DC2: float
    tx: tuple[float, ...]
    before: int
    pulse: np.ndarray
    at: int
    main: float
    feedback: tuple[float, ...]
    isi: np.ndarray
    slopes: np.ndarray
    crosstalk: tuple[np.ndarray, ...]
    variances: dict[str, float]
    fom: float
    feed_forward: tuple[float, ...] = (1.0,)
    n_precursors: int = 0
    n_candidates: int = 0
    n_evaluated: int = 0
    spectra: Any = None


def ctle_transfer(sheet: Sheet, f: np.ndarray, g_DC: float, g_DC2: float) -> np.ndarray:
    """H_ctf (93A-22)."""
    made = filters.Ctle(
        zero=sheet.f_z,
        pole1=sheet.f_p1,
        pole2=sheet.f_p2,
        low_frequency_pole=sheet.f_LF,
        gains_db=(g_DC,),
        low_gains_db=(g_DC2,),
    )
    return made.transfer(f, g_DC, g_DC2)


def receiver_noise(sheet: Sheet, f: np.ndarray, g_DC: float, g_DC2: float) -> float:
    """sigma_N^2 [V^2] (93A-35): the sum over the frequencies of the data, as the task force's script takes it."""
    power = np.abs(filters.butterworth4(f, sheet.f_r * sheet.f_b) * ctle_transfer(sheet, f, g_DC, g_DC2)) ** 2
    return float(sheet.eta_0 * np.sum(power[1:] * np.diff(f)))


def padded(sheet: Sheet, pulse: np.ndarray) -> np.ndarray:
    """The pulse with `PAD` symbols of zeros before it, and as many and those of the taps after; whole symbols in all."""
    after = PAD + max(sheet.N_f, sheet.N_b) + 2
    n = PAD + -(-pulse.size // sheet.M) + after
    out = np.zeros(n * sheet.M)
    out[PAD * sheet.M : PAD * sheet.M + pulse.size] = pulse
    return out


def shifted(sheet: Sheet, pulse: np.ndarray, taps: Sequence[float] | np.ndarray, before: int) -> np.ndarray:
    """The pulse behind symbol-spaced taps, same length; what leaves it is lost, so pad first."""
    out = np.zeros(pulse.size)
    for k, c in enumerate(taps):
        shift = (k - before) * sheet.M
        if c == 0:
            continue
        if shift >= 0:
            out[shift:] += c * pulse[: pulse.size - shift]
        else:
            out[:shift] += c * pulse[-shift:]
    return out


def phase_products(sheet: Sheet, x: np.ndarray, n_lags: int) -> np.ndarray:
    """sum_n x[n] x[n - k] over the symbols at each phase, shape (M, n_lags)."""
    rows = x.reshape(-1, sheet.M)
    return np.stack([np.sum(rows[k:] * rows[: rows.shape[0] - k], axis=0) for k in range(n_lags)], axis=1)


def slope_of(sheet: Sheet, pulse: np.ndarray) -> np.ndarray:
    """h_J of (93A-28) at every sample: the central difference over two samples [V/UI], shape of ``pulse``.

    Zero at both ends of what is not padding: where the pulse is cut off is no edge.
    """
    out = np.zeros(pulse.size)
    out[1:-1] = (pulse[2:] - pulse[:-2]) * (sheet.M / 2)
    there = np.flatnonzero(pulse)
    if there.size:
        out[: there[0] + 2] = 0
        out[max(there[-1] - 1, 0) :] = 0
    return out


def worst_phase(sheet: Sheet, pulse: np.ndarray) -> np.ndarray:
    """Cursors of an aggressor at the phase with the most power (93A-33); ``pulse`` in whole symbols."""
    rows = pulse.reshape(-1, sheet.M)
    return rows[:, int(np.argmax(np.sum(rows**2, axis=0)))]


class CrosstalkPower:
    """sigma_XT^2 of the search by CTLE and transmitter setting [V^2].

    "power sum": the spectrum of the task force's script, (2 / f_2) sum A^2 sinc^2 |H_ffe| |H|^2 df to f_b, near-end without
    H_ffe; it holds |H_ffe| to the first power. "worst phase": (93A-33) and (93A-34) as written.
    """

    def __init__(self, sheet: Sheet, paths: Sequence[ComPath], taps: np.ndarray, before: int) -> None:
        self.sheet, self.taps, self.before = sheet, taps, before
        self.aggressors = tuple(path for path in paths if path.kind != "thru")
        if not self.aggressors or sheet.crosstalk != "power sum":
            return
        f = self.aggressors[0].f
        self.f = f[: min(int(np.searchsorted(f, sheet.f_b, side="right")) + 1, f.size)]
        weight = np.sinc(self.f / sheet.f_b) ** 2 * 2 * (f[2] - f[1]) / sheet.f_2
        self.power = {"fext": np.zeros(self.f.size), "next": np.zeros(self.f.size)}
        for path in self.aggressors:
            amplitude = sheet.A_fe if path.kind == "fext" else sheet.A_ne
            h = path.h if path.f.size == f.size and np.array_equal(path.f, f) else np.interp(f, path.f, np.abs(path.h))
            self.power[path.kind] += amplitude**2 * weight * np.abs(h[: self.f.size]) ** 2
        # |H_ffe| is even about half the symbol rate and smooth: its average over a bin is its value in the middle
        folded = np.abs((self.f / sheet.f_b + 0.5) % 1 - 0.5)
        self.bins = np.minimum((folded * 2 * _BINS).astype(int), _BINS - 1)
        centres = (np.arange(_BINS) + 0.5) / (2 * _BINS)
        self.shape = np.abs(np.exp(-2j * np.pi * np.outer(centres, np.arange(taps.shape[1]) - before)) @ taps.T).T

    def variance(self, g_DC: float, g_DC2: float) -> np.ndarray:
        """One value per transmitter setting, shape (n,)."""
        sheet = self.sheet
        if not self.aggressors:
            return np.zeros(len(self.taps))
        if sheet.crosstalk == "power sum":
            gain = np.abs(ctle_transfer(sheet, self.f, g_DC, g_DC2)) ** 2
            far = np.bincount(self.bins, self.power["fext"] * gain, _BINS)
            return sheet.mean_square * (self.shape @ far + np.sum(self.power["next"] * gain))
        total = np.zeros(len(self.taps))
        n = self.taps.shape[1]
        for path in self.aggressors:
            x = padded(sheet, pulse_behind_ctle(sheet, path.impulse, g_DC, g_DC2))
            products = phase_products(sheet, x, n)
            if path.kind == "next":
                total += np.max(products[:, 0])
                continue
            apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
            power = np.einsum("sk,mkl,sl->sm", self.taps, products[:, apart], self.taps)
            total += np.max(power, axis=1)
        return sheet.mean_square * total


def feedback_taps(sheet: Sheet, cursors: np.ndarray, main: float) -> np.ndarray:
    """b(1) .. of (93A-26) with floating groups and tail limit; ``cursors``: h(t_s + n T_b), n from 1 to the last tap."""
    from dsp import kernels

    return kernels.bounded_taps(
        np.ascontiguousarray(cursors, float), float(main), np.array(sheet.b_min, float), np.array(sheet.b_max, float),
        sheet.N_bg, sheet.N_bf, sheet.bmaxg, sheet.floating == "greedy", sheet.N_tail_start, sheet.B_float_RSS_MAX,
    )  # fmt: skip


def span(sheet: Sheet) -> int:
    """How many post-cursors feedback taps can reach."""
    return sheet.N_f if sheet.N_bg else sheet.N_b


def figures(
    sheet: Sheet, paths: Sequence[ComPath], settings: Sequence[tuple[float, float]], prune: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Figure of merit [dB] and sampling index (into the padded pulse), (n_ctle, n_tx), of every setting; 93A.1.6.

    Sampled where h(t_s - T_b) = h(t_s + T_b) - h(t_s) b(1), before the peak (93A-25), with b(1) in its limits: the nearest of
    the M instants a symbol in the two symbols after the pulse passes 1 % of its peak.
    ``prune``: -inf where an earlier CTLE setting has one that no feedback tap could reach here.
    """
    from dsp import kernels

    taps, before = sheet.tx_settings
    crosstalk = CrosstalkPower(sheet, paths, taps, before)
    thru = paths[0]
    low, high = np.array(sheet.b_min, float), np.array(sheet.b_max, float)
    fom = np.empty((len(settings), len(taps)))
    at = np.empty(fom.shape, np.int64)
    jitter = sheet.A_DD**2 + sheet.sigma_RJ**2
    best = -np.inf
    for c, (g, g2) in enumerate(settings):
        x = padded(sheet, pulse_behind_ctle(sheet, thru.impulse, g, g2))
        fom[c], at[c] = kernels.search_dfe(
            x, int(np.argmax(x)), taps, before, sheet.M, low, high, span(sheet), sheet.N_bg, sheet.N_bf, sheet.bmaxg,
            sheet.floating == "greedy", sheet.N_tail_start, sheet.B_float_RSS_MAX, phase_products(sheet, x, taps.shape[1]),
            phase_products(sheet, slope_of(sheet, x), taps.shape[1]), sheet.mean_square, jitter, 10 ** (-sheet.SNR_TX / 10),
            receiver_noise(sheet, thru.f, g, g2), crosstalk.variance(g, g2), sheet.R_LM / (sheet.L - 1),
            best if prune else -np.inf,
        )  # fmt: skip
        best = max(best, float(np.max(fom[c])))
    return fom, at


def search(sheet: Sheet, paths: Sequence[ComPath]) -> Equalised | None:
    """The setting of the highest figure of merit (93A-36), of all or as `Local_Search` walks; None: no sampling point."""
    settings = sheet.ctle_settings
    fom, at = figures(sheet, paths, settings, prune=not sheet.Local_Search)
    best = _walked(sheet, settings, fom) if sheet.Local_Search else int(np.argmax(fom))
    if best < 0 or fom.flat[best] == -np.inf:
        return None
    c, s = divmod(best, fom.shape[1])
    return equalise(sheet, paths, settings[c], s, int(at[c, s]), fom.size)


def _walked(sheet: Sheet, settings: Sequence[tuple[float, float]], fom: np.ndarray) -> int:
    from dsp import kernels

    values = (*sheet.c_pre, *sheet.c_post)
    taps, before = sheet.tx_settings
    own = np.delete(taps, before, axis=1)
    steps = np.zeros(own.shape, np.int64)
    for k, column in enumerate(values):
        steps[:, k] = np.argmin(np.abs(own[:, k, None] - np.array(column)), axis=1)
    gains = np.array([sheet.g_DC.index(g) for g, _ in settings])
    lows = np.array([sheet.g_DC2.index(g2) for _, g2 in settings])
    swept = np.array([k for k, column in enumerate(values) if len(column) > 1], np.int64)
    return int(kernels.walk_settings(fom, lows, gains, steps, swept, sheet.Local_Search))


def equalise(
    sheet: Sheet, paths: Sequence[ComPath], setting: tuple[float, float], which: int, at: int, n_candidates: int = 1
) -> Equalised:
    """Everything about one setting: CTLE ``setting``, transmitter's ``which`` sampled at index ``at`` of the padded pulse."""
    g_DC, g_DC2 = setting
    taps, before = sheet.tx_settings
    row = taps[which]
    h = shifted(sheet, padded(sheet, pulse_behind_ctle(sheet, paths[0].impulse, g_DC, g_DC2)), row, before)
    cursors = h[at % sheet.M :: sheet.M].copy()
    k, main = at // sheet.M, float(h[at])
    b = feedback_taps(sheet, cursors[k + 1 : k + 1 + span(sheet)], main)
    cursors[k] = 0
    cursors[k + 1 : k + 1 + b.size] -= b * main
    slopes = slope_of(sheet, h)[at % sheet.M :: sheet.M]
    aggressors = []
    for path in paths[1:]:
        x = padded(sheet, pulse_behind_ctle(sheet, path.impulse, g_DC, g_DC2))
        aggressors.append(worst_phase(sheet, x if path.kind == "next" else shifted(sheet, x, row, before)))
    jitter = sheet.mean_square * float(np.sum(slopes**2))
    variances = {
        "N": receiver_noise(sheet, paths[0].f, g_DC, g_DC2),
        "TX": main**2 * 10 ** (-sheet.SNR_TX / 10),
        "RJ": sheet.sigma_RJ**2 * jitter,
        "J": (sheet.A_DD**2 + sheet.sigma_RJ**2) * jitter,
        "ISI": sheet.mean_square * float(np.sum(cursors**2)),
        "XT": float(CrosstalkPower(sheet, paths, taps[which : which + 1], before).variance(g_DC, g_DC2)[0]),
    }
    noise = sum(variances[name] for name in ("N", "TX", "J", "ISI", "XT"))
    return Equalised(
        g_DC=g_DC, g_DC2=g_DC2, tx=tuple(row.tolist()), before=before, pulse=h, at=at, main=main, feedback=tuple(b.tolist()),
        isi=cursors, slopes=slopes, crosstalk=tuple(aggressors), variances=variances,
        fom=float(10 * np.log10((sheet.R_LM * main / (sheet.L - 1)) ** 2 / noise)), n_candidates=n_candidates,
        n_evaluated=n_candidates,
    )  # fmt: skip
