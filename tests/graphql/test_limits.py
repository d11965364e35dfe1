"""What asks for too much is refused by name."""

import pytest

from headwater.errors import InvalidQueryError
from headwater.graphql.limits import MAX_ALIASES, MAX_DEPTH, Budget


async def test_a_document_that_nests_too_deep_is_refused(refused):
    depth = MAX_DEPTH + 2
    error = await refused('{ node(id: "platform:file") ' + "{ containers " * depth + "{ id }" + " }" * depth + " }")
    assert "depth" in error.message


async def test_a_document_with_too_many_aliases_is_refused(refused):
    error = await refused("{ " + " ".join(f's{number}: search(text: "x") {{ total }}' for number in range(MAX_ALIASES + 1)) + " }")
    assert "aliases" in error.message


async def test_a_document_of_too_many_words_is_refused(refused):
    error = await refused("{ service { " + "version " * 5_000 + "} }")
    assert "tokens" in error.message


@pytest.mark.parametrize(("argument", "value"), [("first", 0), ("first", 1001)])
async def test_a_page_has_a_size_that_can_be_served(refused, argument, value):
    error = await refused(f"{{ search({argument}: {value}) {{ total }} }}")
    assert error.extensions == {"code": "InvalidQueryError", "hint": "It may be from 1 to 1,000.", "field": "first", "transient": False}


async def test_the_nodes_of_one_request_are_counted(refused, context):
    of = context()
    of.loaders.budget = Budget(4)
    error = await refused("{ search(kinds: [DATASET], first: 3) { nodes { containers { children { total } } } } }", of=of)
    assert "more than 4 nodes" in error.message


def test_a_budget_is_spent_up_to_its_last_node():
    budget = Budget(2)
    budget.spend(2)
    with pytest.raises(InvalidQueryError, match="more than 2 nodes"):
        budget.spend(1)
