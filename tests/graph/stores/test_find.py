"""Searches by words and facets, over every store, and what a restricted caller finds."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.errors import InvalidQueryError
from headwater.graph.access.patterns import Namespaces
from headwater.graph.access.restricted_store import RestrictedStore
from headwater.graph.model import NodeKind
from headwater.graph.search import Found, Order, SearchRequest
from headwater.graph.stores import GraphStore
from tests.graph.views.history import APR, FEB, JAN, MAR, ran

ORDERS, RAW, BOOKINGS = "dataset:s3%3A//shop:mart/orders_daily", "dataset:s3%3A//shop:raw/customerOrders", "dataset:hr:bookings"


def named(namespace: str, name: str, *columns: str, **facets: Any) -> dict[str, Any]:
    schema = {"schema": {"fields": [{"name": column, "type": "double"} for column in columns]}} if columns else {}
    return {"namespace": namespace, "name": name, "facets": schema | facets}


ABOUT = {
    "documentation": {"description": "Umsätze and revenue per day"},
    "ownership": {"owners": [{"name": "team:finance"}]},
    "tags": {"tags": [{"key": "gold", "value": "true"}]},
}


@pytest.fixture
async def lake(store: GraphStore, tenant: str) -> GraphStore:
    """A mart of a shop whose job failed at last, and a table of another department, written by a job of its own."""
    raw = named("s3://shop", "raw/customerOrders", "order_id", "amount")
    mart = named("s3://shop", "mart/orders_daily", "amount", "day", **ABOUT)
    await ran(store, tenant, JAN, "load_daily", "r1", [raw], [mart])
    await ran(store, tenant, FEB, "load_daily", "r2", [raw], [mart], "FAIL")
    secret = named("hr", "bookings", "orders", tags={"tags": [{"key": "confidential"}]}, ownership={"owners": [{"name": "hr-orders"}]})
    await ran(store, tenant, MAR, "payroll", "r3", [], [secret])
    return store


async def ids(store: GraphStore, tenant: str, text: str = "", **asked: Any) -> list[str]:
    return [hit.node.id for hit in (await store.find(tenant, SearchRequest(text=text, **asked), first=50)).hits]


def values(found: Found, facet: str) -> dict[str, int]:
    return {each.value: each.count for each in found.facets.get(facet, ())}


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("orders daily", ORDERS),
        ("daily orders", ORDERS),  # in any order
        ("daily ordres", ORDERS),  # swapped letters
        ("dayly orders", ORDERS),  # a wrong letter
        ("oders daily", ORDERS),  # a missing letter
        ("DAILY mart", ORDERS),
        ("revenue", ORDERS),  # its description
        ("umsatze", ORDERS),  # without the accent
        ("customer", RAW),  # a part of a word
        ("stomer", RAW),
        ("customerOrders", RAW),
        ("customer-orders", RAW),
        ("mart/orders_daily", ORDERS),
        ("load daily", "job:air:load_daily"),
        ("finance", "owner:team%3Afinance"),
        ("gold", "tag:gold"),
        ("shop", "platform:s3%3A//shop"),
        ("air", "system:air"),
        ("order_id", "column:s3%3A//shop:raw/customerOrders:order_id"),
        ("amount customer", "column:s3%3A//shop:raw/customerOrders:amount"),  # a column of a dataset
        ("r2", "run:r2"),
    ],
)
async def test_words_find_every_kind_of_node(lake: GraphStore, tenant: str, text: str, first: str) -> None:
    assert (await ids(lake, tenant, text))[0] == first


@pytest.mark.parametrize(
    "text", ["%%%", "' UNION xq --", '"', "* : ^", "xyzzyplugh", "xq : zq", "NEAR(xq zq)", "xq~ -zq && !xq", "\0", "🦄", "a" * 1_000]
)
async def test_other_texts_find_nothing_and_break_nothing(lake: GraphStore, tenant: str, text: str) -> None:
    assert ORDERS not in await ids(lake, tenant, text)


async def test_what_a_node_is_called_comes_before_what_it_is_about(lake: GraphStore, tenant: str) -> None:
    found = await ids(lake, tenant, "finance")
    assert found.index("owner:team%3Afinance") < found.index(ORDERS)


async def test_facets_count_and_narrow(lake: GraphStore, tenant: str) -> None:
    found = await lake.find(tenant, SearchRequest(text="orders"))
    assert found.counted
    assert found.total == len(found.hits)
    assert values(found, "kind") == {"dataset": 3, "column": 1, "owner": 1}
    assert values(found, "platform") == {"s3": 2, "hr": 2}
    assert values(found, "owner") == {"team:finance": 1, "hr-orders": 1}
    assert values(found, "tag") == {"gold": 1, "confidential": 1}
    assert values(found, "state") == {"FAIL": 1, "COMPLETE": 1}
    for asked in (
        {"kinds": (NodeKind.DATASET,), "states": ("FAIL",)},
        {"tags": ("gold",)},
        {"owners": ("team:finance",)},
        {"namespaces": ("s3://shop",), "states": ("FAIL",)},
        {"platforms": ("s3",), "tags": ("gold", "silver")},
    ):
        assert await ids(lake, tenant, "orders", **asked) == [ORDERS]
    assert await ids(lake, tenant, "orders", owners=("nobody",)) == []


async def test_a_search_follows_what_is_stated_later(lake: GraphStore, tenant: str) -> None:
    mart = named("s3://shop", "mart/orders_daily", documentation={"description": "Turnover"}, tags={"tags": [{"key": "silver"}]})
    await ran(lake, tenant, APR, "load_daily", "r4", [], [mart])
    assert await ids(lake, tenant, "revenue") == []
    assert await ids(lake, tenant, "turnover") == [ORDERS]
    found = await lake.find(tenant, SearchRequest(text="orders daily", kinds=(NodeKind.DATASET,)))
    assert (values(found, "state"), values(found, "tag")) == ({"COMPLETE": 1}, {"silver": 1})
    listed = await lake.find(tenant, SearchRequest(kinds=(NodeKind.DATASET,)))
    assert values(listed, "state") == {"COMPLETE": 2}


async def test_a_run_without_datasets_at_its_end_has_the_state_of_its_end(store: GraphStore, tenant: str) -> None:
    await ran(store, tenant, JAN, "make", "r1", [], [named("file", "report")], "START")
    assert await ids(store, tenant, kinds=(NodeKind.DATASET,), states=("START",)) == ["dataset:file:report"]
    await ran(store, tenant, FEB, "make", "r1", [], [], "FAIL")
    assert await ids(store, tenant, kinds=(NodeKind.DATASET,), states=("START",)) == []
    assert await ids(store, tenant, kinds=(NodeKind.DATASET,), states=("FAIL",)) == ["dataset:file:report"]
    assert await ids(store, tenant, "make", states=("FAIL",)) == ["job:air:make"]


async def test_a_late_event_of_an_earlier_run_changes_no_state(lake: GraphStore, tenant: str) -> None:
    await ran(lake, tenant, "2026-01-02T00:00:00Z", "load_daily", "r1", [], [named("s3://shop", "mart/orders_daily")])
    assert await ids(lake, tenant, kinds=(NodeKind.DATASET,), states=("FAIL",)) == [ORDERS]


async def test_a_list_has_failures_first_and_pages(store: GraphStore, tenant: str) -> None:
    for number in range(7):
        state = "FAIL" if number in (3, 5) else "START" if number == 6 else "COMPLETE"
        await ran(store, tenant, f"2026-01-0{number + 1}T00:00:00Z", f"job{number}", f"r{number}", [], [named("file", f"t{number}")], state)
    for order, expected in (
        (Order.FAILED_FIRST, "3560124"),
        (Order.NAME, "0123456"),
        (Order.LATEST, "6543210"),
    ):
        request, names, cursor = SearchRequest(kinds=(NodeKind.DATASET,), order=order), "", None
        while True:
            page = await store.find(tenant, request, first=2, after=cursor)
            names += "".join(hit.node.name[-1] for hit in page.hits)
            assert (page.total, values(page, "state")) == (7, {"COMPLETE": 4, "FAIL": 2, "START": 1})
            cursor = page.cursor
            if cursor is None:
                break
        assert names == expected


async def test_ranked_hits_come_in_pages(store: GraphStore, tenant: str) -> None:
    await ran(store, tenant, JAN, "make", "r1", [], [named("file", f"weather_{number}") for number in range(9)])
    request, found, cursor = SearchRequest(text="weather", kinds=(NodeKind.DATASET,)), list[str](), None
    while True:
        page = await store.find(tenant, request, first=4, after=cursor)
        found += [hit.node.name for hit in page.hits]
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(found) == [f"weather_{number}" for number in range(9)]


@pytest.mark.parametrize("cursor", ["", "x", "bm90IGpzb24=", "WzEsMl0=", "W10=", "é"])
@pytest.mark.parametrize("text", ["", "orders"])
async def test_a_foreign_cursor_is_refused(lake: GraphStore, tenant: str, cursor: str, text: str) -> None:
    with pytest.raises(InvalidQueryError):
        await lake.find(tenant, SearchRequest(text=text), after=cursor)


async def test_another_tenant_finds_nothing(lake: GraphStore, tenant: str) -> None:
    other = f"{tenant}-2"
    await ran(lake, other, JAN, "make", "x1", [], [named("file", "orders_elsewhere")])
    assert await ids(lake, other, "orders") == ["dataset:file:orders_elsewhere"]
    assert "dataset:file:orders_elsewhere" not in await ids(lake, tenant, "orders")
    assert (await lake.find(other, SearchRequest())).total == 4  # dataset, job, platform, system
    await lake.drop(tenant)
    assert await ids(lake, tenant, "orders") == []
    assert (await lake.find(tenant, SearchRequest())).total == 0
    assert await ids(lake, other, "orders") == ["dataset:file:orders_elsewhere"]


async def test_a_restricted_caller_finds_and_counts_only_what_is_visible(lake: GraphStore, tenant: str) -> None:
    seen = RestrictedStore(lake, tenant, [Namespaces.of(["s3://shop", "air"])])
    for text in ("orders", "bookings", "confidential", "hr", "payroll", "r3", ""):
        found = await seen.find(tenant, SearchRequest(text=text))
        texts = " ".join([*(hit.node.id for hit in found.hits), *(each.value for facet in found.facets.values() for each in facet)])
        assert not {"hr", "bookings", "confidential", "hr-orders"} & set(texts.replace(":", " ").replace("/", " ").split())
        assert found.total == len(found.hits) == sum(values(found, "kind").values())
    assert await ids(seen, tenant, "finance") == ["owner:team%3Afinance", ORDERS]  # type: ignore[arg-type]
    assert "run:r2" not in await ids(seen, tenant, "r2")  # type: ignore[arg-type]
    assert await ids(seen, tenant, "payroll") == await ids(seen, tenant, "paproll")  # type: ignore[arg-type]


async def test_the_state_that_a_hidden_job_brings_stays_hidden(lake: GraphStore, tenant: str) -> None:
    seen = RestrictedStore(lake, tenant, [Namespaces.of(["s3://shop"])])
    for request in (SearchRequest(text="orders"), SearchRequest(kinds=(NodeKind.DATASET,))):
        found = await seen.find(tenant, request)
        assert (found.total, found.facets.get("state"), found.facets.get("pipeline")) == (len(found.hits), None, None)
    assert await ids(seen, tenant, kinds=(NodeKind.DATASET,)) == [ORDERS, RAW]  # type: ignore[arg-type]
    assert await ids(seen, tenant, "orders", states=("FAIL",)) == []  # type: ignore[arg-type]
    assert await ids(seen, tenant, kinds=(NodeKind.DATASET,), states=("FAIL",)) == []  # type: ignore[arg-type]
