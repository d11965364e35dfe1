"""Persisted queries: a document is sent once, and then named by its hash, within its tenant."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from graphql import GraphQLError

from headwater.graphql.persisted import PersistedQueries

_QUERY = "{ service { version } }"


def _named(document: str, **other: object) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": sha256(document.encode()).hexdigest(), **other}}


@pytest.fixture
def queries() -> PersistedQueries:
    return PersistedQueries()


def test_a_document_is_sent_once_and_then_named(queries: PersistedQueries) -> None:
    with pytest.raises(GraphQLError, match="PersistedQueryNotFound") as refused:
        queries.document("ours", None, _named(_QUERY))
    assert (refused.value.extensions or {})["code"] == "PERSISTED_QUERY_NOT_FOUND"
    assert queries.document("ours", _QUERY, _named(_QUERY)) == _QUERY
    assert queries.document("ours", None, _named(_QUERY)) == _QUERY
    assert queries.document(
        "ours", None, {"persistedQuery": {"version": 1, "sha256Hash": _named(_QUERY)["persistedQuery"]["sha256Hash"].upper()}}
    )


def test_a_tenant_cannot_tell_what_another_asks(queries: PersistedQueries) -> None:
    queries.document("ours", _QUERY, _named(_QUERY))
    with pytest.raises(GraphQLError, match="NotFound"):
        queries.document("theirs", None, _named(_QUERY))


@pytest.mark.parametrize("stated", ["text", 1, {}, {"version": 2, "sha256Hash": "a"}, {"version": 1}, {"version": 1, "sha256Hash": 7}])
def test_what_the_protocol_does_not_have_is_refused(queries: PersistedQueries, stated: object) -> None:
    with pytest.raises(GraphQLError, match="NotSupported"):
        queries.document("ours", _QUERY, {"persistedQuery": stated})


def test_a_document_is_not_kept_under_the_hash_of_another(queries: PersistedQueries) -> None:
    with pytest.raises(GraphQLError, match="another SHA-256"):
        queries.document("ours", "{ tags { totalCount } }", _named(_QUERY))
    with pytest.raises(GraphQLError, match="NotFound"):
        queries.document("ours", None, _named(_QUERY))


def test_what_one_tenant_sends_has_a_bound_and_costs_no_other_its_own(queries: PersistedQueries) -> None:
    queries.document("ours", _QUERY, _named(_QUERY))
    for number in range(300):
        sent = f"{{ a{number}: service {{ version }} }}"
        queries.document("theirs", sent, _named(sent))
    assert len(queries._of["theirs"]) == 256
    for number in range(30):
        sent = f"{number}".ljust(60_000)
        queries.document("theirs", sent, _named(sent))
    assert sum(map(len, queries._of["theirs"].values())) <= 1 << 20
    assert queries.document("ours", None, _named(_QUERY)) == _QUERY


def test_a_request_without_the_extension_is_as_it_was(queries: PersistedQueries) -> None:
    assert queries.document("ours", _QUERY, None) == queries.document("ours", _QUERY, {"other": 1}) == _QUERY
    assert queries.document("ours", None, None) is None
