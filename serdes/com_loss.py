"""What is reported beside COM: insertion loss and its deviation, integrated crosstalk noise, effective return loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from channels.network import MultiPort
from dsp import filters
from serdes.com_channel import ComChannel, frequencies, impulse_response
from serdes.com_noise import Law
from serdes.com_sheet import Sheet

_TDR_DELAY = 500e-12
_ERL_BIN = 1e-4
"""Bins of the reflection's law: samples below it are dropped [V per V launched]."""


@dataclass(frozen=True, kw_only=True)
class Losses:
    """``insertion_loss_db`` and ``fitted_loss_db`` of the channel at the Nyquist frequency, without packages,
    ``deviation_db`` FOM_ILD [dB], ``crosstalk`` ICN [V], ``erl_db`` of the two ends (None where the set has no N).
    """

    insertion_loss_db: float
    fitted_loss_db: float
    deviation_db: float
    crosstalk: float
    erl_db: tuple[float, float] | None


def differential(sheet: Sheet, network: MultiPort) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies and S of the bare channel on 2 R_0."""
    f = frequencies(sheet, network)
    return f, network.s(f, 2 * sheet.R_0)


def losses(sheet: Sheet, channel: ComChannel) -> Losses:
    """All of it for a channel without packages and boards."""
    f, s = differential(sheet, channel.thru)
    keep = f > 0
    fitted, deviation = insertion_loss_fit(sheet, f[keep], s[1, 0][keep])
    with np.errstate(divide="ignore"):
        loss = -20 * np.log10(np.abs(s[1, 0]))
    nyquist = sheet.f_b / 2
    return Losses(
        insertion_loss_db=float(np.interp(nyquist, f, loss)), fitted_loss_db=float(np.interp(nyquist, f[keep], fitted)),
        deviation_db=deviation, crosstalk=integrated_crosstalk_noise(sheet, channel),
        erl_db=(effective_return_loss(sheet, f, s[0, 0], 0), effective_return_loss(sheet, f, s[1, 1], 1)) if sheet.N else None,
    )  # fmt: skip


def _band(sheet: Sheet, f: np.ndarray) -> slice:
    """From f_min to f_2, one point beyond included, as the script takes it."""
    first = max(int(np.searchsorted(f, sheet.f_min, side="right")) - 1, 0)
    return slice(first, min(int(np.searchsorted(f, sheet.f_2)), f.size - 1) + 1)


def _weight(sheet: Sheet, f: np.ndarray, transition: float) -> np.ndarray:
    """Power weighting of (93A-57): data, transmitter (corner ``transition`` f_b) and receiver filter."""
    rise = 1 / (1 + (f / (transition * sheet.f_b)) ** 4)
    return np.sinc(f / sheet.f_b) ** 2 * rise / (1 + (f / (sheet.f_r * sheet.f_b)) ** 8)


def insertion_loss_fit(sheet: Sheet, f: np.ndarray, s21: np.ndarray) -> tuple[np.ndarray, float]:
    """Fitted loss [dB] at ``f``, of 1, sqrt f, f and f^2 with weight |S21| over the whole band, and FOM_ILD [dB] (93A-56)."""

    def fit(g: np.ndarray, h: np.ndarray) -> np.ndarray:
        x = g / sheet.f_b
        size = np.maximum(np.abs(h), 1e-30)
        basis = np.stack([np.ones_like(x), np.sqrt(x), x, x**2], axis=1)
        target = -20 * np.log10(size)
        found = np.linalg.lstsq(basis * size[:, None], target * size, rcond=None)[0]
        return basis @ found

    band = _band(sheet, f)
    g = f[band]
    with np.errstate(divide="ignore"):
        loss = -20 * np.log10(np.maximum(np.abs(s21[band]), 1e-30))
    power = _weight(sheet, g, sheet.f_v) * (loss - fit(g, s21[band])) ** 2
    deviation = np.sqrt(np.sum(power) * (f[1] - f[0]) / (sheet.f_2 - max(sheet.f_min, f[0])))
    return fit(f, s21), float(deviation)


def integrated_crosstalk_noise(sheet: Sheet, channel: ComChannel) -> float:
    """ICN [V]: (2 / f_2) times the weighted power of all aggressors from f_min to f_2 (92-46, 92-47).

    Aggressors given from circuit to circuit have no response of their own and do not count.
    """
    total = 0.0
    for kind, network in channel.paths:
        if kind == "thru" or not isinstance(network, MultiPort):
            continue
        f, s = differential(sheet, network)
        f, h = f[f > 0], s[1, 0][f > 0]
        band = _band(sheet, f)
        amplitude, transition = (sheet.A_ft, sheet.f_f) if kind == "fext" else (sheet.A_nt, sheet.f_n)
        power = amplitude**2 * _weight(sheet, f[band], transition) * np.abs(h[band]) ** 2
        total += 2 / sheet.f_2 * float(np.sum(power)) * (f[1] - f[0])
    return float(np.sqrt(total))


def reflection_pulse(sheet: Sheet, f: np.ndarray, s11: np.ndarray) -> np.ndarray:
    """Pulse reflected from a port, M samples a symbol, from the launch on [V per V]; 93A.5.1."""
    lead = _TDR_DELAY + 3 * sheet.T_r_TDR
    h = s11 * filters.gaussian_edge(f, sheet.T_r_TDR) * np.exp(-2j * np.pi * f * lead)
    h = h * filters.butterworth4(f, sheet.f_r * sheet.f_b)
    if sheet.Tukey:
        start, stop = sorted((sheet.f_r * sheet.f_b, sheet.f_b))
        edge = np.clip((f - start) / max(stop - start, 1e-9), 0, 1)
        h = h * np.where(f > sheet.f_b, 0, 0.5 + 0.5 * np.cos(np.pi * edge))
    if not np.any(h):
        return np.zeros(sheet.M)
    held = np.cumsum(impulse_response(sheet, f, h))
    held[sheet.M :] -= held[: -sheet.M].copy()
    return held[round(_TDR_DELAY * sheet.f_b * sheet.M) :]


def reflection_gate(sheet: Sheet, t: np.ndarray, fixture: float) -> np.ndarray:
    """Weight of reflections against time [s] (93A.5.2): 0 in the fixture, G_rr G_loss to N_bx + 1 UI behind it, then 1."""
    span = (sheet.N_bx + 1) / sheet.f_b
    x = (t - fixture) * sheet.f_b
    gain = 10 ** (sheet.beta_x * (t - fixture - span) / 20) if sheet.N_bx else 1.0
    near = (1 + sheet.rho_x) * sheet.rho_x * np.exp(-(((x - sheet.N_bx - 1) / (sheet.N_bx + 1)) ** 2)) * gain
    return np.where(x < 0, 0.0, np.where(x <= sheet.N_bx + 1, near, 1.0))


def effective_return_loss(sheet: Sheet, f: np.ndarray, s11: np.ndarray, port: int) -> float:
    """ERL [dB] (93A.5): the reflection exceeded with DER_0 at the phase with the most power; infinite for a matched port."""
    pulse = reflection_pulse(sheet, f, s11)
    t = np.arange(pulse.size) / (sheet.f_b * sheet.M) - 3 * sheet.T_r_TDR
    keep = t < sheet.N / sheet.f_b + sheet.t_fx[port]
    pulse = (pulse * reflection_gate(sheet, t, sheet.t_fx[port]))[keep]
    rows = np.zeros(-(-pulse.size // sheet.M) * sheet.M)
    rows[: pulse.size] = pulse
    rows = rows.reshape(-1, sheet.M)
    samples = rows[:, int(np.argmax(np.sum(rows**2, axis=0)))]
    samples = samples[np.abs(samples) >= _ERL_BIN]
    if not samples.size:
        return float("inf")
    law = Law(cursors={"reflection": samples}, levels=sheet.levels, sigma=0.0)
    return float(-20 * np.log10(law.amplitude(sheet.DER_0, _ERL_BIN)))
