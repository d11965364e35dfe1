"""Questions for too much are refused by name."""

import time

import pytest

from headwater import __version__
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


def _multiplied(steps: int) -> str:
    """Fragments that each spread the next one twice."""
    spread = "\n".join(f"fragment F{step} on Query {{ ...F{step + 1} ...F{step + 1} }}" for step in range(steps))
    return f"{{ ...F0 }}\n{spread}\nfragment F{steps} on Query {{ service {{ version }} }}"


async def test_fragments_that_multiply_are_refused_before_validation(refused):
    began = time.process_time()
    error = await refused(_multiplied(25))
    assert "fields, counted with their fragments in place" in error.message
    assert error.extensions["code"] == "InvalidQueryError"
    assert time.process_time() - began < 1


async def test_a_few_fragments_that_multiply_are_answered(ask):
    assert await ask(_multiplied(3)) == {"service": {"version": __version__}}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }", "spreads itself"),
        ("{ " + " ".join(f't{number}: trace(dataset: "x") {{ exact }}' for number in range(11)) + " }", "10 costly fields"),
        ("{ " + " ".join(f"r{number}: registrations {{ isUnchanged }}" for number in range(11)) + " }", "10 costly fields"),
        ('{ trace(dataset: "x") { ' + " ".join(f"r{number}: recapturable" for number in range(10)) + " } }", "10 costly fields"),
        (
            "mutation { " + " ".join(f'r{number}: startRecapture(dataset: "/{number}") {{ id }}' for number in range(11)) + " }",
            "10 costly fields",
        ),
        ("{ ...T } fragment T on Query { " + " ".join(f't{n}: rows(dataset: "x") {{ exact }}' for n in range(11)) + " }", "costly fields"),
        ("{ " + " ".join(f'node(id: "{number}") {{ id }}' for number in range(400)) + " }", "200 fields with arguments"),
        ("{ service { " + "version " * 900 + "} }", "800 fields"),
        ("{ search(text: " + "[" * 5_000 + "]" * 5_000 + ") { total } }", "100 brackets"),
        ("{ a" * 3_000 + "}" * 3_000, "100 brackets"),
        ("{ service { version } }" + " " * 64_000, "64,023 characters"),
        ("#\n" * 10_000 + "{ service { version } }", "tokens"),
        ('{ search(text: """' + "([{" * 200 + '""" focus: "' + "([{" * 200 + '") { total } }', "Unknown argument"),
    ],
)
async def test_a_document_made_to_harm_is_refused_at_once(refused, document, message):
    began = time.process_time()
    assert message in (await refused(document)).message
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ({"focus": ["dataset:file:/a"], "masks": [{"by": "NAME", "values": ["x*"] * 51}]}, "51 patterns"),
        ({"focus": ["dataset:file:/a"], "masks": [{"by": "NAME", "values": ["*" * 2_001]}]}, "2,001 characters"),
        ({"focus": ["dataset:file:/a"], "masks": [{"by": "TAG", "values": ["x"] * 1_001}]}, "1,001 values"),
        ({"focus": ["dataset:file:/a"], "masks": [{"by": "TAG", "values": ["x"]}] * 51}, "51 masks"),
        ({"focus": ["dataset:file:/a"] * 1_001}, "1,001 nodes"),
        ({"between": {"from": ["dataset:file:/a"] * 1_001, "to": ["dataset:file:/b"]}}, "1,001 nodes"),
    ],
)
async def test_the_lists_of_a_view_are_bounded(refused, view, message):
    error = await refused("query ($view: ViewInput!) { view(view: $view) { cursor } }", view=view)
    assert message in error.message


async def test_the_records_that_a_request_names_are_bounded(refused):
    rows = [{"file": "a", "row": number} for number in range(10_001)]
    error = await refused('query ($rows: [RowRef!]) { trace(dataset: "x", rows: $rows) { exact } }', rows=rows)
    assert (error.message, error.extensions["field"]) == ("rows has 10,001 records.", "rows")


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
