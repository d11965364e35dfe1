"""The runner that submits a program to Spark's master."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from headwater.backend.rerun.runners import Launch
from headwater.backend.rerun.runners.spark_submit import SparkSubmit
from headwater.spark_listener.invocation import script_sha256
from headwater.spark_listener.replay import VARIABLE, ReplayOrder

pytestmark = pytest.mark.spark
PROGRAM = """
import json, pathlib, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(3).write.parquet(sys.argv[1])
conf = spark.sparkContext.getConf()
print(json.dumps({"master": spark.sparkContext.master, "set": conf.get("spark.x"), "argv": sys.argv[1:]}), file=open("seen.json", "w"))
spark.stop()
"""


def test_a_replayed_program_runs_on_the_master_and_writes_to_the_shadow(tmp_path: Path) -> None:
    script, out, shadow = tmp_path / "program.py", tmp_path / "data" / "out", tmp_path / "shadow"
    script.write_text(PROGRAM)
    out.parent.mkdir()
    order = tmp_path / "order.json"
    ReplayOrder(replay="x", shadow=str(shadow), exclude={}, script_sha256=str(script_sha256(str(script)))).save(order)
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    launch = Launch(
        id="d" * 32, folder=tmp_path / "step-1", log=tmp_path / "step-1.log", namespace="default", job="report", script=str(script),
        script_sha256="", arguments=[str(out), "--master", "$(id)"], options=["--mode", "off"], working_directory=str(tmp_path),
        environment={**environment, VARIABLE: str(order), "HEADWATER_HOME": str(tmp_path / "home")},
    )  # fmt: skip
    runner = SparkSubmit(master="local[2]", conf={"spark.x": "a b; $(id)", "spark.ui.enabled": "false"})
    code = runner.run(launch, stop=lambda: None)
    assert code == 0, launch.log.read_text()
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen == {"master": "local[2]", "set": "a b; $(id)", "argv": [str(out), "--master", "$(id)"]}
    assert not out.exists()
    assert list(shadow.rglob("*.parquet"))
