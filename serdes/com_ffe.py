"""The receiver of IEEE 802.3 Annex 178A: FFE and DFE of least mean-square error, floating taps, quantiser; and its search.

The search goes best first under an error no FFE can beat, so it ends at the optimum of the whole grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsp.distribution import Interference
from serdes.com_bank import Bank, bank, n_large, n_taps, quantiser_scale, receiver_lags, wide
from serdes.com_channel import ComPath, pulse_behind_ctle
from serdes.com_dfe import Equalised, shifted, slope_of
from serdes.com_sheet import Sheet

_CHUNK = 2048


def _limits(sheet: Sheet) -> tuple[int, float, float]:
    return sheet.N_b, (sheet.b_min[0] if sheet.N_b else 0.0), (sheet.b_max[0] if sheet.N_b else 0.0)


def figure(sheet: Sheet, error: np.ndarray | float) -> np.ndarray:
    """FOM = 20 log10 (R_LM / ((L - 1) sigma_e)) [dB] of a relative squared error."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = 10 * np.log10((sheet.R_LM / (sheet.L - 1)) ** 2 / (sheet.mean_square * np.asarray(error)))
    return np.where(np.isfinite(value), value, -np.inf)


def bounds(b: Bank) -> tuple[np.ndarray, np.ndarray]:
    """Errors no FFE can beat (n_ctle, n_tx, n_phases) and peak indices (n_ctle, n_tx)."""
    from scipy.fft import next_fast_len

    from dsp import kernels

    sheet, (n_b, low, high) = b.sheet, _limits(b.sheet)
    first, last = sheet.sample_adjustment
    # circular and linear convolution agree on a period of pulse and taps; the noise lags of the taps are exact there
    period = 2 * next_fast_len(-(-(b.pulses.shape[1] // sheet.M + n_taps(sheet)) // 2))
    theta = 2 * np.pi * np.arange(period // 2 + 1) / period
    shape = np.abs(np.exp(-1j * np.outer(theta, np.arange(b.taps.shape[1]))) @ b.taps.T).T ** 2
    errors = np.empty((len(b.settings), len(b.taps), last - first + 1))
    peaks = np.empty(errors.shape[:2], np.int64)

    def one(c: int) -> None:
        rows = b.pulses[c].reshape(-1, sheet.M).T
        signal = np.abs(np.fft.rfft(rows, period, axis=1)) ** 2
        slopes = slope_of(sheet, b.pulses[c]).reshape(-1, sheet.M).T
        jitter = (sheet.A_DD**2 + sheet.sigma_RJ**2) * np.abs(np.fft.rfft(slopes, period, axis=1)) ** 2
        # crosstalk is left out: less noise is still a bound. Receiver noise is positive definite at any set of lags
        noise = np.fft.rfft(_period_lags(sheet, *b.settings[c], period)).real / sheet.mean_square
        rest = b.transmitter * signal + np.maximum(noise, 0)
        errors[c], peaks[c] = kernels.bound_ffe(
            b.pulses[c], int(np.argmax(b.pulses[c])), b.taps, b.before, sheet.M, first, last, shape, signal, jitter, rest,
            quantiser_scale(sheet), n_large(sheet), np.cos(theta), n_b, low, high,
        )  # fmt: skip

    _on_all_cores(one, range(len(b.settings)))
    return errors, peaks


def _period_lags(sheet: Sheet, g_DC: float, g_DC2: float, period: int) -> np.ndarray:
    """Receiver noise lags arranged on a circle; all that are not 0 are there, so its spectrum is that of the noise."""
    n = min(period // 2 + 1, 513)
    lags = np.zeros(period)
    known = receiver_lags(sheet, g_DC, g_DC2, n)
    lags[:n] = known
    lags[-(n - 1) :] = known[:0:-1]
    return lags


def _on_all_cores(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    import os

    with ThreadPoolExecutor(min(len(items), os.cpu_count() or 1)) as pool:
        return list(pool.map(work, items))


def evaluate(
    b: Bank, entries: np.ndarray, quantiser: np.ndarray | None = None, least: float = -1.0, exact: bool = True
) -> np.ndarray:
    """Relative squared errors of ``entries`` (n, 3): CTLE, transmitter setting, sampling index; see `kernels.evaluate_ffe`."""
    from dsp import kernels

    sheet, (n_b, low, high) = b.sheet, _limits(b.sheet)
    q = np.full(len(entries), -quantiser_scale(sheet)) if quantiser is None else quantiser
    groups = sheet.N_wg if sheet.N_wg else 0
    autos = b.autos
    halves = np.array_split(np.arange(len(entries)), 2 if len(entries) > 64 else 1)

    def part(index: np.ndarray) -> np.ndarray:
        return kernels.evaluate_ffe(
            np.ascontiguousarray(entries[index]), b.pulses, b.taps, autos, b.before, sheet.M, b.signal, b.jitter, b.rest,
            b.transmitter,
            b.far, q[index], n_large(sheet), n_taps(sheet), sheet.N_fix, sheet.d_w, groups, sheet.N_wf, sheet.w_max,
            sheet.w_maxg,
            n_b, low, high, least, exact,
        )  # fmt: skip

    return np.concatenate(_on_all_cores(part, halves))


def cursors_at(b: Bank, c: int, s: int, at: int) -> np.ndarray:
    """Every sample of the pulse, one a symbol, behind CTLE ``c`` and transmitter setting ``s``, at the phase of ``at``."""
    return shifted(b.sheet, b.pulses[c], b.taps[s], b.before)[at % b.sheet.M :: b.sheet.M]


def quantiser_noise(b: Bank, c: int, s: int, at: int) -> float:
    """Delta^2 / 12 over sigma_X^2 in the search: range V_qc from the law of signal and Gaussian noise (178A-28 to -31)."""
    from dsp import kernels

    sheet = b.sheet
    if not sheet.N_qb:
        return 0.0
    lags = np.empty(1)
    phase = at % sheet.M
    random = b.jitter[c, phase] * sheet.sigma_RJ**2 / max(sheet.A_DD**2 + sheet.sigma_RJ**2, 1e-300)
    noise = kernels.ffe_lags(b.autos[s], b.signal[c, phase], random, b.rest[c], b.transmitter, b.far[c], 1, lags)
    law = Interference(cursors=cursors_at(b, c, s, at), levels=sheet.levels, sigma=float(np.sqrt(noise * sheet.mean_square)))
    return quantiser_scale(sheet) * law.quantile(sheet.P_qc / 2) ** 2


def best_entry(b: Bank, prune: bool = True) -> tuple[np.ndarray, float, int]:
    """The entry (CTLE, transmitter setting, sampling index) of least error, its error, and how many were solved.

    Sampling instants are those of ``sample_adjustment`` about the peak of the transmitted pulse, half a symbol either way, and
    the best by FOM counts (178A.1.8); Annex 93A has a rule instead (93A-25). ``prune`` False solves every one.
    """
    sheet = b.sheet
    errors, peaks = bounds(b)
    first = sheet.sample_adjustment[0]
    if not prune:
        errors = np.full_like(errors, -np.inf)
    order = np.argsort(errors, axis=None, kind="stable")
    best, winner, solved, k = np.inf, None, 0, 0
    while k < order.size:
        size = 64 if k == 0 else _CHUNK
        chosen = order[k : k + size]
        k += size
        chosen = chosen[errors.flat[chosen] < best]
        if not chosen.size:
            break
        c, s, o = np.unravel_index(chosen, errors.shape)
        entries = np.stack([c, s, peaks[c, s] + first + o], axis=1).astype(np.int64)
        least = evaluate(b, entries, None, best, not prune)
        for i in np.argsort(least, kind="stable"):
            if least[i] >= best:
                break
            exact = least[i]
            solved += 1
            if sheet.N_qb:
                noise = quantiser_noise(b, *(int(v) for v in entries[i]))
                exact = evaluate(b, entries[i : i + 1], np.array([noise]), np.inf, True)[0]
            if exact < best:
                best, winner = float(exact), entries[i]
    if winner is None:
        raise ValueError(f"{sheet.name}: no setting has a positive main tap")
    return winner, best, solved


def search(sheet: Sheet, paths: Sequence[ComPath], prune: bool = True) -> tuple[Bank, Equalised]:
    """The optimum of the whole grid and all there is to say about it. ValueError where no setting has a main tap."""
    b = bank(sheet, paths)
    entry, _, solved = best_entry(b, prune)
    c, s, at = (int(v) for v in entry)
    one = bank(sheet, paths, (b.settings[c],))
    n = len(b.settings) * len(b.taps) * (sheet.sample_adjustment[1] - sheet.sample_adjustment[0] + 1)
    return one, equalise(sheet, paths, one, s, at, n, solved)


@dataclass(frozen=True, kw_only=True, eq=False)
class Spectra:
    """Autocovariances [V^2] at the receiver FFE's input, lags 0 .. n - 1, of a chosen setting.

    ``random`` is the part of ``jitter`` that is Gaussian; ``step`` [V] the quantiser's (178A-29).
    """

    receiver: np.ndarray
    transmitter: np.ndarray
    random: np.ndarray
    jitter: np.ndarray
    crosstalk: np.ndarray
    step: float

    @property
    def total(self) -> np.ndarray:
        """Everything but the victim's own symbols: R_n of (178A-18)."""
        white = np.zeros(self.receiver.size)
        white[0] = self.step**2 / 12
        return self.receiver + self.transmitter + self.jitter + self.crosstalk + white


def _autocorrelation(x: np.ndarray, n: int) -> np.ndarray:
    period = 2 ** int(np.ceil(np.log2(x.size + n)))
    return np.fft.irfft(np.abs(np.fft.rfft(x, period)) ** 2, period)[:n]


def equalise(
    sheet: Sheet, paths: Sequence[ComPath], b: Bank, s: int, at: int, n_candidates: int = 1, n_evaluated: int = 1
) -> Equalised:
    """Everything about transmitter setting ``s`` sampled at index ``at`` of the pulse in a bank of one CTLE setting."""
    from dsp import kernels

    (g, g2), row, before = b.settings[0], b.taps[s], b.before
    phase, (n_b, low, high) = at % sheet.M, _limits(sheet)
    n_w = n_taps(sheet)
    lags, h0, hb = np.empty(n_w), np.empty(n_w), np.empty(n_w)
    kernels.ffe_lags(b.autos[s], b.signal[0, phase], b.jitter[0, phase], b.rest[0], b.transmitter, b.far[0], n_w, lags)
    lags[0] += quantiser_noise(b, 0, s, at)
    h = shifted(sheet, b.pulses[0], row, before)
    reach = at + (sheet.d_w - np.arange(n_w)) * sheet.M
    h0, hb = np.ascontiguousarray(h[reach]), np.ascontiguousarray(h[reach + sheet.M])
    most = sheet.N_fix + (sheet.N_wg * sheet.N_wf if sheet.N_wg else 0)
    w, places = np.zeros(most), np.zeros(most, np.int64)
    error, _ = kernels.solve_ffe(
        lags, h0, hb, sheet.N_fix, sheet.d_w, sheet.N_wg, sheet.N_wf, sheet.w_max, sheet.w_maxg, n_b, low, high, w, places
    )
    taps = np.zeros(n_w)
    taps[places] = w / w[sheet.d_w]
    out = shifted(sheet, h, taps, sheet.d_w)
    cursors = out[phase :: sheet.M].copy()
    k, main = at // sheet.M, float(out[at])
    feedback = (float(np.clip(cursors[k + 1] / main, low, high)),) if n_b else ()
    cursors[k] = 0
    cursors[k + 1 : k + 1 + n_b] -= np.array(feedback) * main
    slopes = slope_of(sheet, out)[phase :: sheet.M]
    aggressors = [_aggressor(sheet, b, path, g, g2, row) for path in paths[1:]]
    spectra = input_spectra(sheet, b, at, h, aggressors)
    behind = {
        "N": quadratic(taps, spectra.receiver), "TX": quadratic(taps, spectra.transmitter), "RJ": quadratic(taps,
        spectra.random),
        "J": quadratic(taps, spectra.jitter), "ISI": sheet.mean_square * float(np.sum(cursors**2)),
        "XT": quadratic(taps, spectra.crosstalk), "Q": float(np.sum(taps**2)) * spectra.step**2 / 12,
    }  # fmt: skip
    return Equalised(
        g_DC=g, g_DC2=g2, tx=tuple(row.tolist()), before=before, pulse=out, at=at, main=main, feedback=feedback, isi=cursors,
        slopes=slopes, crosstalk=tuple(_filtered(x, taps, sheet.d_w) for x in aggressors), variances=behind,
        fom=float(figure(sheet, error)), feed_forward=tuple(taps.tolist()), n_precursors=sheet.d_w, n_candidates=n_candidates,
        n_evaluated=n_evaluated, spectra=spectra,
    )  # fmt: skip


def _aggressor(sheet: Sheet, b: Bank, path: ComPath, g: float, g2: float, row: np.ndarray) -> np.ndarray:
    """Cursors of an aggressor before the receiver FFE at its worst phase there (178A-20)."""
    x = wide(sheet, pulse_behind_ctle(sheet, path.impulse, g, g2), b.pulses.shape[1] // sheet.M)
    rows = (x if path.kind == "next" else shifted(sheet, x, row, b.before)).reshape(-1, sheet.M)
    return rows[:, int(np.argmax(np.sum(rows**2, axis=0)))]


def _filtered(x: np.ndarray, taps: np.ndarray, before: int) -> np.ndarray:
    out = np.convolve(x, taps)
    return out[before : before + x.size]


def quadratic(taps: np.ndarray, lags: np.ndarray) -> float:
    """Variance behind ``taps`` of noise with autocovariance ``lags``."""
    own = np.correlate(taps, taps, "full")[taps.size - 1 :]
    return float(own[0] * lags[0] + 2 * own[1:] @ lags[1 : taps.size])


def input_spectra(
    sheet: Sheet, b: Bank, at: int, h: np.ndarray, aggressors: Sequence[np.ndarray], n: int | None = None
) -> Spectra:
    """Noise at the receiver FFE's input for a chosen setting, with the final quantiser step of 178A.1.9."""
    n = n or max(n_taps(sheet), 256)
    square = sheet.mean_square
    untouched = b.pulses[0][at % sheet.M :: sheet.M]
    slopes = slope_of(sheet, h)[at % sheet.M :: sheet.M]
    moved = square * _autocorrelation(slopes, n)
    receiver = receiver_lags(sheet, *b.settings[0], n)
    transmitter = square * b.transmitter * _autocorrelation(untouched, n)
    crosstalk = sum((square * _autocorrelation(x, n) for x in aggressors), np.zeros(n))
    step = 0.0
    if sheet.N_qb:
        # crosstalk and dual-Dirac jitter symbol by symbol, the rest Gaussian (178A-44)
        cursors = np.concatenate([h[at % sheet.M :: sheet.M], sheet.A_DD * slopes, *aggressors])
        sigma = float(np.sqrt(receiver[0] + transmitter[0] + sheet.sigma_RJ**2 * moved[0]))
        law = Interference(cursors=cursors, levels=sheet.levels, sigma=sigma)
        step = 2 * law.quantile(sheet.P_qc / 2) / (2**sheet.N_qb - 1)
    return Spectra(
        receiver=receiver, transmitter=transmitter, random=sheet.sigma_RJ**2 * moved,
        jitter=(sheet.sigma_RJ**2 + sheet.A_DD**2) * moved, crosstalk=crosstalk, step=step,
    )  # fmt: skip
