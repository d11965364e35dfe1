"""The embedded graph store: one SQLite file, the default."""

from headwater.graph.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
