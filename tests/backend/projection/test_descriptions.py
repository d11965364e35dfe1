"""Owners, tags, terms, retention and data quality: from facets and from users, whatever comes first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from headwater.backend.projection import project_declaration, project_event
from headwater.graph.model import EdgeKind, GraphBatch, Stamp
from headwater.graph.model.declaration import Declaration
from headwater.graph.model.descriptions import bears, descriptions_of
from headwater.graph.quality import quality_of
from headwater.graph.stores import Direction, GraphStore, open_store
from headwater.graph.views.masking import field_tags, layer_of, owners_of, tags_of
from tests.backend.events import facet, run_event

ORDERS, EMAIL = "dataset:file:/in/0", "column:file:/in/0:email"


def event(number: int, facets: dict[str, Any], input_facets: dict[str, Any] | None = None) -> GraphBatch:
    stated = run_event(number, inputs=[{"namespace": "file", "name": "/in/0", "facets": facets, "inputFacets": input_facets or {}}])
    return project_event(stated, Stamp.at(stated["eventTime"], str(number)))


def declared(second: int, **description: Any) -> GraphBatch:
    stated = Declaration.from_json({"declared": "2026-01-01T00:00:00Z", "by": "ann", "descriptions": [description]})
    return project_declaration(stated, Stamp(f"2026-01-01T00:00:{second:02}.000000Z", "d"))


async def opened(folder: Path, batches: Sequence[GraphBatch]) -> GraphStore:
    store = open_store(f"sqlite:///{folder}/graph.db")
    await store.open()
    for batch in batches:
        await store.apply("t", [batch])
    return store


async def test_facets_and_users_describe_side_by_side(tmp_path: Path) -> None:
    facets = {
        "ownership": facet(owners=[{"name": "team:data", "type": "MAINTAINER"}, {"name": "bob", "type": "DATA_STEWARD"}]),
        "tags": facet(tags=[{"key": "gold", "value": "1", "source": "CATALOG"}, {"key": "pii", "value": "1", "field": "email"}]),
        "documentation": facet(description="orders as they come"),
    }
    store = await opened(
        tmp_path,
        [
            event(1, facets),
            declared(1, id=ORDERS, aspect="owner", value="eve"),
            declared(2, id=ORDERS, aspect="term", value="Order"),
            declared(3, id=ORDERS, aspect="retention", value="P7Y"),
            declared(4, id=ORDERS, aspect="legalHold", value="case 17"),
            declared(5, id=ORDERS, aspect="tag", value="hot"),
            declared(6, id=ORDERS, aspect="tag", value="hot", removed=True),
        ],
    )
    try:
        orders, email = await store.get("t", [ORDERS, EMAIL])
        found = descriptions_of(orders)
        assert (found.owners, found.stewards, found.tags, found.terms) == (("eve", "team:data"), ("bob",), ("gold",), ("Order",))
        assert (found.description, found.retention, found.legal_hold) == ("orders as they come", "P7Y", "case 17")
        assert descriptions_of(email).tags == ("pii",)
        tagged = await store.neighbours("t", ["tag:pii", "tag:hot"], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.DESCRIBES])
        assert {(edge.src, edge.dst) for edge in tagged} == {("tag:pii", EMAIL), ("tag:hot", ORDERS)}
        assert (bears(email, "tag:pii"), bears(orders, "tag:hot"), bears(orders, "owner:bob")) == (True, False, True)
    finally:
        await store.close()


async def test_a_later_event_takes_its_own_owners_back_and_no_users(tmp_path: Path) -> None:
    store = await opened(
        tmp_path,
        [
            event(1, {"ownership": facet(owners=[{"name": "old"}])}),
            declared(1, id=ORDERS, aspect="owner", value="eve"),
            event(2, {"ownership": facet(owners=[{"name": "new"}])}),
        ],
    )
    try:
        assert descriptions_of((await store.get("t", [ORDERS]))[0]).owners == ("eve", "new")
    finally:
        await store.close()


async def test_quality_is_kept_by_column_and_over_time(tmp_path: Path) -> None:
    def asserted(success: bool, nulls: int) -> dict[str, Any]:
        return {
            "dataQualityAssertions": facet(assertions=[{"assertion": "not_null", "success": success, "column": "email"}]),
            "dataQualityMetrics": facet(rowCount=100, columnMetrics={"email": {"nullCount": nulls}}),
        }

    store = await opened(tmp_path, [event(2, {}, asserted(False, 3)), event(1, {}, asserted(True, 0)), event(2, {}, asserted(False, 3))])
    try:
        checks = {(check.column, check.assertion): check for check in await quality_of(store, "t", ORDERS)}
        assert set(checks) == {(None, "metrics"), ("email", "metrics"), ("email", "not_null")}
        assert [result.values["success"] for result in checks["email", "not_null"].results] == [True, False]
        assert [result.values["nullCount"] for result in checks["email", "metrics"].results] == [0, 3]
        assert [dict(result.values) for result in checks[None, "metrics"].results] == [{"rowCount": 100}] * 2
        assert [check.assertion for check in await quality_of(store, "t", EMAIL)] == ["metrics", "not_null"]
    finally:
        await store.close()


async def test_the_order_of_statements_does_not_matter(tmp_path: Path) -> None:
    batches = [
        event(1, {"ownership": facet(owners=[{"name": "old"}]), "tags": facet(tags=[{"key": "pii", "value": "1", "field": "email"}])}),
        event(2, {"ownership": facet(owners=[{"name": "new"}])}),
        declared(1, id=ORDERS, aspect="tag", value="hot"),
        declared(2, id=ORDERS, aspect="tag", value="hot", removed=True),
    ]
    store = await opened(tmp_path, [])
    try:
        seen = set()
        for number, order in enumerate(permutations(batches)):
            for batch in (*order, order[0]):
                await store.apply(f"t{number}", [batch])
            seen.add(await store.fingerprint(f"t{number}"))
        assert len(seen) == 1
    finally:
        await store.close()


async def test_views_mask_by_what_users_say(tmp_path: Path) -> None:
    stated = [declared(1, id=ORDERS, aspect="tag", value="layer=gold"), declared(2, id=ORDERS, aspect="owner", value="eve")]
    store = await opened(tmp_path, [event(1, {"tags": facet(tags=[{"key": "pii", "value": "1"}])}), *stated])
    try:
        (orders,) = await store.get("t", [ORDERS])
        assert tags_of(orders) >= {"pii", "layer=gold"}
        assert (layer_of(orders), owners_of(orders)) == ("gold", ["eve"])
    finally:
        await store.close()


async def test_what_a_user_took_back_no_event_brings_back(tmp_path: Path) -> None:
    facets = {
        "ownership": facet(owners=[{"name": "team:data"}]),
        "tags": facet(tags=[{"key": "gold", "value": "1"}, {"key": "pii", "value": "1", "field": "email"}]),
    }
    removed = [
        declared(1, id=ORDERS, aspect="owner", value="team:data", removed=True),
        declared(2, id=ORDERS, aspect="tag", value="gold", removed=True),
        declared(3, id=EMAIL, aspect="tag", value="pii", removed=True),
    ]
    store = await opened(tmp_path, [event(1, facets), *removed, event(5, facets)])
    try:
        orders, email = await store.get("t", [ORDERS, EMAIL])
        assert (descriptions_of(orders).owners, tags_of(orders), field_tags(email, orders)) == ((), set(), set())
        await store.apply("t", [declared(9, id=EMAIL, aspect="tag", value="pii")])
        (email,) = await store.get("t", [EMAIL])
        assert "pii" in field_tags(email, orders), "whoever states it again has the last word"
    finally:
        await store.close()
