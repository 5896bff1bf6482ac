"""What is written is what other programs read: layout, digits, references of version 2."""

import re

import numpy as np
import pytest

from channels.copper import Twinax
from channels.file_network import FilePorts
from channels.pair import TwinaxPair
from channels.touchstone import read_touchstone, write_touchstone

F = np.arange(1, 6) * 1e9 / 3


def network(n, seed=4):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, n, F.size)) + 1j * rng.normal(size=(n, n, F.size))) / (3 * n)


def data_lines(path):
    return [line for line in path.read_text().splitlines() if re.match(r"\s*[-+\d.]", line)]


@pytest.mark.parametrize("n", [3, 4, 5, 8, 12])
def test_no_more_than_four_pairs_a_line_and_each_row_on_its_own(tmp_path, n):
    path = tmp_path / f"x.s{n}p"
    write_touchstone(path, F, network(n))
    counts = [len(line.split()) for line in data_lines(path)]
    assert max(counts) == 2 * min(n, 4) + 1
    assert sum(counts) == F.size * (1 + 2 * n * n)
    per_row = -(-n // 4)
    assert len(counts) == F.size * n * per_row
    assert [c % 2 for c in counts].count(1) == F.size, "only the first line of a frequency has its number"


@pytest.mark.parametrize("digits", [9, 12, 17])
def test_digits(tmp_path, digits):
    path = tmp_path / "x.s2p"
    s = network(2)
    write_touchstone(path, F, s, digits=digits)
    error = np.max(np.abs(read_touchstone(path).s - s) / np.abs(s))
    assert error <= 10.0 ** (1 - digits)
    if digits < 15:
        assert error > 10.0 ** (-1 - digits), "and no fewer"


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_scikit_rf_reads_the_references_of_each_port(tmp_path, n):
    skrf = pytest.importorskip("skrf")
    path = tmp_path / "x.ts"
    s, reference = network(n), tuple(np.linspace(40, 60, n).tolist())
    write_touchstone(path, F, s, reference, version=2, unit="GHz")
    other = skrf.Network(str(path))
    np.testing.assert_allclose(other.f, F, rtol=1e-12)
    np.testing.assert_allclose(np.moveaxis(other.s, 0, -1), s, atol=1e-12)
    np.testing.assert_allclose(other.z0, np.broadcast_to(reference, (F.size, n)))


@pytest.mark.parametrize("number_format", ["RI", "MA", "DB"])
@pytest.mark.parametrize("n", [2, 3, 8])
def test_scikit_rf_reads_version_1_in_each_format(tmp_path, n, number_format):
    skrf = pytest.importorskip("skrf")
    path = tmp_path / f"x.s{n}p"
    s = network(n)
    write_touchstone(path, F, s, 46.25, number_format=number_format)
    other = skrf.Network(str(path))
    np.testing.assert_allclose(np.moveaxis(other.s, 0, -1), s, atol=1e-9)
    np.testing.assert_allclose(other.z0, 46.25)


def test_what_scikit_rf_writes_is_read(tmp_path):
    skrf = pytest.importorskip("skrf")
    s = network(4)
    skrf.Network(f=F, f_unit="Hz", s=np.moveaxis(s, -1, 0), z0=46.25).write_touchstone("y", dir=str(tmp_path))
    own = read_touchstone(tmp_path / "y.s4p")
    np.testing.assert_allclose(own.s, s, atol=1e-9)
    assert own.reference == (46.25,) * 4


def test_a_cascade_goes_out_and_comes_back(tmp_path):
    f = np.arange(0, 201) * 100e6
    pair = TwinaxPair(cable=Twinax(length=0.2), skews=(5e-12,))
    chain = pair @ pair
    path, reference = tmp_path / "chain.ts", (46.25, 46.25, 50.0, 50.0)
    write_touchstone(path, f, chain.s(f, reference), reference)
    back = FilePorts.open(path)
    assert back.port_map.inputs == ((1, 2),)
    np.testing.assert_allclose(back.s(f, 50.0), chain.s(f, 50.0), atol=1e-9)
