"""What a transmitter is judged by at its output: linear-fit pulse, signal to noise and distortion, level mismatch, cost of
its taps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from channels.channel import Cascade, LinearChannel
from dsp import check, filters
from dsp.edge_jitter import EdgeJitter
from dsp.grid import Grid
from dsp.noise import Jitter
from dsp.units import db
from serdes.link import Link
from serdes.waveform import Driver, send, start_source


@dataclass(frozen=True, kw_only=True)
class _Scope(LinearChannel):
    """The measuring filter, fourth-order Butterworth."""

    bandwidth: float

    def transfer(self, f: np.ndarray) -> np.ndarray:
        return filters.butterworth4(f, self.bandwidth)

    def noise_psd(self, f: np.ndarray, drive: float | None = None) -> np.ndarray:  # noqa: ARG002
        return np.zeros(np.shape(f))


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearFit:
    """Least-squares ``pulse`` (n_pulse * m,) [V] of a waveform, and the rms ``error`` [V] it leaves (IEEE 802.3 85.8.3.3.5)."""

    pulse: np.ndarray
    samples_per_symbol: int
    error: float

    @property
    def peak(self) -> float:
        """Largest sample [V]."""
        return float(np.max(self.pulse))

    @property
    def steady(self) -> float:
        """Steady-state voltage v_f [V]: the sum of the pulse over its samples per symbol (85.8.3.3.5)."""
        return float(np.sum(self.pulse)) / self.samples_per_symbol


def linear_fit(wave: np.ndarray, symbols: np.ndarray, samples_per_symbol: int, n_pulse: int, before: int) -> LinearFit:
    """Fit of ``wave`` (n * m,) by a pulse of ``n_pulse`` symbols, ``before`` of them ahead of the symbol ``symbols`` (n,)
    gives.

    ``symbols`` in outer levels. Ends without a full neighbourhood are left out.
    """
    m = samples_per_symbol
    check.count("linear_fit", "n_pulse", n_pulse, 1)
    check.count("linear_fit", "before", before, 0, n_pulse - 1)
    n = min(symbols.size, wave.size // m)
    if n < 4 * n_pulse:
        raise check.fail("linear_fit", "symbols", f"{4 * n_pulse} or more for a pulse of {n_pulse}", n)
    rows = np.lib.stride_tricks.sliding_window_view(np.asarray(symbols[:n], float), n_pulse)[:, ::-1]
    # row i holds symbols i + n_pulse - 1 ... i; its sample is that of symbol i + n_pulse - 1 - before
    y = np.asarray(wave[: n * m], float).reshape(n, m)[n_pulse - 1 - before : n - before]
    taps, *_ = np.linalg.lstsq(rows, y, rcond=None)
    left = y - rows @ taps
    return LinearFit(pulse=taps.reshape(-1), samples_per_symbol=m, error=float(np.sqrt(np.mean(left**2))))


def level_mismatch(levels: np.ndarray) -> float:
    """R_LM of four levels (IEEE 802.3 120D.3.1.2): min(3 ES1, 3 ES2, 2 - 3 ES1, 2 - 3 ES2)."""
    v = np.sort(np.asarray(levels, float))
    if v.shape != (4,) or v[0] == v[3]:
        raise check.fail("level_mismatch", "levels", "four different ones", levels)
    middle = (v[0] + v[3]) / 2
    es1, es2 = (v[1] - middle) / (v[0] - middle), (v[2] - middle) / (v[3] - middle)
    return float(min(3 * es1, 3 * es2, 2 - 3 * es1, 2 - 3 * es2))


@dataclass(frozen=True, kw_only=True, eq=False)
class TransmitterFigures:
    """``sndr_db``: peak of the fitted pulse over what is left of the waveform (93A-30, 120D.3.1.6; jitter apart, as measured
    there).

    ``level_mismatch``: R_LM, None but for PAM4. ``peak_ratio``: peak of the pulse over the steady-state voltage, p_max / v_f.
    ``tap_cost_db``: low-frequency level that the taps give up at a limited peak, 20 log10(sum |c| / |sum c|).
    """

    sndr_db: float
    level_mismatch: float | None
    peak_ratio: float
    steady: float
    tap_cost_db: float
    fit: LinearFit


def transmitter_figures(
    link: Link, rng: np.random.Generator, n: int = 8191, samples_per_symbol: int = 16, n_pulse: int = 40,
    bandwidth: float | None = None,
) -> TransmitterFigures:  # fmt: skip
    """Figures of ``link``'s transmitter into a matched load, over ``n`` random symbols.

    ``bandwidth`` [Hz]: of the measuring filter, by default 0.75 symbol rates or 40 GHz, the larger.
    """
    tx, rate = link.tx, link.symbol_rate
    quiet = replace(tx, jitter=Jitter(), edges=EdgeJitter())
    grid = Grid(symbol_rate=rate, samples_per_symbol=samples_per_symbol, n_symbols=128)
    driver = Driver(rise_time=tx.rise_time, sample_time=grid.dt, delay=8 / rate)
    chain = Cascade(parts=(driver, _Scope(bandwidth=bandwidth or max(0.75 * rate, 40e9))))
    index, wave, _ = send(quiet, n + 32, rate, start_source(quiet, samples_per_symbol, rng))
    y, _ = chain.transmit(wave, chain.start(grid, None))
    late = 8 + 1 + tx.ffe.n_precursors  # the driver's delay, the symbol that waits, the pre-cursors
    before = 4 + tx.ffe.n_precursors
    fit = linear_fit(
        y[late * samples_per_symbol :], tx.constellation.array[index[: n + 32 - late]], samples_per_symbol, n_pulse, before
    )
    taps = np.asarray(tx.ffe.feed_forward)
    total = abs(float(np.sum(taps)))
    return TransmitterFigures(
        sndr_db=float(db(fit.peak / fit.error)) if fit.error > 0 else float("inf"),
        level_mismatch=level_mismatch(tx.constellation.array) if tx.constellation.n == 4 else None,
        peak_ratio=fit.peak / fit.steady,
        steady=fit.steady,
        tap_cost_db=float(db(np.sum(np.abs(taps)) / total)) if total else float("inf"),
        fit=fit,
    )
