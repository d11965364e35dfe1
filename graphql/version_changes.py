"""Mutations that merge and drop blocks: enrolments, collections and compactions of datasets of the home."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import strawberry

from headwater.errors import InvalidQueryError
from headwater.graph.access.scopes import Scope
from headwater.graphql.root_fields import mutation
from headwater.graphql.services import VersionService, available
from headwater.graphql.types import Info

_MOST_DAYS = 36_500.0


@strawberry.type(description="A dataset whose blocks may be merged and dropped. `path` is its folder on the machine of the service.")
class Enrolment:
    dataset: strawberry.ID
    path: str
    by: str
    at: str


@strawberry.type(description="Whether the files of a block may be dropped. Without reasons to keep it, they may.")
class BlockVerdict:
    """A verdict. `files` and `bytes` count the files that are at the path of the dataset and that no kept version needs."""

    sequence: int
    version: strawberry.ID
    is_collectable: bool
    reasons: list[str]
    files: int
    bytes: float


@strawberry.type(description="A plan to drop blocks of a dataset. `id` is null if nothing moved; `restoreBlocks` takes it.")
class BlockCollection:
    id: strawberry.ID | None
    dataset: strawberry.ID
    verdicts: list[BlockVerdict]
    trash: str | None = strawberry.field(description="The folder to which the files moved.")

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> BlockCollection:
        verdicts = [BlockVerdict(**{**each, "version": strawberry.ID(each["version"])}) for each in document["verdicts"]]
        return cls(**{**document, "verdicts": verdicts})


@strawberry.type(description="A plan to merge the current version of a dataset into one block, and its state.")
class BlockCompaction:
    """A compaction. `state` is `planned`, `running`, `complete` or `failed`. `reasons` forbid the merge."""

    id: strawberry.ID | None
    dataset: strawberry.ID
    state: str
    error: str | None
    blocks: list[int]
    files: int
    bytes: float
    reasons: list[str]
    notes: list[str]


@strawberry.type
class VersionMutation:
    @mutation("Allow to merge and drop blocks of a dataset.", scope=Scope.ADMIN, costly=False)
    async def enrol_dataset(self, info: Info, dataset: strawberry.ID) -> Enrolment:
        """Enrol a dataset: a local folder of files below the data roots."""
        async with info.context.audited("versions.enrol", dataset, changes=True):
            return Enrolment(**await _service(info).enrol(info.context.tenant, dataset))

    @mutation("End the enrolment of a dataset.", scope=Scope.ADMIN, costly=False)
    async def withdraw_dataset(self, info: Info, dataset: strawberry.ID) -> strawberry.ID:
        """End an enrolment, and return the id of the dataset."""
        async with info.context.audited("versions.withdraw", dataset, changes=True):
            await _service(info).withdraw(info.context.tenant, dataset)
        return dataset

    @mutation(
        "List the blocks whose files may be dropped, and why the others stay. With `apply`, move these files to a trash folder.",
        scope=Scope.REPLAY,
        costly=True,
    )
    async def collect_blocks(
        self, info: Info, dataset: strawberry.ID, keep: int = 1, apply: bool = False, trash_days: float = 7.0
    ) -> BlockCollection:
        """Plan or make a collection of an enrolled dataset. The last `keep` versions stay whole."""
        async with info.context.audited("versions.gc", dataset, changes=True):
            days = _checked_days(trash_days)
            document = await _service(info).collect(info.context.tenant, dataset, keep=keep, apply=apply, trash_days=days)
            return BlockCollection.of(document)

    @mutation(
        "Show what forbids a merge of the current version into one block. With `apply`, begin it; ask again for its state.",
        scope=Scope.REPLAY,
        costly=True,
    )
    async def compact_blocks(self, info: Info, dataset: strawberry.ID, apply: bool = False, trash_days: float = 7.0) -> BlockCompaction:
        """Plan or begin a compaction of an enrolled dataset. Without `apply`, the answer has the state of the last one that was begun."""
        async with info.context.audited("versions.compact", dataset, changes=True):
            days = _checked_days(trash_days)
            return BlockCompaction(**await _service(info).compact(info.context.tenant, dataset, apply=apply, trash_days=days))

    @mutation("Put the files of a collection back, or undo a compaction.", scope=Scope.REPLAY, costly=False)
    async def restore_blocks(self, info: Info, id: strawberry.ID) -> str:
        """Return the folder whose files are back."""
        async with info.context.audited("versions.restore", id, changes=True):
            return await _service(info).restore(info.context.tenant, id)


def _service(info: Info) -> VersionService:
    return available(info.context.services.versions, "Changes of blocks", hint="Use `headwater versions` on the home.")


def _checked_days(days: float) -> float:
    if not 0 <= days <= _MOST_DAYS:
        raise InvalidQueryError(f"{days} is no number of days.", field="trashDays", hint=f"Use 0 to {_MOST_DAYS:g}.")
    return days
