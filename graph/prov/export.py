"""Exports a run, a dataset's lineage or a record trace as one PROV document.

The document holds one bundle, and says of that bundle what it answers, when it was made and what it lacks: an export must never
look more complete than it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from prov.constants import PROV_LABEL, PROV_TYPE
from prov.identifier import QualifiedName
from prov.model import PROV, ProvDocument

from headwater import __version__
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import EdgeKind, NodeKind, node_id
from headwater.graph.prov.lineage import Flows, describe_dataset, describe_flows, unversioned_inputs
from headwater.graph.prov.reader import GraphReader
from headwater.graph.prov.records import describe_answer
from headwater.graph.prov.statements import Statements
from headwater.graph.prov.terms import NAMESPACES, qname, term
from headwater.graph.stores.protocol import Direction, Subgraph
from headwater.graph.trace.answer import Incomplete, TraceAnswer, TraceRequest

Tracer = Callable[[TraceRequest], Awaitable[TraceAnswer]]

MAX_NODES = 20_000
MAX_DEPTH = 100
MAX_SELECTED = 200
_FLOWS = (EdgeKind.READS, EdgeKind.WRITES)
_PAGE = 1_000


async def export_run(graph: GraphReader, tenant: str, run: str) -> ProvDocument:
    """What one run read and wrote, and who carried it out.

    Raises:
        NotFoundError: there is no such run.
    """
    if not await graph.get(tenant, [run]):
        raise NotFoundError(f"There is no run {run}.", hint="The summary of `headwater run` and the page name runs.")
    subgraph = await _reach(graph, tenant, [run], Direction.BOTH, 1)
    export = _Export(run)
    describe_flows(export.statements, await Flows.of(graph, tenant, subgraph))
    return export.document([("truncated", subgraph.truncated or None)])


async def export_dataset(graph: GraphReader, tenant: str, dataset: str) -> ProvDocument:
    """All versions of a dataset, and everything upstream of them.

    Where it is not known which version of a dataset a run read, all of that dataset's are described.

    Raises:
        NotFoundError: there is no such dataset.
    """
    if not await graph.get(tenant, [dataset]):
        raise NotFoundError(f"There is no dataset {dataset}.", hint="`headwater lineage` names those that are near.")
    export = _Export(dataset)
    describe_dataset(export.statements, dataset)
    truncated, seen, following = 0, {dataset}, [dataset]
    while following:
        reached = await _upstream(graph, tenant, following)
        flows = await Flows.of(graph, tenant, reached)
        describe_flows(export.statements, flows)
        truncated += reached.truncated
        following = sorted({source for run in flows.runs for source in unversioned_inputs(flows, run)} - seen)
        seen.update(following)
    return export.document([("truncated", truncated or None)])


async def export_records(graph: GraphReader, tenant: str, tracer: Tracer, request: TraceRequest) -> ProvDocument:
    """A record trace. Each selected record is traced on its own, so that a derivation says which record came from which.

    Raises:
        InvalidQueryError: more than `MAX_SELECTED` records are selected.
        HeadwaterError: whatever the trace raises.
    """
    request = replace(request, values=False)
    whole = await tracer(request)
    if len(whole.selected) > MAX_SELECTED:
        raise InvalidQueryError(
            f"{len(whole.selected)} records are selected, and an export holds the traces of {MAX_SELECTED}.", hint="Select fewer."
        )
    answers = [whole] if len(whole.selected) < 2 else [await tracer(_only(request, entry.file, entry.row)) for entry in whole.selected]
    runs = sorted({hop.run for answer in answers for hop in answer.path if hop.run})
    subgraph = await _reach(graph, tenant, runs, Direction.BOTH, 1)
    flows = await Flows.of(graph, tenant, subgraph)
    export = _Export(request.dataset)
    describe_flows(export.statements, flows)
    for answer in answers:
        describe_answer(export.statements, answer, flows, forward=request.forward)
    return export.document(_about_trace(request, answers, subgraph.truncated))


class _Export:
    """A document in the making."""

    def __init__(self, target: str) -> None:
        self._at = datetime.now(UTC)
        self._target = target
        self._id = node_id("bundle", target, self._at.isoformat(timespec="milliseconds"))
        self._document = ProvDocument(namespaces=list(NAMESPACES))
        self.statements = Statements(self._document.bundle(qname(self._id)))

    def document(self, about: Sequence[tuple[str, Any]]) -> ProvDocument:
        """The document, with the bundle described; `about` are attributes of ours (None: left out)."""
        self.statements.close()
        attributes: list[tuple[QualifiedName, Any]] = [(PROV_TYPE, PROV["Bundle"]), (PROV_LABEL, f"Provenance of {self._target}")]
        attributes += [(term(name), value) for name, value in (*about, ("weakened", self.statements.weakened or None)) if value is not None]
        self._document.entity(qname(self._id), attributes)
        self._document.generation(qname(self._id), None, self._at)
        software = qname(node_id("software", "headwater", __version__))
        self._document.agent(software, [(PROV_TYPE, PROV["SoftwareAgent"]), (PROV_LABEL, f"Headwater {__version__}")])
        self._document.attribution(qname(self._id), software)
        return self._document


def _about_trace(request: TraceRequest, answers: Sequence[TraceAnswer], truncated: int) -> list[tuple[str, Any]]:
    incomplete: dict[Incomplete, None] = dict.fromkeys(item for answer in answers for item in answer.incomplete)
    cut = sum(answer.total - len(answer.records) for answer in answers)
    return [
        ("where", request.where),
        ("column", request.column),
        ("semantics", request.semantics.value),
        ("direction", "forward" if request.forward else "backward"),
        ("exact", all(answer.exact for answer in answers)),
        *(("incomplete", f"{item.what}: {item.reason} ({item.effect})") for item in incomplete),
        ("truncated", cut + truncated or None),
    ]


def _only(request: TraceRequest, file: str | None, row: int | None) -> TraceRequest:
    if file is None or row is None:
        raise InvalidQueryError(f"The records of {request.dataset} are not known one by one.", hint="Leave out --where.")
    return replace(request, where=None, rows=[(file, row)])


async def _upstream(graph: GraphReader, tenant: str, datasets: Sequence[str]) -> Subgraph:
    """What lies upstream of all versions of some datasets, and of the files in them."""
    versions = [version for dataset in datasets for version in await _children(graph, tenant, dataset, NodeKind.VERSION)]
    files = [file for version in versions for file in await _children(graph, tenant, version, NodeKind.PARTITION)]
    return await _reach(graph, tenant, [*versions, *files], Direction.UPSTREAM, MAX_DEPTH)


async def _reach(graph: GraphReader, tenant: str, focus: Sequence[str], direction: Direction, depth: int) -> Subgraph:
    if not focus:
        return Subgraph(nodes=(), edges=(), distance={})
    return await graph.reach(tenant, focus, direction=direction, kinds=_FLOWS, depth=depth, limit=MAX_NODES)


async def _children(graph: GraphReader, tenant: str, parent: str, kind: NodeKind) -> list[str]:
    children: list[str] = []
    cursor: str | None = None
    while True:
        page = await graph.children(tenant, parent, kinds=[kind], first=_PAGE, after=cursor)
        children += [node.id for node in page.nodes]
        cursor = page.cursor
        if cursor is None:
            return children
