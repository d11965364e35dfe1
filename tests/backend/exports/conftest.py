"""A store that has taken in the company of `lake`, and its export, read back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from headwater.backend.exports import CatalogRequest, System, open_catalog
from headwater.graph.stores import GraphStore, open_store
from tests.backend.exports.lake import TENANT, fill

Export = Callable[[System, CatalogRequest], Awaitable[bytes]]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[GraphStore]:
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    await fill(store)
    yield store
    await store.close()


@pytest.fixture
def export(store: GraphStore) -> Export:
    async def exported(system: System, request: CatalogRequest) -> bytes:
        catalog = await open_catalog(store, TENANT, system, request)
        return b"".join([chunk async for chunk in catalog.chunks])

    return exported
