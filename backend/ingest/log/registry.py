"""Opens the ingest log in the settings: a file of the home, or a log that replicas share. The latter is imported only if needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.backend.ingest.log.protocol import IngestLog
from headwater.backend.ingest.log.sqlite import SqliteLog

if TYPE_CHECKING:
    from headwater.backend.home.quick_settings import HomeSettings


def open_log(settings: HomeSettings, *, create: bool = True) -> IngestLog:
    """Open the log. Without `create`, a file of the home must exist.

    Raises:
        ConfigurationError: the settings are invalid, or a package is missing.
        UnavailableError: the disk or the server does not answer.
        DamagedError: the file is damaged or missing.
    """
    if settings.ingest_log is None:
        return SqliteLog(settings.folder.log, create=create)
    from headwater.backend.ingest.log.postgres import open_postgres_log

    return open_postgres_log(settings)
