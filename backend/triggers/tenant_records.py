"""The record stores of tenants. Each store reads files below the data roots of its tenant only."""

from __future__ import annotations

from threading import Lock

from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.workspace import Workspace, association_store
from headwater.graph.records import AssociationStore


class TenantRecords:
    """Opens the record stores of tenants. The default tenant has the workspace's store. Thread-safe."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._opened: dict[str, AssociationStore] = {}

    def of(self, tenant: str) -> AssociationStore:
        if tenant == DEFAULT_TENANT:
            return self._workspace.records
        with self._lock:
            if tenant not in self._opened:
                self._opened[tenant] = association_store(self._workspace.settings, self._workspace.registry, tenant=tenant)
            return self._opened[tenant]

    def close(self) -> None:
        with self._lock:
            for store in self._opened.values():
                store.close()
            self._opened = {}
