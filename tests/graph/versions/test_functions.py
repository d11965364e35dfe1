"""The laws of merge, chain and diff, and that the difference which DuckDB computes is the one that they define."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import InvalidQueryError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace.version_diff.answer import Change, DiffRequest
from headwater.graph.trace.version_diff.engine import diff
from headwater.graph.versions.functions import chain_bags, chain_keyed, diff_bags, diff_keyed, merge_bags, merge_keyed
from tests.graph.jobs import TENANT, Job, write_csv
from tests.graph.trace.small import COLUMNS, RAW

BAGS = st.lists(st.sampled_from("abcd"), max_size=8).map(Counter)
DELTAS = st.dictionaries(st.sampled_from("abcd"), st.integers(-3, 3).filter(bool))
KEYED = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3))
KEYED_DELTAS = st.dictionaries(st.sampled_from("abcd"), st.none() | st.integers(0, 3))
ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 2)), max_size=6)


@given(before=BAGS, after=BAGS, last=BAGS)
def test_bags_obey_the_laws(before, after, last) -> None:
    first, second = diff_bags(before, after), diff_bags(after, last)
    assert merge_bags(before, first) == after
    assert merge_bags(merge_bags(before, first), second) == merge_bags(before, chain_bags(first, second))
    assert chain_bags(first, second) == diff_bags(before, last)


@given(before=KEYED, after=KEYED, first=KEYED_DELTAS, second=KEYED_DELTAS)
def test_keyed_records_obey_the_laws(before, after, first, second) -> None:
    assert merge_keyed(before, diff_keyed(before, after)) == after
    assert merge_keyed(merge_keyed(before, first), second) == merge_keyed(before, chain_keyed(first, second))


@given(one=DELTAS, two=DELTAS, three=DELTAS, a=KEYED_DELTAS, b=KEYED_DELTAS, c=KEYED_DELTAS)
def test_chains_are_associative(one, two, three, a, b, c) -> None:
    assert chain_bags(chain_bags(one, two), three) == chain_bags(one, chain_bags(two, three))
    assert chain_keyed(chain_keyed(a, b), c) == chain_keyed(a, chain_keyed(b, c))


def test_a_delta_of_another_version_is_refused() -> None:
    with pytest.raises(InvalidQueryError, match="which is not in the base"):
        merge_bags(Counter("a"), {"b": -1})


@settings(max_examples=8, deadline=None)
@given(before=ROWS, after=ROWS)
async def test_the_difference_of_two_versions_is_the_one_of_nova(before, after) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, store, runs = Path(folder), AssociationStore(Path(folder) / "associations", sources=ANYWHERE), []
        for clock, rows in enumerate((before, after), 1):
            raw = write_csv(root / "raw" / f"{clock}.csv", list(COLUMNS), [list(row) for row in rows])
            job = Job(store, "copy", clock, part=f"run{clock}", said={"mode": "overwrite"})
            job.write(job.scan(raw, "csv", COLUMNS, RAW), root / "out", "parquet", list(COLUMNS), files=1)
            runs.append(job.run)
        request = DiffRequest(dataset=str(root / "out"), before=runs[0], after=runs[1], first=100)
        bag, keyed = await diff(None, store, TENANT, request), None
        if len({key for key, _ in before}) == len(before) and len({key for key, _ in after}) == len(after):
            keyed = await diff(None, store, TENANT, DiffRequest(**{**_fields(request), "key": ["k"]}))
        store.close()
    counts = Counter(tuple(entry.after.values) for entry in bag.entries if entry.after)
    counts.subtract(tuple(entry.before.values) for entry in bag.entries if entry.before)
    assert {row: count for row, count in counts.items() if count} == diff_bags(Counter(before), Counter(after))
    if keyed is not None:
        expected = diff_keyed({key: (value,) for key, value in before}, {key: (value,) for key, value in after})
        found = {entry.after.values[0]: (entry.after.values[1],) for entry in keyed.entries if entry.after}
        gone = {entry.before.values[0]: None for entry in keyed.entries if entry.change is Change.REMOVED and entry.before}
        assert {**found, **gone} == expected


def _fields(request: DiffRequest) -> dict[str, object]:
    return {name: getattr(request, name) for name in ("dataset", "before", "after", "first")}
