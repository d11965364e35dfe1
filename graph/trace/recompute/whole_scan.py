"""Reads all records of a scan from the files that the job read, if they have not changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.errors import SourceChangedError
from headwater.graph.associations import Operator
from headwater.graph.duck.sql import literal, quoted
from headwater.graph.duck.types import duckdb_type
from headwater.graph.files.footers import check_columns
from headwater.graph.files.shapes import Shape
from headwater.graph.model import node_id
from headwater.graph.records import block_at
from headwater.graph.trace.session import Capture, KnownFile, Session, mapped


@dataclass(frozen=True, slots=True)
class WholeScan:
    """The records of a scan: `sql` is a query of `ref` and the needed values, `a<attribute>`."""

    sql: str
    files: Sequence[KnownFile]

    def check(self) -> None:
        """Check that no file has changed while it was read.

        Raises:
            SourceChangedError: one was.
        """
        for file in self.files:
            if not file.is_pinned and (problem := replace(file, anew=True).problem):
                file.excuse()
                raise SourceChangedError(f"{file.block.path}: {problem}.")


def whole_scan(session: Session, capture: Capture, scan: Operator, needed: Mapping[int, str]) -> WholeScan:
    """Return all records of a scan.

    Raises:
        SourceChangedError: a file is not what it was.
        Untranslatable: the files hold something else than Spark read of them.
    """
    shape, names = Shape.of_source(capture.source(scan.source)), {column.attr: column.name for column in scan.attributes}
    files = _files(session, capture, scan, shape)
    read = [file.readable() for file, _ in files]
    split = {name.lower(): kind for name, kind in shape.partitions}
    wanted = {names[attr]: kind for attr, kind in needed.items() if names[attr].lower() not in split}
    absent = check_columns(session.database, read, wanted)
    if not files:
        empty = "".join(f", NULL::{duckdb_type(kind)} AS a{attr}" for attr, kind in needed.items())
        return WholeScan(f"(SELECT NULL::BIGINT AS ref{empty} WHERE false)", ())
    values = ""
    for attr, kind in needed.items():
        constant = names[attr].lower() in split
        stored = "NULL" if names[attr] in absent else f"p.{quoted(names[attr])}"
        value = _constant([_value(file, names[attr]) for file, _ in files]) if constant else stored
        values += f", CAST({value} AS {duckdb_type(kind)}) AS a{attr}"
    ordinal = mapped("p.file_index", {place: ordinal for place, (_, ordinal) in enumerate(files)})
    listed = ", ".join(literal(file.stored.scan) for file in read)
    return WholeScan(
        f"(SELECT ({ordinal} << 40) | p.file_row_number AS ref{values} "
        f"FROM read_parquet([{listed}], union_by_name = true, hive_partitioning = false) p)",
        [file for file, _ in files],
    )


def _files(session: Session, capture: Capture, scan: Operator, shape: Shape) -> list[tuple[KnownFile, int]]:
    """The files that the scan read, with their ordinals."""
    source = capture.source(scan.source)
    dataset = node_id("dataset", source.dataset.namespace, source.dataset.name)
    session.look.expect(file.path for file in capture.files_of(source))
    return [
        (session.known(block_at(file.path, file.length, file.modified), dataset, shape, file.partition), file.ordinal)
        for file in capture.files_of(source)
    ]


def _value(file: KnownFile, name: str) -> str | None:
    return next((value for column, value in file.partition.items() if column.lower() == name.lower()), None)


def _constant(values: Sequence[str | None]) -> str:
    """A partition column: one value a file."""
    branches = " ".join(f"WHEN {place} THEN {'NULL' if value is None else literal(value)}" for place, value in enumerate(values))
    return f"(CASE p.file_index {branches} END)"
