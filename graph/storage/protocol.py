"""The interface of a store: look at a file, list, and read a range of the file that was looked at.

Only `remote` talks to stores. If its service fails, a store raises `SourceUnavailableError` with a useful reason that contains no
credential. A store never waits much longer than its root's seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from headwater.errors import SourceUnavailableError


class Stat(NamedTuple):
    """A file as it is: its length in bytes, when it was modified (milliseconds since the epoch), and its ETag, where the store has one."""

    length: int
    modified: int
    tag: str | None = None


class Store(Protocol):
    """One bucket, container or file system."""

    def stat(self, path: str) -> Stat | None:
        """The file at a path; None where there is none."""
        ...

    def files(self, path: str) -> Iterator[list[tuple[str, Stat]]]:
        """All files below a folder, however deep, in pages: one request each."""
        ...

    def read(self, path: str, stat: Stat, offset: int, length: int) -> bytes:
        """Bytes of the file that was looked at.

        Raises:
            SourceUnavailableError: it is another by now, as far as the store can tell; or the bytes do not come.
        """
        ...


def unavailable(url: str, reason: str, *, transient: bool = False) -> SourceUnavailableError:
    """The error of a store that does not give what it was asked for."""
    hint = "Ask again." if transient else "Look at the root in storage.toml, and at what its credentials may read."
    return SourceUnavailableError(f"{url} cannot be read now: {reason}.", hint=hint, transient=transient)
