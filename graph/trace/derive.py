"""Groups, and matches of semi-joins, whose associations were not written: found again from the source, when a trace asks for them.

One record stands for such a group (docs: capture format, "Derived boundaries"). It is read, the aggregate's keys are computed from it,
and the records of the source that pass the filters below the aggregate and have equal keys are the group. Matches are referred to by their
key itself. What comes out has the shape of the kept table of the boundary, so that traces need not know the difference. Exact or nothing:
a source that has changed since is said, and gives no record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import duckdb

from headwater.errors import SourceChangedError
from headwater.graph.associations import NONE, Boundary, Operator
from headwater.graph.model import node_id
from headwater.graph.records import FileBlock, uri_of
from headwater.graph.records.tables import schema_of
from headwater.graph.trace.footers import check_columns
from headwater.graph.trace.plan import references
from headwater.graph.trace.reader import exactly, literal, quoted
from headwater.graph.trace.scanned import scanned
from headwater.graph.trace.session import Capture, KnownFile, Session, mapped
from headwater.graph.trace.shapes import Shape
from headwater.graph.trace.sought import Sought, key_of, sought
from headwater.graph.trace.translate import Untranslatable
from headwater.graph.trace.types import duckdb_type

# a file that DuckDB cannot read is not the end of a trace
_FAULTS = (SourceChangedError, Untranslatable, duckdb.IOException, duckdb.InvalidInputException, duckdb.ConversionException)


def groups(session: Session, capture: Capture, boundary: Boundary, wanted: str) -> str:
    """The rows of the groups, or matches of the keys, in `wanted` (`ref`), as a table or query with the columns of the kept table."""
    if not is_derived(session, capture, boundary):
        return session.rows(capture, boundary)
    try:
        return _found(session, capture, boundary, f"SELECT DISTINCT ref FROM {wanted} WHERE ref <> {NONE}")
    except _FAULTS as error:
        return _lost(session, capture, boundary, error)


def all_groups(session: Session, capture: Capture, boundary: Boundary) -> str | None:
    """All rows of a boundary that is to be found again, as a table; None where that cannot be done any more."""
    try:
        return _found(session, capture, boundary, _standing(session, capture, boundary))
    except _FAULTS:
        return None


def groups_of(session: Session, capture: Capture, boundary: Boundary, records: str) -> str:
    """The rows of the boundary that hold one of these records (a table with the column `ref`), in the same shape."""
    if not is_derived(session, capture, boundary):
        return session.rows(capture, boundary)
    try:
        made = sought(capture, boundary)
        _check(session, capture, made, _files(session, capture, made.scan) if made.needed else [])
        met = _keyed(session, capture, made, f"SELECT DISTINCT ref FROM {records}", made.column)
        if made.told:
            key = key_of("m.k0")
            return session.table(f"SELECT {key} AS key, m.{made.column}{made.named('m')} FROM {met} m WHERE m.k0 IS NOT NULL")
        stands = _keyed(session, capture, made, _standing(session, capture, boundary), "key")
    except _FAULTS as error:
        return _lost(session, capture, boundary, error)
    equal = " AND ".join(f"m.k{place} IS NOT DISTINCT FROM s.k{place}" for place in range(len(made.keys))) or "true"
    return session.table(f"SELECT s.key, m.{made.column} FROM {met} m JOIN {stands} s ON {equal}")


def is_derived(session: Session, capture: Capture, boundary: Boundary) -> bool:
    """Whether a boundary's rows have to be found again: they were neither written nor kept since."""
    return boundary.derived is not None and not session.kept(capture, boundary.boundary).exists()


def _found(session: Session, capture: Capture, boundary: Boundary, standing: str) -> str:
    """The rows of the groups that records stand for, or matches of keys; `standing` is a query of their references, `ref`."""
    made = sought(capture, boundary)
    files = _files(session, capture, made.scan)
    _check(session, capture, made, files)
    if made.told:
        stands = session.table(f"SELECT ref AS key, {key_of('ref')} AS k0 FROM ({standing})")
    else:
        stands = _keyed(session, capture, made, standing, "key")
    if not files or not session.count(stands):
        return _empty(session, boundary)
    scan, shape = f"v{made.scan.id}", Shape.of_source(capture.source(made.scan.source))
    equal = " AND ".join(f"{key} IS NOT DISTINCT FROM s.k{place}" for place, key in enumerate(made.keys)) or "true"
    found = session.table(
        f"SELECT s.key, {scan}.ref AS {made.column}{made.computed} "
        f"FROM {_scanned(shape, made, files)} {scan} JOIN {stands} s ON {equal}{made.where}",
        [[exactly(file.readable().path) for file, _ in files]],
    )
    for file, _ in files:
        replace(file).readable()  # asks again: one may have been written while it was read
    return found


def _check(session: Session, capture: Capture, made: Sought, files: Sequence[tuple[KnownFile, int]]) -> None:
    """See that the files hold what the groups are computed from as Spark read it."""
    shape = Shape.of_source(capture.source(made.scan.source))
    hidden, split = {"file_row_number", "file_index"}, {name.lower() for name, _ in shape.partitions}
    names = {column.attr: column.name for column in made.scan.attributes}
    if own := [name for name, _ in shape.columns if name.lower() in hidden]:
        raise Untranslatable(f"a record of files with a column {own[0]}")
    wanted = {names[attr]: kind for attr, kind in made.needed.items() if names[attr].lower() not in split}
    check_columns(session.database, [file.readable() for file, _ in files], wanted)


def _keyed(session: Session, capture: Capture, made: Sought, records: str, name: str) -> str:
    """Keys and values of those records of the scan that pass the filters: a table `<name>, k0 …`. `records` gives the column `ref`."""
    rows = session.table(f"SELECT 0 AS origin, ref FROM ({records})")
    join = ""
    if made.needed:
        join = f" JOIN {scanned(session, capture, made.scan, rows, made.needed)} v{made.scan.id} ON v{made.scan.id}.ref = c.ref"
    keys = "".join(f", {key} AS k{place}" for place, key in enumerate(made.keys))
    return session.table(f"SELECT c.ref AS {name}{keys}{made.computed} FROM {rows} c{join}{made.where}")


def _standing(session: Session, capture: Capture, boundary: Boundary) -> str:
    """The records that stand for the groups of a boundary, or the keys of its matches: by what others refer to them. A query of `ref`."""
    rows = capture.plan.boundary(capture.plan.operators[boundary.operator])
    if rows is not None and rows.boundary != boundary.boundary:  # of a semi-join with a condition, whose rows have the key
        return f"SELECT DISTINCT key AS ref FROM {session.rows(capture, rows)} WHERE key <> {NONE}"
    named = [
        f"SELECT DISTINCT {column.name} AS ref FROM {session.rows(capture, other)} WHERE {column.name} <> {NONE}"
        for other in capture.manifest.boundaries
        for column in references(other)
        if column.operator == boundary.operator
    ]
    return " UNION ".join(named) or "SELECT NULL::BIGINT AS ref WHERE false"


def _scanned(shape: Shape, made: Sought, files: Sequence[tuple[KnownFile, int]]) -> str:
    """A query of the scan's records, `ref` and the needed values, over the files that are its one parameter."""
    names = {column.attr: column.name for column in made.scan.attributes}
    types = {name.lower(): kind for name, kind in shape.partitions}
    places = {place: ordinal for place, (_, ordinal) in enumerate(files)}
    values = ""
    for attr, kind in made.needed.items():
        name = names[attr]
        if name.lower() in types:
            by_place = {place: file.partition.get(_own(file, name)) for place, (file, _) in enumerate(files)}
            value = _constant(by_place)
        else:
            value = f"p.{quoted(name)}"
        values += f", CAST({value} AS {duckdb_type(kind)}) AS a{attr}"
    ordinal = mapped("p.file_index", places)
    return (
        f"(SELECT ({ordinal} << 40) | p.file_row_number AS ref{values} "
        f"FROM read_parquet(?, union_by_name = true, hive_partitioning = false) p)"
    )


def _own(file: KnownFile, name: str) -> str:
    return next((column for column in file.partition if column.lower() == name.lower()), name)


def _constant(values: dict[int, str | None]) -> str:
    """A partition column: one value a file."""
    branches = " ".join(f"WHEN {place} THEN {'NULL' if value is None else literal(value)}" for place, value in values.items())
    return f"(CASE p.file_index {branches} END)"


def _files(session: Session, capture: Capture, scan: Operator) -> list[tuple[KnownFile, int]]:
    """The files that the scan read, with their ordinals."""
    source = capture.source(scan.source)
    dataset = node_id("dataset", source.dataset.namespace, source.dataset.name)
    shape = Shape.of_source(source)
    return [
        (session.known(FileBlock(uri_of(file.path), file.length, file.modified), dataset, shape, file.partition), file.ordinal)
        for file in source.files
    ]


def _lost(session: Session, capture: Capture, boundary: Boundary, error: SourceChangedError | Untranslatable | duckdb.Error) -> str:
    operator = capture.plan.operators[boundary.operator]
    reason = error.message if isinstance(error, SourceChangedError) else str(error).partition("\n")[0]
    session.say(operator.text or operator.op, f"records were left to be found again, and cannot be: {reason}", "missing")
    return _empty(session, boundary)


def _empty(session: Session, boundary: Boundary) -> str:
    columns = ", ".join(f"NULL::BIGINT AS {name}" for name in schema_of(boundary).names)
    return session.table(f"SELECT {columns} WHERE false")
