"""The log and the metrics of requests without an answer."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import pytest
from starlette.types import Message, Receive, Scope, Send

from headwater.backend.api.requests import RequestLog
from headwater.backend.process.metrics import Metrics

_SCOPE = {"type": "http", "method": "POST", "path": "/graphql", "headers": []}


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


async def _sent(_: Message) -> None:
    return None


async def _gone(scope: Scope, receive: Receive, send: Send) -> None:
    """As a question that ends because its client has gone."""


async def _cancelled(scope: Scope, receive: Receive, send: Send) -> None:
    raise asyncio.CancelledError


async def _faulty(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("a fault")


@pytest.mark.parametrize(
    ("app", "raised", "status"),
    [(_gone, None, "499"), (_cancelled, asyncio.CancelledError, "499"), (_faulty, RuntimeError, "500")],
    ids=["gone", "cancelled", "faulty"],
)
def test_a_client_that_has_gone_is_no_fault_of_the_service(app: object, raised: type[BaseException] | None, status: str) -> None:
    metrics = Metrics()
    log = RequestLog(app, metrics=metrics)  # type: ignore[arg-type]  # of the functions above each is an application
    with pytest.raises(raised) if raised else nullcontext():
        asyncio.run(log(dict(_SCOPE), _nothing, _sent))
    assert f'status="{status}"' in metrics.exposition().decode()
