"""Provenance out of a workspace: the one way of the command line and of the service to an export, in any notation, as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from headwater.errors import InvalidQueryError
from headwater.graph.model import NodeKind
from headwater.graph.prov import Export, ProvFormat, export_column, export_dataset, export_records, export_run, write
from headwater.graph.records import AssociationStore
from headwater.graph.stores import GraphStore
from headwater.graph.trace import TraceRequest

EXPORTED = (NodeKind.RUN, NodeKind.DATASET, NodeKind.COLUMN)


@asynccontextmanager
async def open_export(graph: GraphStore, records: AssociationStore, tenant: str, request: TraceRequest) -> AsyncIterator[Export]:
    """The export that a request asks for: with `where` or `rows` a record trace, else that of the run, dataset or column whose id it names.

    Raises:
        NotFoundError: there is no such thing.
        InvalidQueryError: the id is of another kind; or whatever a trace refuses.
    """
    if request.where is not None or request.rows:
        async with export_records(graph, records, tenant, request) as export:
            yield export
        return
    kind = request.dataset.partition(":")[0]
    if kind == NodeKind.RUN:
        yield await export_run(graph, tenant, request.dataset)
    elif kind == NodeKind.COLUMN:
        yield await export_column(graph, tenant, request.dataset)
    elif kind == NodeKind.DATASET:
        yield await export_dataset(graph, tenant, request.dataset)
    else:
        raise InvalidQueryError(
            f"{request.dataset} is no run, dataset or column.", field="target", hint="Give an id: run:…, dataset:…:…, column:…:…:…."
        )


async def chunks_of(export: Export, notation: ProvFormat) -> AsyncIterator[bytes]:
    """The document of an open export; the work is done off the event loop."""
    chunks = write(export.items(), notation)
    while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
        yield chunk
