"""Statements of people about data: their author, their time, the form of their texts, and the masks that they must not lift."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.graph.access.rights import Rights, rights_of
from headwater.graph.access.scopes import Scope
from tests.backend.api.everything import Side
from tests.backend.api.two_namespaces import OUR_JOBS, OUR_RUN, OURS, THEIR_JOBS, THEIR_RUN, THEIRS, Teams, teams
from tests.backend.events import run_event

_OURS = Side(OURS, OUR_JOBS, "report", "total", "load", OUR_RUN)
_THEIRS = Side(THEIRS, THEIR_JOBS, "canaryout", "canarytotal", "canaryjob", THEIR_RUN)
_STATED = "query ($id: ID!) { node(id: $id) { properties } }"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("described")


@pytest.fixture(scope="module")
def world(folder: Path) -> Iterator[Teams]:
    with teams(folder) as made:
        yield made


def _declare(world: Teams, headers: dict[str, str], identifier: str, aspect: str, value: str, **more: Any) -> Any:
    description = {"id": identifier, "aspect": aspect, "value": value, "removed": more.pop("removed", False)}
    return world.client.post("/api/v1/declarations", json={"descriptions": [description], **more}, headers=headers)


def _fact(world: Teams, identifier: str, name: str) -> Any:
    world.settle()
    return world.ask(world.home, _STATED, id=identifier)["data"]["node"]["properties"].get(name)


def test_a_statement_has_the_author_that_the_service_knows_and_its_time(world: Teams) -> None:
    program = world.key("etl", Rights(frozenset({Scope.READ, Scope.DECLARE})))
    before = {"owner": "ann", "home": "home", "bot": "key etl", "cloe": "cloe (key etl)"}
    for value, headers, stated in (
        ("owner", world.home, {"by": "ann"}), ("home", world.home, {}), ("bot", program, {}), ("cloe", program, {"by": "cloe"}),
    ):  # fmt: skip
        assert _declare(world, headers, _OURS.dataset_id, "owner", value, **stated).status_code == 201
    for value, by in before.items():
        fact = _fact(world, _OURS.dataset_id, f"curated:owner:{value}")
        assert fact["by"] == by
        assert fact["at"].endswith("Z")
    mutation = "mutation ($d: JSON!) { declare(declaration: $d) }"
    document = {"by": "eve", "descriptions": [{"id": _OURS.dataset_id, "aspect": "description", "value": "x"}]}
    world.ask(program, mutation, d=document)
    assert _fact(world, _OURS.dataset_id, "curated:description")["by"] == "eve (key etl)"


@pytest.mark.parametrize(
    ("aspect", "value", "fault"),
    [
        ("tag", "x" * 10_000, "200 are the most"), ("owner", " ", "blank"), ("term", "a\nb", "U+000A"), ("tag", "pii\x00", "U+0000"),
        ("owner", "ann\u202egnp.exe", "direction"), ("description", "x" * 20_001, "20,000 are the most"),
        ("description", "a\x1b[31mb", "U+001B"), ("term", " gold", "space"), ("retention", "P7Y" * 1_000, "2,000 are the most"),
    ],
)  # fmt: skip
def test_a_text_that_nobody_could_read_is_refused_with_its_place(world: Teams, aspect: str, value: str, fault: str) -> None:
    refused = _declare(world, world.home, _OURS.dataset_id, aspect, value)
    assert (refused.status_code, refused.json()["field"]) == (400, "$.descriptions[0].value")
    assert fault in refused.text
    if len(value) < 10_000:  # no producer can state a longer tag, because a tag is an id
        assert _declare(world, world.home, _OURS.dataset_id, aspect, value, removed=True).status_code == 201, "producers may have stated it"


@pytest.mark.parametrize("value", ["<script>alert(1)</script>", "مالك البيانات", "日本語 👩‍🔬", "'; DROP TABLE nodes; --", "a|b\\c"])
def test_any_other_text_is_kept_as_it_is(world: Teams, value: str) -> None:
    for aspect in ("owner", "tag", "term", "description"):
        assert _declare(world, world.home, _OURS.job_id, aspect, value).status_code == 201
    world.settle()
    asked = "query ($id: ID!) { node(id: $id) { descriptions { owners tags terms description } } }"
    found = world.ask(world.home, asked, id=_OURS.job_id)["data"]["node"]["descriptions"]
    assert all(value in found[name] for name in ("owners", "tags", "terms"))
    assert found["description"] == value


def test_a_mask_is_lifted_by_those_alone_who_may_see_what_it_masks(world: Teams, folder: Path) -> None:
    steward = world.key("steward", rights_of(["steward"], [], _unknown))
    partly = rights_of(["viewer"], ["declare", f"records:{OURS}", f"unmasked:{OURS}"], _unknown)
    assert Scope.UNMASKED in partly.settled().scopes
    local = world.key("local", partly)
    masks = folder / "masks.toml"
    masks.write_text('[[mask]]\ntag = "level=high"\n')
    try:
        for side in (_OURS, _THEIRS):
            for tag in ("level=high", "LEVEL=HIGH", "level", "Level"):  # the key alone removes the tag with any value
                assert _declare(world, steward, side.column_id, "tag", tag, removed=True).status_code == 403, (side.table, tag)
            assert _declare(world, steward, side.column_id, "tag", "other", removed=True).status_code == 201
        assert _declare(world, local, _THEIRS.column_id, "tag", "level", removed=True).status_code == 403, (
            "may see masked columns elsewhere"
        )
        assert _declare(world, local, _OURS.column_id, "tag", "level", removed=True).status_code == 201
    finally:
        masks.unlink()


def _unknown(_: str, name: str) -> Exception:
    return ValueError(name)


_DESCRIBE = (
    "mutation ($n: ID!, $c: [DescriptionChange!]!) { describe(node: $n, changes: $c)"
    " { owners tags terms description statements { aspect value by at produced removed overruled } } }"
)


def _describe(world: Teams, headers: dict[str, str], node: str, *changes: dict[str, Any]) -> Any:
    return world.ask(headers, _DESCRIBE, n=node, c=list(changes))


def _code(answer: Any) -> str:
    return str(answer["errors"][0]["extensions"]["code"])


def test_people_win_and_both_are_shown_with_their_author(world: Teams) -> None:
    facets = {
        "ownership": {"owners": [{"name": "team", "type": "OWNER"}]},
        "documentation": {"description": "as produced"},
        "tags": {"tags": [{"key": "raw", "value": "true", "source": "DBT"}]},
    }
    stated = {
        name: {"_producer": "https://example.org/p", "_schemaURL": "https://example.org/s", **facet} for name, facet in facets.items()
    }
    event = run_event(77, job={"namespace": OUR_JOBS, "name": "described"}, inputs=[], outputs=[{"namespace": OURS, "name": "both"}])
    event["outputs"][0]["facets"] = stated
    assert world.client.post("/api/v1/lineage", json=event, headers=world.home).status_code == 201
    world.settle()
    node = f"dataset:{OURS.replace(':', '%3A')}:both"
    answer = _describe(
        world, world.home, node, {"aspect": "OWNER", "value": " ann "}, {"aspect": "DESCRIPTION", "value": "by a person"},
        {"aspect": "TAG", "value": "raw", "removed": True},
    )["data"]["describe"]  # fmt: skip
    assert (answer["owners"], answer["tags"], answer["description"]) == (["ann", "team"], [], "by a person")
    by_value = {(one["value"], one["produced"]): one for one in answer["statements"]}
    assert (by_value["ann", False]["by"], by_value["team", True]["by"]) == ("home", "https://example.org/p")
    assert (by_value["raw", False]["removed"], by_value["raw", True]["overruled"], by_value["raw", True]["by"]) == (True, True, "DBT")
    assert by_value["as produced", True]["overruled"] is True
    assert by_value["ann", False]["at"]
    found = world.ask(world.home, '{ find(text: "by a person", owners: ["ann"]) { hits { node { id } } } }')
    assert node in [hit["node"]["id"] for hit in found["data"]["find"]["hits"]]
    again = _describe(world, world.home, node, {"aspect": "DESCRIPTION", "removed": True}, {"aspect": "TAG", "value": "raw"})
    assert (again["data"]["describe"]["description"], again["data"]["describe"]["tags"]) == ("as produced", ["raw"])


def test_a_change_is_made_as_a_whole_by_those_who_may(world: Teams) -> None:
    viewer = world.key("reader", rights_of(["viewer"], [], _unknown))
    owner = {"aspect": "OWNER", "value": "zoe"}
    assert _code(_describe(world, viewer, _OURS.dataset_id, owner)) == "ForbiddenError"
    ours = world.key("ours", rights_of([f"steward:{OURS}"], [], _unknown))
    assert "zoe" in _describe(world, ours, _OURS.dataset_id, owner)["data"]["describe"]["owners"]
    assert _code(_describe(world, ours, _THEIRS.dataset_id, owner)) == "NotFoundError", "hidden and absent are alike"
    assert _code(_describe(world, ours, "term:Revenue", {"aspect": "DESCRIPTION", "value": "x"})) == "ForbiddenError"
    assert _code(_describe(world, world.home, _OURS.version_id, owner)) == "InvalidQueryError"
    assert _code(_describe(world, world.home, _OURS.dataset_id)) == "InvalidQueryError"
    assert _code(_describe(world, world.home, _OURS.dataset_id, *[owner] * 201)) == "InvalidQueryError"
    assert _code(_describe(world, world.home, _OURS.dataset_id, {"aspect": "BROADER", "value": "x"})) == "InvalidInputError"
    refused = _describe(world, world.home, _OURS.dataset_id, {"aspect": "OWNER", "value": "half"}, {"aspect": "TAG", "value": "\x00"})
    assert _code(refused) == "InvalidInputError"
    found = world.ask(world.home, "query ($i: ID!) { node(id: $i) { descriptions { owners } } }", i=_OURS.dataset_id)
    assert "half" not in found["data"]["node"]["descriptions"]["owners"]


def test_the_glossary_shows_the_terms_of_visible_nodes(world: Teams) -> None:
    for term, broader in (("Net", "Money"), ("Gross", "Net")):
        assert _declare(world, world.home, f"term:{term}", "broader", broader).status_code == 201
    world.settle()
    _describe(world, world.home, _OURS.dataset_id, {"aspect": "TERM", "value": "Gross"})
    asked = "{ glossary { cut terms { name broader level } } }"
    everything = world.ask(world.home, asked)["data"]["glossary"]["terms"]
    levels = {term["name"]: (term["broader"], term["level"]) for term in everything}
    assert (levels["Money"], levels["Net"], levels["Gross"]) == ((None, 0), ("Money", 1), ("Net", 2))
    ours = world.key("terms", rights_of([f"viewer:{OURS}"], [], _unknown))
    visible = {term["name"]: term["broader"] for term in world.ask(ours, asked)["data"]["glossary"]["terms"]}
    assert visible["Gross"] is None
    assert "Net" not in visible
    shown = world.ask(ours, _STATED, id="term:Gross")["data"]["node"]
    assert "Net" not in str(shown)
    assert "Net" in str(world.ask(world.home, _STATED, id="term:Gross")["data"]["node"])
