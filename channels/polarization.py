"""What a fibre does to polarisation: rotation, still or turning, group delay between the principal states, loss by state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dsp import check
from dsp.units import from_db


@final
@dataclass(frozen=True, kw_only=True)
class Polarization:
    """A fibre as ``plates`` birefringent plates, each between random rotations.

    ``dgd`` [s]: differential group delay. One plate has exactly it; with more it is the mean over many fibres, whose delays are
    Maxwellian (C. D. Poole and J. Nagel, Polarization Effects in Lightwave Systems). ``loss_db``: polarisation-dependent loss
    at the far end, the power of the two states together unchanged. ``turning`` [rad/s]: speed at which the far end turns states
    about an axis of the Poincare sphere, without end; 400ZR bears 50 krad/s, lightning makes millions.
    """

    dgd: float = 0.0
    plates: int = 1
    loss_db: float = 0.0
    turning: float = 0.0

    def __post_init__(self) -> None:
        check.between(self, "dgd", self.dgd, 0, 1e-10, "s", hint="is it in seconds? 10 ps is 10e-12")
        check.count(self, "plates", self.plates, 1, 1000)
        check.between(self, "loss_db", self.loss_db, 0, 10, "dB")
        check.between(self, "turning", self.turning, 0, 1e9, "rad/s", hint="50 krad/s is 50e3")

    def matrices(self, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Jones matrices [output, input, f], shape (2, 2, n), of one fibre drawn from ``rng``; unitary but for ``loss_db``."""
        f = np.asarray(f, float)
        single = self.dgd if self.plates == 1 else self.dgd * np.sqrt(3 * np.pi / (8 * self.plates))
        turned = np.exp(-1j * np.pi * f * single)
        total = np.broadcast_to(rotation(rng)[:, :, None], (2, 2, f.size)).astype(complex)
        for _ in range(self.plates):
            total = np.stack((turned * total[0], np.conj(turned) * total[1]))
            total = np.einsum("ij,jkf->ikf", rotation(rng), total)
        if self.loss_db:
            gains = from_db(np.array([self.loss_db, -self.loss_db]) / 2)
            total = (gains * np.sqrt(2 / np.sum(gains**2)))[:, None, None] * total
            total = np.einsum("ij,jkf->ikf", rotation(rng), total)
        return total

    def axis(self, rng: np.random.Generator) -> np.ndarray:
        """The axis that states turn about, drawn from ``rng``: half its Pauli matrix times ``turning`` [rad/s], (2, 2)."""
        u = rotation(rng)
        return u @ np.diag([self.turning / 2, -self.turning / 2]) @ u.conj().T


def turned(x: np.ndarray, axis: np.ndarray, sample_rate: float, first: int = 0) -> np.ndarray:
    """Fields ``x`` (2, n) behind a fibre that turns about `Polarization.axis`; ``first``: samples that came before."""
    speed = float(np.sqrt(-np.linalg.det(axis).real))
    angle = speed / sample_rate * (first + np.arange(x.shape[-1]))
    return np.cos(angle) * x - 1j * np.sin(angle) * (axis / speed @ x)


def rotation(rng: np.random.Generator) -> np.ndarray:
    """A unitary matrix (2, 2) that turns any state of polarisation into any other with equal probability."""
    a, b = rng.standard_normal((2, 2)) @ np.array([1, 1j])
    size = np.hypot(abs(a), abs(b))
    a, b = a / size, b / size
    return np.array([[a, b], [-np.conj(b), np.conj(a)]])


def group_delay(matrices: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Differential group delay [s] between neighbours of ``f`` [Hz], shape (n - 1,), from the matrices of a lossless fibre."""
    first, second = np.moveaxis(matrices, -1, 0)[:-1], np.moveaxis(matrices, -1, 0)[1:]
    values = np.linalg.eigvals(second @ np.conj(np.swapaxes(first, 1, 2)))
    return np.abs(np.angle(values[:, 0] * np.conj(values[:, 1]))) / (2 * np.pi * np.diff(f))
