"""Actions of RDD programs are runs, with what they read, as it ended, and few of those that are alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwater.spark_listener.scribe.rdd_jobs import MOST_TOLD
from tests.spark_listener.spark import environment, logged, run, script
from tests.spark_listener.warm_spark import WarmSpark

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PROGRAM = """
    import sys
    from operator import add
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("actions").getOrCreate()
    sc = spark.sparkContext
    sc.setLogLevel("OFF")
    words = sc.textFile("words.txt").flatMap(str.split)
    counts = words.map(lambda word: (word, 1)).reduceByKey(add)
    print(sorted(counts.collect()), words.count(), words.take(1), words.reduce(max))
    counts.foreach(lambda pair: None)
    rows = spark.read.text("more words.txt").rdd.map(lambda row: row[0])
    print(rows.union(words).collect())
    for _ in range(13):
        words.filter(lambda word: word > "a").first()
    print(sc.parallelize([1, 2]).sum())
    try:
        words.map(lambda word: 1 // 0).collect()
    except Exception as error:
        print(type(error).__name__)
    try:
        sc.parallelize([1]).map(lambda one: 1 // 0).count()
    except Exception as error:
        print(type(error).__name__)
    spark.read.csv("words.txt", inferSchema=True)
    spark.stop()
"""


@pytest.mark.parametrize("mode", [pytest.param("coarse", marks=pytest.mark.torture), "active"])
def test_actions_are_runs_with_what_they_read(mode: str, tmp_path: Path, warm_spark: WarmSpark) -> None:
    script(tmp_path, "actions.py", PROGRAM)
    (tmp_path / "words.txt").write_text("a b a\nc\n")
    (tmp_path / "more words.txt").write_text("d\n")
    home = tmp_path / "home"
    plain = warm_spark.run(["actions.py"], tmp_path)
    ours = warm_spark.run(["-m", "headwater", "run", "--home", str(home), "--mode", mode, "actions.py"], tmp_path)
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout)
    events = logged(home)
    ends = [event for event in events if event["eventType"] in ("COMPLETE", "FAIL")]
    told = [(event["eventType"], event["job"]["name"], [Path(item["name"]).name for item in event["inputs"]]) for event in ends]
    words = ["words.txt"]
    assert told[:6] == [
        ("COMPLETE", "actions.collect", words), ("COMPLETE", "actions.count", words), ("COMPLETE", "actions.run_job", words),
        ("COMPLETE", "actions.reduce", words), ("COMPLETE", "actions.foreach", words),
        ("COMPLETE", "actions.collect", ["more words.txt", "words.txt"]),
    ]  # fmt: skip
    assert told[6:-3] == [("COMPLETE", "actions.run_job", words)] * (MOST_TOLD - 1)
    assert told[-3:] == [("FAIL", "actions.collect", words), ("FAIL", "actions.count", []), ("COMPLETE", "actions", [])]
    assert "ZeroDivisionError" in ends[-3]["run"]["facets"]["errorMessage"]["message"]
    assert ends[0]["run"]["facets"]["headwater_stages"]["stages"][-1]["call"].startswith("collect at ")
    left_out = ends[-1]["run"]["facets"]["headwater_capture"]["leftOut"]
    assert left_out["repeated"] == 14 - MOST_TOLD
    assert left_out["local"] == 1
    assert left_out["schema"] >= 2
    assert "RDD jobs read 2 datasets" in ours.stderr, ours.stderr
    assert f"{14 - MOST_TOLD} RDD jobs like those that were told" in ours.stderr
    started = [event["run"]["runId"] for event in events if event["eventType"] == "START"]
    assert sorted(started) == sorted(event["run"]["runId"] for event in ends)


def _examples() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent / "examples" / "src" / "main" / "python"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "arguments", "reads"),
    [
        ("wordcount.py", ["words.txt"], "words.txt"),
        pytest.param("pagerank.py", ["links.txt", "2"], "links.txt", marks=pytest.mark.torture),
        pytest.param("kmeans.py", ["points.txt", "2", "0.5"], "points.txt", marks=pytest.mark.torture),
        pytest.param("sort.py", ["numbers.txt"], "numbers.txt", marks=pytest.mark.torture),
        pytest.param("als.py", ["10", "10", "3", "2", "2"], None, marks=pytest.mark.torture),
        pytest.param("pi.py", ["2"], None, marks=pytest.mark.torture),
    ],
)
def test_examples_of_spark_run_as_they_are_and_none_is_silent(
    example: str, arguments: list[str], reads: str | None, tmp_path: Path, root: Path
) -> None:
    (tmp_path / "words.txt").write_text("a b a\nc\n")
    (tmp_path / "links.txt").write_text("1 2\n1 3\n2 1\n3 1\n")
    (tmp_path / "points.txt").write_text("0.0 0.0\n0.1 0.1\n9.0 9.0\n9.1 9.1\n")
    (tmp_path / "numbers.txt").write_text("3 1 2\n")
    program, env = str(_examples() / example), environment(root)
    plain = run([program, *arguments], tmp_path, env)
    ours = run(["-m", "headwater", "run", "--home", "home", program, *arguments], tmp_path, env)
    assert ours.returncode == plain.returncode == 0, ours.stderr
    if example not in ("als.py", "pi.py", "kmeans.py"):  # these draw numbers
        assert sorted(ours.stdout.splitlines()) == sorted(plain.stdout.splitlines())
    events = logged(tmp_path / "home")
    read = {Path(item["name"]).name for event in events for item in event["inputs"]}
    assert read == ({reads} if reads else set()), json.dumps([event["job"]["name"] for event in events])
    assert "RDD job" in ours.stderr, ours.stderr
