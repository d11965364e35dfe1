"""Real OpenLineage events of Airflow: a scheduled run of two tasks. One of them submits a Spark program.

    python -m tests.producers.airflow     # fetches Airflow into .tools, runs it, and writes events/airflow.jsonl, airflow-spark.json

The tests read these files, because Airflow is far too large for them. Airflow itself runs here: its API server, scheduler and DAG
processor, over a real PostgreSQL whose table a task copies. A script replaces `spark-submit` and notes Airflow's arguments, among
them the parent run of the Spark program.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

from tests.databases import PASSWORD, USER, postgres
from tests.ports import free_port
from tests.producers.keeping import EVENTS, keep
from tests.readers import environment

AIRFLOW, OPENLINEAGE = "3.3.2", "2.20.3"
PACKAGES = (
    "apache-airflow-providers-postgres",
    "apache-airflow-providers-apache-spark",
    f"apache-airflow-providers-openlineage=={OPENLINEAGE}",
    f"apache-airflow=={AIRFLOW}",
)
_PATIENCE = 300.0
_DAG = """
from datetime import datetime

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator
from airflow.sdk import DAG

with DAG("nightly", schedule=None, start_date=datetime(2026, 1, 1), description="cleans orders, and sums them up", tags=["shop"]):
    clean = SQLExecuteQueryOperator(
        task_id="clean",
        conn_id="shop",
        sql="INSERT INTO clean (customer, amount) SELECT customer, amount FROM orders WHERE amount > 0",
    )
    report = SparkSubmitOperator(
        task_id="report", application="/jobs/report.py", conn_id="spark", openlineage_inject_parent_job_info=True
    )
    clean >> report
"""
_SUBMIT = """#!/bin/sh
printf '%s\\n' "$@" >>"$NOTED"
"""


def main() -> None:
    """Run the DAG once, and keep its events."""
    python = environment("airflow", PACKAGES)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headwater-airflow-")))
        shop = stack.enter_context(postgres())
        shop.run(
            "CREATE TABLE orders (id integer, customer text, amount integer)",
            "CREATE TABLE clean (customer text, amount integer)",
            "INSERT INTO orders VALUES (1, 'ann', 3), (2, 'bob', 4), (3, 'cid', 0)",
        )
        settings = _settings(folder, python.parent, shop.port)
        (folder / "dags").mkdir()
        (folder / "dags/nightly.py").write_text(_DAG)
        (folder / "bin").mkdir()
        (folder / "bin/spark-submit").write_text(_SUBMIT)
        (folder / "bin/spark-submit").chmod(0o755)

        def airflow(*arguments: str) -> None:
            subprocess.run([python.parent / "airflow", *arguments], env=settings, cwd=folder, check=True, timeout=_PATIENCE)

        airflow("db", "migrate")
        airflow("dags", "reserialize")
        for service in (["api-server", "--workers", "1"], ["scheduler", "--skip-serve-logs"], ["dag-processor"]):
            stack.enter_context(_running([str(python.parent / "airflow"), *service], settings, folder))
        airflow("dags", "unpause", "nightly")
        airflow("dags", "trigger", "nightly", "--run-id", "manual", "--logical-date", "2026-01-31T00:00:00+00:00")
        events = _waited_for(folder / "events.jsonl")
        noted = (folder / "noted").read_text().splitlines()
    keep("airflow.jsonl", events, port=shop.port, usual=5432)
    conf = dict(after.split("=", 1) for before, after in pairwise(noted) if before == "--conf")
    (EVENTS / "airflow-spark.json").write_text(json.dumps(conf, indent=1) + "\n")


def _settings(folder: Path, programs: Path, database: int) -> dict[str, str]:
    port = free_port()
    stated: Mapping[str, object] = {
        "HOME": folder, "AIRFLOW_HOME": folder, "NOTED": folder / "noted", "PATH": f"{folder / 'bin'}:{programs}:{os.environ['PATH']}",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__CORE__DAGS_FOLDER": folder / "dags", "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": 1, "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__API__HOST": "127.0.0.1", "AIRFLOW__API__PORT": port, "AIRFLOW__API_AUTH__JWT_SECRET": "of-this-run-alone" * 4,
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False", "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "airflow", "AIRFLOW__OPENLINEAGE__SPARK_INJECT_PARENT_JOB_INFO": "True",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps({"type": "file", "log_file_path": str(folder / "events.jsonl"), "append": True}),
        "AIRFLOW_CONN_SHOP": f"postgres://{USER}:{PASSWORD}@127.0.0.1:{database}/shop",
        "AIRFLOW_CONN_SPARK": json.dumps({"conn_type": "spark", "host": "local[1]"}),
    }  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "OPENLINEAGE"))}
    return kept | {name: str(value) for name, value in stated.items()}


@contextmanager
def _running(command: Sequence[str], settings: Mapping[str, str], folder: Path) -> Iterator[None]:
    with (folder / f"{command[1]}.log").open("wb") as log:
        process = subprocess.Popen(command, env=settings, cwd=folder, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _waited_for(file: Path) -> list[dict[str, object]]:
    """The events once the DAG's run has ended."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        events = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        if any(event["job"]["name"] == "nightly" and event["eventType"] in ("COMPLETE", "FAIL") for event in events):
            return events
        time.sleep(1)
    logs = "\n".join(f"== {log.name}\n{log.read_text()[-3000:]}" for log in sorted(file.parent.glob("*.log")))
    raise SystemExit(f"The DAG's run did not end.\n{logs}")


if __name__ == "__main__":
    main()
