"""Values of CSV as Spark parses them: a witness chosen by them is the row that Spark took, or the answer says that this is not certain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f

from headwater.graph.trace import Semantics
from tests.oracle.laboratory import Laboratory, laboratory_in

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


class Case(NamedTuple):
    """The lines of column v, its type, the reader's options and the session's time zone; whether the witness of its extremes is exact."""

    values: tuple[str, ...]
    kind: str
    exact: bool
    options: dict[str, str] = {}  # noqa: RUF012  # never changed
    zone: str = "UTC"


CASES = {
    "commas of thousands": Case(('"1,234.50"', "99.5", "7", '"2,000"'), "decimal(10,2)", exact=True),
    "names of no numbers": Case(("1.5", "nan", "inf", "", "2.5"), "double", exact=True),
    "numbers of Java alone": Case(("1.5", "3d", "2.5"), "double", exact=False),
    "other separators of dates": Case(("2024/05/01", "2024-04-01", "2023-01-01"), "date", exact=False),
    "no dates at all": Case(("infinity", "2024-04-01", "epoch", "2023-01-01"), "date", exact=True),
    "zones of two kinds": Case(("2024-01-01T00:00:00", "2024-01-01T03:00:00Z"), "timestamp", exact=False, zone="America/New_York"),
    "no zone, and that of the session": Case(("2024-01-01T00:00:00", "2024-01-01T03:00:00+04:00"), "timestamp", exact=True),
    "a null value of its own": Case(("NA", "", '""', "b"), "string", exact=True, options={"nullValue": "NA"}),
    "an empty value of its own": Case(("b", "", '""', "c"), "string", exact=True, options={"emptyValue": "A"}),
    "a column for bad records before it": Case(("1", "oops", "3", "2"), "int", exact=True, options={"columnNameOfCorruptRecord": "bad"}),
    "quotes that stand otherwise": Case(('5" pipe', '"a ""b"" c"', "zz"), "string", exact=False),
    "quotes doubled as the option says": Case(('"z ""b"" c"', '"a ""b"" c"', "m"), "string", exact=True, options={"escape": '"'}),
    "a tab that is written as two characters": Case(("5", "9", "7"), "int", exact=True, options={"sep": "\\t"}),
}


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with laboratory_in(tmp_path_factory.mktemp("laboratory"), budget=0.0) as made:
        yield made


@pytest.mark.parametrize("name", CASES)
def test_extremes_of_text_are_those_that_spark_took(laboratory: Laboratory, name: str) -> None:
    case, folder = CASES[name], laboratory.folder / name.replace(" ", "_")
    folder.mkdir()
    between = "\t" if "sep" in case.options else ","
    (folder / "a.csv").write_text("".join(f"{number}{between}{value}\n" for number, value in enumerate(case.values)))
    laboratory.spark.conf.set("spark.sql.session.timeZone", case.zone)
    schema = f"id int, v {case.kind}" if "columnNameOfCorruptRecord" not in case.options else f"bad string, id int, v {case.kind}"
    frame = laboratory.spark.read.csv(str(folder / "a.csv"), schema=schema, **case.options)
    frame = frame.agg(
        f.max("v").alias("most"), f.max_by("id", "v").alias("of_most"), f.min("v").alias("least"), f.min_by("id", "v").alias("of_least")
    )
    frame.write.parquet(str(folder / "out"))
    laboratory.publish(laboratory.captured())
    (path,) = (path for path in (folder / "out").glob("*.parquet"))
    (row,) = pq.ParquetFile(path).read().to_pylist()
    for column in ("most", "least"):
        answer = laboratory.ask(folder / "out", (f"file:{path}", 0), Semantics.WITNESS, column=column)
        found = [record.row for record in answer.records]
        assert answer.exact == case.exact, answer.incomplete
        assert found == ([row[f"of_{column}"]] if case.exact else list(range(len(case.values))))
