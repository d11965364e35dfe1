"""Depth counts hops of datasets at whatever level is shown, and a view that was cut says so at every level."""

from __future__ import annotations

import pytest

from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.views import ViewRequest, difference
from tests.graph.views.conftest import Show

_STEPS, _OPERATORS = 5, 7
_WHOLE = 2 * _STEPS  # hops from the last dataset to the first
_TIME = "2026-01-{:02}T00:00:00.000000Z"


def _dataset(number: int) -> str:
    return node_id("dataset", "file", f"d{number}")


def _step(number: int, *, by_version: bool) -> GraphBatch:
    """Job `number` makes dataset `number` of the one before: flows, a run with its version, a plan in one line, a stage, a column."""
    source, target, job, run = _dataset(number - 1), _dataset(number), node_id("job", "air", f"j{number}"), f"run:r{number}"
    version, before = f"version:file:d{number}:r{number}", f"version:file:d{number - 1}:r{number - 1}"
    columns = [f"column:{dataset.partition(':')[2]}:c" for dataset in (source, target)]
    operators = [f"operator:r{number}:{place}" for place in range(_OPERATORS)]
    stage = f"stage:r{number}:0"
    about = {"startedAt": _TIME.format(number), **({} if by_version else {f"input:{source}": {}})}
    nodes = [
        Node(run, NodeKind.RUN, f"r{number}", about),
        Node(version, NodeKind.VERSION, f"r{number}", {"writtenAt": _TIME.format(number), "block": "base"}),
        Node(stage, NodeKind.STAGE, "0", {"ordinal": 0, "tasks": 0, "parents": []}),
    ]
    for place, operator in enumerate(operators):  # 0 is the root, the last one scans
        below = {"children": operators[place + 1 : place + 2]}
        nodes.append(Node(operator, NodeKind.OPERATOR, str(place), below if below["children"] else {**below, "dataset": source}))
    edges = [
        Edge(source, job, EdgeKind.READS), Edge(job, target, EdgeKind.WRITES), Edge(run, version, EdgeKind.WRITES),
        Edge(columns[0], columns[1], EdgeKind.DERIVES, {f"by:{job}": []}),
        *(Edge(*pair, EdgeKind.CONTAINS) for pair in ((job, run), (target, version), (source, columns[0]), (target, columns[1]))),
        *(Edge(run, part, EdgeKind.CONTAINS) for part in (stage, *operators)),
    ]  # fmt: skip
    if by_version and number > 1:
        edges.append(Edge(before, run, EdgeKind.READS))
    return GraphBatch(Stamp(_TIME.format(number), f"k{number}"), nodes, edges, by=f"r{number}")


@pytest.fixture(params=[True, False], ids=["versions read", "datasets read"])
def chain(request: pytest.FixtureRequest) -> list[GraphBatch]:
    """Five jobs in a row, whose runs name the version that they read, or only its dataset."""
    return [_step(number, by_version=request.param) for number in range(1, _STEPS + 1)]


_COARSE = {"data": NodeKind.DATASET, "actors": NodeKind.JOB}
_LEVELS = [
    {"data": NodeKind.DATASET, "actors": NodeKind.RUN},
    {"data": NodeKind.VERSION, "actors": NodeKind.RUN},
    {"data": NodeKind.DATASET, "actors": NodeKind.OPERATOR},
    {"data": NodeKind.VERSION, "actors": NodeKind.STAGE},
    {"data": NodeKind.COLUMN, "actors": NodeKind.JOB},
    {"data": NodeKind.DATASET, "actors": NodeKind.JOB, "open": {_dataset(2): NodeKind.COLUMN}},
    {"data": NodeKind.DATASET, "actors": NodeKind.JOB, "as_of": "2026-02-01"},
]


def _datasets(nodes: list[str]) -> set[str]:
    return {name for node in nodes for name in node.split(":")[2:3] if node.split(":")[0] in {"dataset", "version", "column"}}


@pytest.mark.parametrize("levels", _LEVELS, ids=lambda levels: f"{levels['data']} {levels['actors']} {'open' if 'open' in levels else ''}")
async def test_depth_reaches_the_same_datasets_at_every_level(show: Show, chain: list[GraphBatch], levels: dict[str, object]) -> None:
    known_from = 0 if chain[1].edges[-1].kind is not EdgeKind.READS or levels["actors"] is NodeKind.JOB else 1  # d0 has no version
    for depth in range(_WHOLE + 2):
        asked = {"depth": depth, "direction": Direction.UPSTREAM}
        coarse = await show(chain, _dataset(_STEPS), **_COARSE, **asked)
        fine = await show(chain, _dataset(_STEPS), **levels, **asked)
        expected = {name for name in _datasets(coarse.node_ids()) if int(name[1:]) >= known_from}
        assert _datasets(fine.node_ids()) == expected, depth
        last = _WHOLE - (1 if known_from else 0)  # the hop at which nothing is left to come
        assert bool(coarse.totals.beyond) == (depth < _WHOLE), depth
        assert bool(fine.totals.beyond) == (depth < last), (depth, fine.totals)


async def test_the_part_of_a_run_is_as_far_away_as_its_run(show: Show, chain: list[GraphBatch]) -> None:
    shown = await show(chain, f"version:file:d{_STEPS}:r{_STEPS}", actors=NodeKind.OPERATOR, direction=Direction.UPSTREAM)
    hops = {node.node.id: node.distance for node in await shown.nodes()}
    assert {hops[f"operator:r{_STEPS}:{place}"] for place in range(_OPERATORS)} == {1}
    assert hops[_dataset(_STEPS - 1)] == 2


async def test_a_view_of_columns_alone_counts_what_lies_past_its_depth(show: Show, chain: list[GraphBatch]) -> None:
    for depth in range(_WHOLE + 2):
        shown = await show(chain, f"column:file:d{_STEPS}:c", data=NodeKind.COLUMN, depth=depth, direction=Direction.UPSTREAM)
        assert bool(shown.totals.beyond) == (depth < _WHOLE), depth
        assert len(_datasets(shown.node_ids())) == min(depth, _WHOLE) // 2 + 1


async def test_what_was_not_there_at_the_time_lies_not_beyond(show: Show) -> None:
    chain = [_step(number, by_version=True) for number in range(1, _STEPS + 1)]
    asked = {"depth": 1, "direction": Direction.DOWNSTREAM}
    assert (await show(chain, _dataset(1), **asked)).totals.beyond == 1
    assert (await show(chain, _dataset(1), as_of="2026-01-01T12:00:00Z", **asked)).totals.beyond == 0


async def test_a_difference_of_cut_views_says_so(store: GraphStore) -> None:
    await store.apply("t", [_step(number, by_version=True) for number in range(1, _STEPS + 1)])
    asked = ViewRequest(focus=(_dataset(_STEPS),), depth=3)
    found = await difference(store, "t", asked, before="2026-01-01", after="2026-02-01")
    assert any("lie beyond" in note for note in found.notes)
    whole = await difference(store, "t", ViewRequest(focus=(_dataset(_STEPS),)), before="2026-01-01", after="2026-02-01")
    assert not any("lie beyond" in note for note in whole.notes)
