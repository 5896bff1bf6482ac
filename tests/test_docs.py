"""The documentation: every example runs and prints what its page shows, links lead somewhere, the site is built."""

import doctest
import importlib
import importlib.util
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SPEC = importlib.util.spec_from_file_location("docs_run", DOCS / "run.py")
examples = importlib.util.module_from_spec(SPEC)
sys.modules["docs_run"] = examples
SPEC.loader.exec_module(examples)
WRITTEN = sorted([ROOT / "README.md", *(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)])
COURSE = sorted(p for p in (DOCS / "course").glob("*.md") if p.name[0].isdigit())
NEEDS = {"sweep.md": "distributed"}
"""What a page's examples need beyond the program itself."""


def with_examples():
    """Names of the modules whose docstrings show a session."""
    files = [p for package in ("dsp", "channels", "serdes", "experiments") for p in sorted((ROOT / package).rglob("*.py"))]
    shown = [p for p in files if re.search(r"^ *>>> ", p.read_text(encoding="utf-8"), re.MULTILINE)]
    return [".".join(p.relative_to(ROOT).with_suffix("").parts) for p in shown]


def named(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", examples.pages(), ids=named)
def test_examples_print_what_their_page_shows(page, tmp_path):
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name], reason=f"the examples of {page.name} need {NEEDS[page.name]}")
    found = examples.differences(page, examples.run(page, tmp_path))
    assert not found, "\n".join(found)
    text = page.read_text(encoding="utf-8")
    for picture in re.findall(r'savefig\("([^"]+)"\)', text):
        assert (tmp_path / picture).stat().st_size > 5000
        assert f"images/{picture})" in text, f"{picture} is drawn and not shown"


def test_a_wrong_example_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n```python\nx = 2\n```\n", encoding="utf-8")
    assert len(examples.differences(page, examples.run(page, tmp_path))) == 1
    page.write_text("```python\nprint(1)\n```\n", encoding="utf-8")
    assert examples.differences(page, examples.run(page, tmp_path)), "what is printed must be shown"
    for wrong, cause in (("```python\n1 / 0\n```", "ZeroDivisionError"), ("```sh\nserdes reach --lenght 1\n```", "lenght")):
        page.write_text(wrong + "\n", encoding="utf-8")
        with pytest.raises(examples.ExampleError, match=cause) as caught:
            examples.run(page, tmp_path)
        assert "page.md:2" in str(caught.value)


def test_update_writes_what_was_printed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\nText.\n\n```python\nprint(2)\n```\n\n```text\nold\n```\n", encoding="utf-8")
    examples.update(page, examples.run(page, tmp_path), tmp_path)
    assert page.read_text(encoding="utf-8") == (
        "```python\nprint(1)\n```\n\n```text\n1\n```\n\nText.\n\n```python\nprint(2)\n```\n\n```text\n2\n```\n"
    )
    assert not examples.differences(page, examples.run(page, tmp_path))


def test_three_uses_are_on_the_first_screen_of_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = [b for b in examples.blocks(text) if b.language == "python"]
    assert len(first) == 3
    assert all(len(b.body.splitlines()) <= 15 for b in first)
    assert first[-1].line < 80


def test_the_course_is_ten_pages_with_numbers_and_a_figure():
    assert len(COURSE) == 10
    index = (DOCS / "course" / "index.md").read_text(encoding="utf-8")
    for page in COURSE:
        text = page.read_text(encoding="utf-8")
        languages = [b.language for b in examples.blocks(text)]
        assert languages.count("python") >= 3, page
        assert languages.count("text") >= 2, page
        assert "](../images/course-" in text, page
        assert f"\n{page.stem}\n" in index
    nexts = [re.search(r"\]\((\d\d-[\w-]+\.md)\)", p.read_text(encoding="utf-8").split("Next:")[-1]) for p in COURSE[:-2]]
    assert [m and m[1] for m in nexts] == [p.name for p in COURSE[1:-1]]


@pytest.mark.parametrize("page", WRITTEN, ids=named)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{named(page)} links to {target}"


def test_every_page_is_in_the_contents():
    inside = "\n".join(p.read_text(encoding="utf-8") for p in WRITTEN if "{toctree}" in p.read_text(encoding="utf-8"))
    for page in WRITTEN:
        if page.parent != ROOT and page.name != "index.md":
            assert re.search(rf"^(\w+/)?{re.escape(page.stem)}$", inside, re.MULTILINE), f"{named(page)} is in no contents"


def test_references_are_complete_and_known():
    bib = (DOCS / "references.bib").read_text(encoding="utf-8")
    keys = re.findall(r"^@\w+\{(\w+),", bib, re.MULTILINE)
    assert len(set(keys)) == len(keys) == bib.count("\n@") + 1
    for page in WRITTEN:
        for group in re.findall(r"\{cite\}`([^`]+)`", page.read_text(encoding="utf-8")):
            assert set(group.split(",")) <= set(keys), f"{named(page)} cites {group}"


@pytest.mark.parametrize("name", with_examples())
def test_docstrings_print_what_they_show(name):
    found = doctest.testmod(importlib.import_module(name), verbose=False)
    assert found.attempted
    assert not found.failed


def test_there_are_docstrings_with_examples():
    assert len(with_examples()) >= 5


def test_the_site_is_built_without_a_warning(tmp_path):
    """All pages, and of the reference the first modules: the rest is the same work again."""
    for module in ("sphinx", "myst_parser", "sphinxcontrib.bibtex", "furo"):
        pytest.importorskip(module, reason=f"the site needs {module}: pip install '.[docs]'")
    docs = tmp_path / "docs"
    shutil.copytree(DOCS, docs, ignore=shutil.ignore_patterns("generated", "_build"))
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from sphinx.cmd.build import main; sys.exit(main(sys.argv[1:]))"
    command = [
        sys.executable,
        "-c",
        code,
        "-q",
        "-W",
        "--keep-going",
        "-D",
        "reference_modules=dsp.[a-du]*",
        docs,
        tmp_path / "site",
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "site"
    for page in (p for p in WRITTEN if p.parent != ROOT):
        assert (site / page.relative_to(DOCS).with_suffix(".html")).exists()
    modules = [m.name for m in pkgutil.iter_modules([str(ROOT / "dsp")]) if m.name[0] in "abcdu"]
    assert modules
    assert all((site / "reference" / "generated" / f"dsp.{m}.html").exists() for m in modules)
    html = (site / "course" / "04-pulse.html").read_text(encoding="utf-8")
    assert "course-pulse.png" in html
    assert (site / "_images" / "course-pulse.png").exists()
