import copy
import json
import pickle

import numpy as np
import pytest

from channels import port_map
from channels.conditioning import Conditioning
from channels.file_network import FileNetwork, FilePorts, check_rate
from channels.network import Chain, renormalise
from channels.port_map import PortMap
from channels.touchstone import TouchstoneError, write_touchstone

F = np.arange(0, 601) * 50e6
ODD, HALVES = port_map.named("1-2/3-4"), port_map.named("1-3/2-4")


def path_response(f, delay=0.5e-9, skin=3e-6):
    w = 2j * np.pi * f
    return np.exp(-skin * np.sqrt(w) - w * delay)


def pair_file(path, f=F, delay=0.5e-9, gain=1.0, reference=50.0):
    """Two uncoupled matched lines under the convention 1-2/3-4."""
    s = np.zeros((4, 4, f.size), complex)
    for a, b in ((0, 1), (2, 3)):
        s[a, b] = s[b, a] = gain * path_response(f, delay)
    write_touchstone(path, f, s, reference)
    return path


def single_file(path, f=F, **keys):
    s = np.zeros((2, 2, f.size), complex)
    s[0, 1] = s[1, 0] = path_response(f, **keys)
    write_touchstone(path, f, s)
    return path


def reference_case(cases_dir, case_id):
    case = next(c for c in json.loads((cases_dir / "cases.json").read_text())["cases"] if c["id"] == case_id)
    return FileNetwork.open(cases_dir / case["file"]), case["expect"]


def test_a_differential_pair_is_a_two_port_at_any_frequency_and_reference(tmp_path):
    net = FileNetwork.open(pair_file(tmp_path / "a.s4p"))
    f = np.array([0.0, 1.234e9, 29e9, 31e9])
    s = net.s(f, 100.0)
    assert net.n_ports == 2
    np.testing.assert_allclose(s[1, 0, :3], path_response(f[:3]), atol=1e-3)
    np.testing.assert_allclose(s[0, 0], 0, atol=1e-12)
    assert not s[:, :, 3].any()
    np.testing.assert_allclose(net.s(f, 85.0)[:, :, :3], renormalise(s[:, :, :3], 100.0, 85.0), atol=1e-12)
    assert not net.s(f, 85.0)[:, :, 3].any()


def test_it_cascades_with_other_networks(tmp_path):
    net = FileNetwork.open(pair_file(tmp_path / "a.s4p"))
    both = net @ net.flipped
    assert isinstance(both, Chain)
    f = np.array([0.0, 5e9])
    np.testing.assert_allclose(both.s(f, 100.0)[1, 0], path_response(f) ** 2, atol=2e-3)


def test_equal_by_content_and_map_not_by_place(tmp_path):
    a = FileNetwork.open(pair_file(tmp_path / "a.s4p"))
    b = FileNetwork.open(pair_file(tmp_path / "b.s4p"))
    assert a == b
    assert hash(a) == hash(b)
    assert b.report.path.endswith("b.s4p")
    assert a != FileNetwork.open(tmp_path / "a.s4p", PortMap(inputs=((3, 1),), outputs=((4, 2),)))
    assert a != FileNetwork.open(tmp_path / "a.s4p", conditioning=Conditioning(taper=0.1))
    assert a != FileNetwork.open(pair_file(tmp_path / "c.s4p", delay=0.6e-9))
    assert pickle.loads(pickle.dumps(a)) == copy.copy(a) == a


def test_a_file_that_changed_is_an_error_that_says_so(tmp_path):
    path = pair_file(tmp_path / "a.s4p", delay=0.123e-9)
    net = FileNetwork.open(path)
    before = net.s(np.array([1e9]), 100.0)
    pair_file(path, delay=0.7e-9)
    np.testing.assert_array_equal(net.s(np.array([1e9]), 100.0), before)  # what was opened is what is used
    stale = FileNetwork(path=str(path), sha256="0" * 64, port_map=ODD)
    with pytest.raises(TouchstoneError, match="has changed"):
        stale.s(np.array([1e9]), 100.0)
    gone = FileNetwork(path=str(tmp_path / "none.s4p"), sha256="1" * 64, port_map=ODD)
    with pytest.raises(TouchstoneError, match="cannot be opened"):
        gone.s(np.array([1e9]), 100.0)


GOOD = {"path": "a.s4p", "sha256": "0" * 64, "port_map": ODD}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("path", None),
        ("sha256", "abc"),
        ("sha256", 5),
        ("sha256", "G" * 64),
        ("port_map", ((1, 3), (2, 4))),
        ("port_map", port_map.named("1-2/3-4", 8)),
        ("conditioning", {"taper": 0.1}),
    ],
)
def test_bad_fields_are_refused(field, value):
    with pytest.raises(ValueError, match=f"FileNetwork.{field}"):
        FileNetwork(**{**GOOD, field: value})


def test_maps_are_proposed_or_demanded(tmp_path):
    assert FileNetwork.open(pair_file(tmp_path / "a.s4p")).port_map == ODD
    with pytest.raises(TouchstoneError, match="state port_map"):
        FileNetwork.open(pair_file(tmp_path / "weak.s4p", gain=0.01))
    assert "map-ambiguous" in FileNetwork.open(pair_file(tmp_path / "faint.s4p", gain=0.4)).report.codes
    wrong = FileNetwork.open(tmp_path / "a.s4p", HALVES)
    assert "through-open" in wrong.report.codes
    assert wrong.report.map_evidence == "as stated"
    with pytest.raises(TouchstoneError, match="ports 1 to 4"):
        FileNetwork.open(tmp_path / "a.s4p", PortMap(inputs=((1, 3),), outputs=((2, 5),)))


def test_lanes_of_a_wide_file_are_chosen_by_map(tmp_path):
    path, s = tmp_path / "wide.s8p", np.zeros((8, 8, F.size), complex)
    for a, b in ((0, 1), (2, 3), (4, 5), (6, 7)):
        s[a, b] = s[b, a] = path_response(F)
    for a, b in ((4, 1), (6, 3)):
        s[a, b] = s[b, a] = 0.01 * path_response(F) * F / F[-1]
    for a, b in ((0, 2), (4, 6)):  # within a pair the coupling is strongest
        s[a, b] = s[b, a] = 0.03 * F / F[-1]
    write_touchstone(path, F, s)
    with pytest.raises(TouchstoneError, match=r"2 lanes.*port_map\.lane"):
        FileNetwork.open(path)
    wide, g = port_map.named("1-2/3-4", 8), np.array([0.0, 30e9])
    np.testing.assert_allclose(FileNetwork.open(path, wide.lane(1)).s(g, 100.0)[1, 0], path_response(g), atol=1e-3)
    far = FileNetwork.open(path, wide.lane(0, 1, "fext"))
    np.testing.assert_allclose(far.s(g, 100.0)[1, 0], [0, 0.01 * path_response(g)[1]], atol=1e-9)
    assert far.report.codes == ("no-through",)


@pytest.mark.parametrize(("n", "held"), [(1, "one port: a reflection"), (3, "3 ports")])
def test_files_without_a_path_are_named(tmp_path, n, held):
    path = tmp_path / f"x.s{n}p"
    write_touchstone(path, F, np.zeros((n, n, F.size)))
    first = next(i for i, line in enumerate(path.read_text().splitlines(), 1) if line[0] not in "!#")
    with pytest.raises(TouchstoneError, match=rf"x\.s{n}p, line {first}: holds {held}"):
        FileNetwork.open(path)


def test_a_map_that_does_not_fit_names_the_line_of_the_ports(tmp_path):
    first = next(i for i, x in enumerate(pair_file(tmp_path / "a.s4p").read_text().splitlines(), 1) if x[0] not in "!#")
    beyond = PortMap(inputs=((1, 3),), outputs=((2, 5),))
    for wrong in (lambda: FileNetwork.open(tmp_path / "a.s4p", beyond), lambda: FilePorts.open(tmp_path / "a.s4p", beyond)):
        with pytest.raises(TouchstoneError, match=rf"a\.s4p, line {first}: .*made of ports 1 to 4") as refusal:
            wrong()
        assert refusal.value.line == first
    pair_file(tmp_path / "weak.s4p", gain=0.01)
    with pytest.raises(TouchstoneError, match=rf"weak\.s4p, line {first}: no through path.*state port_map"):
        FileNetwork.open(tmp_path / "weak.s4p")
    write_touchstone(tmp_path / "three.ts", F, np.zeros((3, 3, F.size)), version=2)
    stated = (tmp_path / "three.ts").read_text().splitlines().index("[Number of Ports] 3") + 1
    with pytest.raises(TouchstoneError, match=rf"three\.ts, line {stated}: holds 3 ports"):
        FileNetwork.open(tmp_path / "three.ts")


def test_a_map_that_pairs_other_ports_than_the_data_is_told(tmp_path):
    path = pair_file(tmp_path / "a.s4p")
    for crossed in (PortMap(inputs=((1, 4),), outputs=((2, 3),)), HALVES):
        report = FileNetwork.open(path, crossed).report
        (finding,) = (f for f in report.findings if f.code == "map-disagrees")
        assert f"in={crossed.inputs}" in finding.message
        assert "in=((1, 3),) out=((2, 4),)" in finding.message
    # the first passes the signal as well as the right map does: nothing else would tell
    assert "through-open" not in FileNetwork.open(path, PortMap(inputs=((1, 4),), outputs=((2, 3),))).report.codes
    for same in (ODD, PortMap(inputs=((3, 1),), outputs=((4, 2),)), PortMap(inputs=((2, 4),), outputs=((1, 3),))):
        assert "map-disagrees" not in FileNetwork.open(path, same).report.codes
    unclear = pair_file(tmp_path / "faint.s4p", gain=0.4)
    assert "map-disagrees" not in FileNetwork.open(unclear, HALVES).report.codes


def test_a_truncated_or_missing_file_names_its_line(tmp_path):
    path = pair_file(tmp_path / "a.s4p")
    path.write_text("\n".join(path.read_text().splitlines()[:-2]))
    with pytest.raises(
        TouchstoneError, match=r"a\.s4p, line 2402: frequency 30000000000 Hz|a\.s4p, line 2402: frequency 3e\+10 Hz"
    ):
        FileNetwork.open(path)
    with pytest.raises(TouchstoneError, match="cannot be opened"):
        FileNetwork.open(tmp_path / "none.s4p")


def test_a_single_ended_file_is_taken_with_a_finding(tmp_path):
    net = FileNetwork.open(single_file(tmp_path / "a.s2p"))
    assert net.report.codes == ("single-ended",)
    np.testing.assert_allclose(net.s(F[:3], 50.0)[1, 0], path_response(F[:3]), atol=1e-9)


def test_the_report_describes_the_file(tmp_path):
    net = FileNetwork.open(pair_file(tmp_path / "a.s4p", f=F[1:]))
    report = net.report
    assert (report.n_ports, report.n_points, report.f_min, report.f_max) == (4, 600, 50e6, 30e9)
    assert (report.uniform, report.has_dc, report.f_step) == (True, False, pytest.approx(50e6))
    assert report.s21_dc == pytest.approx(1.0, abs=1e-6)
    assert report.delay == pytest.approx(0.5e-9, rel=0.1)
    assert report.codes == ("no-dc",)
    assert "fitted" in report.findings[0].message
    assert net.report is report
    for part in ("a.s4p", "4 ports", "600 points", "in (1, 3), out (2, 4)", "no-dc", *report.steps):
        assert part in report.text


def test_findings_that_depend_on_the_rate(tmp_path):
    net = FileNetwork.open(pair_file(tmp_path / "a.s4p"))
    assert check_rate(net, 26.5625e9) == ()
    assert [f.code for f in check_rate(net, 53.125e9)] == ["near-nyquist"]
    (finding,) = check_rate(net.report, 106.25e9)
    assert finding.code == "below-nyquist"
    assert "30 GHz" in finding.message
    assert "53.125 GHz" in finding.message
    with pytest.raises(ValueError, match="GBd"):
        check_rate(net, 53.125)


def test_a_step_too_coarse_for_the_delay_is_told(tmp_path):
    coarse = FileNetwork.open(pair_file(tmp_path / "a.s4p", f=F[::4], delay=3.6e-9))
    assert "coarse-step" in coarse.report.codes
    assert coarse.report.phase_step > np.pi / 4
    fine = FileNetwork.open(pair_file(tmp_path / "b.s4p", f=F, delay=3.6e-9))
    assert fine.report.codes == ("phase-step",)
    assert fine.report.rest_step < 0.1


def test_an_unrelated_phase_between_points_is_told(tmp_path):
    s = np.zeros((2, 2, 100), complex)
    s[1, 0] = s[0, 1] = 0.9 * np.exp(2j * np.pi * np.random.default_rng(2).uniform(size=100))
    write_touchstone(tmp_path / "x.s2p", F[:100], s)
    assert {"coarse-phase"} <= set(FileNetwork.open(tmp_path / "x.s2p").report.codes)


def test_a_silent_path_is_told(tmp_path):
    write_touchstone(tmp_path / "x.s2p", F, np.zeros((2, 2, F.size)))
    net = FileNetwork.open(tmp_path / "x.s2p")
    assert "no-signal" in net.report.codes
    assert net.report.early_energy is None
    assert "before time zero unknown" in net.report.text
    assert not net.s(F, 50.0).any()


def test_response_before_time_zero_is_told(tmp_path):
    early = FileNetwork.open(single_file(tmp_path / "a.s2p", delay=-0.2e-9))
    assert "negative-delay" in early.report.codes
    assert early.report.delay < 0
    assert early.report.early_energy > 0.9
    assert FileNetwork.open(single_file(tmp_path / "late.s2p", delay=0.2e-9)).report.early_energy < 1e-4
    two_sided = np.exp(-2j * np.pi * F * 0.05e-9) * (0.7 + 0.3 * np.exp(2j * np.pi * F * 0.4e-9))
    s = np.zeros((2, 2, F.size), complex)
    s[1, 0] = s[0, 1] = two_sided
    write_touchstone(tmp_path / "b.s2p", F, s)
    # echo of 0.3 against a main path of 0.7, before time zero
    share = FileNetwork.open(tmp_path / "b.s2p").report.early_energy
    assert share == pytest.approx(0.3**2 / (0.3**2 + 0.7**2), abs=0.01)
    assert f"before time zero {share:.2g}" in FileNetwork.open(tmp_path / "b.s2p").report.text
    assert {"negative-delay", "not-causal"} & set(FileNetwork.open(tmp_path / "b.s2p").report.codes)


def test_one_frequency_loads_but_gives_no_response(tmp_path):
    net = FileNetwork.open(single_file(tmp_path / "a.s2p", f=np.array([1e9])))
    assert "single-point" in net.report.codes
    assert "one point" in net.report.text
    with pytest.raises(TouchstoneError, match="one frequency"):
        net.s(F, 50.0)


def test_a_passivity_that_must_not_be_clipped_names_the_file(tmp_path):
    path = pair_file(tmp_path / "gain.s4p", gain=1.05)
    assert "not-passive" in FileNetwork.open(path).report.codes
    with pytest.raises(TouchstoneError, match=r"gain\.s4p.*clip_passivity"):
        FileNetwork.open(path, conditioning=Conditioning(clip_passivity=True))


def test_a_clipped_excess_is_no_longer_offered_for_repair(tmp_path):
    path = pair_file(tmp_path / "a.s4p", gain=1.0005)
    for clip, severity, words in ((False, "warning", "small enough to repair"), (True, "info", "clipped at 1")):
        report = FileNetwork.open(path, conditioning=Conditioning(clip_passivity=clip)).report
        (finding,) = (f for f in report.findings if f.code == "not-passive")
        assert finding.severity == severity
        assert words in finding.message
        assert ("clipped at 1, largest" in report.text) is clip
        assert report.max_singular_value == pytest.approx(1.0005, abs=1e-6)


def test_case_non_passive(cases_dir):
    net, expect = reference_case(cases_dir, "D22")
    want, report = expect["max_singular_value"], net.report
    assert report.max_singular_value == pytest.approx(want["value"], abs=want["tol_abs"])
    assert (report.max_singular_frequency, report.n_not_passive) == (want["f_hz"], expect["violating_points"])
    assert "not-passive" in report.codes


def test_case_negative_delay(cases_dir):
    net, expect = reference_case(cases_dir, "D23")
    assert net.report.leading_edge == pytest.approx(expect["delay_s"]["value"], abs=expect["delay_s"]["tol_abs"])
    assert "negative-delay" in net.report.codes


def test_case_band_below_nyquist(cases_dir):
    net, expect = reference_case(cases_dir, "D24")
    finding = next(f for f in check_rate(net, expect["symbol_rate_baud"]) if f.code == "below-nyquist")
    assert "20 GHz" in finding.message
    assert "26.5625 GHz" in finding.message


def test_case_single_point(cases_dir):
    net, _ = reference_case(cases_dir, "D16")
    with pytest.raises(TouchstoneError, match="near DC"):
        net.s(np.array([0.0, 1e9]), 50.0)


@pytest.mark.parametrize(
    ("file", "loss"),
    [
        ("ck_backplane_dpo4in/DPO_4in_Meg7_THRU.s4p", (7.03, 12.17, 88.92)),
        ("ck_c2c_sysvia/C2C_PCB_SYSVIA_12dB_thru.s4p", (6.93, 12.17, 75.33)),
        ("ck_c2m_il14/C2M__Z100_IL14_WC_BOR_H_L_H_THRU.s4p", (7.18, 13.94)),
        ("ck_cable_ca19p75/CA_19p75dB_thru.s4p", (11.62, 19.74, 35.77)),
        ("synthetic_224g/synth224_300mm_thru.s4p", (6.60, 9.88, 15.40)),
    ],
)
def test_losses_of_real_channels(channels_dir, file, loss):
    net = FileNetwork.open(channels_dir / file)
    got = -20 * np.log10(np.abs(net.s(np.array([13.28e9, 26.5625e9, 53.125e9])[: len(loss)], 100.0)[1, 0]))
    # deep notches are not where two interpolations agree
    np.testing.assert_allclose(got, loss, atol=0.01, rtol=0.02)
    assert not {"not-causal", "negative-delay", "through-open", "coarse-step"} & set(net.report.codes)


def test_crosstalk_of_real_channels(channels_dir):
    folder = channels_dir / "ck_cable_ca19p75"
    for name, loss in (("fext1", (52.58, 67.65)), ("next2", (76.48, 62.35))):
        net = FileNetwork.open(folder / f"CA_19p75dB_{name}.s4p", ODD)
        got = -20 * np.log10(np.abs(net.s(np.array([13.28e9, 26.5625e9]), 100.0)[1, 0]))
        np.testing.assert_allclose(got, loss, atol=0.15)
