"""Derivations that are kept once for a whole dataset: whoever follows columns sees what was kept column by column before."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.graph.model import Edge, EdgeKind, GraphBatch
from headwater.graph.stores import Direction, GraphStore, Subgraph, open_store
from headwater.graph.stores.derivations import derivations
from tests.graph.stores.samples import column, dataset, job, stamp

DERIVES = [EdgeKind.DERIVES]
FILTER = [{"type": "INDIRECT", "subtype": "FILTER"}]
IDENTITY = [{"type": "DIRECT", "subtype": "IDENTITY"}]

# Output, input, its column, output columns, those made of the input's.
Stated = tuple[int, int, int, frozenset[int], frozenset[int]]


def by(made_by: str, steps: list[dict[str, str]]) -> dict[str, object]:
    return {"transformations": steps, f"by:{job(made_by)}": steps}


def whole(source: str, target: str, made_by: str) -> Edge:
    return Edge(source, dataset(target), EdgeKind.DERIVES, by(made_by, FILTER))


def derives(source: str, target: str, made_by: str, steps: list[dict[str, str]] = IDENTITY) -> Edge:
    return Edge(source, target, EdgeKind.DERIVES, by(made_by, steps))


def writes(made_by: str, target: str) -> Edge:
    return Edge(job(made_by), target, EdgeKind.ACCESSES)


def arcs(reached: Subgraph) -> set[tuple[str, str]]:
    return {(edge.src, edge.dst) for edge in reached.edges}


async def test_a_filter_reaches_each_column_that_its_job_writes(store: GraphStore, tenant: str) -> None:
    a, b, other = column("out", "a"), column("out", "b"), column("out", "other")
    edges = [whole(column("in", "f"), "out", "j"), writes("j", a), writes("j", b), writes("another", other)]
    await store.apply(tenant, [GraphBatch(stamp(1), edges=[*edges, derives(column("in", "x"), a, "j")], by="run")])
    up = await store.reach(tenant, [a], direction=Direction.UPSTREAM, kinds=DERIVES, depth=9, limit=99)
    assert arcs(up) == {(column("in", "f"), a), (column("in", "x"), a)}
    assert up.distance == {a: 0, column("in", "f"): 1, column("in", "x"): 1}
    down = await store.reach(tenant, [column("in", "f")], direction=Direction.DOWNSTREAM, kinds=DERIVES, depth=9, limit=99)
    assert set(down.distance) == {column("in", "f"), a, b}
    cone = await store.cone(tenant, [column("in", "f")], direction=Direction.DOWNSTREAM, kinds=DERIVES, depth=9, limit=99, facts=True)
    assert (set(cone.ids), cone.beyond) == (set(down.distance), 0)
    assert {fact[1] for fact in cone.facts} == {"2026-01-01T00:00:01.000000Z run"}
    assert not arcs(await store.reach(tenant, [other], direction=Direction.UPSTREAM, kinds=DERIVES, depth=9, limit=99))


async def test_a_column_that_is_used_and_filtered_by_keeps_both_steps(store: GraphStore, tenant: str) -> None:
    a, x = column("out", "a"), column("in", "x")
    await store.apply(tenant, [GraphBatch(stamp(1), edges=[whole(x, "out", "j"), derives(x, a, "j"), writes("j", a)])])
    for focus, direction in ((a, Direction.UPSTREAM), (x, Direction.DOWNSTREAM)):
        (edge,) = await derivations(store, tenant, [focus], direction=direction)
        assert sorted(step["subtype"] for step in edge.properties[f"by:{job('j')}"]) == ["FILTER", "IDENTITY"]


async def test_a_filter_of_another_time_is_not_one_of_the_column(store: GraphStore, tenant: str) -> None:
    old, new = column("out", "old"), column("out", "new")
    first = GraphBatch(stamp(1), edges=[whole(column("in", "f"), "out", "j"), writes("j", old)], by="1")
    second = GraphBatch(stamp(2), edges=[whole(column("in", "g"), "out", "j"), writes("j", new)], by="2")
    await store.apply(tenant, [first, second])
    reached = await store.reach(tenant, [old, new], direction=Direction.UPSTREAM, kinds=DERIVES, depth=9, limit=99)
    assert arcs(reached) == {(column("in", "f"), old), (column("in", "g"), new)}


_small = st.integers(0, 3)
_columns = st.frozensets(st.integers(0, 2), max_size=3)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(_small, _small, st.integers(0, 2), _columns, _columns), max_size=8),
    st.sampled_from(list(Direction)),
    st.integers(0, 4),
    st.integers(1, 12),
)
async def test_kept_once_it_is_reached_as_if_kept_for_every_column(
    tmp_path: Path, stated: list[Stated], direction: Direction, depth: int, limit: int
) -> None:
    """Each job writes its dataset's columns all along: then times do not part what is kept."""
    written: dict[int, set[int]] = {}
    for number, _, _, columns, made in stated:
        written.setdefault(number, set()).update(columns, made)
    compact, each = [], []
    for number, source, field, _, made in stated:
        origin, target = column(str(source), str(field)), str(number)
        direct = [derives(origin, column(target, str(one)), target) for one in made]
        read = Edge(origin, job(target), EdgeKind.ACCESSES)
        accesses = [read, *(writes(target, column(target, str(one))) for one in written[number])]
        compact += [*direct, *accesses, whole(origin, target, target)]
        each += [*direct, *accesses, *(derives(origin, column(target, str(one)), target, FILTER) for one in written[number])]
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    try:
        one, other = uuid4().hex, uuid4().hex
        await store.apply(one, [GraphBatch(stamp(1), edges=compact)])
        await store.apply(other, [GraphBatch(stamp(1), edges=each)])
        focus = [column("0", "0"), column("2", "1")]
        found, wanted = [
            await store.reach(tenant, focus, direction=direction, kinds=DERIVES, depth=depth, limit=limit) for tenant in (one, other)
        ]
        assert found.distance == wanted.distance
        assert [node.id for node in found.nodes] == [node.id for node in wanted.nodes]
        assert arcs(found) == arcs(wanted)
        assert found.truncated == wanted.truncated
        cone = await store.cone(one, focus, direction=direction, kinds=DERIVES, depth=depth, limit=limit)
        same = await store.cone(other, focus, direction=direction, kinds=DERIVES, depth=depth, limit=limit)
        assert {(cone.ids[a], cone.ids[b]) for a, b in cone.edges} == {(same.ids[a], same.ids[b]) for a, b in same.edges} == arcs(found)
        assert cone.beyond == same.beyond
    finally:
        await store.close()
