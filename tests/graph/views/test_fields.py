"""Columns: who accessed them and when, their lineage in two forms, the tags that reach them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.views import AccessKind, Way, field_access, field_lineage, reaching_tags
from tests.graph.views.history import APR, FEB, JAN, MAR, derives, named, ran, schema

DIRECT, FILTER = "DIRECT/IDENTITY", "INDIRECT/FILTER"
RAW, MID, OUT = "column:file:raw:name", "column:file:mid:who", "column:file:out:n"


@pytest.fixture
async def stated(store: GraphStore) -> GraphStore:
    """raw.name → mid.who (as it is) → out.n (a count); raw.month only filters; mid.who is dropped in March."""
    tags = {"tags": [{"key": "pii", "value": "name", "field": "name"}, {"key": "gold"}]}
    mid = derives(who=[("raw", "name", DIRECT, False)], month=[("raw", "month", FILTER, False), ("raw", "name", FILTER, False)])
    out = derives(n=[("mid", "who", "DIRECT/AGGREGATION", True)], late=[("mid", "who", FILTER, False)])
    columns = named("mid", schema=schema("who", "month"), columnLineage=mid)
    await ran(store, "t", JAN, "clean", "c1", [named("raw", schema=schema("name", "month"), tags=tags)], [columns])
    await ran(store, "t", FEB, "count", "o1", [named("mid")], [named("out", schema=schema("n", "late"), columnLineage=out)])
    await ran(store, "t", FEB, "copy", "p1", [named("raw")], [])
    await ran(store, "t", MAR, "clean", "c2", [named("raw")], [named("mid", schema=schema("month"))])
    return store


async def test_access_tells_readers_writers_creation_and_drop(stated: GraphStore) -> None:
    found = await field_access(stated, "t", MID)
    assert [(access.job, access.kind, access.first and access.first[:7], access.certain) for access in found] == [
        ("job:air:clean", AccessKind.CREATE, "2026-01", True),
        ("job:air:clean", AccessKind.WRITE, "2026-01", True),
        ("job:air:count", AccessKind.READ, "2026-02", True),
        ("job:air:clean", AccessKind.DROP, "2026-03", True),
    ]
    assert found[2].runs == ["run:o1"]
    assert not found[2].decides_only


async def test_reads_that_only_filter_count_and_a_job_that_names_no_columns_may_have_read(stated: GraphStore) -> None:
    found = await field_access(stated, "t", "column:file:raw:month")
    assert [(access.job, list(access.ways), access.decides_only, access.certain) for access in found if access.kind is AccessKind.READ] == [
        ("job:air:clean", ["FILTER"], True, True),
        ("job:air:copy", [], False, False),
    ]


async def test_access_is_bounded_by_a_window(stated: GraphStore) -> None:
    kinds = [access.kind for access in await field_access(stated, "t", MID, since="2026-02-15")]
    assert kinds == [AccessKind.DROP]
    assert [access.kind for access in await field_access(stated, "t", MID, until="2026-01-15")] == [AccessKind.CREATE, AccessKind.WRITE]
    await ran(stated, "t", APR, "clean", "c3", [named("raw")], [named("mid", schema=schema("who"))])
    (between,) = [a for a in await field_access(stated, "t", MID, since="2026-03-10", until="2026-03-20") if a.kind is AccessKind.WRITE]
    assert not between.certain  # stated before and after, not within


async def test_the_detailed_form_has_each_step_and_operation(stated: GraphStore) -> None:
    found = await field_lineage(stated, "t", OUT, detailed=True, former=True)
    steps = {(edge.src, edge.dst): [(op.job, op.type, op.subtype, op.masking) for op in edge.operations] for edge in found.edges}
    assert steps == {
        (MID, OUT): [("job:air:count", "DIRECT", "AGGREGATION", True)],
        (RAW, MID): [("job:air:clean", "DIRECT", "IDENTITY", False)],
    }


async def test_the_simple_form_joins_the_ends_with_all_operations_between(stated: GraphStore) -> None:
    (edge,) = (await field_lineage(stated, "t", OUT, former=True)).edges
    assert (edge.src, edge.dst, edge.hops) == (RAW, OUT, 2)
    assert [(op.job, op.subtype) for op in edge.operations] == [("job:air:clean", "IDENTITY"), ("job:air:count", "AGGREGATION")]
    forward = await field_lineage(stated, "t", RAW, direction=Direction.DOWNSTREAM, former=True)
    assert {edge.dst for edge in forward.edges} == {OUT, "column:file:out:late", "column:file:mid:month"}


@pytest.mark.parametrize(
    ("column", "reach"),
    [
        (RAW, [("pii", RAW, 0, Way.DIRECT), ("pii=name", RAW, 0, Way.DIRECT)]),
        (MID, [("pii", RAW, 1, Way.DIRECT), ("pii=name", RAW, 1, Way.DIRECT)]),
        (OUT, [("pii", RAW, 2, Way.MASKED), ("pii=name", RAW, 2, Way.MASKED)]),
        ("column:file:out:late", [("pii", RAW, 2, Way.INDIRECT), ("pii=name", RAW, 2, Way.INDIRECT)]),
    ],
)
async def test_tags_reach_columns_along_their_lineage_and_say_how(stated: GraphStore, column: str, reach: list[object]) -> None:
    assert [(tag.tag, tag.origin, tag.distance, tag.way) for tag in await reaching_tags(stated, "t", column)] == reach


async def test_what_is_no_column_is_refused(stated: GraphStore) -> None:
    for ask in (field_access, field_lineage, reaching_tags):
        with pytest.raises(InvalidQueryError, match="no column"):
            await ask(stated, "t", "dataset:file:raw")
        with pytest.raises(NotFoundError):
            await ask(stated, "t", "column:file:raw:nowhere")


async def test_what_lies_past_the_depth_is_counted_and_tags_come_from_any_depth(store: GraphStore) -> None:
    chain = [f"column:file:t{step}:c" for step in range(70)]
    edges = [Edge(before, after, EdgeKind.DERIVES) for before, after in pairwise(chain)]
    tagged = Node(chain[0], NodeKind.COLUMN, "c", {"tag:pii": {"value": "1"}})
    await store.apply("t", [GraphBatch(Stamp("2026-01-01T00:00:00Z", "k"), [tagged], edges)])
    cut = await field_lineage(store, "t", chain[-1], depth=50)
    assert ([edge.src for edge in cut.edges], cut.beyond) == ([chain[19]], 1)
    whole = await field_lineage(store, "t", chain[-1], depth=100)
    assert ([edge.src for edge in whole.edges], whole.beyond) == ([chain[0]], 0)
    (tag,) = await reaching_tags(store, "t", chain[-1])
    assert (tag.tag, tag.distance) == ("pii", 69)
    with pytest.raises(InvalidQueryError, match="more than 10 columns"):
        await reaching_tags(store, "t", chain[-1], limit=10)


async def test_an_edge_says_whether_values_flow_along_it(stated: GraphStore) -> None:
    found = await field_lineage(stated, "t", "column:file:out:n", former=True)
    assert {(edge.src, edge.way) for edge in found.edges} == {(RAW, Way.MASKED)}
    down = await field_lineage(stated, "t", "column:file:raw:month", direction=Direction.DOWNSTREAM)
    assert {(edge.dst, edge.way) for edge in down.edges} == {("column:file:mid:month", Way.INDIRECT)}
