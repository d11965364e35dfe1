"""Values reach a browser as they are stored."""

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.graphql.values import to_json


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**53, 2**53),
        (2**53 + 1, "9007199254740993"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (Decimal("1.10"), "1.10"),
        (date(2013, 2, 12), "2013-02-12"),
        (datetime(2013, 2, 12, 3, tzinfo=UTC), "2013-02-12T03:00:00+00:00"),
        (b"\x00\xff", "00ff"),
        (True, True),
        ({"a": [1, (math.inf,)]}, {"a": [1, ["Infinity"]]}),
    ],
)
def test_what_json_lacks_becomes_text(value, expected):
    assert to_json(value) == expected


leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals() | st.datetimes() | st.timedeltas()
)


@given(st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_every_value_can_be_sent(value):
    json.dumps(to_json(value), allow_nan=False)
