"""The expressions behind a traced column, through every run of the path."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace import Hop, TraceRequest, trace
from tests.graph.jobs import TENANT
from tests.graph.trace.pipeline import Oracle, build


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AssociationStore, Oracle]]:
    root = tmp_path_factory.mktemp("pipeline")
    store = AssociationStore(root / "associations", sources=ANYWHERE)
    yield store, build(store, root, 1)
    store.close()


async def hops(pipeline: tuple[AssociationStore, Oracle], dataset: str, column: str | None, *, forward: bool = False) -> dict[str, Hop]:
    store, oracle = pipeline
    request = TraceRequest(dataset=str(oracle.root / dataset), where="origin = 'A'", column=column, forward=forward, values=False)
    return {hop.job.rpartition(":")[2]: hop for hop in (await trace(None, store, TENANT, request)).path}


def made(hop: Hop) -> dict[str, str]:
    return {one.column: one.expression for step in hop.expressions for one in step.made}


async def test_only_what_made_the_column_is_told(pipeline) -> None:
    found = await hops(pipeline, "report", "max_wind")
    assert made(found["report"]) == {"max_wind": "max(wind)"}
    assert ["origin"] in [list(step.by) for step in found["report"].expressions], "the keys of a group decide which rows it has"
    assert made(found["hourly"]) == {}, "the wind goes through as it is"


async def test_a_column_is_followed_through_the_runs_before(pipeline) -> None:
    found = await hops(pipeline, "report", "peak")
    assert made(found["report"]) == {"peak": "max(recent_max)"}
    assert made(found["hourly"]) == {"recent_max": "max(wind)"}


async def test_an_expression_brings_those_of_the_columns_that_it_reads(pipeline) -> None:
    assert made((await hops(pipeline, "hourly", "swing"))["hourly"]) == {"swing": "lag(day_wind, …)", "day_wind": "avg(wind)"}


async def test_without_a_column_all_expressions_are_told(pipeline) -> None:
    assert set(made((await hops(pipeline, "hourly", None))["hourly"])) == {"day_wind", "before", "recent_max", "swing"}
    forward = await hops(pipeline, "clean/weather", "wind", forward=True)
    assert set(made(forward["hourly"])) == {"day_wind", "before", "recent_max", "swing"}
