"""Traces through five jobs against an oracle that works by nested loops."""

from pathlib import Path

import pytest

from headwater.graph.model import parse_id, run_key
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace import Semantics, TraceRequest, trace
from headwater.graph.trace.tracer import _TRACERS, Tracer
from tests.graph.jobs import TENANT, Job
from tests.graph.trace.conftest import records
from tests.graph.trace.pipeline import build

REPORT = ["origin", "hours", "max_wind", "min_visib", "peak", "flights", "max_delay", "carriers", "late"]


@pytest.fixture(
    scope="module",
    params=[(1, 10**6, True, True), (2, 0, True, False), (2, 3, False, False)],
    ids=["1, groups by number, operators by behaviour", "2, by number, in the database", "2, by hash, half and half"],
)
def pipeline(request, tmp_path_factory):
    seed, held, numbered, behaviours = request.param
    root = tmp_path_factory.mktemp("pipeline")
    store = AssociationStore(root / "associations", sources=ANYWHERE)
    _TRACERS[store] = Tracer(store, rows_in_memory=held)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Job, "second_hashes", numbered)
        patched.setattr(Job, "states_behaviours", behaviours)
        oracle = build(store, root, seed)
    yield store, oracle
    store.close()


async def _ask(store: AssociationStore, **request):
    return await trace(None, store, TENANT, TraceRequest(**{"values": False, **request}))


@pytest.mark.parametrize("origin", ["A", "B"])
async def test_influence_of_a_report_row_is_the_oracles(pipeline, origin) -> None:
    store, oracle = pipeline
    answer = await _ask(store, dataset=str(oracle.root / "report"), where=f"origin = '{origin}'")
    assert records(answer) == oracle.report_influence(origin)
    assert answer.exact
    assert answer.total == len(answer.records)


@pytest.mark.parametrize("column", REPORT)
async def test_witness_of_each_report_column_is_the_oracles(pipeline, column) -> None:
    store, oracle = pipeline
    for origin in "AB":
        answer = await _ask(
            store, dataset=str(oracle.root / "report"), where=f"origin = '{origin}'", column=column, semantics=Semantics.WITNESS
        )
        assert records(answer) == oracle.report_witness(origin, column), origin
        assert answer.exact, answer.incomplete


async def test_influence_of_every_window_row_is_the_oracles(pipeline) -> None:
    store, oracle = pipeline
    for file, row, values in oracle.hourly():
        answer = await _ask(store, dataset=str(oracle.root / "hourly"), rows=[(str(file), row)])
        assert records(answer) == oracle.hourly_influence(oracle.raw_of(values)), values


@pytest.mark.parametrize("column", ["wind", "day_wind", "before", "recent_max", "swing"])
async def test_witness_of_each_window_column_is_the_oracles(pipeline, column) -> None:
    store, oracle = pipeline
    for file, row, values in oracle.hourly()[::3]:
        answer = await _ask(store, dataset=str(oracle.root / "hourly"), rows=[(str(file), row)], column=column, semantics=Semantics.WITNESS)
        assert records(answer) == oracle.hourly_witness(oracle.raw_of(values), column), values
        assert answer.exact


async def test_forward_is_the_inverse_of_backward(pipeline) -> None:
    store, oracle = pipeline
    places = [(str(file), row, oracle.raw_of(values)) for file, row, values in oracle.hourly()]
    for n in oracle.kept[::4]:
        answer = await _ask(
            store, dataset=str(oracle.root / "raw" / "weather.csv"), rows=[(str(oracle.root / "raw" / "weather.csv"), n)], forward=True,
            to=str(oracle.root / "hourly"),
        )  # fmt: skip
        expected = {(Path(file).name, row) for file, row, of in places if ("weather.csv", n) in oracle.hourly_influence(of)}
        assert records(answer) == expected


async def test_forward_witness_is_the_inverse_of_backward_witness(pipeline) -> None:
    store, oracle = pipeline
    raw = oracle.root / "raw" / "weather.csv"
    for column in ("recent_max", "swing", "wind"):
        for n in oracle.kept[::6]:
            answer = await _ask(
                store, dataset=str(raw), rows=[(str(raw), n)], forward=True, to=str(oracle.root / "hourly"), column=column,
                semantics=Semantics.WITNESS,
            )  # fmt: skip
            expected = {
                (file.name, row)
                for file, row, values in oracle.hourly()
                if ("weather.csv", n) in oracle.hourly_witness(oracle.raw_of(values), column)
            }
            assert records(answer) == expected, (column, n)


async def test_forward_from_a_joined_record_reaches_the_report_rows_that_it_had_a_part_in(pipeline) -> None:
    store, oracle = pipeline
    planes = oracle.root / "raw" / "planes.csv"
    for row in (0, 1, 2):
        answer = await _ask(store, dataset=str(planes), rows=[(str(planes), row)], forward=True, to=str(oracle.root / "report"))
        expected = {origin for origin in "AB" if ("planes.csv", row) in oracle.report_influence(origin)}
        assert len(records(answer)) == len(expected)


async def test_to_keeps_the_records_of_a_dataset_between(pipeline) -> None:
    store, oracle = pipeline
    answer = await _ask(store, dataset=str(oracle.root / "report"), where="origin = 'A'", to=str(oracle.root / "hourly"))
    assert records(answer) == {(file.name, row) for file, row, values in oracle.hourly() if values["origin"] == "A"}
    assert [hop.job for hop in answer.path] == ["job:tests:report"]


async def test_the_path_tells_each_run_with_its_operations_outermost_first(pipeline) -> None:
    store, oracle = pipeline
    answer = await _ask(store, dataset=str(oracle.root / "report"), where="origin = 'A'", to=str(oracle.root / "raw" / "weather.csv"))
    assert [hop.job for hop in answer.path] == ["job:tests:report", "job:tests:hourly", "job:tests:clean_weather"]
    assert answer.path[0].operations == ["Join left on [('origin', 'origin')]", "Aggregate by origin"]
    assert answer.path[2].operations == ["Filter on hour"]
    assert answer.path[1].records == sum(1 for _, _, values in oracle.hourly() if values["origin"] == "A")


async def test_values_are_read_from_the_source_files(pipeline) -> None:
    store, oracle = pipeline
    answer = await _ask(
        store, dataset=str(oracle.root / "report"), where="origin = 'A'", to=str(oracle.root / "raw" / "weather.csv"), values=True
    )
    assert answer.records
    for record in answer.records:
        assert dict(record.values) == oracle.weather[record.row or 0]
        assert record.line == (record.row or 0) + 2


async def test_each_hop_names_the_tasks_that_wrote_its_records(pipeline) -> None:
    store, oracle = pipeline
    answer = await _ask(store, dataset=str(oracle.root / "report"), where="origin = 'A'")
    for hop in answer.path:
        ids = [parse_id(task)[1] for task in hop.tasks]
        (capture,) = {capture for capture, _ in ids}
        assert {attempt for _, attempt in ids} <= {str(file.attempt) for file in store.files(TENANT, capture)}
        assert run_key(store.manifest(TENANT, capture).run.run_id) == parse_id(hop.run)[1][0]
