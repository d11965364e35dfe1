"""A DISTINCT, a dropDuplicates and a GROUP BY write their rows in the order of the run without capture, in every mode.

There are enough keys that Spark's hash map of two levels does not hold all of them in its first level. The source is one file, so that one
task reads it, and no other decides the order. Several sets of distinct values are left out: Spark takes them in another order in each plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.spark_listener.capture import Bridge
from tests.jvm import PATIENTLY, start_with

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

MODES = {"active": 0.0, "auto": 1.0, "lazy": float("inf"), "coarse": 0.0}
_KEYS = {
    "text": "t",
    "decimal": "d",
    "large decimal": "e",
    "fraction": "x",
    "truth value": "b",
    "number": "n",
    "text and number": "t, n",
    "several": "t, d, n, b",
    "struct": "s",
    "array": "a",
    "computed": "concat(t, '-', n % 3)",
}
_TEXTS = {
    **{f"distinct of {name}": f"SELECT DISTINCT {key} FROM facts" for name, key in _KEYS.items()},
    **{f"count by {name}": f"SELECT {key}, count(*), max(n) FROM facts GROUP BY {key}" for name, key in _KEYS.items()},
    "keys alone": "SELECT upper(t) FROM facts GROUP BY t, d",
    "no key": "SELECT 1 FROM facts GROUP BY t",
    "one distinct": "SELECT t, count(DISTINCT d) FROM facts GROUP BY t",
    "one distinct and a function": "SELECT t, count(DISTINCT d), sum(n) FROM facts GROUP BY t",
    "distinct of groups": "SELECT DISTINCT c, u FROM (SELECT upper(t) u, count(*) c FROM facts GROUP BY t)",
    "distinct of a join": "SELECT DISTINCT f.t, g.d FROM facts f JOIN few g ON f.n = g.n",
    "distinct of a filter": "SELECT DISTINCT t FROM facts WHERE n % 2 = 0",
    "union": "SELECT t FROM facts UNION SELECT t FROM few",
    "intersection": "SELECT t, n FROM facts INTERSECT SELECT t, n FROM few",
    "difference": "SELECT t FROM facts EXCEPT SELECT t FROM few",
    "rollup": "SELECT t, b FROM facts GROUP BY ROLLUP (t, b)",
    "limit": "SELECT DISTINCT t FROM facts LIMIT 100",
}
_FRAMES: dict[str, Callable[[SparkSession], DataFrame]] = {
    "distinct": lambda session: session.table("facts").select("t", "d").distinct(),
    "dropDuplicates": lambda session: session.table("facts").dropDuplicates(["t"]),
    "dropDuplicates by several": lambda session: session.table("facts").dropDuplicates(["t", "d"]).select("t", "n"),
    "dropDuplicates of all": lambda session: session.table("facts").select("t", "n", "b").dropDuplicates(),
}


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, SparkSession]]]:
    folder = tmp_path_factory.mktemp("order")
    start_with()
    builder = SparkSession.builder.master("local[2]").appName("order").config("spark.ui.enabled", "false")
    plain = builder.config("spark.sql.shuffle.partitions", "2").config("spark.jars", "").getOrCreate()
    plain.sparkContext.setLogLevel("OFF")
    for name, numbers in {"facts": range(6000), "few": range(0, 6000, 7)}.items():
        (folder / name).mkdir()
        pq.write_table(pa.Table.from_pylist([_row(i) for i in numbers]), folder / name / "part.parquet")
    made, bridges = {"plain": plain}, {}
    for mode, budget in MODES.items():
        made[mode] = plain.newSession()
        bridges[mode] = Bridge.install(made[mode], mode=mode, segments=str(folder / f"segments-{mode}"), budget=budget)
    for session in made.values():
        session.conf.set("spark.sql.shuffle.partitions", "2")
        session.conf.set("spark.sql.codegen.wholeStage", "true")
        for name in ("facts", "few"):
            session.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    try:
        yield folder, made
    finally:
        for bridge in bridges.values():
            assert bridge.flush(PATIENTLY)
            bridge.close()
        plain.stop()


def _row(i: int) -> dict[str, Any]:
    key = i * i % 4001
    return {
        "t": None if key == 5 else f"k{key * 7919 % 4001}", "n": key, "d": Decimal(key * 37 % 3001) / 100, "e": Decimal(key) * 10**22,
        "x": key / 8, "b": key % 2 == 0, "s": {"p": key % 1000, "q": f"q{key % 7}"}, "a": [key % 900, key % 3],
    }  # fmt: skip


def _written(frame: DataFrame, out: Path) -> list[Any]:
    frame.toDF(*(f"c{place}" for place in range(len(frame.columns)))).write.parquet(str(out))
    return [pq.ParquetFile(path).read().to_pylist() for path in sorted(out.glob("*.parquet"))]


# The ordinary tests run these.
_TELLING = (
    "distinct of text",
    "distinct of several",
    "count by text",
    "keys alone",
    "one distinct",
    "distinct of a join",
    "dropDuplicates",
)
_ALL = [pytest.param(name, marks=[] if name in _TELLING else [pytest.mark.torture]) for name in (*_TEXTS, *_FRAMES)]


@pytest.mark.parametrize("name", _ALL)
def test_rows_are_in_the_order_of_the_run_without_capture(sessions: tuple[Path, dict[str, SparkSession]], name: str) -> None:
    folder, made = sessions
    make = _FRAMES.get(name, lambda session: session.sql(_TEXTS[name]))
    rows = {mode: _written(make(session), folder / f"{name} {mode}".replace(" ", "_")) for mode, session in made.items()}
    assert [mode for mode in MODES if rows[mode] != rows["plain"]] == []
