"""The erasures of a home for one caller. They belong to the default tenant only."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.home.folder import Home
from headwater.graphql.services import ErasureView


class PermittedErasures:
    """The `ErasureService` of one caller."""

    def __init__(self, home: Home) -> None:
        self._home = home

    async def list(self, tenant: str, first: int) -> Sequence[ErasureView]:
        """Return the latest erasures, newest first. The plan and the choice of records are not shown."""
        return await asyncio.to_thread(self._list, first) if tenant == DEFAULT_TENANT else []

    def _list(self, first: int) -> Sequence[ErasureView]:
        from headwater.backend.erasure.stored import list_erasures

        return [
            ErasureView(
                one.id, str(one.state), one.plan.source, one.plan.records, one.by, one.reason, one.began, one.ended,
                None if one.certificate is None else one.certificate.model_dump(mode="json"),
            )
            for one in list_erasures(self._home.erasures, DEFAULT_TENANT)[:first]
        ]  # fmt: skip
