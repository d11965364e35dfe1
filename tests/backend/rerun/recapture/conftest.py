from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.graph.stores.sqlite import SqliteStore
from tests.backend.recapturing import Recapturing


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Recapturing]:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    found = Recapturing(tmp_path, graph)
    await found.wrote()
    yield found
    found.registry.close()
    found.records.close()
    await graph.close()
