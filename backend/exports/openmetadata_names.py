"""Names of OpenMetadata: valid names of entities, and fully qualified names, whose parts are joined by dots.

Two entities must never get the same name, because the second would silently replace the first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from headwater.backend.exports.request import CatalogRequest
from headwater.errors import InvalidQueryError
from headwater.graph.model import parse_id

_LONGEST = 256
_KEPT = 200  # characters of a long name before its hash
_ONLY = "default"  # name of the database or schema of entities without one
_NONE = "unnamed"  # used instead for entities without a schema, if a schema may be named `default`
# Matches names that look as if this module encoded or shortened them.
_LIKE_OURS = re.compile(r"reserved__|~[0-9a-f]{32}$")

# Characters that no name may contain, in the encoding of OpenMetadata's own ingestion.
_SPELT = {
    "::": "__reserved__colon__", ">": "__reserved__arrow__", '"': "__reserved__quote__", "\n": "__reserved__newline__",
    "\r": "__reserved__carriage_return__", "\t": "__reserved__tab__",
}  # fmt: skip
_THREE_PARTS = (
    "postgres", "postgresql", "redshift", "snowflake", "bigquery", "trino", "sqlserver", "mssql", "oracle", "awsathena", "databricks",
)  # fmt: skip
_TWO_PARTS = ("mysql", "mariadb", "hive", "db2", "teradata", "cassandra", "clickhouse")


def entity_name(name: str) -> str:
    """Convert a name of a table, a job, a column or a tag to one that OpenMetadata accepts."""
    spelt = name
    for letters, spelling in _SPELT.items():
        spelt = spelt.replace(letters, spelling)
    if len(spelt) <= _LONGEST and not _LIKE_OURS.search(name):
        return spelt
    return f"{spelt[:_KEPT]}~{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def qualified(*parts: str) -> str:
    """Return a fully qualified name. Parts that contain a dot are quoted."""
    return ".".join(f'"{part}"' if "." in part else part for part in parts)


class Names:
    """The names of one export. `namespaces` are all namespaces of datasets and of jobs.

    Raises:
        InvalidQueryError: two namespaces would get the same name.
    """

    def __init__(self, request: CatalogRequest, namespaces: Iterable[str]) -> None:
        self._known_as = request.known_as
        taken: dict[str, str] = {}
        for namespace in sorted(set(namespaces)):
            other = taken.setdefault(self.service(namespace), namespace)
            if other != namespace:
                raise InvalidQueryError(
                    f"{other} and {namespace} would be one service.", field="known_as", hint="Give one another name: NAMESPACE=NAME."
                )

    def service(self, namespace: str) -> str:
        return self._known_as.get(namespace) or entity_name(namespace)

    def place(self, identifier: str) -> tuple[str, str, str, str]:
        """Return service, database, schema and table of a dataset. `identifier` may also be the id of a column."""
        namespace, name = parse_id(identifier)[1][:2]
        scheme, parts = namespace.partition("://")[0], name.split(".")
        database, schema, table = _ONLY, _ONLY, name
        if not all(parts):
            pass
        elif scheme in _THREE_PARTS and len(parts) == 3 and parts[:2] != [_ONLY, _ONLY]:
            database, schema, table = parts
        elif scheme in _TWO_PARTS and len(parts) == 2 and parts[0] != _NONE:
            schema, table = parts
        elif scheme in _TWO_PARTS and len(parts) == 1:
            schema = _NONE
        return self.service(namespace), entity_name(database), entity_name(schema), entity_name(table)

    def table(self, identifier: str) -> str:
        return qualified(*self.place(identifier))

    def column(self, identifier: str) -> str:
        return qualified(*self.place(identifier), entity_name(parse_id(identifier)[1][2]))

    def pipeline(self, namespace: str, name: str) -> str:
        return qualified(self.service(namespace), entity_name(name))
