"""What the tests of traces share: a store in a temporary folder, and a question put to it."""

from pathlib import Path
from typing import Any

import pytest

from headwater.graph.records import AssociationStore
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from tests.graph.jobs import TENANT


@pytest.fixture
def store(tmp_path: Path):
    opened = AssociationStore(tmp_path / "associations")
    yield opened
    opened.close()


@pytest.fixture
def ask(store):
    """The answer to a request made of keywords."""

    async def put(graph: Any = None, **request: Any) -> TraceAnswer:
        return await trace(graph, store, TENANT, TraceRequest(**{"values": False, **request}))

    return put


def records(answer: TraceAnswer) -> set[tuple[str, int | None]]:
    """The records of an answer as (file's name, row)."""
    return {(Path(record.file or "").name, record.row) for record in answer.records}
