"""Real events of dbt (openlineage-dbt, over DuckDB) join the lineage of other programs, by dataset and by parent."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import httpx
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.graph.access.scopes import Scope
from tests.backend.events import facet
from tests.backend.service import ServiceProcess
from tests.readers import dbt

pytestmark = pytest.mark.lake  # dbt is fetched

PARENT = "0198c0de-0000-7000-8000-00000000dbda"
PROJECT = {
    "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\nmodels: {shop: {+materialized: table}}\n",
    "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb, threads: 1}}}\n",
    "seeds/orders.csv": "id,customer,amount\n1,ann,3\n2,bob,4\n",
    "models/schema.yml": "sources: [{name: main, tables: [{name: orders}]}]\n"
    "models: [{name: sums, columns: [{name: customer, data_tests: [not_null]}]}]\n",
    "models/sums.sql": "select customer, sum(amount) as total from {{ source('main', 'orders') }} group by customer\n",
}


@pytest.fixture(scope="module")
def reader(service: ServiceProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Someone who may read what dbt sent."""
    folder = tmp_path_factory.mktemp("dbt")
    for name, text in PROJECT.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    ring = KeyRing(service.home.named_keys)
    _, key = ring.create("dbt", frozenset({Scope.INTAKE, Scope.READ, Scope.RECORDS}), tenant="dbt")
    ring.close()
    programs = dbt().parent
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder), "DBT_PROFILES_DIR": str(folder),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "OPENLINEAGE_URL": service.url, "OPENLINEAGE_API_KEY": key,
        "OPENLINEAGE_NAMESPACE": "nightly", "OPENLINEAGE_PARENT_ID": f"nightly/daily/{PARENT}",
    }  # fmt: skip
    for command in (["dbt", "seed"], ["dbt-ol", "build", "--select", "sums"]):
        done = subprocess.run(
            [programs / command[0], *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
    with service.client(key=False, headers={"Authorization": f"Bearer {key}"}) as client:
        assert client.post("/api/v1/lineage", json=_loaded_by_spark()).status_code == 201
        service.settled()
        yield client


def _loaded_by_spark() -> dict[str, object]:
    """A Spark job of the same scheduled run, which made the table that dbt reads."""
    parent = {"run": {"runId": PARENT}, "job": {"namespace": "nightly", "name": "daily"}}
    return {
        "eventType": "COMPLETE", "eventTime": "2026-01-01T00:00:00Z", "producer": "https://example.org/producer",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": "0198c0de-0000-7000-8000-000000000001", "facets": {"parent": facet(**parent)}},
        "job": {"namespace": "nightly", "name": "load.orders"},
        "inputs": [{"namespace": "s3://lake", "name": "raw/orders"}],
        "outputs": [{"namespace": "duckdb://shop.duckdb", "name": "shop.main.orders"}],
    }  # fmt: skip


def test_what_dbt_made_leads_back_through_its_job_to_what_spark_read(reader: httpx.Client) -> None:
    asked = {"nodeId": "dataset:duckdb://shop.duckdb:shop.main.sums", "depth": "10"}
    graph = {node["id"] for node in reader.get("/api/v1/lineage", params=asked).json()["graph"]}
    assert graph >= {
        "dataset:s3://lake:raw/orders", "job:nightly:load.orders", "dataset:duckdb://shop.duckdb:shop.main.orders",
        "job:nightly:shop.main.shop.sums.build.run", "dataset:duckdb://shop.duckdb:shop.main.sums",
    }  # fmt: skip


def test_columns_that_dbt_computed_derive_from_those_of_its_source(reader: httpx.Client) -> None:
    asked = {"nodeId": "datasetField:duckdb://shop.duckdb:shop.main.sums:total"}
    (node,) = [node for node in reader.get("/api/v1/column-lineage", params=asked).json()["graph"] if node["data"]["field"] == "total"]
    assert {(each["dataset"], each["field"]) for each in node["data"]["inputFields"]} >= {("shop.main.orders", "amount")}


def test_both_stand_below_the_scheduled_run(reader: httpx.Client) -> None:
    jobs = {job["name"]: job["parentJobName"] for job in reader.get("/api/v1/namespaces/nightly/jobs").json()["jobs"]}
    assert jobs["load.orders"] == "daily"
    assert jobs["dbt-run-shop"] == "daily"
    assert jobs["shop.main.shop.sums.build.run"] == "dbt-run-shop"


def test_its_tests_are_checks_of_the_dataset(reader: httpx.Client) -> None:
    asked = '{ quality(node: "dataset:duckdb%3A//shop.duckdb:shop.main.sums") { assertion column results { values } } }'
    checks = reader.post("/graphql", json={"query": asked}).json()["data"]["quality"]
    assert [(check["assertion"], check["column"]) for check in checks] == [("not_null", "customer")]
    assert checks[0]["results"][-1]["values"]["success"] is True
