"""`headwater trace` and record exports on a home with captured jobs, against an oracle that works by nested loops."""

import asyncio
import csv
import io
import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from prov.model import ProvDerivation, ProvDocument
from typer.testing import CliRunner

from headwater.backend.cli.actor_trace import is_within
from headwater.backend.cli.export import app as export
from headwater.backend.cli.trace import app
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Node, NodeKind, parse_id
from headwater.graph.stores.sqlite import SqliteStore
from tests.captured import capture_pipeline
from tests.graph.jobs import TENANT
from tests.graph.prov.validity import pairs


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    home, root = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("data")
    return home, asyncio.run(capture_pipeline(home, root))


def run(command, home: Path, *arguments: object) -> str:
    result = CliRunner().invoke(command, [*map(str, arguments), "--home", str(home)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def trace(captured):
    """The answer of a trace, as JSON."""

    def ask(*arguments: object) -> dict:
        return json.loads(run(app, captured[0], *arguments, "--format", "json"))

    return ask


def places(answer: dict) -> set[tuple[str, int]]:
    return {(Path(record["file"]).name, record["row"]) for record in answer["records"]}


def test_the_witness_of_a_cell_is_the_oracles(captured, trace):
    _, oracle = captured
    answer = trace(oracle.root / "report", "--where", "origin = 'A'", "--column", "max_wind", "--semantics", "witness")
    assert (answer["semantics"], answer["exact"], answer["incomplete"]) == ("witness", True, [])
    assert places(answer) == oracle.report_witness("A", "max_wind")


def test_a_record_has_its_line_and_its_values(captured, trace):
    _, oracle = captured
    answer = trace(oracle.root / "report", "--where", "origin = 'A'", "--to", oracle.root / "raw" / "weather.csv")
    assert answer["records"]
    for record in answer["records"]:
        assert record["dataset"] == str(oracle.root / "raw" / "weather.csv")
        assert record["line"] == record["row"] + 2
        assert record["values"] == oracle.weather[record["row"]]


def test_a_record_may_be_named_by_file_and_row_from_here(captured, trace, monkeypatch):
    _, oracle = captured
    monkeypatch.chdir(oracle.root)
    row = oracle.kept[0]
    answer = trace("raw/weather.csv", "--row", f"raw/weather.csv:{row}", "--forward", "--to", "hourly")
    expected = {
        (file.name, at) for file, at, values in oracle.hourly() if ("weather.csv", row) in oracle.hourly_influence(oracle.raw_of(values))
    }
    assert places(answer) == expected


def test_csv_has_the_values_as_columns(captured):
    home, oracle = captured
    printed = run(
        app, home, oracle.root / "report", "--where", "origin = 'A'", "--to", oracle.root / "raw" / "weather.csv", "--format", "csv"
    )
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert {(Path(row["file"]).name, int(row["row"])) for row in rows} <= oracle.report_influence("A")
    assert {row["origin"] for row in rows} == {"A"}


def test_the_story_has_the_jobs_between(captured):
    home, oracle = captured
    told = run(app, home, oracle.root / "report", "--where", "origin = 'A'", "--column", "max_wind", "--semantics", "witness")
    assert "exact" in told
    assert told.index("report  run") < told.index("hourly  run") < told.index("clean_weather  run")


def test_a_predicate_that_no_record_meets_says_so(captured):
    home, oracle = captured
    assert "No record of it is so" in run(app, home, oracle.root / "report", "--where", "origin = 'nowhere'")


def test_a_limit_is_said(captured, trace):
    _, oracle = captured
    answer = trace(oracle.root / "report", "--where", "origin = 'A'", "--limit", 1)
    assert len(answer["records"]) == 1
    assert any(item["what"] == "limit" and item["effect"] == "missing" for item in answer["incomplete"])


def test_a_dataset_that_is_not_there_brings_the_near_ones(captured, trace):
    with pytest.raises(NotFoundError) as raised:
        trace(captured[1].root / "reprt", "--where", "true")
    assert str(captured[1].root / "report") in str(raised.value)


@pytest.mark.parametrize("where", ["orign = 'A'", "origin = = 'A'"])
def test_a_typo_in_the_predicate_is_explained(captured, trace, where):
    with pytest.raises(InvalidQueryError) as raised:
        trace(captured[1].root / "report", "--where", where)
    assert where in str(raised.value)


def test_a_column_that_is_not_there_brings_those_that_are(captured, trace):
    with pytest.raises(InvalidQueryError) as raised:
        trace(captured[1].root / "report", "--where", "true", "--column", "max_wnd", "--semantics", "witness")
    assert "max_wind" in str(raised.value)


def test_a_predicate_may_not_read_other_files(captured, trace):
    with pytest.raises(InvalidQueryError):
        trace(captured[1].root / "report", "--where", "(SELECT count(*) FROM read_text('/etc/hostname')) > 0")


def test_a_source_that_changed_is_said_and_its_values_are_null(tmp_path):
    oracle = asyncio.run(capture_pipeline(tmp_path / "home", tmp_path / "data"))
    weather = oracle.root / "raw" / "weather.csv"
    os.utime(weather, (1, 1))
    answer = json.loads(run(app, tmp_path / "home", oracle.root / "hourly", "--where", "hour = 0", "--format", "json"))
    assert any("weather.csv" in item["what"] and "changed" in item["reason"] for item in answer["incomplete"])
    assert all(not any(record["values"].values()) for record in answer["records"] if str(record["file"]).endswith("weather.csv"))


def test_a_record_trace_is_exported_as_derivations(captured):
    home, oracle = captured
    printed = run(export, home, "prov", oracle.root / "report", "--where", "origin = 'A'", "--column", "max_wind", "--semantics", "witness")
    (bundle,) = ProvDocument.deserialize(content=printed, format="json").bundles
    named = [parse_id(source)[1] for product, source in pairs(bundle, ProvDerivation) if product.startswith("record:")]
    sources = {(path.rsplit("/", 1)[1], int(row)) for path, _, _, row in named}
    assert sources == {(file, row) for file, row in oracle.report_witness("A", "max_wind")}


def actors(home: Path, prefix: str) -> list[str]:
    """The ids of nodes of the home's graph that begin so."""

    async def ask() -> list[str]:
        graph = SqliteStore(str(home / "graph.db"))
        await graph.open()
        try:
            return [node.id for node in (await graph.listed(TENANT, prefix, first=100)).nodes]
        finally:
            await graph.close()

    return asyncio.run(ask())


def test_a_trace_may_begin_with_all_that_a_run_or_its_job_wrote(captured, trace):
    home, oracle = captured
    expected = trace(oracle.root / "report", "--where", "true")
    job = next(hop["job"] for hop in expected["path"] if hop["output"] == str(oracle.root / "report"))
    run_id = next(hop["run"] for hop in expected["path"] if hop["output"] == str(oracle.root / "report"))
    for begin in (job, run_id if run_id.startswith("run:") else f"run:{run_id}"):
        answer = trace(begin)
        assert (places(answer), answer["exact"]) == (places(expected), expected["exact"]), begin
    forward = trace(next(each for each in actors(home, "job:") if each != job), "--forward")
    assert forward["records"]


def test_a_trace_of_a_task_begins_with_what_it_wrote(captured, trace):
    home, _ = captured
    tasks = actors(home, "task:")
    assert tasks
    answers = []
    for task in tasks:
        with suppress(NotFoundError):  # a task of a shuffle wrote no file
            answers.append(trace(task))
    assert any(answer["records"] for answer in answers)
    stage = trace(actors(home, "stage:")[0])
    assert stage["records"]


def test_a_time_bounds_the_runs_of_an_actor(captured, trace):
    home, oracle = captured
    job = actors(home, "job:")[0]
    assert places(trace(job, "--since", "2000-01-01")) == places(trace(job))
    with pytest.raises(InvalidQueryError, match="bounds the runs"):
        trace(oracle.root / "report", "--where", "true", "--since", "2000-01-01")
    with pytest.raises(NotFoundError, match="Nothing is known"):
        trace("job:default:no such job")


@pytest.mark.parametrize(
    ("since", "until", "within"),
    [
        (None, None, True), ("2026-01-02", None, True), ("2026-01-04", None, False), (None, "2026-01-02", True),
        (None, "2026-01-01", False),
        ("2026-01-01", "2026-01-05", True),
    ],
)  # fmt: skip
def test_a_run_is_within_a_time_that_it_went_on_in(since, until, within):
    run = Node("run:x", NodeKind.RUN, "x", {"startedAt": "2026-01-01T12:00", "endedAt": "2026-01-03T12:00"})
    assert is_within(run, since, until) is within
