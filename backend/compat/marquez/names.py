"""Names in paths, with encoded slashes and percent signs: `/api/v1/namespaces/s3%3A%2F%2Flake/datasets/%2Fa%2Fb`.

A server decodes a path before it looks for a route, which would split a name with a slash. Below these paths, guard and
routes therefore see the encoded path, and the code that reads a name decodes it.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Path
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.errors import InvalidQueryError
from headwater.graph.model import run_key

_BELOW = (b"/api/v1/namespaces/", b"/api/v1/sources/", b"/api/v1/jobs/", b"/api/v1/tags/", b"/v3/namespaces/")


class EncodedNames:
    """ASGI middleware that restores the encoded path. It runs before the guard, because guard and routes must see the same path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (raw := scope.get("raw_path") or b"").startswith(_BELOW):
            scope["path"] = raw.partition(b"?")[0].decode("ascii", "replace")
        await self._app(scope, receive, send)


def decoded(sent: str) -> str:
    """Decode a name in a part of a path.

    Raises:
        InvalidQueryError: the bytes are not UTF-8.
    """
    try:
        return unquote(sent, errors="strict")
    except UnicodeDecodeError:
        raise InvalidQueryError(f"{sent[:200]!r} is no name in UTF-8.", field="path", hint="Encode the bytes of its UTF-8 form.") from None


async def _namespace(namespace: Annotated[str, Path(description="A namespace of datasets or jobs.")]) -> str:
    return decoded(namespace)


async def _dataset(dataset: Annotated[str, Path(description="The name of a dataset.")]) -> str:
    return decoded(dataset)


async def _job(job: Annotated[str, Path(description="The name of a job.")]) -> str:
    return decoded(job)


async def _run(run: Annotated[str, Path(description="The id of a run.")]) -> str:
    return run_key(decoded(run))


async def _version(version: Annotated[str, Path(description="A version: of a dataset, the id of the run that wrote it.")]) -> str:
    return run_key(decoded(version))


Namespace = Annotated[str, Depends(_namespace)]
DatasetName = Annotated[str, Depends(_dataset)]
JobName = Annotated[str, Depends(_job)]
RunId = Annotated[str, Depends(_run)]
Version = Annotated[str, Depends(_version)]
