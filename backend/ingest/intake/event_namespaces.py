"""Checks events of a producer that may send for some namespaces only. Each event is accepted or refused as a whole.

The check uses the statements that the projection would make, so that no facet is overlooked. Every dataset, column,
job and pipeline of the event (an input, a parent, a source of a column) must be in a permitted namespace.
Nodes without a namespace (types, actors) are refused, and runs that the graph knows in another namespace. A run that an event only
refers to must be known in a permitted namespace, or be a run of the same body. Whether it is hidden or absent makes no difference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.backend.ingest.intake.bodies import unpack
from headwater.backend.ingest.intake.documents import read_documents
from headwater.backend.projection.event import REPLAY, event_stamp, project_event, replaced_runs
from headwater.backend.projection.facets import mapping
from headwater.errors import InvalidEventError, InvalidInputError
from headwater.graph.access.patterns import Namespaces
from headwater.graph.access.visibility import NAMED, Visible, kind_named, namespace_of
from headwater.graph.model import GraphBatch, NodeKind, node_id, run_key
from headwater.graph.stores import GraphStore

_NOWHERE = frozenset({NodeKind.TYPE, NodeKind.ACTOR, NodeKind.DATA})
_HINT = "Ask who runs the service for a key that may send for it, or send this event with another."


class EventNamespaces:
    """The check for one body.

    `foreign` are the ids of runs that the graph has in other namespaces, `own` those of permitted namespaces and of the body.
    """

    def __init__(self, permitted: Namespaces, foreign: Collection[str], own: Collection[str] = ()) -> None:
        self._permitted = permitted
        self._foreign = frozenset(foreign)
        self._own = frozenset(own)

    def __call__(self, event: Mapping[str, Any], path: str) -> None:
        """Check an otherwise valid event.

        Raises:
            InvalidEventError: the event names a node of another namespace.
        """
        try:
            batch = project_event(event, event_stamp(event, ""))
        except InvalidInputError as error:
            raise InvalidEventError(f"{path}: {error.message}", field=path, hint=error.hint) from error
        stated = set(_run_of(event))
        for identifier in _named(batch):
            if kind_named(identifier) is NodeKind.RUN and identifier not in stated | self._own:
                raise InvalidEventError(
                    f"{path} refers to {identifier}, which is not known in the namespaces of this key.", field=path, hint=_HINT
                )
            if identifier in self._foreign:
                raise InvalidEventError(f"{path}: {identifier} is a run of another namespace.", field=f"{path}.run.runId", hint=_HINT)
            kind = kind_named(identifier)
            namespace = namespace_of(identifier)
            if kind in _NOWHERE or (kind in NAMED and (namespace is None or not self._permitted.has(namespace))):
                where = f"the namespace {namespace}" if namespace is not None else "no namespace"
                raise InvalidEventError(
                    f"{path} names {identifier}, of {where}; this key may send for some namespaces alone.", field=path, hint=_HINT
                )


async def check_of(graph: GraphStore, tenant: str, permitted: Namespaces, runs: BodyRuns) -> EventNamespaces:
    """Return the check for a body with events about these runs. The namespaces of the runs come from the graph."""
    named = sorted({*runs.stated, *runs.referred})
    known = {node.id for node in await graph.get(tenant, named)} if named else set()
    own = await Visible(graph, tenant, [permitted]).of(sorted(known))
    foreign = known.intersection(runs.stated) - own
    return EventNamespaces(permitted, foreign, {*own, *runs.stated} - foreign)


@dataclass(frozen=True, slots=True)
class BodyRuns:
    """The ids of the runs of a body's events, and of other runs to which the events refer."""

    stated: Sequence[str] = ()
    referred: Sequence[str] = ()


def read_runs(body: bytes, encoding: str | None, limit: int) -> BodyRuns:
    """Return the runs in a body of events. An unreadable body has none, and is refused later."""
    stated, referred = set[str](), set[str]()
    try:
        for document in read_documents(unpack(body, encoding=encoding, limit=limit)):
            stated.update(_run_of(document.value))
            referred.update(_replaced(document.value))
    except InvalidInputError:
        return BodyRuns()
    return BodyRuns(sorted(stated), sorted(referred))


def _run_of(event: Any) -> Iterator[str]:
    stated = mapping(mapping(event).get("run")).get("runId")
    if isinstance(stated, str):
        yield node_id(NodeKind.RUN, run_key(stated))


def _replaced(event: Any) -> Iterator[str]:
    facets = mapping(mapping(mapping(event).get("run")).get("facets"))
    yield from (node_id(NodeKind.RUN, run) for run in replaced_runs(mapping(facets.get(REPLAY))))


def _named(batch: GraphBatch) -> Iterator[str]:
    parts = [(batch.nodes, batch.edges), *((block.nodes, block.edges) for block in batch.blocks)]
    for nodes, edges in parts:
        yield from (node.id for node in nodes)
        yield from (end for edge in edges for end in (edge.src, edge.dst))
