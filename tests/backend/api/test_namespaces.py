"""Keys that are restricted to namespaces: they see and send within these, and nothing else exists for them.

The matrix is generated: every route of the table and every question of the schema is asked about things that the key may read, things that
it may not, and things that do not exist. No answer may reveal anything of the other team. Hidden things are answered like missing ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest

from headwater.backend.api.access import RULES
from headwater.errors import InvalidInputError
from headwater.graph.access.patterns import Namespaces
from headwater.graph.access.rights import Rights, kept_rights, rights_of
from headwater.graph.access.scopes import Answering, Scope
from headwater.graphql.schema import schema
from tests.backend.api.everything import Side, encoded, path_about, questions_about, route_answers
from tests.backend.api.two_namespaces import (
    CANARY,
    MIXED_RUN,
    OUR_JOBS,
    OUR_RUN,
    OURS,
    THEIR_JOBS,
    THEIR_RUN,
    THEIRS,
    Teams,
    dataset,
    events,
    restricted,
    teams,
)
from tests.backend.events import facet, run_event

_READING = (Scope.READ, Scope.RECORDS, Scope.EXPORT)
_NO_RUN = f"f{THEIR_RUN[1:]}"
_SHARED_RUN = "00000009-0000-4000-8000-000000000000"
_ABSENT = "absent"  # as long as the other word: in its place, a name of nothing
_REFUSED = "This is not open to keys restricted to namespaces."


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Teams]:
    with teams(tmp_path_factory.mktemp("teams")) as made:
        yield made


@pytest.fixture(scope="module")
def reader(world: Teams) -> dict[str, str]:
    return world.key("reader", restricted(*_READING))


_OUR_SIDE = Side(OURS, OUR_JOBS, "report", "total", "load", OUR_RUN)
_OUR_SECOND = Side(OURS, OUR_JOBS, "second", "copied", "again", MIXED_RUN)
_THEIR_SIDE = Side(THEIRS, THEIR_JOBS, "canaryout", "canarytotal", "canaryjob", THEIR_RUN)


# Questions of the schema --------------------------------------------------------------------------------------------------------------


def _told(text: str) -> str:
    return text.lower().replace(THEIR_RUN, "a-run").replace(_NO_RUN, "a-run")


def test_whoever_reads_everything_is_told_of_both_teams(world: Teams) -> None:
    """The canaries are there to be found: else the matrix would show nothing."""
    told = {
        name for name, document in questions_about(_OUR_SIDE) if CANARY in json.dumps(world.ask(world.home, document).get("data")).lower()
    }
    assert told >= {"datasets", "jobs", "search", "lineage", "view", "impact", "node", "tags", "types", "fieldLineage", "viewDifference"}
    paths = {
        path
        for path, response, _ in route_answers(world.client, world.home, _OUR_SIDE)
        if response.is_success and CANARY in response.text.lower()
    }
    assert len(paths) > 20


@pytest.mark.parametrize("side", [_OUR_SIDE, _OUR_SECOND], ids=["report", "second"])
def test_no_question_tells_of_the_other_team(world: Teams, reader: dict[str, str], side: Side) -> None:
    unread = {"rows", "trace", "subjectAccess"} | ({"viewLink"} if side is _OUR_SECOND else set())  # there are no files, and no link
    answered = set()
    for name, document in questions_about(side):
        response = world.client.post("/graphql", json={"query": document}, headers=reader)
        echoed = document.lower()
        found = _told(response.text)
        if response.json().get("errors"):  # an error may tell what was asked
            for asked in re.findall(r'"([^"]*canary[^"]*)"', echoed):
                found = found.replace(asked, "")
        else:
            answered.add(name)
        assert CANARY not in found, (document, response.text[:2000])
        assert CANARY not in str(dict(response.headers)).lower()
    assert answered >= {name for name, access in schema.access["Query"].items() if access.in_namespaces} - unread


def _absent(text: str) -> str:
    return text.replace(CANARY, _ABSENT).replace(THEIR_RUN, _NO_RUN)


def test_what_is_hidden_is_answered_like_what_is_not_there(world: Teams, reader: dict[str, str]) -> None:
    compared = 0
    for name, document in questions_about(_THEIR_SIDE):
        hidden = world.client.post("/graphql", json={"query": document}, headers=reader)
        missing = world.client.post("/graphql", json={"query": _absent(document)}, headers=reader)
        assert _told(_absent(hidden.text)) == _told(missing.text), (name, document)
        assert hidden.status_code == missing.status_code
        compared += 1
    assert compared > 100


def test_what_is_not_open_is_refused_whatever_is_asked(world: Teams, reader: dict[str, str]) -> None:
    refused = set()
    for name, document in questions_about(_OUR_SIDE):
        if not schema.access["Query"][name].in_namespaces:
            errors = world.ask(reader, document)["errors"]
            assert {error["extensions"]["code"] for error in errors} == {"ForbiddenError"}, (document, errors)
            refused.add(name)
    assert {"traceJob", "replays", "replay", "recaptures", "recapture", "registrations", "erasures", "admin", "audit"} <= refused


# Routes -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [_OUR_SIDE, _OUR_SECOND], ids=["report", "second"])
def test_no_route_tells_of_the_other_team(world: Teams, reader: dict[str, str], side: Side) -> None:
    answered = set()
    for path, response, query in route_answers(world.client, reader, side, few=False):
        text = response.text.lower() + str(dict(response.headers)).lower()
        if response.status_code < 300:
            answered.add(path)
            assert CANARY not in text, (path, query, response.text[:3000])
        else:
            assert CANARY not in text.replace(f"{CANARY}tag", ""), (path, query, response.text[:3000])
            assert response.status_code < 500, response.text
    filtered = {path for (method, path), rule in RULES.items() if method == "GET" and rule.within is Answering.FILTERED}
    one_side = {"/api/v1/namespaces/{namespace}/datasets/{dataset}/versions/{version}"} if side is _OUR_SECOND else set()
    assert filtered <= answered | one_side | {"/graphql"}


def test_a_route_answers_for_what_is_hidden_as_for_what_is_not_there(world: Teams, reader: dict[str, str]) -> None:
    hidden = list(route_answers(world.client, reader, _THEIR_SIDE))
    missing = list(route_answers(world.client, reader, _THEIR_SIDE, _absent))
    for (path, one, query), (_, other, _) in zip(hidden, missing, strict=True):
        assert one.status_code == other.status_code, (path, query, one.text, other.text)
        left, right = _told(_absent(one.text)), _told(other.text)
        if path.endswith(("/prov", "/openmetadata", "/datahub")) and one.status_code == 200:
            continue  # a document has its own time
        assert left == right, (path, query)


def _everything_told(world: Teams, headers: dict[str, str]) -> dict[str, str]:
    """All answers to questions and routes about our datasets, by what was asked."""
    found = {}
    for side in (_OUR_SIDE, _OUR_SECOND):
        for _, document in questions_about(side):
            found[document] = world.client.post("/graphql", json={"query": document}, headers=headers).text
        for path, response, query in route_answers(world.client, headers, side):
            if not path.endswith(("/prov", "/openmetadata", "/datahub")):  # a document has its own time
                found[f"{path} {query}"] = re.sub(r'"end(TimeInSeconds)?":\d+', "", response.text)  # CDAP repeats what "now" was
    return found


@pytest.mark.slow
def test_nothing_that_is_told_moves_with_events_of_the_other_team(tmp_path: Path) -> None:
    # They write nothing new: the time of the last write is a property of the dataset, for every writer.
    again = [event | {"eventTime": "2026-01-01T00:00:00Z", "eventType": "RUNNING"} for event in events()]
    again = [event for event in again if event["job"]["namespace"] == THEIR_JOBS]
    reading = run_event(
        8, eventTime="2026-01-02T00:00:00Z", job={"namespace": THEIR_JOBS, "name": "canaryreader"}, outputs=[],
        inputs=[dataset(OURS, name, column) for name, column in (("orders", "amount"), ("report", "total"))],
    )  # fmt: skip
    with teams(tmp_path) as world:
        reader = world.key("reader", restricted(*_READING))
        before, whole = _everything_told(world, reader), _everything_told(world, world.home)
        world.client.post("/api/v1/lineage", json=[*again, reading], headers=world.home).raise_for_status()
        world.settle()
        after = _everything_told(world, reader)
        assert _everything_told(world, world.home) != whole
        moved = [(asked, told, after[asked]) for asked, told in before.items() if after[asked] != told]
        assert moved == []


def test_every_route_is_refused_unless_the_table_says_what_it_has(world: Teams, reader: dict[str, str]) -> None:
    everything = world.key("everything", restricted(*_READING, Scope.DECLARE, Scope.INTAKE))
    others = (Scope.AUDIT, Scope.OPERATE, Scope.REPLAY)  # scopes that no key has in some namespaces alone
    refused = 0
    for (method, path), rule in RULES.items():
        if rule.within is Answering.REFUSED and rule.scope not in others:
            answer = world.client.request(method, path_about(path, _OUR_SIDE), headers=everything)
            assert answer.status_code == 403, path
            assert answer.json()["message"] == _REFUSED, path
            refused += 1
    assert refused == len([rule for rule in RULES.values() if rule.within is Answering.REFUSED]) - 2


# The rights of a key --------------------------------------------------------------------------------------------------------------------


def test_lists_have_what_is_permitted(world: Teams, reader: dict[str, str]) -> None:
    answer = world.ask(
        reader,
        "{ datasets { totalCount nodes { id } } jobs { totalCount nodes { id } } tags { nodes { id } } types { totalCount }"
        ' search(text: "", first: 100) { total nodes { id } } actors { totalCount } service { nodes runs captures } }',
    )
    data = answer["data"]
    assert [node["id"].rpartition(":")[2] for node in data["datasets"]["nodes"]] == ["orders", "report", "second", "third"]
    assert [node["id"] for node in data["jobs"]["nodes"]] == ["job:airflow-sales:again", "job:airflow-sales:load"]
    assert [node["id"] for node in data["tags"]["nodes"]] == ["tag:monthly"]
    assert (data["datasets"]["totalCount"], data["jobs"]["totalCount"], data["types"]["totalCount"]) == (4, 2, 0)
    assert data["search"]["total"] == len(data["search"]["nodes"]) == data["service"]["nodes"] - data["service"]["runs"]
    assert data["service"]["runs"] == 2


def test_pages_of_lists_hold_everything_once(world: Teams, reader: dict[str, str]) -> None:
    query = "query ($a: String) { datasets(first: 1, after: $a) { nodes { id } totalCount pageInfo { hasNextPage endCursor } } }"
    found, after = [], None
    while True:
        page = world.ask(reader, query, a=after)["data"]["datasets"]
        found += [node["id"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert len(found) == len(set(found)) == page["totalCount"] == 4


def test_a_walk_stops_at_what_is_hidden_and_says_so(world: Teams, reader: dict[str, str]) -> None:
    query = "query ($f: [ID!]!) { lineage(focus: $f, direction: UPSTREAM) { nodes { id } hidden truncated } }"
    third = f"dataset:{encoded(OURS, 'third')}"
    seen = world.ask(reader, query, f=[third])["data"]["lineage"]
    assert [node["id"].rpartition(":")[2] for node in seen["nodes"]] == ["third", "again", "second"]
    assert (seen["hidden"], seen["truncated"]) == (True, 0)
    whole = world.ask(world.home, query, f=[third])["data"]["lineage"]
    assert len(whole["nodes"]) > 3
    assert not whole["hidden"]
    notes = world.ask(reader, "query ($f: [ID!]!) { view(view: {focus: $f, direction: UPSTREAM}) { notes } }", f=[third])["data"]["view"][
        "notes"
    ]
    assert notes == ["Something that belongs here lies in namespaces that this key may not read."]


def test_a_run_is_no_replay_of_a_run_of_elsewhere(world: Teams) -> None:
    producer = world.key("replayer", restricted(Scope.INTAKE))
    own = run_event(51, job={"namespace": OUR_JOBS, "name": "x"}, inputs=[], outputs=[dataset(OURS, "made")])

    def send(number: int, *replaced: str) -> tuple[int, str]:
        run = {"runId": str(UUID(int=number)), "facets": {"headwater_replay": facet(replaces=list(replaced))}}
        event = run_event(number, job={"namespace": OUR_JOBS, "name": "x"}, run=run, inputs=[], outputs=[])
        answer = world.client.post("/api/v1/lineage", json=event, headers=producer)
        return answer.status_code, answer.text.replace(THEIR_RUN, "a-run").replace(_NO_RUN, "a-run").replace(run["runId"], "this")

    assert world.client.post("/api/v1/lineage", json=own, headers=producer).status_code == 201
    hidden, absent = send(52, OUR_RUN, THEIR_RUN.upper()), send(52, _NO_RUN)
    assert (hidden[0], "is not known in the namespaces of this key" in hidden[1]) == (422, True), hidden
    assert hidden == absent
    assert send(53, OUR_RUN)[0] == 201
    world.settle()


def test_a_key_without_patterns_sees_everything_as_before(world: Teams) -> None:
    viewer = world.key("viewer", Rights(frozenset({Scope.READ, Scope.RECORDS})))
    query = "{ datasets { totalCount } service { nodes } types { totalCount } lineage(focus: [%s]) { nodes { id properties } } }"
    query %= json.dumps(_THEIR_SIDE.dataset_id)
    assert world.ask(viewer, query) == world.ask(world.home, query)


def test_events_of_other_namespaces_are_refused_whole(world: Teams) -> None:
    producer = world.key("producer", restricted(Scope.INTAKE))
    own = run_event(31, job={"namespace": OUR_JOBS, "name": "x"}, inputs=[], outputs=[dataset(OURS, "made")])
    assert world.client.post("/api/v1/lineage", json=own, headers=producer).status_code == 201
    foreign = [
        run_event(32, job={"namespace": "elsewhere", "name": "x"}, inputs=[], outputs=[]),
        run_event(33, job={"namespace": OUR_JOBS, "name": "x"}, inputs=[dataset(THEIRS, "in")], outputs=[]),
        run_event(34, job={"namespace": OUR_JOBS, "name": "x"}, inputs=[], outputs=[dataset("S3://sales", "out")]),
        run_event(35, job={"namespace": OUR_JOBS, "name": "x"}, run={"runId": THEIR_RUN}, inputs=[], outputs=[]),
    ]
    for event in foreign:
        answer = world.client.post("/api/v1/lineage", json=event, headers=producer)
        assert answer.status_code == 422, answer.text
        assert CANARY not in answer.text.replace(THEIRS, "").replace(quote(THEIRS, safe="/"), "")
    bare = THEIR_RUN.replace("-", "")
    for written in (THEIR_RUN.upper(), f"urn:uuid:{THEIR_RUN}", f"URN:UUID:{THEIR_RUN.upper()}", f"{{{THEIR_RUN}}}", bare, f"{{{bare}}}"):
        event = run_event(36, job={"namespace": OUR_JOBS, "name": "x"}, run={"runId": written}, inputs=[], outputs=[])
        answer = world.client.post("/api/v1/lineage", json=event, headers=producer)
        assert (answer.status_code, "is a run of another namespace" in answer.text) == (422, True), (written, answer.text)
    for written in (f"0x{bare[2:]}", f"{THEIR_RUN[:7]}-{THEIR_RUN[7:8]}{THEIR_RUN[9:]}", f" {THEIR_RUN}", f"{bare[:15]}_{bare[16:]}"):
        event = run_event(36, job={"namespace": OUR_JOBS, "name": "x"}, run={"runId": written}, inputs=[], outputs=[])
        for key in (producer, world.home):
            assert "not a UUID" in world.client.post("/api/v1/lineage", json=event, headers=key).text, written
    both = world.client.post("/api/v1/lineage/batch", json=[own, foreign[0]], headers=producer)
    assert (both.status_code, both.json()["accepted"], [one["index"] for one in both.json()["rejected"]]) == (422, 1, [1])
    world.settle()
    assert world.client.get("/api/v1/namespaces/elsewhere", headers=world.home).status_code == 404


def test_declarations_speak_of_own_namespaces_alone(world: Teams) -> None:
    steward = world.key("steward", restricted(Scope.READ, Scope.DECLARE))

    def declared(**document: Any) -> int:
        return world.client.post("/api/v1/declarations", json=document, headers=steward).status_code

    assert declared(descriptions=[{"id": _OUR_SIDE.dataset_id, "aspect": "tag", "value": "gold"}]) == 201
    assert declared(descriptions=[{"id": _THEIR_SIDE.dataset_id, "aspect": "tag", "value": "gold"}]) == 404
    assert declared(descriptions=[{"id": "tag:monthly", "aspect": "description", "value": "x"}]) == 403
    assert declared(types=[{"name": "mine", "axis": "actor"}]) == 403
    tagged = f"/api/v1/namespaces/{quote(THEIRS, safe='')}/datasets/canaryout/tags/gold"
    assert world.client.post(tagged, headers=steward).status_code == 404


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("s3://sales*", ["s3://sales", "s3://sales-eu/x"], ["s3://hr", "S3://sales", "xs3://sales", "s3%3A//sales"]),
        ("a?c", ["abc", "a*c"], ["ac", "abbc"]),
        (r"a\*c", ["a*c"], ["abc", "a\\*c"]),
        ("*.sales.*", ["x.sales.y", ".sales."], ["sales", "x.sales"]),
        ("[ab]", ["[ab]"], ["a", "b"]),
        ("caf\u00e9", ["caf\u00e9"], ["cafe\u0301", "cafe"]),
        ("*a*b*c", ["abc", "xxaxxbxxc"], ["acb", "ab"]),
    ],
)  # fmt: skip
def test_patterns(pattern: str, fits: list[str], does_not: list[str]) -> None:
    namespaces = Namespaces.of([pattern])
    assert [one for one in fits if not namespaces.has(one)] == []
    assert [one for one in does_not if namespaces.has(one)] == []


def test_patterns_take_no_longer_the_more_wildcards_they_have() -> None:
    assert not Namespaces.of(["*a" * 100 + "b"]).has("a" * 5_000)


def test_rights_are_kept_and_read_back() -> None:
    stated = ["read:s3://a b*", "read:100%", "records:s3://a b*", "intake", "export:caf\u00e9:\\*"]
    rights = rights_of((), stated, lambda _, name: ValueError(name))
    assert kept_rights(rights.kept()) == rights
    assert rights.texts() == sorted(stated)
    assert kept_rights("read:s3://a* later:x replay:x read:%5C").texts() == ["read:s3://a*"]


def test_a_run_tells_its_state_and_names_nothing_of_elsewhere(world: Teams, reader: dict[str, str]) -> None:
    told = world.ask(reader, f'{{ node(id: "run:{OUR_RUN}") {{ properties containers {{ id }} }} }}')["data"]["node"]
    assert told["properties"]["state"] == "COMPLETE"
    assert not {"parent", "parentRun", "error", "errorMessage", "odd", f"input:dataset:{encoded(THEIRS, 'canarysecret')}"} & set(
        told["properties"]
    )
    assert f"input:dataset:{encoded(OURS, 'orders')}" in told["properties"]
    assert [node["id"] for node in told["containers"]] == ["job:airflow-sales:load", "system:airflow-sales"]


def test_how_much_waits_is_told_to_those_who_read_everything(world: Teams, reader: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = 0

    async def pending(tenant: str) -> int:
        return waiting

    workspace = world.client.app.state.service.workspace  # type: ignore[attr-defined]  # the type of `app` is any ASGI callable
    monkeypatch.setattr(workspace.projector, "pending", pending)
    for waiting in (0, 1, 7):
        told = [world.ask(who, "{ service { pending } }")["data"]["service"]["pending"] for who in (world.home, reader)]
        assert told == [waiting, min(waiting, 1)]


def test_a_run_of_two_namespaces_needs_both(world: Teams, reader: dict[str, str]) -> None:
    """Whoever may send for a namespace must not draw another team's run into it."""
    query = f'{{ node(id: "run:{_SHARED_RUN}") {{ id }} runs(job: "job:airflow-sales:shared") {{ totalCount nodes {{ id }} }} }}'
    for jobs, name in ((OUR_JOBS, "shared"), (THEIR_JOBS, "canaryshared")):
        event = run_event(41, run={"runId": _SHARED_RUN}, job={"namespace": jobs, "name": name}, inputs=[], outputs=[])
        world.client.post("/api/v1/lineage", json=event, headers=world.home).raise_for_status()
    world.settle()
    assert world.ask(reader, query)["data"] == {"node": None, "runs": {"totalCount": 0, "nodes": []}}
    assert world.ask(world.home, query)["data"]["node"] is not None


def test_a_session_of_the_page_may_no_more_than_the_key_that_opened_it(world: Teams, reader: dict[str, str]) -> None:
    url = world.client.post("/api/v1/tickets", json={"scopes": ["read", "records", "declare"]}, headers=reader).json()["url"]
    cookie = world.client.get(url).headers["set-cookie"].partition(";")[0]
    world.client.cookies.clear()
    answer = world.ask({"Cookie": cookie, "Origin": "http://localhost"}, "{ datasets(first: 100) { nodes { id } } }")
    assert len(answer["data"]["datasets"]["nodes"]) >= 4
    assert CANARY not in str(answer)


def test_a_key_that_is_exchanged_stays_restricted(world: Teams) -> None:
    ring = world.client.app.state.service.credentials.named  # type: ignore[attr-defined]  # the type of `app` is any ASGI callable
    old, _ = ring.create("exchanged", restricted(Scope.READ), tenant="default")
    new, text = ring.rotate("exchanged", overlap=0)
    assert new.rights == old.rights == ring.find(text).rights


@pytest.mark.parametrize(
    ("roles", "scopes"),
    [(["auditor:x"], []), (["admin:x"], []), ([], ["replay:x"]), ([], ["read:"]), ([], ["read:x\\"]), ([], ["read:a\nb"])],
)
def test_what_cannot_be_restricted_is_refused(roles: list[str], scopes: list[str]) -> None:
    with pytest.raises(InvalidInputError):
        rights_of(roles, scopes, lambda _, name: ValueError(name))


def test_a_key_that_reads_in_part_may_not_read_who_asked_what(world: Teams) -> None:
    with pytest.raises(InvalidInputError, match="audit"):
        world.key("auditor", restricted(Scope.READ) | Rights(frozenset({Scope.AUDIT})))


def test_masked_columns_stay_masked_where_unmasked_is_given_for_less() -> None:
    both = rights_of(["analyst:a", "investigator:b"], (), lambda _, name: ValueError(name)).settled()
    assert Scope.UNMASKED not in both.scopes
    assert Scope.UNMASKED in rights_of(["investigator:b"], (), lambda _, name: ValueError(name)).settled().scopes
    assert Scope.READ not in rights_of(["analyst:a", "viewer"], (), lambda _, name: ValueError(name)).within
