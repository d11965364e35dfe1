"""Makes a local copy of a remote dataset, so that a replay can compare it with its own output.

The copy contains data files below the roots of the service that are unchanged since they were listed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from headwater.errors import SourceUnavailableError, UnsupportedError
from headwater.graph.records import DataRoots, uri_of
from headwater.graph.storage import RemoteFile

_STEP = 16 << 20  # bytes per read
_MOST = 64 << 30  # limit of bytes, because the output of the replay is on the same disk


@contextmanager
def fetched(sources: DataRoots, uri: str, folder: Path) -> Iterator[Path]:
    """Copy the data files of a dataset into a new folder below `folder`. The new folder is removed afterwards.

    Raises:
        UnsupportedError: there are no data files, or more bytes than `_MOST`.
        SourceUnavailableError: the storage does not answer.
    """
    look = sources.look()
    blocks = look.listed(uri)
    if not blocks:
        raise UnsupportedError(f"{uri} holds no file that could be compared.")
    if (size := sum(block.length for block in blocks)) > _MOST:
        raise UnsupportedError(f"{uri} has {size} bytes; a replay compares up to {_MOST}.")
    base = uri_of(uri).rstrip("/")
    copy = folder / f"before-{uuid4().hex}"
    try:
        for block in blocks:
            inner = block.path.removeprefix(base).strip("/") or block.path.rpartition("/")[2]  # the dataset may be a file
            _bring(look.file(block.path)[1], copy / inner)
        yield copy
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _bring(file: object, target: Path) -> None:
    if not isinstance(file, RemoteFile):
        raise SourceUnavailableError(f"{target.name} is on no remote storage.", transient=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as copy:
        for offset in range(0, file.stat.length, _STEP):
            copy.write(file.read(offset, _STEP))
