"""Flows that a job has given up are marked as former."""

from __future__ import annotations

import pytest

from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.views import Mask, ViewRequest, field_lineage, find_former_flows, impact, view
from tests.graph.views.history import APR, FEB, JAN, MAR, derives, named, ran, schema

JOB = "job:air:make"
OLD, NEW, REPORT = (f"dataset:file:{name}" for name in ("old", "new", "report"))


@pytest.fixture
async def changed(store: GraphStore) -> GraphStore:
    """The job reads `old` until February, and `new` from March on."""
    await ran(store, "t", JAN, "make", "r1", [named("old")], [named("report")])
    await ran(store, "t", FEB, "make", "r2", [named("old")], [named("report")])
    await ran(store, "t", MAR, "make", "r3", [named("new")], [named("report")])
    return store


async def former(store: GraphStore, *masks: str, **asked: object) -> set[tuple[str, str]]:
    request = ViewRequest(focus=(REPORT,), masks=tuple(map(Mask.parse, masks)), **asked)  # type: ignore[arg-type]
    return set(await (await view(store, "t", request)).former())


async def test_an_input_that_a_later_run_lacks_is_former(changed: GraphStore) -> None:
    assert await former(changed) == {(OLD, JOB)}
    assert await find_former_flows(changed, "t", [JOB, OLD]) == {(OLD, JOB)}


async def test_a_link_over_masked_jobs_is_former_if_each_of_its_paths_is(changed: GraphStore) -> None:
    assert await former(changed, "kind=job") == {(OLD, REPORT)}
    await ran(changed, "t", APR, "mend", "m1", [named("old")], [named("report")])
    assert await former(changed, "kind=job") == set()
    assert await former(changed) == {(OLD, JOB)}


async def test_an_output_that_a_later_run_lacks_is_former_and_the_inputs_stay(changed: GraphStore) -> None:
    await ran(changed, "t", APR, "make", "r4", [named("new")], [named("summary")])
    assert await former(changed) == {(OLD, JOB), (JOB, REPORT)}


async def test_an_end_without_datasets_gives_nothing_up(changed: GraphStore) -> None:
    await ran(changed, "t", APR, "make", "r4", [], [], "START")
    await ran(changed, "t", APR, "make", "r4", [], [])
    assert await former(changed) == {(OLD, JOB)}


async def test_two_events_of_one_run_complete_each_other(changed: GraphStore) -> None:
    await ran(changed, "t", "2026-03-01T01:00:00Z", "make", "r3", [named("second")], [])
    assert await former(changed) == {(OLD, JOB)}


async def test_a_flow_that_is_taken_up_again_is_current(changed: GraphStore) -> None:
    await ran(changed, "t", APR, "make", "r4", [named("old"), named("new")], [named("report")])
    assert await former(changed) == set()


async def test_as_of_an_instant_all_flows_are_current(changed: GraphStore) -> None:
    assert await former(changed, as_of=FEB) == set()


async def test_an_end_to_which_only_former_flows_lead_is_no_end(changed: GraphStore) -> None:
    await ran(changed, "t", JAN, "load", "l1", [named("source")], [named("old")])
    await ran(changed, "t", JAN, "land", "d1", [named("web")], [named("new")])
    await ran(changed, "t", MAR, "land", "d2", [named("files")], [named("new")])
    ends = await view(changed, "t", ViewRequest(focus=(REPORT,), ends_only=True))
    assert {node.node.id for node in await ends.nodes()} == {REPORT, "dataset:file:files"}
    assert list(ends.notes) == ["Ends to which only former links lead are left out: 2."]
    before = await view(changed, "t", ViewRequest(focus=(REPORT,), ends_only=True, as_of=FEB))
    assert {node.node.id for node in await before.nodes()} == {REPORT, "dataset:file:source"}


async def test_a_column_that_a_job_no_longer_reads_is_former(store: GraphStore) -> None:
    raw = named("raw", schema=schema("a", "b"))
    for at, run, source in ((JAN, "r1", "a"), (FEB, "r2", "b")):
        made = derives(x=[("raw", source, "DIRECT/IDENTITY", False)])
        await ran(store, "t", at, "make", run, [raw], [named("report", schema=schema("x"), columnLineage=made)])
    view_of_column = await view(store, "t", ViewRequest(focus=("column:file:report:x",), data=NodeKind.COLUMN))
    assert await view_of_column.former() == {("column:file:raw:a", JOB)}
    assert await find_former_flows(store, "t", [JOB], kinds=[EdgeKind.ACCESSES]) == {("column:file:raw:a", JOB)}
    assert await former(store) == set()


@pytest.fixture
async def moved_columns(store: GraphStore) -> GraphStore:
    """The job makes `x` of `a` in January, and of `b` from February on. Another job makes `y` of `a`."""
    raw = named("raw", schema=schema("a", "b"))
    for at, run, source in ((JAN, "r1", "a"), (FEB, "r2", "b")):
        made = derives(x=[("raw", source, "DIRECT/IDENTITY", False)])
        await ran(store, "t", at, "make", run, [raw], [named("report", schema=schema("x"), columnLineage=made)])
    sum_of_x = derives(y=[("report", "x", "DIRECT/AGGREGATION", False)])
    await ran(store, "t", MAR, "sum", "r3", [named("report")], [named("total", schema=schema("y"), columnLineage=sum_of_x)])
    return store


RAW_A, RAW_B, X, Y = "column:file:raw:a", "column:file:raw:b", "column:file:report:x", "column:file:total:y"


async def test_the_impact_of_a_column_is_current_and_counts_what_only_former_links_reach(moved_columns: GraphStore) -> None:
    found = await impact(moved_columns, "t", [RAW_A])
    assert (found.total, set(found.former)) == (0, {X, Y})
    found = await impact(moved_columns, "t", [RAW_A], former=True)
    assert [(row.node.id, row.distance, row.former) async for row in found.rows()] == [(X, 1, True), (Y, 2, True)]
    found = await impact(moved_columns, "t", [RAW_B])
    assert ([(row.node.id, row.former) async for row in found.rows()], found.former) == ([(X, False), (Y, False)], set())
    found = await impact(moved_columns, "t", [Y], direction=Direction.UPSTREAM)
    assert ([row.node.id async for row in found.rows()], set(found.former)) == ([X, RAW_B], {RAW_A})


async def test_the_impact_of_a_dataset_is_current(changed: GraphStore) -> None:
    found = await impact(changed, "t", [OLD])
    assert (found.total, set(found.former)) == (0, {JOB, REPORT})
    found = await impact(changed, "t", [REPORT], direction=Direction.UPSTREAM)
    assert [row.node.id async for row in found.rows()] == [JOB, NEW]


@pytest.mark.parametrize("detailed", [True, False])
async def test_the_lineage_of_a_column_is_current_and_marks_former_derivations(moved_columns: GraphStore, detailed: bool) -> None:
    found = await field_lineage(moved_columns, "t", Y, detailed=detailed)
    assert ({node.id for node in found.nodes} - {X}, found.former) == ({Y, RAW_B}, 1)
    assert not any(edge.former for edge in found.edges)
    found = await field_lineage(moved_columns, "t", Y, detailed=detailed, former=True)
    assert {node.id for node in found.nodes} - {X} == {Y, RAW_A, RAW_B}
    assert {edge.src for edge in found.edges if edge.former} == {RAW_A}
