"""The flows between datasets, columns and jobs, in memory: what the rules of a policy are checked against.

Flows that their job has given up are not part of it, except if the past is asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind, bare_name, node_id, parse_id
from headwater.graph.model.descriptions import descriptions_of
from headwater.graph.policies.arrivals import NO_ARRIVALS, Arrivals, Derivation
from headwater.graph.policies.selector import dataset_of, described_of
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.stores.write_times import UNDONE_AT, WRITTEN_AT, with_ends
from headwater.graph.views.fields import Way, operations_of
from headwater.graph.views.protection import names_above
from headwater.graph.views.times import Flow, run_of, time_of

_NODES = {f"{kind}": kind for kind in (NodeKind.DATASET, NodeKind.JOB, NodeKind.COLUMN)}
_CONTAINERS = {NodeKind.PLATFORM, NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.DATA, NodeKind.ACTOR}
_KINDS = {*_NODES.values(), *_CONTAINERS, NodeKind.RUN, NodeKind.VERSION}  # all that flows depend on
_RUN, _VERSION = f"{NodeKind.RUN}:", f"{NodeKind.VERSION}:"
_UNFINISHED = ("START", "RUNNING", "FAIL", "ABORT")
_VERSIONS = 20  # the last versions of a dataset, of which some may be of failed runs
_FLOWS = (EdgeKind.READS, EdgeKind.WRITES)
FAR = 10_000  # hops, more than any path has
MOST_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Step:
    """A flow from one node to the next. `job` makes it, and `node` is None if the job writes nothing.

    A step from a column is not `certain` if the job does not state its columns.
    """

    job: str | None
    node: str | None
    since: str = ""
    way: Way = Way.DIRECT
    certain: bool = True


@dataclass(slots=True)
class FlowGraph:
    """The flows of a graph. Reads and writes have the time of their first statement."""

    nodes: dict[str, Node] = field(default_factory=dict)
    containers: dict[str, list[str]] = field(default_factory=dict)
    readers: dict[str, dict[str, str]] = field(default_factory=dict)  # dataset → job → time
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)  # job → dataset → time
    derived: dict[str, list[Step]] = field(default_factory=dict)  # column → steps
    explained: set[tuple[str, str]] = field(default_factory=set)  # (job, dataset), if the job states the origin of its columns
    users: dict[str, dict[str, str]] = field(default_factory=dict)  # column → job that reads it → time
    known_users: set[tuple[str, str]] = field(default_factory=set)  # (job, dataset), if the job states which columns it reads
    checks: dict[str, set[str]] = field(default_factory=dict)  # dataset or column → names of its quality checks
    written: dict[str, str] = field(default_factory=dict)  # dataset → time of the last write
    columns: dict[str, list[str]] = field(default_factory=dict)  # dataset → its columns
    related: dict[str, list[str]] = field(default_factory=dict)  # column → the columns with its name in another case, around it and in it

    def steps(self, identifier: str, ways: Way) -> Iterator[Step]:
        """Yield the flows out of a node, as far as values flow in one of the ways up to `ways`.

        Flows out of a dataset are only those of jobs that do not state which columns they use. The other flows lead out of its columns.
        """
        match _NODES.get(identifier.partition(":")[0]):
            case NodeKind.DATASET:
                for job, since in self.readers.get(identifier, {}).items():
                    yield Step(job, None, since)
                    yield from self._unexplained(job, since, certain=True)
            case NodeKind.JOB:
                yield from (Step(None, output, since) for output, since in self.outputs.get(identifier, {}).items())
            case NodeKind.COLUMN:
                yield from self._steps_of_column(identifier, ways)

    def _steps_of_column(self, column: str, ways: Way) -> Iterator[Step]:
        yield from (step for step in self.derived_of(column) if step.way <= ways)
        users, dataset = self.users.get(column, {}), dataset_of(column)
        yield from (Step(job, None, since) for job, since in users.items())
        for other in self.related.get(column, ()):
            yield from (Step(job, None, since, certain=False) for job, since in self.users.get(other, {}).items())
        for job, since in self.readers.get(dataset, {}).items():
            if job not in users and (job, dataset) not in self.known_users:
                yield Step(job, None, since, certain=False)
            yield from self._unexplained(job, since, certain=False)

    def derived_of(self, column: str) -> Iterator[Step]:
        """Yield the stated steps out of a column. Steps out of columns that may hold the same values are not certain."""
        yield from self.derived.get(column, ())
        for other in self.related.get(column, ()):
            yield from (replace(step, certain=False) for step in self.derived.get(other, ()))

    def _unexplained(self, job: str, since: str, *, certain: bool) -> Iterator[Step]:
        for output, written in self.outputs.get(job, {}).items():
            if (job, output) not in self.explained:
                yield Step(job, output, max(since, written), certain=certain)

    def digest(self) -> bytes:
        """Return a hash of the flows, and of the names and descriptions of the nodes. Times do not count."""
        flows = [{src: sorted(ends) for src, ends in each.items()} for each in (self.readers, self.outputs, self.users, self.checks)]
        derived = {src: sorted((step.job or "", step.node or "", step.way.value) for step in steps) for src, steps in self.derived.items()}
        facts = {
            node.id: [described_of(node), bool(descriptions_of(node).description), sorted(self.containers_of(node.id))]
            for node in self.nodes.values()
        }
        return hashlib.sha256(json.dumps([*flows, derived, facts, sorted(self.known_users)], sort_keys=True).encode()).digest()

    def containers_of(self, identifier: str) -> list[str]:
        """Return the containers of a node, nearest first. The first container of a column is its dataset."""
        found: list[str] = []
        waiting = [identifier]
        if (dataset := dataset_of(identifier)) != identifier:
            found, waiting = [dataset], [dataset]
        while waiting:
            for container in self.containers.get(waiting.pop(), ()):
                if container not in found:
                    found.append(container)
                    waiting.append(container)
        return found


async def read_flow_graph(graph: GraphStore, tenant: str, *, with_past: bool = False) -> FlowGraph:
    """Read the flows of a whole graph, in one pass. `with_past` includes flows that their job has given up."""
    return (await read_all_flows(graph, tenant, with_past=with_past)).build()


async def read_all_flows(graph: GraphStore, tenant: str, *, with_past: bool = False) -> FlowGraphBuilder:
    """Read the flows of a whole graph, as `read_flow_graph` does."""
    builder = FlowGraphBuilder(with_past=with_past)
    async for portion in graph.dump(tenant, kinds=_KINDS):
        for identifier, name, properties, _ in portion.nodes:
            if identifier.startswith((_RUN, _VERSION)):
                builder.add_history(identifier, json.loads(properties or "{}"))
            if (kind := _NODES.get(identifier.partition(":")[0])) is not None:
                builder.add_node(Node(identifier, kind, name, json.loads(properties or "{}")))
        for src, dst, kind_name, properties, _, first, last in portion.edges:
            kind_of_edge = EdgeKind(kind_name)
            needs_properties = kind_of_edge is EdgeKind.DERIVES
            known = json.loads(properties or "{}") if needs_properties else {}
            builder.add_edge(Edge(src, dst, kind_of_edge, known, {}, first, last))
    return builder


async def read_flows_around(
    graph: GraphStore, tenant: str, focus: Sequence[str], *, depth: int = FAR, limit: int = MOST_NODES,
    direction: Direction = Direction.BOTH, with_past: bool = False,
) -> tuple[FlowGraphBuilder, bool]:  # fmt: skip
    """Read the flows upstream and downstream of some jobs or datasets, and whether that is all of them.

    At most `limit` datasets and jobs are read.
    """
    reached = await graph.reach(tenant, focus, direction=direction, kinds=[*_FLOWS], depth=depth, limit=limit)
    builder = FlowGraphBuilder(with_past=with_past)
    ids = [node.id for node in reached.nodes]
    datasets = [identifier for identifier in ids if identifier.startswith(f"{NodeKind.DATASET}:")]
    actors = [identifier for identifier in ids if identifier.startswith(f"{NodeKind.JOB}:")]
    inside = await graph.neighbours(tenant, datasets, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CONTAINS])
    columns = sorted({edge.dst for edge in inside if edge.dst.startswith(f"{NodeKind.COLUMN}:")})
    edges = await graph.neighbours(tenant, actors, direction=Direction.BOTH, kinds=[*_FLOWS])
    edges += await graph.neighbours(tenant, columns, direction=Direction.BOTH, kinds=[EdgeKind.DERIVES, EdgeKind.ACCESSES])
    edges += await graph.neighbours(tenant, datasets, direction=Direction.UPSTREAM, kinds=[EdgeKind.DERIVES])
    edges += await graph.neighbours(tenant, [*datasets, *columns], direction=Direction.UPSTREAM, kinds=[EdgeKind.DESCRIBES])
    for node in [*reached.nodes, *await graph.get(tenant, columns)]:
        builder.add_node(node)
    for edge in {(edge.src, edge.dst, edge.kind): edge for edge in edges}.values():
        builder.add_edge(edge)
    runs = {f"{_RUN}{run_of(stated)}" for edge in edges for stated in (edge.first, edge.last) if run_of(stated)}
    for run in await graph.get(tenant, sorted(runs)):
        builder.add_history(run.id, run.properties)
    versions = await graph.latest_at(tenant, [(dataset, None) for dataset in datasets], NodeKind.VERSION, first=_VERSIONS)
    for version in await with_ends(graph, tenant, [each for found in versions.values() for each in found]):
        builder.add_history(version.id, version.properties)
    for child, above in (await graph.ancestors(tenant, [*datasets, *actors])).items():
        for container in above:
            builder.add_edge(Edge(container.id, child, EdgeKind.CONTAINS))
    return builder, not reached.truncated


class FlowGraphBuilder:
    """Collects nodes and edges in any order."""

    def __init__(self, *, with_past: bool = False) -> None:
        self._with_past = with_past
        self._made = FlowGraph()
        self._flows: list[Flow] = []
        self._accesses: list[Flow] = []
        self._derivations: list[Edge] = []
        self._unfinished: set[str] = set()  # runs that failed, were aborted, or have not ended

    def add_node(self, node: Node) -> None:
        self._made.nodes[node.id] = node

    def add_history(self, identifier: str, properties: Mapping[str, Any]) -> None:
        """Add a run or a version. Runs that did not complete end no flow, and write no version."""
        if identifier.startswith(_RUN):
            if properties.get("state") in _UNFINISHED:
                self._unfinished.add(identifier.removeprefix(_RUN))
        elif isinstance(at := properties.get(WRITTEN_AT), str) and UNDONE_AT not in properties:
            dataset = node_id(NodeKind.DATASET, *parse_id(identifier)[1][:2])
            self._made.written[dataset] = max(self._made.written.get(dataset, ""), at)

    def add_edge(self, edge: Edge) -> None:
        src, dst = (end.partition(":")[0] for end in (edge.src, edge.dst))
        if edge.kind in _FLOWS and {src, dst} == {NodeKind.DATASET, NodeKind.JOB}:
            self._flows.append(Flow(edge.src, edge.dst, edge.kind, edge.first, edge.last))
        elif edge.kind is EdgeKind.ACCESSES:
            self._accesses.append(Flow(edge.src, edge.dst, edge.kind, edge.first, edge.last))
        elif edge.kind is EdgeKind.DERIVES:
            self._derivations.append(edge)
        elif edge.kind is EdgeKind.CONTAINS and src in _CONTAINERS:
            self._made.containers.setdefault(edge.dst, []).append(edge.src)
        elif edge.kind is EdgeKind.DESCRIBES and src == NodeKind.CHECK:
            self._made.checks.setdefault(edge.dst, set()).add(bare_name(edge.src))

    def build(self, arrivals: Arrivals = NO_ARRIVALS, offsets: Collection[int] = ()) -> FlowGraph:
        """Return the flows that count now, or the flows that counted after one of the log entries at some `offsets`."""
        known = self._made
        made = FlowGraph(nodes=known.nodes, containers=known.containers, checks=known.checks, written=known.written)
        flows = self._current(self._flows, arrivals, offsets)
        given_up = {(flow.src, flow.dst) for flow in self._flows}.difference((flow.src, flow.dst) for flow in flows)
        for flow in flows:
            since = time_of(flow.first)
            if flow.kind is EdgeKind.READS:
                made.readers.setdefault(flow.src, {})[flow.dst] = since
            else:
                made.outputs.setdefault(flow.src, {})[flow.dst] = since
        current = {(flow.src, flow.dst): time_of(flow.first) for flow in self._current(self._accesses, arrivals, offsets)}
        latest = partial(arrivals.latest, offset=max(offsets, default=None), unfinished=self._unfinished)
        stated, explained = latest(self._flows), latest(self._accesses)
        # Jobs whose last run stated datasets without columns: what it did with columns is not known.
        silent = {job for (job, leaves), last in stated.items() if leaves and run_of(explained.get((job, True), last)) != run_of(last)}
        given_up |= {(flow.src, flow.dst) for flow in self._accesses} - current.keys()
        for (src, dst), since in current.items():
            if dst.startswith(f"{NodeKind.JOB}:") and (dataset_of(src), dst) not in given_up:
                made.users.setdefault(src, {})[dst] = since
                made.known_users.add((dst, dataset_of(src)))
        stronger: dict[Derivation, Way] = {}
        for offset in offsets:
            for derivation, way in arrivals.stronger_ways(offset).items():
                stronger[derivation] = min(way, stronger.get(derivation, way))
        for edge in self._derivations:
            _derive(made, edge, given_up, silent, stronger)
        ends = {end for flow in [*self._flows, *self._accesses] for end in (flow.src, flow.dst)}
        ends.update(end for edge in self._derivations for end in (edge.src, edge.dst))
        for identifier in ends:
            if identifier not in made.nodes:
                made.nodes[identifier] = Node(identifier, _NODES[identifier.partition(":")[0]], bare_name(identifier))
        _list_columns(made)
        return made

    def former_states(self, arrivals: Arrivals, offsets: Sequence[int]) -> list[int]:
        """Return those of some log entries after which flows counted that do not count now: the first entry of each state."""
        sides: dict[tuple[str, bool, bool], list[Flow]] = {}
        for flow in [*self._flows, *self._accesses]:
            sides.setdefault(_side(flow), []).append(flow)
        changed: list[tuple[list[Flow], set[Flow]]] = []
        for flows in sides.values():
            if any(arrivals.of(statement) for flow in flows for statement in (flow.first, flow.last)):
                now = self._current(flows)
                if len(now) < len(flows):
                    changed.append((flows, set(now)))
        derivations = {(edge.src, edge.dst) for edge in self._derivations}
        found, before = [], None
        for offset in offsets:
            state = [set(self._current(flows, arrivals, (offset,))) for flows, _ in changed]
            stronger = {key: way for key, way in arrivals.stronger_ways(offset).items() if key[:2] in derivations}
            has_more = bool(stronger) or any(then - now for then, (_, now) in zip(state, changed, strict=True))
            if has_more and (state, stronger) != before:
                found.append(offset)
            before = state, stronger
        return found

    def ended_flow(self, path: Sequence[str]) -> tuple[str, str] | None:
        """Find a flow of a path that was given up. Returns the run with its last statement, and the run that gave it up."""
        pairs = {pair for src, dst in pairwise(path) for pair in ((src, dst), (dataset_of(src), dataset_of(dst)))}
        for flows in (self._flows, self._accesses):
            latest = NO_ARRIVALS.latest(flows, None, self._unfinished)
            for flow in set(flows).difference(self._current(flows)):
                if (flow.src, flow.dst) in pairs:
                    return run_of(flow.last), run_of(latest.get(flow.side, ""))
        return None

    def _current(self, flows: list[Flow], arrivals: Arrivals = NO_ARRIVALS, offsets: Collection[int] = ()) -> list[Flow]:
        if self._with_past:
            return flows
        states = [arrivals.current(flows, offset, self._unfinished) for offset in offsets or (None,)]
        return [flow for flow, *counts in zip(flows, *states, strict=True) if any(counts)]


def _side(flow: Flow) -> tuple[str, bool, bool]:
    return (*flow.side, flow.kind is EdgeKind.ACCESSES)


def _list_columns(made: FlowGraph) -> None:
    for identifier, node in made.nodes.items():
        if node.kind is NodeKind.COLUMN:
            made.columns.setdefault(dataset_of(identifier), []).append(identifier)
    for columns in made.columns.values():
        made.related |= _related(columns)


def ways_of(edge: Edge) -> dict[str | None, Way]:
    """Return the strongest way of a derivation by the job that states it."""
    ways: dict[str | None, Way] = {}
    for operation in operations_of(edge):
        way = Way.INDIRECT if operation.type == "INDIRECT" else Way.MASKED if operation.masking else Way.DIRECT
        ways[operation.job] = min(way, ways.get(operation.job, way))
    return ways


def _derive(made: FlowGraph, edge: Edge, given_up: set[tuple[str, str]], silent: set[str], stronger: Mapping[Derivation, Way]) -> None:
    for job, present in ways_of(edge).items():
        way = min(present, stronger.get((edge.src, edge.dst, job), present)) if job is not None else present
        if job is not None and not given_up.isdisjoint(_accesses(edge, job)):
            continue
        made.derived.setdefault(edge.src, []).append(Step(job, edge.dst, time_of(edge.first), way))
        if job is not None and job not in silent:
            made.explained.add((job, dataset_of(edge.dst)))


def _related(columns: Sequence[str]) -> dict[str, list[str]]:
    """Return for columns of one dataset those that may hold the same values: the name in another case, a container, or a field."""
    names = {column: names_above(bare_name(column)) for column in columns}
    called: dict[str, list[str]] = {}
    for column, above in names.items():
        called.setdefault(above[-1], []).append(column)
    found: dict[str, list[str]] = {}
    for column, above in names.items():
        for other in (each for name in above for each in called.get(name, ()) if each != column):
            found.setdefault(column, []).append(other)
            if names[other] != above:  # the other way round, a name in another case finds itself
                found.setdefault(other, []).append(column)
    return found


def _accesses(edge: Edge, job: str) -> set[tuple[str, str]]:
    """Return the flows that a job needs for a derivation: of both columns, and of their datasets."""
    return {(edge.src, job), (job, edge.dst), (dataset_of(edge.src), job), (job, dataset_of(edge.dst))}
