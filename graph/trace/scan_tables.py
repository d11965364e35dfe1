"""The values that references to a scan's records stand for.

Source files are read now, and only if they are what the run read.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.errors import UnsupportedError
from headwater.graph.associations import Operator
from headwater.graph.duck.memory_tables import values
from headwater.graph.duck.sql import Untranslatable, quoted
from headwater.graph.duck.types import duckdb_type
from headwater.graph.files.formats import format_of
from headwater.graph.files.shapes import Shape
from headwater.graph.trace.record_places import placed
from headwater.graph.trace.session import Capture, Session


def scanned(session: Session, capture: Capture, operator: Operator, wanted: str, attributes: Mapping[int, str]) -> str:
    """A table `ref, a<attribute> …` of the records in `wanted` (`origin, ref`). `attributes` has Spark's type of each.

    Raises:
        SourceChangedError: a file that holds them is not what it was.
        Untranslatable: it is not known any more which records they were, or their files hold something else than Spark read of them.
    """
    source = capture.source(operator.source)
    located = placed(session, capture, source, wanted)
    numbers = _files(session, located)
    files = [session.files[number].readable() for number in numbers]
    shape = Shape.of_source(source)
    names = {column.attr: column.name for column in operator.attributes}
    absent = format_of(shape.format).check_values(
        session.database, source, shape, files, {names[attr]: kind for attr, kind in attributes.items()}
    )
    try:
        needed = dict.fromkeys(names[attr] for attr in attributes if names[attr] not in absent)
        query, parameters = session.reader.query(session.database, shape, files, located, needed) if files else (None, [])
    except UnsupportedError as error:
        raise Untranslatable(error.message) from error
    if query is None:
        empty = "".join(f", NULL::{duckdb_type(kind)} AS a{attr}" for attr, kind in attributes.items())
        return session.table(f"SELECT 0::BIGINT AS ref{empty} WHERE false")
    expressions = {attr: "NULL" if names[attr] in absent else f"t.{quoted(names[attr])}" for attr in attributes}
    listed = "".join(f", CAST({expressions[attr]} AS {duckdb_type(kind)}) AS a{attr}" for attr, kind in attributes.items())
    return session.table(f"SELECT l.ref{listed} FROM {located} l JOIN ({query}) t ON t.__file = l.file AND t.__row = l.row", parameters)


def _files(session: Session, located: str) -> list[int]:
    """The files of located records, by number."""
    known = session.columns(located)
    if known is not None:
        return [int(file) for file in values(known["file"])]
    if session.count(f"(SELECT 1 FROM {located} WHERE row IS NULL LIMIT 1)"):
        raise Untranslatable("records of a file that has changed")
    return [row[0] for row in session.database.execute(f"SELECT DISTINCT file FROM {located}").fetchall()]
