"""Removes lines of the shared audit log that are older than the retention period.

Only the beginning of a chain is removed, never a line between others. First the replica writes a line to its own log with the
digests of the last lines to remove. Without it, verification would report missing lines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from headwater.backend.audit.shared.chains import REMOVED, instant
from headwater.backend.ingest.log.postgres.address import Address, drop

if TYPE_CHECKING:
    from pg8000.native import Connection

_EVERY = 3600.0  # seconds
_LOCK = 7_305_461_211  # key of an advisory lock: one replica removes at a time
_CHAINS = 100  # chains in one line
_AT_ONCE = 10_000  # lines


class Retention:
    """Searches every hour for lines older than `days`."""

    def __init__(self, days: float) -> None:
        self._days = days
        self._looked: float | None = None

    def turn(self, address: Address, own: str, write: Callable[[Mapping[str, Any]], None], copy: Callable[[], None]) -> None:
        """Remove old lines, if the last check was long ago. `copy` copies the line of `write` to the database.

        Raises:
            UnavailableError: the database does not answer, or the log cannot be written.
        """
        if self._looked is not None and time.monotonic() - self._looked < _EVERY:
            return
        connection = address.connect()
        try:
            with address.faults():
                if connection.run("SELECT pg_try_advisory_lock(:lock)", lock=_LOCK)[0][0]:
                    while ends := _ends(connection, instant(datetime.now(UTC) - timedelta(days=self._days)), own):
                        write({"what": REMOVED, "removed": [[chain, number, digest.hex()] for chain, number, digest in ends]})
                        copy()  # the record of the removal must be in the database first
                        _remove(connection, ends)
            self._looked = time.monotonic()
        finally:
            drop(connection)  # this releases the lock, too


def _ends(connection: Connection, before: str, own: str) -> Sequence[tuple[str, int, bytes]]:
    """Return the last line to remove of each chain. The last line of a replica's own chain always stays."""
    rows = connection.run(
        """
        SELECT l.chain, l.number, l.digest FROM audit_chain c
        CROSS JOIN LATERAL (SELECT min(number) AS first FROM audit_line WHERE chain = c.chain AND at >= :before) kept
        CROSS JOIN LATERAL (SELECT chain, number, digest FROM audit_line WHERE chain = c.chain
            AND number < coalesce(kept.first, c.number + CASE WHEN c.chain = :own THEN 0 ELSE 1 END) ORDER BY number DESC LIMIT 1) l
        ORDER BY l.chain LIMIT :most""",
        before=before, own=own, most=_CHAINS,
    )  # fmt: skip
    return [(str(chain), int(number), bytes(digest)) for chain, number, digest in rows or ()]


def _remove(connection: Connection, ends: Sequence[tuple[str, int, bytes]]) -> None:
    for chain, number, _ in ends:
        while connection.run(
            "WITH old AS (SELECT number FROM audit_line WHERE chain = :chain AND number <= :number ORDER BY number LIMIT :most)"
            " DELETE FROM audit_line l USING old WHERE l.chain = :chain AND l.number = old.number RETURNING 1",
            chain=chain, number=number, most=_AT_ONCE,
        ):  # fmt: skip
            pass
        connection.run(
            "DELETE FROM audit_chain c WHERE chain = :chain AND NOT EXISTS (SELECT 1 FROM audit_line WHERE chain = :chain)", chain=chain
        )
