"""Everything that the documents ask a reader to type is valid: command lines, GraphQL, calls of the service, declarations, Python."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import typer
from graphql import build_schema, parse, validate

from headwater.backend.app import create_app
from headwater.backend.cli.main import app
from headwater.backend.home.settings import load_settings
from tests.house.scripts import load_script

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", flags=re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`(headwater [^`]+)`(?!`)")
ENDPOINT = re.compile(r"(GET|POST|PUT) (/(?:api|graphql|healthz|readyz|metrics)[\w/{}.-]*)")


def _blocks(page: Path, *languages: str) -> Iterator[str]:
    yield from (block["text"] for block in FENCE.finditer(page.read_text(encoding="utf-8")) if block["language"] in languages)


def _typed(page: Path) -> Iterator[str]:
    """The command lines of a page; those of a synopsis (`[OPTIONS]`) are the reference's own."""
    for block in _blocks(page, "", "sh", "console"):
        yield from (line for line in (each.removeprefix("$ ") for each in block.splitlines()) if line.startswith("headwater "))
    without_fences = FENCE.sub("", page.read_text(encoding="utf-8"))
    yield from (match[1] for match in INLINE.finditer(without_fences))


def _of_helps() -> Iterator[str]:
    """The examples in the help texts of commands."""
    for _, command in load_script(ROOT, "reference")._all_commands():
        for line in (command.help or "").splitlines():
            example = re.sub(r"^\s*(Example: )?", "", line)
            if example.startswith("headwater "):
                yield example


COMMANDS = sorted({line for page in PAGES for line in _typed(page) if "[OPTIONS]" not in line} | set(_of_helps()))


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_line_is_understood(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command: Any = typer.main.get_command(app)
    _, *arguments = shlex.split(line, comments=True)
    for argument in arguments:
        if not argument.startswith("-") and re.fullmatch(r"[\w.-]+", argument):
            (tmp_path / argument).touch()  # a file that is read must be there
    while hasattr(command, "resolve_command") and arguments:
        name, command, arguments = command.resolve_command(typer.Context(command), arguments)
    if not arguments:
        return  # a command that is only named
    command.make_context(name, arguments)


def test_there_are_examples_of_every_command() -> None:
    used = {shlex.split(line, comments=True)[1] for line in COMMANDS}
    assert [name for name in typer.main.get_command(app).list_commands(None) if name not in used | {"demo"}] == []  # make types that


def _calls() -> Iterator[list[str]]:
    """The calls by curl, as words."""
    for page in PAGES:
        for block in _blocks(page, "", "sh"):
            if block.startswith("curl "):
                yield shlex.split(re.sub(r"\$\(.*?\)", "KEY", block))


def _documents() -> Iterator[str]:
    for page in PAGES:
        yield from _blocks(page, "graphql")
    for call in _calls():
        if "-d" in call:
            yield json.loads(call[call.index("-d") + 1])["query"]


def test_graphql_is_of_the_schema() -> None:
    schema = build_schema((ROOT / "graphql" / "schema.graphql").read_text(encoding="utf-8"))
    documents = list(_documents())
    assert len(documents) >= 2
    assert [error for document in documents for error in validate(schema, parse(document))] == []


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found: dict[str, Any] = create_app(load_settings(home=tmp_path_factory.mktemp("home"))).openapi()["paths"]
    return found


def test_endpoints_that_are_spoken_of_are_there(paths: dict[str, Any]) -> None:
    spoken = {match.groups() for page in PAGES for match in ENDPOINT.finditer(page.read_text(encoding="utf-8"))}
    assert len(spoken) >= 10
    assert [f"{method} {path}" for method, path in sorted(spoken) if method.lower() not in paths.get(path, {})] == []


def test_a_call_of_the_service_has_parameters_that_it_knows(paths: dict[str, Any]) -> None:
    calls = [urlsplit(word) for call in _calls() for word in call if word.startswith("http://")]
    assert len(calls) >= 2
    for url in calls:
        assert url.path in paths
        known = {parameter["name"] for parameter in paths[url.path].get("get", {}).get("parameters", ())}
        assert set(parse_qs(url.query)) <= known


def test_json_is_json_and_python_is_python() -> None:
    for page in PAGES:
        for text in _blocks(page, "json"):
            json.loads(text)
        for text in _blocks(page, "python"):
            ast.parse(text)
