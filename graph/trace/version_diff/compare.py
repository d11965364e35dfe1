"""Compares two tables of records as bags, and pairs removed and added records with the same key.

All statements run in the session's database, which spills to disk. The order of rows is the same for each page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.duck.sql import literal, quoted
from headwater.graph.files.read_files import FILE, LINE, ROW
from headwater.graph.storage.duck import faults
from headwater.graph.trace.selection import list_column_types
from headwater.graph.trace.session import Session
from headwater.graph.trace.version_diff.answer import Change

_SIDE, _CHANGE, _OTHER_FILE, _OTHER_ROW = "__side", "__change", "__other_file", "__other_row"
_BEFORE, _AFTER = 0, 1


@dataclass(frozen=True, slots=True)
class Place:
    """A compared record: the number of its file, its row and line, and its values."""

    file: int
    row: int
    line: int | None
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The records that differ. `entries` is a table; `columns` are names and types of the compared columns."""

    columns: Sequence[tuple[str, str]]
    key: Sequence[str]
    rows: str
    entries: str
    counts: Mapping[Change, int]
    notes: Sequence[str]


def compared_columns(session: Session, tables: Sequence[str], hidden: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return the columns of both tables, without the hidden columns. A column of both has the type of the last table."""
    left = {name.casefold() for name in hidden}
    found: dict[str, tuple[str, str]] = {}
    for table in tables:
        for name, kind in list_column_types(session, table):
            first = found.get(name.casefold(), (name, kind))[0]
            found[name.casefold()] = (first, kind)
    return [column for folded, column in found.items() if folded not in left]


def compare(session: Session, before: str, after: str, key: Sequence[str], hidden: Collection[str] = ()) -> Comparison:
    """Compare two tables of records by content, or by key if there is one.

    Raises:
        InvalidQueryError: a column of the key does not exist.
        UnsupportedError: the values of a column cannot be compared between the tables.
    """
    columns = [name for name, _ in compared_columns(session, [before, after], hidden)]
    names = _key_columns(columns, key)
    if not columns:
        raise InvalidQueryError("There is no column to compare.", field="dataset", hint="Every column is masked, or the data has none.")
    try:
        sides = [f"SELECT {number} AS {_SIDE}, * FROM {table}" for number, table in ((_BEFORE, before), (_AFTER, after))]
        rows = session.make_table(" UNION ALL BY NAME ".join(sides))
        differing = _differing(session, rows, columns)
    except (duckdb.BinderException, duckdb.ConversionException, duckdb.TypeMismatchException, duckdb.NotImplementedException) as error:
        reason = str(error).partition("\n")[0]
        raise UnsupportedError(f"The columns of the two versions have types that cannot be compared ({reason}).") from error
    entries, repeated = _paired(session, rows, differing, names)
    counts = dict.fromkeys(Change, 0)
    for change, count in session.database.execute(f"SELECT {_CHANGE}, count(*) FROM {entries} GROUP BY ALL").fetchall():
        counts[Change(change)] = count
    notes = [*_type_notes(session, before, after, columns), *([_repeated_note(names, repeated)] if repeated else [])]
    typed = [column for column in list_column_types(session, rows) if column[0] in columns]
    return Comparison(sorted(typed, key=lambda column: columns.index(column[0])), names, rows, entries, counts, notes)


def fetch_page(
    session: Session, found: Comparison, changes: Sequence[Change], first: int, offset: int
) -> Iterator[tuple[Change, Place | None, Place | None]]:
    """Yield the changes of some kinds: changed, then added, then removed records, each kind by file and row."""
    kinds = ", ".join(literal(change) for change in changes) or "NULL"
    columns = ", ".join(quoted(name) for name, _ in found.columns)
    page = session.make_table(
        f"SELECT row_number() OVER (ORDER BY {_CHANGE} = 'removed', {_CHANGE} = 'added', {FILE}, {ROW}) AS place, * FROM {found.entries} "
        f"WHERE {_CHANGE} IN ({kinds}) ORDER BY place LIMIT {first:d} OFFSET {offset:d}"
    )
    places = (
        f"SELECT place, {_CHANGE}, {_SIDE}, {FILE}, {ROW} FROM {page} UNION ALL "
        f"SELECT place, {_CHANGE}, {_BEFORE}, {_OTHER_FILE}, {_OTHER_ROW} FROM {page} WHERE {_OTHER_FILE} IS NOT NULL"
    )
    with faults():
        read = session.database.execute(
            f"SELECT place, {_CHANGE}, {_SIDE}, {FILE}, {ROW}, {LINE}, {columns} FROM ({places}) JOIN {found.rows} "
            f"USING ({_SIDE}, {FILE}, {ROW}) ORDER BY place"
        ).fetchall()
    entries: dict[int, dict[int, Place]] = {}
    kind: dict[int, Change] = {}
    for place, change, side, file, row, line, *values in read:
        entries.setdefault(place, {})[side] = Place(file, row, line, values)
        kind[place] = Change(change)
    for place, sides in entries.items():
        yield kind[place], sides.get(_BEFORE), sides.get(_AFTER)


def _key_columns(columns: Sequence[str], key: Sequence[str]) -> list[str]:
    there = {name.casefold(): name for name in columns}
    for name in key:
        if name.casefold() not in there:
            listed = ", ".join(columns)
            raise InvalidQueryError(f"There is no column {name!r} for the key.", field="key", hint=f"The columns are {listed}.")
    return [there[name.casefold()] for name in dict.fromkeys(key)]


def _differing(session: Session, rows: str, columns: Sequence[str]) -> str:
    """Make a table with the places of records that one side has more often than the other."""
    named = ", ".join(map(quoted, columns))
    same = " AND ".join(f"r.{quoted(name)} IS NOT DISTINCT FROM n.{quoted(name)}" for name in columns)
    net = f"SELECT {named}, sum(2 * {_SIDE} - 1) AS __net FROM {rows} GROUP BY {named} HAVING __net <> 0"
    numbered = (
        f"SELECT r.*, abs(n.__net) AS __count, row_number() OVER (PARTITION BY {', '.join(f'r.{quoted(name)}' for name in columns)} "
        f"ORDER BY r.{FILE} DESC, r.{ROW} DESC) AS __number FROM {rows} r JOIN ({net}) n ON {same} AND (r.{_SIDE} = 1) = (n.__net > 0)"
    )
    return session.make_table(f"SELECT * EXCLUDE (__count, __number) FROM ({numbered}) WHERE __number <= __count")


def _paired(session: Session, rows: str, differing: str, key: Sequence[str]) -> tuple[str, int]:
    """Make a table of changes, with removed and added records paired by key.

    Also return the number of keys that occur twice in a version.
    """
    single = f"CASE {_SIDE} WHEN 1 THEN 'added' ELSE 'removed' END AS {_CHANGE}"
    nothing = f"NULL::BIGINT AS {_OTHER_FILE}, NULL::BIGINT AS {_OTHER_ROW}"
    if not key:
        return session.make_table(f"SELECT {_SIDE}, {FILE}, {ROW}, {nothing}, {single} FROM {differing}"), 0
    names = ", ".join(map(quoted, key))
    same = " AND ".join(f"{{0}}.{quoted(name)} = {{1}}.{quoted(name)}" for name in key)
    repeated = session.make_table(
        f"SELECT DISTINCT {names} FROM (SELECT {_SIDE}, {names} FROM {rows} SEMI JOIN (SELECT DISTINCT {names} FROM {differing}) USING "
        f"({names}) GROUP BY {_SIDE}, {names} HAVING count(*) > 1)"
    )
    pairs = session.make_table(
        f"SELECT a.{_SIDE}, a.{FILE}, a.{ROW}, b.{FILE} AS {_OTHER_FILE}, b.{ROW} AS {_OTHER_ROW}, 'changed' AS {_CHANGE} "
        f"FROM {differing} a JOIN {differing} b ON {same.format('a', 'b')} AND a.{_SIDE} = {_AFTER} AND b.{_SIDE} = {_BEFORE} "
        f"WHERE NOT EXISTS (SELECT 1 FROM {repeated} k WHERE {same.format('k', 'a')})"
    )
    in_pairs = f"SELECT {_SIDE}, {FILE}, {ROW} FROM {pairs} UNION ALL SELECT {_BEFORE}, {_OTHER_FILE}, {_OTHER_ROW} FROM {pairs}"
    entries = session.make_table(
        f"SELECT * FROM {pairs} UNION ALL BY NAME "
        f"SELECT {_SIDE}, {FILE}, {ROW}, {nothing}, {single} FROM {differing} ANTI JOIN ({in_pairs}) USING ({_SIDE}, {FILE}, {ROW})"
    )
    return entries, session.count_rows(repeated)


def _type_notes(session: Session, before: str, after: str, columns: Sequence[str]) -> list[str]:
    types = [{name.casefold(): kind for name, kind in list_column_types(session, table)} for table in (before, after)]
    notes = []
    for name in columns:
        first, second = (of_side.get(name.casefold()) for of_side in types)
        if first is None or second is None:
            owner = "later" if first is None else "earlier"
            notes.append(f"Only the {owner} version has the column {name}. In the other version it counts as null.")
        elif first != second:
            notes.append(f"The type of the column {name} is {first} in the earlier version and {second} in the later one.")
    return notes


def _repeated_note(key: Sequence[str], repeated: int) -> str:
    keys = "One value" if repeated == 1 else f"{repeated:,} values"
    return f"{keys} of the key ({', '.join(key)}) occur several times in a version. Records with them are compared by content."
