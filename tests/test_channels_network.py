"""Cascades, references and conversions of multi-ports."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels import cache, network
from channels.lines import StandardLine, Twinax, series_resistance_s
from channels.network import Chain, Flipped, MultiPort, renormalise, star
from dsp.units import GHz, fF, mm, ns, pH

F = np.linspace(0, 80 * GHz, 41)


@dataclass(frozen=True)
class Random(MultiPort):
    """A passive network with no symmetry at all, known at 50 ohm."""

    seed: int
    ports: int = 2

    @property
    def n_ports(self):
        return self.ports

    def _s(self, f, z0):
        rng = np.random.default_rng(self.seed)
        shape = (self.ports, self.ports, f.size)
        s = rng.normal(size=shape) + 1j * rng.normal(size=shape)
        return renormalise(s / np.linalg.norm(s, ord=2, axis=(0, 1)) * 0.9, 50.0, z0)


@dataclass(frozen=True)
class Counted(MultiPort):
    """A line that tells how often it was computed."""

    name: str
    calls: tuple[list, ...] = ()

    def __hash__(self):
        return hash(self.name)

    @property
    def n_ports(self):
        return 2

    def _s(self, f, z0):
        self.calls[0].append(self.name)
        return StandardLine(length=10 * mm, impedance=90.0, a1=8.9e-4 * ns**0.5 / mm)._s(f, z0)


random_part = st.builds(Random, seed=st.integers(0, 10**6))


@settings(max_examples=25, deadline=None)
@given(a=random_part, b=random_part, c=random_part, z0=st.floats(20, 200))
def test_cascade_is_associative(a, b, c, z0):
    assert (a @ b) @ c == a @ (b @ c) == Chain((a, b, c))
    left = star(star(a.s(F, z0), b.s(F, z0)), c.s(F, z0))
    np.testing.assert_allclose(left, star(a.s(F, z0), star(b.s(F, z0), c.s(F, z0))), atol=1e-11)
    np.testing.assert_allclose((a @ b @ c).s(F, z0), left, atol=1e-11)


@pytest.mark.parametrize("ports", [2, 4, 6])
def test_cascade_equals_scikit_rf(ports):
    a, b, c = (Random(seed, ports) for seed in (1, 2, 3))
    product = network.to_network(a, F, 50.0) ** network.to_network(b, F, 50.0) ** network.to_network(c, F, 50.0)
    np.testing.assert_allclose((a @ b @ c).s(F, 50.0), np.moveaxis(product.s, 0, -1), atol=1e-12)


@pytest.mark.parametrize("ports", [2, 4])
def test_flipping_twice_is_nothing_and_flipping_a_chain_reverses_it(ports):
    a, b = Random(1, ports), Random(2, ports)
    assert a.flipped.flipped == a
    assert (a @ b).flipped == Chain((b.flipped, a.flipped))
    assert (a @ b).flipped.flipped == a @ b
    order = np.roll(np.arange(ports), ports // 2)
    np.testing.assert_allclose((a @ b).flipped.s(F, 60.0), (a @ b).s(F, 60.0)[np.ix_(order, order)], atol=1e-14)


def test_cascade_does_not_depend_on_the_reference_it_is_computed_in():
    a, b = Random(1), Random(2)
    np.testing.assert_allclose(renormalise((a @ b).s(F, 50.0), 50.0, 92.5), (a @ b).s(F, 92.5), atol=1e-12)
    np.testing.assert_allclose((a @ b).s(F, (40.0, 120.0)), renormalise((a @ b).s(F, 50.0), 50.0, (40.0, 120.0)), atol=1e-12)


def test_renormalise_equals_scikit_rf_and_returns():
    s = Random(5, 4).s(F, 50.0)
    target = (30.0, 75.0, 100.0, 42.5)
    peer = network.to_network(Random(5, 4), F, 50.0)
    peer.renormalize(np.array(target))
    np.testing.assert_allclose(renormalise(s, 50.0, target), np.moveaxis(peer.s, 0, -1), atol=1e-12)
    np.testing.assert_allclose(renormalise(renormalise(s, 50.0, target), target, 50.0), s, atol=1e-12)


def test_chain_matrix_round_trip_and_product():
    a, b, z = Random(1).s(F, 50.0), Random(2).s(F, 50.0), (40.0, 90.0)
    np.testing.assert_allclose(network.abcd_to_s(network.s_to_abcd(a, z), z), a, atol=1e-10)
    product = np.einsum("ijf,jkf->ikf", network.s_to_abcd(a, 50.0), network.s_to_abcd(b, 50.0))
    np.testing.assert_allclose(network.abcd_to_s(product, 50.0), star(a, b), atol=1e-10)


def test_chain_matrix_of_a_series_resistor():
    abcd = network.s_to_abcd(series_resistance_s(np.array([25.0]), 100.0), 100.0)
    np.testing.assert_allclose(abcd[..., 0], [[1, 25], [0, 1]], atol=1e-13)


def test_h21_does_not_depend_on_the_reference():
    part = Random(3)
    source, load = 46.25, 55.0
    values = [network.h21(part.s(F, 2 * r), (source - r) / (source + r), (load - r) / (load + r)) for r in (20.0, 46.25, 80.0)]
    np.testing.assert_allclose(values[1], values[0], atol=1e-12)
    np.testing.assert_allclose(values[2], values[0], atol=1e-12)


def test_h21_of_a_direct_connection_is_twice_the_divider():
    through = np.array([[[0.0], [1.0]], [[1.0], [0.0]]])
    gamma = [(r - 50) / (r + 50) for r in (40.0, 60.0)]
    np.testing.assert_allclose(network.h21(through, *gamma), 2 * 60 / (40 + 60), rtol=1e-14)
    np.testing.assert_array_equal(network.h21(through), 1)


def test_mixed_mode_of_an_unequal_pair_is_cosine_and_sine():
    """Two uncoupled matched lines with skew: Sdd21 = S21 cos(pi f tau), |Scd21| = |S21| sin(pi f tau)."""
    tau = 3e-12
    f = np.array([26.56e9, 53.1e9])
    s = np.zeros((4, 4, 2), complex)
    for plus, minus in ((0, 2), (2, 0)):
        s[plus, minus] = np.exp(-1j * np.pi * f * tau)
        s[plus + 1, minus + 1] = np.exp(1j * np.pi * f * tau)
    modes = network.mixed_mode(s)
    np.testing.assert_allclose(-20 * np.log10(np.abs(modes.dd[1, 0])), [0.28, 1.14], atol=0.01)
    np.testing.assert_allclose(np.abs(modes.dd[1, 0]) ** 2 + np.abs(modes.cd[1, 0]) ** 2, 1, rtol=1e-14)
    np.testing.assert_array_equal(modes.dd[0, 0], 0)


def test_mixed_mode_obeys_the_port_map_and_polarity():
    s = Random(9, 4).s(F, 50.0)
    a, b, c, d = 2, 0, 3, 1
    modes = network.mixed_mode(s, (a, b, c, d))
    np.testing.assert_allclose(modes.dd[1, 0], (s[c, a] - s[c, b] - s[d, a] + s[d, b]) / 2, atol=1e-15)
    crossed = network.mixed_mode(s, (a, b, d, c))
    np.testing.assert_allclose(crossed.dd[1, 0], -modes.dd[1, 0], atol=1e-15)
    np.testing.assert_allclose(crossed.cc, modes.cc, atol=1e-15)
    np.testing.assert_allclose(sum(np.linalg.norm(block) ** 2 for block in modes), np.linalg.norm(s) ** 2, rtol=1e-13)


@pytest.mark.parametrize("port_map", [(0, 1, 2), (0, 1, 2, 2), (1, 2, 3, 4)])
def test_mixed_mode_rejects_a_map_that_is_not_one(port_map):
    with pytest.raises(ValueError, match="port_map"):
        network.mixed_mode(np.zeros((4, 4, 1)), port_map)


def test_scikit_rf_round_trip():
    part = Random(4, 4)
    f, s, z0 = network.from_network(network.to_network(part, F, (50.0, 40.0, 50.0, 60.0)))
    np.testing.assert_allclose(f, F, rtol=1e-15)
    np.testing.assert_allclose(s, part.s(F, (50.0, 40.0, 50.0, 60.0)), atol=1e-15)
    assert z0 == (50.0, 40.0, 50.0, 60.0)
    peer = network.to_network(part, F)
    peer.z0 = 50 + 1j
    with pytest.raises(ValueError, match="z0"):
        network.from_network(peer)


def test_a_sweep_recomputes_only_what_changes():
    calls = []
    parts = [Counted(f"sweep {i}", (calls,)) for i in range(9)]
    chain = Chain(tuple(parts))
    first = chain.s(F, 100.0)
    assert sorted(calls) == sorted(p.name for p in parts)
    calls.clear()
    Chain((*parts[:4], Counted("sweep other", (calls,)), *parts[5:])).s(F, 100.0)
    assert calls == ["sweep other"]
    calls.clear()
    np.testing.assert_array_equal(chain.s(F.copy(), 100.0), first)
    assert not calls
    chain.s(F, 90.0)
    assert len(calls) == 9


def test_cache_is_bounded_and_read_only():
    store = cache.ResponseCache(max_entries=3, max_bytes=1000)
    for i in range(5):
        store.put(i, np.zeros(10))
    assert len(store) == 3
    assert store.get(1) is None
    assert store.get(2) is not None
    store.put(5, np.zeros(10))
    assert store.get(3) is None, "the least recently used goes first"
    assert store.get(2) is not None
    store.put("large", np.zeros(120))
    assert store.n_bytes <= 1000
    assert store.put("too large", np.zeros(1000)).size == 1000
    assert store.get("too large") is None
    store.clear()
    assert len(store) == store.n_bytes == 0
    with pytest.raises(ValueError, match="read-only"):
        Random(1).s(F, 50.0)[0, 0, 0] = 0


def test_equal_parts_are_equal_and_hashable():
    assert Twinax(length=1.0) == Twinax(length=1.0, gauge=26)
    assert len({Chain((Twinax(length=1.0), Random(1))), Twinax(length=1.0) @ Random(1)}) == 1


@pytest.mark.parametrize("f", [np.array([-1.0]), np.array([]), np.zeros((2, 2)), np.array([np.nan]), np.array([np.inf])])
def test_bad_axis(f):
    with pytest.raises(ValueError, match="frequencies"):
        Random(1).s(f, 50.0)


@pytest.mark.parametrize("z0", [0.0, -50.0, float("nan"), (50.0,), (50.0, 0.0)])
def test_bad_reference(z0):
    with pytest.raises(ValueError, match="z0"):
        Random(1).s(F, z0)


@pytest.mark.parametrize("parts", [(), [Random(1)], (1,), (Random(1), Random(1, 4)), (Random(1, 3),)])
def test_bad_chain(parts):
    with pytest.raises(ValueError, match="parts"):
        Chain(parts)


@pytest.mark.parametrize("part", [1, Random(1, 3)])
def test_bad_flip(part):
    with pytest.raises(ValueError, match="part"):
        Flipped(part)


def test_what_is_not_a_network_does_not_cascade():
    with pytest.raises(TypeError):
        Random(1) @ 3
    with pytest.raises(ValueError, match="star"):
        star(np.zeros((2, 2, 3)), np.zeros((4, 4, 3)))


def test_parts_of_a_ladder_equal_their_chain_matrices():
    from channels.copper import Die

    die = Die(capacitances=(40 * fF, 90 * fF), inductances=(130 * pH, 150 * pH), bump=30 * fF)
    w = 2j * np.pi * F
    abcd = np.broadcast_to(np.eye(2)[..., None], (2, 2, F.size)).astype(complex)
    for element in (("c", 40), ("l", 130), ("c", 90), ("l", 150), ("c", 30)):
        step = np.broadcast_to(np.eye(2)[..., None], (2, 2, F.size)).astype(complex)
        if element[0] == "c":
            step[1, 0] = w * element[1] * fF / 2
        else:
            step[0, 1] = w * element[1] * pH * 2
        abcd = np.einsum("ijf,jkf->ikf", abcd, step)
    np.testing.assert_allclose(die.s(F, 92.5), network.abcd_to_s(abcd, 92.5), atol=1e-12)
