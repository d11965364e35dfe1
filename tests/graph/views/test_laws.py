"""The laws of views, against a brute force over random graphs: cycles, containers above and below, jobs outside pipelines."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.graph.model import NodeKind
from headwater.graph.stores import Direction
from headwater.graph.views import Mask, MaskBy, View
from tests.graph.views.conftest import Show
from tests.graph.views.worlds import Arc, World, leads, some, worlds

LAW = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
DATA = st.sampled_from([NodeKind.PLATFORM, NodeKind.DATASET])
ACTORS = st.sampled_from([NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.JOB])
DIRECTIONS = st.sampled_from(Direction)


def reached(world: World, focus: str, direction: Direction) -> set[str]:
    pairs = leads(world.arcs)
    found = {focus}
    if direction is not Direction.DOWNSTREAM:
        found |= {src for src, dst in pairs if dst == focus}
    if direction is not Direction.UPSTREAM:
        found |= {dst for src, dst in pairs if src == focus}
    return found


def arcs_among(world: World, nodes: set[str]) -> list[Arc]:
    return [arc for arc in world.arcs if set(arc) <= nodes]


def masks_of(hidden: set[str]) -> tuple[Mask, ...]:
    return (Mask(MaskBy.NODE, tuple(sorted(hidden))),) if hidden else ()


@given(worlds(), DIRECTIONS, st.data())
@LAW
async def test_masking_keeps_reachability(show: Show, world: World, direction: Direction, data: st.DataObject) -> None:
    """Law 1, and what a link is: a path of masked nodes, with exactly those on it."""
    focus = data.draw(st.sampled_from(sorted(world.nodes())))
    hidden = some(data, world.nodes()) - {focus}
    shown = await show(world.batch(), focus, direction=direction, masks=masks_of(hidden), depth=1_000)
    within = reached(world, focus, direction)
    arcs = arcs_among(world, within)
    visible = set(shown.node_ids())
    assert visible == within - hidden
    assert {pair for pair in leads(shown.all_edges()) if pair[0] != pair[1]} == {
        (a, b) for a, b in leads(arcs) if a in visible and b in visible and a != b
    }
    # With one focus this is the whole graph's reachability, not only that of the part that was reached.
    assert {pair for pair in leads(arcs) if set(pair) <= visible} == {pair for pair in leads(world.arcs) if set(pair) <= visible}
    joined = {(a, b) for a, b in leads(arcs, through=lambda node: node in hidden) if {a, b} <= visible and a != b}
    assert shown.all_edges() == joined
    for edge in shown.edges():
        ahead = leads(arcs, through=lambda node: node in hidden)
        between = {node for node in hidden & within if (edge.src, node) in ahead and (node, edge.dst) in ahead}
        assert (edge.via, edge.direct) == (len(between), (edge.src, edge.dst) in arcs)


@given(worlds(), DIRECTIONS, DATA, ACTORS, st.data())
@LAW
async def test_zooming_loses_nothing_and_makes_nothing_up(
    show: Show, world: World, direction: Direction, level: NodeKind, actors: NodeKind, data: st.DataObject
) -> None:
    """Laws 2, 3, 4 and 5, with masks on containers and on members."""
    focus = data.draw(st.sampled_from(sorted(world.nodes())))
    lift = world.lifted(level, actors)
    hidden = some(data, {lift(node) for node in world.nodes()}) - {lift(focus)} if data.draw(st.booleans()) else set()
    within = reached(world, focus, direction)
    if actors is NodeKind.PIPELINE and not world.pipeline.keys() & within:
        actors = NodeKind.JOB  # else there is no such level
        hidden = {node for node in hidden if not node.startswith("pipeline")}
        lift = world.lifted(level, actors)
    shown = await show(world.batch(), focus, direction=direction, data=level, actors=actors, masks=masks_of(hidden), depth=1_000)
    arcs, visible = arcs_among(world, within), set(shown.node_ids())
    assert visible == {lift(node) for node in within} - hidden
    in_view = leads(shown.all_edges())
    for a, b in leads(arcs):
        if {lift(a), lift(b)} <= visible and lift(a) != lift(b):
            assert (lift(a), lift(b)) in in_view
    joined = {(lift(a), lift(b)) for a, b in leads(arcs, through=lambda node: lift(node) in hidden)}
    assert shown.all_edges() == {(a, b) for a, b in joined if a != b and {a, b} <= visible}
    nodes = {node.node.id: node for node in await shown.nodes()}
    to_focus, from_focus = {a for a, b in leads(arcs) if b == focus} | {focus}, {b for a, b in leads(arcs) if a == focus} | {focus}
    for identifier, node in nodes.items():
        members = {member for member in within if lift(member) == identifier}
        assert node.upstream == (direction is not Direction.DOWNSTREAM and not members.isdisjoint(to_focus))
        assert node.downstream == (direction is not Direction.UPSTREAM and not members.isdisjoint(from_focus))
        assert node.members == len(members)
    paths_through_what_is_passed_wholly(shown, arcs, lift)


def paths_through_what_is_passed_wholly(shown: View, arcs: list[Arc], lift) -> None:
    """Law 5."""
    wholly = {node for node in shown.node_ids() if shown.wholly(node)}
    lifted = {(lift(a), lift(b)) for a, b in leads(arcs)}
    assert leads(shown.all_edges(), through=lambda node: node in wholly) <= lifted | {(node, node) for node in shown.node_ids()}


@given(worlds(), DATA, ACTORS, st.data())
@LAW
async def test_pages_together_are_the_view(show: Show, world: World, level: NodeKind, actors: NodeKind, data: st.DataObject) -> None:
    focus = data.draw(st.sampled_from(sorted(world.nodes())))
    if actors is NodeKind.PIPELINE:
        actors = NodeKind.JOB
    first, most = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 6))
    whole = await show(world.batch(), focus, data=level, actors=actors)
    nodes: list[str] = []
    edges: list[Arc] = []
    cursor, pages = None, 0
    while pages == 0 or cursor:
        page = await show(world.batch(), focus, data=level, actors=actors, first=first, edges=most, after=cursor)
        nodes += [node.node.id for node in await page.nodes()]
        edges += [(edge.src, edge.dst) for edge in page.edges()]
        assert page.totals == whole.totals
        cursor, pages = page.cursor, pages + 1
    assert nodes == whole.node_ids()
    assert sorted(edges) == sorted(whole.all_edges())


@given(worlds(), st.data())
@LAW
async def test_between_keeps_what_lies_on_a_way(show: Show, world: World, data: st.DataObject) -> None:
    a, b = (data.draw(st.sampled_from(sorted(world.nodes()))) for _ in range(2))
    shown = await show(world.batch(), between=((a,), (b,)), depth=1_000)
    pairs = leads(world.arcs)
    expected = {a, b}
    for one, other in ((a, b), (b, a)):
        expected |= {node for node in world.nodes() if (one, node) in pairs and (node, other) in pairs}
    assert set(shown.node_ids()) == expected


@given(worlds(), DIRECTIONS, st.data())
@LAW
async def test_end_points_are_what_nothing_enters_or_leaves(show: Show, world: World, direction: Direction, data: st.DataObject) -> None:
    """A cycle that nothing enters is an end as a whole."""
    focus = data.draw(st.sampled_from(sorted(world.nodes())))
    shown = await show(world.batch(), focus, direction=direction, ends_only=True, depth=1_000)
    within = reached(world, focus, direction)
    pairs = leads(arcs_among(world, within))
    first = {node for node in within if all((node, other) in pairs for other, end in pairs if end == node)}
    last = {node for node in within if all((other, node) in pairs for start, other in pairs if start == node)}
    assert set(shown.node_ids()) == first | last | {focus}


@given(worlds(), st.data())
@LAW
async def test_members_of_a_link_are_the_pairs_that_it_joins(show: Show, world: World, data: st.DataObject) -> None:
    focus = data.draw(st.sampled_from(sorted(world.nodes())))
    lift = world.lifted(NodeKind.PLATFORM, NodeKind.JOB)
    hidden = {node for node in world.nodes() if node.startswith("job")} - {focus}
    shown = await show(world.batch(), focus, data=NodeKind.PLATFORM, masks=masks_of(hidden), depth=1_000)
    arcs = arcs_among(world, reached(world, focus, Direction.BOTH))
    joined = leads(arcs, through=lambda node: node in hidden)
    for src, dst in shown.all_edges():
        members = await shown.members(src, dst)
        expected = sorted((a, b) for a, b in joined if (lift(a), lift(b)) == (src, dst) and not {a, b} & hidden)
        assert list(members.pairs) == expected
        assert (members.total, members.cursor) == (len(expected), None)
        ways = {node for a, b in expected for node in hidden if (a, node) in joined and (node, b) in joined}
        assert {node.id for node in members.masked} == ways


@given(worlds(), DIRECTIONS, st.data())
@LAW
async def test_each_level_that_a_view_names_has_a_node(show: Show, world: World, direction: Direction, data: st.DataObject) -> None:
    """The levels are those of the lineage: a mask may hide all nodes of a level."""
    focus = data.draw(st.sampled_from(sorted(world.nodes())))
    levels = await (await show(world.batch(), focus, direction=direction, depth=1_000)).levels()
    for name, named in (("data", levels.data), ("actors", levels.actors)):
        for each in named:
            shown = await show(world.batch(), focus, direction=direction, depth=1_000, **{name: each})
            assert any(node.startswith(f"{each}:") for node in shown.node_ids()), (each, shown.node_ids())
