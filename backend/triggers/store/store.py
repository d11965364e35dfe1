"""The trigger store: triggers, causes and executions in one database."""

from __future__ import annotations

from headwater.backend.tables.database import Database
from headwater.backend.triggers.store.causes import Causes
from headwater.backend.triggers.store.definitions import Definitions
from headwater.backend.triggers.store.executions import Executions
from headwater.backend.triggers.store.retention import Retention


class TriggerStore:
    """The triggers, causes and executions of one home, or of all replicas."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.definitions = Definitions(database)
        self.causes = Causes(database)
        self.executions = Executions(database)
        self.retention = Retention(database)

    def close(self) -> None:
        self.database.close()
