"""Retention terms over a small lake: which data is due, how old it is, and what a person should do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.ingest.intake.declarations import check_form
from headwater.backend.projection import fold
from headwater.backend.projection.declaration import declaration_stamp, project_declaration
from headwater.backend.projection.event import event_stamp, project_event
from headwater.errors import InvalidInputError
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Stamp
from headwater.graph.policies import parse_policy, read_flow_graph
from headwater.graph.policies.periods import read_period
from headwater.graph.retention import RetentionAnswer, list_expiring, read_flows_of_terms
from headwater.graph.stores.sqlite import SqliteStore
from tests.backend.events import facet, run_event
from tests.stated import CLEAN, CLEAN_FILE, RAW_FILE, REPORT, REPORT_FILE, TENANT, state

CLEAN_DATA, REPORT_DATA, RAW_DATA = (f"dataset:file:/data/{name}" for name in ("out/clean", "out/report", "raw/weather.csv"))
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
async def lake(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """A file of 1970 from which one captured run makes `clean`, and another makes `report` of that."""
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    await state(graph, CLEAN, "clean", 1, ("/data/raw/weather.csv", RAW_FILE), ("/data/out/clean", CLEAN_FILE))
    await state(graph, REPORT, "report", 5, ("/data/out/clean", CLEAN_FILE), ("/data/out/report", REPORT_FILE))
    yield graph
    await graph.close()


async def _describe(graph: SqliteStore, node: str, aspect: str, value: str) -> None:
    declaration = check_form({"by": "ann", "descriptions": [{"id": node, "aspect": aspect, "value": value}]}).declaration
    await graph.apply(TENANT, [project_declaration(declaration, declaration_stamp(declaration, aspect + value))])


async def _expiring(graph: SqliteStore, *rules: dict[str, Any], days: int = 0, dataset: str | None = None) -> RetentionAnswer:
    policies = (
        [parse_policy({"policy": "p", "rules": [{"name": f"r{n}", "must_expire": rule} for n, rule in enumerate(rules)]})] if rules else []
    )
    flows = await read_flow_graph(graph, TENANT, with_past=True)
    found = await list_expiring(graph, TENANT, policies, flows, now=NOW, within=timedelta(days=days), dataset=dataset)
    flows = await read_flows_of_terms(graph, TENANT, policies)
    assert found == await list_expiring(graph, TENANT, policies, flows, now=NOW, within=timedelta(days=days), dataset=dataset)
    return found


async def test_data_made_of_an_old_file_is_old(lake: SqliteStore) -> None:
    await _describe(lake, RAW_DATA, "retention", "P1Y")
    await _describe(lake, REPORT_DATA, "owner", "bob")
    found = await _expiring(lake)
    assert [(each.dataset, each.born[:10], each.deadline[:10], each.is_born_known, each.rows) for each in found.expiring] == [
        (CLEAN_DATA, "1970-01-01", "1971-01-01", True, 3), (REPORT_DATA, "1970-01-01", "1971-01-01", True, 3),
    ]  # fmt: skip
    report = found.expiring[1]
    assert [node.rpartition(":")[2] for node in report.carried.path] == [
        "/data/raw/weather.csv",
        "clean",
        "/data/out/clean",
        "report",
        "/data/out/report",
    ]
    assert (report.is_overdue, report.owners, report.hold) == (True, ["bob"], None)
    assert "headwater erase" in report.advice[0]
    assert "run report again" in report.advice[0]
    assert found.unknown == [RAW_DATA]  # no run wrote it


async def test_the_term_of_data_between_counts_from_its_own_data(lake: SqliteStore) -> None:
    await _describe(lake, CLEAN_DATA, "retention", "60d")
    found = (await _expiring(lake)).expiring
    assert [each.dataset for each in found] == [CLEAN_DATA, REPORT_DATA]
    assert [each.dataset for each in (await _expiring(lake, dataset=REPORT_DATA)).expiring] == [REPORT_DATA]


async def test_a_breach_is_listed_before_it_happens(tmp_path: Path) -> None:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    for number, (time, sources, output) in enumerate([("2026-01-01", [], "raw"), ("2026-02-20", ["raw"], "copy")]):
        event = run_event(
            number, job={"namespace": "jobs", "name": output}, inputs=[{"namespace": "n", "name": name} for name in sources],
            outputs=[{"namespace": "n", "name": output}], eventTime=f"{time}T00:00:00Z",
        )  # fmt: skip
        await fold(graph, TENANT, [project_event(event, event_stamp(event, str(number)))])
    rule = {"of": {"dataset": "raw"}, "after": "90d"}
    assert (await _expiring(graph, rule, days=30)).expiring == []
    found = (await _expiring(graph, rule, days=31)).expiring
    assert [(each.dataset, each.born[:10], each.deadline[:10], each.is_overdue) for each in found] == [
        ("dataset:n:copy", "2026-01-01", "2026-04-01", False), ("dataset:n:raw", "2026-01-01", "2026-04-01", False),
    ]  # fmt: skip
    assert (await _expiring(graph, rule, {"of": {"dataset": "raw"}, "after": "59d"})).expiring[
        0
    ].carried.term.stated_by == "policy p, rule r1"
    await graph.close()


async def test_a_masked_column_has_the_longer_term_or_none(tmp_path: Path) -> None:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    field = {
        "namespace": "n",
        "name": "raw",
        "field": "email",
        "transformations": [{"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": True}],
    }
    outputs = [{"namespace": "n", "name": "hashed", "facets": {"columnLineage": facet(fields={"id": {"inputFields": [field]}})}}]
    for number, (inputs, written) in enumerate([([], [{"namespace": "n", "name": "raw"}]), ([{"namespace": "n", "name": "raw"}], outputs)]):
        event = run_event(
            number,
            job={"namespace": "jobs", "name": f"j{number}"},
            inputs=inputs,
            outputs=written,
            eventTime=f"2026-01-0{number + 1}T00:00:00Z",
        )
        await fold(graph, TENANT, [project_event(event, event_stamp(event, str(number)))])
    rule = {"of": {"column": "email"}, "after": "10d"}
    datasets = {
        masked: [each.dataset for each in (await _expiring(graph, rule | stated)).expiring]
        for masked, stated in (("same", {}), ("longer", {"masked": "50d"}), ("much longer", {"masked": "90d"}), ("none", {"masked": None}))
    }
    both = ["dataset:n:raw", "dataset:n:hashed"]
    assert datasets == {"same": sorted(both), "longer": both, "much longer": both[:1], "none": both[:1]}
    assert [each.dataset for each in (await _expiring(graph, rule | {"ways": "direct"})).expiring] == both[:1]
    await graph.close()


async def test_a_legal_hold_on_a_source_wins(lake: SqliteStore) -> None:
    await _describe(lake, CLEAN_DATA, "retention", "P1D")
    await _describe(lake, "column:file:/data/raw/weather.csv:wind", "legalHold", "case 7")
    edge = Edge(RAW_DATA, "column:file:/data/raw/weather.csv:wind", EdgeKind.CONTAINS)
    await lake.apply(TENANT, [GraphBatch(Stamp("2026-01-01T00:00:00.000000Z", "k"), edges=[edge])])
    for each in (await _expiring(lake)).expiring:
        assert each.hold is not None
        assert "case 7" in each.hold
        assert each.advice == [f"Keep the data: a legal hold covers it ({each.hold})."]


async def test_a_period_that_is_none_is_named(lake: SqliteStore) -> None:
    await _describe(lake, CLEAN_DATA, "retention", "as long as needed")
    found = await _expiring(lake)
    assert (found.expiring, found.unread) == ([], [CLEAN_DATA])


@pytest.mark.parametrize("text", ["", "P", "0d", "P0D", "-1d", "7", "P1Y2H", "9999999d", "P9999Y", "1e3d", "٣d"])
def test_what_is_no_period_is_not_read(text: str) -> None:
    assert read_period(text) is None


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"of": "raw"}, "'after' is missing"), ({"of": "raw", "after": 7}, "no retention term"),
        ({"of": "raw", "after": "0d"}, "no retention term"),
        ({"of": "raw", "after": "7d", "masked": "1d"}, "expires earlier"), ({"of": "raw", "after": "7d", "x": 1}, "no part 'x'"),
    ],
)  # fmt: skip
def test_a_faulty_rule_is_refused(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        parse_policy({"policy": "p", "rules": [{"name": "r", "must_expire": rule}]})
