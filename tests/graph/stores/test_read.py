"""Finding nodes: by id, by name, by container."""

from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headwater.errors import InvalidQueryError
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.stores import Direction, GraphStore, Page
from headwater.graph.stores.paging import fold
from tests.graph.stores.samples import FLOWS, PIPELINE, contains, dataset, job, node, stamp

SYSTEM, PIPE, OUTER, RUN = "system:flights", "pipeline:flights:daily", "pipeline:flights:all", "run:1"


def ids(page: Page) -> list[str]:
    return [found.id for found in page.nodes]


async def test_get_answers_in_the_order_asked_and_leaves_out_what_is_not_there(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE])
    asked = [job("report"), dataset("nowhere"), dataset("weather"), "not an id", dataset("flights")]
    assert [found.id for found in await store.get(tenant, asked)] == [job("report"), dataset("weather"), dataset("flights")]
    assert await store.get(tenant, []) == []


async def test_a_dump_of_some_kinds_holds_their_nodes_and_the_edges_into_them(store: GraphStore, tenant: str) -> None:
    declared = [contains("data:files:x", "data:files:y"), contains(RUN, "stage:1:0"), contains(job("report"), RUN)]
    await store.apply(tenant, [PIPELINE, GraphBatch(stamp(1), edges=declared)])
    whole = [portion async for portion in store.dump(tenant)]
    for kinds in ({NodeKind.JOB}, {NodeKind.DATASET, NodeKind.RUN}, {NodeKind.DATA}, set(NodeKind), set[NodeKind]()):
        part = [portion async for portion in store.dump(tenant, kinds=kinds)]
        expected = sorted(row for portion in whole for row in portion.nodes if row[0].partition(":")[0] in kinds)
        assert [row for portion in part for row in portion.nodes] == expected
        edges = [row for portion in whole for row in portion.edges if row[1].partition(":")[0] in kinds]
        assert sorted(row for portion in part for row in portion.edges) == sorted(edges)
    assert {row[0].partition(":")[0] for portion in whole for row in portion.nodes} >= {"data", "dataset", "job", "run", "stage"}


async def test_search_is_by_part_of_the_name_whatever_the_case(store: GraphStore, tenant: str) -> None:
    names = ["Straße", "STRASSE 2", "hourly weather", "100%_a", "100x_a", "Ärger"]
    await store.apply(tenant, [GraphBatch(stamp(1), [node(dataset(str(index)), name) for index, name in enumerate(names)])])
    assert [found.name for found in (await store.search(tenant, "strasse")).nodes] == ["Straße", "STRASSE 2"]
    assert [found.name for found in (await store.search(tenant, "%_")).nodes] == ["100%_a"]
    assert [found.name for found in (await store.search(tenant, "ä")).nodes] == ["Ärger"]
    assert ids(await store.search(tenant, "' OR 1=1 --")) == []


@given(
    names=st.lists(st.text("abcAÄß\"'-%_ \x00", min_size=1, max_size=7), min_size=1, max_size=12),
    part=st.text("abcAÄß\"'-%_ \x00", max_size=6),
    kinds=st.lists(st.sampled_from([NodeKind.DATASET, NodeKind.JOB]), unique=True),
)
@example(names=["\0Aß"], part="Aß", kinds=[])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_search_finds_what_looking_at_each_name_finds(store: GraphStore, names: list[str], part: str, kinds: list[NodeKind]) -> None:
    tenant = uuid4().hex
    nodes = [node(job(str(index)) if index % 3 else dataset(str(index)), name) for index, name in enumerate(names)]
    await store.apply(tenant, [GraphBatch(stamp(1), nodes[::2]), GraphBatch(stamp(1), nodes[1::2])])
    expected = [found for found in nodes if fold(part) in fold(found.name) and found.kind in (kinds or NodeKind)]
    page = await store.search(tenant, part, kinds=kinds, first=len(names))
    assert ids(page) == [found.id for found in sorted(expected, key=lambda found: (fold(found.name), found.id))]
    assert page.total == len(expected)


async def test_search_follows_a_name_that_changed(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [GraphBatch(stamp(1), [node(dataset("a"), "weather of old"), node(dataset("b"), "weather of old")])])
    await store.apply(tenant, [GraphBatch(stamp(2), [node(dataset("a"), "climate of now")])])
    assert ids(await store.search(tenant, "weather of")) == [dataset("b")]
    assert ids(await store.search(tenant, "mate of")) == [dataset("a")]


async def test_search_finds_nothing_of_a_graph_that_was_dropped_and_all_of_it_when_it_is_back(store: GraphStore, tenant: str) -> None:
    other = f"{tenant}-other"
    for each in (tenant, other):
        await store.apply(each, [PIPELINE])
    await store.drop(tenant)
    assert (await store.search(tenant, "weather")).total == 0
    assert ids(await store.search(other, "weather")) == [dataset("weather")]
    await store.apply(tenant, [PIPELINE])
    assert ids(await store.search(tenant, "weather")) == [dataset("weather")]
    await store.drop(tenant)
    await store.drop(other)
    await store.apply(tenant, [PIPELINE])
    assert ids(await store.search(tenant, "weather")) == [dataset("weather")]


@pytest.mark.parametrize("number", [30, 1_100])  # names that hold the part: few, or more than an index is asked for
async def test_pages_of_a_part_follow_one_another(store: GraphStore, tenant: str, number: int) -> None:
    names = [f"table {index:05}" for index in range(number)]
    nodes = [node(identifier(name), name) for name in names for identifier in (dataset, job)]
    await store.apply(tenant, [GraphBatch(stamp(1), [*nodes, node(dataset("x"), "other")])])
    seen: list[str] = []
    cursor = None
    while True:
        page = await store.search(tenant, "ABLE 0", first=number // 2, after=cursor)
        assert page.total == 2 * number
        seen += ids(page)
        if (cursor := page.cursor) is None:
            break
    assert seen == sorted((found.id for found in nodes), key=lambda found: (found.rsplit(":")[-1], found))


async def test_search_can_keep_to_kinds(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE])
    page = await store.search(tenant, "", kinds=[NodeKind.JOB])
    assert (ids(page), page.total, page.cursor) == ([job("enrich"), job("hourly"), job("report")], 3, None)
    assert (await store.search(tenant, "h", kinds=[NodeKind.JOB, NodeKind.DATASET])).total == 6


async def test_pages_follow_one_another_without_gap_or_repeat(store: GraphStore, tenant: str) -> None:
    # Equal names, so that the id must decide; and kinds mixed.
    nodes = [node(dataset(f"{index:02}"), "same" if index % 2 else f"n{index}") for index in range(15)] + [node(job("x"), "same")]
    await store.apply(tenant, [GraphBatch(stamp(1), nodes)])
    seen: list[str] = []
    cursor = None
    for _ in range(6):
        page = await store.search(tenant, "", first=3, after=cursor)
        assert page.total == 16
        seen += ids(page)
        cursor = page.cursor
    assert cursor is None
    assert seen == [found.id for found in sorted(nodes, key=lambda found: (found.name, found.id))]


@pytest.mark.parametrize("cursor", ["nonsense", "e30=", "WzEsMl0=", ""])
async def test_a_cursor_that_no_page_carried_is_refused(store: GraphStore, tenant: str, cursor: str) -> None:
    with pytest.raises(InvalidQueryError, match="not a cursor"):
        await store.search(tenant, "", after=cursor)


async def contained(store: GraphStore, tenant: str) -> None:
    """all ⊃ daily ⊃ report ⊃ run, where events also said that the system contains each."""
    edges = [
        contains(SYSTEM, PIPE),
        contains(SYSTEM, OUTER),
        contains(SYSTEM, job("report")),
        contains(OUTER, PIPE),
        contains(PIPE, job("report")),
    ]
    await store.apply(tenant, [GraphBatch(stamp(1), edges=[*edges, contains(SYSTEM, job("alone")), contains(job("report"), RUN)])])


async def test_children_are_those_contained_directly(store: GraphStore, tenant: str) -> None:
    await contained(store, tenant)
    assert ids(await store.children(tenant, SYSTEM)) == [OUTER, job("alone")]
    assert ids(await store.children(tenant, OUTER)) == [PIPE]
    assert ids(await store.children(tenant, PIPE)) == [job("report")]
    assert ids(await store.children(tenant, "run:nowhere")) == []


async def test_children_come_in_pages_and_by_kind(store: GraphStore, tenant: str) -> None:
    edges = [contains(dataset("a"), f"column:file:a:c{index}") for index in range(5)] + [contains(dataset("a"), "version:file:a:1")]
    await store.apply(tenant, [GraphBatch(stamp(1), edges=edges)])
    first = await store.children(tenant, dataset("a"), kinds=[NodeKind.COLUMN], first=3)
    rest = await store.children(tenant, dataset("a"), kinds=[NodeKind.COLUMN], first=3, after=first.cursor)
    assert ids(first) + ids(rest) == [f"column:file:a:c{index}" for index in range(5)]
    assert (first.total, rest.total, rest.cursor) == (5, 5, None)


async def test_what_is_listed_by_the_beginning_of_its_id_comes_in_that_order(store: GraphStore, tenant: str) -> None:
    names = ["b", "a", "a:b", "a/b", "é", "c c"]
    await store.apply(tenant, [PIPELINE, GraphBatch(stamp(1), [node(node_id(NodeKind.COLUMN, "file", "out", name)) for name in names])])
    await store.apply(f"{tenant}-other", [GraphBatch(stamp(1), [node("column:file:out:theirs")])])
    await store.apply(tenant, [GraphBatch(stamp(1), [node("column:file:out2:x"), node("column:file:ou:x")])])
    every = sorted(node_id(NodeKind.COLUMN, "file", "out", name) for name in names)
    page = await store.listed(tenant, "column:file:out:", first=2)
    assert ([found.id for found in page.nodes], page.total) == (every[:2], 6)
    page = await store.listed(tenant, "column:file:out:", first=10, skip=2)
    assert ([found.id for found in page.nodes], page.total) == (every[2:], 6)
    assert (await store.listed(tenant, "column:file:out:", first=0)).nodes == []
    assert (await store.listed(tenant, "column:file:nowhere:")).total == 0
    assert [found.name for found in (await store.listed(tenant, "job:")).nodes] == ["enrich", "hourly", "report"]
    with pytest.raises(InvalidQueryError, match="colon"):
        await store.listed(tenant, "column:file:out")


async def test_a_listing_is_gone_through_by_its_last_id_whatever_is_added_meanwhile(store: GraphStore, tenant: str) -> None:
    names = ["b", "a", "a:b", "a/b", "é", "c c"]
    await store.apply(tenant, [GraphBatch(stamp(1), [node(node_id(NodeKind.COLUMN, "file", "out", name)) for name in names])])
    await store.apply(tenant, [GraphBatch(stamp(1), [node("column:file:out2:x"), node("column:file:ou:x")])])
    first = await store.listed_after(tenant, "column:file:out:", None, first=2)
    await store.apply(tenant, [GraphBatch(stamp(2), [node(node_id(NodeKind.COLUMN, "file", "out", "A"))])])
    rest = await store.listed_after(tenant, "column:file:out:", first[-1].id, first=100)
    assert [found.id for found in (*first, *rest)] == sorted(node_id(NodeKind.COLUMN, "file", "out", name) for name in names)
    assert list(await store.listed_after(tenant, "column:file:out:", rest[-1].id, first=5)) == []
    assert list(await store.listed_after(f"{tenant}-other", "column:file:out:", None, first=5)) == []
    with pytest.raises(InvalidQueryError, match="colon"):
        await store.listed_after(tenant, "column:file:out", None, first=5)


async def test_what_is_contained_comes_latest_first(store: GraphStore, tenant: str) -> None:
    for second, run in ((3, "c"), (1, "a"), (2, "b"), (2, "bb")):
        await store.apply(tenant, [GraphBatch(stamp(second), edges=[contains(job("report"), f"run:{run}")], by=run)])
    await store.apply(tenant, [GraphBatch(stamp(9), edges=[contains(job("report"), "run:a"), contains(job("other"), "run:d")], by="a")])
    found = await store.latest(tenant, job("report"), NodeKind.RUN, first=3)
    assert ([run.id for run in found.nodes], found.total) == (["run:c", "run:bb", "run:b"], 4)
    found = await store.latest(tenant, job("report"), NodeKind.RUN, skip=3)
    assert ([run.id for run in found.nodes], found.total) == (["run:a"], 4)
    found = await store.latest(tenant, job("report"), NodeKind.RUN, until=stamp(2).time)
    assert ([run.id for run in found.nodes], found.total) == (["run:bb", "run:b", "run:a"], 3)
    assert (await store.latest(tenant, job("report"), NodeKind.VERSION)).total == 0


async def test_the_latest_of_many_at_many_instants_are_the_latest_of_each(store: GraphStore, tenant: str) -> None:
    for second, run in ((30, "c"), (10, "a"), (20, "b"), (20, "bb"), (5, "d"), (40, "e")):
        edges = [contains(dataset("a"), f"version:file:a:{run}"), contains(dataset("a"), f"column:file:a:{run}")]
        await store.apply(tenant, [GraphBatch(stamp(second), edges=edges, by=run)])
    await store.apply(tenant, [GraphBatch(stamp(1), edges=[contains(dataset("b"), "version:file:b:z")], by="z")])
    await store.apply(tenant, [GraphBatch(stamp(1), [node("version:file:a:b", rows=7)])])
    await store.apply(f"{tenant}-other", [GraphBatch(stamp(1), edges=[contains(dataset("a"), "version:file:a:theirs")], by="z")])
    instants = [None, *(stamp(second).time for second in (1, 5, 7, 20, 29, 50))]
    asked = [(dataset(name), until) for name in ("a", "b", "nowhere") for until in instants]
    for first in (1, 2, 20):
        found = await store.latest_at(tenant, asked, NodeKind.VERSION, first=first)
        assert found.keys() == set(asked)
        for parent, until in asked:
            assert found[parent, until] == (await store.latest(tenant, parent, NodeKind.VERSION, until=until, first=first)).nodes
    assert await store.latest_at(tenant, asked[:1], NodeKind.COLUMN, first=1) == {asked[0]: [node("column:file:a:e")]}
    assert await store.latest_at(tenant, [], NodeKind.VERSION, first=1) == {}


async def test_ancestors_come_innermost_first(store: GraphStore, tenant: str) -> None:
    await contained(store, tenant)
    found = await store.ancestors(tenant, [RUN, SYSTEM, "run:nowhere"])
    assert {start: [container.id for container in containers] for start, containers in found.items()} == {
        RUN: [job("report"), PIPE, OUTER, SYSTEM],
        SYSTEM: [],
    }


async def test_a_containment_cycle_ends(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [GraphBatch(stamp(1), edges=[contains(PIPE, OUTER), contains(OUTER, PIPE), contains(PIPE, PIPE)])])
    assert [container.id for container in (await store.ancestors(tenant, [PIPE]))[PIPE]] == [OUTER]


async def test_tenants_see_nothing_of_one_another(store: GraphStore, tenant: str) -> None:
    other = f"{tenant}-other"
    await store.apply(tenant, [PIPELINE], offset=5)
    await store.apply(
        other, [GraphBatch(stamp(1), [node(dataset("weather"), secret=1)], [Edge(dataset("weather"), job("theirs"), EdgeKind.READS)])]
    )
    before = await store.fingerprint(tenant)
    assert (await store.get(tenant, [dataset("weather")]))[0].properties == {}
    assert await store.offset(other) == 0
    assert (await store.search(tenant, "theirs")).total == 0
    reached = await store.reach(tenant, [dataset("weather")], direction=Direction.BOTH, kinds=FLOWS, depth=9, limit=100)
    assert job("theirs") not in reached.distance
    assert job("theirs") not in {
        edge.dst for edge in await store.neighbours(tenant, [dataset("weather")], direction=Direction.BOTH, kinds=FLOWS)
    }
    await store.drop(other)
    assert await store.counts(other) == {}
    assert await store.fingerprint(tenant) == before


async def test_names_that_many_bear_are_found_page_after_page(store: GraphStore, tenant: str) -> None:
    columns = [node_id(NodeKind.COLUMN, "s", f"t{table}", name) for table in range(7) for name in ("Wind", "wind_dir", "gust", "windy")]
    named = {each: each.split(":")[3] for each in columns}
    nodes = [Node(each, NodeKind.COLUMN, name) for each, name in named.items()]
    await store.apply(tenant, [GraphBatch(Stamp("2026-01-01T00:00:00Z", "k"), nodes)])
    found: list[Node] = []
    cursor = None
    while True:
        page = await store.search(tenant, "WIND", kinds=[NodeKind.COLUMN], first=4, after=cursor)
        assert page.total == 21
        found += page.nodes
        cursor = page.cursor
        if cursor is None:
            break
    windy = [each for each in columns if named[each] != "gust"]
    assert ids(Page(found, None, 21)) == sorted(windy, key=lambda each: (named[each].lower(), each))
    assert (await store.search(tenant, "nothing", kinds=[NodeKind.COLUMN])).total == 0
