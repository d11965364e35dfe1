"""How a trace is printed: for people, and in the form that scripts rely on."""

import io
import json
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from rich.console import Console
from typer.testing import CliRunner

from headwater.backend.cli.display_names import job_of
from headwater.backend.cli.output import emit_json
from headwater.backend.cli.trace import app
from headwater.backend.cli.trace_command import as_json
from headwater.backend.cli.trace_story import print_story
from headwater.errors import InvalidQueryError
from headwater.graph.trace import (
    ColumnExpression,
    FoundAgain,
    Grain,
    Hop,
    Incomplete,
    Semantics,
    Step,
    TraceAnswer,
    TracedRecord,
    TraceRequest,
)

RAW, REPORT = "dataset:file:/data/raw/weather.csv", "dataset:file:/data/out/report"
WINDY = {"origin": "EWR", "hour": 3, "wind_speed": "1048.36058"}


def answer(records: list[TracedRecord], **changed) -> TraceAnswer:
    hop = Hop("job:local:report", "run:0198a1b2-0000", REPORT, [RAW], ["max(wind_speed)", "group by origin, month"], 1, Grain.RECORD)
    selected = [TracedRecord(REPORT, "file:/data/out/report/part-0.parquet", 0, Grain.RECORD)]
    parts = {
        "semantics": Semantics.WITNESS, "exact": True, "records": records, "path": [hop], "incomplete": [], "total": len(records),
        "selected": selected, "elapsed_ms": 34.0,
    }  # fmt: skip
    return TraceAnswer(**{**parts, **changed})


def raw(row: int, **values: object) -> TracedRecord:
    return TracedRecord(RAW, "file:/data/raw/weather.csv", row, Grain.RECORD, values or WINDY, row + 2)


def story(answered: TraceAnswer, *, width: int = 100, **asked) -> str:
    out = io.StringIO()
    request = TraceRequest(**{"dataset": "/data/out/report", "where": "origin = 'EWR'", **asked})
    print_story(request, answered, console=Console(file=out, width=width))
    return out.getvalue()


def test_json_has_the_form_that_scripts_rely_on():
    parquet = TracedRecord(REPORT, "file:/data/out/report/part-0.parquet", 0, Grain.RECORD, {"origin": "EWR"})
    again = FoundAgain("c", "Aggregate [shop], sum(price)", 12.34, 40.0)
    assert as_json(answer([raw(1009), parquet], found_again=[again])) == {
        "semantics": "witness",
        "exact": True,
        "records": [
            {
                "dataset": "/data/raw/weather.csv", "file": "file:/data/raw/weather.csv", "row": 1009, "line": 1011, "grain": "record",
                "values": WINDY,
            },
            {
                "dataset": "/data/out/report", "file": "file:/data/out/report/part-0.parquet", "row": 0, "grain": "record",
                "values": {"origin": "EWR"},
            },
        ],
        "path": [
            {
                "job": "job:local:report", "run": "run:0198a1b2-0000", "output": "/data/out/report", "inputs": ["/data/raw/weather.csv"],
                "operations": ["max(wind_speed)", "group by origin, month"], "expressions": [], "records": 1, "grain": "record",
                "recaptured": None, "tasks": [],
            }
        ],
        "incomplete": [],
        "found_again": [{"operator": "Aggregate [shop], sum(price)", "estimated_ms": 12.3, "took_ms": 40.0}],
        "storage": {"requests": 0, "bytes": 0},
    }  # fmt: skip


def test_the_tasks_of_a_hop_are_named():
    first = answer([raw(1009)])
    tasks = tuple(f"task:0198a1b2-0000:{attempt}" for attempt in range(7))
    several = replace(first, path=[replace(first.path[0], tasks=tasks)])
    assert "made out/report  by tasks 0, 1, 2, 3, 4 and 2 more" in story(several).replace("/data/", "")
    assert as_json(several)["path"][0]["tasks"] == list(tasks)


def test_json_says_what_the_limit_kept_out():
    cut = as_json(answer([raw(1)], total=669))
    assert cut["incomplete"] == [{"what": "limit", "reason": "1 of 669 records are listed", "effect": "missing"}]


def test_the_story_says_what_was_asked_and_that_the_answer_is_exact():
    told = story(answer([raw(1009)]), column="max_wind_mph", semantics=Semantics.WITNESS)
    assert "Where does max_wind_mph of /data/out/report where origin = 'EWR' come from?" in told
    assert "1 record ← 1 record in 1 dataset, exact" in told


def test_what_had_to_be_found_again_tells_what_it_took_and_what_was_estimated():
    told = story(answer([raw(1009)], found_again=[FoundAgain("c", "Aggregate [shop]", 1200.4, 95.2)]), width=200)
    assert "no run wrote it: Aggregate [shop] (95 ms, estimated 1,200)" in told


def test_a_record_alone_is_shown_with_all_its_values():
    told = story(answer([raw(1009)]))
    assert "1048.36058" in told
    assert "line" in told
    assert "1011" in told


def test_the_path_names_jobs_and_operations():
    told = story(answer([raw(1009)]))
    assert told.index("report  run 0198a1b2") < told.index("max(wind_speed)") < told.index("from /data/raw/weather.csv")


def test_the_path_names_expressions_where_they_are_known_whether_a_column_was_asked_for_or_not():
    grouped = Step("Aggregate", [ColumnExpression("max_wind", "max(wind_speed)")], ["origin", "month"])
    hop = Hop("job:local:report", "run:0198a1b2-0000", REPORT, [RAW], ["Aggregate [origin]"], 1, Grain.RECORD, [grouped])
    for column in ("max_wind", None):
        told = story(answer([raw(1009)], path=[hop]), column=column)
        assert "Aggregate  max_wind = max(wind_speed)  by origin, month" in told
        assert "Aggregate [origin]" not in told


def test_rows_of_the_program_are_called_so():
    gap = Incomplete("local:c1/0/0", "their values are not kept", "unreadable")
    told = story(answer([TracedRecord("dataset:local:c1/0", "local:c1/0/0", 7, Grain.RECORD)], incomplete=[gap]))
    assert told.count("rows that the program made itself") == 2
    assert "local:" not in told


def test_many_records_are_counted_and_the_first_shown():
    told = story(answer([raw(row) for row in range(669)]))
    assert "669 records" in told
    assert "… and 649 more" in told


def test_what_does_not_fit_is_counted_and_the_column_asked_for_kept():
    wide = {f"column_{number}": "x" * 20 for number in range(12)} | {"wanted": "here"}
    told = story(answer([raw(1, **wide), raw(2, **wide)]), column="wanted")
    assert "here" in told
    assert "columns" in told
    assert max(map(len, told.splitlines())) <= 100


def test_the_path_says_which_hop_was_found_by_running_the_program_again():
    first = answer([raw(1009)])
    again = replace(first, path=[replace(first.path[0], recaptured="2026-01-31T23:59:59Z")])
    said = "found by running the program again on 2026-01-31T23:59:59Z, which wrote the same files"
    assert said in story(again, width=200)
    assert said not in story(first, width=200)
    assert as_json(again)["path"][0]["recaptured"] == "2026-01-31T23:59:59Z"


def test_what_is_missing_comes_with_its_reason():
    gap = Incomplete("job:local:count", "captured coarsely", "superset")
    told = story(answer([raw(1)], incomplete=[gap], exact=False, total=5))
    assert "not exact" in told
    assert "• count: captured coarsely (superset)" in told
    assert "4 records beyond --limit" in told
    assert "(below the first " in told


def test_a_coarse_entry_says_its_grain():
    hop = Hop("job:local:count", "", REPORT, [RAW], [], 0, Grain.DATASET)
    told = story(answer([TracedRecord(RAW, None, None, Grain.DATASET)], exact=False, path=[hop]))
    assert "1 place in 1 dataset, not exact" in told
    assert "as a dataset: which of its records is not known" in told
    assert "count  known by dataset only" in told


@pytest.mark.parametrize(
    ("arguments", "says"), [(["report"], "No record is chosen"), (["report", "--row", "weather.csv"], "names no record")]
)
def test_a_trace_needs_records(arguments, says):
    with pytest.raises(InvalidQueryError, match=says):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_json_is_json_whatever_the_values(capsys):
    emit_json(as_json(answer([raw(1, wind=float("nan"), at=date(2013, 2, 12), fare=Decimal("1.10"))])))
    printed = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert printed["records"][0]["values"] == {"wind": "NaN", "at": "2013-02-12", "fare": "1.10"}


def test_records_that_a_program_made_itself_are_told_from_records_that_are_missing():
    made = Hop("job:local:first", "run:0198a1b2-0001", RAW, [], [], 12, Grain.RECORD)
    whole = answer([])
    told = story(answer([], path=[*whole.path, made]))
    assert "made of no record, by the program itself; --to /data/raw/weather.csv lists" in told.replace("\n", " ")
    assert "from no record" in told
    assert "no record" not in story(answer([], path=[*whole.path, made], exact=False))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("clean.execute_insert_into_hadoop_fs_relation_command.weather", "clean › weather"),
        ("word.counts.save_as_text_file.counts", "word.counts › counts"),
        ("daily.load.orders", "daily.load.orders"),
        ("report.scan", "report.scan"),
    ],
)
def test_a_job_of_spark_is_shown_without_the_operation_and_any_other_as_it_is(name: str, shown: str) -> None:
    assert job_of(name) == shown
