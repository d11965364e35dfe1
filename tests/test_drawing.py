"""The HTML of answers in a notebook: well-formed, escaped, and with a note about omitted parts."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headwater.answers import Edge, Hop, Lineage, Node, Record, Rows, Trace
from headwater.drawing import MOST_NODES, MOST_RECORDS, Box, drawn, listed

_ODD = "<script>alert('1')</script>&\"\u202e"


def _html(answer: Any) -> ET.Element:
    return ET.fromstring(f"<all>{answer._repr_html_()}</all>")


def _texts(of: ET.Element, tag: str) -> list[str]:
    return ["".join(each.itertext()) for each in of.iter() if each.tag.rpartition("}")[2] == tag]


def _lefts(text: str) -> dict[str, int]:
    """Where each box begins, by its id."""
    return {found[1]: int(found[2]) for found in re.finditer(r'<title>([^<]*)</title><rect x="(\d+)"', text)}


def test_lineage_is_drawn_from_left_to_right_and_says_what_is_missing() -> None:
    nodes = [Node("job:j:load", "JOB", "load"), Node("dataset:d:in", "DATASET", "in"), Node("dataset:d:out", "DATASET", "out")]
    edges = [Edge("dataset:d:in", "job:j:load", "READS"), Edge("job:j:load", "dataset:d:out", "WRITES")]
    lefts = _lefts(Lineage(nodes, edges, 0)._repr_html_())
    assert lefts["dataset:d:in"] < lefts["job:j:load"] < lefts["dataset:d:out"]
    assert _texts(_html(Lineage(nodes, edges, 0)), "p") == []
    assert _texts(_html(Lineage(nodes, edges, 7, hidden=True)), "p") == [
        "7 more nodes are beyond the limit.", "Something that belongs here lies in namespaces that this key may not read.",
    ]  # fmt: skip


def test_what_answers_hold_is_text_and_nothing_else() -> None:
    record = Record(_ODD, _ODD, 0, None, "RECORD", {_ODD: _ODD})
    hop = Hop(f"job:j:{_ODD}", "run:1", f"dataset:d:{_ODD}", [f"dataset:e:{_ODD}"], [], 1)
    answers: list[Any] = [
        Lineage([Node(_ODD, "DATASET", _ODD), Node("b", "JOB", _ODD)], [Edge(_ODD, "b", "READS")], 0),
        Rows(_ODD, [(_ODD, "string")], [record], 1, _ODD), Trace(False, [_ODD], [record], [], 1, [hop]),
    ]  # fmt: skip
    for answer in answers:
        assert "<script" not in answer._repr_html_()
        tags = {each.tag.rpartition("}")[2] for each in _html(answer).iter()}
        assert tags <= {"all", "div", "svg", "g", "title", "rect", "text", "path", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert _ODD in _texts(_html(answers[1]), "td")


def test_a_trace_shows_its_path_its_records_and_whether_it_is_exact() -> None:
    hop = Hop("job:local:report", "run:1", "dataset:file:%2Fout", ["dataset:file:%2Fin"], ["Filter on wind"], 1)
    record = Record("dataset:file:%2Fin", "file:/in/a.csv", 3, 5, "RECORD", {"wind": 7.5, "gust": None})
    shown = _html(Trace(True, [], [record], [], 1, [hop]))
    assert {"/in", "/out", "report"} <= set(_texts(shown, "text"))
    assert _texts(shown, "td") == ["dataset:file:%2Fin", "file:/in/a.csv", "3", "7.5", ""]
    assert _texts(shown, "p") == ["1 records.", "Exact."]
    assert _texts(_html(Trace(False, ["a.csv: it changed"], [record], [], 40, [hop])), "p") == [
        "1 of 40 records.", "Not exact:", "a.csv: it changed",
    ]  # fmt: skip


def test_what_is_left_out_of_a_large_answer_is_counted() -> None:
    boxes = [Box(f"dataset:d:{number}", "DATASET", "x" * 500) for number in range(MOST_NODES + 5)]
    text = drawn(boxes, [], [])
    assert text.count("<rect") == MOST_NODES
    assert "5 more nodes are not drawn." in text
    table = listed(["a"], [[number] for number in range(100)], 1_000, [])
    assert table.count("<td>") == MOST_RECORDS
    assert f"{MOST_RECORDS} of 1,000 records." in table


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_boxes_never_cover_each_other_and_data_flows_to_the_right_where_there_is_no_circle(links: list[tuple[int, int]]) -> None:
    boxes = [Box(str(number), "DATASET", str(number)) for number in range(10)]
    forward = [(str(min(link)), str(max(link))) for link in links]
    for each in (forward, [(str(src), str(dst)) for src, dst in links]):
        text = drawn(boxes, each, [])
        places = re.findall(r'<rect x="(\d+)" y="(\d+)"', text)
        assert len(places) == len(set(places)) == 10
        ET.fromstring(text)
    lefts = _lefts(drawn(boxes, forward, []))
    assert all(lefts[src] < lefts[dst] for src, dst in forward if src != dst)
