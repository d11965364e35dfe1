"""Small programs with their expected events, written by hand from the code of each program.

`bench.events.program` runs them in the driver; both agents listen to its session. `columns` are the columns of the output, each with the
columns whose values flow into it. `decides` are columns that affect rows or values otherwise, each with the kind. None is not compared.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import InheritableThread
from pyspark.sql import functions as f
from pyspark.sql.types import IntegerType


@dataclass(frozen=True)
class At:
    """The environment of a case: its session, its folder, and its inputs."""

    spark: Any
    here: str

    @property
    def weather(self) -> Any:
        """Return six hours of three airports."""
        return self.spark.table("weather")

    @property
    def airports(self) -> Any:
        """Return two of the three airports."""
        return self.spark.table("airports")

    @property
    def log(self) -> str:
        """Return the path of a CSV file with two lines."""
        return f"{self.here}/../log.csv"

    def write(self, frame: Any) -> None:
        """Write a frame to the case's output folder."""
        frame.write.parquet(f"{self.here}/out")


Act = Callable[[At], object]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A test case.

    Datasets are named by the last part of their path. `runs` is the number of runs with datasets, `state` their final state.
    """

    name: str
    run: Act
    reads: str = "weather"
    writes: str | None = "out"
    columns: Mapping[str, str] | None = None
    decides: str | None = None
    change: str | None = "CREATE"
    rows: int | None = None
    state: str = "COMPLETE"
    runs: int = 1


WIND, CODE = "weather.wind", "airports.code"
SAME = {"origin": "weather.origin", "hour": "weather.hour", "wind": WIND}
ANY = dict.fromkeys(SAME, " ".join(SAME.values()))  # the function is opaque, so each column depends on all


def _sql(text: str) -> Act:
    return lambda at: at.write(at.spark.sql(text))


def _frame(make: Callable[[Any], Any]) -> Act:
    return lambda at: at.write(make(at.weather))


def _two(make: Callable[[Any, Any], Any]) -> Act:
    return lambda at: at.write(make(at.weather, at.airports))


@f.udf(IntegerType())
def _boom(value: object) -> int:
    raise ZeroDivisionError(value)


@f.udf(IntegerType())
def _slow(value: object) -> int:
    time.sleep(30)
    return len(str(value))


def _failing(act: Callable[[At, Any], object]) -> Act:
    def run(at: At) -> None:
        try:
            act(at, at.weather.withColumn("x", _boom("wind")))
        except Exception as error:
            if "ZeroDivisionError" not in str(error):
                raise
        else:
            raise RuntimeError("it was to fail")

    return run


def _cancelled(at: At) -> None:
    def work() -> None:
        at.spark.sparkContext.setJobGroup("cancelled", "cancelled", interruptOnCancel=False)
        try:
            at.weather.withColumn("x", _slow("wind")).write.parquet(f"{at.here}/out")
        except Exception as error:
            if "cancelled" not in str(error):
                raise

    thread: threading.Thread = InheritableThread(target=work)
    thread.start()
    tracker = at.spark.sparkContext.statusTracker()
    while not tracker.getJobIdsForGroup("cancelled"):
        time.sleep(0.1)
    time.sleep(1)
    at.spark.sparkContext.cancelJobGroup("cancelled")
    thread.join()


def _stream(at: At, *, each: bool) -> None:
    rows = at.spark.readStream.schema(at.weather.schema).parquet(f"{at.here}/../weather")
    writer = rows.writeStream.trigger(availableNow=True).option("checkpointLocation", f"{at.here}/checkpoint")
    if each:
        query = writer.foreachBatch(lambda batch, _: batch.write.mode("append").parquet(f"{at.here}/out")).start()
    else:
        query = writer.format("parquet").start(f"{at.here}/out")
    query.awaitTermination()


def _cached(at: At) -> None:
    kept = at.weather.filter("wind > 1").cache()
    kept.select("origin").write.parquet(f"{at.here}/out")
    kept.unpersist()


def _overwritten(at: At, mode: str) -> None:
    shutil.copytree(Path(at.here).parent / "more", f"{at.here}/out")  # as if another program had written it
    at.weather.write.mode(mode).parquet(f"{at.here}/out")


def _table(*statements: str) -> Act:
    def run(at: At) -> None:
        for statement in statements:
            at.spark.sql(statement.format(here=at.here))

    return run


@f.udtf(returnType="word string")  # type: ignore[arg-type]  # PySpark types it as called with the function first
class _Words:
    def eval(self, text: str) -> Iterator[tuple[str]]:
        for word in text.split():
            yield (word,)


def _tabled(at: At) -> None:
    at.spark.udtf.register("words", _Words)
    at.write(at.spark.sql("SELECT code, word FROM airports, LATERAL words(name)"))


def _tabled_by_arrow(at: At) -> None:
    @f.arrow_udtf(returnType="word string")  # type: ignore[arg-type]  # likewise
    class Rows:
        def eval(self, batch: Any) -> Iterator[Any]:
            import pyarrow as pa

            yield pa.table({"word": batch.column("name")})

    at.spark.udtf.register("arrow_rows", Rows)
    at.write(at.spark.sql("SELECT word FROM arrow_rows(TABLE(SELECT * FROM airports))"))


def _made(name: str, statement: str) -> Act:
    return lambda at: at.spark.sql(statement.format(t=f"t_{name}"))


CASES = [
    Case(name="copy", run=_frame(lambda w: w), columns=SAME, decides="", rows=6),
    Case(name="project", run=_frame(lambda w: w.select("origin", (w.wind * 2).alias("w"))),
         columns={"origin": "weather.origin", "w": WIND}, rows=6),
    Case(name="filter", run=_frame(lambda w: w.filter("wind > 3")), columns=SAME, decides="weather.wind FILTER", rows=4),
    Case(name="join", run=_two(lambda w, a: w.join(a, w.origin == a.code).select("name", "wind")), reads="weather airports",
         columns={"name": "airports.name", "wind": WIND}, decides="weather.origin JOIN, airports.code JOIN"),
    Case(name="left join", run=_two(lambda w, a: w.join(a, w.origin == a.code, "left").select("name", "wind")), reads="weather airports",
         columns={"name": "airports.name", "wind": WIND}, decides="weather.origin JOIN, airports.code JOIN"),
    Case(name="semi-join", run=_two(lambda w, a: w.join(a, w.origin == a.code, "semi")), reads="weather airports", columns=SAME,
         decides="weather.origin JOIN, airports.code JOIN"),
    Case(name="group by", run=_frame(lambda w: w.groupBy("origin").agg(f.max("wind").alias("m"))),
         columns={"origin": "weather.origin", "m": WIND}, decides="weather.origin GROUP_BY", rows=3),
    Case(name="having", run=_sql("SELECT origin, max(wind) m FROM weather GROUP BY origin HAVING max(hour) > 1"),
         columns={"origin": "weather.origin", "m": WIND}, decides="weather.origin GROUP_BY, weather.hour FILTER"),
    Case(name="union", run=_frame(lambda w: w.union(w.filter("hour = 1"))), columns=SAME, decides="weather.hour FILTER"),
    Case(name="union of two", run=_sql("SELECT origin AS x FROM weather UNION ALL SELECT code FROM airports"), reads="weather airports",
         columns={"x": "weather.origin airports.code"}, decides=""),
    Case(name="sort", run=_frame(lambda w: w.select("origin", "wind").sort("hour")), columns={"origin": "weather.origin", "wind": WIND},
         decides="weather.hour SORT"),
    Case(name="rank", run=_sql("SELECT row_number() OVER (PARTITION BY origin ORDER BY wind) r FROM weather"), columns={"r": ""},
         decides="weather.origin WINDOW, weather.wind WINDOW"),
    Case(name="window", run=_sql("SELECT sum(wind) OVER (PARTITION BY origin) s FROM weather"), columns={"s": WIND},
         decides="weather.origin WINDOW"),
    Case(name="common table",
         run=_sql("WITH c AS (SELECT origin, wind FROM weather) SELECT a.origin, b.wind FROM c a JOIN c b ON a.origin = b.origin"),
         columns={"origin": "weather.origin", "wind": WIND}, decides="weather.origin JOIN"),
    Case(name="scalar subquery", run=_sql("SELECT origin FROM weather WHERE wind > (SELECT avg(lat) FROM airports)"),
         reads="weather airports",
         columns={"origin": "weather.origin"}, decides="weather.wind FILTER, airports.lat FILTER"),
    Case(name="in subquery", run=_sql("SELECT wind FROM weather WHERE origin IN (SELECT code FROM airports)"), reads="weather airports",
         columns={"wind": WIND}, decides="weather.origin JOIN, airports.code JOIN"),
    Case(name="not exists", run=_sql("SELECT wind FROM weather w WHERE NOT EXISTS (SELECT 1 FROM airports WHERE code = w.origin)"),
         reads="weather airports", columns={"wind": WIND}, decides="weather.origin JOIN, airports.code JOIN"),
    Case(name="explode", run=_sql("SELECT explode(split(name, ' ')) word FROM airports"), reads="airports",
         columns={"word": "airports.name"}),
    Case(name="pivot", run=_frame(lambda w: w.groupBy("origin").pivot("hour", [1, 2]).agg(f.max("wind"))),
         columns={"origin": "weather.origin", "1": WIND, "2": WIND}),
    Case(name="rollup", run=_sql("SELECT origin, hour, max(wind) m FROM weather GROUP BY ROLLUP (origin, hour)"),
         columns={"origin": "weather.origin", "hour": "weather.hour", "m": WIND}, decides="weather.origin GROUP_BY, weather.hour GROUP_BY"),
    Case(name="case", run=_sql("SELECT CASE WHEN hour > 1 THEN wind ELSE 0 END w FROM weather"), columns={"w": WIND},
         decides="weather.hour CONDITIONAL"),
    Case(name="struct", run=_sql("SELECT named_struct('o', origin, 'w', wind) s FROM weather"), columns={"s": f"weather.origin {WIND}"}),
    Case(name="python function", run=_frame(lambda w: w.select(f.udf(lambda x: x + 1, "double")("wind").alias("w"))),
         columns={"w": WIND}),
    Case(name="dropDuplicates", run=_frame(lambda w: w.dropDuplicates(["origin"])), columns=SAME, decides="weather.origin GROUP_BY"),
    Case(name="except", run=_sql("SELECT origin FROM weather EXCEPT SELECT code FROM airports"), reads="weather airports",
         columns={"origin": "weather.origin"}),
    Case(name="intersect", run=_sql("SELECT origin FROM weather INTERSECT SELECT code FROM airports"), reads="weather airports",
         columns={"origin": "weather.origin"}),
    Case(name="mapInArrow", run=_frame(lambda w: w.mapInArrow(lambda batches: batches, w.schema)), columns=ANY, decides=""),
    Case(name="mapInPandas", run=_frame(lambda w: w.select("wind").mapInPandas(lambda frames: frames, "wind double")),
         columns={"wind": WIND}),
    Case(name="applyInArrow", run=_frame(lambda w: w.groupBy("origin").applyInArrow(lambda table: table, w.schema)), columns=ANY,
         decides="weather.origin GROUP_BY"),
    Case(name="applyInPandas, co-grouped",
         run=_two(lambda w, a: w.groupBy("origin").cogroup(a.groupBy("code")).applyInPandas(lambda one, _: one[["wind"]], "wind double")),
         reads="weather airports", columns={"wind": f"{' '.join(SAME.values())} airports.code airports.name airports.lat"},
         decides="weather.origin GROUP_BY, airports.code GROUP_BY"),
    Case(name="table function", run=_tabled, reads="airports", columns={"code": CODE, "word": "airports.name"}),
    Case(name="Arrow table function", run=_tabled_by_arrow, reads="airports",
         columns={"word": "airports.code airports.name airports.lat"}),
    Case(name="through an RDD", run=lambda at: at.weather.rdd.filter(lambda row: row.hour == 1).toDF().write.parquet(f"{at.here}/out"),
         columns=ANY),
    Case(name="through two RDDs", run=lambda at: at.write(at.weather.select("wind").rdd.toDF().rdd.toDF()), columns={"wind": WIND}),
    Case(name="nested field", run=_sql("SELECT address.street AS s, address.at.lat AS t FROM people"), reads="people",
         columns={"s": "people.address.street", "t": "people.address.at.lat"}, decides=""),
    Case(name="field of an array's structs", run=_sql("SELECT visits.hour AS h FROM people WHERE address.at.lat > 1"), reads="people",
         columns={"h": "people.visits._element.hour"}, decides="people.address.at.lat FILTER"),
    Case(name="field of a column that is made", run=_sql("SELECT max(named_struct('w', wind, 'o', origin)).o AS o FROM weather"),
         columns={"o": f"{WIND} weather.origin"}),
    Case(name="recursion",
         run=_sql("WITH RECURSIVE r AS (SELECT origin, hour AS n FROM weather UNION ALL SELECT origin, n + 1 FROM r WHERE n < 3) "
                  "SELECT * FROM r"),
         columns={"origin": "weather.origin", "n": "weather.hour"}, decides="weather.hour FILTER"),
    Case(name="recursion that moves columns",
         run=_sql("WITH RECURSIVE r AS (SELECT origin AS a, CAST(hour AS STRING) AS b, 1 AS n FROM weather UNION ALL "
                  "SELECT b, a, n + 1 FROM r WHERE n < 3) SELECT a, b FROM r"),
         columns={"a": "weather.origin weather.hour", "b": "weather.origin weather.hour"}),
    Case(name="coalesce", run=_sql("SELECT coalesce(wind, hour) AS x FROM weather"), columns={"x": f"{WIND} weather.hour"},
         decides="weather.wind CONDITIONAL"),
    Case(name="last value of a window", run=_sql("SELECT lag(wind) OVER (PARTITION BY origin ORDER BY hour) AS l FROM weather"),
         columns={"l": WIND}, decides="weather.origin WINDOW, weather.hour WINDOW"),
    Case(name="eager checkpoint", run=_frame(lambda w: w.filter("hour > 1").localCheckpoint().select("wind")), columns={"wind": WIND},
         decides="weather.hour FILTER"),
    Case(name="checkpoint of a checkpoint", run=_frame(lambda w: w.localCheckpoint().withColumn("x", w.wind * 2).localCheckpoint()),
         columns={**SAME, "x": WIND}),
    Case(name="cache", run=_cached, columns={"origin": "weather.origin"}, decides="weather.wind FILTER"),
    Case(name="checkpoint", run=_frame(lambda w: w.localCheckpoint(eager=False).select("wind")), columns={"wind": WIND}),
    Case(name="local rows", run=lambda at: at.spark.createDataFrame([(1, "a")], "a int, b string").write.parquet(f"{at.here}/out"),
         reads="", rows=1),
    Case(name="range", run=lambda at: at.spark.range(5).write.parquet(f"{at.here}/out"), reads="", rows=5),
    Case(name="csv", run=lambda at: at.spark.read.csv(at.log, schema="a int, b int").write.csv(f"{at.here}/out"), reads="log.csv",
         columns={"a": "log.csv.a", "b": "log.csv.b"}, rows=2),
    Case(name="csv, inferred", run=lambda at: at.spark.read.csv(at.log, inferSchema=True).write.json(f"{at.here}/out"), reads="log.csv"),
    Case(name="orc", run=lambda at: at.weather.write.orc(f"{at.here}/out"), columns=SAME, rows=6),
    Case(name="text", run=lambda at: at.spark.read.text(at.log).write.text(f"{at.here}/out"), reads="log.csv", rows=2),
    Case(name="two inputs of one read",
         run=lambda at: at.spark.read.parquet(f"{at.here}/../weather", f"{at.here}/../more").write.parquet(f"{at.here}/out"),
         reads="weather more"),
    Case(name="partitioned", run=lambda at: at.weather.write.partitionBy("origin").parquet(f"{at.here}/out"), columns=SAME, rows=6),
    Case(name="overwrite", run=lambda at: _overwritten(at, "overwrite"), columns=SAME, change="OVERWRITE", rows=6),
    Case(name="append", run=lambda at: _overwritten(at, "append"), columns=SAME, change=None, rows=6),
    Case(name="append, first", run=lambda at: at.weather.write.mode("append").parquet(f"{at.here}/out"), columns=SAME, rows=6),
    Case(name="ignore, first", run=lambda at: at.weather.write.mode("ignore").parquet(f"{at.here}/out"), columns=SAME, rows=6),
    Case(name="ignore", run=lambda at: _overwritten(at, "ignore"), reads="", writes=None, runs=0),
    Case(name="rows one by one", run=lambda at: list(at.weather.toLocalIterator()), writes=None),
    Case(name="cache in SQL", run=_table("CACHE TABLE kept AS SELECT * FROM weather", "UNCACHE TABLE kept"), reads="", writes=None, runs=0),
    Case(name="inferred in SQL", run=lambda at: at.spark.sql(f"SELECT * FROM csv.`{at.log}`").collect(), reads="log.csv", writes=None),
    Case(name="collect of rows of the program", run=lambda at: at.spark.range(3).collect(), reads="", writes=None, runs=0),
    Case(name="collect through an RDD", run=lambda at: at.weather.rdd.map(lambda row: (row.wind,)).toDF(["w"]).collect(), writes=None),
    Case(name="collect", run=lambda at: at.weather.filter("wind > 3").collect(), writes=None),
    Case(name="count", run=lambda at: at.weather.count(), writes=None),
    Case(name="toPandas-like", run=lambda at: at.weather.toArrow(), writes=None),
    Case(name="failing write", run=_failing(lambda at, frame: at.write(frame)), state="FAIL", change=None),
    Case(name="failing collect", run=_failing(lambda _, frame: frame.collect()), writes=None, state="FAIL"),
    Case(name="cancelled write", run=_cancelled, state="ABORT", change=None),
    Case(name="view and query",
         run=_table("CREATE OR REPLACE TEMP VIEW v AS SELECT origin FROM weather",
                           "INSERT OVERWRITE DIRECTORY '{here}/out' USING parquet SELECT * FROM v"),
         columns={"origin": "weather.origin"}, change="OVERWRITE", rows=6),
    Case(name="create table as select", run=_table("CREATE TABLE ctas USING parquet AS SELECT origin FROM weather"), writes="ctas",
         columns={"origin": "weather.origin"}, rows=6),
    Case(name="create table as select, failing", run=_failing(lambda _, frame: frame.write.saveAsTable("unmade")), writes="unmade",
         state="FAIL", change=None),
    Case(name="create table as select, there already", run=_made("there", "CREATE TABLE IF NOT EXISTS {t} AS SELECT * FROM airports"),
         reads="", writes=None, runs=0),
    Case(name="saveAsTable over a table", run=lambda at: at.weather.write.mode("overwrite").saveAsTable("t_again"), writes="t_again",
         columns=SAME, change="OVERWRITE", rows=6),
    Case(name="saveAsTable behind a table", run=lambda at: at.weather.write.mode("append").saveAsTable("t_behind"), writes="t_behind",
         columns=SAME, change=None, rows=6),
    Case(name="a table in the place of one that was dropped",
         run=_table("DROP TABLE t_gone", "CREATE TABLE t_gone USING parquet AS SELECT origin FROM weather"), writes="t_gone", runs=2,
         change="DROP CREATE"),
    Case(name="writeTo.create", run=lambda at: at.weather.writeTo("written").using("parquet").create(), writes="written", columns=SAME,
         rows=6),
    Case(name="saveAsTable", run=lambda at: at.weather.write.saveAsTable("saved"), writes="saved", columns=SAME, rows=6),
    Case(name="insert into", run=_made("insert", "INSERT INTO {t} SELECT * FROM weather"), writes="t_insert", columns=SAME, change=None,
         rows=6),
    Case(name="insert overwrite", run=_made("over", "INSERT OVERWRITE {t} SELECT * FROM weather"), writes="t_over", columns=SAME,
         change="OVERWRITE", rows=6),
    Case(name="create table", run=_table("CREATE TABLE made (a INT) USING parquet"), reads="", writes="made"),
    Case(name="alter table", run=_made("alter", "ALTER TABLE {t} ADD COLUMNS (more INT)"), reads="", writes="t_alter", change="ALTER"),
    Case(name="truncate table", run=_made("truncate", "TRUNCATE TABLE {t}"), reads="", writes="t_truncate", change="TRUNCATE"),
    Case(name="rename table", run=_made("rename", "ALTER TABLE {t} RENAME TO renamed"), reads="", writes="renamed", change="RENAME"),
    Case(name="drop table", run=_made("drop", "DROP TABLE {t}"), reads="", writes="t_drop", change="DROP"),
    Case(name="drop what is not there", run=_table("DROP TABLE IF EXISTS nothing"), reads="", writes=None, runs=0),
    Case(name="text files by RDD", run=lambda at: at.spark.sparkContext.textFile(at.log).map(str.upper).saveAsTextFile(f"{at.here}/out"),
         reads="log.csv"),
    Case(name="RDD action", run=lambda at: at.spark.sparkContext.textFile(at.log).map(len).sum(), reads="log.csv", writes=None),
    Case(name="stream", run=lambda at: _stream(at, each=False), columns=SAME, change=None),
    Case(name="foreachBatch", run=lambda at: _stream(at, each=True), change=None),
]  # fmt: skip
