from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from headwater.graph.model import GraphBatch
from headwater.graph.stores import GraphStore, open_store
from headwater.graph.views import View, ViewRequest, view

Show = Callable[..., Awaitable[View]]


@pytest.fixture
async def store(tmp_path: Any) -> AsyncIterator[GraphStore]:
    opened = open_store(f"sqlite:///{tmp_path}/graph.db")
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def show(store: GraphStore) -> Show:
    """The view of a graph that a batch states; a tenant for each call."""

    async def of(batches: GraphBatch | list[GraphBatch], *focus: str, **asked: Any) -> View:
        tenant = uuid4().hex
        await store.apply(tenant, [batches] if isinstance(batches, GraphBatch) else batches)
        return await view(store, tenant, ViewRequest(focus=focus, **asked))

    return of
