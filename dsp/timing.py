"""A sampled waveform at any instant: interpolation with eight taps."""

from __future__ import annotations

import functools

import numpy as np

N_TAPS = 8
N_PHASES = 128


@functools.cache
def interpolation_table(band: float = 0.25) -> tuple[np.ndarray, np.ndarray]:
    """Taps for `N_PHASES` + 1 fractions of a sample, 0 to 1, shape (N_PHASES + 1, N_TAPS); and their differences row to row.

    Least-squares fit of exp(j w u) over frequencies up to ``band`` times the sample rate (T. I. Laakso et al., Splitting the
    unit delay, IEEE Signal Processing Magazine 13, 1996); unit gain at f = 0. Row u weighs samples -3 ... 4 around the instant.
    Error below -60 dB up to a quarter of the sample rate for the default band.
    """
    f = np.linspace(0, band, 50 * N_TAPS)
    u = np.arange(N_PHASES + 1) / N_PHASES
    k = np.arange(N_TAPS) - (N_TAPS // 2 - 1)
    basis, wanted = np.exp(2j * np.pi * np.outer(f, k)), np.exp(2j * np.pi * np.outer(f, u))
    taps = np.linalg.lstsq(np.concatenate((basis.real, basis.imag)), np.concatenate((wanted.real, wanted.imag)), rcond=1e-10)[
        0
    ].T
    taps = np.ascontiguousarray(taps / taps.sum(axis=1, keepdims=True))
    tilt = np.diff(taps, axis=0)
    taps.setflags(write=False)
    tilt.setflags(write=False)
    return taps, tilt


def table_for(samples_per_symbol: float) -> tuple[np.ndarray, np.ndarray]:
    """The table whose band is the symbol rate, within 0.2 and 0.3 of the sample rate."""
    return interpolation_table(min(max(1 / samples_per_symbol, 0.2), 0.3))


def refined(wave: np.ndarray, samples_per_symbol: float, first: int, n: int, n_fine: int) -> np.ndarray:
    """``wave`` (n_wave,) on a grid of ``n_fine`` values a symbol: ``n`` symbols from its sample ``first`` on, float32.

    As good as `interpolate`; itself where the grids are the same.
    """
    from dsp import kernels

    m = round(samples_per_symbol)
    if m == samples_per_symbol == n_fine and first >= 0 and first + n * m <= wave.size:
        return np.asarray(wave[first : first + n * m], np.float32)
    place = np.arange(n_fine) * samples_per_symbol / n_fine
    if m != samples_per_symbol:
        every = (place + samples_per_symbol * np.arange(n)[:, None]).reshape(-1)
        whole = np.floor(every)
        return interpolate(wave, first + whole.astype(np.int64), every - whole, samples_per_symbol).astype(np.float32)
    table, tilt = table_for(samples_per_symbol)
    base = np.floor(place).astype(np.int64)
    row = np.minimum(((place - base) * N_PHASES).astype(np.intp), N_PHASES - 1)
    taps = table[row] + ((place - base) * N_PHASES - row)[:, None] * tilt[row]
    out = np.empty(n * n_fine, np.float32)
    kernels.refine(np.ascontiguousarray(wave), first - 3, m, taps.astype(np.float32), base, out)
    return out


def interpolate(wave: np.ndarray, at: np.ndarray, beyond: np.ndarray, samples_per_symbol: float) -> np.ndarray:
    """``wave`` (n,) at the instants ``at`` (whole samples) + ``beyond`` (samples, any real number); zero outside the wave.

    Good to -60 dB for signals within the symbol rate at 4 samples per symbol or more, within 0.55 of it at 2.
    """
    from dsp import kernels

    table, tilt = table_for(samples_per_symbol)
    return kernels.interpolate(
        np.ascontiguousarray(wave, float), np.asarray(at, np.int64), np.asarray(beyond, float), table, tilt
    )
