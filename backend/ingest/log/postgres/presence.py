"""Tracks the replicas that work on a shared log, and their right to do so.

Every replica has a connection that holds a shared advisory lock, and records every two seconds that it is alive. Work that needs the graph
exclusively (a rebuild, an import, a repair) takes the lock exclusively, and is refused while a replica holds it. A replica that cannot get
the lock waits. The lock ends with its connection, however that ends. Settings that replicas must share are recorded as digests: a
replica that differs reports it in `/readyz`.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import headwater
from headwater.backend.ingest.log.postgres.address import drop
from headwater.errors import UnavailableError

if TYPE_CHECKING:
    from pg8000.native import Connection

    from headwater.backend.ingest.log.postgres.log import PostgresLog

_LOCK = 7_305_461_210  # key of the advisory lock
_EVERY = 2.0  # seconds
_GONE = "15 seconds"  # a replica that has recorded nothing for so long is gone
_FORGOTTEN = "1 day"


class SharedRole:
    """The role of a replica (see `role.ProjectorRole`). `alike` are digests of the settings that all replicas must share."""

    def __init__(self, log: PostgresLog, alike: Mapping[str, str]) -> None:
        self._log = log
        self._alike = dict(alike)
        self._lock = Lock()
        self._connection: Connection | None = None
        self._is_alone = False
        self._looked = 0.0
        self.differences: Sequence[str] = []  # from other replicas, at the last check

    @property
    def taken(self) -> bool:
        return self._connection is not None

    def take(self, *, alone: bool = False) -> bool:
        """Take the role with other replicas, or exclusively (`alone`). Returns whether this process holds the role now.

        Raises:
            UnavailableError: the shared log does not answer.
        """
        with self._lock:
            if self._connection is not None and self._is_alone == alone and time.monotonic() - self._looked < _EVERY:
                return True
            try:
                with self._log.address.faults():
                    return self._take(alone)
            except BaseException:
                self._release()
                raise

    def release(self) -> None:
        with self._lock:
            if self._connection is not None and not self._is_alone:
                try:
                    with self._log.address.faults():
                        self._connection.run("DELETE FROM replica WHERE id = :id", id=self._log.holder)
                except UnavailableError:
                    pass  # other replicas notice the absence
            self._release()

    def _take(self, alone: bool) -> bool:
        if self._connection is not None and self._is_alone != alone:
            self._release()
        if self._connection is None:
            connection = self._log.address.connect()
            verb = "pg_try_advisory_lock" if alone else "pg_try_advisory_lock_shared"
            if not connection.run(f"SELECT {verb}(:lock)", lock=_LOCK)[0][0]:
                drop(connection)
                return False
            self._connection, self._is_alone = connection, alone
        if not alone:
            self._note(self._connection)
        else:
            self._connection.run("SELECT 1")
        self._looked = time.monotonic()
        return True

    def _note(self, connection: Connection) -> None:
        connection.run(
            "INSERT INTO replica VALUES (:id, :host, :version, :settings, clock_timestamp())"
            " ON CONFLICT (id) DO UPDATE SET seen = excluded.seen, settings = excluded.settings",
            id=self._log.holder, host=socket.gethostname(), version=headwater.__version__, settings=json.dumps(self._alike),
        )  # fmt: skip
        connection.run(f"DELETE FROM replica WHERE seen < clock_timestamp() - interval '{_FORGOTTEN}'")
        others = connection.run(
            f"SELECT host, settings FROM replica WHERE id <> :id AND seen > clock_timestamp() - interval '{_GONE}' ORDER BY host",
            id=self._log.holder,
        )
        self.differences = [
            f"{name} is not that of the replica on {host}"
            for host, stated in others or ()
            for name, digest in sorted(json.loads(stated).items())
            if name in self._alike and self._alike[name] != digest
        ]

    def _release(self) -> None:
        drop(self._connection)
        self._connection = None
        self.differences = []
