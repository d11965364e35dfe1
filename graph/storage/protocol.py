"""What a store must do: look at a file, list, and read a range of the very file that was looked at.

For `remote`, which alone talks to stores. A store raises `SourceUnavailableError` where its service does not give what it was asked for,
with a reason that a person can use and that holds no credential, and never waits much longer than its root's seconds.
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
