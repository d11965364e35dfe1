"""The interface of an ingest log, for intake (which appends), the projector (which reads) and audits.

An acknowledged append must survive a crash of the process and of the machine. If any process sends the same document again, it must get the
offset of the first. A reader must see an offset only after all smaller ones. Refused documents are stored as dead letters, without secrets.
All methods may raise `UnavailableError` (transient).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from threading import Event
from typing import Protocol

from headwater.backend.ingest.log.model import DeadLetter, Draft, Entry, Receipt, Stage
from headwater.errors import DamagedError


class IngestLog(Protocol):
    """An ingest log (see the module's docstring)."""

    appended: Event
    """Set after each commit of this process; whoever waits for it clears it."""

    @property
    def name(self) -> str:
        """Return the name for messages: a path, or an address without a password."""

    def append(self, tenant: str, drafts: Sequence[Draft]) -> Future[Sequence[Receipt]]:
        """Append documents in one transaction. The future is done when they are durable, or fails with `UnavailableError`."""

    def bury(self, tenant: str, letters: Sequence[DeadLetter]) -> Future[None]:
        """Store dead letters durably. A repeated letter is only counted."""

    def forgive(self, tenant: str, offsets: Sequence[int], *, stage: Stage = Stage.PROJECTION) -> Future[None]:
        """Delete the dead letters of entries, of one stage, after they were projected."""

    def go_on_after(self, offset: int) -> Future[None]:
        """Give the next entry a greater offset than this, after the log has lost its last entries."""

    def read(self, tenant: str, *, after: int, limit: int = 256) -> list[Entry]:
        """Return entries of a tenant with an offset above `after`, in order: up to `limit`, at least one if there are any."""

    def read_back(self, tenant: str, *, before: int | None, limit: int = 256) -> list[Entry]:
        """Return entries of a tenant with an offset below `before` (None: all), the last first.

        Returns up to `limit` entries, at least one if there are any.
        """

    def key_at(self, tenant: str, offset: int) -> str:
        """Return the key of the entry at an offset, in hexadecimal, or "" if the tenant has no entry there."""

    def latest(self, tenant: str) -> int:
        """Return the offset of the tenant's last entry, or 0."""

    def given(self) -> int:
        """Return the last offset ever assigned to any tenant, even if its entry was lost, or 0."""

    def pending(self, tenant: str, *, after: int) -> int:
        """Return the number of a tenant's entries above an offset."""

    def tenants(self) -> list[str]:
        """Return the tenants that have entries, in order of name."""

    def counts(self, tenant: str) -> dict[str, int]:
        """Return the number of entries of each kind, and of `dead_letters`."""

    def entry_at(self, tenant: str, offset: int) -> Entry | None:
        """Return the entry at an offset, or None if the tenant has no entry there."""

    def refused(self, tenant: str) -> int:
        """Return the number of accepted entries that are dead letters of the projection."""

    def buried(self, stage: Stage | None = None) -> int:
        """Return the number of dead letters of all tenants, optionally of one stage."""

    def buried_at(self, tenant: str, stage: Stage) -> list[int]:
        """Return the offsets of the entries that are dead letters of one stage, in order."""

    def dead_letters(self, tenant: str, *, first: int = 100, after: int = 0, stage: Stage | None = None) -> list[DeadLetter]:
        """Return dead letters with an id above `after`, oldest first, optionally of one stage.

        Returns up to `first` letters, at least one if there are any.
        """

    def take_lease(self, work: str, *, seconds: float) -> bool:
        """Take or renew the lease for work that one replica at a time should do. Returns False if another replica has it.

        A lease avoids duplicate work, and guarantees nothing: a replica that was paused continues after its lease has ended.
        """

    def end_lease(self, work: str) -> None:
        """Release the lease."""

    def marks(self, source: str) -> Mapping[str, str]:
        """Return the recorded position of intake in each item of a source (see `mark`)."""

    def mark(self, source: str, item: str, state: str) -> Future[None]:
        """Record durably the position of intake in an item of a source."""

    def lost_entries(self, graph: int) -> DamagedError:
        """Return the error for a log that ends before the graph. `graph` is the graph's offset."""

    def close(self) -> None:
        """Commit the waiting writes, and close."""
