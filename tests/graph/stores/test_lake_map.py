"""The map of a lake, over every store: it equals what all flows together give, however they came in."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from headwater.errors import UnsupportedError
from headwater.graph.access.patterns import Namespaces
from headwater.graph.access.restricted_store import RestrictedStore
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.search import Order, SearchRequest
from headwater.graph.stores import GraphStore
from headwater.graph.stores.rollups import LakeMap, Lens

Reads = list[tuple[str, str, EdgeKind]]


def dataset(namespace: str, name: str) -> str:
    return node_id(NodeKind.DATASET, namespace, name)


def job(name: str, namespace: str = "air") -> str:
    return node_id(NodeKind.JOB, namespace, name)


class Lake:
    """A lake in which flows, tags and pipelines appear one after the other."""

    def __init__(self, store: GraphStore, tenant: str) -> None:
        self._store, self._tenant, self._time = store, tenant, 0
        self.flows: set[tuple[str, str, EdgeKind]] = set()
        self.tags: dict[str, set[str]] = {}
        self.pipelines: dict[str, str] = {}

    async def say(self, *flows: tuple[str, str], tags: dict[str, set[str]] | None = None, pipelines: dict[str, str] | None = None) -> None:
        """State flows, tags of datasets and pipelines of jobs in one batch."""
        self._time += 1
        kinds = [(src, dst, EdgeKind.READS if src.startswith("dataset:") else EdgeKind.WRITES) for src, dst in flows]
        self.flows.update(kinds)
        nodes = [Node(each, NodeKind(each.partition(":")[0]), each.rpartition(":")[2]) for flow in flows for each in flow]
        for each, own in (tags or {}).items():
            self.tags[each] = own
            facet = {"tags": {"tags": [{"key": tag} for tag in sorted(own)]}}
            nodes.append(Node(each, NodeKind.DATASET, each.rpartition(":")[2], facet))
        edges = [Edge(*flow) for flow in kinds]
        for each, pipeline in (pipelines or {}).items():
            self.pipelines[each] = node_id(NodeKind.PIPELINE, "air", pipeline)
            edges.append(Edge(self.pipelines[each], each, EdgeKind.CONTAINS))
            nodes.append(Node(each, NodeKind.JOB, each.rpartition(":")[2], {"lastRun": f"run:{self._time}"}))
        stamp = Stamp(f"2026-01-01T00:{self._time // 60:02}:{self._time % 60:02}.000000Z", str(self._time))
        await self._store.apply(self._tenant, [GraphBatch(stamp, nodes, edges)])

    def groups(self, lens: Lens, node: str) -> set[str]:
        kind, namespace, *_ = node.split(":")
        if lens is Lens.NAMESPACE:
            return {f"platform:{namespace}"} if kind == "dataset" else set()
        if lens is Lens.PIPELINE:
            return {self.pipelines.get(node, f"system:{namespace}")} if kind == "job" else set()
        return {node_id(NodeKind.TAG, tag) for tag in self.tags.get(node, ())}

    def members(self, lens: Lens) -> dict[str, int]:
        nodes = {end for src, dst, _ in self.flows for end in (src, dst)} | self.tags.keys() | self.pipelines.keys()
        return dict(Counter(group for node in nodes for group in self.groups(lens, node)))

    def weights(self, lens: Lens) -> dict[tuple[str, str], int]:
        """Count for each pair of groups the hubs between them, from all flows."""
        hubs: dict[str, tuple[set[str], set[str]]] = {}
        for src, dst, _ in self.flows:
            hubs.setdefault(dst, (set(), set()))[0].update(self.groups(lens, src))
            hubs.setdefault(src, (set(), set()))[1].update(self.groups(lens, dst))
        return dict(Counter((src, dst) for before, after in hubs.values() for src in before for dst in after))


def weights(found: LakeMap) -> dict[tuple[str, str], int]:
    return {(flow.src, flow.dst): flow.weight for flow in found.flows}


def members(found: LakeMap) -> dict[str, int]:
    return {group.id: group.members for group in found.groups}


@pytest.fixture
def lake(store: GraphStore, tenant: str) -> Lake:
    return Lake(store, tenant)


A, B, C = dataset("raw", "a"), dataset("raw", "b"), dataset("mart", "c")


async def test_a_flow_between_groups_counts_its_jobs(store: GraphStore, tenant: str, lake: Lake) -> None:
    await lake.say((A, job("one")), (B, job("one")), (job("one"), C))
    await lake.say((A, job("two")), (job("two"), C), (job("two"), B))
    found = await store.lake_map(tenant, Lens.NAMESPACE)
    assert weights(found) == {("platform:raw", "platform:mart"): 2, ("platform:raw", "platform:raw"): 1}
    assert members(found) == {"platform:raw": 2, "platform:mart": 1}
    assert (found.total, found.members, found.wide) == (2, 3, 0)
    assert [group.node.name for group in found.groups] == ["raw", "mart"]


async def test_a_flow_between_pipelines_counts_its_datasets(store: GraphStore, tenant: str, lake: Lake) -> None:
    await lake.say((job("one"), A), (job("one"), B), (A, job("two")), (B, job("two")), pipelines={job("one"): "load", job("two"): "build"})
    assert weights(await store.lake_map(tenant, Lens.PIPELINE)) == {("pipeline:air:load", "pipeline:air:build"): 2}


async def test_the_same_statement_again_changes_nothing(store: GraphStore, tenant: str, lake: Lake) -> None:
    for _ in range(3):
        await lake.say((A, job("one")), (job("one"), C), tags={A: {"gold"}})
    found = await store.lake_map(tenant, Lens.NAMESPACE)
    assert (weights(found), members(found)) == (lake.weights(Lens.NAMESPACE), lake.members(Lens.NAMESPACE))


async def test_flows_follow_a_dataset_whose_tags_change_and_a_job_that_gets_a_pipeline(store: GraphStore, tenant: str, lake: Lake) -> None:
    await lake.say((A, job("one")), (job("one"), C), tags={A: {"gold"}, C: {"mart"}})
    await lake.say(tags={A: {"silver"}})
    found = await store.lake_map(tenant, Lens.TAG)
    assert weights(found) == {("tag:silver", "tag:mart"): 1}
    assert members(found) == {"tag:mart": 1, "tag:silver": 1}
    await lake.say((job("zero"), A))
    await lake.say(pipelines={job("one"): "build"})
    found = await store.lake_map(tenant, Lens.PIPELINE)
    assert weights(found) == {("system:air", "pipeline:air:build"): 1}


def random_steps(seed: int) -> Iterator[dict[str, object]]:
    dice = random.Random(seed)
    datasets = [dataset(f"ns{number % 3}", f"d{number}") for number in range(9)]
    jobs = [job(f"j{number}", f"air{number % 2}") for number in range(6)]
    for _ in range(25):
        flows = []
        for _ in range(dice.randrange(4)):
            ends = dice.choice(datasets), dice.choice(jobs)
            flows.append(ends if dice.random() < 0.5 else ends[::-1])
        tags = {dice.choice(datasets): set(dice.sample(["x", "y", "z"], dice.randrange(3)))} if dice.random() < 0.4 else {}
        yield {"flows": flows, "tags": tags, "pipelines": {dice.choice(jobs): "p"} if dice.random() < 0.15 else {}}


@pytest.mark.parametrize("seed", range(3))
async def test_the_map_equals_all_flows_together(store: GraphStore, tenant: str, lake: Lake, seed: int) -> None:
    for step in random_steps(seed):
        await lake.say(*step["flows"], tags=step["tags"], pipelines=step["pipelines"])  # type: ignore[misc, arg-type]
    for lens in (Lens.NAMESPACE, Lens.PIPELINE, Lens.TAG):
        found = await store.lake_map(tenant, lens)
        assert (weights(found), members(found)) == (lake.weights(lens), lake.members(lens)), lens


async def test_groups_beyond_the_first_are_the_rest(store: GraphStore, tenant: str, lake: Lake) -> None:
    for number in range(5):
        await lake.say((A, job("one")), (job("one"), dataset(f"ns{number}", "d")), (B, job("one")))
        await lake.say((dataset(f"ns{number}", "d"), job(f"back{number}")), (job(f"back{number}"), A))
    found = await store.lake_map(tenant, Lens.NAMESPACE, first=1, include=["platform:ns3"])
    assert members(found) == {"platform:raw": 2, "platform:ns3": 1}
    assert (found.total, found.members) == (6, 7)
    assert (found.to_rest, found.from_rest) == ({"platform:raw": 4}, {"platform:raw": 4})
    assert weights(found) == {("platform:raw", "platform:ns3"): 1, ("platform:ns3", "platform:raw"): 1}


async def test_members_lead_to_each_other_and_to_the_others_of_a_group(store: GraphStore, tenant: str, lake: Lake) -> None:
    await lake.say((A, job("one")), (job("one"), C), (job("one"), dataset("mart", "d")), (B, job("two")), (job("two"), C))
    flows = await store.member_flows(tenant, Lens.NAMESPACE, [A, B])
    assert flows.is_whole
    assert {(flow.src, flow.dst): flow.weight for flow in flows.flows} == {(A, "platform:mart"): 1, (B, "platform:mart"): 1}
    flows = await store.member_flows(tenant, Lens.NAMESPACE, [A, C])
    assert {(flow.src, flow.dst): flow.weight for flow in flows.flows} == {
        (A, C): 1, (A, "platform:mart"): 1, ("platform:raw", C): 1,
    }  # fmt: skip
    flows = await store.member_flows(tenant, Lens.NAMESPACE, [A, B, C, dataset("mart", "d")])
    assert {(flow.src, flow.dst) for flow in flows.flows} == {(A, C), (A, dataset("mart", "d")), (B, C)}


async def test_members_of_a_pipeline_lead_to_each_other(store: GraphStore, tenant: str, lake: Lake) -> None:
    await lake.say((job("one"), A), (A, job("two")), (A, job("three")), pipelines={job("one"): "p", job("two"): "p"})
    flows = await store.member_flows(tenant, Lens.PIPELINE, [job("one"), job("two")])
    assert {(flow.src, flow.dst): flow.weight for flow in flows.flows} == {(job("one"), job("two")): 1, (job("one"), "system:air"): 1}


async def test_the_heaviest_datasets_of_a_namespace_come_first(store: GraphStore, tenant: str, lake: Lake) -> None:
    await lake.say((A, job("one")), (B, job("one")), (B, job("two")), (job("one"), dataset("raw", "d")), (B, job("three")))
    await lake.say((dataset("raw", "d"), job("two")), (A, job("one")))
    asked = SearchRequest(kinds=(NodeKind.DATASET,), namespaces=("raw",), order=Order.WEIGHT)
    first = await store.find(tenant, asked, first=2)
    rest = await store.find(tenant, asked, first=2, after=first.cursor)
    assert [hit.node.id for hit in (*first.hits, *rest.hits)] == [B, dataset("raw", "d"), A]
    assert first.total == 3


async def test_a_hub_of_very_many_groups_is_counted_and_not_drawn(store: GraphStore, tenant: str, lake: Lake) -> None:
    await lake.say(*((dataset(f"in{number}", "d"), job("wide")) for number in range(70)))
    await lake.say(*((job("wide"), dataset(f"out{number}", "d")) for number in range(70)))
    await lake.say((A, job("one")), (job("one"), C))
    found = await store.lake_map(tenant, Lens.NAMESPACE)
    assert found.wide == 1
    assert weights(found) == {("platform:raw", "platform:mart"): 1}


async def test_a_restricted_caller_sees_flows_between_his_namespaces_through_his_jobs(store: GraphStore, tenant: str, lake: Lake) -> None:
    hidden = dataset("secret", "s")
    await lake.say((A, job("one")), (job("one"), C), (job("one"), hidden), (A, job("two", "dark")), (job("two", "dark"), C))
    for namespace, one in (("raw", A), ("raw", B), ("mart", C), ("secret", hidden)):
        platform = Edge(node_id(NodeKind.PLATFORM, namespace), one, EdgeKind.CONTAINS)
        await store.apply(tenant, [GraphBatch(Stamp("", ""), [], [platform, Edge("system:air", job("one"), EdgeKind.CONTAINS)])])
    restricted = RestrictedStore(store, tenant, [Namespaces(("raw", "mart", "air"))])
    found = await restricted.lake_map(tenant, Lens.NAMESPACE, first=1, include=["platform:mart", "platform:secret"])
    assert weights(found) == {("platform:raw", "platform:mart"): 1}
    assert (found.total, found.members, found.to_rest, found.from_rest) == (2, 3, {}, {})
    flows = await restricted.member_flows(tenant, Lens.NAMESPACE, [A, hidden])
    assert {(flow.src, flow.dst): flow.weight for flow in flows.flows} == {(A, "platform:mart"): 1}
    with pytest.raises(UnsupportedError):
        await restricted.lake_map(tenant, Lens.OWNER)


async def test_the_map_of_a_dropped_lake_is_empty(store: GraphStore, tenant: str, lake: Lake) -> None:
    await lake.say((A, job("one")), (job("one"), C), tags={A: {"gold"}})
    await store.drop(tenant)
    found = await store.lake_map(tenant, Lens.NAMESPACE)
    assert (found.groups, found.flows, found.total) == ([], [], 0)
    await lake.say((A, job("one")), (job("one"), C))
    assert weights(await store.lake_map(tenant, Lens.NAMESPACE)) == {("platform:raw", "platform:mart"): 1}
