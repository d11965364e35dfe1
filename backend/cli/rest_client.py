"""The REST endpoints of a service for documents, as the command line uses them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from typing import TYPE_CHECKING, Any

import requests

from headwater.errors import HeadwaterError, InvalidProvenanceError, UnavailableError
from headwater.transport import open_session, refusal_of, unavailable

if TYPE_CHECKING:
    from headwater.backend.exports import CatalogRequest, System
    from headwater.graph.prov import ProvFormat
    from headwater.graph.trace import TraceRequest
    from headwater.graph.views import ViewRequest

_CHUNK = 1 << 16


class RestClient:
    """Sends documents to the service at `url` and fetches documents, with the API key `key`."""

    def __init__(self, url: str, key: str | None, *, timeout: float = 60.0) -> None:
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._session = open_session(key)

    async def provenance(self, request: TraceRequest | ViewRequest, notation: ProvFormat) -> AsyncIterator[bytes]:
        """Yield a provenance export in chunks. Raises the error in the service's answer."""
        async for chunk in self._chunks("/api/v1/prov", {**_asked(request), "format": str(notation)}):
            yield chunk

    async def catalog(self, system: System, request: CatalogRequest) -> AsyncIterator[bytes]:
        """Yield an export for another catalog in chunks. Raises the error in the service's answer."""
        asked = {
            "namespace": list(request.namespaces), "environment": request.environment,
            "known_as": [f"{namespace}={name}" for namespace, name in request.known_as.items()],
        }  # fmt: skip
        async for chunk in self._chunks(f"/api/v1/export/{system}", asked):
            yield chunk

    async def take_prov(self, body: bytes, notation: ProvFormat | None) -> dict[str, Any]:
        """Send a PROV document to import. Raises the error in the service's answer."""
        asked = {} if notation is None else {"format": str(notation)}
        headers = {"Content-Type": "application/octet-stream"}
        answer = await asyncio.to_thread(self._ask, "POST", "/api/v1/prov", params=asked, data=body, headers=headers)
        report: dict[str, Any] = answer.json()
        return report

    async def take_events(self, body: bytes) -> dict[str, Any]:
        """Send OpenLineage events, and return the service's report, which lists refused events.

        Raises:
            HeadwaterError: the service accepts no event now.
        """
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
        """Return the response if it is a success, or has one of the status codes in `taken`."""
        try:
            response = self._session.request(method, self._url + path, timeout=self._timeout, **options)
        except requests.RequestException as error:
            raise unavailable(self._url, error) from error
        if response.ok or response.status_code in taken:
            return response
        try:
            body = response.json()
        except ValueError:
            raise HeadwaterError(f"{self._url}{path} answered {response.status_code}, and not in JSON.") from None
        if body.get("error") == "InvalidProvenance":
            raise InvalidProvenanceError(body["message"], clause=str(body.get("clause")), hint=body.get("hint"))
        raise refusal_of(body, self._url)


def _asked(request: TraceRequest | ViewRequest) -> dict[str, Any]:
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
