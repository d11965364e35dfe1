"""The embedded graph store: one SQLite file. It is the default."""

from headwater.graph.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
