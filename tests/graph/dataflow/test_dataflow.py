"""Dataflow reconstruction: links with their kind of evidence, an order, and cycles that runs resolve."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.backend.projection import project_declaration, project_event
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.dataflow import Link, LinkKind, arrange, reconstruct
from headwater.graph.dataflow.archetypes import declared_archetypes, inferred_archetypes
from headwater.graph.dataflow.versions import versions_read
from headwater.graph.model import GraphBatch, Node, NodeKind, Stamp
from headwater.graph.model.declaration import Declaration
from headwater.graph.stores import GraphStore, open_store
from tests.graph.stores.samples import PIPELINE, contains, job, stamp

SYSTEM = "system:flights"
INSIDE = GraphBatch(stamp(1), edges=[contains(SYSTEM, job(name)) for name in ("enrich", "hourly", "report")])


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[GraphStore]:
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    yield store
    await store.close()


def implicit(src: str, dst: str, *via: str) -> Link:
    return Link(src, dst, LinkKind.IMPLICIT, via)


async def test_jobs_are_linked_by_what_they_wrote_and_read(store: GraphStore) -> None:
    await store.apply("t", [PIPELINE, INSIDE])
    found = await reconstruct(store, "t", SYSTEM)
    assert found.links == [
        implicit(job("enrich"), job("report"), "dataset:file:enriched"),
        implicit(job("hourly"), job("report"), "dataset:file:hours"),
    ]
    assert found.generations == [[job("enrich"), job("hourly")], [job("report")]]
    assert found.cycles == []


def declaration(second: int, **parts: object) -> GraphBatch:
    stated = Declaration.from_json({"declared": "2026-01-01T00:00:00Z", **parts})
    return project_declaration(stated, stamp(second, "d"))


async def test_archetypes_link_within_their_common_container_alone(store: GraphStore) -> None:
    types = [
        {"name": "flow", "axis": "actor"},
        {"name": "map", "axis": "actor", "within": ["flow"]},
        {"name": "reduce", "axis": "actor", "within": ["flow"], "after": ["map"]},
    ]
    steps = [(flow, step) for flow in ("a", "b") for step in ("actor:map:1", "actor:map:2", "actor:reduce:1")]
    await store.apply(
        "t",
        [
            declaration(1, types=types, instances=[{"id": f"{step}-{flow}"} for flow, step in steps]),
            declaration(2, containment=[{"container": f"actor:flow:{flow}", "child": f"{step}-{flow}"} for flow, step in steps]),
            declaration(3, links=[{"from": "actor:map:1-a", "to": "actor:map:2-a"}, {"from": "actor:map:1-a", "to": "actor:map:1-b"}]),
        ],
    )
    found = await reconstruct(store, "t", "actor:flow:a")
    assert found.links == [
        Link("actor:map:1-a", "actor:map:2-a", LinkKind.EXPLICIT),
        Link("actor:map:1-a", "actor:reduce:1-a", LinkKind.ARCHETYPE, ("map", "reduce")),
        Link("actor:map:2-a", "actor:reduce:1-a", LinkKind.ARCHETYPE, ("map", "reduce")),
    ]
    assert found.generations == [["actor:map:1-a"], ["actor:map:2-a"], ["actor:reduce:1-a"]]


def overwriting(run: int, minute: int, kind: str) -> GraphBatch:
    """A run of a job that overwrites its input."""
    time = f"2026-01-01T00:{minute:02}:00.000000Z"
    table = {"namespace": "file", "name": "balance"}
    change = {"lifecycleStateChange": {"_producer": "p", "_schemaURL": "s", "lifecycleStateChange": "OVERWRITE"}}
    event = {
        "eventType": kind,
        "eventTime": time,
        "run": {"runId": f"00000000-0000-0000-0000-{run:012}"},
        "job": {"namespace": "flights", "name": "settle"},
        "inputs": [table],
        "outputs": [{**table, "facets": change}],
    }
    return project_event(event, Stamp(time, f"{run}{kind}"))


@given(st.randoms(use_true_random=False))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_job_that_overwrites_its_input_is_a_cycle_whose_runs_have_an_order(store: GraphStore, random: object) -> None:
    """Whatever comes late, twice or out of order."""
    batches = [
        overwriting(run, 2 * place + end, kind) for place, run in enumerate((7, 3, 9)) for end, kind in enumerate(("START", "COMPLETE"))
    ]
    batches += batches[:2]
    random.shuffle(batches)  # type: ignore[attr-defined]
    tenant = uuid4().hex
    for batch in batches:
        await store.apply(tenant, [batch])
    found = await reconstruct(store, tenant, SYSTEM)
    assert found.generations == [[job("settle")]]
    (cycle,) = found.cycles
    assert cycle.members == (job("settle"),)
    assert cycle.runs == tuple(f"run:00000000-0000-0000-0000-{run:012}" for run in (7, 3, 9))


async def test_what_is_no_actor_or_not_known_is_refused(store: GraphStore) -> None:
    await store.apply("t", [PIPELINE])
    with pytest.raises(InvalidQueryError, match="is no actor"):
        await reconstruct(store, "t", "dataset:file:out")
    with pytest.raises(NotFoundError):
        await reconstruct(store, "t", "job:flights:nowhere")


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_generations_are_a_topological_order_of_what_is_no_cycle(arcs: set[tuple[int, int]]) -> None:
    names = [f"job:n:{number}" for number in range(10)]
    ordered, cycles = arrange(names, [Link(names[a], names[b], LinkKind.EXPLICIT) for a, b in arcs])
    assert sorted(name for generation in ordered for name in generation) == names
    place = {name: number for number, generation in enumerate(ordered) for name in generation}
    reach = {a: {a} for a in range(10)}
    for _ in range(10):
        for a, b in arcs:
            for known in reach.values():
                if a in known:
                    known.add(b)
    for a, b in arcs:
        together = a in reach[b]
        assert place[names[a]] == place[names[b]] if together else place[names[a]] < place[names[b]]
        assert any({names[a], names[b]} <= set(cycle) for cycle in cycles) == together


def version(run: int, written: int | None, block: str | None, name: str | None = None) -> Node:
    facts = {"writtenAt": f"2026-01-01T00:00:{written:02}Z" if written is not None else None, "block": block}
    facts["facet:version"] = {"datasetVersion": name} if name else None  # type: ignore[assignment]
    return Node(f"version:f:a:{run}", NodeKind.VERSION, str(run), {key: value for key, value in facts.items() if value})


VERSIONS = [version(1, 1, "base"), version(2, 2, "delta"), version(3, 3, "base", "s3"), version(4, 4, "delta"), version(5, None, "base")]


@given(st.permutations(VERSIONS))
def test_a_read_sees_the_last_base_before_it_and_the_deltas_since(versions: list[Node]) -> None:
    def seen(at: int) -> list[str]:
        return [found.rpartition(":")[2] for found in versions_read(versions, began=f"2026-01-01T00:00:{at:02}Z")]

    assert [seen(at) for at in range(6)] == [[], ["1"], ["1", "2"], ["3"], ["3", "4"], ["3", "4"]]
    named = versions_read(versions, began="2026-01-01T00:00:01Z", stated={"datasetVersion": "s3"})
    assert named == ["version:f:a:3"]
    assert versions_read([version(1, 1, None), version(2, 2, None)], began=None) == ["version:f:a:1", "version:f:a:2"]


def actor_event(name: str, type_: str, reads: str | None, writes: str | None, links: Sequence[str] = ()) -> GraphBatch:
    """A run of an actor of the pipeline `p`, as `headwater.capture` reports it."""
    parent = {"run": {"runId": "00000000-0000-0000-0000-000000000009"}, "job": {"namespace": "flights", "name": "p"}}
    facet = {"type": type_, "links": [[job(name), job(other)] for other in links]}
    event = {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:00Z",
        "run": {"runId": str(uuid4()), "facets": {"parent": parent}},
        "job": {"namespace": "flights", "name": name, "facets": {"headwater_actor": facet}},
        "inputs": [{"namespace": "file", "name": reads}] if reads else [],
        "outputs": [{"namespace": "file", "name": writes}] if writes else [],
    }
    return project_event(event, Stamp("2026-01-01T00:00:00.000000Z", name))


async def test_how_actors_of_two_types_stand_to_each_other_is_inferred_for_the_others(store: GraphStore) -> None:
    events = [
        actor_event("m1", "map", "in", "parts/1"), actor_event("m2", "map", "in", None), actor_event("r1", "reduce", "parts/1", "out/1"),
        actor_event("r2", "reduce", None, "out/2"), actor_event("s1", "send", "out/1", None, links=["x1"]),
        actor_event("x1", "odd", None, None),
    ]  # fmt: skip
    await store.apply("t", events)
    found = await reconstruct(store, "t", "pipeline:flights:p")
    assert [link for link in found.links if not link.inferred] == [
        implicit(job("m1"), job("r1"), "dataset:file:parts/1"), implicit(job("r1"), job("s1"), "dataset:file:out/1"),
        Link(job("s1"), job("x1"), LinkKind.EXPLICIT),
    ]  # fmt: skip
    assert {(link.src, link.dst, link.kind, link.via) for link in found.links if link.inferred} == {
        (job(src), job(dst), LinkKind.ARCHETYPE, types)
        for src, dst, types in [
            ("m1", "r2", ("map", "reduce")), ("m2", "r1", ("map", "reduce")), ("m2", "r2", ("map", "reduce")),
            ("r2", "s1", ("reduce", "send")),
        ]
    }  # fmt: skip


async def test_nothing_is_inferred_of_types_that_feed_each_other_or_that_nobody_declared(store: GraphStore) -> None:
    both = [actor_event("a1", "a", "x", "y"), actor_event("b1", "b", "y", "x"), actor_event("a2", "a", None, None)]
    await store.apply("t", both)
    assert not [link for link in (await reconstruct(store, "t", "pipeline:flights:p")).links if link.inferred]
    await store.apply("u", [PIPELINE, INSIDE])  # jobs, which are only of a kind
    assert not [link for link in (await reconstruct(store, "u", SYSTEM)).links if link.inferred]


async def test_a_type_that_says_what_feeds_it_is_no_inference(store: GraphStore) -> None:
    types = [{"name": "map", "axis": "actor"}, {"name": "reduce", "axis": "actor", "after": ["map"]}]
    events = [actor_event("m1", "map", "in", "mid"), actor_event("r1", "reduce", "mid", None), actor_event("m2", "map", None, None)]
    await store.apply("t", [*events, declaration(1, types=types)])
    found = (await reconstruct(store, "t", "pipeline:flights:p")).links
    assert [(link.src, link.dst, link.inferred) for link in found if link.kind is LinkKind.ARCHETYPE] == [
        (job("m1"), job("r1"), False), (job("m2"), job("r1"), False),
    ]  # fmt: skip


async def test_archetypes_without_end_are_refused_or_left_out(store: GraphStore) -> None:
    types = {f"a{number}": "a" for number in range(400)} | {f"b{number}": "b" for number in range(400)}
    with pytest.raises(InvalidQueryError, match="100,000"):
        declared_archetypes(types, {"b": ["a"]})
    assert inferred_archetypes(types, [implicit("a0", "b0")]) == []
    few = dict(list(types.items())[390:410])
    assert len(inferred_archetypes(few, [implicit("a390", "b0")])) == 99
