"""Merges the blocks of enrolled datasets: plan, merge, check, exchange the folders, deliver the lineage, keep the old data for a time.

A killed compaction leaves the old data or the merged data, never a mixture. The next one finishes or removes it. The old data stays next
to the dataset, and traces read values there. The old data is deleted after its time, unless a trace needs it or a legal hold covers it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from pydantic import ValidationError

from headwater.backend.audit.log import append_line
from headwater.backend.rerun.replay.exchange import folder_states, sync_below
from headwater.backend.rerun.replay.process_wait import in_thread_left_behind
from headwater.backend.versions.collector import Collector
from headwater.backend.versions.compaction.journal import (
    JOURNAL,
    PREFIX,
    CompactionJournal,
    CompactionState,
    exchange,
    exchange_back,
    has_foreign_file,
    load,
    remove_shadow,
    save,
)
from headwater.backend.versions.compaction.lock import free, hold
from headwater.backend.versions.compaction.spark_merge import Merge
from headwater.errors import HeadwaterError, NotFoundError, UnavailableError, UnsupportedError
from headwater.graph.model import NodeKind, node_id, parse_id
from headwater.graph.model.declaration import Aspect
from headwater.graph.records import AssociationStore, ReplacedData
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.versions.blocks import UNDONE
from headwater.graph.versions.compaction import CompactionPlan, plan_compaction
from headwater.graph.versions.holds import find_holds
from headwater.graph.versions.needed_values import NeededValues

_TENANT = "default"
_RESTORABLE = (CompactionState.DONE, CompactionState.REFUSED)
_UNFINISHED = (CompactionState.RUNNING, CompactionState.PREPARED, CompactionState.EXCHANGED)
_log = logging.getLogger("headwater.versions")


@dataclass(frozen=True, slots=True)
class Compacted:
    """A plan, and the journal of what was done. A dry run has no journal."""

    plan: CompactionPlan
    journal: CompactionJournal | None


class Compactor:
    """Compacts datasets of one home. `collector` knows the enrolled datasets, and `merge` writes the merged files."""

    def __init__(self, folder: Path, graph: GraphStore, records: AssociationStore, collector: Collector, merge: Merge) -> None:
        self._folder = folder
        self._graph = graph
        self._records = records
        self._collector = collector
        self._merge = merge
        self._replaced = ReplacedData(folder)

    async def plan(self, dataset: str) -> CompactionPlan:
        """Plan a compaction. Raises as `plan_compaction` and `Collector.check_path`."""
        path = await asyncio.to_thread(self._collector.check_path, dataset)
        return await plan_compaction(self._graph, self._records, _TENANT, dataset, path)

    async def compact(self, dataset: str, *, by: str, trash_days: float = 7.0) -> Compacted:
        """Merge the current version of a dataset into one block. The old files are kept for `trash_days` at least.

        Raises:
            NotFoundError: the dataset is not enrolled.
            UnsupportedError: something forbids the merge, its result is not complete, or its lineage was refused.
            SourceChangedError: the dataset changed meanwhile.
            ReplayFailedError: Spark failed.
        """
        enrolled = await asyncio.to_thread(self._collector.enrolments.get, dataset)
        await self.settle()
        await asyncio.to_thread(self._refuse_second, dataset)
        plan = await self.plan(dataset)
        if plan.path != enrolled.path:
            raise UnsupportedError(f"{dataset} lies in {plan.path} now, and {enrolled.path} was enrolled.", hint="Enrol it again.")
        _require_no_reasons(plan)
        journal = _journal_of(plan, by, trash_days)
        place = self._folder / journal.id
        async with self._collector.enrolments.held():
            self._refuse_second(dataset)
            place.mkdir(parents=True, mode=0o700)
            holding = hold(place)
            save(journal, place)
        try:
            await self._run(journal, place, holding, plan)
            await self._replace(journal, place)
        except asyncio.CancelledError:
            raise  # the program may still write: the next command removes what it leaves
        except HeadwaterError:
            if not journal.is_exchanged:
                await asyncio.to_thread(self._discard, journal, place)
            raise
        finally:
            os.close(holding)
        return Compacted(plan, journal)

    async def settle(self) -> None:
        """Finish or remove what a killed compaction left, and delete old data whose time is over.

        If this fails for a compaction, it stays as it is, and the next command tries again. Other datasets are not affected.
        """
        for path in sorted(self._folder.glob(f"*/{JOURNAL}")):
            try:
                with free(path.parent) as is_free:
                    if is_free:
                        await self._settle(load(path.parent), path.parent)
            except (HeadwaterError, OSError, ValidationError) as error:
                _log.warning("the compaction %s cannot be finished or removed now: %s", path.parent.name, error)

    async def restore(self, identifier: str, *, by: str) -> CompactionJournal:
        """Put the old data of a compaction back.

        Raises:
            NotFoundError: there is no such compaction, its journal is damaged, or its old data was deleted.
            SourceChangedError: the dataset changed since.
            UnsupportedError: a run has read the merged data.
        """
        place = self._folder / identifier
        await self.settle()
        journal = None
        if self.has(identifier):
            with suppress(ValidationError):
                journal = load(place)
        if journal is None or journal.state not in (*_RESTORABLE, CompactionState.EXCHANGED):
            raise NotFoundError(f"There is no compaction {identifier} that could be undone.", hint="`compact` prints its id.")
        if journal.state is CompactionState.EXCHANGED:
            raise UnavailableError(f"The lineage of the compaction {identifier} is not delivered yet.", hint="Run the command again.")
        if await asyncio.to_thread(self._records.catalog.readers, _TENANT, journal.merged_files):
            raise UnsupportedError(f"A run has read the merged data of {journal.dataset}, so it stays.")
        async with self._collector.enrolments.held():
            self._append("versions.restore", journal, by)
            await asyncio.to_thread(exchange_back, journal)
        await self._finish_undo(journal, place)
        return journal

    def has(self, identifier: str) -> bool:
        """Whether a compaction has this id."""
        return identifier.isalnum() and (self._folder / identifier / JOURNAL).exists()

    async def _run(self, journal: CompactionJournal, place: Path, holding: int, plan: CompactionPlan) -> None:
        self._append("versions.compact", journal, journal.by)
        await asyncio.to_thread(Path(journal.shadow).mkdir, mode=0o700)
        await in_thread_left_behind(self._merge.run, journal, place, holding, plan)
        await asyncio.to_thread(_prepare, journal, place, self._merge)

    async def _replace(self, journal: CompactionJournal, place: Path) -> None:
        async with self._collector.enrolments.held():
            again = await self.plan(journal.dataset)
            if [block.version for block in again.blocks] != journal.versions:
                raise UnsupportedError(
                    f"{journal.dataset} got a new block meanwhile, so it was not replaced.", hint="Run the command again."
                )
            _require_no_reasons(again)
            self._replaced.add(journal.folder, str(journal.other))
            try:
                await asyncio.to_thread(exchange, journal)
            except HeadwaterError:
                self._replaced.remove(str(journal.other))
                raise
            journal.state = CompactionState.EXCHANGED
            save(journal, place)
        await self._finish(journal, place)

    async def _finish(self, journal: CompactionJournal, place: Path) -> None:
        """Deliver the lineage of exchanged data. Can be repeated.

        Raises:
            UnavailableError: the log does not answer. The next command delivers the rest.
            UnsupportedError: a part of the lineage was refused. The old data is kept for `restore`.
        """

        def note_refusal(reason: str) -> None:  # a refused item is not sent again, so the journal has to remember it
            journal.refused.append(reason)
            save(journal, place)

        await asyncio.to_thread(self._merge.deliver, journal, place, note_refusal)
        if journal.refused:
            journal.state = CompactionState.REFUSED
            save(journal, place)
            raise UnsupportedError(
                f"The lineage of the merged data was refused: {journal.refused[0]}",
                hint=f"`headwater versions restore {journal.id}` puts the old data back.",
            )
        now = datetime.now(UTC)
        journal.kept_until = (now + timedelta(days=journal.trash_days)).isoformat(timespec="seconds")
        journal.state = CompactionState.DONE
        save(journal, place)
        self._append("versions.compact.end", journal, journal.by)
        await asyncio.to_thread(self._merge.clean, place)

    async def _settle(self, journal: CompactionJournal, place: Path) -> None:
        if journal.state is CompactionState.PREPARED and journal.is_exchanged:
            journal.state = CompactionState.EXCHANGED
        if journal.state is CompactionState.PREPARED:
            try:
                await self._replace(journal, place)
            except HeadwaterError:
                if not journal.is_exchanged:
                    await asyncio.to_thread(self._discard, journal, place)
        elif journal.state is CompactionState.RUNNING:
            await asyncio.to_thread(self._discard, journal, place)
        elif journal.state is CompactionState.EXCHANGED:
            await self._finish(journal, place)
        elif journal.state in _RESTORABLE and journal.is_undone_by_exchange:
            await self._finish_undo(journal, place)
        elif journal.state is CompactionState.DONE and datetime.fromisoformat(journal.kept_until) <= datetime.now(UTC):
            await self._expire(journal, place)

    async def _expire(self, journal: CompactionJournal, place: Path) -> None:
        """Delete the old data, unless a legal hold covers it, a trace of kept data needs its values, or another program wrote to it."""
        if await find_holds(self._graph, _TENANT, journal.dataset, journal.versions):
            return
        if await asyncio.to_thread(self._find_need, journal):
            return
        if await asyncio.to_thread(has_foreign_file, journal, journal.before):
            return
        self._append("versions.compact.expire", journal, journal.by)
        async with self._collector.enrolments.held():
            self._replaced.remove(str(journal.other))
        await asyncio.to_thread(remove_shadow, journal)
        journal.state = CompactionState.EXPIRED
        save(journal, place)

    def _find_need(self, journal: CompactionJournal) -> str | None:
        needed = NeededValues(self._records, _TENANT, self._records.sources.look())
        return needed.reason(journal.files, journal.writers)

    async def _finish_undo(self, journal: CompactionJournal, place: Path) -> None:
        described = [{"id": journal.version, "aspect": Aspect.TAG.value, "value": UNDONE}]
        await self._collector.declarations.declare(_TENANT, {"by": journal.by, "descriptions": described})
        async with self._collector.enrolments.held():
            self._replaced.remove(str(journal.other))
        if not await asyncio.to_thread(has_foreign_file, journal, journal.merged):
            await asyncio.to_thread(remove_shadow, journal)
        journal.state = CompactionState.UNDONE
        save(journal, place)

    def _discard(self, journal: CompactionJournal, place: Path) -> None:
        """Remove a compaction that replaced nothing. The log of a failed program stays, because the error message names it.

        The merged folder may have been in the place of the dataset for a moment. Files that another program wrote then stay.
        """
        self._replaced.remove(str(journal.other))
        if journal.state is CompactionState.RUNNING or not has_foreign_file(journal, journal.merged):
            remove_shadow(journal)
        for entry in place.iterdir():
            if entry.name != "program.log":
                _remove(entry)

    def _refuse_second(self, dataset: str) -> None:
        for path in self._folder.glob(f"*/{JOURNAL}"):
            with suppress(ValidationError):
                journal = load(path.parent)
                if journal.dataset == dataset and journal.state in _UNFINISHED:
                    raise UnsupportedError(f"Another compaction of {dataset} is not finished.", hint="Run the command again later.")

    def _append(self, what: str, journal: CompactionJournal, by: str) -> None:
        line = {
            "who": by, "tenant": _TENANT, "decision": "allowed", "what": what, "on": [journal.dataset], "compaction": journal.id,
            "files": len(journal.files), "bytes": sum(file.length for file in journal.files),
        }  # fmt: skip
        append_line(self._collector.audit, line)


def _journal_of(plan: CompactionPlan, by: str, trash_days: float) -> CompactionJournal:
    identifier = uuid4().hex[:12]
    return CompactionJournal(
        id=identifier, dataset=plan.dataset, folder=plan.path, shadow=str(Path(plan.path).with_name(f"{PREFIX}{identifier}")), by=by,
        at=datetime.now(UTC).isoformat(timespec="seconds"), trash_days=trash_days, versions=[block.version for block in plan.blocks],
        files=list(plan.files), writers=list(plan.writers), before=folder_states(Path(plan.path)),
    )  # fmt: skip


def _require_no_reasons(plan: CompactionPlan) -> None:
    if plan.reasons:
        raise UnsupportedError(f"{plan.dataset} is not compacted: {'; '.join(plan.reasons)}.", hint="`compact` without --apply lists this.")


def _prepare(journal: CompactionJournal, place: Path, merge: Merge) -> None:
    """Check the merged files, flush them to disk, and record them."""
    merged, real = journal.other, Path(journal.folder)
    journal.capture, run = merge.check(journal, place)
    _, (namespace, name) = parse_id(journal.dataset)
    journal.version = node_id(NodeKind.VERSION, namespace, name, run)
    shutil.copymode(real, merged)
    for folder in [path for path in merged.rglob("*") if path.is_dir()]:
        if (like := real / folder.relative_to(merged)).is_dir():
            shutil.copymode(like, folder)
    sync_below(merged)
    journal.merged = folder_states(merged)
    journal.inode = merged.stat().st_ino
    journal.state = CompactionState.PREPARED
    save(journal, place)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
