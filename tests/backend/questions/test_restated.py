"""A producer adds protection to a column, and never takes it away, whatever later events state of lineage and tags."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.access.masks import Mask
from headwater.backend.projection.event import event_stamp, project_event
from headwater.backend.questions.masked_answers import MaskedQuestions
from headwater.graph.model import node_id
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores import GraphStore, open_store
from headwater.graph.trace.answer import RowPage
from headwater.graph.trace.questions import RowsRequest
from tests.graph.jobs import TENANT

_RAW, _OUT = "raw", "out"
_TAGS = {"tags": [{"key": "class", "value": "pii", "field": "salary", "source": "x"}]}


class _Rows:
    """One row of the derived dataset."""

    async def rows(self, tenant: str, request: RowsRequest) -> RowPage:
        del tenant, request
        from headwater.graph.trace.answer import Row

        dataset = node_id("dataset", "file", _OUT)
        return RowPage(
            dataset, [("pay", "VARCHAR"), ("id", "VARCHAR")], [Row("f", 0, None, ["900", "1"])], 1, has_record_lineage=False, note=None
        )


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[GraphStore]:
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    yield store
    await store.close()


def _dataset(name: str, **facets: Mapping[str, Any]) -> dict[str, Any]:
    return {"namespace": "file", "name": name, "facets": facets}


def _derived(*steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sources = [{"namespace": "file", "name": _RAW, "field": "salary", "transformations": list(each)} for each in steps]
    return {"fields": {"pay": {"inputFields": sources}}}


def _event(minute: int, inputs: Sequence[Any], outputs: Sequence[Any], *, job: str = "pay", namespace: str = "n") -> dict[str, Any]:
    run = {"runId": f"00000000-0000-0000-0000-{minute:012d}"}
    time = f"2026-01-01T00:{minute:02d}:00Z"
    return {"eventType": "COMPLETE", "eventTime": time, "run": run, "job": {"namespace": namespace, "name": job}, "inputs": inputs,
            "outputs": outputs, "producer": "https://example.org"}  # fmt: skip


_COPY, _HASH, _FILTER = {"type": "DIRECT", "subtype": "IDENTITY"}, {"type": "DIRECT", "masking": True}, {"type": "INDIRECT"}
_FIRST = _event(1, [_dataset(_RAW, tags=_TAGS)], [_dataset(_OUT, columnLineage=_derived([_COPY]))])
_LATER = {
    "hidden": _event(2, [], [_dataset(_OUT, columnLineage=_derived([_HASH]))]),
    "hidden, before": _event(0, [], [_dataset(_OUT, columnLineage=_derived([_HASH]))]),
    "hidden, twice": _event(2, [], [_dataset(_OUT, columnLineage=_derived([_COPY], [_HASH]))]),
    "indirect": _event(2, [], [_dataset(_OUT, columnLineage=_derived([_FILTER]))]),
    "without lineage": _event(2, [], [_dataset(_OUT, columnLineage={"fields": {"pay": {"inputFields": []}}})]),
    "retracted": _event(2, [], [_dataset(_OUT, columnLineage={"_deleted": True})]),
    "tags removed": _event(2, [_dataset(_RAW, tags={"tags": []})], []),
    "tags retracted": _event(2, [_dataset(_RAW, tags={"_deleted": True})], []),
    "another value": _event(2, [_dataset(_RAW, tags={"tags": [{"key": "class", "value": "public", "field": "salary"}]})], []),
    "another schema": _event(2, [_dataset(_RAW, schema={"fields": [{"name": "id"}]}, tags={"tags": []})], []),
    "dropped": _event(2, [_dataset(_RAW, lifecycleStateChange={"lifecycleStateChange": "DROP"}, tags={"_deleted": True})], []),
    "another job": _event(2, [], [_dataset(_OUT, columnLineage=_derived([_HASH]))], job="other"),
    "another namespace": _event(2, [], [_dataset(_OUT, columnLineage=_derived([_HASH]))], namespace="other"),
}


@pytest.mark.parametrize("tag", ["class", "CLASS=PII"])
@pytest.mark.parametrize("later", _LATER)
async def test_a_later_event_does_not_uncover_a_derived_column(graph: GraphStore, tmp_path: Path, later: str, tag: str) -> None:
    records = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    for key, event in enumerate((_FIRST, _LATER[later])):
        await graph.apply(TENANT, [project_event(event, event_stamp(event, str(key)))])
        masked = MaskedQuestions(_Rows(), graph, records, [Mask(tag=tag.casefold())])  # type: ignore[arg-type]
        page = await masked.rows(TENANT, RowsRequest(node_id("dataset", "file", _OUT)))
        assert [row.values for row in page.rows] == [["(masked)", "1"]], key
    records.close()


async def test_a_column_that_is_only_hashed_is_shown(graph: GraphStore, tmp_path: Path) -> None:
    records = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    hashed = _event(1, [_dataset(_RAW, tags=_TAGS)], [_dataset(_OUT, columnLineage=_derived([_HASH]))])
    await graph.apply(TENANT, [project_event(hashed, event_stamp(hashed, "1"))])
    page = await MaskedQuestions(_Rows(), graph, records, [Mask(tag="class")]).rows(TENANT, RowsRequest(node_id("dataset", "file", _OUT)))  # type: ignore[arg-type]
    assert [row.values for row in page.rows] == [["900", "1"]]
    records.close()


_SPELT = {
    "in another case": ("salary", "SALARY", "PAY", True),
    "tag in another case": ("Salary", "salary", "pay", True),
    "of a field": ("salary", "salary.euros", "pay", True),
    "of a field in another case": ("salary", "SALARY.Euros", "pay", True),
    "tag of a field": ("salary.euros", "salary", "pay", True),
    "into a field": ("salary", "salary", "Pay.euros", True),
    "of another field": ("salary.euros", "salary.month", "pay", False),
    "of a longer name": ("salary", "salary_month", "pay", False),
    "into a longer name": ("salary", "salary", "pay_month", False),
}


@pytest.mark.parametrize("spelt", _SPELT)
async def test_a_tag_reaches_a_column_however_events_spell_its_name(graph: GraphStore, tmp_path: Path, spelt: str) -> None:
    tagged, source, made, is_hidden = _SPELT[spelt]
    records = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    tags = {"tags": [{"key": "class", "value": "pii", "field": tagged, "source": "x"}]}
    between = {"fields": {"Between": {"inputFields": [_input(_RAW, source)]}}}
    lineage = {"fields": {made: {"inputFields": [_input("mid", "BETWEEN.x")]}}}
    schema = {"fields": [{"name": "pay"}, {"name": "id"}]}
    for key, event in enumerate((
        _event(1, [_dataset(_RAW, tags=tags)], [_dataset("mid", columnLineage=between)]),
        _event(2, [_dataset("mid")], [_dataset(_OUT, schema=schema, columnLineage=lineage)], job="copy"),
    )):  # fmt: skip
        await graph.apply(TENANT, [project_event(event, event_stamp(event, str(key)))])
    masked = MaskedQuestions(_Rows(), graph, records, [Mask(tag="class")])  # type: ignore[arg-type]
    page = await masked.rows(TENANT, RowsRequest(node_id("dataset", "file", _OUT)))
    assert [row.values for row in page.rows] == [["(masked)" if is_hidden else "900", "1"]]
    records.close()


def _input(dataset: str, field: str) -> dict[str, Any]:
    return {"namespace": "file", "name": dataset, "field": field, "transformations": [_COPY]}


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("pay", {"pay", "PAY", "pay.euros"}),
        ("pay.euros", {"pay", "PAY", "pay.euros"}),
        ("p*.*", {"pay", "PAY", "pay.euros"}),
        ("*.euros", {"pay.euros"}),
    ],
)
def test_a_rule_for_a_column_is_about_its_fields_and_a_rule_for_a_field_about_its_column(pattern: str, named: set[str]) -> None:
    assert Mask(columns=(pattern,)).names(["pay", "PAY", "pay.euros", "id"]) == named
