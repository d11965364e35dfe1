"""Where the values of an answer come from: the files, where they lie, and whether what they hold has columns of its own.

For whoever decides which of the values may be told: a file may be called by several names, and as part of several datasets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headwater.errors import HeadwaterError
from headwater.graph.records import AssociationStore, uri_of
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import Origin, TraceRequest
from headwater.graph.trace.datasets import Dataset, current_files, shape_of
from headwater.graph.trace.files.formats import format_of
from headwater.graph.trace.session import KnownFile, Session
from headwater.graph.trace.tracer import tracer_of
from headwater.graph.trace.versions import find_asked


@dataclass(frozen=True, slots=True)
class Asked:
    """The dataset that a predicate is asked of, by its id, its files, and the request by that id."""

    dataset: str
    files: Sequence[Origin]
    request: TraceRequest


async def asked_of(graph: GraphStore | None, store: AssociationStore, tenant: str, request: TraceRequest) -> Asked:
    """What the predicate of a request would be asked of. Of a dataset that cannot be read, no files.

    Raises:
        NotFoundError, InvalidQueryError, UnsupportedError: as the trace itself.
    """
    with tracer_of(store).session(tenant) as session:
        dataset = await find_asked(session, graph, request)
        is_named_with_version = dataset.version is not None and request.as_of is None  # name@version
        named = request if is_named_with_version else replace(request, dataset=dataset.id)
        return Asked(dataset.id, await asyncio.to_thread(_files, session, dataset), named)


def origins_of(session: Session, files: Iterable[KnownFile], dataset: Dataset | None = None) -> list[Origin]:
    """Files that values come from; those of a version of a dataset are read as the version is."""
    version = dataset.version if dataset is not None else None
    has_columns = version is None or format_of(version.shape.format).tells_columns(version.shape)
    files = list(files)
    tells = {shape: format_of(shape.format).tells_columns(shape) for shape in {file.shape for file in files}}
    return [Origin(file.block.path, _lies(session, file.block.path), has_columns=has_columns and tells[file.shape]) for file in files]


def _files(session: Session, dataset: Dataset) -> list[Origin]:
    if dataset.version is not None:
        return origins_of(session, dataset.version.files, dataset)
    try:
        shape, _ = shape_of(session, dataset)
        return origins_of(session, current_files(session, dataset, shape))
    except HeadwaterError:
        return []


def _lies(session: Session, uri: str) -> str:
    """Where a local file lies, links followed; of others, and those that may not be read, what they are called."""
    try:
        return uri_of(session.look.path(uri))
    except HeadwaterError:
        return uri
