"""Opens the store to which a URL refers. Implementations are imported only on request.

sqlite:///graph.db           a file in the working folder
sqlite:////var/hw/graph.db   a file by its absolute path
neo4j://host:7687            a Neo4j server or cluster (also bolt://, and +s, +ssc for TLS); the URL may contain user, password
                             and database: neo4j://user:password@host:7687/database
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from headwater.errors import ConfigurationError, MissingExtraError
from headwater.graph.stores.indexable import IndexableStore


def open_store(url: str, *, user: str | None = None, password: str | None = None) -> IndexableStore:
    """Return the store at `url`; `await store.open()` connects it. `user` and `password` override those of the URL.

    Raises:
        ConfigurationError: no store has that scheme, or the URL is incomplete.
        MissingExtraError: the store's driver is not installed.
    """
    scheme = urlsplit(url).scheme.lower()
    loader = _LOADERS.get(scheme)
    if loader is None:
        raise ConfigurationError(
            f"No graph store has the URL {_without_password(url)!r}.", hint="Use sqlite:///path/graph.db or neo4j://host:7687."
        )
    return loader(url, user=user, password=password)


def _sqlite(url: str, **_login: str | None) -> IndexableStore:
    from headwater.graph.stores.sqlite import SqliteStore

    path = unquote(urlsplit(url).path)[1:]
    if not path:
        raise ConfigurationError("The SQLite URL names no file.", hint="Use sqlite:///path/graph.db (four slashes for an absolute path).")
    return SqliteStore(path)


def _neo4j(url: str, *, user: str | None, password: str | None) -> IndexableStore:
    try:
        from headwater.graph.stores.neo4j import Neo4jStore
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "neo4j":
            raise
        raise MissingExtraError("The Neo4j graph store", extra="neo4j") from error

    parts = urlsplit(url)
    if not parts.hostname:
        raise ConfigurationError("The Neo4j URL names no host.", hint="Use neo4j://host:7687.")
    address = parts.netloc.rpartition("@")[2]
    query = f"?{parts.query}" if parts.query else ""
    return Neo4jStore(
        f"{parts.scheme}://{address}{query}",
        user=user or unquote(parts.username or "") or None,
        password=password or unquote(parts.password or "") or None,
        database=unquote(parts.path.strip("/")) or None,
    )


def _without_password(url: str) -> str:
    head, at, tail = url.rpartition("@")
    return f"{head.partition('://')[0]}://…@{tail}" if at else url


_LOADERS: dict[str, Callable[..., IndexableStore]] = {
    "sqlite": _sqlite,
    **{f"{scheme}{security}": _neo4j for scheme in ("neo4j", "bolt") for security in ("", "+s", "+ssc")},
}
