import json
import pickle

import numpy as np
import pytest

from channels import port_map
from channels.catalog import PACKAGES
from channels.conditioning import Conditioning
from channels.copper import Trace, Twinax
from channels.file_network import FileNetwork, FilePorts
from channels.lines import StandardLine
from channels.network import from_network, mixed_mode, renormalise, to_network
from channels.pair import Differential, Pair, TwinaxPair
from channels.port_map import PortMap
from channels.touchstone import TouchstoneError, read_touchstone, write_touchstone

F = np.arange(0, 401) * 50e6
CABLE = TwinaxPair(cable=Twinax(length=0.3), skews=(20e-12,), coupling=0.1)
# the pair's ports are + in, - in, + out, - out; in a file of the convention 1-2/3-4 they are ports 1, 3, 2, 4
ODD = np.array([0, 2, 1, 3])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("ports") / "pair.s4p"
    write_touchstone(path, F, CABLE.s(F, 50.0)[np.ix_(ODD, ODD)])
    return path


def test_a_file_is_the_pair_it_was_made_of(file):
    ports = FilePorts.open(file)
    assert (ports.n_ports, ports.port_map) == (4, port_map.named("1-2/3-4"))
    np.testing.assert_allclose(ports.s(F, 50.0), CABLE.s(F, 50.0), atol=1e-9)
    between = F[:-1] + 25e6
    got, want = ports.s(between, 50.0), CABLE.s(between, 50.0)
    np.testing.assert_allclose(got, want, atol=4e-3)  # the reflection rises with the root of f near 0
    np.testing.assert_allclose(got[:, :, 3:], want[:, :, 3:], atol=2e-4)
    assert not ports.s(np.array([F[-1] + 1e9]), 40.0).any()


def test_cascades_keep_the_common_mode_between_parts(file):
    ports = FilePorts.open(file)
    whole, model = ports @ ports @ CABLE, CABLE @ CABLE @ CABLE
    f = F[1::7]
    np.testing.assert_allclose(whole.s(f, 50.0), model.s(f, 50.0), atol=1e-7)
    conversion = np.abs(mixed_mode(whole.s(f, 50.0)).cd[1, 0])
    one = np.abs(mixed_mode(ports.s(f, 50.0)).cd[1, 0])
    assert np.max(conversion) > 1.5 * np.max(one)


def test_files_and_models_of_different_sources_in_one_chain(file):
    trace = Trace(line=StandardLine(length=0.05, impedance=50.0, a1=2e-8, a2=3e-19, tau=6e-9))
    board = Pair(plus=trace, minus=trace)
    chain = board @ FilePorts.open(file) @ board.flipped
    balanced = Differential(pair=chain) @ PACKAGES["dj B2"].value.rx.flipped
    assert (chain.n_ports, balanced.n_ports) == (4, 2)
    s = balanced.s(F[1::20], 92.5)
    assert np.all(np.linalg.svd(np.moveaxis(s, -1, 0), compute_uv=False) < 1 + 1e-9)


def test_the_differential_view_is_the_two_port_of_the_file(file):
    # on the references of the file; elsewhere the one terminates the common mode in z0 / 4, the other in the file's reference
    np.testing.assert_allclose(
        Differential(pair=FilePorts.open(file)).s(F, 100.0), FileNetwork.open(file).s(F, 100.0), atol=1e-7
    )


def test_a_pair_on_two_references_has_the_differential_reference_of_both(tmp_path):
    z = (40.0, 60.0, 40.0, 60.0)
    path = tmp_path / "uneven.ts"
    write_touchstone(path, F, CABLE.s(F, z)[np.ix_(ODD, ODD)], tuple(np.array(z)[ODD].tolist()))
    data, lane = read_touchstone(path), port_map.named("1-2/3-4")
    blocks, reference = port_map.modes(data, lane)
    assert reference == (100.0, 100.0)
    want = mixed_mode(CABLE.s(F, 50.0))
    for got, expected in zip(blocks, want, strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-9)
    np.testing.assert_allclose(FilePorts.open(path).s(F, 50.0), CABLE.s(F, 50.0), atol=1e-9)
    with pytest.raises(ValueError, match="differential"):
        port_map.modes(data, PortMap(inputs=((1,),), outputs=((2,),)))


def test_renormalisation_to_the_terminations_of_802_3dj_is_that_of_scikit_rf(file):
    skrf = pytest.importorskip("skrf")
    network = skrf.Network(str(file))
    network.renormalize(46.25)
    ports = FilePorts.open(file)
    np.testing.assert_allclose(ports.s(F, 46.25), np.moveaxis(network.s, 0, -1)[np.ix_(ODD, ODD)], atol=1e-7)
    network.renumber([0, 1, 2, 3], [0, 2, 1, 3])
    network.se2gmm(p=2)
    np.testing.assert_allclose(network.z0[0, :2].real, 92.5)
    np.testing.assert_allclose(network.z0[0, 2:].real, 23.125)
    blocks, other = mixed_mode(ports.s(F, 46.25)), np.moveaxis(network.s, 0, -1)
    np.testing.assert_allclose(blocks.dd, other[:2, :2], atol=1e-7)
    np.testing.assert_allclose(blocks.cc, other[2:, 2:], atol=1e-7)
    np.testing.assert_allclose(blocks.cd, other[2:, :2], atol=1e-7)
    np.testing.assert_allclose(blocks.dc, other[:2, 2:], atol=1e-7)


def test_a_balanced_pair_renormalises_as_its_two_port(tmp_path):
    even = TwinaxPair(cable=Twinax(length=0.3), coupling=0.1)
    write_touchstone(tmp_path / "even.s4p", F, even.s(F, 50.0)[np.ix_(ODD, ODD)])
    net = FileNetwork.open(tmp_path / "even.s4p")
    np.testing.assert_allclose(net.s(F, 92.5), mixed_mode(even.s(F, 46.25)).dd, atol=1e-7)


def test_the_way_to_scikit_rf_and_back(file):
    pytest.importorskip("skrf")
    ports = FilePorts.open(file)
    f, s, z = from_network(to_network(ports, F[1:9], 46.25))
    assert z == (46.25,) * 4
    np.testing.assert_array_equal(f, F[1:9])
    np.testing.assert_array_equal(s, ports.s(F[1:9], 46.25))


def test_missing_low_frequencies_come_back_on_both_wires(tmp_path):
    path = tmp_path / "gap.s4p"
    write_touchstone(path, F[4:], CABLE.s(F, 50.0)[np.ix_(ODD, ODD)][:, :, 4:])
    low = FilePorts.open(path).s(F[:5], 50.0)
    for out, into in ((2, 0), (3, 1), (0, 2), (1, 3)):
        np.testing.assert_allclose(low[out, into], CABLE.s(F[:5], 50.0)[out, into], atol=0.03)
        assert low[out, into, 0].imag == 0


def test_the_resistance_of_the_loop_is_that_of_both_wires(file):
    stated = Conditioning(dc="series_resistance", dc_resistance=4.0)
    zero = np.zeros(1)
    pair = FilePorts.open(file, conditioning=stated).s(zero, 50.0)
    np.testing.assert_allclose(mixed_mode(pair).dd, FileNetwork.open(file, conditioning=stated).s(zero, 100.0), atol=1e-12)
    assert pair[2, 0, 0] == pytest.approx(100 / 102)


def test_single_ended_maps_give_half_the_ports(file):
    one = FilePorts.open(file, PortMap(inputs=((1,),), outputs=((2,),)))
    assert one.n_ports == 2
    np.testing.assert_allclose(one.s(F, 50.0)[1, 0], CABLE.s(F, 50.0)[2, 0], atol=1e-9)


def test_equality_and_copies(file, tmp_path):
    copy = tmp_path / "copy.s4p"
    copy.write_bytes(file.read_bytes())
    a, b = FilePorts.open(file), FilePorts.open(copy)
    assert a == b
    assert hash(a) == hash(b)
    assert pickle.loads(pickle.dumps(a)) == a
    assert a != FilePorts.open(file, port_map.named("1-3/2-4"))
    assert a != FilePorts.open(file, conditioning=Conditioning(taper=0.1))


def test_files_that_give_no_ports(file, tmp_path):
    with pytest.raises(TouchstoneError, match="ports 1 to 4"):
        FilePorts.open(file, port_map.named("1-2/3-4", 8))
    path = tmp_path / "silent.s4p"
    write_touchstone(path, F, np.zeros((4, 4, F.size)))
    with pytest.raises(TouchstoneError, match="state port_map"):
        FilePorts.open(path)
    write_touchstone(path, F[:1], np.zeros((4, 4, 1)))
    with pytest.raises(TouchstoneError, match="one frequency"):
        FilePorts.open(path, port_map.named("1-2/3-4"))


@pytest.mark.parametrize(
    ("field", "value"),
    [("path", 3), ("sha256", "abc"), ("sha256", None), ("port_map", (1, 2)), ("conditioning", None)],
)
def test_bad_fields_are_refused(field, value):
    good = {"path": "a.s4p", "sha256": "0" * 64, "port_map": port_map.named("1-2/3-4")}
    with pytest.raises(ValueError, match=f"FilePorts.{field}"):
        FilePorts(**{**good, field: value})


def test_cases_of_both_port_orders(cases_dir):
    cases = {c["id"]: c for c in json.loads((cases_dir / "cases.json").read_text())["cases"]}
    for case in cases.values():
        if str(case.get("file", "")).startswith("ts1_s4p_diffpair"):
            path = cases_dir / case["file"]
            data, ports = read_touchstone(path), FilePorts.open(path)
            f = data.frequency
            dd = mixed_mode(ports.s(f, data.reference[0])).dd
            two_port, z = port_map.apply(data, ports.port_map)
            np.testing.assert_allclose(dd, two_port, atol=1e-9)
            np.testing.assert_allclose(ports.lane().s(f, 85.0), renormalise(two_port, z, 85.0), atol=1e-9)
