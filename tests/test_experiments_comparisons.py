"""Every number of ours beside that of others: the registry holds, names its tests, and is the page of the documentation."""

import ast
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments import cli
from experiments.comparison import ABSENT, ENVIRONMENT, MISS, OUTSIDE, WITHIN, Comparison
from experiments.comparisons import com, optics
from experiments.studies import validate_all, validate_com

ROOT = Path(__file__).parent.parent
EVERY = validate_all.registry()
SHIPPED = [c for c in EVERY if not c.needs]
GOOD = {
    "section": "S", "what": "w", "unit": "m", "reference": 1.0, "source": "them", "ours": lambda: 1.05, "allowed": 0.1,
    "test": "a::b",
}  # fmt: skip


@pytest.fixture
def with_data(channels_dir, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, str(channels_dir.parent.parent))
    return channels_dir.parent


@pytest.mark.parametrize("comparison", SHIPPED, ids=lambda c: c.what)
def test_ours_is_theirs(comparison):
    row = comparison.row(None)
    assert row["verdict"] == (MISS if comparison.miss else WITHIN), row


def test_runs_of_the_script_without_floating_taps(with_data):
    runs = [c for c in com.comparisons() if "; krnf;" in c.what]
    assert len(runs) == 3
    for run in runs:
        assert run.row(with_data.parent)["verdict"] == WITHIN


def test_captures(with_data):
    captured = [c for c in optics.comparisons() if c.needs]
    if not (with_data / "tdecq").exists():
        pytest.skip("the optical captures are not here")
    assert [c.row(with_data.parent)["verdict"] for c in captured] == [WITHIN] * len(optics.CAPTURES)


def test_our_table_of_com_is_that_of_the_reference(with_data):
    theirs = {(r.channel, r.config, r.case): r.found["COM"] for r in validate_com.references(with_data)}
    ours = {run[:3]: run[3] for run in com.RUNS}
    assert ours.keys() == theirs.keys()
    assert ours == pytest.approx(theirs, abs=6e-5)


def test_every_comparison_names_a_test_that_is_there():
    for name in {c.test for c in EVERY}:
        file, function = name.split("::")
        tree = ast.parse((ROOT / "tests" / f"{file}.py").read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name


def test_names_are_told_apart():
    names = [(c.section, c.what) for c in EVERY]
    assert len(names) > 120
    assert len(set(names)) == len(names)
    assert {c.section for c in EVERY} <= set(validate_all.INTRODUCTIONS)


def test_difference_and_verdict():
    point = Comparison(**GOOD)
    assert point.difference(1.05) == pytest.approx(0.05)
    assert [point.verdict(x) for x in (0.91, 1.09, 1.2, float("nan"))] == [WITHIN, WITHIN, OUTSIDE, OUTSIDE]
    spread = Comparison(**GOOD | {"reference": (1.0, 2.0), "allowed": 0.0})
    assert [spread.difference(x) for x in (0.5, 1.5, 2.25)] == [-0.5, 0.0, 0.25]
    assert [spread.verdict(x) for x in (0.5, 1.5, 2.25)] == [OUTSIDE, WITHIN, OUTSIDE]
    assert Comparison(**GOOD | {"miss": "because"}).verdict(3.0) == MISS


def test_what_is_not_here_says_so(tmp_path):
    needy = Comparison(**GOOD | {"needs": "data/x.json", "ours": lambda: pytest.fail("computed without its data")})
    for data in (None, tmp_path):
        row = needy.row(data)
        assert (row["verdict"], row["ours"], row["note"]) == (ABSENT, None, "needs data/x.json")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.json").write_text("{}")
    assert Comparison(**GOOD | {"needs": "data/x.json"}).row(tmp_path)["verdict"] == WITHIN


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("section", ""), ("what", " "), ("source", 3), ("unit", None), ("needs", 1), ("miss", None), ("reference", float("nan")),
        ("reference", (2.0, 1.0)), ("reference", "1"), ("ours", 1.0), ("allowed", -1.0), ("test", "test_x"), ("test", 4),
    ],
)  # fmt: skip
def test_bad_comparisons_name_the_field(field, value):
    with pytest.raises(ValueError, match=rf"Comparison\.{field} must be"):
        Comparison(**GOOD | {field: value})


def test_the_page_holds_the_registry():
    """The page that is shipped was made where the reference data are."""
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    assert not [c.what for c in EVERY if f"| {c.what.replace('|', chr(92) + '|')} |" not in page]
    rows = [line for line in page.splitlines() if line.startswith("| ") and "`test_" in line]
    assert len(rows) == len(EVERY)
    assert not [row for row in rows if OUTSIDE in row or f"| {ABSENT}" in row]


def test_the_command_without_reference_data(tmp_path, monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    page = tmp_path / "docs" / "validation.md"
    page.parent.mkdir()
    arguments = ["validate", "all", "--only", "cluster", "--only", "com", "--page", str(page), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exit_code == 0, done.output
    answer = json.loads((tmp_path / "out" / "answer.json").read_text(encoding="utf-8"))
    verdicts = [row["verdict"] for row in answer["tables"]["comparisons"]]
    assert verdicts.count(ABSENT) == len(com.RUNS)
    assert verdicts.count(MISS) == 4
    text = page.read_text(encoding="utf-8")
    assert ENVIRONMENT in text
    assert text.count(f"| {ABSENT} (needs data/com_reference.json) |") == len(com.RUNS)
    assert (page.parent / "images" / "validation.png").stat().st_size > 10_000


def test_the_command_fails_where_a_row_is_outside(tmp_path, monkeypatch):
    wrong = Comparison(**GOOD | {"section": "Link", "what": "a wrong one", "reference": 7.0})
    monkeypatch.setitem(validate_all.SUBJECTS, "link", type("Wrong", (), {"comparisons": staticmethod(lambda: [wrong])}))
    done = CliRunner().invoke(cli.app, ["validate", "all", "--only", "link", "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert "outside: a wrong one" in done.output


def test_unknown_subjects_are_named():
    with pytest.raises(ValueError, match="unknown subject 'wire', there are copper"):
        validate_all.registry(["wire"])
