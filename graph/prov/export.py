"""Exports a run, a dataset's or a column's lineage, a record trace or a view as one PROV document.

The document has one bundle, and describes it: its question, its time and its gaps. An export must never look more complete than it is. It
is a stream of statements, which `write` puts into any notation. A large description takes seconds, so it runs in a thread, and a service
answers other requests in the meantime.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from headwater import __version__
from headwater.errors import NotFoundError
from headwater.graph.model import Edge, EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.prov.describe import describe
from headwater.graph.prov.import_properties import namespaces_of
from headwater.graph.prov.lineage import Flows, describe_flows, unversioned_inputs
from headwater.graph.prov.model import PROV, Closed, Item, Kind, Name, Opened, Statement
from headwater.graph.prov.reader import GraphReader
from headwater.graph.prov.statements import Statements
from headwater.graph.prov.subgraph import describe_containment, describe_view
from headwater.graph.prov.terms import LABEL, TYPE, instant, iri, term
from headwater.graph.records import AssociationStore
from headwater.graph.stores.containment import children
from headwater.graph.stores.protocol import Direction, GraphStore, Subgraph
from headwater.graph.trace.answer import TraceRequest

MAX_NODES = 200_000
MAX_DEPTH = 100
_FLOWS = (EdgeKind.READS, EdgeKind.WRITES)
_WITHIN = (NodeKind.STAGE, NodeKind.TASK, NodeKind.OPERATOR)

About = Sequence[tuple[str, Any]]


@dataclass(slots=True)
class Export:
    """An export that is ready to be written. `items` can be read once."""

    target: str
    statements: Statements = field(default_factory=Statements)
    about: About = ()
    records: Iterator[Statement] | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def namespaces(self) -> Mapping[str, str]:
        """Return the namespaces of all names in the document, by prefix."""
        return namespaces_of(self.statements.imported.values())

    def items(self) -> Iterator[Item]:
        """Yield the bundle, and then the statements about the bundle."""
        bundle = iri(node_id("bundle", self.target, self.at.isoformat(timespec="milliseconds")))
        yield Opened(bundle)
        yield from self.statements.buffer
        yield from self.records or ()
        yield Closed(bundle)
        typed = ((TYPE, Name(f"{PROV}Bundle")), (LABEL, f"Provenance of {self.target}"))
        about = tuple((term(name), value) for name, value in self.about if value is not None)
        yield Statement(Kind.ENTITY, bundle, (), (*typed, *about))
        yield Statement(Kind.GENERATION, None, (bundle, None, instant(self.at)))
        software = iri(node_id("software", "headwater", __version__))
        name = ((TYPE, Name(f"{PROV}SoftwareAgent")), (LABEL, f"Headwater {__version__}"))
        yield Statement(Kind.AGENT, software, (), name)
        yield Statement(Kind.ATTRIBUTION, None, (bundle, software))

    def closed(self, about: About = (), *, weakened: int = 0) -> Export:
        """Return the export with the derivations. The bundle states how many derivations became influences."""
        self.statements.close()
        self.about = [*self.about, *about, ("weakened", self.statements.weakened + weakened or None)]
        return self


async def export_run(graph: GraphReader, tenant: str, run: str) -> Export:
    """Export the inputs and outputs of one run, its agent, its stages and tasks, and the operators of its plan.

    Raises:
        NotFoundError: there is no such run.
    """
    if not await graph.get(tenant, [run]):
        raise NotFoundError(f"There is no run {run}.", hint="The summary of `headwater run` and the page name runs.")
    subgraph = await graph.reach(tenant, [run], direction=Direction.BOTH, kinds=(*_FLOWS, EdgeKind.REPLAYS), depth=1, limit=MAX_NODES)
    export = Export(run)
    await asyncio.to_thread(describe_flows, export.statements, await Flows.of(graph, tenant, subgraph))
    await _describe_inside(export.statements, graph, tenant, run)
    return export.closed(_truncated(subgraph.truncated))


async def export_dataset(graph: GraphReader, tenant: str, dataset: str) -> Export:
    """Export all versions of a dataset, and everything upstream of them.

    If the version of a dataset that a run read is not known, all versions of that dataset are described.

    Raises:
        NotFoundError: there is no such dataset.
    """
    found = await graph.get(tenant, [dataset])
    if not found:
        raise NotFoundError(f"There is no dataset {dataset}.", hint="`headwater lineage` names those that are near.")
    export = Export(dataset)
    describe(export.statements, found[0])
    truncated, seen, following, versions = 0, {dataset}, [dataset], list[str]()
    while following or versions:
        reached = await _upstream(graph, tenant, following, versions)
        flows = await Flows.of(graph, tenant, reached)
        await asyncio.to_thread(describe_flows, export.statements, flows)
        truncated += reached.truncated
        following = sorted({source for run in flows.runs for source in unversioned_inputs(flows, run)} - seen)
        inferred = {version for inputs in flows.inferred.values() for found in inputs.values() for version in found}
        versions = sorted(inferred - seen)
        seen.update(following, versions)
    return export.closed(_truncated(truncated))


async def export_column(graph: GraphReader, tenant: str, column: str) -> Export:
    """Export a column, and all columns that it derives from.

    Raises:
        NotFoundError: there is no such column.
    """
    if not await graph.get(tenant, [column]):
        raise NotFoundError(f"There is no column {column}.", hint="Its id reads column:NAMESPACE:DATASET:COLUMN.")
    reached = await graph.reach(tenant, [column], direction=Direction.UPSTREAM, kinds=(EdgeKind.DERIVES,), depth=MAX_DEPTH, limit=MAX_NODES)
    return await asyncio.to_thread(export_view, column, reached.nodes, reached.edges, truncated=reached.truncated)


def export_view(target: str, nodes: Sequence[Node], edges: Sequence[Edge], *, truncated: int = 0, about: About = ()) -> Export:
    """Export nodes and the edges between them. `truncated` is the number of nodes that a limit left out."""
    export = Export(target, about=about)
    describe_view(export.statements, nodes, edges)
    return export.closed(_truncated(truncated))


@asynccontextmanager
async def export_records(graph: GraphStore, store: AssociationStore, tenant: str, request: TraceRequest) -> AsyncIterator[Export]:
    """Export a record trace of any number of records. Each is traced on its own, so a derivation joins two records.

    Read the items before the context ends. Raises as the trace does.
    """
    from headwater.graph.prov.records import RecordStatements  # DuckDB loads with it: other exports do without
    from headwater.graph.trace.record_pairs import trace_pairs

    async with trace_pairs(graph, store, tenant, request) as traced:
        runs = sorted({hop.run for hop in traced.path if hop.run})
        subgraph = await _reach(graph, tenant, runs, Direction.BOTH, 1)
        flows = await Flows.of(graph, tenant, subgraph)
        export = Export(traced.dataset)
        await asyncio.to_thread(describe_flows, export.statements, flows)
        records = RecordStatements(traced, flows, forward=request.forward)
        records.describe_files(export.statements)
        export.about = [
            ("where", request.where),
            ("column", request.column),
            ("semantics", request.semantics.value),
            ("direction", "forward" if request.forward else "backward"),
            ("exact", traced.exact),
            *(("incomplete", f"{item.what}: {item.reason} ({item.effect})") for item in traced.incomplete),
        ]
        export.records = records.items()
        yield export.closed(_truncated(subgraph.truncated), weakened=records.weakened)


def _truncated(nodes: int) -> About:
    return [("truncated", nodes or None)]


async def _describe_inside(statements: Statements, graph: GraphReader, tenant: str, parent: str) -> None:
    kinds = _WITHIN if parent.startswith(f"{NodeKind.RUN}:") else (NodeKind.TASK,)
    for child in await children(graph, tenant, parent, kinds):
        describe(statements, child)
        describe_containment(statements, Node(parent, NodeKind(parse_id(parent)[0]), parent), child)
        if child.kind is NodeKind.STAGE:
            await _describe_inside(statements, graph, tenant, child.id)


async def _upstream(graph: GraphReader, tenant: str, datasets: Sequence[str], others: Sequence[str]) -> Subgraph:
    """Return everything upstream of all versions of some datasets, of some other versions, and of the files in them."""
    versions = [node.id for dataset in datasets for node in await children(graph, tenant, dataset, [NodeKind.VERSION])]
    versions = list(dict.fromkeys([*versions, *others]))
    files = [node.id for version in versions for node in await children(graph, tenant, version, [NodeKind.PARTITION])]
    return await _reach(graph, tenant, [*versions, *files], Direction.UPSTREAM, MAX_DEPTH)


async def _reach(graph: GraphReader, tenant: str, focus: Sequence[str], direction: Direction, depth: int) -> Subgraph:
    if not focus:
        return Subgraph(nodes=(), edges=(), distance={})
    return await graph.reach(tenant, focus, direction=direction, kinds=_FLOWS, depth=depth, limit=MAX_NODES)
