"""Reads all records of a scan from the files that the job read, if the files have not changed."""

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
from headwater.graph.trace.session import Capture, KnownFile, Session, format_mapping


@dataclass(frozen=True, slots=True)
class WholeScan:
    """All records of a scan: `sql` is a query of `ref` and the needed values, `a<attribute>`."""

    sql: str
    files: Sequence[KnownFile]

    def check(self) -> None:
        """Check that no file has changed while the query ran.

        Raises:
            SourceChangedError: a file has changed.
        """
        for file in self.files:
            if not file.is_pinned and (problem := replace(file, must_look=True).problem):
                file.report_changes()
                raise SourceChangedError(f"{file.block.path}: {problem}.")


def make_whole_scan(session: Session, capture: Capture, scan: Operator, types: Mapping[int, str]) -> WholeScan:
    """Return a query of all records of a scan.

    Raises:
        SourceChangedError: a file has changed since the run read it.
        Untranslatable: DuckDB would read other values than Spark.
    """
    shape, names = Shape.from_source(capture.source(scan.source)), {column.attr: column.name for column in scan.attributes}
    files = _list_files(session, capture, scan, shape)
    read_files = [file.make_read_file() for file, _ in files]
    split = {name.lower(): kind for name, kind in shape.partitions}
    column_types = {names[attr]: kind for attr, kind in types.items() if names[attr].lower() not in split}
    absent_columns = check_columns(session.database, read_files, column_types)
    if not files:
        empty = "".join(f", NULL::{duckdb_type(kind)} AS a{attr}" for attr, kind in types.items())
        return WholeScan(f"(SELECT NULL::BIGINT AS ref{empty} WHERE false)", ())
    values = ""
    for attr, kind in types.items():
        constant = names[attr].lower() in split
        stored = "NULL" if names[attr] in absent_columns else f"p.{quoted(names[attr])}"
        value = _make_constant([_make_value(file, names[attr]) for file, _ in files]) if constant else stored
        values += f", CAST({value} AS {duckdb_type(kind)}) AS a{attr}"
    ordinal = format_mapping("p.file_index", {place: ordinal for place, (_, ordinal) in enumerate(files)})
    scanned_files = ", ".join(literal(file.stored.scan) for file in read_files)
    return WholeScan(
        f"(SELECT ({ordinal} << 40) | p.file_row_number AS ref{values} "
        f"FROM read_parquet([{scanned_files}], union_by_name = true, hive_partitioning = false) p)",
        [file for file, _ in files],
    )


def _list_files(session: Session, capture: Capture, scan: Operator, shape: Shape) -> list[tuple[KnownFile, int]]:
    source = capture.source(scan.source)
    dataset = node_id("dataset", source.dataset.namespace, source.dataset.name)
    session.look.expect(file.path for file in capture.files_of(source))
    return [
        (session.add_file(block_at(file.path, file.length, file.modified), dataset, shape, file.partition), file.ordinal)
        for file in capture.files_of(source)
    ]


def _make_value(file: KnownFile, name: str) -> str | None:
    return next((value for column, value in file.partition.items() if column.lower() == name.lower()), None)


def _make_constant(values: Sequence[str | None]) -> str:
    """Return SQL for a partition column, which has one value for each file."""
    branches = " ".join(f"WHEN {place} THEN {'NULL' if value is None else literal(value)}" for place, value in enumerate(values))
    return f"(CASE p.file_index {branches} END)"
