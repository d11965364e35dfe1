"""The projector applies the log to the graph and the stored associations, entry by entry. Tenants take turns.

The service runs it on a separate thread, and the command line without a service. A batch and its offset are written to the graph in one
transaction, and publishing a capture twice equals publishing it once, so the projector may be stopped anywhere and started again. An entry
that cannot be projected must not stop later entries: it becomes a dead letter with the reason. Temporary failures produce no dead letters:
an unreachable store is tried again, and while a disk is full or a store damaged, projection pauses. Dead letters are tried again at each
start of the service, by `headwater store repair` and by a rebuild, because their cause may be repaired.

Each tenant has a turn of one batch, so that no tenant delays the others for long. An error in one tenant's entries is raised after the
turns of the others. The projector waits for an unreachable store only if no other tenant had a turn.

An entry that crashes the worker would also crash the next worker. For this reason a note that outlives the process names the current
entries (`current_entries`), and entries that were set aside for crashes (`poison_entries`) are skipped here, also by a rebuild.

Replicas that share a log share the work: the holder of a tenant's lease projects until no entry waits. The lease only avoids duplicate
work: two replicas that project the same entries at once produce the same graph.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager, nullcontext
from functools import partial
from itertools import count
from pathlib import Path
from random import sample

from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_exponential

from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.ingest.log import DeadLetter, Entry, EntryKind, IngestLog, Stage
from headwater.backend.process.tracing import links_to, span
from headwater.backend.projection import (
    WrittenFile,
    capture_stamp,
    declaration_stamp,
    event_stamp,
    fold,
    project_capture,
    project_declaration,
    project_event,
    project_moves,
)
from headwater.backend.projector.catalog_age import note_generation
from headwater.backend.projector.current_entries import AtWork, Stretch
from headwater.backend.projector.entry_hashes import is_as_accepted
from headwater.backend.projector.leases import leased
from headwater.backend.projector.pending_entries import graph_offset, pending
from headwater.errors import DamagedError, HeadwaterError, InvalidInputError
from headwater.graph.associations import Manifest
from headwater.graph.damage import REPAIR, is_of_disk
from headwater.graph.model import GraphBatch
from headwater.graph.model.declaration import Declaration
from headwater.graph.records import AssociationStore
from headwater.graph.records.layout import CATALOG
from headwater.graph.stores import GraphStore

BATCH = 1_000  # entries per transaction; content that they repeat is written once
_TURN = 2.0  # seconds after which a batch reads no more entries, because captures may be large
_log = logging.getLogger("headwater.projector")


class Projector:
    """Projects one home's log. The caller must hold the projector's role (`role.ProjectorRole`)."""

    def __init__(
        self, log: IngestLog, graph: GraphStore, associations: AssociationStore, *, patience: float = 30.0, buries: bool = True,
        at_work: AtWork | None = None, left_out: Callable[[], Collection[str]] = tuple,
    ) -> None:  # fmt: skip
        """`buries` is False for a comparison: no lease is taken, and entries that fail are left out without a dead letter.

        `at_work` records the entries of each step. `left_out` returns tenants that others project.
        """
        self._ingest = log
        self._graph = graph
        self._associations = associations
        self._patience = self._waits = patience
        self._buries = buries
        self._at_work = at_work
        self._left_out = left_out
        self._generation: int | None = None
        self._compares_all = (
            False  # whether the keys of all entries are checked, as when old entries are read again; captures are always checked
        )
        self._set_aside: dict[str, frozenset[int]] = {}  # set-aside entries of the tenants that were checked
        self.done_beside_faults: int | None = None
        """What the last `catch_up` projected where it raised what is wrong with some tenants alone; None where all of them had a fault."""

    async def catch_up(self, *, until: Callable[[], bool] = lambda: False) -> int:
        """Project all waiting entries of every tenant, and return their number. If `until` returns true after a batch, stop early.

        Raises:
            UnavailableError: a store stays unreachable.
        """
        known = await asyncio.to_thread(self._ingest.tenants)
        left_out = set(self._left_out())
        # A tenant whose whole log was lost still has an offset.
        tenants = [tenant for tenant in dict.fromkeys([*known, DEFAULT_TENANT]) if tenant not in left_out]
        self._waits = 0.0
        done, faults = await self._in_turns(tenants, until)
        away = [tenant for tenant, fault in faults.items() if _is_transient(fault)]
        if away and not done:  # no other tenant waits for the unreachable store
            self._waits = self._patience
            done, again = await self._in_turns(away, _but_once_each(until, len(away)))
            faults = {tenant: fault for tenant, fault in faults.items() if tenant not in away} | again
        self.done_beside_faults = done if len(faults) < len(tenants) else None
        for fault in faults.values():
            raise fault
        return done

    async def _in_turns(self, tenants: Sequence[str], until: Callable[[], bool]) -> tuple[int, dict[str, Exception]]:
        done, faults = 0, dict[str, Exception]()
        async with AsyncExitStack() as ended:
            # The order is random: if all turns must end early, not always the same tenant has had the first.
            waiting = {tenant: self._batches(tenant, until) for tenant in sample(tenants, len(tenants))}
            for batches in waiting.values():
                await ended.enter_async_context(aclosing(batches))
            while waiting:
                for tenant, batches in list(waiting.items()):
                    try:
                        entries = await anext(batches, None)
                    except Exception as error:  # noqa: BLE001 - whatever is wrong with one tenant's, the others have their turns
                        entries, faults[tenant] = None, error
                        self._waits = 0.0  # the wait for an unreachable store happens once
                    done += entries or 0
                    if entries is None:
                        del waiting[tenant]
        return done, faults

    async def rebuild(self, tenant: str) -> int:
        """Delete the tenant's graph and rebuild it from the log. Returns the number of entries."""
        await self._graph.drop(tenant)
        with self._comparing():
            done = sum([entries async for entries in self._batches(tenant, lambda: False)])
        await self.retry(tenant)
        return done

    async def refold(self, tenant: str) -> int:
        """Project the whole log onto the existing graph. Entries that the graph already has change nothing. Returns the number of entries.

        After a repair of the log, new entries may have offsets below the graph's offset, so all entries are read again.
        """
        after = done = 0
        await self._know_what_is_set_aside(tenant)
        while entries := await asyncio.to_thread(self._ingest.read, tenant, after=after, limit=BATCH):
            with self._comparing():
                batches = [await self._batch(tenant, entry) for entry in entries]
            for entry, parts in zip(entries, batches, strict=True):
                await self._apply_alone(tenant, entry, parts, passed=True)
            after, done = entries[-1].offset, done + len(entries)
        return done

    async def project_singly(self, tenant: str, last: int) -> bool:
        """Project a tenant's entries up to an offset, each in a separate transaction.

        Returns False if another replica has the tenant's lease.

        Raises:
            UnavailableError: a store does not answer.
        """
        async with leased(self._ingest, f"project {tenant}") as is_ours:
            if not is_ours:
                return False
            await self._know_what_is_set_aside(tenant)
            while (offset := await self._offset(tenant)) < last and (entries := await self._entries(tenant, offset, limit=1)):
                await self._project(tenant, entries)
        return True

    async def retry(self, tenant: str, *, stage: Stage = Stage.PROJECTION, offsets: range | None = None) -> int:
        """Project the dead letters of a tenant, or of some offsets, again, in order. Returns the number of letters that succeeded.

        Raises:
            UnavailableError: a store stays unreachable.
            DamagedError: a store is damaged.
        """
        done = after = 0
        await asyncio.to_thread(self._associations.take_lost_again, tenant)
        while letters := await asyncio.to_thread(self._ingest.dead_letters, tenant, after=after, first=BATCH, stage=stage):
            after = letters[-1].id
            wanted = [letter for letter in letters if offsets is None or letter.offset in offsets]
            mended = [letter.offset for letter in wanted if await self._projects_now(tenant, letter)]
            await asyncio.wrap_future(self._ingest.forgive(tenant, mended, stage=stage))
            done += len(mended)
        await self._note_generation()
        return done

    async def _projects_now(self, tenant: str, letter: DeadLetter) -> bool:
        entry = await asyncio.to_thread(self._ingest.entry_at, tenant, letter.offset)
        if entry is None:
            return False
        self._begin(tenant, [entry])
        try:
            with self._comparing():
                await fold(self._graph, tenant, await self._read(tenant, entry))
        except Exception as error:  # it stays a dead letter, unless the store was at fault
            if _is_transient(error) or (is_of_disk(error) and not _is_of_one_capture(error)):
                raise
            _log.debug("entry %d still cannot be projected", entry.offset, exc_info=error)
            return False
        finally:
            self._end()
        _log.info("entry %d (%s) is projected now; it is no dead letter any more", entry.offset, entry.kind)
        return True

    async def pending(self, tenant: str) -> int:
        """Return the number of a tenant's waiting entries.

        Raises:
            DamagedError: the log lacks entries that the graph has.
        """
        return await pending(self._ingest, self._graph, tenant)

    async def _batches(self, tenant: str, until: Callable[[], bool]) -> AsyncGenerator[int, None]:
        if not await self._entries(tenant, await self._offset(tenant), limit=1):
            return
        async with leased(self._ingest, f"project {tenant}") if self._buries else nullcontext(enter_result=True) as is_ours:
            if not is_ours:
                return  # another replica has the lease
            offset = await self._offset(tenant)
            await self._know_what_is_set_aside(tenant)
            while not until() and (entries := await self._entries(tenant, offset)):
                done = 0
                async for attempt in self._retrying():
                    with attempt, span("projection", links_to(tenant, (entry.offset for entry in entries)), entries=len(entries)):
                        done = await self._project(tenant, entries)
                offset = entries[done - 1].offset
                yield done

    async def _entries(self, tenant: str, offset: int, limit: int = BATCH) -> list[Entry]:
        return await asyncio.to_thread(self._ingest.read, tenant, after=offset, limit=limit)

    async def _offset(self, tenant: str) -> int:
        return await graph_offset(self._ingest, self._graph, tenant)

    async def _project(self, tenant: str, entries: Sequence[Entry]) -> int:
        """Project the first entries, at least one, in one transaction. Returns their number."""
        batches: list[Sequence[GraphBatch]] = []
        began = time.monotonic()
        try:
            for entry in entries:
                self._begin(tenant, [entry])
                batches.append(await self._batch(tenant, entry))
                if time.monotonic() - began > _TURN:
                    break
            await self._write(tenant, entries[: len(batches)], batches)
        finally:
            self._end()
        return len(batches)

    async def _write(self, tenant: str, entries: Sequence[Entry], batches: Sequence[Sequence[GraphBatch]]) -> None:
        self._begin(tenant, entries, writes=True)
        await self._note_generation()
        try:
            await fold(self._graph, tenant, [batch for parts in batches for batch in parts], offset=entries[-1].offset)
        except Exception as error:  # the store refused something: find the entry
            if _is_transient(error) or is_of_disk(error):
                raise
            for entry, parts in zip(entries, batches, strict=True):
                self._begin(tenant, [entry], writes=True)
                await self._apply_alone(tenant, entry, parts)

    def _begin(self, tenant: str, entries: Sequence[Entry], *, writes: bool = False) -> None:
        if self._at_work is not None:
            self._at_work.begin(Stretch(tenant, entries[0].offset, entries[-1].offset, writes))

    def _end(self) -> None:
        if self._at_work is not None:
            self._at_work.end()

    async def _know_what_is_set_aside(self, tenant: str) -> None:
        self._set_aside[tenant] = frozenset(await asyncio.to_thread(self._ingest.buried_at, tenant, Stage.QUARANTINE))

    async def _apply_alone(self, tenant: str, entry: Entry, batches: Sequence[GraphBatch], *, passed: bool = False) -> None:
        """Apply one entry. With `passed`, the graph's offset stays, because it is past the entry or far before it."""
        offset = None if passed else entry.offset
        try:
            await fold(self._graph, tenant, batches, offset=offset)
        except Exception as error:
            if _is_transient(error) or is_of_disk(error):
                raise
            await self._bury(tenant, entry, error)
            await self._graph.apply(tenant, [], offset=offset)

    async def _read(self, tenant: str, entry: Entry) -> list[GraphBatch]:
        if (entry.kind is EntryKind.CAPTURE or self._compares_all) and not is_as_accepted(entry):
            path = getattr(self._ingest, "path", Path("ingest-log"))
            raise DamagedError(f"Entry {entry.offset} of {self._ingest.name} is not what was accepted.", path=path, hint=REPAIR)
        if entry.kind is EntryKind.PROV:
            from headwater.backend.projection.prov import project_prov, prov_stamp
            from headwater.graph.prov.read.json import read_json

            provenance = read_json(entry.body.decode())
            return [project_prov(provenance, prov_stamp(provenance, entry.key))[0]]
        document = json.loads(entry.body)
        if entry.kind is EntryKind.EVENT:
            return [project_event(document, event_stamp(document, entry.key))]
        if entry.kind is EntryKind.DECLARATION:
            declaration = Declaration.from_json(document)
            return [project_declaration(declaration, declaration_stamp(declaration, entry.key))]
        manifest = Manifest.from_json(document)
        kept = await asyncio.to_thread(self._associations.publish, tenant, manifest)
        written = [WrittenFile(*file.block, file.rows, file.attempt) for file in kept]
        return [
            project_capture(document, capture_stamp(document, entry.key), written),
            *await asyncio.to_thread(self._moves, tenant, manifest.capture),
        ]

    async def _note_generation(self) -> None:
        generation = await asyncio.to_thread(self._associations.generation) if self._buries else None
        if generation is not None and generation != self._generation:
            await note_generation(self._ingest, generation)
            self._generation = generation

    @contextmanager
    def _comparing(self) -> Iterator[None]:
        before, self._compares_all = self._compares_all, True
        try:
            yield
        finally:
            self._compares_all = before

    def _moves(self, tenant: str, capture: str) -> list[GraphBatch]:
        flows = self._associations.catalog.moves.flows(tenant, capture)
        return project_moves(flows, partial(self._associations.brief, tenant))

    async def _batch(self, tenant: str, entry: Entry) -> Sequence[GraphBatch]:
        if entry.offset in self._set_aside.get(tenant, ()):
            return ()
        try:
            return await self._read(tenant, entry)
        except Exception as error:  # whatever the fault of the entry is, later entries continue
            if _is_transient(error) or (is_of_disk(error) and not _is_of_one_capture(error)):
                raise
            await self._bury(tenant, entry, error)
            return ()

    async def _bury(self, tenant: str, entry: Entry, error: Exception) -> None:
        if not self._buries:
            return
        reason = f"{type(error).__name__}: {error}"
        _log.error("entry %d (%s) cannot be projected and is a dead letter now: %s", entry.offset, entry.kind, reason)
        _log.debug("entry %d", entry.offset, exc_info=error)
        field = error.field if isinstance(error, InvalidInputError) else None
        await asyncio.wrap_future(self._ingest.bury(tenant, [DeadLetter(Stage.PROJECTION, reason, entry.body, field, entry.offset)]))

    def _retrying(self) -> AsyncRetrying:
        return AsyncRetrying(
            retry=retry_if_exception(_is_transient),
            stop=stop_after_delay(self._waits),
            wait=wait_exponential(multiplier=0.1, max=2.0),
            reraise=True,
        )


def _but_once_each(until: Callable[[], bool], tenants: int) -> Callable[[], bool]:
    """Return a function that gives each tenant one batch before it calls `until`."""
    asked = count()
    return lambda: next(asked) >= tenants and until()


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, HeadwaterError) and error.transient


def _is_of_one_capture(error: BaseException) -> bool:
    """Whether the damage concerns one entry or one capture only. Others continue, and the dead letter is tried again after a repair."""
    return isinstance(error, DamagedError) and error.path is not None and error.path.name != CATALOG
