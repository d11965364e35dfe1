"""Every command takes a dataset by the same names: a URI of a store, a partition, an odd name, an id."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.cli.answers import open_answers
from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from tests.backend.cli.command import headwater

ODD = "run #1 50%25?&;+ä'\"\n[x]"
SOURCE, REPORT = (("s3://lake", name) for name in (ODD, "out/report"))


def _event(minute: int, job: str, read: tuple[str, str], column: str, written: tuple[str, str]) -> dict[str, object]:
    source = {"namespace": read[0], "name": read[1], "field": column, "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}]}
    facets = {
        "schema": {"fields": [{"name": "amount"}]},
        "columnLineage": {"fields": {"amount": {"inputFields": [source]}}},
    }
    return {
        "eventType": "COMPLETE", "eventTime": f"2026-01-31T10:{minute:02}:00Z", "producer": "https://example.org/producer",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": f"0198c0de-0000-7000-8000-00000000000{minute}"}, "job": {"namespace": "shop", "name": job},
        "inputs": [{"namespace": read[0], "name": read[1], "facets": {"schema": {"fields": [{"name": column}]}}}],
        "outputs": [{"namespace": written[0], "name": written[1], "facets": facets}],
    }  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    home = tmp_path_factory.mktemp("home")

    async def fill() -> None:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            events = [
                _event(1, "load", SOURCE, "price", ("s3://lake", "warehouse/sales/year=2026/month=5")),
                _event(
                    2,
                    "report",
                    ("s3://lake", "warehouse/sales/part-00000-7c3e1f0a-5b6c-4d2e-9f80-1a2b3c4d5e6f-c000.snappy.parquet"),
                    "amount",
                    REPORT,
                ),
            ]
            for event in events:
                assert not workspace.events.submit("default", json.dumps(event).encode()).result().rejected
            assert await workspace.settle(patience=600) == 0

    asyncio.run(fill())
    return str(home)


def _ask(home: str, *arguments: str) -> Any:
    return json.loads(headwater(*arguments, "--home", home, "--format", "json").stdout)


SALES_NAMES = [
    "s3://lake/warehouse/sales", "s3a://lake/warehouse/sales", "s3n://lake/warehouse/sales/", "warehouse/sales", "lake/warehouse/sales",
    "s3://lake/warehouse/sales/year=2026/month=5", "s3://lake/warehouse/sales/part-00000-7c3e1f0a-5b6c-4d2e-9f80-1a2b3c4d5e6f-c000.snappy.parquet",
    "dataset:s3%3A//lake:warehouse/sales",
]  # fmt: skip


@pytest.mark.parametrize("name", SALES_NAMES)
def test_commands_of_the_graph_take_a_uri_a_partition_and_an_id(home: str, name: str) -> None:
    sales, report = "dataset:s3%3A//lake:warehouse/sales", "dataset:s3%3A//lake:out/report"
    assert _ask(home, "lineage", name)["focus"] == sales
    assert report in {node["id"] for node in _ask(home, "impact", name)}
    assert _ask(home, "column", "lineage", name, "amount")[0]["from"].endswith("price")
    assert {row["job"] for row in _ask(home, "column", "access", name, "amount")} == {"job:shop:load", "job:shop:report"}
    assert [(row["aspect"], row["value"]) for row in _ask(home, "describe", name, "--owner", "ann")] == [("owner", "ann")]


def test_an_odd_name_on_a_store_is_one_dataset_in_every_command(home: str) -> None:
    for name in (f"s3://lake/{ODD}", f"s3a://lake/{ODD}", ODD):
        assert {"dataset:s3%3A//lake:out/report", "dataset:s3%3A//lake:warehouse/sales"} <= {
            row["id"] for row in _ask(home, "impact", name)
        }
        assert _ask(home, "column", "lineage", name, "price", "--direction", "downstream")
        done = headwater("trace", name, "--where", "true", "--home", home, code=5)
        assert "No dataset is called" not in done.stderr, "a trace knows it, and cannot read it here"


def test_names_are_taken_through_the_schema(home: str) -> None:
    async def ask() -> list[str]:
        async with open_answers(Path(home)) as answers:
            view = "query ($view: ViewInput!) { view(view: $view) { nodes { node { id } focus } } }"
            impact = "query ($focus: [ID!]) { impact(focus: $focus) { rows { node { id } } } }"
            found = []
            for name in SALES_NAMES:
                nodes = (await answers.ask(view, view={"focus": [name]}))["view"]["nodes"]
                found += [item["node"]["id"] for item in nodes if item["focus"]]
                assert (await answers.ask(impact, focus=[name]))["impact"]["rows"]
            return found

    assert set(asyncio.run(ask())) == {"dataset:s3%3A//lake:warehouse/sales"}
