"""Healthy runs are left alone, and faults of runs and tasks are found, by facts of a graph alone."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.suspects import RunReport, find_run_suspects

TENANT = "default"
_BEGIN = dt.datetime(2026, 1, 1, 3, tzinfo=dt.UTC)
_FAULTS = ("half of the rows", "nulls", "slow", "hot key", "many rows for each row read")


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(str(tmp_path / "graph.db"))
    await store.open()
    yield store
    await store.close()


def _batch(job: str, number: int, chance: np.random.Generator, fault: str | None) -> GraphBatch:
    """Return the facts of one run: it reads a growing table, filters it, and writes it from two stages of tasks."""
    begin, run = _BEGIN + dt.timedelta(days=number), f"{job}-{number}"
    rows_in = int(chance.normal(100_000 + 500 * number, 2_000))
    rows_out = int(rows_in * chance.normal(0.4, 0.005))
    seconds, nulls = float(np.exp(chance.normal(4, 0.15))), int(chance.binomial(rows_out, 0.01))
    if fault == "half of the rows":
        rows_out //= 2
    if fault == "many rows for each row read":
        rows_out *= 4
    nulls, seconds = nulls * (8 if fault == "nulls" else 1), seconds * (6 if fault == "slow" else 1)
    table, report = f"version:file:%2Fraw%2F{job}:{run}", f"version:file:%2Fout%2F{job}:{run}"
    check, column = f"check:file:%2Fout%2F{job}::metrics", f"check:file:%2Fout%2F{job}:wind:metrics"
    about = {"state": "COMPLETE", "startedAt": begin.isoformat(), "endedAt": (begin + dt.timedelta(seconds=seconds)).isoformat()}
    nodes = [
        Node(f"run:{run}", NodeKind.RUN, run, about), Node(f"job:tests:{job}", NodeKind.JOB, job),
        Node(table, NodeKind.VERSION, run, {"rows": rows_in, "bytes": rows_in * 100}),
        Node(report, NodeKind.VERSION, run, {"rows": rows_out, "bytes": int(rows_out * chance.normal(40, 0.5))}),
        Node(check, NodeKind.CHECK, "metrics"), Node(column, NodeKind.CHECK, "metrics"),
    ]  # fmt: skip
    edges = [
        Edge(f"job:tests:{job}", f"run:{run}", EdgeKind.CONTAINS), Edge(table, f"run:{run}", EdgeKind.READS),
        Edge(f"run:{run}", report, EdgeKind.WRITES), Edge(f"run:{run}", check, EdgeKind.CHECKS, {"rowCount": rows_out}),
        Edge(f"run:{run}", column, EdgeKind.CHECKS, {"nullCount": nulls, "distinctCount": int(chance.normal(400, 5))}),
    ]  # fmt: skip
    for ordinal, tasks in enumerate((12, 20)):
        stage = f"stage:{run}:{ordinal}"
        nodes.append(Node(stage, NodeKind.STAGE, f"stage {ordinal}", {"ordinal": 2 * number + ordinal}))
        edges.append(Edge(f"run:{run}", stage, EdgeKind.CONTAINS))
        rows = chance.multinomial(rows_in, [1 / (tasks - 0.6)] * (tasks - 1) + [0.4 / (tasks - 0.6)])  # the last split is short
        if fault == "hot key" and ordinal == 1:
            rows = chance.multinomial(rows_in, [0.5] + [0.5 / (tasks - 1)] * (tasks - 1))
        for task, count in enumerate(rows.tolist()):
            identifier = f"task:{run}:{ordinal}{task:03}"
            ended = begin + dt.timedelta(seconds=float(np.exp(chance.normal(0.5, 0.3))) + (2 if task == 0 else 0))
            times = {"startedAt": begin.isoformat(), "endedAt": ended.isoformat()}
            nodes.append(Node(identifier, NodeKind.TASK, f"task {task}", {"rows": count, "bytes": count * 8, **times}))
            edges.append(Edge(stage, identifier, EdgeKind.CONTAINS))
    return GraphBatch(Stamp.at(begin.isoformat(), run), nodes, edges, by=run)


async def _report(graph: SqliteStore, seed: int, fault: str | None = None) -> RunReport:
    chance, job = np.random.default_rng(seed), f"job{seed}{(fault or '').replace(' ', '')}"
    count = int(chance.integers(12, 40))
    await graph.apply(TENANT, [_batch(job, number, chance, fault if number == count - 1 else None) for number in range(count)])
    [node] = await graph.get(TENANT, [f"job:tests:{job}"])
    [report] = await find_run_suspects(graph, TENANT, node, runs=60, with_columns=True)
    return report


@pytest.mark.parametrize("count", [15, pytest.param(50, marks=pytest.mark.torture), pytest.param(1_000, marks=pytest.mark.torture)])
async def test_at_most_one_of_fifty_healthy_runs_has_a_suspect(graph: SqliteStore, count: int) -> None:
    reports = [await _report(graph, seed) for seed in range(count)]
    assert all((report.compared, report.siblings) == (report.metrics, 6) and report.metrics == 10 for report in reports)
    reported = [[suspect.metric for _, suspect in report.suspects] for report in reports if report.suspects]
    sys.stdout.write(f"{len(reported)} of {count} healthy runs have a suspect: {reported[:5]}\n")
    assert len(reported) <= max(1, count / 50)


@pytest.mark.parametrize("fault", _FAULTS)
@pytest.mark.parametrize("count", [3, pytest.param(100, marks=pytest.mark.torture)])
async def test_faults_are_found(graph: SqliteStore, fault: str, count: int) -> None:
    named = {
        "half of the rows": "rows of", "many rows for each row read": "rows of", "nulls": "nulls in wind", "slow": "seconds",
        "hot key": "rows of a task of stage 2 of 2",
    }  # fmt: skip
    found = 0
    for seed in range(count):
        report = await _report(graph, 10_000 + seed, fault)
        found += any(suspect.metric.startswith(named[fault]) for _, suspect in report.suspects)
    sys.stdout.write(f"{fault}: found in {found} of {count} runs\n")
    assert found >= 0.95 * count


async def test_a_task_that_stands_out_is_named(graph: SqliteStore) -> None:
    report = await _report(graph, 1, "hot key")
    by_subject: Mapping[str, Any] = dict(report.suspects)
    [task] = [subject for subject in by_subject if subject.startswith("task:")]
    assert task.endswith(":1000")
    assert by_subject[task].value > 5 * by_subject[task].high
    assert any(suspect.metric.startswith("rows of the largest task of stage 2 of 2") for _, suspect in report.suspects)


async def test_rates_of_columns_are_left_out_for_those_who_may_not_see_values(graph: SqliteStore) -> None:
    await _report(graph, 1, "nulls")
    [node] = await graph.get(TENANT, ["job:tests:job1nulls"])
    [report] = await find_run_suspects(graph, TENANT, node, runs=60, with_columns=False)
    assert not [suspect for _, suspect in report.suspects if "wind" in suspect.metric]
    assert report.metrics == 8


async def test_an_earlier_run_is_compared_with_the_runs_before_it_only(graph: SqliteStore) -> None:
    await _report(graph, 1, "half of the rows")
    [node] = await graph.get(TENANT, ["run:job1halfoftherows-10"])
    [report] = await find_run_suspects(graph, TENANT, node, runs=60, with_columns=True)
    assert (report.runs, report.suspects) == (10, [])


async def test_runs_and_jobs_that_cannot_be_compared_are_refused(graph: SqliteStore) -> None:
    nodes = [Node("run:a", NodeKind.RUN, "a", {"state": "COMPLETE"}), Node("job:x:none", NodeKind.JOB, "none")]
    await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-01T00:00:00Z", "a"), nodes, [])])
    with pytest.raises(InvalidQueryError, match="The job of run:a is not known"):
        await find_run_suspects(graph, TENANT, nodes[0], runs=60, with_columns=True)
    with pytest.raises(NotFoundError, match="no complete run"):
        await find_run_suspects(graph, TENANT, nodes[1], runs=60, with_columns=True)
