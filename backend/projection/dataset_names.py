"""Names of datasets that a producer states otherwise than OpenLineage's naming has them, so that one table is one dataset for all.

Great Expectations calls the table `clean` of the schema `public` in the database `shop` `public.clean`, in `postgresql+psycopg2://db.example`;
all others call it `shop.public.clean`, in `postgres://db.example:5432`. Its event says in the facet `dataSource` which port and database it
means. Only what is stated is used: where anything is missing, the dataset keeps the name that it came with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from headwater.backend.projection.facets import mapping, required, text

# As SQLAlchemy names databases, with the driver behind +; the scheme of the naming, its usual port, and the dots of a name there.
_DATABASES = {
    "postgresql": ("postgres", 5432, 2),
    "postgres": ("postgres", 5432, 2),
    "mysql": ("mysql", 3306, 1),
    "mariadb": ("mysql", 3306, 1),
}
_NAMESPACE = re.compile(r"(?P<database>[a-z]+)(?:\+[a-z0-9_]+)?://(?P<host>[^/@:\s]+|\[[0-9a-fA-F:]+])")


def name_of(dataset: Any, path: str) -> tuple[str, str]:
    """The namespace and the name of a dataset of an event.

    Raises:
        InvalidEventError: it has none.
    """
    namespace, name = required(dataset, "namespace", path), required(dataset, "name", path)
    stated = _NAMESPACE.fullmatch(namespace) if namespace.startswith(("postgres", "mysql", "mariadb")) else None
    if stated is None or stated["database"] not in _DATABASES:
        return namespace, name
    return _of_database(stated["database"], stated["host"], name, mapping(mapping(dataset.get("facets")).get("dataSource"))) or (
        namespace,
        name,
    )


def _of_database(database: str, host: str, name: str, source: Mapping[str, Any]) -> tuple[str, str] | None:
    """As the naming has it; None where the data source does not say all of it."""
    scheme, usual, dots = _DATABASES[database]
    try:
        uri = urlsplit(text(source.get("uri")) or "")
        port = uri.port or usual
    except ValueError:
        return None
    within = unquote(uri.path.removeprefix("/"))
    if uri.hostname != host.strip("[]").lower() or not within or "/" in within or "." in within:
        return None
    if name.count(".") == dots - 1:  # without the database: of a schema, or of none
        return f"{scheme}://{host}:{port}", f"{within}.{name}"
    return (f"{scheme}://{host}:{port}", name) if name.count(".") == dots else None
