"""A program whose Headwater fails on purpose, at each method of the folders that change plans; for test_faults_on_purpose.py.

    python -m tests.oracle.faults_on_purpose FOLDER MODE all|telling queries|tables

FOLDER is the program's own. `tables`: of Delta and Iceberg. Each place that failed is a line of JSON on the output: the query, its result
with the fault and without Headwater, and the entries of the ledger. The program is a process of its own, since a JVM loads our classes
once.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.spark_listener.capture import Bridge
from headwater.spark_listener.capture import bridge as bridges
from scripts.compile_java import SOURCES, installed, make_jar, sources
from tests import connectors
from tests.jvm import PATIENTLY, start_with
from tests.oracle.laboratory import INTERPRETED
from tests.spark_listener.delta import SETTINGS

Query = Callable[[SparkSession, Path], str]  # runs, writes to the path, and gives the rows
BUDGETS = {"active": 0.0, "auto": 1.0, "lazy": float("inf"), "coarse": 0.0}
_METHOD = re.compile(
    r"^    (?:public |private |protected |static |final |synchronized )*(?!(?:public|private|protected|return|new|else|throw)\b)"
    r"(?:<[^(){};]*> )?[\w.\[\]]+(?:<[^(){};]*>)?(?:\[\])? (\w+)\([^;{}]*?\)(?: throws [\w., ]+)? \{\n",
    re.MULTILINE,
)
_CONSTANT = re.compile(r'        return [\w."]+;[^\n]*\n    \}')
_ENTRIES = {
    # By these Spark calls us. Each is nothing but a try.
    "rewrite/core/CaptureRule.apply",
    "rewrite/core/AdaptiveGuard.apply",
    "rewrite/core/GroupOrder.apply",
    "rewrite/nodes/TwoLevelAggregate.conf",
    "write/TrackedInsert.basicWriteJobStatsTracker",
    # Tasks call these for each row. TapSink.apply, which is nothing but a try, contains everything that can fail.
    "tap/Recorder.record",
    "tap/Tap.eval",
}
_FOLDERS = (
    "headwater/rewrite/",
    "headwater/write/TrackedInsert",
    "headwater/shim/OwnExpression",
    "headwater/tap/Recorder",
    "headwater/tap/Tap.",
)
_SWITCH = """
package headwater.broken;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

public final class Switch {
    private static final Set<String> SEEN = ConcurrentHashMap.newKeySet();
    private static volatile String place = "";

    public static void state(String failing) {
        place = failing;
        SEEN.clear();
    }

    public static List<String> seen() {
        return new ArrayList<>(SEEN);
    }

    public static void at(String here) {
        SEEN.add(here);
        if (here.equals(place)) {
            throw new IllegalStateException("on purpose at " + here);
        }
    }
}
"""


def with_switches() -> dict[str, str]:
    """The Java sources for the installed Spark, with a switch at the start of each method that can fail.

    Methods that return a name or a field have none.
    """

    def switched(place: str) -> Callable[[re.Match[str]], str]:
        def switch(found: re.Match[str]) -> str:
            if _CONSTANT.match(found.string, found.end()):
                return found[0]
            return f'{found[0]}headwater.broken.Switch.at("{place}.{found[1]}");\n'

        return switch

    files = {f"headwater/{path.relative_to(SOURCES).as_posix()}": path for path in sources(installed()[0])}
    result = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    for name, text in list(result.items()):
        if name.startswith(_FOLDERS):
            result[name] = _METHOD.sub(switched(name.removeprefix("headwater/").removesuffix(".java")), text)
    result["headwater/broken/Switch.java"] = _SWITCH
    return result


def parts() -> set[str]:
    """The parts of Headwater that have a switch, for the version of Spark that runs."""
    places = set(re.findall(r'Switch\.at\("([^"]+)"\)', "\n".join(with_switches().values())))
    return {part_of(place) for place in places - _ENTRIES}


def _mean(values: pd.Series) -> float:
    return float(values.mean())


def _first(group: pd.DataFrame) -> pd.DataFrame:
    return group.head(1)


def _queries() -> dict[str, Callable[[SparkSession], DataFrame]]:
    texts = {
        "scan": "SELECT * FROM facts WHERE n > 0",
        "group": "SELECT k, count(*) c, max(v) v FROM facts GROUP BY k",
        "group by number": "SELECT n, count(*) c FROM facts GROUP BY n",
        "group of a join": "SELECT k, n, count(*) c FROM facts JOIN names ON k = key GROUP BY k, n",
        "group of python": "SELECT k, mean(v) m FROM facts GROUP BY k",
        "distincts": "SELECT k, count(DISTINCT n) a, count(DISTINCT v) b FROM facts GROUP BY k",
        "semi-join": "SELECT id FROM facts WHERE k IN (SELECT key FROM names WHERE w > 0)",
        "existence": "SELECT id FROM facts WHERE n = 1 OR k IN (SELECT key FROM names WHERE w > 1)",
        "semi-join by number": "SELECT id FROM facts WHERE EXISTS (SELECT 1 FROM names WHERE w = n AND key <> k)",
        "anti-join": "SELECT id FROM facts WHERE k NOT IN (SELECT key FROM names WHERE w > 1)",
        "outer join": "SELECT id, w FROM facts FULL JOIN names ON k = key",
        "window": "SELECT id, rank() OVER (PARTITION BY k ORDER BY id) r, sum(v) OVER (PARTITION BY n) s FROM facts",
        "ranks": "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) r FROM facts) WHERE r < 3",
        "union": "SELECT id FROM facts UNION ALL SELECT w FROM names",
        "limit": "SELECT id, k FROM facts ORDER BY v DESC, id LIMIT 7",
        "subquery": "SELECT id FROM facts WHERE v > (SELECT avg(v) FROM facts)",
        "correlated": "SELECT id FROM facts o WHERE v > (SELECT avg(v) FROM facts i WHERE i.k = o.k)",
        "twice": "WITH c AS (SELECT k, count(*) n FROM facts GROUP BY k) SELECT a.k, a.n, rand(1) > 2 r FROM c a JOIN c b ON a.k = b.k",
        "generator": "SELECT id, e FROM facts LATERAL VIEW explode(array(n, v)) x AS e",
        "rollup": "SELECT k, n, count(*) c FROM facts GROUP BY ROLLUP (k, n)",
        "recursion": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT n, key FROM r JOIN names ON n = w",
        "scalar python": "SELECT id, plus(v) p FROM facts",
        "intersection": "SELECT k FROM facts INTERSECT SELECT key FROM names",
        "lines of json": "SELECT id, k FROM as_json WHERE n > 0",
        "lines of csv": "SELECT * FROM as_csv",
        "orc": "SELECT * FROM as_orc",
        "values": "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS x(p, q) JOIN names ON q = key",
    }
    made: dict[str, Callable[[SparkSession], DataFrame]] = {
        name: lambda session, text=text: session.sql(text) for name, text in texts.items()
    }
    made["groups in pandas"] = lambda session: (
        session.table("facts").groupBy("k").applyInPandas(_first, "id long, k string, n long, v double")
    )
    made["tasks in pandas"] = lambda session: session.table("facts").mapInPandas(lambda rows: rows, "id long, k string, n long, v double")
    made["repartition"] = lambda session: session.table("facts").repartition(2).sortWithinPartitions("id")
    made["observed"] = lambda session: session.table("facts").observe("rows", f.count(f.lit(1)).alias("n")).where("n > 0")
    made["cache"] = lambda session: session.sql("SELECT k, n, count(*) c FROM facts GROUP BY k, n").cache()
    made["checkpoint"] = lambda session: session.sql("SELECT k, v + 1 AS v FROM facts WHERE n > 0").localCheckpoint()
    return made


def _prepare(session: SparkSession, folder: Path) -> None:
    for name, value in {**INTERPRETED, "spark.sql.shuffle.partitions": "2"}.items():
        session.conf.set(name, value)
    for name in ("facts", "names"):
        session.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    for kind in ("json", "csv", "orc"):
        schema = "id long, k string, n long, v double"
        session.read.schema(schema).format(kind).load(str(folder / kind)).createOrReplaceTempView(f"as_{kind}")
    session.udf.register("mean", f.pandas_udf(_mean, "double"))
    session.udf.register("plus", f.udf(lambda value: value + 1, "double"))


def _sources(session: SparkSession, folder: Path) -> None:
    rows = [{"id": i, "k": "abcde"[i * i % 5], "n": i % 3, "v": float(i * 7 % 31)} for i in range(40)]
    for name, table in {"facts": rows, "names": [{"key": key, "w": place} for place, key in enumerate("abbe")]}.items():
        (folder / name).mkdir()
        pq.write_table(pa.Table.from_pylist(table), folder / name / "part.parquet")
    for kind in ("json", "csv", "orc"):
        session.read.parquet(str(folder / "facts")).coalesce(1).write.format(kind).save(str(folder / kind))


def _commands(delta: Path, iceberg: str) -> dict[str, list[str]]:
    """Commands over a table of Delta and one of Iceberg that are new; the last one shows the rows."""
    values = "SELECT id, k, n FROM facts WHERE n > 0"
    result: dict[str, list[str]] = {}
    for kind, table, made in (("delta", f"delta.`{delta}`", "USING delta"), ("iceberg", iceberg, "USING iceberg")):
        merge = (
            f"MERGE INTO {table} t USING (SELECT key, w FROM names WHERE w <> 2) s ON t.k = s.key AND t.id = s.w "
            "WHEN MATCHED THEN UPDATE SET n = 9 WHEN NOT MATCHED THEN INSERT (id, k, n) VALUES (w + 100, key, w)"
        )
        for name, command in {
            "append": f"INSERT INTO {table} SELECT id, k, n FROM facts WHERE n = 0",
            "merge": merge,
            "update": f"UPDATE {table} SET n = n + 1 WHERE k = 'b'",
            "delete": f"DELETE FROM {table} WHERE id % 3 = 1",
        }.items():
            result[f"{kind} {name}"] = [f"CREATE TABLE {table} {made} AS {values}", command, f"SELECT * FROM {table}"]
        grouped = f"CREATE TABLE {table}2 {made} AS SELECT k, count(*) c FROM {table} GROUP BY k".replace("`2", "2`")
        result[f"{kind} read"] = [f"CREATE TABLE {table} {made} AS {values}", grouped, f"SELECT * FROM {table}2".replace("`2", "2`")]
    made, rows = result["delta append"][0], result["delta append"][2]
    result["delta compaction"] = [made, f"INSERT INTO delta.`{delta}` VALUES (1000, 'z', 1)", f"OPTIMIZE delta.`{delta}`", rows]
    return result


def _table_query(name: str) -> Query:
    def run(session: SparkSession, out: Path) -> str:
        *commands, rows = _commands(out, f"lake.db.{re.sub('[^a-z0-9]', '_', out.name)}")[name]
        for command in commands:
            session.sql(command)
        return repr(sorted(map(tuple, session.sql(rows).collect())))

    return run


def _written(make: Callable[[SparkSession], DataFrame]) -> Query:
    def run(session: SparkSession, out: Path) -> str:
        make(session).write.parquet(str(out))
        return repr([pq.ParquetFile(path).read().to_pylist() for path in sorted(out.glob("*.parquet"))])

    return run


def _outcome(session: SparkSession, query: Query, out: Path) -> str:
    try:
        return query(session, out)
    except Exception as error:  # noqa: BLE001  # whatever it is, the run without Headwater has to have it too
        java = getattr(error, "java_exception", None)
        return f"{type(error).__name__}: {str(java if java is not None else error)[:500]}"
    finally:
        session.catalog.clearCache()


class _Run:
    """The session without Headwater, and the means to run a query in a new one with it."""

    def __init__(self, folder: Path, mode: str, *, tables: bool) -> None:
        start_with(connectors.submitted() if tables else "")
        builder = SparkSession.builder.master("local[2]").appName("faults").config("spark.ui.enabled", "false")
        if tables:
            extensions = f"{SETTINGS['spark.sql.extensions']},org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
            builder = builder.config(map={**SETTINGS, **connectors.CONF, "spark.sql.extensions": extensions})
            builder = builder.config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
            builder = builder.config("spark.sql.catalog.lake.type", "hadoop").config(
                "spark.sql.catalog.lake.warehouse", str(folder / "lake")
            )
        self.plain = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        self.plain.sparkContext.setLogLevel("OFF")
        self.folder, self.mode, self.number = folder, mode, 0
        _sources(self.plain, folder)
        _prepare(self.plain, folder)

    def switch(self) -> Any:
        jvm: Any = self.plain.sparkContext._jvm
        return jvm.headwater.broken.Switch

    def captured(self, query: Query, place: str) -> tuple[str, list[str], list[str]]:
        """The result of a query, the places that it passed, and the entries of the ledger."""
        self.number += 1
        session = self.plain.newSession()
        _prepare(session, self.folder)
        segments = str(self.folder / f"segments{self.number}")
        bridge = Bridge.install(session, mode=self.mode, segments=segments, budget=BUDGETS[self.mode])
        try:
            self.switch().state(place)
            outcome = _outcome(session, query, self.folder / f"out{self.number}")
            bridge.flush(PATIENTLY)
            said: list[str] = []
            while events := self._events(bridge):
                captures = [event["capture"] for event in events if event.get("capture")]
                said += [capture["status"] for capture in captures if capture["status"] == "complete"]
                said += [problem["reason"] for capture in captures for problem in capture["problems"]]
                said += [str(event["reason"]) for event in events if event["event"] == "fault"]
                # the ledger says that no capture was begun for these
                said += ["refused" for event in events if event["event"] == "query_end" and not event.get("capture")]
            places = [str(entry) for entry in self.switch().seen()]  # also those that describe the query
        finally:
            self.switch().state("")
            bridge.close()
        return outcome, places, said

    def _events(self, bridge: Bridge) -> list[dict[str, Any]]:
        """The next events. A listener whose Java fails reports it and goes on, so the fault ends here."""
        try:
            return bridge.drain(0)
        except Py4JJavaError as fault:
            self.switch().state("")
            return [{"event": "fault", "reason": str(fault.java_exception)}]


def _jar_with_switches(folder: Path) -> Path:
    files = []
    for name, text in with_switches().items():
        files.append(folder / name)
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_text(text, encoding="utf-8")
    make_jar(installed()[0], files, folder / "headwater.jar")
    return folder / "headwater.jar"


def main(folder: Path, mode: str, choice: str, kind: str) -> None:
    """See the module."""
    jar = _jar_with_switches(folder / "switches")
    bridges.jar_for = lambda _version: jar
    run = _Run(folder, mode, tables=kind == "tables")
    queries = {name: _written(make) for name, make in _queries().items()}
    if kind == "tables":
        queries = {name: _table_query(name) for name in _commands(folder, "")}
    expected = {name: _outcome(run.plain, query, folder / f"plain-{name.replace(' ', '-')}") for name, query in queries.items()}
    tried: set[str] = set()
    for name, query in queries.items():
        outcome, places, said = run.captured(query, "")
        _tell("", name, outcome, expected[name], said)
        for place in sorted(set(places) - _ENTRIES):
            key = place if choice == "all" else part_of(place)
            if key not in tried:
                tried.add(key)
                outcome, _, said = run.captured(query, place)
                _tell(place, name, outcome, expected[name], said)
    run.plain.stop()


def part_of(place: str) -> str:
    """The class of a family of operators, else the folder."""
    name = place.partition(".")[0]
    return name if "/families/" in name else name.rpartition("/")[0]


def _tell(place: str, name: str, outcome: str, expected: str, said: list[str]) -> None:
    line = {"place": place, "query": name, "same": outcome == expected, "said": said}
    if outcome != expected:
        line |= {"outcome": outcome[:600], "expected": expected[:200]}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
