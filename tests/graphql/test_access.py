"""Mutations ask for a scope before they do anything, and one that nobody named is closed."""

import pytest
import strawberry

from headwater.errors import KeyRequiredError
from headwater.graph.access.scopes import Scope
from headwater.graphql import authorization
from headwater.graphql.authorization import MUTATIONS, QUERIES, close_mutations
from headwater.graphql.schema import schema

_TRIED = {
    "startReplay": 'mutation { startReplay(dataset: "raw", where: "true") { id } }',
    "removeReplay": 'mutation { removeReplay(id: "1") { id } }',
    "startRecapture": 'mutation { startRecapture(dataset: "raw") { id } }',
    "declare": "mutation { declare(declaration: {}) }",
    "startTrace": 'mutation { startTrace(dataset: "raw", where: "true") { id } }',
    "cancelTrace": 'mutation { cancelTrace(id: "1") { id } }',
    "createKey": 'mutation { createKey(name: "a", roles: ["admin"]) { secret } }',
    "rotateKey": 'mutation { rotateKey(id: "a") { secret } }',
    "revokeKey": 'mutation { revokeKey(id: "a") { id } }',
}
_ASKED = {
    "admin": "{ admin { roles { name } } }",
    "audit": "{ audit { damaged } }",
    "auditVerification": "{ auditVerification { intact } }",
    "registrations": "{ registrations { job } }",
}


def test_every_mutation_is_named() -> None:
    """A new mutation fails here until it has a scope in the table and a request in this test."""
    mutations = schema._schema.mutation_type
    assert mutations is not None
    assert set(mutations.fields) == set(MUTATIONS) == set(_TRIED)


@pytest.mark.parametrize("name", sorted(MUTATIONS))
async def test_a_mutation_is_refused_to_a_caller_without_its_scope(context, refused, name: str) -> None:
    asked: list[Scope] = []

    def refuse(scope: Scope) -> None:
        asked.append(scope)
        raise KeyRequiredError("not for you")

    error = await refused(_TRIED[name], of=context(require=refuse))
    assert (error.extensions["code"], asked) == ("KeyRequiredError", [MUTATIONS[name]])


@pytest.mark.parametrize("name", sorted(QUERIES))
async def test_a_query_that_needs_more_than_to_read_is_refused_before_anything_happens(context, refused, name: str) -> None:
    asked: list[Scope] = []

    def refuse(scope: Scope) -> None:
        asked.append(scope)
        raise KeyRequiredError("not for you")

    for document in (_ASKED[name], f"query {{ ...M }} fragment M on Query {_ASKED[name].replace('{ ', '{ service: ', 1)}"):
        asked.clear()
        error = await refused(document, of=context(require=refuse))
        assert (error.extensions["code"], asked) == ("KeyRequiredError", [QUERIES[name]])


@pytest.mark.parametrize("name", [*sorted(QUERIES), "createKey"])
async def test_outside_of_a_service_nothing_is_administered(context, refused, name: str) -> None:
    assert (await refused({**_TRIED, **_ASKED}[name])).extensions["code"] == "UnsupportedError"


async def test_an_alias_or_a_fragment_does_not_get_round_the_scope(context, refused) -> None:
    def refuse(scope: Scope) -> None:
        raise KeyRequiredError(f"not {scope}")

    hidden = "mutation { ...M } fragment M on Mutation { service: declare(declaration: {}) }"
    assert (await refused(hidden, of=context(require=refuse))).extensions["code"] == "KeyRequiredError"


async def test_a_mutation_that_nobody_named_is_closed_to_everybody(context, monkeypatch: pytest.MonkeyPatch) -> None:
    @strawberry.type
    class Query:
        nothing: int = 0

    @strawberry.type
    class Mutation:
        @strawberry.mutation
        async def added_later(self) -> int:
            return 1

    made = strawberry.Schema(query=Query, mutation=Mutation)
    assert made._schema.mutation_type is not None
    close_mutations(made._schema.mutation_type)
    result = await made.execute("mutation { addedLater }", context_value=context())
    assert result.errors is not None
    assert "is closed" in result.errors[0].message
    monkeypatch.setattr(authorization, "MUTATIONS", {"addedLater": Scope.READ})
    assert (await made.execute("mutation { addedLater }", context_value=context())).data == {"addedLater": 1}
