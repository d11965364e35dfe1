"""One text means one dataset, whoever asks: odd names, on every storage, by every way in which a person writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import NotFoundError
from headwater.graph.model import GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.model.ids import short_job_name
from headwater.graph.names import nodes_named
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace.datasets import find_dataset
from headwater.graph.trace.tracer import get_tracer
from headwater.paths import name_of_path, path_of_dataset

DATASET = NodeKind.DATASET
STORES = [
    "file:", "s3://lake", "s3a://lake", "gs://lake", "hdfs://name:8020", "webhdfs://name:9870",
    "abfss://box@account.dfs.core.windows.net", "wasbs://box@account.blob.core.windows.net",
]  # fmt: skip
ODD = [
    "run #1", "run #2", "50%", "50%25", "a%20b", "a b", "what?", "a+b", "a&b;c", "a:b", "q'u\"o", "b\\s", "[x]*", "{a,b}", "ä", "a\u0308",
    "new\nline", "tab\t", "trail ", "user@host", "v1.0", "$x`y`|^",
]  # fmt: skip


@asynccontextmanager
async def graph_with(folder: Path, *names: tuple[str, str], **properties: Any) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(str(folder / "graph.db"))
    await store.open()
    try:
        nodes = [Node(node_id(DATASET, *name), DATASET, name[1], properties) for name in names]
        await store.apply("t", [GraphBatch(Stamp("2026-01-01T00:00:00Z", "k"), nodes)])
        yield store
    finally:
        await store.close()


async def _traced(graph: SqliteStore, folder: Path, text: str) -> str:
    """The dataset that a trace takes a text for."""
    store = AssociationStore(folder / "associations", sources=ANYWHERE)
    try:
        with get_tracer(store).session("t") as session:
            return (await find_dataset(session, graph, text)).id
    finally:
        store.close()


async def test_odd_names_are_the_same_dataset_on_every_storage_however_they_are_written(tmp_path: Path) -> None:
    names = {(store, odd): name_of_path(f"{store}/lake/{odd}") for store in STORES for odd in ODD}
    async with graph_with(tmp_path, *dict.fromkeys(names.values())) as graph:
        for (store, odd), name in names.items():
            for text in (node_id(DATASET, *name), f"{store}/lake/{odd}", path_of_dataset(*name), f"{path_of_dataset(*name)}/"):
                assert [node.id for node in await nodes_named(graph, "t", text, [DATASET])] == [node_id(DATASET, *name)], text
            for part in ("year=2026/month=5", "part-00000.parquet", "rows.csv"):
                text = f"{store}/lake/{odd}/{part}"
                assert [node.id for node in await nodes_named(graph, "t", text, [DATASET])] == [node_id(DATASET, *name)], text


async def test_a_trace_takes_the_same_names(tmp_path: Path) -> None:
    names = [name_of_path(f"{store}/lake/{odd}") for store in ("file:", "s3a://lake", "hdfs://name:8020") for odd in ODD[:4]]
    async with graph_with(tmp_path, *names) as graph:
        for name in names:
            for text in (node_id(DATASET, *name), path_of_dataset(*name), f"{path_of_dataset(*name)}/year=2026"):
                assert await _traced(graph, tmp_path, text) == node_id(DATASET, *name), text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("lake/sales", ("s3://lake", "sales")),
        ("sales", ("s3://lake", "sales")),
        ("shop.orders", ("s3://lake", "warehouse/shop.db/orders")),
        ("postgres://db:5432/shop.public.orders", ("postgres://db:5432", "shop.public.orders")),
        ("kafka://broker:9092/clicks", ("kafka://broker:9092", "clicks")),
        ("s3://lake/day=1", ("s3://lake", "/")),
        ("s3://other/key", ("s3://other", "/key")),
    ],
)
async def test_ends_tables_topics_and_buckets_have_names(tmp_path: Path, text: str, name: tuple[str, str]) -> None:
    others = [
        ("s3://lake", "sales"), ("s3://lake", "warehouse/shop.db/orders"), ("postgres://db:5432", "shop.public.orders"),
        ("kafka://broker:9092", "clicks"), ("s3://lake", "/"), ("s3://other", "/key"),
    ]  # fmt: skip
    links = {"identifiers": [{"namespace": "hive://meta:9083", "name": "shop.orders", "type": "TABLE"}]}
    async with graph_with(tmp_path, *others) as graph:
        linked = Node(node_id(DATASET, *others[1]), DATASET, others[1][1], {"symlinks": links})
        await graph.apply("t", [GraphBatch(Stamp("2026-01-02T00:00:00Z", "l"), [linked])])
        assert [node.id for node in await nodes_named(graph, "t", text, [DATASET])] == [node_id(DATASET, *name)]
        assert await _traced(graph, tmp_path, text) == node_id(DATASET, *name)


async def test_a_relative_path_begins_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here, elsewhere = ("file", f"{Path.cwd()}/out/sales"), ("file", "/other/out/sales")
    async with graph_with(tmp_path, here, elsewhere) as graph:
        for text in ("out/sales", "out/sales/", "out/sales/year=2026/month=5", "out/sales/part-00000", f"file:{Path.cwd()}/out/sales"):
            assert [node.id for node in await nodes_named(graph, "t", text, [DATASET])] == [node_id(DATASET, *here)], text


async def test_what_nothing_is_called_is_nothing(tmp_path: Path) -> None:
    async with graph_with(tmp_path, ("s3://lake", "disc 50%"), ("file", "/lake/sales")) as graph:
        others = ("dataset:file:/nowhere", "year=2026", "/nowhere/part-00000", "a/\0b")
        for text in ("s3://lake/disc 50%25", "s3://lake/", "/lake/sale", *others):
            assert await nodes_named(graph, "t", text, [DATASET]) == [], text
        with pytest.raises(NotFoundError):
            await _traced(graph, tmp_path, "s3://lake/disc 50%25")


async def test_a_job_has_the_short_name_that_commands_print(tmp_path: Path) -> None:
    job = "report.execute_insert_into_hadoop_fs_relation_command.out_report"
    names = [("a", job), ("a", "report.save_as_table.other"), ("a", "report"), ("b", "daily › report")]
    async with graph_with(tmp_path) as graph:
        nodes = [Node(node_id(NodeKind.JOB, *name), NodeKind.JOB, name[1], {}) for name in names]
        await graph.apply("t", [GraphBatch(Stamp("2026-01-02T00:00:00Z", "k"), nodes)])
        for text, expected in ((job, job), (short_job_name(job), job), ("daily › report", "daily › report")):
            assert [node.name for node in await nodes_named(graph, "t", text, (NodeKind.RUN, NodeKind.JOB))] == [expected]
        assert short_job_name(job) == "report › out_report"
        assert await nodes_named(graph, "t", "report › nothing", (NodeKind.JOB,)) == []
        assert await nodes_named(graph, "t", "report › out_report", (NodeKind.DATASET,)) == []
