"""Faults of tasks and of ours: no association twice, none missing without being said, no query harmed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, Self

import pytest

from tests.jvm import submit
from tests.spark_listener.capture.conftest import read_row
from tests.spark_listener.capture.lineage import Lineage
from tests.standalone import standalone

ROWS = 100_000
_DRIVER = dedent("""
    import json, sys, time, traceback
    from pathlib import Path
    from pyspark.sql import SparkSession, Window, functions as f
    from headwater.spark_listener.capture import Bridge

    ROWS = 100_000  # so that taps flush before a task ends
    first = SparkSession.builder.getOrCreate()
    executors = first.sparkContext._jsc.sc().statusTracker().getExecutorInfos
    for line in sys.stdin:
        folder, program, conf = json.loads(line)
        base, spark = Path(folder), first.newSession()
        for name, value in conf.items():
            spark.conf.set(name, value)
        try:
            rows = spark.range(0, ROWS, 1, 4).selectExpr("id", "id % 7 k", "id % 11 v")
            rows.write.parquet(str(base / "in"))
            bridge = Bridge.install(spark, mode="active", segments=str(base / "segments"))
            source = spark.read.parquet(str(base / "in"))
            while not spark.sparkContext.master.startswith("local[") and len(executors()) < 3:  # two and the driver: each is to have a part
                time.sleep(0.05)
            exec(program)
            assert bridge.flush(120_000)
            (base / "events.json").write_text(json.dumps(bridge.drain(5000)))
            bridge.close()
            print("done", flush=True)
        except Exception:
            traceback.print_exc()
            break  # whatever it left is no place for the next
    first.stop()
""")


class Driver:
    """A Spark in a process of its own, which runs one program after the other, each in a new session with capture installed anew."""

    def __init__(self, folder: Path, root: Path, master: str, **conf: str) -> None:
        script = folder / "driver.py"
        script.write_text(_DRIVER)
        options = {"spark.ui.enabled": "false"} | _options(conf)
        arguments = submit(" ".join([f"--master {master}", *(f"--conf {name}={value}" for name, value in options.items())]))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "PYSPARK_"))}
        env = {**kept, "PYTHONPATH": str(root), "PYSPARK_PYTHON": sys.executable, "PYSPARK_SUBMIT_ARGS": arguments}
        self._log = folder / "driver.log"
        with self._log.open("w") as log:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._process = subprocess.Popen([sys.executable, str(script)], cwd=folder, env=env, stderr=log, text=True, **pipes)

    def run(self, folder: Path, program: str, **conf: str) -> tuple[dict[str, Any], Lineage]:
        """Run a program; its write's end and lineage. `conf`: options of its session, `__` for a dot."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        options = {"spark.sql.shuffle.partitions": "3"} | _options(conf)
        self._process.stdin.write(json.dumps([str(folder), dedent(program), options]) + "\n")
        self._process.stdin.flush()
        assert any(line == "done\n" for line in self._process.stdout), self._log.read_text()[-3000:]
        events = json.loads((folder / "events.json").read_text())
        (end,) = [event for event in events if event["event"] == "query_end" and event["plan"] and event["plan"]["sink"]]
        assert end["error"] is None
        return end, Lineage(end["capture"], folder / "segments")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:  # closes its input, at whose end it stops
            pass


def _options(conf: dict[str, str]) -> dict[str, str]:
    return {f"spark.{name.replace('__', '.')}": value for name, value in conf.items()}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Iterator[Driver]:
    """Threads of one process. A task may fail three times."""
    with Driver(tmp_path_factory.mktemp("local"), root, "local[2,4]") as driver:
        yield driver


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Iterator[Driver]:
    """Two executors in processes of their own; one that is killed is replaced."""
    with Driver(tmp_path_factory.mktemp("cluster"), root, "local-cluster[2,1,1024]") as driver:
        yield driver


def behind(lineage: Lineage) -> list[tuple[int, frozenset[tuple[str, int]]]]:
    """The number of records behind each output row, and which."""
    return [(len(written.records), frozenset((record.path, record.row) for record in written.records)) for written in lineage.written()]


@pytest.mark.spark
def test_attempts_that_failed_leave_nothing(local: Driver, tmp_path: Path) -> None:
    # Rows pass the window's tap, then a Python function fails at the partition's last rows; the second attempt goes through.
    end, lineage = local.run(
        tmp_path, """
        def check(value, at):
            from pyspark import TaskContext
            if at >= ROWS - 10 and TaskContext.get().attemptNumber() == 0:
                raise RuntimeError("once")
            return value
        tapped = source.withColumn("n", f.sum("v").over(Window.partitionBy("k").orderBy("id").rowsBetween(-1, 0)))
        late = tapped.withColumn("w", f.udf(check, "long")("n", "id"))
        late.groupBy("k").agg(f.sum("w").alias("s")).write.parquet(str(base / "out"))
        """,
    )  # fmt: skip
    assert end["capture"]["status"] == "complete"
    assert sorted(size for size, _ in behind(lineage)) == sorted(len(range(k, ROWS, 7)) for k in range(7))
    group = next(operator["id"] for operator in lineage.capture["operators"] if operator["op"] == "Aggregate")
    window = next(operator["id"] for operator in lineage.capture["operators"] if operator["op"] == "Window")
    assert (len(lineage.rows(group)), len(lineage.rows(window))) == (ROWS, ROWS)
    folder = tmp_path / "segments" / end["capture"]["capture"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(segment["name"] for segment in end["capture"]["segments"])


@pytest.mark.cluster
def test_executors_of_their_own(cluster: Driver, tmp_path: Path) -> None:
    end, lineage = cluster.run(
        tmp_path, """
        per_k = source.groupBy("k").agg(f.max("v").alias("most"))
        source.join(per_k, "k").filter("v = most and id < 1000").write.partitionBy("k").parquet(str(base / "out"))
        """,
    )  # fmt: skip
    assert end["capture"]["status"] == "complete"
    assert {size for size, _ in behind(lineage)} == {len(range(k, ROWS, 7)) for k in range(7)}
    assert len(behind(lineage)) == len([i for i in range(1000) if i % 11 == 10])


@pytest.mark.spark
def test_segments_that_cannot_be_written_are_said_to_be_missing(local: Driver, tmp_path: Path) -> None:
    end, _ = local.run(
        tmp_path, """
        (base / "segments").write_text("a file where the folder should be")
        source.groupBy("k").count().write.parquet(str(base / "out"))
        assert spark.read.parquet(str(base / "out")).count() == 7
        """,
    )  # fmt: skip
    assert end["capture"]["status"] == "partial"
    assert {problem["kind"] for problem in end["capture"]["problems"]} == {"missing"}
    assert end["capture"]["segments"] == []


@pytest.mark.cluster
def test_an_executor_that_is_lost_with_its_shuffle_files(cluster: Driver, tmp_path: Path) -> None:
    # A task of the second stage ends its executor: what the first stage left there is gone, and those tasks run again.
    end, lineage = cluster.run(
        tmp_path, """
        def die(value):
            import os, signal
            marker = base / "died"
            if not marker.exists():
                marker.touch()
                daemon = os.getppid()
                executor = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
                os.kill(executor, signal.SIGKILL)
            return value
        source.groupBy("k").agg(f.sum("v").alias("s")).withColumn("s", f.udf(die, "long")("s")).write.parquet(str(base / "out"))
        assert (base / "died").exists()
        """, sql__adaptive__coalescePartitions__enabled="false",
    )  # fmt: skip
    assert end["capture"]["status"] == "complete"
    assert sorted(size for size, _ in behind(lineage)) == sorted(len(range(k, ROWS, 7)) for k in range(7))
    group = next(boundary["boundary"] for boundary in end["capture"]["boundaries"] if boundary["kind"] == "group")
    segments = [segment for segment in end["capture"]["segments"] if segment["boundary"] == group]
    assert any(segment["stage_attempt"] > 0 for segment in segments), "no task of the first stage ran again: the test tests nothing"
    assert len({segment["partition"] for segment in segments}) == len(segments)


@pytest.mark.cluster
def test_a_task_that_is_overtaken_by_its_copy(tmp_path: Path, root: Path) -> None:
    # The last task of the first stage waits at its last row until it is killed, as it is when its copy has ended.
    speculation = {"speculation": "true", "speculation__interval": "200ms"}
    speculation |= {"speculation__multiplier": "1.1", "speculation__quantile": "0.5"}
    with standalone(tmp_path) as master, Driver(tmp_path, root, master, **speculation) as driver:
        end, lineage = driver.run(
            tmp_path, """
            def dawdle(value, at):
                import time
                from pyspark import TaskContext
                if at == ROWS - 1:
                    first = TaskContext.get().attemptNumber() == 0
                    (base / ("slow" if first else "copied")).touch()
                    while first:
                        time.sleep(0.05)  # until it is killed
                return value
            late = source.withColumn("v", f.udf(dawdle, "long")("v", "id"))
            late.groupBy("k").agg(f.sum("v").alias("s")).write.parquet(str(base / "out"))
            assert (base / "slow").exists() and (base / "copied").exists()
            """,
        )  # fmt: skip
    assert end["capture"]["status"] == "complete"
    assert sorted(size for size, _ in behind(lineage)) == sorted(len(range(k, ROWS, 7)) for k in range(7))


@pytest.mark.spark
def test_a_skewed_join_that_is_split_while_it_runs(local: Driver, tmp_path: Path) -> None:
    end, lineage = local.run(
        tmp_path, """
        skewed = source.selectExpr("id", "if(id % 50 = 0, k, 100) AS j", "v")
        other = source.selectExpr("if(id < 7, id, 100) AS j", "id AS o").where("id < 8")
        joined = skewed.hint("merge").join(other, "j")
        joined.write.parquet(str(base / "out"))
        """, sql__adaptive__skewJoin__skewedPartitionThresholdInBytes="10KB", sql__adaptive__skewJoin__skewedPartitionFactor="1",
        sql__adaptive__advisoryPartitionSizeInBytes="8KB", sql__autoBroadcastJoinThreshold="-1",
        sql__files__maxPartitionBytes="60KB", sql__files__openCostInBytes="1",
    )  # fmt: skip
    assert end["capture"]["status"] == "complete"
    sizes = Counter(size for size, _ in behind(lineage))
    assert sizes == {2: ROWS - 2, 1: 2}  # two rows meet themselves
    written = [segment for segment in end["capture"]["segments"] if segment["boundary"] == 0]
    assert len(written) > 3, "no partition was split: the test tests nothing"


@pytest.mark.cluster
def test_a_cache_whose_executors_are_lost(cluster: Driver, tmp_path: Path) -> None:
    # The cache of an executor is lost with it: other tasks make those rows again, in an order of their own.
    end, lineage = cluster.run(
        tmp_path, """
        def die(value):
            import os, signal
            daemon = os.getppid()
            executor = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
            if value == 1 and not (base / "died").exists():
                (base / "died").touch()
                os.kill(executor, signal.SIGKILL)
            return value
        kept = source.where("id < 5000").repartition(3).withColumn("double", f.col("id") * 2).cache()
        assert kept.count() == 5000
        assert spark.range(2).select(f.udf(die, "long")("id")).count() == 2
        spark.range(2).select(f.udf(die, "long")("id")).collect()
        kept.select("id", "double").write.parquet(str(base / "out"))
        assert (base / "died").exists()
        """,
    )  # fmt: skip
    assert end["capture"]["status"] == "complete"
    assert all(len(written.records) == 1 for written in lineage.written())
    assert all(read_row(written)["id"] == record.row for written in lineage.written() for record in written.records)  # all of one file
    assert len(lineage.written()) == 5000
    (cache,) = [boundary["boundary"] for boundary in end["capture"]["boundaries"] if boundary["kind"] == "rows"]
    made = [segment for segment in end["capture"]["segments"] if segment["boundary"] == cache]
    assert sum(segment["rows"] for segment in made) > 5000, "no part of the cache was made again: the test tests nothing"
