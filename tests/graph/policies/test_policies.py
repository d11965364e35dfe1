"""Policies in files, and what the rules find in the flows of a small lake."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.projection import fold
from headwater.backend.projection.event import event_stamp, project_event
from headwater.errors import InvalidInputError
from headwater.graph.model import Node, NodeKind
from headwater.graph.policies import Deviation, FlowGraph, check_policy, infer_policy, parse_policy, read_flow_graph
from headwater.graph.stores.sqlite import SqliteStore
from tests.backend.events import facet, run_event

TENANT = "t"
NOW = "2026-03-01T00:00:00Z"
_NAMES = {"raw": "lake/raw/people", "clean": "lake/clean/people", "public": "lake/public/report", "side": "lake/side/audit"}


def _dataset(name: str, **facets: Any) -> dict[str, Any]:
    return {"namespace": "s3://lake", "name": _NAMES[name], "facets": {key: facet(**value) for key, value in facets.items()}}


def _derived(**fields: Sequence[tuple[str, str, bool]]) -> dict[str, Any]:
    """Return a facet: each output field has (dataset, field, masking) of its inputs."""
    return {
        "fields": {
            output: {
                "inputFields": [
                    {"namespace": "s3://lake", "name": _NAMES[dataset], "field": field,
                     "transformations": [{"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": masking}]}
                    for dataset, field, masking in inputs
                ]
            }
            for output, inputs in fields.items()
        }
    }  # fmt: skip


def _run(number: int, job: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> dict[str, Any]:
    run = {"runId": f"0190a6f2-0000-7000-8000-{number:012x}"}
    return run_event(number, job={"namespace": "jobs", "name": job}, run=run, inputs=inputs, outputs=outputs)


@pytest.fixture
async def lake(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """A lake in which a hash of a name and a plain city reach a public report, and a job without columns feeds a side."""
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    personal = {"tags": [{"key": "pii", "value": "true", "field": field} for field in ("name", "city")]}
    people = _dataset("raw", schema={"fields": [{"name": "name"}, {"name": "city"}, {"name": "age"}]},
                      tags=personal)  # fmt: skip
    clean = _dataset("clean", schema={"fields": [{"name": "id"}, {"name": "city"}]},
                     columnLineage=_derived(id=[("raw", "name", True)], city=[("raw", "city", False)]))  # fmt: skip
    public = _dataset("public", schema={"fields": [{"name": "city"}]}, columnLineage=_derived(city=[("clean", "city", False)]))
    events = [
        _run(1, "clean", [people], [clean]), _run(2, "publish", [_dataset("clean")], [public]),
        _run(3, "copy", [_dataset("raw")], [_dataset("side")]),
    ]  # fmt: skip
    await fold(graph, TENANT, [project_event(event, event_stamp(event, str(number))) for number, event in enumerate(events)])
    yield graph
    await graph.close()


async def _check(graph: SqliteStore, **rule: Any) -> list[Deviation]:
    policy = parse_policy({"policy": "lake", "rules": [{"name": "rule", **rule}]})
    return list(check_policy(policy, await read_flow_graph(graph, TENANT), now=NOW).deviations)


def _pairs(found: Sequence[Deviation]) -> set[tuple[str, str, bool]]:
    return {(each.source.partition("lake/")[2], each.target.partition("lake/")[2], each.certain) for each in found}


async def test_a_tagged_column_may_not_reach_a_dataset_over_any_number_of_jobs(lake: SqliteStore) -> None:
    found = await _check(lake, must_not_flow={"from": {"tag": "pii"}, "to": {"dataset": "*/public/*"}})
    assert _pairs(found) == {("raw/people:city", "public/report", True)}
    assert [each.partition(":")[0] for each in found[0].path] == ["column", "job", "column", "job", "column"]
    assert found[0].since


async def test_masked_values_count_unless_the_rule_says_otherwise(lake: SqliteStore) -> None:
    to = {"dataset": "*/clean/*"}
    assert len(await _check(lake, must_not_flow={"from": {"tag": "pii"}, "to": to})) == 2
    found = await _check(lake, must_not_flow={"from": {"tag": "pii"}, "to": to, "ways": "direct"})
    assert _pairs(found) == {("raw/people:city", "clean/people", True)}


async def test_a_job_that_names_no_columns_may_pass_on_each_of_them(lake: SqliteStore) -> None:
    found = await _check(lake, must_not_flow={"from": {"tag": "pii"}, "to": {"dataset": "*/side/*"}})
    assert _pairs(found) == {("raw/people:name", "side/audit", False), ("raw/people:city", "side/audit", False)}
    whole = await _check(lake, must_not_flow={"from": "*/raw/*", "to": {"dataset": "*/side/*"}})
    assert _pairs(whole) == {("raw/people", "side/audit", True)}


async def test_a_flow_over_a_demanded_job_is_no_deviation(lake: SqliteStore) -> None:
    flow = {"from": {"tag": "pii"}, "to": {"dataset": "*/public/*"}}
    assert await _check(lake, must_pass_through={**flow, "through": {"job": "clean"}}) == []
    assert len(await _check(lake, must_pass_through={**flow, "through": {"job": "mask*"}})) == 1


async def test_only_the_listed_sources_may_feed_a_dataset(lake: SqliteStore) -> None:
    to = {"dataset": "*/public/*"}
    assert await _check(lake, may_flow={"from": {"dataset": "*/clean/*"}, "to": to}) == []
    assert await _check(lake, may_flow={"from": [{"dataset": "none"}, {"job": "publish"}], "to": to}) == []
    assert _pairs(await _check(lake, may_flow={"from": {"dataset": "*/raw/*"}, "to": to})) == {("clean/people", "public/report", True)}


async def test_a_job_may_be_kept_from_reading(lake: SqliteStore) -> None:
    found = await _check(lake, must_not_flow={"from": {"column": "city", "dataset": "*/raw/*"}, "to": {"job": "publish"}})
    assert [each.target for each in found] == ["job:jobs:publish"]
    assert await _check(lake, must_not_flow={"from": {"column": "name", "dataset": "*/raw/*"}, "to": {"job": "publish"}}) == []


async def test_datasets_must_have_owners_checks_and_recent_data(lake: SqliteStore) -> None:
    found = await _check(lake, must_have={"of": {"dataset": "*/public/*"}, "owner": True, "check": "row*", "freshness": "7d"})
    assert [each.message for each in found] == [
        "The dataset lake/public/report has no owner.", "The dataset lake/public/report has no check row*.",
        "The dataset lake/public/report was not written within 7d.",
    ]  # fmt: skip
    assert len({each.id for each in found}) == 3
    assert await _check(lake, must_have={"of": {"column": "name", "dataset": "*/raw/*"}, "tag": "pii"}) == []


async def test_a_flow_that_its_job_gave_up_is_no_deviation(lake: SqliteStore) -> None:
    event = _run(4, "publish", [], [_dataset("public", schema={"fields": [{"name": "city"}]})])
    event["inputs"] = [_dataset("side")]
    await fold(lake, TENANT, [project_event(event, event_stamp(event, "9"))])
    rule = {"from": {"dataset": "*/clean/*"}, "to": {"dataset": "*/public/*"}}
    assert await _check(lake, must_not_flow=rule) == []
    policy = parse_policy({"policy": "lake", "rules": [{"name": "rule", "must_not_flow": rule}]})
    past = await read_flow_graph(lake, TENANT, with_past=True)
    assert len(check_policy(policy, past, now=NOW).deviations) == 1


async def test_a_drafted_policy_allows_what_was_observed_and_nothing_else(lake: SqliteStore) -> None:
    flows = await read_flow_graph(lake, TENANT)
    draft = infer_policy(flows, "draft")
    assert len(draft["rules"]) == 3
    assert check_policy(parse_policy(draft), flows, now=NOW).deviations == []
    event = _run(5, "leak", [_dataset("raw")], [_dataset("public")])
    await fold(lake, TENANT, [project_event(event, event_stamp(event, "10"))])
    found = check_policy(parse_policy(draft), await read_flow_graph(lake, TENANT), now=NOW).deviations
    assert {(each.source.partition("lake/")[2], each.target.partition("lake/")[2]) for each in found} == {("raw/people", "public/report")}


async def test_a_selector_that_fits_nothing_is_reported(lake: SqliteStore) -> None:
    policy = parse_policy({"policy": "p", "rules": [{"name": "r", "must_not_flow": {"from": "*/raw/*", "to": {"namespace": "gs://*"}}}]})
    assert check_policy(policy, await read_flow_graph(lake, TENANT), now=NOW).idle == [("r", "namespace gs://*")]


FLOW = {"from": {"tag": "a"}, "to": {"tag": "b"}}
WRONG: list[tuple[Mapping[str, Any], str]] = [
    ({"policy": "p"}, "list of 1 to"),
    ({"policy": "p", "rules": []}, "list of 1 to"),
    ({"policy": "", "rules": [{}]}, "text is missing"),
    ({"rule": []}, "no key 'rule'"),
    ({"policy": "p", "rules": [3]}, "is a mapping"),
    ({"policy": "p", "rules": [{"name": "r"}]}, "exactly one of may_flow"),
    ({"policy": "p", "rules": [{"name": "r", "must_not_flow": FLOW, "may_flow": FLOW}]}, "exactly one of may_flow"),
    ({"policy": "p", "rules": [{"name": "r", "must_flow": FLOW}]}, "no key 'must_flow'"),
    ({"policy": "p", "rules": [{"name": "r", "severity": "bad", "must_not_flow": FLOW}]}, "'bad' is not known"),
    ({"policy": "p", "rules": [{"name": "r", "must_not_flow": {"from": {"tag": "a"}}}]}, "'to' is missing"),
    ({"policy": "p", "rules": [{"name": "r", "must_not_flow": {**FLOW, "over": 1}}]}, "no part 'over'"),
    ({"policy": "p", "rules": [{"name": "r", "must_not_flow": {**FLOW, "ways": "some"}}]}, "'some' is no way"),
    ({"policy": "p", "rules": [{"name": "r", "must_not_flow": {**FLOW, "from": {}}}]}, "selector is missing"),
    ({"policy": "p", "rules": [{"name": "r", "must_not_flow": {**FLOW, "from": {"colour": "x"}}}]}, "no part 'colour'"),
    ({"policy": "p", "rules": [{"name": "r", "must_not_flow": {**FLOW, "from": {"job": "x", "dataset": "y"}}}]}, "but not both"),
    ({"policy": "p", "rules": [{"name": "r", "must_not_flow": {**FLOW, "from": {"tag": 3}}}]}, "Write a pattern"),
    ({"policy": "p", "rules": [{"name": "r", "must_not_flow": {**FLOW, "from": {"tag": "a\x00b"}}}]}, "is no pattern"),
    ({"policy": "p", "rules": [{"name": "r", "must_have": {"of": {"tag": "a"}}}]}, "demands nothing"),
    ({"policy": "p", "rules": [{"name": "r", "must_have": {"of": {"tag": "a"}, "freshness": "soon"}}]}, "'soon' is no duration"),
    ({"policy": "p", "rules": [{"name": "r", "must_have": {"of": {"tag": "a"}, "owner": 5}}]}, "Write a pattern"),
    ({"policy": "p", "rules": [{"name": "r", "must_not_flow": FLOW}] * 2}, "Two rules have the name 'r'"),
    ({"policy": "p", "rules": [{"name": "r", "must_not_flow": FLOW}, {"name": "s", "may_flow": FLOW}]}, "'r' and 's' contradict"),
    (
        {"policy": "p", "rules": [
            {"name": "r", "must_pass_through": {**FLOW, "through": {"job": "x"}}},
            {"name": "s", "must_pass_through": {"from": {"job": "x"}, "to": {"tag": "b"}, "through": {"tag": "a"}}},
        ]},
        "in a cycle",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("document", "message"), WRONG)
def test_an_invalid_policy_is_refused_with_the_place_of_the_fault(document: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        parse_policy(document)
    assert refused.value.field


async def test_a_draft_allows_flows_into_nested_folders(tmp_path: Path) -> None:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    names = [("a/x", "lake/y"), ("b/x", "lake/gold/y"), ("c/x", "z"), ("lake/gold/y", "lake/gold/deep/z"), ("d/[x]/y", "d/*/y")]
    for number, (source, output) in enumerate(names):
        ends = [{"namespace": "file", "name": name} for name in (source, output)]
        event = _run(number, f"job{number}", ends[:1], ends[1:])
        await fold(graph, TENANT, [project_event(event, event_stamp(event, str(number)))])
    flows = await read_flow_graph(graph, TENANT)
    assert check_policy(parse_policy(infer_policy(flows, "draft")), flows, now=NOW).deviations == []
    await graph.close()


@pytest.mark.parametrize("read", ["CITY", "city.zip", "address"])
async def test_a_column_flows_on_in_another_case_as_a_field_and_as_a_container(lake: SqliteStore, read: str) -> None:
    written = {"address": "address.zip"}.get(read, "city")
    events = [
        _run(6, "copy", [_dataset("raw")], [_dataset("side", columnLineage=_derived(**{written: [("raw", "city", False)]}))]),
        _run(7, "show", [_dataset("side")], [_dataset("public", columnLineage=_derived(place=[("side", read, False)]))]),
    ]
    await fold(lake, TENANT, [project_event(event, event_stamp(event, f"2{number}")) for number, event in enumerate(events)])
    rule = {"from": {"tag": "pii"}, "to": {"column": "place"}}
    assert _pairs(await _check(lake, must_not_flow=rule)) == {("raw/people:city", "public/report:place", False)}
    certain = {"from": {"tag": "pii"}, "to": {"column": written, "dataset": "*/side/*"}}
    assert _pairs(await _check(lake, must_not_flow=certain)) == {("raw/people:city", f"side/audit:{written}", True)}


async def test_a_field_is_not_another_field_of_the_same_column(lake: SqliteStore) -> None:
    side = {"address.city": [("raw", "city", False)], "address.age": [("raw", "age", False)], "address": [("raw", "age", False)]}
    events = [
        _run(6, "copy", [_dataset("raw")], [_dataset("side", columnLineage=_derived(**side))]),
        _run(7, "show", [_dataset("side")], [_dataset("public", columnLineage=_derived(place=[("side", "address.age", False)]))]),
    ]
    await fold(lake, TENANT, [project_event(event, event_stamp(event, f"2{number}")) for number, event in enumerate(events)])
    assert await _check(lake, must_not_flow={"from": {"tag": "pii"}, "to": {"column": "place"}}) == []


_RAW_ENDS = [{"from": "*/raw/*", "to": "*/public/*"}, {"from": {"dataset": "lake/raw/people"}, "to": "lake/public/report"}]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"must_not_flow": _RAW_ENDS[0]}, {"may_flow": _RAW_ENDS[1]}, "'first' and 'second' contradict"),
        (
            {"must_not_flow": _RAW_ENDS[0]},
            {"must_pass_through": {**_RAW_ENDS[1], "through": "*/clean/*"}},
            "'first' and 'second' contradict",
        ),
        (
            {"must_pass_through": {**_RAW_ENDS[0], "through": {"dataset": "*/clean/*"}}},
            {"must_pass_through": {"from": {"namespace": "s3://lake", "dataset": "*clean*"}, "to": "*/public/*", "through": "*/raw/*"}},
            "in a cycle",
        ),
        ({"must_not_flow": _RAW_ENDS[0]}, {"may_flow": {"from": "*/clean/*", "to": "*/public/*"}}, None),
        ({"must_not_flow": {"from": "none1", "to": "none2"}}, {"may_flow": {"from": "none3", "to": "none4"}}, None),
    ],
)
async def test_rules_that_contradict_each_other_for_the_present_nodes_are_named(
    lake: SqliteStore, first: dict[str, Any], second: dict[str, Any], message: str | None
) -> None:
    policy = parse_policy({"policy": "p", "rules": [{"name": "first", **first}, {"name": "second", **second}]})
    found = check_policy(policy, await read_flow_graph(lake, TENANT), now=NOW).conflicts
    assert len(found) == (message is not None)
    assert message is None or message in found[0]


def test_the_same_selectors_in_other_words_contradict_at_once() -> None:
    ends = [{"from": {"dataset": ["a", "B"]}, "to": {"tag": "t"}}, {"from": {"dataset": ["b", "A", "a"]}, "to": {"tag": "T"}}]
    with pytest.raises(InvalidInputError, match="contradict"):
        parse_policy({"policy": "p", "rules": [{"name": "r", "must_not_flow": ends[0]}, {"name": "s", "may_flow": ends[1]}]})


def test_a_thousand_rules_are_compared_with_a_name_once() -> None:
    rules = [{"name": f"r{number}", "must_not_flow": {"from": f"a{number}*", "to": f"b{number}*"}} for number in range(1_000)]
    policy = parse_policy({"policy": "p", "rules": rules})
    graph = FlowGraph(nodes={f"dataset:n:x{number}": Node(f"dataset:n:x{number}", NodeKind.DATASET, f"x{number}") for number in range(200)})
    began = time.process_time()
    assert check_policy(policy, graph, now=NOW).deviations == []
    assert time.process_time() - began < 10  # 0.3 s; with patterns that are compiled each time, more than a minute
