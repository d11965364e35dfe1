"""Reads records again from their files, all of them or by row number, as a table of a trace's database.

Traces use it to select the records to begin with, to choose a witness by values, and to show values in an answer. The reader reads the
present file: the caller has checked that it is the right one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.formats import get_format
from headwater.graph.files.read_files import FileReader, ReadFile, WantedRows
from headwater.graph.files.shapes import Shape

_numbers = count()


class Reader(FileReader):
    """Reads records of files in any format."""

    def make_table(self, database: Database, shape: Shape, files: Sequence[ReadFile], wanted_rows: WantedRows | None = None) -> str:
        """Make a temporary table of records: `__file`, `__row`, `__line` (null without lines) and the dataset's columns.

        Without `wanted_rows`, all records are read.
        """
        name = f"records_{next(_numbers)}"
        select, parameters = self.make_query(database, shape, files, wanted_rows)
        database.execute(f"CREATE TEMP TABLE {name} AS {select}", parameters)
        description = database.execute(f"SELECT * FROM {name} LIMIT 0").description or ()
        get_format(shape.format).check_names(column[0] for column in description)
        return name

    def make_query(
        self,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted_rows: WantedRows | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        """Return a query with the content of `make_table`, and its parameters.

        `columns` are the columns that something is computed from; if the format allows it, no other column is read. Without them, the
        caller checks the names of the result (`Format.check_names`), because files may have more columns than the shape.

        Raises:
            UnsupportedError: records of the format cannot be read, or Spark's values in one of `columns` are not certain.
        """
        return get_format(shape.format).make_query(self, database, shape, files, wanted_rows, columns)
