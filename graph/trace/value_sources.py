"""Where the values of an answer come from: the files, where they lie, and the names by which their columns are known.

For whoever decides which of the values may be told: a file may be called by several names, and as part of several datasets.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from headwater.errors import HeadwaterError
from headwater.graph.files.column_names import UNCERTAIN, ColumnNames
from headwater.graph.files.formats import format_of
from headwater.graph.files.shapes import Shape
from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import Origin, TraceRequest
from headwater.graph.trace.datasets import Dataset, current_files, shape_of
from headwater.graph.trace.session import KnownFile, Session
from headwater.graph.trace.tracer import tracer_of
from headwater.graph.trace.versions import find_asked

_METADATA = re.compile(r"/_delta_log/|/metadata/[^/]*\.(?:avro|json|puffin|stats|parquet|orc)(?:\.gz)?$|/\.hoodie/|/_(?:common_)?metadata$")
_UNREAD = ColumnNames(is_certain=True)


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
        named = request if is_named_with_version else replace(request, dataset=dataset.asked_id)
        return Asked(dataset.id, await asyncio.to_thread(_files, session, dataset), named)


def origins_of(session: Session, files: Iterable[KnownFile], dataset: Dataset | None = None) -> list[Origin]:
    """Files that values come from; those of a version of a dataset are read as the version is."""
    version = dataset.version if dataset is not None else None
    files = list(files)
    names: dict[int, ColumnNames] = {}
    for shape in {*(file.shape for file in files), *([version.shape] if version is not None else [])}:
        read = files if version is not None and shape == version.shape else [file for file in files if file.shape == shape]
        for file, found in zip(read, _names(session, shape, read), strict=True):
            names[file.number] = _both(names.get(file.number), found)
    origins = [Origin(file.block.path, file.lies, names[file.number]) for file in files]
    return [replace(origin, names=UNCERTAIN) if _is_metadata(origin) else origin for origin in origins]


def _is_metadata(origin: Origin) -> bool:
    """Whether a file is of a table's metadata: it holds the least and greatest values of columns, under names of its own."""
    return any(_METADATA.search(unquote(uri)) for uri in (origin.file, origin.lies))


def _names(session: Session, shape: Shape, files: Sequence[KnownFile]) -> list[ColumnNames]:
    """The names of columns in files that are read in one shape. Of a file that cannot be read, no value is shown."""
    known = {file.number: file for file in files if not file.problem}
    found = format_of(shape.format).column_names(session.reader, session.database, shape, [file.readable() for file in known.values()])
    by_number = dict(zip(known, found, strict=True))
    return [by_number.get(file.number, _UNREAD) for file in files]


def _both(one: ColumnNames | None, other: ColumnNames) -> ColumnNames:
    """The names of a file that is read in two shapes."""
    if one is None:
        return other
    return ColumnNames(
        one.is_certain and other.is_certain,
        one.others | other.others,
        one.doubled | other.doubled,
        one.may_be_renamed or other.may_be_renamed,
        one.known & other.known,
    )


def _files(session: Session, dataset: Dataset) -> list[Origin]:
    if dataset.version is not None:
        return origins_of(session, dataset.version.files, dataset)
    try:
        shape, _ = shape_of(session, dataset)
        return origins_of(session, current_files(session, dataset, shape))
    except HeadwaterError:
        return []
