"""The address of a shared log, and connections to it. The tables are in the schema `headwater` of the database.

An address is `postgresql://host:port/database`, with `?sslmode=verify-full` (the default for other hosts) or
`?sslmode=disable`, and `&sslrootcert=FILE`. User and password are separate settings, because addresses appear in logs
and errors.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from headwater.errors import ConfigurationError, MissingExtraError, UnavailableError

if TYPE_CHECKING:
    from pg8000.native import Connection

T = TypeVar("T")
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_SECONDS = 10.0  # timeout for a silent server
_SET_UP = (
    "SET search_path TO headwater",
    "SET standard_conforming_strings TO on",
    "SET bytea_output TO hex",
    # A replica that was paused within a transaction blocks the others at most this long.
    "SET idle_in_transaction_session_timeout TO '3s'",
    "SET statement_timeout TO '30s'",
    # With these settings, the server soon detects a replica whose machine is gone, and releases its locks.
    "SET tcp_keepalives_idle TO 3",
    "SET tcp_keepalives_interval TO 1",
    "SET tcp_keepalives_count TO 3",
)
_LOGIN = {"28P01", "28000"}
_NOT_SO = {*_LOGIN, "3D000", "42501"}


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a database, with the credentials for it."""

    host: str
    port: int
    database: str
    tls: ssl.SSLContext | None
    user: str
    password: str | None = field(repr=False)

    @property
    def url(self) -> str:
        """Return the address without credentials, for messages."""
        return f"postgresql://{self.host}:{self.port}/{self.database}"

    @classmethod
    def of(cls, url: str, *, user: str | None, password: str | None) -> Address:
        """Parse an address.

        Raises:
            ConfigurationError: the address is invalid.
        """
        try:
            parts = urlsplit(url)
            host, port, database = parts.hostname or "", parts.port or 5432, unquote(parts.path.strip("/"))
            given = {name: values[-1] for name, values in parse_qs(parts.query, strict_parsing=bool(parts.query)).items()}
        except ValueError as error:
            raise _odd(str(error)) from None
        if parts.scheme not in ("postgresql", "postgres") or not host or not database or "/" in database or parts.fragment:
            raise _odd("it does not name a host and a database")
        if parts.username or parts.password:
            raise _odd("it holds a user or a password")
        if odd := given.keys() - {"sslmode", "sslrootcert"}:
            raise _odd(f"it states {', '.join(sorted(odd))}")
        mode = given.get("sslmode", "disable" if host in _LOOPBACK else "verify-full")
        if mode not in ("disable", "verify-full"):
            raise _odd(f"sslmode is {mode}")
        return cls(host, port, database, _tls(given.get("sslrootcert")) if mode == "verify-full" else None, user or "headwater", password)

    def connect(self) -> Connection:
        """Open a new connection.

        Raises:
            ConfigurationError: the server refuses the credentials, or the driver is missing.
            UnavailableError: the server does not answer.
        """
        try:
            import pg8000.native
        except ImportError:
            raise MissingExtraError("A shared ingest log", extra="postgres") from None
        with self.faults():
            opened = socket.create_connection((self.host, self.port), _SECONDS)
            try:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                connection = pg8000.native.Connection(
                    self.user, host=self.host, database=self.database, password=self.password, sock=opened, application_name="headwater",
                    ssl_context=self.tls or False,
                )  # fmt: skip
            except BaseException:
                _shut(opened)
                raise
            try:
                for statement in _SET_UP:
                    connection.run(statement)
                # Stronger settings of the server (`remote_apply`) are kept.
                (mode,) = connection.run("SHOW synchronous_commit")[0]
                if mode in ("off", "local"):
                    connection.run("SET synchronous_commit TO on")
            except BaseException:
                drop(connection)
                raise
        return connection

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Convert errors of the database driver to Headwater's errors. The server's text is dropped, because it may contain anything."""
        from pg8000.exceptions import DatabaseError, InterfaceError

        try:
            yield
        except DatabaseError as error:
            code = code_of(error)
            if code in _NOT_SO:
                raise ConfigurationError(f"The shared log {self.url} refuses us: {_SAID.get(code, code)}.", hint=_SETTINGS) from None
            raise UnavailableError(f"The shared log {self.url} cannot do it now (error {code}).", hint=_LOOK) from None
        except (InterfaceError, OSError) as error:
            reason = str(error.args[0]) if isinstance(error, InterfaceError) and error.args else type(error).__name__
            raise UnavailableError(f"The shared log {self.url} does not answer: {reason}.", hint=_LOOK) from None


_SETTINGS = "See HEADWATER_INGEST_LOG, HEADWATER_INGEST_LOG_USER and HEADWATER_INGEST_LOG_PASSWORD."
_LOOK = "Look at the server; what was not acknowledged is sent again."
_SAID = {
    "28P01": "wrong user or password",
    "28000": "wrong user or password",
    "3D000": "there is no such database",
    "42501": "a right is missing",
}


class Questions:
    """One connection for single statements. It is reopened after a failure. Threads may share it."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def ask(self, sql: str, **values: Any) -> list[Any]:
        """Run a statement that may be repeated, and return its rows."""
        return self.use(lambda connection: connection.run(sql, **values) or [])

    def use(self, work: Callable[[Connection], T]) -> T:
        """Do work that may be repeated. If the connection broke, the work is done once more on a new connection."""
        from pg8000.exceptions import DatabaseError, InterfaceError

        with self._lock, self._address.faults():
            for attempt in (1, 2):
                is_new = self._connection is None
                try:
                    self._connection = self._connection or self._address.connect()
                    return work(self._connection)
                except (InterfaceError, DatabaseError, OSError) as error:
                    self._drop()
                    # A stopped server reports an error of class 57P.
                    is_broken = not isinstance(error, DatabaseError) or code_of(error).startswith("57P")
                    if is_new or attempt == 2 or not is_broken:
                        raise
        raise AssertionError

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        drop(self._connection)
        self._connection = None


def drop(connection: Connection | None) -> None:
    """Close a connection that may be broken."""
    if connection is None:
        return
    opened: socket.socket | None = connection._usock  # noqa: SLF001 - where what it has to say cannot be sent, it leaves its socket open
    with suppress(Exception):
        connection.close()
    if opened is not None:
        _shut(opened)


def _shut(opened: socket.socket) -> None:
    """Close a socket, even if the driver still refers to it."""
    if (descriptor := opened.detach()) >= 0:
        os.close(descriptor)


def code_of(error: Exception) -> str:
    details = error.args[0] if error.args else ""
    return str(details.get("C", "")) if isinstance(details, dict) else type(error).__name__


def _tls(root: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=root)
    except OSError as error:
        raise _odd(f"sslrootcert cannot be read ({error.strerror})") from None


def _odd(why: str) -> ConfigurationError:
    return ConfigurationError(
        f"HEADWATER_INGEST_LOG is no address of a shared log: {why}.",
        hint="Write postgresql://host:5432/database; user and password are HEADWATER_INGEST_LOG_USER and HEADWATER_INGEST_LOG_PASSWORD.",
    )
