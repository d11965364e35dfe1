"""The types of an erasure: its plan, its progress, and its certificate. Each erasure is stored as `erasures/<id>/erasure.json`.

The predicate is in that file only while the erasure is not over. A certificate has a salted hash of it, and no value of a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

State = tuple[int, int, int, int]  # device, inode, length, modification time in ns


class Action(StrEnum):
    """The treatment of a dataset by an erasure.

    `keep`: no record of it derives from the chosen ones, and it is not made again. `leave`: the operator deals with it elsewhere.
    `rewrite`: the source itself.
    """

    REWRITE = "rewrite"
    RECOMPUTE = "recompute"
    DELETE = "delete"
    KEEP = "keep"
    LEAVE = "leave"
    IMPOSSIBLE = "impossible"


class DatasetPlan(BaseModel):
    """A dataset downstream. `records` derive from the chosen ones; the count may be too low if it is not `complete`.

    `jobs` are the programs to run again. `reasons` say why an action is impossible. `versions` are those of the present data.
    """

    model_config = ConfigDict(frozen=True)

    dataset: str
    action: Action
    records: int
    former: int
    complete: bool
    jobs: Sequence[str] = ()
    reasons: Sequence[str] = ()
    versions: Sequence[str] = ()


class SourceFile(BaseModel):
    """A file of the source with chosen records. `copy_path` is the file next to it that takes its place, and then has the old data.

    `old` and `new` are the states of the file before and after. `checksum` is Hadoop's file of checksums of the old data, if there is one.
    """

    path: str
    rows: list[int]
    records: int
    old: State
    new: State | None = None
    copy_path: str = ""
    checksum: str = ""


class ErasurePlan(BaseModel):
    """The plan of an erasure. `datasets` are in the order of the flow. `blocks` say why it cannot run at all.

    `columns` are the columns that the predicate names. `aliases` are other datasets with the same files.
    `remains` are places of old data that Headwater cannot reach.
    """

    source: str
    columns: list[str]
    records: int
    files: list[SourceFile]
    datasets: list[DatasetPlan]
    aliases: list[str] = []
    applications: list[str] = []
    inputs: list[str] = []
    blocks: list[str] = []
    notes: list[str] = []
    remains: list[str] = []

    @property
    def impossible(self) -> list[DatasetPlan]:
        return [one for one in self.datasets if one.action is Action.IMPOSSIBLE]

    def of(self, action: Action) -> list[str]:
        return [one.dataset for one in self.datasets if one.action is action]


class ErasureState(StrEnum):
    """The state of an erasure.

    `requested` → `prepared` → `exchanged` → `committed` → `complete` or `incomplete`. Copies of the source's files are `prepared`, and then
    `exchanged` with them. All outputs are replaced once the erasure is `committed`. From then on it only goes on. It is `incomplete` if
    records may be left. If it is `reverted`, everything is as it was before.
    """

    REQUESTED = "requested"
    PREPARED = "prepared"
    EXCHANGED = "exchanged"
    COMMITTED = "committed"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    REVERTED = "reverted"


OPEN = (ErasureState.PREPARED, ErasureState.EXCHANGED, ErasureState.COMMITTED)  # an interrupted erasure is in one of these


class DeletedFolder(BaseModel):
    """A dataset to delete. Its data lies at `hidden` until the end. `inode` is that of its file or folder."""

    dataset: str
    path: str
    hidden: str
    inode: int


class Content(BaseModel):
    """The content of a dataset: the number of its data files, and a salted digest of their names and contents."""

    files: int
    digest: str


class ErasedDataset(BaseModel):
    """A dataset in a certificate: what was done with it, its records, and its versions and salted digests before and after."""

    dataset: str
    action: Action
    records_found: int
    former_found: int
    records_left: int | None
    versions_before: list[str] = []
    versions_after: list[str] = []
    before: Content | None = None
    after: Content | None = None
    is_checked: bool = False
    reasons: list[str] = []


class Certificate(BaseModel):
    """The record of what an erasure did, without any value of a record.

    `commitment` is SHA-256 of a salt and the predicate. Digests are SHA-256 of the same salt and the names and contents of files. The salt
    is next to the certificate on the home, in `salt`: with it, somebody who knows the predicate can check it.
    """

    format: str = "headwater erasure 1"
    id: str
    result: str
    requested_by: str
    approved_by: str | None = None
    reason: str | None = None
    began: str
    ended: str
    source: str
    columns: list[str]
    commitment: str
    records: int
    datasets: list[ErasedDataset]
    runs: list[str] = []
    removed: list[str] = []
    remains: list[str] = []
    check: list[str] = []


class Erasure(BaseModel):
    """An erasure and its progress.

    `where` and `rows` are removed when it is over. `replay` is the replay that makes the outputs again. `removed` and `remains` are
    sentences about old data.
    """

    id: str
    tenant: str
    by: str
    reason: str | None = None
    began: str
    ended: str | None = None
    state: ErasureState
    plan: ErasurePlan
    where: str | None = None
    rows: list[tuple[str, int]] = []
    delete: list[str] = []
    leave: list[str] = []
    approved_by: str | None = None
    replay: str | None = None
    deleted: list[DeletedFolder] = []
    before: dict[str, Content] = {}
    removed: list[str] = []
    remains: list[str] = []
    error: str | None = None
    certificate: Certificate | None = None
