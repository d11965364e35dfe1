"""Names in SQL that look like columns but may not be: words for values, pseudo-columns, and aliases of the same SELECT.

The sets are by sqlglot's name of the database's dialect; `None` is an unknown dialect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

_USERS = {"user", "current_user", "session_user"}
_POSTGRES = _USERS | {"current_role", "current_catalog", "current_schema", "localtime", "localtimestamp"}
_ORACLE = {"rownum", "level", "rowid", "user", "uid", "sysdate", "connect_by_isleaf", "connect_by_iscycle"}
# Words for values: an unquoted column cannot have such a name.
_WORDS: dict[str | None, set[str]] = {
    "postgres": _POSTGRES, "redshift": _POSTGRES | {"sysdate"}, "duckdb": _POSTGRES, "oracle": _ORACLE, "exasol": _ORACLE,
    "tsql": _USERS | {"system_user"}, "teradata": {"user", "date", "time", "session", "account", "database", "profile", "role"},
}  # fmt: skip
_SEQUENCE = {"nextval", "currval"}  # Oracle: `numbers.NEXTVAL`
# Columns that a database adds to those of a table. A table may have a column of the same name.
_OF_POSTGRES = {"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid"}
_OF_FILES = {"input__file__name", "block__offset__inside__file", "_metadata"}
_PSEUDO: dict[str | None, set[str]] = {
    "postgres": _OF_POSTGRES, "redshift": _OF_POSTGRES, "sqlite": {"rowid", "_rowid_", "oid"}, "duckdb": {"rowid", "filename"},
    "oracle": {"ora_rowscn", "systimestamp", "column_value", "object_id", "object_value", "rowid"}, "mysql": {"sysdate", "_rowid"},
    "tsql": {"sysdatetime", "$identity", "$rowguid", "$partition"}, "hive": _OF_FILES, "databricks": _OF_FILES,
    "clickhouse": {"_part", "_part_index", "_partition_id", "_partition_value", "_sample_factor", "_table", "_database", "_file", "_path",
                   "_size", "_time", "_row_exists", "_shard_num", "_part_offset", "_block_number", "_topic", "_key", "_offset"},
    "trino": {"$path", "$file_size", "$file_modified_time", "$partition", "$bucket"}, "presto": {"$path", "$bucket"}, "athena": {"$path"},
    "bigquery": {"_partitiontime", "_partitiondate", "_table_suffix", "_file_name"}, "snowflake": {"sysdate", "systimestamp"},
    "exasol": {"rowid"}, "teradata": {"rowid", "partition"},
}  # fmt: skip
_OF_ANY = {"rowid", "_rowid_", "ctid", "xmin", "xmax", "tableoid", "rownum", "level", "sysdate", "systimestamp", "sysdatetime"} | _USERS
# Dialects in which an expression of a SELECT cannot name an alias of the same SELECT.
_WITHOUT_LATERAL_ALIASES = {"postgres", "mysql", "tsql", "oracle", "trino", "presto", "athena", "bigquery", "sqlite"}
_WITH_ALIASES_IN_WHERE = {"sqlite"}


def is_word(column: Any, dialect: str | None) -> bool:
    """Return whether a name is a word for a value, unless a table is known to have such a column."""
    if column.this.args.get("quoted"):
        return False
    name = column.name.lower()
    if column.table:
        return dialect == "oracle" and name in _SEQUENCE | {"rowid", "rownum"}
    return name in _WORDS.get(dialect, ())


def may_be_pseudo(column: Any, dialect: str | None) -> bool:
    """Return whether a name has another meaning in a table without such a column."""
    if dialect == "sqlite" and not column.table and column.this.args.get("quoted"):
        return True  # a text in double quotes
    return column.name.lower() in _PSEUDO.get(dialect, _OF_ANY)


def find_alias(select: Any, column: Any, dialect: str | None) -> Any | None:
    """Return the expression of an alias in the same SELECT to which a name may refer. None without one."""
    if column.table or not isinstance(select, exp.Select):
        return None
    part = column
    while part is not None and part.parent is not select:
        part = part.parent
    if part is None:
        return None
    if part.arg_key == "expressions":
        before = () if dialect in _WITHOUT_LATERAL_ALIASES else _aliases_for(select, part, dialect)
    elif part.arg_key in ("where", "prewhere", "having", "qualify"):
        has_aliases = dialect not in _WITHOUT_LATERAL_ALIASES or dialect in _WITH_ALIASES_IN_WHERE
        before = select.expressions if has_aliases else ()
    else:
        before = ()
    name = column.name.lower()
    return next((made for made in before if isinstance(made, exp.Alias) and made.alias.lower() == name), None)


def _aliases_for(select: Any, part: Any, dialect: str | None) -> list[Any]:
    if dialect == "clickhouse":
        return [made for made in select.expressions if made is not part]
    return list(select.expressions[: part.index])


def does_alias_win(dialect: str | None) -> bool:
    """Return whether an alias may hide a column of a table."""
    return dialect == "clickhouse"  # depends on a setting outside of the text


def elements(select: Any) -> Iterator[str]:
    """Yield the names of array elements in ClickHouse joins: `ARRAY JOIN prices AS price`."""
    for join in select.args.get("joins") or ():
        if join.kind == "ARRAY":
            for part in [join.this, *join.expressions]:
                if part.alias:
                    yield part.alias.lower()
