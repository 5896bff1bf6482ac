import base64
import dataclasses
import html.parser
import pickle
import re
import shutil
import subprocess

import pytest

from experiments import registry, report
from experiments.registry import STUDIES, Study, studies
from experiments.studies import optics
from experiments.study import Answer, save


def run(n: int = 3, progress=None):
    from serdes import plot

    def draw():
        with plot.figure(4, 3) as (fig, ax):
            ax.plot([0, 1], [0, 1])
            return fig

    rows = [{"length_m": 0.5 * k, "why": "a cause that needs a good many words to be told <b>", "ok": True} for k in range(n)]
    return Answer(
        question="?", tables={"wide_table": rows, "empty": []}, figures={"curve": draw, "other": draw}, notes=("first",)
    )


def broken():
    raise ZeroDivisionError("nothing")


TOY = Study(
    name="toy", question="Is 1 < 2?", run=run, command="serdes toy", method="By counting.", references=("Euclid & others",),
    quick={"n": 2}, arguments={"n": 40},
)  # fmt: skip
BROKEN = Study(name="broken", question="Why?", run=broken, command="serdes broken", method="None.")


class Parser(html.parser.HTMLParser):
    VOID = ("meta", "link", "img", "br")

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.ids, self.addresses = [], [], [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.seen.append(tag)
        self.ids += [values["id"]] if "id" in values else []
        self.addresses += [values[k] for k in ("src", "href") if k in values]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def page(tmp_path):
    return report.write(tmp_path / "out", (TOY, BROKEN), quick=True, workers=1)


def test_the_page_has_everything_of_a_study(page):
    text = page.read_text()
    for part in (
        "Is 1 &lt; 2?",
        "first",
        "By counting.",
        "Euclid &amp; others",
        "Toy sizes",
        "--only toy",
        "run(n=2)",
        "a cause",
    ):
        assert part in text, part
    assert "needs a good many words to be told <b>" not in text
    assert sorted(p.name for p in (page.parent / "toy").iterdir()) == sorted(
        ["wide_table.csv", "empty.csv", "answer.json", "curve.png", "curve.svg", "other.png", "other.svg"]
    )


def test_the_page_is_well_formed_and_needs_nothing_else(page):
    parser = Parser()
    parser.feed(page.read_text())
    assert not parser.open
    assert len(set(parser.ids)) == len(parser.ids)
    assert all(a.startswith(("data:", "#")) for a in parser.addresses)
    assert parser.seen.count("img") == 2
    assert "script" not in parser.seen
    assert not re.search(r"(?:url\(|@import|https?://)", page.read_text().replace("http://www.w3.org", ""))
    figures = [a for a in parser.addresses if a.startswith("data:image")]
    assert all(b"<svg" in base64.b64decode(a.partition(",")[2]) for a in figures)


def test_a_study_that_fails_is_a_section(page):
    assert "This study failed: ZeroDivisionError: nothing" in page.read_text()


def test_a_large_drawing_becomes_a_picture(monkeypatch, tmp_path):
    save(run().figures["curve"](), tmp_path / "curve")
    assert report.picture(tmp_path / "curve").startswith("data:image/svg+xml;base64,")
    monkeypatch.setattr(report, "LARGEST_SVG", 10)
    assert report.picture(tmp_path / "curve").startswith("data:image/png;base64,")


def test_a_command_finds_the_file_that_the_report_has_written(tmp_path):
    study = dataclasses.replace(TOY, command="serdes toy out/report/toy/curve.svg", quick={})
    text = report.write(tmp_path / "mine", (study,), workers=1).read_text()
    assert f"serdes toy {(tmp_path / 'mine' / 'toy' / 'curve.svg').as_posix()}" in text
    assert "out/report" not in text


def test_studies_run_beside_each_other_and_stand_in_order(tmp_path):
    chosen = (dataclasses.replace(TOY, name="light"), BROKEN, dataclasses.replace(TOY, name="heavy", weight=9.0))
    text = report.write(tmp_path / "out", chosen, quick=True, workers=2).read_text()
    assert [text.index(f'<section id="{s.name}"') for s in chosen] == sorted(
        text.index(f'<section id="{s.name}"') for s in chosen
    )
    for study in STUDIES:
        assert pickle.loads(pickle.dumps(study)).name == study.name


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "yes"), (53.125, "53.125"), (1e-9, "1e-09"), (float("inf"), "inf"), (3, "3"), ("x", "x")],
)
def test_values_are_shown(value, text):
    assert report.shown(value) == text


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("loss_at_nyquist_db", "loss at nyquist [dB]"), ("pj_per_bit", "[pJ/bit]"), ("measured_gb_per_s", "measured [GB/s]"),
        ("m", "m"), ("binding_cause", "binding cause"),
    ],
)  # fmt: skip
def test_headings_have_their_units(column, text):
    assert report.heading(column) == text


def test_the_registry_is_sound():
    names = [s.name for s in STUDIES]
    assert len(set(names)) == len(names) >= 8
    assert studies(["why", "reach"]) == tuple(s for s in STUDIES if s.name in ("why", "reach"))
    with pytest.raises(ValueError, match="did you mean 'reach'"):
        studies(["raech"])
    for study in STUDIES:
        names: dict = {}
        exec(compile(study.script(quick=True), study.name, "exec"), names)  # noqa: S102  under another name than __main__
        for value in study.quick.values():
            assert eval(repr(value), names) == value  # noqa: S307  what the script writes is what it can read


def test_answers_are_sentences_of_the_tables():
    rows = [
        {"rate": "25G", "reach_m": 6.0, "outcome": "found"},
        {"rate": "25G", "reach_m": 4.0, "outcome": "found"},
        {"rate": "50G", "reach_m": 3.0, "outcome": "found"},
    ]
    answer = Answer(question="?", tables={"reach": rows}, figures={}, notes=("one", "the pJ/bit: two"))
    assert "25G 4.0 to 6.0 m, 50G 3.0 m" in STUDIES[0].sentence(answer)
    assert registry.note_with("pJ/bit:")(answer) == "the pJ/bit: two"
    assert registry.note_with("absent")(answer) == "one"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": ""}, "name"),
        ({"question": ""}, "question"),
        ({"command": 3}, "command"),
        ({"method": ""}, "method"),
        ({"arguments": {"x": 1}}, "arguments"),
        ({"quick": {"x": 1}}, "quick"),
        ({"weight": 0}, "weight"),
    ],
)
def test_wrong_studies_are_named(changes, words):
    with pytest.raises(ValueError, match=f"Study.{words}"):
        dataclasses.replace(TOY, **changes)


PROBE = """<script>window.addEventListener("load", () => {
  const bad = [...document.images].filter(i => !i.complete || !i.naturalWidth).length;
  const d = document.documentElement;
  const found = `bad ${bad} of ${document.images.length}, wide ${d.scrollWidth - d.clientWidth}, view ${d.clientWidth}`;
  parent.postMessage(found, "*");
});</script></body>"""
FRAME = """<!doctype html><title>none</title><link rel="icon" href="data:,"><script>
window.addEventListener("message", e => { document.title = e.data; });</script>
<iframe src="probe.html" style="border:0;width:%dpx;height:900px"></iframe>"""
"""A window can't be as narrow as a phone; a frame can."""


@pytest.mark.parametrize("width", [390, 1440])
def test_a_browser_shows_it_without_errors_or_overflow(tmp_path, width):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no chromium here")
    page = report.write(tmp_path / "out", (TOY, BROKEN), workers=1)
    probe = page.with_name("probe.html")
    probe.write_text(page.read_text().replace("</body>", PROBE))
    frame = page.with_name("frame.html")
    frame.write_text(FRAME % width)
    done = subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1600,900",
         f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--virtual-time-budget=4000", "--dump-dom",
         frame.as_uri()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    assert f"<title>bad 0 of 2, wide 0, view {width}</title>" in done.stdout


def test_sentences_of_light_and_jitter():
    def said(name, notes=(), **tables):
        (study,) = studies([name])
        return study.sentence(Answer(question="?", tables=tables, figures={}, notes=notes))

    lanes, dci = [{"reach_km": 1.9}, {"reach_km": 29.0}], [{"specified_reach_km": 0.0}, {"specified_reach_km": 123.0}]
    words = said("dci", lanes=lanes, dci=dci)
    assert words.startswith("Intensity modulation ends at 2 to 29 km, by power or by dispersion; coherent light goes 123 to")
    assert "16 dB" in said("optics", ("Margin.", "112G linear module (LPO): works up to 16 dB per side."))
    assert said("optics", ("Margin.",)) == "Margin."
    rows = [
        {"tolerated_ui": 5.123, "frequency_mhz": 0.04, "mask_ui": 5.0},
        {"tolerated_ui": 0.2, "frequency_mhz": 7.0, "mask_ui": None},
    ]
    assert said("jtol", jtol=rows) == "Peak to peak, 5.12 UI at 0.04 MHz (5.00 asked), 0.20 UI at 7 MHz."
    best = [{"rate": "112G", "technology": t} for t in ("passive copper", "passive copper", "none", "ACC")]
    assert "112G: passive copper, then ACC." in said("crossover", least_energy=best)


def test_a_thin_study_of_light_has_all_its_curves():
    every, thin = optics.tasks(("112G",)), optics.tasks(("112G",), thin=3)
    assert len(thin) < len(every) / 2
    curves = [{(t.sweep, t.architecture) for t in tasks if t.sweep != "interfaces"} for tasks in (every, thin)]
    assert curves[0] == curves[1]
    assert any(t.sweep == "interfaces" for t in thin)
    with pytest.raises(ValueError, match="thin"):
        optics.run(("112G",), thin=0)
