"""RDD programs: their records are captured, or it is stated why not, and they are left as they are."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headwater.spark_listener.registry import Registry
from tests.spark_listener.spark import brief, environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]

COUNTS = """
    import sys
    from operator import add
    from pyspark import SparkContext

    sc = SparkContext(appName="Word Counts")
    words = sc.textFile("words.txt").flatMap(str.split)
    extra = sc.textFile("more.txt")
    counts = words.union(extra).map(lambda word: (word, 1)).reduceByKey(add)
    counts.map(str).saveAsTextFile("counts")
    print(sorted(counts.collect()), flush=True)
    sc.stop()
    sc.stop()

    again = SparkContext(appName="Second")
    print(again.parallelize([1, 2]).map(lambda x: x + 1).collect())
    try:
        again.textFile("counts").saveAsTextFile("counts")
    except Exception as error:
        print(type(error).__name__)
    again.stop()
    sys.exit(3)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "words.txt").write_text("a b a\nc\n")
    (tmp_path / "more.txt").write_text("d\n")
    return tmp_path


def test_a_program_with_two_contexts_runs_as_under_python_and_its_datasets_are_known(folder: Path, root: Path) -> None:
    script(folder, "counts.py", COUNTS)
    home, env = folder / "home", environment(root, HEADWATER_RDD_RECORDS="true")
    ours = run(["-m", "headwater", "run", "--home", str(home), "--namespace", "team", "counts.py"], folder, env)
    assert ours.returncode == 3, ours.stderr
    assert ours.stdout == "[('a', 2), ('b', 1), ('c', 1), ('d', 1)]\n[2, 3]\nPy4JJavaError\n"
    events = logged(home)
    assert brief(events) == [
        ("START", "word_counts"),
        ("START", "word_counts.save_as_text_file.counts"),
        ("COMPLETE", "word_counts.save_as_text_file.counts"),
        ("START", "word_counts.collect"),
        ("COMPLETE", "word_counts.collect"),
        ("COMPLETE", "word_counts"),
        ("START", "second"),
        ("START", "second.save_as_text_file.counts"),
        ("FAIL", "second.save_as_text_file.counts"),
        ("FAIL", "second"),
    ]
    complete = events[2]
    assert [dataset["name"] for dataset in complete["inputs"]] == [f"{folder}/words.txt", f"{folder}/more.txt"]
    assert [dataset["name"] for dataset in complete["outputs"]] == [f"{folder}/counts"]
    captured = complete["run"]["facets"]["headwater_capture"]
    assert (captured["status"], captured["problems"]) == ("complete", [])
    assert captured["arrived"] == captured["expected"] > 0
    first, last = complete["run"]["facets"]["headwater_stages"]["stages"]
    assert (first["parents"], last["parents"]) == ([], [first["stage"]])
    assert first["call"] == f"reduceByKey at {folder}/counts.py:8"
    assert [len(stage["shown"]) for stage in (first, last)] == [first["tasks"], last["tasks"]]
    assert [task["state"] for task in last["shown"]] == ["COMPLETE"] * last["tasks"]
    assert "headwater_stages" not in events[8]["run"]["facets"], "Hadoop refused before a job began"
    assert complete["run"]["facets"]["parent"]["run"]["runId"] == events[0]["run"]["runId"]
    assert events[0]["run"]["facets"]["headwater_invocation"]["script"] == f"{folder}/counts.py"
    assert "exit code 3" in events[-1]["run"]["facets"]["errorMessage"]["message"]
    registry = Registry(home)
    assert registry.path.stat().st_mode & 0o077 == 0
    program = registry.program(events[0]["run"]["runId"], "team", "word_counts")
    assert program is not None
    assert (program.script, list(program.argv), program.working_directory) == (f"{folder}/counts.py", ["counts.py"], str(folder))
    assert program.script_sha256 == hashlib.sha256((folder / "counts.py").read_bytes()).hexdigest()
    assert [registry.is_root([f"{folder}/{name}"]) for name in ("words.txt", "more.txt", "counts", "", "counts.py")] == [True] * 3 + [
        False
    ] * 2
    assert f"headwater trace {folder}/counts" in ours.stderr
    assert list((home / "spool").iterdir()) == []


ENDS = {
    "fails_in_a_task": """
        from pyspark import SparkContext
        sc = SparkContext(appName="fails")
        sc.setLogLevel("OFF")
        try:
            sc.parallelize([1]).map(lambda x: 1 // 0).collect()
        except Exception as error:
            raise SystemExit(f"{type(error).__name__}: {'ZeroDivisionError' in str(error)}")
    """,
    "fails_and_never_stops": """
        from pyspark import SparkContext
        def broken():
            raise LookupError("the program's own")
        sc = SparkContext(appName="fails")
        sc.setLogLevel("OFF")
        broken()
    """,
    "forks": """
        import os, sys
        from pyspark import SparkContext
        sc = SparkContext(appName="forks")
        sc.setLogLevel("OFF")
        child = os.fork()
        if child == 0:
            print("child", flush=True)
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(sc.parallelize([1, 2]).sum())
        sc.stop()
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDS)
def test_a_spark_program_ends_as_under_python(name: str, folder: Path, root: Path) -> None:
    script(folder, f"{name}.py", ENDS[name])
    env = environment(root, HEADWATER_RDD_RECORDS="true")
    plain = run([f"{name}.py"], folder, env)
    ours = run(["-m", "headwater", "run", "--quiet", "--home", str(folder / "home"), f"{name}.py"], folder, env)
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout)
    assert of_the_program(ours.stderr) == of_the_program(plain.stderr)
    events = brief(logged(folder / "home"))
    assert events[0][0] == "START"
    assert events[-1][0] == ("FAIL" if plain.returncode else "COMPLETE")
    assert len(events) == (4 if name == "fails_in_a_task" else 2)


REUSES = """
    import sys
    from pathlib import Path
    from pyspark import SparkContext

    sc = SparkContext("local[2]", appName="reuses")
    sc.setLogLevel("OFF")
    pairs = sc.textFile("in.txt", 3).map(lambda line: (line.split()[0], int(line.split()[1])))

    def one_list(records):
        record = [None, None]
        for record[0], record[1] in records:
            yield record

    def one_value(records):
        value = [None]
        for key, value[0] in records:
            yield key, value

    for name, made in {
        "combined": pairs.mapPartitions(one_value).combineByKey(lambda v: v[0], lambda a, v: a + v[0], lambda a, b: a + b),
        "aggregated": pairs.mapPartitions(one_list).aggregateByKey(0, lambda a, v: a + v, lambda a, b: a + b),
        "grouped": pairs.mapPartitions(one_value).groupByKey().mapValues(list),
        "joined": pairs.mapPartitions(one_list).join(pairs),
        "parted": pairs.mapPartitions(one_list).partitionBy(3),
        "dealt": pairs.mapPartitions(one_list).repartition(3),
        "sorted": pairs.mapPartitions(one_list).sortByKey(),
        "sorted in one": pairs.mapPartitions(one_list).sortByKey(numPartitions=1),
        "sorted in one by": pairs.mapPartitions(one_list).sortByKey(False, 1, lambda key: key[::-1]),
        "united": pairs.mapPartitions(one_list).union(pairs),
        "crossed": pairs.mapPartitions(one_list).cartesian(sc.parallelize([1, 2])),
    }.items():
        made.saveAsTextFile(f"{sys.argv[1]}/{name}")
        for part in sorted(Path(sys.argv[1], name).glob("part-*")):
            print(name, part.name, part.read_text())
"""


@pytest.mark.slow
def test_a_program_that_uses_its_records_again_writes_what_it_writes_under_python(folder: Path, root: Path) -> None:
    script(folder, "reuses.py", REUSES)
    (folder / "in.txt").write_text("".join(f"k{n * 7 % 10} {n}\n" for n in range(600)))
    env = environment(root, HEADWATER_RDD_RECORDS="true")
    plain = run(["reuses.py", "plain"], folder, env)
    ours = run(["-m", "headwater", "run", "--quiet", "--home", str(folder / "home"), "reuses.py", "ours"], folder, env)
    assert plain.returncode == 0, plain.stderr
    assert (ours.returncode, ours.stdout) == (0, plain.stdout), ours.stderr


def of_the_program(errors: str) -> list[str]:
    """The program's own output: from its traceback or message on; Spark's own start-up lines carry times."""
    lines = errors.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith(("Traceback", "Py4J"))), len(lines))
    return lines[first:]


WAITS = """
    import time
    from pyspark import SparkContext
    sc = SparkContext(appName="waits")
    sc.setLogLevel("OFF")
    sc.textFile("words.txt").saveAsTextFile("copy")
    print("ready", flush=True)
    time.sleep(600)
"""


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.torture), signal.SIGKILL])
def test_what_an_ended_program_left_arrives_with_the_next_run(number: signal.Signals, folder: Path, root: Path) -> None:
    script(folder, "waits.py", WAITS)
    home, env = folder / "home", environment(root, HEADWATER_RDD_RECORDS="true")
    command = [sys.executable, "-m", "headwater", "run", "--quiet", "--home", str(home), "waits.py"]
    with subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        wait_until_spooled(home, "waits.save_as_text_file.copy")
        process.send_signal(number)
        assert process.wait(120) == -number
    script(folder, "next.py", "from pyspark import SparkContext\nSparkContext(appName='next').stop()\n")
    assert run(["-m", "headwater", "run", "--quiet", "--home", str(home), "next.py"], folder, env).returncode == 0
    events = logged(home)
    waits = [kind for kind, job in brief(events) if job == "waits"]
    assert waits == ["START", "ABORT"]
    assert ("COMPLETE", "waits.save_as_text_file.copy") in brief(events)
    assert list((home / "spool").iterdir()) == []


def wait_until_spooled(home: Path, job: str) -> None:
    """The listener's thread spools soon after the fact; what it had not spooled when the process was killed is gone with it."""
    until = time.monotonic() + 60
    while not any(job in line and '"COMPLETE"' in line for log in (home / "spool").glob("*/log") for line in log.read_text().splitlines()):
        assert time.monotonic() < until
        time.sleep(0.05)
