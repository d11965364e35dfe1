"""The columns of kept tables, and the conversion of a boundary's segments to Arrow batches with these columns.

    sink     file, row, r0 …, length               `file` is an index into the files that the capture wrote, by path; `length` in bytes,
                                                    where records are ranges of bytes, and `row` their offset
    group    key, r0 …, branch7 …
    window   ref, begin, size, r0 …, end0, size0 …, peers, total, partition3
                                                    `ref` is the row's own reference; its partition is the rows begin … begin + size − 1;
                                                    the first `peers` of them have its rank or a lower one
    match    key, r0 …, v0 …, nulls
    semi     ref, key, r0 …, v0 …, nulls
    rows     ref, r0 …
    extent   ref, length                            at a scan of byte ranges
    keys     key, part, v0 …                        at a scan of rows with keys: eight bytes of the key in each v
    check    key, checked                           only hashes that two keys of an aggregate share
    check    key, r0 …, checked, v0 …, nulls        for groups that a trace computes again; `checked` may be 0 if no two keys share the hash
    chosen   key, r0 …                              the rows that `first` and similar functions took of each group

Rows to which no other row refers are left out (`reached_rows`). `key` and references to groups are numbers of groups (`group_numbers`). In
captures of earlier releases all rows are kept, and numbers may be hashes.

`checked` (of groups and matches too) is a second hash of the key.

`branch7` (of any kind) is the projection of operator 7, an Expand, that made the row; `partition3` is the hash of the row's
partition, with which operator 3, a limit of ranks, recorded it.

`v<n>` is the n-th value that a condition compares. `nulls` has a bit for each null value. The rows of a window partition have consecutive
references, so every frame is a range of references.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa

from headwater.errors import InvalidCaptureError
from headwater.graph.associations import Boundary
from headwater.graph.associations.parts import WrittenFile
from headwater.graph.associations.segment import Segment
from headwater.graph.records.decode import Longs, arrow_of, decode_parts
from headwater.graph.records.implied_columns import Columns, Part, own_columns
from headwater.graph.records.layout import KeptFile
from headwater.graph.records.safe_names import FileBlock, block_at

_OWN = {
    "sink": ["file", "row"],
    "group": ["key"],
    "window": ["ref", "begin", "size"],
    "match": ["key"],
    "semi": ["ref", "key"],
    "rows": ["ref"],
    "check": ["key"],
    "extent": ["ref"],
    "keys": ["key"],
    "chosen": ["key"],
}
_ABOUT = frozenset({"branch", "partition"})
_OWN_NAMES = frozenset({"key", "nulls", "total", "place", "length", "part"})


def ref_name(index: int) -> str:
    return f"r{index}"


def value_name(index: int) -> str:
    return f"v{index}"


def about_name(role: str, operator: int | None) -> str:
    """Return the name of the kept column for a `branch` or `partition` column that belongs to an operator."""
    return f"{role}{operator}"


def schema_of(boundary: Boundary) -> pa.Schema:
    references = [ref_name(index) for index, _ in enumerate(c for c in boundary.columns if c.role == "ref")]
    other_names = [
        name for name, column in zip(_roles(boundary), boundary.columns, strict=True) if column.role not in {"key", "ref", "place"}
    ]
    return pa.schema([(name, pa.int64()) for name in [*_OWN[boundary.kind], *references, *other_names]])


def order_of(boundary: Boundary) -> list[str]:
    if boundary.kind in {"window", "semi", "rows", "extent"}:
        return ["ref"]
    names: list[str] = schema_of(boundary).names
    return names


def referred_names(boundary: Boundary) -> list[tuple[str, int]]:
    """Return the kept columns that refer to rows or groups of an operator, with the operator."""
    pairs = zip(_roles(boundary), boundary.columns, strict=True)
    return [(name, column.operator) for name, column in pairs if column.role in {"ref", "partition"} and column.operator is not None]


def batches(boundary: Boundary, segments: Sequence[Segment], files: Sequence[KeptFile], rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all segments of a boundary, one segment after the other, in batches of about `rows` rows.

    Raises:
        InvalidCaptureError: a segment is damaged, or does not fit the boundary.
    """
    index = {file.block.path: number for number, file in enumerate(files)}
    schema = schema_of(boundary)
    for segment in segments:
        if segment.footer.rows <= rows:  # a small segment is read once
            all_parts = list(_parts(boundary, segment, rows))
            read_again = partial(iter, all_parts)
        else:
            read_again = partial(_parts, boundary, segment, rows)
        add_own_columns, first = own_columns(boundary, segment, index, read_again), 0
        for count, columns in read_again():
            all_columns = add_own_columns(first, count, columns)
            arrays = [all_columns[name] if name in all_columns else columns[name] for name in schema.names]
            yield pa.RecordBatch.from_arrays([arrow_of(array) for array in arrays], schema=schema)
            first += count


def parts_of(boundary: Boundary, segments: Sequence[Segment], rows: int) -> Iterator[Columns]:
    """Yield the columns of a `group` boundary by their kept names, in parts. Segments are ordered by their first row.

    Raises:
        InvalidCaptureError: a segment is damaged, or does not fit the boundary.
    """
    names = schema_of(boundary).names[1:]

    def first(segment: Segment) -> list[int]:
        _, columns = next(_parts(boundary, segment, 1))
        return [int(columns[name][0]) for name in names]

    for segment in sorted((segment for segment in segments if segment.footer.rows), key=first):
        for _, columns in _parts(boundary, segment, rows):
            yield columns


def _parts(boundary: Boundary, segment: Segment, rows: int) -> Iterator[Part]:
    return ((count, _by_role(boundary, segment, columns)) for count, columns in decode_parts(segment, rows))


def files_written(segments: Sequence[Segment], committed: Iterable[WrittenFile] = ()) -> list[KeptFile]:
    """Return the files of a sink, by path. The committed state of a file replaces the task's, if its length is the same.

    Raises:
        InvalidCaptureError: two segments disagree about a file, or runs name a file that is not listed.
    """
    blocks: dict[str, FileBlock] = {}
    writers: dict[str, int] = {}
    rows: dict[str, int] = {}
    for segment in segments:
        paths = [_written(segment, file, blocks) for file in segment.footer.files]
        writers |= dict.fromkeys(paths, segment.footer.attempt)
        for run in segment.footer.runs:
            if len(run) != 2 or not 0 <= run[0] < len(paths) or run[1] < 0:
                raise InvalidCaptureError(f"Segment {segment.name} has the run {list(run)}, for {len(paths)} files.", field=segment.name)
            rows[paths[run[0]]] = rows.get(paths[run[0]], 0) + run[1]
    for file in committed:
        block = block_at(file.path, file.length, file.modified)
        if block.path in blocks and blocks[block.path].length == block.length:
            blocks[block.path] = block
    return [KeptFile(blocks[path], rows.get(path, 0), writers[path]) for path in sorted(blocks)]


def _written(segment: Segment, file: WrittenFile, blocks: dict[str, FileBlock]) -> str:
    block = block_at(file.path, file.length, file.modified)
    if blocks.setdefault(block.path, block) != block:
        raise InvalidCaptureError(
            f"Segment {segment.name} says that it wrote {block.path} with {block}; another says {blocks[block.path]}.", field=segment.name
        )
    return block.path


def _roles(boundary: Boundary) -> list[str]:
    """Return the kept name of each column of the segments. The key of a window has no kept column, because it only separates partitions."""
    references = itertools.count()
    values = itertools.count()
    names: list[str] = []
    for column in boundary.columns:
        if column.role == "ref":
            names.append(ref_name(next(references)))
        elif column.role == "value":
            names.append(value_name(next(values)))
        elif column.role == "check":
            names.append("checked")
        elif column.role == "rank":
            names.append("peers")
        elif column.role in _ABOUT:
            names.append(about_name(column.role, column.operator))
        else:
            names.append(column.role if column.role in _OWN_NAMES else _frame_name(column.role, column.frame))
    return names


def _by_role(boundary: Boundary, segment: Segment, columns: Sequence[Longs]) -> dict[str, Longs]:
    if len(columns) != len(boundary.columns):
        raise InvalidCaptureError(
            f"Segment {segment.name} has {len(columns)} columns; boundary {boundary.boundary} has {len(boundary.columns)}.",
            field=segment.name,
        )
    return dict(zip(_roles(boundary), columns, strict=True))


def _frame_name(role: str, frame: int | None) -> str:
    return f"{role.removeprefix('frame_')}{frame}"
