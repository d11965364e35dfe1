"""The types of a replay: steps, state and result. Each replay is stored as `replays/<id>/replay.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

FAULT = "A fault of ours: "  # prefix of errors in Headwater itself
FileStates = dict[str, tuple[int, ...]]  # by path in the output; see exchange.folder_states


class ReplayState(StrEnum):
    """The state of a replay: `queued` → `running` → `complete` or `failed`."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


class Invocation(BaseModel):
    """The registered command that starts the program of an application. `namespace` and `job` name the application.

    `modules` is the folder of the modules that a script imports, if it is not the script's own folder. Only trials use it.
    """

    model_config = ConfigDict(frozen=True)

    run: str
    namespace: str
    job: str
    argv: Sequence[str]
    working_directory: str
    script: str
    script_sha256: str
    environment: Mapping[str, str] = {}
    modules: str = ""


class Limits(BaseModel):
    """Limits of a replay: the total running time of all programs, and the size of the output. None means no limit."""

    model_config = ConfigDict(frozen=True)

    seconds: float | None = None
    disk_bytes: int | None = None


class TableBase(BaseModel):
    """The version that a table had before the run that is repeated: a version of Delta, a snapshot of Iceberg. None: it was no table.

    `later` names versions that another program wrote after the run.
    """

    model_config = ConfigDict(frozen=True)

    dataset: str
    kind: str
    version: int | None
    later: str = ""


class Step(BaseModel):
    """A program to run again. `job` is the id of its pipeline. `tables` are the tables that it writes."""

    job: str
    reads: Sequence[str] = ()
    writes: Sequence[str] = ()
    tables: Sequence[TableBase] = ()
    invocation: Invocation
    state: ReplayState = ReplayState.QUEUED
    seconds: float | None = None


class ShownRow(BaseModel):
    """A record with its file and its 0-based row in the file."""

    model_config = ConfigDict(frozen=True)

    file: str
    row: int
    values: Mapping[str, Any]


class ShownDataset(BaseModel):
    """The first rows of a dataset at a stop. `note` explains missing rows."""

    model_config = ConfigDict(frozen=True)

    dataset: str
    rows: Sequence[ShownRow] = ()
    note: str | None = None


class Stop(BaseModel):
    """A stop before the program `job`: the program's inputs, and the outputs of the previous program."""

    model_config = ConfigDict(frozen=True)

    job: str
    inputs: Sequence[ShownDataset]
    outputs: Sequence[ShownDataset]


class Difference(BaseModel):
    """A row that differs. `before` is the old row (None: the row is new), `after` the new one (None: the row is gone).

    `columns` names the columns that differ.
    """

    model_config = ConfigDict(frozen=True)

    dataset: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    columns: Sequence[str]


class CommitState(StrEnum):
    """The state of a committed folder: `prepared` → `done` → `undone` or `expired`."""

    PREPARED = "prepared"
    DONE = "done"
    UNDONE = "undone"
    EXPIRED = "expired"


class CommittedFolder(BaseModel):
    """An output to exchange. `old` contains the old data after the exchange.

    `kind` is the kind of its place. `files` and `before` are the states of the new and of the old data. `inode` is the inode of a new
    folder. `detail` belongs to the kind. `is_cleared`: what no reader finds is removed. `notes` are sentences about the commit.
    """

    dataset: str
    place: str
    old: str
    kind: str = "folder"
    inode: int = 0
    files: FileStates
    before: FileStates = {}
    detail: dict[str, Any] = {}
    state: CommitState = CommitState.PREPARED
    is_cleared: bool = False
    notes: list[str] = []


class Commit(BaseModel):
    """The commit of a replay. The old data is stored until `kept_until` (ISO 8601, UTC). `is_undone`: an undo has begun.

    `notes` are sentences about its lineage.
    """

    replay: str
    at: str
    kept_until: str
    is_undone: bool = False
    folders: list[CommittedFolder] = []
    notes: list[str] = Field(default=[], exclude=True)


class Replay(BaseModel):
    """One replay. `within` is the compared partition of the output. An empty `within` means everything that the replay wrote of it.

    `exclude` maps a file to the 0-based numbers of its excluded records. `states` maps a file to its length and modification time (ms) at
    the time when the records were chosen. `shadow` is the output folder. `process` is the id of the process that runs the replay.

    `keep`, `restrict`, `edits`, `partials` and `changed_places` (there `changed`) have the same meaning as in a replay order.
    `chosen` are the compared rows by file (None: all rows are compared).
    `starts` are the datasets that the first programs read from their places.
    `outputs` are the compared datasets in the order in which they are made; empty: `output`. `notes` are sentences about the result.

    `stop` is the stop at which a replay of the kind `step` waits for an answer.

    `joint` are outputs with data of runs that the replay does not repeat. `own_files` are the files that the repeated runs wrote there.
    `captures`: the programs capture their records, so that a commit has record lineage.

    `erases`: an erasure started the replay. Nothing is compared, because the result would list erased records, and a commit replaces all
    outputs, so that none is left with lineage to erased data.

    `commit` is in `commit.json`, next to the replay's own file. `started_by` is the person or the key that asked for the replay.

    `changed` are the compared datasets that differ. `before` maps outputs to the states of their files when the replay began, and
    `places` maps them to the kinds of their places.
    """

    id: str
    tenant: str
    output: str
    within: str = ""
    state: ReplayState = ReplayState.QUEUED
    started_at: str
    ended_at: str | None = None
    shadow: str
    process: int
    kind: str = "exclusive"
    exclude: Mapping[str, Sequence[int]]
    keep: Mapping[str, Sequence[int]] = {}
    restrict: Sequence[str] = ()
    edits: Mapping[str, Mapping[str, Mapping[str, str | None]]] = {}
    partials: str = ""
    changed_places: Sequence[str] = ()
    captures: bool = False
    erases: bool = False
    joint: Sequence[str] = ()
    own_files: Mapping[str, Sequence[str]] = {}
    chosen: Mapping[str, Sequence[int]] | None = None
    limits: Limits = Limits()
    starts: Sequence[str] = ()
    outputs: Sequence[str] = ()
    changed: list[str] = []
    before: Mapping[str, FileStates] = {}
    places: Mapping[str, str] = {}
    notes: list[str] = []
    states: Mapping[str, tuple[int, int]] = {}
    steps: list[Step] = []
    differences: list[Difference] = []
    differing: int = 0
    error: str | None = None
    started_by: str | None = None
    stop: Stop | None = None
    commit: Commit | None = Field(default=None, exclude=True)
