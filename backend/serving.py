"""One service on this machine: bind, announce, serve, retract.

For `headwater serve` and the demo. The port is bound before anything is announced, so that a link that was printed works. Where the
usual port is taken the next free one is used; a port that was asked for is not exchanged.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from ipaddress import ip_address
from threading import Thread, Timer, current_thread, main_thread
from types import FrameType

import requests
import uvicorn
from starlette.types import Scope as Request

import headwater
from headwater.backend.api.credentials import READING
from headwater.backend.app import create_app, credentials_of
from headwater.backend.home.folder import ServiceRecord
from headwater.backend.home.replica_checks import require_shared
from headwater.backend.home.settings import Settings
from headwater.backend.http.connections import Answered, Limits, bounded_by
from headwater.backend.http.web_sockets import BoundedSocket
from headwater.backend.ingest.log.registry import open_log
from headwater.backend.process import tracing
from headwater.backend.process.garbage_collection import settle
from headwater.errors import ConfigurationError, UnavailableError
from headwater.graph.access.scopes import Scope
from headwater.graph.records.catalog import Catalog
from headwater.graph.records.layout import CATALOG

_log = logging.getLogger("headwater.serving")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NEXT_PORTS = 50
_QUEUE = 2048  # connections that the system keeps until they are accepted
_MESSAGE_BYTES = 256 * 1024  # of a subscription
_GRACE = 4  # seconds for running requests when the service is stopped
_END = 8.5  # seconds after which a thread of ours ends it, whatever is at work
_LAST = 9.25  # seconds after which the system ends the process if that thread cannot
_AT_ONCE = 64  # this many are accepted before open ones have their turn


class LocalService:
    """A service of `settings.home`, bound when made. `run` serves until a signal; `start` and `stop` serve from a thread.

    `limits` bound its connections; by default those of the settings.
    """

    def __init__(self, settings: Settings, *, limits: Limits | None = None) -> None:
        self._home = settings.folder.create()
        self._end_tracing = tracing.start(os.environ)
        # A damaged file raises an error here: from within uvicorn it would be pages of traceback.
        require_shared(settings)
        open_log(settings).close()
        Catalog(self._home.associations / CATALOG).close()
        self._credentials = credentials_of(settings)
        self._socket = _bind(settings.host, settings.port, exact="port" in settings.model_fields_set)
        host, port = self._socket.getsockname()[:2]
        shown = "127.0.0.1" if ip_address(host).is_unspecified else f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{port}"
        self.exposed = settings.host not in _LOOPBACK
        app = create_app(settings, credentials=self._credentials, serving=True)

        def direct(scope: Request, body: bytes, answered: Answered) -> bool:
            return app.direct(scope, body, answered)  # which is there once the application has started

        # uvicorn's own log set-up is off: ours says what happened. Headers of proxies count from those alone that the settings name.
        self._server = _Server(
            uvicorn.Config(
                app,
                http=bounded_by(limits or Limits(connections=settings.max_connections), direct),
                log_config=None,
                access_log=False,
                ws=BoundedSocket,
                ws_max_size=_MESSAGE_BYTES,
                ws_per_message_deflate=False,  # a small message would unpack to a large one
                lifespan="on",
                backlog=_AT_ONCE,
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=list(settings.trusted_proxies),
                server_header=False,
                timeout_graceful_shutdown=_GRACE,
            )
        )
        self._thread: Thread | None = None
        self._is_told = False  # by a signal, to end

    def link(self, scopes: Collection[Scope] = READING) -> str:
        """Return an address that opens the page once, for a session with these scopes."""
        return f"{self.url}/?ticket={self._credentials.ticket(scopes)}"

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM.

        The process is then to end within seconds, and is ended where it does not.

        Raises:
            UnavailableError: the service could not start; its log says why.
        """
        self._home.announce(ServiceRecord(self.url, os.getpid(), datetime.now(UTC).isoformat(timespec="seconds"), headwater.__version__))
        if current_thread() is main_thread():
            # uvicorn shuts down and then raises the signal again: SIGTERM would end us before the announcement is taken back.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            self._server.told_to_end = self._end_in_time
        # Imported objects stay: each full collection would visit all of them, and delay an answer by tens of milliseconds.
        settle()
        try:
            self._server.run(sockets=[self._socket])
        except KeyboardInterrupt:
            pass  # the usual end
        except SystemExit:  # of SIGTERM, as above
            if not self._is_told:
                raise
        finally:
            gc.unfreeze()  # what stays frozen at the end of the process, extension modules take for a leak, and say so at length
            self._home.retract(os.getpid())
            self._socket.close()
            self._end_tracing()
        if not self._server.started and not self._is_told:
            raise UnavailableError("The service could not start.", hint="The lines above say why; `headwater doctor` checks this machine.")

    def _end_in_time(self) -> None:
        """Begin to end. Acknowledged entries are durable, so the process may end at any time. Its other processes end with it."""

        def end() -> None:
            self._home.retract(os.getpid())
            _log.warning("the service did not end within %g s, and is ended: something was at work that does not stop", _END)
            os._exit(0)

        self._is_told = True
        # A thread needs the interpreter: an extension module may hold it, and no thread gets it while the interpreter takes itself apart.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, _LAST)
        watchdog = Timer(_END, end)
        watchdog.daemon = True
        watchdog.start()

    def start(self) -> None:
        """Serve from a thread; returns when requests are answered.

        Raises:
            UnavailableError: the service could not start.
        """
        self._thread = Thread(target=self.run, name="headwater-service", daemon=True)
        self._thread.start()
        while not self._server.started:
            self._thread.join(0.05)
            if not self._thread.is_alive():
                raise UnavailableError("The service could not start.", hint="`headwater doctor` checks this machine.")

    def stop(self) -> None:
        """End what `start` began."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()


class _Server(uvicorn.Server):
    """uvicorn's server, which many new connections do not keep from those that it has.

    asyncio takes one number for two: how long the system's queue is, and how many connections are accepted in one turn of the loop.
    """

    told_to_end: Callable[[], None] | None = None
    """Called when a signal tells the service to end, unless it was told before."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """See uvicorn."""
        if self.told_to_end is not None and not self.should_exit:
            self.told_to_end()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for bound in sockets or ():
            bound.listen(_QUEUE)


def link_to(record: ServiceRecord, key: str, scopes: Collection[Scope] = READING) -> str:
    """Return a new link to the page of a running service, for a session with these scopes.

    Raises:
        UnavailableError: the service does not answer.

    """
    try:
        asked = {"scopes": sorted(scopes)}
        response = requests.post(f"{record.url}/api/v1/tickets", json=asked, headers={"Authorization": f"Bearer {key}"}, timeout=5)
        response.raise_for_status()
    except requests.RequestException as error:
        raise UnavailableError(
            f"The service of process {record.pid} at {record.url} does not answer: {error}.", hint=f"Stop it: kill {record.pid}"
        ) from error
    return str(response.json()["url"])


def _bind(host: str, port: int, *, exact: bool) -> socket.socket:
    error: OSError | None = None
    for candidate in (port,) if exact or port == 0 else range(port, port + _NEXT_PORTS):
        try:
            bound = socket.create_server((host, candidate), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=_QUEUE)
        except OSError as failure:
            error = failure
        else:
            # Connections inherit it; asyncio sets it on sockets of its own making alone. An answer would wait 40 ms between head and body.
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return bound
    reason = os.strerror(error.errno) if error and error.errno else error  # its own text says the address once more
    raise ConfigurationError(
        f"{host}:{port} cannot be bound: {reason}.", hint="Choose another with --port; 0 takes any free one."
    ) from error
