"""A column that a table renames stays the same column: its lineage, both ways, its tags and its protection continue under the new name."""

from __future__ import annotations

import pytest

from headwater.graph.stores import Direction, GraphStore
from headwater.graph.views import field_lineage, reaching_tags
from headwater.graph.views.impact import impact
from headwater.graph.views.protection import TagReach
from tests.graph.views.history import FEB, JAN, MAR, derives, named, ran, schema

SAME = "DIRECT/IDENTITY"
SOURCE, OLD, NEW, LAST = "column:file:in:k", "column:file:table:k", "column:file:table:kk", "column:file:last:kk"


@pytest.fixture
async def renamed(store: GraphStore) -> GraphStore:
    """in.k → table.k, which is renamed to kk → last.kk."""
    tags = {"tags": [{"key": "pii", "value": "name", "field": "k"}]}
    loaded = derives(id=[("in", "id", SAME, False)], k=[("in", "k", SAME, False)])
    altered = derives(id=[("table", "id", SAME, False)], kk=[("table", "k", SAME, False)])
    copied = derives(kk=[("table", "kk", SAME, False)])
    table = named("table", schema=schema("id", "k"), columnLineage=loaded, **tags)
    change = {"lifecycleStateChange": "ALTER"}
    after = named("table", schema=schema("id", "kk"), columnLineage=altered, lifecycleStateChange=change)
    await ran(store, "t", JAN, "load", "l1", [named("in", schema=schema("id", "k"))], [table])
    await ran(store, "t", FEB, "rename", "r1", [], [after])
    await ran(store, "t", MAR, "copy", "c1", [named("table")], [named("last", schema=schema("kk"), columnLineage=copied)])
    return store


async def test_the_lineage_of_a_renamed_column_leads_through_its_old_name_to_the_source(renamed: GraphStore) -> None:
    found = await field_lineage(renamed, "t", LAST, detailed=True)
    assert {(edge.src, edge.dst) for edge in found.edges} == {(SOURCE, OLD), (OLD, NEW), (NEW, LAST)}
    reached = await field_lineage(renamed, "t", SOURCE, direction=Direction.DOWNSTREAM, detailed=True)
    assert {edge.dst for edge in reached.edges} == {OLD, NEW, LAST}
    leads = await impact(renamed, "t", [SOURCE])
    assert {OLD, NEW, LAST} <= set(leads.order)


async def test_a_column_that_was_not_renamed_goes_on(renamed: GraphStore) -> None:
    found = await field_lineage(renamed, "t", "column:file:table:id", detailed=True)
    assert ("column:file:in:id", "column:file:table:id") in {(edge.src, edge.dst) for edge in found.edges}


async def test_tags_and_protection_follow_a_column_to_its_new_name(renamed: GraphStore) -> None:
    for column in (NEW, LAST):
        assert ("pii=name", OLD) in [(tag.tag, tag.origin) for tag in await reaching_tags(renamed, "t", column)]
        assert await TagReach(renamed, "t").bears(column, "pii=name")
    assert not await TagReach(renamed, "t").bears("column:file:table:id", "pii=name")
