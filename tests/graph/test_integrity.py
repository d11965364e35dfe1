"""Permitted declarations for a known graph, and parts of a graph that break the rules of containment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.projection import project_declaration, project_event
from headwater.errors import InvalidInputError, NotFoundError
from headwater.graph.integrity import check_declaration, violations
from headwater.graph.model import GraphBatch
from headwater.graph.model.declaration import Declaration
from headwater.graph.stores import GraphStore, open_store
from tests.graph.stores.samples import PIPELINE, contains, dataset, job, node, stamp

TENANT = "t"
TYPES = [
    {"name": "workflow", "axis": "actor"},
    {"name": "notebook", "axis": "actor", "within": ["workflow"], "holds": ["job"]},
    {"name": "cube", "axis": "data", "holds": ["dataset"]},
]
FLOW, OTHER, BOOK, CUBE = "actor:workflow:nightly", "actor:workflow:weekly", "actor:notebook:etl", "data:cube:sales"
INSTANCES = [{"id": identifier} for identifier in (FLOW, OTHER, BOOK, CUBE)]


def declaration(**parts: Any) -> Declaration:
    return Declaration.from_json({"declared": "2026-01-01T00:00:00Z", **parts})


async def state(store: GraphStore, stated: Declaration, second: int = 1) -> None:
    await check_declaration(store, TENANT, stated)
    await store.apply(TENANT, [project_declaration(stated, stamp(second, str(second)))])


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[GraphStore]:
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    await store.apply(TENANT, [PIPELINE])
    await state(store, declaration(types=TYPES, instances=INSTANCES))
    yield store
    await store.close()


async def test_declared_types_contain_jobs_and_one_another(store: GraphStore) -> None:
    await state(
        store,
        declaration(containment=[{"container": FLOW, "child": BOOK}, {"container": BOOK, "child": job("enrich")}]),
        2,
    )
    assert [found.id for found in (await store.ancestors(TENANT, [job("enrich")]))[job("enrich")]] == [BOOK, FLOW]
    assert [violation async for violation in violations(store, TENANT)] == []


REFUSED = {
    "an unknown type": ({"instances": [{"id": "actor:planet:earth"}]}, "'planet' is no type.*cube, notebook, workflow"),
    "a type of the other axis": ({"instances": [{"id": "data:workflow:x"}]}, "a type of actor"),
    "a type within an unknown one": ({"types": [{"name": "cell", "axis": "actor", "within": ["page"]}]}, r"types\[0\].within names 'page'"),
    "a type of two axes": ({"types": [{"name": "cube", "axis": "actor"}]}, "a type of data already"),
    "a level that may not stand there": ({"containment": [{"container": BOOK, "child": FLOW}]}, "a workflow does not stand in a notebook"),
    "data in an actor": ({"containment": [{"container": BOOK, "child": dataset("out")}]}, "not of one hierarchy"),
    "a link across the axes": ({"links": [{"from": BOOK, "to": dataset("out")}]}, "not of one hierarchy"),
    "a cycle of one": (
        {"types": [{"name": "workflow", "axis": "actor", "within": ["workflow"]}], "containment": [{"container": FLOW, "child": FLOW}]},
        "Nothing contains itself",
    ),
    "a cycle within the declaration": (
        {
            "types": [{"name": "workflow", "axis": "actor", "within": ["workflow"]}],
            "containment": [{"container": FLOW, "child": OTHER}, {"container": OTHER, "child": FLOW}],
        },
        r"containment\[1\].*Nothing contains itself",
    ),
    "two containers in one declaration": (
        {"containment": [{"container": FLOW, "child": BOOK}, {"container": OTHER, "child": BOOK}]},
        r"containment\[1\].*one container per hierarchy",
    ),
}


@pytest.mark.parametrize(("parts", "why"), REFUSED.values(), ids=REFUSED)
async def test_what_breaks_a_rule_is_refused(store: GraphStore, parts: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        await check_declaration(store, TENANT, declaration(**parts))


async def test_a_second_container_and_a_cycle_are_refused_over_two_declarations(store: GraphStore) -> None:
    await state(store, declaration(types=[{"name": "workflow", "axis": "actor", "within": ["workflow"]}]), 2)
    await state(store, declaration(containment=[{"container": FLOW, "child": BOOK}, {"container": FLOW, "child": OTHER}]), 3)
    with pytest.raises(InvalidInputError, match="Nothing contains itself"):
        await check_declaration(store, TENANT, declaration(containment=[{"container": OTHER, "child": FLOW}]))
    await check_declaration(store, TENANT, declaration(containment=[{"container": OTHER, "child": BOOK}]))  # FLOW contains OTHER
    await state(store, declaration(instances=[{"id": "actor:workflow:third"}]), 4)
    with pytest.raises(InvalidInputError, match="stands in actor:workflow:nightly already"):
        await check_declaration(store, TENANT, declaration(containment=[{"container": "actor:workflow:third", "child": BOOK}]))


async def test_an_actor_that_ended_before_its_child_is_refused(store: GraphStore) -> None:
    ended = [{"id": FLOW, "properties": {"endedAt": "2026-01-01"}}, {"id": BOOK, "properties": {"endedAt": "2026-01-02"}}]
    await state(store, declaration(instances=ended), 2)
    with pytest.raises(InvalidInputError, match="ended at 2026-01-02, after"):
        await check_declaration(store, TENANT, declaration(containment=[{"container": FLOW, "child": BOOK}]))


async def test_what_nobody_knows_cannot_be_spoken_of(store: GraphStore) -> None:
    with pytest.raises(NotFoundError, match=r"descriptions\[0\].id names dataset:file:nowhere"):
        await check_declaration(store, TENANT, declaration(descriptions=[{"id": dataset("nowhere"), "aspect": "tag", "value": "pii"}]))


MALFORMED = {
    "no list": ({"types": {}}, r"\$.types is no list"),
    "no name": ({"types": [{"axis": "actor"}]}, r"types\[0\].name is None"),
    "no axis": ({"types": [{"name": "x", "axis": "up"}]}, r"axis is 'up'.*data, actor"),
    "the name of a kind": ({"types": [{"name": "job", "axis": "actor"}]}, "a kind of its own"),
    "a job as an instance": ({"instances": [{"id": job("x")}]}, "no instance of a declared type"),
    "an instance without a name": ({"instances": [{"id": "actor:workflow"}]}, "no instance"),
    "an id that is none": ({"links": [{"from": "x", "to": FLOW}]}, "not a node id"),
    "an unknown aspect": ({"descriptions": [{"id": FLOW, "aspect": "smell", "value": "x"}]}, "aspect is 'smell'.*owner, steward"),
}


@pytest.mark.parametrize(("parts", "why"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_declaration_is_refused_with_the_path(parts: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        declaration(**parts)


async def test_what_events_brought_against_the_rules_is_found(store: GraphStore) -> None:
    """A cycle, a child of two declared containers, a run that outlives its parent, an instance of no type: each once, by name."""
    runs = [node("run:parent", endedAt="2026-01-01T00:00:00Z"), node("run:child", endedAt="2026-01-02T00:00:00Z", parentRun="run:parent")]
    edges = [
        contains("pipeline:f:a", "pipeline:f:b"),
        contains("pipeline:f:b", "pipeline:f:a"),
        contains("system:f", job("hourly")),
        contains(FLOW, job("hourly")),
        contains(OTHER, job("hourly")),
    ]
    await store.apply(TENANT, [GraphBatch(stamp(5), [*runs, node("actor:planet:earth")], edges)])
    found = [violation async for violation in violations(store, TENANT)]
    assert sorted((violation.rule, violation.node) for violation in found) == [
        ("containment cycle", "pipeline:f:a"),
        ("containment cycle", "pipeline:f:b"),
        ("ends too late", "run:child"),
        ("two containers", job("hourly")),
        ("unknown type", "actor:planet:earth"),
    ]


async def test_a_job_that_several_pipelines_ran_breaks_no_rule(store: GraphStore) -> None:
    """As dbt states it: each invocation is a parent of its own, under a root of another namespace."""
    parts = [("airflow", "nightly", "a"), ("airflow", "weekly", "b")]
    for second, (namespace, dag, letter) in enumerate(parts, start=5):
        event = {
            "eventType": "COMPLETE",
            "eventTime": f"2026-01-0{second}T00:00:00Z",
            "run": {
                "runId": f"{letter}" * 8,
                "facets": {
                    "parent": {
                        "job": {"namespace": "dbt", "name": f"dbt-run-{letter}"},
                        "run": {"runId": letter * 4},
                        "root": {"job": {"namespace": namespace, "name": dag}, "run": {"runId": letter * 3}},
                    }
                },
            },
            "job": {"namespace": "dbt", "name": "model.orders"},
        }
        await store.apply(TENANT, [project_event(event, stamp(second, letter))])
    containers = (await store.ancestors(TENANT, ["job:dbt:model.orders"]))["job:dbt:model.orders"]
    assert {"pipeline:dbt:dbt-run-a", "pipeline:dbt:dbt-run-b", "pipeline:airflow:weekly"} <= {found.id for found in containers}
    assert [violation async for violation in violations(store, TENANT)] == []
