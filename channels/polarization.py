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
    """A fibre as ``plates`` birefringent plates, each between random rotations, one at the end of each equal part of its length.

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

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """The rotations (2, 2) of one fibre: in front of it, behind each plate, and behind a loss."""
        return tuple(rotation(rng) for _ in range(self.plates + 1 + (self.loss_db > 0)))

    def plate(self, x: np.ndarray, f: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Spectra ``x`` (2, ..., n) at ``f`` [Hz] behind one plate and the rotation ``turn`` after it."""
        single = self.dgd if self.plates == 1 else self.dgd * np.sqrt(3 * np.pi / (8 * self.plates))
        late = np.exp(-1j * np.pi * f * single)
        return np.tensordot(turn, np.stack((late * x[0], np.conj(late) * x[1])), 1)

    def end(self, x: np.ndarray, turns: tuple[np.ndarray, ...]) -> np.ndarray:
        """``x`` (2, ..., n) behind the loss at the far end of the fibre `draw` gave."""
        if not self.loss_db:
            return x
        gains = from_db(np.array([self.loss_db, -self.loss_db]) / 2)
        gains *= np.sqrt(2 / np.sum(gains**2))
        return np.tensordot(turns[-1] * gains, x, 1)

    def matrices(self, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Jones matrices [output, input, f], shape (2, 2, n), of one fibre drawn from ``rng``; unitary but for ``loss_db``."""
        f, turns = np.asarray(f, float), self.draw(rng)
        total = np.broadcast_to(turns[0][:, :, None], (2, 2, f.size)).astype(complex)
        for turn in turns[1 : self.plates + 1]:
            total = self.plate(total, f, turn)
        return self.end(total, turns)

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
