"""The contract suite runs every test that asks for `store` over each implementation, without and with an index in memory.

Every test has a tenant of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from headwater.graph.index import open_indexed
from headwater.graph.stores import GraphStore
from tests.neo4j_server import Neo4jServer, neo4j_server

__all__ = ["neo4j_server"]


INDEX_BYTES = 1 << 26


@pytest.fixture(
    params=[
        "sqlite",
        "sqlite indexed",
        pytest.param("neo4j", marks=pytest.mark.neo4j),
        pytest.param("neo4j indexed", marks=[pytest.mark.neo4j, pytest.mark.slow]),
    ]
)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[GraphStore]:
    index_bytes = INDEX_BYTES if "indexed" in request.param else 0
    if request.param.startswith("sqlite"):
        opened = open_indexed(f"sqlite:///{tmp_path}/graph.db", index_bytes=index_bytes)
    else:
        server: Neo4jServer = request.getfixturevalue("neo4j_server")
        opened = open_indexed(server.uri, user=server.user, password=server.password, index_bytes=index_bytes)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def tenant() -> str:
    return uuid4().hex
