"""The data of one version of a dataset: its files as the runs wrote them, or a reason why the version can no longer be read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headwater.errors import InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import AsOf
from headwater.graph.trace.datasets import Dataset, find_shape, list_current_files
from headwater.graph.trace.selection import group_by_shape
from headwater.graph.trace.session import KnownFile, Session
from headwater.graph.trace.version_diff.answer import NOW, DiffSide
from headwater.graph.trace.versions import find_version
from headwater.graph.versions.blocks import list_blocks

_NO_ROWS = np.empty(0, np.int64)

_HINT = "A version is a number of `headwater versions`, a run, `now`, or an instant such as 2026-03-01 or 2026-03-01T12:00:00Z."


@dataclass(frozen=True, slots=True)
class Side:
    """A version of a dataset, or the part of it to compare.

    `left_out` are deleted rows, and `chosen` the only rows to compare, both by the number of a file.
    """

    stated: DiffSide
    shape: Shape
    files: Sequence[KnownFile]
    left_out: Mapping[int, Longs]
    chosen: Mapping[int, Longs]


async def find_side(session: Session, graph: GraphStore | None, dataset: Dataset, name: str) -> Side:
    """Return a version of a dataset.

    Raises:
        NotFoundError: there is no such version, or no data at the dataset's path any more.
        InvalidQueryError: `name` does not name a version.
        UnsupportedError: the records of that version are unknown, or not in files.
    """
    shape, _ = await asyncio.to_thread(find_shape, session, dataset)
    if not get_format(shape.format).in_files or get_format(shape.format).spans_ordinals:
        raise UnsupportedError(
            f"Versions of {dataset.name} cannot be compared: its records are not in files ({shape.format}).",
            hint="`headwater versions` lists the blocks without their records.",
        )
    session.deleted_rows.clear()
    if name == NOW:
        return await asyncio.to_thread(_side_now, session, dataset, shape)
    as_of = name
    if name.isdecimal() and not get_format(shape.format).is_table:
        as_of = await _version_of_block(graph, session.tenant, dataset, int(name))
    try:
        found = await find_version(session, graph, dataset, as_of)
    except InvalidQueryError as error:
        if error.field != "as_of":
            raise
        raise InvalidQueryError(error.message, field="version", hint=_HINT) from None
    if found.version is None:
        raise NotFoundError(f"{dataset.name} has no version {name}.", hint="`headwater versions` lists its versions.")
    version = found.version
    stated = _stated(name, as_of, version.as_of)
    return Side(stated, version.shape, [file for file in version.files if dataset.contains(file)], dict(session.deleted_rows), {})


def _side_now(session: Session, dataset: Dataset, shape: Shape) -> Side:
    """Return the present version of the dataset. If only a table's catalog knows the current snapshot, use the newest in the folder."""
    of_format = get_format(shape.format)
    if not of_format.is_table:
        files = list_current_files(session, dataset, shape)
        return Side(DiffSide(NOW, None, None, ()), shape, files, dict(session.deleted_rows), {})
    held = of_format.find_content(session.look, dataset.path, shape)
    if held is None:
        raise NotFoundError(f"{dataset.name} is not a table of {shape.format} any more: its folder has no metadata.")
    if held.label is not None:
        session.report(dataset.name, f"its records are those of snapshot {held.label}, the newest in its folder", "version")
    known = [(session.add_file(file.block, dataset.id, shape, file.partition), file.deleted_rows) for file in held.files]
    left_out = {file.number: rows for file, rows in known if rows is not None}
    files = [file for file, _ in known if dataset.contains(file)]
    return Side(DiffSide(NOW, None, None, ()), shape, files, left_out, {})


async def _version_of_block(graph: GraphStore | None, tenant: str, dataset: Dataset, sequence: int) -> str:
    blocks = await list_blocks(graph, tenant, dataset.id) if graph is not None else []
    if not 1 <= sequence <= len(blocks):
        there = f"It has the blocks 1 to {len(blocks)}." if blocks else "No completed run is known to have written it."
        raise InvalidQueryError(f"{dataset.name} has no block {sequence}.", field="version", hint=there)
    return blocks[sequence - 1].version


def _stated(name: str, as_of: str, stated: AsOf) -> DiffSide:
    return DiffSide(name, as_of, stated.at, stated.runs)


def leave_out_common(before: Side, after: Side) -> tuple[Side, Side]:
    """Return both versions without the records that they share as a part of the same file.

    A file that both versions have is not read. If they have different rows of the file, only these rows are read.
    """
    own_before, own_after = {file.number for file in before.files}, {file.number for file in after.files}
    common = own_before & own_after
    return _own_part(before, after, common), _own_part(after, before, common)


def _own_part(side: Side, other: Side, common: set[int]) -> Side:
    chosen: dict[int, Longs] = {}
    for number in common:
        here, there = side.left_out.get(number, _NO_ROWS), other.left_out.get(number, _NO_ROWS)
        rows = np.setdiff1d(there, here)  # rows that the other version has lost
        if len(rows):
            chosen[number] = rows.astype(np.int64)
    files = [file for file in side.files if file.number not in common or file.number in chosen]
    return Side(side.stated, side.shape, files, side.left_out, chosen)


def check_readable(dataset: Dataset, side: Side) -> None:
    """Check that the files of a version have not changed since the runs wrote them.

    Raises:
        UnsupportedError: a file was deleted or replaced, or cannot be read.
    """
    lost = [file for file in side.files if file.problem]
    if not lost:
        return
    first, more = lost[0], f" So it is with {len(lost) - 1:,} more of its files." if len(lost) > 1 else ""
    raise UnsupportedError(
        f"Version {side.stated.name} of {dataset.name} cannot be compared: its data is not there as it was written. "
        f"{first.block.path}: {first.problem}.{more}",
        hint="Its records can still be traced by file and row (`headwater trace DATASET --row FILE:N --as-of …`), without their values.",
    )


def read_side(session: Session, side: Side) -> str:
    """Read the records of a version into a table of `__file`, `__row`, `__line` and the dataset's columns."""
    parts: list[tuple[str, list[object]]] = []
    whole = [file for file in side.files if file.number not in side.chosen]
    for shape, files in group_by_shape(side.shape, whole).items():
        query, parameters = session.reader.make_query(session.database, shape, [file.make_read_file() for file in files])
        parts.append((f"SELECT * FROM ({query}){_without(session, side, files)}", parameters))
    some = [file for file in side.files if file.number in side.chosen]
    for shape, files in group_by_shape(side.shape, some).items():
        wanted = {file.number: side.chosen[file.number] for file in files}
        parts.append(session.reader.make_query(session.database, shape, [file.make_read_file() for file in files], wanted))
    if not parts:
        parts.append(session.reader.make_query(session.database, side.shape, []))
    union = " UNION ALL BY NAME ".join(f"SELECT * FROM ({query})" for query, _ in parts)
    return session.make_table(union, [value for _, parameters in parts for value in parameters])


def _without(session: Session, side: Side, files: Sequence[KnownFile]) -> str:
    left_out = {file.number: side.left_out[file.number] for file in files if file.number in side.left_out}
    if not left_out:
        return ""
    numbers = [np.full(len(rows), number, np.int64) for number, rows in left_out.items()]
    name = session.keep_in_memory({"file": np.concatenate(numbers), "row": np.concatenate(list(left_out.values())).astype(np.int64)})
    return f" ANTI JOIN {name} o ON o.file = __file AND o.row = __row"
