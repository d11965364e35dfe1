"""`headwater diff` on a home with captured runs: printed, and written to files of each format."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.spark_listener.registry import Registry
from tests.backend.cli.command import headwater
from tests.captured import project_captures
from tests.graph.jobs import Job, write_csv

_COLUMNS = {"row": "string", "v": "int"}


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> tuple[Path, Path]:
    """A home, and a folder to which two runs wrote: the second added three records. One column has the name of a place."""
    home, root = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("data")
    records = AssociationStore(home / "associations", sources=ANYWHERE)
    Registry(home).add_roots([str(root)])
    for clock, rows in enumerate(([["a", 1]], [["b", 2], ["=c", 3], ["a", 4]]), 1):
        raw = write_csv(root / "raw" / f"{clock}.csv", [*_COLUMNS], rows)
        job = Job(records, "copy", clock, part=f"run{clock}", said={"mode": "append"})
        job.write(job.scan(raw, "csv", _COLUMNS, {"header": "true"}), root / "out", "parquet", [*_COLUMNS], files=1)

    async def fill() -> None:
        graph = SqliteStore(str(home / "graph.db"))
        await graph.open()
        await project_captures(graph, records)
        await graph.close()

    asyncio.run(fill())
    records.close()
    return home, root / "out"


def test_blocks_are_named_by_their_sequence(grown) -> None:
    home, out = grown
    done = headwater("diff", str(out), "1", "2", "-f", "json", "--home", str(home))
    rows = json.loads(done.stdout)
    assert [(row["change"], row["version"], row["_row"], row["row"], row["v"]) for row in rows] == [
        ("added", "after", 0, "b", 2), ("added", "after", 1, "=c", 3), ("added", "after", 2, "a", 4),
    ]  # fmt: skip
    assert "3 added, 0 removed, 0 changed." in done.stderr
    trace = headwater(
        "trace", str(out), "--row", f"{rows[1]['file']}:{rows[1]['_row']}", "--as-of", rows[1]["as_of"], "-f", "json", "--home", str(home)
    )
    (source,) = json.loads(trace.stdout)["records"]
    assert (Path(source["file"]).name, source["row"]) == ("2.csv", 1)


def test_a_key_pairs_records(grown) -> None:
    home, out = grown
    text = headwater("diff", str(out), "2", "1", "--key", "v", "--only", "removed", "--limit", "1", "--home", str(home))
    assert "0 added, 3 removed, 0 changed." in text.stderr
    assert "2 more are not listed" in text.stderr


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_all_records_are_written_to_a_file(grown, tmp_path, ending, monkeypatch) -> None:
    home, out = grown
    monkeypatch.setattr("headwater.backend.cli.diff._PAGE", 2)  # so that there are two pages
    path = tmp_path / f"changes.{ending}"
    headwater("diff", str(out), "1", "--output", str(path), "--home", str(home))
    if ending == "parquet":
        rows = pq.read_table(path).to_pylist()
    elif ending == "json":
        rows = json.loads(path.read_text())
    else:
        rows = [{**row, "v": int(row["v"]), "_row": int(row["_row"])} for row in csv.DictReader(io.StringIO(path.read_text()))]
    assert [(row["_row"], row["v"]) for row in rows] == [(0, 2), (1, 3), (2, 4)]
    assert rows[1]["row"] == ("'=c" if ending == "csv" else "=c")  # no spreadsheet takes it for a formula
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_file_of_an_unknown_format_is_refused(grown, tmp_path) -> None:
    home, out = grown
    done = headwater("diff", str(out), "1", "-o", str(tmp_path / "x.txt"), "--home", str(home), code=2)
    assert "names no known format" in done.stderr


def test_an_empty_difference_is_an_empty_file(grown, tmp_path) -> None:
    home, out = grown
    for ending in ("csv", "json", "parquet"):
        path = tmp_path / f"none.{ending}"
        headwater("diff", str(out), "2", "-o", str(path), "--home", str(home))
        assert path.exists()
    assert json.loads((tmp_path / "none.json").read_text()) == []
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0
