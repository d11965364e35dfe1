"""Runs and datasets as PROV, against the graph that they come from."""

import pytest
from prov.model import ProvActivity, ProvAssociation, ProvCommunication, ProvDelegation, ProvDerivation, ProvGeneration, ProvUsage

from headwater.errors import NotFoundError
from headwater.graph.model import EdgeKind
from headwater.graph.prov import export_dataset, export_run
from headwater.graph.stores import Direction
from tests.graph.prov.validity import ends, pairs, read_back
from tests.stated import CLEAN, REPORT, TENANT, state

RAW, CLEANED, REPORTED = (
    "dataset:file:/data/raw/weather.csv",
    f"version:file:/data/out/clean:{CLEAN}",
    f"version:file:/data/out/report:{REPORT}",
)


async def test_a_dataset_is_exported_with_everything_upstream_of_it(store):
    bundle = read_back(await export_dataset(store, TENANT, "dataset:file:/data/out/report"))
    assert pairs(bundle, ProvDerivation) == {(REPORTED, CLEANED), (CLEANED, RAW)}
    assert pairs(bundle, ProvCommunication) == {(f"run:{REPORT}", f"run:{CLEAN}")}


async def test_what_an_export_says_was_used_and_made_is_what_the_graph_says(store):
    bundle = read_back(await export_dataset(store, TENANT, "dataset:file:/data/out/report"))
    runs = [f"run:{CLEAN}", f"run:{REPORT}"]
    edges = await store.neighbours(TENANT, runs, direction=Direction.BOTH, kinds=[EdgeKind.READS, EdgeKind.WRITES])
    assert pairs(bundle, ProvGeneration) == {(edge.dst, edge.src) for edge in edges if edge.kind is EdgeKind.WRITES}
    used = pairs(bundle, ProvUsage)
    assert {(edge.dst, edge.src) for edge in edges if edge.kind is EdgeKind.READS} == used - {(f"run:{CLEAN}", RAW)}


async def test_a_run_names_its_job_as_the_plan_that_its_application_followed(store):
    bundle = read_back(await export_run(store, TENANT, f"run:{REPORT}"))
    plans = [ends(record) for record in bundle.get_records(ProvAssociation)]
    assert [f"run:{REPORT}", "pipeline:local:flights", "job:local:report"] in plans
    assert pairs(bundle, ProvDelegation) == {("pipeline:local:flights", "system:local")}


async def test_a_run_has_its_times(store):
    bundle = read_back(await export_run(store, TENANT, f"run:{REPORT}"))
    (run,) = [activity for activity in bundle.get_records(ProvActivity) if activity.identifier.localpart == f"run:{REPORT}"]
    assert run.get_startTime().isoformat() == "2026-01-31T10:03:00+00:00"
    assert run.get_endTime().isoformat() == "2026-01-31T10:04:00+00:00"


async def test_a_job_that_overwrites_its_input_makes_no_circle(store):
    again = "0198a1b2-0000-7000-8000-000000000003"
    before = {"path": "file:/data/out/report/part-0.parquet", "length": 80, "modified": 3000}
    after = {"path": "file:/data/out/report/part-0.parquet", "length": 90, "modified": 4000}
    await state(store, again, "correct", 5, ("/data/out/report", before), ("/data/out/report", after))
    bundle = read_back(await export_dataset(store, TENANT, "dataset:file:/data/out/report"))
    assert (f"version:file:/data/out/report:{again}", REPORTED) in pairs(bundle, ProvDerivation)


async def test_a_dataset_that_no_run_wrote_is_an_entity_alone(store):
    bundle = read_back(await export_dataset(store, TENANT, RAW))
    assert [record.identifier.localpart for record in bundle.get_records()] == [RAW]


@pytest.mark.parametrize(("export", "target"), [(export_run, "run:0"), (export_dataset, "dataset:file:/nowhere")])
async def test_a_target_that_is_not_there_is_named(store, export, target):
    with pytest.raises(NotFoundError, match=target):
        await export(store, TENANT, target)
