"""Lists of impact and cause."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.trace import Grain, Hop, Semantics, TraceAnswer, TracedRecord
from headwater.graph.views import impact, impact_of_records
from tests.graph.views.history import FEB, JAN, MAR, derives, named, ran, schema
from tests.graph.views.worlds import World, leads, worlds


@pytest.fixture
async def chain(store: GraphStore) -> GraphStore:
    owned = {"ownership": {"owners": [{"name": "team:weather"}, {"name": "ann"}]}}
    await ran(store, "t", JAN, "clean", "c1", [named("raw")], [named("mid")])
    await ran(store, "t", FEB, "report", "r1", [named("mid")], [named("out", **owned)])
    await ran(store, "t", MAR, "clean", "c2", [named("raw")], [named("mid")])
    return store


async def test_a_list_has_distance_path_owners_last_run_and_freshness(chain: GraphStore) -> None:
    found = await impact(chain, "t", ["dataset:file:raw"])
    rows = [row async for row in found.rows()]
    assert [(row.node.name, row.distance) for row in rows] == [("clean", 1), ("mid", 2), ("report", 3), ("out", 4)]
    assert found.total == 4
    assert rows[3].path == ["dataset:file:raw", "job:air:clean", "dataset:file:mid", "job:air:report", "dataset:file:out"]
    assert rows[3].owners == ["ann", "team:weather"]
    assert (rows[1].last_run, rows[1].updated) == ("run:c2", "2026-03-01T00:00:00.000000Z")
    assert (rows[2].last_run, rows[3].last_run) == ("run:r1", "run:r1")
    assert [row.node.name async for row in found.rows(1, 2)] == ["mid", "report"]


async def test_a_column_has_the_owners_of_its_dataset(store: GraphStore) -> None:
    made = derives(x=[("raw", "x", "DIRECT/IDENTITY", False)])
    owned = {"ownership": {"owners": [{"name": "team:weather"}]}}
    await ran(store, "t", JAN, "clean", "c1", [named("raw")], [named("mid", schema=schema("x"), columnLineage=made, **owned)])
    found = await impact(store, "t", ["column:file:raw:x"])
    assert [(row.node.id, row.owners) async for row in found.rows()] == [("column:file:mid:x", ["team:weather"])]


async def test_upstream_are_the_causes_and_a_depth_says_what_lies_beyond(chain: GraphStore) -> None:
    found = await impact(chain, "t", ["dataset:file:out"], direction=Direction.UPSTREAM, depth=2)
    assert ([row.node.name async for row in found.rows()], found.beyond) == (["report", "mid"], 1)


async def test_what_cannot_be_listed_is_refused(chain: GraphStore) -> None:
    for focus, direction, error in (
        (["dataset:file:raw"], Direction.BOTH, InvalidQueryError),
        (["platform:file"], Direction.UPSTREAM, InvalidQueryError),
        (["dataset:file:nowhere"], Direction.UPSTREAM, NotFoundError),
    ):
        with pytest.raises(error):
            await impact(chain, "t", focus, direction=direction)


@given(worlds(), st.data())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_list_is_all_that_is_reached_each_by_a_shortest_path(store: GraphStore, world: World, data: st.DataObject) -> None:
    tenant = f"t{abs(hash(world.arcs))}{len(world.platform)}{sorted(world.pipeline.items())}"
    await store.apply(tenant, [world.batch()])
    focus = data.draw(st.sampled_from(sorted(world.nodes())))
    found = await impact(store, tenant, [focus])
    rows = [row async for row in found.rows()]
    assert {row.node.id for row in rows} == {end for start, end in leads(world.arcs) if start == focus} - {focus}
    for row in rows:
        assert set(zip(row.path, row.path[1:], strict=False)) <= set(world.arcs)
        assert (row.path[0], row.path[-1], len(row.path)) == (focus, row.node.id, row.distance + 1)


async def test_a_record_set_affects_what_its_trace_went_through(chain: GraphStore) -> None:
    def record(dataset: str, row: int | None) -> TracedRecord:
        return TracedRecord(dataset, "f", row, Grain.RECORD if row is not None else Grain.DATASET)

    answer = TraceAnswer(
        semantics=Semantics.INFLUENCE,
        exact=True,
        records=[record("dataset:file:out", 0), record("dataset:file:out", 3)],
        path=[
            Hop("job:air:clean", "run:c1", "dataset:file:mid", ["dataset:file:raw"], [], 5, Grain.RECORD),
            Hop("job:air:report", "run:r1", "dataset:file:out", ["dataset:file:mid"], [], 2, Grain.RECORD),
        ],
        incomplete=[],
        total=3,
        selected=[record("dataset:file:raw", 7)],
        elapsed_ms=1.0,
    )
    found = impact_of_records(chain, "t", answer, forward=True)
    assert [(row.node.name, row.records) async for row in found.rows()] == [("clean", None), ("mid", None), ("report", None), ("out", 2)]
    assert "1 more records" in found.reasons[0]
