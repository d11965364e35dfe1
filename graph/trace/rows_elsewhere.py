"""Applies a predicate to files at another place, which are read as a dataset is read: the output of a trial, below no data root."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.records import AssociationStore, DataRoots, uri_of
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.datasets import find_dataset, find_shape, keep_readable_files
from headwater.graph.trace.predicate import check_predicate, list_column_names
from headwater.graph.trace.selection import select_records
from headwater.graph.trace.tracer import get_tracer


@dataclass(frozen=True, slots=True)
class ReadAs:
    """How the files of a dataset are read. `place` is the URI of the dataset."""

    dataset: str
    place: str
    shape: Shape


async def find_shape_of(graph: GraphStore, store: AssociationStore, tenant: str, dataset: str) -> ReadAs:
    """Return how a dataset is read.

    Raises:
        NotFoundError, InvalidQueryError: the dataset is not known, or has no files.
    """
    with get_tracer(store).session(tenant) as session:
        found = await find_dataset(session, graph, dataset)
        shape, _ = await asyncio.to_thread(find_shape, session, found)
        return ReadAs(found.id, found.place, shape)


def negate(store: AssociationStore, tenant: str, predicate: str) -> str:
    """Return the predicate that selects the rows for which a predicate is false. A row for which it is NULL is not selected.

    Raises:
        InvalidQueryError: the predicate is not allowed.
    """
    with get_tracer(store).session(tenant) as session:
        return f"NOT ({check_predicate(session.database, predicate)})"


def list_columns_of(store: AssociationStore, tenant: str, predicate: str) -> frozenset[str]:
    """Return the names in a predicate, in lower case. Raises like `negate`."""
    with get_tracer(store).session(tenant) as session:
        return list_column_names(session.database, check_predicate(session.database, predicate))


def has_row(store: AssociationStore, tenant: str, read_as: ReadAs, folder: Path, predicate: str) -> bool:
    """Return whether the files in a folder have a row that a predicate selects. A folder without files has none.

    A predicate that fails on the rows selects none.

    Raises:
        UnsupportedError: the files cannot be read.
    """
    if not folder.exists():
        return False
    with get_tracer(store).session(tenant, DataRoots.of([folder])) as session:
        listed = get_format(read_as.shape.format).list_files(session.look, uri_of(folder), read_as.shape) or ()
        added = [session.add_file(file.block, read_as.dataset, read_as.shape, file.partition) for file in listed]
        files = keep_readable_files(session, added)
        if session.incomplete:
            raise UnsupportedError("; ".join(f"{entry.what}: {entry.reason}" for entry in session.incomplete))
        if not files:
            return False
        try:
            table = select_records(session, read_as.shape, files, predicate=predicate, rows=())
        except InvalidQueryError:
            return False
        return session.count_rows(table) > 0
