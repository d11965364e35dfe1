"""Checks names that become paths. Only names of a fixed form reach the file system.

A tenant comes from a credential; a capture's id and a segment's name come from the network. None of them may lead out of the store.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from headwater.errors import InvalidCaptureError, InvalidInputError
from headwater.graph.associations import is_segment_name
from headwater.graph.storage.addresses import one_spelling

FINE_SCHEMES = ("file:", "hdfs:", "webhdfs:", "swebhdfs:")  # storage with exact times
_TENANT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?")


class FileBlock(NamedTuple):
    """A file in one state. Captures are linked by equal blocks. `modified` is in milliseconds since the epoch."""

    path: str
    length: int
    modified: int

    def __str__(self) -> str:
        try:
            instant = datetime.fromtimestamp(self.modified / 1000, UTC).isoformat(sep=" ", timespec="milliseconds")
        except (OverflowError, ValueError, OSError):  # a capture can state any number
            instant = f"{self.modified} ms"
        return f"{self.length} bytes, modified at {instant.replace('+00:00', ' UTC')}"


def checked_tenant(tenant: str) -> str:
    """Return the tenant if it can be the name of a folder.

    Raises:
        InvalidInputError: the name is invalid.
    """
    if not _TENANT.fullmatch(tenant):
        raise InvalidInputError(f"{tenant!r} cannot name a tenant.", field="tenant", hint="Use up to 64 letters, digits, - and _.")
    return tenant


def checked_capture(capture: str) -> str:
    """Return the id of a capture if it is a UUID in its usual form.

    Raises:
        InvalidCaptureError: the id is invalid.
    """
    try:
        normal = str(UUID(capture))
    except ValueError:
        normal = ""
    if normal != capture:
        raise InvalidCaptureError(f"{capture[:80]!r} is no capture: it must be a UUID in lower case, with hyphens.", field="capture")
    return capture


def checked_segment(name: str) -> str:
    """Return the name of a segment if it has the form that the capture format prescribes.

    Raises:
        InvalidCaptureError: the name is invalid.
    """
    if not is_segment_name(name):
        raise InvalidCaptureError(f"{name[:80]!r} is no segment's name.", field="name", hint="It must read as b0-s3.0-p1-a42.seg.")
    return name


def uri_of(path: str | Path) -> str:
    """Return a path or URI in its normal form: `file:/a/b` for local files, `s3://b/k` for what Spark calls `s3a://b/k`."""
    text = str(path)
    if text.startswith("file:"):
        return "file:/" + text.removeprefix("file:").lstrip("/")
    return f"file:{text}" if text.startswith("/") else one_spelling(text)


def keeps_milliseconds(uri: str) -> bool:
    """Return whether the storage of a file stores its modification time in milliseconds, and keeps it through a rename."""
    return uri.startswith(FINE_SCHEMES)


def block_at(path: str, length: int, modified: int) -> FileBlock:
    """Return the block of a file from the values of Spark or of a store.

    Object stores keep whole seconds. Some return parts of a second in lists, but not for a single object.
    """
    uri = uri_of(path)
    return FileBlock(uri, length, modified if keeps_milliseconds(uri) else modified // 1000 * 1000)


def block_of(path: Path) -> FileBlock:
    """Return the present block of a local file.

    Raises:
        OSError: the file system does not answer, or there is no such file.
    """
    status = path.stat()
    return FileBlock(uri_of(path), status.st_size, status.st_mtime_ns // 1_000_000)
