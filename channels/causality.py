"""Is a network physical? Causality by Kramers-Kronig, energy before time zero, passivity, reciprocity."""

from __future__ import annotations

import numpy as np

from dsp import check

# A causal copper path of about 1 m stays below this [rad]; resistance without inductance or a constant loss tangent does not.
RESIDUAL_LIMIT = 0.01


def phase_residual(f: np.ndarray, transfer: np.ndarray, band: tuple[float, float] = (0.05, 0.6)) -> float:
    """Largest phase [rad] that the loss of a path does not explain, delay removed, within ``band`` (fractions of the last f).

    A causal path of minimum phase and a delay has its phase tied to its loss by the Kramers-Kronig relation. The relation
    needs all frequencies and the data end. So the bulk of the loss is fitted by c + a sqrt(f) + b f, whose minimum phase is
    known for all frequencies, -a sqrt(f) + (2/pi) b f ln f, and only the small rest is transformed, mirrored at the end. What
    the loss beyond the data may add is an odd power series in f: its terms f (as good as a delay), f^3 and f^5 are fitted. They
    cannot imitate the missing skin phase of a metre of cable, but they would hide a slow all-pass near the end of the data.
    ``f`` [Hz] is uniform and starts at 0 or within two steps of it. ``ValueError``: it is not, or ``transfer`` has a zero.
    """
    f, h = np.asarray(f, float), np.asarray(transfer, complex)
    if f.ndim != 1 or f.size < 16 or h.shape != f.shape:
        raise check.fail("phase_residual", "f", "one-dimensional, 16 points or more, as long as transfer", f.shape)
    if not np.all(np.isfinite(h)) or np.any(h == 0):
        raise check.fail("phase_residual", "transfer", "finite and not zero", h)
    step = (f[-1] - f[0]) / (f.size - 1)
    if step <= 0 or np.ptp(np.diff(f)) > 1e-6 * step or not 0 <= f[0] <= 2.001 * step:
        raise check.fail("phase_residual", "f", "uniform and from 0 or its neighbourhood [Hz]", f)
    if f[0] == 0:
        f, h = f[1:], h[1:]
    x = f / f[-1]
    loss = -np.log(np.abs(h))
    bulk = np.stack([np.ones_like(x), np.sqrt(x), x])
    fit = np.linalg.lstsq(bulk.T, loss, rcond=None)[0]
    explained = -fit[1] * np.sqrt(x) + 2 / np.pi * fit[2] * x * np.log(x) + _minimum_phase(f, step, loss - fit @ bulk)
    # the mean delay is taken out first, so that the phase cannot wrap between points
    delay = -np.angle(np.sum(h[1:] * h[:-1].conj())) / step
    rest = np.unwrap(np.angle(h * np.exp(1j * delay * f))) - explained
    inside = (x >= band[0]) & (x <= band[1])
    rest, x = rest[inside], x[inside]
    odd = np.stack([x, x**3, x**5])
    # a polarity is no phase: the constant may be a multiple of pi
    constant = np.linalg.lstsq(np.vstack([np.ones_like(x), odd]).T, rest, rcond=None)[0][0]
    rest = rest - np.pi * np.round(constant / np.pi)
    return float(np.max(np.abs(rest - np.linalg.lstsq(odd.T, rest, rcond=None)[0] @ odd)))


def _minimum_phase(f: np.ndarray, step: float, loss: np.ndarray) -> np.ndarray:
    """Phase [rad] of the minimum-phase response with ``loss`` [Np] on ``f``; even about 0, mirrored at the last point."""
    from scipy import fft

    n_missing = round(f[0] / step)
    cepstrum = fft.irfft(-np.concatenate([np.full(n_missing, loss[0]), loss]))
    half = cepstrum.size // 2
    cepstrum[1:half] *= 2
    cepstrum[half + 1 :] = 0
    return fft.rfft(cepstrum).imag[n_missing:]


def energy_before_zero(f: np.ndarray, transfer: np.ndarray) -> float:
    """Fraction of the impulse response's energy at negative time, 0 to 1; 0 where there is no response.

    ``f`` [Hz] is uniform from 0; the record is 1 / step long and its second half counts as negative time, so the delay must be
    under half of that. A Hann taper keeps the end of the data from ringing.
    """
    f = np.asarray(f, float)
    steps = np.diff(f)
    if f.ndim != 1 or f.size < 16 or f[0] != 0 or np.ptp(steps) > 1e-6 * np.mean(steps):
        raise check.fail("energy_before_zero", "f", "uniform from 0, 16 points or more [Hz]", f)
    from scipy import fft

    impulse = fft.irfft(np.asarray(transfer) * np.cos(np.pi / 2 * f / f[-1]) ** 2)
    energy = (impulse / (np.max(np.abs(impulse)) or 1.0)) ** 2  # squares of the smallest numbers would vanish
    # the taper is three samples wide in time: what it spreads around time zero is not before it
    return float(np.sum(energy[energy.size // 2 : -2]) / (np.sum(energy) or 1.0))


def passivity(s: np.ndarray) -> float:
    """Largest singular value over all frequencies of ``s[out, in, frequency]``: 1 or less for a passive network."""
    return float(np.max(np.linalg.svd(np.moveaxis(s, -1, 0), compute_uv=False)))


def reciprocity(s: np.ndarray) -> float:
    """Largest |S_ij - S_ji| over all frequencies: 0 for a reciprocal network."""
    return float(np.max(np.abs(s - np.swapaxes(s, 0, 1))))
