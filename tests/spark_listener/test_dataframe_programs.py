"""DataFrame programs: record lineage, datasets and columns, under `headwater run`, `attach`, pytest and a shell."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace import TraceRequest, trace
from tests.jvm import QUICK
from tests.spark_listener.spark import brief, environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]

WRITE = "execute_insert_into_hadoop_fs_relation_command"
REPORT = """
    import sys
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.appName("Report").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    raw = spark.read.csv("weather.csv", header=True, inferSchema=True)
    raw.filter("wind > 0").write.mode("overwrite").parquet("clean")
    clean = spark.newSession().read.parquet("clean")
    clean.groupBy("origin").agg(F.max("wind").alias("top")).write.mode("overwrite").parquet("report")
    print(sorted(tuple(row) for row in spark.read.parquet("report").collect()))
    try:
        clean.select(F.raise_error(F.lit("token=abcdef")).alias("x")).write.parquet("never")
    except Exception as error:
        print(type(error).__name__)
    clean.rdd.map(lambda row: row.origin).saveAsTextFile("origins")
    spark.createDataFrame(clean.rdd.map(lambda row: (row.wind,)), "w double").write.parquet("winds")
    clean.select("wind").cache().localCheckpoint(eager=False).write.parquet("checked")
    spark.stop()
    spark.stop()
    second = SparkSession.builder.appName("Second").getOrCreate()
    second.read.parquet("report").write.csv("copied", header=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "weather.csv").write_text("origin,wind\nEWR,1.0\nEWR,1048.4\nJFK,3.5\nJFK,0.0\n")
    return tmp_path


def test_a_program_of_dataframes_and_rdds_is_known_by_record_where_it_can_be_and_by_dataset_elsewhere(folder: Path, root: Path) -> None:
    script(folder, "report.py", REPORT)
    home = folder / "home"
    done = run(["-m", "headwater", "run", "--home", str(home), "report.py"], folder, environment(root))
    assert (done.returncode, done.stdout) == (0, "[('EWR', 1048.4), ('JFK', 3.5)]\nSparkRuntimeException\n"), done.stderr

    events = logged(home)
    assert brief(events) == [
        ("START", "report"),
        *(("START", f"report.{WRITE}.clean"), ("COMPLETE", f"report.{WRITE}.clean")),
        *(("START", f"report.{WRITE}.report"), ("COMPLETE", f"report.{WRITE}.report")),
        *(("START", "report.scan"), ("COMPLETE", "report.scan")),
        *(("START", f"report.{WRITE}.never"), ("FAIL", f"report.{WRITE}.never")),
        *(("START", "report.save_as_text_file.origins"), ("COMPLETE", "report.save_as_text_file.origins")),
        *(("START", f"report.{WRITE}.winds"), ("COMPLETE", f"report.{WRITE}.winds")),
        *(("START", f"report.{WRITE}.checked"), ("COMPLETE", f"report.{WRITE}.checked")),
        ("COMPLETE", "report"),
        ("START", "second"),
        *(("START", f"second.{WRITE}.copied"), ("COMPLETE", f"second.{WRITE}.copied")),
        ("COMPLETE", "second"),
    ]
    by_output = {event["outputs"][0]["name"]: event for event in events if event["outputs"] and event["eventType"] != "START"}
    reads = {Path(name).name: [Path(dataset["name"]).name for dataset in event["inputs"]] for name, event in by_output.items()}
    assert reads == {
        "clean": ["weather.csv"], "report": ["clean"], "never": ["clean"], "origins": ["clean"], "winds": ["clean"], "checked": ["clean"],
        "copied": ["report"],
    }  # fmt: skip
    ledgers = {Path(name).name: event["run"]["facets"]["headwater_capture"] for name, event in by_output.items()}
    assert [ledgers[name]["status"] for name in ("clean", "report", "checked", "copied")] == ["complete"] * 4
    assert [ledgers[name]["status"] for name in ("origins", "winds")] == ["refused"] * 2
    assert "RDD" in ledgers["winds"]["problems"][0]["operator"]
    assert "abcdef" not in str(events)

    report = by_output[f"{folder}/report"]["outputs"][0]
    (top,) = report["facets"]["columnLineage"]["fields"]["top"]["inputFields"]
    assert (top["name"], top["field"], top["transformations"][0]["subtype"]) == (f"{folder}/clean", "wind", "AGGREGATION")
    assert report["outputFacets"]["outputStatistics"]["rowCount"] == 2

    (collected,) = [event for event in events if event["job"]["name"] == "report.scan" and event["eventType"] == "COMPLETE"]
    accessed = collected["inputs"][0]["inputFacets"]["headwater_fieldAccess"]["fields"]
    assert accessed == [{"name": name, "ways": ["IDENTITY"]} for name in ("origin", "top")]

    manifests = {Path(manifest["sink"]["path"]).name: manifest for manifest in logged(home, "capture") if manifest["status"] == "complete"}
    assert set(manifests) == {"clean", "report", "checked", "copied"}
    assert manifests["report"]["run"]["runId"] == by_output[f"{folder}/report"]["run"]["runId"]
    assert manifests["report"]["sources"][0]["dataset"] == {"namespace": "file", "name": f"{folder}/clean"}
    assert "4 with record lineage" in done.stderr
    assert list((home / "spool").iterdir()) == []

    traced = run(
        [
            "-m",
            "headwater",
            "trace",
            str(folder / "copied"),
            "--where",
            "origin = 'EWR'",
            "--column",
            "top",
            "--semantics",
            "witness",
            "--home",
            str(home),
            "--format",
            "json",
        ],
        folder,
        environment(root),
    )
    assert traced.returncode == 0, traced.stderr
    assert '"line": 3' in traced.stdout


@pytest.mark.slow
def test_attach_in_a_test_of_pytest_captures_until_the_end_of_the_session(folder: Path, root: Path) -> None:
    script(
        folder,
        "test_job.py",
        """
        import headwater
        from pyspark.sql import SparkSession

        def test_job():
            spark = SparkSession.builder.appName("tested").getOrCreate()
            headwater.attach(spark, name="nightly")
            headwater.attach(spark, name="ignored")
            spark.read.csv("weather.csv", header=True).write.parquet("copy")
            assert spark.read.parquet("copy").count() == 4
        """,
    )
    home = folder / "home"
    env = environment(root, HEADWATER_HOME=str(home))
    done = run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_job.py"], folder, env)
    assert done.returncode == 0, done.stdout + done.stderr
    events = logged(home)
    assert (events[0]["eventType"], events[0]["job"]["name"]) == ("START", "nightly")
    assert (events[-1]["eventType"], events[-1]["job"]["name"]) == ("COMPLETE", "nightly")
    assert ("COMPLETE", f"nightly.{WRITE}.copy") in brief(events)
    assert "headwater:" in done.stderr


@pytest.mark.slow
def test_attach_in_a_shell_has_no_script_to_name(folder: Path, root: Path) -> None:
    home = folder / "home"
    lines = """
import headwater
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("shell").getOrCreate()
headwater.attach(spark, quiet=True)
spark.range(3).write.parquet("numbers")
"""
    done = subprocess.run(
        [sys.executable, "-i", "-q"],
        input=lines,
        cwd=folder,
        env=environment(root, HEADWATER_HOME=str(home)),
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    events = logged(home)
    assert brief(events)[0] == ("START", "shell")
    assert brief(events)[-1] == ("COMPLETE", "shell")
    assert "script" not in events[0]["run"]["facets"]["headwater_invocation"]


@pytest.mark.slow
def test_spark_submit_starts_the_launcher_and_it_the_program_whose_workers_are_pyspark_s_own(folder: Path, root: Path) -> None:
    script(
        folder,
        "submitted.py",
        """
        import sys
        from pyspark.sql import SparkSession
        spark = SparkSession.builder.appName("submitted").getOrCreate()
        spark.read.csv(sys.argv[1], header=True).write.parquet("copy")
        copy = spark.read.parquet("copy").groupBy("origin")
        copy.applyInArrow(lambda rows: rows.slice(0, 1), "origin string, wind string").write.parquet("firsts")
        lines = spark.sparkContext.textFile(sys.argv[1])
        lines.map(lambda line: (line[:3], 1)).reduceByKey(lambda one, other: one + other).map(str).saveAsTextFile("counts")
        sys.exit(5)
        """,
    )
    home = folder / "home"
    env = environment(root, HEADWATER_HOME=str(home), HEADWATER_MODE="active")
    env.pop("PYSPARK_SUBMIT_ARGS")
    launcher = run(["-m", "headwater.spark_listener"], folder, env).stdout.strip()
    submit = str(Path(sys.executable).parent / "spark-submit")
    options = [
        "--master",
        "local[2]",
        "--driver-memory",
        "1g",
        "--conf",
        "spark.ui.enabled=false",
        "--driver-java-options",
        " ".join(QUICK),
    ]
    command = [*options, launcher, "submitted.py", "weather.csv"]
    done = subprocess.run(
        [submit, *command],
        cwd=folder,
        env={**env, "PATH": f"{Path(sys.executable).parent}:{env['PATH']}"},  # spark-submit finds Spark by the python3 of the path
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 5, done.stdout + done.stderr
    assert ("COMPLETE", f"submitted.{WRITE}.copy") in brief(logged(home))
    assert brief(logged(home))[-1] == ("FAIL", "submitted")
    with closing(AssociationStore(home / "associations", sources=ANYWHERE)) as store:  # what the workers of PySpark's own daemon recorded
        for name, (words, lines) in {"firsts": ("origin = 'EWR'", {2, 3}), "counts": ("value LIKE '%JFK%'", {4, 5})}.items():
            answer = asyncio.run(trace(None, store, "default", TraceRequest(dataset=str(folder / name), where=words)))
            assert (answer.exact, {record.line for record in answer.records}) == (True, lines)


@pytest.mark.slow
def test_mode_coarse_knows_datasets_and_columns_and_no_records(folder: Path, root: Path) -> None:
    script(
        folder,
        "coarse.py",
        """
        from pyspark.sql import SparkSession
        spark = SparkSession.builder.appName("coarse").getOrCreate()
        spark.read.csv("weather.csv", header=True).selectExpr("upper(origin) as station").write.parquet("copy")
        """,
    )
    home = folder / "home"
    done = run(["-m", "headwater", "run", "--mode", "coarse", "--home", str(home), "coarse.py"], folder, environment(root))
    assert done.returncode == 0, done.stderr
    assert ("COMPLETE", f"coarse.{WRITE}.copy") in brief(logged(home)), done.stderr
    complete = next(event for event in logged(home) if event["outputs"] and event["eventType"] == "COMPLETE")
    assert complete["run"]["facets"]["headwater_capture"]["status"] == "off"
    (field,) = complete["outputs"][0]["facets"]["columnLineage"]["fields"]["station"]["inputFields"]
    assert (field["field"], field["transformations"][0]["subtype"]) == ("origin", "TRANSFORMATION")
    assert logged(home, "capture") == []
    assert "mode coarse" in done.stderr
