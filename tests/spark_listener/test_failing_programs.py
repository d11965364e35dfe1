"""Spark programs that fail, exit or are killed: they end as under `python`, and what Headwater had acknowledged is kept."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

# The first write is done before anything goes wrong.
_START = """
import os, signal, sys, threading, time
from pyspark.sql import SparkSession, functions as f

def main():
    spark = SparkSession.builder.getOrCreate()
    spark.range(20).withColumn("k", f.expr("concat('k', id % 3)")).write.parquet("first")
    print("first", flush=True)
"""
_END = """
if __name__ == "__main__":
    main()
"""
_WAITS = "\nwhile True:\n    time.sleep(1)"
PROGRAMS = {
    "raises": "raise ValueError('no')",
    "exits": "sys.exit(3)",
    "exits with a message": "sys.exit('not today')",
    "ends at once": "os._exit(5)",
    "is terminated": "os.kill(os.getpid(), signal.SIGTERM)" + _WAITS,
    "is killed": "os.kill(os.getpid(), signal.SIGKILL)" + _WAITS,
    "is interrupted": "os.kill(os.getpid(), signal.SIGINT)" + _WAITS,
    "fails in a task": """
        fails = f.udf(lambda value: 1 // (value - 7), "long")
        spark.read.parquet("first").select(fails("id")).write.parquet("second")
    """,
    "lacks memory in a task": """
        def lacks(value):
            raise MemoryError
        spark.read.parquet("first").select(f.udf(lacks, "long")("id")).write.parquet("second")
    """,
    "loses its worker": """
        ends = f.udf(lambda value: os._exit(1), "long")
        spark.read.parquet("first").select(ends("id")).write.parquet("second")
    """,
    "goes on after a failure": """
        try:
            spark.read.parquet("first").selectExpr("raise_error('no')").write.parquet("second")
        except Exception as error:
            print(type(error).__name__)
        spark.read.parquet("first").groupBy("k").count().write.parquet("third")
        print(spark.read.parquet("third").count())
    """,
    "stops Spark in the middle": """
        spark.stop()
        try:
            spark.range(3).write.parquet("second")
        except Exception as error:
            print(type(error).__name__)
        print(SparkSession.builder.getOrCreate().read.parquet("first").count())
    """,
    "fails in a thread": """
        thread = threading.Thread(target=lambda: spark.read.parquet("nowhere"))
        thread.start()
        thread.join()
        print(spark.read.parquet("first").count())
    """,
    "fails in a batch": """
        def fails(batch, number):
            batch.write.parquet("second")
            raise KeyError(number)
        stream = spark.readStream.schema("id long, k string").parquet("first").writeStream.foreachBatch(fails)
        stream.option("checkpointLocation", "checkpoint").trigger(availableNow=True).start().awaitTermination()
    """,
    "fails at exit": """
        import atexit
        atexit.register(lambda: print("bye"))
        atexit.register(lambda: 1 // 0)
        spark.stop()
    """,
}
_TELLING = ("is killed", "goes on after a failure")


def _program(folder: Path, body: str) -> Path:
    return script(folder, "program.py", f"{_START}{indent(dedent(body), '    ')}\n{_END}")


def _ending(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    """Exit code, output, and the last line about an error if there is one that ended the program."""
    lines = [line for line in done.stderr.splitlines() if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    return done.returncode, done.stdout, lines[-1][:60] if lines and done.returncode else ""


def _runs_as_without(folder: Path, root: Path, body: str) -> subprocess.CompletedProcess[str]:
    ends = []
    for name, arguments in {"plain": [], "captured": ["-m", "headwater", "run", "--home", str(folder / "home")]}.items():
        (folder / name).mkdir()
        ends.append(run([*arguments, str(_program(folder / name, body))], folder / name, environment(root)))
    assert _ending(ends[1]) == _ending(ends[0]), ends[1].stderr
    assert "first\n" in ends[1].stdout
    return ends[1]


_CUT_OFF = {"is killed", "is terminated", "ends at once"}  # no part of the process runs any more: the rest is not reported


def _check_kept(folder: Path, *, complete: bool) -> None:
    """Each event of the home is whole. Where the program ended by itself, that of the first write is among them."""
    events = logged(folder / "home")
    written = [output["name"] for event in events for output in event["outputs"] if event["eventType"] == "COMPLETE"]
    assert any(name.endswith("/first") for name in written) or not complete, events
    assert events


@pytest.mark.parametrize("name", _TELLING)
def test_a_program_ends_as_without_headwater(folder: Path, root: Path, name: str) -> None:
    _runs_as_without(folder, root, PROGRAMS[name])
    _check_kept(folder, complete=name not in _CUT_OFF)


@pytest.mark.torture
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in _TELLING])
def test_every_other_program_ends_as_without_headwater(folder: Path, root: Path, name: str) -> None:
    _runs_as_without(folder, root, PROGRAMS[name])
    _check_kept(folder, complete=name not in _CUT_OFF)


@pytest.mark.torture
def test_a_service_that_is_not_there_changes_nothing(folder: Path, root: Path) -> None:
    env = environment(root, HEADWATER_URL="http://127.0.0.1:9", HEADWATER_EXIT_WAIT="1")
    done = run(["-m", "headwater", "run", "--home", str(folder / "home"), str(_program(folder, "spark.stop()"))], folder, env)
    assert (done.returncode, done.stdout) == (0, "first\n"), done.stderr
    assert "The rest waits in" in done.stderr
    _check_kept(folder, complete=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory that a program can fill."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("only root may mount a file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


_FILLS = """
with open(os.environ["DISK"] + "/filler", "wb", buffering=0) as file:
    for size in (1 << 16, 1):
        try:
            while file.write(bytes(size)):
                pass
        except OSError:
            continue
for number in range(14):
    spark.read.parquet("first").groupBy("k").count().write.parquet(f"out{number}")
print("done")
"""


@pytest.mark.slow
def test_a_full_home_costs_lineage_alone_and_the_summary_says_so_once(folder: Path, small_disk: Path, root: Path) -> None:
    home = small_disk / "home"
    done = run(
        ["-m", "headwater", "run", "--home", str(home), str(_program(folder, _FILLS))], folder, environment(root, DISK=str(small_disk))
    )
    assert (done.returncode, done.stdout) == (0, "first\ndone\n"), done.stderr
    assert len(list(folder.glob("out*"))) == 14
    summary = [line for line in done.stderr.splitlines() if line.startswith("headwater: ")]
    assert any("turned off during the run" in line for line in summary), done.stderr
    assert not any(line.startswith("headwater: kept in") for line in summary), done.stderr
    (small_disk / "filler").unlink()
    assert logged(home)
