"""Errors of ours keep their message and say what to do; those of others say nothing."""

import logging

import pytest

from headwater.errors import KeyRequiredError, NotFoundError, UnavailableError


async def test_an_error_of_ours_has_its_code_hint_and_whether_to_try_again(refused, context, monkeypatch):
    of = context()

    async def away(*_: object) -> None:
        raise UnavailableError("The store does not answer.", hint="Wait.")

    monkeypatch.setattr(of.graph, "counts", away)
    error = await refused("{ service { nodes } }", of=of)
    assert error.message == "The store does not answer."
    assert error.extensions == {"code": "UnavailableError", "hint": "Wait.", "field": None, "transient": True}


async def test_an_internal_error_is_masked_and_logged(refused, context, monkeypatch, caplog):
    of = context()

    async def broken(*_: object) -> None:
        raise KeyError("/secret/path")

    monkeypatch.setattr(of.graph, "counts", broken)
    with caplog.at_level(logging.ERROR, "headwater.graphql"):
        error = await refused("{ service { nodes } }", of=of)
    assert "secret" not in str(error)
    assert error.extensions["code"] == "InternalError"
    assert "/secret/path" in caplog.text


async def test_what_the_caller_did_wrong_is_not_logged(refused, caplog):
    await refused("{ search(first: 0) { total } }")
    await refused("{ nothing }")
    assert not caplog.records


async def test_a_fault_of_the_document_is_told_as_it_is(refused):
    error = await refused("{ service { colour } }")
    assert "colour" in error.message


@pytest.mark.parametrize("kind", [KeyRequiredError, NotFoundError])
def test_codes_are_class_names(kind):
    from graphql import GraphQLError

    from headwater.graphql.errors import DomainErrors

    error = GraphQLError("x", original_error=kind("No.", hint="Do."))
    assert DomainErrors().anonymise_error(error).extensions["code"] == kind.__name__
