"""Predicates over the new rows of a version."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.backend.triggers.owners import HOME, key_owner
from headwater.errors import InvalidQueryError
from headwater.graph.access.scopes import Scope
from headwater.graph.model import NodeKind, node_id
from tests.backend.events import facet, run_event
from tests.backend.triggers.conftest import TriggeredHome
from tests.backend.triggers.receiver import Receiver
from tests.graph.jobs import Job


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def reading(home: TriggeredHome, data: Path) -> TriggeredHome:
    home.workspace.registry.add_roots([str(data)])
    return home


def write(folder: Path, name: str, *amounts: int) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": pa.array(range(len(amounts)), pa.int64()), "amount": pa.array(amounts, pa.int64())}), folder / name)


def completed(number: int, folder: Path, **changes: Any) -> dict[str, Any]:
    return run_event(number, outputs=[{"namespace": "file", "name": str(folder)}], eventTime=datetime.now(UTC).isoformat(), **changes)


async def test_only_versions_with_a_selected_row_fire(reading: TriggeredHome, there: Receiver, data: Path) -> None:
    out = data / "out"
    write(out, "a.parquet", 1, 2000)
    await reading.send(completed(1, out))
    trigger = await reading.create({"data": {"dataset": str(out), "where": "amount > 1000"}})
    (out / "a.parquet").unlink()
    for number, amount in ((8, 3), (15, 5000), (22, 7)):
        write(out, "a.parquet", 1, amount)
        await reading.send(completed(number, out))
        await reading.seen()
    await reading.ended(trigger, 1)
    assert [document["facts"][0]["run"] for _, document in there.requests] == [node_id(NodeKind.RUN, run_event(15)["run"]["runId"])]


async def test_of_a_captured_run_only_its_own_files_count(reading: TriggeredHome, there: Receiver, data: Path) -> None:
    source, out = data / "in", data / "out"
    write(source, "a.parquet", 1, 2)
    write(out, "other.parquet", 9000)
    await reading.send(completed(1, out))
    trigger = await reading.create({"data": {"dataset": str(out), "where": "amount > 1000"}})

    def copy() -> Job:
        job = Job(reading.workspace.records, "copy")
        read = job.scan(source, "parquet", {"id": "bigint", "amount": "bigint"})
        job.write(read, out, "parquet", ["id", "amount"])
        return job

    def event(number: int, job: Job) -> dict[str, Any]:
        run = completed(number, out)
        run["run"] = {"runId": job.run, "facets": {"headwater_capture": facet(capture=job.capture, status="complete")}}
        return run

    small = copy()
    write(out, "other.parquet", 9000)
    await reading.send(event(8, small))
    await reading.seen()
    write(source, "a.parquet", 1, 2000)
    large = copy()
    write(out, "other.parquet", 9000)
    await reading.send(event(15, large))
    (entry,) = await reading.ended(trigger, 1)
    assert entry.cause.facts[0].run == node_id(NodeKind.RUN, large.run)


async def test_rows_that_are_gone_are_never_taken_for_rows_that_do_not_match(reading: TriggeredHome, data: Path) -> None:
    source, out = data / "in", data / "out"
    write(source, "a.parquet", 1, 2000)
    job = Job(reading.workspace.records, "copy")
    job.write(job.scan(source, "parquet", {"id": "bigint", "amount": "bigint"}), out, "parquet", ["id", "amount"])
    await reading.send(completed(1, out))
    trigger = await reading.create({"data": {"dataset": str(out), "where": "amount > 1000"}})
    for file in out.iterdir():
        file.unlink()
    write(out, "new.parquet", 5)
    run = completed(8, out)
    run["run"] = {"runId": job.run, "facets": {"headwater_capture": facet(capture=job.capture, status="complete")}}
    await reading.send(run)
    (entry,) = await reading.ended(trigger, 1)
    assert (entry.cause.outcome, entry.execution) == ("skipped", None)
    assert "not there any more" in str(entry.cause.reason)


@pytest.mark.parametrize(
    ("begin", "where", "reason"),
    [
        (timedelta(hours=1), "amount > 1000", "No file of .* is as new as the run"),
        (timedelta(hours=-1), "amunt > 1000", "amunt, which is no column"),
        (None, "amunt > 1000", "amunt, which is no column"),
        (timedelta(hours=-1), "gone", "has no files|no file of data|nothing at"),
    ],
    ids=["clock ahead", "missing column", "missing column without a start", "no files"],
)
async def test_a_version_that_only_events_describe_says_why_it_does_not_fire(
    reading: TriggeredHome, data: Path, begin: timedelta | None, where: str, reason: str
) -> None:
    """The trigger is created before the dataset has a schema, so nothing is refused then."""
    out = data / "out"
    trigger = await reading.create({"data": {"dataset": node_id(NodeKind.DATASET, "file", str(out)), "where": where}})
    if where != "gone":
        write(out, "a.parquet", 1, 2000)
    if begin is not None:
        await reading.send(run_event(8, "START", eventTime=(datetime.now(UTC) + begin).isoformat()))
    await reading.send(completed(8, out))
    (entry,) = await reading.ended(trigger, 1)
    assert (entry.cause.outcome, entry.execution) == ("skipped", None)
    assert re.search(reason, str(entry.cause.reason)), entry.cause.reason


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("amunt > 1000", "amunt, which is no column.*Did you mean amount"),
        ("amount > ", "does not parse"),
        ("id in (SELECT 1)", "more than a condition"),
        ("read_text('/etc/passwd') = ''", "may not use read_text|more than a condition"),
        ("amount > 'many'", "cannot be used"),
    ],
)
async def test_a_predicate_that_cannot_be_used_is_refused_when_the_trigger_is_created(
    reading: TriggeredHome, data: Path, where: str, reason: str
) -> None:
    write(data / "out", "a.parquet", 1)
    await reading.send(completed(1, data / "out"))
    with pytest.raises(InvalidQueryError, match=reason):
        await reading.create({"data": {"dataset": str(data / "out"), "where": where}})


async def test_without_files_the_known_columns_decide(home: TriggeredHome) -> None:
    await home.send(run_event(1))
    with pytest.raises(InvalidQueryError, match=r"wnd, which is no column.*Did you mean wind"):
        await home.create({"data": {"dataset": "/out/1", "where": "wnd > 1"}})
    assert await home.create({"data": {"dataset": "/out/1", "where": "wind > 1"}})


async def test_a_predicate_needs_the_right_to_see_masked_values(reading: TriggeredHome, there: Receiver, data: Path) -> None:
    out = data / "out"
    write(out, "a.parquet", 5000)
    await reading.send(completed(1, out))
    (reading.workspace.home.masks).write_text('[[mask]]\ncolumns = ["amount"]\n')
    ring = KeyRing(reading.workspace.home.named_keys)
    try:
        key, _ = ring.create("engineer", [Scope.READ, Scope.RECORDS, Scope.REPLAY], tenant="default")
    finally:
        ring.close()
    trigger = await reading.create({"data": {"dataset": str(out), "where": "amount > 1000"}}, owner=key_owner(key.id, key.name))
    await reading.send(completed(8, out))
    (entry,) = await reading.ended(trigger, 1)
    assert (entry.cause.outcome, entry.cause.reason, entry.execution) == ("skipped", "engineer may not unmasked.", None)
    assert there.requests == []


async def test_a_predicate_of_another_tenant_reads_nothing_of_the_home(reading: TriggeredHome, data: Path) -> None:
    write(data / "out", "a.parquet", 5000)
    await reading.send(completed(1, data / "out"), tenant="other")
    stated = {
        "name": "t",
        "when": {"data": {"dataset": str(data / "out"), "where": "amount > 1000"}},
        "do": {"webhook": {"target": "there"}},
    }
    trigger = await reading.triggers.create("other", stated, HOME)
    await reading.send(completed(8, data / "out"), tenant="other")
    (entry,) = await reading.ended(trigger, 1)
    assert entry.cause.outcome == "skipped"
    assert "outside of the data roots" in str(entry.cause.reason)
