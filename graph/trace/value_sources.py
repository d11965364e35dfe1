"""The files that contain the values of an answer, with their real locations and the names of their columns.

The access check uses them to decide which values a caller may see. A file may have several names, and may belong to several datasets.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from headwater.errors import HeadwaterError
from headwater.graph.files.column_names import UNCERTAIN, ColumnNames
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import Origin, TraceRequest
from headwater.graph.trace.datasets import Dataset, find_shape, list_current_files
from headwater.graph.trace.session import KnownFile, Session
from headwater.graph.trace.tracer import get_tracer
from headwater.graph.trace.versions import find_requested_dataset

_METADATA = re.compile(r"/_delta_log/|/metadata/[^/]*\.(?:avro|json|puffin|stats|parquet|orc)(?:\.gz)?$|/\.hoodie/|/_(?:common_)?metadata$")
_UNREAD = ColumnNames(is_certain=True)


@dataclass(frozen=True, slots=True)
class PredicateScope:
    """The dataset to which a predicate is applied, its files, and the request with the dataset's id."""

    dataset: str
    files: Sequence[Origin]
    request: TraceRequest


async def find_predicate_scope(graph: GraphStore | None, store: AssociationStore, tenant: str, request: TraceRequest) -> PredicateScope:
    """Return the dataset and the files to which the predicate of a request is applied. A dataset that cannot be read has no files.

    Raises:
        NotFoundError, InvalidQueryError, UnsupportedError: as the trace itself.
    """
    with get_tracer(store).session(tenant) as session:
        dataset = await find_requested_dataset(session, graph, request)
        is_named_with_version = dataset.version is not None and request.as_of is None  # name@version
        named_request = request if is_named_with_version else replace(request, dataset=dataset.part_id)
        return PredicateScope(dataset.id, await asyncio.to_thread(_list_files, session, dataset), named_request)


def list_origins(session: Session, files: Iterable[KnownFile], dataset: Dataset | None = None) -> list[Origin]:
    """Return the files that contain values, with their locations and columns. Files of a version are read in the version's shape."""
    version = dataset.version if dataset is not None else None
    files = list(files)
    names: dict[int, ColumnNames] = {}
    for shape in {*(file.shape for file in files), *([version.shape] if version is not None else [])}:
        read_files = files if version is not None and shape == version.shape else [file for file in files if file.shape == shape]
        for file, column_names in zip(read_files, _list_names(session, shape, read_files), strict=True):
            names[file.number] = _merge_names(names.get(file.number), column_names)
    origins = [Origin(file.block.path, file.real_uri, names[file.number]) for file in files]
    return [replace(origin, names=UNCERTAIN) if _is_metadata(origin) else origin for origin in origins]


def _is_metadata(origin: Origin) -> bool:
    """Return whether a file is metadata of a table. Metadata contain extreme values of columns under other names."""
    return any(_METADATA.search(unquote(uri)) for uri in (origin.file, origin.lies))


def _list_names(session: Session, shape: Shape, files: Sequence[KnownFile]) -> list[ColumnNames]:
    readable_files = {file.number: file for file in files if not file.problem}
    names = get_format(shape.format).find_column_names(
        session.reader, session.database, shape, [file.make_read_file() for file in readable_files.values()]
    )
    by_number = dict(zip(readable_files, names, strict=True))
    return [by_number.get(file.number, _UNREAD) for file in files]


def _merge_names(names: ColumnNames | None, other_names: ColumnNames) -> ColumnNames:
    if names is None:
        return other_names
    return ColumnNames(
        names.is_certain and other_names.is_certain,
        names.other_names | other_names.other_names,
        names.ambiguous_names | other_names.ambiguous_names,
        names.may_be_renamed or other_names.may_be_renamed,
        names.file_names & other_names.file_names,
    )


def _list_files(session: Session, dataset: Dataset) -> list[Origin]:
    if dataset.version is not None:
        return list_origins(session, dataset.version.files, dataset)
    try:
        shape, _ = find_shape(session, dataset)
        return list_origins(session, list_current_files(session, dataset, shape))
    except HeadwaterError:
        return []
