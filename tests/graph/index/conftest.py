from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.graph.index import IndexedStore
from headwater.graph.stores import GraphStore, open_store
from tests.graph.index.stores import indexed


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/graph.db"


@pytest.fixture
async def store(url: str) -> AsyncIterator[IndexedStore]:
    opened = indexed(url)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def other(url: str, store: IndexedStore) -> AsyncIterator[GraphStore]:
    """The same file, opened a second time."""
    opened = open_store(url)
    await opened.open()
    yield opened
    await opened.close()
