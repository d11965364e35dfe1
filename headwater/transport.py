"""Sends GraphQL over HTTP, and converts errors in answers to `headwater.errors`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import requests

from headwater.errors import (
    ConfigurationError,
    DamagedError,
    HeadwaterError,
    InvalidInputError,
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


class GraphQLClient:
    """A client of the service at `url` (without `/graphql`), with the API key `key`."""

    def __init__(self, url: str, key: str | None, *, timeout: float = 60.0) -> None:
        self._url = f"{url.rstrip('/')}/graphql"
        self._timeout = timeout
        self._session = open_session(key)

    def execute(self, document: str, **variables: Any) -> dict[str, Any]:
        """Execute a document, and return the `data` of the answer.

        Raises:
            UnavailableError: the service does not answer.
            HeadwaterError: the error in the answer, by its code.
        """
        try:
            response = self._session.post(self._url, json={"query": document, "variables": variables}, timeout=self._timeout)
        except requests.RequestException as error:
            raise unavailable(self._url, error) from error
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


def open_session(key: str | None) -> requests.Session:
    session = requests.Session()
    if key:
        session.headers["Authorization"] = f"Bearer {key}"
    return session


def unavailable(url: str, error: requests.RequestException) -> UnavailableError:
    if isinstance(error, requests.Timeout):
        return UnavailableError(f"The service at {url} took too long to answer.", hint="Try again, or see its log.")
    # The innermost cause, because requests wraps it in messages of three libraries.
    reason = re.search(r"\[Errno -?\d+\] ([^\"')]+)", str(error))
    return UnavailableError(
        f"The service at {url} does not answer: {reason[1] if reason else error}.",
        hint="Start it with `headwater serve`, or unset HEADWATER_URL to ask the home itself.",
    )


def refusal_of(body: Mapping[str, Any], url: str) -> HeadwaterError:
    """Convert an error body that does not come from GraphQL to an error."""
    kind = _BY_CODE.get(f"{body.get('error')}Error", HeadwaterError)
    message = str(body.get("message") or body.get("detail") or body)
    if kind is KeyRequiredError:
        return kind(
            f"{url} wants another key: {message}", hint="Set HEADWATER_API_KEY to what stands in the file `key` of the service's home."
        )
    return kind(message, hint=body.get("hint"))


def error_of(entry: Mapping[str, Any]) -> HeadwaterError:
    """Convert an error entry in a GraphQL answer to an error."""
    extensions = entry.get("extensions") or {}
    kind = _BY_CODE.get(str(extensions.get("code")), HeadwaterError)
    return kind(str(entry.get("message")), hint=extensions.get("hint"))
