"""Evaluates predicates over the new rows of a version. Predicates are parsed first, and files are read below the data roots only.

Without a capture, the new rows are the rows of the files that were written since the run began. If files of a version no longer exist,
evaluation fails and never answers "no row". The clocks of the file system and of the producer may differ: if no file is as new as the run,
evaluation fails, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import duckdb

from headwater.backend.triggers.model import Fact
from headwater.errors import HeadwaterError, SourceChangedError, UnsupportedError
from headwater.graph.files.footers import NoParquetError
from headwater.graph.model import NodeKind
from headwater.graph.records import AssociationStore
from headwater.graph.stores import GraphStore
from headwater.graph.trace.datasets import Dataset, find_dataset, find_shape, keep_readable_files, list_current_files
from headwater.graph.trace.predicate import check_predicate as check_syntax
from headwater.graph.trace.predicate import explain_error, list_column_names
from headwater.graph.trace.selection import select_records
from headwater.graph.trace.session import KnownFile, Session
from headwater.graph.trace.tracer import get_tracer

_RESERVED = 3  # the first columns (file, row, line) do not belong to the dataset


async def check_predicate(graph: GraphStore, records: AssociationStore, tenant: str, dataset: str, where: str) -> None:
    """Check a predicate against the columns of a dataset. The check reads one row.

    Raises:
        InvalidQueryError: the predicate is invalid.
    """
    page = await graph.children(tenant, dataset, kinds=[NodeKind.COLUMN], first=1_000)
    columns = [node.name for node in page.nodes]
    with get_tracer(records).session(tenant) as session:
        try:
            found = await find_dataset(session, graph, dataset)
            await asyncio.to_thread(_bind, session, found, where)
        except (SourceChangedError, UnsupportedError, NoParquetError, OSError):
            pass  # no file can be read yet
        except HeadwaterError as error:
            if getattr(error, "field", None) == "where":
                raise
        else:
            return
        check_syntax(session.database, where)
        names = list_column_names(session.database, where)
        if columns and page.cursor is None and (unknown := sorted(names - {column.lower() for column in columns})):
            reason = duckdb.BinderException(f'Binder Error: Referenced column "{unknown[0]}" not found')
            raise explain_error(reason, where, columns)


def _bind(session: Session, dataset: Dataset, where: str) -> None:
    shape, _ = find_shape(session, dataset)
    files = keep_readable_files(session, list_current_files(session, dataset, shape))[:1]
    query, parameters = session.reader.make_query(session.database, shape, [file.make_read_file() for file in files])
    predicate = check_syntax(session.database, where)
    described = session.database.execute(f"SELECT * FROM ({query}) LIMIT 0", parameters).description or ()
    try:
        session.database.execute(f"SELECT 1 FROM (SELECT * FROM ({query}) LIMIT 1) WHERE ({predicate})", parameters).fetchall()
    except duckdb.Error as error:
        raise explain_error(error, where, [column[0] for column in described][_RESERVED:]) from None


async def selects_new_row(graph: GraphStore, records: AssociationStore, tenant: str, fact: Fact, where: str) -> bool:
    """Whether a predicate selects at least one row of a version.

    Raises:
        HeadwaterError: the rows cannot be read, or the predicate fails on them.
    """
    runs = await graph.get(tenant, [fact.run]) if fact.run else []
    began = str(runs[0].properties.get("startedAt") or "") if runs else ""
    with get_tracer(records).session(tenant) as session:
        dataset = await find_dataset(session, graph, fact.subject)
        return await asyncio.to_thread(_selects, session, records, dataset, fact, began, where)


def _selects(session: Session, records: AssociationStore, dataset: Dataset, fact: Fact, began: str, where: str) -> bool:
    shape, _ = find_shape(session, dataset)
    listed = list_current_files(session, dataset, shape)
    capture = fact.details.get("capture")
    if capture is not None and records.catalog.has(session.tenant, capture):
        written = {kept.block for kept in records.catalog.written_by(session.tenant, capture)}
        files = [file for file in listed if file.block in written]
        if len(files) < len(written):
            raise SourceChangedError(
                f"{len(written) - len(files)} of the {len(written)} files of {fact.id} are not there any more, or changed.",
                hint="Another run replaced them before the predicate was evaluated.",
            )
    else:
        files = _since(listed, began, dataset)
    if not files:
        return False  # a captured run that wrote no file
    table = select_records(session, shape, keep_readable_files(session, files), predicate=where, rows=())
    if session.incomplete:
        raise UnsupportedError("; ".join(f"{entry.what}: {entry.reason}" for entry in session.incomplete))
    return session.count_rows(table) > 0


def _since(files: Sequence[KnownFile], began: str, dataset: Dataset) -> list[KnownFile]:
    """Return the files written since a run began, or all files if the beginning is unknown.

    Times are compared in whole seconds, because some file systems store no finer times.

    Raises:
        SourceChangedError: there is no such file, so the new rows are unknown.
    """
    if not files:
        raise SourceChangedError(
            f"{dataset.name} has no files now, so the new rows are unknown.", hint="Another run replaced them, or the run wrote none."
        )
    if not began:
        return list(files)
    start = int(datetime.fromisoformat(began).timestamp()) * 1_000
    found = [file for file in files if file.block.modified >= start]
    if not found:
        latest = datetime.fromtimestamp(max(file.block.modified for file in files) / 1_000, UTC).isoformat(timespec="seconds")
        raise SourceChangedError(
            f"No file of {dataset.name} is as new as the run, which began at {began} by the clock of its machine."
            f" The newest file is of {latest}.",
            hint="The run wrote no file, or the clock of its machine runs ahead. Record capture makes the new rows known.",
        )
    return found
