"""Tables with permanent row numbers: Iceberg from format version 3 on, and Delta with row tracking.

The number of a new row is the number of its file's first row plus its position in the file. A program that copies a row into another file
writes the row's number there, with the version of its last change. So number and version identify the row in an earlier file, even after a
program without capture has rewritten the files. Files with contradictory metadata, or with numbers of other files, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import quoted
from headwater.graph.files.footers import Footer, read_footers
from headwater.graph.files.read_files import HIDDEN, ReadFile
from headwater.graph.records.decode import Longs

_FEW = 1_000  # rows in one statement
_GREATEST = 1 << 62  # upper limit of row numbers and versions


@dataclass(frozen=True, slots=True)
class TableFile:
    """A data file of a table, in the table's metadata.

    - `first`: the number of its first row; None if the table does not number rows.
    - `version`: the last change of rows whose version is not in the file.
    - `added`: orders the commits that added the files.
    - `is_rewrite`: whether that commit copied rows of other files into new files; None if that is unknown.
    """

    path: str
    length: int
    rows: int | None
    first: int | None
    version: int
    added: int
    is_rewrite: bool | None
    removed_at: int | None = None  # the last commit that removed it from the table, in the order of `added`


@dataclass(frozen=True)
class TableRows:
    """The data files of a table, by path, including files of earlier versions, and the columns for row numbers and versions in files.

    A column is identified by its name, or by its field id.
    """

    files: Mapping[str, TableFile]
    number: str | int
    version: str | int

    @cached_property
    def _numbered_files(self) -> tuple[Longs, list[TableFile]]:
        numbered_files = sorted((file for file in self.files.values() if file.first is not None), key=lambda file: file.first or 0)
        return np.array([file.first for file in numbered_files], np.int64), numbered_files

    def count_most_rows(self, file: TableFile) -> int:
        """Return an upper limit of the rows in a file: the stated number, or the distance to the first number of the next file."""
        firsts, _ = self._numbered_files
        place = int(np.searchsorted(firsts, file.first or 0, side="right"))
        return file.rows if file.rows is not None else int(firsts[place]) - (file.first or 0) if place < len(firsts) else _GREATEST

    def find_holders(self, numbers: Longs) -> tuple[Longs, list[TableFile]]:
        """Return for each row number the file that added the row, as an index into the returned list. −1 if it is unknown."""
        firsts, numbered_files = self._numbered_files
        places = np.searchsorted(firsts, numbers, side="right").astype(np.int64) - 1
        ends = np.array([(file.first or 0) + (file.rows or 0) for file in numbered_files], np.int64)
        is_known = (places >= 0) & (numbers < ends[places]) if numbered_files else np.zeros(len(numbers), np.bool_)
        return np.where(is_known, places, -1), numbered_files

    def find_earlier_files(self, file: TableFile, version: int) -> list[TableFile]:
        """Return earlier files that may have rows of a version or later: first files that `file` replaced, then the latest."""
        earlier_files = [
            other_file
            for other_file in self.files.values()
            if other_file.first is not None and other_file.added < file.added and other_file.version >= version
        ]
        return sorted(earlier_files, key=lambda other_file: (other_file.removed_at != file.added, -other_file.added, other_file.path))

    def list_files_of_commit(self, version: int) -> list[TableFile]:
        return [file for file in self.files.values() if file.added == version]


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """Rows of a file, each with its number and the version of its last change."""

    rows: Longs
    numbers: Longs
    versions: Longs


def index_numbered_files(
    files: Iterable[TableFile], removals: Mapping[str, int], greatest_number: int | None = None
) -> dict[str, TableFile]:
    """Return files by path, without files that have contradictory or impossible metadata, or numbers of other files.

    A file may be listed several times, by several commits: the first that added it counts. `removals` are the commits that removed files;
    `greatest_number` is the greatest row number that the table states.
    """
    files_by_path: dict[str, TableFile] = {}
    doubtful: set[str] = set()
    for file in sorted(files, key=lambda file: (file.added, file.first is None, file.rows is None)):
        known_file = files_by_path.setdefault(file.path, file)
        if known_file.first is None and file.first is not None:  # the table began to number its rows
            files_by_path[file.path] = known_file = replace(known_file, first=file.first, version=file.version)
        if known_file.rows is None and file.rows is not None:
            files_by_path[file.path] = known_file = replace(known_file, rows=file.rows)
        numbers = (file.first, file.version) if file.first is not None else (known_file.first, known_file.version)
        if (file.length, file.rows or known_file.rows, *numbers) != (
            known_file.length,
            known_file.rows,
            known_file.first,
            known_file.version,
        ):
            doubtful.add(file.path)
        if not all(0 <= number <= _GREATEST for number in (file.first or 0, file.rows or 0, file.version, file.added, file.length)):
            doubtful.add(file.path)
    numbered_files = sorted((file for file in files_by_path.values() if file.first is not None), key=lambda file: file.first or 0)
    reach, holder = -1, ""
    for file in numbered_files:
        if (file.first or 0) < reach:
            doubtful |= {file.path, holder}
        if (end := (file.first or 0) + (file.rows or 0)) > reach:
            reach, holder = end, file.path
        if greatest_number is not None and end > greatest_number + 1:
            doubtful.add(file.path)
    return {path: replace(file, removed_at=removals.get(path)) for path, file in files_by_path.items() if path not in doubtful}


def read_numbers(
    database: Database, table: TableRows, file: TableFile, read_file: ReadFile, *, rows: Longs | None = None, numbers: Longs | None = None
) -> RowNumbers:
    """Return the numbers of some rows of a file, or the rows that have one of `numbers`.

    Raises:
        UnsupportedError: the numbers cannot be determined.
    """
    if file.first is None:
        raise UnsupportedError(f"{file.path} has rows without numbers.")
    (footer,) = read_footers(database, [read_file])
    _check_file(table, file, footer)
    own_columns = [_find_own_column(footer, column, file) for column in (table.number, table.version)]
    if own_columns == [None, None] and rows is not None:
        return RowNumbers(rows, file.first + rows, np.full(len(rows), file.version, np.int64))
    number = (
        f"{file.first} + p.file_row_number" if own_columns[0] is None else f"coalesce(p.{own_columns[0]}, {file.first} + p.file_row_number)"
    )
    version = f"{file.version}" if own_columns[1] is None else f"coalesce(p.{own_columns[1]}, {file.version})"
    searched_values = rows if rows is not None else numbers
    query = (
        f"SELECT p.file_row_number::BIGINT AS row, ({number})::BIGINT AS number, ({version})::BIGINT AS version "
        "FROM read_parquet(?, hive_partitioning = false) p"
    )
    if rows is not None:
        query += f" WHERE p.file_row_number IN ({_format_list(database, rows)})"
    elif numbers is not None:
        query += f" WHERE {number} IN ({_format_list(database, numbers)})"
    if searched_values is not None:
        query += f" LIMIT {len(searched_values) + 1}"  # more rows only if several rows have one number
    result = database.execute(f"SELECT * FROM ({query}) ORDER BY row", [[read_file.stored.scan]]).fetchnumpy()
    longs = {name: np.ma.getdata(column).astype(np.int64, copy=False) for name, column in result.items()}
    if len(np.unique(longs["number"])) < len(longs["number"]):
        raise UnsupportedError(f"Several rows of {file.path} have one number.")
    if (longs["number"] < 0).any() or (longs["version"] < 0).any() or (longs["version"] > file.added).any():
        raise UnsupportedError(f"{file.path} has rows whose number or version none can have.")
    return RowNumbers(longs["row"], longs["number"], longs["version"])


def _check_file(table: TableRows, file: TableFile, footer: Footer) -> None:
    """Check that the metadata of a file's table state its number of rows, and that no column hides DuckDB's row numbers."""
    if hiding_names := [name for name, _ in footer.columns if name.lower() in HIDDEN]:
        raise UnsupportedError(f"{file.path} has a column called {hiding_names[0]}, which hides the place of its records.")
    if footer.rows > table.count_most_rows(file) or (file.rows is not None and footer.rows != file.rows):
        raise UnsupportedError(f"{file.path} has {footer.rows} rows, and its table's metadata say otherwise.")


def _find_own_column(footer: Footer, column: str | int, file: TableFile) -> str | None:
    """Return the quoted name of a file's column of row numbers or versions. None if it has none."""
    labels = footer.ids if isinstance(column, int) else [name for name, _ in footer.columns]
    matching_names = [footer.columns[place] for place, value in enumerate(labels) if value == column]
    if len(matching_names) > 1 or any(kind != "BIGINT" for _, kind in matching_names):
        raise UnsupportedError(f"{file.path} does not say plainly which numbers its rows have.")
    return quoted(matching_names[0][0]) if matching_names else None


def has_new_rows(database: Database, table: TableRows, file: TableFile, read_file: ReadFile) -> bool:
    """Return whether a file has rows that are in no earlier file.

    Raises:
        UnsupportedError: the numbers cannot be determined.
    """
    first = file.first or 0
    (footer,) = read_footers(database, [read_file])
    own_column = _find_own_column(footer, table.number, file)
    if own_column is None or not footer.rows:
        return footer.rows > 0
    number = f"coalesce(p.{own_column}, {first} + p.file_row_number)"
    own_range = f"{number} >= {first} AND {number} < {first + footer.rows}"
    query = f"SELECT 1 FROM read_parquet(?, hive_partitioning = false) p WHERE {own_range} LIMIT 1"
    return bool(database.execute(query, [[read_file.stored.scan]]).fetchall())


def _format_list(database: Database, values: Longs) -> str:
    if len(values) <= _FEW:
        return ", ".join(map(str, values.tolist())) or "NULL"
    return f"SELECT value FROM {database.hold({'value': values})}"
