"""The graph of an answer: what the trace took, and nothing that it did not."""

from collections.abc import AsyncIterator

import pytest

from headwater.backend.projection import event_stamp, project_event
from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace.answer import Grain, Hop, Semantics, TraceAnswer, TracedRecord
from headwater.graph.trace.lineage_path import make_path_graph
from tests.stated import CLEAN, REPORT, TENANT, event, state_pipeline

RAW, CLEANED, REPORTED = "dataset:file:/data/raw/weather.csv", "dataset:file:/data/out/clean", "dataset:file:/data/out/report"
HOPS = [
    Hop("job:local:report", f"run:{REPORT}", REPORTED, [CLEANED], [], 1, Grain.RECORD),
    Hop("job:local:clean", f"run:{CLEAN}", CLEANED, [RAW], [], 1, Grain.RECORD),
]


def answer(path=HOPS, begin=REPORTED) -> TraceAnswer:
    selected = [TracedRecord(begin, "file:/x", 0, Grain.RECORD)]
    return TraceAnswer(Semantics.INFLUENCE, True, [TracedRecord(RAW, "file:/y", 0, Grain.RECORD)], path, [], 1, selected, 1.0)


def with_columns(job: str, run: str, reads: str, writes: str, derived: dict[str, list[str]]) -> dict:
    """An event whose output's columns come from these input columns."""
    stated = event(run, job, "COMPLETE", "2026-01-31T11:00:00Z", reads, writes)
    fields = {
        column: {"inputFields": [{"namespace": "file", "name": reads, "field": source} for source in sources]}
        for column, sources in derived.items()
    }
    stated["outputs"][0]["facets"] = {"columnLineage": {"fields": fields}}
    return stated


@pytest.fixture
async def store(tmp_path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(str(tmp_path / "graph.db"))
    await store.open()
    await state_pipeline(store)
    for number, stated in enumerate([
        with_columns("clean", CLEAN, "/data/raw/weather.csv", "/data/out/clean", {"wind": ["wind_speed"], "hour": ["time"]}),
        with_columns("report", REPORT, "/data/out/clean", "/data/out/report", {"max_wind": ["wind"], "month": ["hour"]}),
        with_columns("other", CLEAN, "/data/elsewhere", "/data/out/clean", {"wind": ["gust"]}),
    ]):  # fmt: skip
        await store.apply(TENANT, [project_event(stated, event_stamp(stated, str(number)))])
    yield store
    await store.close()


async def test_the_graph_holds_the_datasets_and_jobs_of_the_path(store):
    graph = await make_path_graph(store, TENANT, answer())
    assert {node.id for node in graph.nodes} == {RAW, CLEANED, REPORTED, "job:local:clean", "job:local:report"}
    assert {(edge.src, edge.dst, edge.kind) for edge in graph.edges} == {
        (RAW, "job:local:clean", EdgeKind.READS),
        ("job:local:clean", CLEANED, EdgeKind.WRITES),
        (CLEANED, "job:local:report", EdgeKind.READS),
        ("job:local:report", REPORTED, EdgeKind.WRITES),
    }


async def test_a_link_that_the_trace_did_not_take_is_left_out(store):
    shortcut = event(REPORT, "report", "COMPLETE", "2026-01-31T12:00:00Z", "/data/raw/weather.csv", "/data/out/report")
    await store.apply(TENANT, [project_event(shortcut, event_stamp(shortcut, "shortcut"))])
    graph = await make_path_graph(store, TENANT, answer())
    assert (RAW, "job:local:report") not in {(edge.src, edge.dst) for edge in graph.edges}


async def test_columns_appear_where_one_is_asked_for_and_only_those_of_the_path(store):
    graph = await make_path_graph(store, TENANT, answer(), column="max_wind")
    columns = {node.id for node in graph.nodes if node.kind is NodeKind.COLUMN}
    assert columns == {
        "column:file:/data/out/report:max_wind", "column:file:/data/out/clean:wind", "column:file:/data/raw/weather.csv:wind_speed",
    }  # fmt: skip
    contains = {(edge.src, edge.dst) for edge in graph.edges if edge.kind is EdgeKind.CONTAINS}
    assert contains == {(RAW, f"{RAW}:wind_speed".replace("dataset", "column")), (CLEANED, "column:file:/data/out/clean:wind"),
                        (REPORTED, "column:file:/data/out/report:max_wind")}  # fmt: skip


async def test_a_column_is_followed_forward(store):
    graph = await make_path_graph(store, TENANT, answer(begin=RAW), column="wind_speed", forward=True)
    assert "column:file:/data/out/report:max_wind" in {node.id for node in graph.nodes}


async def test_what_no_event_stated_is_shown_under_its_id(store):
    unknown = Hop("job:local:unknown", "run:x", REPORTED, ["dataset:file:/gone"], [], 1, Grain.RECORD)
    graph = await make_path_graph(store, TENANT, answer([unknown]))
    assert {node.id: node.name for node in graph.nodes}["dataset:file:/gone"] == "/gone"


async def test_an_answer_without_a_path_is_a_graph_of_its_datasets(store):
    graph = await make_path_graph(store, TENANT, answer([]))
    assert {node.id for node in graph.nodes} == {RAW, REPORTED}
    assert not graph.edges
