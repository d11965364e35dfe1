"""Small tables of Headwater's own: in a file of a home, or in the database that replicas share. One set of statements serves both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headwater.backend.tables.database import Connection, Database, Row, Schema
from headwater.backend.tables.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from headwater.backend.home.quick_settings import HomeSettings

__all__ = ["Connection", "Database", "Row", "Schema", "SqliteDatabase", "open_database"]


def open_database(schema: Schema, settings: HomeSettings, path: Path) -> Database:
    """Open the tables: in the file `path` of a home, or in the database of the log if replicas share it. Missing ones are created.

    Raises:
        UnavailableError: the disk or the database does not answer.
        DamagedError: the file is damaged.
    """
    if settings.ingest_log is None:
        return SqliteDatabase(schema, path)
    from headwater.backend.ingest.log.postgres.log import address_of
    from headwater.backend.tables.postgres import PostgresDatabase

    return PostgresDatabase(schema, address_of(settings))
