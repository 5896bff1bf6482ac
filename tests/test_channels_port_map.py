import json

import numpy as np
import pytest

from channels import port_map
from channels.port_map import PortMap
from channels.touchstone import TouchstoneData, read_touchstone

ODD, HALVES = "1-2/3-4", "1-3/2-4"


def pair_data(convention, coupling=0.1, through=0.9, n_ports=4, port_names=()):
    """Straight paths of ``through`` and a coupling within each pair, from 0 to 2 GHz."""
    m = port_map.named(convention, n_ports)
    s = np.zeros((n_ports, n_ports, 3), complex)
    for ins, outs in zip(m.inputs, m.outputs, strict=True):
        for i, a in enumerate(ins):
            for k, b in enumerate(outs):
                s[b - 1, a - 1] = s[a - 1, b - 1] = through if i == k else coupling
    return TouchstoneData(frequency=[0, 1e9, 2e9], s=s, reference=(50.0,) * n_ports, port_names=port_names)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"inputs": ()}, "inputs"),
        ({"inputs": [(1, 3)]}, "inputs"),
        ({"inputs": ((1, 3, 5),)}, "inputs"),
        ({"inputs": ((0, 3),)}, "inputs"),
        ({"inputs": ((1, 3), (5, 7))}, "inputs"),
        ({"outputs": ((2, True),)}, "outputs"),
        ({"outputs": ((2,),)}, "outputs"),
        ({"outputs": ((2, 3),)}, "outputs"),
        ({"outputs": (2, 4)}, "outputs"),
    ],
)
def test_a_map_refuses_bad_fields(change, field):
    with pytest.raises(ValueError, match=f"PortMap.{field}"):
        PortMap(**{"inputs": ((1, 3),), "outputs": ((2, 4),), **change})


def test_named_conventions_and_com_port_orders():
    assert port_map.named(ODD) == port_map.from_port_order((1, 3, 2, 4)) == PortMap(inputs=((1, 3),), outputs=((2, 4),))
    assert port_map.named(HALVES) == port_map.from_port_order((1, 2, 3, 4)) == PortMap(inputs=((1, 2),), outputs=((3, 4),))
    assert port_map.named(ODD, 12).inputs == ((1, 3), (5, 7), (9, 11))
    assert port_map.named(HALVES, 12).outputs == ((7, 8), (9, 10), (11, 12))
    assert port_map.named(ODD, 12).n_lanes == 3


@pytest.mark.parametrize("arguments", [("1-4/2-3",), (ODD, 6), (ODD, 2)])
def test_named_refuses_what_has_no_convention(arguments):
    with pytest.raises(ValueError, match="named"):
        port_map.named(*arguments)


@pytest.mark.parametrize("order", [(1, 2, 3), (1, 2, 3, 4, 5), [1, 2, 3, 4]])
def test_a_port_order_is_four_ports(order):
    with pytest.raises(ValueError, match="order"):
        port_map.from_port_order(order)


@pytest.mark.parametrize("convention", [ODD, HALVES])
@pytest.mark.parametrize("n_ports", [4, 8, 12])
@pytest.mark.parametrize("coupling", [0.0, 0.1, -0.4])
def test_the_proposal_finds_the_map_that_built_the_data(convention, n_ports, coupling):
    proposal = port_map.propose(pair_data(convention, coupling, n_ports=n_ports))
    assert proposal.port_map == port_map.named(convention, n_ports)
    assert proposal.confidence == "clear"
    assert "1-2" in proposal.evidence or convention == HALVES


def test_a_pair_that_passes_the_differential_mode_only_is_found_by_sign():
    proposal = port_map.propose(pair_data(HALVES, -0.5, 0.5, n_ports=8))
    assert proposal.port_map == port_map.named(HALVES, 8)
    assert "Re S" in proposal.evidence


def test_pairs_of_paths_that_are_not_neighbours_are_found_by_their_coupling():
    m = PortMap(inputs=((1, 5), (3, 7)), outputs=((2, 6), (4, 8)))
    s = np.zeros((8, 8, 2), complex)
    for ins, outs in zip(m.inputs, m.outputs, strict=True):
        for i, a in enumerate(ins):
            for k, b in enumerate(outs):
                s[b - 1, a - 1] = s[a - 1, b - 1] = 0.9 if i == k else 0.1
    data = TouchstoneData(frequency=[0, 1e9], s=s, reference=(50.0,) * 8)
    assert port_map.propose(data).port_map == m
    s[:] = np.where(s == 0.1, 0, s)
    s[3, 0] = s[0, 3] = s[5, 2] = s[2, 5] = 0.05
    doubtful = port_map.propose(TouchstoneData(frequency=[0, 1e9], s=s, reference=(50.0,) * 8))
    assert doubtful.confidence == "ambiguous"
    assert "pair is not clear" in doubtful.evidence


def test_weak_or_absent_paths_are_not_clear():
    assert port_map.propose(pair_data(ODD, 0.0, 0.4)).confidence == "ambiguous"
    assert port_map.propose(pair_data(ODD, 0.0, 0.01)).port_map is None
    for n in (1, 3, 6):
        data = TouchstoneData(frequency=[0.0], s=np.zeros((n, n, 1)), reference=(50.0,) * n)
        assert port_map.propose(data).confidence == "none"


def test_names_of_ports_come_before_their_numbers():
    names = ("RX OUT_N", "TX_IN_P", "RX OUT_P", "TX_IN_N")
    mixed = port_map.propose(pair_data(ODD, port_names=("A_OUT_N", "A_IN_N", "A_OUT_P", "A_IN_P")))
    assert mixed.port_map == PortMap(inputs=((4, 2),), outputs=((3, 1),))
    assert mixed.confidence == "clear"
    assert port_map.propose(pair_data(ODD, port_names=names)).port_map == port_map.named(ODD)  # no lane: not used


def test_a_stated_map_with_an_open_through_path_is_told():
    data = pair_data(ODD, 0.0)
    assert port_map.check_map(data, port_map.named(ODD)) == ()
    (finding,) = port_map.check_map(data, port_map.named(HALVES))
    assert (finding.code, finding.severity) == ("through-open", "warning")
    assert "port 2" in finding.message
    wide = port_map.check_map(pair_data(HALVES, 0.0, n_ports=8), port_map.named(ODD, 8))
    assert [f.code for f in wide] == ["no-through", "no-through"]  # each lane is looked at
    assert port_map.check_map(pair_data(ODD, n_ports=8), port_map.named(ODD, 8)) == ()
    (quiet,) = port_map.check_map(pair_data(ODD, 0.0, n_ports=8), port_map.named(ODD, 8).lane(0, 1, "fext"))
    assert (quiet.code, quiet.severity) == ("no-through", "info")


def test_lanes_of_a_map():
    m = port_map.named(ODD, 8)
    assert m.lane(1) == PortMap(inputs=((5, 7),), outputs=((6, 8),))
    assert m.lane(0, 1, "fext") == PortMap(inputs=((5, 7),), outputs=((2, 4),))
    assert m.lane(0, 1, "next") == PortMap(inputs=((6, 8),), outputs=((2, 4),))
    assert m.path(("input", 0), ("input", 1)) == PortMap(inputs=((1, 3),), outputs=((5, 7),))


@pytest.mark.parametrize("arguments", [(2,), (0, 0, "fext"), (0, 2, "next"), (0, 1), (0, None, "fext"), (0, 1, "xtalk")])
def test_lanes_that_are_not_there_are_refused(arguments):
    with pytest.raises(ValueError, match=r"PortMap\.lane"):
        port_map.named(ODD, 8).lane(*arguments)


@pytest.mark.parametrize("end", [("in", 0), ("input", 3)])
def test_ends_that_are_not_there_are_refused(end):
    with pytest.raises(ValueError, match=r"PortMap\.path"):
        port_map.named(ODD, 8).path(end, ("output", 0))


def test_apply_selects_modes_polarity_and_reference():
    data = pair_data(ODD, 0.1)
    s, z = port_map.apply(data, port_map.named(ODD))
    assert z == (100.0, 100.0)
    np.testing.assert_allclose(s[1, 0], 0.8)  # even mode 0.9 + 0.1, odd mode 0.9 - 0.1
    crossed, _ = port_map.apply(data, PortMap(inputs=((3, 1),), outputs=((2, 4),)))
    np.testing.assert_allclose(crossed[1, 0], -0.8)
    single, z = port_map.apply(data, PortMap(inputs=((1,),), outputs=((2,),)))
    assert z == (50.0, 50.0)
    np.testing.assert_allclose(single[1, 0], 0.9)
    with pytest.raises(ValueError, match="ports 1 to 4"):
        port_map.apply(data, PortMap(inputs=((1, 3),), outputs=((2, 5),)))


def test_unequal_references_of_a_pair_leave_the_network_the_same():
    """A through connection on references 40 and 60 is a through connection on their mean."""
    z = np.array([40.0, 60.0])
    s = np.zeros((4, 4, 1), complex)
    for a, b in ((0, 1), (2, 3)):
        i, k = (0, 1) if a == 0 else (1, 0)
        s[a, a], s[b, b] = (z[k] - z[i]) / 100, (z[i] - z[k]) / 100
        s[a, b] = s[b, a] = 2 * np.sqrt(z[0] * z[1]) / 100
    data = TouchstoneData(frequency=[0.0], s=s, reference=(40.0, 60.0, 60.0, 40.0))
    through, reference = port_map.apply(data, port_map.named(ODD))
    assert reference == (100.0, 100.0)
    np.testing.assert_allclose(through[:, :, 0], [[0, 1], [1, 0]], atol=1e-12)


def reference_case(cases_dir, case_id):
    case = next(c for c in json.loads((cases_dir / "cases.json").read_text())["cases"] if c["id"] == case_id)
    return read_touchstone(cases_dir / case["file"]), case["expect"]


@pytest.mark.parametrize(("case_id", "right", "wrong"), [("D18", ODD, HALVES), ("D19", HALVES, ODD)])
def test_differential_pair_case(cases_dir, case_id, right, wrong):
    data, expect = reference_case(cases_dir, case_id)
    proposal = port_map.propose(data)
    assert (proposal.port_map, proposal.confidence) == (port_map.named(right), "clear")
    assert [f.code for f in port_map.check_map(data, port_map.named(wrong))] == ["through-open"]
    s, _ = port_map.apply(data, proposal.port_map)
    common = data.s[np.ix_(*2 * [np.array(proposal.port_map.ports) - 1])]
    for point in expect["mixed_mode"]:
        k = int(np.argmin(np.abs(data.frequency - point["f_hz"])))
        assert s[1, 0, k] == pytest.approx(complex(*point["SDD21"]), abs=2e-8)
        assert common[2:, :2, k].sum() / 2 == pytest.approx(complex(*point["SCC21"]), abs=2e-8)


@pytest.mark.parametrize("by_name", [True, False])
def test_two_lane_case(cases_dir, by_name):
    data, expect = reference_case(cases_dir, "D25")
    if not by_name:
        data = TouchstoneData(frequency=data.frequency, s=data.s, reference=data.reference)
    proposal = port_map.propose(data)
    m, stated = proposal.port_map, expect["map"]
    assert m.inputs == (tuple(stated["L0_in"]), tuple(stated["L1_in"]))
    assert m.outputs == (tuple(stated["L0_out"]), tuple(stated["L1_out"]))
    assert ("names" in proposal.evidence) is by_name
    paths = {
        "THRU_L0": port_map.lane(data, m, 0),
        "THRU_L1": port_map.lane(data, m, 1),
        "FEXT_L0in_to_L1out": port_map.lane(data, m, 1, 0, "fext"),
        "FEXT_L1in_to_L0out": port_map.lane(data, m, 0, 1, "fext"),
        "NEXT_L0in_to_L1in": port_map.apply(data, m.path(("input", 0), ("input", 1))),
    }
    for k, point in enumerate(expect["differential"]):
        for name, (s, _) in paths.items():
            assert s[1, 0, k] == pytest.approx(complex(*point[name]), abs=2e-8)


@pytest.mark.parametrize(
    ("file", "order"),
    [
        ("ck_backplane_dpo10in/DPO_10in_Meg7_THRU.s4p", (1, 3, 2, 4)),
        ("ck_c2c_sysvia/C2C_PCB_SYSVIA_12dB_thru.s4p", (1, 3, 2, 4)),
        ("ck_c2m_il14/C2M__Z100_IL14_WC_BOR_H_L_H_THRU.s4p", (1, 3, 2, 4)),
        ("ck_cable_ca19p75/CA_19p75dB_thru.s4p", (1, 3, 2, 4)),
        ("synthetic_224g/synth224_300mm_thru.s4p", (1, 3, 2, 4)),
        ("portorder_1324/diff_dut.s4p", (1, 2, 3, 4)),
    ],
)
def test_port_order_of_real_channels(channels_dir, file, order):
    proposal = port_map.propose(read_touchstone(channels_dir / file))
    assert (proposal.port_map, proposal.confidence) == (port_map.from_port_order(order), "clear")


@pytest.mark.parametrize(
    "file", ["ck_backplane_dpo4in/DPO_4in_Meg7_FENG89.s4p", "ck_c2m_il14/C2M__Z100_IL14_WC_BOR_H_L_H_FEXT1.s4p"]
)
def test_crosstalk_files_get_no_guess(channels_dir, file):
    assert port_map.propose(read_touchstone(channels_dir / file)).port_map is None
