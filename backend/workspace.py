"""A workspace opens all parts of one home together.

The service and the command line use it, so that both work in the same way. Several processes may have one home
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
from headwater.graph.records import AssociationStore, DataRoots, ReplacedData
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
    from headwater.backend.ingest.spool_delivery import LogDelivery
    from headwater.backend.projector.projector import Projector
    from headwater.backend.rerun.recapture.service import Recaptures
    from headwater.backend.rerun.replay import Replays
    from headwater.backend.rerun.replay.service import Tracer
    from headwater.backend.versions.collector import Collector
    from headwater.backend.versions.compaction.compactor import Compactor
    from headwater.backend.workflows import Workflows

T = TypeVar("T")
_POLL = 0.1
_SPOOL_PATIENCE = 10.0  # seconds; an ending program may still try to send its part to an unreachable service
_log = logging.getLogger("headwater.workspace")


@dataclass
class Workspace:
    """The parts of one home. `async with await Workspace.open(settings) as workspace: …`.

    Intake and projection are imported when they are used, so that a query on the command line starts without them.
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
        """Open a home, and create missing parts. With `without_graph`, the graph store may be away; it then refuses queries.

        `indexed` adds an index of the graph, for callers with several queries. `for_worker` is for the worker of a service: the
        home must exist already, the worker opens its own graph store, and a missing log is not created.

        Raises:
            ConfigurationError: the home is invalid, or belongs to a newer Headwater.
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
        """Commit waiting writes, and close every part."""
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
        from headwater.backend.projector.projector import Projector

        return Projector(self.log, self.graph, self.records)

    @cached_property
    def events(self) -> EventIntake:
        from headwater.backend.ingest.intake.receive import EventIntake

        return EventIntake(self.log)

    @cached_property
    def captures(self) -> CaptureIntake:
        from headwater.backend.ingest.intake.captures import CaptureIntake

        return CaptureIntake(self.log, self.records)

    @cached_property
    def prov(self) -> ProvIntake:
        from headwater.backend.ingest.intake.prov import ProvIntake

        return ProvIntake(self.log)

    def take_spool(self, tenant: str = DEFAULT_TENANT, *, patience: float = 0.0) -> Delivered:
        """Deliver the spool of dead applications into the log. Raises `UnavailableError`; the rest stays in the spool.

        `patience` is the time to wait for another process that delivers a part of the spool, in seconds.
        """
        if not applications(self.home.spool):
            return Delivered()
        delivered = deliver_leftovers(self.home.spool, self.make_delivery(tenant), patience=patience)
        note_refusals(self.home.spool, delivered.refused)
        return delivered

    def keep_services_out(self) -> None:
        """Take the role of the projector until this workspace is closed. Raises `UnavailableError` if a service has it."""
        if not self.role.take(alone=True):
            raise UnavailableError("Another process projects the log of this home.", hint="Stop the service (Ctrl-C), then try again.")

    async def take_in(self, *, patience: float = 60.0) -> tuple[Delivered, int]:
        """Deliver the spool into the log, and wait for projection. Returns the results of `take_spool` and `settle`."""
        delivered = await asyncio.to_thread(self.take_spool, patience=min(patience, _SPOOL_PATIENCE))
        return delivered, await self.settle(patience=patience)

    async def settle(self, *, patience: float = 60.0, tenant: str = DEFAULT_TENANT) -> int:
        """Wait until the log is projected, by this process or by the holder of the role. Returns the number of waiting entries."""
        try:
            async with asyncio.timeout(patience):
                await self._settle(tenant)
        except TimeoutError:
            pass  # the returned number shows this
        return await pending(self.log, self.graph, tenant)

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        """Return the sources or the outputs of records. Raises as `headwater.graph.trace.trace`."""
        from headwater.graph.trace import trace  # imported late, because it loads DuckDB

        return await trace(self.graph, self.records, tenant, request)

    async def trace_on_spark(self, tenant: str, request: TraceRequest, spark: SparkSession, say: Callable[[str], None]) -> TraceAnswer:
        """Trace records by jobs of Spark. `say` is called with the progress.

        Raises:
            UnsupportedError: Spark does not support a part of this trace.
        """
        from headwater.graph.trace import trace
        from headwater.graph.trace.on_spark.connection import SparkConnection
        from headwater.graph.trace.on_spark.walk import open_spark_session

        return await trace(
            self.graph, self.records, tenant, request, session_factory=partial(open_spark_session, SparkConnection(spark), say=say)
        )

    def replays(self, trace: Tracer | None = None, turn: asyncio.Lock | None = None) -> Replays:
        """Return the replays of this home. `trace` answers their traces (by default, this process). The lock `turn` serializes programs."""
        from headwater.backend.rerun.replay import Replays  # imported late, because it loads DuckDB
        from headwater.backend.rerun.replay.lineage import CommitLineage

        lineage = CommitLineage(self.make_delivery, ReplacedData(self.home.replays))
        return Replays(self.home.replays, self.graph, trace or self.trace, self.registry, self.records.sources, turn, lineage)

    def recaptures(self, tenant: str = DEFAULT_TENANT) -> Recaptures:
        """Return the recaptures of this home."""
        from headwater.backend.rerun.recapture.service import Recaptures

        return Recaptures(self.home.replays, self.graph, self.registry, self.records, self.make_delivery(tenant))

    def make_delivery(self, tenant: str = DEFAULT_TENANT) -> LogDelivery:
        """Return a delivery that takes items of a spool into this home's log."""
        from headwater.backend.ingest.spool_delivery import LogDelivery

        return LogDelivery(tenant, self.events, self.captures, self.home.associations, self.records.sources.remote)

    def workflows(self) -> Workflows:
        from headwater.backend.workflows import Workflows

        has_roots = self.settings.data_roots is not None
        return Workflows(
            self.home.workflows, self.home.ledger, self.registry, self.records.sources, self.make_delivery, has_roots=has_roots
        )

    def collector(self) -> Collector:
        """Return the collector of blocks of this home."""
        from headwater.backend.ingest.intake.declarations import DeclarationIntake
        from headwater.backend.versions.collector import Collector
        from headwater.backend.workflows.ledger import Ledger

        ledger = self.home.ledger
        channels = [path for _, _, path, _ in Ledger(ledger).channels()] if ledger.exists() else []
        declarations = DeclarationIntake(self.log, self.graph)
        return Collector(self.home.versions, self.graph, self.records, declarations, self.home.audit, channels)

    def compactor(self) -> Compactor:
        """Return the compactor of datasets of this home."""
        from headwater.backend.versions.compaction.compactor import Compactor
        from headwater.backend.versions.compaction.spark_merge import SparkMerge

        merge = SparkMerge(self.records, self.make_delivery)
        return Compactor(self.home.versions, self.graph, self.records, self.collector(), merge)

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
    """Find captures that are in the log but missing on the disk. A catalog that was rebuilt from the folder cannot show them."""
    from headwater.backend.projector.missing_captures import note_absent_captures

    for tenant in log.tenants():
        projected = 0  # without the graph it is known of captures with segments alone that they were published
        with suppress(UnavailableError, DamagedError):
            projected = await graph.offset(tenant)
        await asyncio.to_thread(note_absent_captures, log, records, tenant, projected)


def role_of(settings: HomeSettings, log: IngestLog) -> Role:
    """Return the right to project a log: for one process of a home, or for all replicas of a shared log together."""
    if settings.ingest_log is None:
        return ProjectorRole(settings.folder.projector_lock)
    from headwater.backend.home.replica_checks import alike
    from headwater.backend.ingest.log.postgres import PostgresLog
    from headwater.backend.ingest.log.postgres.presence import SharedRole

    assert isinstance(log, PostgresLog)  # noqa: S101 - the settings name it
    return SharedRole(log, alike(settings))


def association_store(settings: HomeSettings, registry: Registry, *, tenant: str = DEFAULT_TENANT) -> AssociationStore:
    """Return the association store of a home, which reads data below the tenant's data roots only.

    The settings may name a shared place. The home's own programs, data roots and remote storage belong to the default tenant, because other
    tenants may name any path.

    Raises:
        ConfigurationError: the shared place is invalid.
    """
    remote = _remote(settings)
    place = (
        remote.place(settings.associations) if settings.associations is not None else None
    )  # opened before data is read, because the place contains no data
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
    """Return the data roots in the settings, or else the folders that programs of this home used. The home is never one of them."""
    never = [settings.folder.path]
    replaced = ReplacedData(settings.folder.versions, settings.folder.replays)
    if settings.data_roots is None:
        return DataRoots(registry.is_root, never=never, remote=remote, replaced=replaced)
    return DataRoots.of([folder.expanduser() for folder in settings.data_roots], never=never, remote=remote, replaced=replaced)


def _remote(settings: HomeSettings) -> Remote:
    """Return the roots of remote storage, from the file in the settings or else from the home's file."""
    if settings.storage is None and not settings.folder.storage.exists():
        return NOWHERE
    return Remote(read_roots(settings.storage or settings.folder.storage))


def graph_store(settings: HomeSettings, *, indexed: bool = False) -> GraphStore:
    """Return the unopened graph store in the settings. `indexed` adds an index, as large as the settings allow."""
    password = settings.store_password.get_secret_value() if settings.store_password else None
    if not indexed:
        return open_store(settings.store_url, user=settings.store_user, password=password)
    from headwater.graph.index import open_indexed

    return open_indexed(settings.store_url, user=settings.store_user, password=password, index_bytes=settings.index_bytes)


@dataclass(frozen=True, slots=True)
class SpoolDelivery:
    """The result of `deliver_spool`. `pending` is the number of log entries that are not yet in the graph."""

    arrived: int
    refused: tuple[str, ...]
    damaged: int
    pending: int


def deliver_spool(home: str | os.PathLike[str] | None = None, *, patience: float = 60.0) -> SpoolDelivery:
    """Deliver a home's spool into its log and project it, without a service. May be called while an event loop runs.

    Raises:
        UnavailableError: the log or the graph store does not answer. Undelivered items stay in the spool.
    """
    settings = settings_of(home)
    return run(lambda: _deliver(settings, patience))


async def _deliver(settings: HomeSettings, patience: float) -> SpoolDelivery:
    async with await Workspace.open(settings) as workspace:
        delivered, pending = await workspace.take_in(patience=patience)
    return SpoolDelivery(delivered.arrived, tuple(delivered.refused), delivered.damaged, pending)


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end on a separate thread, because the caller's thread may have a running loop (as in a notebook)."""
    with ThreadPoolExecutor(1, thread_name_prefix="headwater-workspace") as pool:
        return pool.submit(lambda: asyncio.run(work())).result()
