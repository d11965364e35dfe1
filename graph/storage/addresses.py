"""Parses the URI of a path on remote storage: a store, and an unescaped path in it.

URIs come from events, manifests and questions, so from anybody who may write to the service. Only a plain form is accepted: a known
scheme, an authority without user or password, and a path whose parts are names. Anything else is refused, never repaired.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from headwater.errors import UnsupportedError

SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "abfs": "abfss", "abfss": "abfss", "hdfs": "hdfs",
           "webhdfs": "webhdfs", "swebhdfs": "swebhdfs"}  # fmt: skip
_URI = re.compile(r"([a-z0-9+.-]{1,16}):/{2}([^/]*)(?:/(.*))?", re.DOTALL)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,254}")
_NODE = re.compile(r"[a-z0-9][a-z0-9._-]{0,253}(?::[0-9]{1,5})?")  # a name node, or the name service of several name nodes
_AUTHORITY = {
    "s3": _BUCKET,
    "gs": _BUCKET,
    "abfss": re.compile(r"[a-z0-9$][a-z0-9-]{2,62}@[a-z0-9][a-z0-9.-]{2,253}"),  # container@account.dfs.core.windows.net
    "hdfs": _NODE,
    "webhdfs": _NODE,
    "swebhdfs": _NODE,
}
_NODES = ("hdfs", "webhdfs", "swebhdfs")  # schemes whose hosts may have capital letters
CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
LONGEST = 4096  # characters; S3 takes keys of 1,024 bytes, HDFS paths of 8,000 characters


class Address(NamedTuple):
    """A place on a store: the normal scheme, the bucket, container or name node, and the path in it without a leading `/`."""

    scheme: str
    authority: str
    path: str


def is_remote(uri: str) -> bool:
    """Return whether a text is a URI of a supported storage."""
    return uri.partition("://")[0] in SCHEMES


def one_spelling(uri: str) -> str:
    """Return a URI with the normal scheme of its store: Hadoop's `s3a://b/k` and `s3n://b/k` are `s3://b/k`.

    Other URIs stay unchanged.
    """
    scheme, separator, location = uri.partition("://")
    normal_scheme = SCHEMES.get(scheme, scheme)
    return f"{normal_scheme}://{location}" if separator and normal_scheme != scheme else uri


def other_spellings(uri: str) -> list[str]:
    """Return the URIs that name the same place with another of Hadoop's schemes."""
    scheme, _, location = uri.partition("://")
    return [
        f"{scheme_spelling}://{location}"
        for scheme_spelling, normal_scheme in SCHEMES.items()
        if location and scheme_spelling != scheme and normal_scheme == SCHEMES.get(scheme)
    ]


def address_of(uri: str) -> Address:
    """Return the address in a URI. Escapes are not decoded: `%20` is three characters.

    Raises:
        UnsupportedError: the URI has another form, or its scheme is unknown.
    """
    match = _URI.fullmatch(uri) if len(uri) <= LONGEST else None
    if match is None or (scheme := SCHEMES.get(match[1])) is None:
        raise UnsupportedError(f"{uri[:200]!r} is on no storage that can be read here.", hint=f"There are {', '.join(sorted(SCHEMES))}.")
    authority = match[2].lower() if scheme in _NODES else match[2]
    path = (match[3] or "").removesuffix("/")
    parts = path.split("/") if path else []
    is_odd = CONTROL.search(path) or any(part in ("", ".", "..") for part in parts)
    if is_odd or not _AUTHORITY[scheme].fullmatch(authority) or ".." in authority:
        raise UnsupportedError("An address on remote storage is not readable here: it has not the form scheme://bucket/path.")
    return Address(scheme, authority, path)
