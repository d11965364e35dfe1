"""Connections of jobs, datasets, tags, runs and versions: their pages, their filters, and how often they ask the store."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from headwater.graph.stores.sqlite import SqliteStore
from headwater.graphql import catalog_query
from tests.stated import CLEAN_FILE, REPORT, TENANT, event, state

_RUNS = (
    'query ($s: [String!], $b: String, $u: String, $n: Int!, $a: String) { runs(job: "job:local:report", states: $s, since: $b, until: $u,'
    " first: $n, after: $a) { totalCount nodes { id } edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage endCursor } } }"
)
_OUT = {"path": "file:/data/out/report/part-0.parquet", "length": 80, "modified": 3000}


class _Counting:
    """A store that counts what is asked of it."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        self.asked[name] += 1
        return getattr(self._store, name)


def _id(number: int) -> str:
    return f"0198a1b2-0000-7000-8000-{number:012}"


@pytest.fixture
async def many(context):
    """The pipeline, whose report ran 40 times more."""
    store = context().graph
    for number in range(1, 41):
        await state(store, _id(number + 100), "report", 3 + number % 50, ("/data/out/clean", CLEAN_FILE), ("/data/out/report", _OUT))
    return store


async def test_jobs_and_datasets_are_paged_in_order(ask) -> None:
    whole = (await ask("{ jobs { totalCount nodes { id } pageInfo { hasNextPage } } }"))["jobs"]
    assert [node["id"] for node in whole["nodes"]] == ["job:local:clean", "job:local:report"]
    assert (whole["totalCount"], whole["pageInfo"]["hasNextPage"]) == (2, False)
    query = 'query ($a: String) { datasets(namespace: "file", first: 1, after: $a) { nodes { id } pageInfo { hasNextPage endCursor } } }'
    found, after, page = [], None, {}
    for _ in range(3):
        page = (await ask(query, a=after))["datasets"]
        found += [node["id"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
    assert found == [f"dataset:file:/data/{name}" for name in ("out/clean", "out/report", "raw/weather.csv")]
    assert not page["pageInfo"]["hasNextPage"]
    assert (await ask('{ jobs(namespace: "loc") { nodes { id } totalCount } }'))["jobs"] == {"nodes": [], "totalCount": 0}
    assert (await ask("{ tags { totalCount } }"))["tags"] == {"totalCount": 0}


async def test_runs_come_latest_first_and_every_run_once(ask, many) -> None:
    found, after = [], None
    while True:
        page = (await ask(_RUNS, n=7, a=after))["runs"]
        assert page["totalCount"] == 41
        assert page["pageInfo"]["hasPreviousPage"] is (after is not None)
        found += [node["id"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert len(found) == len(set(found)) == 41


async def test_runs_are_chosen_by_state_and_time(ask, many, context) -> None:
    failed = event(_id(999), "report", "FAIL", "2026-02-02T10:00:00Z", "/data/out/clean", "/data/out/report")
    from headwater.backend.projection import event_stamp, fold, project_event

    await fold(many, TENANT, [project_event(failed, event_stamp(failed, "f"))])

    async def ids(**wanted: Any) -> list[str]:
        return [node["id"] for node in (await ask(_RUNS, n=100, **wanted))["runs"]["nodes"]]

    assert await ids(s=["fail"]) == [f"run:{_id(999)}"]
    assert len(await ids(s=["COMPLETE"])) == 41
    assert len(await ids(s=["COMPLETE", "FAIL"])) == 42
    assert await ids(b="2026-02-01") == [f"run:{_id(999)}"]
    assert f"run:{_id(999)}" not in await ids(u="2026-02-01T00:00:00Z")
    assert f"run:{REPORT}" in await ids(u="2026-01-31T10:03:30Z")
    chosen = (await ask(_RUNS, n=5, s=["COMPLETE"]))["runs"]
    assert (chosen["totalCount"], chosen["pageInfo"]["hasNextPage"]) == (None, True)
    rest = (await ask(_RUNS, n=100, s=["COMPLETE"], a=chosen["pageInfo"]["endCursor"]))["runs"]["nodes"]
    assert len({node["id"] for node in [*chosen["nodes"], *rest]}) == 41


async def test_versions_are_those_of_the_dataset(ask, many) -> None:
    found = (await ask('{ versions(dataset: "dataset:file:/data/out/report", first: 2) { totalCount nodes { kind } } }'))["versions"]
    assert found == {"totalCount": 41, "nodes": [{"kind": "VERSION"}] * 2}


@pytest.mark.parametrize("size", [2, 40])
async def test_a_longer_page_asks_the_store_no_more_often(ask, context, many, size: int) -> None:
    counting = _Counting(many)
    query = (
        'query ($n: Int!) { runs(job: "job:local:report", first: $n) { nodes { id containers { id containers { id } }'
        " children(kinds: [OPERATOR], first: 1) { total } } } }"
    )
    own = context(graph=counting)
    answer = await ask(query, of=own, n=size)
    assert len(answer["runs"]["nodes"]) == size
    assert (counting.asked["latest"], counting.asked["ancestors"]) == (1, 2), counting.asked
    assert counting.asked["children"] == size, "the store pages one parent at a time"
    assert counting.asked.keys() <= {"latest", "ancestors", "children"}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ('{ jobs(after: "x") { totalCount } }', "after"), ("{ jobs(first: 0) { totalCount } }", "first"),
        ('{ jobs(after: "cGxhY2U6LTE=") { totalCount } }', "after"), ('{ runs(job: "nonsense") { totalCount } }', "id"),
        ('{ runs(job: "job:a:b", since: "soon") { totalCount } }', "since"),
        ('{ runs(job: "job:a:b", until: "9999-12-31T23:59:59-23:00") { totalCount } }', "until"),
    ],
)  # fmt: skip
async def test_what_cannot_be_meant_is_refused(refused, query: str, field: str) -> None:
    error = await refused(query)
    assert (error.extensions["code"], error.extensions["field"]) == ("InvalidQueryError", field)


async def test_a_page_of_runs_is_bounded_by_bytes_and_none_is_left_out(ask, many, context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_query, "_MOST_BYTES", 600)
    monkeypatch.setattr(catalog_query, "_AT_ONCE", 3)
    for states in (None, ["COMPLETE"]):
        found, after, pages = [], None, 0
        while True:
            page = (await ask(_RUNS, n=40, a=after, s=states))["runs"]
            assert 0 < len(page["nodes"]) < 10
            found += [node["id"] for node in page["nodes"]]
            after, pages = page["pageInfo"]["endCursor"], pages + 1
            if not page["pageInfo"]["hasNextPage"]:
                break
        assert len(found) == len(set(found)) == 41
        assert pages > 4
