"""Changes of blocks for one caller of the service. Only the default tenant has data of the home."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.versions.operations import VersionOperations


class PermittedVersions:
    """The `VersionService` of one caller."""

    def __init__(self, operations: VersionOperations, who: Principal) -> None:
        self._operations = operations
        self._who = who

    async def enrol(self, tenant: str, dataset: str) -> Mapping[str, Any]:
        _require_own(tenant)
        return await self._operations.enrol(dataset, by=self._who.name)

    async def withdraw(self, tenant: str, dataset: str) -> None:
        _require_own(tenant)
        await self._operations.withdraw(dataset, by=self._who.name)

    async def collect(self, tenant: str, dataset: str, *, keep: int, apply: bool, trash_days: float) -> Mapping[str, Any]:
        _require_own(tenant)
        return await self._operations.collect(dataset, keep=keep, apply=apply, trash_days=trash_days, by=self._who.name)

    async def compact(self, tenant: str, dataset: str, *, apply: bool, trash_days: float) -> Mapping[str, Any]:
        _require_own(tenant)
        return await self._operations.compact(dataset, apply=apply, trash_days=trash_days, by=self._who.name)

    async def restore(self, tenant: str, identifier: str) -> str:
        _require_own(tenant)
        return await self._operations.restore(identifier, by=self._who.name)


def _require_own(tenant: str) -> None:
    if tenant != DEFAULT_TENANT:
        raise ForbiddenError(f"The tenant {tenant} has no data of this home.", hint="Blocks are merged and dropped on a home of its own.")
