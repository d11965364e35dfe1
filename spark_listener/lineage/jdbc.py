"""Names database tables, from the JDBC URL and the table that a program gave (rules: OpenLineage's for each database).

    PostgreSQL, Redshift          postgres://{host}:{port}, redshift://…          database.schema.table
    MySQL, MariaDB, OceanBase     mysql://{host}:{port}, oceanbase://…            database.table
    Microsoft SQL Server          mssql://{host}:{port}                           database.schema.table
    Oracle                        oracle://{host}:{port}                          service or sid.schema.table
    DB2, CrateDB                  db2://{host}:{port}, crate://…                  database.schema.table
    Teradata, Hive                teradata://{host}:{port}, hive://…              database.table
    Trino                         trino://{host}:{port}                           catalog.schema.table
    Snowflake                     snowflake://{organization}-{account}            database.schema.table
    others                        host and port in the URL                        the table as the program gave it

A URL may contain passwords in any of its parts. So only host, port, database and schema are used, each in a form that is checked. A part
that is not certain is left out of the name. Parts that the program left out (port, schema) get the database's default.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from headwater.spark_listener.lineage.naming import Name


@dataclass(frozen=True, slots=True)
class _Kind:
    scheme: str  # scheme of the namespace
    port: str
    schema: str | None  # the default schema; None: there are no schemas
    fold: str = "lower"  # case of unquoted names
    dialect: str | None = None  # of sqlglot


_KINDS = {
    "postgresql": _Kind("postgres", "5432", "public", dialect="postgres"),
    "redshift": _Kind("redshift", "5439", "public", dialect="redshift"),
    "mysql": _Kind("mysql", "3306", None, fold="", dialect="mysql"),
    "mariadb": _Kind("mysql", "3306", None, fold="", dialect="mysql"),
    "oceanbase": _Kind("oceanbase", "2881", None, fold="", dialect="mysql"),
    "sqlserver": _Kind("mssql", "1433", "dbo", fold="", dialect="tsql"),
    "oracle": _Kind("oracle", "1521", "", fold="upper", dialect="oracle"),
    "db2": _Kind("db2", "50000", "", fold="upper"),
    "crate": _Kind("crate", "5432", "doc", dialect="postgres"),
    "teradata": _Kind("teradata", "1025", None, fold="", dialect="teradata"),
    "hive2": _Kind("hive", "10000", None, dialect="hive"),
    "trino": _Kind("trino", "8080", "", dialect="trino"),
    "snowflake": _Kind("snowflake", "", "PUBLIC", fold="upper", dialect="snowflake"),
}
# The dialects, in sqlglot's words, of databases without naming rules.
_DIALECTS = {
    "sqlite": "sqlite", "duckdb": "duckdb", "clickhouse": "clickhouse", "ch": "clickhouse", "databricks": "databricks",
    "spark": "databricks",
    "presto": "presto", "awsathena": "athena", "athena": "athena", "bigquery": "bigquery", "exa": "exasol", "singlestore": "singlestore",
    "cockroachdb": "postgres", "yugabytedb": "postgres", "vertica": "postgres", "jtds": "tsql", "memsql": "singlestore", "drill": "drill",
    "dremio": "dremio", "doris": "doris", "starrocks": "starrocks",
}  # fmt: skip
# The parts of a table's name, by the scheme of its namespace.
LEVELS = {
    kind.scheme: ("DATABASE", "TABLE") if kind.schema is None else ("CATALOG" if kind.scheme == "trino" else "DATABASE", "SCHEMA", "TABLE")
    for kind in _KINDS.values()
}
_HOST = r"\[[0-9A-Fa-f:.]{1,64}\]|[A-Za-z0-9][A-Za-z0-9_.-]{0,253}"
_AUTHORITY = re.compile(rf"(?P<host>{_HOST})(?:\\[^:;/]*)?(?::(?P<port>\d{{1,5}}))?")
_DESCRIBED = re.compile(rf"(?i)\bhost\s*=\s*(?P<host>{_HOST})\s*\)(?:.*?\bport\s*=\s*(?P<port>\d{{1,5}}))?", re.DOTALL)  # (HOST=…)(PORT=…)
_ORACLE = re.compile(rf"(?:(?:[a-z]+:)?//)?(?P<host>{_HOST})(?::(?P<port>\d{{1,5}}))?(?P<service>[:/][\w.$#-]{{1,128}})?.*", re.DOTALL)
_SERVICE = re.compile(r"(?i)\b(?:service_name|sid)\s*=\s*([\w.$#-]{1,128})")
_PART = re.compile(r'"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|\[((?:[^\]]|\]\])+)\]|([^\s."`\[\]();,]+)')
_PLAIN = re.compile(r"[^\x00-\x1f\x7f?;&=@]{1,256}")
_DATABASE = {"sqlserver": ("databasename", "database"), "snowflake": ("db",), "teradata": ("database",)}
_SCHEMA = {"postgresql": ("currentschema",), "redshift": ("currentschema",), "db2": ("currentschema",), "snowflake": ("schema",)}


@dataclass(frozen=True, slots=True)
class Database:
    """The database of a JDBC URL."""

    kind: str  # its subprotocol
    namespace: str
    database: str | None
    schema: str | None

    @property
    def dialect(self) -> str | None:
        known = _KINDS.get(self.kind)
        return known.dialect if known else _DIALECTS.get(self.kind)

    def whole(self) -> Name:
        return self.namespace, self.database or "unknown"

    def table(self, parts: Sequence[str]) -> Name:
        """Return the name of a table. `parts` are the parts of its name, the table's own last. Missing parts get the database's default."""
        known = _KINDS.get(self.kind)
        if known is None:
            return self.namespace, ".".join(_quoted(part) for part in ((self.database,) if self.database else ()) + tuple(parts))
        above = [self.database] if known.schema is None else [self.database, self.schema or known.schema]
        if len(parts) <= len(above):
            parts = [*(part for part in above[: len(above) + 1 - len(parts)] if part), *parts]
        return self.namespace, ".".join(_quoted(part) for part in parts)

    def folded(self, part: str) -> str:
        """Return an unquoted name in the database's case."""
        fold = _KINDS[self.kind].fold if self.kind in _KINDS else ""
        return part.lower() if fold == "lower" else part.upper() if fold == "upper" else part


def database_of(url: str) -> Database:
    """Return the database of a JDBC URL. Never raises, and contains no secret."""
    text = url.strip()
    text = text[5:] if text[:5].lower() == "jdbc:" else text
    kind, _, rest = text.partition(":")
    kind = kind.lower() if re.fullmatch(r"[A-Za-z0-9_+-]{1,32}", kind) else "unknown"
    if kind == "oracle":
        return _oracle(rest)
    if kind in ("mysql", "mariadb", "jtds") and rest.startswith(("replication:", "loadbalance:", "aurora:", "sequential:", "failover:")):
        rest = rest.partition(":")[2]
    place, parameters = _split(rest, kind)
    # a password holds this character only escaped: the text before the last one is user and password
    authority, _, path = place.removeprefix("//").rpartition("@")[2].partition("/") if place.startswith("//") else ("", "", place)
    known = _KINDS.get(kind)
    if known is None:
        return _other(kind, authority, path)
    database = unquote(path.partition("/")[0]) or _first(parameters, _DATABASE.get(kind, ()))
    schema = _first(parameters, _SCHEMA.get(kind, ()))
    if kind == "trino" and "/" in path:
        schema = unquote(path.partition("/")[2])
    schema = schema.split(",")[0].strip().strip('"') if schema else None
    return Database(kind, _namespace(known, authority), _checked(database), _checked(schema))


def parts_of(table: str, database: Database) -> list[str] | None:
    """Return the parts of a table's name, in the database's case. None if the text is a query."""
    parts: list[str] = []
    at = 0
    text = table.strip()
    while found := _PART.match(text, at):
        double, tick, bracket, bare = found.groups()
        quoted = double.replace('""', '"') if double else tick.replace("``", "`") if tick else bracket and bracket.replace("]]", "]")
        parts.append(quoted or database.folded(bare))
        at = found.end()
        if at == len(text):
            return parts
        if text[at] != ".":
            return None
        at += 1
    return None


def _split(rest: str, kind: str) -> tuple[str, dict[str, str]]:
    """Split a URL into place and parameters.

    Parameters follow the first `?` or `;`. Even for H2 and Derby they are never part of the place.
    """
    mark = re.search(r"[?;]" if kind != "teradata" else r"[?;/](?=\w+=)", rest)
    place, stated = (rest[: mark.start()], rest[mark.end() :]) if mark else (rest, "")
    pairs = (pair.partition("=") for pair in re.split(r"[&;,]" if kind == "teradata" else r"[&;]", stated))
    return place, {name.strip().lower(): unquote(value.strip().strip("{}")) for name, _, value in pairs if value}


def _namespace(kind: _Kind, authority: str) -> str:
    if kind.scheme == "snowflake":
        account = re.match(r"([A-Za-z0-9_-]{1,128})(?=\.|$)", authority)
        return f"snowflake://{account[1].lower() if account else 'unknown'}"
    first = re.split(r",(?![^(]*\))", authority)[0]
    found = _AUTHORITY.fullmatch(first) or _DESCRIBED.search(authority)
    if found is None and authority:
        return f"{kind.scheme}://unknown"
    host, port = (found["host"], found["port"]) if found else ("localhost", None)
    return f"{kind.scheme}://{host.lower()}:{port or kind.port}"


def _oracle(rest: str) -> Database:
    """Parse `thin:[user/password]@[//]host[:port][:sid|/service]`, or a description in brackets."""
    place = rest.rpartition("@")[2] if "@" in rest else ""
    found = _DESCRIBED.search(place) if "(" in place else _ORACLE.fullmatch(place)
    if found is None:
        return Database("oracle", "oracle://unknown", None, None)
    service = _SERVICE.search(place) if "(" in place else None
    database = service[1] if service else (found["service"] or "")[1:] if "(" not in place else ""
    return Database("oracle", f"oracle://{found['host'].lower()}:{found['port'] or '1521'}", _checked(database), None)


def _other(kind: str, authority: str, path: str) -> Database:
    found = _AUTHORITY.fullmatch(authority)
    if found:
        port = f":{found['port']}" if found["port"] else ""
        return Database(kind, f"{kind}://{found['host'].lower()}{port}", _checked(unquote(path)), None)
    return Database(kind, kind, None if authority else _checked(path), None)


def _first(parameters: dict[str, str], names: Sequence[str]) -> str | None:
    return next((parameters[name] for name in names if parameters.get(name)), None)


def _checked(part: str | None) -> str | None:
    """Return a part of a URL if it can be used in a name. None if it could contain anything else."""
    return part if part and _PLAIN.fullmatch(part) and "://" not in part else None


def _quoted(part: str) -> str:
    return '"' + part.replace('"', '""') + '"' if "." in part or '"' in part else part
