"""Root fields of the schema check a scope before they do anything, and must declare it."""

import pytest
import strawberry

from headwater.errors import KeyRequiredError
from headwater.graph.access.scopes import Scope
from headwater.graphql.root_fields import access_of
from headwater.graphql.schema import schema

_TRIED = {
    "applyPolicy": 'mutation { applyPolicy(text: "") { policy { name } } }',
    "removePolicy": 'mutation { removePolicy(name: "p") }',
    "acceptDeviation": 'mutation { acceptDeviation(id: "1", reason: "r") { id } }',
    "startReplay": 'mutation { startReplay(dataset: "raw", where: "true") { id } }',
    "answerReplay": 'mutation { answerReplay(id: "1", action: CONTINUE) { id } }',
    "cancelReplay": 'mutation { cancelReplay(id: "1") { id } }',
    "approveReplay": 'mutation { approveReplay(id: "1") { id } }',
    "commitReplay": 'mutation { commitReplay(id: "1") { id } }',
    "undoReplay": 'mutation { undoReplay(id: "1") { id } }',
    "removeReplay": 'mutation { removeReplay(id: "1") { id } }',
    "createTrigger": "mutation { createTrigger(definition: {}) { name } }",
    "fireTrigger": 'mutation { fireTrigger(name: "a") { id } }',
    "pauseTrigger": 'mutation { pauseTrigger(name: "a") { name } }',
    "resumeTrigger": 'mutation { resumeTrigger(name: "a") { name } }',
    "removeTrigger": 'mutation { removeTrigger(name: "a") { name } }',
    "runWorkflow": 'mutation { runWorkflow(name: "a") { name } }',
    "enrolDataset": 'mutation { enrolDataset(dataset: "raw") { path } }',
    "withdrawDataset": 'mutation { withdrawDataset(dataset: "raw") }',
    "collectBlocks": 'mutation { collectBlocks(dataset: "raw") { id } }',
    "compactBlocks": 'mutation { compactBlocks(dataset: "raw") { id } }',
    "restoreBlocks": 'mutation { restoreBlocks(id: "1") }',
    "startWhy": "mutation { startWhy { id } }",
    "startBlame": 'mutation { startBlame(dataset: "raw", where: "true") { id } }',
    "startWitness": 'mutation { startWitness(dataset: "raw", where: "true") { id } }',
    "startCompare": 'mutation { startCompare(first: "run:1", second: "run:2") { id } }',
    "startClean": 'mutation { startClean(dataset: "raw", quality: "1") { id } }',
    "cancelCulpritSearch": 'mutation { cancelCulpritSearch(id: "1") { id } }',
    "startRecapture": 'mutation { startRecapture(dataset: "raw") { id } }',
    "describe": 'mutation { describe(node: "dataset:file:a", changes: []) { owners } }',
    "saveView": 'mutation { saveView(name: "a", location: "/") { id } }',
    "changeView": 'mutation { changeView(id: "1") { id } }',
    "removeView": 'mutation { removeView(id: "1") { id } }',
    "applyContract": "mutation { applyContract(contract: {}) }",
    "declare": "mutation { declare(declaration: {}) }",
    "startTrace": 'mutation { startTrace(dataset: "raw", where: "true") { id } }',
    "cancelTrace": 'mutation { cancelTrace(id: "1") { id } }',
    "createKey": 'mutation { createKey(name: "a", roles: ["admin"]) { secret } }',
    "rotateKey": 'mutation { rotateKey(id: "a") { secret } }',
    "revokeKey": 'mutation { revokeKey(id: "a") { id } }',
}
_ASKED = {
    "checkContract": "{ checkContract(contract: {}) { name } }",
    "policies": "{ policies { name } }",
    "deviations": "{ deviations { id } }",
    "checkPolicy": '{ checkPolicy(text: "") { cut } }',
    "draftPolicy": '{ draftPolicy(name: "p") }',
    "carriedTags": "{ carriedTags { total } }",
    "retention": "{ retention { total } }",
    "notificationTargets": "{ notificationTargets { name } }",
    "admin": "{ admin { roles { name } } }",
    "audit": "{ audit { damaged } }",
    "datasetReaders": '{ datasetReaders(dataset: "d", since: "2026-01-01T00:00:00Z") { damaged } }',
    "auditVerification": "{ auditVerification { intact } }",
    "registrations": "{ registrations { job } }",
    "erasures": "{ erasures { id } }",
    "testTrigger": '{ testTrigger(name: "a", since: "2026-01-01T00:00:00Z") { notes } }',
    "replayDryRun": '{ replayDryRun(dataset: "raw", where: "true") { excluded } }',
}


MUTATIONS = {name: access.scope for name, access in schema.access["Mutation"].items()}
QUERIES = {name: access.scope for name, access in schema.access["Query"].items() if access.scope is not Scope.READ}


def test_every_mutation_is_tried() -> None:
    """A new mutation fails here until it has a request in this test."""
    assert set(MUTATIONS) == set(_TRIED)


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


def test_a_field_without_a_scope_is_refused_when_the_schema_is_made() -> None:
    @strawberry.type
    class Query:
        @strawberry.field
        async def added_later(self) -> int:
            return 1

    with pytest.raises(TypeError, match=r"Query\.addedLater states no scope"):
        access_of(strawberry.Schema(query=Query)._schema)
