"""Opens the trigger store that the settings name: a file of the home, or tables that replicas share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.backend.tables import open_database
from headwater.backend.triggers.store.store import TriggerStore
from headwater.backend.triggers.store.tables import SCHEMA

if TYPE_CHECKING:
    from headwater.backend.home.quick_settings import HomeSettings


def has_store(settings: HomeSettings) -> bool:
    """Whether triggers may exist. A home without triggers has no file."""
    return settings.ingest_log is not None or settings.folder.triggers.exists()


def open_store(settings: HomeSettings) -> TriggerStore:
    """Open the store. A missing store is created.

    Raises:
        UnavailableError: the disk or the database does not answer.
        DamagedError: the file is damaged.
    """
    return TriggerStore(open_database(SCHEMA, settings, settings.folder.triggers))
