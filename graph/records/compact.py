"""Turns staged segments into one sorted Parquet file for each boundary, without rows to which no other row refers (`reached_rows`).

Rows are read in batches, so memory is bounded, however many or wide the rows are. Rows that are already in order are written directly.
Groups whose records are in order are sorted by their numbers (`group_rows`). Other rows are sorted in memory if they fit; otherwise DuckDB
sorts them, which spills to disk (`disk_sort`). Sorted runs with DELTA_BINARY_PACKED and zstd take 0.1 to 3 bytes for each association. A
trace finds the few row groups that it needs by their statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headwater.errors import HeadwaterError, InvalidCaptureError
from headwater.graph.associations import NONE, Boundary, Manifest, SegmentEntry
from headwater.graph.associations.segment import Segment
from headwater.graph.records.atomic_files import sync, write_durably
from headwater.graph.records.decode import Longs, arrow_of, longs_of
from headwater.graph.records.digests import seal
from headwater.graph.records.disk_sort import TooMuchError, spilling
from headwater.graph.records.group_numbers import Numbering
from headwater.graph.records.group_rows import GroupedRows
from headwater.graph.records.layout import FILES, MANIFEST, KeptFile, boundary_name, files_text, pack_manifest
from headwater.graph.records.lists import keep_lists
from headwater.graph.records.reached_rows import ReachedRows
from headwater.graph.records.row_order import clear_single, collided, in_order, ordered
from headwater.graph.records.tables import batches, files_written, order_of, parts_of, schema_of

_ROW_GROUP = 32_768
_IN_MEMORY = 8_000_000  # 64-bit integers; copies and the sort take five times as much
_IN_RUNS = 8_000_000  # 64-bit integers in sorted runs in memory
_PART = 4_000_000  # 64-bit integers that are read at a time
_AT_ONCE = 1 << 20  # rows of a run, so that the sort stays in the processor's cache
# DuckDB's memory in MB, and its threads. Wide rows need more, because a few of them fill the memory.
_MEMORY = ((512, 2), (768, 1))
# A group keeps its second hashes only if two keys share the first hash, which almost never happens.
_COLLIDED = "(SELECT key, unnest([min(checked), max(checked)]) AS checked FROM unsorted GROUP BY key HAVING min(checked) <> max(checked))"


def compact(manifest: Manifest, segments: Sequence[Segment], folder: Path) -> list[KeptFile]:
    """Write the kept files of a capture into `folder`. Return the files that the capture wrote.

    Raises:
        InvalidCaptureError: a segment is damaged, or differs from the manifest.
    """
    folder.mkdir(parents=True)
    by_boundary: dict[int, list[Segment]] = {boundary.boundary: [] for boundary in manifest.boundaries}
    entries = {entry.name: entry for entry in manifest.segments}
    for segment in map(_take_stated, [entries[segment.name] for segment in segments], segments):
        _check(manifest.capture, entries[segment.name], segment)
        if segment.footer.boundary >= 0:
            by_boundary[segment.footer.boundary].append(segment)
    files: list[KeptFile] = []
    if manifest.sink and manifest.sink.boundary in by_boundary:
        files = files_written(by_boundary[manifest.sink.boundary], manifest.sink.committed)
    numbering, reached = Numbering(manifest), ReachedRows(manifest)
    for boundary in reached.boundaries():
        if boundary.recomputed is not None:
            continue  # the job wrote no rows: traces compute them again
        _write_sorted(boundary, by_boundary[boundary.boundary], files, folder, numbering, reached)
    if manifest.sink and any(boundary.boundary == manifest.sink.boundary and boundary.is_placed for boundary in manifest.boundaries):
        files = _count_records(folder / boundary_name(manifest.sink.boundary), files)
    write_durably(folder / FILES, files_text(files))
    keep_lists(manifest, files, folder)
    content = pack_manifest(manifest)
    seal(folder, manifest.capture, {MANIFEST: content})
    write_durably(folder / MANIFEST, content)
    return files


def _count_records(table: Path, files: Sequence[KeptFile]) -> list[KeptFile]:
    """Return the files with the number of their records. If a sink states places, a record may have several rows."""
    counts = np.zeros(len(files), np.int64)
    last_place = (-1, -1)
    with pq.ParquetFile(table) as parquet:
        for batch in parquet.iter_batches(columns=["file", "row"]):
            file, row = (longs_of(pa.chunked_array([batch.column(name)])) for name in ("file", "row"))
            if len(file):
                new = np.concatenate(([(int(file[0]), int(row[0])) != last_place], (file[1:] != file[:-1]) | (row[1:] != row[:-1])))
                counts += np.bincount(file[new], minlength=len(files))
                last_place = int(file[-1]), int(row[-1])
    return [replace(kept_file, rows=int(count)) for kept_file, count in zip(files, counts, strict=True)]


def _write_sorted(
    boundary: Boundary, segments: Sequence[Segment], files: Sequence[KeptFile], folder: Path, numbering: Numbering, reached: ReachedRows
) -> None:
    """Write the kept table of a boundary in the first way that works: by numbers of groups, in memory, as the rows come, or by DuckDB."""
    schema = schema_of(boundary)
    target = folder / boundary_name(boundary.boundary)
    if numbering.is_numbered(boundary) and _write_grouped(boundary, segments, target, numbering, reached):
        return
    rows, at_once = sum(segment.footer.rows for segment in segments), _count_rows_at_once(schema)

    def read_batches() -> Iterator[pa.RecordBatch]:
        return reached.select_batches(boundary, batches(boundary, segments, files, at_once))

    is_small = rows * len(schema) <= _IN_MEMORY
    if is_small or reached.may_drop(boundary):
        parts = _take_few(read_batches(), _IN_MEMORY // len(schema), whole=rows + 1 if is_small else at_once)
        if parts is not None:
            parts.sort(key=lambda batch: _first(boundary, batch))  # often that is the order of the boundary
            _write(_order_rows(boundary, pa.Table.from_batches(parts, schema), numbering).to_batches(), schema, target)
            return
    if not _is_for_collisions(boundary) and _write_in_order(boundary, segments, files, target, numbering, reached):
        return
    for place, (megabytes, threads) in enumerate(_MEMORY):
        numbered_batches = _BatchStream(numbering.batch(boundary, batch) for batch in read_batches())
        try:
            with spilling(folder, rows, len(schema), megabytes=megabytes, threads=threads) as database, numbered_batches:
                database.register("unsorted", pa.RecordBatchReader.from_batches(schema, numbered_batches))
                keep_sorted(boundary, database, _COLLIDED if _is_for_collisions(boundary) else "unsorted", target)
        except TooMuchError:
            if place == len(_MEMORY) - 1:
                raise
        else:
            return


def _take_few(rows: Iterable[pa.RecordBatch], most: int, *, whole: int) -> list[pa.RecordBatch] | None:
    """Return all batches. Return None if they have more than `most` rows, or if one has `whole` rows, so that nothing was left out."""
    parts: list[pa.RecordBatch] = []
    count = 0
    for batch in rows:
        parts.append(batch)
        count += batch.num_rows
        if count > most or batch.num_rows >= whole:
            return None
    return parts


class _BatchStream(Iterator[pa.RecordBatch]):
    """Batches of rows for DuckDB. An error in them is stored and raised unchanged, because DuckDB replaces its message."""

    def __init__(self, rows: Iterator[pa.RecordBatch]) -> None:
        self._rows = rows
        self._fault: Exception | None = None

    def __next__(self) -> pa.RecordBatch:
        try:
            return next(self._rows)
        except (HeadwaterError, OSError) as error:
            self._fault = error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self._fault is not None:
            raise self._fault


def _count_rows_at_once(schema: pa.Schema) -> int:
    return max(_ROW_GROUP, min(_AT_ONCE, _PART // len(schema)))


class _UnorderedError(Exception):
    """Rows are not in order."""


def _write_in_order(
    boundary: Boundary, segments: Sequence[Segment], files: Sequence[KeptFile], target: Path, numbering: Numbering, reached: ReachedRows
) -> bool:
    """Write the rows of a boundary without sorting. Return false if they are not in order, one segment after the other."""
    schema = schema_of(boundary)
    filled_segments = [segment for segment in segments if segment.footer.rows]
    firsts = {id(segment): _first(boundary, next(batches(boundary, [segment], files, 1))) for segment in filled_segments}
    filled_segments.sort(key=lambda segment: firsts[id(segment)])

    def rows() -> Iterator[pa.RecordBatch]:
        last_key: list[int] = []
        for batch in reached.select_batches(boundary, batches(boundary, filled_segments, files, _count_rows_at_once(schema))):
            numbered_batch = numbering.batch(boundary, batch)
            by = [longs_of(pa.chunked_array([numbered_batch.column(name)])) for name in order_of(boundary)]
            if [int(column[0]) for column in by] < last_key or not in_order(by):
                raise _UnorderedError
            last_key = [int(column[-1]) for column in by]
            yield numbered_batch

    try:
        _write(rows(), schema, target)
    except _UnorderedError:
        target.unlink()
        return False
    return True


def _write_grouped(boundary: Boundary, segments: Sequence[Segment], target: Path, numbering: Numbering, reached: ReachedRows) -> bool:
    """Write the rows of numbered groups. Return false if the rows of a segment are not in the order of their records."""
    schema = schema_of(boundary)
    other_columns = [name for name in schema.names if name != "key"]
    at_once = _count_rows_at_once(schema)
    with TemporaryDirectory(dir=target.parent, prefix="runs-") as runs:
        rows = GroupedRows(Path(runs), most_rows=max(1, _IN_RUNS // len(schema)), at_once=at_once)
        for columns in (reached.select(boundary, part) for part in parts_of(boundary, segments, at_once)):
            if not rows.add(numbering.places(boundary, columns["key"]), [columns[name] for name in other_columns]):
                return False
        _write((_batch(schema, other_columns, *part) for part in rows.sorted()), schema, target)
    return True


def _batch(schema: pa.Schema, other_columns: Sequence[str], places: Longs, columns: Sequence[Longs]) -> pa.RecordBatch:
    key = np.where(places == 0, NONE, places - 1)
    arrays = {"key": arrow_of(key)} | {name: arrow_of(column) for name, column in zip(other_columns, columns, strict=True)}
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)


def _is_for_collisions(boundary: Boundary) -> bool:
    """Return whether a boundary has only the two hashes of each group."""
    return boundary.kind == "check" and {column.role for column in boundary.columns} == {"key", "check"}


def _first(boundary: Boundary, batch: pa.RecordBatch) -> list[int]:
    return [batch.column(name)[0].as_py() for name in order_of(boundary)]


def _order_rows(boundary: Boundary, table: pa.Table, numbering: Numbering) -> pa.Table:
    columns = {name: longs_of(table.column(name)) for name in table.schema.names}
    if _is_for_collisions(boundary):
        columns["key"], columns["checked"] = collided(columns["key"], columns["checked"])
    elif boundary.kind == "check":
        columns["checked"] = clear_single(columns["key"], columns["checked"])
    columns = numbering.own(boundary, columns)
    if referring := numbering.referring(boundary):
        first = [columns[name] for name in order_of(boundary) if name not in referring]
        columns = numbering.others(boundary, dict(zip(columns, ordered([*columns.values()], first), strict=True)))
    sorted_columns = ordered([*columns.values()], [columns[name] for name in order_of(boundary)])
    return pa.table([arrow_of(column) for column in sorted_columns], schema=table.schema)


def keep_sorted(boundary: Boundary, database: duckdb.DuckDBPyConnection, table: str, target: Path) -> None:
    """Write a table of the database as the kept table of a boundary, sorted and flushed to the disk."""
    schema = schema_of(boundary)
    names = ", ".join(schema.names)
    reader = database.sql(f"SELECT {names} FROM {table} ORDER BY {', '.join(order_of(boundary))}").to_arrow_reader(_ROW_GROUP)
    _write((batch.cast(schema) for batch in reader), schema, target)


def _write(rows: Iterable[pa.RecordBatch], schema: pa.Schema, target: Path) -> None:
    encoding = dict.fromkeys(schema.names, "DELTA_BINARY_PACKED")
    # Each page carries a checksum, so readers detect a table that was damaged on the disk.
    with pq.ParquetWriter(
        target, schema, compression="zstd", use_dictionary=False, column_encoding=encoding, write_page_checksum=True
    ) as writer:
        for batch in rows:
            writer.write_batch(batch, row_group_size=_ROW_GROUP)
    sync(target)


def _take_stated(entry: SegmentEntry, segment: Segment) -> Segment:
    """Return a segment with files and runs from the manifest, if the writer of the segment did not know them."""
    footer = segment.footer
    if entry.files is not None and entry.runs is not None:
        footer = replace(footer, files=entry.files, runs=entry.runs)
    return segment if footer is segment.footer else replace(segment, footer=footer)


def _check(capture: str, entry: SegmentEntry, segment: Segment) -> None:
    footer = segment.footer
    for subject, stated_count, actual_count in (
        ("capture", entry.origin or capture, footer.capture),
        ("boundary", entry.boundary, footer.boundary),
        ("attempt", entry.attempt, footer.attempt),
        ("rows", entry.rows, footer.rows),
    ):
        if stated_count != actual_count:
            raise InvalidCaptureError(
                f"Segment {segment.name} has {subject} {actual_count}; the manifest says {stated_count}.", field=segment.name
            )
