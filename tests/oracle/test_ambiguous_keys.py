"""BIGINT keys that look like null or like no record: no answer is wrong because of them and called exact."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.graph.trace import Semantics
from tests.oracle.laboratory import Laboratory, laboratory_in

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

AS_NULL, AS_NONE = 6768574230986378843, -4868686476189106176
PROGRAMS = {
    "a group": "SELECT k, collect_list(id) ids FROM {t} GROUP BY k",
    "a group of joined rows": "SELECT t.k, collect_set(t.id) ids FROM {t} t JOIN u ON t.i = u.i GROUP BY t.k",
    "a window": "SELECT k, collect_list(id) OVER (PARTITION BY k) ids FROM {t}",
    "a semi-join": "SELECT array(id % 4, id % 4 + 4) ids FROM {t} WHERE k IN (SELECT k FROM {t})",
    "a group below which a semi-join is": "SELECT i, collect_list(id) ids FROM {t} WHERE k IN (SELECT k FROM {t} WHERE i < 9) GROUP BY i",
}


@pytest.fixture(scope="module", params=[0.0, float("inf")], ids=["written", "found again"])
def laboratory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with laboratory_in(tmp_path_factory.mktemp("ambiguous"), budget=request.param) as made:
        keys: dict[str, list[int | None]] = {
            "odd": [AS_NULL, AS_NONE, None, 1],
            "plain": [2**63 - 1, -(2**63), None, AS_NULL + 1],
            "u": [1, 1, 1, 1],
        }
        for name, some in keys.items():
            (made.folder / name).mkdir()
            rows = {"id": pa.array(range(8), pa.int64()), "k": pa.array(some * 2, pa.int64()), "i": pa.array([0, 1, 2, 3] * 2, pa.int64())}
            pq.write_table(pa.table(rows), made.folder / name / "part.parquet")
            made.spark.read.parquet(str(made.folder / name)).createOrReplaceTempView(name)
        yield made


@pytest.mark.parametrize(("name", "table"), [*((name, "odd") for name in PROGRAMS), ("a group", "plain"), ("a semi-join", "plain")])
def test_a_number_that_null_or_none_is_taken_for_is_said(laboratory: Laboratory, name: str, table: str) -> None:
    out = laboratory.folder / f"{name} {table}"
    laboratory.spark.sql(PROGRAMS[name].format(t=table)).coalesce(1).write.parquet(str(out))
    laboratory.publish(laboratory.captured())
    (path,) = out.glob("*.parquet")
    rows = pq.ParquetFile(path).read().to_pylist()
    assert rows
    said = False
    for place, row in enumerate(rows):
        answer = laboratory.ask(out, (f"file:{path}", place), Semantics.INFLUENCE)
        if answer.exact:
            assert {record.row for record in answer.records if str(record.file).endswith(f"{table}/part.parquet")} == set(row["ids"])
        else:
            said = True
            assert {entry.effect for entry in answer.incomplete} == {"missing"}
            assert any("cannot be told from" in entry.reason for entry in answer.incomplete)
    assert said == (table == "odd")
