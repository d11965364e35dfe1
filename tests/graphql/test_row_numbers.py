"""Numbers of records beyond those of GraphQL's own Int: keys and offsets come and go as they are."""

from __future__ import annotations

import pytest

from headwater.errors import InvalidQueryError
from headwater.graphql.row_numbers import SCALAR
from tests.graphql.test_trace import TRACE, answered, captured

__all__ = ["answered", "captured"]


async def test_a_number_beyond_31_bits_reaches_the_trace(captured, answered):
    raw = captured[1].root / "raw" / "weather.csv"
    for number in (1 << 31, (1 << 53) + 1, str((1 << 62) + 1)):
        result = await answered(TRACE, dataset=str(raw), rows=[{"file": str(raw), "row": number}])
        assert [error.message for error in result.errors] == [f"file:{raw} has no record {number}."]


@pytest.mark.parametrize("wrong", [True, 1.5, "x", "", "--1", "٣", 1 << 63, str(1 << 70), None, []], ids=range(10))
def test_what_is_no_number_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidQueryError, match="whole number"):
        SCALAR.parse_value(wrong)


def test_numbers_are_text_where_javascript_has_none() -> None:
    far = (1 << 63) - 2
    for number, shown in ((0, 0), (1 << 53, 1 << 53), ((1 << 53) + 1, str((1 << 53) + 1)), (far, str(far)), (-far, str(-far))):
        assert SCALAR.serialize(number) == shown
        assert SCALAR.parse_value(shown) == number


async def test_the_caller_is_told_what_is_wrong_with_a_number(answered):
    """In the document itself, which once gave a fault of the service, and as a variable."""
    (error,) = (await answered('{ trace(dataset: "a", rows: [{file: "b", row: "x"}]) { semantics } }')).errors
    assert (error.extensions["code"], error.extensions["field"]) == ("InvalidQueryError", "row")
    (error,) = (await answered(TRACE, dataset="a", rows=[{"file": "b", "row": "x"}])).errors
    assert "whole number" in error.message
