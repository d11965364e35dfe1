"""Random graphs and histories: terms and ages are those that a brute force finds, which shares no code with the answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.backend.ingest.intake.declarations import check_form
from headwater.backend.projection import fold
from headwater.backend.projection.declaration import declaration_stamp, project_declaration
from headwater.backend.projection.event import event_stamp, project_event
from headwater.graph.policies import parse_policy, read_flow_graph
from headwater.graph.policies.selector import dataset_of
from headwater.graph.retention import carry_terms, find_terms, list_expiring, read_flows_of_terms
from headwater.graph.stores.sqlite import SqliteStore
from tests.backend.events import facet, run_event
from tests.graph.policies.test_policy_laws import WAYS, BruteForce, Made, build, graphs

TENANT = "default"


def _terms_by_brute_force(made: Made, tag: str, masked: int | None, ways: str) -> dict[tuple[str, str], tuple[int, bool]]:
    found: dict[tuple[str, str], tuple[int, bool]] = {}
    for source in (node for node, stated in made.tags.items() if stated == tag and not node.startswith("job:")):
        direct = BruteForce(made, 0).reached(source, None)
        weak = BruteForce(made, WAYS.index(ways)).reached(source, None)
        times = [(30, direct)] + ([(masked, {node: sure for node, sure in weak.items() if node not in direct})] if masked else [])
        if masked and ways != "direct":  # a dataset that only masked values reach
            times[1] = (masked, weak)
        for days, nodes in times:
            for node, certain in nodes.items():
                if node.startswith("job:"):
                    continue
                key = dataset_of(node), dataset_of(source)
                known = found.get(key)
                if known is None or (days, not certain) < (known[0], not known[1]):
                    found[key] = days, certain
    return found


@given(graphs(), st.sampled_from(["red", "blue", "green"]), st.sampled_from([None, 60]), st.sampled_from(WAYS))
@settings(max_examples=300, deadline=None)
def test_the_shortest_term_reaches_what_a_brute_force_finds(made: Made, tag: str, masked: int | None, ways: str) -> None:
    _check_terms(made, tag, masked, ways)


@pytest.mark.torture
@given(graphs(), st.sampled_from(["red", "blue", "green"]), st.sampled_from([None, 60]), st.sampled_from(WAYS))
@settings(max_examples=10_000, deadline=None)
def test_the_terms_of_many_graphs(made: Made, tag: str, masked: int | None, ways: str) -> None:
    _check_terms(made, tag, masked, ways)


def _check_terms(made: Made, tag: str, masked: int | None, ways: str) -> None:
    rule = {"of": {"tag": tag}, "after": "30d", "masked": f"{masked}d" if masked else None, "ways": ways}
    flows = build(made)
    terms, unread = find_terms(flows, [parse_policy({"policy": "p", "rules": [{"name": "r", "must_expire": rule}]})])
    assert not unread
    found = {
        (dataset, source): (one.after.days, one.certain) for dataset, of in carry_terms(flows, terms).items() for source, one in of.items()
    }
    assert found == _terms_by_brute_force(made, tag, masked, ways)


@dataclass
class Lake:
    """What is in each dataset, as blocks of (time, passed datasets) of all data in them."""

    blocks: dict[str, list[list[tuple[datetime, frozenset[str]]]]] = field(default_factory=dict)

    def run(self, at: datetime, sources: list[str], output: str, *, replaces: bool) -> None:
        atoms = [
            (born, passed | {output})
            for source in sources
            for block in self.blocks.get(source, [[(at, frozenset({source}))]])
            for born, passed in block
        ] or [(at, frozenset({output}))]
        self.blocks[output] = [*([] if replaces else self.blocks.get(output, [])), atoms]

    def oldest(self, dataset: str, origin: str) -> datetime | None:
        return min((born for block in self.blocks.get(dataset, []) for born, passed in block if origin in passed), default=None)


_NAMES = ["a", "b", "c", "d", "e"]
_RUNS = st.lists(
    st.tuples(
        st.sampled_from(["j", "k", "l"]), st.lists(st.sampled_from(_NAMES), max_size=2, unique=True), st.sampled_from(_NAMES),
        st.booleans(), st.integers(1, 40),
    ),
    min_size=1, max_size=9,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(runs=_RUNS, origins=st.sets(st.sampled_from(_NAMES), min_size=1, max_size=3), days=st.integers(1, 60))
def test_data_is_as_old_as_its_oldest_part(runs: list[tuple[str, list[str], str, bool, int]], origins: set[str], days: int) -> None:
    asyncio.run(_check_ages(runs, origins, days))


async def _check_ages(runs: list[tuple[str, list[str], str, bool, int]], origins: set[str], days: int) -> None:
    lake, at, batches = Lake(), datetime(2026, 1, 1, tzinfo=UTC), []
    for number, (job, sources, output, replaces, pause) in enumerate(runs):
        at += timedelta(days=pause)
        lake.run(at, sources, output, replaces=replaces)
        written = {"lifecycleStateChange": facet(lifecycleStateChange="OVERWRITE" if replaces else "ALTER")}
        event = run_event(
            number, job={"namespace": "jobs", "name": job}, inputs=[{"namespace": "n", "name": name} for name in sources],
            outputs=[{"namespace": "n", "name": output, "facets": written}], eventTime=at.isoformat(),
        )  # fmt: skip
        batches.append(project_event(event, event_stamp(event, str(number))))
    rule = {"name": "r", "must_expire": {"of": [{"dataset": name} for name in sorted(origins)], "after": f"{days}d"}}
    now = at + timedelta(days=1)
    with TemporaryDirectory() as folder:
        graph = SqliteStore(str(Path(folder) / "graph.db"))
        await graph.open()
        await fold(graph, TENANT, batches)
        flows = await read_flow_graph(graph, TENANT, with_past=True)
        policies = [parse_policy({"policy": "p", "rules": [rule]})]
        answer = await list_expiring(graph, TENANT, policies, flows, now=now, within=timedelta(0), dataset=None)
        around = await read_flows_of_terms(graph, TENANT, policies)
        assert await list_expiring(graph, TENANT, policies, around, now=now, within=timedelta(0), dataset=None) == answer
        found = answer.expiring
        await graph.close()
    expected = {
        (name, origin): born
        for name in _NAMES
        for origin in origins
        if (born := lake.oldest(name, origin)) is not None and born + timedelta(days=days) <= now
    }
    assert {
        (each.dataset.rpartition(":")[2], dataset_of(each.carried.term.node).rpartition(":")[2]): datetime.fromisoformat(each.born)
        for each in found
    } == expected
    assert all(each.is_overdue and each.carried.path[-1] == each.dataset for each in found)


_FIELD = st.tuples(st.sampled_from(_NAMES), st.sampled_from("xyz"), st.sampled_from("xyz"), st.booleans())
_COLUMN_RUNS = st.lists(
    st.tuples(
        st.sampled_from(["j", "k"]), st.lists(st.sampled_from(_NAMES), max_size=3, unique=True), st.sampled_from(_NAMES),
        st.none() | st.lists(_FIELD, max_size=4), st.sampled_from(["COMPLETE", "COMPLETE", "FAIL"]),
    ),
    min_size=1, max_size=8,
)  # fmt: skip
_OF = st.sampled_from([{"dataset": "a"}, {"dataset": ["b", "c"]}, {"column": "x"}, {"tag": "red"}, {"tag": "blue"}, {"dataset": "none"}])


@settings(max_examples=60, deadline=None)
@given(runs=_COLUMN_RUNS, of=_OF, ways=st.sampled_from(WAYS), stated=st.sampled_from([None, "P3D", "soon"]))
def test_the_flows_of_terms_carry_what_all_flows_carry(runs: list[Any], of: dict[str, Any], ways: str, stated: str | None) -> None:
    asyncio.run(_check_flows(runs, of, ways, stated))


async def _check_flows(runs: list[Any], of: dict[str, Any], ways: str, stated: str | None) -> None:
    batches = []
    for number, (job, sources, output, fields, kind) in enumerate(runs):
        lineage: dict[str, Any] = {}
        for source, column, target, masking in fields or ():
            step = {"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": masking}
            inputs = lineage.setdefault(target, {"inputFields": []})["inputFields"]
            inputs.append({"namespace": "n", "name": source, "field": column, "transformations": [step]})
        facets = {} if fields is None else {"columnLineage": facet(fields=lineage)}
        event = run_event(
            number, kind, job={"namespace": "jobs", "name": job}, inputs=[{"namespace": "n", "name": name} for name in sources],
            outputs=[{"namespace": "n", "name": output, "facets": facets}],
        )  # fmt: skip
        batches.append(project_event(event, event_stamp(event, str(number))))
    described = [("dataset:n:b", "tag", "red"), ("column:n:c:x", "tag", "blue")]
    described += [("dataset:n:d", "retention", stated), ("column:n:a:y", "retention", stated)] if stated else []
    for node, aspect, value in described:
        declaration = check_form({"by": "ann", "descriptions": [{"id": node, "aspect": aspect, "value": value}]}).declaration
        batches.append(project_declaration(declaration, declaration_stamp(declaration, node + aspect)))
    policies = [parse_policy({"policy": "p", "rules": [{"name": "r", "must_expire": {"of": of, "after": "5d", "ways": ways}}]})]
    with TemporaryDirectory() as folder:
        graph = SqliteStore(str(Path(folder) / "graph.db"))
        await graph.open()
        await fold(graph, TENANT, batches)
        whole = await read_flow_graph(graph, TENANT, with_past=True)
        around = await read_flows_of_terms(graph, TENANT, policies)
        await graph.close()
    (terms, unread), (same, also_unread) = find_terms(whole, policies), find_terms(around, policies)
    assert (same, also_unread) == (terms, unread)
    assert carry_terms(around, same) == carry_terms(whole, terms)
