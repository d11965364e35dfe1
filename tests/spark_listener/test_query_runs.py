"""Runs of a program's queries, as Spark reports them: failed, cancelled, killed, and each action once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark_listener.spark import environment, logged, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

WRITE = "runs.execute_insert_into_hadoop_fs_relation_command"
PROGRAM = """
    import os, signal, threading, time
    from pathlib import Path
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    spark = SparkSession.builder.appName("runs").config("spark.sql.warehouse.dir", os.getcwd() + "/warehouse").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def spooled(text):
        logs = Path(os.environ["HEADWATER_HOME"]).glob("spool/*/log")
        return any(text in line and '"START"' in line for log in logs for line in log.read_text().splitlines())

    def until_spooled(text):
        until = time.monotonic() + 120
        while not spooled(text):
            assert time.monotonic() < until
            time.sleep(0.05)

    def tried(work):
        try:
            work()
        except Exception:
            return
        raise AssertionError("it was to fail")

    weather = spark.read.csv("weather.csv", header=True)
    spark.sparkContext.setJobDescription("csv at noon")
    weather.write.parquet("one/data")
    weather.write.parquet("two/data")
    boom = f.udf(lambda value: 1 // 0, "int")

    @f.udf("int")
    def slow(value):
        parent = os.getppid()
        while os.getppid() == parent:  # as long as there is a Spark
            time.sleep(0.1)

    tried(lambda: weather.select(boom("wind")).collect())
    tried(lambda: weather.filter(boom("wind") > 0).count())
    tried(lambda: weather.write.parquet("one/data"))
    spark.sql("create temp view w as select * from parquet.`one/data`")
    spark.sql("create table t using parquet as select * from w")

    def cancelled():
        spark.sparkContext.setJobGroup("group", "text at work", True)
        tried(lambda: weather.select(slow("wind").alias("x")).write.parquet("cancelled"))

    thread = threading.Thread(target=cancelled)
    thread.start()
    until_spooled("cancelled")
    while thread.is_alive():  # a job that has not begun when it is cancelled begins all the same
        spark.sparkContext.cancelJobGroup("group")
        thread.join(0.5)
    threading.Thread(target=lambda: weather.select(slow("wind").alias("x")).write.parquet("killed"), daemon=True).start()
    until_spooled("killed")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_every_query_is_told_once_and_as_it_ended(tmp_path: Path, root: Path) -> None:
    script(tmp_path, "runs.py", PROGRAM)
    (tmp_path / "weather.csv").write_text("origin,wind\nEWR,3\nJFK,9\n")
    home = tmp_path / "home"
    env = environment(root, HEADWATER_HOME=str(home), HEADWATER_MODE="coarse")
    command = [sys.executable, "-m", "headwater", "run", "--quiet", "runs.py"]
    with (tmp_path / "output").open("wb") as output:  # no pipe: what the killed program leaves running would hold it open
        done = subprocess.run(command, cwd=tmp_path, env=env, stdout=output, stderr=output, timeout=500, check=False)
    assert done.returncode == -signal.SIGKILL, (tmp_path / "output").read_text()
    ends = [event for event in logged(home) if event["eventType"] not in ("START", "RUNNING")]
    assert [(event["eventType"], event["job"]["name"]) for event in ends] == [
        ("COMPLETE", f"{WRITE}.data"), ("COMPLETE", f"{WRITE}.two_data"), ("FAIL", "runs.project"), ("FAIL", "runs.aggregate"),
        ("FAIL", f"{WRITE}.data"), ("COMPLETE", f"{WRITE}.t"), ("ABORT", f"{WRITE}.cancelled"), ("ABORT", f"{WRITE}.killed"),
        ("ABORT", "runs"),
    ]  # fmt: skip
    changes = {event["outputs"][0]["name"].rpartition("/")[2]: event["outputs"][0]["facets"] for event in ends if event["outputs"]}
    assert [name for name, facets in changes.items() if "lifecycleStateChange" in facets] == ["t"]  # the last write of data was refused
    assert all(Path(event["inputs"][0]["name"]).name in ("weather.csv", "data") for event in ends[:-1])
    table = next(event for event in ends if event["job"]["name"] == f"{WRITE}.t")
    assert table["job"]["facets"]["sql"]["query"] == "create table t using parquet as select * from w"
    assert "sql" not in ends[0]["job"]["facets"]
    started = [event["run"]["runId"] for event in logged(home) if event["eventType"] == "START"]
    assert sorted(started) == sorted(event["run"]["runId"] for event in ends)
    assert not list(home.glob("spool/*/*")), json.dumps([str(path) for path in home.glob("spool/*/*")])
