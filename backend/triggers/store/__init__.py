"""The store of triggers, causes and executions: in a file of a home, or in the database that replicas share.

The unique key of a cause makes it fire once. Every writer takes the lock of the tenant first, so two writers never process one cause at the
same time.
"""

from __future__ import annotations

from headwater.backend.triggers.store.registry import has_store, open_store
from headwater.backend.triggers.store.store import TriggerStore

__all__ = ["TriggerStore", "has_store", "open_store"]
