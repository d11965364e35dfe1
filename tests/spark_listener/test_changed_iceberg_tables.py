"""Forward traces to tables of Iceberg that commands changed: answers hold the rows of the newest snapshot, and name versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from tests.oracle.iceberg_history import lake_in
from tests.oracle.laboratory import Laboratory
from tests.spark_listener.changed import COMMANDS, QUICK, check, with_numbers

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.lake,
    pytest.mark.xdist_group("tables"),
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connectors are those of Spark 4.1"),
]

OF_ICEBERG = {
    **COMMANDS,
    "rewrite": ("CALL lake.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))", [(3, 3)]),
    "expired": ("UPDATE {t} SET v = 1000 WHERE id = 3", [(3, 1000)]),
}


_CASES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.torture) for name in OF_ICEBERG]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with lake_in(tmp_path_factory.mktemp("iceberg")) as laboratory:
        yield with_numbers(laboratory)


@pytest.mark.parametrize("command", _CASES)
def test_a_table_of_iceberg(lake: Laboratory, command: str) -> None:
    statement, expected = OF_ICEBERG[command]
    name = f"lake.db.{command}"
    lake.spark.sql(f"CREATE TABLE {name} (id BIGINT, v BIGINT) USING iceberg")
    lake.spark.sql(f"INSERT INTO {name} SELECT id, v FROM numbers")
    lake.spark.sql(statement.format(t=name))
    captures = lake.take()
    if command == "expired":  # after the captures looked at the files that go
        expire = f"CALL lake.system.expire_snapshots(table => '{name}', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
        lake.spark.sql(expire)
        lake.forget()
    path = Path(next(capture["sink"]["path"] for capture in captures if capture.get("sink")).removeprefix("file:"))
    check(lake, path, expected)
