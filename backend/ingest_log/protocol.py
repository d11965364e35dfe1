"""What an ingest log does, for intake (which appends), the projector (which reads) and audits.

An append that was acknowledged must survive a crash of the process and of the machine; the same document sent again, by any process, must
get the offset of the first; a reader must never see an offset before all smaller ones. What was refused is kept beside it as a dead letter,
without its secrets. All verbs may raise `UnavailableError` (transient).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from threading import Event
from typing import Protocol

from headwater.backend.ingest_log.model import DeadLetter, Draft, Entry, Receipt, Stage
from headwater.errors import DamagedError


class IngestLog(Protocol):
    """See the module's docstring."""

    appended: Event
    """Set after each commit of this process; whoever waits for it clears it."""

    @property
    def name(self) -> str:
        """What people know it by: a path, or an address without a password."""

    def append(self, tenant: str, drafts: Sequence[Draft]) -> Future[Sequence[Receipt]]:
        """Append documents in one transaction; the future is done when they are durable, or fails with `UnavailableError`."""

    def bury(self, tenant: str, letters: Sequence[DeadLetter]) -> Future[None]:
        """Keep dead letters, durably. The same letter again only counts."""

    def forgive(self, tenant: str, offsets: Sequence[int], *, stage: Stage = Stage.PROJECTION) -> Future[None]:
        """Strike the dead letters of entries, of one stage: they could be projected after all."""

    def go_on_after(self, offset: int) -> Future[None]:
        """Give the next entry a greater offset than this, where the log has lost its last ones."""

    def read(self, tenant: str, *, after: int, limit: int = 256) -> list[Entry]:
        """Entries of a tenant with an offset above `after`, in order: up to `limit`, one at least if there are any."""

    def read_back(self, tenant: str, *, before: int | None, limit: int = 256) -> list[Entry]:
        """Entries of a tenant with an offset below `before` (None: all), the last first: up to `limit`, one at least if there are any."""

    def key_at(self, tenant: str, offset: int) -> str:
        """The key of the entry at an offset, in hexadecimal; "" where the tenant has none there."""

    def latest(self, tenant: str) -> int:
        """Offset of the tenant's last entry; 0 where there is none."""

    def given(self) -> int:
        """The last offset that was ever given, of any tenant, also where its entry was lost; 0 where there is none."""

    def pending(self, tenant: str, *, after: int) -> int:
        """How many entries of a tenant lie above an offset."""

    def tenants(self) -> list[str]:
        """Tenants that have entries, in order of name."""

    def counts(self, tenant: str) -> dict[str, int]:
        """Number of entries of each kind, and of `dead_letters`."""

    def entry_at(self, tenant: str, offset: int) -> Entry | None:
        """The entry at an offset; None where the tenant has none there."""

    def refused(self, tenant: str) -> int:
        """How many accepted entries are dead letters of the projection."""

    def buried(self, stage: Stage | None = None) -> int:
        """How many dead letters there are, of all tenants; of one stage where it is given."""

    def buried_at(self, tenant: str, stage: Stage) -> list[int]:
        """The offsets of the entries that are dead letters of one stage, in order."""

    def dead_letters(self, tenant: str, *, first: int = 100, after: int = 0, stage: Stage | None = None) -> list[DeadLetter]:
        """Dead letters with an id above `after`, oldest first, of one stage where it is given.

        Up to `first`, one at least if there are any.
        """

    def take_lease(self, work: str, *, seconds: float) -> bool:
        """Take, or renew, a piece of work that one replica at a time should do; False where another has it.

        A lease saves work that two would do. It makes nothing correct: who was paused goes on after its lease has ended.
        """

    def end_lease(self, work: str) -> None:
        """Give it back."""

    def marks(self, source: str) -> Mapping[str, str]:
        """How far intake has read each item of a source (`mark`)."""

    def mark(self, source: str, item: str, state: str) -> Future[None]:
        """Note durably how far intake has read an item of a source."""

    def lost_entries(self, graph: int) -> DamagedError:
        """The error for a log that ends before what a graph has: `graph` is its offset."""

    def close(self) -> None:
        """Commit what waits, and close."""
