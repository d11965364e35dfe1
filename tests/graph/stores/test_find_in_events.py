"""Searches in the lake of a shop, made of ordinary OpenLineage events: things of every kind, with typing errors, on every store."""

from __future__ import annotations

import pytest

from headwater.backend.projection import project_event
from headwater.backend.projection.declaration import declaration_stamp, project_declaration
from headwater.backend.projection.event import event_stamp
from headwater.backend.projection.fold import fold
from headwater.graph.model import NodeKind
from headwater.graph.model.declaration import Declaration
from headwater.graph.search import Order, SearchRequest
from headwater.graph.stores import GraphStore
from tests.e2e.shop_lake import HOSTILE, LAKE, events, hostile_ids

DECLARED = {
    "declared": "2026-02-05T00:00:00Z",
    "by": "ann",
    "descriptions": [
        {"id": "dataset:s3%3A//lake:marts/revenue", "aspect": "term", "value": "Net Turnover"},
        {"id": "dataset:s3%3A//lake:marts/revenue", "aspect": "tag", "value": "golden"},
    ],
}


@pytest.fixture
async def shop(store: GraphStore, tenant: str) -> GraphStore:
    batches = [project_event(stated, event_stamp(stated, f"event-{number}")) for number, stated in enumerate(events())]
    await fold(store, tenant, batches)
    declaration = Declaration.from_json(DECLARED)
    await fold(store, tenant, [project_declaration(declaration, declaration_stamp(declaration, "declared"))])
    return store


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("revenue", "dataset:s3%3A//lake:marts/revenue"),
        ("revneue", "dataset:s3%3A//lake:marts/revenue"),  # two letters changed places
        ("revenu marts", "dataset:s3%3A//lake:marts/revenue"),  # another order, a letter is missing
        ("orders clean", "dataset:s3%3A//lake:clean/orders"),
        ("clean orders", "dataset:s3%3A//lake:clean/orders"),
        ("CLEAN_ORDERS", "job:airflow:clean_orders"),
        ("newsleter", "job:airflow:newsletter"),
        ("export board", "job:airflow:export_board"),
        ("discount", "column:s3%3A//lake:clean/discounts:discount"),
        ("email letters", "column:s3%3A//lake:exports/letters:email"),
        ("monthly report", "dataset:s3%3A//lake:marts/revenue"),  # words of its description
        ("finance", "owner:team%3Afinance"),
        ("team finance revenue", "dataset:s3%3A//lake:marts/revenue"),
        ("golden", "tag:golden"),
        ("personal", "tag:personal"),
        ("net turnover", "term:Net%20Turnover"),
        ("turnovr", "term:Net%20Turnover"),
        ("airflow", "system:airflow"),
        ("shop 5432", "platform:postgres%3A//shop%3A5432"),
        ("customers public", "dataset:postgres%3A//shop%3A5432:shop.public.customers"),
        ("المبيعات", hostile_ids()["right-to-left"]),
        ("quick fox brown", hostile_ids()["words"]),
    ],
)
async def test_words_find_things_of_a_real_lake(shop: GraphStore, tenant: str, text: str, expected: str) -> None:
    found = await shop.find(tenant, SearchRequest(text=text), first=20)
    assert expected in [hit.node.id for hit in found.hits][:8]


async def test_a_run_is_found_by_its_id(shop: GraphStore, tenant: str) -> None:
    run = events()[0]["run"]["runId"]
    for text in (run, f"run:{run.upper()}", run[:8], run[:13], run[:20]):
        found = await shop.find(tenant, SearchRequest(text=text))
        assert [hit.node.id for hit in found.hits] == [f"run:{run}"]


async def test_facets_of_a_real_lake_count_and_narrow(shop: GraphStore, tenant: str) -> None:
    every = await shop.find(tenant, SearchRequest(kinds=(NodeKind.DATASET,)), first=100)
    facets = {name: {each.value: each.count for each in found} for name, found in every.facets.items()}
    assert every.total == len(every.hits) == 12 + 2 * len(HOSTILE)
    assert facets["namespace"] == {LAKE: 9 + 2 * len(HOSTILE), "postgres://shop:5432": 3}
    assert (facets["owner"]["team:finance"], facets["tag"]["golden"], facets["term"]["Net Turnover"]) == (2, 1, 1)
    assert facets["state"]["FAIL"] == 2
    for chosen, count in (
        ({"owners": ("team:finance",)}, 2), ({"tags": ("golden",)}, 1), ({"terms": ("Net Turnover",)}, 1), ({"states": ("FAIL",)}, 2),
        ({"namespaces": ("postgres://shop:5432",)}, 3), ({"platforms": ("postgres",)}, 3),
        ({"owners": ("team:finance",), "states": ("FAIL",)}, 1), ({"owners": ("team:finance", "team:data")}, 3),
    ):  # fmt: skip
        for order in Order:
            found = await shop.find(tenant, SearchRequest(kinds=(NodeKind.DATASET,), order=order, **chosen), first=100)
            assert (found.total, len(found.hits)) == (count, count), (chosen, order)
    failed = await shop.find(tenant, SearchRequest(kinds=(NodeKind.JOB,), order=Order.FAILED_FIRST), first=2)
    assert {hit.state for hit in failed.hits} == {"FAIL"}
