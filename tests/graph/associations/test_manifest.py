"""Manifests: read, checked by field, and written again with nothing lost."""

import copy
import json
from typing import Any

import pytest

from headwater.errors import InvalidCaptureError
from headwater.graph.associations import Behaviour, Manifest, Operator
from headwater.graph.associations.manifest import FORMATS

GIVEN: dict[str, Any] = {
    "format": 1,
    "capture": "0198a1b2-0000-7000-8000-000000000001",
    "run": {"namespace": "local", "job": "report", "runId": "0198a1b2-0000-7000-8000-0000000000aa"},
    "application": {"id": "app", "name": "report", "spark": "4.1.4"},
    "started": "2026-01-01T00:00:00Z",
    "ended": "2026-01-01T00:00:01Z",
    "mode": "active",
    "status": "complete",
    "problems": [],
    "sources": [
        {
            "source": 0, "dataset": {"namespace": "file", "name": "/raw"}, "path": "file:/raw", "format": "csv",
            "options": {"header": "true"},
            "columns": [{"name": "a", "type": "int"}], "partition_columns": [], "splits": [],
            "files": [{"ordinal": 0, "ordinals": 1, "path": "file:/raw/a.csv", "length": 3, "modified": 4, "partition": {}}],
        }
    ],
    "operators": [
        {"id": 1, "op": "Write", "children": [2], "text": "write", "columns": [7]},
        {"id": 2, "op": "Scan", "children": [], "text": "scan", "source": 0, "columns": [{"attr": 7, "name": "a", "type": "int"}]},
    ],
    "boundaries": [{"boundary": 0, "kind": "sink", "operator": 2, "columns": [{"role": "ref", "operator": 2}]}],
    "sink": {
        "boundary": 0, "dataset": {"namespace": "file", "name": "/out"}, "path": "file:/out", "format": "parquet", "mode": "overwrite",
        "options": {}, "columns": [{"name": "a", "type": "int", "attr": 7}], "partition_columns": [],
    },
    "segments": [
        {"name": "b0-s1.0-p0-a7.seg", "boundary": 0, "stage": 1, "stage_attempt": 0, "partition": 0, "attempt": 7, "rows": 1, "bytes": 2,
         "sha256": "0"}
    ],
}  # fmt: skip


def changed(path: str, value: object) -> Any:
    """The manifest with one field changed; `path` as `operators.0.children`."""
    copied: Any = copy.deepcopy(GIVEN)
    at = copied
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        at = at[step]
    at[last] = value
    return copied


def test_a_manifest_is_written_as_it_was_read() -> None:
    again = Manifest.from_json(Manifest.from_json(GIVEN).to_json())
    assert again == Manifest.from_json(GIVEN)
    assert json.loads(json.dumps(again.to_json()))["sink"]["columns"] == GIVEN["sink"]["columns"]


def test_unknown_keys_are_kept_at_every_level() -> None:
    written = Manifest.from_json(changed("sink.columns.0", {"name": "a", "type": "int", "attr": 7, "comment": "new"})).to_json()
    assert written["sink"]["columns"][0]["comment"] == "new"
    assert Manifest.from_json(changed("weather", "fine")).to_json()["weather"] == "fine"


def test_every_format_is_read() -> None:
    assert [Manifest.from_json(changed("format", number)).format for number in (1, 2, 3)] == [1, 2, 3]


def operator_of(number: int, operator: dict[str, Any]) -> Operator:
    """The first operator of a manifest of this format."""
    return Manifest.from_json({**changed("operators.0", {"id": 1, "children": [2], **operator}), "format": number}).operators[0]


@pytest.mark.parametrize("number", FORMATS)
def test_an_operator_is_what_it_states(number) -> None:
    stated = operator_of(number, {"op": "Sort", "behaviour": "defines"})
    assert (stated.behaviour, stated.unknown) == (Behaviour.DEFINES, False)


def test_what_an_operator_of_an_old_manifest_does_is_told_by_its_name() -> None:
    assert [operator.behaviour for operator in Manifest.from_json(GIVEN).operators] == [Behaviour.PASSES, Behaviour.SOURCE]
    joined = operator_of(2, {"op": "Join", "how": "left outer", "children": [2, 2]})
    assert (joined.behaviour, joined.optional) == (Behaviour.JOIN, (1,))


def test_the_name_of_an_operator_tells_nothing_where_manifests_state_what_it_does() -> None:
    read = operator_of(3, {"op": "Sort"})
    assert (read.behaviour, read.unknown) == (Behaviour.OPAQUE, True)


@pytest.mark.parametrize("number", FORMATS)
@pytest.mark.parametrize("operator", [{"op": "Quill"}, {"op": "Sort", "behaviour": "shuffles"}, {"op": "Join", "how": "left lateral"}])
def test_what_an_operator_does_is_opaque_where_nobody_tells(number, operator) -> None:
    read = operator_of(number, operator)
    assert (read.behaviour, read.unknown) == (Behaviour.OPAQUE, True)
    assert read.to_json().get("behaviour") == operator.get("behaviour")


@pytest.mark.parametrize(("part", "name", "message"), [
    ("operators", "id", r"\$\.operators\[2\]\.id is 1, which is that of \$\.operators\[0\]; each operator has a number of its own\."),
    ("sources", "source", r"\$\.sources\[1\]\.source is 0, which is that of \$\.sources\[0\]"),
    ("boundaries", "boundary", r"\$\.boundaries\[1\]\.boundary is 0, which is that of \$\.boundaries\[0\]"),
])  # fmt: skip
def test_two_of_one_number_are_refused(part, name, message) -> None:
    twice = {**GIVEN, part: [*GIVEN[part], {**GIVEN[part][0]}]}
    with pytest.raises(InvalidCaptureError, match=message) as caught:
        Manifest.from_json(twice)
    assert caught.value.field == f"$.{part}[{len(GIVEN[part])}].{name}"


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("format", 4, "$.format"),
        ("capture", "../../etc", "$.capture"),
        ("status", "fine", "$.status"),
        ("run.runId", 3, "$.run.runId"),
        ("operators.0.children", [9], "$.operators[0].children"),
        ("operators.1.source", 5, "$.operators[1].source"),
        ("operators.0.behaviour", "join", "$.operators[0].children"),
        ("operators.0.behaviour", "source", "$.operators[0].source"),
        ("operators.0", {"id": 1, "op": "Quill", "behaviour": "opaque", "children": [2], "optional": [1]}, "$.operators[0].optional"),
        ("boundaries.0.kind", "wall", "$.boundaries[0].kind"),
        ("boundaries.0.columns.0.operator", 9, "$.boundaries[0].columns"),
        ("segments.0.name", "../x.seg", "$.segments[0].name"),
        ("segments.0.boundary", 4, "$.segments[0].boundary"),
        ("segments.0.rows", "one", "$.segments[0].rows"),
        ("sink", None, "$.sink"),
        ("sink.boundary", 3, "$.sink.boundary"),
        ("sources.0.files.0.length", True, "$.sources[0].files[0].length"),
        ("sources.0.files", {}, "$.sources[0].files"),
        ("sources.0.options", [], "$.sources[0].options"),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(path, value, field) -> None:
    with pytest.raises(InvalidCaptureError) as caught:
        Manifest.from_json(changed(path, value))
    assert caught.value.field == field


def test_a_missing_field_is_refused_with_what_is_there() -> None:
    without = {name: value for name, value in GIVEN.items() if name != "run"}
    with pytest.raises(InvalidCaptureError, match=r"\$\.run is missing; there is application, "):
        Manifest.from_json(without)


def test_a_refusal_is_short_however_much_a_manifest_holds() -> None:
    many = [{"id": n, "op": "Scan", "children": [], "text": "scan", "source": 0} for n in range(10_000)]
    with pytest.raises(InvalidCaptureError, match=r"operator -1; there is 0, 1, 2, .* and 9,980 more") as refused:
        Manifest.from_json({**GIVEN, "operators": [{**many[0], "id": 10_000, "op": "Write", "children": [-1]}, *many[:9_999]]})
    assert len(refused.value.message) < 500


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(InvalidCaptureError, match="must be an object"):
        Manifest.from_json([])


def test_only_a_refused_capture_may_lack_its_sink() -> None:
    refused = {**GIVEN, "status": "refused", "boundaries": [], "segments": [], "sink": None}
    assert Manifest.from_json(refused).sink is None


@pytest.mark.parametrize("field", ["children", "subqueries"])
def test_a_plan_that_feeds_itself_is_refused(field: str) -> None:
    with pytest.raises(InvalidCaptureError) as refused:
        Manifest.from_json(changed(f"operators.1.{field}", [1]))
    assert refused.value.field == "$.operators"
