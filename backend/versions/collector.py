"""Removes the collectable blocks of enrolled datasets: plan, journal, move to the trash, record, and delete after the retention time.

The command line and GraphQL use this module. The plan is computed again under the lock, and only files that this plan names are moved.
A changed file stays. An interrupted collection is finished by the next one. The audit log has a line before and after.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from pydantic import ValidationError

from headwater.backend.audit.log import append_line
from headwater.backend.versions.enrolment import Enrolment, Enrolments, check_folder
from headwater.backend.versions.trash import (
    JOURNAL,
    Journal,
    MoveState,
    check_places,
    delete,
    describe_file,
    is_expired,
    load,
    move_back,
    move_out,
    save,
)
from headwater.errors import HeadwaterError, NotFoundError, SourceChangedError, UnsupportedError
from headwater.graph.model.declaration import Aspect
from headwater.graph.records import AssociationStore, FileBlock
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.versions.collection import CollectionPlan, plan_collection
from headwater.graph.versions.holds import find_holds

COLLECTED = "collected"  # the tag of a version whose files were dropped
_TENANT = "default"  # enrolled datasets belong to the home's own tenant
_log = logging.getLogger("headwater.versions")
_MOST_NAMED = 50  # limit of files and versions in a line of the audit log


class Declarer(Protocol):
    """Appends declarations to the log."""

    async def declare(self, tenant: str, document: Mapping[str, Any]) -> int:
        """Append a declaration, and return its offset in the log."""


@dataclass(frozen=True, slots=True)
class Collected:
    """A plan, and the journal of its moves. A dry run has no journal."""

    plan: CollectionPlan
    journal: Journal | None


class Collector:
    """Collects blocks of one home. `folder` contains the enrolments and the journals. `audit` is the home's audit log."""

    def __init__(
        self, folder: Path, graph: GraphStore, records: AssociationStore, declarations: Declarer, audit: Path, channels: Sequence[str] = ()
    ) -> None:
        self.enrolments = Enrolments(folder)
        self._folder = folder
        self._graph = graph
        self._records = records
        self.declarations = declarations
        self.audit = audit
        self._channels = [channel.rstrip("/") for channel in channels]

    def enrol(self, dataset: str, *, by: str) -> Enrolment:
        """Enrol a dataset, and record it in the audit log. Raises as `Enrolments.add`."""
        check_folder(dataset, self._records.sources)
        append_line(self.audit, {"who": by, "tenant": _TENANT, "decision": "allowed", "what": "versions.enrol", "on": [dataset]})
        return self.enrolments.add(dataset, self._records.sources, by=by)

    def withdraw(self, dataset: str, *, by: str) -> None:
        self.enrolments.get(dataset)
        append_line(self.audit, {"who": by, "tenant": _TENANT, "decision": "allowed", "what": "versions.withdraw", "on": [dataset]})
        self.enrolments.remove(dataset)

    def check_path(self, dataset: str) -> str:
        """Return the folder of a dataset whose blocks may be removed. Raises as `check_folder`, and for channels of workflows."""
        path = check_folder(dataset, self._records.sources)
        if channel := next((one for one in self._channels if _overlap(one, path)), None):
            raise UnsupportedError(
                f"{channel} is a channel of a workflow, which knows its blocks and cursors.", hint="Its blocks are not dropped here."
            )
        return path

    async def plan(self, dataset: str, *, keep: int = 1) -> CollectionPlan:
        """Plan a collection. Raises as `plan_collection` and `check_path`."""
        path = await asyncio.to_thread(self.check_path, dataset)
        return await plan_collection(self._graph, self._records, _TENANT, dataset, path, keep=keep)

    async def collect(self, dataset: str, *, by: str, keep: int = 1, trash_days: float = 7.0) -> Collected:
        """Move the files of the collectable blocks into the trash. They are deleted after `trash_days`.

        Raises:
            NotFoundError: the dataset is not enrolled.
            UnsupportedError: planning fails (see `plan`), or the folder differs from the enrolled one.
        """
        enrolled = await asyncio.to_thread(self.enrolments.get, dataset)
        await self.settle()
        await asyncio.to_thread(self._refuse_stopped, dataset)
        first = await self.plan(dataset, keep=keep)
        if first.path != enrolled.path:
            raise UnsupportedError(f"{dataset} lies in {first.path} now, and {enrolled.path} was enrolled.", hint="Enrol it again.")
        if not first.collectable:
            return Collected(first, None)
        async with self.enrolments.held():
            plan = await self.plan(dataset, keep=keep)  # cursors and blocks may have changed since the first plan
            if not plan.collectable:
                return Collected(plan, None)
            journal = await asyncio.to_thread(self._prepare, plan, by, keep, trash_days)
            await asyncio.to_thread(self._move, journal)
        await self._record(journal)
        return Collected(plan, journal)

    async def settle(self) -> None:
        """Finish interrupted collections, and delete expired trash.

        If the plan no longer allows an interrupted collection, its files are moved back. A collection that can be neither finished nor
        undone now stays as it is, and is tried again by the next command. Other datasets are not affected.
        """
        for path in sorted(self._folder.glob(f"*/{JOURNAL}")):
            try:
                await self._settle(path.parent)
            except (HeadwaterError, OSError, ValidationError) as error:
                _log.warning("the collection %s was stopped, and can be neither finished nor undone now: %s", path.parent.name, error)

    async def _settle(self, folder: Path) -> None:
        async with self.enrolments.held():
            journal = load(folder)
            if journal.state is MoveState.PREPARED:
                await self._finish(journal)
            elif journal.state is MoveState.MOVED and journal.is_recorded and is_expired(journal):
                await self._expire(journal)
        if journal.state is MoveState.MOVED and not journal.is_recorded:
            await self._record(journal)

    def _refuse_stopped(self, dataset: str) -> None:
        """Check that no stopped collection of a dataset waits for its repair."""
        for path in self._folder.glob(f"*/{JOURNAL}"):
            with suppress(ValidationError):
                journal = load(path.parent)
                if journal.dataset == dataset and journal.state is MoveState.PREPARED:
                    raise UnsupportedError(
                        f"The collection {journal.id} of {dataset} was stopped, and can be neither finished nor undone now.",
                        hint=f"Files are in {journal.trash} that have no free place in {journal.folder}. Move the new files elsewhere.",
                    )

    async def _finish(self, journal: Journal) -> None:
        try:
            verdicts = {verdict.block.version: verdict for verdict in (await self.plan(journal.dataset, keep=journal.keep)).verdicts}
        except HeadwaterError:
            verdicts = {}
        if all(version in verdicts and not verdicts[version].reasons for version in journal.versions):
            self._move(journal)
            return
        move_back(journal)
        journal.state = MoveState.RESTORED
        self._save(journal)

    async def _expire(self, journal: Journal) -> None:
        if await find_holds(self._graph, _TENANT, journal.dataset, journal.versions):
            return
        delete(journal)
        journal.state = MoveState.EXPIRED
        self._save(journal)

    async def restore(self, identifier: str, *, by: str) -> Journal:
        """Move the files of a collection back, or none of them.

        Raises:
            NotFoundError: there is no such collection, or its trash was deleted.
            SourceChangedError: a new file has the path of a moved file.
        """
        await self.settle()
        folder = self._folder / identifier
        if not _is_name(identifier) or not (folder / JOURNAL).exists() or load(folder).state is not MoveState.MOVED:
            hint = "`headwater versions gc` prints the id of a collection."
            raise NotFoundError(f"There is no collection {identifier} that could be restored.", hint=hint)
        async with self.enrolments.held():
            journal = load(folder)
            await asyncio.to_thread(check_places, journal)
            self._append("versions.restore", journal, by)
            await asyncio.to_thread(move_back, journal)
            journal.state = MoveState.RESTORED
            self._save(journal)
        await self._tag(journal, by, removed=True)
        return journal

    def _prepare(self, plan: CollectionPlan, by: str, keep: int, trash_days: float) -> Journal:
        identifier, now = uuid4().hex[:12], datetime.now(UTC)
        folder = Path(plan.path)
        journal = Journal(
            id=identifier, dataset=plan.dataset, folder=plan.path, by=by, keep=keep, at=now.isoformat(timespec="seconds"),
            trash=str(folder.with_name(f".{folder.name}.headwater-trash-{identifier}")),
            kept_until=(now + timedelta(days=trash_days)).isoformat(timespec="seconds"),
            versions=[verdict.block.version for verdict in plan.collectable],
            files=[_described(plan.path, file) for file in plan.files],
        )  # fmt: skip
        self._append("versions.gc", journal, by)
        self._save(journal)
        return journal

    def _move(self, journal: Journal) -> None:
        move_out(journal)
        journal.state = MoveState.MOVED
        self._save(journal)

    async def _record(self, journal: Journal) -> None:
        await self._tag(journal, journal.by)
        self._append("versions.gc.end", journal, journal.by, skipped=len(journal.skipped))
        journal.is_recorded = True
        self._save(journal)

    async def _tag(self, journal: Journal, by: str, *, removed: bool = False) -> None:
        described = [{"id": version, "aspect": Aspect.TAG.value, "value": COLLECTED, "removed": removed} for version in journal.versions]
        await self.declarations.declare(_TENANT, {"by": by, "descriptions": described})

    def _append(self, what: str, journal: Journal, by: str, **more: Any) -> None:
        line = {
            "who": by, "tenant": _TENANT, "decision": "allowed", "what": what, "on": [journal.dataset, *journal.versions[:_MOST_NAMED]],
            "collection": journal.id, "files": len(journal.files), "bytes": sum(file.length for file in journal.files),
        }  # fmt: skip
        append_line(self.audit, {**line, **more})

    def _save(self, journal: Journal) -> None:
        save(journal, self._folder / journal.id)


def _described(folder: str, file: FileBlock) -> Any:
    """Return the present state of a planned file.

    Raises:
        SourceChangedError: the file changed after the run wrote it, or is gone.
    """
    path = "/" + file.path.removeprefix("file:").lstrip("/")
    if not path.startswith(f"{folder}/"):
        raise SourceChangedError(f"{path} is not in {folder}.")
    try:
        found = describe_file(folder, path[len(folder) + 1 :])
    except FileNotFoundError:
        raise SourceChangedError(f"{path} is gone since the plan.", hint="Run the command again.") from None
    if (found.length, found.modified // 1_000_000) != (file.length, file.modified):
        raise SourceChangedError(f"{path} changed since the plan.", hint="Run the command again.")
    return found


def _overlap(one: str, other: str) -> bool:
    return os.path.commonpath([one, other]) in (one, other)


def _is_name(identifier: str) -> bool:
    return identifier.isalnum()
