"""A home with three jobs, each of which reads the output of the one before, and questions with known answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from headwater.errors import HeadwaterError
from headwater.graph.associations import Manifest
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from tests.backend.events import body, run_event
from tests.graph.jobs import TENANT, Job, write_csv

COLUMNS = {"k": "string", "v": "int"}
ROWS = [[key, number] for number, key in enumerate("abcabcdd")]


class Taken(AssociationStore):
    """An association store whose captures go the way of those that are sent: log first, then published from there."""

    workspace: Workspace

    def publish(self, tenant: str, manifest: Manifest) -> list[Any]:
        self.workspace.captures.submit(tenant, json.dumps(manifest.to_json()).encode())
        return []


async def make(home: Path, data: Path) -> None:
    """Take in the runs of the three jobs, and some events."""
    async with await Workspace.open(load_settings(home=home)) as workspace:
        workspace.settings.key()
        for number in range(3):
            workspace.events.submit(TENANT, body(run_event(number))).result()
        store = Taken(workspace.home.associations, sources=ANYWHERE)
        store.workspace = workspace
        source = write_csv(data / "raw.csv", list(COLUMNS), ROWS)
        job = Job(store, "first", 1)
        job.write(job.scan(source, "csv", COLUMNS, {"header": "true", "nullvalue": "NA"}), data / "first", "parquet", ["k", "v"])
        job = Job(store, "second", 2)
        rows = job.scan(data / "first", "parquet", COLUMNS)
        total = job.aggregation("sum", job.attr(rows, "v"))
        sums = job.aggregate(rows, ["k"], {"total": (total, lambda group: sum(row.values["v"] for row in group), "bigint")})
        job.write(sums, data / "second", "parquet", ["k", "total"])
        job = Job(store, "third", 3)
        read = job.scan(data / "second", "parquet", {"k": "string", "total": "bigint"})
        job.write(read, data / "third", "parquet", ["k", "total"], files=1)
        assert await workspace.settle() == 0
        store.close()


def questions(data: Path) -> list[TraceRequest]:
    """The sources of a row of the last job, and the outputs of a row of the first source and of rows of the first job."""
    return [
        TraceRequest(dataset=str(data / "third"), where="k = 'a'", values=False),
        TraceRequest(dataset=str(data / "raw.csv"), rows=[(str(data / "raw.csv"), 1)], forward=True, values=False),
        TraceRequest(dataset=str(data / "first"), where="k = 'd'", forward=True, to=str(data / "third"), values=False),
    ]


async def answers(home: Path, data: Path) -> list[TraceAnswer | HeadwaterError]:
    """The answers of a home to the questions."""
    found: list[TraceAnswer | HeadwaterError] = []
    for request in questions(data):
        try:
            async with await Workspace.open(load_settings(home=home)) as workspace:
                workspace.records.sources = ANYWHERE
                found.append(await trace(workspace.graph, workspace.records, TENANT, request))
        except HeadwaterError as error:
            found.append(error)
    return found


def records(answer: TraceAnswer) -> set[tuple[Any, ...]]:
    """The records of an answer."""
    return {(record.dataset, record.file, record.row) for record in answer.records}


def copy_of(home: Path, target: Path) -> Path:
    """A copy of a home."""
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(home, target))
