"""`spark.headwater.skipFailing`: failing records are left out of results, listed by reference, and limited across tasks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from headwater.backend.cli.trace import app as trace_app
from headwater.backend.cli.why import app as why_app
from tests.spark_listener.spark import logged, script
from tests.spark_listener.warm_spark import WarmSpark

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]

BAD = (17, 700)  # rows of people.csv
ALL_KINDS = """
    import json
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.appName("Kinds").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    people = spark.read.csv("people.csv", header=True)
    number = F.udf(lambda text: int(text), "int")
    double = F.udf(lambda value: value * 2, "int")
    by_arrow = F.udf(lambda text: int(text), "int", useArrow=True)
    series = F.pandas_udf(lambda texts: texts.astype("int64"), "long")
    arrays = F.arrow_udf(lambda texts: texts.cast(pa.int64()), "long")
    sc = spark.sparkContext

    def write(name, frame):
        frame.write.mode("overwrite").parquet(name)

    write("row", people.select("id", number("age").alias("age")))
    write("chain", people.select("id", double(number("age")).alias("age")))
    write("two", people.select("id", number("age").alias("age"), double(number("id")).alias("twice")))
    write("arrow_row", people.select("id", by_arrow("age").alias("age")))
    write("pandas", people.select("id", series("age").alias("age")))
    write("arrow", people.select("id", arrays("age").alias("age")))
    write("filtered", people.where(number("age") >= 0).groupBy((F.col("id") % 2).alias("half")).count())
    kept = people.select("id", number("age").alias("age")).cache()
    kept.count()
    write("cached", kept)
    write("joined", people.join(people.withColumnRenamed("age", "other"), "id").select("id", number("age").alias("age")))

    lines = sc.textFile("people.csv", 2)
    fields = lines.filter(lambda line: not line.startswith("id")).map(lambda line: line.split(","))
    fields.map(lambda parts: (int(parts[1]) % 7, 1)).reduceByKey(lambda a, b: a + b).coalesce(1).saveAsTextFile("rdd_map")
    fields.flatMap(lambda parts: (int(part) for part in parts)).saveAsTextFile("rdd_flat")
    fields.filter(lambda parts: int(parts[1]) >= 0).map(",".join).saveAsTextFile("rdd_filter")
    seen = sc.accumulator(0)
    fields.foreach(lambda parts: seen.add(int(parts[1]) >= 0))
    own = sc.parallelize(range(10), 2).map(lambda n: 10 // (n - 3)).count()
    print(json.dumps({"foreach": seen.value, "own": own}))
"""


def _write_people(folder: Path, bad: tuple[int, ...] = BAD) -> None:
    rows = [f"{row},{'x' if row in bad else row}" for row in range(1000)]
    (folder / "people.csv").write_text("\n".join(["id,age", *rows]) + "\n")


class Done:
    """A program that has run, and its events by the name of their output."""

    def __init__(self, folder: Path, done: subprocess.CompletedProcess[str]) -> None:
        self.folder, self.home, self.done = folder, folder / "home", done
        self.events = logged(self.home)
        ends = [event for event in self.events if event["eventType"] != "START"]
        self.facets: dict[str, Any] = {
            Path(event["outputs"][0]["name"]).name: event["run"]["facets"].get("headwater_setAside") for event in ends if event["outputs"]
        }
        self.application: Any = ends[-1]["run"]["facets"].get("headwater_setAside") if ends else None

    def rows(self, name: str) -> int:
        import pyarrow.dataset as ds

        found: int = ds.dataset(self.folder / name, format="parquet", exclude_invalid_files=True).count_rows()
        return found


def _run(warm_spark: WarmSpark, folder: Path, text: str, limit: int = 1_000, **more: str) -> Done:
    script(folder, "job.py", text)
    arguments = ["-m", "headwater", "run", "--home", str(folder / "home"), "job.py"]
    return Done(folder, warm_spark.run(arguments, folder, HEADWATER_SKIP_FAILING=str(limit), **{"HEADWATER_RDD_RECORDS": "true", **more}))


def _ask(app: Any, done: Done, *arguments: str) -> Result:
    result = CliRunner().invoke(app, [*arguments, "--home", str(done.home)])
    assert result.exit_code == 0, (result.output, result.exception)
    return result


@pytest.fixture(scope="module")
def kinds(warm_spark: WarmSpark, tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("kinds")
    _write_people(folder)
    done = _run(warm_spark, folder, ALL_KINDS)
    assert done.done.returncode == 0, done.done.stderr[-3000:]
    return done


@pytest.mark.parametrize("name", ["row", "chain", "two", "arrow_row", "pandas", "arrow", "cached", "joined"])
def test_rows_at_which_a_function_fails_are_left_out_and_listed(kinds: Done, name: str) -> None:
    assert kinds.rows(name) == 998
    facet = kinds.facets[name]
    assert facet["count"] == 2
    assert {record["error"] for record in facet["records"]} == {"ArrowInvalid" if name == "arrow" else "ValueError"}


@pytest.mark.parametrize("name", ["row", "chain", "two", "arrow_row", "pandas", "arrow", "joined"])
def test_references_name_the_rows_of_the_file(kinds: Done, name: str) -> None:
    file = f"file:{kinds.folder}/people.csv"
    places = sorted(tuple((place["file"], place["row"]) for place in record["places"]) for record in kinds.facets[name]["records"])
    assert places == [((file, row),) * (2 if name == "joined" else 1) for row in BAD]


def test_values_of_other_rows_stay_as_they_are(kinds: Done) -> None:
    import pyarrow.dataset as ds

    for name in ("row", "arrow_row", "pandas", "arrow", "cached"):
        rows = ds.dataset(kinds.folder / name, format="parquet", exclude_invalid_files=True).to_table().to_pylist()
        assert sorted(row["age"] for row in rows) == [row for row in range(1000) if row not in BAD], name
        assert all(int(row["id"]) == row["age"] for row in rows), name


def test_rows_that_a_condition_cannot_decide_are_in_no_group(kinds: Done) -> None:
    import pyarrow.dataset as ds

    table = ds.dataset(kinds.folder / "filtered", format="parquet", exclude_invalid_files=True).to_table().to_pylist()
    assert sorted((int(row["half"]), row["count"]) for row in table) == [(0, 499), (1, 499)]
    assert kinds.facets["filtered"]["count"] == 2


@pytest.mark.parametrize(("name", "lines"), [("rdd_map", 7), ("rdd_flat", 2 * 998), ("rdd_filter", 998)])
def test_records_of_rdd_functions_are_left_out_and_named_by_their_lines(kinds: Done, name: str, lines: int) -> None:
    text = "".join(part.read_text() for part in (kinds.folder / name).glob("part-*"))
    assert len(text.splitlines()) == lines
    facet = kinds.facets[name]
    places = [record["places"][0] for record in facet["records"]]
    assert facet["count"] == 2
    whole = (kinds.folder / "people.csv").read_bytes()
    for place in places:  # a record behind the first part of a file is named by its part
        rest = whole[place["start"] :].partition(b"\n")[2] if "start" in place else whole
        line = rest.splitlines()[place["record"] if "start" in place else place["row"]]
        assert line.endswith(b",x"), place
    assert all(record["function"].startswith(str(kinds.folder / "job.py")) for record in facet["records"])


def test_actions_without_a_dataset_leave_records_out_too(kinds: Done) -> None:
    assert json.loads(kinds.done.stdout) == {"foreach": 998, "own": 9}


def test_the_program_says_loudly_that_records_were_set_aside(kinds: Done) -> None:
    assert "headwater: skipFailing is ON: up to 1,000 failing records" in kinds.done.stderr
    assert f"headwater: SET ASIDE: {kinds.application['count']} of at most 1000 failing records" in kinds.done.stderr
    assert kinds.application["count"] >= 2 * 8 + 2 * 4 + 1


def test_a_trace_of_the_output_says_that_records_were_set_aside(kinds: Done) -> None:
    answer = json.loads(_ask(trace_app, kinds, str(kinds.folder / "row"), "--where", "id = '3'", "--format", "json").stdout)
    assert any("2 of at most 1,000 failing records were set aside" in note for note in answer["notes"]), answer
    assert answer["exact"]


def test_the_run_lists_the_records(kinds: Done) -> None:
    run = next(event for event in kinds.events if event["outputs"] and event["outputs"][0]["name"].endswith("/row"))["run"]["runId"]
    text = _ask(why_app, kinds, f"run:{run}").stdout
    assert "2 of at most 1,000 failing records were set aside" in text
    for row in BAD:
        assert f"{kinds.folder}/people.csv row {row}\n    ValueError in {kinds.folder}/job.py:" in text
    answer = json.loads(_ask(why_app, kinds, "kinds", "--format", "json").stdout)
    assert answer["setAside"] == kinds.application


LIMITED = """
    import glob, json
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.appName("Limited").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    people = spark.read.csv("people.csv", header=True).repartition(4, "id")
    number = F.udf(lambda text: int(text), "int")

    def attempt(name, run):
        try:
            run()
            print(name, "done")
        except Exception as error:
            print(name, "ValueError: invalid literal for int() with base 10: 'x'" in str(error))

    attempt("query", lambda: people.select("id", number("age").alias("age")).write.parquet("out"))
    attempt("cast", lambda: people.select(F.col("age").cast("int")).write.parquet("cast"))
    lines = spark.sparkContext.textFile("people.csv").filter(lambda line: not line.startswith("id"))
    attempt("partitions", lambda: lines.mapPartitions(lambda part: [int(line.split(",")[1]) for line in part]).count())
    claims = [json.loads(line) for path in glob.glob("home/spool/*/set-aside") for line in open(path) if line.strip()]
    print(json.dumps([claim["key"] for claim in claims if "key" in claim]))
"""


def test_the_limit_holds_across_tasks_and_the_job_then_fails_as_without_it(warm_spark: WarmSpark, tmp_path: Path) -> None:
    _write_people(tmp_path, bad=tuple(range(0, 1000, 100)))
    done = _run(warm_spark, tmp_path, LIMITED, limit=9)
    *lines, claims = done.done.stdout.splitlines()
    assert lines == ["query True", "cast False", "partitions True"], done.done.stderr[-2000:]
    assert not list((tmp_path / "out").glob("part-*"))
    assert "the limit of skipFailing, 9, was reached" in done.done.stderr
    assert len(set(json.loads(claims))) == 9


def test_exactly_the_limit_may_fail(warm_spark: WarmSpark, tmp_path: Path) -> None:
    _write_people(tmp_path, bad=tuple(range(0, 1000, 100)))
    done = _run(warm_spark, tmp_path, LIMITED, limit=10)
    assert done.done.stdout.splitlines()[0] == "query done", done.done.stderr[-2000:]
    assert (done.rows("out"), done.facets["out"]["count"]) == (990, 10)


RETRIED = """
    import glob, json, os
    from pyspark import TaskContext
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.master("local[2, 3]").appName("Retried").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def read(text):
        if text == "999" and TaskContext.get().attemptNumber() == 0:
            os._exit(1)  # the worker dies after it has set records aside
        return int(text)

    spark.read.csv("people.csv", header=True).select("id", F.udf(read, "int")("age").alias("age")).write.parquet("out")
    lines = spark.sparkContext.textFile("people.csv", 1).filter(lambda line: not line.startswith("id"))
    lines.map(lambda line: read(line.split(",")[1])).saveAsTextFile("saved")
    claims = [json.loads(line) for path in glob.glob("home/spool/*/set-aside") for line in open(path) if line.strip()]
    print(json.dumps([claim["key"] for claim in claims if "key" in claim]))
"""


def test_a_retry_does_not_count_a_record_twice(warm_spark: WarmSpark, tmp_path: Path) -> None:
    _write_people(tmp_path)
    done = _run(warm_spark, tmp_path, RETRIED, limit=4)
    assert done.done.returncode == 0, done.done.stderr[-3000:]
    assert (done.rows("out"), done.facets["out"]["count"], done.facets["saved"]["count"]) == (998, 2, 2)
    claims = json.loads(done.done.stdout)
    assert (len(claims), len(set(claims))) == (8, 4)  # both attempts of both tasks


UNCOVERED = """
    from collections.abc import Iterator
    import pandas as pd
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.appName("Uncovered").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    people = spark.read.csv("people.csv", header=True)

    @F.pandas_udf("long")
    def series(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for part in parts:
            yield part.astype("int64")

    def rows(frames):
        for frame in frames:
            frame["age"] = frame["age"].astype("int64")
            yield frame

    for name, frame in {"iterator": people.select(series("age")), "map": people.mapInPandas(rows, "id string, age long")}.items():
        try:
            frame.write.parquet(name)
            print("done")
        except Exception as error:
            print(type(error).__name__)
"""


def test_functions_without_single_rows_fail_as_before_and_are_named(warm_spark: WarmSpark, tmp_path: Path) -> None:
    _write_people(tmp_path)
    done = _run(warm_spark, tmp_path, UNCOVERED)
    assert done.done.stdout == "PythonException\nPythonException\n", done.done.stderr[-2000:]
    assert "skipFailing does not cover series: it gets an iterator" in done.done.stderr
    assert "skipFailing does not cover MapInPandas" in done.done.stderr
    assert "no record was set aside" in done.done.stderr


PLAIN = """
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        spark.read.csv("people.csv", header=True).select(F.udf(lambda text: int(text), "int")("age")).write.parquet("out")
    except Exception as error:
        print(type(error).__name__)
    import sys
    print([name for name in sys.modules if "set_aside" in name])
"""


def test_without_the_setting_the_job_fails_and_nothing_is_loaded(warm_spark: WarmSpark, tmp_path: Path) -> None:
    _write_people(tmp_path)
    done = _run(warm_spark, tmp_path, PLAIN, limit=0)
    assert done.done.stdout == "PythonException\n[]\n", done.done.stderr[-2000:]
    assert "skipFailing" not in done.done.stderr
    assert done.application is None


def test_the_setting_without_capture_is_reported_and_has_no_effect(warm_spark: WarmSpark, tmp_path: Path) -> None:
    _write_people(tmp_path)
    done = _run(warm_spark, tmp_path, PLAIN, HEADWATER_MODE="off")
    assert done.done.stdout == "PythonException\n[]\n", done.done.stderr[-2000:]
    assert "skipFailing is NOT in effect, because the mode is off" in done.done.stderr


def test_the_mode_without_records_sets_aside_and_says_that_no_capture_names_the_rows(warm_spark: WarmSpark, tmp_path: Path) -> None:
    _write_people(tmp_path)
    done = _run(warm_spark, tmp_path, PLAIN, HEADWATER_MODE="coarse")
    assert done.done.stdout.startswith("["), done.done.stderr[-2000:]
    assert done.facets["out"]["count"] == 2
    assert "no capture names it" in _ask(why_app, done, "pyspark_shell").stdout
