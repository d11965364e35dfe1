"""A workspace: everything that one home holds, opened together.

For the service and the command line alike, so that both do the same things with the same parts. Several processes may have one home
open at once: all of them may append and read, one of them projects (`ProjectorRole`).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.home.folder import Home
from headwater.backend.home.quick_settings import settings_of
from headwater.backend.ingest.intake.staging_quota import StagingQuota
from headwater.backend.ingest.log import IngestLog
from headwater.backend.ingest.log.registry import open_log
from headwater.backend.ingest.log.span_log import traced
from headwater.backend.projector.catalog_age import fill_older_copy
from headwater.backend.projector.pending_entries import pending
from headwater.backend.projector.role import ProjectorRole, Role
from headwater.errors import DamagedError, HeadwaterError, UnavailableError
from headwater.graph.records import AssociationStore, DataRoots
from headwater.graph.storage import NOWHERE, Remote, read_roots
from headwater.graph.stores import GraphStore
from headwater.graph.stores.registry import open_store
from headwater.graph.trace.answer import TraceAnswer, TraceRequest
from headwater.spark_listener.delivery.leftovers import Delivered, deliver_leftovers, note_refusals
from headwater.spark_listener.registry import Registry
from headwater.spark_listener.spool import applications

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.backend.home.quick_settings import HomeSettings
    from headwater.backend.ingest.intake.captures import CaptureIntake
    from headwater.backend.ingest.intake.prov import ProvIntake
    from headwater.backend.ingest.intake.receive import EventIntake
    from headwater.backend.projector.projector import Projector
    from headwater.backend.rerun.recapture.service import Recaptures
    from headwater.backend.rerun.replay import Replays
    from headwater.backend.rerun.replay.service import Tracer
    from headwater.backend.workflows import Workflows

T = TypeVar("T")
_POLL = 0.1
_SPOOL_PATIENCE = 10.0  # seconds: a program that ends may be sending its own part to a service that is away
_log = logging.getLogger("headwater.workspace")


@dataclass
class Workspace:
    """The parts of one home. `async with await Workspace.open(settings) as workspace: …`.

    Intake and projection load when they are used, so that a question on the command line starts without them.

    """

    settings: HomeSettings
    home: Home
    log: IngestLog
    graph: GraphStore
    records: AssociationStore
    role: Role = field(repr=False)
    staging_quota: StagingQuota = field(repr=False)
    registry: Registry = field(repr=False)

    @classmethod
    async def open(
        cls, settings: HomeSettings, *, without_graph: bool = False, indexed: bool = False, for_worker: bool = False
    ) -> Workspace:
        """Open a home, and make missing parts. `without_graph`: also while the graph store is away, which then refuses questions.

        `indexed`: with an index of the graph, for callers with several questions. `for_worker`: for the worker of a service, whose
        home exists already. The worker opens a graph store of its own, and makes no log if that vanished.

        Raises:
            ConfigurationError: the home cannot be used, or belongs to a newer Headwater.
            UnavailableError: the graph store or the disk does not answer.
            DamagedError: a file of the home is damaged.

        """
        home = settings.folder.create()
        graph = graph_store(settings, indexed=indexed)
        try:
            if not for_worker:
                await graph.open()
        except (UnavailableError, DamagedError) as error:
            if not without_graph:
                await graph.close()
                raise
            _log.warning("the graph store is away; events are taken in, and projected when it is back: %s", error)
        registry = home.registry
        try:
            log = traced(open_log(settings, create=not for_worker))
            records = association_store(settings, registry)
            fill_older_copy(log, records)
            if records.was_filled:
                await _note_absent_captures(log, graph, records)
        except HeadwaterError:
            await graph.close()
            raise
        return cls(
            settings=settings, home=home, log=log, graph=graph, records=records,
            role=role_of(settings, log), staging_quota=StagingQuota(records, settings.staged_bytes), registry=registry,
        )  # fmt: skip

    async def close(self) -> None:
        """Commit what waits, and close every part."""
        self.role.release()
        await asyncio.to_thread(self.log.close)
        await asyncio.to_thread(self.records.close)
        self.registry.close()
        await self.graph.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @cached_property
    def projector(self) -> Projector:
        """Projects the log."""
        from headwater.backend.projector.projector import Projector

        return Projector(self.log, self.graph, self.records)

    @cached_property
    def events(self) -> EventIntake:
        """Takes events."""
        from headwater.backend.ingest.intake.receive import EventIntake

        return EventIntake(self.log)

    @cached_property
    def captures(self) -> CaptureIntake:
        """Takes segments and manifests."""
        from headwater.backend.ingest.intake.captures import CaptureIntake

        return CaptureIntake(self.log, self.records)

    @cached_property
    def prov(self) -> ProvIntake:
        """Takes PROV documents."""
        from headwater.backend.ingest.intake.prov import ProvIntake

        return ProvIntake(self.log)

    def take_spool(self, tenant: str = DEFAULT_TENANT, *, patience: float = 0.0) -> Delivered:
        """Take into the log what dead applications left in the spool. Raises `UnavailableError`; the rest stays there.

        `patience`: how long to wait for another process that takes in a part of it, in seconds.
        """
        if not applications(self.home.spool):
            return Delivered()
        from headwater.backend.ingest.spool_delivery import LogDelivery

        delivery = LogDelivery(tenant, self.events, self.captures, self.home.associations, self.records.sources.remote)
        delivered = deliver_leftovers(self.home.spool, delivery, patience=patience)
        note_refusals(self.home.spool, delivered.refused)
        return delivered

    async def take_in(self, *, patience: float = 60.0) -> tuple[Delivered, int]:
        """Take the spool into the log and have it projected: `take_spool`, and the number that `settle` returns."""
        delivered = await asyncio.to_thread(self.take_spool, patience=min(patience, _SPOOL_PATIENCE))
        return delivered, await self.settle(patience=patience)

    async def settle(self, *, patience: float = 60.0, tenant: str = DEFAULT_TENANT) -> int:
        """Have the log projected, by this process or by the one that has the role. Returns how many entries still wait."""
        try:
            async with asyncio.timeout(patience):
                await self._settle(tenant)
        except TimeoutError:
            pass  # said by the number that is returned
        return await pending(self.log, self.graph, tenant)

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        """Return the sources or the outputs of records. Raises as `headwater.graph.trace.trace`."""
        from headwater.graph.trace import trace  # DuckDB loads with it: delivery at the end of a run does without

        return await trace(self.graph, self.records, tenant, request)

    async def trace_on_spark(self, tenant: str, request: TraceRequest, spark: SparkSession, say: Callable[[str], None]) -> TraceAnswer:
        """Trace records by jobs of Spark. `say` gets the progress.

        Raises:
            UnsupportedError: Spark cannot do a part of this trace.

        """
        from headwater.graph.trace import trace
        from headwater.graph.trace.on_spark.connection import SparkConnection
        from headwater.graph.trace.on_spark.walk import open_spark_session

        return await trace(
            self.graph, self.records, tenant, request, session_factory=partial(open_spark_session, SparkConnection(spark), say=say)
        )

    def replays(self, trace: Tracer | None = None, turn: asyncio.Lock | None = None) -> Replays:
        """The replays of this home; `trace` answers their questions, where it is not this process that does; `turn` is whose turn it is."""
        from headwater.backend.rerun.replay import Replays  # DuckDB loads with it

        return Replays(self.home.replays, self.graph, trace or self.trace, self.registry, self.records.sources, turn)

    def recaptures(self, tenant: str = DEFAULT_TENANT) -> Recaptures:
        """Return the service that runs programs of this home again for the lineage of their records."""
        from headwater.backend.ingest.spool_delivery import LogDelivery
        from headwater.backend.rerun.recapture.service import Recaptures

        delivery = LogDelivery(tenant, self.events, self.captures, self.home.associations, self.records.sources.remote)
        return Recaptures(self.home.replays, self.graph, self.registry, self.records, delivery)

    def workflows(self) -> Workflows:
        """The workflows of this home."""
        from headwater.backend.ingest.spool_delivery import LogDelivery
        from headwater.backend.workflows import Workflows

        def make_delivery() -> LogDelivery:
            return LogDelivery(DEFAULT_TENANT, self.events, self.captures, self.home.associations, self.records.sources.remote)

        has_roots = self.settings.data_roots is not None
        return Workflows(self.home.workflows, self.home.ledger, self.registry, self.records.sources, make_delivery, has_roots=has_roots)

    async def _settle(self, tenant: str) -> None:
        while await pending(self.log, self.graph, tenant):
            done = 0
            if self.role.take():
                try:
                    done = await self.projector.catch_up()
                finally:
                    self.role.release()
            if not done:
                await asyncio.sleep(_POLL)


async def _note_absent_captures(log: IngestLog, graph: GraphStore, records: AssociationStore) -> None:
    """Note captures that the log has and the folder lacks. A catalog that was made anew of the folder cannot know them."""
    from headwater.backend.projector.missing_captures import note_absent_captures

    for tenant in log.tenants():
        projected = 0  # without the graph it is known of captures with segments alone that they were published
        with suppress(UnavailableError, DamagedError):
            projected = await graph.offset(tenant)
        await asyncio.to_thread(note_absent_captures, log, records, tenant, projected)


def role_of(settings: HomeSettings, log: IngestLog) -> Role:
    """The right to project a log: one process of a home has it, or all replicas of a shared log together."""
    if settings.ingest_log is None:
        return ProjectorRole(settings.folder.projector_lock)
    from headwater.backend.home.replica_checks import alike
    from headwater.backend.ingest.log.postgres import PostgresLog
    from headwater.backend.ingest.log.postgres.presence import SharedRole

    assert isinstance(log, PostgresLog)  # noqa: S101 - the settings name it
    return SharedRole(log, alike(settings))


def association_store(settings: HomeSettings, registry: Registry, *, tenant: str = DEFAULT_TENANT) -> AssociationStore:
    """The association store of a home, which reads data below the tenant's data roots alone; shared, where the settings name a place.

    The home's own programs, its data roots and its remote storage are those of the default tenant: another may name any path.

    Raises:
        ConfigurationError: the place cannot be used.
    """
    remote = _remote(settings)
    place = remote.place(settings.associations) if settings.associations is not None else None  # before data is read: none of it is data
    if tenant == DEFAULT_TENANT:
        sources = _data_roots(settings, registry, remote)
    else:
        folders = [folder.expanduser() for folder in settings.tenant_roots.get(tenant, ())]
        sources = DataRoots.of(folders, never=[settings.folder.path])
    if place is None:
        return AssociationStore(settings.folder.associations, sources=sources)
    from headwater.graph.records.archive import Archive
    from headwater.graph.records.shared_store import SharedAssociationStore

    cache_bytes = settings.associations_cache_bytes
    return SharedAssociationStore(settings.folder.associations, sources=sources, archive=Archive(place), cache_bytes=cache_bytes)


def _data_roots(settings: HomeSettings, registry: Registry, remote: Remote) -> DataRoots:
    """Return the data roots: the set ones, else the folders that programs of this home read and wrote. The home is never among them."""
    never = [settings.folder.path]
    if settings.data_roots is None:
        return DataRoots(registry.is_root, never=never, remote=remote)
    return DataRoots.of([folder.expanduser() for folder in settings.data_roots], never=never, remote=remote)


def _remote(settings: HomeSettings) -> Remote:
    """The roots of remote storage: those of the file that is set, else of the home's, if it has one."""
    if settings.storage is None and not settings.folder.storage.exists():
        return NOWHERE
    return Remote(read_roots(settings.storage or settings.folder.storage))


def graph_store(settings: HomeSettings, *, indexed: bool = False) -> GraphStore:
    """The graph store that the settings name, not yet open; `indexed`, with an index as large as they allow."""
    password = settings.store_password.get_secret_value() if settings.store_password else None
    if not indexed:
        return open_store(settings.store_url, user=settings.store_user, password=password)
    from headwater.graph.index import open_indexed

    return open_indexed(settings.store_url, user=settings.store_user, password=password, index_bytes=settings.index_bytes)


@dataclass(frozen=True, slots=True)
class SpoolDelivery:
    """The result of `deliver_spool`. `pending` counts the log entries that the graph does not have yet."""

    arrived: int
    refused: tuple[str, ...]
    damaged: int
    pending: int


def deliver_spool(home: str | os.PathLike[str] | None = None, *, patience: float = 60.0) -> SpoolDelivery:
    """Take a home's spool into its log and have it projected, without a service. May be called where an event loop runs already.

    Raises:
        UnavailableError: the log or the graph store does not answer; the spool keeps what was not taken.
    """
    settings = settings_of(home)
    return run(lambda: _deliver(settings, patience))


async def _deliver(settings: HomeSettings, patience: float) -> SpoolDelivery:
    async with await Workspace.open(settings) as workspace:
        delivered, pending = await workspace.take_in(patience=patience)
    return SpoolDelivery(delivered.arrived, tuple(delivered.refused), delivered.damaged, pending)


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run asynchronous work to its end from ordinary code, on a thread of its own: the caller's may have a loop (a notebook's)."""
    with ThreadPoolExecutor(1, thread_name_prefix="headwater-workspace") as pool:
        return pool.submit(lambda: asyncio.run(work())).result()
