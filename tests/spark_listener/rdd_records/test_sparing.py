"""Mode `auto` follows records of RDDs where that costs the job little."""

from __future__ import annotations

import pytest

from headwater.spark_listener.rdd_records.sparing import LITTLE, SENT, Sparing


@pytest.mark.parametrize(
    ("compiled", "sends", "size", "followed"),
    [
        (True, False, LITTLE * 1000, True), (True, True, LITTLE // SENT, True), (True, True, LITTLE // SENT + 1, False),
        (False, False, LITTLE, True), (False, False, LITTLE + 1, False), (False, True, LITTLE // SENT, True),
        (False, True, LITTLE // SENT + 1, False),
    ],
)  # fmt: skip
def test_little_data_is_followed_and_more_where_it_is_cheap(compiled: bool, sends: bool, size: int, followed: bool) -> None:
    sparing = Sparing(compiled=compiled)
    sparing.reads(1, size)
    sparing.reads(2, 0)
    refused = sparing.refuses([1, 2], sends=sends)
    assert (refused is None) == followed
    assert refused is None or refused.operator == "auto"


def test_a_source_of_which_nobody_knows_how_large_it_is_counts_as_large() -> None:
    sparing = Sparing(compiled=False)
    sparing.reads(1, None)
    assert sparing.knows(1)
    assert not sparing.knows(2)
    assert sparing.refuses([1], sends=False) is not None


def test_what_the_program_gives_counts_by_its_rows() -> None:
    sparing = Sparing(compiled=False)
    sparing.rows(1, range(LITTLE))
    assert sparing.refuses([1], sends=False) is not None
    sparing.rows(2, iter("ab"))
    sparing.rows(3, range(2**80))  # too many to tell
    assert sparing.refuses([2, 3], sends=True) is None
