"""Collections and compactions of a service, for GraphQL. One operation runs at a time. A compaction continues in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from headwater.backend.versions.collector import Collector
from headwater.backend.versions.compaction.compactor import Compactor
from headwater.errors import HeadwaterError, UnavailableError
from headwater.graph.versions.collection import CollectionPlan
from headwater.graph.versions.compaction import CompactionPlan

_MOST_KNOWN = 200


@dataclass(slots=True)
class _Compaction:
    state: str = "running"
    id: str | None = None
    error: str | None = None


class Site(Protocol):
    """The workspace of a home."""

    def collector(self) -> Collector: ...

    def compactor(self) -> Compactor: ...


class VersionOperations:
    """The operations of one home. `site` makes a collector and a compactor with the present channels of workflows."""

    def __init__(self, site: Site) -> None:
        self._make_collector = site.collector
        self._make_compactor = site.compactor
        self._turn = asyncio.Lock()
        self._compactions: dict[str, _Compaction] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def enrol(self, dataset: str, *, by: str) -> Mapping[str, Any]:
        """Enrol a dataset. Raises as `Collector.enrol`."""
        made = await asyncio.to_thread(self._make_collector().enrol, dataset, by=by)
        return made.model_dump()

    async def withdraw(self, dataset: str, *, by: str) -> None:
        await asyncio.to_thread(self._make_collector().withdraw, dataset, by=by)

    async def collect(self, dataset: str, *, keep: int, apply: bool, trash_days: float, by: str) -> Mapping[str, Any]:
        """Plan or make a collection. Raises as `Collector.collect`."""
        collector = self._make_collector()
        if not apply:
            return _describe_collection(await collector.plan(dataset, keep=keep))
        self._refuse_busy()
        async with self._turn:
            await self._make_compactor().settle()
            done = await collector.collect(dataset, by=by, keep=keep, trash_days=trash_days)
        journal = done.journal
        return _describe_collection(done.plan, **({} if journal is None else {"id": journal.id, "trash": journal.trash}))

    async def compact(self, dataset: str, *, apply: bool, trash_days: float, by: str) -> Mapping[str, Any]:
        """Plan or begin a compaction. Raises as `Compactor.plan`, and `UnavailableError` while another operation runs."""
        compactor = self._make_compactor()
        collector = self._make_collector()
        if apply:
            await asyncio.to_thread(collector.enrolments.get, dataset)
        plan = await compactor.plan(dataset)
        if apply and not plan.reasons:
            self._refuse_busy()
            await self._turn.acquire()
            self._compactions.pop(dataset, None)
            self._compactions[dataset] = _Compaction()
            while len(self._compactions) > _MOST_KNOWN:
                del self._compactions[next(iter(self._compactions))]
            task = asyncio.create_task(self._compact(compactor, dataset, by, trash_days))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return _describe_compaction(plan, self._compactions.get(dataset))

    async def restore(self, identifier: str, *, by: str) -> str:
        """Undo a collection or a compaction, and return the folder. Raises as `Collector.restore` and `Compactor.restore`."""
        self._refuse_busy()
        async with self._turn:
            compactor = self._make_compactor()
            if compactor.has(identifier):
                return (await compactor.restore(identifier, by=by)).folder
            return (await self._make_collector().restore(identifier, by=by)).folder

    async def close(self) -> None:
        """Stop waiting for a running program, which is not ended. The next operation removes or finishes what it left."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _compact(self, compactor: Compactor, dataset: str, by: str, trash_days: float) -> None:
        known = self._compactions[dataset]
        try:
            done = await compactor.compact(dataset, by=by, trash_days=trash_days)
            known.state, known.id = "complete", None if done.journal is None else done.journal.id
        except HeadwaterError as error:
            known.state, known.error = "failed", f"{error.message} {error.hint}" if error.hint else error.message
        except Exception as error:  # the state must never stay "running" when nothing runs
            known.state, known.error = "failed", f"Headwater has a fault: {error!r}"
            raise
        finally:
            self._turn.release()

    def _refuse_busy(self) -> None:
        if self._turn.locked():
            raise UnavailableError("Another change of blocks runs now.", hint="Ask again when it has ended.")


def _describe_collection(plan: CollectionPlan, **more: str) -> dict[str, Any]:
    verdicts = [
        {
            "sequence": verdict.block.sequence, "version": verdict.block.version, "is_collectable": verdict.is_collectable,
            "reasons": list(verdict.reasons), "files": len(verdict.files), "bytes": sum(file.length for file in verdict.files),
        }
        for verdict in plan.verdicts
    ]  # fmt: skip
    return {"id": None, "dataset": plan.dataset, "verdicts": verdicts, "trash": None, **more}


def _describe_compaction(plan: CompactionPlan, known: _Compaction | None) -> dict[str, Any]:
    state = asdict(known) if known is not None else {"state": "planned", "id": None, "error": None}
    return {
        **state, "dataset": plan.dataset, "blocks": [block.sequence for block in plan.blocks], "files": len(plan.files),
        "bytes": sum(file.length for file in plan.files), "reasons": list(plan.reasons), "notes": list(plan.notes),
    }  # fmt: skip
