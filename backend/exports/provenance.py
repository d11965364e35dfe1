"""Opens provenance exports and writes them as a stream in any notation, for the command line and the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from headwater.errors import InvalidInputError, InvalidQueryError
from headwater.graph.model import kind_of
from headwater.graph.prov import (
    Export,
    ProvFormat,
    export_column,
    export_dataset,
    export_records,
    export_run,
    export_shown,
    write,
)
from headwater.graph.records import AssociationStore
from headwater.graph.stores import GraphStore
from headwater.graph.trace import TraceRequest
from headwater.graph.views import ViewOptions, ViewRequest

Exported = TraceRequest | ViewRequest
_OWN = {"run": export_run, "dataset": export_dataset, "column": export_column}


@asynccontextmanager
async def open_export(graph: GraphStore, records: AssociationStore, tenant: str, request: Exported) -> AsyncIterator[Export]:
    """Open the export for a request.

    A view request exports the nodes in the view. A request with `where` or `rows` exports a record trace. Otherwise the id of a run,
    dataset or column exports its provenance, and any other id the view around the node.

    Raises:
        NotFoundError: the node is unknown.
        InvalidQueryError: the id is invalid, or the trace or the view is refused.
    """
    if isinstance(request, ViewRequest):
        yield await export_shown(graph, tenant, request)
    elif request.where is not None or request.rows:
        async with export_records(graph, records, tenant, request) as export:
            yield export
    elif (own := _OWN.get(request.dataset.partition(":")[0])) is not None:
        yield await own(graph, tenant, request.dataset)
    else:
        yield await export_shown(graph, tenant, ViewOptions().request([_checked(request.dataset)]))


async def chunks_of(export: Export, notation: ProvFormat) -> AsyncIterator[bytes]:
    """Yield the document of an open export in chunks. The chunks are made in a thread, not on the event loop."""
    chunks = write(export.items(), notation, export.namespaces)
    while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
        yield chunk


def _checked(identifier: str) -> str:
    try:
        kind_of(identifier)
    except InvalidInputError as error:
        raise InvalidQueryError(
            f"{identifier!r} is no id of a node.", field="target", hint="Give an id: run:…, dataset:…:…, column:…:…:…, job:…:…."
        ) from error
    return identifier
