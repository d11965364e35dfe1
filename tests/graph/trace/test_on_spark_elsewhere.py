"""Records followed by Spark on executors of their own, which read the kept tables from the place that services share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.graph.records import ANYWHERE
from headwater.graph.records.archive import Archive
from headwater.graph.records.shared_store import SharedAssociationStore
from headwater.graph.storage import Remote, read_roots
from headwater.graph.trace import TraceRequest, trace
from headwater.graph.trace.on_spark.connection import SparkConnection
from headwater.graph.trace.on_spark.walk import open_spark_session
from tests.graph.jobs import TENANT
from tests.graph.trace.pipeline import build
from tests.jvm import start_with
from tests.lake import S3Server, s3

pytestmark = [
    pytest.mark.lake,
    pytest.mark.slow,
    pytest.mark.torture,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[S3Server]:
    with s3(tmp_path / "s3") as running:
        (tmp_path / "s3" / "kept").mkdir()
        yield running


@pytest.fixture
def spark(server: S3Server) -> Iterator[SparkSession]:
    settings = {**server.spark, "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false"}
    start_with(" ".join(f"--conf {name}={value}" for name, value in settings.items()))
    session = SparkSession.builder.master("local-cluster[1,1,1024]").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


async def test_executors_of_their_own_read_the_tables_that_services_share(server: S3Server, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "storage.toml").write_text(server.root("s3://kept/hw"))
    archive = Archive(Remote(read_roots(tmp_path / "storage.toml")).place("s3://kept/hw"))
    store = SharedAssociationStore(tmp_path / "home", sources=ANYWHERE, archive=archive, cache_bytes=1 << 30)
    try:
        build(store, tmp_path, 3)
        request = TraceRequest(dataset=str(tmp_path / "enriched"), where="number < 5", values=False)
        here = await trace(None, store, TENANT, request)
        for table in store.root.rglob("b*.parquet"):
            table.unlink()  # as what was evicted
        there = await trace(None, store, TENANT, request, session_factory=partial(open_spark_session, SparkConnection(spark)))
        assert (there.records, there.total, there.exact, there.incomplete) == (here.records, here.total, here.exact, here.incomplete)
        assert [(hop.run, hop.records) for hop in there.path] == [(hop.run, hop.records) for hop in here.path]
        assert here.total
        assert not list(store.root.rglob("b*.parquet"))  # nothing was brought here for it
    finally:
        store.close()
