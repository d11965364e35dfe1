"""Programs that ran without record lineage: run again, compared, and traced exactly; or refused, and nothing is changed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.access.keys import KeyRing
from headwater.client import Client
from headwater.errors import HeadwaterError, InvalidQueryError
from headwater.graph.access.scopes import ROLES
from tests.backend.service import ServiceProcess
from tests.spark_listener.spark import environment, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

COUNTS = """
    from operator import add
    from pyspark import SparkContext

    sc = SparkContext(appName="Word Counts")
    words = sc.textFile("words.txt").flatMap(str.split).map(lambda word: (word, 1))
    words.reduceByKey(add).map(lambda pair: f"{pair[0]} {pair[1]}").saveAsTextFile("out/counts")
    sc.stop()
"""
FRAMES = """
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.appName("Sums").getOrCreate()
    raw = spark.read.option("header", "true").schema("id int, k int, v int").csv("raw")
    raw.groupBy("k").agg(F.sum("v").alias("total")).coalesce(1).write.mode("overwrite").parquet("out/sums")
    spark.read.parquet("out/sums").filter("total > 5").write.mode("overwrite").partitionBy("k").parquet("out/large")
"""
OTHERWISE = """
    from uuid import uuid4
    from pyspark import SparkContext

    sc = SparkContext(appName="Otherwise")
    sc.textFile("words.txt", 1).map(lambda line: f"{line} {uuid4()}").saveAsTextFile("out/names")
    sc.stop()
"""
RAW = [(1, 0, 3), (2, 1, 4), (3, 1, 2), (4, 2, 7), (5, 0, 1)]


class Runs:
    """A folder with a home, and what commands say there."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self._env = environment(root)
        self.said = ""

    def headwater(self, *arguments: str, code: int = 0) -> str:
        done = run(["-m", "headwater", *arguments, "--home", str(self.home)], self.folder, self._env)
        self.said = done.stderr
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    def program(self, mode: str, text: str) -> None:
        path = script(self.folder, "job.py", text)
        done = run(["-m", "headwater", "run", "--home", str(self.home), "--mode", mode, path.name], self.folder, self._env)
        assert done.returncode == 0, done.stderr

    def trace(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.headwater("trace", *arguments, "--format", "json"))
        return found

    def files(self) -> dict[str, int]:
        """All files of the program's, with their times."""
        below = [path for path in self.folder.rglob("*") if path.is_file() and self.home not in path.parents]
        return {str(path): path.stat().st_mtime_ns for path in below}

    def captures(self) -> int:
        with sqlite3.connect(self.home / "ingest.db") as log:
            (count,) = log.execute("SELECT count(*) FROM entry WHERE kind = 'capture'").fetchone()
        return int(count)


@pytest.fixture
def runs(tmp_path: Path, root: Path) -> Runs:
    (tmp_path / "words.txt").write_text("a b a\nc a\nb\n")
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "t.csv").write_text("\n".join(["id,k,v", *(f"{i},{k},{v}" for i, k, v in RAW), ""]))
    return Runs(tmp_path, root)


def rows(found: dict[str, Any]) -> set[int]:
    return {record["row"] for record in found["records"]}


def test_a_word_count_that_ran_in_mode_lazy_is_traced_exactly_both_ways_after_a_second_run(runs: Runs) -> None:
    runs.program("lazy", COUNTS)
    before = runs.trace("out/counts", "--where", "value LIKE 'a %'")
    assert not before["exact"]
    assert f"headwater recapture {runs.folder}/out/counts" in runs.said
    files = runs.files()
    kept = json.loads(runs.headwater("recapture", "out/counts", "--format", "json"))
    assert (kept["outputs"], kept["left"]) == ([f"{runs.folder}/out/counts"], {})
    assert runs.files() == files
    assert list((runs.home / "replays").iterdir()) == []
    found = runs.trace("out/counts", "--where", "value LIKE 'a %'")
    assert (found["exact"], rows(found), found["incomplete"]) == (True, {0, 1}, [])
    (hop,) = found["path"]
    assert (hop["job"], hop["grain"]) == (before["path"][0]["job"], "record")
    assert hop["recaptured"]
    forward = runs.trace("words.txt", "--row", f"{runs.folder}/words.txt:0", "--forward")
    assert forward["exact"]
    assert {record["values"]["value"] for record in forward["records"]} == {"a 3", "b 2"}
    assert "found by running the program again" in runs.headwater("trace", "out/counts", "--where", "value LIKE 'a %'")
    runs.headwater("recapture", "out/counts", code=2)
    assert "is kept already" in runs.said
    runs.headwater("store", "check")


@pytest.mark.slow
def test_frames_of_mode_coarse_are_traced_exactly_through_what_the_program_wrote_and_read(runs: Runs, root: Path) -> None:
    """By way of a service, as the page and other programs ask it."""
    runs.program("coarse", FRAMES)
    runs.headwater("lineage", "out/large")  # takes in what the program left in the spool
    large, sums = (f"dataset:file:{runs.folder}/out/{name}" for name in ("large", "sums"))
    with ServiceProcess(runs.home, **environment(root)) as service:
        service.settled()
        client = Client(service.url, service.home.key())
        before = client.trace(large, where="total > 5")
        assert (before.exact, before.recapturable) == (False, [large, sums])
        with closing(KeyRing(service.home.named_keys)) as ring:  # a caller who may not run programs sees none
            analyst = Client(service.url, ring.create("ann", ROLES["analyst"], tenant="default")[1])
        assert analyst.trace(large, where="total > 5").recapturable == []
        with pytest.raises(HeadwaterError, match="not replay"):
            analyst.recapture(large)
        states: list[str] = []
        with client.follow_recaptures() as followed:
            kept = client.recapture(large, progress=lambda now: states.append(now.state))
            assert next(followed).dataset == large
        assert (kept.state, sorted(kept.outputs), kept.left, kept.error) == ("COMPLETE", [large, sums], {}, None)
        assert states[-2:] == ["RUNNING", "COMPLETE"]
        traced = client.trace(large, where="k = 1")
        assert (traced.exact, traced.recapturable) == (True, [])
        assert all(hop.recaptured for hop in traced.path)
        assert "found by running its program again" in traced._repr_html_()
        with pytest.raises(InvalidQueryError, match="is kept already"):
            client.recapture(f"{runs.folder}/out/large")
    assert list((runs.home / "replays").iterdir()) == []
    found = runs.trace("out/large", "--where", "k = 1")
    assert (found["exact"], found["incomplete"]) == (True, [])
    assert {record["values"]["id"] for record in found["records"]} == {2, 3}
    assert [hop["output"] for hop in found["path"]] == [f"{runs.folder}/out/{name}" for name in ("large", "sums")]
    forward = runs.trace("raw", "--where", "id = 4", "--forward", "--to", "out/large")
    assert [record["values"]["total"] for record in forward["records"]] == [7]
    assert forward["exact"]


@pytest.mark.slow
def test_a_program_that_writes_something_else_each_time_is_refused_and_changes_nothing(runs: Runs) -> None:
    runs.program("lazy", OTHERWISE)
    runs.headwater("lineage", "out/names")
    files, captures = runs.files(), runs.captures()
    runs.headwater("recapture", "out/names", code=1)
    assert f"{runs.folder}/out/names/part-00000 holds other bytes" in runs.said
    assert "The program is not deterministic" in runs.said
    assert (runs.files(), runs.captures()) == (files, captures)
    assert list((runs.home / "replays").iterdir()) == []
    assert not runs.trace("out/names", "--where", "true")["exact"]
