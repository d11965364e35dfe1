"""Lists S3 buckets with an object name that no request can contain: a control character, or a part that is empty, `.` or `..`.

The client that reads objects (`objects`) refuses every listing with such a name. So anybody who may put an object could hide all others.
This module lists them with another client, which accepts every name but returns no tags.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headwater.errors import SourceUnavailableError
from headwater.graph.storage.protocol import Stat, unavailable
from headwater.graph.storage.settings import RootSettings

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

_ODD = re.compile(r"[\x00-\x1f\x7f\ufffd]|(?:^|/)\.{0,2}(?:/|$)")  # U+FFFD: a character that the answer could not contain either


class OddNameError(SourceUnavailableError):
    """A folder cannot be listed, because an object in it has a name that no request can contain."""

    def __init__(self, url: str) -> None:
        reason = "the name of an object there cannot be used: it has a control character, or a part that is empty, `.` or `..`"
        fault = unavailable(url, reason)
        super().__init__(fault.message, hint=fault.hint, transient=False)


def listed(settings: RootSettings, path: str) -> tuple[list[tuple[str, Stat]], list[str]]:
    """Return every object below a folder, by its path and without a tag, and separately the paths that no request can contain.

    Raises:
        OddNameError: the store is not S3.
        SourceUnavailableError: the store does not answer.
    """
    if settings.address.scheme != "s3":
        raise OddNameError(settings.url)
    from pyarrow.fs import FileSelector, FileType

    bucket = settings.address.authority
    try:
        infos = _client(settings).get_file_info(FileSelector(f"{bucket}/{path}".rstrip("/"), recursive=True))
    except OSError:  # its text may contain an address and the id of a request
        raise unavailable(settings.url, "its store cannot be listed", transient=True) from None
    files = {
        info.path.removeprefix(f"{bucket}/"): Stat(info.size, info.mtime_ns // 1_000_000_000 * 1000)
        for info in infos
        if info.type is FileType.File
    }
    odd_files = [name for name in files if _ODD.search(name)]
    return [(name, stat) for name, stat in files.items() if not _ODD.search(name)], odd_files


def _client(settings: RootSettings) -> S3FileSystem:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    options = settings.options
    scheme, _, host = str(options.get("endpoint", "")).rpartition("://")
    given: dict[str, Any] = {
        "access_key": options.get("access_key_id"), "secret_key": options.get("secret_access_key"),
        "session_token": options.get("session_token"), "anonymous": bool(options.get("anonymous", False)),
        "region": options.get("region", "us-east-1"), "scheme": scheme or "https", "endpoint_override": host or None,
        "force_virtual_addressing": bool(host) and not options.get("path_style", True),
        "request_timeout": settings.seconds, "connect_timeout": min(settings.seconds, 3),
        "retry_strategy": AwsStandardS3RetryStrategy(max_attempts=2),
    }  # fmt: skip
    return S3FileSystem(**{name: value for name, value in given.items() if value is not None})
