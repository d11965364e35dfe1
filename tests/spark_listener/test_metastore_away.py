"""A Hive metastore that goes away while a program is at work: what needs it fails as without capture, and all else is captured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyspark
import pytest

from tests.backend.cli.command import headwater
from tests.jvm import QUICK
from tests.lake import answers, running
from tests.ports import free_port
from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

# A metastore of Spark's own jars, in a JVM of its own; it ends, without a word to its clients, when a file is there.
_METASTORE = """
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.shims.ShimLoader;

public class Metastore {
    public static void main(String[] given) throws Throwable {
        HiveConf conf = new HiveConf();
        conf.set("javax.jdo.option.ConnectionURL", "jdbc:derby:;databaseName=" + given[0] + "/metastore;create=true");
        conf.set("hive.metastore.warehouse.dir", "file:" + given[0] + "/warehouse");
        conf.set("hive.metastore.schema.verification", "false");
        conf.set("datanucleus.schema.autoCreateAll", "true");
        Path end = Path.of(given[0], "end");
        Thread watch = new Thread(() -> {
            while (!Files.exists(end)) {
                try {
                    Thread.sleep(50);
                } catch (InterruptedException interrupted) {
                    return;
                }
            }
            Runtime.getRuntime().halt(0);
        });
        watch.start();
        HiveMetaStore.startMetaStore(Integer.parseInt(given[1]), ShimLoader.getHadoopThriftAuthBridge(), conf);
    }
}
"""

# A client without a metastore retries after ten minutes: only the program's own requests may wait for that.
PROGRAM = """
    import os, socket, sys, time
    from pathlib import Path
    from pyspark.sql import SparkSession

    port, end = int(sys.argv[1]), Path(sys.argv[2])
    spark = (
        SparkSession.builder.appName("away").enableHiveSupport()
        .config("spark.hadoop.hive.metastore.uris", f"thrift://127.0.0.1:{port}")
        .config("spark.hadoop.hive.metastore.client.connect.retry.delay", "600s")
        .config("spark.sql.warehouse.dir", os.getcwd() + "/warehouse")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.range(12).selectExpr("id", "id % 3 AS k").coalesce(1).write.saveAsTable("known")
    known = spark.table("known").filter("id > 3")
    end.touch()
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            break
        time.sleep(0.05)
    known.groupBy("k").count().write.parquet("counts")
    known.write.parquet("copy")
    print("rows", spark.read.parquet("copy").count())
"""


@contextmanager
def metastore(folder: Path) -> Iterator[int]:
    """A metastore; gives its port."""
    port, jars = free_port(), Path(pyspark.__file__).parent / "jars"
    (folder / "Metastore.java").write_text(_METASTORE)
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.net")]
    command = ["java", "-Xmx256m", *QUICK, *opened, "-cp", f"{jars}/*", str(folder / "Metastore.java"), str(folder), str(port)]
    with running(command, folder / "metastore.log", partial(answers, port), dict(os.environ)):
        yield port


def test_a_metastore_that_goes_away_costs_neither_the_job_nor_its_lineage(tmp_path: Path, root: Path) -> None:
    script(tmp_path, "away.py", PROGRAM)
    with metastore(tmp_path) as port:
        arguments = ["-m", "headwater", "run", "--home", "home", "away.py", str(port), str(tmp_path / "end")]
        done = run(arguments, tmp_path, environment(root))
    assert done.returncode == 0, done.stderr
    assert "rows 8" in done.stdout
    for name, rows in (("counts", 3), ("copy", 1)):
        (ended,) = [
            event
            for event in logged(tmp_path / "home")
            if event["eventType"] == "COMPLETE" and [one["name"] for one in event["outputs"]] == [f"{tmp_path}/{name}"]
        ]
        (read,) = ended["inputs"]
        assert read["name"] == f"{tmp_path}/warehouse/known"
        links = read["facets"]["symlinks"]["identifiers"]
        assert [(link["namespace"], link["name"]) for link in links] == [(f"hive://127.0.0.1:{port}", "default.known")]
        assert ended["run"]["facets"]["headwater_capture"]["status"] == "complete"
        where = "k = 2" if name == "counts" else "id = 7"
        asked = ("trace", f"{tmp_path}/{name}", "--where", where, "--to", f"{tmp_path}/warehouse/known", "-f", "json")
        told = json.loads(headwater(*asked, "--home", str(tmp_path / "home")).stdout)
        assert (told["exact"], len(told["records"])) == (True, rows), told
