"""The records that a replay leaves out: those that had a part in an output, as far as that is known."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.rerun.replay.service import Replays
from headwater.errors import InvalidQueryError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from headwater.spark_listener.registry import Registry
from tests.graph.jobs import TENANT, Job, write_csv

COLUMNS = {"k": "string", "v": "int"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AssociationStore]:
    opened = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    yield opened
    opened.close()


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "raw" / "t.csv", list(COLUMNS), [["a", 5], ["b", 1]])


async def _plan(store: AssociationStore, folder: Path, raw: Path) -> None:
    async def ask(tenant: str, request: TraceRequest) -> TraceAnswer:
        return await trace(None, store, tenant, request)

    nothing: Any = None  # the graph is asked once records are known to reach an output
    await Replays(folder, nothing, ask, Registry(folder), ANYWHERE).plan(TENANT, str(raw), "v = 5", (), None)


async def test_records_of_no_part_are_told(store: AssociationStore, raw: Path, tmp_path: Path) -> None:
    job = Job(store, "filter", 1)
    scan = job.scan(raw, "csv", COLUMNS, {"header": "true"})
    job.write(job.filter(scan, lambda row: row["v"] == 1, ["v"]), tmp_path / "out", "parquet", list(COLUMNS))
    with pytest.raises(InvalidQueryError, match="had no part in any output"):
        await _plan(store, tmp_path / "replays", raw)


async def test_of_a_source_that_has_changed_no_part_is_denied(store: AssociationStore, raw: Path, tmp_path: Path) -> None:
    job = Job(store, "copy", 1)
    job.write(job.scan(raw, "csv", COLUMNS, {"header": "true"}), tmp_path / "out", "parquet", list(COLUMNS))
    with raw.open("a") as file:
        file.write("c,3\n")
    with pytest.raises(InvalidQueryError, match=r"had a part in any output is not known: .*t\.csv: it has changed since job copy read it"):
        await _plan(store, tmp_path / "replays", raw)
