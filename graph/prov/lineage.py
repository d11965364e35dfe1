"""Runs and what they read and wrote, as PROV. The mapping, concept by concept, is in docs/guide/prov.md.

A run is an activity; its job is the plan that its application (or system) followed; versions and partitions are collections.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from headwater.graph.model import EdgeKind, Node, NodeKind, bare_name, kind_of, node_id, parse_id
from headwater.graph.prov.reader import GraphReader
from headwater.graph.prov.statements import Statements
from headwater.graph.prov.terms import instant
from headwater.graph.stores.protocol import Subgraph

_INPUT = "input:"


@dataclass(slots=True)
class Flows:
    """Which versions and partitions the runs of a subgraph read and wrote, and what contains them. Lists are in the order of ids."""

    runs: Mapping[str, Node]
    nodes: Mapping[str, Node]
    containers: Mapping[str, Sequence[Node]]
    reads: dict[str, list[str]] = field(default_factory=dict)
    writes: dict[str, list[str]] = field(default_factory=dict)
    writer: dict[str, str] = field(default_factory=dict)

    @classmethod
    async def of(cls, graph: GraphReader, tenant: str, subgraph: Subgraph) -> Flows:
        """The flows of a subgraph that was reached over `reads` and `writes` from versions or runs.

        The runs that wrote what is read here belong to them, so that one run can be said to inform the other.
        """
        nodes = {node.id: node for node in subgraph.nodes}
        writers = {_writer_of(node.id) for node in nodes.values() if node.kind is NodeKind.VERSION} - nodes.keys()
        nodes |= {node.id: node for node in await graph.get(tenant, sorted(writers))}
        runs = {identifier: node for identifier, node in sorted(nodes.items()) if node.kind is NodeKind.RUN}
        held = [identifier for identifier, node in sorted(nodes.items()) if node.kind in (NodeKind.RUN, NodeKind.PARTITION)]
        flows = cls(runs, nodes, await graph.ancestors(tenant, held))
        for edge in sorted(subgraph.edges, key=lambda edge: (edge.src, edge.dst)):
            if edge.kind is EdgeKind.READS and edge.dst in runs:
                flows.reads.setdefault(edge.dst, []).append(edge.src)
            elif edge.kind is EdgeKind.WRITES and edge.src in runs:
                flows.writes.setdefault(edge.src, []).append(edge.dst)
                flows.writer.setdefault(edge.dst, edge.src)
        return flows


def describe_flows(statements: Statements, flows: Flows) -> None:
    """Say everything that is known of the runs of `flows`."""
    for run in flows.runs.values():
        _describe_run(statements, run, flows.containers.get(run.id, ()))
    for run in flows.runs.values():
        _describe_flow(statements, run, flows)


def describe_dataset(statements: Statements, dataset: str) -> None:
    """A dataset, as the general entity of which its versions are the specialisations."""
    namespace, name = parse_id(dataset)[1]
    statements.entity(dataset, "Dataset", name, {"namespace": namespace, "name": name}, types=["Collection"])


def describe_version(statements: Statements, version: Node) -> None:
    """The block that one run wrote."""
    dataset = _dataset_of(version.id)
    describe_dataset(statements, dataset)
    properties = {key: version.properties.get(key) for key in ("block", "path", "format", "files", "rows", "bytes")}
    statements.entity(version.id, "Version", parse_id(version.id)[1][1], _scalars(properties), types=["Collection"])
    statements.specializes(version.id, dataset)


def describe_partition(statements: Statements, partition: Node, containers: Iterable[Node]) -> None:
    """A file as it was at one time, as a member of the version that it was written with, else of the dataset that it was read as."""
    properties = {key: partition.properties.get(key) for key in ("path", "length", "modified", "rows")}
    statements.entity(partition.id, "Partition", partition.name, _scalars(properties), types=["Collection"])
    versions = [container for container in containers if container.kind is NodeKind.VERSION]
    for version in versions:
        describe_version(statements, version)
        statements.member(version.id, partition.id)
    written = {_dataset_of(version.id) for version in versions}
    for dataset in [container.id for container in containers if container.kind is NodeKind.DATASET and container.id not in written]:
        describe_dataset(statements, dataset)
        statements.member(dataset, partition.id)


def _describe_run(statements: Statements, run: Node, containers: Sequence[Node]) -> None:
    started, ended = instant(run.properties.get("startedAt")), instant(run.properties.get("endedAt"))
    job = next((node for node in containers if node.kind is NodeKind.JOB), None)
    label = f"Run of {job.name}" if job else run.name
    statements.activity(run.id, "Run", label, started, ended, _scalars({"state": run.properties.get("state")}))
    actors = [node for node in containers if node.kind in (NodeKind.PIPELINE, NodeKind.SYSTEM)]
    if job is not None:
        statements.entity(job.id, "Job", job.name, types=["Plan"])
    for actor in actors:
        statements.agent(actor.id, actor.kind.value.capitalize(), actor.name)
    if actors:
        statements.associated(run.id, actors[0].id, job.id if job else None)
    for delegate, responsible in pairwise(actors):
        statements.on_behalf_of(delegate.id, responsible.id)


def _describe_flow(statements: Statements, run: Node, flows: Flows) -> None:
    ended = instant(run.properties.get("endedAt"))
    written = flows.writes.get(run.id, [])
    for output in written:
        _describe_block(statements, output, flows)
        statements.generated(output, run.id, ended)
    sources = _describe_inputs(statements, run, flows)
    for source in sources:
        statements.used(run.id, source)
        writer = flows.writer.get(source) or (_writer_of(source) if kind_of(source) is NodeKind.VERSION else None)
        if writer is not None and writer in flows.runs:
            statements.informed(run.id, writer, "implicit")
    for output in (block for block in written if kind_of(block) is NodeKind.VERSION):
        for source in sources:
            if kind_of(source) is not NodeKind.PARTITION and source not in written:
                statements.derived(output, source, run.id)


def _describe_inputs(statements: Statements, run: Node, flows: Flows) -> list[str]:
    """What the run used: versions and partitions, and the dataset as such where no version of it is known."""
    sources = flows.reads.get(run.id, [])
    for source in sources:
        _describe_block(statements, source, flows)
    whole = unversioned_inputs(flows, run.id)
    for dataset in whole:
        describe_dataset(statements, dataset)
    return [*sources, *whole]


def unversioned_inputs(flows: Flows, run: str) -> list[str]:
    """Datasets that a run read and of which it is not known which version; in the order of their ids."""
    sources = flows.reads.get(run, [])
    versioned = {_dataset_of(source) for source in sources if kind_of(source) is NodeKind.VERSION}
    named = {key.removeprefix(_INPUT) for key in flows.runs[run].properties if key.startswith(_INPUT)}
    return sorted(named - versioned)


def _describe_block(statements: Statements, identifier: str, flows: Flows) -> None:
    kind = kind_of(identifier)
    node = flows.nodes.get(identifier) or Node(identifier, kind, bare_name(identifier))
    if kind is NodeKind.VERSION:
        describe_version(statements, node)
    else:
        describe_partition(statements, node, flows.containers.get(identifier, ()))


def _writer_of(version: str) -> str:
    return node_id(NodeKind.RUN, parse_id(version)[1][-1])


def _dataset_of(version: str) -> str:
    namespace, name, _ = parse_id(version)[1]
    return node_id(NodeKind.DATASET, namespace, name)


def _scalars(properties: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in properties.items() if isinstance(value, str | int | float | bool)}
