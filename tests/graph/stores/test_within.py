"""The graph of a restricted caller, over every store: it is the graph that there would be without what he may not see."""

from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.errors import UnsupportedError
from headwater.graph.access.patterns import Namespaces
from headwater.graph.access.restricted_store import RestrictedStore
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, node_id
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.stores.paging import bounds_of
from tests.graph.stores.samples import FLOWS, contains, node, stamp

OURS, THEIRS = "s3://sales", "s3://hr"
SEEN = Namespaces.of(["s3://sales*"])
_KINDS = [NodeKind.DATASET, NodeKind.JOB, NodeKind.RUN]

_flows = st.lists(
    st.tuples(st.integers(0, 4), st.booleans(), st.integers(0, 4), st.booleans(), st.booleans()), min_size=1, max_size=14
)  # dataset, whether it is ours, job, whether it is ours, whether the job reads it


def _space(is_ours: bool) -> str:
    return OURS if is_ours else THEIRS


def _graph(flows: list[tuple[int, bool, int, bool, bool]]) -> tuple[list[Edge], list[Edge]]:
    """The edges of a graph, and those that are left of it for whoever sees ours alone."""
    edges: dict[tuple[str, str, EdgeKind], bool] = {}
    for table, table_is_ours, work, work_is_ours, reads in flows:
        dataset = node_id(NodeKind.DATASET, _space(table_is_ours), str(table))
        job = node_id(NodeKind.JOB, _space(work_is_ours), str(work))
        run = f"run:{work}-{work_is_ours}"
        edges[node_id(NodeKind.PLATFORM, _space(table_is_ours)), dataset, EdgeKind.CONTAINS] = table_is_ours
        edges[node_id(NodeKind.SYSTEM, _space(work_is_ours)), job, EdgeKind.CONTAINS] = work_is_ours
        edges[job, run, EdgeKind.CONTAINS] = work_is_ours
        ends = (dataset, job, EdgeKind.READS) if reads else (job, dataset, EdgeKind.WRITES)
        edges[ends] = table_is_ours and work_is_ours
    return [Edge(*key) for key in edges], [Edge(*key) for key, is_seen in edges.items() if is_seen]


@given(flows=_flows, depth=st.integers(0, 6), limit=st.integers(1, 12), focus=st.integers(0, 4))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_it_is_the_graph_without_what_is_hidden(
    store: GraphStore, flows: list[tuple[int, bool, int, bool, bool]], depth: int, limit: int, focus: int
) -> None:
    whole, ours = uuid4().hex, uuid4().hex
    everything, left = _graph(flows)
    await store.apply(whole, [GraphBatch(stamp(1), edges=everything)])
    await store.apply(ours, [GraphBatch(stamp(1), edges=left)])
    seen = RestrictedStore(store, whole, [SEEN])
    start = [node_id(NodeKind.DATASET, _space(is_ours), str(focus)) for is_ours in (True, False)]
    assert await seen.get(whole, start) == await store.get(ours, start)
    for direction in Direction:
        one = await seen.reach(whole, start, direction=direction, kinds=FLOWS, depth=depth, limit=limit)
        other = await store.reach(ours, start, direction=direction, kinds=FLOWS, depth=depth, limit=limit)
        assert (list(one.nodes), one.distance, one.truncated) == (list(other.nodes), other.distance, other.truncated)
        assert sorted(one.edges, key=str) == sorted(other.edges, key=str)
        asked = {"direction": direction, "kinds": FLOWS, "depth": depth, "contained": _KINDS[:2], "facts": True, "names": True}
        mine, theirs = await seen.cone(whole, start, **asked, limit=50), await store.cone(ours, start, **asked, limit=50)
        assert [set(mine.ids), mine.reached, mine.beyond] == [set(theirs.ids), theirs.reached, theirs.beyond]
        assert dict(zip(mine.ids, mine.names, strict=True)) == dict(zip(theirs.ids, theirs.names, strict=True))
        for part in ("pairs", "contains"):
            named = [{tuple(found.ids[end] for end in row) for row in getattr(found, part).tolist()} for found in (mine, theirs)]
            assert named[0] == named[1], part
        for way in ("upstream", "downstream"):
            hops = [{found.ids[number]: away for number, away in getattr(found, way).items()} for found in (mine, theirs)]
            assert hops[0] == hops[1], way
    for prefix in ("dataset:", "job:", "platform:", "system:", node_id(NodeKind.JOB, OURS, ""), node_id(NodeKind.JOB, THEIRS, "")):
        assert await seen.listed(whole, prefix, first=2, skip=1) == await store.listed(ours, prefix, first=2, skip=1)
        assert list(await seen.listed_after(whole, prefix, None, first=3)) == list(await store.listed_after(ours, prefix, None, first=3))
    named = [NodeKind.DATASET, NodeKind.JOB]
    assert await seen.search(whole, "1", kinds=named, first=2) == await store.search(ours, "1", kinds=named, first=2)
    counts = await store.counts(ours)
    assert await seen.counts(whole) == counts
    for work in range(5):
        job = node_id(NodeKind.JOB, OURS, str(work))
        assert await seen.children(whole, job) == await store.children(ours, job)
        assert await seen.latest(whole, job, NodeKind.RUN) == await store.latest(ours, job, NodeKind.RUN)
        assert await seen.ancestors(whole, [f"run:{work}-True"]) == await store.ancestors(ours, [f"run:{work}-True"])
        assert await seen.ancestors(whole, [f"run:{work}-False"]) == {}
    moments = [(node_id(NodeKind.JOB, _space(is_ours), "1"), None) for is_ours in (True, False)]
    latest = [await each.latest_at(tenant, moments, NodeKind.RUN, first=2) for each, tenant in ((seen, whole), (store, ours))]
    assert {moment: list(nodes) for moment, nodes in latest[0].items()} == {moment: list(latest[1].get(moment, ())) for moment in moments}


async def test_ranges_bound_a_search_and_counts(store: GraphStore, tenant: str) -> None:
    spaces = ["s3://sales", "s3://sales-eu", "s3://salesx", "s3://hr", "*", "s3://sales:x"]
    tables = [node_id(NodeKind.DATASET, space, "Orders") for space in spaces]
    jobs = [node_id(NodeKind.JOB, space, "orders") for space in spaces]
    edges = [contains(job, f"run:{place}") for place, job in enumerate(jobs)]
    await store.apply(tenant, [GraphBatch(stamp(1), [node(each, "Orders") for each in (*tables, *jobs)], edges)])
    ranges = [bounds_of(node_id(kind, space, "")) for kind in ("dataset", "job") for space in spaces[:2]]
    for text in ("", "ord", "orders", "o"):
        page = await store.search(tenant, text, first=3, ranges=ranges)
        assert (page.total, len(page.nodes)) == (4, 3)
        last = await store.search(tenant, text, first=3, after=page.cursor, ranges=ranges)
        assert {found.id for found in (*page.nodes, *last.nodes)} == {*tables[:2], *jobs[:2]}
    assert await store.counts(tenant, ranges=ranges) == {"dataset": 2, "job": 2, "run": 2}
    assert await store.counts(tenant, ranges=[]) == {}
    assert (await store.search(tenant, "", ranges=[])).total == 0


async def test_a_pipeline_shows_the_jobs_of_permitted_namespaces(store: GraphStore, tenant: str) -> None:
    pipeline = node_id(NodeKind.PIPELINE, OURS, "daily")
    jobs = [node_id(NodeKind.JOB, _space(place % 2 == 0), f"{place}") for place in range(6)]
    await store.apply(tenant, [GraphBatch(stamp(1), edges=[contains(pipeline, job) for job in jobs])])
    seen = RestrictedStore(store, tenant, [SEEN])
    page = await seen.children(tenant, pipeline, first=2)
    rest = await seen.children(tenant, pipeline, first=2, after=page.cursor)
    assert [found.id for found in (*page.nodes, *rest.nodes)] == jobs[::2]
    assert (page.total, rest.cursor) == (3, None)


async def test_a_run_of_two_namespaces_is_in_no_page_and_no_count(store: GraphStore, tenant: str) -> None:
    ours, theirs = node_id(NodeKind.JOB, OURS, "work"), node_id(NodeKind.JOB, THEIRS, "work")
    runs = [f"run:{place}" for place in range(7)]
    mixed = {runs[1], runs[4]}
    edges = [contains(ours, run) for run in runs] + [contains(theirs, run) for run in sorted(mixed)]
    edges.append(contains(node_id(NodeKind.SYSTEM, OURS), ours))
    await store.apply(tenant, [GraphBatch(stamp(1), edges=edges)])
    assert set(await store.shared(tenant, ours)) == mixed == set(await store.shared(tenant, theirs))
    assert await store.shared(tenant, runs[0]) == []
    seen = RestrictedStore(store, tenant, [SEEN])
    expected = [run for run in runs if run not in mixed]
    pages = [await seen.latest(tenant, ours, NodeKind.RUN, first=1, skip=skip) for skip in range(6)]
    assert [found.id for page in pages for found in page.nodes] == expected
    assert {page.total for page in pages} == {5}
    found, after = [], None
    while True:
        page = await seen.children(tenant, ours, first=1, after=after)
        assert page.total == 5
        found += [each.id for each in page.nodes]
        if (after := page.cursor) is None:
            break
    assert found == expected
    assert (await seen.counts(tenant))["run"] == 5
    assert (await store.counts(tenant, ranges=[bounds_of(node_id(NodeKind.JOB, OURS, ""))]))["run"] == 5
    both = [bounds_of(node_id(NodeKind.JOB, space, "")) for space in (OURS, THEIRS)]
    assert (await store.counts(tenant, ranges=both))["run"] == 7


async def test_declared_data_in_a_dataset_is_in_no_count(store: GraphStore, tenant: str) -> None:
    dataset = node_id(NodeKind.DATASET, OURS, "orders")
    columns = [node_id(NodeKind.COLUMN, OURS, "orders", name) for name in "ab"]
    edges = [contains(dataset, each) for each in (*columns, "data:shelf:zz")]
    await store.apply(tenant, [GraphBatch(stamp(1), edges=edges)])
    page = await RestrictedStore(store, tenant, [SEEN]).children(tenant, dataset, first=1)
    assert (page.total, [each.id for each in page.nodes]) == (2, columns[:1])


async def test_owners_and_tags_are_seen_where_they_describe_what_is(store: GraphStore, tenant: str) -> None:
    ours, theirs = node_id(NodeKind.DATASET, OURS, "a"), node_id(NodeKind.DATASET, THEIRS, "a")
    bears = [("tag:both", ours), ("tag:both", theirs), ("tag:hidden", theirs), ("owner:ann", ours), ("term:none", "type:t")]
    await store.apply(tenant, [GraphBatch(stamp(1), edges=[Edge(src, dst, EdgeKind.DESCRIBES) for src, dst in bears])])
    seen = RestrictedStore(store, tenant, [SEEN])
    assert [found.id for found in (await seen.listed(tenant, "tag:")).nodes] == ["tag:both"]
    assert [found.id for found in await seen.get(tenant, ["owner:ann", "tag:hidden", "term:none", "type:t"])] == ["owner:ann"]
    edges = await seen.neighbours(tenant, ["tag:both"], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.DESCRIBES])
    assert [edge.dst for edge in edges] == [ours]


async def test_properties_that_are_not_known_to_name_nothing_are_not_told(store: GraphStore, tenant: str) -> None:
    run, job = "run:1", node_id(NodeKind.JOB, OURS, "a")
    hidden = node_id(NodeKind.DATASET, THEIRS, "x")
    about = {
        "state": "FAIL",
        "error": "x",
        "sql": {"query": "x"},
        f"input:{hidden}": {},
        "tasks": {"a": "facet"},
        "capture": {"mode": "m", "problems": "x"},
    }
    await store.apply(tenant, [GraphBatch(stamp(1), [Node(run, NodeKind.RUN, run, about)], [contains(job, run)])])
    (found,) = await RestrictedStore(store, tenant, [SEEN]).get(tenant, [run])
    assert dict(found.properties) == {"state": "FAIL", "capture": {"mode": "m"}}


async def test_nothing_is_written_or_told_of_the_whole(store: GraphStore, tenant: str) -> None:
    seen = RestrictedStore(store, tenant, [SEEN])
    with pytest.raises(UnsupportedError):
        await seen.apply(tenant, [])
    with pytest.raises(UnsupportedError):
        await seen.fingerprint(tenant)
    with pytest.raises(UnsupportedError):
        await seen.drop(tenant)
    with pytest.raises(UnsupportedError):
        await seen.get("another", ["dataset:a:b"])
    with pytest.raises(UnsupportedError):
        seen.dump(tenant)
