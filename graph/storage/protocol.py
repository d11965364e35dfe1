"""The interface of a store: stat a file, list a folder, and read a range of a file in a known state.

Only `remote` talks to stores. If its service fails, a store raises `SourceUnavailableError` with a useful reason that contains no
credential. A store never waits much longer than its root's seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from headwater.errors import SourceUnavailableError


class Stat(NamedTuple):
    """The state of a file: its length in bytes, its modification time (milliseconds since the epoch), and its ETag if the store has one."""

    length: int
    modified: int
    tag: str | None = None


class Store(Protocol):
    """One bucket, container or file system."""

    def stat(self, path: str) -> Stat | None:
        """Return the state of the file at a path. None if there is no file."""
        ...

    def files(self, path: str) -> Iterator[list[tuple[str, Stat]]]:
        """Yield all files below a folder, at any depth, in pages of one request each."""
        ...

    def read(self, path: str, stat: Stat, offset: int, length: int) -> bytes:
        """Return bytes of a file in the state `stat`.

        Raises:
            SourceUnavailableError: the file was replaced, as far as the store can tell, or the bytes do not come.
        """
        ...


def unavailable(url: str, reason: str, *, transient: bool = False) -> SourceUnavailableError:
    """Return the error for a store that does not answer a request."""
    hint = "Ask again." if transient else "Look at the root in storage.toml, and at what its credentials may read."
    return SourceUnavailableError(f"{url} cannot be read now: {reason}.", hint=hint, transient=transient)
