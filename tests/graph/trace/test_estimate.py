"""The estimated size of a walk is right within a factor, and needs counts alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.traces.large_traces import refusing_large
from headwater.errors import LargeTraceError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.records import lists as lists_module
from headwater.graph.trace import TraceRequest, trace
from headwater.graph.trace.datasets import find_dataset
from headwater.graph.trace.estimate import expected_rows
from headwater.graph.trace.paths_between import datasets_towards
from headwater.graph.trace.start_records import select_start
from headwater.graph.trace.tracer import get_tracer
from tests.graph.jobs import TENANT
from tests.graph.trace.pipeline import build

_WITHOUT_END = 2**62


@pytest.fixture(scope="module", params=["few files", "many files"])
def pipeline(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AssociationStore, Path]]:
    root = tmp_path_factory.mktemp("lake")
    store = AssociationStore(root / "associations", sources=ANYWHERE)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lists_module, "MANY", 500 if request.param == "few files" else 0)  # then manifests are read without their lists
        build(store, root, 3)
    yield store, root
    store.close()


async def expected(store: AssociationStore, dataset: Path, *, enough: int = _WITHOUT_END, to: Path | None = None, **asked: Any) -> int:
    request = TraceRequest(dataset=str(dataset), **{"where": "true", **asked})
    with get_tracer(store).session(TENANT) as session:
        found = await find_dataset(session, None, request.dataset)
        target = (await find_dataset(session, None, str(to))).id if to else None
        towards = await datasets_towards(session, None, found.id, target, forward=request.forward) if target else None
        begin, _ = select_start(session, found, request, by_origin=False)
        return expected_rows(session, begin, forward=request.forward, goal_datasets=towards, row_limit=enough)


def kept(store: AssociationStore, *jobs: str) -> int:
    """The rows of all that some jobs wrote of themselves."""
    captures = [entry.capture for entry in store.catalog.captures(TENANT)]
    met = [capture for capture in captures if store.brief(TENANT, capture).run.job in jobs]
    assert len(met) == len(jobs)
    return sum(sum(store.boundary_rows(TENANT, capture).values()) for capture in met)


async def test_all_records_look_at_all_that_was_kept_on_their_way(pipeline) -> None:
    store, root = pipeline
    cleaned = kept(store, "clean_flights", "clean_planes", "clean_carriers")
    assert await expected(store, root / "enriched") == kept(store, "enrich") + cleaned
    assert await expected(store, root / "clean" / "flights") == kept(store, "clean_flights")


async def test_some_records_look_at_their_share(pipeline) -> None:
    store, root = pipeline
    whole, one = await expected(store, root / "enriched"), await expected(store, root / "enriched", where="number = 3")
    assert one == pytest.approx(whole / 25, abs=2)
    assert await expected(store, root / "enriched", where="number < 0") == 0


async def test_what_does_not_lead_to_the_target_is_not_counted(pipeline) -> None:
    store, root = pipeline
    towards = await expected(store, root / "report", to=root / "raw" / "weather.csv")
    assert kept(store, "report", "hourly") < towards < await expected(store, root / "report")


async def test_downstream_counts_the_rows_that_are_searched_too(pipeline) -> None:
    store, root = pipeline
    everything = await expected(store, root / "raw" / "planes.csv", forward=True)
    assert everything >= kept(store, "clean_planes")
    assert 0 < await expected(store, root / "raw" / "planes.csv", forward=True, where="tail = 't9'") < everything
    assert await expected(store, root / "report", forward=True) == 0  # nobody read it


async def test_it_counts_no_further_than_is_asked(pipeline) -> None:
    store, root = pipeline
    assert kept(store, "report") <= await expected(store, root / "report", enough=0) < await expected(store, root / "report")


async def test_a_trace_goes_elsewhere_by_its_size_alone(pipeline) -> None:
    store, root = pipeline
    request = TraceRequest(dataset=str(root / "enriched"), where="true")
    here = await trace(None, store, TENANT, request)
    small = await trace(None, store, TENANT, request, session_factory=refusing_large, larger_than=1_000)
    assert (small.records, small.exact) == (here.records, here.exact)
    with pytest.raises(LargeTraceError, match=r"expected to look at [\d,]+ rows"):
        await trace(None, store, TENANT, request, session_factory=refusing_large, larger_than=9)


async def test_what_an_earlier_release_kept_of_many_files_is_counted_by_its_manifest(pipeline) -> None:
    store, _ = pipeline
    capture = store.catalog.captures(TENANT)[0].capture
    brief = store.brief(TENANT, capture)
    counted = store.boundary_rows(TENANT, capture)
    assert counted == lists_module.rows_of_segments(store.manifest(TENANT, capture))
    if not brief.segments:
        assert lists_module.stated_rows(brief) == counted
