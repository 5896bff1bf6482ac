import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.touchstone import (
    Finding,
    TouchstoneData,
    TouchstoneError,
    parse_touchstone,
    read_touchstone,
    write_touchstone,
)

CASES = [f"D{i:02d}" for i in range(1, 26)] + ["D41"]
ONE = "1 0.1 0 0.8 -0.1 0.8 -0.1 0.1 0\n"
TWO = "2 0.1 0 0.7 -0.2 0.7 -0.2 0.1 0\n"


def random_network(rng, n, n_f=5):
    s = rng.normal(size=(n, n, n_f)) + 1j * rng.normal(size=(n, n, n_f))
    return np.cumsum(rng.uniform(1e6, 1e9, n_f)), s / np.linalg.norm(np.moveaxis(s, -1, 0), 2, axis=(1, 2))


def codes(data):
    return [f.code for f in data.findings]


def refusal(content, name="x.s2p"):
    with pytest.raises(TouchstoneError) as caught:
        parse_touchstone(content, name)
    return caught.value


@pytest.mark.parametrize("case_id", CASES)
def test_reference_case(cases_dir, tmp_path, case_id):
    case = next(c for c in json.loads((cases_dir / "cases.json").read_text())["cases"] if c["id"] == case_id)
    expect = case["expect"]
    path = cases_dir / case["file"]
    if expect["outcome"] == "clear_error" or expect.get("error_preferred"):
        with pytest.raises(TouchstoneError) as caught:
            read_touchstone(path)
        message = str(caught.value)
        assert case["file"] in message
        for part in expect["message_should_contain"]:
            words = [part, *part.split(" or "), part.replace("frequency ", "")]
            assert any(w.strip() in message for w in words if w.strip()), part
        return
    data = read_touchstone(path)
    values = expect.get("if_loaded", expect)
    if expect["outcome"] == "warning_or_error" and not expect.get("plain_load_ok"):
        assert data.findings
    if "n_ports" in expect:
        assert data.n_ports == expect["n_ports"]
    if "n_freq" in expect:
        assert data.frequency.size == expect["n_freq"]
    if "z0" in values:
        assert data.reference == tuple(values["z0"])
    if "frequencies_hz" in values:
        np.testing.assert_allclose(data.frequency, values["frequencies_hz"], rtol=1e-12)
    assert len(data.noise) == expect.get("noise_rows", 0)
    if expect.get("roundtrip"):
        copy = tmp_path / "copy.s2p"
        write_touchstone(copy, data.frequency, data.s, number_format="DB")
        data = read_touchstone(copy)
    for point in values.get("points", []):
        k = int(np.argmin(np.abs(data.frequency - point["f_hz"])))
        assert data.frequency[k] == pytest.approx(point["f_hz"], rel=1e-12)
        want = np.array(point["S"])
        for got, column in ((data.s[:, :, k].real, want[..., 0]), (data.s[:, :, k].imag, want[..., 1])):
            np.testing.assert_allclose(got, column, rtol=values["tol_rel"], atol=max(values["tol_abs"], 1e-15))


def test_two_port_columns_are_s11_s21_s12_s22_and_others_row_by_row():
    two = parse_touchstone("# Hz S RI R 50\n1 11 0 21 0 12 0 22 0\n", "x.s2p")
    np.testing.assert_array_equal(two.s[:, :, 0].real, [[11, 12], [21, 22]])
    three = parse_touchstone("# Hz S RI R 50\n1 11 0 12 0 13 0\n21 0 22 0 23 0\n31 0 32 0 33 0\n", "x.S3P")
    np.testing.assert_array_equal(three.s[:, :, 0].real, [[11, 12, 13], [21, 22, 23], [31, 32, 33]])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "utf-16"])
def test_line_ends_and_encodings_make_no_difference(end, encoding):
    text = "! Temp 23 °C\n\t # ghz s ri R 50 ! café\n" + ONE.replace(" ", "\t") + "\n! between\n" + TWO.strip() + "! tail"
    data = parse_touchstone(text.replace("\n", end).encode(encoding), "x.s2p")
    np.testing.assert_array_equal(data.frequency, [1e9, 2e9])
    assert data.s[1, 0, 1] == 0.7 - 0.2j
    assert "Temp 23 °C" in data.comments
    assert data.findings == ()


@pytest.mark.parametrize(
    ("option", "code"),
    [("", "no-option-line"), ("# GHz S RI\n", "option-line-default"), ("# R 50 RI S GHz\n", "option-line-order")],
)
def test_a_choice_made_for_the_user_is_a_finding(option, code):
    data = parse_touchstone(option + ONE, "x.s2p")
    assert codes(data) == [code]
    assert data.frequency[0] == 1e9
    assert data.reference == (50, 50)


def test_every_option_line_default_is_named():
    data = parse_touchstone("#\n" + ONE, "x.s2p")
    for part in ("unit GHz", "parameter S", "format MA", "reference R 50"):
        assert part in data.findings[0].message


@pytest.mark.parametrize(
    ("content", "line", "part"),
    [
        ("", None, "no network data"),
        ("# GHz S RI R 50\n", 1, "no network data"),
        ("# GHz S RI R 50 furlong\n" + ONE, 1, "furlong"),
        ("# GHz MHz S RI R 50\n" + ONE, 1, "unit twice"),
        ("# GHz S RI R\n" + ONE, 1, "reference"),
        ("# GHz S RI R -50\n" + ONE, 1, "reference"),
        ("# GHz S RI R 50 60 70\n" + ONE, None, "3 references for 2 ports"),
        (ONE + "# GHz S RI R 50\n" + TWO, 2, "before the option line|stand before"),
        ("# GHz S RI R 50\n" + ONE + "# MHz S RI R 50\n" + TWO, 3, "contradicts"),
        ("# GHz S RI R 50\n" + ONE + TWO.replace("0.7", "0,7"), 3, "0,7"),
        ("# GHz S RI R 50\n" + ONE + TWO.replace("0.7", "1_0"), 3, "1_0"),
        ("# GHz S RI R 50\n" + ONE + TWO.replace("0.7", "inf"), 3, "inf"),
        ("# GHz S RI R 50\n" + ONE + TWO.replace("0.7", "1e999"), None, "floating-point range"),
        ("# GHz S RI R 50\n" + ONE + "-" + TWO, 3, "negative"),
        ("# GHz S RI R 50\n" + ONE + "2 0.1 0 0.7\n", 3, "holds 4 of the 9"),
        ("# GHz S RI R 50\n" + ONE + "5 0.1 0 0.7 1\n", 3, "5 of the 9"),
        ("# GHz S RI R 50\n1 2 3 4 5\n", 2, "noise data without"),
        ("# GHz S RI R 50\n1 900 0 1e7 0 0 0 0 0\n", None, "beyond any network"),
        ("# GHz S RI R 50\n1e300 900 0 1 0 0 0 0 0\n", None, "beyond any network"),
        ("# GHz H RI R 50\n" + ONE, None, "H-parameters"),
        ("# GHz Z RI R 50\n1 -1 0 0 0 0 0 -1 0\n", None, "singular"),
        (b"\0\1\2", None, "binary"),
        ("# GHz S RI R 50\n[Version] 2.0", 2, "is empty|no network|Version|Ports"),
        ("[Version] 2.0\n# GHz S RI R 50\n[Network Data]\n" + ONE, None, "Number of Ports"),
        ("[Version] 3.0\n# GHz S RI R 50\n[Number of Ports] 2\n[Network Data]\n" + ONE, 1, "Version"),
        ("[Version] 2.0\n# GHz S RI R 50\n[Number of Ports] two\n[Network Data]\n" + ONE, 3, "whole number"),
        ("[Version] 2.0\n# GHz S RI R 50\n[Number of Cats] 2\n[Network Data]\n" + ONE, 3, "number of cats"),
        ("[Version] 2.0\n# GHz S RI R 50\n[Version] 2.0\n[Network Data]\n" + ONE, 3, "second time"),
        ("[Version 2.0\n# GHz S RI R 50\n" + ONE, 1, "bracket"),
        ("[Version] 2.0\n# GHz S RI R 50\n7\n[Network Data]\n" + ONE, 3, "expected a keyword"),
        ("# GHz S RI R 50\n" + ONE + "[Version] 2.0\n", 3, "version 1 data"),
    ],
)
def test_what_cannot_be_read_is_refused_with_line_and_cause(content, line, part):
    error = refusal(content)
    if line is not None:
        assert error.line == line
    assert any(p in str(error) for p in part.split("|"))
    assert error.file == "x.s2p"


def test_version_2_counts_references_and_two_port_order_are_checked():
    head = "[Version] 2.0\n# GHz S RI R 50\n[Number of Ports] 2\n"
    order, data = "[Two-Port Data Order] 12_21\n", "[Network Data]\n" + ONE + TWO
    assert refusal(head + order + "[Number of Frequencies] 3\n" + data, "x.ts").cause.endswith("the file holds 2")
    assert refusal(head + order + "[Reference] 50\n" + data, "x.ts").line == 5
    assert "extension" in codes(parse_touchstone(head + order + data, "x.s4p"))
    assert codes(parse_touchstone(head + data, "x.ts")) == ["no-two-port-order"]
    assert "Two-Port" in str(refusal(head + data.replace("0.8 -0.1 0.8", "0.8 -0.1 0.3"), "x.ts"))
    assert parse_touchstone(head + order + "[Begin Information]\nfree text # [x\n[End Information]\n" + data, "x").n_ports == 2
    noisy = parse_touchstone(head + order + data + "[Noise Data]\n1 2 0.1 30 0.2\n[End]\ngarbage", "x.ts")
    np.testing.assert_array_equal(noisy.noise, [[1e9, 2, 0.1, 30, 0.2]])
    assert refusal(head + order + data + "[Noise Data]\n1 2 0.1\n", "x.ts").line == 9
    assert codes(parse_touchstone((head + order + data).replace("[Version] 2.0\n", ""), "x.ts")) == ["no-version"]


@pytest.mark.parametrize("layout", ["Full", "Lower", "Upper"])
def test_version_2_matrix_layouts_hold_the_same_network(layout):
    rng = np.random.default_rng(1)
    m = rng.normal(size=(3, 3))
    m = m + m.T
    keep = {"Full": np.ones((3, 3), bool), "Lower": np.tri(3, dtype=bool), "Upper": np.tri(3, dtype=bool).T}[layout]
    rows = ["1"] + [" ".join(f"{m[i, j]:.17g} 0" for j in range(3) if keep[i, j]) for i in range(3)]
    text = f"[Version] 2.1\n# Hz S RI R 50\n[Number of Ports] 3\n[Matrix Format] {layout}\n[Network Data]\n" + "\n".join(rows)
    np.testing.assert_array_equal(parse_touchstone(text, "x.ts").s[:, :, 0].real, m)


def test_mixed_mode_file_becomes_single_ended():
    """A pair of uncoupled loads: reflection g at both ports is g in both modes, and a load between the pins only in D."""
    head = "[Version] 2.0\n# GHz S RI R 50\n[Number of Ports] 2\n[Two-Port Data Order] 12_21\n[Mixed-Mode Order] D1,2 C1,2\n"
    data = parse_touchstone(head + "[Network Data]\n1 -0.5 0 0 0 0 0 0.5 0\n", "x.ts")
    np.testing.assert_allclose(data.s[:, :, 0], [[0, 0.5], [0.5, 0]], atol=1e-15)
    assert codes(data) == ["mixed-mode"]
    for modes in ("D1,2 D1,2", "D1,2 S1", "D1,3 C1,3", "D1,2"):
        bad = head.replace("D1,2 C1,2", modes) + "[Network Data]\n1 -0.5 0 0 0 0 0 0.5 0\n"
        assert refusal(bad, "x.ts").line == 5


def test_impedances_and_admittances_become_reflections():
    for parameter, value in (("Z", 3.0), ("Y", 1 / 3)):
        data = parse_touchstone(f"# GHz {parameter} RI R 75\n1 {value!r} 0\n", "x.s1p")
        assert data.s[0, 0, 0] == pytest.approx(0.5)
        raw = value * 75 if parameter == "Z" else value / 75
        text = f"[Version] 2.0\n# GHz {parameter} RI R 75\n[Number of Ports] 1\n[Network Data]\n1 {raw!r} 0\n"
        assert parse_touchstone(text, "x.ts").s[0, 0, 0] == pytest.approx(0.5)


def test_wrong_extension_is_found_even_where_the_total_fits():
    """44 rows of 9 numbers are as many as 12 points of a 4-port."""
    rows = "".join(f"{k} 0.1 0 0.7 0 0.7 0 0.1 0\n" for k in range(1, 45))
    assert ".s2p" in str(refusal("# GHz S RI R 50\n" + rows, "x.s4p"))


def test_ports_of_a_nameless_file_come_from_its_rows():
    data = parse_touchstone("# GHz S RI R 50\n" + ONE + TWO, "clipboard")
    assert data.n_ports == 2
    assert codes(data) == ["ports-from-rows"]
    assert "neither" in str(refusal("# GHz S RI R 50\n1 2 3 4 5 6 7\n", "clipboard"))


def test_lines_broken_within_pairs_are_read_and_reported():
    data = parse_touchstone("# GHz S RI R 50\n1 0.1 0 0.8\n-0.1 0.8 -0.1 0.1 0\n2 0.1\n0 0.7 -0.2 0.7 -0.2 0.1 0\n", "x.s2p")
    assert codes(data) == ["line-breaks"]
    np.testing.assert_array_equal(data.s[1, 0], [0.8 - 0.1j, 0.7 - 0.2j])


def test_points_out_of_order_are_sorted_and_repeated_ones_merged_or_refused():
    head = "# GHz S RI R 50\n"
    data = parse_touchstone(head + TWO + ONE + TWO.replace("0.7 ", "0.70001 "), "x.s2p")
    assert codes(data) == ["unsorted", "duplicate-points"]
    np.testing.assert_array_equal(data.frequency, [1e9, 2e9])
    error = refusal(head + ONE + TWO + TWO.replace("0.7 ", "0.6 "))
    assert "2 GHz" in str(error)
    assert error.line == 4


def test_minus_infinity_decibels_are_zero():
    data = parse_touchstone("# GHz S DB R 50\n1 -inf 0 -6 0 -6 0 -Inf 90\n", "x.s2p")
    assert abs(data.s[0, 0, 0]) < 1e-40
    assert codes(data) == ["minus-infinity"]
    assert refusal("# GHz S DB R 50\n1 inf 0 -6 0 -6 0 -3 90\n").line == 2


def test_noise_rows_need_no_larger_frequency_and_degenerate_ones_pass():
    data = parse_touchstone("# GHz S RI R 50\n" + ONE + TWO + "0.5 0.9 0.45 30 0.18\n1 1.6 1 0 2e-20\n", "x.s2p")
    np.testing.assert_array_equal(data.frequency, [1e9, 2e9])
    np.testing.assert_array_equal(data.noise[:, 0], [0.5e9, 1e9])


def test_port_names_and_solver_impedances_come_from_comments():
    text = "! Port[1] = A_IN\n! port[2] = A_OUT\n# GHz S RI R 50\n! Port Impedance 46.5 0.2 50 0\n" + ONE
    data = parse_touchstone(text, "x.s2p")
    assert data.port_names == ("A_IN", "A_OUT")
    assert codes(data) == ["port-impedance"]


def test_missing_file_and_folder_are_touchstone_errors(tmp_path):
    for path in (tmp_path / "none.s2p", tmp_path):
        with pytest.raises(TouchstoneError, match="cannot be opened"):
            read_touchstone(path)


def test_the_error_survives_pickling():
    error = refusal("# GHz S RI R 50\n1 x\n")
    again = pickle.loads(pickle.dumps(error))
    assert (again.file, again.line, again.cause, str(again)) == (error.file, error.line, error.cause, str(error))


@pytest.mark.parametrize("number_format", ["RI", "MA", "DB"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("version", [1, 2])
def test_written_and_read_back_is_the_same(tmp_path, number_format, n, version):
    rng = np.random.default_rng(n)
    f, s = random_network(rng, n)
    s[0, 0, 0] = 0
    reference = 50.0 if version == 1 else tuple(rng.uniform(30, 120, n))
    path = tmp_path / f"x.s{n}p"
    names = tuple(f"port {i}" for i in range(n))
    write_touchstone(path, f, s, reference, version=version, unit="GHz", number_format=number_format, port_names=names)
    back = read_touchstone(path)
    np.testing.assert_allclose(back.frequency, f, rtol=1e-15)
    np.testing.assert_allclose(back.s, s, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(back.reference, reference, rtol=1e-11)
    assert back.port_names == names
    assert back.findings == ()


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.floats(1e-12, 1.0), st.sampled_from(["RI", "MA", "DB"]))
def test_any_network_survives_the_file(tmp_path_factory, n, seed, scale, number_format):
    f, s = random_network(np.random.default_rng(seed), n, 3)
    path = tmp_path_factory.mktemp("ts") / f"x.s{n}p"
    write_touchstone(path, f, scale * s, number_format=number_format)
    back = read_touchstone(path)
    np.testing.assert_allclose(back.s, scale * s, rtol=1e-9, atol=1e-11 * scale)
    np.testing.assert_allclose(back.frequency, f, rtol=1e-15)


def read_or_refuse(content, name):
    try:
        data = parse_touchstone(content, name)
    except TouchstoneError:
        return
    assert np.all(np.isfinite(data.s))
    assert np.all(np.diff(data.frequency) > 0)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=120), st.sampled_from(["x.s1p", "x.s2p", "x.s4p", "x.ts"]))
def test_random_bytes_are_data_or_a_clear_refusal(content, name):
    read_or_refuse(content, name)


WORDS = [
    "#",
    "GHz",
    "S",
    "RI",
    "DB",
    "Z",
    "R",
    "50",
    "\n",
    "\n",
    "!",
    "0",
    "1",
    "2",
    "-1e308",
    "1e300",
    "nan",
    "-inf",
    "1e-320",
]
WORDS += [
    "[Version] 2.0\n",
    "[Number of Ports] 1\n",
    "[Network Data]\n",
    "[Reference]",
    "[Mixed-Mode Order]",
    "[",
    "]",
    "_",
    "٣",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.sampled_from(["x.s1p", "x.s2p", "x.ts"]))
def test_random_words_are_data_or_a_clear_refusal(words, name):
    read_or_refuse(" ".join(words), name)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 160), st.sampled_from([b"", b"-", b"9", b"\n", b"e", b"#", b"[", b"!", b"1e308 "]))
def test_a_damaged_file_is_data_or_a_clear_refusal(position, insert):
    content = b"[Version] 2.0\n# GHz S DB R 50\n[Number of Ports] 1\n[Reference] 50\n[Network Data]\n1 -3 10\n2 -4 20\n[End]\n"
    read_or_refuse(content[:position] + insert + content[position + 1 :], "x.ts")
    read_or_refuse(content[:position], "x.ts")


def test_scikit_rf_reads_the_same_numbers(tmp_path):
    skrf = pytest.importorskip("skrf")
    rng = np.random.default_rng(7)
    for n in (1, 2, 4):
        f, s = random_network(rng, n)
        path = tmp_path / f"x.s{n}p"
        write_touchstone(path, f, s, 75.0, number_format="MA", unit="MHz")
        other, own = skrf.Network(str(path)), read_touchstone(path)
        np.testing.assert_allclose(np.moveaxis(other.s, 0, -1), own.s, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(other.f, own.frequency)
        np.testing.assert_allclose(other.z0[0].real, own.reference)


def test_scikit_rf_reads_the_same_channel(channels_dir):
    skrf = pytest.importorskip("skrf")
    path = channels_dir / "portorder_1324" / "diff_dut.s4p"
    np.testing.assert_allclose(np.moveaxis(skrf.Network(str(path)).s, 0, -1), read_touchstone(path).s, rtol=1e-12, atol=1e-15)


GOOD = {"frequency": np.array([1.0, 2.0]), "s": np.zeros((1, 1, 2)), "reference": (50.0,)}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("frequency", [2.0, 1.0]),
        ("frequency", [-1.0, 1.0]),
        ("frequency", [1.0, np.nan]),
        ("s", np.zeros((2, 2, 2))),
        ("s", np.full((1, 1, 2), np.inf)),
        ("reference", (0.0,)),
        ("reference", (50.0, np.inf)),
        ("name", 3),
        ("noise", np.zeros((1, 4))),
        ("comments", ["a"]),
        ("port_names", ("a", "b")),
        ("findings", []),
    ],
)
def test_data_refuse_a_bad_field(field, value):
    with pytest.raises(ValueError, match="TouchstoneData"):
        TouchstoneData(**{**GOOD, field: value})


def test_data_are_read_only_copies():
    source = np.zeros((1, 1, 2), complex)
    data = TouchstoneData(**{**GOOD, "s": source})
    source[:] = 1
    assert not data.s.any()
    with pytest.raises(ValueError, match="read-only"):
        data.s[0, 0, 0] = 1


@pytest.mark.parametrize(("field", "value"), [("code", 1), ("message", None), ("severity", "fatal")])
def test_finding_refuses_a_bad_field(field, value):
    with pytest.raises(ValueError, match=field):
        Finding(**{"code": "a", "message": "b", "severity": "info", field: value})


@pytest.mark.parametrize(
    "change",
    [
        {"version": 3},
        {"unit": "furlong"},
        {"number_format": "XY"},
        {"digits": 6},
        {"path": "x.s3p"},
        {"path": "x.txt"},
        {"version": 1, "reference": (50.0, 60.0)},
    ],
)
def test_writer_refuses_what_would_not_read_back(tmp_path, change):
    arguments = {"path": "x.s2p", "frequency": [1.0], "s": np.zeros((2, 2, 1)), **change}
    arguments["path"] = tmp_path / arguments["path"]
    with pytest.raises(ValueError, match="write_touchstone"):
        write_touchstone(**arguments)
    assert not arguments["path"].exists()
