"""The types of replays in the schema.

The schema must never start a process itself: the `ReplayService` does, and must never write into the outputs of the original run.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import PurePath
from typing import Any

import strawberry
from strawberry.scalars import JSON

from headwater.graphql.row_numbers import RowNumber
from headwater.graphql.services import CommitView, DryRunView, ReplayView, ShownDatasetView, StopView

MOST_ROWS = 100  # selected records of a file that a replay shows
MOST_FILES = 100


@strawberry.enum(description="How far a replay, one of its steps, or a recapture has come. COMPLETE and FAILED are final.")
class ReplayState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


@strawberry.enum(description="The kind of a replay: which records and programs go in.")
class ReplayKind(StrEnum):
    """The kind of a replay. Values are names in the registry of kinds."""

    EXCLUSIVE = "exclusive"
    SELECTIVE = "selective"
    VERIFY = "verify"
    WHAT_IF = "what-if"
    REFRESH = "refresh"
    STEP = "step"


@strawberry.enum(description="How far the commit of one dataset has come.")
class ReplayCommitState(StrEnum):
    PREPARED = "prepared"
    DONE = "done"
    UNDONE = "undone"
    EXPIRED = "expired"


@strawberry.input(description="A new value of a column, as text that Spark casts; null is NULL.")
class ReplayEdit:
    """A new value of a column, for the kind WHAT_IF."""

    column: str
    value: str | None = None


@strawberry.type(description="One program of a replay.")
class ReplayStep:
    job: str
    state: ReplayState
    seconds: float | None


@strawberry.enum(description="An answer at a stop. After DROP and EDIT the replay waits for the next answer.")
class StopAction(StrEnum):
    CONTINUE = "continue"
    STOP = "stop"
    DROP = "drop"
    EDIT = "edit"


@strawberry.type(description="A record at a stop: its file, its row from 0, and its values as an object.")
class ShownRow:
    """A record at a stop. An answer refers to its file and row."""

    file: str
    row: RowNumber
    values: JSON


@strawberry.type(description="The first rows of a dataset at a stop. `note` says why there are none.")
class ShownDataset:
    dataset: strawberry.ID
    rows: list[ShownRow]
    note: str | None

    @classmethod
    def of(cls, view: ShownDatasetView) -> ShownDataset:
        rows = [ShownRow(file=row.file, row=RowNumber(row.row), values=JSON(dict(row.values))) for row in view.rows]
        return cls(dataset=strawberry.ID(view.dataset), rows=rows, note=view.note)


@strawberry.type(description="A stop before a program: the first records of its inputs, and of the outputs of the program before.")
class ReplayStop:
    job: str
    inputs: list[ShownDataset]
    outputs: list[ShownDataset]


@strawberry.type(description="A dataset that a commit replaced. `old` is the folder of its old data, as long as the state is DONE.")
class CommittedDataset:
    dataset: strawberry.ID
    state: ReplayCommitState
    old: str


@strawberry.type(description="The commit of a replay: outputs in the place of the real data. The old data is kept until `keptUntil`.")
class ReplayCommit:
    """The commit of a replay. Times are ISO 8601 in UTC."""

    at: str
    kept_until: str
    datasets: list[CommittedDataset]

    @classmethod
    def of(cls, view: CommitView) -> ReplayCommit:
        folders = [
            CommittedDataset(dataset=strawberry.ID(one.dataset), state=ReplayCommitState(one.state), old=one.old) for one in view.folders
        ]
        return cls(at=view.at, kept_until=view.kept_until, datasets=folders)


@strawberry.type(description="A program that a replay would run. `seconds` is the time that its last replay took.")
class DryRunStep:
    """A program that a replay would run. `script` is the file name of the script."""

    job: str
    script: str
    writes: list[strawberry.ID]
    seconds: float | None


@strawberry.type(
    description="What a replay would do. `starts` are the datasets that its programs read from their places. `excluded`, `kept` and "
    "`edited` are numbers of records; `seconds` is null if it is not known."
)
class ReplayDryRun:
    """The plan of a replay. `unknownSizes` are outputs whose size is not included in `diskBytes`."""

    kind: ReplayKind
    output: strawberry.ID
    starts: list[strawberry.ID]
    steps: list[DryRunStep]
    excluded: int
    kept: int
    edited: int
    seconds: float | None
    disk_bytes: float
    disk_free: float
    unknown_sizes: list[strawberry.ID]
    notes: list[str]

    @classmethod
    def of(cls, view: DryRunView) -> ReplayDryRun:
        steps = [
            DryRunStep(
                job=step.job, script=PurePath(step.script).name, writes=[strawberry.ID(one) for one in step.writes], seconds=step.seconds
            )
            for step in view.steps
        ]
        return cls(
            kind=ReplayKind(view.kind), output=strawberry.ID(view.output), steps=steps, excluded=view.excluded,
            starts=[strawberry.ID(one) for one in view.starts], kept=view.kept,
            edited=view.edited, seconds=view.seconds, disk_bytes=view.disk_bytes, disk_free=view.disk_free,
            unknown_sizes=[strawberry.ID(one) for one in view.unknown_sizes], notes=list(view.notes),
        )  # fmt: skip


@strawberry.enum(description="What a replay does with records of a file: leaves them out, reads only them, or reads them with new values.")
class RecordUse(StrEnum):
    """The use of selected records in a replay. A member is an output value by its name."""

    LEFT_OUT = "left out"
    READ = "read"
    EDITED = "edited"


@strawberry.type(
    description=f"The records of a file that somebody selected for a replay. `rows` has the first {MOST_ROWS} of `total`, counted from 0."
)
class ReplayRecords:
    """Records of one file. `rows` has the order of the file."""

    use: RecordUse
    file: str
    rows: list[RowNumber]
    total: int


def _list_records(view: ReplayView) -> list[ReplayRecords]:
    uses = {RecordUse.LEFT_OUT: view.exclude, RecordUse.READ: view.keep}
    uses[RecordUse.EDITED] = {file: [int(row) for row in rows] for file, rows in view.edits.items()}
    return [
        ReplayRecords(use=use, file=file, rows=[RowNumber(row) for row in sorted(rows)[:MOST_ROWS]], total=len(rows))
        for use, files in uses.items()
        for file, rows in list(files.items())[:MOST_FILES]
    ]


@strawberry.type(description="A row of the output that the replay changed, before and after, as objects; null where there is no such row.")
class ReplayDifference:
    """A row that the replay changed. `columns` are the columns that differ."""

    dataset: strawberry.ID
    before: JSON | None
    after: JSON | None
    columns: list[str]


@strawberry.type(description="A pipeline run again with other records or programs, into a shadow folder; the originals stay.")
class Replay:
    """A replay. `shadow` is the folder with the outputs. `differing` counts all rows that differ, `differences` has the first ones."""

    id: strawberry.ID
    state: ReplayState
    kind: ReplayKind
    output: strawberry.ID
    started_at: str
    started_by: str | None
    ended_at: str | None
    records: list[ReplayRecords]
    steps: list[ReplayStep]
    shadow: str
    error: str | None
    differences: list[ReplayDifference]
    differing: int
    notes: list[str]
    commit: ReplayCommit | None
    stop: ReplayStop | None

    @classmethod
    def of(cls, view: ReplayView) -> Replay:
        return cls(
            id=strawberry.ID(view.id),
            state=ReplayState(view.state),
            kind=ReplayKind(view.kind),
            output=strawberry.ID(view.output),
            started_at=view.started_at,
            started_by=view.started_by,
            ended_at=view.ended_at,
            records=_list_records(view),
            shadow=view.shadow,
            error=view.error,
            steps=[ReplayStep(job=step.job, state=ReplayState(step.state), seconds=step.seconds) for step in view.steps],
            differences=[
                ReplayDifference(
                    dataset=strawberry.ID(change.dataset),
                    before=_row(change.before),
                    after=_row(change.after),
                    columns=list(change.columns),
                )
                for change in view.differences
            ],
            differing=view.differing,
            notes=list(view.notes),
            commit=ReplayCommit.of(view.commit) if view.commit is not None else None,
            stop=_stop(view.stop) if view.stop is not None else None,
        )


def _stop(view: StopView) -> ReplayStop:
    inputs, outputs = ([ShownDataset.of(one) for one in side] for side in (view.inputs, view.outputs))
    return ReplayStop(job=view.job, inputs=inputs, outputs=outputs)


def _row(values: Mapping[str, Any] | None) -> JSON | None:
    return None if values is None else JSON(dict(values))
