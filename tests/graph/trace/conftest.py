"""The common parts of tests of traces: a store in a temporary folder, and a question to it."""

from pathlib import Path
from typing import Any

import pytest

from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from tests.graph.jobs import TENANT, write_csv
from tests.graph.trace.small import COLUMNS, ROWS


@pytest.fixture
def store(tmp_path: Path):
    opened = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    yield opened
    opened.close()


@pytest.fixture
def ask(store):
    """The answer to a request made of keywords."""

    async def put(graph: Any = None, **request: Any) -> TraceAnswer:
        return await trace(graph, store, TENANT, TraceRequest(**{"values": False, **request}))

    return put


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "raw" / "t.csv", list(COLUMNS), ROWS)


@pytest.fixture
async def graph(tmp_path):
    opened = SqliteStore(str(tmp_path / "graph.db"))
    await opened.open()
    yield opened
    await opened.close()


def records(answer: TraceAnswer) -> set[tuple[str, int | None]]:
    """The records of an answer as (file's name, row)."""
    return {(Path(record.file or "").name, record.row) for record in answer.records}
