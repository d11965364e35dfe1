"""Records for keys that are restricted to namespaces: real jobs over real files, and nothing of the other team in any answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from headwater.graph.access.scopes import Scope
from tests.backend.api.records_of_two import READING, WITHOUT_FILES, Lake, dataset, two_teams
from tests.backend.api.two_namespaces import CANARY, Teams, restricted

_SCOPES = (Scope.READ, Scope.RECORDS, Scope.EXPORT)
_ELSEWHERE = "Records lie in places that this key may not see."
_RECORD = "{ dataset file row line grain values }"
_TRACE = (
    "query ($d: String!, $w: String, $r: [RowRef!], $f: Boolean!, $t: String, $c: String, $s: Semantics!)"
    " { trace(dataset: $d, where: $w, rows: $r, forward: $f, to: $t, column: $c, semantics: $s) { exact total"
    f" records {_RECORD} selected {_RECORD} path {{ job run output inputs operations expressions {{ operator by }} }}"
    " incomplete { what reason effect } } }"
)
_ROWS = "query ($d: ID!, $w: String, $o: RowOrder) { rows(dataset: $d, where: $w, order: $o) { total note rows { file values } } }"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Teams, Lake]]:
    with two_teams(tmp_path_factory.mktemp("two")) as made:
        yield made


@pytest.fixture(scope="module")
def world(opened: tuple[Teams, Lake]) -> Teams:
    return opened[0]


@pytest.fixture(scope="module")
def reader(world: Teams) -> dict[str, str]:
    return world.key("reader", restricted(*_SCOPES, patterns=READING))


def _traced(world: Teams, key: dict[str, str], name: str, **asked: Any) -> Any:
    given = {"w": "true", "f": False, "s": "INFLUENCE", **asked}
    return world.ask(key, _TRACE, d=dataset(name), **given)


def _values(answer: Any) -> set[tuple[str, Any]]:
    return {(record["dataset"], record["values"].get("amount")) for record in answer["data"]["trace"]["records"]}


def _without_what_was_asked(answer: Any, *asked: str) -> str:
    text = json.dumps(answer).lower()
    for one in asked:
        text = text.replace(one.lower(), "")
    return text


def test_whoever_reads_everything_is_told_of_both_teams(world: Teams) -> None:
    told = _traced(world, world.home, "report")["data"]["trace"]
    assert told["exact"]
    assert {record["dataset"] for record in told["records"]} == {dataset("orders"), dataset("canarysecret")}
    assert {hop["job"].rpartition(":")[2] for hop in _traced(world, world.home, "back")["data"]["trace"]["path"]} == {
        "load", "canaryjob", "again",
    }  # fmt: skip


def test_a_trace_tells_of_own_records_and_that_others_are_missing(world: Teams, reader: dict[str, str]) -> None:
    answer = _traced(world, reader, "report")
    told = answer["data"]["trace"]
    assert _values(answer) == {(dataset("orders"), 1), (dataset("orders"), 2)}
    assert (told["exact"], told["total"]) == (False, 2)
    assert [hop["inputs"] for hop in told["path"]] == [[dataset("orders")]]
    assert [entry["reason"] for entry in told["incomplete"]] == [_ELSEWHERE]


@pytest.mark.parametrize(("name", "asked"), [("back", {}), ("back", {"t": dataset("orders")}), ("orders", {"f": True})])
def test_a_trace_does_not_go_on_behind_what_is_hidden(world: Teams, reader: dict[str, str], name: str, asked: dict[str, Any]) -> None:
    assert _traced(world, world.home, name, **asked)["data"]["trace"]["records"]
    told = _traced(world, reader, name, **asked)["data"]["trace"]
    assert (told["records"], told["total"], told["exact"]) == ([], 0, False)
    assert _ELSEWHERE in [entry["reason"] for entry in told["incomplete"]]


@pytest.mark.parametrize("semantics", ["INFLUENCE", "WITNESS"])
@pytest.mark.parametrize("name", ["report", "back", "orders"])
def test_no_trace_tells_of_the_other_team(world: Teams, reader: dict[str, str], name: str, semantics: str) -> None:
    file = _traced(world, reader, name)["data"]["trace"]["selected"][0]["file"]
    for forward in (False, True):
        for asked in ({}, {"c": "amount"}, {"w": "amount > 1"}, {"w": None, "r": [{"file": file, "row": 1}]}, {"t": dataset("report")}):
            answer = _traced(world, reader, name, f=forward, s=semantics, **asked)
            assert CANARY not in json.dumps(answer).lower(), (asked, answer)


@pytest.mark.parametrize("name", ["canarysecret", "canarycopy", "canaryabsent"])
def test_records_of_another_team_are_answered_like_those_of_nothing(opened: tuple[Teams, Lake], reader: dict[str, str], name: str) -> None:
    world, lake = opened
    nothing, file = dataset("canaryabsent"), str(lake.path("canarysecret") / "part.csv")
    for query, asked in (
        (_TRACE, {"w": "true", "f": False, "s": "INFLUENCE"}), (_TRACE, {"r": [{"file": file, "row": 0}], "f": True, "s": "WITNESS"}),
        (_ROWS, {}), (_ROWS, {"w": "pay > 1"}), (_ROWS, {"o": {"column": "pay"}}),
    ):  # fmt: skip
        hidden, missing = (world.ask(reader, query, d=one, **asked) for one in (dataset(name), nothing))
        assert _without_what_was_asked(hidden, dataset(name)) == _without_what_was_asked(missing, nothing)
        assert "errors" in hidden


def test_a_file_of_another_team_is_not_opened_by_a_dataset_of_ones_own(opened: tuple[Teams, Lake], reader: dict[str, str]) -> None:
    world, lake = opened
    answers = []
    for name in ("canarysecret", "canaryabsent"):
        file = str(lake.path(name) / "part.csv")
        answer = _traced(world, reader, "orders", w=None, r=[{"file": file, "row": 0}], f=True)
        assert "errors" in answer
        answers.append(_without_what_was_asked(answer, file))
    assert answers[0] == answers[1]


def test_files_need_a_right_of_their_own(world: Teams) -> None:
    key = world.key("no-files", restricted(*_SCOPES, patterns=WITHOUT_FILES))
    for answer in (_traced(world, key, "report"), world.ask(key, _ROWS, d=dataset("orders"))):
        assert [error["message"] for error in answer["errors"]] == [_ELSEWHERE]


@pytest.mark.parametrize("where", ["pay > 1", "(SELECT max(pay) FROM 'canarysecret') > 1", "nothing = 1", "k = ", "CAST(k AS INT) = 1"])
def test_what_is_wrong_with_a_predicate_tells_nothing(world: Teams, reader: dict[str, str], where: str) -> None:
    for answer in (_traced(world, reader, "orders", w=where), world.ask(reader, _ROWS, d=dataset("orders"), w=where)):
        assert "errors" in answer
        assert CANARY not in _without_what_was_asked(answer, where, "'canarysecret'")
        assert "777" not in json.dumps(answer)


def test_what_an_impact_tells_stops_at_what_is_hidden(world: Teams, reader: dict[str, str]) -> None:
    query = "query ($d: String!, $w: String) { impact(records: {dataset: $d, where: $w}, direction: %s) {%s} }"
    told = "rows { node { id } path lastRun records } total beyond exact reasons"
    for way, name in (("UPSTREAM", "report"), ("UPSTREAM", "back"), ("DOWNSTREAM", "orders")):
        asked = {"d": dataset(name), "w": "true"}
        assert CANARY in json.dumps(world.ask(world.home, query % (way, told), **asked)).lower()
        answer = world.ask(reader, query % (way, told), **asked)
        assert CANARY not in json.dumps(answer).lower(), answer
        assert answer["data"]["impact"]["exact"] is False


def test_the_derived_records_of_a_subject_stop_at_what_is_hidden(world: Teams, reader: dict[str, str]) -> None:
    told = "exact complete datasets { dataset records former complete reasons } records { dataset } incomplete { what reason } notes"
    query = f'query ($d: String!) {{ subjectAccess(dataset: $d, where: "true") {{ {told} }} }}'
    whole = world.ask(world.home, query, d=dataset("orders"))["data"]["subjectAccess"]
    assert {dataset("report"), dataset("back")} <= {one["dataset"] for one in whole["datasets"] if one["records"]}
    assert CANARY in json.dumps(whole).lower()
    answer = world.ask(reader, query, d=dataset("orders"))
    assert CANARY not in json.dumps(answer).lower(), answer
    shown = answer["data"]["subjectAccess"]
    assert (shown["exact"], shown["complete"]) == (False, False)
    assert not any(one["complete"] for one in shown["datasets"])


def test_a_file_of_another_team_that_is_gone_is_not_named(opened: tuple[Teams, Lake], reader: dict[str, str]) -> None:
    world, lake = opened
    file = lake.path("canarysecret") / "part.csv"
    kept = file.read_bytes()
    try:
        for change in (file.unlink, lambda: file.write_bytes(b"k,pay\nz,9\n")):
            change()
            answer = _traced(world, reader, "report", s="WITNESS", c="pay")
            assert CANARY not in json.dumps(answer).lower(), answer
            assert CANARY in json.dumps(_traced(world, world.home, "report", s="WITNESS", c="pay")).lower()
    finally:
        file.write_bytes(kept)


def test_what_is_damaged_of_another_team_is_not_named(opened: tuple[Teams, Lake], reader: dict[str, str]) -> None:
    world, lake = opened
    (table,) = (lake.root.parent / "home").glob(f"associations/*/*/{lake.captures['canaryjob']}/b*.parquet")
    kept = table.read_bytes()
    table.write_bytes(b"PAR1" + bytes(len(kept) - 8) + b"PAR1")
    try:
        answer = _traced(world, reader, "back")
        assert lake.captures["canaryjob"] not in json.dumps(answer), answer
        assert lake.captures["canaryjob"] in json.dumps(_traced(world, world.home, "back"))
    finally:
        table.write_bytes(kept)
