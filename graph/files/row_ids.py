"""Rows that a table numbers for as long as they live: Iceberg from format version 3 on, and Delta with row tracking.

A new row has the number of its file's first row plus its place in the file. Who carries a row into another file writes its number there,
and the version at which it was last changed. So number and version tell which row of an earlier file it is, whoever rewrote the files.
Files of which a table says two things, or whose numbers others have too, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import quoted
from headwater.graph.files.footers import Footer, footers
from headwater.graph.files.reader import HIDDEN, ReadFile
from headwater.graph.records.decode import Longs

_FEW = 1_000  # rows that a statement names
_GREATEST = 1 << 62  # of numbers of rows, and of versions


@dataclass(frozen=True, slots=True)
class TableFile:
    """A data file of a table, as the table's metadata has it.

    `first` is the number of its first row; None where the table does not number rows. `version` is when those rows were last changed of
    which the file does not say it; `added` orders the commits that brought the files. `is_rewrite`: whether that commit was of a kind that
    puts rows of other files into new ones; None where it is not known any more.
    """

    path: str
    length: int
    rows: int | None
    first: int | None
    version: int
    added: int
    is_rewrite: bool | None
    removed: int | None = None  # which commit, as `added`, last took it out of the table


@dataclass(frozen=True)
class TableRows:
    """The data files of a table, by path, those of earlier versions too; and the columns that hold numbers and versions in files.

    A column is told by its name, or by the id of its field.
    """

    files: Mapping[str, TableFile]
    number: str | int
    version: str | int

    @cached_property
    def _numbered(self) -> tuple[Longs, list[TableFile]]:
        listed = sorted((file for file in self.files.values() if file.first is not None), key=lambda file: file.first or 0)
        return np.array([file.first for file in listed], np.int64), listed

    def most_rows(self, file: TableFile) -> int:
        """How many rows a file can have: as many as its table says, else as fit before the numbers of the next file."""
        firsts, _ = self._numbered
        place = int(np.searchsorted(firsts, file.first or 0, side="right"))
        return file.rows if file.rows is not None else int(firsts[place]) - (file.first or 0) if place < len(firsts) else _GREATEST

    def holders(self, numbers: Longs) -> tuple[Longs, list[TableFile]]:
        """For each row, by number, the place in a list of files of the one in which it was new; −1 where that is not known any more."""
        firsts, listed = self._numbered
        places = np.searchsorted(firsts, numbers, side="right").astype(np.int64) - 1
        ends = np.array([(file.first or 0) + (file.rows or 0) for file in listed], np.int64)
        known = (places >= 0) & (numbers < ends[places]) if listed else np.zeros(len(numbers), np.bool_)
        return np.where(known, places, -1), listed

    def before(self, file: TableFile, version: int) -> list[TableFile]:
        """Earlier files that may hold rows of a version or a later one: first those that were removed when `file` came, then the latest."""
        found = [
            other for other in self.files.values() if other.first is not None and other.added < file.added and other.version >= version
        ]
        return sorted(found, key=lambda other: (other.removed != file.added, -other.added, other.path))

    def changed_at(self, version: int) -> list[TableFile]:
        """The files that the commit of a version wrote."""
        return [file for file in self.files.values() if file.added == version]


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """Rows of a file by place, each with its number and the version at which it was last changed."""

    rows: Longs
    numbers: Longs
    versions: Longs


def numbered_apart(files: Iterable[TableFile], removed: Mapping[str, int], greatest: int | None = None) -> dict[str, TableFile]:
    """Files by path, without those of which two things are said, whose numbers others have too, or of which impossible things are said.

    A file may be listed several times, by several commits: the first that brought it counts. `removed` are the commits that took files out,
    `greatest` is the greatest number that the table says it gave a row.
    """
    found: dict[str, TableFile] = {}
    doubtful: set[str] = set()
    for file in sorted(files, key=lambda file: (file.added, file.first is None, file.rows is None)):
        known = found.setdefault(file.path, file)
        if known.first is None and file.first is not None:  # the table numbers its rows since
            found[file.path] = known = replace(known, first=file.first, version=file.version)
        if known.rows is None and file.rows is not None:
            found[file.path] = known = replace(known, rows=file.rows)
        numbered = (file.first, file.version) if file.first is not None else (known.first, known.version)
        if (file.length, file.rows or known.rows, *numbered) != (known.length, known.rows, known.first, known.version):
            doubtful.add(file.path)
        if not all(0 <= number <= _GREATEST for number in (file.first or 0, file.rows or 0, file.version, file.added, file.length)):
            doubtful.add(file.path)
    ordered = sorted((file for file in found.values() if file.first is not None), key=lambda file: file.first or 0)
    reach, holder = -1, ""
    for file in ordered:
        if (file.first or 0) < reach:
            doubtful |= {file.path, holder}
        if (end := (file.first or 0) + (file.rows or 0)) > reach:
            reach, holder = end, file.path
        if greatest is not None and end > greatest + 1:
            doubtful.add(file.path)
    return {path: replace(file, removed=removed.get(path)) for path, file in found.items() if path not in doubtful}


def numbers_in(
    database: Database, table: TableRows, file: TableFile, read: ReadFile, *, rows: Longs | None = None, numbers: Longs | None = None
) -> RowNumbers:
    """The numbers of some rows of a file; or those rows that have one of `numbers`.

    Raises:
        UnsupportedError: they cannot be told.
    """
    if file.first is None:
        raise UnsupportedError(f"{file.path} has rows without numbers.")
    (footer,) = footers(database, [read])
    _check(table, file, footer)
    own = [_own(footer, column, file) for column in (table.number, table.version)]
    if own == [None, None] and rows is not None:
        return RowNumbers(rows, file.first + rows, np.full(len(rows), file.version, np.int64))
    number = f"{file.first} + p.file_row_number" if own[0] is None else f"coalesce(p.{own[0]}, {file.first} + p.file_row_number)"
    version = f"{file.version}" if own[1] is None else f"coalesce(p.{own[1]}, {file.version})"
    asked = rows if rows is not None else numbers
    query = (
        f"SELECT p.file_row_number::BIGINT AS row, ({number})::BIGINT AS number, ({version})::BIGINT AS version "
        "FROM read_parquet(?, hive_partitioning = false) p"
    )
    if rows is not None:
        query += f" WHERE p.file_row_number IN ({_list(database, rows)})"
    elif numbers is not None:
        query += f" WHERE {number} IN ({_list(database, numbers)})"
    if asked is not None:
        query += f" LIMIT {len(asked) + 1}"  # more only where several rows say that they have one number
    found = database.execute(f"SELECT * FROM ({query}) ORDER BY row", [[read.stored.scan]]).fetchnumpy()
    longs = {name: np.ma.getdata(column).astype(np.int64, copy=False) for name, column in found.items()}
    if len(np.unique(longs["number"])) < len(longs["number"]):
        raise UnsupportedError(f"Several rows of {file.path} have one number.")
    if (longs["number"] < 0).any() or (longs["version"] < 0).any() or (longs["version"] > file.added).any():
        raise UnsupportedError(f"{file.path} has rows whose number or version none can have.")
    return RowNumbers(longs["row"], longs["number"], longs["version"])


def _check(table: TableRows, file: TableFile, footer: Footer) -> None:
    """See that a file is one that its table's metadata tell of, and that the place of its rows is known."""
    if hidden := [name for name, _ in footer.columns if name.lower() in HIDDEN]:
        raise UnsupportedError(f"{file.path} has a column called {hidden[0]}, which hides the place of its records.")
    if footer.rows > table.most_rows(file) or (file.rows is not None and footer.rows != file.rows):
        raise UnsupportedError(f"{file.path} has {footer.rows} rows, and its table's metadata say otherwise.")


def _own(footer: Footer, column: str | int, file: TableFile) -> str | None:
    """The name, in quotes, that a file has for a column of numbers or versions; None: it has none."""
    labels = footer.ids if isinstance(column, int) else [name for name, _ in footer.columns]
    met = [footer.columns[place] for place, value in enumerate(labels) if value == column]
    if len(met) > 1 or any(kind != "BIGINT" for _, kind in met):
        raise UnsupportedError(f"{file.path} does not say plainly which numbers its rows have.")
    return quoted(met[0][0]) if met else None


def has_new_rows(database: Database, table: TableRows, file: TableFile, read: ReadFile) -> bool:
    """Whether a file has rows that were new in it.

    Raises:
        UnsupportedError: that cannot be told.
    """
    first = file.first or 0
    (footer,) = footers(database, [read])
    own = _own(footer, table.number, file)
    if own is None or not footer.rows:
        return footer.rows > 0
    number = f"coalesce(p.{own}, {first} + p.file_row_number)"
    own_range = f"{number} >= {first} AND {number} < {first + footer.rows}"
    query = f"SELECT 1 FROM read_parquet(?, hive_partitioning = false) p WHERE {own_range} LIMIT 1"
    return bool(database.execute(query, [[read.stored.scan]]).fetchall())


def _list(database: Database, values: Longs) -> str:
    if len(values) <= _FEW:
        return ", ".join(map(str, values.tolist())) or "NULL"
    return f"SELECT value FROM {database.hold({'value': values})}"
