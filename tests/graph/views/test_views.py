"""Views of small graphs that can be read: levels, masks, mixed zoom, what is refused."""

from __future__ import annotations

import pytest

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.stores import Direction
from headwater.graph.views import Mask, MaskBy, ViewRequest, view
from tests.graph.views.conftest import Show

AT = Stamp("2026-01-01T00:00:00.000000Z", "k")


def dataset(name: str, platform: str = "s3") -> str:
    return node_id("dataset", platform, name)


def job(name: str) -> str:
    return node_id("job", "air", name)


def column(dataset_id: str, name: str) -> str:
    return f"column:{dataset_id.partition(':')[2]}:{name}"


def contains(container: str, child: str) -> Edge:
    return Edge(container, child, EdgeKind.CONTAINS)


def step(read: list[str], by: str, written: list[str]) -> list[Edge]:
    return [Edge(one, by, EdgeKind.READS) for one in read] + [Edge(by, one, EdgeKind.WRITES) for one in written]


RAW, USERS, CLEAN, REPORT, MAIL = dataset("raw", "hdfs"), dataset("users", "hdfs"), dataset("clean"), dataset("report"), dataset("mail")
CLEANING, REPORTING, MAILING = job("clean"), job("report"), job("mail")
DAILY = "pipeline:air:daily"
EDGES = [
    *step([RAW, USERS], CLEANING, [CLEAN]),
    *step([CLEAN], REPORTING, [REPORT]),
    *step([USERS], MAILING, [MAIL]),
    *(contains(DAILY, one) for one in (CLEANING, REPORTING)),
    contains("system:air", DAILY),
    *(contains("system:air", one) for one in (CLEANING, REPORTING, MAILING)),
]
WORLD = GraphBatch(AT, edges=EDGES)


async def test_levels_lift_nodes_into_their_containers(show: Show) -> None:
    shown = await show(WORLD, REPORT, data=NodeKind.PLATFORM, actors=NodeKind.PIPELINE)
    assert shown.all_edges() == {("platform:hdfs", DAILY), ("platform:s3", DAILY), (DAILY, "platform:s3")}
    weights = {(edge.src, edge.dst): edge.weight for edge in shown.edges()}
    assert weights == {("platform:hdfs", DAILY): 2, ("platform:s3", DAILY): 1, (DAILY, "platform:s3"): 2}
    assert {node.node.id: node.members for node in await shown.nodes()} == {"platform:hdfs": 2, "platform:s3": 2, DAILY: 2}


async def test_a_job_outside_all_pipelines_stays_itself(show: Show) -> None:
    shown = await show(WORLD, USERS, actors=NodeKind.PIPELINE)
    assert {DAILY, MAILING} <= set(shown.node_ids())


async def test_a_link_says_via_how_many_and_which(show: Show) -> None:
    shown = await show(WORLD, REPORT, masks=(Mask.parse("kind=job"), Mask.parse("name=clean")))
    assert shown.all_edges() == {(RAW, REPORT), (USERS, REPORT)}
    assert [(edge.via, edge.direct, edge.weight) for edge in shown.edges()] == [(3, False, 1)] * 2
    members = await shown.members(RAW, REPORT)
    assert list(members.pairs) == [(RAW, REPORT)]
    assert sorted(node.id for node in members.masked) == sorted([CLEANING, CLEAN, REPORTING])


async def test_names_may_be_withheld_but_counts_are_told(store, tmp_path) -> None:
    await store.apply("t", [WORLD])

    async def sight(ids):
        return {identifier for identifier in ids if identifier != CLEAN}

    asked = ViewRequest(focus=(REPORT,), masks=(Mask.parse("kind=job"), Mask.parse("name=clean")))
    members = await (await view(store, "t", asked, sight=sight)).members(RAW, REPORT)
    assert (members.masked_total, members.withheld) == (3, 1)
    assert CLEAN not in {node.id for node in members.masked}


TAGGED = GraphBatch(
    AT,
    [
        Node(
            CLEAN,
            NodeKind.DATASET,
            "clean",
            {"owners": ["ann"], "tags": {"tags": [{"key": "pii", "value": "true"}, {"key": "layer", "value": "silver"}]}},
        ),
        Node(RAW, NodeKind.DATASET, "raw", {"layer": "bronze", "ownership": {"owners": [{"name": "team:raw"}]}}),
        Node("platform:s3", NodeKind.PLATFORM, "s3", {"tags": ["cloud"]}),
    ],
)


@pytest.mark.parametrize(
    ("mask", "hidden"),
    [
        ("kind=job", {CLEANING, REPORTING}),
        ("name=CL*", {CLEANING, CLEAN}),
        ("namespace=hdfs", {RAW, USERS}),
        ("namespace!=hdfs", {CLEANING, CLEAN, REPORTING}),
        ("tag=pii", {CLEAN}),
        ("tag=pii=true", {CLEAN}),
        ("tag=cloud", {CLEAN}),
        ("tag!=pii", {CLEANING, RAW, USERS, REPORTING}),
        ("owner=ann", {CLEAN}),
        ("owner!=team:raw", {CLEANING, CLEAN, USERS, REPORTING}),
        ("layer=silver", {CLEAN}),
        ("layer=bronze", {RAW}),
        (f"node={DAILY}", {CLEANING, REPORTING}),
        (f"node={CLEAN}", {CLEAN}),
    ],
)
async def test_masks_hide_what_they_name_and_what_it_contains_but_never_the_focus(show: Show, mask: str, hidden: set[str]) -> None:
    shown = await show([WORLD, TAGGED], REPORT, masks=(Mask.parse(mask),))
    assert {RAW, USERS, CLEAN, CLEANING, REPORTING, REPORT} - set(shown.node_ids()) == hidden
    assert shown.totals.masked == len(hidden)


async def test_ends_and_between(show: Show) -> None:
    ends = await show(WORLD, CLEAN, ends_only=True)
    assert ends.all_edges() == {(RAW, CLEAN), (USERS, CLEAN), (CLEAN, REPORT)}
    between = await show(WORLD, REPORT, between=((USERS,), (CLEAN,)))
    assert set(between.node_ids()) == {USERS, CLEANING, CLEAN}
    alone = await show(WORLD, between=((MAIL,), (RAW,)))
    assert (set(alone.node_ids()), alone.all_edges()) == ({MAIL, RAW}, set())
    with pytest.raises(InvalidQueryError, match="is not in this lineage"):
        await show(WORLD, REPORT, between=((MAIL,), (RAW,)))


async def test_two_members_of_a_masked_container_make_no_way(show: Show) -> None:
    """The pipeline reads a and writes d, but the job that reads a is not the one that writes d."""
    a, b, c, d, j, k = dataset("a"), dataset("b"), dataset("c"), dataset("d"), job("j"), job("k")
    edges = [*step([a], j, [b]), *step([c], k, [d]), *step([b, d], job("sum"), [REPORT]), contains(DAILY, j), contains(DAILY, k)]
    shown = await show(GraphBatch(AT, edges=edges), REPORT, masks=(Mask.parse(f"node={DAILY}"),))
    assert {(a, b), (c, d)} <= shown.all_edges()
    assert not {(a, d), (c, b)} & shown.all_edges()
    opened = await show(GraphBatch(AT, edges=[*edges, contains("system:air", DAILY)]), REPORT, actors=NodeKind.PIPELINE)
    assert not opened.wholly(DAILY)


async def test_a_limit_reached_is_said_with_counts(show: Show) -> None:
    shown = await show(WORLD, REPORT, depth=2)
    assert (shown.totals.nodes, shown.totals.beyond) == (3, 1)
    page = await show(WORLD, REPORT, first=2)
    assert (len(await page.nodes()), page.totals.nodes) == (2, 6)
    assert page.cursor is not None


DERIVED = [
    Edge(column(RAW, "wind"), column(CLEAN, "wind"), EdgeKind.DERIVES, {f"by:{CLEANING}": []}),
    Edge(column(USERS, "name"), column(CLEAN, "who"), EdgeKind.DERIVES, {f"by:{CLEANING}": []}),
    Edge(column(CLEAN, "wind"), column(REPORT, "max"), EdgeKind.DERIVES, {f"by:{REPORTING}": []}),
    *(contains(one, column(one, name)) for one, name in ((RAW, "wind"), (USERS, "name"), (CLEAN, "wind"), (CLEAN, "who"), (REPORT, "max"))),
]
COLUMNS = GraphBatch(AT, edges=DERIVED)


async def test_a_column_is_lifted_with_its_own_lineage_not_its_datasets(show: Show) -> None:
    shown = await show([WORLD, COLUMNS], column(REPORT, "max"))
    assert set(shown.node_ids()) == {REPORT, REPORTING, CLEAN, CLEANING, RAW}
    fine = await show([WORLD, COLUMNS], column(REPORT, "max"), data=NodeKind.COLUMN, masks=(Mask(MaskBy.KIND, ("job",)),))
    assert fine.all_edges() == {(column(RAW, "wind"), column(CLEAN, "wind")), (column(CLEAN, "wind"), column(REPORT, "max"))}
    assert [edge.via for edge in fine.edges()] == [1, 1]


async def test_one_dataset_opens_to_its_columns_while_the_rest_stays_at_platforms(show: Show) -> None:
    masks = (Mask.parse("kind=job"),)
    shown = await show([WORLD, COLUMNS], REPORT, data=NodeKind.PLATFORM, open={CLEAN: NodeKind.COLUMN}, masks=masks)
    wind, who = column(CLEAN, "wind"), column(CLEAN, "who")
    assert shown.all_edges() == {("platform:hdfs", wind), (wind, "platform:s3")}
    assert who not in shown.node_ids()  # no report is made of it


async def test_what_is_known_of_the_dataset_alone_stays_with_it(show: Show) -> None:
    partly = GraphBatch(AT, edges=DERIVED[:2] + DERIVED[3:])
    shown = await show([WORLD, partly], REPORT, open={CLEAN: NodeKind.COLUMN}, direction=Direction.DOWNSTREAM)
    assert set(shown.node_ids()) == {REPORT}
    assert list(shown.notes) == [f"{CLEAN} is not in this lineage, so it is not opened."]
    shown = await show([WORLD, partly], CLEAN, open={CLEAN: NodeKind.COLUMN}, direction=Direction.DOWNSTREAM)
    assert (CLEAN, REPORTING) in shown.all_edges()


RUN1, RUN2, V1, V2 = "run:r1", "run:r2", "version:s3:clean:r1", "version:s3:report:r2"
RUNS = GraphBatch(
    AT,
    edges=[
        *(contains(*pair) for pair in ((CLEANING, RUN1), (REPORTING, RUN2), (CLEAN, V1), (REPORT, V2))),
        Edge(RUN1, V1, EdgeKind.WRITES),
        Edge(V1, RUN2, EdgeKind.READS),
        Edge(RUN2, V2, EdgeKind.WRITES),
    ],
)


async def test_runs_are_a_level_and_inputs_without_a_version_stay_datasets(show: Show) -> None:
    read = GraphBatch(AT, [Node(RUN1, NodeKind.RUN, "r1", {f"input:{RAW}": {}})])
    shown = await show([WORLD, RUNS, read], V2, data=NodeKind.VERSION, actors=NodeKind.RUN)
    assert shown.all_edges() == {(RAW, RUN1), (RUN1, V1), (V1, RUN2), (RUN2, V2)}
    assert any("no version is known" in note for note in shown.notes)
    mixed = await show([WORLD, RUNS], V2, actors=NodeKind.RUN)
    assert set(mixed.node_ids()) == {REPORT, RUN2, CLEAN, RUN1}


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"actors": NodeKind.RUN}, "No version, partition or run"),
        ({"data": NodeKind.COLUMN}, "has no column"),
        ({"data": NodeKind.JOB}, "no level of data"),
        ({"actors": NodeKind.RUN, "data": NodeKind.COLUMN}, "cannot stand in one view"),
        ({"depth": -1}, "depth is -1"),
        ({"after": "nonsense"}, "not a cursor"),
        ({"as_of": "soon"}, "not an instant"),
        ({"as_of": "2026-01-01", "since": "2026-01-01"}, "both given"),
    ],
)
async def test_what_cannot_be_shown_is_refused_with_what_is_there(show: Show, asked: dict, why: str) -> None:
    with pytest.raises((InvalidQueryError, Exception), match=why) as raised:
        await (await show(WORLD, REPORT, **asked)).nodes()
    assert raised.value.hint


async def test_a_pipeline_stands_for_its_jobs_and_an_unknown_focus_is_not_found(show: Show) -> None:
    shown = await show(WORLD, DAILY, direction=Direction.UPSTREAM)
    assert {node.node.id for node in await shown.nodes() if node.focus} == {CLEANING, REPORTING}
    with pytest.raises(NotFoundError, match="nowhere"):
        await show(WORLD, dataset("nowhere"))


@pytest.mark.parametrize("text", ["kind", "colour=red", "kind=runs", "name=", "=x"])
def test_a_mask_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidQueryError):
        Mask.parse(text)


async def test_what_users_declare_is_a_level_of_both_axes(show: Show) -> None:
    product, team = "data:product:weather", "actor:team:reporting"
    declared = GraphBatch(AT, edges=[contains(product, CLEAN), contains(product, REPORT), contains(team, DAILY)])
    shown = await show([WORLD, declared], REPORT, data=NodeKind.DATA, actors=NodeKind.ACTOR, direction=Direction.UPSTREAM)
    assert shown.all_edges() == {(product, team), (team, product), ("platform:hdfs", team)}
    masked = await show([WORLD, declared], MAIL, direction=Direction.UPSTREAM, masks=(Mask.parse(f"node={product}"),))
    assert set(masked.node_ids()) == {MAIL, MAILING, USERS}
    focused = await show([WORLD, declared], product, direction=Direction.UPSTREAM)
    assert {node.node.id for node in await focused.nodes() if node.focus} == {CLEAN, REPORT}


async def test_tags_that_users_state_count_and_a_tag_is_no_focus(show: Show) -> None:
    curated = GraphBatch(AT, [Node(CLEAN, NodeKind.DATASET, "clean", {"curated:tag:gold": True}), Node("tag:gold", NodeKind.TAG, "gold")])
    shown = await show([WORLD, curated], REPORT, masks=(Mask.parse("tag=gold"),))
    assert CLEAN not in shown.node_ids()
    with pytest.raises(InvalidQueryError, match="neither data nor an actor"):
        await show([WORLD, curated], "tag:gold")


def plan(*operators: tuple[str, str | None, list[str]]) -> GraphBatch:
    """Operators of the first run: name, dataset that it scans, operators that it reads."""
    about = {name: {"children": [f"operator:c:{child}" for child in read], "dataset": of} for name, of, read in operators}
    nodes = [Node(f"operator:c:{name}", NodeKind.OPERATOR, name, properties) for name, properties in about.items()]
    return GraphBatch(AT, nodes, [contains(RUN1, node.id) for node in nodes])


async def test_a_run_opens_to_the_operators_of_its_plan(show: Show) -> None:
    read = GraphBatch(AT, [Node(RUN1, NodeKind.RUN, "r1", {f"input:{RAW}": {}, f"input:{USERS}": {}})])
    operators = plan(("write", None, ["join"]), ("join", None, ["left", "right"]), ("left", RAW, []), ("right", USERS, []))
    asked = {"data": NodeKind.VERSION, "actors": NodeKind.OPERATOR, "direction": Direction.UPSTREAM}
    shown = await show([WORLD, RUNS, read, operators], V1, **asked)
    names = {(src.rpartition(":")[2], dst.rpartition(":")[2]) for src, dst in shown.all_edges()}
    assert names == {("raw", "left"), ("users", "right"), ("left", "join"), ("right", "join"), ("join", "write"), ("write", "r1")}
    # One run is opened. The other has no known plan and stays closed.
    mixed = await show([WORLD, RUNS, read, operators], V2, data=NodeKind.VERSION, actors=NodeKind.RUN, open={RUN1: NodeKind.OPERATOR})
    assert {RUN2, "operator:c:join"} <= set(mixed.node_ids())
    assert RUN1 not in mixed.node_ids()


async def test_an_input_that_no_scan_names_stays_with_its_run(show: Show) -> None:
    read = GraphBatch(AT, [Node(RUN1, NodeKind.RUN, "r1", {f"input:{RAW}": {}, f"input:{USERS}": {}})])
    operators = plan(("write", None, ["scan"]), ("scan", RAW, []))
    shown = await show([WORLD, RUNS, read, operators], V1, data=NodeKind.VERSION, actors=NodeKind.OPERATOR)
    assert {(USERS, RUN1), (RUN1, "operator:c:write"), ("operator:c:write", V1)} <= shown.all_edges()


async def test_a_node_beyond_which_the_lineage_goes_on_is_no_end(show: Show) -> None:
    names = [node_id(NodeKind.DATASET, "p", f"d{index}") for index in range(4)]
    jobs = [node_id(NodeKind.JOB, "s", f"j{index}") for index in range(3)]
    edges = [Edge(names[index], job, EdgeKind.READS) for index, job in enumerate(jobs)]
    edges += [Edge(job, names[index + 1], EdgeKind.WRITES) for index, job in enumerate(jobs)]
    batch = GraphBatch(Stamp("2026-01-01T00:00:00.000000Z", "k"), edges=edges)
    cut = await show(batch, names[3], direction=Direction.UPSTREAM, depth=4, ends_only=True)
    assert (await cut.cut(), cut.node_ids()) == ({names[1]}, [names[3], names[1]])
    assert cut.notes == ["1 of these nodes are no ends: the lineage goes on from there, beyond the depth or the limit."]
    whole = await show(batch, names[3], direction=Direction.UPSTREAM, depth=6, ends_only=True)
    assert (await whole.cut(), whole.notes) == (set(), [])
    assert await (await show(batch, names[1], depth=2)).cut() == {names[2]}
