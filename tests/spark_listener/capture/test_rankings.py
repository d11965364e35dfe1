"""The value of an aggregate without each input, over decimals: it equals what Spark computes over the other records."""

from __future__ import annotations

import asyncio
import random
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bench.truth.published import publish
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace.rank import RankRequest
from headwater.graph.trace.rank.engine import rank

pytestmark = pytest.mark.spark

_ROWS = 24


@pytest.mark.parametrize("precision", [7, 20])  # up to 10 digits, Spark adds whole numbers in place of decimals
def test_sums_and_means_of_decimals_without_an_input_are_those_of_spark(
    spark: SparkSession, table: Any, write: Any, segments: Path, tmp_path: Path, precision: int
) -> None:
    draw = random.Random(precision)
    rows = [{"id": i, "k": i % 2, "price": Decimal(draw.randrange(-99_999, 99_999)) / 100 if i % 9 else None} for i in range(_ROWS)]
    schema = pa.schema([("id", pa.int64()), ("k", pa.int64()), ("price", pa.decimal128(precision, 2))])
    prices = spark.read.parquet(table("prices", rows, schema=schema))
    functions = {"total": f.sum("price"), "mean": f.avg("price"), "kinds": f.sum_distinct("price"), "least": f.min("price")}
    captured = write(prices.groupBy("k").agg(*(function.alias(name) for name, function in functions.items())))

    def values(frame: Any) -> dict[str, Any]:
        found: dict[str, Any] = frame.agg(*(function.alias(name) for name, function in functions.items())).collect()[0].asDict()
        return found

    group = prices.where("k = 1")
    expected = {row["id"]: values(group.where(f"id <> {row['id']}")) for row in rows if row["k"] == 1}
    whole = values(group)
    with closing(AssociationStore(tmp_path / "associations", sources=ANYWHERE)) as store:
        publish(store, "default", captured.capture, segments)
        for name in functions:
            request = RankRequest(dataset=str(captured.out), column=name, where="k = 1", first=_ROWS)
            answer = asyncio.run(rank(None, store, "default", request))
            assert (answer.exact, answer.value, answer.total) == (True, whole[name], len(expected)), (name, answer.incomplete)
            found = {ranked.record.values["id"]: ranked.without for ranked in answer.records}
            assert found == {number: each[name] for number, each in expected.items()}, name
            changes = [ranked.change for ranked in answer.records if ranked.change is not None]
            assert [abs(change) for change in changes] == sorted((abs(change) for change in changes), reverse=True)
