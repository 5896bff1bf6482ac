import shutil

import numpy as np
import pytest

from channels import port_map
from channels.channel_set import ChannelSet
from channels.file_network import FileNetwork, FilePorts, open_all
from channels.touchstone import TouchstoneError, write_touchstone

F = np.arange(0, 301) * 100e6
G = np.array([0.0, 5e9, 25e9])


def path(delay, gain=1.0, f=F):
    w = 2j * np.pi * f
    return gain * np.exp(-3e-6 * np.sqrt(w) - w * delay)


def four_port(file, h, coupled=0.03):
    """Paths 1-2 and 3-4 with the response ``h``, the wires of each pair coupled a little."""
    s = np.zeros((4, 4, h.size), complex)
    for a, b in ((0, 1), (2, 3)):
        s[a, b] = s[b, a] = h
    for a, b in ((0, 2), (1, 3)):
        s[a, b] = s[b, a] = coupled * F / F[-1]
    write_touchstone(file, F, s)
    return file


def crosstalk(file, delay):
    return four_port(file, path(delay, 0.01) * 1j * F / F[-1])


@pytest.fixture
def folder(tmp_path):
    four_port(tmp_path / "board_THRU.s4p", path(2e-9))
    crosstalk(tmp_path / "board_FEXT1.s4p", 2e-9)
    crosstalk(tmp_path / "board_NEXT1.s4p", 0.1e-9)
    return tmp_path


def files(networks):
    return [n.path.rpartition("/")[2] for n in networks]


def test_a_folder_is_sorted_by_name(folder):
    found = ChannelSet.of_folder(folder)
    assert files(found.networks) == ["board_THRU.s4p", "board_FEXT1.s4p", "board_NEXT1.s4p"]
    assert {n.port_map for n in found.networks} == {port_map.named("1-2/3-4")}
    assert found.failures == ()
    assert len(found.evidence) == 3
    np.testing.assert_allclose(found.victim.s(G)[1, 0], path(2e-9, f=G), atol=1e-3)


def test_a_folder_is_sorted_by_data_where_names_say_nothing(folder):
    for i, name in enumerate(("board_THRU", "board_FEXT1", "board_NEXT1")):
        (folder / f"{name}.s4p").rename(folder / f"p{i}.s4p")
    found = ChannelSet.of_folder(folder)
    assert files(found.networks) == ["p0.s4p", "p1.s4p", "p2.s4p"]
    assert [len(found.far_end), len(found.near_end)] == [1, 1]
    assert any("by its data" in text for text in found.evidence)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("DPO_FENG89", "far_end"),
        ("DPO_NENF1112", "near_end"),
        ("x_fext_3", "far_end"),
        ("Far-End 2", "far_end"),
        ("nextgen_next7", "near_end"),
        ("NE-1", "near_end"),
    ],
)
def test_names_in_use(folder, name, kind):
    for old in ("board_FEXT1", "board_NEXT1"):
        (folder / f"{old}.s4p").unlink()
    crosstalk(folder / f"{name}.s4p", 1.3e-9)  # as early as neither kind
    found = ChannelSet.of_folder(folder)
    assert files(getattr(found, kind)) == [f"{name}.s4p"]


def test_what_cannot_be_told_or_read_is_named_and_the_rest_kept(folder):
    crosstalk(folder / "unclear.s4p", 1.3e-9)
    (folder / "broken_fext.s4p").write_text("# GHz S RI R 50\n1 2\n")
    (folder / "notes.txt").write_text("not a channel")
    found = ChannelSet.of_folder(folder)
    assert len(found.networks) == 3
    why = {path.rpartition("/")[2]: text for path, text in found.failures}
    assert set(why) == {"unclear.s4p", "broken_fext.s4p"}
    assert "put FEXT or NEXT in the name" in why["unclear.s4p"]
    assert "line 2" in why["broken_fext.s4p"]


def test_a_name_that_contradicts_the_data_is_told(folder):
    (folder / "board_NEXT1.s4p").rename(folder / "board_FEXT2.s4p")
    found = ChannelSet.of_folder(folder)
    assert len(found.far_end) == 2
    assert any("look like next" in text for text in found.evidence)


def test_a_through_file_without_through_is_left_out(folder):
    crosstalk(folder / "second_THRU.s4p", 2e-9)
    found = ChannelSet.of_folder(folder)
    assert "carries none" in found.failures[0][1]


def test_one_through_file_is_needed(folder):
    shutil.copy(folder / "board_THRU.s4p", folder / "other_THRU.s4p")
    with pytest.raises(TouchstoneError, match=r"board_THRU\.s4p, other_THRU\.s4p"):
        ChannelSet.of_folder(folder)
    for name in ("board_THRU", "other_THRU"):
        (folder / f"{name}.s4p").unlink()
    with pytest.raises(TouchstoneError, match=r"found none; board_FEXT1\.s4p failed"):
        ChannelSet.of_folder(folder)
    with pytest.raises(TouchstoneError, match="not a folder"):
        ChannelSet.of_folder(folder / "nowhere")


def test_equality_is_that_of_the_networks(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("again") / "set"
    shutil.copytree(folder, other)
    assert ChannelSet.of_folder(folder) == ChannelSet.of_folder(other)
    assert len({ChannelSet.of_folder(folder), ChannelSet.of_folder(other)}) == 1


def test_bad_fields_are_refused(folder):
    victim = FileNetwork.open(folder / "board_THRU.s4p")
    for field, value in (
        ("victim", "board_THRU.s4p"),
        ("far_end", [victim]),
        ("near_end", (victim, None)),
        ("evidence", "by hand"),
        ("failures", None),
    ):
        with pytest.raises(ValueError, match=f"ChannelSet.{field}"):
            ChannelSet(**{"victim": victim, field: value})


def lanes_file(file, n_lanes):
    """Lanes in the convention 1-2/3-4 with neighbours coupled: far end with delay, near end at once."""
    s = np.zeros((4 * n_lanes, 4 * n_lanes, F.size), complex)
    ports = [(4 * k, 4 * k + 1) for k in range(n_lanes)]
    h, far, near = path(1e-9), path(1e-9, 0.01) * 1j * F / F[-1], path(0.0, 0.005) * 1j * F / F[-1]
    for k, (a, b) in enumerate(ports):
        for wire in (0, 2):
            s[b + wire, a + wire] = s[a + wire, b + wire] = h
        s[a, a + 2] = s[a + 2, a] = s[b, b + 2] = s[b + 2, b] = 0.05 * F / F[-1]
        for a2, b2 in (p for j, p in enumerate(ports) if abs(j - k) == 1):
            for wire in (0, 2):
                s[b + wire, a2 + wire] = s[a2 + wire, b + wire] = far
                s[b + wire, b2 + wire] = s[a + wire, a2 + wire] = near
    write_touchstone(file, F, s)
    return file


@pytest.mark.parametrize("n_lanes", [2, 3])
def test_lanes_of_a_wide_file(tmp_path, n_lanes):
    file = lanes_file(tmp_path / f"wide.s{4 * n_lanes}p", n_lanes)
    found = ChannelSet.of_lanes(file, victim=1, near_end=(0,))
    assert (len(found.far_end), len(found.near_end)) == (n_lanes - 2, 1)
    np.testing.assert_allclose(found.victim.s(G)[1, 0], path(1e-9, f=G), atol=1e-3)
    np.testing.assert_allclose(found.near_end[0].s(G)[1, 0], path(0.0, 0.005, G) * 1j * G / F[-1], atol=1e-4)
    for far in found.far_end:
        np.testing.assert_allclose(far.s(G)[1, 0], path(1e-9, 0.01, G) * 1j * G / F[-1], atol=1e-4)
    assert FilePorts.open(file).n_ports == 4 * n_lanes
    assert FilePorts.open(file).lane(1) == found.victim


def test_lanes_that_are_not_there(tmp_path):
    file = lanes_file(tmp_path / "wide.s8p", 2)
    for arguments, field in (
        ({"victim": 2}, "victim"),
        ({"near_end": (2,)}, "near_end"),
        ({"near_end": (0,)}, "near_end"),
        ({"near_end": [1]}, "near_end"),
    ):
        with pytest.raises(ValueError, match=f"of_lanes.{field}"):
            ChannelSet.of_lanes(file, **arguments)


def test_a_case_of_two_lanes_from_named_ports(cases_dir):
    found = ChannelSet.of_lanes(cases_dir / "ts1_s8p_two_lanes_in1to4_out5to8_port_names_in_comments.s8p")
    assert len(found.far_end) == 1
    assert found.victim.report.is_through
    assert not found.far_end[0].report.is_through


def test_real_folders(channels_dir):
    found = ChannelSet.of_folder(channels_dir / "ck_backplane_dpo4in")
    assert files(found.far_end) == ["DPO_4in_Meg7_FENG89.s4p"]
    assert files(found.near_end) == ["DPO_4in_Meg7_NENF1112.s4p"]
    found = ChannelSet.of_folder(channels_dir / "ck_cable_ca19p75")
    assert (len(found.far_end), len(found.near_end), found.failures) == (1, 2, ())


def test_real_data_tell_the_ends_of_a_cable_without_names(channels_dir, tmp_path):
    folder = channels_dir / "synthetic_224g"
    for i, name in enumerate(("thru", "fext1", "next1")):
        shutil.copy(folder / f"synth224_300mm_{name}.s4p", tmp_path / f"p{i}.s4p")
    found = ChannelSet.of_folder(tmp_path)
    assert [files(x) for x in (found.far_end, found.near_end)] == [["p1.s4p"], ["p2.s4p"]]


def test_a_batch_names_each_failure_and_keeps_the_rest(folder):
    (folder / "bad.s4p").write_bytes(b"\x00\x01\x02")
    batch = open_all([folder / "board_FEXT1.s4p", folder / "none.s4p", folder / "board_THRU.s4p", folder / "bad.s4p"])
    assert files(batch.networks) == ["board_FEXT1.s4p", "board_THRU.s4p"]
    assert [path.rpartition("/")[2] for path, _ in batch.failures] == ["none.s4p", "bad.s4p"]
    assert all(path in why for path, why in batch.failures)
    alone = open_all([folder / "board_FEXT1.s4p"])
    assert (alone.networks, len(alone.failures)) == ((), 1)
    stated = open_all([folder / "board_FEXT1.s4p"], port_map.named("1-2/3-4"))
    assert len(stated.networks) == 1
