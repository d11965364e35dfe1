"""Whole pipelines on an object store and on HDFS: data and segments there, no disk that executors and driver share, and traces."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import obstore
import pytest
from hdfs_native import Client
from obstore.store import S3Store

from tests.jvm import submit
from tests.lake import KEY, OVER_HTTP, SECRET, S3Server, s3
from tests.lake_home import Home

pytestmark = [pytest.mark.lake, pytest.mark.xdist_group("s3a")]

DATA = "data #1 50%25&+=é"  # a folder on the way to everything: nothing in a path is an escape
ROWS = [(n, n % 7, n * 3 % 101) for n in range(400)]
PROGRAM = """
import sys
import time
from pyspark.sql import SparkSession, functions as F

base, spark = sys.argv[1], SparkSession.builder.getOrCreate()
raw = spark.read.option("header", "true").schema("id int, k int, v int").csv(f"{base}/raw")
raw.filter("v > 20").repartition(3).write.parquet(f"{base}/kept")
kept = spark.read.parquet(f"{base}/kept")
kept.groupBy("k").agg(F.sum("v").alias("s")).write.parquet(f"{base}/sums")
kept.filter("k = 2").write.partitionBy("v").parquet(f"{base}/split")
"""


class Lake(Home):
    """A server, a home that may read it, and what a program left there."""

    def __init__(self, server: S3Server, folder: Path) -> None:
        super().__init__(folder, server.root("s3://lake"))
        self.server = server
        self.bucket = S3Store(
            "lake", endpoint=server.endpoint, access_key_id=KEY, secret_access_key=SECRET, region="us-east-1",
            client_options={"allow_http": True},
        )  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("lake")
    with s3(folder / "s3") as server:
        (folder / "s3" / "lake").mkdir()
        lake = Lake(server, folder)
        for part in range(2):
            lines = [f"{i},{k},{v}" for i, k, v in ROWS[part * 200 : part * 200 + 200]]
            obstore.put(lake.bucket, f"{DATA}/raw/part-{part}.csv", "\n".join(["id,k,v", *lines, ""]).encode())
        (folder / "job.py").write_text(PROGRAM)
        options = " ".join(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in server.spark.items())
        lake.headwater(
            "run", "--mode", "lazy", str(folder / "job.py"), f"s3a://lake/{DATA}",
            PYSPARK_SUBMIT_ARGS=submit(f"--master local-cluster[2,1,1024] --conf spark.ui.enabled=false {options}"),
            HEADWATER_SEGMENTS="s3a://lake/segments", HEADWATER_READABLE=f"s3://lake/{DATA}",
        )  # fmt: skip
        yield lake


def sources(found: dict[str, Any]) -> set[int]:
    """The ids of the raw records of an answer, by their read values and by their stated places."""
    ids = set()
    for record in found["records"]:
        number = int(record["values"]["id"])
        assert (record["file"].rpartition("/")[2], record["row"]) == (f"part-{number // 200}.csv", number % 200)
        ids.add(number)
    return ids


def test_a_group_on_s3_is_found_again_to_the_lines_of_the_csv(lake: Lake) -> None:
    found = lake.trace(f"s3://lake/{DATA}/sums", "--where", "k = 3")
    assert (found["exact"], found["incomplete"]) == (True, [])
    assert sources(found) == {i for i, k, v in ROWS if k == 3 and v > 20}
    assert len(found["found_again"]) == 1, "nothing of it was written"
    assert 0 < found["storage"]["requests"] <= 30
    assert any(lake.server.folder.glob("lake/segments/*/*.seg"))


def test_records_are_followed_forward_and_into_folders_of_partitions(lake: Lake) -> None:
    (i, _, v) = next(row for row in ROWS if row[1] == 2 and row[2] > 20)
    found = lake.trace(f"{DATA}/raw", "--where", f"id = {i}", "--forward", "--to", f"{DATA}/split")
    ((record),) = found["records"]
    assert found["exact"]
    assert (record["values"]["id"], int(record["values"]["v"])) == (i, v)
    assert f"/split/v={v}/" in record["file"]


@pytest.mark.slow
def test_a_service_answers_from_the_same_roots_in_its_question_processes(lake: Lake) -> None:
    with (lake.folder / "service.log").open("wb") as log:
        env = os.environ | {"HEADWATER_HOME": str(lake.home), "HEADWATER_PORT": "0"}
        service = subprocess.Popen([str(Path(sys.executable).parent / "headwater"), "serve"], env=env, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        while not (lake.home / "service.json").exists():
            assert time.monotonic() < until
            assert service.poll() is None
            time.sleep(0.1)
        found = lake.trace(f"{DATA}/sums", "--where", "k = 3")
    finally:
        service.terminate()
        service.wait(30)
    assert sources(found) == {i for i, k, v in ROWS if k == 3 and v > 20}
    assert (found["exact"], found["storage"]["requests"] > 0) == (True, True)
    assert SECRET not in (lake.folder / "service.log").read_text()


def test_nothing_of_what_is_kept_or_said_holds_a_secret(lake: Lake) -> None:
    assert SECRET not in lake.said
    kept = [path for path in lake.home.rglob("*") if path.is_file() and path.name != "storage.toml"]
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.slow
def test_a_replay_without_a_record_writes_beside_the_bucket_and_is_compared_with_it(lake: Lake) -> None:
    (i, k, v) = next(row for row in ROWS if row[1] == 3 and row[2] > 20)
    asked = ["replay", f"s3://lake/{DATA}/sums", "--without", f"s3a://lake/{DATA}/raw", "--where", f"id = {i}", "--format", "json"]
    with pytest.raises(AssertionError, match=r"PYSPARK_SUBMIT_ARGS .* held a secret, which was not kept"):
        lake.headwater(*asked)
    options = " ".join(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in lake.server.spark.items())
    ready = submit(f"--master local[2] --conf spark.ui.enabled=false {options}")
    (program,) = json.loads(lake.headwater("jobs", "list", "--format", "json"))
    lake.headwater(
        "jobs", "register", "--env", "PYSPARK_SUBMIT_ARGS", program["job"], str(lake.folder / "job.py"), f"s3a://lake/{DATA}",
        PYSPARK_SUBMIT_ARGS=ready,
    )  # fmt: skip
    before = {path: path.stat().st_mtime_ns for path in lake.server.folder.rglob(f"lake/{DATA}/**/*") if path.is_file()}
    found = json.loads(lake.headwater(*asked))
    assert found["state"] == "complete"
    (change,) = found["differences"]
    total = sum(value for _, key, value in ROWS if key == k and value > 20)
    assert (change["before"], change["after"]) == ({"k": k, "s": total}, {"k": k, "s": total - v})
    assert {path: path.stat().st_mtime_ns for path in lake.server.folder.rglob(f"lake/{DATA}/**/*") if path.is_file()} == before
    (replayed,) = (lake.home / "replays").iterdir()
    assert {path.name for path in (replayed / "data" / "s3@lake" / DATA).iterdir()} == {"kept", "sums", "split"}
    assert not list(replayed.glob("before-*"))


@pytest.mark.slow
def test_without_the_root_ids_and_paths_are_answered_and_what_to_set_is_said(lake: Lake) -> None:
    elsewhere = lake.home / "storage.toml"
    stated = elsewhere.read_text()
    elsewhere.write_text(lake.server.root("s3://lake/segments"))
    try:
        file = next(path for path in lake.server.folder.glob(f"lake/{DATA}/split/*/*.parquet"))
        uri = f"s3a://{file.relative_to(lake.server.folder)}"
        found = lake.trace(f"{DATA}/split", "--row", f"{uri}:0")
    finally:
        elsewhere.write_text(stated)
    assert found["records"][0]["file"].rpartition("/")[2].startswith("part-")
    assert any("storage.toml" in entry["reason"] for entry in found["incomplete"])
    assert all(entry["effect"] == "unreadable" for entry in found["incomplete"])


@pytest.mark.slow
def test_a_source_that_was_replaced_is_said_and_gives_no_value(lake: Lake) -> None:
    lines = [f"{i},{k},{v + 1}" for i, k, v in ROWS[:200]]
    obstore.put(lake.bucket, f"{DATA}/raw/part-0.csv", "\n".join(["id,k,v", *lines, "", ""]).encode())
    found = lake.trace(f"{DATA}/sums", "--where", "k = 3")
    assert [entry["effect"] for entry in found["incomplete"]] == ["unreadable"]
    assert "changed since the run" in found["incomplete"][0]["reason"]
    values = {record["file"].rpartition("/")[2]: bool(record["values"]) for record in found["records"]}
    assert values == {"part-0.csv": False, "part-1.csv": True}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["hdfs", pytest.param("webhdfs", marks=pytest.mark.torture)])
def test_a_pipeline_on_hdfs_is_traced_to_the_lines_of_the_csv(hdfs_url: str, tmp_path: Path, scheme: str) -> None:
    """Over HTTP in the torture: tests/graph/storage/test_webhdfs.py reads so."""
    name_node, data_node = OVER_HTTP[hdfs_url]
    url = f"{hdfs_url}/{scheme}" if scheme == "hdfs" else f"webhdfs://{name_node}/{scheme}"
    here = Home(tmp_path, f'[[root]]\nurl = "{url}/"\n' + (f'datanodes = "{data_node}"\n' if scheme == "webhdfs" else ""))
    client = Client(hdfs_url)
    client.mkdirs(f"/{scheme}/{DATA}/raw", create_parent=True)
    for part in range(2):
        with client.create(f"/{scheme}/{DATA}/raw/part-{part}.csv") as file:
            file.write("\n".join(["id,k,v", *(f"{i},{k},{v}" for i, k, v in ROWS[part * 200 : part * 200 + 200]), ""]).encode())
    (tmp_path / "job.py").write_text(PROGRAM)
    here.headwater(
        "run", "--mode", "lazy", str(tmp_path / "job.py"), f"{url}/{DATA}",
        PYSPARK_SUBMIT_ARGS=submit("--master local[2] --conf spark.ui.enabled=false"),
        HEADWATER_SEGMENTS=f"{url}/segments", HEADWATER_READABLE=f"{url}/{DATA}",
    )  # fmt: skip
    found = here.trace(f"{url}/{DATA}/sums", "--where", "k = 3")
    assert (found["exact"], found["incomplete"], len(found["found_again"])) == (True, [], 1)
    assert sources(found) == {i for i, k, v in ROWS if k == 3 and v > 20}
