from collections.abc import AsyncIterator

import pytest

from headwater.graph.stores.sqlite import SqliteStore
from tests.stated import state_pipeline


@pytest.fixture
async def store(tmp_path) -> AsyncIterator[SqliteStore]:
    """The pipeline, run once."""
    store = SqliteStore(str(tmp_path / "graph.db"))
    await store.open()
    await state_pipeline(store)
    yield store
    await store.close()
