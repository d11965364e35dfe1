"""Copies the audit log of a home to the database that replicas share: every line once, in order, within a second or two.

A thread follows the files, so lines of any process are copied. The current position is the latest line of the home in the database. The
file `audit.chain` of the home contains the chain and the number of copied lines, so that a removed end of the copy is noticed,
restored, and logged. If the files of a home no longer contain the copied lines (a file was truncated, or the home was restored), the home
continues with a new chain, which verification reports.

Each minute, a replica also records in its own log the ends of the other chains that have new lines. If an end is cut off in the database,
the other chains reveal it.
"""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from headwater.backend.audit.follower import BEGINNING, Place, PlaceGoneError, backward, is_read, lines_after
from headwater.backend.audit.log import append_line
from headwater.backend.audit.shared.chains import HEADS, End, append, end_of, known_of
from headwater.backend.audit.shared.retention import Retention
from headwater.backend.ingest.log.postgres.address import Address, drop
from headwater.errors import UnavailableError

if TYPE_CHECKING:
    from pg8000.native import Connection

    from headwater.backend.home.settings import Settings

_EVERY = 1.0  # seconds
_STATED_EVERY = 60.0
_AT_ONCE = 256 * 1024  # bytes of lines in one transaction
_SOUGHT = 500  # lines to look up in one statement
_HEADS = 100  # ends in one line
_log = logging.getLogger("headwater.audit")


class AuditCopier:
    """Copies one home's log. `write` appends a line to the log durably. `days` is the retention in the database (None: for ever)."""

    def __init__(
        self, path: Path, address: Address, write: Callable[[Mapping[str, Any]], None], *, days: float | None = None, every: float = _EVERY,
        stated_every: float = _STATED_EVERY,
    ) -> None:  # fmt: skip
        self._path = path
        self._address = address
        self._write = write
        self._every = every
        self._stated_every = stated_every
        self._connection: Connection | None = None
        self._chain = ""
        self._end = End()
        self._place: Place | None = None  # None: search for the place
        self._stated: dict[str, int] = {}
        self._stated_at = time.monotonic()
        self._retention = Retention(days) if days is not None else None
        self._ending = Event()
        self._thread = Thread(target=self._run, name="headwater-audit-copy", daemon=True)
        self._copied_at = time.monotonic()
        self.state = "ok"  # for /readyz

    @property
    def behind_seconds(self) -> float:
        """Return the number of seconds since the whole log was last copied."""
        return time.monotonic() - self._copied_at

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Copy the remaining lines, if the database answers, and stop."""
        self._ending.set()
        self._thread.join()

    def close(self) -> None:
        drop(self._connection)
        self._connection = None

    def is_copied(self, file: Path) -> bool:
        place = self._place
        return place is not None and is_read(self._path, file, place)

    def copy(self) -> None:
        """Copy all new lines.

        Raises:
            UnavailableError: the database does not answer.
        """
        try:
            with self._address.faults():
                connection = self._connection = self._connection or self._address.connect()
                if self._place is None:
                    self._find(connection)
                while self._copy_some(connection):
                    pass
            self._copied_at = time.monotonic()
        except PlaceGoneError:
            self._place = None  # the next turn searches for it
        except BaseException:
            self._place = None
            self.close()
            raise

    def _run(self) -> None:
        while True:
            is_last = self._ending.wait(self._every)
            try:
                self.turn()
            except UnavailableError as error:
                self._note(str(error))
            except Exception as error:  # noqa: BLE001 - lines stay in the home, and are copied once it goes again
                self._note(f"{type(error).__name__}: {error}")
            else:
                self._note("ok")
            if is_last:
                self.close()
                return

    def turn(self) -> None:
        """Copy new lines and do all other due work. The thread calls this repeatedly.

        Raises:
            UnavailableError: the database does not answer, or the log cannot be written.
        """
        self.copy()
        if self._connection is None or self._place is None or self._ending.is_set():
            return
        if time.monotonic() - self._stated_at >= self._stated_every:
            self._stated_at = time.monotonic()
            with self._address.faults():
                self._state_heads(self._connection)
                if end_of(self._connection, self._chain) != self._end:
                    self._place = None  # the next turn searches for it
        if self._retention is not None:
            self._retention.turn(self._address, self._chain, self._write, self.copy)

    def _copy_some(self, connection: Connection) -> bool:
        assert self._place is not None  # noqa: S101 - it was found
        lines, place = lines_after(self._path, self._place, _AT_ONCE)
        if lines:
            connection.run("BEGIN")
            connection.run("SELECT pg_advisory_xact_lock(hashtextextended(:chain, 1))", chain=self._chain)
            end = end_of(connection, self._chain)
            if end != self._end:
                connection.run("ROLLBACK")
                raise PlaceGoneError("The copy is not as this replica left it.")
            self._end = append(connection, self._chain, socket.gethostname(), end, lines)
            connection.run("COMMIT")
            self._keep()
        self._place = place
        return bool(lines)

    def _find(self, connection: Connection) -> None:
        chain, copied = self._known()
        chain, number, place = self._latest_known(connection, chain)
        end = end_of(connection, chain)
        if end.number < copied:
            self._write({"what": "audit.copied_again", "chain": chain, "copied": copied, "found": end.number})
            _log.error("the shared audit log ended at line %d of this home's chain; %d had been copied, and are again", end.number, copied)
        if number != end.number:
            _log.error("this home's audit log does not hold what was copied of it: it goes on as a chain of its own")
            chain, end = uuid4().hex, End()
        self._chain, self._end, self._place = chain, end, place
        self._keep()

    def _latest_known(self, connection: Connection, chain: str | None) -> tuple[str, int, Place]:
        lines = backward(self._path)
        while some := list(islice(lines, _SOUGHT)):
            known = known_of(connection, chain, [line for line, _ in some])
            for line, place in some:
                if found := known.get(sha256(line).digest()):
                    return *found, place
        return chain or uuid4().hex, 0, BEGINNING

    def _state_heads(self, connection: Connection) -> None:
        rows = connection.run(
            "SELECT c.chain, l.number, l.digest FROM audit_chain c JOIN audit_line l ON l.chain = c.chain AND l.number = c.number"
            " WHERE c.chain <> :own AND c.seen > clock_timestamp() - interval '7 days'"
            " AND c.telling > coalesce((CAST(:stated AS jsonb) ->> c.chain)::bigint, 0) ORDER BY c.seen DESC LIMIT :most",
            own=self._chain, stated=json.dumps(self._stated), most=_HEADS,
        )  # fmt: skip
        heads = [[chain, int(number), bytes(digest).hex()] for chain, number, digest in rows or ()]
        if heads:
            self._write({"what": HEADS, "heads": heads})
            self._stated |= {chain: number for chain, number, _ in heads}

    def _known(self) -> tuple[str | None, int]:
        """Return the chain of this home (None: no chain yet), and the number of its copied lines."""
        try:
            known = json.loads(self._path.with_suffix(".chain").read_text(encoding="ascii"))
            return str(known["chain"]), int(known["copied"])
        except (OSError, ValueError, KeyError, TypeError):
            return None, 0

    def _keep(self) -> None:
        file = self._path.with_suffix(".chain")
        new = file.with_suffix(".new")
        new.touch(mode=0o600)
        new.write_text(json.dumps({"chain": self._chain, "copied": self._end.number}), encoding="ascii")
        new.replace(file)

    def _note(self, state: str) -> None:
        if state != self.state:
            _log.log(logging.INFO if state == "ok" else logging.WARNING, "copying the audit log: %s", state)
        self.state = state


def copier_of(settings: Settings) -> AuditCopier | None:
    """Return the copier for the log of a home, or None if the home is not a replica. The copier is not started."""
    if settings.ingest_log is None:
        return None
    from headwater.backend.ingest.log.postgres.log import address_of

    path = settings.folder.audit
    return AuditCopier(path, address_of(settings), partial(append_line, path), days=settings.audit_days)
