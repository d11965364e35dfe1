"""Random pipelines, replayed: the same SQL in DuckDB over edited inputs says what must come out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.spark_listener.spark import environment, run

pytestmark = [pytest.mark.spark, pytest.mark.timeout(0)]

Row = tuple[int, int]
SOURCES = ("a", "b")
STEPS = (
    "SELECT k, v FROM {t} WHERE v > {c}",
    "SELECT k, CAST(sum(v) AS INT) AS v FROM {t} GROUP BY k",
    "SELECT k, CAST(max(v) AS INT) AS v FROM {t} WHERE v <> {c} GROUP BY k",
    "SELECT x.k, x.v + y.v AS v FROM {t} x JOIN {u} y ON x.k = y.k",
    "SELECT x.k, x.v + coalesce(y.v, -1) AS v FROM {t} x LEFT JOIN {u} y ON x.k = y.k AND y.v > {c}",
    "SELECT DISTINCT k, v FROM {t}",
    "SELECT k, v FROM {t} UNION ALL SELECT k, v FROM {u}",
    "SELECT k, v FROM {t} x WHERE EXISTS (SELECT 1 FROM {u} y WHERE y.k = x.k AND y.v > {c})",
    "SELECT k, v FROM {t} x WHERE NOT EXISTS (SELECT 1 FROM {u} y WHERE y.k = x.k AND y.v > {c})",
)
PROGRAM = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("Random").getOrCreate()
for name in ("a", "b"):
    spark.read.option("header", "true").schema("k int, v int").csv(name).createOrReplaceTempView(name)
for number, query in enumerate({queries!r}):
    spark.sql(query).write.mode("overwrite").parquet(f"out/s{{number}}")
    spark.read.parquet(f"out/s{{number}}").createOrReplaceTempView(f"s{{number}}")
spark.stop()
"""


@dataclass(frozen=True)
class Pipeline:
    """Queries over the tables `a`, `b` and the results of earlier queries `s0`, `s1`, …; the last one makes the output."""

    tables: dict[str, list[Row]]
    queries: list[str]

    @property
    def output(self) -> str:
        return f"out/s{len(self.queries) - 1}"

    def rows(self, without: Collection[int] = (), edited: Collection[int] = ()) -> Counter[Row]:
        """Rows of the output, without some records of `a`, or with the value 5 in some of them."""
        rows = {name: list(of) for name, of in self.tables.items()}
        rows["a"] = [(k, 5 if i in edited else v) for i, (k, v) in enumerate(rows["a"]) if i not in without]
        with duckdb.connect() as database:
            for name, of in rows.items():
                database.execute(f"CREATE TABLE {name} (k INT, v INT)")
                for row in of:
                    database.execute(f"INSERT INTO {name} VALUES (?, ?)", row)
            for number, query in enumerate(self.queries):
                database.execute(f"CREATE TABLE s{number} AS {query}")
            found = database.execute(f"SELECT k, v FROM s{len(self.queries) - 1}").fetchall()
        return Counter((int(k), int(v)) for k, v in found)


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    row = st.tuples(st.integers(0, 3), st.integers(0, 9))
    tables = {name: draw(st.lists(row, min_size=6, max_size=14)) for name in SOURCES}
    queries: list[str] = []
    for number in range(draw(st.integers(2, 5))):
        last = f"s{number - 1}" if number else "a"
        other = draw(st.sampled_from([*SOURCES, *(f"s{i}" for i in range(number))]))
        queries.append(draw(st.sampled_from(STEPS)).format(t=last, u=other, c=draw(st.integers(0, 6))))
    return Pipeline(tables, queries)


class Home:
    """The folder and home of a pipeline that has run once."""

    def __init__(self, folder: Path, root: Path, pipeline: Pipeline) -> None:
        self.folder, self._environment, self._pipeline = folder, environment(root), pipeline
        for name, rows in pipeline.tables.items():
            (folder / name).mkdir()
            self._write(name, rows)
        (folder / "job.py").write_text(PROGRAM.format(queries=pipeline.queries))
        done = run(["-m", "headwater", "run", "--home", "home", "job.py"], folder, self._environment)
        assert done.returncode == 0, done.stderr
        assert self.rows(folder) == pipeline.rows()

    def _write(self, name: str, rows: list[Row]) -> None:
        (self.folder / name / "rows.csv").write_text("\n".join(["k,v", *(f"{k},{v}" for k, v in rows), ""]))

    def edit(self, name: str, chosen: Collection[int]) -> None:
        """Write the value 5 into some records of a source."""
        self._write(name, [(k, 5 if i in chosen else v) for i, (k, v) in enumerate(self._pipeline.tables[name])])

    def rows(self, below: Path) -> Counter[Row]:
        files = f"{below}/{self._pipeline.output}/*.parquet"
        return Counter((int(k), int(v)) for k, v in duckdb.sql(f"SELECT k, v FROM read_parquet('{files}')").fetchall())

    def replay(self, *arguments: str) -> tuple[Counter[Row] | None, str]:
        """Return the rows of the output in the shadow and the answer; None where nothing had to run."""
        command = ["-m", "headwater", "replay", self._pipeline.output, *arguments, "--format", "json", "--home", "home"]
        done = run(command, self.folder, self._environment)
        if "had no part in" in done.stderr:
            return None, ""
        assert done.returncode == 0, (self._pipeline, arguments, done.stdout, done.stderr)
        return self.rows(Path(f"{json.loads(done.stdout)['shadow']}{self.folder}")), done.stdout


def _check(pipeline: Pipeline, root: Path, chosen: Collection[int]) -> None:
    before = pipeline.rows()
    rows = [argument for i in chosen for argument in ("--row", f"a/rows.csv:{i}")]
    with TemporaryDirectory() as folder:
        home = Home(Path(folder).resolve(), root, pipeline)
        after, _ = home.replay("--without", "a", *rows)
        assert (before if after is None else after) == pipeline.rows(without=chosen), (pipeline, chosen)
        after, _ = home.replay("--edit", "a", *rows, "--set", "v = 5")
        assert after == pipeline.rows(edited=chosen), (pipeline, chosen)
        k = min(key for key, _ in before)
        after, answer = home.replay("--kind", "selective", "--where", f"k = {k}")
        assert json.loads(answer)["differing"] == 0, (pipeline, answer)
        assert after is not None
        assert not {row: count for row, count in before.items() if row[0] == k and after[row] < count}, (pipeline, answer)
        home.edit("a", chosen)
        for _ in range(2):  # the first refresh keeps partial results, the second uses them
            after, answer = home.replay("--changed", "a")
            assert after == pipeline.rows(edited=chosen), (pipeline, chosen, answer)
        home.replay("--changed", "a", "--commit")
        assert home.rows(home.folder) == pipeline.rows(edited=chosen), (pipeline, chosen)


CHOSEN = st.sets(st.integers(0, 5), min_size=1, max_size=3)
SETTINGS = settings(
    deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip


@pytest.mark.slow
@settings(SETTINGS, max_examples=3)
@given(pipeline=pipelines().filter(lambda drawn: bool(drawn.rows())), chosen=CHOSEN)
def test_replays_equal_runs_on_edited_inputs(root: Path, pipeline: Pipeline, chosen: set[int]) -> None:
    _check(pipeline, root, sorted(chosen))


@pytest.mark.torture
@settings(SETTINGS, max_examples=500)
@given(pipeline=pipelines().filter(lambda drawn: bool(drawn.rows())), chosen=CHOSEN)
def test_many_replays_equal_runs_on_edited_inputs(root: Path, pipeline: Pipeline, chosen: set[int]) -> None:
    _check(pipeline, root, sorted(chosen))
