"""PostgreSQL, by pg8000: reads rows of a table by key, and finds rows that have changed since a run read them.

A row's version has the number of the transaction that wrote it (`xmin`). Before a run reads a table, its program asks for the snapshot: the
number below which all transactions had ended. A row with a lower number existed when the run read it, and is unchanged. Numbers in rows
have 32 bits, so nothing is known after more than 2^31 transactions. A very old row may seem changed, but never the other way round. A table
that was created again has another number. The catalog has such numbers too for columns that were altered or replaced, and for attached
partitions.

Names come from manifests. They are quoted, so they are only names. Keys are parameters. The database's own schemas (`pg_…` and
`information_schema`) are refused.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.errors import MissingExtraError, SourceUnavailableError, UnsupportedError
from headwater.graph.storage.key_places import parts_of
from headwater.graph.storage.protocol import unavailable
from headwater.graph.storage.row_keys import KeyColumn, key_of, position_of, texts_of
from headwater.graph.storage.settings import RootSettings
from headwater.graph.storage.tables import RowRequest, TableRows

if TYPE_CHECKING:
    from pg8000.native import Connection

_EPOCH = 1 << 32
_FIRST = 3  # smaller transaction numbers are PostgreSQL's own, and older than all others
_TEXTS = ("string", "char", "varchar")
# Spark's types (without brackets) in which a column of a type certainly keeps its value.
_CERTAIN = {
    "smallint": {"smallint", "int", "bigint"}, "integer": {"int", "bigint"}, "bigint": {"bigint"}, "real": {"float"},
    "double precision": {"double"}, "numeric": {"decimal"}, "boolean": {"boolean"}, "date": {"date"}, "text": {"string"},
    "character varying": {"string", "varchar"}, "uuid": {"string"}, "json": {"string"}, "jsonb": {"string"},
}  # fmt: skip
_CASTS = {
    "int": "bigint", "text": "text", "char": "bpchar", "uuid": "uuid", "date": "date", "timestamp": "timestamp", "instant": "timestamptz",
    "boolean": "boolean",
}  # fmt: skip
_CHANGED = "it has changed since the run read it, or while it did: its values now are not what the run read"
_ANEW = "its table was made anew since the run read it"
_ALTERED = "its table was altered since the run read it"
_ATTACHED = "it lies in a partition that was attached since the run read it"


class Postgres:
    """One PostgreSQL database, with the settings of a root."""

    def __init__(self, settings: RootSettings) -> None:
        try:
            import pg8000.native  # noqa: F401 - so that its absence is said before anything is asked
        except ImportError:
            raise MissingExtraError("Reading rows of PostgreSQL", extra="postgres") from None
        self._settings = settings

    def rows(self, parts: Sequence[str], asked: RowRequest) -> TableRows:
        """Return rows of a table (`TableStore.rows`)."""
        import pg8000.exceptions

        parts = parts[1:]  # the database is the root's
        if parts[0].startswith("pg_") or parts[0] == "information_schema":
            raise UnsupportedError(f"{'.'.join(parts)} is not readable here: it is of the database itself")
        try:
            with self._connect() as connection:
                return _rows(connection, [*parts], asked, self._settings)
        except SourceUnavailableError:
            raise
        except pg8000.exceptions.DatabaseError as error:
            raise unavailable(self._settings.url, f"the database refused: {_reason(error)}") from error
        except (pg8000.exceptions.InterfaceError, OSError) as error:
            seconds = self._settings.seconds
            raise unavailable(
                self._settings.url, f"it did not answer within {seconds:g} s ({type(error).__name__})", transient=True
            ) from error

    def _connect(self) -> Connection:
        import pg8000.native

        options, seconds = self._settings.options, self._settings.seconds
        host, _, port = str(options.get("endpoint") or self._settings.address.authority).rpartition(":")
        secure = ssl.create_default_context() if options.get("ssl") else None
        connection_socket = socket.create_connection((host.strip("[]"), int(port)), seconds)
        try:
            connection = pg8000.native.Connection(
                str(options.get("user", "")), host=host.strip("[]"), sock=connection_socket,
                ssl_context=secure, application_name="headwater",
                password=str(options["password"]) if "password" in options else None, database=parts_of(self._settings.address)[0],
            )  # fmt: skip
            connection.run("SET default_transaction_read_only = on")
            connection.run(f"SET statement_timeout = {int(seconds * 1000)}")
        except BaseException:
            connection_socket.close()
            raise
        return connection


class _Table(NamedTuple):
    """A table in the catalog: its number, the next transaction, columns that were altered since a run, and each column's type."""

    relation: str
    now: int
    altered: bool
    attached: frozenset[str]  # partitions, by number
    types: Mapping[str, str]


def _rows(connection: Connection, parts: list[str], asked: RowRequest, settings: RootSettings) -> TableRows:
    connection.run("START TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    table = _table(connection, parts, asked, settings)
    if missing_columns := [name for name in asked.key_names if name not in table.types]:
        raise unavailable(settings.url, f"{'.'.join(parts)} has no column {missing_columns[0]} any more")
    version = "NULL, NULL" if asked.snapshot is None else "t.xmin::text, t.tableoid::text"
    columns = "".join(f", {_column(name, kind) if name in table.types else 'NULL'}" for name, kind in asked.columns)
    read_rows = _read_by_columns if asked.key_columns else _read_by_number
    rows = read_rows(connection, ".".join(map(_quoted, parts)), f"{version}{columns}", asked, table)
    if asked.keys is None and len(rows) > asked.most:
        raise unavailable(settings.url, f"{'.'.join(parts)} has more than {asked.most:,} rows: name records by their key")
    obstacle = _find_obstacle(asked, table.now)
    changes = ((row[0], None if obstacle and not table.altered else _describe_change(row, asked, table)) for row in rows)
    values = [[row[place] for row in rows] for place in range(3, 3 + len(asked.columns))]
    uncertain = {name for name, kind in asked.columns if kind.partition("(")[0] not in _CERTAIN.get(table.types.get(name, ""), ())}
    return TableRows([row[0] for row in rows], values, {key: reason for key, reason in changes if reason}, obstacle, frozenset(uncertain))


def _read_by_number(connection: Connection, name: str, values: str, asked: RowRequest, table: _Table) -> list[list[Any]]:
    """Return rows by a key that is one whole number, which is the first value of each row."""
    del table
    key = f"t.{_quoted(asked.key)}"
    query = f"SELECT {key}::bigint, {values} FROM {name} t"
    if asked.keys is None:
        return connection.run(f"{query} WHERE {key} IS NOT NULL ORDER BY 1 LIMIT {asked.most + 1:d}") or []
    return connection.run(f"{query} WHERE {key} = ANY (CAST(:keys AS bigint[])) ORDER BY 1", keys=[*asked.keys]) or []


def _read_by_columns(connection: Connection, name: str, values: str, asked: RowRequest, table: _Table) -> list[list[Any]]:
    """Return rows by a key of columns. The number of the key is the first value of each row.

    The database may treat different values as equal (collations, `citext`), so returned keys are compared with the requested keys.
    """
    width = len(asked.key_columns)
    keys = [f"t.{_quoted(column.name)}" for column in asked.key_columns]
    query = f"SELECT {', '.join(f'{key}::text' for key in keys)}, {values} FROM {name} t"
    connection.run("SET LOCAL TimeZone = 'UTC'")
    connection.run("SET LOCAL DateStyle = 'ISO, YMD'")
    if asked.keys is None:
        not_null = " AND ".join(f"{key} IS NOT NULL" for key in keys)
        rows = connection.run(f"{query} WHERE {not_null} LIMIT {asked.most + 1:d}") or []
    else:
        texts = [texts for key in asked.recorded.values() if (texts := texts_of(asked.key_columns, key)) is not None]
        lists = {f"k{place}": [row[place] for row in texts] for place in range(width)}
        kinds = [_cast(column, table.types[column.name]) for column in asked.key_columns]
        key_arrays = ", ".join(f"CAST(CAST(:k{place} AS text[]) AS {kind}[])" for place, kind in enumerate(kinds))
        column_list = ", ".join(lists)
        equal = " AND ".join(f"{key} = w.k{place}" for place, key in enumerate(keys))
        rows = connection.run(f"{query} JOIN unnest({key_arrays}) AS w({column_list}) ON {equal}", **lists) or []
    found = []
    for row in rows:
        key = key_of(asked.key_columns, row[:width])
        if key is not None and (asked.keys is None or asked.recorded.get(position_of(key)) == key):
            found.append([position_of(key), *row[width:]])
    return sorted(found, key=itemgetter(0))


def _cast(column: KeyColumn, kind: str) -> str:
    """Return the type in which a key is compared with a column. An index needs the column's own type."""
    if kind.rpartition(".")[2] == "citext":
        return kind  # as the catalog writes it
    return _CASTS.get(column.kind, "numeric")


def _table(connection: Connection, parts: list[str], asked: RowRequest, settings: RootSettings) -> _Table:
    result = connection.run(
        "SELECT to_regclass(:name)::oid::text, txid_snapshot_xmax(txid_current_snapshot())::text", name=".".join(map(_quoted, parts))
    )
    relation, now = result[0] if result else (None, "0")
    if relation is None:
        raise unavailable(settings.url, f"there is no table {'.'.join(parts)} any more")
    columns = connection.run(
        "SELECT attname, format_type(atttypid, NULL), xmin::text FROM pg_attribute"
        " WHERE attrelid = CAST(CAST(:relation AS text) AS oid) AND attnum > 0 AND NOT attisdropped",
        relation=relation,
    )
    partitions = connection.run(
        "SELECT t.relid::oid::text, t.parentrelid::oid::text, i.xmin::text"
        " FROM pg_partition_tree(CAST(CAST(:relation AS text) AS oid)) t JOIN pg_inherits i ON i.inhrelid = t.relid ORDER BY t.level",
        relation=relation,
    )
    names = {*asked.key_names, *(name for name, _ in asked.columns)}
    types = {name: kind for name, kind, _ in columns or ()}
    altered, attached = bool(names - types.keys()), frozenset[str]()
    if asked.snapshot is not None:
        altered |= any(name in names and _is_newer(xmin, asked.snapshot, int(now)) for name, _, xmin in columns or ())
        attached = _list_attached(partitions or (), asked.snapshot, int(now))
    return _Table(relation, int(now), altered, attached, types)


def _list_attached(partitions: Iterable[Sequence[str]], snapshot: str, now: int) -> frozenset[str]:
    """Return partitions that did not belong to the table at a snapshot. `partitions` are number, parent and version, parents first."""
    relations: set[str] = set()
    for number, parent, xmin in partitions:
        if parent in relations or _is_newer(xmin, snapshot, now):
            relations.add(number)
    return frozenset(relations)


def _describe_change(row: Sequence[Any], asked: RowRequest, table: _Table) -> str | None:
    """Return why a row (key, version, partition, …) differs from the row that the run read. None if it does not."""
    if asked.relation is not None and asked.relation != table.relation:
        return _ANEW
    if table.altered:
        return _ALTERED
    if row[2] in table.attached:
        return _ATTACHED
    return _CHANGED if _is_newer(row[1], str(asked.snapshot), table.now) else None


def _find_obstacle(asked: RowRequest, now: int) -> str | None:
    """Return the reason why changed rows cannot be determined. None if they can."""
    if asked.snapshot is None or asked.relation is None:
        return "the run did not ask which transactions had ended"
    if not 0 <= now - int(asked.snapshot) < 1 << 31:
        return "too many transactions were made since the run read it"
    return None


def _is_newer(xmin: str, snapshot: str, now: int) -> bool:
    """Return whether a row was written by a transaction that had not ended at a snapshot."""
    if int(xmin) < _FIRST:
        return False
    number = now - now % _EPOCH + int(xmin)
    return (number - _EPOCH if number >= now else number) >= int(snapshot)


def _column(name: str, kind: str) -> str:
    """Return SQL that reads a column. Columns that JDBC returns as text (UUID, JSON, enums) are read as the database's text."""
    quoted = f"t.{_quoted(name)}"
    if kind.partition("(")[0] in _TEXTS or kind.startswith(("timestamp", "interval")):
        return f"CASE WHEN {quoted} IS NOT NULL THEN concat({quoted}) END"
    return quoted


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _reason(error: Exception) -> str:
    """Return the database's error without its message, which may contain values."""
    fields: Any = error.args[0] if error.args else ""
    code = fields.get("C") if isinstance(fields, dict) else None
    reasons = {"28P01": "wrong user or password", "42501": "no right to read it", "57014": "it took too long", "3D000": "no such database",
             "42703": "a column is not there any more"}  # fmt: skip
    return reasons.get(str(code), f"error {code}" if code else type(error).__name__)
