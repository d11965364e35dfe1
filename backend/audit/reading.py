"""The audit log as it is read: that of the home, or that of all replicas, where they share a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from headwater.backend.audit.chain import Verified, verify
from headwater.backend.audit.lines import Found, Wanted, latest

if TYPE_CHECKING:
    from headwater.backend.home_settings import HomeSettings
    from headwater.backend.ingest_log.postgres.address import Address

_BYTES = 64 << 20  # of lines that a question of the service looks at, and of full files that are verified besides the one that is written
_LOOKED_AT = 400_000  # lines of all replicas that a question of the service looks at
_LINES = 100_000  # of each chain that are verified


class AuditLines(Protocol):
    """An audit log. `quickly`: for callers who wait; else all of it is looked at. Its methods block."""

    def latest(self, wanted: Wanted, most: int, *, quickly: bool = False) -> Found:
        """The latest entries that fit.

        Raises:
            UnavailableError: it cannot be read just now.
        """

    def verify(self, *, head: str | None = None, quickly: bool = False) -> Verified:
        """What its links say; `head` is a digest that must be there. Raises as `latest` does."""

    def close(self) -> None:
        """Ask nothing more."""


class OwnAudit:
    """The log in the files of one home."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def latest(self, wanted: Wanted, most: int, *, quickly: bool = False) -> Found:
        return latest(self._path, wanted, most, within=_BYTES if quickly else None)

    def verify(self, *, head: str | None = None, quickly: bool = False) -> Verified:
        return verify(self._path, head=head, within=_BYTES if quickly else None)

    def close(self) -> None:
        pass


class SharedAudit:
    """The logs of all replicas, in their database."""

    def __init__(self, address: Address) -> None:
        from headwater.backend.ingest_log.postgres.address import Questions

        self._address = address
        self._questions = Questions(address)

    def latest(self, wanted: Wanted, most: int, *, quickly: bool = False) -> Found:
        from headwater.backend.audit.shared.search import latest_shared

        return latest_shared(self._questions, wanted, most, within=_LOOKED_AT if quickly else None)

    def verify(self, *, head: str | None = None, quickly: bool = False) -> Verified:
        from headwater.backend.audit.shared.verify import verify_shared

        return verify_shared(self._address, head=head, most=_LINES if quickly else None)

    def close(self) -> None:
        self._questions.close()


def audit_of(settings: HomeSettings, *, own: bool = False) -> AuditLines:
    """The audit log that settings name: that of all replicas where they share one, unless only that of the home is asked for."""
    if settings.ingest_log is None or own:
        return OwnAudit(settings.folder.audit)
    from headwater.backend.ingest_log.postgres.log import address_of

    return SharedAudit(address_of(settings))
