"""A GraphQL client for our own service, for the command line and the demo.

It knows the key of a home by itself, turns the service's errors back into the ones of `headwater.errors`, and sends nothing but
GraphQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests

from headwater.errors import (
    ConfigurationError,
    HeadwaterError,
    InvalidQueryError,
    NotFoundError,
    SourceChangedError,
    UnavailableError,
    UnsupportedError,
)

_BY_CODE: Mapping[str, type[HeadwaterError]] = {
    kind.__name__: kind
    for kind in (ConfigurationError, InvalidQueryError, NotFoundError, SourceChangedError, UnavailableError, UnsupportedError)
}


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
            raise UnavailableError(
                f"The service at {self._url} does not answer: {error}.", hint="Start it with `headwater serve`."
            ) from error
        try:
            body = response.json()
        except ValueError as error:
            raise UnavailableError(
                f"{self._url} answered {response.status_code}, and not in JSON.", hint="Is this a Headwater service?"
            ) from error
        if errors := body.get("errors"):
            raise _error(errors[0])
        if not response.ok:
            raise HeadwaterError(f"{self._url} answered {response.status_code}: {body.get('message') or body.get('detail') or body}")
        data: dict[str, Any] = body["data"]
        return data


def _error(entry: Mapping[str, Any]) -> HeadwaterError:
    extensions = entry.get("extensions") or {}
    kind = _BY_CODE.get(str(extensions.get("code")), HeadwaterError)
    return kind(str(entry.get("message")), hint=extensions.get("hint"))
