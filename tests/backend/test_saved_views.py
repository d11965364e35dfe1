"""Saved views: whose they are, who sees them, and which addresses they may name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headwater.client import Client
from headwater.graph.access.rights import rights_of
from tests.backend.api.two_namespaces import OURS, Teams, teams

_SAVE = "mutation ($n: String!, $l: String!, $s: Boolean!) { saveView(name: $n, location: $l, shared: $s) { id name mine shared owner } }"
_LIST = "{ savedViews { id name location mine shared owner } }"
_CHANGE = "mutation ($i: ID!, $n: String, $s: Boolean) { changeView(id: $i, name: $n, shared: $s) { name shared } }"
_REMOVE = "mutation ($i: ID!) { removeView(id: $i) { name } }"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Teams]:
    with teams(tmp_path_factory.mktemp("views")) as made:
        yield made


def _key(world: Teams, name: str, *roles: str) -> dict[str, str]:
    return world.key(name, rights_of(roles, [], lambda _, text: ValueError(text)))


def _save(world: Teams, headers: dict[str, str], name: str, location: str = "/?dataset=a", *, shared: bool = False) -> Any:
    return world.ask(headers, _SAVE, n=name, l=location, s=shared)


def _names(world: Teams, headers: dict[str, str]) -> list[str]:
    return [view["name"] for view in world.ask(headers, _LIST)["data"]["savedViews"]]


def _code(answer: Any) -> str:
    return str(answer["errors"][0]["extensions"]["code"])


def test_a_private_view_is_its_owners_alone_and_a_shared_one_everybodys(world: Teams) -> None:
    ann, bob, restricted = _key(world, "ann", "steward"), _key(world, "bob", "viewer"), _key(world, "part", f"viewer:{OURS}")
    private = _save(world, ann, "mine")["data"]["saveView"]
    shared = _save(world, ann, "ours", shared=True)["data"]["saveView"]
    assert (private["mine"], private["owner"], shared["shared"]) == (True, "key ann", True)
    assert _names(world, ann) == ["mine", "ours"]
    assert _names(world, bob) == ["ours"]
    assert _names(world, restricted) == [], "the address may name what this key may not see"
    assert _save(world, restricted, "part")["data"]["saveView"]["mine"] is True
    assert _names(world, restricted) == ["part"]
    for document in (_CHANGE, _REMOVE):
        for view in (private, shared):
            assert _code(world.ask(bob, document, i=view["id"], n="stolen")) == "NotFoundError"
        assert _code(world.ask(restricted, document, i=shared["id"], n="stolen")) == "NotFoundError"
    assert _code(_save(world, bob, "public", shared=True)) == "ForbiddenError"
    assert _code(world.ask(bob, _CHANGE, i=_save(world, bob, "b")["data"]["saveView"]["id"], s=True)) == "ForbiddenError"
    assert world.ask(ann, _CHANGE, i=private["id"], n="renamed")["data"]["changeView"] == {"name": "renamed", "shared": False}
    assert _code(world.ask(ann, _CHANGE, i=private["id"], n="ours")) == "InvalidInputError"
    admin = _key(world, "chief", "admin")
    assert _code(world.ask(admin, _REMOVE, i=private["id"])) == "NotFoundError"
    assert world.ask(admin, _REMOVE, i=shared["id"])["data"]["removeView"] == {"name": "ours"}
    assert _names(world, ann) == ["renamed"]


@pytest.mark.parametrize(
    "location",
    ["https://example.com/", "//example.com", "javascript:alert(1)", "/\\example.com", "", "/" + "x" * 8_000, "/a\nb", " /a", "/\u202ea"],
)
def test_an_address_outside_of_the_page_is_refused(world: Teams, location: str) -> None:
    assert _code(_save(world, world.home, "odd", location)) == "InvalidInputError"


@pytest.mark.parametrize("name", ["", " ", "x" * 121, "a\x00b", "a\u202eb"])
def test_a_name_that_nobody_can_read_is_refused(world: Teams, name: str) -> None:
    assert _code(_save(world, world.home, name)) == "InvalidInputError"


def test_a_view_replaces_another_with_its_name_only_on_request_and_strange_names_are_kept(world: Teams) -> None:
    name = "<script>'; DROP TABLE saved_view"

    def locations() -> list[str]:
        return [view["location"] for view in world.ask(world.home, _LIST)["data"]["savedViews"] if view["mine"] and view["name"] == name]

    _save(world, world.home, name, "/?a")
    assert _code(_save(world, world.home, name, "/?b")) == "InvalidInputError"
    assert locations() == ["/?a"]
    replacing = _SAVE.replace("shared: $s", "shared: $s, replace: true")
    assert world.ask(world.home, replacing, n=name, l="/?b", s=False)["data"]["saveView"]["name"] == name
    assert locations() == ["/?b"]


def test_the_client_saves_and_describes(world: Teams, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client("http://localhost", "none")
    monkeypatch.setattr(client, "execute", lambda document, **variables: _data(world.ask(world.home, document, **variables)))
    client.save_view("by client", "/?dataset=y")
    view = client.save_view("by client", "/?dataset=x", shared=True, replace=True)
    assert client.change_view(view.id, name="renamed").name == "renamed"
    assert "renamed" in [one.name for one in client.saved_views()]
    client.remove_view(view.id)
    assert "renamed" not in [one.name for one in client.saved_views()]
    dataset = f"dataset:{OURS.replace(':', '%3A')}:report"
    found = client.describe(dataset, owners=["ann"], tags=["gold"], terms=["Revenue"], description="All of it", retention="P7Y")
    assert (list(found.owners), found.description, found.retention) == (["ann"], "All of it", "P7Y")
    assert "gold" in found.tags
    (owner,) = [one for one in found.statements if one["aspect"] == "owner"]
    assert (owner["value"], owner["by"], owner["produced"]) == ("ann", "home", False)
    assert [term.name for term in client.glossary()] == ["Revenue"]
    assert "ann" in [node.name for node in client.find("ann", kinds=["OWNER"])]
    after = client.describe(dataset, remove={"owners": ["ann"], "retention": []})
    assert (list(after.owners), after.retention) == ([], None)
    assert client.description("dataset:file:nothing") is None


def _data(answer: Any) -> Any:
    assert "errors" not in answer, answer
    return answer["data"]
