"""A raw file that several captures read, each numbering its records in its own way: a header is a record to whoever reads lines."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from headwater.graph.records import AssociationStore
from headwater.graph.trace import TraceRequest, trace
from tests.graph.jobs import TENANT, Job, write_csv

COLUMNS = {"key": "string", "n": "int"}


def _run(store: AssociationStore, root: Path, *, lines_last: bool) -> Path:
    """One job reads a file as CSV with a header, one as lines, and both write all that they read."""
    raw = write_csv(root / "raw.csv", list(COLUMNS), [["abc"[n % 3], n] for n in range(20)])
    table = Job(store, "table", 1)
    table.write(table.scan(raw, "csv", COLUMNS, {"header": "true"}), root / "table", "parquet", list(COLUMNS))
    lines = Job(store, "lines", 2 if lines_last else 0)
    names = {} if lines_last else {"value": "string"}  # those of an RDD have no columns
    scanned = lines.scan(raw, "text", {"value": "string"}, splits={"raw.csv": [0, raw.stat().st_size // 2]})
    if not names:
        lines.sources[0]["columns"] = []
    lines.write(scanned, root / "lines", "parquet", ["value"])
    return raw


@pytest.mark.parametrize("lines_last", [True, False])
def test_a_record_of_a_table_is_followed_to_what_was_made_of_its_line(store: AssociationStore, tmp_path: Path, lines_last: bool) -> None:
    raw = _run(store, tmp_path, lines_last=lines_last)
    asked = TraceRequest(dataset=str(raw), rows=[(f"file:{raw}", row) for row in (0, 7, 19)], forward=True)
    answer = asyncio.run(trace(None, store, TENANT, asked))
    assert answer.exact, answer.incomplete
    found = {tuple(str(value) for value in record.values.values()) for record in answer.records}
    assert found == {("a", "0"), ("b", "7"), ("b", "19"), ("a,0",), ("b,7",), ("b,19",)}


def test_a_line_keeps_its_own_number_on_the_way_back(store: AssociationStore, tmp_path: Path) -> None:
    raw = _run(store, tmp_path, lines_last=True)
    asked = TraceRequest(dataset=str(tmp_path / "lines"), where="value IN ('key,n', 'b,7')")
    answer = asyncio.run(trace(None, store, TENANT, asked))
    assert {(record.row, record.line) for record in answer.records if record.file == f"file:{raw}"} == {(0, 1), (8, 9)}
