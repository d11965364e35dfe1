"""Opens the ingest log that the settings name: a file of the home, or one that replicas share. The latter loads when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.backend.ingest_log.protocol import IngestLog
from headwater.backend.ingest_log.sqlite import SqliteLog

if TYPE_CHECKING:
    from headwater.backend.home_settings import HomeSettings


def open_log(settings: HomeSettings, *, create: bool = True) -> IngestLog:
    """The log, open. Without `create` a file of the home must be there.

    Raises:
        ConfigurationError: it cannot be used so, or a package is missing.
        UnavailableError: its disk or server does not answer.
        DamagedError: its file is damaged, or missing.
    """
    if settings.ingest_log is None:
        return SqliteLog(settings.folder.log, create=create)
    from headwater.backend.ingest_log.postgres import open_postgres_log

    return open_postgres_log(settings)
