"""Views in time: as of an instant, over a window, between two instants."""

from __future__ import annotations

import pytest

from headwater.errors import InvalidQueryError
from headwater.graph.model import NodeKind
from headwater.graph.stores import Direction, GraphStore
from headwater.graph.views import Mask, ViewRequest, difference, view
from tests.graph.views.history import APR, FEB, JAN, MAR, derives, named, ran, schema

REPORT = "dataset:file:report"


@pytest.fixture
async def history(store: GraphStore) -> GraphStore:
    """report is made of old until February, of new from March on; of both in no run. Another job reads it from April on."""
    await ran(store, "t", JAN, "make", "r1", [named("old")], [named("report")])
    await ran(store, "t", FEB, "make", "r2", [named("old")], [named("report")])
    await ran(store, "t", MAR, "make", "r3", [named("new")], [named("report")])
    await ran(store, "t", APR, "mail", "m1", [named("report")], [named("mail")])
    return store


async def names(store: GraphStore, **asked: object) -> set[str]:
    shown = await view(store, "t", ViewRequest(focus=(REPORT,), masks=(Mask.parse("kind=job"),), **asked))  # type: ignore[arg-type]
    return {identifier.rpartition(":")[2] for identifier in shown.node_ids()}


@pytest.mark.parametrize(
    ("instant", "there"),
    [
        ("2025-12-01", {"report"}),
        (JAN, {"report", "old"}),
        ("2026-02-15", {"report", "old"}),
        (MAR, {"report", "new"}),
        ("2026-12-01", {"report", "new", "mail"}),
    ],
)
async def test_as_of_an_instant_a_job_has_the_flows_of_its_last_run(history: GraphStore, instant: str, there: set[str]) -> None:
    assert await names(history, as_of=instant) == there


async def test_a_date_means_the_whole_day(store: GraphStore) -> None:
    await ran(store, "t", "2026-03-01T15:00:00Z", "make", "r1", [named("old")], [named("report")])
    assert await names(store, as_of="2026-03-01") == await names(store, until="2026-03-01") == {"report", "old"}
    assert await names(store, as_of="2026-03-01T14:59:59Z") == await names(store, as_of="2026-02-28") == {"report"}
    assert await names(store, since="2026-03-01") == {"report", "old"}
    assert await names(store, since="2026-03-02") == {"report"}
    found = await difference(store, "t", ViewRequest(focus=(REPORT,)), before="2026-02-28", after="2026-03-01")
    assert {node.name for node in found.nodes_added} == {"make", "old"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"as_of": "2025-12-31"}, "At 2025-12-31T23:59:59.999999Z nothing had read or written the focus yet: the first run that did is of"),
        ({"until": "2025-12-31"}, "the first run that did is of 2026-01-01T00:00:00Z."),
        ({"since": "2027-01-01"}, "the last run that did is of 2026-04-01T00:00:00Z."),
        ({"until": "2025-12-31", "actors": NodeKind.RUN}, "the first run that did is of 2026-01-01T00:00:00Z."),
    ],
)
async def test_a_focus_that_stands_alone_before_its_first_run_says_so(history: GraphStore, asked: dict[str, object], said: str) -> None:
    shown = await view(history, "t", ViewRequest(focus=(REPORT,), **asked))  # type: ignore[arg-type]
    assert [note for note in shown.notes if said in note], shown.notes
    assert not shown.all_edges()


async def test_a_dataset_without_a_version_yet_is_refused_with_the_time_of_its_first(history: GraphStore) -> None:
    with pytest.raises(InvalidQueryError, match=r"as of 2025-12-31T23:59:59\.999999Z: the first was written at 2026-01-01"):
        await view(history, "t", ViewRequest(focus=(REPORT,), as_of="2025-12-31", actors=NodeKind.RUN))


async def test_nothing_is_said_of_a_focus_that_has_a_flow_then(history: GraphStore) -> None:
    for asked in ({"as_of": "2026-02-15"}, {"since": "2026-01-15", "until": "2026-01-20"}, {}):
        assert not (await view(history, "t", ViewRequest(focus=(REPORT,), **asked))).notes  # type: ignore[arg-type]


async def test_a_window_shows_what_was_stated_in_it(history: GraphStore) -> None:
    assert await names(history) == {"old", "new", "report", "mail"}
    assert await names(history, since="2026-02-10") == {"new", "report", "mail"}
    assert await names(history, until="2026-02-10") == {"old", "report"}
    assert await names(history, since="2026-01-15", until="2026-01-20") == {"old", "report"}  # stated before and after it


async def test_inputs_stated_by_several_events_of_one_run_are_all_there(store: GraphStore) -> None:
    await ran(store, "t", JAN, "make", "r1", [named("old")], [], kind="START")
    await ran(store, "t", FEB, "make", "r1", [named("new")], [named("report")])
    assert await names(store, as_of=MAR) == {"old", "new", "report"}


async def test_a_difference_says_what_came_and_what_went(history: GraphStore) -> None:
    found = await difference(history, "t", ViewRequest(focus=(REPORT,)), before=FEB, after=APR)
    assert [node.name for node in found.nodes_added] == ["mail", "new", "mail"]
    assert [node.name for node in found.nodes_removed] == ["old"]
    assert ("dataset:file:new", "job:air:make") in found.edges_added
    assert (list(found.edges_removed), found.kept) == ([("dataset:file:old", "job:air:make")], 1)
    with pytest.raises(InvalidQueryError, match="is not before"):
        await difference(history, "t", ViewRequest(focus=(REPORT,)), before=APR, after=FEB)


async def test_a_difference_of_runs_begins_where_none_is_known(history: GraphStore) -> None:
    asked = ViewRequest(focus=(REPORT,), data=NodeKind.VERSION, actors=NodeKind.RUN, direction=Direction.UPSTREAM)
    found = await difference(history, "t", asked, before="2025-01-01", after=JAN)
    assert {node.id for node in found.nodes_added} == {"version:file:report:r1", "run:r1", "dataset:file:old"}
    assert any("No version" in note for note in found.notes)


async def test_as_of_an_instant_a_dataset_is_its_last_base_and_the_deltas_after_it(store: GraphStore) -> None:
    over = {"lifecycleStateChange": {"lifecycleStateChange": "OVERWRITE"}}
    for at, run, facets in ((JAN, "r1", over), (FEB, "r2", over), (MAR, "r3", {}), (APR, "r4", {})):
        await ran(store, "t", at, "make", run, [named("old")], [named("report", **facets)])
    asked = {"data": NodeKind.VERSION, "actors": NodeKind.RUN, "direction": Direction.UPSTREAM, "as_of": MAR}
    shown = await view(store, "t", ViewRequest(focus=(REPORT,), **asked))  # type: ignore[arg-type]
    assert {node for node in shown.node_ids() if node.startswith("run")} == {"run:r2", "run:r3"}


async def test_columns_are_in_time_too(store: GraphStore) -> None:
    direct = "DIRECT/IDENTITY"
    for at, run, source in ((JAN, "r1", "wind"), (MAR, "r2", "gust")):
        lineage = derives(max=[("raw", source, direct, False)])
        await ran(store, "t", at, "make", run, [named("raw")], [named("report", schema=schema("max"), columnLineage=lineage)])
    early = await view(store, "t", ViewRequest(focus=("column:file:report:max",), data=NodeKind.COLUMN, as_of="2025-12-01"))
    assert any("the first run that did is of 2026-01-01" in note for note in early.notes)
    for instant, column in ((FEB, "wind"), (APR, "gust")):
        shown = await view(
            store, "t", ViewRequest(focus=("column:file:report:max",), data=NodeKind.COLUMN, masks=(Mask.parse("kind=job"),), as_of=instant)
        )
        assert shown.all_edges() == {(f"column:file:raw:{column}", "column:file:report:max")}


async def test_runs_follow_inputs_known_by_dataset_alone_through_the_version_of_then(store: GraphStore) -> None:
    """Two loads replace `mid`; the report of February read the first of them, that of April the second."""
    over = {"lifecycleStateChange": {"lifecycleStateChange": "OVERWRITE"}}
    await ran(store, "t", JAN, "load", "l1", [named("old")], [named("mid", **over)])
    await ran(store, "t", FEB, "make", "r1", [named("mid")], [named("report", **over)])
    await ran(store, "t", MAR, "load", "l2", [named("new")], [named("mid", **over)])
    await ran(store, "t", APR, "make", "r2", [named("mid")], [named("report", **over)])
    asked = {"data": NodeKind.VERSION, "actors": NodeKind.RUN, "direction": Direction.UPSTREAM}
    for run, load, source in (("r1", "l1", "old"), ("r2", "l2", "new")):
        shown = await view(store, "t", ViewRequest(focus=(f"version:file:report:{run}",), **asked))  # type: ignore[arg-type]
        expected = {f"version:file:report:{run}", f"run:{run}", f"version:file:mid:{load}", f"run:{load}", f"dataset:file:{source}"}
        assert set(shown.node_ids()) == expected
        assert any("is inferred" in note for note in shown.notes)
    # A job that reads what it overwrites: its runs make no circle.
    await ran(store, "t", "2026-05-01", "roll", "o1", [named("report")], [named("report", **over)])
    shown = await view(store, "t", ViewRequest(focus=("version:file:report:o1",), **asked))  # type: ignore[arg-type]
    assert ("version:file:report:r2", "run:o1") in shown.all_edges()
    assert ("version:file:report:o1", "run:o1") not in shown.all_edges()
