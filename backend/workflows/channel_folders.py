"""The folders of channels, opened without following a link.

A program, or another user of the machine, may put a link in the place of a folder while a task runs. Blocks must never be read or placed
through such a link: it may lead outside of the data roots.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headwater.errors import InvalidInputError, SourceChangedError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def refuse_link(folder: Path) -> None:
    """Check that no part of an absolute path is a link. The path of a channel holds none when a run begins.

    Raises:
        SourceChangedError: a part of the path is a link by now.
    """
    if (real := os.path.realpath(folder)) != str(folder):
        raise SourceChangedError(
            f"{folder} leads through a link to {real} since the run began.", hint="Nothing was read or placed there. Put the folder back."
        )


def refuse_unreadable_name(path: str) -> None:
    """Check that a path is UTF-8. The ledger, JSON and Spark cannot hold other names.

    Raises:
        InvalidInputError: the path has other bytes. The message shows them.
    """
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInputError(f"The name {os.fsencode(path)!r} is not UTF-8.", hint="Rename it.") from None


@contextmanager
def open_folder(folder: Path) -> Iterator[int]:
    """Yield a descriptor of a folder. No part of its path is a link, also if somebody exchanges a part meanwhile.

    Raises:
        SourceChangedError: a part of the path is a link or is missing.
    """
    descriptor = os.open("/", _FOLDER)
    try:
        for part in folder.parts[1:]:
            try:
                inner = os.open(part, _FOLDER, dir_fd=descriptor)
            except OSError as error:
                raise SourceChangedError(
                    f"{folder} cannot be opened without following a link, at {part}: {error.strerror}.", hint="Put the folder back."
                ) from error
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)
