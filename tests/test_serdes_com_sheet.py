"""Parameter sets of COM: every field refuses a wrong value, TOML and workbooks say what they say."""

import sys
import zipfile
from dataclasses import fields, replace

import numpy as np
import pytest

from serdes import com_standards
from serdes.com_keywords import from_keywords, matlab
from serdes.com_parts import Case, End, Line
from serdes.com_sheet import COUNTS, NUMBERS, PAIRS, Sheet
from serdes.com_standards import NAMES, from_toml, load, standard
from serdes.com_workbook import read_workbook

KR = standard("802.3ck-kr")
DJ = standard("802.3dj-kr")

BAD = {
    **{name: high * 2 + 1 for name, (_, _, high) in NUMBERS.items()},
    **{name: low - 1 for name, (low, _) in COUNTS.items()},
    **dict.fromkeys(PAIRS, (1.0,)),
    "name": 1, "title": 1, "source": None, "C_d": ((1e-13,),), "L_s": ((1e-10, 1e-10), (1e-10,)), "packages": [], "board": 1,
    "C_0": 1.0, "C_1": -1.0, "cases": (), "c_pre": ((2.0,),), "c_post": [(0.0,)], "g_DC": (30.0,), "g_DC2": [],
    "G_Qual": ((1.0,),),
    "G2_Qual": (0.0,), "b_min": (9.0,) * 12, "b_max": (0.85,), "floating": "slowest", "sample_adjustment": (4, -4),
    "S_tn": "d1.0",
    "crosstalk": "none", "pdf": "coarse", "H_r": "never", "mlsd": "yes", "Tukey": 1,
}  # fmt: skip


@pytest.mark.parametrize("field", [f.name for f in fields(Sheet)])
def test_every_field_refuses_a_bad_value(field):
    with pytest.raises(ValueError, match=field):
        replace(KR, **{field: BAD[field]})


@pytest.mark.parametrize(
    "change", [{"N_bg": 3, "N_f": 12}, {"N_fix": 4, "d_w": 4}, {"N_fix": 15, "N_wg": 2, "N_max": 16}, {"mlsd": "D3.3",
    "N_b": 0, "b_min": (), "b_max": ()}, {"N_fix": 15, "N_bg": 2, "N_f": 40}]
)  # fmt: skip
def test_fields_that_do_not_fit_each_other_are_refused(change):
    with pytest.raises(ValueError, match="must be"):
        replace(KR, **change)


def test_line_end_and_case_check_their_fields():
    good = {"name": "x", "Z_c": (90.0,), "a1": 1e-5, "a2": 1e-10, "tau": 6e-9}
    for field, value in {"name": 1, "Z_c": (), "gamma0": -1.0, "a1": 1.0, "a2": -1.0, "tau": 1.0}.items():
        with pytest.raises(ValueError, match=field):
            Line(**{**good, field: value})
    for field, value in {"package": 1, "z_p": (12.0,), "z_bp": -1.0}.items():
        with pytest.raises(ValueError, match=field):
            End(**{"package": "x", "z_p": (0.012,), field: value})
    end = End(package="ck", z_p=(0.012, 0.0018))
    for field in ("tx", "rx", "fext", "next"):
        with pytest.raises(ValueError, match=field):
            Case(**{"name": "1", **dict.fromkeys(("tx", "rx", "fext", "next"), end), field: 1})
    with pytest.raises(ValueError, match="name"):
        Case(name=1, tx=end, rx=end, fext=end, next=end)


def test_a_case_must_name_a_package_and_a_board_that_are_there():
    end = End(package="ck", z_p=(0.012, 0.0018))
    for wrong in (replace(end, package="ckk"), replace(end, z_bp=0.1), replace(end, z_p=(0.012,))):
        with pytest.raises(ValueError, match=r"package|z_bp|z_p"):
            replace(KR, cases=(Case(name="1", tx=end, rx=wrong, fext=end, next=end),))


def test_a_rate_in_gigabaud_is_asked_about():
    with pytest.raises(ValueError, match="GBd meant"):
        replace(KR, f_b=53.125)


@pytest.mark.parametrize("name", NAMES)
def test_every_standard_loads_and_says_where_its_values_come_from(name):
    sheet = standard(name)
    assert sheet.source
    assert sheet.title
    assert com_standards.clauses(name)["eta_0"]


def test_grids_of_the_standards():
    taps, before = KR.tx_settings
    assert before == 3
    assert np.allclose(np.abs(taps).sum(axis=1), 1)
    assert taps[:, before].min() >= 0.54 - 1e-12
    assert len(KR.ctle_settings) == 147
    # 232,848 candidates in the grid of the draft, 192,276 with c(0) of 0.54 or more
    assert len(DJ.ctle_settings) * len(DJ.tx_settings[0]) == 192_276
    assert np.prod([len(v) for v in (*DJ.c_pre, *DJ.c_post, DJ.g_DC, DJ.g_DC2)]) == 232_848


def test_qualified_pairs_of_chip_to_module():
    pairs = set(standard("802.3ck-c2m").ctle_settings)
    assert (-9.0, 0.0) in pairs
    assert (-10.0, 0.0) not in pairs
    assert (-11.0, -0.5) in pairs
    assert (-2.0, -3.0) not in pairs
    assert len(pairs) == 47


def test_unknown_keys_are_refused_with_a_suggestion():
    base = 'base = "802.3ck-kr"\n[values]\n'
    with pytest.raises(ValueError, match="did you mean 'sigma_RJ'"):
        from_toml(base + "sigma_Rj = 0.01", "mine")
    with pytest.raises(ValueError, match="did you mean 'eta_0'"):
        from_toml(base + "eta0 = 1e-17", "mine")
    with pytest.raises(ValueError, match="did you mean 'values'"):
        from_toml('base = "802.3ck-kr"\n[value]\nf_b = 1e9', "mine")
    with pytest.raises(ValueError, match="did you mean 'GHz'"):
        from_toml(base + 'f_z = [20, "Ghz"]', "mine")
    with pytest.raises(ValueError, match=r"did you mean '802\.3ck-kr'"):
        standard("802.3ck-kx")
    with pytest.raises(ValueError, match="f_b"):
        from_toml("[values]\nT_r = 1e-12", "mine")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('SNR_TX = [31.0, "mV"]', "SNR_TX: unit must be one of dB, got 'mV'"),
        ('eta_0 = [1e-8, "V"]', "eta_0: unit must be one of V.2/Hz, V.2/GHz, got 'V'"),
        ('f_z = [20, "ns"]', "f_z: unit must be one of GHz, MHz, Hz, got 'ns'"),
        ('f_r = [40, "GHz"]', "f_r: unit must be one of f_b"),
        ('C_p = [[0.1, 0.1], "pH"]', "C_p: unit must be one of F, fF, pF"),
        ('DER_0 = [1e-4, "dB"]', "DER_0: unit must be left out"),
        ('N_b = [4, "UI"]', "N_b: unit must be left out"),
        ('"c(1)" = ["-0.2:0.1:0", "V"]', r"c\(1\): unit must be left out"),
        ('g_DC = [-6, "V"]', "g_DC: unit must be one of dB"),
        ('[[package]]\nname = "A"\nZ_c = [92, "ohm"]\na1 = [1e-3, "ns/mm"]', "a1: unit must be one of s.0.5/m"),
        ('[[package]]\nname = "A"\nZ_c = [92, "mm"]', "Z_c: unit must be one of ohm"),
    ],
)
def test_a_unit_of_another_dimension_is_refused(entry, words, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f'base = "802.3ck-kr"\n[values]\n{entry}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=rf"mine\.toml: {words}"):
        load(path)


def test_a_set_that_is_no_text_names_its_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"# \xff\n")
    with pytest.raises(ValueError, match=r"mine\.toml: not UTF-8 text"):
        load(path)
    path.write_text("f_b == 1", encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.toml: not TOML"):
        load(path)


def test_own_set_on_a_base(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'base = "802.3ck-kr"\n[values]\neta_0 = [1e-8, "V^2/GHz"]\n"c(-1)" = "-0.2:0.1:0"\ng_DC = -6\n', encoding="utf-8"
    )
    sheet = load(path)
    assert sheet.name == "mine"
    assert sheet.eta_0 == pytest.approx(1e-17, rel=1e-6, abs=0)
    assert sheet.c_pre == (*KR.c_pre[:2], pytest.approx((-0.2, -0.1, 0.0)))
    assert sheet.c_post == KR.c_post
    assert sheet.g_DC == (-6.0,)
    path.write_text("not toml", encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.toml: not TOML"):
        load(path)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (3.0, [[3]]), ("[-0.06:0.02: 0]", [[-0.06, -0.04, -0.02, 0]]), ("[0.3 0.2*ones(1,3)]", [[0.3, 0.2, 0.2, 0.2]]),
        ("[12 31;  1.8 1.8]", [[12, 31], [1.8, 1.8]]), ("[ -0.15 - 0.15 - 0.05 ]", [[-0.35]]), ("[ -0.15 -0.15 -0.05 ]",
        [[-0.15, -0.15, -0.05]]),
        ("[-2:1:-2]", [[-2]]), ("[ .3e-9 .3e-9 ]", [[3e-10, 3e-10]]), ("[1, 2]", [[1, 2]]), ("2^3/4", [[2]]), ("0:3",
        [[0, 1, 2, 3]]),
    ],
)  # fmt: skip
def test_matlab_expressions(text, values):
    assert np.allclose(matlab(text), values)


@pytest.mark.parametrize("text", ["rand(1,2)", "[1 2; 3]", "1:2:3:4", "import os", "x"])
def test_what_is_not_numbers_is_refused(text):
    with pytest.raises(ValueError, match=r"not a|rows of different"):
        matlab(text)


KEYWORDS = {
    "f_b": 53.125, "A_v": 0.4, "A_fe": 0.4, "A_ne": 0.6, "f_r": 0.75, "f_z": 21.25, "f_p1": 21.25, "f_p2": 53.125,
    "f_HP_PZ": 0.664, "eta_0": 8.2e-9,
    "SNR_TX": 33, "sigma_RJ": 0.01, "A_DD": 0.02, "R_LM": 0.95, "DER_0": 1e-4, "g_DC": "[-6:2:0]", "g_DC_HP": "[-2:1:0]",
    "package_tl_gamma0_a1_a2": "[0 9.909e-4 2.772e-4]", "package_tl_tau": 6.141e-3, "package_Z_c": "[87.5 87.5 ; 92.5 92.5]",
    "C_d": "[1.2e-4 1.2e-4]", "L_s": "[0.12, 0.12]", "C_b": "[0.3e-4 0.3e-4]", "C_p": "[0.87e-4 0.87e-4]",
    "z_p select": "[ 1 2 ]",
    "z_p (TX)": "[12 31; 1.8 1.8]", "z_p (RX)": "[12 29; 1.8 1.8]", "z_p (FEXT)": "[12 31; 1.8 1.8]",
    "z_p (NEXT)": "[12 29; 1.8 1.8]",
    "c(0)": 0.54, "c(-1)": "[-0.2:0.1:0]", "N_b": 2, "b_max(1)": 0.85, "b_max(2..N_b)": 0.3, "T_r": 0.0075, "FORCE_TR": 1,
}  # fmt: skip


def test_keywords_become_a_sheet():
    sheet = from_keywords(KEYWORDS)
    assert sheet.T_r == pytest.approx(7.5e-12, rel=1e-6, abs=0)
    assert sheet.C_d[0] == pytest.approx((0.12e-12,), rel=1e-6, abs=0)
    assert sheet.cases[1].rx.z_p == pytest.approx((0.029, 0.0018))
    assert sheet.b_min == pytest.approx((-0.85, -0.3))
    assert from_keywords({**KEYWORDS, "FORCE_TR": 0}).T_r == 0


def test_keywords_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="did you mean 'SNR_TX'"):
        from_keywords({**KEYWORDS, "SNR_Tx": 30})
    with pytest.raises(ValueError, match=r"Raised_Cosine .* not supported"):
        from_keywords({**KEYWORDS, "Raised_Cosine": 1})
    with pytest.raises(ValueError, match="'A_v' is missing"):
        from_keywords({k: v for k, v in KEYWORDS.items() if k != "A_v"})
    for key, value in {"MLSE": 3, "ts_anchor": 1}.items():
        with pytest.raises(ValueError, match=f"{key} = {value} is not supported"):
            from_keywords({**KEYWORDS, key: value})
    with pytest.raises(ValueError, match="z_p select 3"):
        from_keywords({**KEYWORDS, "z_p select": 3})
    with pytest.raises(ValueError, match=r"C_p: .*not a number"):
        from_keywords({**KEYWORDS, "C_p": "abc"})


def workbook(path, keywords, namespace, shared=True, name="COM_Settings"):
    """A minimal workbook: keyword and value in neighbouring cells."""
    strings, rows = [], []

    def cell(place, value):
        if isinstance(value, str):
            if shared:
                strings.append(value)
                return f'<c r="{place}" t="s"><v>{len(strings) - 1}</v></c>'
            return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
        return f'<c r="{place}"><v>{value}</v></c>'

    for k, (key, value) in enumerate(keywords.items(), start=1):
        rows.append(f'<row r="{k}">{cell(f"B{k}", key)}{cell(f"C{k}", value)}{cell(f"D{k}", "GHz")}</row>')
    office = (
        namespace + "/officeDocument/2006/relationships"
        if "purl" not in namespace
        else "http://purl.oclc.org/ooxml/officeDocument/relationships"
    )
    with zipfile.ZipFile(path, "w") as book:
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{namespace}" xmlns:r="{office}"><sheets>'
            f'<sheet name="Notes" sheetId="1" r:id="rId9"/><sheet name="{name}" sheetId="2" r:id="rId1"/></sheets></workbook>',
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            '<Relationships xmlns="r"><Relationship Id="rId1" Target="worksheets/sheet2.xml"/></Relationships>',
        )
        book.writestr(
            "xl/worksheets/sheet2.xml", f'<worksheet xmlns="{namespace}"><sheetData>{"".join(rows)}</sheetData></worksheet>'
        )
        if shared:
            book.writestr(
                "xl/sharedStrings.xml",
                f'<sst xmlns="{namespace}">' + "".join(f"<si><t>{s}</t></si>" for s in strings) + "</sst>",
            )


@pytest.mark.parametrize(
    "namespace", ["http://schemas.openxmlformats.org/spreadsheetml/2006/main", "http://purl.oclc.org/ooxml/spreadsheetml/main"]
)
@pytest.mark.parametrize("shared", [True, False])
def test_workbooks_of_both_dialects(tmp_path, namespace, shared):
    path = tmp_path / "kr.xlsx"
    workbook(path, KEYWORDS, namespace, shared)
    assert replace(read_workbook(path), name="sheet") == from_keywords(KEYWORDS)


def test_binary_workbook(tmp_path):
    pytest.importorskip("xlrd")
    xlwt = pytest.importorskip("xlwt")
    book = xlwt.Workbook()
    book.add_sheet("Notes")
    sheet = book.add_sheet("COM_Settings")
    for k, (key, value) in enumerate(KEYWORDS.items()):
        sheet.write(k, 1, key)
        sheet.write(k, 2, value)
    path = tmp_path / "kr.xls"
    book.save(str(path))
    assert replace(read_workbook(path), name="sheet") == from_keywords(KEYWORDS)
    path.write_bytes(b"no workbook")
    with pytest.raises(ValueError, match=r"kr\.xls: not a workbook"):
        read_workbook(path)
    with pytest.raises(ValueError, match=r"absent.*opened.*check the path"):
        read_workbook(tmp_path / "absent.xls")


def test_binary_workbook_without_its_reader(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlrd", None)
    with pytest.raises(ValueError, match=r"old\.xls: a binary \.xls needs the package xlrd"):
        read_workbook(tmp_path / "old.xls")


def test_workbooks_that_cannot_be_read_say_why(tmp_path):
    bad = tmp_path / "bad.xlsx"
    bad.write_bytes(b"no zip")
    with pytest.raises(ValueError, match=r"bad\.xlsx: not a workbook"):
        read_workbook(bad)
    with pytest.raises(ValueError, match=r"absent.*opened.*check the path"):
        read_workbook(tmp_path / "absent.xlsx")
    short = tmp_path / "short.xlsx"
    workbook(
        short,
        {("SNR_Tx" if k == "SNR_TX" else k): v for k, v in KEYWORDS.items()},
        "http://purl.oclc.org/ooxml/spreadsheetml/main",
    )
    with pytest.raises(ValueError, match="'SNR_TX' is missing; 'SNR_Tx' is there"):
        read_workbook(short)
    blocks = tmp_path / "blocks.xlsx"
    workbook(blocks, {**KEYWORDS, ".START": "package"}, "http://purl.oclc.org/ooxml/spreadsheetml/main")
    with pytest.raises(ValueError, match="package blocks"):
        read_workbook(blocks)


@pytest.mark.parametrize(
    ("right", "wrong"), [("N_bg", "N_Bg"), ("g_DC_HP", "g_DC_Hp"), ("sigma_r", "sigma r"), ("f_HP_PZ", "F_HP_PZ")]
)
def test_a_misspelt_optional_keyword_is_refused(tmp_path, right, wrong):
    path = tmp_path / "mine.xlsx"
    workbook(
        path, {**{k: v for k, v in KEYWORDS.items() if k != right}, wrong: 1}, "http://purl.oclc.org/ooxml/spreadsheetml/main"
    )
    with pytest.raises(ValueError, match=rf"mine\.xlsx: (unknown keyword '{wrong}', did you mean|keyword) '{right}'"):
        read_workbook(path)


def test_other_labels_of_a_workbook_are_left_alone(tmp_path):
    path = tmp_path / "mine.xlsx"
    workbook(
        path,
        {**KEYWORDS, "Table 93A-1 parameters": "Setting", "Operational": 1},
        "http://purl.oclc.org/ooxml/spreadsheetml/main",
    )
    assert replace(read_workbook(path), name="sheet") == from_keywords(KEYWORDS)
