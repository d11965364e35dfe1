"""Tables of Iceberg and Delta that others compact and change: a trace finds records by the numbers that the table gives its rows, or says
what is missing. Real tables; what nobody captures is run without capture.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyspark
import pytest

from headwater.errors import NotFoundError
from headwater.graph.trace import Semantics, TraceAnswer, TraceRequest, trace
from tests import connectors
from tests.oracle.iceberg_history import CATALOG
from tests.oracle.laboratory import TENANT, Laboratory, laboratory_in
from tests.oracle.table_history import raw
from tests.spark_listener.delta import SETTINGS
from tests.spark_listener.iceberg import ids, traced

pytestmark = [
    pytest.mark.spark,
    pytest.mark.lake,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("tables"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # py4j closes its sockets when they are collected
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connectors are those of Spark 4.1"),
]
_EXTENSIONS = "spark.sql.extensions"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    folder = tmp_path_factory.mktemp("lake")
    conf = {
        **CATALOG, **SETTINGS, **connectors.CONF, _EXTENSIONS: f"{CATALOG[_EXTENSIONS]},{SETTINGS[_EXTENSIONS]}",
        "spark.sql.catalog.lake.warehouse": f"{folder}/lake", "spark.sql.warehouse.dir": f"{folder}/warehouse",
    }  # fmt: skip
    with laboratory_in(folder, budget=0.0, submitted=connectors.submitted(), conf=conf) as laboratory:
        raw(laboratory)
        yield laboratory


def _run(lake: Laboratory, *statements: str) -> None:
    """Run statements with capture, whose captures must be whole."""
    for statement in statements:
        lake.spark.sql(statement)
        for capture in lake.take():
            assert (capture["status"], capture["problems"]) == ("complete", []), (statement, capture["problems"])


def _elsewhere(lake: Laboratory, *statements: str) -> None:
    """Run statements as another program does, without capture."""
    with lake.without_capture():
        for statement in statements:
            lake.spark.sql(statement)
    lake.forget()


def _made(lake: Laboratory, name: str, mode: str = "copy-on-write", version: int = 3, where: str = "id < 20") -> str:
    """A table of records of `raw`, made with capture."""
    modes = ", ".join(f"'write.{command}.mode' = '{mode}'" for command in ("delete", "update", "merge"))
    _run(lake, f"CREATE TABLE lake.db.{name} USING iceberg TBLPROPERTIES ('format-version' = '{version}', {modes}) "
               f"AS SELECT /*+ COALESCE(1) */ * FROM raw WHERE {where}")  # fmt: skip
    return f"lake.db.{name}"


def _compacted(name: str) -> str:
    return f"CALL lake.system.rewrite_data_files(table => 'db.{name.rpartition('.')[2]}', options => map('rewrite-all', 'true'))"


def _read(lake: Laboratory, query: str, name: str) -> Path:
    """Write what a query reads, with capture."""
    lake.spark.sql(query).write.parquet(f"{lake.folder}/{name}")
    (capture,) = lake.take()
    assert (capture["status"], capture["problems"]) == ("complete", [])
    return lake.folder / name


def _exactly(lake: Laboratory, answer: TraceAnswer) -> list[int]:
    assert answer.exact, answer.incomplete
    return ids(lake, answer)


def _missing(answer: TraceAnswer) -> str:
    assert not answer.exact
    return " ".join(entry.reason for entry in answer.incomplete if entry.effect == "missing")


def _forward(lake: Laboratory, number: int) -> TraceAnswer:
    asked = TraceRequest(dataset=str(lake.folder / "raw"), where=f"id = {number}", forward=True, semantics=Semantics.INFLUENCE, limit=100)
    return asyncio.run(trace(None, lake.store, TENANT, asked))


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_rows_are_found_through_compactions_that_nobody_captured(lake: Laboratory, mode: str) -> None:
    table = _made(lake, f"through_{mode[:4]}", mode)
    _run(lake, f"UPDATE {table} SET s = 'new' WHERE id IN (SELECT id - 40 FROM raw WHERE id IN (43, 45))")  # 3 and 5
    _elsewhere(lake, _compacted(table), f"DELETE FROM {table} WHERE id = 7", _compacted(table))
    _run(lake, f"MERGE INTO {table} t USING (SELECT * FROM raw WHERE id IN (2, 30)) m ON t.id = m.id "
               "WHEN MATCHED THEN UPDATE SET s = concat(t.s, m.s) WHEN NOT MATCHED THEN INSERT *")  # fmt: skip
    _elsewhere(lake, _compacted(table))
    out = f"from_through_{mode[:4]}"
    _read(lake, f"SELECT id, s FROM {table}", out)
    expected = {i: [i] for i in range(20) if i != 7} | {3: [3, 43], 5: [5, 45], 30: [30]}
    assert {i: _exactly(lake, traced(lake, out, where=f"id = {i}")) for i in (2, 3, 4, 5, 19, 30)} == {
        i: expected[i] for i in (2, 3, 4, 5, 19, 30)
    }
    assert _exactly(lake, traced(lake, out)) == sorted({source for sources in expected.values() for source in sources})
    witness = traced(lake, out, where="id = 4", column="id", semantics=Semantics.WITNESS)
    assert _exactly(lake, witness) == [4]
    for source, reached in ((43, [3]), (4, [4]), (30, [30]), (7, [])):
        found = _forward(lake, source)
        assert [record.values["id"] for record in found.records if record.dataset.endswith(out)] == reached, (source, found)


@pytest.mark.slow
def test_what_others_changed_is_given_as_far_as_it_is_known(lake: Laboratory) -> None:
    table = _made(lake, "changed")
    _elsewhere(lake, f"UPDATE {table} SET s = 'other' WHERE id = 4", f"INSERT INTO {table} SELECT * FROM raw WHERE id = 50")
    _elsewhere(lake, _compacted(table))
    _read(lake, f"SELECT id, s FROM {table}", "from_changed")
    assert _exactly(lake, traced(lake, "from_changed", where="id = 5")) == [5]
    changed = traced(lake, "from_changed", where="id = 4")
    assert "1 of its records were changed since, by which run is not known" in _missing(changed)
    assert ids(lake, changed) == [4], "its former self had a part in it"
    (inserted,) = (answer := traced(lake, "from_changed", where="id = 50")).records
    assert answer.exact, answer.incomplete
    assert inserted.dataset.endswith("changed"), "nobody known wrote it: it is a record of the table"
    assert "were changed, by which run is not known" in str(_forward(lake, 4).incomplete)


@pytest.mark.slow
def test_a_record_of_a_file_that_no_capture_knows_is_asked_for(lake: Laboratory) -> None:
    table = _made(lake, "unknown")
    _elsewhere(lake, _compacted(table))
    with lake.without_capture():
        row = lake.spark.sql(f"SELECT _file, _pos FROM {table} WHERE id = 9").collect()[0]
    lake.forget()
    answer = traced(lake, "lake/db/unknown", where=None, rows=[(row._file, row._pos)])
    assert _exactly(lake, answer) == [9]
    assert answer.selected[0].values["id"] == 9
    stray = lake.folder / "lake/db/unknown/data/stray.parquet"
    shutil.copy(row._file.removeprefix("file:"), stray)
    with pytest.raises(NotFoundError, match="no file of"):
        traced(lake, "lake/db/unknown", where=None, rows=[(str(stray), 0)])


@pytest.mark.slow
def test_where_a_table_does_not_number_its_rows_the_answer_says_what_is_missing(lake: Laboratory) -> None:
    table = _made(lake, "second", version=2)
    _elsewhere(lake, f"INSERT INTO {table} SELECT * FROM raw WHERE id = 50")
    _read(lake, f"SELECT id FROM {table}", "from_appended")
    assert traced(lake, "from_appended").exact
    _elsewhere(lake, _compacted(table))
    _read(lake, f"SELECT id FROM {table}", "from_second")
    assert "its table does not number its rows" in _missing(traced(lake, "from_second", where="id = 4"))
    assert "what became of its records" in _missing(_forward(lake, 4))


@pytest.mark.slow
def test_where_the_metadata_do_not_tell_the_answer_says_so(lake: Laboratory) -> None:
    table = _made(lake, "gone")
    _run(lake, f"UPDATE {table} SET s = 'new' WHERE id = 6")
    _elsewhere(lake, _compacted(table))
    _read(lake, f"SELECT id FROM {table}", "from_gone")
    metadata = lake.folder / "lake/db/gone/metadata"
    newest = max(metadata.glob("v*.metadata.json"), key=lambda path: int(path.name[1:].partition(".")[0]))
    kept = newest.read_bytes()
    assert _exactly(lake, traced(lake, "from_gone", where="id = 4")) == [4]
    for damage in (b"{", b"[]", b'{"snapshots": [{"snapshot-id": 1}]}', kept.replace(b".avro", b".none")):
        newest.write_bytes(damage)
        assert "whether it holds rows of earlier files cannot be told" in _missing(traced(lake, "from_gone", where="id = 4"))
    newest.write_bytes(kept)
    twin = metadata / f"{int(newest.name[1:].partition('.')[0]):05}-other.metadata.json"
    twin.write_bytes(kept)
    assert "is not certain" in _missing(traced(lake, "from_gone", where="id = 4"))
    twin.unlink()
    _elsewhere(
        lake, "CALL lake.system.expire_snapshots(table => 'db.gone', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
    )
    assert _exactly(lake, traced(lake, "from_gone", where="id = 4")) == [4], "the run that wrote it stated the numbers of its file"
    changed = traced(lake, "from_gone", where="id = 6")
    assert "were changed since, by which run is not known" in _missing(changed), "the file that held it as it was changed is gone"
    assert ids(lake, changed) == [6]


def _behind(lake: Laboratory, out: str, numbers: list[int]) -> Mapping[int, Any]:
    return {number: _exactly(lake, traced(lake, out, where=f"id = {number}")) for number in numbers}


@pytest.mark.slow
def test_rows_of_delta_with_row_tracking_are_found_through_what_others_did(lake: Laboratory) -> None:
    table = f"delta.`{lake.folder}/tracked`"
    _run(lake, f"CREATE TABLE {table} (id int, k int, s string) USING delta TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    _run(lake, f"INSERT INTO {table} SELECT * FROM raw WHERE id < 10", f"INSERT INTO {table} SELECT * FROM raw WHERE id BETWEEN 10 AND 19")
    _elsewhere(lake, f"OPTIMIZE {table}", f"DELETE FROM {table} WHERE id = 7", f"UPDATE {table} SET s = 'other' WHERE id = 8")
    _elsewhere(lake, f"INSERT INTO {table} SELECT * FROM raw WHERE id = 50", f"OPTIMIZE {table}")
    _read(lake, f"SELECT id, s FROM {table}", "from_tracked")
    assert _behind(lake, "from_tracked", [0, 9, 10, 19]) == {0: [0], 9: [9], 10: [10], 19: [19]}
    changed = traced(lake, "from_tracked", where="id = 8")
    assert "were changed since, by which run is not known" in _missing(changed)
    assert ids(lake, changed) == [8]
    found = _forward(lake, 12)
    assert [record.values["id"] for record in found.records if record.dataset.endswith("from_tracked")] == [12], found


@pytest.mark.slow
def test_where_delta_tracks_no_rows_the_answer_says_what_is_missing(lake: Laboratory) -> None:
    table = f"delta.`{lake.folder}/untracked`"
    _run(lake, f"CREATE TABLE {table} (id int, k int, s string) USING delta")
    _run(lake, f"INSERT INTO {table} SELECT * FROM raw WHERE id < 10", f"INSERT INTO {table} SELECT * FROM raw WHERE id BETWEEN 10 AND 19")
    _elsewhere(lake, f"OPTIMIZE {table}")
    _read(lake, f"SELECT id FROM {table}", "from_untracked")
    assert "its table does not number its rows" in _missing(traced(lake, "from_untracked", where="id = 4"))
