"""Erasures on histories of real Spark jobs, against brute force: all steps again on the source without the person's records.

All outputs are equal, no derived record is left, the evidence holds, and every trace of other records is what it was.

HEADWATER_ROUNDS=N is the number of random histories, and HEADWATER_SEED=N the seed of the first one.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from headwater.graph.trace import TraceRequest
from tests.backend.cli.command import headwater
from tests.backend.erasure.histories import (
    History,
    make_history,
    make_small_history,
    places_of,
    read_people,
    rows_of,
    run_history,
    run_plainly,
    write_day,
    write_people,
)

pytestmark = pytest.mark.spark

PERSON = 5
_SEED, _ROUNDS = int(os.environ.get("HEADWATER_SEED", "100")), int(os.environ.get("HEADWATER_ROUNDS", "8"))
_TRACED = 12  # records of each output that are traced
Traces = dict[str, Counter[tuple[Any, ...]]]


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_after_an_erasure_the_world_is_as_if_the_person_had_never_been_there(tmp_path: Path) -> None:
    check_erasure(make_small_history(), tmp_path)


@pytest.mark.torture
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seed", range(_SEED, _SEED + _ROUNDS))
def test_after_an_erasure_from_a_random_history(seed: int, tmp_path: Path) -> None:
    check_erasure(make_history(seed), tmp_path)


def check_erasure(history: History, tmp_path: Path) -> None:
    """Run a history, erase the person, and compare everything with brute force."""
    folder, home, other = tmp_path / "data", tmp_path / "home", tmp_path / "other"
    write_people(history, folder)
    run_history(history, folder, home)
    public = headwater("evidence", "key", "--name", "test/log", "--home", str(home)).stdout.strip()
    checkpoint = tmp_path / "before.checkpoint"
    headwater("evidence", "checkpoint", "-o", str(checkpoint), "--home", str(home))
    people, before = read_people(history, folder), asyncio.run(_trace_outputs(history, folder, home))
    options = [str(folder / history.source), "--where", f"id = {PERSON}", "--home", str(home)]

    plan = json.loads(headwater("erase", *options, "-f", "json").stdout)
    assert not plan["blocks"]
    assert {one["action"] for one in plan["datasets"]} <= {"recompute", "keep"}, plan
    certificate = json.loads(headwater("erase", *options, "--yes", "-f", "json").stdout)

    assert (certificate["result"], certificate["check"]) == ("complete", [])
    assert read_people(history, folder) == Counter({row: count for row, count in people.items() if row[0] != PERSON})
    write_without_person(history, other)
    run_plainly([(history, other)])
    for output in history.outputs:
        assert rows_of(folder / output) == rows_of(other / output), (history, output)
    subject = json.loads(headwater("subject", *options, "-f", "json").stdout)
    assert (subject["selected"], subject["total"]) == (0, 0)
    assert [one for one in subject["datasets"] if not one["complete"]] == []
    assert_same_traces(before, asyncio.run(_trace_outputs(history, folder, home)))
    hidden = [path for path in folder.rglob(".*") if "headwater" in path.name]
    assert hidden == []

    bundle = tmp_path / "erasure.zip"
    headwater("erase", "show", certificate["id"], "--evidence", str(bundle), "--home", str(home))
    assert "Valid" in headwater("evidence", "verify", str(bundle), "--key", public).stderr
    report = tmp_path / "report.zip"
    (output,) = history.outputs[:1]
    headwater(
        "evidence", "export", str(folder / output), "--where", "true", "--since", str(checkpoint), "-o", str(report), "--home", str(home)
    )
    assert "Valid" in headwater("evidence", "verify", str(report), "--key", public).stderr


def write_without_person(history: History, folder: Path) -> None:
    write_people(history, folder)
    for day in history.days:
        one = History(history.seed, history.is_parquet, [day])
        rows = [row for row in read_people(one, folder).elements() if row[0] != PERSON]
        write_day(folder / history.source, day, rows, is_parquet=history.is_parquet)


async def _trace_outputs(history: History, folder: Path, home: Path) -> dict[str, Traces]:
    """Return the values of the people behind records of each output, by the record."""
    found: dict[str, Traces] = {}
    async with await Workspace.open(load_settings(home=home)) as workspace:
        await workspace.take_in()
        for output in history.outputs:
            traces: Traces = {}
            places = [*places_of(folder / output)]
            for file, row, values in places[:_TRACED]:
                request = TraceRequest(dataset=str(folder / output), rows=[(file, row)])
                answer = await workspace.trace(DEFAULT_TENANT, request)
                assert answer.exact, (output, answer.incomplete)
                behind = Counter(
                    tuple(record.values.items()) for record in answer.records if Path(str(record.file)).parent.name == history.source
                )
                traces[str(values)] = traces.get(str(values), Counter()) + behind
            left = {str(values) for _, _, values in places[_TRACED:]}  # only some of the records with these values were traced
            found[output] = {record: people for record, people in traces.items() if record not in left}
    return found


def assert_same_traces(before: dict[str, Traces], after: dict[str, Traces]) -> None:
    """Check that records with the same values, which the person had no part in, come from the same people."""
    compared = 0
    for output, traces in before.items():
        for record, people in traces.items():
            if any(dict(person)["id"] == PERSON for person in people) or record not in after[output]:
                continue
            assert {*after[output][record]} == {*people}, (output, record)
            compared += 1
        assert not any(dict(person)["id"] == PERSON for people in after[output].values() for person in people)
    assert compared
