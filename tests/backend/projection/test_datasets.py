"""Datasets in the graph, their columns and their versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.graph.model import EdgeKind
from headwater.graph.stores import Direction
from headwater.graph.stores.derivations import derivations
from tests.backend.projection.events import JOB_ID, RUN, RUN_ID, dataset, graph_of, run_event

VERSION = f"version:file:/hours:{RUN}"
FIELD = {"namespace": "file", "name": "/weather", "field": "wind"}


def derived(lineage: Any, *columns: str) -> dict[str, Any]:
    return dataset("/hours", columns=columns, facets={"columnLineage": lineage})


async def test_a_run_writes_a_version_which_its_dataset_contains(tmp_path: Path) -> None:
    facets = {"lifecycleStateChange": {"lifecycleStateChange": "OVERWRITE"}, "version": {"datasetVersion": "7"}}
    output = dataset("/hours", facets=facets, outputFacets={"outputStatistics": {"rowCount": 3, "size": 10}})
    async with graph_of(tmp_path, run_event("COMPLETE", 4, inputs=[dataset("/weather")], outputs=[output])) as graph:
        assert await graph.arcs(EdgeKind.WRITES) == {(JOB_ID, "dataset:file:/hours"), (RUN_ID, VERSION)}
        assert await graph.containers(VERSION) == ["dataset:file:/hours", "platform:file"]
        assert (await graph.node(VERSION)).properties == {
            "block": "base",
            "version": {"datasetVersion": "7"},
            "outputStatistics": {"rowCount": 3, "size": 10},
            "writtenAt": "2026-01-01T00:00:04.000000Z",
        }


@pytest.mark.parametrize(
    ("change", "previous", "reads"),
    [
        ("RENAME", {"namespace": "file", "name": "/days"}, {("dataset:file:/days", JOB_ID)}),
        ("RENAME", {"namespace": "file", "name": "/hours"}, set()),
        ("RENAME", {"namespace": 7, "name": ["/days"]}, set()),
        ("ALTER", {"namespace": "file", "name": "/days"}, set()),
    ],
)
async def test_a_renamed_dataset_is_made_of_the_former_one(tmp_path: Path, change: str, previous: Any, reads: set[tuple[str, str]]) -> None:
    facets = {"lifecycleStateChange": {"lifecycleStateChange": change, "previousIdentifier": previous}}
    async with graph_of(tmp_path, run_event("COMPLETE", 4, outputs=[dataset("/hours", facets=facets)])) as graph:
        assert await graph.arcs(EdgeKind.READS) == reads


@pytest.mark.parametrize("kind", ["START", "RUNNING", "FAIL", "ABORT"])
async def test_a_version_of_a_run_that_did_not_complete_has_no_time(tmp_path: Path, kind: str) -> None:
    async with graph_of(tmp_path, run_event(kind, outputs=[dataset("/hours")])) as graph:
        assert (await graph.node(VERSION)).properties == {}


async def test_inputs_of_a_run_are_kept_though_a_later_event_says_less(tmp_path: Path) -> None:
    rich = dataset("/weather", inputFacets={"inputStatistics": {"rowCount": 9}, "dataQualityMetrics": {"rowCount": 9}})
    async with graph_of(
        tmp_path, run_event("START", 1, inputs=[rich]), run_event("COMPLETE", 2, inputs=[dataset("/weather"), dataset("/flights")])
    ) as graph:
        properties = (await graph.node(RUN_ID)).properties
        assert properties["input:dataset:file:/weather"] == {"inputFacets": rich["inputFacets"]}
        assert properties["input:dataset:file:/flights"] == {}
        assert (await graph.node("dataset:file:/weather")).properties["dataQualityMetrics"] == {"rowCount": 9}


async def test_columns_have_type_and_place(tmp_path: Path) -> None:
    fields = [
        {"name": "id", "type": "bigint", "description": "key"},
        {"name": "at", "type": "struct", "fields": [{"name": "hour", "type": "int"}]},
        {"type": "x"},
        3,
    ]
    async with graph_of(tmp_path, run_event(outputs=[dataset("/hours", facets={"schema": {"fields": fields}})])) as graph:
        assert (await graph.node("column:file:/hours:id")).properties == {"type": "bigint", "description": "key", "ordinal": 0}
        assert (await graph.node("column:file:/hours:at")).properties == {
            "type": "struct",
            "ordinal": 1,
            "fields": [{"name": "hour", "type": "int"}],
        }
        columns = await graph.store.children(graph.tenant, "dataset:file:/hours")
    assert columns.total == 3  # two columns and the version


async def test_column_lineage_makes_edges_with_their_transformations(tmp_path: Path) -> None:
    transformations = [{"type": "DIRECT", "subtype": "AGGREGATION", "description": "max"}]
    lineage = {"fields": {"gust": {"inputFields": [FIELD | {"transformations": transformations}]}}}
    async with graph_of(tmp_path, run_event(outputs=[derived(lineage, "gust")])) as graph:
        (edge,) = await graph.store.neighbours(
            graph.tenant, ["column:file:/hours:gust"], direction=Direction.UPSTREAM, kinds=[EdgeKind.DERIVES]
        )
        assert (edge.src, edge.properties) == (
            "column:file:/weather:wind",
            {"transformations": transformations, f"by:{JOB_ID}": transformations, f"open:{JOB_ID}": True},
        )
        assert await graph.containers("column:file:/weather:wind") == ["dataset:file:/weather", "platform:file"]


async def test_transformations_of_the_first_facet_version_are_read(tmp_path: Path) -> None:
    lineage = {"fields": {"gust": {"inputFields": [FIELD], "transformationType": "IDENTITY", "transformationDescription": "as is"}}}
    async with graph_of(tmp_path, run_event(outputs=[derived(lineage)])) as graph:
        (edge,) = await graph.store.neighbours(
            graph.tenant, ["column:file:/hours:gust"], direction=Direction.UPSTREAM, kinds=[EdgeKind.DERIVES]
        )
    assert edge.properties["transformations"] == [{"type": "IDENTITY", "description": "as is"}]


async def test_two_jobs_that_derive_one_column_both_keep_their_word(tmp_path: Path) -> None:
    for_both = {
        job: {"fields": {"gust": {"inputFields": [FIELD | {"transformations": [{"type": "DIRECT", "description": job}]}]}}}
        for job in ("a", "b")
    }
    events = [run_event(second=second, job=job, outputs=[derived(for_both[job])]) for second, job in ((2, "b"), (1, "a"))]
    async with graph_of(tmp_path, *events) as graph:
        (edge,) = await graph.store.neighbours(
            graph.tenant, ["column:file:/hours:gust"], direction=Direction.UPSTREAM, kinds=[EdgeKind.DERIVES]
        )
    assert {name: value[0]["description"] for name, value in edge.properties.items() if value is not True} == {
        "transformations": "b",
        "by:job:flights:a": "a",
        "by:job:flights:b": "b",
    }


async def test_two_jobs_that_read_a_dataset_alike_are_both_known_to_read_it_and_the_columns_they_say(tmp_path: Path) -> None:
    plain = dataset("/weather", columns=["wind"])
    asked = dataset("/hours", columns=["gust"], inputFacets={"headwater_fieldAccess": {"fields": [{"name": "gust", "ways": ["FILTER"]}]}})
    events = [run_event(second=second, job=job, inputs=[plain, asked]) for second, job in enumerate("ab")]
    async with graph_of(tmp_path, *events) as graph:
        assert await graph.arcs(EdgeKind.READS) == {
            (f"dataset:file:/{name}", f"job:flights:{job}") for name in ("weather", "hours") for job in "ab"
        }
        assert await graph.arcs(EdgeKind.ACCESSES) == {("column:file:/hours:gust", f"job:flights:{job}") for job in "ab"}
        assert await graph.containers("column:file:/weather:wind") == ["dataset:file:/weather", "platform:file"]


async def test_what_filters_the_dataset_reaches_every_column(tmp_path: Path) -> None:
    lineage = {
        "fields": {"gust": {"inputFields": [FIELD]}},
        "dataset": [FIELD | {"field": "origin", "transformations": [{"type": "INDIRECT", "subtype": "FILTER"}]}],
    }
    async with graph_of(tmp_path, run_event(outputs=[derived(lineage, "gust", "hour")])) as graph:
        assert await graph.arcs(EdgeKind.DERIVES) == {
            ("column:file:/weather:wind", "column:file:/hours:gust"),
            ("column:file:/weather:origin", "dataset:file:/hours"),
        }
        columns = ["column:file:/hours:gust", "column:file:/hours:hour"]
        edges = await derivations(graph.store, graph.tenant, columns, direction=Direction.UPSTREAM)
    assert {(edge.src, edge.dst) for edge in edges} == {
        ("column:file:/weather:wind", "column:file:/hours:gust"),
        ("column:file:/weather:origin", "column:file:/hours:gust"),
        ("column:file:/weather:origin", "column:file:/hours:hour"),
    }


@pytest.mark.parametrize(
    "facets",
    [
        {"schema": {"fields": "wind"}},
        {"schema": []},
        {"schema": None},
        {"columnLineage": {"fields": ["gust"]}},
        {"columnLineage": {"fields": {"gust": {"inputFields": [{"name": "/weather"}, None, "x"]}}}},
        {"columnLineage": {"dataset": {"a": 1}, "fields": {"gust": None}}},
    ],
)
async def test_a_facet_of_another_shape_is_kept_and_makes_no_columns(tmp_path: Path, facets: dict[str, Any]) -> None:
    async with graph_of(tmp_path, run_event(outputs=[dataset("/hours", facets=facets)])) as graph:
        assert {identifier for identifier in await graph.ids() if identifier.startswith("column:")} <= {"column:file:/hours:gust"}
        assert await graph.arcs(EdgeKind.DERIVES) == set()
        kept = {name: facet for name, facet in facets.items() if facet is not None}
        assert (await graph.node("dataset:file:/hours")).properties == kept


async def test_events_of_a_dataset_or_a_job_alone_make_no_run(tmp_path: Path) -> None:
    about = {"documentation": {"description": "hourly"}, "tags": {"tags": [{"key": "pii"}]}}
    time = {"eventTime": "2026-01-01T00:00:00Z"}
    async with graph_of(
        tmp_path,
        time | {"dataset": dataset("/hours", columns=["gust"], facets=about)},
        time
        | {
            "job": {"namespace": "flights", "name": "daily.report", "facets": {"sql": {"query": "select 1"}}},
            "inputs": [dataset("/hours")],
            "outputs": [dataset("/out")],
        },
    ) as graph:
        assert (await graph.node("dataset:file:/hours")).properties.items() >= about.items()
        assert (await graph.node(JOB_ID)).properties == {"sql": {"query": "select 1"}}
        assert await graph.arcs(EdgeKind.READS) == {("dataset:file:/hours", JOB_ID)}
        assert await graph.arcs(EdgeKind.WRITES) == {(JOB_ID, "dataset:file:/out")}
        assert not {identifier for identifier in await graph.ids() if identifier.startswith(("run:", "version:"))}


async def test_a_job_accesses_the_columns_that_it_reads_and_writes(tmp_path: Path) -> None:
    lineage = {
        "fields": {"wind": {"inputFields": [{**FIELD, "transformations": [{"type": "DIRECT", "subtype": "AGGREGATION"}]}]}},
        "dataset": [{**FIELD, "field": "hour", "transformations": [{"type": "INDIRECT", "subtype": "FILTER"}]}],
    }
    async with graph_of(tmp_path, run_event(inputs=[dataset("/weather")], outputs=[derived(lineage, "wind", "day")])) as graph:
        assert await graph.arcs(EdgeKind.ACCESSES) == {
            ("column:file:/weather:wind", JOB_ID),
            ("column:file:/weather:hour", JOB_ID),
            (JOB_ID, "column:file:/hours:wind"),
            (JOB_ID, "column:file:/hours:day"),
        }
        edges = await graph.store.neighbours(
            graph.tenant, ["column:file:/weather:hour"], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.ACCESSES]
        )
        assert [edge.properties for edge in edges] == [{"how:FILTER": True}]
        assert edges[0].first.endswith(RUN)


async def test_a_query_that_writes_nothing_accesses_what_it_reads(tmp_path: Path) -> None:
    fields = [{"name": "wind", "ways": ["IDENTITY"]}, {"name": "hour", "ways": ["FILTER", 3]}, {"ways": []}, 7]
    read = dataset("/weather", inputFacets={"headwater_fieldAccess": {"fields": fields}})
    async with graph_of(tmp_path, run_event(inputs=[read])) as graph:
        edges = await graph.store.neighbours(graph.tenant, [JOB_ID], direction=Direction.UPSTREAM, kinds=[EdgeKind.ACCESSES])
        assert {edge.src: edge.properties for edge in edges} == {
            "column:file:/weather:wind": {"how:IDENTITY": True},
            "column:file:/weather:hour": {"how:FILTER": True},
        }


async def test_the_sources_of_an_input_are_not_the_work_of_the_job_that_reads_it(tmp_path: Path) -> None:
    fields = {"wind": {"inputFields": [FIELD]}}
    async with graph_of(tmp_path, run_event(inputs=[derived({"fields": fields, "dataset": [FIELD]}, "wind")])) as graph:
        assert await graph.arcs(EdgeKind.DERIVES) == {("column:file:/weather:wind", "column:file:/hours:wind")}
        assert await graph.arcs(EdgeKind.ACCESSES) == set()
        (way,) = await derivations(graph.store, graph.tenant, ["column:file:/hours:wind"], direction=Direction.UPSTREAM)
        assert JOB_ID not in str(way)


async def test_columns_without_a_name_are_left_out_and_the_run_says_so(tmp_path: Path) -> None:
    fields = [{"name": "wind"}, {"name": ""}, {"type": "double"}, {"name": None}]
    lineage = {"fields": {"wind": {"inputFields": [FIELD, {**FIELD, "field": ""}]}, "": {"inputFields": [FIELD]}}}
    output = dataset("/hours", facets={"schema": {"fields": fields}, "columnLineage": lineage})
    async with graph_of(tmp_path, run_event("COMPLETE", 4, inputs=[dataset("/weather", columns=["wind"])], outputs=[output])) as graph:
        assert (await graph.node(RUN_ID)).properties["leftOut"] == [
            {"operator": "/hours", "reason": "5 columns without a name are not listed", "kind": "missing"}
        ]
        columns = {"column:file:/weather:wind", "column:file:/hours:wind"}
        assert await graph.arcs(EdgeKind.DERIVES) == {("column:file:/weather:wind", "column:file:/hours:wind")}
        assert {dst for _, dst in await graph.arcs(EdgeKind.CONTAINS) if dst.startswith("column:")} == columns
