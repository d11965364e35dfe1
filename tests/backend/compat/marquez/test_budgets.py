"""Pages that would bring too much are refused; a single entry is always answered."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from headwater.backend.compat.marquez.dataset_shape import bodies_of_datasets, bodies_of_versions
from headwater.backend.compat.marquez.events import _page
from headwater.backend.compat.marquez.request import MarquezRequest, Place
from headwater.backend.compat.marquez.run_shape import bodies_of_runs
from headwater.backend.ingest.log.model import Draft, EntryKind
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.errors import InvalidQueryError
from headwater.graph.model import Node, NodeKind
from headwater.graph.stores import open_store


@pytest.fixture
async def ask(tmp_path: Path) -> AsyncIterator[MarquezRequest]:
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    yield MarquezRequest(store, "t", tells_values=True)
    await store.close()


async def test_a_page_of_runs_is_refused_that_has_too_many_inputs(ask: MarquezRequest) -> None:
    inputs: dict[str, object] = {f"input:dataset:f:{n}": {} for n in range(20_001)}
    one, other = (Node(f"run:{name}", NodeKind.RUN, name, {"startedAt": "2026-01-01", **inputs}) for name in ("a", "b"))
    with pytest.raises(InvalidQueryError, match="2 entries of this page have more than 20,000 inputs") as refused:
        await bodies_of_runs(ask, [one, other])
    assert "smaller limit" in str(refused.value.hint)
    assert [run["id"] for run in await bodies_of_runs(ask, [one])] == ["a"]


async def test_a_page_of_datasets_or_versions_is_refused_that_has_too_many_fields(ask: MarquezRequest) -> None:
    def wide(name: str, count: int) -> Node:
        fields = [{"name": f"c{n}", "type": "string"} for n in range(count)]
        return Node(f"dataset:f:{name}", NodeKind.DATASET, name, {"schema": {"fields": fields}})

    with pytest.raises(InvalidQueryError, match="2 entries of this page have more than 20,000 fields"):
        await bodies_of_datasets(ask, [wide("a", 10_001), wide("b", 10_000)])
    told = await bodies_of_datasets(ask, [wide("a", 10_000), wide("b", 10_000)])
    assert [(dataset["name"], len(dataset["fields"])) for dataset in told] == [("a", 10_000), ("b", 10_000)]
    (alone,) = await bodies_of_datasets(ask, [wide("a", 20_001)])
    assert alone["fields"][-1]["name"] == "c20000"

    versions = [Node(f"version:f:a:{n}", NodeKind.VERSION, str(n), {}) for n in range(3)]
    with pytest.raises(InvalidQueryError, match="3 entries of this page have more than 20,000 fields"):
        await bodies_of_versions(ask, wide("a", 10_000), versions)
    assert [len(version["fields"]) for version in await bodies_of_versions(ask, wide("a", 10_000), versions[:2])] == [10_000, 10_000]


def test_a_page_of_events_is_refused_where_too_much_would_be_read_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.backend.compat.marquez.events._LOOKED_AT_BYTES", 4_500)
    bodies = [json.dumps({"eventTime": "2026-01-01T00:00:00Z", "of": str(n) * 950}).encode() for n in range(8)]
    log = SqliteLog(tmp_path / "ingest.db")
    try:
        log.append("t", [Draft(EntryKind.EVENT, sha256(body).digest(), body) for body in bodies]).result()
        assert len(_page(log, "t", Place(2, 2), (None, None), last=True)[0]) == 2
        for place, after in ((Place(2, 3), None), (Place(1, 0), "2026-01-01T00:00:00Z")):
            with pytest.raises(InvalidQueryError, match="MiB, would be looked at"):
                _page(log, "t", place, (after, None), last=True)
    finally:
        log.close()
