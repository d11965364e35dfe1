"""`headwater search`, on a home without a service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from headwater.backend.cli.main import app
from headwater.backend.cli.search import _row

REPORT = "dataset:file:/data/out/report"


def run(home: Path, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["search", *arguments, "--home", str(home)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(home: Path, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(home, *arguments, "--format", "json"))
    return found


def test_words_find_a_dataset_with_a_typing_error(lived_in: Path) -> None:
    first = rows(lived_in, "out", "reprot", "--kind", "dataset")[0]
    assert (first["id"], first["kind"], first["namespace"], first["state"]) == (REPORT, "dataset", "file", "COMPLETE")
    assert "/data/out/report" in run(lived_in, "report")


def test_a_column_is_shown_with_its_dataset() -> None:
    column = {"id": "column:file:/data/out/report:wind", "kind": "COLUMN", "name": "wind"}
    hit = {"node": {**column, "descriptions": {"description": "", "owners": [], "tags": [], "terms": []}}, "namespace": "file"}
    hit |= {"state": None, "score": 1.0, "matched": []}
    assert _row(hit, is_table=True)["name"] == "/data/out/report wind"
    assert _row(hit, is_table=False)["name"] == "wind"


def test_without_words_everything_of_a_kind_is_listed(lived_in: Path) -> None:
    assert {row["kind"] for row in rows(lived_in, "--kind", "job")} == {"job"}
    assert rows(lived_in, "--kind", "dataset", "--state", "FAIL") == []


def test_facets_count_what_is_found(lived_in: Path) -> None:
    found = rows(lived_in, "--kind", "dataset", "--facets")
    assert {"facet": "namespace", "value": "file", "count": len(rows(lived_in, "--kind", "dataset"))} in found


def test_a_page_says_that_more_follow(lived_in: Path) -> None:
    result = CliRunner().invoke(app, ["search", "--kind", "dataset", "--first", "1", "--home", str(lived_in)])
    assert "--after" in result.output
