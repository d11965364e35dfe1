"""`headwater lineage` on a home, without a service."""

import csv
import io
import json
import time

import pytest
from typer.testing import CliRunner

from headwater.backend.cli.lineage import app
from headwater.errors import InvalidQueryError, NotFoundError
from tests.backend.cli.command import headwater


def lineage(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_tree_shows_where_a_dataset_came_from_and_went(lived_in):
    assert lineage("/data/out/clean", "--home", lived_in).splitlines() == [
        "/data/out/clean  came from",
        "└── clean",
        "    └── /data/raw/weather.csv",
        "/data/out/clean  went to",
        "└── report",
        "    └── /data/out/report",
    ]


def test_json_is_a_graph_with_edges_as_data_flows(lived_in):
    graph = json.loads(lineage("clean", "--home", lived_in, "--format", "json"))
    assert graph["focus"] == "job:local:clean"
    assert {node["name"]: node["distance"] for node in graph["nodes"]} == {
        "clean": 0, "/data/raw/weather.csv": -1, "/data/out/clean": 1, "report": 2, "/data/out/report": 3,
    }  # fmt: skip
    made = {"src": "job:local:clean", "dst": "dataset:file:/data/out/clean", "kind": "writes", "weight": 1, "direct": True, "via": 0}
    assert made in graph["edges"]


def test_outputs_of_failed_runs_are_marked_in_every_form(failed_in, lived_in):
    mark = "no completed write is known: every known run that was to write it failed"
    asked = ("/data/raw/weather.csv", "--home", failed_in, "--direction", "downstream")
    assert lineage(*asked).splitlines() == [
        "/data/raw/weather.csv  went to",
        "└── clean",
        f"    └── /data/out/clean  {mark}",
        "        └── report",
        f"            └── /data/out/report  {mark}",
    ]
    nodes = {node["name"]: node["unwritten"] for node in json.loads(lineage(*asked, "-f", "json"))["nodes"]}
    assert nodes == {"/data/raw/weather.csv": False, "clean": False, "/data/out/clean": True, "report": False, "/data/out/report": True}
    for form in ("mermaid", "dot"):
        assert lineage(*asked, "-f", form).count(f"({mark})") == 2
    listed = headwater("impact", *map(str, asked[:3]), "-f", "json").stdout
    assert {row["name"]: row["unwritten"] for row in json.loads(listed)}["/data/out/report"] is True
    assert mark not in lineage("/data/raw/weather.csv", "--home", lived_in)


def test_csv_lists_what_is_reached_by_distance(lived_in):
    rows = list(csv.DictReader(io.StringIO(lineage("/data/out/report", "--home", lived_in, "--direction", "upstream", "--format", "csv"))))
    assert [(row["distance"], row["name"]) for row in rows] == [
        ("1", "report"), ("2", "/data/out/clean"), ("3", "clean"), ("4", "/data/raw/weather.csv"),
    ]  # fmt: skip


def test_depth_bounds_the_hops(lived_in):
    graph = json.loads(lineage("/data/out/report", "--home", lived_in, "--depth", 1, "--format", "json"))
    assert {node["name"] for node in graph["nodes"]} == {"/data/out/report", "report"}


def test_a_dataset_may_be_named_by_its_path_from_here(lived_in, monkeypatch):
    monkeypatch.chdir("/")
    assert "clean" in lineage("data/out/clean", "--home", lived_in)


def test_a_dataset_may_be_named_by_the_end_of_its_path(lived_in):
    assert lineage("out/clean/", "--home", lived_in).startswith("/data/out/clean")


def test_a_pipeline_stands_for_its_jobs(lived_in):
    shown = lineage("flights", "--home", lived_in, "--direction", "downstream").splitlines()
    assert shown == [
        "flights  went to",
        "├── clean",
        "│   └── /data/out/clean",
        "│       └── report  see above",
        "└── report",
        "    └── /data/out/report",
    ]


def test_an_unknown_name_brings_the_near_ones(lived_in):
    with pytest.raises(NotFoundError, match="/data/out/reprt") as raised:
        lineage("/data/out/reprt", "--home", lived_in)
    assert "/data/out/report" in str(raised.value.hint)


def test_where_nothing_is_near_some_that_are_known_are_named(lived_in):
    with pytest.raises(NotFoundError) as raised:
        lineage("qqq", "--home", lived_in)
    assert str(raised.value.hint).startswith("Nothing is near. Known are ")


def test_where_nothing_is_named_datasets_are(lived_in, tmp_path):
    with pytest.raises(InvalidQueryError, match="Nothing is named") as raised:
        lineage("--home", lived_in)
    assert "Known are /data/out/clean, /data/out/report" in str(raised.value.hint)
    with pytest.raises(InvalidQueryError) as raised:
        lineage("--home", tmp_path / "new")
    assert "Nothing has been captured yet" in str(raised.value.hint)


def test_masks_that_hide_nothing_are_said_to(lived_in):
    said = "nothing in this lineage is of what the masks hide"
    assert said in CliRunner().invoke(app, ["out/report", "--home", str(lived_in), "--mask", "tag=mistyped"]).output
    assert said not in CliRunner().invoke(app, ["out/report", "--home", str(lived_in), "--mask", "kind=job"]).output


def test_an_empty_home_says_how_to_begin(tmp_path):
    with pytest.raises(NotFoundError) as raised:
        lineage("report", "--home", tmp_path)
    assert "headwater run" in str(raised.value.hint)


def test_levels_and_masks_zoom_and_hide(lived_in):
    shown = json.loads(lineage("/data/out/report", "--home", lived_in, "--mask", "kind=job", "--mask", "name=*clean", "-f", "json"))
    assert [(edge["src"], edge["via"], edge["direct"]) for edge in shown["edges"]] == [("dataset:file:/data/raw/weather.csv", 3, False)]
    zoomed = json.loads(lineage("/data/out/report", "--home", lived_in, "--level", "platform", "--level", "pipeline", "-f", "json"))
    assert {node["id"]: node["members"] for node in zoomed["nodes"]} == {"platform:file": 3, "pipeline:local:flights": 2}


def test_dot_and_mermaid_draw_the_same_graph(lived_in):
    asked = ("/data/out/report", "--home", lived_in, "--ends")
    assert lineage(*asked, "--format", "dot").splitlines() == [
        "digraph lineage {",
        "  rankdir=LR;",
        '  "dataset:file:/data/out/report" [label="/data/out/report", shape=box, penwidth=2];',
        '  "dataset:file:/data/raw/weather.csv" [label="/data/raw/weather.csv", shape=box];',
        '  "dataset:file:/data/raw/weather.csv" -> "dataset:file:/data/out/report" [label="via 3"];',
        "}",
    ]
    assert lineage(*asked, "--format", "mermaid").splitlines() == [
        "flowchart LR",
        '  n0["/data/out/report"]',
        '  n1["/data/raw/weather.csv"]',
        "  n1 -->|via 3| n0",
    ]


def test_between_two_is_listed(lived_in):
    rows = list(csv.DictReader(io.StringIO(lineage("--home", lived_in, "--between", "raw/weather.csv", "out/clean", "--format", "csv"))))
    assert {row["name"] for row in rows} == {"clean"}


def test_as_of_before_a_job_ran_it_is_not_there(lived_in):
    asked = ("out/clean", "--home", lived_in, "-f", "csv")
    assert "report" not in lineage(*asked, "--direction", "downstream", "--as-of", "2026-01-31T10:02:30Z")
    changed = lineage(*asked, "--changes", "2026-01-31T10:02:30Z", "2026-02-01").splitlines()
    assert "added,dataset,/data/out/report" in changed


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["out/clean", "--mask", "colour=red"], "is no mask"),
        (["out/clean", "--level", "job", "--level", "run"], "Two levels of actors"),
        (["out/clean", "--level", "column"], "has no column"),
        (["out/clean", "--open", "report"], "opens nothing"),
        (["out/clean", "--level", "colum"], "colum is no level"),
        (["out/clean", "--level", "owner"], "owner is no level"),
    ],
)
def test_what_cannot_be_shown_is_refused(lived_in, arguments, why):
    with pytest.raises(InvalidQueryError, match=why) as raised:
        lineage(*arguments, "--home", lived_in)
    assert raised.value.hint


def test_between_two_is_a_tree_from_where_it_begins(lived_in):
    drawn = lineage("--home", lived_in, "--between", "raw/weather.csv", "out/report").splitlines()
    assert [line.strip("│└├─ ").split("  ")[0] for line in drawn] == [
        "/data/raw/weather.csv", "clean", "/data/out/clean", "report", "/data/out/report",
    ]  # fmt: skip


def test_what_masks_leave_nothing_of_is_not_said_to_be_unknown(lived_in):
    drawn = lineage("--home", lived_in, "out/report", "--mask", "name=*clean*", "--mask", "name=*weather*", "--mask", "kind=job")
    assert "nothing that is not hidden: the masks hide 4 nodes" in drawn


def test_an_answer_without_rows_is_a_sentence(lived_in):
    for words, says in (
        (["describe", "out/report"], "Nobody has said anything of it yet."),
        (["impact", "out/report"], "Nothing downstream of it is known."),
        (["lineage", "out/report", "--changes", "2020-01-01", "2020-02-01"], "Nothing changed between"),
        (["replay", "--list"], "No replay has been made"),
    ):
        done = headwater(*words, "--home", str(lived_in))
        assert done.stdout == "", words
        assert says in done.stderr


def test_a_date_is_the_end_of_the_day_where_the_reader_is(lived_in, monkeypatch):
    """The first run was at 10:00 UTC on 31 January: at 21:00 of that day in the east, and at 23:00 of the day before in the west."""
    for zone, day, there in (("AAA-11", "2026-01-31", True), ("AAA-11", "2026-01-30", False), ("BBB+11", "2026-01-30", True)):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        shown = lineage("/data/out/report", "--home", lived_in, "--as-of", day)
        assert ("nothing that is known" not in shown.partition("went to")[0]) is there, (zone, day)
    monkeypatch.undo()
    time.tzset()


def test_a_date_before_the_first_run_says_when_that_was(lived_in):
    asked = ["/data/out/report", "--home", str(lived_in), "--as-of", "2025-06-01"]
    result = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert "the first run that did is of 2026-01-31T10:0" in " ".join(result.stderr.split())
