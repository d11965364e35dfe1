"""Real events of Airflow, Great Expectations and Flink (tests/producers) join the lineage of Spark's runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.graph.access.scopes import Scope
from headwater.graph.model import NodeKind, node_id
from headwater.spark_listener.invocation import Invocation
from headwater.spark_listener.lineage.datasets import Dataset
from headwater.spark_listener.lineage.events import EventMaker, Work
from headwater.spark_listener.lineage.facets import Ledger
from headwater.spark_listener.lineage.parents import RunName
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.spark_conf import SparkConf
from tests.backend.service import ServiceProcess
from tests.producers.keeping import EVENTS, kept

POSTGRES, KAFKA = "postgres://127.0.0.1:5432", "kafka://127.0.0.1:9092"
CLEAN = f"dataset:{POSTGRES}:shop.public.clean"
SPARK_RUN, QUERY_RUN = "0198c0de-0000-7000-8000-0000000000a0", "0198c0de-0000-7000-8000-0000000000a1"


def _of_spark() -> list[dict[str, Any]]:
    """Events of our listener for the program that Airflow submits, with the properties that Airflow gave spark-submit."""
    given = json.loads((EVENTS / "airflow-spark.json").read_text())
    prefix = "spark.openlineage."
    parents = SparkConf({}, {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}).parents({})
    off = Ledger(status="off", mode="coarse")
    maker = EventMaker(application=RunName("airflow", "report", SPARK_RUN), spark_version="4.1.4", parents=parents)
    work = Work(
        run=RunName("airflow", "report.save.raw", QUERY_RUN), started="2026-11-26T15:00:00Z", ended="2026-11-26T15:00:10Z", kind="QUERY",
        inputs=[Dataset(POSTGRES, "shop.public.clean")], outputs=[Dataset(KAFKA, "raw")], outcome=Outcome(), ledger=off,
    )  # fmt: skip
    start = maker.application_start("2026-11-26T14:59:50Z", Invocation((), "/", "python"), "coarse", off)
    return [start, maker.work_start(work), maker.work_end(work), maker.application_end("2026-11-26T15:00:11Z", Outcome(), off)]


def _key(service: ServiceProcess, *scopes: Scope) -> dict[str, str]:
    ring = KeyRing(service.home.named_keys)
    _, key = ring.create("-".join(["of-producers", *scopes]), frozenset(scopes), tenant="producers")
    ring.close()
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture(scope="module")
def told(service: ServiceProcess) -> ServiceProcess:
    """The service that took all of it."""
    everything = [kept("airflow.jsonl"), kept("expectations.jsonl"), _of_spark(), kept("flink.jsonl")]
    with service.client(key=False, headers=_key(service, Scope.INTAKE)) as producer:
        for events in everything:
            for event in events:
                answer = producer.post("/api/v1/lineage", json=event)
                assert answer.status_code == 201, answer.text
    service.settled()
    return service


@pytest.fixture(scope="module")
def reader(told: ServiceProcess) -> Iterator[httpx.Client]:
    """Someone who may read, but no values."""
    with told.client(key=False, headers=_key(told, Scope.READ)) as client:
        yield client


def _runs(reader: httpx.Client, namespace: str, job: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = reader.get(f"/api/v1/namespaces/{namespace}/jobs/{job}/runs").json()["runs"]
    return found


def test_the_last_topic_leads_back_through_all_of_them_to_the_first_table(reader: httpx.Client) -> None:
    answer = reader.get("/api/v1/lineage", params={"nodeId": f"dataset:{KAFKA}:paid", "depth": "20"}).json()
    assert {node["id"] for node in answer["graph"]} >= {
        f"dataset:{POSTGRES}:shop.public.orders", "job:airflow:nightly.clean", CLEAN, "job:airflow:report.save.raw", f"dataset:{KAFKA}:raw",
        "job:flink:clean orders", f"dataset:{KAFKA}:cleaned", "job:flink:sum up orders", f"dataset:{KAFKA}:paid",
    }  # fmt: skip
    assert {node["id"] for node in answer["graph"]} & {"job:checks:orders_are_paid", "job:flink:watch orders"} == set()


def test_what_airflow_started_is_contained_in_its_dag(reader: httpx.Client) -> None:
    jobs = {job["name"]: job for job in reader.get("/api/v1/namespaces/airflow/jobs").json()["jobs"]}
    assert jobs["nightly.clean"]["parentJobName"] == jobs["nightly.report"]["parentJobName"] == "nightly"
    assert jobs["nightly.clean"]["simpleName"] == "clean"
    asked = '{ node(id: "job:airflow:report.save.raw") { containers { id } } }'
    containers = reader.post("/graphql", json={"query": asked}).json()["data"]["node"]["containers"]
    assert {"pipeline:airflow:report", "pipeline:airflow:nightly"} <= {container["id"] for container in containers}
    (run,) = _runs(reader, "airflow", "report")
    (task,), (dag,) = _runs(reader, "airflow", "nightly.report"), _runs(reader, "airflow", "nightly")
    assert run["facets"]["parent"]["run"]["runId"] == task["id"]
    assert run["facets"]["parent"]["root"]["run"]["runId"] == dag["id"] == task["facets"]["parent"]["run"]["runId"]
    assert (dag["state"], dag["nominalStartTime"]) == ("COMPLETED", dag["facets"]["nominalTime"]["nominalStartTime"])


def test_columns_that_a_task_of_airflow_computed_derive_from_those_of_its_source(reader: httpx.Client) -> None:
    asked = {"nodeId": f"datasetField:{POSTGRES}:shop.public.clean:amount"}
    (node,) = [
        node
        for node in reader.get("/api/v1/column-lineage", params=asked).json()["graph"]
        if node["data"]["field"] == "amount" and node["data"]["dataset"].endswith("clean")
    ]
    assert [(each["dataset"], each["field"]) for each in node["data"]["inputFields"]] == [("shop.public.orders", "amount")]


def test_great_expectations_checks_the_table_that_the_others_name(reader: httpx.Client) -> None:
    asked = '{ quality(node: "dataset:postgres%3A//127.0.0.1%3A5432:shop.public.clean") { assertion column results { run values } } }'
    checks = reader.post("/graphql", json={"query": asked}).json()["data"]["quality"]
    found = {(check["assertion"], check["column"]): check["results"][-1]["values"].get("success") for check in checks}
    assert (
        found.items()
        >= {
            ("expect_column_values_to_not_be_null", "customer"): True,
            ("expect_column_max_to_be_between", "amount"): False,
            ("expect_table_row_count_to_be_between", None): True,
        }.items()
    )
    (run,) = _runs(reader, "checks", "orders_are_paid")
    (dag,) = _runs(reader, "airflow", "nightly")
    assert run["facets"]["parent"]["run"]["runId"] == dag["id"]
    assert reader.get("/api/v1/namespaces/checks/jobs/orders_are_paid").json()["inputs"] == [
        {"namespace": POSTGRES, "name": "shop.public.clean"}
    ]


def test_values_that_great_expectations_found_are_told_to_those_alone_who_may_see_them(told: ServiceProcess, reader: httpx.Client) -> None:
    path = "/api/v1/events/lineage?limit=100"
    with told.client(key=False, headers=_key(told, Scope.READ, Scope.RECORDS)) as analyst:
        told_analyst = analyst.get(path).text
    told_reader = reader.get(path).text
    for facet in ('"dataQuality":', '"greatExpectations_assertions":'):  # both hold expected and actual values
        assert facet in told_analyst
        assert facet not in told_reader


def test_a_stream_of_flink_is_one_run_that_ends_or_is_cancelled(reader: httpx.Client) -> None:
    states = {job: [run["state"] for run in _runs(reader, "flink", job)] for job in ("clean orders", "watch orders", "sum up orders")}
    assert states == {"clean orders": ["COMPLETED"], "watch orders": ["ABORTED"], "sum up orders": ["COMPLETED"]}
    types = {job["name"]: job["type"] for job in reader.get("/api/v1/namespaces/flink/jobs").json()["jobs"]}
    assert types == {"clean orders": "STREAM", "watch orders": "STREAM", "sum up orders": "BATCH"}


def test_what_a_stream_writes_is_there_for_runs_that_begin_later(reader: httpx.Client) -> None:
    (writing,), (reading,) = _runs(reader, "flink", "clean orders"), _runs(reader, "flink", "sum up orders")
    (read,) = reading["inputDatasetVersions"]
    assert read["datasetVersionId"] == {"namespace": KAFKA, "name": "cleaned", "version": writing["id"]}


def test_what_a_run_names_at_its_start_alone_is_written_when_it_completes(reader: httpx.Client) -> None:
    (run,) = _runs(reader, "flink", "sum up orders")
    paid = reader.get(f"/api/v1/namespaces/{quote(KAFKA, safe='')}/datasets/paid").json()
    assert (paid["currentVersion"], paid["lastModifiedAt"]) == (run["id"], run["endedAt"])
    (version,) = reader.get(f"/api/v1/namespaces/{quote(KAFKA, safe='')}/datasets/paid/versions").json()["versions"]
    assert version["createdAt"] == run["endedAt"]
    asked = "versions(dataset: $d) { nodes { properties } } node(id: $d) { children(kinds: [VERSION]) { nodes { properties } } }"
    of = {"d": node_id(NodeKind.DATASET, KAFKA, "paid")}
    told = reader.post("/graphql", json={"query": f"query ($d: ID!) {{ {asked} }}", "variables": of}).json()["data"]
    for (written,) in (told["versions"]["nodes"], told["node"]["children"]["nodes"]):
        assert written["properties"]["writtenAt"] == run["endedAt"]
