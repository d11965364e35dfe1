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
