"""The files of a dataset that contain chosen records, and copies of them without these records. An erasure uses both.

The choice and the copy number the records in the same way as a trace does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.files.formats import get_format
from headwater.graph.files.read_files import FILE, ROW
from headwater.graph.model import NodeKind, node_id
from headwater.graph.records import AssociationStore
from headwater.graph.storage import LocalFile
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.datasets import Dataset, find_dataset, find_shape, keep_readable_files, list_current_files
from headwater.graph.trace.links import find_readers
from headwater.graph.trace.predicate import list_column_names
from headwater.graph.trace.selection import group_by_shape, select_records
from headwater.graph.trace.session import KnownFile, Session
from headwater.graph.trace.tracer import get_tracer


@dataclass(frozen=True, slots=True)
class ChosenFile:
    """A local file with chosen records. `rows` are their 0-based numbers, ascending. `records` counts all records of the file.

    `uri` is its name in traces.
    """

    path: str
    uri: str
    rows: Sequence[int]
    records: int


@dataclass(frozen=True, slots=True)
class ChosenRecords:
    """Chosen records of a dataset. `columns` are the columns that the predicate names. `others` is false if these are all records.

    `aliases` are other datasets under which runs read the same files, for example one file of a folder.
    """

    dataset: str
    files: Sequence[ChosenFile]
    columns: Sequence[str]
    others: bool
    aliases: Sequence[str] = ()

    @property
    def count(self) -> int:
        return sum(len(file.rows) for file in self.files)


async def choose_records(
    graph: GraphStore, store: AssociationStore, tenant: str, dataset: str, where: str | None, rows: Sequence[tuple[str, int]]
) -> ChosenRecords:
    """Return the records of the present state of a dataset that a predicate or the numbers of rows select.

    Raises:
        NotFoundError: there is no such dataset, or no such file of it.
        InvalidQueryError: the predicate or a row cannot be used, or a part of a dataset is named.
        UnsupportedError: the records cannot be read, or are not in local files that can be written again.
    """
    with get_tracer(store).session(tenant) as session:
        found = await find_dataset(session, graph, dataset)
        if found.part:
            raise InvalidQueryError(
                f"{dataset} is a part of {found.name}.", field="dataset", hint=f"Name {found.name}, and select the records by --where."
            )
        return await asyncio.to_thread(_choose, session, found, where, rows)


def _choose(session: Session, dataset: Dataset, where: str | None, rows: Sequence[tuple[str, int]]) -> ChosenRecords:
    shape, _ = find_shape(session, dataset)
    if get_format(shape.format).is_table or not get_format(shape.format).in_files:
        raise UnsupportedError(
            f"{dataset.name} is a table ({shape.format}), and records are taken out of plain files only.",
            hint="Delete the records in the table, and run the programs that read it.",
        )
    files = keep_readable_files(session, list_current_files(session, dataset, shape))
    if unread := [entry for entry in session.incomplete if entry.effect == "missing"]:
        raise UnsupportedError(
            f"{unread[0].what} cannot be searched: {unread[0].reason}.", hint="All files of the source must be readable."
        )
    table = select_records(session, shape, files, predicate=where, rows=rows)
    places: dict[int, list[int]] = {}
    for number, row in session.database.execute(f"SELECT DISTINCT {FILE}, {ROW} FROM {table} ORDER BY ALL").fetchall():
        places.setdefault(number, []).append(row)
    chosen = [_describe(session, session.files[number], own) for number, own in sorted(places.items())]
    others = any(len(file.rows) < file.records for file in chosen) or any(
        _count(session, file) for file in files if file.number not in places
    )
    names = sorted(list_column_names(session.database, where)) if where is not None else []
    return ChosenRecords(dataset.id, chosen, names, others, _find_aliases(session, dataset, [session.files[number] for number in places]))


def _find_aliases(session: Session, dataset: Dataset, files: Sequence[KnownFile]) -> list[str]:
    found = set()
    for number, readers in find_readers(session, files).items():
        for capture in map(session.get_capture, readers):
            for source in capture.manifest.sources:
                if capture.files_of(source).of(session.files[number].block) is not None:
                    found.add(node_id(NodeKind.DATASET, source.dataset.namespace, source.dataset.name))
    return sorted(found - {dataset.id})


def _describe(session: Session, file: KnownFile, rows: Sequence[int]) -> ChosenFile:
    read_file = file.make_read_file()
    if not isinstance(read_file.stored, LocalFile):
        raise UnsupportedError(
            f"{file.block.path} is not on this machine, so records cannot be taken out of it here.",
            hint="Take the records out of the source yourself, and run the programs that read it.",
        )
    get_format(file.shape.format).check_copy(file.shape, read_file)
    path = session.look.spelt(file.block.path)
    if str(read_file.stored.path) != path:
        raise UnsupportedError(f"A link leads to {path}.", hint=f"The data lies in {read_file.stored.path}.")
    return ChosenFile(path, file.block.path, rows, _count(session, file))


def _count(session: Session, file: KnownFile) -> int:
    return get_format(file.shape.format).count_records(session.reader, session.database, file.shape, file.make_read_file())


async def copy_files(
    graph: GraphStore, store: AssociationStore, tenant: str, dataset: str, targets: Mapping[str, tuple[Sequence[int], Path]]
) -> dict[str, int]:
    """Write copies of files of a dataset without some rows, and return the number of records of each.

    `targets` has the rows and the path of the copy by the URI of the file. Raises as `choose_records` and `write_copy`.
    """
    with get_tracer(store).session(tenant) as session:
        found = await find_dataset(session, graph, dataset)
        return await asyncio.to_thread(_copy, session, found, targets)


def _copy(session: Session, dataset: Dataset, targets: Mapping[str, tuple[Sequence[int], Path]]) -> dict[str, int]:
    shape, _ = find_shape(session, dataset)
    files = [file for file in list_current_files(session, dataset, shape) if file.block.path in targets]
    counts: dict[str, int] = {}
    for own_shape, own_files in group_by_shape(shape, files).items():
        for file in own_files:
            read_file = file.make_read_file()
            assert isinstance(read_file.stored, LocalFile)  # noqa: S101 - `choose_records` refuses others
            rows, target = targets[file.block.path]
            counts[file.block.path] = get_format(own_shape.format).write_copy(
                session.reader, own_shape, read_file, read_file.stored.path, target, rows
            )
    return counts
