"""Clients of our own service, for the command line and the demo: of GraphQL, and of the endpoints that take or give documents.

They turn the service's errors back into the ones of `headwater.errors`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Mapping
from typing import TYPE_CHECKING, Any

import requests

from headwater.errors import (
    ConfigurationError,
    DamagedError,
    HeadwaterError,
    InvalidInputError,
    InvalidProvenanceError,
    InvalidQueryError,
    KeyRequiredError,
    LargeTraceError,
    NotFoundError,
    SourceChangedError,
    UnavailableError,
    UnsupportedError,
)

_BY_CODE: Mapping[str, type[HeadwaterError]] = {
    kind.__name__: kind
    for kind in (
        ConfigurationError, DamagedError, InvalidInputError, InvalidQueryError, KeyRequiredError, LargeTraceError, NotFoundError,
        SourceChangedError, UnavailableError, UnsupportedError,
    )
}  # fmt: skip
_CHUNK = 1 << 16

if TYPE_CHECKING:
    from headwater.backend.exports import CatalogRequest, System
    from headwater.graph.prov import ProvFormat
    from headwater.graph.trace import TraceRequest
    from headwater.graph.views import ViewRequest


class GraphQLClient:
    """Asks the service at `url` (without `/graphql`), showing `key`."""

    def __init__(self, url: str, key: str | None, *, timeout: float = 60.0) -> None:
        self._url = f"{url.rstrip('/')}/graphql"
        self._timeout = timeout
        self._session = requests.Session()
        if key:
            self._session.headers["Authorization"] = f"Bearer {key}"

    def execute(self, document: str, **variables: Any) -> dict[str, Any]:
        """The `data` of the answer.

        Raises:
            UnavailableError: the service does not answer.
            HeadwaterError: what the service says was wrong, by its code.
        """
        try:
            response = self._session.post(self._url, json={"query": document, "variables": variables}, timeout=self._timeout)
        except requests.RequestException as error:
            raise _unavailable(self._url, error) from error
        try:
            body = response.json()
        except ValueError as error:
            raise UnavailableError(
                f"{self._url} answered {response.status_code}, and not in JSON.", hint="Is this a Headwater service?"
            ) from error
        if errors := body.get("errors"):
            raise error_of(errors[0])
        if not response.ok:
            raise refusal_of(body, self._url)
        data: dict[str, Any] = body["data"]
        return data


class RestClient:
    """Sends documents to the service at `url`, and fetches them, showing `key`."""

    def __init__(self, url: str, key: str | None, *, timeout: float = 60.0) -> None:
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._session = requests.Session()
        if key:
            self._session.headers["Authorization"] = f"Bearer {key}"

    async def provenance(self, request: TraceRequest | ViewRequest, notation: ProvFormat) -> AsyncIterator[bytes]:
        """An export, in chunks. Raises what the service says was wrong."""
        async for chunk in self._chunks("/api/v1/prov", {**_asked(request), "format": str(notation)}):
            yield chunk

    async def catalog(self, system: System, request: CatalogRequest) -> AsyncIterator[bytes]:
        """The export for another catalog, in chunks. Raises what the service says was wrong."""
        asked = {
            "namespace": list(request.namespaces), "environment": request.environment,
            "known_as": [f"{namespace}={name}" for namespace, name in request.known_as.items()],
        }  # fmt: skip
        async for chunk in self._chunks(f"/api/v1/export/{system}", asked):
            yield chunk

    async def take_prov(self, body: bytes, notation: ProvFormat | None) -> dict[str, Any]:
        """Send a document to be taken in. Raises what the service says was wrong."""
        asked = {} if notation is None else {"format": str(notation)}
        headers = {"Content-Type": "application/octet-stream"}
        answer = await asyncio.to_thread(self._ask, "POST", "/api/v1/prov", params=asked, data=body, headers=headers)
        report: dict[str, Any] = answer.json()
        return report

    async def take_events(self, body: bytes) -> dict[str, Any]:
        """Send OpenLineage events; the service's report, which names those that are refused. Raises where it takes none of them now."""
        headers = {"Content-Type": "application/json"}
        answer = await asyncio.to_thread(self._ask, "POST", "/api/v1/lineage", data=body, headers=headers, taken=(422,))
        report: dict[str, Any] = answer.json()
        return report

    async def _chunks(self, path: str, asked: Mapping[str, Any]) -> AsyncIterator[bytes]:
        response = await asyncio.to_thread(self._ask, "GET", path, params=asked, stream=True)
        chunks = response.iter_content(_CHUNK)
        try:
            while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
                yield chunk
        except requests.RequestException as error:
            raise UnavailableError(
                f"The service at {self._url} ended its answer before it was whole.", hint="Ask again; its log says why it ended."
            ) from error

    def _ask(self, method: str, path: str, taken: Collection[int] = (), **options: Any) -> requests.Response:
        """The response, if it is a success or one of the statuses that are `taken` as answers."""
        try:
            response = self._session.request(method, self._url + path, timeout=self._timeout, **options)
        except requests.RequestException as error:
            raise _unavailable(self._url, error) from error
        if response.ok or response.status_code in taken:
            return response
        try:
            body = response.json()
        except ValueError:
            raise HeadwaterError(f"{self._url}{path} answered {response.status_code}, and not in JSON.") from None
        if body.get("error") == "InvalidProvenance":
            raise InvalidProvenanceError(body["message"], clause=str(body.get("clause")), hint=body.get("hint"))
        raise refusal_of(body, self._url)


def _unavailable(url: str, error: requests.RequestException) -> UnavailableError:
    if isinstance(error, requests.Timeout):
        return UnavailableError(f"The service at {url} took too long to answer.", hint="Try again, or see its log.")
    # The cause in few words: requests wraps it in the words of three libraries.
    reason = re.search(r"\[Errno -?\d+\] ([^\"')]+)", str(error))
    return UnavailableError(
        f"The service at {url} does not answer: {reason[1] if reason else error}.",
        hint="Start it with `headwater serve`, or unset HEADWATER_URL to ask the home itself.",
    )


def refusal_of(body: Mapping[str, Any], url: str) -> HeadwaterError:
    """The error that a body of the service which is not GraphQL's stands for."""
    kind = _BY_CODE.get(f"{body.get('error')}Error", HeadwaterError)
    message = str(body.get("message") or body.get("detail") or body)
    if kind is KeyRequiredError:
        return kind(
            f"{url} wants another key: {message}", hint="Set HEADWATER_API_KEY to what stands in the file `key` of the service's home."
        )
    return kind(message, hint=body.get("hint"))


def _asked(request: TraceRequest | ViewRequest) -> dict[str, Any]:
    """The parameters of `GET /api/v1/prov`."""
    from headwater.graph.trace import TraceRequest

    if isinstance(request, TraceRequest):
        return {
            "target": request.dataset, "where": request.where, "column": request.column, "semantics": str(request.semantics),
            "forward": str(request.forward).lower(), "to": request.to,
        }  # fmt: skip
    return {
        "target": request.focus, "view": "true", "direction": str(request.direction), "depth": request.depth,
        "level": [str(request.data), str(request.actors)],
        "open": [f"{identifier}={level}" for identifier, level in request.open.items()],
        "mask": [f"{mask.by}{'!' if mask.negated else ''}={value}" for mask in request.masks for value in mask.values],
        "ends": str(request.ends_only).lower(), "between": [end for side in request.between or () for end in side],
        "as_of": request.as_of, "since": request.since, "until": request.until,
    }  # fmt: skip


def error_of(entry: Mapping[str, Any]) -> HeadwaterError:
    """The error that an entry of a GraphQL answer stands for."""
    extensions = entry.get("extensions") or {}
    kind = _BY_CODE.get(str(extensions.get("code")), HeadwaterError)
    return kind(str(entry.get("message")), hint=extensions.get("hint"))
