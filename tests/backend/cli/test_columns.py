"""`headwater column`, `impact`, `describe` and `declare`, on a home without a service."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headwater.backend.cli.main import app
from headwater.backend.cli.output import console
from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from headwater.errors import HeadwaterError, InvalidInputError, InvalidQueryError, NotFoundError
from tests.stated import REPORT, event

CLEAN, OUT = "/data/out/clean", "/data/out/report"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--format", "json"))


def derived(source: str, kind: str, subtype: str, *, masking: bool = False) -> dict[str, Any]:
    transformation = {"type": kind, "subtype": subtype, "description": "", "masking": masking}
    return {"namespace": "file", "name": CLEAN, "field": source, "transformations": [transformation]}


@pytest.fixture(scope="module")
def described(lived_in: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that knows columns: `worst` of the report is made of `wind` and filtered by `origin`, `who` hides `email`."""
    home = tmp_path_factory.mktemp("described") / "home"
    shutil.copytree(lived_in, home)
    fields = {
        "worst": {"inputFields": [derived("wind", "DIRECT", "AGGREGATION"), derived("origin", "INDIRECT", "FILTER")]},
        "who": {"inputFields": [derived("email", "DIRECT", "TRANSFORMATION", masking=True)]},
    }
    stated = event(REPORT, "report", "COMPLETE", "2026-01-31T10:05:00Z", CLEAN, OUT)
    facet = {"_producer": "https://example.org/test", "_schemaURL": "https://example.org/schema"}
    stated["outputs"][0]["facets"] = {"columnLineage": {**facet, "fields": fields}}
    tag = {"key": "pii", "value": "1", "source": "CATALOG", "field": "email"}
    stated["inputs"][0]["facets"] = {"tags": {**facet, "tags": [tag]}}

    async def fill() -> None:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            assert not workspace.events.submit("default", json.dumps(stated).encode()).result().rejected
            assert await workspace.settle() == 0

    asyncio.run(fill())
    return home


def test_a_column_lists_its_sources_best_way_first(described: Path) -> None:
    found = rows("column", "lineage", OUT, "worst", "--home", described)
    assert [(edge["from"].rpartition(":")[2], edge["way"]) for edge in found] == [("wind", "direct"), ("origin", "indirect")]
    (masked,) = rows("column", "lineage", OUT, "who", "--detailed", "--home", described)
    assert (masked["way"], masked["operations"][0]["masking"]) == ("masked", True)
    (down,) = rows("column", "lineage", CLEAN, "wind", "--direction", "downstream", "--home", described)
    assert down["to"] == f"column:file:{OUT}:worst"


def test_every_step_of_a_recorded_pipeline_is_listed(lived_in: Path, tmp_path: Path) -> None:
    from headwater.backend.ingest.intake.recorded_operations import event_of, read_recording

    home = tmp_path / "home"
    shutil.copytree(lived_in, home)
    lines, people = {"namespace": "file", "name": "/data/lines"}, {"namespace": "file", "name": "/data/people"}
    operations = [
        {"name": "read", "inputs": {"endPoint": lines}, "outputs": {"fields": ["body", "offset"]}},
        {"name": "parse", "inputs": {"fields": [{"origin": "read", "name": "body"}]}, "outputs": {"fields": ["first", "last", "city"]}},
        {
            "name": "join", "description": "with a space", "outputs": {"fields": ["name"]},
            "inputs": {"fields": [{"origin": "parse", "name": "first"}, {"origin": "parse", "name": "last"}]},
        },
        {"name": "write", "inputs": {"fields": [{"origin": "join", "name": "name"}]}, "outputs": {"endPoint": people}},
    ]  # fmt: skip
    run_id = "0198a1b2-0000-7000-8000-0000000000cc"
    recording = read_recording({"operations": operations})
    stated = event_of(recording, namespace="local", application="nightly", program="parse", kind="spark", run=run_id)

    async def fill() -> None:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            assert not workspace.events.submit("default", json.dumps(stated).encode()).result().rejected
            assert await workspace.settle() == 0

    asyncio.run(fill())
    listed = run("column", "lineage", "/data/people", "name", "--detailed", "--home", home, "-f", "csv").splitlines()[1:]
    assert [line.split(",")[:2] for line in listed] == [
        ["/data/lines body", "read.body"], ["read.body", "parse.first"], ["read.body", "parse.last"],
        ["parse.first", "join.name"], ["parse.last", "join.name"], ["join.name", "/data/people name"],
    ]  # fmt: skip
    assert "join: with a space" in listed[3]
    (edge,) = rows("column", "lineage", "/data/people", "name", "--detailed", "--home", home)
    assert [step["operation"] for step in edge["steps"]] == ["read", "parse", "parse", "join", "join", "write"]
    (simple,) = run("column", "lineage", "/data/people", "name", "--home", home, "-f", "csv").splitlines()[1:]
    assert simple.startswith("/data/lines body,/data/people name,")


def test_who_touched_a_column(described: Path) -> None:
    found = rows("column", "access", CLEAN, "origin", "--home", described)
    assert [(access["kind"], access["job"], access["decides_only"]) for access in found] == [("read", "job:local:report", True)]
    assert {access["kind"] for access in rows("column", "access", OUT, "worst", "--home", described)} == {"create", "write"}
    assert rows("column", "access", OUT, "worst", "--until", "2020-01-01", "--home", described) == []


def test_a_report_lists_who_touched_a_column_and_what_derives_from_it(described: Path) -> None:
    found = rows("column", "report", CLEAN, "wind", "--home", described)
    assert {(row["kind"], row["name"]) for row in found} >= {("read", "job:local:report"), ("derived", f"column:file:{OUT}:worst")}
    assert "reader" not in {row["kind"] for row in found}, "no service answered anything"
    outside = rows("column", "report", CLEAN, "wind", "--until", "2020-01-01", "--home", described)
    assert {row["kind"] for row in outside} == {"derived"}


def test_a_tag_reaches_what_is_made_of_its_column_until_it_is_taken_back(described: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(described, home)
    found = rows("column", "tags", OUT, "who", "--home", home)
    assert {(tag["tag"], tag["way"], tag["origin"]) for tag in found} == {
        (tag, "masked", f"column:file:{CLEAN}:email") for tag in ("pii", "pii=1")
    }
    assert run("describe", CLEAN, "--column", "email", "--home", home, "-f", "csv") == "aspect,value,by,at\ntag,pii=1,CATALOG,\n"
    assert run("describe", CLEAN, "--column", "email", "--remove", "tag=pii", "--home", home, "-f", "csv") == "aspect,value,by,at\n"
    assert rows("column", "tags", OUT, "who", "--home", home) == []


def test_what_people_state_is_there_at_once(lived_in: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(lived_in, home)
    options = ("--owner", "ann", "--tag", "gold", "--term", "Report", "--retention", "P7Y", "--legal-hold", "case 17", "--description", "x")
    found = {(row["aspect"], row["value"]) for row in rows("describe", OUT, *options, "--home", home)}
    said = {("owner", "ann"), ("tag", "gold"), ("term", "Report"), ("retention", "P7Y"), ("legalHold", "case 17"), ("description", "x")}
    assert found == said
    left = rows("describe", OUT, "--remove", "retention", "--remove", "owner=ann", "--home", home)
    assert {row["aspect"] for row in left} == {"tag", "term", "legalHold", "description"}


def test_impact_and_causes_are_listed(lived_in: Path) -> None:
    found = rows("impact", "/data/raw/weather.csv", "--home", lived_in)
    assert [(row["distance"], row["name"]) for row in found] == [(1, "clean"), (2, CLEAN), (3, "report"), (4, OUT)]
    assert found[-1]["path"][0] == "dataset:file:/data/raw/weather.csv"
    causes = rows("impact", OUT, "--direction", "upstream", "--depth", "2", "--home", lived_in)
    assert [row["name"] for row in causes] == ["report", CLEAN]
    assert "id,distance" in run("impact", OUT, "--home", lived_in, "-f", "csv")


def test_columns_are_listed_with_their_datasets_and_owners_without_brackets(described: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(described, home)
    run("describe", OUT, "--column", "who", "--owner", "team:finance", "--owner", "ann", "--home", home)
    found = run("impact", f"column:file:{CLEAN}:email", "--home", home)
    assert f"{OUT} who" in found
    assert "ann, team:finance" in found
    assert f"{CLEAN} email" in run("impact", f"column:file:{OUT}:who", "--direction", "upstream", "--home", home)
    for form in ("tree", "table", "dot", "mermaid"):
        assert f"{OUT} who" in run("lineage", CLEAN, "--level", "column", "--home", home, "-f", form), form


@pytest.mark.parametrize(
    ("value", "shown"), [("production", "environment=production"), ("true", "environment"), ("", "environment"), (None, "environment")]
)
def test_a_tag_is_shown_with_its_value(lived_in: Path, tmp_path: Path, value: str | None, shown: str) -> None:
    home = tmp_path / "home"
    shutil.copytree(lived_in, home)
    stated = event(REPORT, "report", "COMPLETE", "2026-01-31T10:05:00Z", CLEAN, OUT)
    tag = {"key": "environment", "source": "CATALOG"} | ({} if value is None else {"value": value})
    facet = {"_producer": "https://example.org/test", "_schemaURL": "https://example.org/schema", "tags": [tag]}
    stated["outputs"][0]["facets"] = {"tags": facet}

    async def fill() -> None:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            workspace.events.submit("default", json.dumps(stated).encode()).result()
            assert await workspace.settle() == 0

    asyncio.run(fill())
    assert [(row["aspect"], row["value"]) for row in rows("describe", OUT, "--home", home)] == [("tag", shown)]


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (("column", "access", OUT, "nope"), NotFoundError, "has no column nope"),
        (("column", "lineage", OUT), InvalidQueryError, "No column of"),
        (("column", "lineage", OUT, "worst", "--direction", "both"), InvalidQueryError, "goes one way"),
        (("column", "access", OUT, "worst", "--since", "soon"), HeadwaterError, "'soon' is not an instant"),
        (("impact", OUT, "--direction", "both"), InvalidQueryError, "goes one way"),
        (("impact", "owner:ann"), NotFoundError, "Nothing is known"),
        (("describe", OUT, "--remove", "colour=red"), InvalidQueryError, "removes nothing"),
        (("describe", OUT, "--remove", "tag"), InvalidQueryError, "removes nothing"),
        (("describe", "/nowhere", "--tag", "x"), NotFoundError, "Nothing is known of /nowhere"),
    ],
)
def test_what_cannot_be_is_refused(described: Path, arguments: tuple[str, ...], error: type[HeadwaterError], said: str) -> None:
    with pytest.raises(error, match=said):
        run(*arguments, "--home", described)


CYCLE = {
    "types": [{"name": "team", "axis": "actor", "holds": ["team"]}],
    "instances": [{"id": "actor:team:a"}, {"id": "actor:team:b"}],
    "containment": [{"container": "actor:team:a", "child": "actor:team:b"}, {"container": "actor:team:b", "child": "actor:team:a"}],
}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (CYCLE, r"\$\.containment\[1\]: actor:team:a contains actor:team:b already"),
        ({"instances": [{"id": "actor:planet:earth"}]}, r"\$\.instances\[0\]\.id: 'planet' is no type"),
        ({"descriptions": [{"id": f"dataset:file:{OUT}", "aspect": "colour", "value": "red"}]}, "aspect is 'colour'"),
        ([], "holds no object"),
        ({"description": []}, r"\$ has 'description', which says nothing"),
        (
            {"descriptions": [{"id": f"dataset:file:{OUT}", "aspect": "tag", "value": "x", "remove": True}]},
            r"\$\.descriptions\[0\] has 'remove'",
        ),
    ],
)
def test_a_declaration_that_breaks_a_rule_is_refused_with_its_place(lived_in: Path, tmp_path: Path, document: Any, said: str) -> None:
    file = tmp_path / "declaration.json"
    file.write_text(json.dumps(document))
    with pytest.raises(InvalidInputError, match=said):
        run("declare", file, "--home", lived_in)


def test_a_declaration_is_taken_out_of_a_file(lived_in: Path, tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "declaration.json"
    shutil.copytree(lived_in, home)
    file.write_text(json.dumps({"descriptions": [{"id": f"dataset:file:{OUT}", "aspect": "tag", "value": "gold"}]}))
    assert json.loads(run("declare", file, "--home", home))["offset"] > 0
    assert [(row["aspect"], row["value"]) for row in rows("describe", OUT, "--home", home)] == [("tag", "gold")]


def test_an_id_is_no_emoji(capsys: pytest.CaptureFixture[str]) -> None:
    with console().capture() as said:
        console().print("actor:x:y")
    assert said.get() == "actor:x:y\n"
