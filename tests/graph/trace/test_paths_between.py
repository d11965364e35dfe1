"""The datasets that a trace with a target follows: those on a way, however large the rest of the lake is."""

import dataclasses
import random
from pathlib import Path
from uuid import uuid4

import pytest

from headwater.graph.associations import Manifest
from headwater.graph.associations.parts import DatasetName
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Stamp, node_id
from headwater.graph.records import AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace.paths_between import datasets_towards
from headwater.graph.trace.tracer import get_tracer
from tests.graph.jobs import TENANT
from tests.graph.records.conftest import run

Flow = tuple[str, str]


@pytest.fixture
def template(store: AssociationStore, tmp_path: Path) -> Manifest:
    return run(store, tmp_path)


def put(store: AssociationStore, template: Manifest, read: str, written: str) -> None:
    """A capture that made one dataset of another."""
    (source,), sink = template.sources, template.sink
    store.catalog.put(
        TENANT,
        dataclasses.replace(
            template,
            capture=str(uuid4()),
            sources=(dataclasses.replace(source, dataset=DatasetName(namespace="lake", name=read), path=f"s3:/{read}"),),
            sink=dataclasses.replace(sink, dataset=DatasetName(namespace="lake", name=written), path=f"s3:/{written}"),
        ),
        [],
    )


def reached(flows: set[Flow], start: str) -> set[str]:
    found, waiting = {start}, [start]
    while waiting:
        at = waiting.pop()
        waiting += [b for a, b in flows if a == at and b not in found]
        found |= {b for a, b in flows if a == at}
    return found


def named(names: set[str]) -> set[str]:
    return {f"dataset:lake:{name}" for name in names}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("forward", [True, False])
async def test_of_what_is_reached_exactly_that_leads_there_is_followed(
    store: AssociationStore, template: Manifest, graph: SqliteStore, seed: int, *, forward: bool
) -> None:
    """By what captures say and by what the graph alone says, circles too."""
    rnd = random.Random(seed)
    names = [f"d{number}" for number in range(10)]
    captured = {(rnd.choice(names), rnd.choice(names)) for _ in range(rnd.randint(3, 12))}
    stated = {(rnd.choice(names), rnd.choice(names)) for _ in range(rnd.randint(0, 4))}
    for read, written in captured:
        put(store, template, read, written)
    for read, written in stated:
        job = node_id("job", "lake", f"{read}-{written}")
        edges = [
            Edge(node_id("dataset", "lake", read), job, EdgeKind.READS),
            Edge(job, node_id("dataset", "lake", written), EdgeKind.WRITES),
        ]
        await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-01T00:00:00Z", job), (), edges)])
    flows = captured | stated
    if not forward:
        flows = {(b, a) for a, b in flows}
    start, to = rnd.sample(names, 2)
    with get_tracer(store).session(TENANT) as session:
        found = await datasets_towards(session, graph, f"dataset:lake:{start}", f"dataset:lake:{to}", forward=forward)
    leading = {name for name in names if to in reached(flows, name)}
    assert named(reached(flows, start) & leading) | named({to}) <= found <= named(leading)


@pytest.mark.parametrize("forward", [True, False])
async def test_a_large_lake_around_a_small_pipeline_is_not_walked(store: AssociationStore, template: Manifest, *, forward: bool) -> None:
    """The source feeds much else, and the result is one of few things made of it."""
    for step in range(3):
        put(store, template, f"p{step}", f"p{step + 1}")
    for number in range(50):
        put(store, template, "p0" if not forward else f"x{number}", f"x{number}" if not forward else "p3")
        put(store, template, f"x{number}" if not forward else f"y{number}", f"y{number}" if not forward else f"x{number}")
    start, to = ("p0", "p3") if forward else ("p3", "p0")
    with get_tracer(store).session(TENANT) as session:
        found = await datasets_towards(session, None, f"dataset:lake:{start}", f"dataset:lake:{to}", forward=forward)
    assert found == named({"p0", "p1", "p2", "p3"})
