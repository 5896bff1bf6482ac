"""Multi-ports and how they combine: scattering matrices on real reference impedances, cascades, conversions.

``s[out, in, frequency]``. The caller names the reference impedance, so a cascade never mixes references. In a 2N-port the
first N ports are the left end and the last N the right end. A balanced pair is a two-port with differential references
(100 ohm differential is 50 ohm single-ended).
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, final

import numpy as np

from channels import cache
from dsp import check

if TYPE_CHECKING:
    import skrf

References: TypeAlias = float | tuple[float, ...]


class MultiPort(ABC):
    """A linear network seen at its ports. Subclasses are frozen dataclasses, equal and hashable by value."""

    @property
    @abstractmethod
    def n_ports(self) -> int:
        """Number of ports."""

    @abstractmethod
    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        """Scattering matrix, shape (n_ports, n_ports, n_f), all ports on the one real reference ``z0`` [ohm]; f may hold 0."""

    @final
    def s(self, f: np.ndarray, z0: References = 100.0) -> np.ndarray:
        """Scattering matrix ``s[out, in, frequency]``, shape (n_ports, n_ports, n_f), complex, read-only.

        ``f`` [Hz] is one-dimensional and may contain 0; ``z0`` [ohm] is the real reference, one for all ports or one per port.
        Responses are kept in a bounded cache. Raises ValueError for a bad axis or reference.
        """
        f = np.ascontiguousarray(f, float)
        if f.ndim != 1 or not f.size or not np.all((f >= 0) & (f < np.inf)):
            raise check.fail(self, "s(f)", "a one-dimensional array of frequencies of 0 or more [Hz]", f)
        z = references(self, z0, self.n_ports)
        s = _tree(self.parts if isinstance(self, Chain) else (self,), f, cache.digest(f), z[0])
        return s if len(set(z)) == 1 else renormalise(s, z[0], z)

    @final
    def __matmul__(self, other: MultiPort) -> Chain:
        """``a @ b``: the right end of ``a`` joined to the left end of ``b``."""
        return Chain((self, other)) if isinstance(other, MultiPort) else NotImplemented

    @property
    @final
    def flipped(self) -> MultiPort:
        """The same network with its two ends swapped."""
        if isinstance(self, Flipped):
            return self.part
        if isinstance(self, Chain):
            return Chain(tuple(part.flipped for part in reversed(self.parts)))
        return Flipped(self)


@final
@dataclass(frozen=True)
class Flipped(MultiPort):
    """A part with its ends swapped; write ``part.flipped``."""

    part: MultiPort

    def __post_init__(self) -> None:
        check.instance(self, "part", self.part, MultiPort)
        _even(self, "part", self.part)

    @property
    def n_ports(self) -> int:
        """Number of ports."""
        return self.part.n_ports

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        order = np.roll(np.arange(self.n_ports), self.n_ports // 2)
        return self.part.s(f, z0)[np.ix_(order, order)]


@final
@dataclass(frozen=True)
class Chain(MultiPort):
    """Parts in cascade, left to right, as one flat tuple: a chain inside a chain is unpacked, so ``@`` is associative.

    Its response is built as a balanced tree of star products whose nodes are cached: a sweep of one part recomputes that part
    and the few products above it.
    """

    parts: tuple[MultiPort, ...]

    def __post_init__(self) -> None:
        check.instance(self, "parts", self.parts, tuple)
        flat: list[MultiPort] = []
        for i, part in enumerate(self.parts):
            check.instance(self, f"parts[{i}]", part, MultiPort)
            _even(self, f"parts[{i}]", part)
            flat += part.parts if isinstance(part, Chain) else (part,)
        if not flat:
            raise check.fail(self, "parts", "one part or more", self.parts)
        counts = [part.n_ports for part in flat]
        if len(set(counts)) > 1:
            hint = "lift differential two-ports to four-ports with pair.Balanced(part=...)" if set(counts) == {2, 4} else ""
            raise check.fail(self, "parts", "parts of one number of ports", counts, hint)
        object.__setattr__(self, "parts", tuple(flat))

    @property
    def n_ports(self) -> int:
        """Number of ports."""
        return self.parts[0].n_ports

    def _s(self, f: np.ndarray, z0: float) -> np.ndarray:
        return _tree(self.parts, f, cache.digest(f), z0)


def _even(owner: object, field: str, part: MultiPort) -> None:
    if part.n_ports % 2:
        raise check.fail(owner, field, "a network of two ends with as many ports each", f"{part.n_ports} ports")


def _tree(parts: tuple[MultiPort, ...], f: np.ndarray, f_digest: bytes, z0: float) -> np.ndarray:
    """Cascade of ``parts``, each node of the balanced tree looked up before it is computed."""
    key = (parts, f_digest, z0)
    known = cache.responses.get(key)
    if known is not None:
        return known
    if len(parts) == 1:
        value = parts[0]._s(f, z0)
    else:
        half = len(parts) // 2
        value = star(_tree(parts[:half], f, f_digest, z0), _tree(parts[half:], f, f_digest, z0))
    return cache.responses.put(key, value)


def cascade(parts: tuple[MultiPort, ...], f: np.ndarray, z0: float) -> np.ndarray:
    """Cascade of ``parts`` without the cache, for a part that is built of smaller ones."""
    return functools.reduce(star, (part._s(f, z0) for part in parts))


def references(owner: object, z0: References, n_ports: int) -> tuple[float, ...]:
    """Reference impedances [ohm] as one positive float per port; ValueError if ``z0`` is not that."""
    z = tuple(float(v) for v in z0) if isinstance(z0, tuple) else (float(z0),) * n_ports
    if len(z) != n_ports:
        raise check.fail(owner, "z0", f"one reference or one for each of {n_ports} ports", z0)
    for value in z:
        check.positive(owner, "z0", value, "ohm")
    return z


def star(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Redheffer star product: the last half of the ports of ``a`` joined to the first half of those of ``b``.

    Shapes (2N, 2N, n_f), same reference at the joined ports. For two-ports this is IEEE 802.3 (93A-4) to (93A-7).
    """
    if a.shape != b.shape:
        raise check.fail("star", "b", f"of the shape of a {a.shape}", b.shape)
    s = np.empty(a.shape, complex)
    if a.shape[0] == 2:
        inner = 1 / (1 - a[1, 1] * b[0, 0])
        a21, b12 = a[1, 0] * inner, b[0, 1] * inner
        s[0, 0] = a[0, 0] + a[0, 1] * b[0, 0] * a21
        s[1, 0] = a21 * b[1, 0]
        s[0, 1] = a[0, 1] * b12
        s[1, 1] = b[1, 1] + b[1, 0] * a[1, 1] * b12
        return s
    n = a.shape[0] // 2
    # matmul wants the matrix axes last
    am, bm, sm = (np.moveaxis(x, -1, 0) for x in (a, b, s))
    a11, a12, a21m, a22 = am[:, :n, :n], am[:, :n, n:], am[:, n:, :n], am[:, n:, n:]
    b11, b12m, b21, b22 = bm[:, :n, :n], bm[:, :n, n:], bm[:, n:, :n], bm[:, n:, n:]
    right = np.linalg.solve(np.eye(n) - a22 @ b11, np.concatenate([a21m, a22 @ b12m], axis=-1))
    left = np.linalg.solve(np.eye(n) - b11 @ a22, np.concatenate([b11 @ a21m, b12m], axis=-1))
    sm[:, :n, :n] = a11 + a12 @ left[..., :n]
    sm[:, :n, n:] = a12 @ left[..., n:]
    sm[:, n:, :n] = b21 @ right[..., :n]
    sm[:, n:, n:] = b22 + b21 @ right[..., n:]
    return s


def renormalise(s: np.ndarray, z_from: References, z_to: References) -> np.ndarray:
    """The same network on other real references [ohm]: S' = D (S - G) (1 - G S)^-1 D^-1, G = (new - old) / (new + old).

    Shape (n, n, n_f) in and out; each reference is one number or a tuple of one per port.
    """
    n = s.shape[0]
    old = np.array(references("renormalise", z_from, n))
    new = np.array(references("renormalise", z_to, n))
    g = (new - old) / (new + old)
    scale = np.sqrt(1 - g**2)
    sm = np.moveaxis(s, -1, 0)
    # X (1 - G S)^-1 by solving the transposed system
    numerator, denominator = sm - np.diag(g), np.eye(n) - g[:, None] * sm
    out = np.linalg.solve(denominator.swapaxes(1, 2), numerator.swapaxes(1, 2)).swapaxes(1, 2)
    return np.ascontiguousarray(np.moveaxis(out * (scale[None, :] / scale[:, None]), 0, -1))


def s_to_abcd(s: np.ndarray, z0: References) -> np.ndarray:
    """Chain matrix [[A, B], [C, D]], shape (2, 2, n_f), of a two-port with S21 not 0; B in ohm, C in siemens."""
    z1, z2 = references("s_to_abcd", z0, 2)
    (s11, s12), (s21, s22) = s
    twice, mean = 2 * s21, np.sqrt(z1 * z2)
    return np.array(
        [
            [((1 + s11) * (1 - s22) + s12 * s21) * np.sqrt(z1 / z2), ((1 + s11) * (1 + s22) - s12 * s21) * mean],
            [((1 - s11) * (1 - s22) - s12 * s21) / mean, ((1 - s11) * (1 + s22) + s12 * s21) * np.sqrt(z2 / z1)],
        ]
    ) / twice  # fmt: skip


def abcd_to_s(abcd: np.ndarray, z0: References) -> np.ndarray:
    """Scattering matrix, shape (2, 2, n_f), of a chain matrix; the inverse of `s_to_abcd`."""
    z1, z2 = references("abcd_to_s", z0, 2)
    (a, b), (c, d) = abcd
    a, c, d = a * z2, c * (z1 * z2), d * z1
    through = 2 * np.sqrt(z1 * z2)
    determinant = abcd[0, 0] * abcd[1, 1] - abcd[0, 1] * abcd[1, 0]
    ones = np.ones_like(determinant)
    return np.array([[a + b - c - d, through * determinant], [through * ones, b - a - c + d]]) / (a + b + c + d)


def h21(s: np.ndarray, gamma1: float = 0.0, gamma2: float = 0.0) -> np.ndarray:
    """Voltage transfer between terminations, IEEE 802.3 (93A-18): load voltage over the wave launched into a matched line.

    ``gamma1`` and ``gamma2`` are the reflections (R_d - R_0) / (R_d + R_0) of source and load against the reference of ``s``.
    A matched line gives 1 where the load voltage is half of the open-source voltage: the factor 2 lives here and nowhere else.
    """
    (s11, s12), (s21, s22) = s
    if gamma1 == 0 and gamma2 == 0:
        return np.array(s21)
    loop = 1 - s11 * gamma1 - s22 * gamma2 + (s11 * s22 - s12 * s21) * (gamma1 * gamma2)
    return s21 * ((1 - gamma1) * (1 + gamma2)) / loop


class MixedMode(NamedTuple):
    """Blocks of a mixed-mode matrix, each (pairs, pairs, n_f): ``cd`` is common out for differential in."""

    dd: np.ndarray
    dc: np.ndarray
    cd: np.ndarray
    cc: np.ndarray


def mixed_mode(s: np.ndarray, port_map: tuple[int, ...] = (0, 1, 2, 3)) -> MixedMode:
    """Differential and common-mode blocks of a network of single-ended ports that all have one reference z0.

    ``port_map`` lists the ports from 0 as plus and minus of each pair: (in+, in-, out+, out-) for one lane. The differential
    reference is 2 z0, the common one z0 / 2. Sdd21 = (S_ca - S_cb - S_da + S_db) / 2 for in+ a, in- b, out+ c, out- d.
    """
    if len(port_map) % 2 or sorted(port_map) != list(range(s.shape[0])):
        raise check.fail("mixed_mode", "port_map", f"each of the {s.shape[0]} ports once, as pairs", port_map)
    p, n = np.array(port_map[::2]), np.array(port_map[1::2])
    pp, pn, np_, nn = s[np.ix_(p, p)], s[np.ix_(p, n)], s[np.ix_(n, p)], s[np.ix_(n, n)]
    return MixedMode(
        dd=(pp - pn - np_ + nn) / 2, dc=(pp + pn - np_ - nn) / 2, cd=(pp - pn + np_ - nn) / 2, cc=(pp + pn + np_ + nn) / 2
    )


def to_network(part: MultiPort, f: np.ndarray, z0: References = 100.0) -> skrf.Network:
    """The part as a scikit-rf Network on ``f`` [Hz] and ``z0`` [ohm]."""
    import skrf

    z = np.array(references(part, z0, part.n_ports))
    return skrf.Network(f=np.asarray(f), f_unit="Hz", s=np.moveaxis(part.s(f, z0), -1, 0), z0=z, name=type(part).__name__)


def from_network(network: Any) -> tuple[np.ndarray, np.ndarray, tuple[float, ...]]:
    """``f`` [Hz], ``s[out, in, frequency]`` and the references per port [ohm] of a scikit-rf Network.

    Raises ValueError for references that are complex or change with frequency.
    """
    z = np.asarray(network.z0)
    if np.any(z.imag != 0) or np.any(z != z[0]):
        raise check.fail("from_network", "network.z0", "real and the same at every frequency", z[0])
    s = np.ascontiguousarray(np.moveaxis(network.s, 0, -1))
    return np.array(network.f), s, tuple(float(v) for v in z[0].real)
