"""Runs one service on this machine: bind the port, announce the service, serve, and retract the announcement.

The port is bound before the service is announced, so that a printed link works. If the
usual port is used by others, the next free port is taken. A port that the user requested is never replaced.
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
_QUEUE = 2048  # length of the system's queue of connections
_MESSAGE_BYTES = 256 * 1024  # limit of a message of a subscription
_GRACE = 4  # seconds for running requests when the service is stopped
_END = 8.5  # seconds after which a thread ends the process
_LAST = 9.25  # seconds after which the system ends the process if that thread cannot
_AT_ONCE = 64  # number of connections to accept before open ones are served


class LocalService:
    """A service of `settings.home`. The port is bound on creation. `run` serves until a signal; `start` and `stop` use a thread.

    `limits` are the limits of its connections, by default those of the settings.
    """

    def __init__(self, settings: Settings, *, limits: Limits | None = None) -> None:
        self._home = settings.folder.create()
        self._end_tracing = tracing.start(os.environ)
        # A damaged file raises its error here. Within uvicorn it would cause a long traceback.
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
            return app.direct(scope, body, answered)  # `direct` exists once the application has started

        # uvicorn's own logging is off. Proxy headers count only from proxies in the settings.
        self._server = _Server(
            uvicorn.Config(
                app,
                http=bounded_by(limits or Limits(connections=settings.max_connections), direct),
                log_config=None,
                access_log=False,
                ws=BoundedSocket,
                ws_max_size=_MESSAGE_BYTES,
                ws_per_message_deflate=False,  # a small message could decompress to a large one
                lifespan="on",
                backlog=_AT_ONCE,
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=list(settings.trusted_proxies),
                server_header=False,
                timeout_graceful_shutdown=_GRACE,
            )
        )
        self._thread: Thread | None = None
        self._is_told = False  # whether a signal asked the service to end

    def link(self, scopes: Collection[Scope] = READING) -> str:
        """Return an address that opens the page once, for a session with these scopes."""
        return f"{self.url}/?ticket={self._credentials.ticket(scopes)}"

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM. The process then ends within seconds, and is killed otherwise.

        Raises:
            UnavailableError: the service could not start. The log names the reason.
        """
        self._home.announce(ServiceRecord(self.url, os.getpid(), datetime.now(UTC).isoformat(timespec="seconds"), headwater.__version__))
        if current_thread() is main_thread():
            # uvicorn shuts down and then raises the signal again. SIGTERM would end the process before the announcement is removed.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            self._server.told_to_end = self._end_in_time
        # Imported objects are frozen. Otherwise each full collection would visit them, and delay an answer by tens of milliseconds.
        settle()
        try:
            self._server.run(sockets=[self._socket])
        except KeyboardInterrupt:
            pass  # the usual end
        except SystemExit:  # of SIGTERM, as above
            if not self._is_told:
                raise
        finally:
            gc.unfreeze()  # extension modules would report frozen objects as leaks at the end of the process
            self._home.retract(os.getpid())
            self._socket.close()
            self._end_tracing()
        if not self._server.started and not self._is_told:
            raise UnavailableError("The service could not start.", hint="The lines above say why; `headwater doctor` checks this machine.")

    def _end_in_time(self) -> None:
        """Limit the time for the end. The process may end at any time, because acknowledged entries are durable."""

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
        """Serve from a thread. Returns when requests are answered.

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
        """Stop the service that `start` began."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()


class _Server(uvicorn.Server):
    """uvicorn's server, in which many new connections do not delay existing ones.

    asyncio uses one number for the length of the system's queue and for the number of connections to accept at once.
    """

    told_to_end: Callable[[], None] | None = None
    """Called when a signal tells the service to end, unless it was told before."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
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
            # Connections inherit TCP_NODELAY, which asyncio sets only on its own sockets. Without it, answers wait 40 ms after the head.
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return bound
    reason = os.strerror(error.errno) if error and error.errno else error  # the text of the error would repeat the address
    raise ConfigurationError(
        f"{host}:{port} cannot be bound: {reason}.", hint="Choose another with --port; 0 takes any free one."
    ) from error
