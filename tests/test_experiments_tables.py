"""Tables on terminals of any width."""

import pytest

from experiments.console import show

COLUMNS = {"name": "interconnect", **{f"n{k}": f"number {k}" for k in range(8)}, "note": "note"}
ROWS = [
    {"name": f"interconnect of some length {k}", **{f"n{i}": 1234.5 + i for i in range(8)}, "note": "several words of a remark"}
    for k in range(3)
]


@pytest.mark.parametrize("width", [60, 80, 100, 132, 250])
def test_no_column_loses_its_words(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    show(ROWS, COLUMNS, "title")
    text = capsys.readouterr().out
    assert all(len(line) <= width for line in text.splitlines())
    for whole in ("interconnect", "number 0", "number 7", "1234.5", "1241.5", "remark"):
        assert whole in text
    assert text.count("title") == 1


def test_narrow_terminals_get_several_tables_led_by_the_names(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    show(ROWS, COLUMNS, "title")
    narrow = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "250")
    show(ROWS, COLUMNS, "title")
    wide = capsys.readouterr().out
    assert wide.count("┡") == 1 < narrow.count("┡")
    assert narrow.count("interconnect") == (1 + len(ROWS)) * narrow.count("┡")


def test_small_numbers_keep_their_digits(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    show([{"ratio": 1.25e-2, "more": 12.345}], {"ratio": "ratio", "more": "more"}, "title")
    text = capsys.readouterr().out
    assert "0.0125" in text
    assert "12.35" in text or "12.34" in text


def test_no_rows_is_a_heading(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    show([], {"a": "first", "b": "second"}, "nothing")
    assert "second" in capsys.readouterr().out
