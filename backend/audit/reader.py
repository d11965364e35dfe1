"""Reads the audit log of one home, or the common log of all replicas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from headwater.backend.audit.chain import Verified, verify
from headwater.backend.audit.lines import MatchingEntries, Wanted, latest

if TYPE_CHECKING:
    from headwater.backend.home.quick_settings import HomeSettings
    from headwater.backend.ingest.log.postgres.address import Address

_BYTES = 64 << 20  # most bytes of lines for one request to the service, and of full files to verify in addition to the current file
_LOOKED_AT = 400_000  # most lines of all replicas for one request to the service
_LINES = 100_000  # most lines of each chain to verify


class AuditLines(Protocol):
    """An audit log. With `quickly`, the work is limited, for callers who wait. All methods block."""

    def latest(self, wanted: Wanted, most: int, *, quickly: bool = False) -> MatchingEntries:
        """Return the latest matching entries.

        Raises:
            UnavailableError: the log cannot be read now.
        """

    def verify(self, *, head: str | None = None, quickly: bool = False) -> Verified:
        """Verify the links. `head` is a digest that must be present. Raises as `latest` does."""

    def close(self) -> None:
        """Close the log."""


class OwnAudit:
    def __init__(self, path: Path) -> None:
        self._path = path

    def latest(self, wanted: Wanted, most: int, *, quickly: bool = False) -> MatchingEntries:
        return latest(self._path, wanted, most, within=_BYTES if quickly else None)

    def verify(self, *, head: str | None = None, quickly: bool = False) -> Verified:
        return verify(self._path, head=head, within=_BYTES if quickly else None)

    def close(self) -> None:
        pass


class SharedAudit:
    def __init__(self, address: Address) -> None:
        from headwater.backend.ingest.log.postgres.address import Questions

        self._address = address
        self._questions = Questions(address)

    def latest(self, wanted: Wanted, most: int, *, quickly: bool = False) -> MatchingEntries:
        from headwater.backend.audit.shared.search import latest_shared

        return latest_shared(self._questions, wanted, most, within=_LOOKED_AT if quickly else None)

    def verify(self, *, head: str | None = None, quickly: bool = False) -> Verified:
        from headwater.backend.audit.shared.verify import verify_shared

        return verify_shared(self._address, head=head, most=_LINES if quickly else None)

    def close(self) -> None:
        self._questions.close()


def audit_of(settings: HomeSettings, *, own: bool = False) -> AuditLines:
    """Return the audit log in the settings: the log of all replicas if they share one, unless `own` selects the home's log."""
    if settings.ingest_log is None or own:
        return OwnAudit(settings.folder.audit)
    from headwater.backend.ingest.log.postgres.log import address_of

    return SharedAudit(address_of(settings))
