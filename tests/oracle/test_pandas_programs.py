"""Programs of functions in pandas and Arrow among other operators, against plain Python that carries sets of records along.

`HEADWATER_PLANS=N` runs N programs a mode instead of a few (`make torture`); HEADWATER_SEED is the seed.
"""

from __future__ import annotations

import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.graph.trace import Semantics
from tests.oracle.laboratory import Laboratory, laboratory_in

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

SCHEMA = "id long, k long, v long"
PROGRAMS = int(os.environ.get("HEADWATER_PLANS", "3"))  # a mode
SEED = 1_000_000 * int(os.environ.get("HEADWATER_SEED", "0"))


class Row(NamedTuple):
    """A row, and the records that it was made of."""

    id: int
    k: int | None
    v: int
    records: frozenset[tuple[str, int]]


Rows = list[Row]
Step = tuple[Callable[[DataFrame, DataFrame], DataFrame], Callable[[Rows, Rows], Rows]]


def groups(rows: Sequence[Row], key: Callable[[Row], Any] = lambda row: row.k) -> dict[Any, Rows]:
    """The rows of each key."""
    result: dict[Any, Rows] = defaultdict(list)
    for row in rows:
        result[key(row)].append(row)
    return result


def behind(rows: Sequence[Row]) -> frozenset[tuple[str, int]]:
    """The records of all of them."""
    return frozenset().union(*(row.records for row in rows))


def _of_groups(
    made: Callable[[Rows], list[tuple[int, int | None, int]]], key: Callable[[Row], Any] = lambda row: row.k
) -> Callable[[Rows, Rows], Rows]:
    return lambda rows, _: [Row(*values, behind(group)) for group in groups(rows, key).values() for values in made(group)]


def _largest(group: pd.DataFrame) -> pd.DataFrame:
    return group.sort_values(["v", "id"], ascending=False).head(2)


def _largest_rows(group: Rows) -> list[tuple[int, int | None, int]]:
    return [row[:3] for row in sorted(group, key=lambda row: (row.v, row.id), reverse=True)[:2]]


def _odd_rows(group: Rows) -> list[tuple[int, int | None, int]]:
    return [row[:3] for row in group] if sum(row.v for row in group) % 2 else []


def _summed(key: Any, group: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([(group["id"].min(), key[0], group["v"].sum() % 97)])


def _odd(group: pd.DataFrame) -> pd.DataFrame:
    return group if group["v"].sum() % 2 else pd.DataFrame()


def _twice(group: pa.Table) -> pa.Table:
    return pa.concat_tables([group, group])


def _both(key: Any, left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    least = min([*left["id"], *right["id"]])
    return pd.DataFrame({"v": [len(left) * 10 + len(right)], "k": [key[0]], "id": [least]})


def _co_grouped(rows: Rows, others: Rows) -> Rows:
    left, right = groups(rows), groups(others)
    result = []
    for key in {*left, *right}:
        both = [*left.get(key, []), *right.get(key, [])]
        counted = len(left.get(key, [])) * 10 + len(right.get(key, []))
        result.append(Row(min(row.id for row in both), key, counted, behind(both)))
    return result


STEPS: dict[str, Step] = {
    "largest": (
        lambda frame, _: frame.groupBy("k").applyInPandas(_largest, SCHEMA),
        _of_groups(_largest_rows),
    ),
    "summed": (
        lambda frame, _: frame.groupBy("k").applyInPandas(_summed, SCHEMA),
        _of_groups(lambda group: [(min(row.id for row in group), group[0].k, sum(row.v for row in group) % 97)]),
    ),
    "odd": (
        lambda frame, _: frame.groupBy("k").applyInPandas(_odd, SCHEMA),
        _of_groups(_odd_rows),
    ),
    "largest of a text": (
        lambda frame, _: frame.groupBy(f.expr("concat('ä', v % 3, repeat('-', 30))")).applyInPandas(_largest, SCHEMA),
        _of_groups(_largest_rows, lambda row: row.v % 3),
    ),
    "all of a day": (
        lambda frame, _: frame.groupBy("k", f.expr("date_add(date'1969-12-30', cast(v % 4 as int))")).applyInArrow(lambda g: g, SCHEMA),
        _of_groups(lambda group: [row[:3] for row in group], lambda row: (row.k, row.v % 4)),
    ),
    "odd of a fraction": (
        lambda frame, _: frame.groupBy(f.expr("v % 5 / 2"), f.expr("id % 2 = 0")).applyInPandas(_odd, SCHEMA),
        _of_groups(_odd_rows, lambda row: (row.v % 5, row.id % 2 == 0)),
    ),
    "twice": (
        lambda frame, _: frame.groupBy("k").applyInArrow(_twice, SCHEMA),
        _of_groups(lambda group: [row[:3] for row in group] * 2),
    ),
    "co-grouped": (
        lambda frame, other: frame.groupBy("k").cogroup(other.groupBy("k")).applyInPandas(_both, SCHEMA),
        _co_grouped,
    ),
    "filtered": (lambda frame, _: frame.filter("v % 3 <> 0"), lambda rows, _: [row for row in rows if row.v % 3]),
    "keyed anew": (lambda frame, _: frame.withColumn("k", f.expr("v % 4")), lambda rows, _: [row._replace(k=row.v % 4) for row in rows]),
    "united": (lambda frame, other: frame.union(other), lambda rows, others: [*rows, *others]),
    "spread": (lambda frame, _: frame.repartition(3), lambda rows, _: rows),
    "counted": (
        lambda frame, _: frame.groupBy("k").agg(f.min("id").alias("id"), f.count("*").alias("v")).select("id", "k", "v"),
        _of_groups(lambda group: [(min(row.id for row in group), group[0].k, len(group))]),
    ),
    "joined": (
        lambda frame, other: frame.join(other.select(f.col("k").alias("j")), f.col("k") == f.col("j")).drop("j"),
        lambda rows, others: [row._replace(records=row.records | o.records) for row in rows for o in others if row.k == o.k is not None],
    ),
}
FUNCTIONS = ["largest", "summed", "odd", "largest of a text", "all of a day", "odd of a fraction", "twice", "co-grouped"]


def _source(folder: Path, chance: random.Random, begin: int) -> Rows:
    folder.mkdir()
    rows: Rows = []
    for number in range(2):
        path = folder / f"part-{number}.parquet"
        drawn = [(begin + number * 100 + i, chance.choice([None, 0, 1, 2, 3, 4]), chance.randrange(50)) for i in range(14)]
        columns = {name: pa.array(values, pa.int64()) for name, values in zip(("id", "k", "v"), zip(*drawn, strict=True), strict=True)}
        pq.write_table(pa.table(columns), path)
        rows += [Row(*values, frozenset({(f"file:{path}", i)})) for i, values in enumerate(drawn)]
    return rows


def _check(laboratory: Laboratory, folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    folder.mkdir()
    rows, others = _source(folder / "left", chance, 0), _source(folder / "right", chance, 1000)
    frame, other = (laboratory.spark.read.parquet(str(folder / side)) for side in ("left", "right"))
    names = [chance.choice(FUNCTIONS), *chance.choices(list(STEPS), k=chance.randrange(1, 4))]
    chance.shuffle(names)
    laboratory.spark.conf.set("spark.sql.adaptive.enabled", str(seed % 2 == 0).lower())
    made: Rows = rows
    for name in names:
        in_spark, in_python = STEPS[name]
        frame, made = in_spark(frame, other), in_python(made, others)
    laboratory.forget()
    frame.write.parquet(str(folder / "out"))
    (capture,) = laboratory.take()
    assert (capture["status"], capture["problems"]) == ("complete", []), names
    written = [
        ((f"file:{path}", place), (row["id"], row["k"], row["v"]))
        for path in sorted((folder / "out").glob("*.parquet"))
        for place, row in enumerate(pq.ParquetFile(path).read().to_pylist())
    ]
    wanted = Counter((row.id, row.k, row.v, row.records) for row in made)
    if written:
        found, exact = laboratory.ask_each(folder / "out", [place for place, _ in written], Semantics.INFLUENCE)
        assert exact, names
        assert Counter((*values, found[place]) for place, values in written) == wanted, names
    else:
        assert not wanted, names


@pytest.mark.parametrize("mode", ["active", "lazy"])
def test_programs_of_functions_in_pandas(tmp_path: Path, mode: str) -> None:
    budget = 0.0 if mode == "active" else float("inf")
    with laboratory_in(tmp_path, budget=budget, conf={"spark.sql.execution.arrow.maxRecordsPerBatch": "3"}) as laboratory:
        first = SEED + (0 if mode == "active" else PROGRAMS)
        for seed in range(first, first + PROGRAMS):
            _check(laboratory, tmp_path / str(seed), seed)
