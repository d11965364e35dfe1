"""Finds the store that a URL names. Implementations are imported only when they are asked for.

sqlite:///graph.db           a file in the working folder
sqlite:////var/hw/graph.db   a file by its absolute path
neo4j://host:7687            a Neo4j server or cluster (also bolt://, and +s, +ssc for TLS); user, password and database may
                             stand in the URL: neo4j://user:password@host:7687/database
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from headwater.errors import ConfigurationError, MissingExtraError
from headwater.graph.stores.protocol import GraphStore

if TYPE_CHECKING:
    from headwater.graph.index import Source


def open_store(url: str, *, user: str | None = None, password: str | None = None, index_bytes: int = 0) -> GraphStore:
    """The store at `url`; `await store.open()` connects it. `user` and `password` go before those of the URL.

    With `index_bytes`, of which so many may be taken, walks run in memory (`headwater.graph.index`); for whoever asks more than once.

    Raises:
        ConfigurationError: no store has that scheme, or the URL lacks something.
        MissingExtraError: the store's driver is not installed.
    """
    scheme = urlsplit(url).scheme.lower()
    loader = _LOADERS.get(scheme)
    if loader is None:
        raise ConfigurationError(
            f"No graph store has the URL {_without_password(url)!r}.", hint="Use sqlite:///path/graph.db or neo4j://host:7687."
        )
    store = loader(url, user=user, password=password)
    if not index_bytes:
        return store
    from headwater.graph.index import IndexedStore

    return IndexedStore(store, room=index_bytes)


def _sqlite(url: str, **_login: str | None) -> Source:
    from headwater.graph.stores.sqlite import SqliteStore

    path = unquote(urlsplit(url).path)[1:]
    if not path:
        raise ConfigurationError("The SQLite URL names no file.", hint="Use sqlite:///path/graph.db (four slashes for an absolute path).")
    return SqliteStore(path)


def _neo4j(url: str, *, user: str | None, password: str | None) -> Source:
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


_LOADERS: dict[str, Callable[..., Source]] = {
    "sqlite": _sqlite,
    **{f"{scheme}{security}": _neo4j for scheme in ("neo4j", "bolt") for security in ("", "+s", "+ssc")},
}
