"""Capture that Spark's configuration switches on, its events to a further backend, and `headwater.detach`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jvm import QUICK
from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

DEFAULTS = """
spark.headwater.enabled true
spark.headwater.home {folder}/home
spark.headwater.mode coarse
spark.headwater.quiet true
spark.openlineage.namespace team
spark.openlineage.job.tags tier:gold
spark.openlineage.transport.type file
spark.openlineage.transport.location {folder}/events.json
spark.ui.enabled false
"""
PROGRAM = """
    import sys
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("plain").getOrCreate()
    weather = spark.read.csv("weather.csv", header=True)
    weather.write.parquet("first")
    if "detach" in sys.argv:
        import headwater
        headwater.detach(spark)
        weather.write.parquet("unseen")
        headwater.attach(spark, name="again")
        weather.write.parquet("again")
    spark.stop()
"""


def test_a_program_that_knows_nothing_is_captured_by_spark_s_defaults(tmp_path: Path, root: Path) -> None:
    script(tmp_path, "plain.py", PROGRAM)
    (tmp_path / "weather.csv").write_text("origin,wind\nEWR,3\nJFK,9\n")
    (tmp_path / "defaults.conf").write_text(DEFAULTS.format(folder=tmp_path))
    env = environment(root)
    env.pop("PYSPARK_SUBMIT_ARGS")
    site = run(["-m", "headwater.spark_listener", "--site"], tmp_path, env).stdout.strip()
    bin_ = Path(sys.executable).parent
    env |= {"PYTHONPATH": f"{site}:{root}", "PATH": f"{bin_}:{env['PATH']}"}
    command = [
        str(bin_ / "spark-submit"),
        "--master",
        "local[2]",
        "--driver-java-options",
        " ".join(QUICK),
        "--properties-file",
        "defaults.conf",
        "plain.py",
        "detach",
    ]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    write = "execute_insert_into_hadoop_fs_relation_command"
    ends = [event for event in logged(tmp_path / "home") if event["eventType"] == "COMPLETE"]
    names = [(event["job"]["namespace"], event["job"]["name"]) for event in ends]
    assert names == [
        ("team", f"plain.{write}.first"), ("team", "plain"), ("team", f"again.{write}.again"), ("team", "again"),
    ]  # fmt: skip
    assert ends[0]["job"]["facets"]["tags"]["tags"] == [{"key": "tier", "value": "gold", "source": "CONFIG"}]
    sent = [json.loads(line) for line in (tmp_path / "events.json").read_text().splitlines()]
    assert [event["job"]["name"] for event in sent if event["eventType"] == "COMPLETE"] == [name for _, name in names]
