"""`headwater lineage` on a home, without a service."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from headwater.backend.cli.lineage import app
from headwater.errors import NotFoundError


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
    assert {"src": "job:local:clean", "dst": "dataset:file:/data/out/clean", "kind": "writes"} in graph["edges"]


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


def test_an_empty_home_says_how_to_begin(tmp_path):
    with pytest.raises(NotFoundError) as raised:
        lineage("report", "--home", tmp_path)
    assert "headwater run" in str(raised.value.hint)
