"""The facet `headwater_actor`: types, containers and links of an actor's job; what it may not say is refused, with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.backend.projection import project_declaration, project_event
from headwater.capture.types import KINDS
from headwater.errors import InvalidEventError
from headwater.graph.model import EdgeKind, NodeKind, Stamp
from headwater.graph.model.declaration import ACTOR_TYPE, Declaration
from tests.backend.projection.events import JOB_ID, graph_of, run_event

_STEP, _PIPE = "actor:step:flights%3Aone", "actor:pipe:all"
_TYPE = {"name": "step", "axis": "actor", "within": ["pipe"], "holds": ["job"], "after": ["source"]}


def _event(**facet: Any) -> dict[str, Any]:
    event = run_event()
    event["job"]["facets"] = {"headwater_actor": {"type": "mapper", "types": [], "containment": [], "links": [], **facet}}
    return event


async def test_what_an_actor_says_of_itself_is_in_the_graph(tmp_path: Path):
    other = "job:flights:other"
    event = _event(types=[_TYPE], containment=[[_STEP, JOB_ID], [_PIPE, _STEP]], links=[[JOB_ID, other]])
    async with graph_of(tmp_path, event) as graph:
        assert (await graph.node(JOB_ID)).properties[ACTOR_TYPE] == "mapper"
        assert (await graph.node("type:step")).properties["after"] == ["source"]
        assert {_STEP, _PIPE} <= set(await graph.containers(JOB_ID))
        assert await graph.arcs(EdgeKind.LINKS) == {(JOB_ID, other)}


async def test_ids_may_be_encoded_more_than_they_need(tmp_path: Path):
    event = _event(links=[["job:flights:a%2Fb", "job:flights:x%2Fy"]])
    event["job"]["name"] = "a/b"
    async with graph_of(tmp_path, event) as graph:
        assert await graph.arcs(EdgeKind.LINKS) == {("job:flights:a/b", "job:flights:x/y")}


@pytest.mark.parametrize("later", ["user", "program"])
async def test_what_a_user_declared_of_a_type_stays(tmp_path: Path, later: str):
    declared = Declaration.from_json({"declared": "2026-01-01T00:00:00Z", "by": "ann", "types": [{**_TYPE, "after": ["mine"]}]})
    second = {"user": 30, "program": 1}[later]
    async with graph_of(tmp_path, run_event()) as graph:
        await graph.store.apply(graph.tenant, [project_declaration(declared, Stamp(f"2026-01-01T00:00:{second:02}.000000Z", "d"))])
        await graph.add({**_event(types=[_TYPE]), "eventTime": "2026-01-01T00:00:15Z"})
        assert (await graph.node("type:step")).properties["after"] == ["mine"]


@pytest.mark.parametrize(
    ("facet", "field"),
    [
        ({"type": ""}, ".type"),
        ({"type": {"a": 1}}, ".type"),
        ({"types": [{"name": "x", "axis": "sideways"}]}, ".types[0].axis"),
        ({"types": [{"name": "job", "axis": "actor"}]}, ".types[0].name"),
        ({"types": "x"}, ".types"),
        ({"links": [[JOB_ID]]}, ".links[0]"),
        ({"links": [[JOB_ID, "job:flights:other"], [1, 2]]}, ".links[1]"),
        ({"links": [["job:flights:theirs", "job:flights:others"]]}, ".links[0]"),
        ({"links": [[JOB_ID, "dataset:file:%2Fx"]]}, ".links[0]"),
        ({"links": [[JOB_ID, "no id"]]}, ".links[0]"),
        ({"containment": [[_STEP, "job:flights:theirs"]]}, ".containment[0]"),
        ({"containment": [["job:flights:theirs", JOB_ID]]}, ".containment[0]"),
        ({"containment": [["actor:step", JOB_ID]]}, ".containment[0]"),
        ({"containment": [[_STEP, JOB_ID]] * 1_001}, ".containment"),
    ],
)
def test_what_it_may_not_say_is_refused_with_its_place(facet: dict[str, Any], field: str):
    event = _event(**facet)
    with pytest.raises(InvalidEventError) as refused:
        project_event(event, Stamp("2026-01-01T00:00:00.000000Z", "e"))
    assert refused.value.field == f"$.job.facets.headwater_actor{field}"


def test_the_client_refuses_the_kinds_that_the_graph_has():
    assert set(NodeKind) == KINDS
