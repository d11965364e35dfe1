"""One table is one dataset, however a producer names it, where it says all that the name is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.backend.projection import datasets, declaration_stamp, event_stamp, fold, project_declaration, project_event
from headwater.backend.projection.dataset_names import name_of
from headwater.errors import InvalidQueryError
from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.model.declaration import Declaration
from headwater.graph.quality import quality_of
from headwater.graph.stores.write_times import with_ends
from headwater.graph.views import ViewRequest, view
from headwater.graph.views.masking import field_tags, tags_of
from tests.backend.projection.events import RUN, dataset, graph_of, run_event


def _stated(namespace: str, name: str, uri: str | None) -> dict[str, Any]:
    return {"namespace": namespace, "name": name, "facets": {"dataSource": {"name": namespace, "uri": uri}} if uri else {}}


@pytest.mark.parametrize(
    ("namespace", "name", "uri", "meant"),
    [
        ("postgresql+psycopg2://db", "public.t", "postgresql+psycopg2://db:5433/shop", ("postgres://db:5433", "shop.public.t")),
        ("postgresql://db", "public.t", "postgresql://db/shop", ("postgres://db:5432", "shop.public.t")),
        ("mysql+pymysql://db", "t", "mysql+pymysql://db/shop", ("mysql://db:3306", "shop.t")),
        ("mysql://db", "shop.t", "mysql://db:3307/shop", ("mysql://db:3307", "shop.t")),
        ("postgresql://[::1]", "public.t", "postgresql://[::1]:5432/shop", ("postgres://[::1]:5432", "shop.public.t")),
    ],
)
def test_a_table_is_named_as_the_naming_has_it(namespace: str, name: str, uri: str, meant: tuple[str, str]) -> None:
    assert name_of(_stated(namespace, name, uri), "$") == meant


@pytest.mark.parametrize(
    ("namespace", "name", "uri"),
    [
        ("postgresql://db", "public.t", None),
        ("postgresql://db", "t", "postgresql://db/shop"),  # the schema is unknown
        ("postgresql://db", "a.b.c.d", "postgresql://db/shop"),
        ("postgresql://db", "public.t", "postgresql://db"),  # the database is unknown
        ("postgresql://db", "public.t", "postgresql://other/shop"),
        ("postgresql://db", "public.t", "postgresql://db:port/shop"),
        ("postgresql://db", "public.t", "postgresql://[db/shop"),
        ("postgresql://db", "public.t", "postgresql://db/a/b"),
        ("postgres://db:5432", "shop.public.t", "postgres://db:5432/shop"),
        ("postgresql", "public.t", "postgresql://db/shop"),
        ("snowflake://org-account", "public.t", "snowflake://org-account/shop"),
        ("file", "/data", "file:///data"),
    ],
)
def test_what_does_not_say_all_of_it_keeps_its_name(namespace: str, name: str, uri: str | None) -> None:
    assert name_of(_stated(namespace, name, uri), "$") == (namespace, name)


async def test_what_a_stream_writes_is_there_from_its_beginning_on(tmp_path: Path) -> None:
    stream = {"jobType": {"processingType": "STREAMING", "integration": "FLINK", "jobType": "JOB"}}
    events = [run_event(kind, second, outputs=[dataset("/out")]) for kind, second in (("RUNNING", 5), ("START", 3), ("COMPLETE", 9))]
    for event in events:
        event["job"]["facets"] = stream
    async with graph_of(tmp_path, *events) as graph:
        assert (await graph.node(f"version:file:/out:{RUN}")).properties["writtenAt"] == "2026-01-01T00:00:03.000000Z"


async def test_a_batch_of_spark_s_stream_is_written_at_its_end(tmp_path: Path) -> None:
    start, failed = (run_event(kind, 1, outputs=[dataset("/out")]) for kind in ("START", "FAIL"))
    for event in (start, failed):
        event["job"]["facets"] = {"jobType": {"processingType": "STREAMING", "integration": "SPARK", "jobType": "QUERY"}}
    async with graph_of(tmp_path, start, failed) as graph:
        assert "writtenAt" not in (await graph.node(f"version:file:/out:{RUN}")).properties


@pytest.mark.parametrize("state", ["ABORT", "FAIL"])
@pytest.mark.parametrize("batches", [0, 3])
async def test_a_stream_that_is_stopped_has_written_its_batches(tmp_path: Path, state: str, batches: int) -> None:
    start, end = (run_event(kind, second, outputs=[dataset("/out")]) for kind, second in (("START", 1), (state, 9)))
    for event in (start, end):
        event["job"]["facets"] = {"jobType": {"processingType": "STREAMING", "integration": "SPARK", "jobType": "QUERY"}}
    end["run"]["facets"] = {"headwater_capture": {"status": "off", "mode": "coarse", "leftOut": {"batches": batches} if batches else None}}
    async with graph_of(tmp_path, start, end) as graph:
        version = await graph.node(f"version:file:/out:{RUN}")
        job = await graph.node("job:flights:daily.report")
        assert version.properties.get("writtenAt") == ("2026-01-01T00:00:09.000000Z" if batches else None)
        assert ("lastComplete" in job.properties) is bool(batches), "a trace goes on through the job"


@pytest.mark.parametrize(
    ("end", "is_written"),
    [
        (run_event("COMPLETE", 9), True),
        (run_event("FAIL", 9), False),
        (run_event("COMPLETE", 9, inputs=[dataset("/in")]), False),  # it names what there was, and no output
        ({**run_event("COMPLETE", 9), "producer": "headwater:/0.1.0/spark"}, False),
    ],
    ids=["bare", "failed", "named", "ours"],
)
async def test_what_the_start_alone_names_is_written_by_a_run_that_ends_without_a_word(
    tmp_path: Path, end: dict[str, Any], is_written: bool
) -> None:
    for events in ([run_event("START", 1, outputs=[dataset("/out")]), end], [end, run_event("START", 1, outputs=[dataset("/out")])]):
        (tmp_path / str(events.index(end))).mkdir()
        async with graph_of(tmp_path / str(events.index(end)), *events) as graph:
            (version,) = await with_ends(graph.store, graph.tenant, [await graph.node(f"version:file:/out:{RUN}")])
            assert version.properties.get("writtenAt") == ("2026-01-01T00:00:09.000000Z" if is_written else None)


async def test_when_such_a_run_wrote_the_first_version_is_told_where_there_was_none_yet(tmp_path: Path) -> None:
    async with graph_of(tmp_path, run_event("START", 1, outputs=[dataset("/out")]), run_event("COMPLETE", 9)) as graph:
        asked = ViewRequest(focus=("dataset:file:/out",), as_of="2025-12-31", actors=NodeKind.RUN)
        with pytest.raises(InvalidQueryError, match="the first was written at 2026-01-01T00:00:09"):
            await view(graph.store, graph.tenant, asked)


def _linked(name: str, *links: tuple[str, str], **facets: Any) -> dict[str, Any]:
    identifiers = [{"namespace": "file" if kind == "LOCATION" else "hive://meta:9083", "name": link, "type": kind} for kind, link in links]
    return {"namespace": "file", "name": name, "facets": facets | ({"symlinks": {"identifiers": identifiers}} if links else {})}


@pytest.mark.parametrize(
    ("stated", "meant"),
    [
        (_linked("/lake/sales/year=2026"), "/lake/sales"),
        (_linked("/lake/sales/year=2026", ("TABLE", "shop.sales")), "/lake/sales"),
        (_linked("/data/env=prod", ("TABLE", "shop.orders")), "/data/env=prod"),
        (_linked("/data/env=prod", storage={"storageLayer": "delta", "fileFormat": "parquet"}), "/data/env=prod"),
        (_linked("/data/env=prod", storage={"storageLayer": "file", "fileFormat": "parquet"}), "/data"),
        (_linked("/lake/sales/2026/05", ("LOCATION", "/lake/sales")), "/lake/sales/2026/05"),  # who says that this is no table?
        (_linked("/hr/salaries", ("LOCATION", "/hr")), "/hr/salaries"),
        (_linked("/hr/salaries/day=1", ("LOCATION", "/hr")), "/hr/salaries"),
        (_linked("/lake/sales/day=1/part-00000", ("LOCATION", "/lake/sales/")), "/lake/sales"),
        (_linked("/data/env=prod/day=1", ("LOCATION", "/data/env=prod")), "/data/env=prod"),
        (_linked("/lake/sales_old", ("LOCATION", "/lake/sales")), "/lake/sales_old"),
    ],
)
def test_a_part_that_any_producer_names_is_its_dataset(stated: dict[str, Any], meant: str) -> None:
    assert name_of(stated, "$") == ("file", meant)


async def test_an_event_about_a_partition_is_about_its_dataset(tmp_path: Path) -> None:
    change = {"lifecycleStateChange": {"lifecycleStateChange": "OVERWRITE"}}
    of_delta = {"storage": {"storageLayer": "delta", "fileFormat": "delta"}}
    sources = [
        {"namespace": "file", "name": name, "field": "amount", "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}]}
        for name in ("/lake/sales/year=2026/month=5", "/data/env=prod", "/lake/raw/part-00000")
    ]
    lineage = {"columnLineage": {"fields": {"total": {"inputFields": sources}}}}
    event = run_event(
        inputs=[dataset("/lake/sales/year=2026/month=5", columns=["amount"]), dataset("/data/env=prod", facets=of_delta)],
        outputs=[dataset("/lake/out/day=1", columns=["total"], facets=change | lineage)],
    )
    async with graph_of(tmp_path, event) as graph:
        assert {node for node in await graph.ids() if node.startswith("dataset:")} == {
            f"dataset:file:{name}" for name in ("/lake/sales", "/data/env=prod", "/lake/raw", "/lake/out")
        }
        derived = {source for source, _ in await graph.arcs(EdgeKind.DERIVES)}
        assert derived == {f"column:file:{name}:amount" for name in ("/lake/sales", "/data/env=prod", "/lake/raw")}
        version = await graph.node(f"version:file:/lake/out:{RUN}")
        assert "block" not in version.properties, "the other partitions are still there"
        assert "lifecycleStateChange" not in (await graph.node("dataset:file:/lake/out")).properties


@pytest.mark.parametrize("inputs", [10, 100])
def test_what_is_remembered_of_a_dataset_holds_only_the_meanings_that_it_needs(monkeypatch: pytest.MonkeyPatch, inputs: int) -> None:
    remembered = datasets._Remembered[Any]()
    monkeypatch.setattr(datasets, "_DATASETS", remembered)
    sources = [{"namespace": "file", "name": "/lake/v=0", "field": "amount"}]
    event = run_event(
        inputs=[_linked(f"/lake/v={number}", storage={"storageLayer": "delta"}) for number in range(inputs)],
        outputs=[dataset("/out", columns=["total"], facets={"columnLineage": {"fields": {"total": {"inputFields": sources}}}})],
    )
    project_event(event, event_stamp(event, "k"))
    pairs = [pair for (_, _, meant), _ in remembered._made for pair in meant]
    assert pairs == [(("file", "/lake/v=0"), ("file", "/lake/v=0"))]
    documents = sum(len(document) for _, document in remembered._made)
    assert remembered._bytes - documents == sum(len(part) for pair in pairs for names in pair for part in names)


async def test_a_tag_of_a_partition_protects_the_dataset_in_which_it_lies(tmp_path: Path) -> None:
    described = [
        {"id": "column:file:/lake/sales/year=2026:email", "aspect": "tag", "value": "pii"},
        {"id": "dataset:file:/lake/sales/year=2026", "aspect": "owner", "value": "ann"},
    ]
    declaration = Declaration.from_json({"declared": "2026-01-01T00:00:00Z", "by": "ann", "descriptions": described})
    async with graph_of(tmp_path, run_event(outputs=[dataset("/lake/sales/year=2026", columns=["email"])])) as graph:
        await fold(graph.store, graph.tenant, [project_declaration(declaration, declaration_stamp(declaration, "k"))])
        arcs = await graph.arcs(EdgeKind.DESCRIBES)
        assert {("tag:pii", "column:file:/lake/sales:email"), ("owner:ann", "dataset:file:/lake/sales")} <= arcs


@pytest.mark.parametrize("is_first", [True, False], ids=["whole first", "part first"])
async def test_facets_of_a_partition_take_nothing_from_the_dataset(tmp_path: Path, is_first: bool) -> None:
    sources = [{"namespace": "file", "name": "/raw", "field": "v"}]
    checks = {"assertions": [{"assertion": "not_null", "column": "v", "success": True}]}
    of_whole = {
        "schema": {"fields": [{"name": "v", "type": "double"}, {"name": "email", "type": "string"}]},
        "columnLineage": {"fields": {"email": {"inputFields": sources}}},
        "tags": {"tags": [{"key": "pii", "value": "high"}]},
        "documentation": {"description": "all"},
        "dataQualityAssertions": checks,
    }
    of_part = {
        "schema": {"fields": [{"name": "v", "type": "int"}, {"name": "w", "type": "int"}]},
        "columnLineage": {"fields": {"v": {"inputFields": sources}}},
        "tags": {"tags": [{"key": "secret", "value": "yes"}, {"key": "gdpr", "value": "1", "field": "v"}]},
        "documentation": {"_deleted": True},
        "dataQualityAssertions": {"assertions": [{"assertion": "not_null", "column": "v", "success": False}]},
        "dataQualityMetrics": {"rowCount": 3},
    }
    whole, part = dataset("/d", facets=of_whole), dataset("/d/day=1", facets=of_part, inputFacets={"dataQualityMetrics": {"rowCount": 4}})
    other = RUN[:-1] + "9"
    pair = [run_event(outputs=[whole], run=other), run_event(inputs=[part], outputs=[part])]
    events = [event | {"eventTime": f"2026-01-01T00:00:0{second}Z"} for second, event in enumerate(pair if is_first else pair[::-1])]
    async with graph_of(tmp_path, *events) as graph:
        node = await graph.node("dataset:file:/d")
        assert {key: node.properties.get(key) for key in (*of_whole, "dataQualityMetrics")} == {**of_whole, "dataQualityMetrics": None}
        assert {"pii", "pii=high", "secret", "secret=yes"} <= tags_of(node)
        column = await graph.node("column:file:/d:v")
        assert column.properties["type"] == "double"
        assert {"gdpr", "gdpr=1"} <= field_tags(column, node)
        assert {"column:file:/d:w", "column:file:/d:email"} <= await graph.ids()
        version = (await graph.node(f"version:file:/d:{RUN}")).properties
        assert version["dataQualityAssertions"] == of_part["dataQualityAssertions"]
        checked = await quality_of(graph.store, graph.tenant, node.id)
        results = {check.assertion: [result.values for result in check.results] for check in checked}
        assert {"success": False, "partition": "day=1"} in results["not_null"]
        assert results["metrics"] == [{"rowCount": 3, "partition": "day=1"}]
        assert (await graph.node(f"run:{RUN}")).properties["input:dataset:file:/d"]["inputFacets"]["dataQualityMetrics"] == {"rowCount": 4}


async def test_a_dataset_of_which_only_partitions_are_stated_has_their_facets(tmp_path: Path) -> None:
    schema = {"fields": [{"name": "v", "type": "int"}]}
    async with graph_of(tmp_path, run_event(outputs=[dataset("/d/day=1", facets={"schema": schema})])) as graph:
        assert (await graph.node("dataset:file:/d")).properties["schema"] == schema
        assert (await graph.node("column:file:/d:v")).properties["type"] == "int"
