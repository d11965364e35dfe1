"""The contract suite runs every test that asks for `store` over each implementation; every test has a tenant of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from headwater.graph.stores import GraphStore, open_store
from tests.neo4j_server import Neo4jServer, neo4j_server

__all__ = ["neo4j_server"]


@pytest.fixture(params=["sqlite", pytest.param("neo4j", marks=pytest.mark.neo4j)])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[GraphStore]:
    if request.param == "sqlite":
        opened = open_store(f"sqlite:///{tmp_path}/graph.db")
    else:
        server: Neo4jServer = request.getfixturevalue("neo4j_server")
        opened = open_store(server.uri, user=server.user, password=server.password)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def tenant() -> str:
    return uuid4().hex
