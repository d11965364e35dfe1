"""Views ask of every store alike, and get the same answers."""

from __future__ import annotations

from headwater.graph.model import EdgeKind, GraphBatch, Node, NodeKind
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.views import Mask, ViewRequest, difference, field_access, impact, reaching_tags, view
from tests.graph.stores.samples import PIPELINE, Edge, column, contains, dataset, job, stamp, writes

CONTAINERS = GraphBatch(
    stamp(1),
    edges=[
        *(contains("pipeline:flights:daily", job(name)) for name in ("enrich", "report")),
        contains("system:flights", "pipeline:flights:daily"),
        contains("system:flights", job("hourly")),
    ],
)
COLUMNS = GraphBatch(
    stamp(2),
    [Node(column("weather", "wind"), NodeKind.COLUMN, "wind", {"tags": ["secret"]})],
    [
        Edge(column("weather", "wind"), column("hours", "wind"), EdgeKind.DERIVES, {f"by:{job('hourly')}": []}),
        Edge(column("weather", "wind"), job("hourly"), EdgeKind.ACCESSES, {"how:IDENTITY": True}),
        Edge(job("hourly"), column("hours", "wind"), EdgeKind.ACCESSES),
    ],
    by="r2",
)


async def test_a_view_is_the_same_in_every_store(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE, CONTAINERS])
    zoomed = await view(store, tenant, ViewRequest(focus=(dataset("out"),), data=NodeKind.PLATFORM, actors=NodeKind.PIPELINE))
    daily, hourly, platform = "pipeline:flights:daily", job("hourly"), "platform:file"
    assert {(edge.src, edge.dst, edge.weight) for edge in zoomed.edges()} == {
        (platform, daily, 4),
        (daily, platform, 2),
        (platform, hourly, 1),
        (hourly, platform, 1),
    }
    assert [node.members for node in await zoomed.nodes()] == [5, 2, 1]
    masked = await view(store, tenant, ViewRequest(focus=(dataset("out"),), masks=(Mask.parse("kind=job"), Mask.parse("name=en*"))))
    assert {(edge.src, edge.dst, edge.via) for edge in masked.edges()} == {
        (dataset("weather"), dataset("hours"), 1),
        (dataset("hours"), dataset("out"), 1),
        (dataset("weather"), dataset("out"), 3),
        (dataset("flights"), dataset("out"), 3),
    }


async def test_times_lists_and_columns_are_the_same_in_every_store(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE, COLUMNS, GraphBatch(stamp(5), edges=[writes("report", "mail")], by="r5")])
    changed = await difference(store, tenant, ViewRequest(focus=(job("report"),)), before=stamp(2).time, after=stamp(6).time)
    assert [node.id for node in changed.nodes_added] == [dataset("mail")]
    assert [node.id for node in changed.nodes_removed] == [dataset("out")]  # a later run wrote mail alone
    current = await impact(store, tenant, [dataset("out")], direction=Direction.UPSTREAM)
    assert (current.total, len(current.former)) == (0, 7)
    causes = await impact(store, tenant, [dataset("out")], direction=Direction.UPSTREAM, former=True)
    rows = {row.node.id: (row.distance, row.last_run) async for row in causes.rows()}
    assert rows[job("report")] == (1, "run:r5")
    assert (causes.total, rows[dataset("weather")][0]) == (7, 4)
    wind = column("hours", "wind")
    accesses = [(access.job, access.kind, access.certain) for access in await field_access(store, tenant, wind)]
    # The report reads the dataset without saying which columns.
    assert accesses == [(job("report"), "read", False), (job("hourly"), "create", True), (job("hourly"), "write", True)]
    assert [(tag.tag, tag.distance) for tag in await reaching_tags(store, tenant, wind)] == [("secret", 1)]
