"""Reads the values of records that references to a scan name.

The source files are read now, and only if they have not changed since the run read them.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.errors import UnsupportedError
from headwater.graph.associations import Operator
from headwater.graph.duck.memory_tables import values
from headwater.graph.duck.sql import Untranslatable, quoted
from headwater.graph.duck.types import duckdb_type
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.trace.record_places import locate_references
from headwater.graph.trace.session import Capture, Session


def make_scan_table(session: Session, capture: Capture, operator: Operator, references: str, attributes: Mapping[int, str]) -> str:
    """Make a table `ref, a<attribute> …` with values of the records in `references` (a table `origin, ref`).

    `attributes` maps each attribute to its Spark type.

    Raises:
        SourceChangedError: a file with these records has changed.
        Untranslatable: the rows can no longer be determined, or DuckDB would read other values than Spark.
    """
    source = capture.source(operator.source)
    places = locate_references(session, capture, source, references)
    numbers = _list_files(session, places)
    files = [session.files[number].make_read_file() for number in numbers]
    shape = Shape.from_source(source)
    names = {column.attr: column.name for column in operator.attributes}
    absent_columns = get_format(shape.format).check_values(
        session.database, source, shape, files, {names[attr]: kind for attr, kind in attributes.items()}
    )
    try:
        needed_names = dict.fromkeys(names[attr] for attr in attributes if names[attr] not in absent_columns)
        query, parameters = session.reader.make_query(session.database, shape, files, places, needed_names) if files else (None, [])
    except UnsupportedError as error:
        raise Untranslatable(error.message) from error
    if query is None:
        empty = "".join(f", NULL::{duckdb_type(kind)} AS a{attr}" for attr, kind in attributes.items())
        return session.make_table(f"SELECT 0::BIGINT AS ref{empty} WHERE false")
    expressions = {attr: "NULL" if names[attr] in absent_columns else f"t.{quoted(names[attr])}" for attr in attributes}
    columns = "".join(f", CAST({expressions[attr]} AS {duckdb_type(kind)}) AS a{attr}" for attr, kind in attributes.items())
    return session.make_table(
        f"SELECT l.ref{columns} FROM {places} l JOIN ({query}) t ON t.__file = l.file AND t.__row = l.row", parameters
    )


def _list_files(session: Session, places: str) -> list[int]:
    in_memory = session.get_columns(places)
    if in_memory is not None:
        return [int(file) for file in values(in_memory["file"])]
    if session.count_rows(f"(SELECT 1 FROM {places} WHERE row IS NULL LIMIT 1)"):
        raise Untranslatable("records of a file that has changed")
    return [row[0] for row in session.database.execute(f"SELECT DISTINCT file FROM {places}").fetchall()]
