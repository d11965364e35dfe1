"""Persisted queries: a client sends a document once, and then its SHA-256 instead.

This is the protocol that Apollo's clients call automatic persisted queries: `extensions.persistedQuery` with `version` 1 and `sha256Hash`.
Documents are kept in memory, separately for each tenant, so that no tenant learns another's queries. If a document was dropped, the client
sends it again. A persisted document has the same limits as any other.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import sha256
from threading import Lock
from typing import Any

from graphql import GraphQLError

_VERSION = 1
_MOST_OF_TENANT = 256  # limit of documents of a tenant
_MOST_CHARACTERS = 1 << 20  # limit of characters in all documents of a tenant
_MOST_TENANTS = 64  # limit of tenants; the least recently used one is dropped


class PersistedQueries:
    """The documents that clients of one service have sent. Thread-safe."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, OrderedDict[str, str]] = OrderedDict()
        self._lock = Lock()

    def document(self, tenant: str, stated: str | None, extensions: Mapping[str, Any] | None) -> str | None:
        """Return the document of a request: `stated`, or the stored document with the request's hash.

        Raises:
            GraphQLError: no document with this hash is stored, or the request violates the protocol.
        """
        asked = (extensions or {}).get("persistedQuery")
        if asked is None:
            return stated
        digest = asked.get("sha256Hash") if isinstance(asked, dict) else None
        if not isinstance(asked, dict) or asked.get("version") != _VERSION or not isinstance(digest, str):
            raise _refused("PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED", "State version 1 and sha256Hash.")
        digest = digest.lower()
        if stated is None:
            found = self._found(tenant, digest)
            if found is None:
                # Clients of the protocol look for this message and this code.
                raise _refused("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND", "Send the document with its hash.")
            return found
        if sha256(stated.encode("utf-8", "surrogatepass")).hexdigest() != digest:
            raise _refused("The document has another SHA-256 than was stated.", "BAD_REQUEST", "Hash the document's own bytes, in UTF-8.")
        self._keep(tenant, digest, stated)
        return stated

    def _found(self, tenant: str, digest: str) -> str | None:
        with self._lock:
            documents = self._of.get(tenant)
            if documents is None or digest not in documents:
                return None
            self._of.move_to_end(tenant)
            documents.move_to_end(digest)
            return documents[digest]

    def _keep(self, tenant: str, digest: str, document: str) -> None:
        with self._lock:
            documents = self._of.setdefault(tenant, OrderedDict())
            self._of.move_to_end(tenant)
            documents[digest] = document
            documents.move_to_end(digest)
            while len(documents) > _MOST_OF_TENANT or sum(map(len, documents.values())) > _MOST_CHARACTERS:
                documents.popitem(last=False)
            while len(self._of) > _MOST_TENANTS:
                self._of.popitem(last=False)


def _refused(message: str, code: str, hint: str) -> GraphQLError:
    return GraphQLError(message, extensions={"code": code, "hint": hint, "transient": False})
