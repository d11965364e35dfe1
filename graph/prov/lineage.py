"""Runs and what they read and wrote, as PROV. The mapping, concept by concept, is in docs/guide/prov.md.

A run is an activity; its job is the plan that its application (or system) followed; versions and partitions are collections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from headwater.graph.dataflow.versions import versions_read
from headwater.graph.model import EdgeKind, Node, NodeKind, kind_of, node_id, parse_id
from headwater.graph.prov.describe import (
    dataset_of,
    describe,
    describe_dataset,
    describe_partition,
    describe_version,
    node_or_bare,
    remember_imported,
    scalars,
)
from headwater.graph.prov.reader import GraphReader
from headwater.graph.prov.statements import Statements
from headwater.graph.prov.terms import instant
from headwater.graph.stores.containment import children
from headwater.graph.stores.protocol import Subgraph
from headwater.graph.stores.write_times import with_ends

_INPUT = "input:"
_PATH_FORMATS = frozenset({"avro", "csv", "json", "orc", "parquet", "text"})  # where what is overwritten is gone


@dataclass(slots=True)
class Flows:
    """The versions and partitions that the runs of a subgraph read and wrote, and their containers. Lists are in the order of ids.

    `inferred` has, for each run and each input that is known as a dataset only, the versions that existed when the run began.
    """

    runs: Mapping[str, Node]
    nodes: Mapping[str, Node]
    containers: Mapping[str, Sequence[Node]]
    reads: dict[str, list[str]] = field(default_factory=dict)
    writes: dict[str, list[str]] = field(default_factory=dict)
    writer: dict[str, str] = field(default_factory=dict)
    replays: list[tuple[str, str]] = field(default_factory=list)
    inferred: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    datasets: Sequence[Node] = ()

    @classmethod
    async def of(cls, graph: GraphReader, tenant: str, subgraph: Subgraph) -> Flows:
        """Return the flows of a subgraph that was reached over `reads` and `writes` from versions or runs.

        The writers of the inputs are included, so that an export can state that one run informed another.
        """
        nodes = {node.id: node for node in subgraph.nodes}
        writers = {writer_of(node.id) for node in nodes.values() if node.kind is NodeKind.VERSION} - nodes.keys()
        nodes |= {node.id: node for node in await graph.get(tenant, sorted(writers))}
        runs = {identifier: node for identifier, node in sorted(nodes.items()) if node.kind is NodeKind.RUN}
        containers = [identifier for identifier, node in sorted(nodes.items()) if node.kind in (NodeKind.RUN, NodeKind.PARTITION)]
        flows = cls(runs, nodes, await graph.ancestors(tenant, containers))
        for edge in sorted(subgraph.edges, key=lambda edge: (edge.src, edge.dst)):
            if edge.kind is EdgeKind.READS and edge.dst in runs:
                flows.reads.setdefault(edge.dst, []).append(edge.src)
            elif edge.kind is EdgeKind.WRITES and edge.src in runs:
                flows.writes.setdefault(edge.src, []).append(edge.dst)
                flows.writer.setdefault(edge.dst, edge.src)
            elif edge.kind is EdgeKind.REPLAYS:
                flows.replays.append((edge.src, edge.dst))
        await flows._infer(graph, tenant)
        named = {dataset_of(identifier) for identifier in flows.nodes if kind_of(identifier) is NodeKind.VERSION}
        named.update(dataset for run in runs for dataset in unversioned_inputs(flows, run))
        flows.datasets = await graph.get(tenant, sorted(named))
        return flows

    async def _infer(self, graph: GraphReader, tenant: str) -> None:
        """Find the versions of inputs that are stated as datasets, as a view of runs does."""
        inputs = {run: unversioned_inputs(self, run) for run in self.runs}
        versions: dict[str, list[Node]] = {}
        for dataset in sorted({dataset for datasets in inputs.values() for dataset in datasets}):
            versions[dataset] = await with_ends(graph, tenant, await children(graph, tenant, dataset, [NodeKind.VERSION]))
        known = dict(self.nodes)
        for run, datasets in inputs.items():
            for dataset in datasets:
                others = [version for version in versions[dataset] if writer_of(version.id) != run]
                facts = self.runs[run].properties
                began, stated = facts.get("startedAt") or facts.get("endedAt"), facts[f"{_INPUT}{dataset}"]
                found = versions_read(others, began=began, stated=stated.get("version") if isinstance(stated, Mapping) else None)
                if found:
                    self.inferred.setdefault(run, {})[dataset] = found
                    known.update((version.id, version) for version in others if version.id in found)
        self.nodes = known


def describe_flows(statements: Statements, flows: Flows) -> None:
    for dataset in flows.datasets:
        remember_imported(statements, dataset)
    for run in flows.runs.values():
        describe_run(statements, run, flows.containers.get(run.id, ()))
    for run in flows.runs.values():
        _describe_flow(statements, run, flows)
    for original, replay in flows.replays:
        if original in flows.runs and replay in flows.runs:
            statements.influenced(replay, original, "Replay")
    _describe_overwrites(statements, flows)


def describe_run(statements: Statements, run: Node, containers: Sequence[Node]) -> None:
    """State a run, its job, and the agent that carried it out."""
    remember_imported(statements, run)
    started, ended = instant(run.properties.get("startedAt")), instant(run.properties.get("endedAt"))
    job = next((node for node in containers if node.kind is NodeKind.JOB), None)
    label = f"Run of {job.name}" if job else run.name
    statements.activity(run.id, "Run", label, started, ended, scalars({"state": run.properties.get("state")}))
    actors = [node for node in containers if node.kind in (NodeKind.PIPELINE, NodeKind.SYSTEM)]
    for node in [*([job] if job else []), *actors]:
        describe(statements, node)
    statements.associated(run.id, actors[0].id if actors else None, job.id if job else None)
    for delegate, responsible in pairwise(actors):
        statements.on_behalf_of(delegate.id, responsible.id)


def _describe_flow(statements: Statements, run: Node, flows: Flows) -> None:
    ended = instant(run.properties.get("endedAt"))
    written = flows.writes.get(run.id, [])
    for output in written:
        _describe_block(statements, output, flows)
        statements.generated(output, run.id, ended)
    sources = _describe_inputs(statements, run, flows)
    inferred = {version for versions in flows.inferred.get(run.id, {}).values() for version in versions}
    for source in sources:
        statements.used(run.id, source, inferred=source in inferred)
        writer = flows.writer.get(source) or (writer_of(source) if kind_of(source) is NodeKind.VERSION else None)
        if writer is not None and writer in flows.runs:
            statements.informed(run.id, writer, "implicit")
    for output in (block for block in written if kind_of(block) is NodeKind.VERSION):
        for source in sources:
            if kind_of(source) is not NodeKind.PARTITION and source not in written:
                about = {"inferred": True} if source in inferred else None
                statements.derived(output, source, run.id if flows.writer.get(output) == run.id else None, about)


def _describe_inputs(statements: Statements, run: Node, flows: Flows) -> list[str]:
    """State the inputs of the run: versions and partitions, and the dataset itself if no version of it is known."""
    inferred = flows.inferred.get(run.id, {})
    sources = [*flows.reads.get(run.id, []), *(version for versions in inferred.values() for version in versions)]
    for source in sources:
        _describe_block(statements, source, flows)
    whole = unversioned_inputs(flows, run.id)
    for dataset in whole:
        describe_dataset(statements, dataset)
    return [*sources, *whole]


def unversioned_inputs(flows: Flows, run: str) -> list[str]:
    """Return the datasets that a run read without a known or inferred version, in the order of their ids."""
    sources = flows.reads.get(run, [])
    versioned = {dataset_of(source) for source in sources if kind_of(source) is NodeKind.VERSION}
    named = {key.removeprefix(_INPUT) for key in flows.runs[run].properties if key.startswith(_INPUT)}
    return sorted(named - versioned - flows.inferred.get(run, {}).keys())


def _describe_block(statements: Statements, identifier: str, flows: Flows) -> None:
    node = node_or_bare(identifier, flows.nodes)
    if node.kind is NodeKind.VERSION:
        describe_version(statements, node)
    else:
        describe_partition(statements, node, flows.containers.get(identifier, ()))


def _describe_overwrites(statements: Statements, flows: Flows) -> None:
    """State that a base removed the blocks before it. Table formats keep old blocks, so nothing is stated for them."""
    by_dataset: dict[str, list[Node]] = {}
    for node in flows.nodes.values():
        if node.kind is NodeKind.VERSION and isinstance(node.properties.get("writtenAt"), str) and node.id in flows.writer:
            by_dataset.setdefault(dataset_of(node.id), []).append(node)
    for blocks in by_dataset.values():
        blocks.sort(key=lambda node: (node.properties["writtenAt"], node.id))
        for place, block in enumerate(blocks):
            after = next((later for later in blocks[place + 1 :] if later.properties.get("block") == "base"), None)
            if after is not None and {block.properties.get("format"), after.properties.get("format")} <= _PATH_FORMATS:
                statements.invalidated(block.id, flows.writer[after.id], instant(after.properties["writtenAt"]))


def writer_of(version: str) -> str:
    """Return the id of the run that wrote a version. The id of the version contains it."""
    return node_id(NodeKind.RUN, parse_id(version)[1][-1])
