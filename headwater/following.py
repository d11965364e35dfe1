"""Subscriptions for `headwater.client`: GraphQL over graphql-transport-ws, with one connection for each.

They need `websockets` (`pip install "headwater[client]"`). A subscription ends with its connection: if the connection breaks, the loop
raises an `UnavailableError`. Then query the current state, and subscribe again.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from headwater.errors import ConfigurationError, HeadwaterError, KeyRequiredError, UnavailableError
from headwater.transport import error_of, refusal_of

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection as AsyncConnection
    from websockets.sync.client import ClientConnection

__all__ = ["AsyncFollowing", "Following", "Subscribed"]

T = TypeVar("T")
_PROTOCOL = "graphql-transport-ws"
_MESSAGE_BYTES = 256 << 20  # enough for 500 nodes with all their facets
_UNAUTHORIZED = 4401
_AGAIN = "Ask for what there is now, and follow again."
_INIT = json.dumps({"type": "connection_init"})
_PONG = json.dumps({"type": "pong"})


@dataclass(frozen=True, slots=True)
class Subscribed(Generic[T]):
    """One subscription to the service at `url` (without `/graphql`) with the key `key`. `read` converts an answer to items."""

    url: str
    key: str | None = field(repr=False)
    timeout: float
    document: str
    variables: Mapping[str, Any]
    read: Callable[[Any], Iterable[T]]

    @property
    def address(self) -> str:
        return f"{self.url.rstrip('/').replace('http', 'ws', 1)}/graphql"

    @property
    def options(self) -> dict[str, Any]:
        """Return the options that both kinds of connections share."""
        shown = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return {
            "additional_headers": shown, "subprotocols": [_PROTOCOL], "open_timeout": self.timeout, "max_size": _MESSAGE_BYTES,
        }  # fmt: skip

    @property
    def request(self) -> str:
        """Return the message that begins the subscription."""
        return json.dumps({"id": "1", "type": "subscribe", "payload": {"query": self.document, "variables": dict(self.variables)}})


class _State(Generic[T]):
    """The items of one subscription that were received but not yet read. Knows the protocol, but no connections."""

    def __init__(self, asked: Subscribed[T]) -> None:
        self._asked = asked
        self.waiting: deque[T] = deque()
        self.began = False
        self.ended = False

    def take(self, text: str | bytes) -> str | None:
        """Process a message, and return the reply, if any.

        Raises:
            HeadwaterError: the service reported an error.
        """
        message = json.loads(text)
        if message["type"] == "ping":
            return _PONG
        if message["type"] == "connection_ack":
            return self._asked.request
        if message["type"] == "complete":
            self.ended = True
        elif message["type"] == "error":
            raise error_of(message["payload"][0])
        elif message["type"] == "next":
            if errors := message["payload"].get("errors"):
                raise error_of(errors[0])
            (answer,) = message["payload"]["data"].values()
            self.waiting.extend(self._asked.read(answer))
            self.began = True
        return None

    def broken(self, error: Exception) -> NoReturn:
        """Raise the error for a connection that failed or was lost."""
        from websockets.exceptions import ConnectionClosed, InvalidStatus

        url = self._asked.url
        if isinstance(error, InvalidStatus):
            raise _refusal(error, url) from error
        if isinstance(error, ConnectionClosed):
            if error.rcvd is not None and error.rcvd.code == _UNAUTHORIZED:
                raise KeyRequiredError(f"{url} ended it: {error.rcvd.reason}", hint="Show a key that may read.") from error
            raise UnavailableError(f"The connection to {url} broke off.", hint=_AGAIN) from error
        raise UnavailableError(f"The service at {url} does not answer.", hint="Start it with: headwater serve") from error


class Following(Iterator[T], Generic[T]):
    """The items of a subscription, in order. A loop over it waits for the next item.

    The subscription has begun when the constructor returns, so no later item is lost. `close`, or leaving its `with` block, ends it.
    Another thread may call `close`.
    """

    def __init__(self, asked: Subscribed[T]) -> None:
        """Connect, and begin the subscription.

        Raises:
            HeadwaterError: the service reported an error.
            UnavailableError: the service does not answer.
            ConfigurationError: `websockets` is not installed.
        """
        _require_library()
        from websockets.sync.client import connect

        self._state = _State(asked)
        self._closed = False
        self._opened = ExitStack()
        self._connection: ClientConnection | None = None
        try:
            self._connection = self._opened.enter_context(connect(asked.address, **asked.options))
            self._connection.send(_INIT)
            while not self._state.began and not self._state.ended:
                self._receive(self._connection, asked.timeout)
        except BaseException as error:  # an interrupted program has no object to close yet
            self.close()
            if isinstance(error, HeadwaterError) or not isinstance(error, Exception):
                raise
            self._state.broken(error)

    def __next__(self) -> T:
        while not self._state.waiting:
            if self._closed or self._state.ended or self._connection is None:
                self.close()
                raise StopIteration
            try:
                self._receive(self._connection, None)
            except Exception as error:
                if self._closed:  # another thread closed it meanwhile
                    raise StopIteration from None
                self.close()
                if isinstance(error, HeadwaterError):
                    raise
                self._state.broken(error)
        return self._state.waiting.popleft()

    def _receive(self, connection: ClientConnection, timeout: float | None) -> None:
        if (reply := self._state.take(connection.recv(timeout))) is not None:
            connection.send(reply)

    def close(self) -> None:
        self._closed = True
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncFollowing(Generic[T]):
    """`Following` for an event loop: `async with` begins it, `async for` yields its items."""

    def __init__(self, asked: Subscribed[T]) -> None:
        self._asked = asked
        self._state = _State(asked)
        self._connection: AsyncConnection | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        """Connect, and begin. Raises the same errors as `Following`."""
        _require_library()
        from websockets.asyncio.client import connect

        try:
            self._connection = await connect(self._asked.address, **self._asked.options)
            await self._connection.send(_INIT)
            while not self._state.began and not self._state.ended:
                async with asyncio.timeout(self._asked.timeout):
                    await self._receive(self._connection)
        except BaseException as error:  # a cancelled task has no `async with` yet to close the connection
            await self.aclose()
            if isinstance(error, HeadwaterError) or not isinstance(error, Exception):
                raise
            self._state.broken(error)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        if self._connection is None and not self._closed:
            await self.__aenter__()
        while not self._state.waiting:
            if self._closed or self._state.ended or self._connection is None:
                await self.aclose()
                raise StopAsyncIteration
            try:
                await self._receive(self._connection)
            except Exception as error:
                if self._closed:
                    raise StopAsyncIteration from None
                await self.aclose()
                if isinstance(error, HeadwaterError):
                    raise
                self._state.broken(error)
        return self._state.waiting.popleft()

    async def _receive(self, connection: AsyncConnection) -> None:
        if (reply := self._state.take(await connection.recv())) is not None:
            await connection.send(reply)

    async def aclose(self) -> None:
        self._closed = True
        if self._connection is not None:
            await self._connection.close()


def _refusal(error: Any, url: str) -> HeadwaterError:
    try:
        body = json.loads(error.response.body or b"")
    except ValueError:
        body = None
    if isinstance(body, dict):
        return refusal_of(body, url)
    return UnavailableError(f"{url} answered {error.response.status_code}.", hint="Is this a Headwater service?")


def _require_library() -> None:
    try:
        import websockets  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            "To follow what a service tells as it happens, websockets is needed.", hint='pip install "headwater[client]"'
        ) from error
