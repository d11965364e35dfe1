"""An event that breaks the specification is refused by the path of its field; everything that fits is welcome."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headwater.backend.ingest.intake.documents import Document
from headwater.backend.ingest.intake.events import check_event
from headwater.errors import InvalidEventError
from tests.backend.events import facet, run_event


def _check(value: Any, path: str = "$") -> None:
    check_event(Document(value, b"", path))


def _job_event() -> dict[str, Any]:
    return {key: value for key, value in run_event().items() if key not in ("run", "eventType")}


def _dataset_event() -> dict[str, Any]:
    base = {key: value for key, value in run_event().items() if key in ("eventTime", "producer", "schemaURL")}
    return {**base, "dataset": {"namespace": "file", "name": "/a", "facets": {"schema": facet(fields=[{"name": "x"}])}}}


@pytest.mark.parametrize("event", [run_event(), _job_event(), _dataset_event()])
def test_each_kind_of_event_is_taken(event: dict[str, Any]) -> None:
    _check(event)


def test_facets_of_any_producer_are_taken() -> None:
    event = run_event(run={"runId": run_event()["run"]["runId"], "facets": {"spark_properties": {"properties": {"a": 1}}, "gone": None}})
    event["outputs"][0]["facets"]["custom"] = facet(anything=[1, {"a": None}])
    event["outputs"][0]["outputFacets"] = {"outputStatistics": facet(rowCount=2**60)}
    event["another"] = {"key": "of a later version"}
    _check(event)


_BROKEN: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("eventTime",), None, "$.eventTime"),
    (("eventTime",), "yesterday", "$.eventTime"),
    (("eventTime",), "2013-02-12T03:00:00", "$.eventTime"),
    (("eventTime",), 1360638000, "$.eventTime"),
    (("eventTime",), (datetime.now(UTC) + timedelta(hours=25)).isoformat(), "$.eventTime"),
    (("eventType",), "DONE", "$.eventType"),
    (("producer",), "", "$.producer"),
    (("schemaURL",), 7, "$.schemaURL"),
    (("run",), None, "$.run"),
    (("run", "runId"), "not-a-uuid", "$.run.runId"),
    (("job", "name"), "", "$.job.name"),
    (("job", "namespace"), 5, "$.job.namespace"),
    (("inputs",), {}, "$.inputs"),
    (("inputs", 0, "name"), None, "$.inputs[0].name"),
    (("outputs", 0, "facets"), [], "$.outputs[0].facets"),
    (("outputs", 0, "facets", "custom"), "text", "$.outputs[0].facets.custom"),
    (("outputs", 0, "facets", "schema", "fields", 1, "name"), 3, "$.outputs[0].facets.schema.fields[1].name"),
    (("outputs", 0, "facets", "columnLineage"), {"fields": {"a": {"inputFields": [{"name": "x"}]}}},
     "$.outputs[0].facets.columnLineage.fields.a.inputFields[0].namespace"),
    (("run", "facets"), {"parent": {"run": {"runId": "x"}, "job": {"namespace": "n", "name": "j"}}}, "$.run.facets.parent.run.runId"),
    (("run", "facets"), {"errorMessage": {}}, "$.run.facets.errorMessage.message"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "value", "field"), _BROKEN, ids=range(len(_BROKEN)))  # one value is the time of now
def test_a_wrong_field_is_named(place: tuple[str | int, ...], value: Any, field: str) -> None:
    event: Any = deepcopy(run_event())
    holder = event
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = value
    with pytest.raises(InvalidEventError) as caught:
        _check(event)
    assert caught.value.field == field
    assert field in caught.value.message


@pytest.mark.parametrize("name", ["eventTime", "producer", "schemaURL", "job"])
def test_a_missing_field_is_named(name: str) -> None:
    event = run_event()
    del event[name]
    with pytest.raises(InvalidEventError, match="is missing") as caught:
        _check(event, "$[3]")
    assert caught.value.field == f"$[3].{name}"


@pytest.mark.parametrize("value", [[], "text", 5, None, True, 1.5])
def test_what_is_no_object_is_no_event(value: Any) -> None:
    with pytest.raises(InvalidEventError, match="not an event"):
        _check(value)


def test_an_object_without_run_job_or_dataset_is_no_event() -> None:
    with pytest.raises(InvalidEventError, match="it has colour") as caught:
        _check({"colour": "blue"})
    assert caught.value.field == "$.run"


@pytest.mark.parametrize("name", ["", None])
def test_an_event_is_taken_with_columns_that_have_no_name(name: str | None) -> None:
    event: Any = deepcopy(run_event())
    source = {"namespace": "file", "name": "/in", "field": name}
    event["outputs"][0]["facets"] = {
        "schema": facet(fields=[{"name": name}, {"type": "int"}]), "columnLineage": facet(fields={"": {"inputFields": [source]}}),
    }  # fmt: skip
    _check(event)
