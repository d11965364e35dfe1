"""Writes of `foreachBatch` have the columns of their stream. These are known at the end of a batch, also for earlier writes in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater.spark_listener.lineage.columns import ROWS, Field, Step
from headwater.spark_listener.lineage.kept import KeptColumns
from tests.openlineage_schemas import faults_of
from tests.spark_listener.test_running_queries import Told

_RUN = "1d1711af-d46a-498d-868e-de49df3fb7ac"
_AT = 1767225605000
_DESCRIBED = f"\nid = 7f1f246a-eaf6-4226-b41e-61dffff67391\nrunId = {_RUN}\nbatch = 0"
_GIVEN = {"id": 11, "name": 12}  # the attributes of a batch's rows, which stay the same from batch to batch


def rows(attributes: Mapping[str, int] = _GIVEN, *, number: int = 1, own: bool = False) -> dict[str, Any]:
    columns = [{"attr": attribute, "name": name} for name, attribute in attributes.items()]
    return {"id": number, "op": "LogicalRDD", "children": [], "columns": columns, **({"own": True} if own else {})}


def write(path: str, leaf: Mapping[str, Any]) -> dict[str, Any]:
    columns = [{"attr": column["attr"], "name": column["name"], "type": "int"} for column in leaf["columns"]]
    sink = {"path": f"file:/out/{path}", "format": "parquet", "mode": "append", "columns": columns}
    return {"operators": [{"id": 0, "op": "Write", "children": [leaf["id"]]}, leaf], "sources": [], "sink": sink}


def scan(*sources: str) -> dict[str, Any]:
    """The plan of a batch that joins `a` (with the column `id`) and `b` (with `name`). A source without new rows is an empty relation."""
    operators: list[dict[str, Any]] = [{"id": 0, "op": "Join", "children": [1, 2]}]
    described = []
    for number, (source, column) in enumerate({"a": "id", "b": "name"}.items()):
        found: dict[str, Any] = {"id": number + 1, "op": "LocalRelation", "children": [], "columns": [{"attr": number, "name": column}]}
        if source in sources:
            found |= {"op": "Scan", "source": number}
            described.append({"source": number, "path": f"file:/in/{source}/1.csv", "format": "csv", "columns": [{"name": column}]})
        operators.append(found)
    return {"operators": operators, "sources": described, "sink": None, "output": [{"attr": 0, "name": "id"}, {"attr": 1, "name": "name"}]}


class Stream(Told):
    """A scribe, and the events of a stream with a function of `foreachBatch`."""

    def start(self) -> None:
        begun = {"event": "stream_start", "run": _RUN, "name": "folded", "time": "2026-01-01T00:00:00.000Z", "sink": "ForeachBatchSink"}
        self.scribe.take({**begun, "ends": True})

    def batch(self, number: int, sources: Sequence[str], *writes: Mapping[str, Any], progress: bool = True) -> None:
        execution = 100 * number
        self.begin(execution, description=_DESCRIBED, root=execution)
        for place, plan in enumerate(writes, start=1):
            self.begin(execution + place, root=execution)
            self.end(execution + place, plan)
        self.end(execution, scan(*sources), stream=_RUN, given=list(_GIVEN.values()))
        if progress:
            read = [{"source": f"FileStreamSource[file:/in/{source}]", "offset": json.dumps(number), "rows": 1} for source in sources]
            self.scribe.take({"event": "stream_progress", "run": _RUN, "sink": "ForeachBatchSink", "written": -1, "sources": read})

    def stop(self) -> dict[str, Any]:
        self.scribe.take({"event": "stream_end", "run": _RUN, "time": _AT, "error": None})
        bodies: list[dict[str, Any]] = [item.body for item in self.folder.pending()]
        assert [faults_of(body) for body in bodies] == [[]] * len(bodies)
        return bodies[-1]


def columns(output: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    fields = output["facets"].get("columnLineage", {}).get("fields", {})
    return {column: [(item["name"], item["field"]) for item in made["inputFields"]] for column, made in fields.items()}


def problems(event: Mapping[str, Any]) -> list[str]:
    return [problem["reason"] for problem in event["run"]["facets"]["headwater_capture"]["problems"]]


_BOTH = {"id": [("/in/a", "id")], "name": [("/in/b", "name")]}


def test_what_is_written_in_the_first_batch_has_the_columns_of_the_stream(tmp_path: Path) -> None:
    told = Stream(tmp_path)
    told.start()
    told.batch(1, "ab", write("plain", rows()), write("other", rows({"name": 12})))
    last = told.stop()
    assert {output["name"]: columns(output) for output in last["outputs"]} == {"/out/plain": _BOTH, "/out/other": {"name": _BOTH["name"]}}
    assert problems(last) == []


def test_a_source_without_new_rows_in_a_batch_keeps_its_columns(tmp_path: Path) -> None:
    told = Stream(tmp_path)
    told.start()
    told.batch(1, "a", write("plain", rows()))
    told.batch(2, "b", write("plain", rows()))
    told.batch(3, "", write("plain", rows()))
    assert [columns(output) for output in told.stop()["outputs"]] == [_BOTH]


def test_a_batch_that_does_not_end_is_known_by_its_plan(tmp_path: Path) -> None:
    told = Stream(tmp_path)
    told.start()
    told.batch(1, "ab", write("plain", rows()), progress=False)
    assert [columns(output) for output in told.stop()["outputs"]] == [_BOTH]


def test_runs_of_their_own_in_a_batch_have_its_inputs_and_columns(tmp_path: Path) -> None:
    told = Stream(tmp_path, leave_out="schema")
    told.start()
    told.batch(1, "ab", write("plain", rows()))
    told.stop()
    (run,) = [item.body for item in told.folder.pending() if item.body["outputs"] and item.body["eventType"] == "COMPLETE"]
    assert [columns(output) for output in run["outputs"]] == [_BOTH]
    assert sorted(source["name"] for source in run["inputs"]) == ["/in/a", "/in/b"]


def test_rows_that_nobody_knows_are_said_and_the_programs_own_are_not(tmp_path: Path) -> None:
    told = Stream(tmp_path)
    told.start()
    told.batch(1, "ab", write("plain", rows({"x": 99}, own=True)))
    assert problems(told.stop()) == []
    told = Stream(tmp_path / "unknown")
    told.start()
    told.batch(1, "ab", write("plain", rows({"x": 99})))
    last = told.stop()
    assert [columns(output) for output in last["outputs"]] == [{}]
    assert problems(last) == ["columns that come from rows of an RDD are not followed: which columns it was made of is not known"]


def test_rows_that_were_kept_before_their_origin_is_known_are_followed_later() -> None:
    kept = KeptColumns()
    masked = {**rows({"id": 11}), "id": 2}
    project = {"id": 1, "op": "Project", "children": [2], "defines": [{"attr": 20, "name": "h", "expr": _call("sha2", 11)}]}
    made = kept.of_plan({"operators": [project, masked], "sources": [], "output": [{"attr": 20}, {"attr": 11}]})
    kept.keep([30, 11], made.columns, made.rows)  # a checkpoint has the attributes of its plan: 11 is not made of itself
    plan = {"operators": [rows({"h": 30})], "sources": [], "output": [{"attr": 30}]}
    assert kept.awaits(plan)
    source: Field = ("file", "/in/a", "id")
    kept.keep([11], [{source: frozenset({Step("DIRECT", "IDENTITY")})}], {})
    assert not kept.awaits(plan)
    (column,) = kept.of_plan(plan).columns
    assert column == {source: frozenset({Step("DIRECT", "TRANSFORMATION", masking=True)})}
    kept.keep([40, 41], [{(ROWS, "41", ""): frozenset()}, {(ROWS, "40", ""): frozenset()}], {})  # no origin at all: it ends all the same
    assert kept.awaits({"operators": [rows({"x": 40})]})


def _call(function: str, attribute: int) -> dict[str, Any]:
    return {"fn": function, "args": [{"fn": "attr", "attr": attribute}]}
