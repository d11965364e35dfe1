"""How an answer is printed where no person sits at a terminal."""

from __future__ import annotations

import pytest

from headwater.backend.cli.lineage_text import LineageFormat, Shown, emit_lineage
from headwater.backend.cli.output import Format, emit
from headwater.graph.model import Node, NodeKind

PATH = f"/warehouse/{'folder/' * 30}part-0.parquet"


def test_a_table_that_is_piped_breaks_no_name(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    emit([{"file": PATH, "ok": True}], columns=("file", "ok"), format=Format.TABLE)
    assert PATH in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "60")  # as wide as the person asks
    emit([{"file": PATH, "ok": True}], columns=("file", "ok"), format=Format.TABLE)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60


def test_a_tree_that_is_piped_cuts_no_name(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ends = {"upstream": True, "downstream": False, "kind": "DATASET", "distance": 0, "focus": True, "members": 1, "unwritten": False}
    source = {**ends, "id": "dataset:file:/raw", "name": PATH, "distance": 1, "focus": False}
    shown = Shown(
        [{**ends, "id": "dataset:file:/out", "name": "/out"}, source],
        [{"src": source["id"], "dst": "dataset:file:/out", "weight": 1, "direct": True, "via": 0}],
        {"masked": 0, "beyond": 0},
        [],
    )
    focus = Node("dataset:file:/out", NodeKind.DATASET, "/out", {})
    monkeypatch.delenv("COLUMNS", raising=False)
    emit_lineage(focus, shown, LineageFormat.TREE)
    assert PATH in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "60")  # a name that is longer goes on in the next line
    emit_lineage(focus, shown, LineageFormat.TREE)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert PATH in "".join(line.lstrip("└─ ") for line in lines[1:])


def test_the_title_of_a_table_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    emit([{"a": 1}], columns=("a",), format=Format.TABLE, title=f"1 row of {PATH} differs")
    assert capsys.readouterr().out.splitlines()[0] == f"1 row of {PATH} differs"


def test_whether_something_is_so_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"check": "the log", "ok": True}, {"check": "the graph", "ok": False}]
    emit(rows, columns=("check", "ok"), format=Format.CSV)
    assert capsys.readouterr().out == "check,ok\nthe log,yes\nthe graph,no\n"
    emit(rows, columns=("check", "ok"), format=Format.JSON)
    assert '"ok": true' in capsys.readouterr().out
