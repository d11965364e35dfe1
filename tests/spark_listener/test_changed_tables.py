"""Forward traces to tables of Delta that commands changed: answers hold the rows of the table now, and name versions."""

from __future__ import annotations

from collections.abc import Iterator

import pyspark
import pytest

from tests.oracle.laboratory import Laboratory
from tests.spark_listener.changed import COMMANDS, QUICK, ask, check, with_numbers
from tests.spark_listener.delta import delta_in

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.lake,
    pytest.mark.xdist_group("tables"),
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connectors are those of Spark 4.1"),
]

OF_DELTA = {
    **COMMANDS,
    "optimize": ("OPTIMIZE {t}", [(3, 3)]),
    "vectors": ("DELETE FROM {t} WHERE id = 3", []),
}


_CASES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.torture) for name in OF_DELTA]


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with delta_in(tmp_path_factory.mktemp("delta")) as laboratory:
        yield with_numbers(laboratory)


@pytest.mark.parametrize("command", _CASES)
def test_a_table_of_delta(delta: Laboratory, command: str) -> None:
    statement, expected = OF_DELTA[command]
    path = delta.folder / command
    table = f"delta.`{path}`"
    vectors = str(command == "vectors").lower()
    delta.spark.sql(f"CREATE TABLE {table} (id BIGINT, v BIGINT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = '{vectors}')")
    for part in ("id < 5", "id >= 5"):
        delta.spark.sql(f"INSERT INTO {table} SELECT id, v FROM numbers WHERE {part}")
    delta.spark.sql(statement.format(t=table))
    delta.take()
    check(delta, path, expected)
    if expected:
        back = ask(delta, path)
        assert {record.values["id"] for record in back.records} == {3}
        assert back.exact, back.incomplete
