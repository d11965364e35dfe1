"""The graph goes on through files that a program moved: by datasets and by columns, whichever capture comes first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

from headwater.backend.projection import fold, project_moves
from headwater.graph.model import EdgeKind, NodeKind, node_id
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores import Direction
from headwater.graph.stores.sqlite import SqliteStore
from tests.graph.jobs import TENANT, Job, write_csv
from tests.graph.trace.small import COLUMNS, RAW, ROWS


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AssociationStore]:
    opened = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    yield opened
    opened.close()


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(str(tmp_path / "graph.db"))
    await opened.open()
    yield opened
    await opened.close()


@pytest.mark.parametrize("first", ["writer", "reader"])
async def test_the_writer_of_moved_files_wrote_where_they_lie(
    store: AssociationStore, graph: SqliteStore, tmp_path: Path, first: str
) -> None:
    raw = write_csv(tmp_path / "raw" / "t.csv", list(COLUMNS), ROWS)
    writer, reader = Job(store, "writer", 1), Job(store, "reader", 2, part="rep")
    writer.write(writer.scan(raw, "csv", COLUMNS, RAW), tmp_path / "tmp", "parquet", list(COLUMNS))
    (tmp_path / "tmp").rename(tmp_path / "hist")
    reader.write(reader.scan(tmp_path / "hist", "parquet", {"v": "int"}), tmp_path / "report", "parquet", ["v"])
    known = {"writer": writer.capture, "reader": reader.capture}
    batches = {
        name: project_moves(store.catalog.moves.flows(TENANT, capture), partial(store.brief, TENANT)) for name, capture in known.items()
    }
    assert batches["writer"] == batches["reader"]
    await fold(graph, TENANT, batches[first])

    hist, tmp = (str(tmp_path / name) for name in ("hist", "tmp"))
    wrote = await graph.neighbours(TENANT, [node_id(NodeKind.DATASET, "file", hist)], direction=Direction.UPSTREAM, kinds=[EdgeKind.WRITES])
    assert [(edge.src, edge.properties["moved"]) for edge in wrote] == [(node_id(NodeKind.JOB, "tests", "writer"), True)]
    made = await graph.neighbours(
        TENANT, [node_id(NodeKind.COLUMN, "file", hist, "v")], direction=Direction.UPSTREAM, kinds=[EdgeKind.DERIVES]
    )
    assert [edge.src for edge in made] == [node_id(NodeKind.COLUMN, "file", tmp, "v")]
